"""Gumbel search: the numbers of mctx, DeepMind's own implementation, and plain NumPy."""

from typing import NamedTuple

import numpy as np
import pytest

from tengen.search.gumbel import (
    GumbelParameters,
    best_below_root,
    halving_schedule,
    improve,
    schedules,
    softmax,
)
from tengen.search.searcher import Searcher
from tengen.search.tree import TERMINAL, expand, new_trees

from .networks import searcher_of
from .scripted import Said, Script, ScriptedGame, ScriptedNetwork, at, look, script_of, visits_and_sums, wild_script

A, B, C, D = range(4)
ONLY = np.array([0])


def searcher_for(script: Script, parameters: GumbelParameters, leaves: int = 1) -> tuple[Searcher, ScriptedNetwork]:
    network = ScriptedNetwork(script)
    return searcher_of(ScriptedGame(script), network, parameters, leaves=leaves), network


# ------------------------------------------------------------------------------------ against mctx 0.0.71

# From mctx._src.seq_halving.get_sequence_of_considered_visits(considered, simulations).
SCHEDULES = {
    (0, 3): [0, 1, 2],
    (1, 5): [0, 1, 2, 3, 4],
    (2, 8): [0, 0, 1, 1, 2, 2, 3, 3],
    (3, 10): [0, 0, 0, 1, 1, 2, 2, 3, 3, 4],
    (4, 16): [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5],
    (5, 7): [0, 0, 0, 0, 0, 1, 1],
    (7, 20): [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 5, 6],
    (16, 16): [0] * 16,
    (16, 32): [*[0] * 16, *[1] * 8, 2, 2, 2, 2, 3, 3, 3, 3],
    (8, 30): [*[0] * 8, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9],
}


@pytest.mark.parametrize(("considered", "simulations"), SCHEDULES)
def test_the_schedule_of_sequential_halving_is_that_of_mctx(considered: int, simulations: int) -> None:
    assert halving_schedule(considered, simulations).tolist() == SCHEDULES[considered, simulations]


class Golden(NamedTuple):
    """A search and what mctx found."""

    root: int
    considered: int
    simulations: int
    value_scale: float
    visit_offset: float
    noise: list[float] | None
    visits: list[int]
    values: list[float]  # Q of the root's actions
    policy: list[float]
    chosen: int
    value: float  # the mean of all simulations


# The game of `formula` below, played by mctx.gumbel_muzero_policy with
#     qtransform=partial(mctx.qtransform_completed_by_mix_value, value_scale=value_scale / 2,
#                        maxvisit_init=visit_offset, rescale_values=False),
#     max_num_considered_actions=considered, gumbel_scale=0 or 1, invalid_actions=[(number + a) % 11 == 0]
# and recurrent_fn(action, number): number = (5 number + action + 1) % 100003; reward -result and discount 0 where the
# game is over, else 0 and -1; logits -1e9 for what is not legal. Our Q is scaled to 0..1, so half of our value_scale is
# mctx's. Results are 0 or 1 for the player to move: no move ever wins, so nothing but finished games gets solved here
# and the means are all there is, as in mctx. Noise: jax.random.gumbel(jax.random.split(PRNGKey(seed))[1], (1, 4)).
# fmt: off
GOLDEN = [
    Golden(0, 4, 1, 0.2, 50, None, [0, 1, 0, 0],
           [0.0, -0.77908, 0.0, 0.0], [0.0, 0.1486, 0.17771, 0.67368], 1, -0.23377),
    Golden(0, 4, 16, 0.1, 50, None, [0, 7, 2, 7],
           [0.0, -0.40367, -1.0, -0.07888], [0.0, 0.58054, 0.00786, 0.41159], 1, -0.29802),
    Golden(0, 3, 10, 1.0, 50, None, [0, 4, 1, 5],
           [0.0, -0.24265, -1.0, -0.10582], [0.0, 0.07633, 0.0, 0.92367], 3, -0.19892),
    Golden(1, 2, 7, 0.1, 10, None, [3, 0, 0, 4],
           [0.38412, 0.0, 0.0, 0.46076], [0.4315, 0.07304, 0.03719, 0.45827], 3, 0.46354),
    Golden(2, 4, 50, 0.04, 50, None, [19, 6, 6, 19],
           [0.40448, 0.20765, 0.02485, 0.25062], [0.40928, 0.03212, 0.23473, 0.32387], 0, 0.28669),
    Golden(5, 16, 40, 0.02, 20, [-1.29469, 0.489438, 0.312189, 0.738728], [5, 15, 5, 15],
           [-0.15221, 0.15347, -0.01527, -0.07894], [0.2147, 0.52069, 0.03884, 0.22576], 1, -0.00657),
    Golden(9, 3, 25, 0.2, 5, [0.934341, 1.65576, 0.071026, 0.154006], [10, 11, 0, 4],
           [-0.14381, -0.17319, 0.0, -0.35819], [0.0712, 0.87743, 0.0, 0.05137], 1, -0.17124),
    Golden(9, 4, 100, 0.01, 5, [4.114177, 0.68063, 0.879904, -0.254485], [42, 42, 0, 16],
           [-0.25574, -0.03178, 0.0, -0.289], [0.06401, 0.87143, 0.0, 0.06456], 0, -0.16213),
]
# fmt: on


def formula(number: int) -> Said:
    """Positions without rhyme or reason, the same in NumPy and in JAX."""
    if number % 7 == 3:
        return Said(number % 2, over=True)
    actions = np.arange(4)
    weights = np.exp(1.5 * np.sin(1.3 * (number % 97) + 2.1 * actions))
    weights[(number + actions) % 11 == 0] = 0
    return Said(0.8 * np.sin(0.7 * (number % 89) + 0.4), tuple((weights / weights.sum()).tolist()))


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: f"{golden.considered}-{golden.simulations}")
def test_a_search_finds_what_mctx_finds(golden: Golden) -> None:
    parameters = GumbelParameters(golden.considered, golden.visit_offset, golden.value_scale)
    searcher, _ = searcher_for(formula, parameters)
    roots = searcher.game.allocate(1)
    roots.number[0] = golden.root
    searcher.begin(roots, ONLY, golden.simulations)
    searcher.rule._noise[0] = golden.noise or 0.0
    while searcher.step(roots, ONLY):
        pass
    result = searcher.conclude(ONLY)
    assert result.visits[0].tolist() == golden.visits
    assert result.policy[0] == pytest.approx(golden.policy, abs=2e-5)
    assert result.chosen[0] == golden.chosen
    root = look(searcher.trees)
    assert -root.value_sum / root.visits == pytest.approx(golden.value, abs=2e-5)
    for action, (visits, total) in visits_and_sums(root).items():
        if visits:
            assert total / visits == pytest.approx(golden.values[action], abs=2e-5)


# ------------------------------------------------------------------------------------- against plain NumPy


def plain_improvement(
    logits: np.ndarray, n: np.ndarray, q: np.ndarray, value: float, c_visit: float, c_scale: float
) -> np.ndarray:
    """pi' of the paper: softmax(logits + sigma(completed Q)); q counts where n > 0 only."""
    prior = np.exp(logits) / np.exp(logits).sum()
    seen = n > 0
    mixed = value
    if seen.any():
        mixed = (value + n.sum() * (prior[seen] * q[seen]).sum() / prior[seen].sum()) / (1 + n.sum())
    completed = (np.where(seen, q, mixed) + 1) / 2
    scores = logits + (c_visit + n.max()) * c_scale * completed
    weights = np.exp(scores - scores.max())
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize("seed", range(30))
def test_improved_policies_are_those_of_plain_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 12))
    logits = rng.normal(size=count).astype(np.float32)
    n = rng.integers(0, 9, count) * rng.integers(0, 2, count)
    q, value = rng.uniform(-1, 1, count), rng.uniform(-1, 1)
    parameters = GumbelParameters(visit_offset=rng.uniform(1, 60), value_scale=rng.uniform(0.02, 1))
    trees = new_trees(1, count + 1)
    expand(trees, 0, 0, np.ones(count, np.bool_), logits)
    trees.visits[0, 1:], trees.value_sum[0, 1:], trees.value[0, 0] = n, n * q, value
    if n[-1]:  # of a solved child the exact value counts, not the mean
        trees.stage[0, count], trees.value[0, count] = TERMINAL, -1.0
        q[-1] = 1.0
    scores = np.empty(count, np.float32)
    improve(trees, 0, 0, parameters, scores)
    softmax(scores, count)
    expected = plain_improvement(logits, n, q, value, parameters.visit_offset, parameters.value_scale)
    assert scores == pytest.approx(expected, abs=1e-4)
    lag = expected - n / (1 + n.sum())
    best = int(best_below_root(trees, 0, 0, parameters, np.empty(count, np.float32))) - 1
    assert lag[best] == pytest.approx(lag.max(), abs=1e-4)


def test_an_action_that_the_network_finds_impossible_still_tells_its_value() -> None:
    """With all visits on it, the mixed value of the others is (v + n Q) / (1 + n), not (v + 0) / (1 + n)."""
    trees = new_trees(1, 3)
    expand(trees, 0, 0, np.ones(2, np.bool_), np.array([0.0, -200.0], np.float32))
    trees.visits[0, 2], trees.value_sum[0, 2], trees.value[0, 0] = 3, -3 * 0.8, 0.4
    scores = np.empty(2, np.float32)
    improve(trees, 0, 0, GumbelParameters(visit_offset=0, value_scale=2 / 3), scores)  # sigma(q) = q + 1
    assert scores[0] - 1 == pytest.approx((0.4 - 3 * 0.8) / 4)


# ------------------------------------------------------------------------------------ properties of its own


@pytest.mark.parametrize(("considered", "simulations"), [(4, 16), (3, 10), (16, 32), (2, 9), (1, 4)])
def test_the_table_tells_how_many_actions_are_left(considered: int, simulations: int) -> None:
    table, left = schedules(considered, simulations)
    assert table.shape == left.shape == (considered + 1, simulations)
    for m in range(considered + 1):
        for i, wanted in enumerate(table[m]):
            assert left[m, i] == np.sum(table[m] == wanted)


def flat(values: list[float], priors: tuple[float, ...] = (0.25, 0.25, 0.25, 0.25), start: float = 0.0) -> Script:
    """A game of one decision: action a is worth values[a] to who takes it, and all that follows it as much."""

    def said(number: int) -> Said:
        depth, first = 0, number
        while first > 4:
            first, depth = (first - 1) // 5, depth + 1
        if number == 0:
            return Said(start, priors)
        value = values[first - 1]
        return Said(-value if depth % 2 == 0 else value, priors)

    return said


def test_sequential_halving_by_hand() -> None:
    """Four actions, sixteen simulations: two visits for all, then four more for the two best, as Q tells them apart."""
    searcher, _ = searcher_for(flat([0.1, 0.5, -0.2, 0.4]), GumbelParameters(4))
    result = searcher.search(searcher.game.allocate(1), ONLY, 16)
    assert result.visits[0].tolist() == [2, 6, 2, 6]
    assert result.chosen[0] == B


def test_only_the_considered_actions_are_visited_and_noise_draws_them() -> None:
    searcher, _ = searcher_for(flat([0, 0, 0, 0]), GumbelParameters(2))
    roots = searcher.game.allocate(1)
    searcher.begin(roots, ONLY, 8)
    searcher.rule._noise[0] = [0.1, 3.0, 0.2, 2.0]
    while searcher.step(roots, ONLY):
        pass
    assert searcher.conclude(ONLY).visits[0].tolist() == [0, 4, 0, 4]
    assert searcher.conclude(ONLY).chosen[0] == B


def test_actions_are_drawn_as_often_as_the_network_finds_them_likely() -> None:
    """The Gumbel-max trick: with one considered action and no search to speak of, choices follow the policy."""
    priors, games = (0.5, 0.3, 0.2, 0.0), 4000
    game = ScriptedGame(lambda number: Said(0.0, priors if number == 0 else (1, 0, 0, 0)))
    searcher = searcher_of(game, ScriptedNetwork(game.script), GumbelParameters(1), trees=games, nodes=20, seed=3)
    chosen = searcher.search(game.allocate(games), np.arange(games), 1, explore=1.0).chosen
    shares = np.bincount(chosen, minlength=4) / games
    assert shares == pytest.approx(priors, abs=0.03)


@pytest.mark.parametrize("leaves", [1, 2, 3, 4, 16])
@pytest.mark.parametrize("best", range(4))
def test_leaves_evaluated_together_do_not_change_who_survives(leaves: int, best: int) -> None:
    """An action that waits for its evaluation when others are compared must not count as lost."""
    values = [-0.2, -0.1, -0.3, 0.0]
    values[best] = 0.9
    for considered in (3, 4):
        script = flat(values, (0.3, 0.3, 0.2, 0.2))
        one, _ = searcher_for(script, GumbelParameters(considered))
        many, network = searcher_for(script, GumbelParameters(considered), leaves)
        for simulations in (5, 16, 33):
            alone = one.search(one.game.allocate(1), ONLY, simulations)
            together = many.search(many.game.allocate(1), ONLY, simulations)
            assert together.visits.tolist() == alone.visits.tolist()
            assert together.chosen.tolist() == alone.chosen.tolist()
            for searcher in (one, many):
                searcher.forget(ONLY)
        assert max(map(len, network.asked)) <= leaves
    assert leaves == 1 or max(map(len, network.asked)) > 1


def test_a_search_in_a_kept_tree_gives_its_visits_to_the_same_schedule() -> None:
    """What actions had before does not count: sequential halving begins anew, with better values."""
    script = wild_script(2, ends=0)
    searcher, _ = searcher_for(script, GumbelParameters(4))
    roots = searcher.game.allocate(1)
    first = searcher.search(roots, ONLY, 24)
    searcher.game.play(roots, first.chosen)
    searcher.advance(first.chosen)
    before = np.zeros(4, np.int64)
    for action, child in look(searcher.trees).children.items():
        before[action] = child.visits
    assert before.sum() > 0
    gained = searcher.search(roots, ONLY, 16).visits[0] - before
    legal = len(look(searcher.trees).children)
    schedule = SCHEDULES[legal, 16] if (legal, 16) in SCHEDULES else halving_schedule(legal, 16).tolist()
    expected = [sum(schedule.count(v) > place for v in set(schedule)) for place in range(legal)]
    assert sorted(gained[gained > 0].tolist(), reverse=True) == expected


def test_fewer_legal_actions_than_considered_ones_are_all_compared() -> None:
    script = script_of(
        {at(): Said(0, (0, 0.5, 0, 0.5)), **{at(a): Said(0.5 if a == B else 0, (1, 0, 0, 0)) for a in (B, D)}}
    )
    searcher, _ = searcher_for(script, GumbelParameters(16))
    result = searcher.search(searcher.game.allocate(1), ONLY, 2)
    assert result.visits[0].tolist() == [0, 1, 0, 1]
    assert result.chosen[0] == D
    assert result.policy[0][[A, C]].tolist() == [0, 0]


def test_a_stopped_search_says_what_it_knows() -> None:
    searcher, _ = searcher_for(formula, GumbelParameters(4))
    roots = searcher.game.allocate(1)
    searcher.begin(roots, ONLY, 100)
    root = look(searcher.trees)
    assert searcher.conclude(ONLY).chosen[0] == max(root.priors, key=lambda action: root.priors[action])
    for _ in range(5):
        searcher.step(roots, ONLY)
    result = searcher.conclude(ONLY)
    assert result.visits.sum() == 5
    assert result.policy.sum() == pytest.approx(1)


def test_where_all_is_solved_a_search_can_still_be_stopped() -> None:
    said = {at(): Said(0, (0.5, 0.5, 0, 0)), at(A): Said(0, over=True), at(B): Said(1, over=True)}
    searcher, _ = searcher_for(script_of(said), GumbelParameters(2))
    roots = searcher.game.allocate(1)
    searcher.begin(roots, ONLY, 100_000)
    assert 1 <= searcher.step(roots, ONLY) < 10_000
    while searcher.step(roots, ONLY):
        pass
    assert searcher.conclude(ONLY).visits[0].tolist() == [50_000, 50_000, 0, 0]
    assert searcher.conclude(ONLY).chosen[0] == A


def test_a_move_that_wins_for_certain_is_played_though_others_have_more_visits() -> None:
    """D is drawn without replacement last of all; it wins at once."""
    said = {at(): Said(0, (0.4, 0.3, 0.2, 0.1)), at(D): Said(-1, over=True)}
    said |= {at(a): Said(0, (1, 0, 0, 0)) for a in (A, B, C)} | {at(A, A): Said(0, (1, 0, 0, 0))}
    searcher, _ = searcher_for(script_of(said), GumbelParameters(4, value_scale=0.0))
    roots = searcher.game.allocate(1)
    searcher.begin(roots, ONLY, 8)
    for _ in range(5):
        searcher.step(roots, ONLY)
    result = searcher.conclude(ONLY)
    assert result.visits[0].tolist() == [2, 1, 1, 1]
    assert result.chosen[0] == D


def test_a_move_found_lost_by_its_last_visit_is_not_played() -> None:
    """Stopped right there, it has one visit more than the others."""
    searcher, _ = searcher_for(flat([0.5, 0.4, 0.3, 0.2]), GumbelParameters(4))
    roots = searcher.game.allocate(1)
    searcher.begin(roots, ONLY, 16)
    for _ in range(5):
        searcher.step(roots, ONLY)
    assert searcher.conclude(ONLY).visits[0].tolist() == [2, 1, 1, 1]
    assert searcher.conclude(ONLY).chosen[0] == A
    searcher.trees.stage[0, 1], searcher.trees.value[0, 1] = TERMINAL, 1.0
    assert searcher.conclude(ONLY).chosen[0] == B
    searcher.trees.stage[0, 1:5], searcher.trees.value[0, 1:5] = TERMINAL, [1.0, 1.0, 0.0, 1.0]
    assert searcher.conclude(ONLY).chosen[0] == C


def test_the_improved_policy_is_what_a_network_learns() -> None:
    searcher, _ = searcher_for(formula, GumbelParameters())
    result = searcher.search(searcher.game.allocate(1), ONLY, 16)
    assert result.target.tolist() == result.policy.tolist()


def test_the_improved_policy_is_never_worse_than_the_network_s() -> None:
    """The paper's promise: sum pi' Q >= sum pi Q, where Q is exact."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = rng.uniform(-1, 1, 4).tolist()
        priors = tuple(rng.dirichlet(np.ones(4)).tolist())
        script = flat(values, priors, start=float(np.dot(priors, values)))
        for simulations in (4, 9):
            searcher, _ = searcher_for(script, GumbelParameters(4))
            policy = searcher.search(searcher.game.allocate(1), ONLY, simulations).policy[0]
            assert np.dot(policy, values) >= np.dot(priors, values) - 1e-6


def test_conclusions_of_several_roots_are_their_own() -> None:
    script = wild_script(8)
    game = ScriptedGame(script)
    searcher = searcher_of(game, ScriptedNetwork(script), GumbelParameters(3), trees=3)
    roots = game.allocate(3)
    roots.number[:] = [0, at(1), at(2)]
    result = searcher.search(roots, np.arange(3), 12)
    again = searcher.conclude(np.array([2]))
    assert again.policy[0].tolist() == result.policy[2].tolist()
    assert (again.chosen[0], again.value[0]) == (result.chosen[2], result.value[2])


def test_the_value_is_what_the_improved_policy_expects() -> None:
    searcher, _ = searcher_for(flat([0.1, 0.5, -0.2, 0.4]), GumbelParameters(4))
    result = searcher.search(searcher.game.allocate(1), ONLY, 16)
    assert result.value[0] == pytest.approx(np.dot(result.policy[0], [0.1, 0.5, -0.2, 0.4]), abs=1e-5)
    half, _ = searcher_for(flat([0.1, 0.5, -0.2, 0.4]), GumbelParameters(2))
    result = half.search(half.game.allocate(1), ONLY, 2)  # C and D are not visited, and say nothing
    weights = result.policy[0, :2]
    assert result.value[0] == pytest.approx(np.dot(weights, [0.1, 0.5]) / weights.sum(), abs=1e-5)
