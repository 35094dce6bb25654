"""The file of a proof: for every position that its player can come to, the move that proves the statement.

| tensor | what it holds |
|---|---|
| `keys` int64[n], ascending | the positions in which the player is to move, up to symmetry |
| `moves` int8[n] | its move in each, on the board of the key; -1 for a pass |

A position's key is `(stones * 32 + mark + 1) * 2 + passed`: the stones as a number in base 3 (the first point counts
least; 0 empty, 1 Black, 2 White), what the rules remember of the last moves (`mark_of`; -1: nothing), and whether the
last move was a pass. Of the eight images of a position, the one with the least key stands for all.
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

from tengen.games import go
from tengen.runs.files import write_atomically

_FORMAT = "tengen certificate 1"


@dataclass(frozen=True)
class Statement:
    """What a certificate proves: that a player forces at least this margin from a position."""

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
    def about(cls, state: go.State, color: int, margin: int) -> "Statement":
        """A statement about a state, which must not be bound by a ko or follow a pass."""
        if mark_of(state) is not None or state.last_move == go.PASS:
            raise ValueError("a certificate cannot begin after a pass, in a ko or with two stones sent: begin earlier")
        black, white = (np.flatnonzero(state.stones.ravel() == one).tolist() for one in (go.BLACK, go.WHITE))
        name, komi = state.rules.name, state.komi
        return cls(state.size, name, komi, color, margin, state.to_play, tuple(black), tuple(white))


@dataclass(frozen=True)
class Certificate:
    """A statement with the strategy that proves it."""

    statement: Statement
    keys: NDArray[np.int64]
    moves: NDArray[np.int8]

    def move(self, state: go.State) -> int | None:
        """The player's move in a position; None if the strategy does not have it."""
        key, points = position_code(state)
        place = self.place(key)
        if place is None:
            return None
        move = int(self.moves[place])
        return go.PASS if move < 0 else int(points[move])

    def place(self, key: int) -> int | None:
        """Where a key is; None if the strategy does not have it."""
        place = int(np.searchsorted(self.keys, key))
        return place if place < len(self.keys) and self.keys[place] == key else None

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        facts = {"format": _FORMAT, "promise": json.dumps(asdict(self.statement))}
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
        if keys.dtype != np.int64 or moves.dtype != np.int8 or keys.ndim != 1 or keys.shape != moves.shape:
            raise ValueError(
                f"{path} is not a certificate of `tengen solve`: its positions and moves are of another kind"
            )
        values: dict[str, Any] = json.loads(facts["promise"])
        values |= {name: tuple(values[name]) for name in ("black", "white")}
        statement = Statement(**values)
        if go.get_rules(statement.rules).scoring != "area":
            raise ValueError(f"{path} is under {statement.rules} rules, which count territory: only area can be proven")
        return cls(statement, keys, moves)


def position_code(state: go.State) -> tuple[int, NDArray[np.int64]]:
    """The key of a position, and int64[N * N]: the point of the state that each point of the key's board stands for."""
    mark = mark_of(state)
    return stones_code(state.stones.ravel(), -1 if mark is None else mark, state.last_move == go.PASS, state.size)


def mark_of(state: go.State) -> int | None:
    """What matters of the last moves for what is legal now or soon, as a point of the board, or None.

    The point that the simple ko forbids. Under superko also what follows from "sending two, returning one", by steps:

    1. the stone just played, if that captured nothing and made a string of two stones with one liberty;
    2. after the capture of these two, the point where one can be retaken if that brings back the stones before, which
       positional superko forbids;
    3. after that, under situational superko, the stone retaken;
    4. after a pass on that, the point where the second stone was sent: it may not be sent again.
    """
    if state.ko_point is not None or state.rules.ko == "simple" or state.previous is None:
        return state.ko_point
    before, played = state.previous, state.last_move
    if played is not None and played >= 0 and _is_sent(state, before):
        return played
    if played is None or before.previous is None or before.last_move is None or before.last_move < 0:
        return None
    if played >= 0 and _is_sent(before, before.previous):
        return _retaken(state, before)
    if state.rules.ko == "positional" or before.previous.previous is None:
        return None
    if played >= 0:  # was it retaken?
        return played if mark_of(before) == played else None
    return _sent_before(before)


def _retaken(state: go.State, before: go.State) -> int | None:
    """Step 2: where one of two captured stones can be retaken, if that brings back the stones before they were two."""
    earlier, sent = before.previous, before.last_move
    assert earlier is not None and sent is not None
    lost = (before.stones == state.to_play) & (state.stones == go.EMPTY)
    gone: list[int] = np.flatnonzero(lost.ravel()).tolist()
    if len(gone) != 2 or sent not in gone:
        return None
    retaken = gone[0] + gone[1] - sent
    fresh = without_history(state)
    if fresh.is_legal(retaken) and np.array_equal(fresh.play(retaken).stones, earlier.stones):
        return retaken
    return None


def _sent_before(state: go.State) -> int | None:
    """Step 4: where a stone was sent, four moves before the pass on `state`."""
    captured = state.previous
    if captured is None or captured.previous is None or mark_of(state) != state.last_move or _is_sent(state, captured):
        return None
    return captured.previous.last_move


def without_history(state: go.State) -> go.State:
    """The same position as the first of a game."""
    black, white = (np.flatnonzero(state.stones.ravel() == color).tolist() for color in (go.BLACK, go.WHITE))
    return go.State.setup(state.size, state.rules, state.komi, black, white, state.to_play)


def _is_sent(state: go.State, before: go.State) -> bool:
    """Whether the last move captured nothing and made a string of two stones with one liberty."""
    played, size, stones = state.last_move, state.size, state.stones
    if played is None or played < 0 or np.count_nonzero(stones) != np.count_nonzero(before.stones) + 1:
        return False
    string, liberties, todo = {played}, set[int](), [played]
    while todo:
        row, col = divmod(todo.pop(), size)
        for r, c in ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)):
            if 0 <= r < size and 0 <= c < size:
                point = r * size + c
                if stones[r, c] == go.EMPTY:
                    liberties.add(point)
                elif stones[r, c] == state.last_color and point not in string:
                    string.add(point)
                    todo.append(point)
    return len(string) == 2 and len(liberties) == 1


def stones_code(stones: NDArray[np.int8], mark: int, passed: bool, size: int) -> tuple[int, NDArray[np.int64]]:
    """`position_code` of stones: int8[N * N]."""
    images, powers = board_images(size), 3 ** np.arange(size * size, dtype=np.int64)
    codes = (stones[images].astype(np.int64) @ powers) * 32
    if mark >= 0:
        codes += np.argmax(images == mark, axis=1) + 1
    best = int(np.argmin(codes))
    return int(codes[best]) * 2 + passed, images[best]


@cache
def board_images(size: int) -> NDArray[np.int64]:
    """int64[8, N * N]: which point of a board stands where in each of its images."""
    points = np.arange(size * size).reshape(size, size)
    return np.array([np.rot90(flipped, turns).ravel() for flipped in (points, points.T) for turns in range(4)])
