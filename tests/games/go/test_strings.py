"""Strings, liberties and ladders found by kernels are those that a flood fill and a slow reader find."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from tengen.games import go
from tengen.games.go.board import BLACK, KO, NO_CELL, SIZE, TO_PLAY, WHITE, Board, place
from tengen.games.go.coordinates import to_gtp
from tengen.games.go.strings import (
    CAPTURED,
    ESCAPED,
    EXHAUSTED,
    MOVE_BUDGET,
    can_escape,
    find_ladders,
    is_captured_by,
    ladder_capture,
    ladder_escape,
    ladder_scratch,
    liberty_cells,
    liberty_count,
    read_ladder,
    string_cells,
    two_liberties,
)
from tengen.games.symmetry import SYMMETRIES, transform_array

from .diagrams import (
    Point,
    Stones,
    all_points,
    at,
    board_from,
    cell_of,
    liberties_of,
    point_of,
    random_boards,
    scattered_boards,
    stones_of,
    strings_of,
)
from .slow_ladder import SlowReader, TooLongError


def cells_by(kernel: object, board: Board, stone: int) -> list[tuple[int, int]]:
    out = np.empty(board.color.shape[0], np.int64)
    count = kernel(board, stone, out)  # type: ignore[operator]
    return [point_of(board, int(cell)) for cell in out[:count]]


@pytest.mark.parametrize(("size", "every"), [(2, 1), (3, 2), (5, 5), (9, 20), (19, 200)])
@pytest.mark.parametrize("eyes", [True, False])
def test_strings_and_liberties_are_those_of_a_flood_fill(size: int, every: int, eyes: bool) -> None:
    for board in random_boards(size, games=3, seed=size, every=every, eyes=eyes):
        stones = stones_of(board)
        for string in strings_of(stones, size):
            liberties = liberties_of(stones, string, size)
            for point in string:
                stone = cell_of(board, point)
                assert sorted(cells_by(string_cells, board, stone)) == sorted(string)
                assert sorted(cells_by(liberty_cells, board, stone)) == sorted(liberties)
                for at_most in (1, 2, 3, 8, 1000):
                    assert liberty_count(board, stone, at_most) == min(len(liberties), at_most)
                count, a, b = two_liberties(board, stone)
                assert count == min(len(liberties), 3)
                assert count == 3 or {point_of(board, cell) for cell in (a, b) if cell} == liberties


def test_liberties_are_cut_off_at_the_end_of_a_short_array() -> None:
    board = board_from("""
        . . . . .
        . . X . .
        . X X X .
        . . X . .
        . . . . .
    """)
    assert board.info[SIZE] == 5
    out = np.full(5, -1, np.int64)
    assert liberty_cells(board, at(board, "C3"), out[:3]) == 3
    assert (out[:3] > 0).all() and (out[3:] == -1).all()
    assert len(set(cells_by(liberty_cells, board, at(board, "C3")))) == 8


# ---------------------------------------------------------------------------------------------- ladders


def ko_for(board: Board, color: int) -> Point | None:
    cell = int(board.info[KO])
    return point_of(board, cell) if cell != NO_CELL and board.info[TO_PLAY] == color else None


def marked(board: Board, color: int, budget: int = MOVE_BUDGET) -> tuple[set[Point], set[Point]]:
    captures, escapes = find_ladders(board, color, budget)
    return {(int(r), int(c)) for r, c in np.argwhere(captures)}, {(int(r), int(c)) for r, c in np.argwhere(escapes)}


def boards(kind: str, size: int, count: int) -> Iterator[Board]:
    """`count` positions: from random games with or without eyes, or scattered stones."""
    if kind == "scattered":
        return scattered_boards(size, count, seed=size)
    every = max(1, 2 * size * size * 8 // count)
    return itertools.islice(random_boards(size, 9, size, every, eyes=kind == "playouts"), count)


@pytest.mark.parametrize("kind", ["playouts", "random games", "scattered"])
@pytest.mark.parametrize(("size", "count"), [(3, 140), (5, 400), (7, 300), (9, 200), (11, 50)])
def test_strings_are_read_as_the_slow_reader_reads_them(kind: str, size: int, count: int) -> None:
    scratch = ladder_scratch(size)
    verdicts = []
    too_long = 0
    for board in boards(kind, size, count):
        stones, reader = stones_of(board), SlowReader(size)
        for target, to_move in readable(stones, reader):
            verdict = read_ladder(board, cell_of(board, target), to_move, scratch, MOVE_BUDGET)
            verdicts.append(verdict)
            reader.nodes, ko = 0, ko_for(board, to_move)
            try:
                if to_move == stones[target]:
                    captured = not reader.escapes(stones, ko, target)
                else:
                    captured = reader.is_captured(stones, ko, target)
                assert verdict in (EXHAUSTED, CAPTURED if captured else ESCAPED)
            except TooLongError:
                too_long += 1
    assert min(verdicts.count(ESCAPED), verdicts.count(CAPTURED)) > 10
    assert too_long + verdicts.count(EXHAUSTED) < 0.01 * len(verdicts)


def readable(stones: Stones, reader: SlowReader) -> Iterator[tuple[Point, int]]:
    """Strings that may be in a ladder, and who is to move: anyone in atari, the attacker at two liberties."""
    for target in sorted(min(string) for string in strings_of(stones, reader.size)):
        liberties = len(reader.liberties(stones, target))
        if liberties == 1:
            yield target, stones[target]
        if liberties <= 2:
            yield target, 3 - stones[target]


@pytest.mark.parametrize("kind", ["playouts", "random games", "scattered"])
@pytest.mark.parametrize(("size", "count"), [(3, 60), (5, 40), (7, 15), (9, 6)])
def test_points_are_marked_as_the_slow_reader_marks_them(kind: str, size: int, count: int) -> None:
    too_long = tested = 0
    for board in boards(kind, size, count):
        stones, reader = stones_of(board), SlowReader(size)
        for color in (BLACK, WHITE):
            captures, escapes = marked(board, color)
            ko = ko_for(board, color)
            for p in all_points(size):
                reader.nodes = 0
                tested += 1
                try:
                    assert (p in captures) == reader.is_ladder_capture(stones, ko, p, color)
                    assert (p in escapes) == reader.is_ladder_escape(stones, ko, p, color)
                except TooLongError:
                    too_long += 1
    assert too_long < 0.01 * tested


def test_one_point_or_all_points_one_string_or_another_the_answers_agree() -> None:
    scratch = ladder_scratch(9)
    for board in boards("random games", 9, 60):
        before = [array.copy() for array in board]
        for color in (BLACK, WHITE):
            captures, escapes = marked(board, color)
            for point in all_points(9):
                cell = cell_of(board, point)
                assert ladder_capture(board, cell, color, scratch, MOVE_BUDGET) == (point in captures)
                assert ladder_escape(board, cell, color, scratch, MOVE_BUDGET) == (point in escapes)
        assert all((array == old).all() for array, old in zip(board, before)), "reading changed the board"


def test_ladders_look_the_same_from_all_eight_sides() -> None:
    for board in boards("scattered", 13, 20):
        stones = go.State.setup(13).stones
        for (r, c), color in stones_of(board).items():
            stones[r, c] = color
        captures, escapes = find_ladders(board, BLACK)
        for k in range(SYMMETRIES):
            seen = transform_array(stones, k)
            turned = go.State.setup(13, black=np.flatnonzero(seen == BLACK), white=np.flatnonzero(seen == WHITE))
            found = find_ladders(turned)
            assert (found[0] == transform_array(captures, k)).all()
            assert (found[1] == transform_array(escapes, k)).all()


# --------------------------------------------------------------------------------------------- diagrams

LADDER = """
    . . . . . . . . .
    . . X X . . . . .
    . X O . . . . . .
    . X . . . . . . .
    . . . . . . . . .
    . . . . . . . . .
    . . . . . . . . .
    . . . . . . . . .
    . . . . . . . . .
"""
"""White C7 is to be driven to the lower right corner."""


def with_stones(diagram: str, black: str = "", white: str = "") -> Board:
    """The diagram with more stones, given as GTP vertices."""
    board = board_from(diagram)
    for color, vertices in ((BLACK, black), (WHITE, white)):
        for vertex in vertices.split():
            assert place(board, at(board, vertex), color) == 0
    return board


def vertices(board: Board, points: set[Point]) -> set[str]:
    size = int(board.info[SIZE])
    return {to_gtp(r * size + c, size) for r, c in points}


def captures_of(board: Board, color: int = BLACK) -> set[str]:
    return vertices(board, marked(board, color)[0])


def escapes_of(board: Board, color: int = WHITE) -> set[str]:
    return vertices(board, marked(board, color)[1])


def test_a_ladder_works_on_an_empty_board() -> None:
    board = board_from(LADDER)
    assert captures_of(board) == {"D7", "C6"}
    assert is_captured_by(board, at(board, "C7"), ladder_scratch(9), MOVE_BUDGET)
    assert not can_escape(with_stones(LADDER, "D7"), at(board, "C7"), ladder_scratch(9), MOVE_BUDGET)
    assert escapes_of(with_stones(LADDER, "D7")) == set()


@pytest.mark.parametrize("breaker", ["D5", "E5", "E4", "F4", "G3", "H2"])
def test_a_stone_in_its_way_breaks_a_ladder(breaker: str) -> None:
    assert captures_of(with_stones(LADDER, white=breaker)) == set()
    assert escapes_of(with_stones(LADDER, "D7", breaker)) == {"C6"}


@pytest.mark.parametrize("bystander", ["G7", "C3", "E9", "A1"])
def test_a_stone_out_of_its_way_does_not(bystander: str) -> None:
    assert captures_of(with_stones(LADDER, white=bystander)) >= {"D7", "C6"}


def test_a_ladder_runs_across_the_big_board() -> None:
    empty = "\n".join(["." * 19] * 19)
    attackers = "C17 D17 B16 B15"
    board = with_stones(empty, attackers, "C16")
    assert captures_of(board) == {"D16", "C15"}
    assert captures_of(with_stones(empty, attackers, "C16 Q3")) == set()
    assert read_ladder(board, at(board, "C16"), BLACK, ladder_scratch(19), MOVE_BUDGET) == CAPTURED


def test_a_capture_is_not_claimed_when_the_budget_is_used_up() -> None:
    board = board_from(LADDER)
    assert read_ladder(board, at(board, "C7"), BLACK, ladder_scratch(9), 8) == EXHAUSTED
    assert not is_captured_by(board, at(board, "C7"), ladder_scratch(9), 8)
    assert marked(board, BLACK, budget=8) == (set(), set())
    assert marked(with_stones(LADDER, "D7"), WHITE, budget=8)[1] == {(3, 2)}


ATTACKER_IN_ATARI = """
    . . . . . . . . .
    . O X X . . . . .
    O X O X . . . . .
    . . . X . . . . .
    . . X . . . . . .
    . . . . . . . . .
    . . . . . . . . .
    . . . . . . . . .
    . . . . . . . . .
"""
"""White C7 is in atari and cannot run, but it can capture B7."""


def test_capturing_an_attacker_is_an_escape() -> None:
    board = board_from(ATTACKER_IN_ATARI)
    assert escapes_of(board) == {"B6"}
    assert can_escape(board, at(board, "C7"), ladder_scratch(9), MOVE_BUDGET)


def test_the_capture_of_an_attacker_half_way_breaks_a_ladder() -> None:
    before = ATTACKER_IN_ATARI.replace("O X O X", "O X O .")
    assert captures_of(board_from(before)).isdisjoint({"D7", "C6"})
    assert captures_of(board_from(before.replace("O X O .", ". X O ."))) >= {"D7", "C6"}


def test_a_ko_may_not_be_retaken_to_escape() -> None:
    board = board_from(ATTACKER_IN_ATARI, to_play=WHITE)
    board.info[KO] = at(board, "B6")
    assert escapes_of(board) == set()
    assert not can_escape(board, at(board, "C7"), ladder_scratch(9), MOVE_BUDGET)
    board.info[TO_PLAY] = BLACK  # then the ko binds Black, and White moves out of turn
    assert escapes_of(board) == {"B6"}


def test_a_stone_that_has_just_taken_a_ko_cannot_be_taken_at_once() -> None:
    board = board_from("""
        . X O . .
        X . X O .
        . X O . .
        . . . . .
        . . . . .
    """)
    place(board, at(board, "B4"), WHITE)
    assert point_of(board, int(board.info[KO])) == (1, 2)
    board.info[TO_PLAY] = BLACK
    assert not is_captured_by(board, at(board, "B4"), ladder_scratch(5), MOVE_BUDGET)
    board.info[KO] = NO_CELL
    assert is_captured_by(board, at(board, "B4"), ladder_scratch(5), MOVE_BUDGET)


def test_a_throw_in_is_read_to_the_snapback() -> None:
    """White may take the stone thrown in, and is left in atari."""
    board = board_from("""
        . O X . .
        . O X . .
        O O X . .
        X X X . .
        . . . . .
    """)
    assert captures_of(board) == {"A5", "A4"}


EDGE = """
    . . . . . . . . .
    . . . . . . . . .
    . . . . . . . . .
    . . . . . . . . .
    . . . . . . . . .
    . . . . . . . . .
    . . . . . . . . .
    . . . X . . . . .
    . . X O . . . . .
"""


def test_a_crawl_along_the_edge_ends_in_the_corner() -> None:
    assert escapes_of(board_from(EDGE)) == set()
    assert escapes_of(with_stones(EDGE, white="H1")) == {"E1"}
    assert escapes_of(with_stones(EDGE, white="H2")) == {"E1"}


def test_an_extension_may_capture_strings_that_did_not_touch_the_target() -> None:
    """Black B5 has C5 to run to, which captures four white stones that it does not touch yet."""
    board = board_from("""
        O X . O O
        O O . X O
        X O X X O
        X . . O X
        X O X X .
    """)
    assert "C5" in escapes_of(board, BLACK)


def test_a_state_is_read_for_who_is_to_play() -> None:
    board = board_from(LADDER)
    stones = {color: [9 * r + c for (r, c), s in stones_of(board).items() if s == color] for color in (1, 2)}
    state = go.State.setup(9, black=stones[BLACK], white=stones[WHITE], to_play=BLACK)
    assert [to_gtp(int(p), 9) for p in np.flatnonzero(find_ladders(state)[0])] == ["D7", "C6"]
    assert not np.any(find_ladders(state.with_to_play(WHITE)))
    with pytest.raises(ValueError, match="colour 0"):
        find_ladders(state, 0)
