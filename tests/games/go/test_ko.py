"""Ko, superko and suicide, rule set by rule set, each on a hand-made board."""

import pytest

from tengen.games import go
from tengen.games.go import BLACK, EMPTY, PASS, RULES, WHITE, IllegalMove, from_gtp

from .positions import play_all, state_from

SUPERKO = ["tromp-taylor", "chinese", "aga", "new-zealand", "simple-go"]
POSITIONAL = ["tromp-taylor", "chinese", "simple-go"]
SITUATIONAL = ["aga", "new-zealand"]
WITH_SUICIDE = ["tromp-taylor", "new-zealand"]

# Black takes the ko at C3 (capturing B3), White would retake at B3.
KO = """
    . X O .
    X O . O
    . X O .
    . . . .
"""

# White sends two by A1, Black takes both by C1, White returns one by B1: the same board, Black to play.
SEND_TWO = """
    . . . . .
    . . . . .
    . X O . .
    X X O . .
    . O . O .
"""

# Three kos, at rows 8, 5 and 2: White holds the first and the third, Black the second.
TRIPLE_KO = """
    . X O . . . . . .
    X O . O . . . . .
    . X O . . . . . .
    . X O . . . . . .
    X . X O . . . . .
    . X O . . . . . .
    . X O . . . . . .
    X O . O . . . . .
    . X O . . . . . .
"""
ALL_BUT_LAST = "C8 B5 C2 B8 C5"  # and B2 closes the circle

# White at A5 has one liberty, B5: playing there is suicide of two stones.
SUICIDE_OF_TWO = """
    O . X . .
    X X . . .
    . . . . .
    . . . . .
    . . . . .
"""


def is_legal(state: go.State, vertex: str) -> bool:
    """Whether all who know agree that the player to move may play here."""
    move = from_gtp(vertex, state.size)
    legal = move in state.legal_moves()
    assert state.is_legal(move) == legal
    assert (state.why_illegal(move) is None) == legal
    if legal:
        state.play(move)
    else:
        with pytest.raises(IllegalMove, match=vertex):
            state.play(move)
    return legal


# ------------------------------------------------------------------------------------------- simple ko


@pytest.mark.parametrize("rules", RULES)
def test_a_ko_is_not_retaken_at_once(rules: str) -> None:
    state = play_all(state_from(KO, rules), "C3")
    assert state.captures == (1, 0)
    assert state.ko_point == from_gtp("B3", 4)
    assert not is_legal(state, "B3")
    assert "ko" in str(state.why_illegal(from_gtp("B3", 4)))


@pytest.mark.parametrize("rules", RULES)
def test_a_ko_is_retaken_after_a_threat(rules: str) -> None:
    state = play_all(state_from(KO, rules), "C3 D1 A1")
    assert state.ko_point is None
    assert is_legal(state, "B3")
    assert not is_legal(play_all(state, "B3"), "C3")


@pytest.mark.parametrize("rules", sorted(set(RULES) - {"simple-go"}))
def test_a_pass_lifts_the_ko(rules: str) -> None:
    state = play_all(state_from(KO, rules), "C3 pass A1")
    assert is_legal(state, "B3")


@pytest.mark.parametrize("rules", RULES)
def test_the_player_who_took_the_ko_may_fill_it_out_of_turn(rules: str) -> None:
    state = play_all(state_from(KO, rules), "C3")
    assert state.is_legal(from_gtp("B3", 4), BLACK)


@pytest.mark.parametrize("rules", RULES)
def test_taking_two_stones_is_no_ko(rules: str) -> None:
    state = play_all(state_from(SEND_TWO, rules, WHITE), "A1 C1")
    assert state.captures == (2, 0)
    assert state.ko_point is None


def test_taking_one_stone_with_a_string_is_no_ko() -> None:
    """The stone that takes is joined to another: retaking brings no earlier board back."""
    state = state_from(
        """
        . X O .
        X O . X
        . X O .
        . . . .
        """,
        "japanese",
    )
    state = play_all(state, "C3")
    assert state.captures == (1, 0)
    assert state.ko_point is None


# --------------------------------------------------------------------------------------------- superko


@pytest.mark.parametrize("rules", POSITIONAL)
def test_sending_two_returning_one_is_forbidden_by_position(rules: str) -> None:
    state = play_all(state_from(SEND_TWO, rules, WHITE), "A1 C1")
    assert not is_legal(state, "B1")
    assert "superko" in str(state.why_illegal(from_gtp("B1", 5)))


@pytest.mark.parametrize("rules", SITUATIONAL)
def test_sending_two_returning_one_works_once_by_situation(rules: str) -> None:
    """The board is the first one, but now Black is to play: a new situation. The second round is not."""
    start = state_from(SEND_TWO, rules, WHITE)
    state = play_all(start, "A1 C1")
    assert is_legal(state, "B1")
    state = play_all(state, "B1")
    assert state.hash == start.hash
    assert not is_legal(play_all(state, "pass"), "A1")


def test_sending_two_returning_one_goes_on_with_simple_ko_until_the_game_is_void() -> None:
    state = state_from(SEND_TWO, "japanese", WHITE)
    for _ in range(2):
        assert not state.is_over
        state = play_all(state, "A1 C1 B1")
        assert not state.is_over
        state = play_all(state, "pass")
    assert state.is_over
    assert state.result() == "Void"
    assert state.winner() == EMPTY
    assert state.legal_moves() == []


@pytest.mark.parametrize("rules", SUPERKO)
def test_the_sixth_move_of_a_triple_ko_is_forbidden_by_superko(rules: str) -> None:
    state = state_from(TRIPLE_KO, rules)
    for move in ALL_BUT_LAST.split():
        assert is_legal(state, move)
        state = play_all(state, move)
    assert not is_legal(state, "B2")
    assert is_legal(play_all(state, "H8 H2"), "B2")


def test_a_triple_ko_makes_a_japanese_game_void_at_the_third_time() -> None:
    start = state = state_from(TRIPLE_KO, "japanese")
    state = play_all(state, ALL_BUT_LAST + " B2")
    assert state.hash == start.hash
    assert not state.is_over
    state = play_all(state, ALL_BUT_LAST)
    assert not state.is_over
    state = play_all(state, "B2")
    assert state.is_over
    assert (state.result(), state.winner()) == ("Void", EMPTY)
    with pytest.raises(IllegalMove, match="over"):
        play_all(state, "H8")


def test_two_passes_end_a_game_with_a_score_even_where_the_position_was_there_before() -> None:
    """After one round of the triple ko both pass: the players agree, and nothing is void."""
    state = play_all(state_from(TRIPLE_KO, "japanese"), ALL_BUT_LAST + " B2 pass pass")
    assert state.is_over
    assert state.result() != "Void"


@pytest.mark.parametrize("rules", sorted(set(SUPERKO) - {"simple-go"}))
def test_superko_never_forbids_a_pass(rules: str) -> None:
    state = play_all(state_from(KO, rules), "C3 pass")
    assert state.is_legal(PASS)
    assert play_all(state, "pass").is_over


# --------------------------------------------------------------------------------------------- suicide


@pytest.mark.parametrize("rules", RULES)
def test_suicide_of_two_stones_by_rule_set(rules: str) -> None:
    state = state_from(SUICIDE_OF_TWO, rules, WHITE)
    assert is_legal(state, "B5") == (rules in WITH_SUICIDE)
    if rules in WITH_SUICIDE:
        after = play_all(state, "B5")
        assert after.captures == (2, 0)
        assert after.color_at(from_gtp("A5", 5)) == after.color_at(from_gtp("B5", 5)) == EMPTY
        assert after.ko_point is None
    else:
        assert "suicide" in str(state.why_illegal(from_gtp("B5", 5)))


SUICIDE_OF_ONE = """
    . X .
    X . .
    . . .
"""


@pytest.mark.parametrize("rules", sorted(set(RULES) - {"new-zealand"}))
def test_suicide_of_one_stone_is_forbidden(rules: str) -> None:
    """Where suicide is, because it is; under Tromp-Taylor rules, because the board stays the same."""
    state = state_from(SUICIDE_OF_ONE, rules, WHITE)
    assert not is_legal(state, "A3")
    expected = "superko" if rules == "tromp-taylor" else "suicide"
    assert expected in str(state.why_illegal(from_gtp("A3", 3)))


def test_suicide_of_one_stone_is_a_kind_of_pass_under_new_zealand_rules() -> None:
    """The same board with the other player to move is a new situation. It does not count as a pass."""
    state = state_from(SUICIDE_OF_ONE, "new-zealand", WHITE)
    assert is_legal(state, "A3")
    after = play_all(state, "A3")
    assert (after.hash, after.to_play, after.captures) == (state.hash, BLACK, (1, 0))
    assert not play_all(after, "pass").is_over
    assert not is_legal(play_all(after, "pass"), "A3"), "the second time the situation has been there"


@pytest.mark.parametrize("rules", RULES)
def test_a_move_that_captures_is_never_suicide(rules: str) -> None:
    state = state_from(
        """
        . O X .
        O X X .
        X X . .
        . . . .
        """,
        rules,
    )
    assert is_legal(state, "A4")
    assert play_all(state, "A4").captures == (2, 0)
