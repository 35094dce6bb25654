"""What players with a tree have in common: its room, a tree that is full, and the clock at the end of a game."""

import numpy as np
import pytest

from tengen.agents import search_agent
from tengen.agents.passing import Count, Pass
from tengen.agents.registry import load_agent
from tengen.agents.search_agent import Limits, SearchAgent
from tengen.agents.uct import MctsSettings, mcts_agent
from tengen.games import go, microchess
from tengen.games.go import PASS
from tengen.search.rule import cannot_be_overtaken
from tengen.search.searcher import NODE_BYTES

from ..games.go.positions import state_from

GIB = 1 << 30


@pytest.fixture(autouse=True)
def _memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of eight gibibytes."""
    monkeypatch.setattr(search_agent, "machine_memory", lambda: 8 * GIB)


@pytest.mark.parametrize(
    ("limits", "branching", "room"),
    [
        (Limits(100, None, 0), 82, 4 * 102 * 82),
        (Limits(1, None, 0), 5, 1_000),
        (Limits(100, None, 5_000), 82, 5_000),
        (Limits(100, 9.0, 0), 82, 4 * 102 * 82),
        (Limits(None, 0.01, 0), 10, 4 * 502 * 10),
        (Limits(None, 3600.0, 0), 362, GIB // (2 * NODE_BYTES)),
        (Limits(10_000_000, None, 0), 362, GIB // (2 * NODE_BYTES)),
        (Limits(None, None, 0), 82, GIB // (2 * NODE_BYTES)),
    ],
)
def test_a_tree_has_room_for_its_limits_within_an_eighth_of_the_memory(
    limits: Limits, branching: int, room: int
) -> None:
    assert limits.room(branching) == room


def test_a_node_takes_as_many_bytes_as_is_said() -> None:
    from tengen.search.tree import new_trees

    trees = new_trees(1, 1000, rollouts=True)
    assert sum(array.nbytes for array in trees if array.ndim == 2) == 1000 * NODE_BYTES


@pytest.mark.parametrize("state", [go.State.new(5), microchess.State.new()], ids=["go", "microchess"])
def test_a_full_tree_is_searched_on_inside_and_the_note_says_so(state: go.State) -> None:
    small = mcts_agent(MctsSettings(playouts=3000, nodes=1000, seed=1))
    decision = small.choose(state)
    assert decision.note.endswith(", the tree is full")
    assert sum(decision.visits.values()) <= decision.nodes == 3000
    assert decision.move in state.legal_moves()
    roomy = mcts_agent(MctsSettings(playouts=300, seed=1)).choose(state)
    assert "full" not in roomy.note


def test_a_full_tree_has_room_again_after_a_move() -> None:
    agent, state = mcts_agent(MctsSettings(playouts=400, nodes=3000, seed=1)), go.State.new(5)
    for _ in range(6):
        decision = agent.choose(state)
        assert decision.nodes >= 400
        assert len(decision.pv) >= 2, "it grows below the move it wants"
        state = state.play(decision.move)


def test_memory_that_cannot_be_asked_for_is_taken_as_four_gibibytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()

    def refuse(name: str) -> int:
        raise ValueError(name)

    monkeypatch.setattr(search_agent.os, "sysconf", refuse)
    assert Limits(None, None, 0).room(82) == GIB // 2 // (2 * NODE_BYTES)


# --------------------------------------------------------------------------------------------- the clock

HALF_DONE = """
    . X . O .
    X X X O O
    . X O O .
    X X O . .
    . X O . .
"""


@pytest.mark.parametrize("spec", ["zero:go5,seconds=4", "mcts:seconds=4"])
def test_counting_the_position_is_part_of_the_time_for_a_move(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock of our own: a look takes a hundredth of a second, the count takes three."""
    now = [0.0]

    def clock() -> float:
        now[0] += 0.01
        return now[0]

    def count(state: go.State, seconds: float | None) -> Count:
        assert seconds == 4.0
        now[0] += 3.0
        return Count(-1.0, frozenset(), Pass.LOSES)

    monkeypatch.setattr(search_agent, "count_now", count)
    agent = load_agent(spec)
    agent._clock = clock  # type: ignore[attr-defined]
    passed = state_from(HALF_DONE, "chinese", 2, 0.5).play(PASS)
    decision = agent.choose(passed)
    assert now[0] <= 4.0
    assert decision.move != PASS
    assert PASS not in decision.visits, "what loses is not looked at"
    quiet = state_from(HALF_DONE, "chinese", 1, 0.5)
    now[0] = 0.0
    assert agent.choose(quiet).move in quiet.legal_moves()
    assert now[0] <= 4.0 + 3.0, "a count after the search cannot be known in advance; no search follows it"


def _ticking(agent: SearchAgent, tick: float = 0.01) -> list[float]:
    """Give an agent a clock of our own, on which each look takes so many seconds; returns the time on it."""
    now = [0.0]

    def clock() -> float:
        now[0] += tick
        return now[0]

    agent._clock = clock
    return now


ATARI = """
    . . . . .
    . X X . .
    X O O X .
    . X . . .
    . . . . .
"""


def test_a_search_by_the_clock_stops_when_no_other_move_can_come_first() -> None:
    """Catching two stones is so much better that the second half of the time could not change it."""
    state = state_from(ATARI, "chinese", 1, 0.5)
    agent = mcts_agent(MctsSettings(seconds=4, exploration=0.2, seed=1))
    now = _ticking(agent)
    decision = agent.choose(state)
    assert now[0] < 3.5
    first, second = sorted(decision.visits.values())[-2:][::-1]
    left = decision.nodes * (4 * search_agent._CLOCK_SHARE / now[0] - 1)
    assert first - second > 0.95 * left
    now[0] = 0.0
    agent.explain(state)
    assert 3.7 < now[0] <= 4.0, "who explains uses all of the time"


def test_a_search_whose_move_is_drawn_uses_all_of_its_time() -> None:
    agent = load_agent("zero:go5,seconds=2,temperature=1")
    now = _ticking(agent)  # type: ignore[arg-type]
    agent.choose(state_from(ATARI, "chinese", 1, 0.5))
    assert 1.8 < now[0] <= 2.0


@pytest.mark.parametrize(
    ("visits", "simulations", "decided"),
    [([5], 100, True), ([5, 3, 1], 1.9, True), ([5, 3, 1], 2, False), ([1, 5, 5], 0, False), ([0, 9, 2], 6, True)],
)
def test_the_lead_decides_whether_a_move_can_be_overtaken(visits: list[int], simulations: float, decided: bool) -> None:
    assert cannot_be_overtaken(np.array(visits), simulations) is decided


def test_dead_stones_found_change_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the tree knew with other dead stones is forgotten; with the same it is kept."""
    found = [frozenset[int]()]
    monkeypatch.setattr(search_agent, "count_now", lambda state, seconds: Count(-1.0, found[0], Pass.SAFE))
    agent = mcts_agent(MctsSettings(playouts=200, seed=1))
    state = state_from(HALF_DONE, "chinese", 2, 0.5).play(PASS)
    assert agent.choose(state).nodes == 200
    assert agent.choose(state).nodes == 400
    found[0] = frozenset([3])
    assert agent.choose(state).nodes == 200
    assert np.isfinite(agent.choose(state).value or 0.0)


SETTLED = """
    X X X O O
    X . X O .
    X X X O O
    . X X O O
    X X X O .
"""


def test_dead_stones_found_after_a_search_that_passes_leave_what_it_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_agent, "count_now", lambda state, seconds: Count(1.0, frozenset([3]), Pass.SAFE))
    agent = mcts_agent(MctsSettings(playouts=300, seed=1))
    explanation = agent.explain(state_from(SETTLED, "chinese", 1, 0.5))
    decision = explanation.decision
    assert decision.move == PASS and decision.pv[0] == PASS
    assert sum(decision.visits.values()) == decision.nodes > 0


@pytest.mark.parametrize(
    "spec", ["zero:go5,sims=64", "gumbel:go5,sims=64", "uct:playouts=200", "mcts:playouts=200", "alphago:go5,sims=64"]
)
def test_nobody_passes_where_the_rules_do_not_let_them(spec: str) -> None:
    """Under simple-go rules Black had to pass; White, who is ahead, has to play on, for there is a move to make."""
    forced = """
        . X O O .
        X X O O O
        X X O O O
        X X O O O
        X X O O .
    """
    state = state_from(forced, "simple-go", 1, 0.5).play(PASS)
    assert state.legal_moves() == [0]
    assert load_agent(spec).choose(state).move == 0
