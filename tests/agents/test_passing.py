"""When to pass: nobody gives a game away by it that another move wins, and nobody plays on where it wins."""

import numpy as np
import pytest

from tengen.agents import passing
from tengen.agents.passing import Pass, count_now, may_pass, wins_by_passing
from tengen.agents.registry import load_agent
from tengen.games import go
from tengen.games.go import BLACK, PASS, WHITE, from_gtp

from ..games.go.positions import state_from

SEARCHERS = ("zero:go5,sims=64,seed=1", "gumbel:go5,sims=64,seed=1", "uct:playouts=2000,seed=1,resign=0", "mcts:seed=1")
OTHERS = ("policy:go5", "fast-policy")

# Black is half a point behind if A5 is dead, which it is, and half a point ahead with E3. As the stones stand, all of
# them counted as alive, Black looks ahead without it.
ONE_POINT_LEFT = """
    X . . O .
    . O . O O
    O O O O .
    X X X X X
    . X . X .
"""


def after_a_pass(diagram: str, rules: str, komi: float, to_play: int = BLACK) -> go.State:
    """The position with this player to move, the other having passed."""
    return state_from(diagram, rules, 3 - to_play, komi).play(PASS)


@pytest.mark.parametrize("spec", SEARCHERS)
def test_who_searches_plays_the_point_that_wins(spec: str) -> None:
    state = after_a_pass(ONE_POINT_LEFT, "chinese", -3.5)
    assert state.play(PASS).score(dead=()) > 0 > state.play(PASS).score(dead=[0])
    assert load_agent(spec).choose(state).move == from_gtp("E3", 5)


@pytest.mark.parametrize("spec", OTHERS)
def test_nobody_passes_into_a_loss_that_can_be_helped(spec: str) -> None:
    assert load_agent(spec).choose(after_a_pass(ONE_POINT_LEFT, "chinese", -3.5)).move != PASS


@pytest.mark.parametrize("spec", [*SEARCHERS, *OTHERS])
@pytest.mark.parametrize(("rules", "komi"), [("chinese", -5.5), ("tromp-taylor", -3.5)])
def test_where_a_pass_ends_the_game_won_everybody_passes(spec: str, rules: str, komi: float) -> None:
    decision = load_agent(spec).choose(after_a_pass(ONE_POINT_LEFT, rules, komi))
    assert decision.move == PASS


@pytest.mark.parametrize("spec", SEARCHERS)
def test_a_pass_of_our_own_is_counted_before_it_is_made(spec: str) -> None:
    """Nobody has passed yet, and the opponent would answer a pass with another."""
    state = state_from(ONE_POINT_LEFT, "chinese", BLACK, -3.5)
    assert load_agent(spec).choose(state).move == from_gtp("E3", 5)


# --------------------------------------------------------------------------------------------- verdicts

DEAD_WHITE = """
    . X X O . .
    O . X O O .
    . X X O . O
    X X X O O O
    . X . X O .
    X . X X O O
"""
"""Black has 20 points and White 16, the white stone in the corner being dead; alive, it makes the corner neutral."""


def test_dead_stones_count_where_the_rules_take_them_off() -> None:
    for rules, dead in (("chinese", {6}), ("tromp-taylor", set())):
        state = after_a_pass(DEAD_WHITE, rules, 0.0)
        count = count_now(state)
        assert count.dead == dead
        assert count.margin == state.score(dead=dead)
    assert count_now(after_a_pass(DEAD_WHITE, "chinese", 0.0, WHITE)).margin == -state.with_komi(0).score(dead=[6])


def verdict(diagram: str, rules: str, komi: float, to_play: int = BLACK, passed: bool = True) -> Pass:
    """What a pass means to the player to move."""
    state = after_a_pass(diagram, rules, komi, to_play) if passed else state_from(diagram, rules, to_play, komi)
    return count_now(state).verdict


def test_verdicts_where_all_is_settled() -> None:
    """Black has four points more than White once the dead stone is off, and nothing can change that."""
    assert verdict(DEAD_WHITE, "chinese", 3.5) is Pass.WINS
    assert verdict(DEAD_WHITE, "chinese", 3.5, passed=False) is Pass.SAFE
    for komi in (4.0, 4.5, 30.0):
        assert verdict(DEAD_WHITE, "chinese", komi) is Pass.SAFE, "no move helps"
    assert verdict(DEAD_WHITE, "chinese", 4.5, WHITE) is Pass.WINS
    assert verdict(DEAD_WHITE, "chinese", 3.5, WHITE) is Pass.SAFE


def test_verdicts_where_dead_stones_stay() -> None:
    """Alive, the white stone makes the corner neutral: Black has to capture it first."""
    alive = state_from(DEAD_WHITE, "tromp-taylor", BLACK, 0.0).score(dead=())
    assert verdict(DEAD_WHITE, "tromp-taylor", alive - 0.5) is Pass.WINS
    assert verdict(DEAD_WHITE, "tromp-taylor", alive + 0.5) is Pass.LOSES


def test_verdicts_where_a_point_is_left() -> None:
    for passed in (True, False):
        assert verdict(ONE_POINT_LEFT, "chinese", -3.5, passed=passed) is Pass.LOSES
        assert verdict(ONE_POINT_LEFT, "chinese", -4.0, passed=passed) is Pass.LOSES, "the point makes a win of a draw"
    assert verdict(ONE_POINT_LEFT, "chinese", -4.5) is Pass.WINS


def test_questions_of_agents_without_a_search() -> None:
    won, lost = (after_a_pass(ONE_POINT_LEFT, "chinese", komi) for komi in (-5.5, -3.5))
    assert may_pass(won) and wins_by_passing(won)
    assert not may_pass(lost) and not wins_by_passing(lost)
    assert not wins_by_passing(state_from(ONE_POINT_LEFT, "chinese", BLACK, -5.5)), "nobody has passed"


def test_a_pass_that_is_not_legal_is_not_asked_for() -> None:
    """Under simple-go rules, who has a move left has to make it."""
    state = go.State.new(3, "simple-go", 0.5)
    assert not state.is_legal(PASS)
    assert not may_pass(state) and not wins_by_passing(state)


@pytest.mark.parametrize(
    ("seconds", "size", "playouts"),
    [(None, 19, 4000), (100.0, 19, 4000), (0.001, 19, 200), (1.0, 10, 1000), (0.02, 2, 500)],
)
def test_little_time_reads_life_and_death_less_deeply(
    seconds: float | None, size: int, playouts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def read(state: go.State, playouts: int) -> np.ndarray:
        asked.append(playouts)
        return np.zeros(len(state.board.color), np.int64)

    monkeypatch.setattr(passing, "search_ownership", read)
    count_now(go.State.new(size), seconds)
    assert asked == [playouts]
