"""A search one simulation at a time: every number is the one that the formulas of PUCT give."""

import numpy as np
import pytest

from tengen.agents.registry import load_agent
from tengen.agents.search_agent import SearchAgent
from tengen.games import go
from tengen.games.game import get_game


def agent(spec: str) -> SearchAgent:
    found = load_agent(spec, seed=1)
    assert isinstance(found, SearchAgent)
    return found


def test_a_simulation_goes_where_q_plus_u_is_largest() -> None:
    state = go.State.new(5, komi=3.5).play(0)
    search = agent("zero:go5,exploration=3").stepped(state)
    for count in range(1, 60):
        expected, here = [0], 0
        while search.node(here).stage == "expanded":
            here = search.children(here)[0].number
            expected.append(here)
        went = search.step()
        assert [each.number for each in went] == expected
        assert search.simulations == count
    root = search.node(0)
    assert root.visits == 60  # its own evaluation counts
    assert sum(each.visits for each in search.children(0)) == 59


def test_a_simulation_adds_the_value_of_its_leaf_to_every_node() -> None:
    search = agent("zero:go5").stepped(go.State.new(5, komi=3.5))
    for _ in range(20):
        went = search.step()
        leaf = search.node(went[-1].number)
        assert leaf.value is not None
        value = -leaf.value  # for who moved there
        for each in reversed(went):
            node = search.node(each.number)
            assert node.visits == each.visits + 1
            assert node.value_sum == pytest.approx(each.value_sum + value, abs=1e-4)
            assert node.q == pytest.approx(node.value_sum / node.visits, abs=1e-5)
            value = -value


def test_nodes_have_their_positions_and_priors() -> None:
    state = go.State.new(5, komi=3.5)
    search = agent("zero:go5").stepped(state)
    for _ in range(30):
        went = search.step()
    assert sum(each.prior for each in search.children(0)) == pytest.approx(1, abs=1e-4)
    assert search.line(went[-1].number) == [each.number for each in went]
    assert search.state_at(went[-1].number).move_number == len(went) - 1
    assert set(search.values) == set(state.legal_moves())
    with pytest.raises(ValueError, match="no node"):
        search.node(10**9)


def test_it_agrees_with_the_agent_itself() -> None:
    state = get_game("tictactoe").start()
    *_, known = agent("mcts:playouts=1").analyse(state, visits=1)
    search = agent("mcts").stepped(state)
    assert known.visits == search.node(0).visits == 1
    assert np.isclose(known.moves[0].prior, search.children(0)[0].prior)


def test_rollouts_are_kept_apart() -> None:
    search = agent("alphago:threads=1").stepped(go.State.new(9))
    for _ in range(3):
        search.step()
    first = search.children(0)[0]
    assert first.rollout_sum is not None and abs(first.rollout_sum) <= max(1, first.visits)


def test_only_puct_and_only_games_that_go_on() -> None:
    with pytest.raises(ValueError, match="PUCT"):
        agent("gumbel:go5").stepped(go.State.new(5, komi=3.5))
    with pytest.raises(ValueError, match="over"):
        agent("zero:go5").stepped(go.State.new(5, komi=3.5).play(go.RESIGN))


def test_a_search_by_rollouts_alone_needs_no_value_network() -> None:
    """As on 19x19, where the page offers it to be followed."""
    search = agent("alphago:go19,lambda=1,threads=1").stepped(go.State.new(size=19))
    assert not search.values
    assert search.step() and search.simulations == 1
