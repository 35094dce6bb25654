"""A fast policy as an object: its weights, its file, and its opinion of a position."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tengen.games import go
from tengen.games.go.board import NO_CELL
from tengen.games.go.coordinates import PASS, from_cell, to_cell
from tengen.nets.bundled import find_model
from tengen.nets.model_file import ModelCard, ModelFileError, read_tensors, write_tensors
from tengen.search.fast_policy import (
    SECTIONS,
    WEIGHTS,
    find_candidates,
    new_candidates,
    new_scene,
    score_candidates,
    survey,
)
from tengen.search.fast_shapes import shape_tables
from tengen.search.fast_tracker import Factors, factors_of

NETWORK = "fast-policy"
"""What a model file calls this kind of model."""
_SMALL = 13  # boards up to this size have a fast policy of their own


@dataclass(frozen=True)
class FastPolicy:
    """A linear softmax over local features; it plays on boards of every size."""

    weights: NDArray[np.float32]  # [WEIGHTS], the sections of `fast_policy.SECTIONS` end to end

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model file; ModelFileError if it holds something else."""
        tensors, card = read_tensors(path)
        if card.network != NETWORK:
            raise ModelFileError(f"{path} holds a network of kind {card.network}, not a fast policy")
        shapes = {name: tensor.shape for name, tensor in tensors.items()}
        if shapes != {name: (count,) for name, count in SECTIONS.items()}:
            raise ModelFileError(f"{path} holds a fast policy with other features: learn it again")
        weights = np.concatenate([tensors[name].astype(np.float32) for name in SECTIONS])
        if not np.isfinite(weights).all():
            raise ModelFileError(f"{path} holds weights that are no numbers")
        return cls(weights)

    def save(self, path: str | Path, *, size: int, training: dict[str, Any], half: bool = True) -> None:
        """Write a model file in one step."""
        card = ModelCard("go", size, "chinese", NETWORK, 0, NETWORK, {}, training)
        write_tensors(path, sections_of(self.weights), card, half=half)

    def factors(self, size: int, temperature: float = 1.0) -> Factors:
        """The same policy for playouts on boards of this size, scores divided by the temperature.

        All who ask for the same get the same arrays.
        """
        if not 0 < temperature <= 100:
            raise ValueError(f"a temperature of {temperature} is not possible: give a positive number such as 1")
        if (size, temperature) not in self._factors:
            self._factors[size, temperature] = factors_of(self.weights / np.float32(temperature), size)
        return self._factors[size, temperature]

    @cached_property
    def _factors(self) -> dict[tuple[int, float], Factors]:
        return {}

    def scores(self, state: go.State) -> dict[int, float]:
        """The score of every move: the logarithm of its probability, but for a constant.

        Moves are legal by simple ko and no suicide; superko and eyes are the caller's business. PASS is among them.
        """
        size, board = state.size, state.board
        scene, candidates = new_scene(size), new_candidates(size)
        survey(board, scene)
        last, before = last_cells(state)
        n = find_candidates(board, scene, shape_tables(), last, before, state.to_play, candidates)
        scores = np.empty(n, np.float32)
        score_candidates(self.weights, candidates, n, scores)
        moves = (PASS if cell == NO_CELL else from_cell(int(cell), size) for cell in candidates.cells[:n])
        return dict(zip(moves, scores.tolist(), strict=True))


def load_fast_policy(name: str | Path = "", size: int = 19) -> FastPolicy:
    """A fast policy by the name of a bundled model or by its path; without one, the bundled one for this board size.

    >>> import tengen
    >>> policy = tengen.load_fast_policy(size=9)
    >>> scores = policy.scores(tengen.go.State.new(9))
    >>> tengen.go.to_gtp(max(scores, key=scores.get), 9)
    'E5'
    """
    return FastPolicy.load(find_model(name or ("fast9" if size <= _SMALL else "fast19")))


def sections_of(weights: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
    """The tables of a flat array by name, as views."""
    assert weights.shape == (WEIGHTS,)
    ends = np.cumsum(list(SECTIONS.values()))
    return dict(zip(SECTIONS, np.split(weights, ends[:-1]), strict=True))


def last_cells(state: go.State) -> tuple[int, int]:
    """The cells of the last move and of the one before, NO_CELL for a pass or none."""

    def cell(move: int | None) -> int:
        return NO_CELL if move is None or move < 0 else to_cell(move, state.size)

    return cell(state.last_move), cell(state.previous.last_move if state.previous else None)
