"""The trees of AlphaZero's search in flat arrays, free of any game: B trees side by side, each with room for M nodes.

A node is an index; node 0 of a tree is its root. The children of a node lie side by side, from `first_child` on, one
for each legal action. `visits` and `value_sum` are N and W of the papers: counted for the player whose move leads to
the node, so that W / N of a child is the Q that its parent compares; values flip their sign at every ply on the way
up. `value` is what the network said about the node itself, as the player to move there sees it. Searches whose leaves
are valued by a network and by rollouts, as AlphaGo's are, keep the sum of the rollouts' results alone as well
(`rollout_sum`); finished games and solved positions count their result in both sums.

A node whose game is over is TERMINAL, and so is one that the search has solved: a move leads to a lost position of the
opponent, or all moves lead to solved positions. Its `value` is exact, it takes the place of the mean, and nobody looks
below it again. Roots are never solved, so that a search always has moves to choose from.

A leaf may be visited several times before it is given children; it is UNSEEN until then, and evaluated at each visit.

A tree that is full goes on without growing: a leaf that finds no room for its children is CLOSED, keeps the value it
was given, and opens again once a part of the tree is let go. Where there are rollouts it stays UNSEEN: each visit adds
another rollout to what is known of it.

A simulation counts its visits on the way down and its value on the way up. Between the two, a path under way looks
like a loss ("virtual loss"), so that several leaves of one tree can be evaluated as one batch.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel

UNSEEN, PENDING, EXPANDED, TERMINAL, CLOSED = 0, 1, 2, 3, 4
VIRTUAL_LOSS = np.float32(1.0)
SOLVED_AT_ONCE = 1024  # simulations without an evaluation that a tree gets in one call: searches can be stopped


class Trees(NamedTuple):
    """B trees of up to M nodes.

    >>> import tengen
    >>> game = tengen.get_game("tictactoe")
    >>> batch = game.batch(game.options())
    >>> trees: tengen.Trees = tengen.Searcher(batch, tengen.PlayoutEvaluation(batch), tengen.Puct(), nodes=100).trees
    >>> trees.visits.shape
    (1, 100)
    """

    action: NDArray[np.int16]  # [B, M] what leads to the node, an index of the policy
    first_child: NDArray[np.int32]  # [B, M]
    child_count: NDArray[np.int16]  # [B, M] 0 until the node is expanded
    stage: NDArray[np.int8]  # [B, M] UNSEEN, PENDING (under evaluation), EXPANDED, TERMINAL or CLOSED
    visits: NDArray[np.int32]  # [B, M] N
    value_sum: NDArray[np.float32]  # [B, M] W, for the player whose move leads here
    under_way: NDArray[np.int32]  # [B, M] how many of the visits wait for their value, lost until then
    prior: NDArray[np.float32]  # [B, M] P: how likely the network finds the action
    logit: NDArray[np.float32]  # [B, M] ln P, before any noise
    value: NDArray[np.float32]  # [B, M] v, for the player to move here; exact if TERMINAL
    rollout_sum: NDArray[np.float32]  # [B, M] W of the rollouts alone; [B, 0] in searches that have none
    used: NDArray[np.int64]  # [B] how many nodes a tree has


class Paths(NamedTuple):
    """L simulations under way, each from a root to a leaf."""

    tree: NDArray[np.int64]  # [L] which tree
    length: NDArray[np.int64]  # [L] how many actions
    actions: NDArray[np.int16]  # [L, D]
    nodes: NDArray[np.int32]  # [L, D + 1] from the root to the leaf
    expands: NDArray[np.bool_]  # [L] whether the leaf is to be given children once it is evaluated


def new_trees(count: int, nodes: int, rollouts: bool = False) -> Trees:
    """`count` trees of a root alone, with room for `nodes` nodes each; `rollouts`: also for the sums of rollouts."""
    shape = (count, nodes)
    trees = Trees(
        np.empty(shape, np.int16),
        np.empty(shape, np.int32),
        np.empty(shape, np.int16),
        np.empty(shape, np.int8),
        np.empty(shape, np.int32),
        np.empty(shape, np.float32),
        np.empty(shape, np.int32),
        np.empty(shape, np.float32),
        np.empty(shape, np.float32),
        np.empty(shape, np.float32),
        np.empty((count, nodes if rollouts else 0), np.float32),
        np.zeros(count, np.int64),
    )
    clear_trees(trees, np.arange(count))
    return trees


def new_paths(count: int, depth: int) -> Paths:
    """Room for `count` paths of up to `depth` actions."""
    return Paths(
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros((count, depth), np.int16),
        np.zeros((count, depth + 1), np.int32),
        np.ones(count, np.bool_),
    )


@kernel
def clear_trees(trees, index):  # type: ignore[no-untyped-def]
    """Leave nothing but an unseen root of these trees; index: int64[n]."""
    for k in range(index.shape[0]):
        _clear_tree(trees, index[k])


@kernel(inline=True)
def _clear_tree(trees, b):  # type: ignore[no-untyped-def]
    _new_node(trees, b, 0, -1, 1.0, 0.0)
    trees.used[b] = 1


@kernel(inline=True)
def _new_node(trees, b, node, action, prior, logit):  # type: ignore[no-untyped-def]
    trees.action[b, node] = action
    trees.first_child[b, node] = 0
    trees.child_count[b, node] = 0
    trees.stage[b, node] = UNSEEN
    trees.visits[b, node] = 0
    trees.value_sum[b, node] = 0.0
    trees.under_way[b, node] = 0
    trees.prior[b, node] = prior
    trees.logit[b, node] = logit
    trees.value[b, node] = 0.0
    if trees.rollout_sum.shape[1] > 0:
        trees.rollout_sum[b, node] = 0.0


@kernel(inline=True)
def add_virtual_loss(trees, paths, k):  # type: ignore[no-untyped-def]
    """Count a visit on all nodes of path k, lost until its value is known."""
    b = paths.tree[k]
    for depth in range(paths.length[k] + 1):
        node = paths.nodes[k, depth]
        trees.visits[b, node] += 1
        trees.value_sum[b, node] -= VIRTUAL_LOSS
        trees.under_way[b, node] += 1


@kernel(inline=True)
def back_up(trees, paths, k, value, rollout):  # type: ignore[no-untyped-def]
    """Write the value of path k's leaf, as the player to move there sees it, to all nodes of the path; and that of its
    rollout, where rollouts are kept."""
    b = paths.tree[k]
    has_rollouts = trees.rollout_sum.shape[1] > 0
    for depth in range(paths.length[k], -1, -1):
        value, rollout = -value, -rollout
        node = paths.nodes[k, depth]
        trees.value_sum[b, node] += VIRTUAL_LOSS + value
        trees.under_way[b, node] -= 1
        if has_rollouts:
            trees.rollout_sum[b, node] += rollout


@kernel(inline=True)
def visit_leaf(trees, paths, k, threshold, expandable):  # type: ignore[no-untyped-def]
    """Do what the end of path k asks for; returns its stage before.

    UNSEEN: it is to be evaluated. If it is `expandable` and this is its visit number `threshold` or a later one, it is
    PENDING now and expands afterwards. PENDING: nothing, the path is to be given up. Else, in a solved position or
    where there is no room, its value is known and backed up at once.
    """
    b, node = paths.tree[k], paths.nodes[k, paths.length[k]]
    stage = trees.stage[b, node]
    if stage == PENDING:
        return stage
    add_virtual_loss(trees, paths, k)
    if stage == UNSEEN:
        paths.expands[k] = expandable and trees.visits[b, node] >= threshold
        if paths.expands[k]:
            trees.stage[b, node] = PENDING
    else:
        back_up(trees, paths, k, trees.value[b, node], trees.value[b, node])
    return stage


@kernel(inline=True)
def action_value(trees, b, child):  # type: ignore[no-untyped-def]
    """Q of a child that has been visited: the mean of its simulations, or its exact value once it is solved."""
    if trees.stage[b, child] == TERMINAL:
        return -trees.value[b, child]
    return trees.value_sum[b, child] / np.float32(trees.visits[b, child])


@kernel(inline=True)
def known_value(trees, b, node):  # type: ignore[no-untyped-def]
    """The mean value of an expanded node for the player to move there, without the visits still under way."""
    waiting = trees.under_way[b, node]
    return -(trees.value_sum[b, node] + waiting * VIRTUAL_LOSS) / np.float32(trees.visits[b, node] - waiting)


@kernel
def solve_ancestors(trees, paths, k):  # type: ignore[no-untyped-def]
    """After the leaf of path k has become TERMINAL: mark the nodes above it that are solved by this, but the root."""
    b = paths.tree[k]
    for depth in range(paths.length[k] - 1, 0, -1):
        node = paths.nodes[k, depth]
        first = trees.first_child[b, node]
        best, solved = np.float32(-1.0), True
        for child in range(first, first + trees.child_count[b, node]):
            if trees.stage[b, child] == TERMINAL:
                best = max(best, -trees.value[b, child])
            else:
                solved = False
        if not solved and best < 1.0:
            return
        trees.stage[b, node] = TERMINAL
        trees.value[b, node] = best


@kernel
def expand_and_back_up(trees, paths, count, legal, over, results, logits, values, rollouts):  # type: ignore[no-untyped-def]
    """Give the leaves of the first `count` paths their children, if they expand, and write their values back.

    legal: bool[L, A]; over: bool[L] and results: float32[L] are the rules' word, and exact; logits: float32[L, A],
    values: float32[L] and rollouts: float32[L] those of the evaluation. Priors are the softmax of the legal logits.
    """
    for k in range(count):
        b, leaf = paths.tree[k], paths.nodes[k, paths.length[k]]
        if over[k]:
            trees.stage[b, leaf] = TERMINAL
            trees.value[b, leaf] = results[k]
            solve_ancestors(trees, paths, k)
            back_up(trees, paths, k, results[k], results[k])
        else:
            if paths.expands[k]:
                expand(trees, b, leaf, legal[k], logits[k])
            if trees.stage[b, leaf] != TERMINAL:  # another thread may have expanded and solved it since
                trees.value[b, leaf] = values[k]
            back_up(trees, paths, k, values[k], rollouts[k])


@kernel
def expand(trees, b, leaf, legal, logits):  # type: ignore[no-untyped-def]
    """Add a child for every legal action, if there is room; legal: bool[A], logits: float32[A]."""
    highest, count = np.float32(-np.inf), 0
    for action in range(legal.shape[0]):
        if legal[action]:
            count += 1
            highest = max(highest, logits[action])
    first = trees.used[b]
    if first + count > trees.action.shape[1]:
        trees.stage[b, leaf] = UNSEEN if trees.rollout_sum.shape[1] > 0 else CLOSED
        return
    child, total = first, np.float32(0.0)
    for action in range(legal.shape[0]):
        if legal[action]:
            logit = logits[action] - highest
            weight = np.exp(logit)
            total += weight
            _new_node(trees, b, child, action, weight, logit)
            child += 1
    scale, log_total = np.float32(1.0) / total, np.log(total)
    for child in range(first, first + count):
        trees.prior[b, child] *= scale
        trees.logit[b, child] -= log_total
    trees.first_child[b, leaf] = first
    trees.child_count[b, leaf] = count
    trees.stage[b, leaf] = EXPANDED
    trees.used[b] = first + count


@kernel
def find_child(trees, b, node, action):  # type: ignore[no-untyped-def]
    """The child of a node that an action leads to, or -1."""
    first = trees.first_child[b, node]
    for child in range(first, first + trees.child_count[b, node]):
        if trees.action[b, child] == action:
            return child
    return -1


@kernel
def drop_root_action(trees, b, action):  # type: ignore[no-untyped-def]
    """Forbid an action at the root of tree b, which is expanded: its child goes, unless it is the only one."""
    child, count = find_child(trees, b, 0, action), trees.child_count[b, 0]
    if child < 0 or count < 2:
        return
    last = trees.first_child[b, 0] + count - 1
    _copy_node(trees, b, last, trees, b, child)
    trees.first_child[b, child] = trees.first_child[b, last]
    trees.child_count[b, child] = trees.child_count[b, last]
    trees.child_count[b, 0] = count - 1


@kernel
def keep_subtrees(trees, actions, spare):  # type: ignore[no-untyped-def]
    """Make the child that actions[b] leads to the root of tree b; -1 leaves a tree alone. actions: int64[n].

    Where the child was never reached the tree is cleared. spare: one more tree to copy through.
    """
    for b in range(actions.shape[0]):
        if actions[b] < 0:
            continue
        child = find_child(trees, b, 0, actions[b])
        if child < 0 or trees.child_count[b, child] == 0:
            _clear_tree(trees, b)
        else:
            used = _copy_subtree(trees, b, child, spare)
            for node in range(used):
                _copy_node(spare, 0, node, trees, b, node)
                trees.first_child[b, node] = spare.first_child[0, node]
                trees.child_count[b, node] = spare.child_count[0, node]
            trees.used[b] = used
            trees.stage[b, 0] = EXPANDED  # even if it was solved: a root has to have moves to choose from


@kernel
def _copy_subtree(trees, b, root, spare):  # type: ignore[no-untyped-def]
    """Copy the nodes below and with `root` to the tree 0 of `spare`, breadth first; returns how many they are."""
    origin = spare.first_child[0]  # which node each of them is a copy of, until its children are there
    origin[0] = root
    _copy_node(trees, b, root, spare, 0, 0)
    used, node = 1, 0
    while node < used:
        old = origin[node]
        count = trees.child_count[b, old]
        spare.first_child[0, node] = used
        spare.child_count[0, node] = count
        for i in range(count):
            child = trees.first_child[b, old] + i
            origin[used] = child
            _copy_node(trees, b, child, spare, 0, used)
            used += 1
        node += 1
    return used


@kernel(inline=True)
def _copy_node(source, b, old, target, c, new):  # type: ignore[no-untyped-def]
    """Copy all of a node but where its children are."""
    target.action[c, new] = source.action[b, old]
    stage = source.stage[b, old]
    target.stage[c, new] = UNSEEN if stage == CLOSED else stage  # there is room again
    target.visits[c, new] = source.visits[b, old]
    target.value_sum[c, new] = source.value_sum[b, old]
    target.under_way[c, new] = source.under_way[b, old]
    target.prior[c, new] = source.prior[b, old]
    target.logit[c, new] = source.logit[b, old]
    target.value[c, new] = source.value[b, old]
    if source.rollout_sum.shape[1] > 0:
        target.rollout_sum[c, new] = source.rollout_sum[b, old]
