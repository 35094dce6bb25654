"""The Monte-Carlo player: limits, tree reuse, passing and resigning; and the same player in Microchess."""

import threading
import time

import numpy as np
import pytest

from tengen.agents.agent import Stoppable
from tengen.agents.registry import load_agent
from tengen.agents.uct import UctAgent, UctSettings
from tengen.games import go, microchess
from tengen.games.go import BLACK, PASS, RESIGN, RULES, WHITE

# Black owns the left, White the right, nothing is open; one white stone is dead in Black's corner.
SETTLED = """
    . X X O . .
    O . X O O .
    . X X O . O
    X X X O O O
    . X . X O .
    X . X X O O
"""


def state_of(diagram: str, to_play: int, rules: str = "chinese", komi: float = 0.5) -> go.State:
    glyphs = diagram.split()
    size = int(len(glyphs) ** 0.5)
    black = [i for i, glyph in enumerate(glyphs) if glyph == "X"]
    white = [i for i, glyph in enumerate(glyphs) if glyph == "O"]
    return go.State.setup(size, rules, komi, black, white, to_play)


@pytest.mark.parametrize("rules", RULES)
def test_plays_whole_legal_games_under_every_rule_set(rules: str) -> None:
    state = go.State.new(5, rules, komi=3.5)
    players = {
        BLACK: UctAgent(UctSettings(playouts=40, seed=1, resign=0)),
        WHITE: UctAgent(UctSettings(playouts=40, seed=2, resign=0)),
    }
    while not state.is_over and state.move_number < 150:
        state = state.play(players[state.to_play].choose(state).move)
    assert state.is_over
    assert state.result() != "?"


def test_beats_the_random_player() -> None:
    uct, random = UctAgent(UctSettings(playouts=200, seed=1)), load_agent("random", seed=1)
    for color in (BLACK, WHITE):
        state = go.State.new(7, "tromp-taylor")
        while not state.is_over:
            player = uct if state.to_play == color else random
            state = state.play(player.choose(state).move)
        assert state.winner() == color


def test_playouts_limit_the_search_and_a_seed_repeats_it() -> None:
    state = go.State.new(7)
    one = UctAgent(UctSettings(playouts=700, seed=3)).choose(state)
    two = UctAgent(UctSettings(playouts=700, seed=3)).choose(state)
    assert (one.move, one.visits, one.values, one.pv) == (two.move, two.visits, two.values, two.pv)
    assert sum(one.visits.values()) <= 700
    assert one.pv[0] == one.move
    assert one.value == one.values[one.move]


def test_time_limits_the_search() -> None:
    """The clock is ours: it jumps half a second at each look."""
    now = iter(np.arange(0, 1000, 0.5))
    agent = UctAgent(UctSettings(seconds=3.0, seed=1), clock=lambda: float(next(now)))
    agent.choose(go.State.new(5))
    assert 2.0 <= next(now) <= 3.5

    agent.choose(go.State.new(5), seconds=1.0)
    assert next(now) <= 6.0


def test_the_tree_is_kept_from_move_to_move_and_dropped_for_another_game() -> None:
    agent = UctAgent(UctSettings(playouts=2000, seed=1))
    state = go.State.new(5)
    first = agent.choose(state)
    state = state.play(first.pv[0]).play(first.pv[1])
    second = agent.choose(state)
    assert sum(second.visits.values()) > 2000, "the subtree's visits were not reused"
    elsewhere = go.State.new(5).play(0).play(1)
    third = agent.choose(elsewhere)
    assert sum(third.visits.values()) <= 2000
    assert 0 not in third.visits and 1 not in third.visits


def test_the_tree_is_not_kept_for_the_other_colour() -> None:
    agent, state = UctAgent(UctSettings(playouts=2000, seed=1)), go.State.new(5)
    agent.choose(state)
    assert sum(agent.choose(state.with_to_play(WHITE)).visits.values()) <= 2000


def test_the_tree_has_room_for_the_board_at_hand() -> None:
    agent = UctAgent(UctSettings(playouts=100, seed=1))
    agent.choose(go.State.new(5))
    used = UctAgent(UctSettings(playouts=100, seed=1)).choose(go.State.new(13))
    assert len(agent.choose(go.State.new(13)).pv) >= len(used.pv) - 1


def test_undo_and_the_same_position_again() -> None:
    agent = UctAgent(UctSettings(playouts=300, seed=1))
    state = go.State.new(5)
    agent.choose(state)
    after = state.play(12)
    agent.choose(after)
    assert agent.choose(state).move != RESIGN
    assert agent.choose(state).move in state.legal_moves()


def test_passes_when_the_opponent_passed_and_the_count_is_won() -> None:
    state = state_of(SETTLED, WHITE).play(PASS)
    assert UctAgent(UctSettings(playouts=500, seed=1)).choose(state).move == PASS


def test_does_not_pass_after_a_pass_when_that_loses() -> None:
    state = state_of(SETTLED, WHITE, komi=20.5).play(PASS)
    assert UctAgent(UctSettings(playouts=500, seed=1, resign=0)).choose(state).move != PASS


def test_resigns_only_when_lost_and_only_if_it_may() -> None:
    board = state_of(SETTLED, WHITE, komi=-30.0)
    for _ in range(4):  # resigning is for games that have begun
        board = board.play(PASS).with_to_play(WHITE).play(board.legal_moves()[0]).with_to_play(WHITE)
    lost = UctAgent(UctSettings(playouts=300, seed=1)).choose(board)
    assert lost.value is not None and lost.value < 0.1
    assert lost.move == RESIGN
    assert UctAgent(UctSettings(playouts=300, seed=1, resign=0)).choose(board).move != RESIGN


def test_opens_on_a_sensible_point_of_9x9() -> None:
    state = go.State.new(9, komi=7.0)
    move = UctAgent(UctSettings(playouts=5000, seed=1)).choose(state).move
    row, col = divmod(move, 9)
    assert 2 <= row <= 6 and 2 <= col <= 6


@pytest.mark.parametrize(
    "spec",
    [
        "uct:playouts=0",
        "uct:seconds=-1",
        "uct:resign=0.7",
        "uct:nodes=3",
        "uct:seconds=nan",
        "uct:prior=-1",
        "uct:rave=nan",
        "uct:exploration=-1",
    ],
)
def test_settings_that_cannot_be_are_refused(spec: str) -> None:
    with pytest.raises(ValueError, match=spec.split(":")[1].split("=")[0]):
        load_agent(spec)


# ------------------------------------------------------------------------------------------- Microchess


@pytest.mark.parametrize("double_step", [True, False])
@pytest.mark.parametrize("rules", microchess.RULE_SETS)
def test_plays_whole_legal_games_of_microchess_and_beats_the_random_player(rules: str, double_step: bool) -> None:
    uct, random = load_agent("uct:playouts=1500,seed=1"), load_agent("random:seed=1")
    for color in (microchess.WHITE, microchess.BLACK):
        state = microchess.State.new(rules, double_step)
        while not state.is_over:
            player = uct if state.to_play == color else random
            state = state.play(player.choose(state).move)
        assert state.winner() == color


def test_playouts_limit_the_search_in_microchess_and_a_seed_repeats_it() -> None:
    state = microchess.State.new()
    one, two, other = (UctAgent(UctSettings(playouts=700, seed=seed)).choose(state) for seed in (3, 3, 4))
    assert (one.move, one.visits, one.values, one.pv) == (two.move, two.visits, two.values, two.pv)
    assert one.visits != other.visits
    assert sum(one.visits.values()) <= one.nodes == 700
    assert set(one.visits) <= set(state.legal_moves())
    assert one.pv[0] == one.move
    assert one.values.keys() <= one.visits.keys()


def test_exploration_spreads_the_visits_in_microchess() -> None:
    state = microchess.State.new("ncsoft")
    narrow, wide = (
        UctAgent(UctSettings(playouts=2000, seed=3, exploration=c)).choose(state).visits for c in (0.1, 5.0)
    )
    assert max(narrow.values()) > 2 * max(wide.values())


def test_time_limits_the_search_in_microchess() -> None:
    state = microchess.State.new()
    now = iter(np.arange(0, 1000, 0.5))  # a clock that jumps half a second at each look
    agent = UctAgent(UctSettings(seconds=3.0, seed=1), clock=lambda: float(next(now)))
    agent.choose(state)
    assert 2.0 <= next(now) <= 4.0


def test_a_search_can_be_stopped() -> None:
    for state in (microchess.State.new(), go.State.new(5)):
        agent = UctAgent(UctSettings(seconds=600, seed=1))
        assert isinstance(agent, Stoppable)
        timer = threading.Timer(0.3, agent.stop)
        timer.start()
        start = time.monotonic()
        assert agent.choose(state).move in state.legal_moves()
        assert time.monotonic() - start < 60


def test_the_tree_is_kept_in_microchess_and_dropped_for_another_game() -> None:
    agent = UctAgent(UctSettings(playouts=2000, seed=1))
    state = microchess.State.new()
    first = agent.choose(state)
    after = state.play(first.pv[0]).play(first.pv[1])
    assert agent.choose(after).nodes > 2000, "the subtree's visits were not reused"
    for other in (microchess.State.from_fen(after.fen()), state, microchess.State.new("ncsoft")):
        assert agent.choose(other).nodes == 2000
    assert agent.choose(go.State.new(5)).move in go.State.new(5).legal_moves()
    assert agent.choose(state).nodes == 2000


@pytest.mark.parametrize("rules", microchess.RULE_SETS)
def test_a_sure_win_is_taken_at_once(rules: str) -> None:
    """White wins at once, by mate or, under ncsoft rules, by stalemate; then in a few moves, whatever Black does."""
    state = microchess.State.from_fen("k3/2Q1/1K2/4/4 w - - 0 1", rules)
    decision = UctAgent(UctSettings(playouts=100_000, seed=1)).choose(state)
    assert decision.value == 1.0 and decision.nodes is not None and decision.nodes < 500
    assert state.play(decision.move).winner() == microchess.WHITE

    agent, state = (
        UctAgent(UctSettings(playouts=100_000, seed=1)),
        microchess.State.from_fen("k3/4/1K2/4/3Q b - - 0 1", rules),
    )
    state = state.play(state.legal_moves()[0])
    decision = agent.choose(state)
    assert decision.value == 1.0
    state = state.play(decision.move)
    while not state.is_over:
        state = state.play(state.legal_moves()[0])
        state = state.play(agent.choose(state).move)
    assert state.winner() == microchess.WHITE


def test_a_game_of_microchess_that_is_over_is_resigned() -> None:
    state = microchess.State.new().play(microchess.RESIGN)
    assert UctAgent(UctSettings(playouts=10)).choose(state).move == microchess.RESIGN
