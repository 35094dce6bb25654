"""Every coordinate system, there and back; the table in the module's docstring is true."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tengen.games.go import PASS, RESIGN, coordinates
from tengen.games.go.board import cell_count, new_board
from tengen.games.go.coordinates import (
    check_size,
    fixed_handicap,
    from_cell,
    from_gtp,
    from_policy,
    from_sgf,
    max_fixed_handicap,
    star_points,
    to_cell,
    to_gtp,
    to_policy,
    to_sgf,
)

SIZES = range(2, 26)


@pytest.mark.parametrize("size", SIZES)
def test_every_system_leads_back_to_the_point(size: int) -> None:
    for move in range(size * size):
        assert from_cell(to_cell(move, size), size) == move
        assert from_gtp(to_gtp(move, size), size) == move
        assert from_gtp(to_gtp(move, size).lower(), size) == move
        assert from_sgf(to_sgf(move, size), size) == (PASS if to_sgf(move, size) == "tt" and size <= 19 else move)
        assert from_policy(to_policy(move, size), size) == move


@pytest.mark.parametrize("size", SIZES)
def test_cells_are_the_inside_of_the_padded_grid(size: int) -> None:
    board = new_board(size)
    inside = [cell for cell in range(cell_count(size)) if board.color[cell] == 0]
    assert inside == [to_cell(move, size) for move in range(size * size)]
    for move in range(size * size):
        cell, stride = to_cell(move, size), size + 1
        assert (board.color[cell - stride] == 0) == (move >= size)
        assert (board.color[cell - 1] == 0) == (move % size > 0)


@pytest.mark.parametrize("size", SIZES)
def test_passes_and_resignations(size: int) -> None:
    assert from_gtp(to_gtp(PASS, size), size) == from_gtp(" PASS ", size) == PASS
    assert from_gtp(to_gtp(RESIGN, size), size) == RESIGN
    assert from_sgf(to_sgf(PASS, size), size) == PASS
    assert from_policy(to_policy(PASS, size), size) == PASS


def test_tt_is_a_pass_up_to_19x19_and_a_point_above() -> None:
    assert from_sgf("tt", 19) == PASS
    assert from_sgf("tt", 20) == 19 * 20 + 19


def table() -> list[list[str]]:
    """The rows of the table in the docstring."""
    lines = [line for line in (coordinates.__doc__ or "").splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_table_in_the_docstring_is_true() -> None:
    rows = {row[0]: row[1:6] for row in table()[1:]}
    corners = [int(cell) for cell in rows["move (flat)"][:4]]
    assert corners == [0, 8, 72, 80]
    assert [tuple(map(int, cell.split(", "))) for cell in rows["row, column"][:4]] == [
        divmod(move, 9) for move in corners
    ]
    assert [int(cell) for cell in rows["cell"][:4]] == [to_cell(move, 9) for move in corners]
    assert [int(cell) for cell in rows["policy"][:4]] == [to_policy(move, 9) for move in corners]
    assert rows["GTP"] == [to_gtp(move, 9) for move in [*corners, PASS]]
    assert rows["SGF"][:4] == [to_sgf(move, 9) for move in corners]
    assert int(rows["move (flat)"][4]) == PASS
    assert to_policy(PASS, 9) == eval(rows["policy"][4], {"size": 9})


@pytest.mark.parametrize("text", ["", "I5", "i1", "A0", "A10", "K1", "5E", "E", "E55", "E-1", "Ａ1", "A1 B2", "\x00"])
def test_what_is_no_point_of_9x9_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a point|outside"):
        from_gtp(text, 9)


@given(st.text(max_size=40), st.integers(2, 25))
def test_any_text_is_a_move_or_a_value_error(text: str, size: int) -> None:
    for read in (from_gtp, from_sgf):
        try:
            move = read(text, size)
        except ValueError as error:
            assert len(str(error)) < 200
        else:
            assert move in (PASS, RESIGN) or 0 <= move < size * size


@pytest.mark.parametrize("text", ["a", "abc", "jj", "AA", "a1", "é1"])
def test_what_is_no_sgf_point_of_9x9_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an SGF point"):
        from_sgf(text, 9)


@pytest.mark.parametrize("size", [1, 26, 0, -5])
def test_impossible_sizes_are_refused(size: int) -> None:
    with pytest.raises(ValueError, match="2 to 25"):
        check_size(size)


@pytest.mark.parametrize(
    ("size", "stones", "places"),
    [
        (19, 2, "D4 Q16"),
        (19, 3, "D4 Q16 Q4"),  # the top left stays open: GTP takes it only with the fourth stone
        (19, 5, "D4 Q16 Q4 D16 K10"),
        (19, 6, "D4 Q16 Q4 D16 D10 Q10"),
        (19, 7, "D4 Q16 Q4 D16 D10 Q10 K10"),
        (19, 8, "D4 Q16 Q4 D16 D10 Q10 K4 K16"),
        (19, 9, "D4 Q16 Q4 D16 D10 Q10 K4 K16 K10"),
        (13, 2, "D4 K10"),
        (9, 4, "C3 G7 G3 C7"),
        (9, 5, "C3 G7 G3 C7 E5"),
        (7, 4, "C3 E5 E3 C5"),
    ],
)
def test_fixed_handicap_is_where_gtp_puts_it(size: int, stones: int, places: str) -> None:
    assert {to_gtp(point, size) for point in fixed_handicap(size, stones)} == set(places.split())


@pytest.mark.parametrize("size", SIZES)
def test_fixed_handicap_has_as_many_stones_as_asked_or_is_refused(size: int) -> None:
    for stones in range(-1, 12):
        if 2 <= stones <= max_fixed_handicap(size):
            points = fixed_handicap(size, stones)
            assert len(set(points)) == stones
            assert all(0 <= point < size * size for point in points)
        else:
            with pytest.raises(ValueError, match="not possible"):
                fixed_handicap(size, stones)


def test_star_points_are_those_of_a_real_board() -> None:
    assert len(star_points(19)) == 9
    assert [to_gtp(point, 9) for point in star_points(9)] == ["C7", "G7", "E5", "C3", "G3"]
    assert star_points(4) == []
