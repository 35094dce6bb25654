"""Leaves that are searched in other processes: the same verdicts and proofs, and searches that go on elsewhere."""

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice
from typing import Any

import numpy as np
import pytest

from tengen.games import go
from tengen.solve.check import check
from tengen.solve.dfpn import KEY
from tengen.solve.extract import TableStrategy, extract
from tengen.solve.go_solver import Claim, Solver, node_of
from tengen.solve.leaf_search import LeafWorker, Solved, leaf_workers
from tengen.solve.proof_tree import ProofTree, Search
from tengen.solve.transposition_table import INFINITY, probe
from tengen.workers.calls import Calls, WorkerError, Workers
from tengen.workers.local import ProcessWorkers

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
