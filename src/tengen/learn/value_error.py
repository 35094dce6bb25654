"""How far a value is from the results of games, beside rollouts from the same positions: AlphaGo's Figure 2b.

The positions are those of value learning (`value_positions`), one of each game, so every game counts once. The error is
the mean of (z - v)^2 with z 1, 0 or -1 for the player to move: always 0 has an error of 1, and a single rollout by the
players of the games would have twice the error of the best value. Silver et al. (2016) give 0.226 on games learned from
and 0.234 on others; they do not say in which unit, but Figure 2b begins near 0.5, where little is known, which would
be half of ours.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from numpy.typing import NDArray

from tengen._figures import CURVE_COLORS, GREY, as_png, dress
from tengen.data.dataset import Split
from tengen.encode.go import get_go_encoder
from tengen.games.game import open_batch
from tengen.games.go.positions import MOVE_MASK
from tengen.games.go.rules import GoOptions
from tengen.learn.loader import PositionLoader, RecordBatch
from tengen.learn.value_positions import ValuePositions
from tengen.nets.evaluator import load_evaluator
from tengen.search.fast_model import load_fast_policy
from tengen.search.fast_rollouts import FastRollouts
from tengen.search.leaves import LeafEvaluation, PlayoutEvaluation, new_leaves

NETWORK: Final = "network"
_BATCH: Final = 256
_BINS: Final = 6  # rows of the table, and points of the picture


@dataclass(frozen=True)
class ValueErrors:
    """The squared errors of a network and of rollouts, at the same positions."""

    model: str
    data: str
    split: str
    plies: NDArray[np.int64]  # [n] how many moves have been played in each position
    squares: dict[str, NDArray[np.float64]]  # of whom -> [n] (z - v)^2

    def mean(self, name: str, chosen: NDArray[np.bool_] | None = None) -> tuple[float, float]:
        """The mean error of a value and its standard error, over all positions or the chosen ones: bool[n]."""
        squares = self.squares[name] if chosen is None else self.squares[name][chosen]
        return float(squares.mean()), float(squares.std(ddof=1) / math.sqrt(len(squares))) if len(squares) > 1 else 0.0

    def lead(self, name: str) -> tuple[float, float]:
        """By how much the network's error is lower than that of another value, and the standard error of that."""
        differences = self.squares[name] - self.squares[NETWORK]
        return float(differences.mean()), float(differences.std(ddof=1) / math.sqrt(len(differences)))

    def by_move(self) -> dict[tuple[int, int], NDArray[np.bool_]]:
        """First and last number of moves -> which positions have so many: bool[n]; about as many moves in each."""
        edges = np.unique(np.linspace(self.plies.min(), self.plies.max() + 1, _BINS + 1).round().astype(int))
        parts = {(int(a), int(b) - 1): (self.plies >= a) & (self.plies < b) for a, b in itertools.pairwise(edges)}
        return {moves: chosen for moves, chosen in parts.items() if chosen.any()}

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        parts = [({}, None), *(({"moves": list(moves)}, chosen) for moves, chosen in self.by_move().items())]
        rows: list[dict[str, Any]] = []
        for head, chosen in parts:
            means = {name: dict(zip(("error", "standard_error"), self.mean(name, chosen))) for name in self.squares}
            rows.append(head | {"positions": int(len(self.plies) if chosen is None else chosen.sum())} | means)
        described = {"model": self.model, "data": self.data, "split": self.split, "unit": "mean of (z - v)^2"}
        return described | rows[0] | {"by_move": rows[1:]}


def measure_value_error(
    model: str,
    data: str | Path,
    split: Split = "test",
    positions: int = 0,
    *,
    playouts: int = 32,
    fast: str = "",
    backend: str = "fastest",
    seed: int = 1,
    on_progress: Callable[[int, int], None] = lambda done, wanted: None,
) -> ValueErrors:
    """Measure a model, and one and several rollouts, on so many positions of a folder; 0 for all of the split.

    `fast`: the fast policy of rollouts, the bundled one for the board if empty; the game's guided playouts come too.
    """
    if playouts < 1:
        raise ValueError(f"playouts is {playouts}: give 1 or more")
    evaluator, card = load_evaluator(model, backend)
    there = ValuePositions.open(data)
    settings = there.settings
    if not card.architecture().value:
        raise ValueError(f"{model} has no value head: there is nothing to measure")
    if card.game != "go" or card.size != settings.size:
        board = f"{settings.size}x{settings.size}"
        raise ValueError(
            f"{model} is for {card.game} on {card.size}x{card.size}, and {data} holds games of Go on {board}"
        )
    encoder = get_go_encoder(card.encoder)
    loader = PositionLoader(there.select(split), encoder, batch=_BATCH, seed=0, symmetries=False, which="last")
    game = open_batch(GoOptions(size=settings.size, rules=settings.rules, komi=settings.komi))
    policy = load_fast_policy(fast, settings.size)
    rollouts: dict[str, LeafEvaluation] = {
        "one fast rollout": FastRollouts(game, policy, 1, seed=seed),
        f"{playouts} fast rollouts": FastRollouts(game, policy, playouts, seed=seed + 1),
        "one guided playout": PlayoutEvaluation(game, 1, seed + 2),
        f"{playouts} guided playouts": PlayoutEvaluation(game, playouts, seed + 3),
    }
    wanted = min(positions, loader.positions) if positions else loader.positions
    squares: dict[str, list[NDArray[np.float64]]] = {name: [] for name in (NETWORK, *rollouts)}
    plies = []
    for start in range(0, wanted, _BATCH):
        batch = loader.batch_at(start, min(_BATCH, wanted - start))
        values = evaluator.evaluate(batch.planes)[1]
        assert values is not None
        squares[NETWORK].append(np.square(values - batch.winner, dtype=np.float64))
        games, leaves = set_up(game, there, batch), new_leaves(len(batch.games), game.actions)
        for name, evaluation in rollouts.items():
            evaluation.evaluate(games, len(batch.games), leaves)
            squares[name].append(np.square(leaves.values - batch.winner, dtype=np.float64))
        plies.append(batch.plies)
        on_progress(start + len(batch.games), wanted)
    joined = {name: np.concatenate(parts) for name, parts in squares.items()}
    return ValueErrors(str(model), str(data), split, np.concatenate(plies), joined)


def draw_value_errors(errors: ValueErrors) -> bytes:
    """The errors over the number of moves as a PNG, with intervals of two standard errors."""
    figure = Figure(figsize=(8, 5), dpi=130, layout=ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.1))
    axes = figure.subplots()
    parts = errors.by_move()
    middles = [sum(moves) / 2 for moves in parts]
    for name, color in zip(errors.squares, CURVE_COLORS):
        means = np.array([errors.mean(name, chosen) for chosen in parts.values()])
        axes.errorbar(middles, means[:, 0], 2 * means[:, 1], color=color, label=name, marker="o", capsize=3)
    axes.axhline(1.0, color=GREY, linestyle=":", linewidth=1.2)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("moves played", color=GREY, fontsize=9)
    dress(axes, "Mean of (z - v)^2 by the number of moves; always 0 has 1")
    return as_png(figure)


def set_up(game: Any, there: ValuePositions, batch: RecordBatch) -> Any:
    """The positions of a batch as games, in the arrays of the game."""
    games = game.allocate(len(batch.games))
    games.komi[:] = batch.komi
    starts = there.games.offsets[batch.games]
    for ply in range(int(batch.plies.max())):
        codes = there.games.moves[np.minimum(starts + ply, len(there.games.moves) - 1)]
        game.play(games, np.where(ply < batch.plies, (codes & MOVE_MASK).astype(np.int64), -1))
    return games
