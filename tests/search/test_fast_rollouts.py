"""Rollouts by a fast policy at the leaves of a search, against a slow version on friendly states."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray

from tengen.games import go
from tengen.games.batch import BatchedGame
from tengen.games.game import open_batch
from tengen.games.go import BLACK, PASS, WHITE, from_gtp
from tengen.games.go.coordinates import to_cell
from tengen.games.go.playout import is_eye
from tengen.games.go.rules import RULES, GoOptions
from tengen.games.go.score import area
from tengen.games.microchess.board import MicrochessOptions
from tengen.search.fast_policy import FastPolicy, load_fast_policy
from tengen.search.fast_shapes import shape_tables
from tengen.search.leaves import Leaves, new_leaves
from tengen.search.rollouts import FastRollouts, new_rollout_room, roll_out_leaves

from ..encode.games import guided_game
from ..games.go.positions import play_all, state_from
from .test_fast_playout import some_policy

SETTLED = """
    . O . O .
    O O O O O
    X X X X X
    . X . X .
    X X X X X
"""
"""Black has 15 points and White 10."""


def evaluated(rollouts: FastRollouts, batch: BatchedGame, states: list[go.State]) -> Leaves:
    games, leaves = batch.allocate(len(states)), new_leaves(len(states), batch.actions)
    for i, state in enumerate(states):
        batch.load(games, i, state)
    leaves.logits[:] = 7.0
    assert rollouts.evaluate(games, len(states), leaves) == len(states)
    return leaves


@pytest.mark.parametrize("to_play", [BLACK, WHITE])
@pytest.mark.parametrize("rules", [name for name, rules in RULES.items() if rules.scoring == "area"])
def test_settled_positions_have_their_exact_result(rules: str, to_play: int) -> None:
    """By area, for whoever is to move, at any komi, also after a pass."""
    states = []
    for komi in (4.5, 5.0, 5.5, 8.5):
        state = state_from(SETTLED, rules, to_play, komi)
        states += [state, state.play(PASS)]
    batch = open_batch(GoOptions(5, rules))
    leaves = evaluated(FastRollouts(batch, load_fast_policy(size=5), playouts=3, seed=1), batch, states)
    wanted = [np.sign(5 - state.komi) * (1 if state.to_play == BLACK else -1) for state in states]
    assert leaves.values.tolist() == wanted
    assert not leaves.logits.any(), "all actions are alike"


@pytest.mark.parametrize("passes", [2, 3])
def test_after_two_passes_the_game_is_counted_as_it_ended(passes: int) -> None:
    """The lone white stone is dead by playing on, and alive by Tromp-Taylor where it stands."""
    state = state_from(". . . / X X X / . O .".replace("/", "\n"), "tromp-taylor", komi=6.5)
    for _ in range(passes):
        state = state.play(PASS) if not state.is_over else state
    batch = open_batch(GoOptions(3, "tromp-taylor"))
    leaves = evaluated(FastRollouts(batch, load_fast_policy(size=3), seed=1), batch, [state])
    assert leaves.values[0] == (-1 if state.to_play == BLACK else 1)


def test_leaves_that_are_over_are_left_alone() -> None:
    batch = open_batch(GoOptions(5))
    games, leaves = batch.allocate(3), new_leaves(3, batch.actions)
    leaves.over[1], leaves.values[1] = True, 5.0
    assert FastRollouts(batch, load_fast_policy(size=5), seed=1).evaluate(games, 3, leaves) == 2
    assert leaves.values[1] == 5.0 and np.abs(leaves.values[[0, 2]]).max() == 1.0


def test_a_rollout_at_its_limit_is_counted_as_it_stands() -> None:
    """After the first stone all is Black's; after one of each nothing is anybody's, and komi decides."""
    batch, state = open_batch(GoOptions(5, komi=0.5)), go.State.new(5, komi=0.5)
    rollouts = FastRollouts(batch, load_fast_policy(size=5), playouts=8, limit=1, seed=1)
    assert evaluated(rollouts, batch, [state, state.play(from_gtp("C3", 5))]).values.tolist() == [1.0, 1.0]


def test_the_same_seed_gives_the_same_values() -> None:
    batch, states = open_batch(GoOptions(9)), [go.State.new(9)] * 20
    values = [
        evaluated(FastRollouts(batch, load_fast_policy(size=9), seed=seed), batch, states).values for seed in (3, 3, 4)
    ]
    assert np.array_equal(values[0], values[1]) and not np.array_equal(values[0], values[2])


def test_another_plays_games_of_its_own_and_may_work_at_the_same_time() -> None:
    batch, states = open_batch(GoOptions(9)), [go.State.new(9)] * 50

    def both(in_threads: bool) -> list[list[float]]:
        one = FastRollouts(batch, load_fast_policy(size=9), seed=3)
        with ThreadPoolExecutor(2 if in_threads else 1) as pool:
            found = pool.map(lambda rollouts: evaluated(rollouts, batch, states).values.tolist(), (one, one.another()))
            return list(found)

    alone, together = both(False), both(True)
    assert alone == together and alone[0] != alone[1]


def test_the_positions_are_left_as_they_are() -> None:
    batch = open_batch(GoOptions(9))
    games, before, leaves = batch.allocate(1), batch.allocate(1), new_leaves(1, batch.actions)
    for each in (games, before):
        batch.load(each, 0, guided_game(9, 1)[30])
    FastRollouts(batch, load_fast_policy(size=9), playouts=2, seed=1).evaluate(games, 1, leaves)
    for now, then in zip(games.boards, before.boards, strict=True):
        assert np.array_equal(now, then)


# -------------------------------------------------------------------------------------- the slow version


def slow_probabilities(policy: FastPolicy, state: go.State, temperature: float) -> NDArray[np.float64]:
    """float64[N * N]: how likely each move of a rollout is; all 0 if it passes."""
    weights = np.zeros(state.size**2)
    for move, score in policy.scores(state).items():
        if move >= 0 and not is_eye(state.board, to_cell(move, state.size), state.to_play, state.rules.flags):
            weights[move] = np.exp(score / temperature)
    return weights / max(1e-30, weights.sum())


def slow_rollout(policy: FastPolicy, state: go.State, rng: np.random.Generator) -> float:
    """The result of a rollout for Black."""
    for _ in range(3 * state.size**2):
        if state.is_over:
            break
        chances = slow_probabilities(policy, state, 1.0)
        state = state.play(int(rng.choice(len(chances), p=chances)) if chances.any() else PASS)
    return float(np.sign(area(state.board) - state.komi))


OPENINGS = {
    "the first move": "",
    "the last two moves": "C3 D3 C2 D2 B4",
    "after a pass": "C3 D3 pass",
    "after two moves and a pass": "C3 pass D3",
    "a ko": "B3 D4 C4 D2 C2 E3 A1 C3 D3",
}


@pytest.mark.parametrize("opening", OPENINGS.values(), ids=OPENINGS)
def test_first_moves_come_as_often_as_the_policy_says(opening: str) -> None:
    size, draws, policy, temperature = 5, 4000, some_policy(spread=0.5), 0.7
    state = play_all(go.State.new(size), opening)
    batch, room, rng = open_batch(GoOptions(size)), new_rollout_room(size), np.array([5], np.uint64)
    games, values, over = batch.allocate(1), np.zeros(1, np.float32), np.zeros(1, np.bool_)
    batch.load(games, 0, state)
    cells = np.array([to_cell(point, size) for point in range(size * size)])
    seen = np.zeros(size * size)
    for _ in range(draws):
        roll_out_leaves(games, 1, over, 1, 1, shape_tables(), policy.factors(size, temperature), room, rng, values)
        new = (room.board.color == state.to_play) & (state.board.color != state.to_play)
        seen += new[cells]
    expected = draws * slow_probabilities(policy, state, temperature)
    possible = expected > 0
    assert not seen[~possible].any() and seen.sum() == draws
    chi_square = ((seen - expected)[possible] ** 2 / expected[possible]).sum()
    freedom = possible.sum() - 1
    assert chi_square < freedom + 4 * np.sqrt(2 * freedom)


def test_rollouts_end_as_those_of_the_slow_version() -> None:
    slow, fast, policy = 300, 4000, some_policy(seed=3, spread=0.5)
    batch = open_batch(GoOptions(5, "tromp-taylor", komi=3.5))
    state = play_all(go.State.new(5, "japanese", komi=3.5), "C3 C2 D2")  # simple ko, as in rollouts
    rng = np.random.default_rng(1)
    expected = np.mean([slow_rollout(policy, state, rng) for _ in range(slow)])
    found = -evaluated(  # White is to move
        FastRollouts(batch, policy, fast, seed=2, temperature=1.0), batch, [state]
    ).values[0]
    assert abs(found - expected) < 4 * np.sqrt(1 / slow + 1 / fast)
    assert abs(found) < 0.95, "a position where anything may happen"


def test_what_cannot_be_rolled_out_is_refused() -> None:
    policy = load_fast_policy(size=9)
    with pytest.raises(ValueError, match="plays Go, not microchess"):
        FastRollouts(open_batch(MicrochessOptions()), policy)
    for playouts, limit in ((0, 0), (1, -1)):
        with pytest.raises(ValueError, match="not possible"):
            FastRollouts(open_batch(GoOptions(9)), policy, playouts, limit)


def test_small_boards_have_a_policy_of_their_own() -> None:
    small, large = load_fast_policy("fast9").weights, load_fast_policy("fast19").weights
    assert all(np.array_equal(load_fast_policy(size=size).weights, small) for size in (5, 9, 13))
    assert np.array_equal(load_fast_policy(size=19).weights, large) and not np.array_equal(small, large)
