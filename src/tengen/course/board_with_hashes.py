"""Go, second version: a position is one number, and strings never change, so nothing is copied to try a move.

Zobrist (1970): each stone that may stand on a point has a random number, and a position is the exclusive or of the
numbers of its stones. Putting a stone on, or taking one off, is the same step: one exclusive or. Two positions that
differ have the same number with a chance of 2^-63 or so. So "was this position there before?" is one look into a set,
and the number after a move follows from the stones that it captures, without making the move. `board_of_sets.py` is the
version before.
"""

import random
from dataclasses import dataclass

Point = tuple[int, int]

_RNG = random.Random(1970)
CODES = {(row, col, colour): _RNG.getrandbits(63) for row in range(25) for col in range(25) for colour in (1, 2)}
WHITE_TO_PLAY = _RNG.getrandbits(63)


@dataclass(frozen=True)
class GoString:
    """Stones of one colour that hang together, and their liberties."""

    colour: int
    stones: frozenset[Point]
    liberties: frozenset[Point]


class Game:
    """A game: which string stands on each point, and the number of every position before."""

    def __init__(self, size: int) -> None:
        self.size, self.to_play, self.passes = size, 1, 0
        self.strings: dict[Point, GoString] = {}
        self.code = 0
        self.before: set[int] = set()
        self._near = {(row, col): self._neighbours(row, col) for row in range(size) for col in range(size)}

    @property
    def is_over(self) -> bool:
        """Whether both players have passed."""
        return self.passes == 2

    def captured_by(self, point: Point) -> set[GoString]:
        """The opponent's strings whose last liberty this point is."""
        around = (self.strings.get(near) for near in self._near[point])
        return {one for one in around if one is not None and one.colour != self.to_play and len(one.liberties) == 1}

    def code_after(self, point: Point) -> int:
        """The number of the position after a move, the next player included."""
        code = self.code ^ CODES[*point, self.to_play]
        for string in self.captured_by(point):
            for stone in string.stones:
                code ^= CODES[*stone, string.colour]
        return code ^ (WHITE_TO_PLAY if self.to_play == 1 else 0)

    def is_legal(self, point: Point | None) -> bool:
        """Whether a move, or None for a pass, is allowed now."""
        if self.is_over or point is None:
            return not self.is_over
        if point in self.strings:
            return False
        for near in self._near[point]:
            string = self.strings.get(near)
            if string is None or (len(string.liberties) > 1) == (string.colour == self.to_play):
                return self.code_after(point) not in self.before  # it has a liberty, or captures one
        return False  # suicide

    def play(self, point: Point | None) -> None:
        """Make a legal move."""
        self.before.add(self.code ^ (WHITE_TO_PLAY if self.to_play == 2 else 0))
        if point is None:
            self.passes += 1
        else:
            self.passes = 0
            self._place(point)
        self.to_play = 3 - self.to_play

    def legal_moves(self) -> list[Point]:
        """All points that may be played."""
        return [point for point in self._near if self.is_legal(point)]

    def colours(self) -> dict[Point, int]:
        """What stands where."""
        return {point: string.colour for point, string in self.strings.items()}

    def _place(self, point: Point) -> None:
        captured = self.captured_by(point)
        self.code ^= CODES[*point, self.to_play]
        stones, liberties = {point}, {near for near in self._near[point] if near not in self.strings}
        around = {self.strings[near] for near in self._near[point] if near in self.strings}
        for string in around - captured:
            if string.colour == self.to_play:
                stones |= string.stones
                liberties |= string.liberties
            else:
                self._keep(GoString(string.colour, string.stones, string.liberties - {point}))
        self._keep(GoString(self.to_play, frozenset(stones), frozenset(liberties - {point})))
        for string in captured:
            self._take_off(string)

    def _take_off(self, captured: GoString) -> None:
        for stone in captured.stones:
            del self.strings[stone]
            self.code ^= CODES[*stone, captured.colour]
        for stone in captured.stones:
            for near in self._near[stone]:
                string = self.strings.get(near)
                if string is not None:
                    self._keep(GoString(string.colour, string.stones, string.liberties | {stone}))

    def _keep(self, string: GoString) -> None:
        for stone in string.stones:
            self.strings[stone] = string

    def _neighbours(self, row: int, col: int) -> list[Point]:
        near = [(row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)]
        return [(r, c) for r, c in near if 0 <= r < self.size and 0 <= c < self.size]
