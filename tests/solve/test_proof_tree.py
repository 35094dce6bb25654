"""Trees of searches: known values, proofs that are accepted, what guides them; leaves in threads and elsewhere."""

import json
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from typing import Any

import numpy as np
import pytest
from numba import njit

from tengen.games import go
from tengen.games.go.rules import get_rules
from tengen.solve.check import check
from tengen.solve.dfpn import KEY
from tengen.solve.extract import TableStrategy, extract
from tengen.solve.go_solver import Claim, Solver, node_of
from tengen.solve.proof_tree import LeafWorker, ProofTree, Search, Solved, leaf_workers
from tengen.solve.transposition_table import INFINITY, new_table, probe, store
from tengen.workers.calls import Calls, WorkerError, Workers
from tengen.workers.local import ProcessWorkers


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


START = go.State.new(3, "simple-go", komi=0.5)
NINE = Claim(go.BLACK, 9)


@pytest.fixture
def workers() -> Iterator[Workers]:
    """Two processes, whose tables are empty."""
    with leaf_workers(ProcessWorkers, 2, Solver(3, START.rules, 0.02)) as workers:
        assert not isinstance(workers, int)
        yield workers


class Here:
    """A worker in this process, which answers at once."""

    count = 1

    def __init__(self) -> None:
        self._worker = LeafWorker(3, START.rules, 0.02)

    def start(self) -> None:
        pass

    def map(self, method: str, arguments: Iterable[tuple[Any, ...]], calls: Calls | None = None) -> Calls:
        calls = calls or Calls(0)
        for each in arguments:
            calls.unfinished += 1
            calls.deliver(getattr(self._worker, method)(*each))
        return calls

    def close(self) -> None:
        pass


def new_tree(claim: Claim = NINE) -> tuple[Solver, ProofTree]:
    solver = Solver(3, START.rules, 0.02)
    return solver, ProofTree(solver, START, claim)


def test_workers_prove_what_threads_prove(workers: Workers) -> None:
    solver, tree = new_tree()
    assert len(list(tree.search(leaf_nodes=10, workers=workers))) > 5
    assert tree.verdict is True
    check(extract(TableStrategy(solver, NINE), START))


def test_a_worker_searches_as_a_thread_does_and_refutes_too() -> None:
    (_, one), (_, other) = (new_tree(Claim(go.WHITE, 9)) for _ in range(2))
    assert list(one.search(leaf_nodes=20, workers=Here())) == list(other.search(leaf_nodes=20))
    assert one.verdict is False


@pytest.mark.parametrize("elsewhere_first", [True, False])
def test_a_search_goes_on_with_other_searchers(workers: Workers, elsewhere_first: bool) -> None:
    """From what was written alone, as in another run."""
    first, then = (workers, 1) if elsewhere_first else (1, workers)
    _, begun = new_tree()
    with closing(begun.search(leaf_nodes=10, workers=first)) as searches:
        written = [json.dumps(search) for search in islice(searches, 5)]
    solver, tree = new_tree()
    for line in written:
        tree.take(Search(*json.loads(line)))
    assert tree.verdict is None
    list(tree.search(leaf_nodes=10, workers=then))
    assert tree.verdict is True
    check(extract(TableStrategy(solver, NINE), START))


@pytest.mark.parametrize("elsewhere", [True, False])
def test_a_search_can_be_stopped_and_goes_on(elsewhere: bool) -> None:
    _, tree = new_tree()
    searchers = Here() if elsewhere else 1
    assert list(tree.search(leaf_nodes=10, workers=searchers, stop=lambda: True)) == []
    with closing(tree.search(leaf_nodes=10, workers=searchers)) as searches:
        next(searches)
    list(tree.search(leaf_nodes=10, workers=searchers))
    assert tree.verdict is True


def test_a_search_is_limited_in_all() -> None:
    _, tree = new_tree()
    done = list(tree.search(leaf_nodes=10, nodes=30, workers=Here()))
    assert tree.verdict is None
    assert tree.progress().nodes <= 30 + len(done)


def test_a_worker_sends_the_proof_of_a_leaf_once() -> None:
    start, claim = go.State.new(4, "simple-go", komi=0.5), Claim(go.BLACK, 4)
    leaf, worker = node_of(start, claim), LeafWorker(4, start.rules, 0.1)
    key, found, proofs = worker.search(claim, leaf, 1_000_000, Solved().packed())
    assert key == leaf[KEY]
    assert found.phi == 0 and not found.children
    assert len(proofs) > 10
    assert all(rank < found.rank and 0 in (phi, delta) for _, phi, delta, _, rank in proofs.tolist())
    assert len(np.unique(proofs[:, 0])) == len(proofs)
    assert len(worker.search(claim, leaf, 1_000_000, Solved().packed())[2]) == 0


def test_a_worker_hears_once_what_the_tree_has_solved() -> None:
    solved, worker = Solved(), LeafWorker(3, START.rules, 0.02)
    leaf, table = node_of(START, NINE), worker._solver.table(NINE)
    solved.add(12345, 0, INFINITY, 100, 7)
    worker.search(NINE, leaf, 1, solved.packed())
    assert probe(table, 12345) == (0, INFINITY, 7)
    table[:] = 0
    solved.add(54321, INFINITY, 0, 100, 8)
    worker.search(NINE, leaf, 1, solved.packed())
    assert probe(table, 12345) == (0, 0, 0)
    assert probe(table, 54321) == (INFINITY, 0, 8)


def test_a_worker_that_fails_ends_the_search() -> None:
    with leaf_workers(ProcessWorkers, 1, Solver(3, START.rules, 0.02)) as workers:
        assert not isinstance(workers, int)
        _, tree = new_tree(Claim(go.BLACK, 9))
        tree.claim = "no claim"  # type: ignore[assignment]
        with pytest.raises(WorkerError, match="AttributeError"):
            list(tree.search(workers=workers))
