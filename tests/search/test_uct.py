"""UCT: the tree's book-keeping, exact small boards, and legality under every rule set."""

import numpy as np
import pytest

from tengen.games import go
from tengen.games.go import BLACK, PASS, RULES, WHITE, from_gtp
from tengen.games.go.coordinates import from_cell
from tengen.search.uct import (
    UctParameters,
    UctRoot,
    UctScratch,
    UctTree,
    copy_subtree,
    find_child,
    most_visited,
    new_scratch,
    new_tree,
    simulate,
)


def nothing_dead(state: go.State) -> np.ndarray:
    return np.zeros_like(state.board.color)


def search(
    state: go.State, simulations: int, parameters: UctParameters | None = None, seed: int = 1
) -> tuple[UctTree, UctScratch]:
    tree, scratch = new_tree(500_000), new_scratch(state.size, state.history)
    root = UctRoot(state.board, 0, 0, len(state.history), state.rules.flags, state.komi, nothing_dead(state), True)
    simulate(tree, root, scratch, parameters or UctParameters(), simulations, np.array([seed], np.uint64))
    return tree, scratch


def best_move(tree: UctTree, size: int) -> int:
    cell = int(tree.move[most_visited(tree, 0)])
    return from_cell(cell, size) if cell else PASS


def children(tree: UctTree, node: int) -> range:
    return range(tree.first_child[node], tree.first_child[node] + tree.child_count[node])


@pytest.mark.parametrize("guided", [False, True])
def test_every_simulation_is_counted_once_on_its_path(guided: bool) -> None:
    tree, _ = search(go.State.new(5), 3000, UctParameters(guided=guided))
    assert tree.visits[0] == 3000
    for node in range(tree.used[0]):
        assert 0 <= tree.wins[node] <= tree.visits[node] + 1e-3
        if tree.child_count[node]:
            through_children = tree.visits[children(tree, node)].sum()
            stopped_here = tree.visits[node] - through_children
            assert 0 <= stopped_here <= UctParameters().expand_after


def test_wins_of_a_node_are_losses_of_its_children() -> None:
    """What the player to move at a node wins through its children is what the node's own mover lost."""
    parameters = UctParameters(margin_weight=0.0)
    tree, _ = search(go.State.new(5, komi=2.5), 4000, parameters)
    node = most_visited(tree, 0)
    kids = children(tree, node)
    seen, won = tree.visits[kids].sum(), tree.wins[kids].sum()
    stopped_here = tree.visits[node] - seen
    assert abs((tree.visits[node] - tree.wins[node]) - won) <= stopped_here


def test_ownership_votes_once_a_simulation() -> None:
    state = go.State.new(5)
    _, scratch = search(state, 500)
    assert np.all(np.abs(scratch.ownership) <= 500)
    assert np.all(scratch.ownership[state.board.color == 3] == 0)


@pytest.mark.parametrize("rules", ["tromp-taylor", "simple-go"])
def test_opens_in_the_centre_of_5x5(rules: str) -> None:
    tree, _ = search(go.State.new(5, rules, komi=3.5), 8000)
    assert best_move(tree, 5) == from_gtp("C3", 5)


def test_3x3_is_won_by_black_from_the_centre() -> None:
    """Black owns the whole 3x3 board with perfect play, so it wins at komi 8.5 and only from the centre."""
    tree, _ = search(go.State.new(3, "tromp-taylor", komi=8.5), 20000)
    best = most_visited(tree, 0)
    assert best_move(tree, 3) == 4
    assert tree.wins[best] / tree.visits[best] > 0.9


def test_light_search_without_rave_or_priors_is_plain_uct_and_finds_the_centre_too() -> None:
    parameters = UctParameters(guided=False, exploration=0.7, rave_equivalence=0.0, prior_weight=0.0)
    tree, _ = search(go.State.new(3, "tromp-taylor", komi=8.5), 30000, parameters)
    assert best_move(tree, 3) == 4


def test_the_same_seed_gives_the_same_tree() -> None:
    one, _ = search(go.State.new(7), 2000, seed=5)
    two, _ = search(go.State.new(7), 2000, seed=5)
    other, _ = search(go.State.new(7), 2000, seed=6)
    used = int(one.used[0])
    assert used == two.used[0]
    for name in ("move", "visits", "wins", "amaf_visits", "first_child"):
        assert np.array_equal(getattr(one, name)[:used], getattr(two, name)[:used])
    assert not np.array_equal(one.visits[:82], other.visits[:82])


def test_tree_holds_exactly_the_legal_moves_that_fill_no_eye_along_a_whole_path() -> None:
    """Superko included: every move that the tree knows is legal in the friendly state, all the way down."""
    for rules in RULES:
        state = go.State.new(4, rules, komi=3.5)
        tree, _ = search(state, 4000)
        pending = [(0, state)]
        checked = 0
        while pending and checked < 3000:
            node, position = pending.pop()
            for child in children(tree, node):
                cell = int(tree.move[child])
                move = from_cell(cell, 4) if cell else PASS
                assert position.is_legal(move), (rules, position.moves, move)
                checked += 1
                after = position.play(move)
                if tree.child_count[child] and not after.is_over:
                    pending.append((child, after))
        assert checked >= 1000, rules


def test_a_full_tree_goes_on_without_growing() -> None:
    state = go.State.new(5)
    tree, scratch = new_tree(100), new_scratch(5, state.history)
    root = UctRoot(state.board, 0, 0, 1, state.rules.flags, state.komi, nothing_dead(state), True)
    simulate(tree, root, scratch, UctParameters(), 1000, np.array([1], np.uint64))
    assert tree.visits[0] == 1000
    assert tree.used[0] <= 100


def test_subtree_keeps_all_statistics() -> None:
    tree, _ = search(go.State.new(5), 3000)
    child = most_visited(tree, 0)
    part = new_tree(500_000)
    copy_subtree(tree, child, part)

    def compare(old: int, new: int) -> int:
        for name in ("move", "visits", "wins", "amaf_visits", "amaf_wins", "prior_visits", "prior_wins"):
            assert getattr(tree, name)[old] == getattr(part, name)[new]
        assert tree.child_count[old] == part.child_count[new]
        below = zip(children(tree, old), children(part, new), strict=True)
        return 1 + sum(compare(a, b) for a, b in below)

    assert compare(child, 0) == part.used[0] > 1
    move = int(tree.move[most_visited(tree, child)])
    assert find_child(part, 0, move) == most_visited(part, 0)
    assert find_child(part, 0, int(part.move[0])) == -1


@pytest.mark.parametrize("to_play", [BLACK, WHITE])
def test_value_is_seen_from_the_player_to_move(to_play: int) -> None:
    """Black owns nearly everything: good for Black to move, bad for White to move."""
    black = [i for i in range(25) if i not in (0, 2, 24)]
    state = go.State.setup(5, "tromp-taylor", 3.5, black, [], to_play)
    tree, _ = search(state, 300)
    best = most_visited(tree, 0)
    value = tree.wins[best] / tree.visits[best]
    assert value > 0.9 if to_play == BLACK else value < 0.1
    assert int(tree.move[best]) == 0 or state.color_at(from_cell(int(tree.move[best]), 5)) == 0
