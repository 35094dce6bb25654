"""PUCT: trees worked out by hand, and the same search written slowly."""

from math import sqrt

import numpy as np
import pytest

from tengen.search.puct import PuctParameters, mix_noise, prune_visits
from tengen.search.searcher import Searcher
from tengen.search.tree import EXPANDED, TERMINAL, UNSEEN, expand, new_trees

from .networks import Uniform, searcher_of
from .scripted import (
    Node,
    Said,
    Script,
    ScriptedGame,
    ScriptedNetwork,
    at,
    look,
    script_of,
    visits_and_sums,
    wild_script,
)
from .slow_puct import SlowPuct, same
from .tictactoe import TicTacToe

A, B, C = 0, 1, 2
ONLY = np.array([0])


def searcher_for(
    script: Script, parameters: PuctParameters, leaves: int = 1, nodes: int = 10_000, prune: bool = False
) -> tuple[Searcher, ScriptedNetwork]:
    network = ScriptedNetwork(script)
    rule = {"prune": prune}
    return searcher_of(ScriptedGame(script), network, parameters, rule=rule, leaves=leaves, nodes=nodes), network


def search(searcher: Searcher, simulations: int) -> Node:
    """The tree after so many more simulations."""
    searcher.search(searcher.game.allocate(1), ONLY, simulations)
    return look(searcher.trees)


# ---------------------------------------------------------------------------------------------- by hand

# Three moves A, B, C; B ends the game with a draw. Values are those of the player to move at the position.
BY_HAND = script_of(
    {
        at(): Said(0.5, (0.5, 0.25, 0.25, 0)),
        at(A): Said(0.5, (1, 0, 0, 0)),
        at(B): Said(0, over=True),
        at(C): Said(-0.25, (0.75, 0.25, 0, 0)),
        at(C, A): Said(0.75, (1, 0, 0, 0)),
        at(C, B): Said(-0.5, (1, 0, 0, 0)),
        at(C, B, A): Said(0.25, (1, 0, 0, 0)),
    }
)
PLAIN = PuctParameters(exploration=1.0, fpu_zero=True)


def test_a_tree_worked_out_by_hand() -> None:
    """c = 1, so an action's score is Q + P sqrt(N) / (1 + n), and Q is 0 before the first visit.

    The root's own evaluation is its first visit: N = 1, worth 0.5 to the player to move.
    1. N = 1: A 0.5, B 0.25, C 0.25. A is worth 0.5 to the opponent: W(A) = -0.5.
    2. sqrt 2: A -0.5 + 0.354 = -0.146, B 0.354, C 0.354: of equals the first. B is a draw: W(B) = 0.
    3. sqrt 3: A -0.5 + 0.433, B 0.217, C 0.433. C is worth -0.25 to the opponent: W(C) = 0.25.
    4. sqrt 4: A -0.5 + 0.5 = 0, B 0.25, C 0.25 + 0.25 = 0.5. At C, N = 1: its A 0.75, B 0.25. The position C A is
       worth 0.75 to us: -0.75 for the opponent's move A, and W(C) = 0.25 + 0.75 = 1.
    5. sqrt 5: A 0.059, B 0.280, C 0.5 + 0.186. At C, sqrt 2: A -0.75 + 0.530 = -0.220, B 0.354. C B is worth -0.5 to
       us: W(C B) = 0.5, W(C) = 0.5.
    6. sqrt 6: A 0.112, B 0.306, C 0.167 + 0.153 = 0.320. At C, sqrt 3: A -0.100, B 0.5 + 0.217. At C B there is only
       A. C B A is worth 0.25 to the opponent: W(C B A) = -0.25, W(C B) = 0.75, W(C) = 0.25.
    """
    after = [
        {A: (1, -0.5), B: (0, 0), C: (0, 0)},
        {A: (1, -0.5), B: (1, 0), C: (0, 0)},
        {A: (1, -0.5), B: (1, 0), C: (1, 0.25)},
        {A: (1, -0.5), B: (1, 0), C: (2, 1.0)},
        {A: (1, -0.5), B: (1, 0), C: (3, 0.5)},
        {A: (1, -0.5), B: (1, 0), C: (4, 0.25)},
    ]
    for simulations, expected in enumerate(after, start=1):
        searcher, _ = searcher_for(BY_HAND, PLAIN)
        root = search(searcher, simulations)
        assert visits_and_sums(root) == expected
        assert root.visits == 1 + simulations
    assert visits_and_sums(root.children[C]) == {A: (1, -0.75), B: (2, 0.75)}
    assert visits_and_sums(root.children[C].children[B]) == {A: (1, -0.25)}


def test_what_a_search_says_is_read_from_its_root() -> None:
    searcher, network = searcher_for(BY_HAND, PLAIN)
    result = searcher.search(searcher.game.allocate(1), ONLY, 6)
    assert result.visits.tolist() == [[1, 1, 4, 0]]
    assert result.policy[0] == pytest.approx([1 / 6, 1 / 6, 4 / 6, 0])
    assert result.chosen.tolist() == [C]
    # All that was evaluated, as the player to move at the root sees it: 0.5 - 0.5 + 0 + 0.25 + 0.75 - 0.5 - 0.25.
    assert result.value[0] == pytest.approx(0.25 / 7)
    assert network.asked == [[at()], [at(A)], [at(C)], [at(C, A)], [at(C, B)], [at(C, B, A)]]
    assert (searcher.counts.simulations, searcher.counts.leaves, searcher.counts.evaluations) == (6, 6, 6)


def test_one_simulation_after_another_or_all_at_once_is_the_same() -> None:
    whole, _ = searcher_for(BY_HAND, PLAIN)
    piecemeal, _ = searcher_for(BY_HAND, PLAIN)
    for _ in range(6):
        search(piecemeal, 1)
    assert look(piecemeal.trees) == search(whole, 6)


def test_first_play_urgency_by_hand() -> None:
    """Without exploration (c = 0) the first of the best Q is taken; unseen actions have the node's mean less r.

    The root is worth 0.5 and r = 0.5 sqrt(priors seen).
    1. Nothing is seen: A, B and C have 0.5 each; the first. A is worth 0.25 to us: the mean is 0.375.
    2. A 0.25; unseen 0.375 - 0.5 sqrt 0.5 = 0.021. A again, whose only reply is worth -0.875 to us: Q(A) = -0.3125,
       the mean is (0.5 + 0.25 - 0.875) / 3 = -0.0417.
    3. A -0.3125; unseen -0.0417 - 0.354 = -0.395. A again, and below it 1 for us: Q(A) = 0.125, the mean is 0.21875.
    4. A 0.125; unseen 0.21875 - 0.354 = -0.135. A again, now for -1: Q(A) = -0.15625, the mean is -0.025.
    5. A -0.15625; unseen -0.379. A again, for -1: Q(A) = -0.325, the mean is -0.1875.
    6. A -0.325; unseen -0.541. A again, for -1: Q(A) = -0.4375, the mean is -0.304.
    7. A -0.4375; unseen -0.658. A again, for -1 and once more: Q(A) = -0.518, the mean is -0.391: unseen -0.744.
    """
    line = (0.25, -0.875, 1.0, -1.0, -1.0, -1.0, -1.0)  # along A A A ..., for the player to move at the root
    said = {at(): Said(0.5, (0.5, 0.25, 0.25, 0)), at(B): Said(0, over=True)}
    for depth, value in enumerate(line, start=1):
        said[at(*[A] * depth)] = Said(value if depth % 2 == 0 else -value, (1, 0, 0, 0))
    searcher, _ = searcher_for(script_of(said), PuctParameters(exploration=0, fpu_reduction=0.5))
    assert visits_and_sums(search(searcher, 1))[A] == (1, 0.25)
    assert visits_and_sums(search(searcher, 1))[A] == (2, -0.625)
    assert visits_and_sums(search(searcher, 5)) == {A: (7, -3.625), B: (0, 0), C: (0, 0)}
    # With a smaller reduction, 0.1 sqrt 0.5 = 0.071, the third simulation tries B: -0.0417 - 0.071 > -0.3125.
    searcher, _ = searcher_for(script_of(said), PuctParameters(exploration=0, fpu_reduction=0.1))
    assert visits_and_sums(search(searcher, 3)) == {A: (2, -0.625), B: (1, 0), C: (0, 0)}


# ------------------------------------------------------------------------------- several leaves at once

QUIET = script_of(
    {
        at(): Said(0, (0.5, 0.25, 0.25, 0)),
        at(A): Said(0.5, (1, 0, 0, 0)),
        at(B): Said(0.25, (1, 0, 0, 0)),
        at(C): Said(-0.25, (1, 0, 0, 0)),
        at(A, A): Said(0, (1, 0, 0, 0)),
        at(B, A): Said(0, (1, 0, 0, 0)),
        at(C, A): Said(0, (1, 0, 0, 0)),
    }
)


def test_a_virtual_loss_sends_the_next_leaf_elsewhere_and_leaves_no_trace() -> None:
    """As above, c = 1. The first simulation goes to A, which counts as lost until it is evaluated:
    2. sqrt 2: A -1 + 0.354, B 0.354, C 0.354: B.    3. sqrt 3: A -0.567, B -1 + 0.217, C 0.433: C.
    """
    searcher, network = searcher_for(QUIET, PLAIN, leaves=3)
    root = search(searcher, 3)
    assert network.asked == [[at()], [at(A), at(B), at(C)]]
    assert visits_and_sums(root) == {A: (1, -0.5), B: (1, -0.25), C: (1, 0.25)}
    assert (root.visits, root.value_sum) == (4, 0.5)


def test_a_leaf_that_is_under_way_already_ends_the_round_uncounted() -> None:
    """With room for five leaves the fourth simulation has sqrt 4: A -1 + 0.5, B and C -1 + 0.25. A is under way."""
    searcher, network = searcher_for(QUIET, PLAIN, leaves=5)
    roots = searcher.game.allocate(1)
    searcher.begin(roots, ONLY, 5)
    assert searcher.step(roots, ONLY) == 3
    assert visits_and_sums(look(searcher.trees)) == {A: (1, -0.5), B: (1, -0.25), C: (1, 0.25)}
    assert searcher.step(roots, ONLY) == 2
    assert searcher.step(roots, ONLY) == 0
    # 4. sqrt 4: A -0.5 + 0.5, B -0.25 + 0.25, C 0.25 + 0.25: C A, and W(C) = 0.25 - 1 while it is under way.
    # 5. sqrt 5: A -0.5 + 0.559, B -0.25 + 0.280, C -0.375 + 0.186: A A.
    assert network.asked == [[at()], [at(A), at(B), at(C)], [at(C, A), at(A, A)]]
    assert visits_and_sums(look(searcher.trees)) == {A: (2, -0.5), B: (1, -0.25), C: (2, 0.25)}
    assert searcher.counts.simulations == 5


# ------------------------------------------------------------------------------------ the slow version


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    "parameters",
    [PuctParameters(), PuctParameters(2.5, 0.0), PuctParameters(0.7, 0.4), PuctParameters(1.0, fpu_zero=True)],
    ids=str,
)
def test_trees_are_those_of_the_slow_version(seed: int, parameters: PuctParameters) -> None:
    script = wild_script(seed)
    searcher, _ = searcher_for(script, parameters)
    slow = SlowPuct(script, parameters)
    for simulations in (1, 10, 150):
        slow.search(simulations)
        same(search(searcher, simulations), slow.root)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("leaves", [2, 7])
def test_trees_of_several_leaves_a_round_are_those_of_the_slow_version(seed: int, leaves: int) -> None:
    script = wild_script(seed)
    searcher, _ = searcher_for(script, PuctParameters(), leaves)
    slow = SlowPuct(script, PuctParameters(), leaves)
    slow.search(100)
    same(search(searcher, 100), slow.root)


@pytest.mark.parametrize("room", [5, 9, 23, 60])
def test_a_full_tree_is_searched_on_without_new_nodes(room: int) -> None:
    script = wild_script(4)
    searcher, _ = searcher_for(script, PuctParameters(), nodes=room)
    slow = SlowPuct(script, PuctParameters(), room=room)
    slow.search(200)
    root = search(searcher, 200)
    same(root, slow.root)
    assert searcher.trees.used[0] == slow.used <= room
    assert root.visits == 201 == 1 + sum(child.visits for child in root.children.values())


def test_a_search_in_a_kept_subtree_goes_on_as_if_it_had_begun_there() -> None:
    script = wild_script(6)
    searcher, _ = searcher_for(script, PuctParameters())
    slow = SlowPuct(script, PuctParameters())
    roots = searcher.game.allocate(1)
    for _ in range(3):
        result = searcher.search(roots, ONLY, 80)
        slow.search(80)
        same(look(searcher.trees), slow.root)
        action = int(result.chosen[0])
        searcher.game.play(roots, result.chosen)
        searcher.advance(result.chosen)
        slow.root = slow.root.children[action]
        slow.root.exact = None  # a root has to have moves to choose from


# ---------------------------------------------------------------------------------------- solved nodes


def test_a_won_move_solves_the_node_above_it_and_its_parent_knows() -> None:
    """A's reply B wins for the opponent: A is lost for us, exactly, after that reply has been seen once."""
    script = script_of(
        {
            at(): Said(0, (0.75, 0.25, 0, 0)),
            at(A): Said(-0.5, (0.25, 0.75, 0, 0)),
            at(A, B): Said(-1, over=True),
            at(B): Said(0, (1, 0, 0, 0)),
            **{at(B, *[A] * n): Said(0, (1, 0, 0, 0)) for n in range(1, 30)},
        }
    )
    searcher, network = searcher_for(script, PuctParameters())
    root = search(searcher, 2)
    assert (root.children[A].stage, root.children[A].value, root.children[A].visits) == (TERMINAL, 1, 2)
    assert root.children[A].value_sum == 0.5 - 1, "the mean remembers what was thought before"
    assert root.stage == EXPANDED
    root = search(searcher, 20)
    assert at(A, A) not in [number for batch in network.asked for number in batch], "nobody looks below a solved node"
    assert root.children[B].visits > 15
    assert searcher.conclude(ONLY).chosen.tolist() == [B]


def test_a_node_is_drawn_when_all_of_its_moves_are_solved_and_the_best_is_a_draw() -> None:
    said = {at(): Said(0, (1, 0, 0, 0)), at(A): Said(0.1, (0.25, 0.25, 0.25, 0.25))}
    said |= {at(A, 0): Said(1, over=True), at(A, 1): Said(0, over=True), at(A, 2): Said(1, over=True)}
    said |= {at(A, 3): Said(0.3, (1, 0, 0, 0)), at(A, 3, A): Said(-1, over=True)}
    searcher, _ = searcher_for(script_of(said), PuctParameters())
    solved = []
    for _ in range(40):
        node = search(searcher, 1).children[A]
        if node.stage == TERMINAL:
            assert all(child.stage == TERMINAL for child in node.children.values())
            assert node.value == 0
        else:
            assert any(child.stage != TERMINAL for child in node.children.values())
            assert node.value == pytest.approx(0.1)
        solved.append(node.stage == TERMINAL)
    assert solved[-1] and not solved[4]  # five simulations see the node and its four moves, one more solves the last
    assert look(searcher.trees).stage == EXPANDED


def test_a_won_move_is_played_however_few_visits_it_has_and_a_lost_one_only_if_there_is_no_other() -> None:
    trees_of = {
        "won": ([5, 1, 90, 4], {1: -1.0}, 1),
        "lost": ([90, 5, 4, 1], {0: 1.0}, 1),
        "drawn": ([90, 95, 4, 1], {1: 0.0}, 1),
        "all lost": ([9, 5, 4, 1], {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0}, 0),
        "one unseen": ([9, 5, 4, 0], {0: 1.0, 1: 1.0, 2: 1.0}, 3),
    }
    for name, (visits, solved, expected) in trees_of.items():
        searcher, _ = searcher_for(wild_script(), PuctParameters())
        trees = searcher.trees
        expand(trees, 0, 0, np.ones(4, np.bool_), np.log(np.array([0.4, 0.3, 0.2, 0.1], np.float32)))
        trees.visits[0, 1:5] = visits
        for action, value in solved.items():
            trees.stage[0, 1 + action], trees.value[0, 1 + action] = TERMINAL, value
        assert searcher.conclude(ONLY).chosen[0] == expected, name


def test_of_equal_visits_the_better_value_is_played_and_before_any_visit_the_better_prior() -> None:
    searcher, _ = searcher_for(wild_script(), PuctParameters())
    expand(searcher.trees, 0, 0, np.ones(4, np.bool_), np.array([0.1, 0.5, 2.0, 0.3], np.float32))
    assert searcher.conclude(ONLY).chosen[0] == 2
    searcher.trees.visits[0, 1:5] = 3
    searcher.trees.value_sum[0, 1:5] = [-0.5, 0.25, 0.0, 0.2]
    assert searcher.conclude(ONLY).chosen[0] == 1


def test_where_all_is_solved_a_search_can_still_be_stopped() -> None:
    """Millions of simulations need no evaluation here; each round must hand back after some of them."""
    said = {at(): Said(0, (0.5, 0.5, 0, 0)), at(A): Said(0, over=True), at(B): Said(1, over=True)}
    searcher, _ = searcher_for(script_of(said), PuctParameters())
    roots = searcher.game.allocate(1)
    searcher.begin(roots, ONLY, 1 << 40)
    done = [searcher.step(roots, ONLY) for _ in range(5)]
    assert all(1 <= simulations <= 10_000 for simulations in done)
    assert searcher.conclude(ONLY).chosen[0] == A
    searcher.begin(roots, ONLY, 5000)
    while searcher.step(roots, ONLY):
        pass
    assert look(searcher.trees).visits == 1 + sum(done) + 5000


# ----------------------------------------------------------------------------------- noise, and pruning


def test_noise_is_mixed_into_the_clean_priors_of_legal_actions() -> None:
    trees = new_trees(2, 9)
    legal = np.array([True, True, False, True])
    for b in range(2):
        expand(trees, b, 0, legal, np.log(np.array([0.5, 0.25, 1.0, 0.25], np.float32)))
    draws = np.array([[1.0, 2.0, 50.0, 5.0]])  # 1/8, 2/8 and 5/8 of what falls on legal actions
    for _ in range(2):  # a second time starts from the clean priors again
        mix_noise(trees, np.array([1]), draws, 0.25)
        assert list(look(trees, 1).priors.values()) == pytest.approx([0.40625, 0.25, 0.34375])
    assert list(look(trees, 1).logits.values()) == pytest.approx(np.log([0.5, 0.25, 0.25]).tolist(), rel=1e-6)
    assert list(look(trees, 0).priors.values()) == pytest.approx([0.5, 0.25, 0.25])
    mix_noise(trees, np.array([1]), np.zeros((1, 4)), 0.3)  # draws that are all too small to be told from 0
    assert sum(look(trees, 1).priors.values()) == pytest.approx(1)


@pytest.mark.parametrize("alpha", [0.0, 0.1, 1.0])
def test_the_noise_of_a_search_is_a_dirichlet_draw(alpha: float) -> None:
    """Nine actions: mean 1/9 and variance (1/9)(8/9) / (9 alpha + 1); alpha 0 stands for 10/9."""
    game = TicTacToe()
    searcher = searcher_of(
        game, Uniform(game), PuctParameters(), rule={"noise": 1.0, "alpha": alpha}, trees=4000, nodes=16, seed=5
    )
    searcher.begin(game.allocate(4000), np.arange(4000), 1, explore=1.0)
    drawn = searcher.trees.prior[:, 1:10]
    assert drawn.sum(axis=1) == pytest.approx(np.ones(4000), rel=1e-5)
    assert drawn.mean(axis=0) == pytest.approx(np.full(9, 1 / 9), rel=0.15)
    variance = (1 / 9) * (8 / 9) / (9 * (alpha or 10 / 9) + 1)
    assert drawn.var(axis=0) == pytest.approx(np.full(9, variance), rel=0.15)


def test_noise_comes_from_the_seed() -> None:
    def visits(seed: int) -> list[int]:
        script = wild_script(1)
        game = ScriptedGame(script)
        searcher = searcher_of(game, ScriptedNetwork(script), PuctParameters(), rule={"noise": 0.5}, seed=seed)
        return searcher.search(game.allocate(1), ONLY, 200, explore=1.0).visits[0].tolist()

    assert visits(1) == visits(1)
    assert visits(1) != visits(2)


def test_pruning_by_hand() -> None:
    """c = 1 and N = 16, so that c sqrt(N) = 4. The most visited action A has the score 0.5 + 4 * 0.5 / (1 + 7) = 0.75.

    B: Q = 0.25, P = 0.25: 0.25 + 1 / (1 + n) <= 0.75 from n = 1 on; of its 4 visits one would do, which is nothing.
    C: Q = 0.5,  P = 0.15: 0.5 + 0.6 / (1 + n) <= 0.75 from n = 1.4 on: 2 of its 3 visits.
    D: Q = 1, better than A's score: its one visit was not exploration, but a single visit is never kept.
    """
    trees = new_trees(1, 9)
    expand(trees, 0, 0, np.ones(4, np.bool_), np.log(np.array([0.5, 0.25, 0.15, 0.1], np.float32)))
    trees.visits[0, :5] = [16, 7, 4, 3, 1]
    trees.value_sum[0, 1:5] = [3.5, 1.0, 1.5, 1.0]
    visits = trees.visits[0, 1:5].astype(np.float32)[None]
    prune_visits(trees, ONLY, PuctParameters(1.0), visits)
    assert visits.tolist() == [[7, 0, 2, 0]]


@pytest.mark.parametrize("seed", range(6))
def test_pruned_visits_are_the_fewest_that_puct_would_stop_at(seed: int) -> None:
    script, parameters = wild_script(seed, values=0.3), PuctParameters(2.0)
    searcher, _ = searcher_for(script, parameters, prune=True)
    root = search(searcher, 400)
    n = {action: child.visits for action, child in root.children.items()}
    q = {
        action: -child.value if child.stage == TERMINAL else child.value_sum / child.visits
        for action, child in root.children.items()
        if child.visits
    }
    best = max(n, key=lambda action: n[action])
    scale = 2.0 * sqrt(root.visits)
    goal = q[best] + scale * root.priors[best] / (1 + n[best])
    expected = np.zeros(4)
    for action in q:
        enough = [k for k in range(n[action] + 1) if q[action] + scale * root.priors[action] / (1 + k) <= goal]
        kept = n[action] if action == best else min([*enough, n[action]])
        expected[action] = kept if kept > 1 or action == best else 0
    assert searcher.conclude(ONLY).target[0] == pytest.approx(expected / expected.sum(), abs=1e-6)


def test_unvisited_roots_have_no_policy_to_prune() -> None:
    searcher, _ = searcher_for(wild_script(), PuctParameters(), prune=True)
    searcher.prepare(searcher.game.allocate(1), ONLY)
    assert searcher.conclude(ONLY).target.tolist() == [[0, 0, 0, 0]]
    assert look(searcher.trees).children[0].stage == UNSEEN
