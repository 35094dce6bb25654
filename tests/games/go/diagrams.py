"""Boards for tests: from text diagrams, and from random games; and a second, slow board to check them by.

A diagram has one line a row, the top row first: X black, O white, anything else empty; blanks do not count.
The slow board is a dict of (row, column) -> colour that holds the stones only. It knows nothing of kernels.
"""

from collections.abc import Iterator

import numpy as np

from tengen.games.go.board import (
    BLACK,
    EMPTY_COUNT,
    KO,
    NO_CELL,
    SIZE,
    TO_PLAY,
    WHITE,
    Board,
    allocate,
    copy_board,
    new_board,
    place,
)
from tengen.games.go.coordinates import from_cell, from_gtp, to_cell
from tengen.games.go.legality import legal_points, play_move
from tengen.games.go.playout import is_eye

Point = tuple[int, int]
Stones = dict[Point, int]

NO_HISTORY = np.empty(0, np.int64)


def board_from(diagram: str, to_play: int = BLACK) -> Board:
    """The board that a diagram shows, without any ko."""
    rows = ["".join(line.split()) for line in diagram.split("\n") if line.strip()]
    size = len(rows)
    assert all(len(row) == size for row in rows), "a diagram has to be square"
    board = new_board(size)
    for r, row in enumerate(rows):
        for c, char in enumerate(row):
            if char in "XO":
                captured = place(board, to_cell(r * size + c, size), BLACK if char == "X" else WHITE)
                assert captured == 0, f"stones without liberties beside row {r}, column {c}"
    board.info[KO] = NO_CELL
    board.info[TO_PLAY] = to_play
    return board


def at(board: Board, vertex: str) -> int:
    """The cell of a GTP vertex."""
    size = int(board.info[SIZE])
    return to_cell(from_gtp(vertex, size), size)


def random_boards(size: int, games: int, seed: int, every: int = 1, eyes: bool = True) -> Iterator[Board]:
    """Each `every`-th position of random games of `2 * size * size` legal moves (no suicide, simple ko).

    eyes: players never fill what looks like an eye of theirs, as in playouts.
    """
    rng = np.random.default_rng(seed)
    legal = np.empty(size * size, np.bool_)
    for game in range(games):
        board = new_board(size)
        for number in range(game * 2 * size * size, (game + 1) * 2 * size * size):
            color = int(board.info[TO_PLAY])
            legal_points(board, color, 0, NO_HISTORY, legal)
            cells = [to_cell(int(p), size) for p in np.flatnonzero(legal)]
            cells = [cell for cell in cells if not (eyes and is_eye(board, cell, color, 0))]
            play_move(board, int(rng.choice(cells)) if cells else NO_CELL, color)
            if number % every == every - 1:
                position = allocate(size)
                copy_board(board, position)
                yield position


def scattered_boards(size: int, count: int, seed: int) -> Iterator[Board]:
    """Boards with stones strewn over a fifth to a half of the points: ladders run far on them."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        board = new_board(size)
        stones = int(rng.uniform(0.2, 0.5) * size * size)
        for point in rng.choice(size * size, stones, replace=False):
            place(board, to_cell(int(point), size), int(rng.integers(BLACK, WHITE + 1)))
        board.info[KO] = NO_CELL
        yield board


# --------------------------------------------------------------------------------------- the slow board


def point_of(board: Board, cell: int) -> Point:
    """Row and column of a cell."""
    size = int(board.info[SIZE])
    return divmod(from_cell(cell, size), size)


def cell_of(board: Board, point: Point) -> int:
    """The cell at a row and column."""
    size = int(board.info[SIZE])
    return to_cell(point[0] * size + point[1], size)


def all_points(size: int) -> list[Point]:
    """Every point, row by row."""
    return [(r, c) for r in range(size) for c in range(size)]


def stones_of(board: Board) -> Stones:
    """The slow board for a board."""
    colors = {p: int(board.color[cell_of(board, p)]) for p in all_points(int(board.info[SIZE]))}
    stones = {p: color for p, color in colors.items() if color in (BLACK, WHITE)}
    assert len(colors) - len(stones) == board.info[EMPTY_COUNT]
    return stones


def beside(point: Point, size: int) -> list[Point]:
    """The neighbours of a point."""
    r, c = point
    around = [(r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)]
    return [(y, x) for y, x in around if 0 <= y < size and 0 <= x < size]


def string_of(stones: Stones, point: Point, size: int) -> frozenset[Point]:
    """All stones connected to the one here."""
    found, edge = {point}, [point]
    while edge:
        for q in beside(edge.pop(), size):
            if q not in found and stones.get(q) == stones[point]:
                found.add(q)
                edge.append(q)
    return frozenset(found)


def strings_of(stones: Stones, size: int) -> set[frozenset[Point]]:
    """All strings of both colours."""
    strings: set[frozenset[Point]] = set()
    seen: set[Point] = set()
    for p in stones:
        if p not in seen:
            strings.add(string_of(stones, p, size))
            seen |= string_of(stones, p, size)
    return strings


def liberties_of(stones: Stones, string: frozenset[Point], size: int) -> set[Point]:
    """The empty points beside a string."""
    return {q for p in string for q in beside(p, size) if q not in stones}
