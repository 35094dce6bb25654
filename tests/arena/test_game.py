"""One game always ends with a result, however its players behave."""

import threading
from collections.abc import Callable

import pytest

from tengen.agents.agent import Agent
from tengen.arena.game import GameStopped, play_game
from tengen.games import go
from tengen.games.go import BLACK, EMPTY, PASS, WHITE, from_gtp

LoadFake = Callable[..., Agent]


def test_two_passes_end_the_game_and_it_is_scored(load_fake: LoadFake) -> None:
    record = play_game(load_fake("pass"), load_fake("pass"), go.State.new(5, "chinese", 3.5))
    assert (record.result, record.winner, record.ending, record.reason) == ("W+3.5", WHITE, "score", "")
    assert [(turn.player, turn.decision.move) for turn in record.turns] == [(BLACK, PASS), (WHITE, PASS)]


def test_an_equal_score_is_a_draw(load_fake: LoadFake) -> None:
    record = play_game(load_fake("pass"), load_fake("pass"), go.State.new(5, "chinese", 0))
    assert (record.result, record.winner, record.ending) == ("0", EMPTY, "score")


def test_resignation(load_fake: LoadFake) -> None:
    record = play_game(load_fake("pass"), load_fake("resign"), go.State.new(5))
    assert (record.result, record.winner, record.ending) == ("B+R", BLACK, "resignation")


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("die", "fake ended with exit code 1"),
        ("bug", "crashed with KeyError: 'nothing' (conftest.py, line"),
        ("mute", "crashed with TypeError: "),
        ("hang", "fake did not answer within 60 s; --seconds gives it more time for every move"),
        ("repeat:12", "illegal move C3: "),
        ("repeat:25", "illegal move: 25 is not a point of a 5x5 board"),
        ("repeat:-7", "illegal move: -7 is not a point of a 5x5 board"),
    ],
)
@pytest.mark.parametrize("color", [BLACK, WHITE])
def test_an_agent_at_fault_loses_with_the_reason(load_fake: LoadFake, spec: str, reason: str, color: int) -> None:
    start = go.State.new(5).play(from_gtp("C3", 5)).play(from_gtp("A1", 5))
    bad, good = load_fake(spec), load_fake("random")
    record = play_game(bad, good, start) if color == BLACK else play_game(good, bad, start)
    assert record.reason.startswith(reason)
    assert (record.ending, record.winner) == ("forfeit", BLACK + WHITE - color)
    assert record.result == ("W+F" if color == BLACK else "B+F")


def test_a_forfeit_keeps_the_moves_before_it(load_fake: LoadFake) -> None:
    record = play_game(load_fake("die:4"), load_fake("random"), go.State.new(9))
    assert record.state.move_number == len(record.turns) == 4


def test_the_move_limit_scores_the_board_as_it_stands(load_fake: LoadFake) -> None:
    start = go.State.new(5, "tromp-taylor", 0.5).play(from_gtp("C3", 5))
    record = play_game(load_fake("pass"), load_fake("pass"), start, max_moves=1)
    assert (record.result, record.ending, record.turns) == ("B+24.5", "move limit", ())
    record = play_game(load_fake("wild"), load_fake("wild", 1), go.State.new(9), max_moves=10)
    assert (record.state.move_number, record.ending) == (10, "move limit")


def test_a_position_for_the_third_time_voids_a_game_with_simple_ko(load_fake: LoadFake) -> None:
    start = go.State.new(2, "japanese")
    games = (play_game(load_fake("wild", seed), load_fake("wild", seed + 1), start) for seed in range(200))
    record = next(game for game in games if game.ending == "repetition")
    assert (record.result, record.winner) == ("Void", EMPTY)


def test_random_games_end_before_the_default_limit(load_fake: LoadFake) -> None:
    for seed in range(20):
        record = play_game(load_fake("random", seed), load_fake("random", seed + 1), go.State.new(5))
        assert record.ending == "score"
        assert record.result == record.state.result()


def test_the_cap_on_thinking_is_handed_to_the_agents(load_fake: LoadFake) -> None:
    record = play_game(load_fake("pass"), load_fake("pass"), go.State.new(5), seconds=1.5)
    assert [turn.decision.note for turn in record.turns] == ["cap 1.5", "cap 1.5"]


def test_a_stopped_game_has_no_result(load_fake: LoadFake) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(GameStopped):
        play_game(load_fake("pass"), load_fake("pass"), go.State.new(5), stop=stop)
