"""Levels: each is at least as strong as the one before, and says nothing that was measured elsewhere."""

import re

import pytest

from tengen.agents.agent import NeedsCheck
from tengen.agents.registry import load_agent
from tengen.games import go
from tengen.search.life_and_death import is_open, result_is_open
from tengen.web.opponents import opponents_for


@pytest.mark.parametrize("size", [3, 7, 13, 17, 25])
@pytest.mark.parametrize("rules", ["chinese", "japanese", "simple-go"])
def test_every_level_searches_more_than_the_one_before(size: int, rules: str) -> None:
    komi = 0.5 if rules == "simple-go" else 7.5
    specs = [one.spec for one in opponents_for(go.State.new(size, rules, komi), {})]
    assert not any("seconds" in spec for spec in specs), "time and playouts cannot be compared"
    playouts = [int(found[1]) for spec in specs if (found := re.search(r"playouts=(\d+)", spec))]
    assert playouts == sorted(set(playouts)) and len(playouts) == len(specs) - 1


def test_simple_go_has_no_ratings_of_another_game() -> None:
    levels = opponents_for(go.State.new(5, "simple-go", 3.5), {})
    assert all(one.rating is None and not one.measured for one in levels)
    assert any(one.rating is not None for one in opponents_for(go.State.new(5, "chinese", 3.5), {}))


@pytest.mark.parametrize("size", [9, 19])
def test_networks_play_by_territory_too(size: int) -> None:
    state = go.State.new(size, "japanese", 6.5)
    specs = [one.spec for one in opponents_for(state, {}) if "policy" in one.spec]
    assert specs
    for spec in specs:
        agent = load_agent(spec)
        if isinstance(agent, NeedsCheck):
            agent.check(state)
        agent.close()


def test_a_lead_by_komi_alone_is_open_and_a_settled_board_is_not() -> None:
    state = go.State.new(9).play(go.PASS)
    assert is_open(state) and result_is_open(state)
    state = go.State.new(5, "chinese", 3.5)
    for name in "C3 D3 C2 D2 C4 D4 C1 D1 C5 D5 B3 pass".split():
        state = state.play(state.parse_move(name))
    assert not is_open(state) and not result_is_open(state)
