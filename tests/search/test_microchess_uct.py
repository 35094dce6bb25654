"""UCT for Microchess: book-keeping, fair playouts, and proofs against exhaustive search and the endgame tables."""

import numpy as np
import pytest
from scipy.stats import chisquare

from tengen.games.microchess import RULE_SETS, WHITE, GameState
from tengen.games.microchess.board import copy_board
from tengen.games.microchess.playout import run_playout
from tengen.games.microchess.tables import Tables
from tengen.games.microchess.tables_build import build_tables
from tengen.search.microchess_uct import EXPLORATION, new_microchess_scratch, simulate_microchess
from tengen.search.uct_tree import DRAW, LOSS, UNSOLVED, WIN, UctTree, best_child, copy_subtree, find_child, new_tree


def search(state: GameState, simulations: int, c: float = EXPLORATION, seed: int = 1, nodes: int = 400_000) -> UctTree:
    tree = new_tree(nodes)
    rng = np.array([seed], np.uint64)
    simulate_microchess(tree, state.board, new_microchess_scratch(), c, simulations, rng)
    return tree


def children(tree: UctTree, node: int) -> range:
    return range(tree.first_child[node], tree.first_child[node] + tree.child_count[node])


def random_state(rng: np.random.Generator, rules: str, plies: int) -> GameState:
    """A position after so many random moves of a game that is not over then."""
    while True:
        state = GameState.new(rules)
        while not state.is_over and state.ply < plies:
            state = state.play(int(rng.choice(state.legal_moves())))
        if not state.is_over:
            return state


def endgame(rng: np.random.Generator, piece: str, rest: str) -> GameState | None:
    """White's king and piece against Black's king, on random squares; None if that is no position of a game."""
    squares = np.full(20, "1")
    squares[rng.permutation(20)[:3]] = ("K", "k", piece)
    ranks = ("".join(squares[4 * rank : 4 * rank + 4]) for rank in range(4, -1, -1))
    fen = "/".join(ranks).replace("1111", "4").replace("111", "3").replace("11", "2")
    try:
        state = GameState.from_fen(f"{fen} {rest}")
    except ValueError:
        return None
    return None if state.is_over else state


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """All tables of three pieces."""
    folder = tmp_path_factory.mktemp("tables")
    build_tables(folder, 3, workers=1)
    return Tables.open(folder)


# ------------------------------------------------------------------------------------------ book-keeping


@pytest.mark.parametrize("rules", RULE_SETS)
def test_every_simulation_is_counted_once_on_its_path(rules: str) -> None:
    tree = search(GameState.new(rules), 5000)
    assert tree.visits[0] == 5000
    for node in range(tree.used[0]):
        assert 0 <= tree.wins[node] <= tree.visits[node]
        if tree.child_count[node]:
            seen = tree.visits[children(tree, node)].sum()
            assert tree.visits[node] - seen == (0 if node == 0 else 1), "the visit before it had children"


@pytest.mark.parametrize("rules", RULE_SETS)
def test_children_are_the_legal_moves_and_ends_are_what_the_rules_say(rules: str) -> None:
    ends = 0
    states = {0: random_state(np.random.default_rng(3), rules, 60)}
    tree = search(states[0], 3000)
    for node in range(tree.used[0]):
        if node not in states:
            continue
        state = states[node]
        if state.is_over and tree.visits[node]:
            winner = state.winner()
            points = DRAW if winner == 0 else LOSS if winner == state.to_play else WIN
            assert tree.solved[node] == points
            ends += 1
        if tree.child_count[node]:
            assert sorted(tree.move[children(tree, node)].tolist()) == state.legal_moves()
            states |= {child: state.play(int(tree.move[child])) for child in children(tree, node)}
    assert ends > 10


def test_the_next_child_is_the_one_of_the_highest_upper_bound() -> None:
    """UCB1 as the paper has it, from the tree's own numbers; moves that are proved lost are left out."""
    state, c = GameState.new("ncsoft"), 0.7
    tree, scratch, rng = new_tree(100_000), new_microchess_scratch(), np.array([9], np.uint64)
    simulate_microchess(tree, state.board, scratch, c, 200, rng)
    for _ in range(200):
        kids = np.array(children(tree, 0))
        n, w = tree.visits[kids].astype(float), tree.wins[kids].astype(float)
        bound = w / n + c * np.sqrt(np.log(n.sum()) / n)
        bound[tree.solved[kids] == LOSS] = 0
        simulate_microchess(tree, state.board, scratch, c, 1, rng)
        visited = int(np.argmax(tree.visits[kids] - n))
        assert bound[visited] >= bound.max() - 1e-5


def test_a_full_tree_goes_on_without_growing() -> None:
    tree = search(GameState.new(), 5000, nodes=500)
    assert tree.used[0] <= 500
    assert tree.visits[0] == 5000


def test_the_same_seed_gives_the_same_tree() -> None:
    one, two, other = (search(GameState.new(), 1000, seed=seed) for seed in (5, 5, 6))
    used = int(one.used[0])
    assert all(np.array_equal(a[:used], b[:used]) for a, b in zip(one, two, strict=True))
    assert not np.array_equal(one.visits[:used], other.visits[:used])


def test_a_subtree_is_copied_with_its_proofs() -> None:
    state = GameState.from_fen("k3/4/1K2/4/2Q1 b - - 0 1")
    tree, target = search(state, 200), new_tree(400_000)
    node = int(best_child(tree, 0))
    copy_subtree(tree, node, target)
    assert (target.visits[0], target.solved[0]) == (tree.visits[node], tree.solved[node])
    for old, new in zip(children(tree, node), children(target, 0), strict=True):
        assert (tree.move[old], tree.solved[old]) == (target.move[new], target.solved[new])


# ---------------------------------------------------------------------------------------------- playouts


@pytest.mark.parametrize("rules", RULE_SETS)
def test_playouts_end_by_the_rules_as_often_as_slow_ones(rules: str) -> None:
    """Results of 300 games played by `GameState` against those of 30000 by the kernel, from a lively position."""
    start = GameState.from_fen("k2r/P3/4/3p/R2K w - - 0 1", rules)
    rng, slow = np.random.default_rng(1), np.zeros(3)
    for _ in range(300):
        state = start
        while not state.is_over:
            legal = state.legal_moves()
            state = state.play(legal[int(rng.integers(len(legal)))])
        slow[state.winner() or 0] += 1
    fast, scratch, draws = np.zeros(3), new_microchess_scratch(), np.uint64(5)
    for _ in range(30_000):
        copy_board(start.board, scratch.board)
        draws, winner = run_playout(scratch.board, scratch.moves, np.uint64(draws))
        fast[winner] += 1
    assert chisquare(slow, fast / 100).pvalue > 1e-4


# ------------------------------------------------------------------------------------------------ proofs


def exact_value(state: GameState) -> int:
    """1, 0 or -1 to the player to move, by trying everything."""
    if state.is_over:
        winner = state.winner()
        return 0 if not winner else 1 if winner == state.to_play else -1
    return max(-exact_value(state.play(move)) for move in state.legal_moves())


def test_proofs_agree_with_exhaustive_search_at_the_end_of_ncsoft_games() -> None:
    """Two plies before the eightieth everything can be tried: material, repetition and mates decide."""
    rng, seen = np.random.default_rng(2), set()
    for _ in range(25):
        state = random_state(rng, "ncsoft", 78)
        tree = search(state, 20_000)
        assert tree.solved[0] != UNSOLVED
        assert tree.solved[0] - DRAW == -exact_value(state)
        assert tree.solved[best_child(tree, 0)] - DRAW == exact_value(state)
        seen.add(int(tree.solved[0]))
    assert {LOSS, WIN} <= seen


def test_proofs_agree_with_exhaustive_search_before_the_fifty_moves() -> None:
    """A queen against a king, three plies before the draw: to win, the mate must come in time."""
    rng, seen = np.random.default_rng(4), set()
    for _ in range(40):
        state = endgame(rng, "Q", "w - - 97 60")
        if state is not None:
            tree = search(state, 50_000)
            assert tree.solved[0] != UNSOLVED
            assert tree.solved[0] - DRAW == -exact_value(state)
            seen.add(int(tree.solved[0]))
    assert seen == {LOSS, DRAW}


def test_proofs_and_moves_agree_with_the_endgame_tables(tables: Tables) -> None:
    """King and queen, rook or pawn against king: what is proved is true, and short mates are found and taken."""
    rng, mates, proved = np.random.default_rng(6), 0, 0
    while mates < 60:
        state = endgame(rng, str(rng.choice(["Q", "R", "P"])), f"{rng.choice(['w', 'b'])} - - 0 1")
        value = tables.probe(state) if state is not None else None
        if state is None or value is None or not ((value.dtm is not None and value.dtm <= 5) or rng.random() < 0.1):
            continue
        tree = search(state, 20_000)
        values = {one.move: one.value.wdl for one in tables.moves(state) or ()}
        for child in children(tree, 0):
            if tree.solved[child] != UNSOLVED:
                assert tree.solved[child] - DRAW == values[int(tree.move[child])], state.fen()
                proved += 1
        if value.dtm is not None and value.dtm <= 5:
            mates += 1
            assert tree.solved[0] == (LOSS if value.wdl > 0 else WIN), state.fen()
            assert values[int(tree.move[best_child(tree, 0)])] == value.wdl
    assert proved > 100


def test_a_queen_mates_a_lone_king_whoever_defends(tables: Tables) -> None:
    """From the longest mates on, against the best defence of the tables."""
    state = GameState.from_fen("k3/4/4/4/1Q1K w - - 0 1")
    scratch, rng, tree = new_microchess_scratch(), np.array([3], np.uint64), new_tree(400_000)
    while not state.is_over:
        if state.to_play == WHITE:
            tree = new_tree(400_000)
            simulate_microchess(tree, state.board, scratch, EXPLORATION, 20_000, rng)
            state = state.play(int(tree.move[best_child(tree, 0)]))
        else:
            move = tables.best_move(state)
            assert move is not None
            state = state.play(move)
    assert state.end_reason == "checkmate"


def test_a_repetition_counts_with_the_game_before_the_root() -> None:
    """The rook goes to and fro: the move that makes the position stand a third time is a proved draw."""
    state = GameState.from_fen("1k2/4/4/4/R2K w - - 0 1")
    for text in ("a1a2", "b5c5", "a2a1", "c5b5", "a1a2", "b5c5", "a2a1"):
        state = state.play(state.parse_move(text))
    tree = search(state, 300)
    assert tree.solved[find_child(tree, 0, state.parse_move("c5b5"))] == DRAW
    fresh = search(GameState.from_fen(state.fen()), 300)
    assert fresh.solved[find_child(fresh, 0, state.parse_move("c5b5"))] == UNSOLVED
