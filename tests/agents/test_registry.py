"""Specs: every agent has a short name, the same everywhere, and mistakes in it are told in one line."""

import pytest

from tengen.agents.agent import AgentError, NeedsCheck
from tengen.agents.registry import SpecError, agent_kinds, load_agent, with_limit
from tengen.games import microchess


@pytest.mark.parametrize(
    "spec", ["random", "random:seed=3", "uct:playouts=10", "uct:seconds=0.5, seed=2", "minimax:depth=1"]
)
def test_a_spec_makes_an_agent(spec: str) -> None:
    agent = load_agent(spec)
    assert agent.name.startswith(spec.partition(":")[0])
    agent.close()
    agent.close()


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("", "choose from random"),
        ("alphazero", "choose from random"),
        ("uct:speed=3", "it has playouts=..."),
        ("uct:playouts", "not a setting"),
        ("uct:playouts=many", "is not possible: give"),
        ("uct:playouts=1,playouts=2", "twice"),
        ("uct:guided=perhaps", "is not possible: give"),
        ("random:seed=1.5", "is not possible: give"),
        ("uci", "uci needs a program: name it first, uci:PROGRAM"),
        ("uci:skill=5", "uci needs a program"),
        ("uci:fairy-stockfish,strength=5", "it has program=..., skill=..."),
    ],
)
def test_a_wrong_spec_says_what_would_be_right(spec: str, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        load_agent(spec)


def test_every_kind_has_a_line_of_help() -> None:
    kinds = agent_kinds()
    assert {"random", "minimax", "alphabeta", "uct", "policy", "fast-policy", "uci", "gtp"} <= set(kinds)
    assert all(len(line) > 20 and "\n" not in line for line in kinds.values())


def test_numbers_may_be_grouped() -> None:
    assert load_agent("uct:playouts=10_000").name == "uct:playouts=10000"


@pytest.mark.parametrize(
    ("spec", "limits", "limited"),
    [
        ("uct", {"nodes": 500}, "uct:playouts=500,resign=0"),
        ("uct:rave=100", {"timed": True}, "uct:rave=100,seconds=86400,resign=0"),
        ("uct:playouts=7,resign=0.1", {"nodes": 500}, "uct:playouts=7,resign=0.1"),
        ("alphabeta", {"depth": 4}, "alphabeta:depth=4"),
        ("alphabeta:seconds=1", {"depth": 4}, "alphabeta:seconds=1"),
        ("alphabeta", {"depth": 10**9}, "alphabeta:depth=64"),
        ("random", {"nodes": 5, "depth": 5, "timed": True}, "random"),
        ("gtp:gnugo --mode gtp", {"nodes": 5}, "gtp:gnugo --mode gtp"),
        ("zero:go5", {"timed": True}, "zero:go5,seconds=86400"),
        ("gumbel:go5", {"timed": True}, "gumbel:go5"),
        ("gumbel:go5", {"nodes": 10**9}, "gumbel:go5,sims=1000000"),
    ],
)
def test_a_limit_is_added_where_a_spec_has_none(spec: str, limits: dict[str, int], limited: str) -> None:
    assert with_limit(spec, **limits) == limited


@pytest.mark.parametrize("spec", ["policy", "fast-policy"])
def test_players_of_go_say_so_when_they_are_given_microchess(spec: str) -> None:
    agent, state = load_agent(spec), microchess.State.new()
    assert isinstance(agent, NeedsCheck)
    for ask in (agent.choose, agent.check):
        with pytest.raises(AgentError, match=r"plays Go, and this is a game of Microchess$"):
            ask(state)
    agent.close()


@pytest.mark.parametrize("spec", ["random", "minimax:depth=1", "alphabeta:depth=3", "uct:playouts=100"])
def test_players_of_every_game_finish_a_game_of_microchess(spec: str) -> None:
    def play(seed: int) -> microchess.State:
        agent, state = load_agent(spec, seed), microchess.State.new(rules="ncsoft")
        while not state.is_over:
            state = state.play(agent.choose(state).move)
        return state

    assert play(1).moves == play(1).moves
    assert play(1).moves != play(2).moves
