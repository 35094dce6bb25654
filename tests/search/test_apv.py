"""AlphaGo's search: trees worked out with pencil and paper, and the same search written slowly.

A leaf is worth V = (1 - lambda) v + lambda r to the player to move there: v the value network's word, r the rollout's.
N(s, a), W(s, a) and the sum of the rollouts alone, R(s, a), count for the player who chooses a. The choice is

    argmax Q + u,    Q = W / N (0 before the first visit),    u = c_u P sqrt(N(s)) / (1 + N(s, a)),    c_u = 5.
"""

from collections.abc import Mapping
from itertools import cycle
from math import sqrt
from typing import Any, Self

import numpy as np
import pytest

from tengen.encode.encoder import get_encoder
from tengen.encode.game_spec import GameSpec
from tengen.games.game import get_game, open_batch
from tengen.games.go import BLACK, PASS, WHITE
from tengen.games.go.rules import GoOptions
from tengen.search.leaves import (
    Leaves,
    MixedEvaluation,
    NetworkEvaluation,
    PlayoutEvaluation,
    PolicyAndValue,
    UniformPolicy,
)
from tengen.search.puct import Puct, PuctParameters
from tengen.search.searcher import Searcher
from tengen.search.tree import EXPANDED, TERMINAL, UNSEEN

from ..games.go.positions import state_from
from .networks import Opinionated, Uniform
from .scripted import Node, Said, Script, ScriptedGame, ScriptedNetwork, at, look, script_of, wild_script
from .slow_puct import SlowNode, SlowPuct, same
from .tictactoe import START, TicTacToe, best_squares, minimax

A, B, C = 0, 1, 2
ONLY = np.array([0])
PAPER = PuctParameters(exploration=5.0, fpu_zero=True)
Sums = dict[int, tuple[int, float, float]]


class ScriptedRollouts:
    """Rollouts whose results are written down: those of a position come one after another, and again from the first."""

    def __init__(self, results: Mapping[int, tuple[float, ...]]) -> None:
        self.left = {number: cycle(some) for number, some in results.items()}

    def evaluate(self, games: Any, count: int, leaves: Leaves) -> int:
        leaves.logits[:count] = 0.0
        for k in np.flatnonzero(~leaves.over[:count]):
            leaves.values[k] = next(self.left[int(games.number[k])])
        return int(count - leaves.over[:count].sum())

    def warm_up(self, most: int) -> None:
        pass

    def another(self) -> Self:
        return self


def sums(searcher: Searcher, *actions: int) -> Sums:
    """N, W and R of the moves in the position that these actions lead to."""
    trees, node = searcher.trees, 0
    for action in actions:
        node = child_of(searcher, node, action)
    first = int(trees.first_child[0, node])
    return {
        int(trees.action[0, k]): (
            int(trees.visits[0, k]), round(float(trees.value_sum[0, k]), 5), round(float(trees.rollout_sum[0, k]), 5),
        )
        for k in range(first, first + int(trees.child_count[0, node]))
    }  # fmt: skip


def child_of(searcher: Searcher, node: int, action: int) -> int:
    trees, first = searcher.trees, int(searcher.trees.first_child[0, node])
    children = range(first, first + int(trees.child_count[0, node]))
    return next(child for child in children if trees.action[0, child] == action)


def scores(searcher: Searcher) -> dict[int, tuple[float, float]]:
    """Q and u of the root's moves, from what the tree holds."""
    trees = searcher.trees
    found = {}
    for action, (n, w, _) in sums(searcher).items():
        child = child_of(searcher, 0, action)
        q = -float(trees.value[0, child]) if trees.stage[0, child] == TERMINAL else w / n if n else 0.0
        u = 5 * float(trees.prior[0, child]) * sqrt(trees.visits[0, 0]) / (1 + n)
        found[action] = (round(q, 4), round(u, 4))
    return found


def root_of(searcher: Searcher) -> tuple[int, float, float]:
    """N, W and R of the root, W and R counting for the opponent."""
    trees = searcher.trees
    return int(trees.visits[0, 0]), float(trees.value_sum[0, 0]), float(trees.rollout_sum[0, 0])


def under_way(searcher: Searcher) -> bool:
    """Whether any visit waits for its value."""
    return bool(searcher.trees.under_way[0, : searcher.trees.used[0]].any())


# ---------------------------------------------------------------------------------------------- by hand

# Three moves at the root; B ends the game with a draw, and so does A after C with a win for who plays it there.
# v is written here, as the player to move in the position sees it, r in ROLLOUTS.
SCRIPT = script_of(
    {
        at(): Said(0.0, (0.5, 0.25, 0.25, 0)),
        at(A): Said(0.5, (0.75, 0.25, 0, 0)),
        at(B): Said(0, over=True),
        at(C): Said(-0.5, (0.75, 0.25, 0, 0)),
        at(A, A): Said(0.25, (1, 0, 0, 0)),
        at(A, B): Said(0.75, (1, 0, 0, 0)),
        at(A, A, A): Said(-0.5, (1, 0, 0, 0)),
        at(C, A): Said(-1, over=True),
    }
)
ROLLOUTS = {
    at(): (1,),
    at(A): (-1, 1),
    at(C): (-1, 1),
    at(A, A): (1,),
    at(A, B): (-1,),
    at(A, A, A): (1,),
}


def by_hand(
    weight: float, parameters: PuctParameters = PAPER, script: Script = SCRIPT, **settings: Any
) -> tuple[Searcher, ScriptedNetwork, ScriptedNetwork]:
    """A searcher whose leaves are written down, and its policy network and value network, which note what they see."""
    game, policy, value = ScriptedGame(script), ScriptedNetwork(script), ScriptedNetwork(script)
    network: Any = NetworkEvaluation(game, game.encoder, policy, value=False)
    if weight < 1:
        network = PolicyAndValue(network, NetworkEvaluation(game, game.encoder, value, policy=False))
    evaluation = MixedEvaluation(network, ScriptedRollouts(ROLLOUTS), weight) if weight > 0 else network
    return Searcher(game, evaluation, Puct(parameters), rollouts=True, **settings), policy, value


def test_values_and_rollouts_by_hand() -> None:
    """lambda = 0.5. The root's own evaluation is its first visit: V = 0.5 * 0 + 0.5 * 1 = 0.5.

    |   | N(s) | Q + u of A              | of B           | of C                   | goes to | v, r there | V     |
    |---|------|-------------------------|----------------|------------------------|---------|------------|-------|
    | 1 | 1    | 0 + 2.5                 | 0 + 1.25       | 0 + 1.25               | A       | 0.5, -1    | -0.25 |
    | 2 | 2    | 0.25 + 1.7678           | 0 + 1.7678     | 0 + 1.7678             | A, A    | 0.25, 1    | 0.625 |
    | 3 | 3    | 0.4375 + 1.4434         | 0 + 2.1651     | 0 + 2.1651, not first  | B       | a draw     | 0     |
    | 4 | 4    | 0.4375 + 1.6667         | 0 + 1.25       | 0 + 2.5                | C       | -0.5, -1   | -0.75 |
    | 5 | 5    | 0.4375 + 1.8634         | 0 + 1.3975     | 0.75 + 1.3975          | A, A, A | -0.5, 1    | 0.25  |
    | 6 | 6    | 0.2083 + 1.5309         | 0 + 1.5309     | 0.75 + 1.5309          | C, A    | lost       | -1    |
    | 7 | 7    | 0.2083 + 1.6536         | 0 + 1.6536     | -1 + 1.1024            |         |            |       |

    In 2 the moves at A have u = 5 * 0.75 * 1 = 3.75 and 1.25; in 5 Q + u = -0.625 + 2.6517 and 0 + 1.7678.
    V counts with the other sign for who moved there. W of A: 0.25; + 0.625 = 0.875; - 0.25 = 0.625. R: 1; 2; 1.
    W of C: 0.75; then the opponent wins by A, - 1: -0.25, and C is solved: its Q is -1 from now on. R: 1; 0.
    The root for the opponent: W = -0.5 - 0.25 - 0.625 - 0 - 0.75 + 0.25 + 1, R = -1 - 1 - 1 - 0 - 1 + 1 + 1.
    """
    after: list[tuple[Sums, dict[int, tuple[float, float]]]] = [
        ({A: (0, 0, 0), B: (0, 0, 0), C: (0, 0, 0)}, {A: (0, 2.5), B: (0, 1.25), C: (0, 1.25)}),
        ({A: (1, 0.25, 1), B: (0, 0, 0), C: (0, 0, 0)}, {A: (0.25, 1.7678), B: (0, 1.7678), C: (0, 1.7678)}),
        ({A: (2, 0.875, 2), B: (0, 0, 0), C: (0, 0, 0)}, {A: (0.4375, 1.4434), B: (0, 2.1651), C: (0, 2.1651)}),
        ({A: (2, 0.875, 2), B: (1, 0, 0), C: (0, 0, 0)}, {A: (0.4375, 1.6667), B: (0, 1.25), C: (0, 2.5)}),
        ({A: (2, 0.875, 2), B: (1, 0, 0), C: (1, 0.75, 1)}, {A: (0.4375, 1.8634), B: (0, 1.3975), C: (0.75, 1.3975)}),
        ({A: (3, 0.625, 1), B: (1, 0, 0), C: (1, 0.75, 1)}, {A: (0.2083, 1.5309), B: (0, 1.5309), C: (0.75, 1.5309)}),
        ({A: (3, 0.625, 1), B: (1, 0, 0), C: (2, -0.25, 0)}, {A: (0.2083, 1.6536), B: (0, 1.6536), C: (-1, 1.1024)}),
    ]
    searcher, policy, value = by_hand(0.5)
    roots = searcher.game.allocate(1)
    searcher.prepare(roots, ONLY)
    for done, (expected, shown) in enumerate(after):
        assert sums(searcher) == expected, done
        assert scores(searcher) == shown, done
        result = searcher.search(roots, ONLY, 1 if done < len(after) - 1 else 0)
    assert root_of(searcher) == (7, -0.875, -2.0)
    assert sums(searcher, A) == {A: (2, -0.375, 0), B: (0, 0, 0)}
    assert sums(searcher, A, A) == {A: (1, -0.25, -1)}
    assert sums(searcher, C) == {A: (1, 1, 1), B: (0, 0, 0)}
    assert result.chosen.tolist() == [A], "the most visited"
    assert policy.asked == value.asked == [[at()], [at(A)], [at(A, A)], [at(C)], [at(A, A, A)]]


def test_values_alone_by_hand() -> None:
    """lambda = 0: V = v, there are no rollouts, and R stays empty but for finished games.

    | N(s) | Q + u of A     | of B       | of C         | goes to | V    |
    |------|----------------|------------|--------------|---------|------|
    | 1    | 0 + 2.5        | 0 + 1.25   | 0 + 1.25     | A       | 0.5  |
    | 2    | -0.5 + 1.7678  | 0 + 1.7678 | 0 + 1.7678   | B       | 0    |
    | 3    | -0.5 + 2.1651  | 0 + 1.0825 | 0 + 2.1651   | C       | -0.5 |
    | 4    | -0.5 + 2.5     | 0 + 1.25   | 0.5 + 1.25   | A, A    | 0.25 |
    """
    searcher, _, _ = by_hand(0.0)
    searcher.search(searcher.game.allocate(1), ONLY, 4)
    assert sums(searcher) == {A: (2, -0.25, 0), B: (1, 0, 0), C: (1, 0.5, 0)}
    assert root_of(searcher) == (5, -0.0 + 0.5 - 0 - 0.5 - 0.25, 0)


def test_rollouts_alone_by_hand() -> None:
    """lambda = 1: V = r, and no value network is asked.

    | N(s) | Q + u of A          | of B       | of C       | goes to | V  |
    |------|---------------------|------------|------------|---------|----|
    | 1    | 0 + 2.5             | 0 + 1.25   | 0 + 1.25   | A       | -1 |
    | 2    | 1 + 1.7678          | 0 + 1.7678 | 0 + 1.7678 | A, A    | 1  |
    | 3    | 1 + 1.4434          | 0 + 2.1651 | 0 + 2.1651 | A, B    | -1 |
    | 4    | 0.3333 + 1.25       | 0 + 2.5    | 0 + 2.5    | B       | 0  |

    In the third, the moves at A have -1 + 2.6517 and 0 + 1.7678.
    """
    searcher, policy, value = by_hand(1.0)
    searcher.search(searcher.game.allocate(1), ONLY, 4)
    assert sums(searcher) == {A: (3, 1, 1), B: (1, 0, 0), C: (0, 0, 0)}
    assert sums(searcher, A) == {A: (1, -1, -1), B: (1, 1, 1)}
    assert root_of(searcher) == (5, -2.0, -2.0)
    assert value.asked == [] and policy.asked == [[at()], [at(A)], [at(A, A)], [at(A, B)]]


def test_expansion_at_the_second_visit_by_hand() -> None:
    """lambda = 0.5, n_thr = 2: the first visit to a leaf evaluates it, the second does so again and expands it.

    | N(s) | Q + u of A       | of B       | of C            | goes to    | v, r     | V     |
    |------|------------------|------------|-----------------|------------|----------|-------|
    | 1    | 0 + 2.5          | 0 + 1.25   | 0 + 1.25        | A          | 0.5, -1  | -0.25 |
    | 2    | 0.25 + 1.7678    | 0 + 1.7678 | 0 + 1.7678      | A, expands | 0.5, 1   | 0.75  |
    | 3    | -0.25 + 1.4434   | 0 + 2.1651 | 0 + 2.1651      | B          | a draw   | 0     |
    | 4    | -0.25 + 1.6667   | 0 + 1.25   | 0 + 2.5         | C          | -0.5, -1 | -0.75 |
    | 5    | -0.25 + 1.8634   | 0 + 1.3975 | 0.75 + 1.3975   | C, expands | -0.5, 1  | 0.25  |
    | 6    | -0.25 + 2.0412   | 0 + 1.5309 | 0.25 + 1.0206   | A, A       | 0.25, 1  | 0.625 |
    """
    searcher, policy, value = by_hand(0.5, PAPER._replace(threshold=2))
    roots = searcher.game.allocate(1)
    searcher.search(roots, ONLY, 1)
    assert sums(searcher) == {A: (1, 0.25, 1), B: (0, 0, 0), C: (0, 0, 0)}
    assert searcher.trees.stage[0, child_of(searcher, 0, A)] == UNSEEN and sums(searcher, A) == {}
    assert policy.asked == [[at()]] and value.asked == [[at()], [at(A)]]
    searcher.search(roots, ONLY, 1)
    assert sums(searcher) == {A: (2, -0.5, 0), B: (0, 0, 0), C: (0, 0, 0)}
    assert searcher.trees.stage[0, child_of(searcher, 0, A)] == EXPANDED
    searcher.search(roots, ONLY, 4)
    assert sums(searcher) == {A: (3, 0.125, 1), B: (1, 0, 0), C: (2, 0.5, 0)}
    assert sums(searcher, A) == {A: (1, -0.625, -1), B: (0, 0, 0)}
    assert policy.asked == [[at()], [at(A)], [at(C)]], "only for what expands"
    assert value.asked == [[at()], [at(A)], [at(C)], [at(A, A)]], "once, and then from memory"


def test_the_limit_of_depth_by_hand() -> None:
    """As above, but nothing is expanded below the first move: the sixth simulation ends at A once more, r = -1."""
    searcher, policy, value = by_hand(0.5, PAPER._replace(depth=1))
    result = searcher.search(searcher.game.allocate(1), ONLY, 6)
    assert sums(searcher) == {A: (3, -0.5 + 0.25, 1), B: (1, 0, 0), C: (2, 0.5, 0)}
    assert policy.asked == [[at()]] and value.asked == [[at()], [at(A)], [at(C)]]
    assert searcher.trees.used[0] == 4 and not under_way(searcher)
    assert result.chosen.tolist() == [A]


def test_a_leaf_that_does_not_expand_can_be_taken_several_times_in_one_batch() -> None:
    searcher, _, value = by_hand(0.5, PAPER._replace(depth=1), leaves=8)
    searcher.search(searcher.game.allocate(1), ONLY, 8)
    assert searcher.counts.batches == 1, "nothing had to be given up"
    assert value.asked == [[at()], [at(A), at(C)]], "each position once"
    assert not under_way(searcher) and root_of(searcher)[0] == 9


def test_a_full_tree_with_rollouts_goes_on_playing_out_its_leaves() -> None:
    searcher, _, _ = by_hand(0.5, nodes=4)
    searcher.search(searcher.game.allocate(1), ONLY, 6)
    limited, _, _ = by_hand(0.5, PAPER._replace(depth=1))
    limited.search(limited.game.allocate(1), ONLY, 6)
    assert sums(searcher) == sums(limited)


def test_a_kept_subtree_keeps_both_sums() -> None:
    searcher, _, _ = by_hand(0.5)
    searcher.search(searcher.game.allocate(1), ONLY, 6)
    searcher.advance(np.array([A]))
    assert root_of(searcher) == (3, 0.625, 1)
    assert sums(searcher) == {A: (2, -0.375, 0), B: (0, 0, 0)}
    assert sums(searcher, A) == {A: (1, -0.25, -1)}


# ------------------------------------------------------------------------------------ the slow version


def same_rollouts(fast: Node, slow: SlowNode) -> None:
    """Every node of two trees has the same sum of rollouts."""
    assert fast.rollout_sum == pytest.approx(slow.r, abs=1e-3)
    for action, child in slow.children.items():
        same_rollouts(fast.children[action], child)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("leaves", [1, 6])
@pytest.mark.parametrize("weight", [0.3, 1.0])
@pytest.mark.parametrize(
    "parameters",
    [
        PAPER,
        PuctParameters(1.5, 0.2, threshold=2),
        PuctParameters(5.0, fpu_zero=True, threshold=4, depth=3),
        PuctParameters(2.0, depth=1),
    ],
    ids=["paper", "n_thr", "both limits", "depth"],
)
def test_trees_are_those_of_the_slow_version(seed: int, leaves: int, weight: float, parameters: PuctParameters) -> None:
    script = wild_script(seed)
    game = ScriptedGame(script)
    network = NetworkEvaluation(game, game.encoder, ScriptedNetwork(script))
    evaluation = MixedEvaluation(network, Rolled(), weight)
    searcher = Searcher(game, evaluation, Puct(parameters), leaves=leaves, nodes=150, rollouts=True)
    slow = SlowPuct(script, parameters, leaves, room=150, rollout=rollout_of, weight=weight)
    for simulations in (1, 10, 150):
        searcher.search(game.allocate(1), ONLY, simulations)
        slow.search(simulations)
        same(look(searcher.trees), slow.root)
        same_rollouts(look(searcher.trees), slow.root)


# --------------------------------------------------------------------------- Go: colours, passes, the end


class Same:
    """Says the same about every position, to the player to move there."""

    def __init__(self, value: float) -> None:
        self.value = value

    def evaluate(self, games: Any, count: int, leaves: Leaves) -> int:
        leaves.values[:count], leaves.logits[:count] = self.value, 0.0
        return count

    def warm_up(self, most: int) -> None:
        pass

    def another(self) -> Self:
        return self


@pytest.mark.parametrize("to_play", [BLACK, WHITE], ids=["black", "white"])
def test_passes_and_the_end_of_a_game_by_hand(to_play: int) -> None:
    """2x2 Go, empty, the opponent has passed, and komi is half a point against the player to move: a pass would lose.

    v = 0.2 and r = -1 for whoever is to move, so V = -0.4; the five moves have P = 0.2 and so u = sqrt N(s) / (1 + N).
    N(s) = 1 to 4: the points in turn, u = 1, 1.414, 1.732 and 2 against 0.4 + u / 2. Each W = 0.4, R = 1.
    N(s) = 5: u = 2.236 for the pass, which ends the game: W = R = -1.
    N(s) = 6: 0.4 + 1.225 for each point: the first. There the opponent has three points and the pass, P = 0.25 and
    u = 1.25 each: the first. V = -0.4 to us: W of the first point is 0.4 - 0.4 = 0, and R = 1 - 1 = 0.
    """
    komi = 0.5 if to_play == BLACK else -0.5
    opponent = BLACK + WHITE - to_play
    state = state_from(". .\n. .", "tromp-taylor", opponent, komi).play(PASS)
    assert state.to_play == to_play
    game = open_batch(GoOptions(2, "tromp-taylor", komi, limit=50))
    roots = game.allocate(1)
    game.load(roots, 0, state)
    searcher = Searcher(game, MixedEvaluation(Same(0.2), Same(-1.0), 0.5), Puct(PAPER), rollouts=True)
    result = searcher.search(roots, ONLY, 6)
    point = (1, 0.4, 1)
    assert sums(searcher) == {0: (2, 0, 0), 1: point, 2: point, 3: point, 4: (1, -1, -1)}
    assert sums(searcher, 0) == {1: point, 2: (0, 0, 0), 3: (0, 0, 0), 4: (0, 0, 0)}
    assert searcher.trees.stage[0, child_of(searcher, 0, 4)] == TERMINAL
    assert root_of(searcher)[:2] == (7, pytest.approx(0.4 - 4 * 0.4 + 1 + 0.4))
    assert result.chosen.tolist() == [0]


# ----------------------------------------------------------------------------------- it finds the truth


@pytest.mark.parametrize("weight", [0.5, 1.0])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("threshold", [1, 3])
def test_tic_tac_toe_is_solved(weight: float, threads: int, threshold: int) -> None:
    game = open_batch(get_game("tictactoe").options())
    evaluation = MixedEvaluation(UniformPolicy(), PlayoutEvaluation(game, seed=1), weight)
    if weight < 1:
        network = NetworkEvaluation(game, get_encoder("tictactoe"), Uniform(TicTacToe()), policy=False)
        evaluation = MixedEvaluation(PolicyAndValue(UniformPolicy(), network), PlayoutEvaluation(game, seed=1), weight)
    rule = Puct(PuctParameters(1.0, fpu_zero=True, threshold=threshold))
    searcher = Searcher(game, evaluation, rule, threads=threads, nodes=60_000, rollouts=True)
    boards = {START: [], (1, 2, 0, 0, 0, 0, 0, 0, 0): [0, 1], (1, 0, 0, 0, 2, 0, 0, 0, 1): [0, 4, 8]}
    for board, moves in boards.items():
        roots = game.allocate(1)
        for move in moves:
            game.play(roots, np.array([move]))
        searcher.forget(ONLY)
        result = searcher.search(roots, ONLY, 12_000)
        assert int(result.chosen[0]) in best_squares(board)
        assert result.value[0] == pytest.approx(minimax(board), abs=0.3)


@pytest.mark.parametrize(("komi", "exact"), [(0.5, 1), (1.5, -1)])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_smallest_board_is_solved(komi: float, exact: int, threads: int) -> None:
    """2x2 Go is worth one point to Black, superko and all."""
    game = open_batch(GoOptions(2, "tromp-taylor", komi, limit=200))
    evaluation = MixedEvaluation(UniformPolicy(), PlayoutEvaluation(game, seed=1), 1.0)
    searcher = Searcher(
        game, evaluation, Puct(PuctParameters(1.5)), threads=threads, leaves=4, nodes=100_000, rollouts=True
    )
    result = searcher.search(game.allocate(1), ONLY, 8000)
    assert result.value[0] == pytest.approx(exact, abs=0.2)


# ---------------------------------------------------------------------------------------------- threads


class Rolled:
    """Rollouts whose result depends on the position alone."""

    def evaluate(self, games: Any, count: int, leaves: Leaves) -> int:
        leaves.logits[:count] = 0.0
        leaves.values[:count] = [rollout_of(int(number)) for number in games.number[:count]]
        return count

    def warm_up(self, most: int) -> None:
        pass

    def another(self) -> Self:
        return self


class Numbered:
    """An evaluation that depends on the position alone: v and r as functions of a scripted game's number."""

    def __init__(self, script: Script) -> None:
        self.script, self.calls = script, 0

    def evaluate(self, games: Any, count: int, leaves: Leaves) -> int:
        self.calls += 1
        for k in range(count):
            number = int(games.number[k])
            leaves.values[k], leaves.rollouts[k] = value_of(self.script, number), rollout_of(number)
            leaves.logits[k] = np.log(np.maximum(self.script(number).priors, 1e-9))
        return count

    def warm_up(self, most: int) -> None:
        pass

    def another(self) -> "Numbered":
        return Numbered(self.script)


def rollout_of(number: int) -> float:
    return 1.0 if number * 2654435761 % 7 < 3 else -1.0


def value_of(script: Script, number: int) -> float:
    return (script(number).value + rollout_of(number)) / 2


def check_sums(searcher: Searcher, script: Script, node: int = 0, number: int = 0) -> None:
    """Every visit to a node was its own evaluation or went on to a child, and so did every value; nothing is lost."""
    trees = searcher.trees
    first = int(trees.first_child[0, node])
    children = slice(first, first + int(trees.child_count[0, node]))
    visits, w, r = (int(trees.visits[0, node]), float(trees.value_sum[0, node]), float(trees.rollout_sum[0, node]))
    if visits == 0:
        assert w == r == 0
        return
    assert trees.stage[0, node] == EXPANDED and trees.under_way[0, node] == 0
    assert visits == 1 + trees.visits[0, children].sum()
    assert w == pytest.approx(-value_of(script, number) - trees.value_sum[0, children].sum(), abs=1e-2)
    assert r == -rollout_of(number) - trees.rollout_sum[0, children].sum()
    for child in range(children.start, children.stop):
        check_sums(searcher, script, child, at_number(number, int(trees.action[0, child])))


def at_number(number: int, action: int) -> int:
    return (5 * number + action + 1) % 100_003


@pytest.mark.parametrize("leaves", [1, 5])
def test_no_simulation_is_lost_or_doubled_by_threads(leaves: int) -> None:
    script = wild_script(3, ends=0)
    game = ScriptedGame(script)
    searcher = Searcher(game, Numbered(script), Puct(), leaves=leaves, threads=4, rollouts=True)
    result = searcher.search(game.allocate(1), ONLY, 1500)
    assert result.visits.sum() == searcher.counts.simulations == searcher.counts.leaves == 1500
    assert not under_way(searcher)
    check_sums(searcher, script)
    searcher.advance(result.chosen)
    roots = game.allocate(1)
    roots.number[0] = at(int(result.chosen[0]))
    searcher.search(roots, ONLY, 500)
    check_sums(searcher, script, number=int(roots.number[0]))


def test_threads_wait_for_each_other_where_there_is_one_line_only() -> None:
    game = ScriptedGame(lambda number: Said(0.1, (1, 0, 0, 0)))
    searcher = Searcher(game, Numbered(game.script), Puct(), threads=4, leaves=3, rollouts=True)
    assert searcher.search(game.allocate(1), ONLY, 100).visits[0].tolist() == [100, 0, 0, 0]
    check_sums(searcher, game.script)


def test_threads_stop_between_rounds_and_go_on() -> None:
    script = wild_script(4, ends=0)
    game = ScriptedGame(script)
    searcher = Searcher(game, Numbered(script), Puct(), threads=3, leaves=2, rollouts=True)
    roots = game.allocate(1)
    searcher.begin(roots, ONLY, 1000)
    done = 0
    while searcher.step(roots, ONLY):
        searcher.pause()
        assert not under_way(searcher)
        before, done = done, int(searcher.conclude(ONLY).visits.sum())
        assert done > before
    assert searcher.conclude(ONLY).visits.sum() == 1000
    check_sums(searcher, script)


@pytest.mark.parametrize("failing", [0, 1], ids=["caller", "helper"])
def test_what_goes_wrong_in_a_thread_reaches_the_caller_and_leaves_nothing_under_way(failing: int) -> None:
    script = wild_script(5, ends=0)
    game = ScriptedGame(script)
    made: list[Numbered] = []

    class Failing(Numbered):
        def __init__(self, script: Script) -> None:
            super().__init__(script)
            made.append(self)

        def evaluate(self, games: Any, count: int, leaves: Leaves) -> int:
            if made[failing] is self and self.calls == 20:
                self.calls += 1
                raise OSError("the network is gone")
            return super().evaluate(games, count, leaves)

        def another(self) -> "Failing":
            return Failing(self.script)

    searcher = Searcher(game, Failing(script), Puct(), threads=2, nodes=100_000, rollouts=True)
    with pytest.raises(OSError, match="the network is gone"):
        searcher.search(game.allocate(1), ONLY, 20_000)
    assert searcher.trees.used[0] == 1 and not searcher.trees.visits[0, 0], "the tree is forgotten"
    assert searcher.search(game.allocate(1), ONLY, 300).visits.sum() == 300
    check_sums(searcher, script)


def test_one_thread_gives_the_same_search_for_the_same_seed() -> None:
    def visits() -> list[int]:
        game = open_batch(GoOptions(5, "chinese", 3.5))
        seen = GameSpec(GoOptions(5, "chinese", 3.5), "compact")
        network = NetworkEvaluation(game, seen.encoder, Opinionated(seen))
        evaluation = MixedEvaluation(network, PlayoutEvaluation(game, seed=7), 0.5)
        searcher = Searcher(game, evaluation, Puct(PAPER), leaves=4, rollouts=True, seed=7)
        found: list[int] = searcher.search(game.allocate(1), ONLY, 300).visits[0].tolist()
        return found

    assert visits() == visits()
