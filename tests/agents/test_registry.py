"""Specs: every agent has a short name, the same everywhere, and mistakes in it are told in one line."""

import pytest

from tengen.agents.registry import SpecError, agent_kinds, load_agent


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
        ("alphago", "choose from random"),
        ("uct:speed=3", "it has playouts=..."),
        ("uct:playouts", "not a setting"),
        ("uct:playouts=many", "not a value"),
        ("uct:playouts=1,playouts=2", "twice"),
        ("uct:guided=perhaps", "not a value"),
        ("random:seed=1.5", "not a value"),
    ],
)
def test_a_wrong_spec_says_what_would_be_right(spec: str, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        load_agent(spec)


def test_every_kind_has_a_line_of_help() -> None:
    kinds = agent_kinds()
    assert {"random", "minimax", "alphabeta", "uct", "policy", "fast-policy", "gtp"} == set(kinds)
    assert all(len(line) > 20 and "\n" not in line for line in kinds.values())


def test_numbers_may_be_grouped() -> None:
    assert load_agent("uct:playouts=10_000").name == "uct:playouts=10000"
