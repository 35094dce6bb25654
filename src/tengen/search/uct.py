"""UCT for Go: Monte-Carlo tree search with RAVE, priors from simple tactics, and playouts.

One simulation walks the tree from the root (`_select`), expands one leaf once it has been seen often enough
(`_expand`), plays the game to its end (light or guided playout) and writes the result back along the path
(`_backup`). Value of a child, with n and w including the prior (Gelly and Silver, 2011):

    (1 - beta) * w / n + beta * w_amaf / n_amaf + c * sqrt(ln N / n),   beta = n_amaf / (n_amaf + n + n * n_amaf / k)

Repetition is judged exactly by the rule set along the path; two passes end the game, counted by area.

The children of a node lie side by side in flat arrays, from `first_child` on; node 0 is the root. N visits and W wins
are counted for the player whose move leads to the node; AMAF ("all moves as first") statistics stand beside them; a
prior is a number of virtual visits and wins that a node begins with.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.games.go.board import (
    BLACK,
    BORDER,
    EMPTY,
    EMPTY_COUNT,
    HASH,
    NO_CELL,
    PASSES,
    SIZE,
    TO_PLAY,
    Board,
    allocate,
    cell_count,
    copy_board,
    is_only_liberty,
)
from tengen.games.go.legality import LEGAL, hash_after, local_verdict, occurrences, play_move, position_key
from tengen.games.go.playout import (
    CANDIDATES,
    add_quick_owners,
    fits_pattern,
    is_eye,
    is_self_atari,
    run_guided_playout,
    run_playout,
)
from tengen.games.go.rules import POSITIONAL, SITUATIONAL, SUICIDE, TERRITORY_KEPT
from tengen.games.go.score import add_signs, final_owners

MAX_DEPTH = 1024


class UctParameters(NamedTuple):
    """What shapes the search. The defaults are tuned on 9x9 against GNU Go: see docs/lab."""

    guided: bool = True
    exploration: float = 0.0  # c; RAVE and priors explore enough on their own
    rave_equivalence: float = 3500.0  # k: the visits at which AMAF and real results weigh the same; 0: no RAVE
    prior_weight: float = 1.0  # 0: no priors but the even one
    expand_after: float = 2.0  # visits before a leaf gets children
    margin_weight: float = 0.02  # share of the result that grows with the points, so that ends are not sloppy


class UctTree(NamedTuple):
    """A tree with room for M nodes."""

    move: NDArray[np.uint16]  # [M] the move that leads here, as the game numbers it
    first_child: NDArray[np.int32]  # [M]
    child_count: NDArray[np.int32]  # [M] 0 until the node is expanded
    visits: NDArray[np.float32]  # [M] N
    wins: NDArray[np.float32]  # [M] W
    amaf_visits: NDArray[np.float32]  # [M]
    amaf_wins: NDArray[np.float32]  # [M]
    prior_visits: NDArray[np.float32]  # [M]
    prior_wins: NDArray[np.float32]  # [M]
    used: NDArray[np.int64]  # [1] how many nodes there are


def new_tree(capacity: int) -> UctTree:
    """A tree with a root alone."""
    tree = UctTree(
        np.empty(capacity, np.uint16),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.float32),
        np.empty(capacity, np.float32),
        np.empty(capacity, np.float32),
        np.empty(capacity, np.float32),
        np.empty(capacity, np.float32),
        np.empty(capacity, np.float32),
        np.zeros(1, np.int64),
    )
    clear_tree(tree)
    return tree


class UctScratch(NamedTuple):
    """Memory that one search works in."""

    board: Board
    first_player: NDArray[np.uint8]  # [P] who played first on each cell in this simulation
    found: NDArray[np.int64]  # [CANDIDATES]
    path: NDArray[np.int32]  # [MAX_DEPTH] nodes from the root to the leaf
    keys: NDArray[np.int64]  # [history + MAX_DEPTH] position keys up to the leaf
    ownership: NDArray[np.int64]  # [P] over all simulations, +1 where Black ended up owner, -1 where White did


def new_scratch(size: int, history: NDArray[np.int64]) -> UctScratch:
    """Scratch memory for a search from a position with this history."""
    keys = np.empty(len(history) + MAX_DEPTH, np.int64)
    keys[: len(history)] = history
    return UctScratch(
        allocate(size),
        np.empty(cell_count(size), np.uint8),
        np.empty(CANDIDATES, np.int64),
        np.empty(MAX_DEPTH, np.int32),
        keys,
        np.zeros(cell_count(size), np.int64),
    )


class UctRoot(NamedTuple):
    """The position that is searched."""

    board: Board
    last: int  # cell of the last move, NO_CELL for a pass or none
    before: int  # cell of the move before that
    history_length: int
    flags: int
    komi: float  # White's compensation, handicap bonus included
    dead: NDArray[np.uint8]  # [P] the colour of stones that count as dead in a finished game, else EMPTY
    may_pass: bool  # whether a pass is among the moves to choose from


# ------------------------------------------------------------------------------------------------------- the search


@kernel
def simulate(tree, root, scratch, parameters, count, rng):  # type: ignore[no-untyped-def]
    """Run `count` simulations; rng: uint64[1]."""
    state = rng[0]
    board = scratch.board
    for _ in range(count):
        copy_board(root.board, board)
        scratch.first_player[:] = EMPTY
        depth, last, before = _descend(tree, root, scratch, parameters)
        if board.info[PASSES] < 2:
            if parameters.guided:
                state, _ = run_guided_playout(
                    board, last, before, root.flags, scratch.found, scratch.first_player, state
                )
            else:
                state, _ = run_playout(board, root.flags, scratch.first_player, state)
            margin = add_quick_owners(board, scratch.ownership) - root.komi
        else:
            final_owners(board, root.flags, root.dead, scratch.first_player)
            margin = add_signs(scratch.first_player, scratch.ownership) - root.komi
            scratch.first_player[:] = EMPTY
        size = board.info[SIZE]
        result = 0.5 if margin == 0 else 1.0 if margin > 0 else 0.0
        share = 0.5 + 0.5 * min(1.0, max(-1.0, margin / (size * size)))
        black_wins = (1.0 - parameters.margin_weight) * result + parameters.margin_weight * share
        _backup(tree, root, scratch, depth, black_wins)
    rng[0] = state


@kernel
def _descend(tree, root, scratch, parameters):  # type: ignore[no-untyped-def]
    """Walk from the root to a leaf, playing its moves on the scratch board; expand the leaf if it is ripe.

    Returns (depth of the leaf, the last move, the move before).
    """
    board = scratch.board
    last, before = root.last, root.before
    node = 0
    depth = 0
    scratch.path[0] = 0
    while depth + 1 < MAX_DEPTH and board.info[PASSES] < 2:
        if tree.child_count[node] == 0:
            ripe = tree.visits[node] >= parameters.expand_after or node == 0
            if not ripe or not _expand(tree, node, root, scratch, depth, last, before, parameters):
                break
        node = _select(tree, node, parameters)
        p = np.int64(tree.move[node])
        play_move(board, p, board.info[TO_PLAY])
        depth += 1
        scratch.path[depth] = node
        scratch.keys[root.history_length + depth - 1] = position_key(board.info[HASH], board.info[TO_PLAY], root.flags)
        last, before = p, last
    return depth, last, before


@kernel
def _select(tree, node, parameters):  # type: ignore[no-untyped-def]
    """The child with the highest value."""
    first = tree.first_child[node]
    explore = parameters.exploration * math.sqrt(math.log(tree.visits[node] + 1.0))
    per_rave = np.float32(0.0)
    if parameters.rave_equivalence > 0:
        per_rave = np.float32(1.0 / parameters.rave_equivalence)
    best = first
    best_value = np.float32(-1e9)
    for child in range(first, first + tree.child_count[node]):
        n = tree.visits[child] + tree.prior_visits[child]
        value = (tree.wins[child] + tree.prior_wins[child]) / n
        n_amaf = tree.amaf_visits[child]
        if n_amaf > 0 and per_rave > 0:
            beta = n_amaf / (n_amaf + n + n * n_amaf * per_rave)
            value += beta * (tree.amaf_wins[child] / n_amaf - value)
        if explore > 0:
            value += np.float32(explore / math.sqrt(n))
        if value > best_value:
            best_value = value
            best = child
    return best


@kernel
def _expand(tree, node, root, scratch, depth, last, before, parameters):  # type: ignore[no-untyped-def]
    """Give a node its children: legal moves that fill no own eye; a pass after a pass or if nothing else.

    Suicide is left out even where the rules allow it. Returns False when the tree is full.
    """
    board = scratch.board
    first = tree.used[0]
    if first + board.info[EMPTY_COUNT] + 1 > tree.move.shape[0]:
        return False
    color = board.info[TO_PLAY]
    flags = root.flags & ~SUICIDE
    superko = flags & (POSITIONAL | SITUATIONAL) != 0
    past = scratch.keys[: root.history_length + depth]
    used = first
    for i in range(board.info[EMPTY_COUNT]):
        p = np.int64(board.empties[i])
        if is_eye(board, p, color, flags) or local_verdict(board, p, color, flags) != LEGAL:
            continue
        if superko and occurrences(position_key(hash_after(board, p, color), 3 - color, flags), past) > 0:
            continue
        visits, wins = move_prior(board, p, color, last, before, flags, scratch.found, parameters.prior_weight)
        add_node(tree, used, p, visits, wins)
        used += 1
    after_pass = board.info[PASSES] > 0 and (depth > 0 or root.may_pass)
    if used == first or (after_pass and flags & TERRITORY_KEPT == 0):
        add_node(tree, used, NO_CELL, 10.0, 5.0)
        used += 1
    tree.first_child[node] = first
    tree.child_count[node] = used - first
    tree.used[0] = used
    return True


@kernel
def _backup(tree, root, scratch, depth, black_wins):  # type: ignore[no-untyped-def]
    """Write a result along the path; moves played later in the simulation count as AMAF for each node."""
    first_player = scratch.first_player
    root_color = root.board.info[TO_PLAY]
    for d in range(depth, -1, -1):
        node = scratch.path[d]
        to_play = root_color if d % 2 == 0 else 3 - root_color
        result = np.float32(black_wins if to_play == BLACK else 1.0 - black_wins)
        first = tree.first_child[node]
        for child in range(first, first + tree.child_count[node]):
            if first_player[tree.move[child]] == to_play:
                tree.amaf_visits[child] += np.float32(1.0)
                tree.amaf_wins[child] += result
        tree.visits[node] += np.float32(1.0)
        tree.wins[node] += np.float32(1.0) - result
        first_player[tree.move[node]] = 3 - to_play
    first_player[NO_CELL] = EMPTY


# --------------------------------------------------------------------------------------------------------- the tree


@kernel
def clear_tree(tree):  # type: ignore[no-untyped-def]
    """Forget everything but an unvisited root."""
    add_node(tree, 0, 0, 0.0, 0.0)
    tree.used[0] = 1


@kernel(inline=True)
def add_node(tree, node, move, prior_visits, prior_wins):  # type: ignore[no-untyped-def]
    """Write a fresh node at this index."""
    tree.move[node] = move
    tree.first_child[node] = 0
    tree.child_count[node] = 0
    tree.visits[node] = 0.0
    tree.wins[node] = 0.0
    tree.amaf_visits[node] = 0.0
    tree.amaf_wins[node] = 0.0
    tree.prior_visits[node] = prior_visits
    tree.prior_wins[node] = prior_wins


@kernel
def find_child(tree, node, move):  # type: ignore[no-untyped-def]
    """The child of a node that a move leads to, or -1."""
    first = tree.first_child[node]
    for child in range(first, first + tree.child_count[node]):
        if tree.move[child] == move:
            return child
    return -1


@kernel
def most_visited(tree, node):  # type: ignore[no-untyped-def]
    """The child with the most visits, or -1 if there is none."""
    best = -1
    first = tree.first_child[node]
    for child in range(first, first + tree.child_count[node]):
        if best < 0 or tree.visits[child] > tree.visits[best]:
            best = child
    return best


@kernel
def copy_subtree(source, root, target):  # type: ignore[no-untyped-def]
    """Make `target` the part of `source` below `root`, breadth first, as far as there is room."""
    _copy_node(source, root, target, 0)
    used = 1
    node = 0
    origin = target.first_child  # which node each is a copy of, until its children are there
    origin[0] = root
    while node < used:
        old = origin[node]
        target.first_child[node] = 0
        count = source.child_count[old]
        if count > 0 and used + count <= target.move.shape[0]:
            target.first_child[node] = used
            target.child_count[node] = count
            for i in range(count):
                child = source.first_child[old] + i
                _copy_node(source, child, target, used)
                origin[used] = child
                used += 1
        node += 1
    target.used[0] = used


@kernel(inline=True)
def _copy_node(source, old, target, new):  # type: ignore[no-untyped-def]
    add_node(target, new, source.move[old], source.prior_visits[old], source.prior_wins[old])
    target.visits[new] = source.visits[old]
    target.wins[new] = source.wins[old]
    target.amaf_visits[new] = source.amaf_visits[old]
    target.amaf_wins[new] = source.amaf_wins[old]


# ----------------------------------------------------------------------------------------------------------- priors
# What UCT believes of a move before it has tried it: virtual visits and wins from simple tactics. Captures, escapes
# from atari, 3x3 patterns, nearness to the last move and the lines of the board, in the manner of Pachi and its
# relatives. A prior of n visits weighs as much as n simulations.

_EVEN = 10.0
_SELF_ATARI = 10.0
_CAPTURE_ONE, _CAPTURE_MANY = 15.0, 30.0
_ESCAPE = 15.0
_PATTERN = 10.0
_EMPTY_AREA = 10.0
_NEARNESS = (0.0, 24.0, 22.0, 8.0)  # by distance to the last move


@kernel
def move_prior(board, p, color, last, before, flags, found, scale):  # type: ignore[no-untyped-def]
    """(virtual visits, virtual wins) of the legal move p."""
    visits = _EVEN
    wins = _EVEN / 2 + 1e-4 * (p * 7919 % 101)  # a touch of disorder breaks ties
    if scale == 0:
        return visits, wins
    bad = 0.0
    good = 0.0
    captured, escapes = _captures_and_escapes(board, p, color)
    risky = is_self_atari(board, p, color)
    if captured == 1:
        good += _CAPTURE_ONE
    elif captured > 1:
        good += _CAPTURE_MANY
    if escapes and not risky:
        good += _ESCAPE
    if risky:
        bad += _SELF_ATARI
    if fits_pattern(board, p):
        good += _PATTERN
    if last != NO_CELL:
        good += _NEARNESS[min(3, _distance(board, p, last))] if _distance(board, p, last) <= 3 else 0.0
    line = _line(board, p)
    if line <= 3 and _is_lonely(board, p):
        if line <= 2:
            bad += _EMPTY_AREA
        else:
            good += _EMPTY_AREA
    return visits + scale * (good + bad), wins + scale * good


@kernel
def _captures_and_escapes(board, p, color):  # type: ignore[no-untyped-def]
    """(stones that p captures: 0, 1 or 2 for more, whether p touches own stones in atari)."""
    stride = board.info[SIZE] + 1
    captured = 0
    escapes = False
    for q in (p - 1, p + 1, p - stride, p + stride):
        c = board.color[q]
        if c == EMPTY or c == BORDER:
            continue
        if is_only_liberty(board.liberties[board.head[q]], p):
            if c == color:
                escapes = True
            else:
                captured += 1 if board.next[q] == q else 2
    return captured, escapes


@kernel(inline=True)
def _distance(board, p, q):  # type: ignore[no-untyped-def]
    """Steps from p to q along the lines of the board."""
    stride = board.info[SIZE] + 1
    return abs(p // stride - q // stride) + abs(p % stride - q % stride)


@kernel(inline=True)
def _line(board, p):  # type: ignore[no-untyped-def]
    """On which line from the edge p lies, 1 being the edge."""
    size = board.info[SIZE]
    row, col = p // (size + 1), p % (size + 1)
    return min(min(row, size + 1 - row), min(col, size + 1 - col))


@kernel
def _is_lonely(board, p):  # type: ignore[no-untyped-def]
    """Whether no stone stands within three steps of p."""
    size = board.info[SIZE]
    stride = size + 1
    row, col = p // stride, p % stride
    for r in range(max(1, row - 3), min(size, row + 3) + 1):
        reach = 3 - abs(r - row)
        for c in range(max(1, col - reach), min(size, col + reach) + 1):
            if board.color[r * stride + c] != EMPTY:
                return False
    return True
