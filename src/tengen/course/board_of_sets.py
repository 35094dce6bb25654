"""Go, first version: strings are sets, and to see what a move does, everything is copied.

A point is (row, column), both from 0; a colour is 1 for Black and 2 for White. The rule of repetition is situational
superko: no position comes back with the same player to move. To check it, a move is tried on a deep copy, and the
result is compared with every position before. That is easy to read, and slow: the next version, `board_with_hashes.py`,
changes just this.
"""

import copy

Point = tuple[int, int]


class GoString:
    """Stones of one colour that hang together, and their liberties."""

    def __init__(self, colour: int, stones: set[Point], liberties: set[Point]) -> None:
        self.colour, self.stones, self.liberties = colour, stones, liberties


class Board:
    """The stones: which string stands on each point that is not empty."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.strings: dict[Point, GoString] = {}

    def neighbours(self, point: Point) -> list[Point]:
        """The two to four points beside a point."""
        row, col = point
        near = [(row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)]
        return [(r, c) for r, c in near if 0 <= r < self.size and 0 <= c < self.size]

    def place(self, colour: int, point: Point) -> None:
        """Put a stone on an empty point, and take off what it captures."""
        placed = GoString(colour, {point}, {near for near in self.neighbours(point) if near not in self.strings})
        for near in self.neighbours(point):
            other = self.strings.get(near)
            if other is None or other.stones <= placed.stones:
                continue
            other.liberties.discard(point)
            if other.colour == colour:
                placed.stones |= other.stones
                placed.liberties |= other.liberties
        placed.liberties.discard(point)
        for stone in placed.stones:
            self.strings[stone] = placed
        for near in self.neighbours(point):
            other = self.strings.get(near)
            if other is not None and other.colour != colour and not other.liberties:
                self._take_off(other)

    def _take_off(self, captured: GoString) -> None:
        for stone in captured.stones:
            del self.strings[stone]
            for near in self.neighbours(stone):
                if near in self.strings:
                    self.strings[near].liberties.add(stone)

    def colours(self) -> dict[Point, int]:
        """What stands where."""
        return {point: string.colour for point, string in self.strings.items()}


class Game:
    """A game: the board, who is to play, and every position before."""

    def __init__(self, size: int) -> None:
        self.board, self.to_play, self.passes = Board(size), 1, 0
        self.before: list[tuple[int, dict[Point, int]]] = []

    @property
    def is_over(self) -> bool:
        """Whether both players have passed."""
        return self.passes == 2

    def is_legal(self, point: Point | None) -> bool:
        """Whether a move, or None for a pass, is allowed now."""
        if self.is_over or point is None:
            return not self.is_over
        if point in self.board.strings:
            return False
        tried = copy.deepcopy(self.board)
        tried.place(self.to_play, point)
        if not tried.strings[point].liberties:
            return False  # suicide
        return (3 - self.to_play, tried.colours()) not in self.before

    def play(self, point: Point | None) -> None:
        """Make a legal move."""
        self.before.append((self.to_play, self.board.colours()))
        if point is None:
            self.passes += 1
        else:
            self.passes = 0
            self.board.place(self.to_play, point)
        self.to_play = 3 - self.to_play

    def legal_moves(self) -> list[Point]:
        """All points that may be played."""
        size = self.board.size
        return [(row, col) for row in range(size) for col in range(size) if self.is_legal((row, col))]
