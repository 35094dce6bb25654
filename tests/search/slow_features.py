"""The features of the fast policy, written out slowly and plainly, to check the kernels against.

Features that the kernels number by class or hash are given here as what they mean: a drawing of the cells around, the
least of its eight turned and mirrored versions.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tengen.games import go
from tengen.games.go import EMPTY, opponent

Point = tuple[int, int]
SIDES = ((-1, 0), (0, 1), (1, 0), (0, -1))
AROUND = [(r, c) for r, c in product((-1, 0, 1), repeat=2) if (r, c) != (0, 0)]
DIAMOND = [*AROUND, (-2, 0), (0, 2), (2, 0), (0, -2)]


@dataclass
class SlowBoard:
    """Stones with their strings and liberties, found by flooding."""

    stones: NDArray[np.int8]

    def inside(self, point: Point) -> bool:
        return all(0 <= x < len(self.stones) for x in point)

    def color(self, point: Point) -> int:
        return int(self.stones[point])

    def beside(self, point: Point) -> list[Point]:
        return [q for q in (plus(point, side) for side in SIDES) if self.inside(q)]

    def string(self, point: Point) -> set[Point]:
        found, pending = {point}, [point]
        while pending:
            for q in self.beside(pending.pop()):
                if q not in found and self.color(q) == self.color(point):
                    found.add(q)
                    pending.append(q)
        return found

    def liberties(self, point: Point) -> set[Point]:
        return {q for stone in self.string(point) for q in self.beside(stone) if self.color(q) == EMPTY}

    def after(self, point: Point, color: int) -> "SlowBoard":
        """With a stone on point and what it captures gone."""
        board = SlowBoard(self.stones.copy())
        board.stones[point] = color
        for q in board.beside(point):
            if board.color(q) == opponent(color) and not board.liberties(q):
                for stone in board.string(q):
                    board.stones[stone] = EMPTY
        return board


def plus(point: Point, offset: Point) -> Point:
    return point[0] + offset[0], point[1] + offset[1]


def turned(offset: Point) -> list[Point]:
    """An offset under all eight symmetries, always in the same order."""
    row, col = offset
    return [(a * x, b * y) for x, y in ((row, col), (col, row)) for a, b in product((1, -1), repeat=2)]


def cell_state(board: SlowBoard, point: Point, player: int, with_liberties: bool) -> str:
    if not board.inside(point):
        return "#"
    if board.color(point) == EMPTY:
        return "."
    letter = "X" if board.color(point) == player else "O"
    return letter + (str(min(3, len(board.liberties(point)))) if with_liberties else "")


def drawing(board: SlowBoard, center: Point, player: int, offsets: Iterable[Point], extra: Point | None = None) -> Any:
    """The cells at these offsets, in the least of eight versions; `extra` is an offset that turns along."""
    states = {}
    for offset in offsets:
        blocked = max(map(abs, offset)) == 2 and not board.inside(plus(center, (offset[0] // 2, offset[1] // 2)))
        side = offset in SIDES
        states[offset] = "#" if blocked else cell_state(board, plus(center, offset), player, side)
    versions = []
    for k in range(8):
        picture = tuple(sorted((turned(offset)[k], state) for offset, state in states.items()))
        versions.append((picture, turned(extra)[k] if extra else ()))
    return min(versions)


def tactics(board: SlowBoard, point: Point, color: int) -> tuple[int, int, int, int]:
    """Stones captured, risked by self-atari, put in atari, saved; in the bands of the feature."""
    captured = attacked = saved = joined = 0
    for q in board.beside(point):
        size = len(board.string(q))
        liberties = len(board.liberties(q))
        if board.color(q) == color and liberties <= 2:
            joined = max(joined, min(5, size))
            saved = max(saved, min(3, size)) if liberties == 1 else saved
        elif board.color(q) == opponent(color) and liberties == 1:
            captured = max(captured, size)
        elif board.color(q) == opponent(color) and liberties == 2:
            attacked = max(attacked, min(3, size))
    risked = 0
    if not captured and len(board.after(point, color).liberties(point)) == 1:
        risked, saved = band(joined + 1), 0
    return band(captured), risked, attacked, saved


def band(count: int) -> int:
    return sum(count >= least for least in (1, 2, 3, 5))


def rescues(board: SlowBoard, last: Point | None, color: int) -> dict[Point, int]:
    """The moves that save strings in atari beside the last move, with the kind of each."""
    kinds: dict[Point, int] = {}
    for q in board.beside(last) if last is not None else ():
        if board.color(q) != color or len(board.liberties(q)) != 1:
            continue
        stones = min(3, len(board.string(q))) - 1
        (run,) = board.liberties(q)
        captures = any(board.color(n) == opponent(color) and board.liberties(n) == {run} for n in board.beside(run))
        if captures or len(board.after(run, color).liberties(run)) != 1:
            kinds[run] = max(kinds.get(run, 0), stones)
        for stone in board.string(q):
            for n in board.beside(stone):
                if board.color(n) == opponent(color) and len(board.liberties(n)) == 1:
                    (capture,) = board.liberties(n)
                    kinds[capture] = max(kinds.get(capture, 0), 3 + stones)
    return kinds


def slow_features(state: go.State, last: Point | None, before: Point | None) -> dict[Point, dict[str, Any]]:
    """For each legal point (simple ko, no suicide) the meaning of its features by name of their section."""
    board, color, size = SlowBoard(state.stones), state.to_play, state.size
    saving = rescues(board, last, color)
    found: dict[Point, dict[str, Any]] = {}
    for point in product(range(size), repeat=2):
        after = board.after(point, color) if board.color(point) == EMPTY else None
        if after is None or not after.liberties(point) or point[0] * size + point[1] == state.ko_point:
            continue
        shape = drawing(board, point, color, AROUND)
        features: dict[str, Any] = {"shape": shape, "diamond": drawing(board, point, color, DIAMOND)}
        near, far = sorted(min(x, size - 1 - x, 9) for x in point)
        stones = np.argwhere(board.stones != EMPTY)
        crowd = int((np.abs(stones - point).max(axis=1, initial=0) <= 3).sum()) if len(stones) else 0
        features["point"] = (near, far, min(2, crowd))
        features["tactic"] = tactics(board, point, color)
        for name, move in (("last", last), ("before", before)):
            if move is not None:
                offset = (point[0] - move[0], point[1] - move[1])
                if max(map(abs, offset)) <= 10:
                    features[name] = tuple(sorted(map(abs, offset)))
                if name == "last" and max(map(abs, offset)) <= 2:
                    liberties = min(3, len(board.liberties(move))) if board.color(move) else 0
                    features["response"] = (drawing(board, move, color, DIAMOND, offset), liberties)
                    features["near"] = shape
        if point in saving:
            features["rescue"] = saving[point]
        found[point] = features
    return found
