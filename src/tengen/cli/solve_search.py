"""The search of `tengen solve go` on 5x5: trees of searches, shown while they grow, saved and continued.

In the folder, for each claim: `tree-1-4.jsonl`, a line for each search that is done (`proof_tree.Search`), and
`table-1-4.npy`, the table (1: Black; 4: by so many points or more).
"""

import json
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from rich.console import Console

from tengen.agents.agent import NeedsCheck
from tengen.agents.registry import load_agent
from tengen.cli.progress import Progress
from tengen.games.go import State
from tengen.runs.files import append_line
from tengen.runs.folder import RunDirectory
from tengen.solve.go_solver import Claim, Solver
from tengen.solve.proof_tree import Guide, ProofTree, Search
from tengen.solve.transposition_table import load_table, save_table
from tengen.workers.calls import WorkerError, Workers

_FIRST_BUDGET = 1_000_000
_SECONDS_BETWEEN_SAVES = 1800


class Effort(NamedTuple):
    """How much may be searched."""

    workers: int | Workers
    """How many threads search, or `LeafWorker`s elsewhere."""
    leaf_nodes: int
    """Of each search."""
    nodes: int | None
    """Of all together; None: until a claim is proven."""


@contextmanager
def guided(spec: str | None, state: State) -> Iterator[Guide | None]:
    """The chances that an agent gives to moves; ValueError or AgentError if it cannot play this game."""
    if spec is None:
        yield None
        return
    with closing(load_agent(spec, 1)) as agent:
        if isinstance(agent, NeedsCheck):
            agent.check(state)
        yield lambda position: agent.choose(position).values


class Screen:
    """Shows how a search goes, by a line per minute where there is no terminal, and records it."""

    def __init__(self, progress: Progress, run: RunDirectory, interrupted: Callable[[], bool]) -> None:
        """`interrupted`: whether the user wants to stop."""
        self.interrupted = interrupted
        self._progress, self._run, self._shown, self._began = progress, run, 0.0, monotonic()

    def show(self, tree: ProofTree) -> None:
        """Show where a search is, unless that was done a moment ago."""
        if monotonic() - self._shown < (1 if self._progress.console.is_terminal else 60):
            return
        self._shown, now = monotonic(), tree.progress()
        text = (
            f"{tree.claim}: {now.nodes:,} nodes, {now.leaves:,} searches; {now.proven:,} positions proven, "
            f"{now.refuted:,} refuted; to prove {now.to_prove:.3g}, to refute {now.to_refute:.3g}, table {now.fill:.0%}"
        )
        self._progress.update(text)
        if not self._progress.console.is_terminal:
            self._progress.say(text)
        self._run.record({"claim": str(tree.claim), "seconds": round(self._shown - self._began), **now._asdict()})


def search_trees(solver: Solver, trees: list[ProofTree], folder: Path, effort: Effort, screen: Screen) -> Claim | None:
    """Look for a proof of each claim in turn, for longer and longer; the claim that is proven, if one is."""
    budget, before = _FIRST_BUDGET, solver.nodes
    while undecided := [tree for tree in trees if tree.verdict is None]:
        for tree in undecided:
            limits = [] if len(undecided) == 1 else [budget]
            if effort.nodes is not None:
                limits.append(effort.nodes - solver.nodes + before)
                if limits[-1] <= 0:
                    return None
            try:
                _search(tree, folder, effort._replace(nodes=min(limits, default=None)), screen)
            except WorkerError:  # the workers' proofs are in no table but ours
                save_table(solver.table(tree.claim), _table_file(folder, tree.claim))
                raise
            save_table(solver.table(tree.claim), _table_file(folder, tree.claim))
            if tree.verdict:
                return tree.claim
            if screen.interrupted():
                return None
        budget *= 2
    return next((tree.claim for tree in trees if tree.verdict), None)


def _search(tree: ProofTree, folder: Path, effort: Effort, screen: Screen) -> None:
    """Search and write down each result, until it is time to save the table."""
    began = monotonic()
    found = tree.search(effort.workers, effort.leaf_nodes, effort.nodes, screen.interrupted)
    with open(_tree_file(folder, tree.claim), "ab", buffering=0) as file, closing(found) as searches:
        for search in searches:
            append_line(file, json.dumps(search).encode("ascii"))
            screen.show(tree)
            if monotonic() - began > _SECONDS_BETWEEN_SAVES:
                return


def open_tree(
    solver: Solver, state: State, claim: Claim, guide: Guide | None, folder: Path, console: Console
) -> ProofTree:
    """The tree for a claim, as an earlier run has left it."""
    table = _table_file(folder, claim)
    if table.exists():
        console.print(f"{load_table(solver.table(claim), table):,} positions of an earlier run", markup=False)
    tree, path = ProofTree(solver, state, claim, guide), _tree_file(folder, claim)
    if path.exists():
        lines = path.read_bytes().splitlines(keepends=True)
        whole = [line for line in lines if line.endswith(b"\n")]
        if len(whole) < len(lines):  # the last one was torn
            with open(path, "r+b") as file:
                file.truncate(sum(map(len, whole)))
        for number, line in enumerate(whole, 1):
            try:
                tree.take(Search(*json.loads(line)))
            except (ValueError, TypeError, KeyError) as error:
                remedy = "delete the line and all after it"
                raise ValueError(f"line {number} of {path} is damaged ({error}): {remedy}") from None
        console.print(f"{len(whole):,} searches of an earlier run", markup=False)
    return tree


def show_replies(tree: ProofTree, state: State, console: Console) -> None:
    """Print after which moves the claim is decided."""
    for verdict, title in ((True, "Proven    "), (False, "Refuted   "), (None, "Open      ")):
        moves = [state.move_name(move) for move, found in tree.replies().items() if found is verdict]
        if moves and tree.verdict is None:
            console.print(f"{title} {tree.claim} after {' '.join(moves)}", markup=False)


def _table_file(folder: Path, claim: Claim) -> Path:
    return folder / f"table-{claim.color}-{claim.margin}.npy"


def _tree_file(folder: Path, claim: Claim) -> Path:
    return folder / f"tree-{claim.color}-{claim.margin}.jsonl"
