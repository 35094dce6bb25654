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
