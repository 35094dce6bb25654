"""`go.State`, the friendly class: what it shows, what it refuses, and what it remembers."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from tengen.games import go
from tengen.games.go import (
    BLACK,
    EMPTY,
    PASS,
    RESIGN,
    RULES,
    WHITE,
    IllegalMove,
    RuleSet,
    from_gtp,
    get_rules,
    opponent,
)
from tengen.games.go.coordinates import fixed_handicap

from .positions import play_all, state_from

# -------------------------------------------------------------------------------------------- beginnings


@pytest.mark.parametrize("rules", RULES)
def test_a_new_game_takes_what_is_not_given_from_the_rules(rules: str) -> None:
    state = go.State.new(rules=rules)
    assert (state.size, state.komi) == (RULES[rules].size, RULES[rules].komi)
    assert (state.to_play, state.move_number, state.last_move, state.previous) == (BLACK, 0, None, None)
    assert (state.captures, state.ko_point, state.moves, state.is_over) == ((0, 0), None, [], False)
    assert not state.stones.any()


def test_handicap_stones_stand_and_white_begins() -> None:
    state = go.State.new(9, "chinese", handicap=3)
    assert (state.to_play, state.handicap) == (WHITE, 3)
    assert state.setup_stones == (sorted(fixed_handicap(9, 3)), [])
    assert state.captures == (0, 0)


def test_a_set_up_is_remembered_through_the_game() -> None:
    state = play_all(go.State.setup(5, black=[0, 1], white=[12], to_play=WHITE), "E1 E2")
    assert state.setup_stones == ([0, 1], [12])
    assert state.moves == [(WHITE, 24), (BLACK, 19)]


def test_the_constructor_points_to_the_doors() -> None:
    with pytest.raises(TypeError, match=r"go.State\.new"):
        go.State()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 1}, "2 to 25"),
        ({"size": 26}, "2 to 25"),
        ({"rules": "ing"}, "choose from"),
        ({"komi": 1001}, "not possible"),
        ({"komi": float("inf")}, "not possible"),
        ({"komi": float("nan")}, "not possible"),
        ({"size": 9, "handicap": 10}, "not possible"),
        ({"size": 9, "handicap": 1}, "not possible"),
        ({"size": 5, "handicap": 2}, "none"),
    ],
)
def test_a_game_that_cannot_be_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        go.State.new(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("black", "white", "message"),
    [
        ([0], [0], "another stone"),
        ([0, 0], [], "another stone"),
        ([81], [], "not a point"),
        ([-1], [], "not a point"),
        ([0], [1, 9], "without a liberty"),
    ],
)
def test_a_set_up_that_cannot_be_is_refused(black: list[int], white: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        go.State.setup(9, "chinese", None, black, white)


def test_rules_of_ones_own_will_do() -> None:
    mine = RuleSet("mine", "simple", True, "area", 2.0, removes_dead=False, size=6)
    state = go.State.new(rules=mine)
    assert (state.size, state.komi, state.rules) == (6, 2.0, mine)
    assert get_rules("Chinese ") is RULES["chinese"]


# ---------------------------------------------------------------------------------------------- playing


@pytest.mark.parametrize(
    ("move", "message"),
    [(40, "E5 is not legal: there is a stone already"), (81, "81 is not a point"), (-3, "-3 is not a point")],
)
def test_illegal_moves_say_why(move: int, message: str) -> None:
    state = play_all(go.State.new(9), "E5")
    with pytest.raises(IllegalMove, match=message):
        state.play(move)
    assert not state.is_legal(move)
    assert state.why_illegal(move) is not None


def test_an_illegal_move_is_a_value_error() -> None:
    assert issubclass(IllegalMove, ValueError)


def test_playing_out_of_turn_hands_the_turn_to_the_other() -> None:
    state = go.State.new(9).play(0, WHITE)
    assert (state.color_at(0), state.to_play, state.moves) == (WHITE, BLACK, [(WHITE, 0)])
    state = state.play(1, WHITE)
    assert (state.color_at(1), state.to_play) == (WHITE, BLACK)


def test_undo_is_the_previous_state() -> None:
    state = play_all(go.State.new(9), "E5 C3")
    assert state.previous is not None
    assert state.previous.moves == [(BLACK, from_gtp("E5", 9))]
    assert state.previous.to_play == WHITE
    assert state.previous.previous is not None and state.previous.previous.previous is None


def test_what_a_state_gives_away_is_a_copy() -> None:
    state = play_all(go.State.new(5), "C3")
    state.stones[:] = WHITE
    state.moves.clear()
    state.legal_moves().clear()
    assert state.stones.sum() == BLACK
    assert state.moves == [(BLACK, 12)]
    assert len(state.legal_moves()) == 25


def test_stones_stand_where_they_were_put() -> None:
    state = play_all(go.State.new(5), "A5 E1")
    expected = np.zeros((5, 5), np.int8)
    expected[0, 0], expected[4, 4] = BLACK, WHITE
    assert np.array_equal(state.stones, expected)
    assert state.stones.dtype == np.int8
    assert (state.color_at(0), state.color_at(24), state.color_at(12)) == (BLACK, WHITE, EMPTY)
    with pytest.raises(ValueError, match="not a point"):
        state.color_at(25)


def test_the_player_to_move_can_be_changed() -> None:
    state = play_all(go.State.new(5, "aga"), "C3")
    turned = state.with_to_play(BLACK)
    assert (turned.to_play, state.to_play) == (BLACK, WHITE)
    assert np.array_equal(turned.stones, state.stones)
    assert state.with_to_play(WHITE) is state
    assert turned.play(0).color_at(0) == BLACK


def test_komi_can_be_changed() -> None:
    state = play_all(go.State.new(5, "tromp-taylor"), "C3")
    assert state.with_komi(0.5).score() - state.with_komi(2).score() == 1.5
    with pytest.raises(ValueError, match="komi"):
        state.with_komi(-2000)


def test_opponents() -> None:
    assert (opponent(BLACK), opponent(WHITE)) == (WHITE, BLACK)


# ------------------------------------------------------------------------------------------------- ends


def test_two_passes_in_a_row_end_the_game() -> None:
    state = play_all(go.State.new(5, "tromp-taylor", komi=0.5), "pass C3 pass")
    assert not state.is_over
    assert (state.winner(), state.result()) == (None, "?")
    state = state.play(PASS)
    assert state.is_over
    assert (state.winner(), state.result()) == (WHITE, "W+25.5")
    assert state.legal_moves() == []


@pytest.mark.parametrize(("color", "result"), [(BLACK, "W+R"), (WHITE, "B+R")])
def test_resignation_ends_the_game_even_out_of_turn(color: int, result: str) -> None:
    state = go.State.new(9).play(RESIGN, color)
    assert state.is_over
    assert (state.winner(), state.result()) == (opponent(color), result)
    assert state.moves == [(color, RESIGN)]


def test_nothing_can_be_played_after_the_end() -> None:
    for end in ("resign", "pass pass"):
        state = play_all(go.State.new(9), end)
        for move in (0, PASS, RESIGN):
            with pytest.raises(IllegalMove, match="over"):
                state.play(move)
            assert not state.is_legal(move)


def test_a_draw_has_no_winner() -> None:
    state = go.State.new(5, "tromp-taylor", komi=0).play(PASS).play(PASS)
    assert (state.winner(), state.result()) == (EMPTY, "0")


# ---------------------------------------------------------------------------------------------- showing


def test_a_board_prints_itself() -> None:
    state = play_all(
        state_from(
            """
            O X . . .
            . . . . .
            . . . . .
            . . . . .
            . . . . O
            """
        ),
        "A4",
    )
    assert str(state).splitlines() == [
        "   A B C D E",
        " 5 . X . . . 5",
        " 4(X). . . . 4",
        " 3 . . + . . 3",
        " 2 . . . . . 2",
        " 1 . . . . O 1",
        "   A B C D E",
        "Captured by Black 1, by White 0. Last move: A4. White (O) to play.",
    ]


def test_a_finished_board_prints_its_result() -> None:
    state = go.State.new(3, "tromp-taylor", komi=0.5).play(PASS).play(PASS)
    assert str(state).endswith("Result: W+0.5")


@pytest.mark.parametrize("size", [2, 9, 10, 19, 25])
def test_lines_of_a_printed_board_are_of_one_length(size: int) -> None:
    for move in (0, size - 1, size * size - 1, size * size // 2):
        lines = str(go.State.new(size).play(move)).splitlines()[1 : size + 1]
        assert len({len(line.rstrip("0123456789")) for line in lines}) == 1


def test_repr_is_short() -> None:
    assert repr(go.State.new(9)) == "<go.State 9x9 chinese, move 0>"


@pytest.mark.parametrize("moves", ["", "E5", "E5 C3 pass", "E5 resign"])
def test_a_notebook_shows_an_svg_with_a_circle_for_each_stone(moves: str) -> None:
    state = play_all(go.State.new(9), moves)
    picture = ElementTree.fromstring(state._repr_svg_())
    stones = [circle for circle in picture.iter("{http://www.w3.org/2000/svg}circle") if circle.get("stroke") == "#333"]
    assert picture.tag.endswith("svg")
    assert len(stones) == np.count_nonzero(state.stones)
