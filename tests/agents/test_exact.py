"""Exact play: what is won stays won, on whole boards and by search."""

import pytest

from tengen.agents.agent import AgentError
from tengen.agents.registry import SpecError, load_agent
from tengen.arena.game import play_game
from tengen.games import go, microchess


@pytest.mark.parametrize("rules", ["simple-go", "tromp-taylor"])
def test_3x3_is_won_by_nine_points_against_anybody(rules: str) -> None:
    exact = load_agent("exact")
    for seed in range(5):
        result = play_game(exact, load_agent("random", seed), go.State.new(3, rules, komi=8.5))
        assert result.state.winner() == go.BLACK


def test_values_of_moves_are_certain() -> None:
    decision = load_agent("exact").choose(go.State.new(3, "chinese", komi=8.5))
    assert decision.move == 4
    assert decision.values[4] == 1.0
    assert decision.values[0] == 0.0
    assert decision.note == "forces Black by 9 or more"


def test_a_won_position_on_5x5_is_won_against_anybody() -> None:
    state = go.State.new(5, "simple-go", komi=3.5)
    for name in "C3 A1 C2 A3 C4 A5 B3 E1 D3 E5 B2 A2".split():
        state = state.play(state.parse_move(name))
    exact = load_agent("exact:nodes=200000,memory=0.05")
    assert exact.choose(state).value == 1.0
    for seed in range(3):
        assert play_game(exact, load_agent("random", seed), state).state.winner() == go.BLACK


def test_a_lost_position_on_5x5_is_played_on() -> None:
    state = go.State.new(5, "simple-go", komi=3.5)
    for name in "C3 A1 C2 A3 C4 A5 B3 E1 D3 E5 B2 A2 B4".split():
        state = state.play(state.parse_move(name))
    decision = load_agent("exact:nodes=200000,memory=0.05").choose(state)
    assert decision.value == 0.0
    assert state.is_legal(decision.move)


def test_an_undecided_position_has_a_legal_move() -> None:
    state = go.State.new(5, "simple-go", komi=3.5)
    decision = load_agent("exact:nodes=100,memory=0.01").choose(state)
    assert decision.value is None
    assert state.is_legal(decision.move)


def test_other_games_are_refused() -> None:
    agent = load_agent("exact")
    for state in (go.State.new(9), go.State.new(4, "japanese"), microchess.State.new()):
        with pytest.raises(AgentError, match="exact plays"):
            agent.choose(state)
    with pytest.raises((SpecError, ValueError), match="nodes"):
        load_agent("exact:nodes=0")
