"""No spec from a page may start a program, read a file or think without end."""

import pytest

from tengen.agents.agent import NeedsCheck
from tengen.agents.registry import SpecError, load_agent
from tengen.games.game import game_names, get_game
from tengen.games.go.rules import RULES
from tengen.web.inputs import safe_spec
from tengen.web.opponents import opponents_for


@pytest.mark.parametrize("spec", ["random", "uct:playouts=1000", "zero:go5,sims=64", "alphago:seconds=2,threads=2"])
def test_agents_of_our_own_may_be_asked_for(spec: str) -> None:
    assert safe_spec(f" {spec} ") == spec


@pytest.mark.parametrize(
    "spec",
    [
        "gtp:gnugo --mode gtp",
        "gtp:touch /tmp/x",
        "uci:fairy-stockfish",
        "uci:program=/bin/sh",
        "value:runs/x",
        "zero:/etc/passwd",
        "zero:../model.safetensors",
        "zero:model.safetensors",
        "policy:model=/etc/passwd",
        "alphago:alphago9,value=/etc/passwd",
        "alphago:alphago9,fast=x.safetensors",
        "mcts:model=go9",
        "alphabeta:model=runs",
        "alphabeta:runs/simple-go",
        "mcts:runs/simple-go",
        "gumbel:../x",
        "fast-policy:/etc/passwd",
        "zero:~root",
        "exact",
        "exact:tables",
        "ZERO:go9",
        "uct:guide=/etc/passwd",
        "zero:go9,tables=/etc/passwd",
        "zero:go9,batch=1000000",
        "zero:go9,backend=torch",
        "zero:go9,sims=10000000",
        "uct:seconds=1000",
        "uct:seconds=nan",
        "uct:seconds=inf",
        "zero:go9,threads=64",
        "minimax:depth=9",
        "uct:nodes=200000000",
        "",
        "uct:" + "x" * 300,
        "uct:playouts=1\n",
        None,
        7,
    ],
)
def test_all_others_may_not(spec: object) -> None:
    with pytest.raises(SpecError):
        safe_spec(spec)


def positions() -> list[object]:
    others = [get_game(name).start() for name in game_names() if name != "go"]
    go = get_game("go")
    boards = [go.start(size=size, rules=rules) for size in (5, 7, 9, 19) for rules in RULES]
    return [*others, *boards, go.start(size=5, komi=3.5), go.start(size=9, handicap=3)]


def test_every_opponent_can_play_what_it_is_offered_for() -> None:
    agents = {}
    for state in positions():
        offered = opponents_for(state, {})
        assert len({one.key for one in offered}) == len(offered)
        ratings = [one.rating for one in offered if one.rating is not None]
        assert ratings == sorted(ratings), "the weakest first"
        for one in offered:
            agent = agents.setdefault(one.spec, None) or load_agent(safe_spec(one.spec))
            agents[one.spec] = agent
            refuse = getattr(agent, "_refuse", None)
            if refuse is not None:
                refuse(state)
            elif isinstance(agent, NeedsCheck):
                agent.check(state)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("allowed", "refused"),
    [
        ("uct:playouts=200000", "uct:playouts=200001"),
        ("zero:go5,sims=100000", "zero:go5,sims=100001"),
        ("uct:seconds=30", "uct:seconds=30.1"),
        ("minimax:depth=3", "minimax:depth=4"),
        ("alphabeta:depth=8", "alphabeta:depth=9"),
        ("zero:go5,batch=64", "zero:go5,batch=65"),
        ("alphago:alphago9,threads=8", "alphago:alphago9,threads=9"),
        ("uct:rave=1000000", "uct:rave=0,seconds=31"),
        ("alphabeta:evaluation=influence", "alphabeta:evaluation=other"),
        ("zero:go5,backend=int8", "zero:go5,backend=torch"),
        ("uct:guided=no", "uct:guided=perhaps"),
        ("uct:seed=" + "1" * 191, "uct:seed=" + "1" * 192),
    ],
)
def test_limits_to_the_last_one(allowed: str, refused: str) -> None:
    assert safe_spec(allowed) == allowed
    with pytest.raises(SpecError):
        safe_spec(refused)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("gtp:x", "'gtp' cannot be asked for from a page: choose from random, minimax"),
        ("alphabeta:model=go9", "alphabeta with a model cannot be asked for"),
        ("zero:nothing", "no model is called 'nothing': choose from alphago9"),
        ("zero:go9,backend=torch", "backend=torch cannot be asked for"),
        ("uct:seconds=1000", "seconds=1000 is more than a page may ask for: at most 30"),
        (7, "give an agent's spec, such as uct:playouts=1000"),
    ],
)
def test_a_refusal_says_what_would_be_right(spec: object, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        safe_spec(spec)
