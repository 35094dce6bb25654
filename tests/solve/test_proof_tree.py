"""Trees of searches: known values, proofs that are accepted, searches side by side, and what guides them."""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numba import njit

from tengen.games import go
from tengen.games.go.rules import get_rules
from tengen.solve.check import check
from tengen.solve.extract import TableStrategy, extract
from tengen.solve.go_solver import Claim, Solver
from tengen.solve.proof_tree import ProofTree, Search
from tengen.solve.transposition_table import INFINITY, new_table, probe, store


def tree_of(size: int, rules: str, margin: int, color: int = go.BLACK) -> ProofTree:
    solver = Solver(size, get_rules(rules), memory=0.1)
    return ProofTree(solver, go.State.new(size, rules, komi=0.5), Claim(color, margin))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rules", ["simple-go", "chinese", "aga"])
def test_3x3_is_nine_points_for_black_with_a_proof(rules: str, threads: int) -> None:
    solver, start, claim = Solver(3, get_rules(rules), 0.05), go.State.new(3, rules, komi=0.5), Claim(go.BLACK, 9)
    tree = ProofTree(solver, start, claim)
    searches = list(tree.search(threads, leaf_nodes=10))
    assert tree.verdict is True
    assert len(searches) > 5
    check(extract(TableStrategy(solver, claim), start))


def test_what_is_not_true_is_refuted() -> None:
    tree = tree_of(3, "chinese", 9, go.WHITE)
    list(tree.search(2, leaf_nodes=20))
    assert tree.verdict is False


def test_4x4_under_simple_go_is_the_whole_board_for_black_by_two_threads() -> None:
    tree = tree_of(4, "simple-go", 16)
    list(tree.search(2, leaf_nodes=2000))
    assert tree.verdict is True
    assert all(verdict is not None or tree.verdict for verdict in tree.replies().values())


@pytest.mark.long
def test_the_proof_for_the_whole_4x4_board_is_accepted() -> None:
    solver, start = Solver(4, get_rules("simple-go"), 0.8), go.State.new(4, "simple-go", komi=0.5)
    claim = Claim(go.BLACK, 16)
    tree = ProofTree(solver, start, claim)
    list(tree.search(1, leaf_nodes=2000))
    assert tree.verdict is True
    check(extract(TableStrategy(solver, claim), start))


def test_a_search_may_be_limited_and_goes_on_from_what_was_written() -> None:
    tree = tree_of(4, "chinese", 2)
    done = [json.loads(json.dumps(search)) for search in tree.search(1, leaf_nodes=500, nodes=5_000)]
    assert tree.verdict is None
    assert tree.progress().nodes <= 5_000 + len(done)
    again = tree_of(4, "chinese", 2)
    for search in done:
        again.take(Search(*search))
    assert again.progress()[:6] == tree.progress()[:6]
    assert again.replies() == tree.replies()
    with pytest.raises(ValueError, match="of another search"):
        again.take(Search(*done[0]))


@pytest.mark.parametrize(
    "chances",
    [{0: 0.99} | dict.fromkeys(range(1, 16), 0.01), {0: 0.4, 1: 0.02}],
    ids=["all moves", "moves that a search saw"],
)
def test_a_guide_says_where_to_search_first(chances: dict[int, float]) -> None:
    """Told that a corner is best, the first move after the root goes there."""
    asked = []

    def guide(state: go.State) -> Mapping[int, float]:
        asked.append(state)
        return chances

    start = go.State.new(4, "simple-go", komi=0.5)
    tree = ProofTree(Solver(4, start.rules, 0.05), start, Claim(go.BLACK, 16), guide)
    searches = tree.search(1, leaf_nodes=100)
    next(searches)
    assert np.array_equal(asked[0].stones, start.stones)
    second = tree.nodes[next(searches).key].node
    assert second[0].bit_count() == 1
    assert second[0] in (1 << 0, 1 << 3, 1 << 15, 1 << 18)  # a corner, in rows of five


def test_what_is_solved_stays_so_by_its_shortest_proof() -> None:
    table = new_table(0)
    store(table, 5, 0, INFINITY, 10, 9)
    for phi, delta, rank in ((3, 4, 2), (0, INFINITY, 12)):
        store(table, 5, phi, delta, 1000, rank)
        assert probe(table, 5) == (0, INFINITY, 9)
    store(table, 5, 0, INFINITY, 1, 4)
    assert probe(table, 5) == (0, INFINITY, 4)


def test_threads_that_share_a_table_never_see_half_of_an_entry() -> None:
    """A few buckets, and numbers that follow from the key: whatever is found must fit."""
    table = new_table(0)
    keys = np.random.default_rng(1).integers(1, 1 << 57, 4_000)

    def work(thread: int) -> tuple[int, int]:
        found, wrong = _hammer(table, np.random.default_rng(thread).choice(keys, 300_000))
        return int(found), int(wrong)

    with ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(work, range(4)))
    assert sum(found for found, _ in counts) > 10_000
    assert [wrong for _, wrong in counts] == [0, 0, 0, 0]


@njit(nogil=True)
def _hammer(table, keys):  # type: ignore[no-untyped-def]
    """How often a key was found, and how often with the numbers of another."""
    found, wrong = 0, 0
    for key in keys:
        phi, delta, rank = probe(table, key)
        if phi or delta:
            found += 1
            wrong += phi != 1 + key % (INFINITY - 1) or delta != 1 + key % 1000 or rank != key % 500
        store(table, key, 1 + key % (INFINITY - 1), 1 + key % 1000, 1 + key % 7, key % 500)
    return found, wrong
