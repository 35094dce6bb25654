"""The file of a proof: for every position that its player can meet, the move that keeps the promise.

| tensor | what it holds |
|---|---|
| `keys` int64[n], ascending | the positions in which the player is to move, up to symmetry |
| `moves` int8[n] | its move in each, on the board of the key; -1 for a pass |

A position's key is `(stones * 32 + ko + 1) * 2 + passed`: the stones as a number in base 3 (the first point counts
least; 0 empty, 1 Black, 2 White), the point that the simple ko forbids (-1: none), and whether the last move was a
pass. Of the eight images of a position, the one with the least key stands for all.
"""

import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from tengen._files import write_atomically
from tengen.games import go

_FORMAT = "tengen certificate 1"


@dataclass(frozen=True)
class Promise:
    """What a certificate is a proof of: that a player forces at least this margin from a position."""

    size: int
    rules: str
    komi: float
    color: int
    margin: int
    to_play: int
    black: tuple[int, ...] = ()
    """Points of Black's stones in the position; White's follow."""
    white: tuple[int, ...] = ()

    @property
    def state(self) -> go.State:
        """The position that the proof begins with."""
        return go.State.setup(self.size, self.rules, self.komi, self.black, self.white, self.to_play)

    @classmethod
    def about(cls, state: go.State, color: int, margin: int) -> "Promise":
        """A promise about a state, which must not be bound by a ko or follow a pass."""
        if state.ko_point is not None or state.last_move == go.PASS:
            raise ValueError("a certificate cannot begin with a position after a pass or with a ko: begin earlier")
        black, white = (np.flatnonzero(state.stones.ravel() == one).tolist() for one in (go.BLACK, go.WHITE))
        name, komi = state.rules.name, state.komi
        return cls(state.size, name, komi, color, margin, state.to_play, tuple(black), tuple(white))


@dataclass(frozen=True)
class Certificate:
    """A promise with the strategy that keeps it."""

    promise: Promise
    keys: NDArray[np.int64]
    moves: NDArray[np.int8]

    def move(self, state: go.State) -> int | None:
        """The player's move in a position; None if the strategy does not have it."""
        key, points = position_code(state)
        place = int(np.searchsorted(self.keys, key))
        if place == len(self.keys) or self.keys[place] != key:
            return None
        move = int(self.moves[place])
        return go.PASS if move < 0 else int(points[move])

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        facts = {"format": _FORMAT, "promise": json.dumps(asdict(self.promise))}
        write_atomically(path, save({"keys": self.keys, "moves": self.moves}, facts))

    @classmethod
    def load(cls, path: Path) -> "Certificate":
        """Read a file; ValueError if it is none of ours."""
        try:
            with safe_open(path, "np") as file:
                facts = file.metadata() or {}
                if facts.get("format") != _FORMAT:
                    raise ValueError(f"{path} is not a certificate of `tengen solve`")
                keys, moves = file.get_tensor("keys"), file.get_tensor("moves")
        except SafetensorError as error:
            raise ValueError(f"{path} is not a certificate of `tengen solve`: {error}") from None
        values: dict[str, Any] = json.loads(facts["promise"])
        values |= {name: tuple(values[name]) for name in ("black", "white")}
        return cls(Promise(**values), keys, moves)


def position_code(state: go.State) -> tuple[int, NDArray[np.int64]]:
    """The key of a position, and int64[N * N]: the point of the state that each point of the key's board stands for."""
    ko = -1 if state.ko_point is None else state.ko_point
    return stones_code(state.stones.ravel(), ko, state.last_move == go.PASS, state.size)


def stones_code(stones: NDArray[np.int8], ko: int, passed: bool, size: int) -> tuple[int, NDArray[np.int64]]:
    """`position_code` of stones: int8[N * N]."""
    images, powers = _images(size)
    codes = (stones[images].astype(np.int64) @ powers) * 32
    if ko >= 0:
        codes += np.argmax(images == ko, axis=1) + 1
    best = int(np.argmin(codes))
    return int(codes[best]) * 2 + passed, images[best]


@cache
def _images(size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """int64[8, N * N]: which point of a board stands where in each of its images; int64[N * N]: the powers of 3."""
    points = np.arange(size * size).reshape(size, size)
    images = [np.rot90(flipped, turns).ravel() for flipped in (points, points.T) for turns in range(4)]
    return np.array(images), 3 ** np.arange(size * size, dtype=np.int64)
