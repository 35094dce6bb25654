"""Specs: every agent has a short name, the same everywhere, and mistakes in it are told in one line."""

from pathlib import Path

import pytest

from tengen.agents.agent import AgentError, NeedsCheck
from tengen.agents.analysis import Analyst
from tengen.agents.registry import (
    SpecError,
    agent_kinds,
    load_agent,
    load_analyst,
    model_card,
    read_spec,
    spec_files,
    with_files,
    with_limit,
    with_settings,
)
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


def test_a_spec_is_read_without_loading_anything() -> None:
    assert read_spec(" alphago:x.safetensors,num_simulations=9 ") == ("alphago", {"model": "x.safetensors", "sims": 9})
    assert read_spec("uct: playouts = 5 ,, seed=1") == ("uct", {"playouts": 5, "seed": 1})
    assert read_spec("policy:model=go9,temperature=0.5")[1] == {"model": "go9", "temperature": 0.5}
    for spec in ("gtp:gnugo", "uct:go9", "zero:sims=5,go9"):
        with pytest.raises(SpecError):
            read_spec(spec)


def test_a_seed_of_the_spec_goes_before_the_given_one() -> None:
    state = microchess.State.new()
    moves = {spec: load_agent(spec, seed).choose(state).move for spec, seed in (("random:seed=5", 1), ("random", 5))}
    assert len(set(moves.values())) == 1 and len({load_agent("random", n).choose(state).move for n in range(9)}) > 1
    with pytest.raises(AgentError, match="no-such-program isn't installed"):
        load_agent("gtp:no-such-program", 1)


def test_who_cannot_analyse_is_named() -> None:
    with pytest.raises(SpecError, match=r"alphabeta:depth=1 searches no tree .* take zero"):
        load_analyst("alphabeta:depth=1")
    assert isinstance(load_analyst("uct:playouts=5"), Analyst)


@pytest.mark.parametrize(
    ("spec", "board"),
    [("zero:go5", 5), ("policy:go9", 9), ("random", None), ("uct", None), ("mcts", None), ("gtp:zero:go5", None)],
)
def test_the_card_of_a_spec(spec: str, board: int | None) -> None:
    card = model_card(spec)
    assert (card and card.size) == board


def test_the_card_of_a_generation(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no generations of value networks"):
        model_card(f"value:{tmp_path}")


def test_files_of_a_spec_are_named_and_replaced(tmp_path: Path) -> None:
    model, value = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    spec = f"alphago:{model}, value={value},fast=fast9"
    assert spec_files(spec) == [str(model), str(value)]
    assert with_files(spec, {str(model): "/1", str(value): "/2"}) == "alphago:/1,value=/2,fast=fast9"
    assert with_files(spec, {}) == spec
    for none in ("zero:go5", "uct:playouts=5", "gtp:engine --model a, b"):
        assert spec_files(none) == [] and with_files(none, {"b": "c"}) == none
    with pytest.raises(SpecError, match="is a folder"):
        spec_files(f"value:{tmp_path}")


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ("zero:go9", "zero:go9,threads=2"),
        ("alphago", "alphago:threads=2"),
        ("uct", "uct"),
        ("zero:go9,threads=1", "zero:go9,threads=1"),
        ("random", "random"),
        ("gtp:zero:go9", "gtp:zero:go9"),
    ],
)
def test_settings_are_added_where_they_are_known(spec: str, wanted: str) -> None:
    assert with_settings(spec, threads=2) == wanted


def test_help_names_settings_with_their_defaults_and_other_names() -> None:
    kinds = agent_kinds()
    assert "sims|num_simulations=" in kinds["alphago"] and "depth=None" in kinds["alphabeta"]
    assert " program, " in kinds["uci"]
