"""The arrays behind tree search: children, values on the way up, and the part of a tree that is kept."""

import numpy as np
import pytest

from tengen.search.puct import PuctParameters
from tengen.search.searcher import Searcher
from tengen.search.tree import (
    CLOSED,
    EXPANDED,
    PENDING,
    TERMINAL,
    UNSEEN,
    Trees,
    add_virtual_loss,
    back_up,
    clear_trees,
    drop_root_action,
    expand,
    expand_and_back_up,
    find_child,
    new_paths,
    new_trees,
)

from .networks import searcher_of
from .scripted import Node, ScriptedGame, ScriptedNetwork, look, wild_script

EVERY_ACTION = np.ones(4, np.bool_)


def logits(*priors: float) -> np.ndarray:
    return np.log(np.array(priors, np.float32))


def searched(seed: int, simulations: int, nodes: int = 10_000, trees: int = 1, ends: float = 0.15) -> Searcher:
    """A searcher that has grown its trees in a game without sense."""
    script = wild_script(seed, ends=ends)
    game = ScriptedGame(script)
    searcher = searcher_of(game, ScriptedNetwork(script), PuctParameters(), trees=trees, nodes=nodes)
    roots, index = game.allocate(trees), np.arange(trees)
    if simulations:
        searcher.search(roots, index, simulations)
    return searcher


def test_a_new_tree_is_an_unseen_root() -> None:
    trees = new_trees(3, 5)
    assert trees.used.tolist() == [1, 1, 1]
    assert look(trees, 2) == Node(0, 0.0, 0.0, UNSEEN, {}, {}, {})


def test_priors_are_the_softmax_of_the_legal_logits_alone() -> None:
    trees = new_trees(2, 9)
    legal = np.array([True, False, True, True])
    expand(trees, 1, 0, legal, np.array([1.0, 300.0, 2.0, -100.0], np.float32))
    node = look(trees, 1)
    expected = np.exp([1.0, 2.0, -100.0]) / np.exp([1.0, 2.0, -100.0]).sum()
    assert list(node.priors) == [0, 2, 3]
    assert list(node.priors.values()) == pytest.approx(expected.tolist(), rel=1e-5)
    assert list(node.logits.values()) == pytest.approx(np.log(expected).tolist(), rel=1e-5)
    assert all(child == Node(0, 0.0, 0.0, UNSEEN, {}, {}, {}) for child in node.children.values())
    assert trees.stage[1, 0] == EXPANDED and trees.used.tolist() == [1, 4]
    assert [find_child(trees, 1, 0, action) for action in range(4)] == [1, -1, 2, 3]


def test_logits_as_large_as_floats_are_do_no_harm() -> None:
    trees = new_trees(1, 9)
    expand(trees, 0, 0, EVERY_ACTION, np.array([3e38, 3e38, -3e38, 0.0], np.float32))
    assert list(look(trees).priors.values()) == [0.5, 0.5, 0.0, 0.0]


def test_a_tree_without_room_is_left_as_it_was_but_for_the_closed_leaf() -> None:
    trees = new_trees(1, 8)
    expand(trees, 0, 0, EVERY_ACTION, logits(0.25, 0.25, 0.25, 0.25))
    before = look(trees)
    expand(trees, 0, 3, EVERY_ACTION, logits(0.25, 0.25, 0.25, 0.25))  # 1 + 4 + 4 would be nine
    assert trees.stage[0, 3] == CLOSED
    trees.stage[0, 3] = UNSEEN
    assert look(trees) == before
    assert trees.used[0] == 5
    expand(trees, 0, 3, np.array([True, True, True, False]), logits(0.25, 0.25, 0.25, 0.25))  # eight fit
    assert trees.used[0] == 8 and trees.stage[0, 3] == EXPANDED


def chain_of_three() -> tuple[Trees, np.ndarray]:
    """A root, a child, a grandchild, each of one action."""
    trees = new_trees(1, 4)
    for node in range(3):
        expand(trees, 0, node, np.array([True]), np.zeros(1, np.float32))
    return trees, np.array([0, 1, 2, 3], np.int32)


def test_a_path_under_way_looks_lost_to_everyone_and_its_value_flips_its_sign_at_every_ply() -> None:
    trees, nodes = chain_of_three()
    paths = new_paths(1, 8)
    paths.nodes[0, :4], paths.length[0] = nodes, 3
    add_virtual_loss(trees, paths, 0)
    assert trees.visits[0].tolist() == [1, 1, 1, 1]
    assert trees.value_sum[0].tolist() == [-1, -1, -1, -1]
    back_up(trees, paths, 0, np.float32(0.5), np.float32(0))
    # The leaf is worth 0.5 to the player to move there, so -0.5 to the one whose move leads there, and so on.
    assert trees.value_sum[0].tolist() == [0.5, -0.5, 0.5, -0.5]
    assert trees.visits[0].tolist() == [1, 1, 1, 1]


def test_finished_games_are_marked_with_their_exact_value_and_have_no_children() -> None:
    trees = new_trees(1, 20)
    expand(trees, 0, 0, EVERY_ACTION, logits(0.25, 0.25, 0.25, 0.25))
    paths = new_paths(2, 4)
    paths.length[:] = 1
    paths.nodes[:, 1] = [2, 3]
    for k in range(2):
        add_virtual_loss(trees, paths, k)
    legal, over = np.ones((2, 4), np.bool_), np.array([True, False])
    results, values = np.array([-1, 0], np.float32), np.array([0.75, 0.25], np.float32)
    expand_and_back_up(trees, paths, 2, legal, over, results, np.zeros((2, 4), np.float32), values, values)
    ended, going_on = look(trees).children[1], look(trees).children[2]
    assert (ended.stage, ended.value, ended.value_sum, len(ended.children)) == (TERMINAL, -1, 1, 0)
    assert (going_on.stage, going_on.value, going_on.value_sum, len(going_on.children)) == (EXPANDED, 0.25, -0.25, 4)
    assert trees.value_sum[0, 0] == -1 + 0.25


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("simulations", [1, 7, 300])
def test_a_kept_child_keeps_every_number_below_it(seed: int, simulations: int) -> None:
    for action in range(4):
        searcher = searched(seed, simulations)
        before = look(searcher.trees)
        used = int(searcher.trees.used[0])
        searcher.advance(np.array([action]))
        kept = look(searcher.trees)
        child = before.children.get(action)
        if child is None or not child.children:
            assert kept == Node(0, 0.0, 0.0, UNSEEN, {}, {}, {}) and searcher.trees.used[0] == 1
        else:
            assert kept == child._replace(stage=EXPANDED)  # what is solved has to be searched again as a root
            assert searcher.trees.used[0] == count(kept) <= used


def count(node: tuple) -> int:
    """How many nodes a tree has."""
    return 1 + sum(count(child) for child in node[4].values())


def test_each_tree_follows_its_own_action_and_minus_one_leaves_it_alone() -> None:
    searcher = searched(seed=3, simulations=60, trees=4, ends=0)
    before = [look(searcher.trees, b) for b in range(4)]
    assert before[0] == before[3]
    one, other = [action for action, child in before[0].children.items() if child.stage == EXPANDED][:2]
    searcher.advance(np.array([one, -1, other]))  # of the fourth nothing is said
    after = [look(searcher.trees, b) for b in range(4)]
    assert after == [before[0].children[one], before[1], before[2].children[other], before[3]]


def test_clearing_touches_the_named_trees_only() -> None:
    searcher = searched(seed=5, simulations=40, trees=3)
    kept = look(searcher.trees, 1)
    searcher.forget(np.array([0, 2]))
    assert look(searcher.trees, 1) == kept
    assert [look(searcher.trees, b).stage for b in (0, 2)] == [UNSEEN, UNSEEN]


def test_a_full_tree_keeps_what_was_reached_and_forgets_what_never_got_children() -> None:
    searcher = searched(seed=2, simulations=200, nodes=30, ends=0)
    full = look(searcher.trees)
    assert searcher.trees.used[0] > 30 - 4
    bare = [a for a, child in full.children.items() if not child.children]
    for action in full.children:
        again = searched(seed=2, simulations=200, nodes=30, ends=0)
        again.advance(np.array([action]))
        assert look(again.trees).visits == (0 if action in bare else full.children[action].visits)


def test_no_evaluation_stays_pending() -> None:
    for leaves in (1, 4):
        script = wild_script(9)
        game = ScriptedGame(script)
        searcher = searcher_of(game, ScriptedNetwork(script), PuctParameters(), leaves=leaves)
        searcher.search(game.allocate(1), np.array([0]), 100)
        assert PENDING not in searcher.trees.stage[0, : searcher.trees.used[0]]


def test_clear_trees_takes_any_index() -> None:
    trees = new_trees(2, 9)
    expand(trees, 1, 0, EVERY_ACTION, logits(0.25, 0.25, 0.25, 0.25))
    clear_trees(trees, np.array([], np.int64))
    assert trees.used.tolist() == [1, 5]


def test_a_leaf_without_room_is_closed_keeps_its_value_and_opens_when_there_is_room_again() -> None:
    searcher = searched(seed=2, simulations=200, nodes=30, ends=0)
    trees = searcher.trees
    closed = np.flatnonzero(trees.stage[0, : trees.used[0]] == CLOSED)
    assert len(closed)
    for node in closed:
        assert trees.value_sum[0, node] == pytest.approx(-trees.value[0, node] * trees.visits[0, node], abs=1e-4)
    before = searcher.counts.evaluations
    searcher.search(searcher.game.allocate(1), np.array([0]), 100)
    assert searcher.counts.evaluations - before < 20, "what is closed is not evaluated again"
    kept = next(action for action, child in look(trees).children.items() if child.children)
    searcher.advance(np.array([kept]))
    assert CLOSED not in trees.stage[0, : trees.used[0]]


def test_a_tree_is_full_when_no_leaf_finds_room() -> None:
    assert searched(seed=2, simulations=200, nodes=30, ends=0).is_full()
    assert not searched(seed=2, simulations=10, nodes=1000, ends=0).is_full()


@pytest.mark.parametrize("action", range(4))
def test_a_forbidden_action_leaves_the_root_and_takes_nothing_else_along(action: int) -> None:
    searcher = searched(seed=3, simulations=80, ends=0)
    before = look(searcher.trees)
    searcher.forbid(0, action)
    after = look(searcher.trees)
    rest = {other: child for other, child in before.children.items() if other != action}
    assert after.children == rest
    assert after.priors == {other: before.priors[other] for other in rest}
    roots = searcher.game.allocate(1)
    result = searcher.search(roots, np.array([0]), 50)
    assert result.visits[0, action] == 0 and int(result.chosen[0]) != action


def test_the_only_action_of_a_root_cannot_be_forbidden_nor_one_that_it_does_not_have() -> None:
    trees = new_trees(1, 9)
    expand(trees, 0, 0, np.array([False, True, False, False]), logits(0.25, 0.25, 0.25, 0.25))
    for action in (1, 2):
        drop_root_action(trees, 0, action)
        assert list(look(trees).children) == [1]
