"""The measures behind `tengen bench alphago`: rollouts alone, networks alone, and the search that joins them.

Rollouts and networks are measured on one core, per second of processor time. Of the search both are reported: a player
waits by the clock on the wall, and on a busy machine processor time tells more. Where the time of its threads goes: to
the network (planes and cache included), to rollouts, and to the rest: the tree, setting up leaves, and waiting.
"""

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.zero import Rate, one_core, rate_of
from tengen._machine import cores
from tengen.encode.encoder import get_encoder
from tengen.games import go
from tengen.games.batch import BatchedGame
from tengen.games.game import open_batch
from tengen.games.go.rules import GoOptions
from tengen.nets.evaluator import load_evaluator
from tengen.nets.model_file import bundled_models
from tengen.search.fast_policy import load_fast_policy
from tengen.search.leaves import LeafEvaluation, Leaves, MixedEvaluation, NetworkEvaluation, new_leaves
from tengen.search.puct import Puct, PuctParameters
from tengen.search.rollouts import FastRollouts
from tengen.search.searcher import Searcher

THREADS: Final = (1, 2)
PARTS: Final = ("network", "rollouts", "rest")
_LEAVES: Final = 16  # of a thread, evaluated together
_NODES: Final = 4_000_000
_C_U: Final = 5.0
_ROOM: Final = 64  # leaves whose rollouts are measured together


@dataclass(frozen=True)
class Board:
    """A board, the models that play on it (the first that is there), and the moves of the opening that is searched."""

    size: int
    models: tuple[str, ...]
    moves: int

    @property
    def model(self) -> str:
        """The model that is measured."""
        return next(name for name in self.models if name in bundled_models())


BOARDS = (Board(9, ("alphago9", "go9"), 12), Board(19, ("go19",), 60))


@dataclass
class SearchRow:
    """A search with so many threads."""

    threads: int
    rate: Rate | None = None
    """Simulations."""
    fill: float = 0.0
    """Of the room of a batch, the share that was sent to the network."""
    shares: dict[str, float] = field(default_factory=dict)
    """Of the threads' time: network, rollouts, rest."""


@dataclass
class BoardReport:
    """All figures of a board."""

    size: int
    model: str
    has_value: bool
    """Without a value the leaves are worth what rollouts say (lambda 1), else half of each."""
    rollout_microseconds: float = 0.0
    """A move, in processor time."""
    rollout_moves: float = 0.0
    """A rollout, on average."""
    evaluations: Rate | None = None
    searches: list[SearchRow] = field(default_factory=list)

    def speedup(self, row: SearchRow) -> float:
        """How many times as fast as with one thread."""
        assert row.rate is not None and self.searches[0].rate is not None
        return row.rate.per_second / self.searches[0].rate.per_second


def measure_alphago(rounds: int, seconds: float) -> dict[str, Any]:
    """Take every measure `rounds` times in turn, for `seconds` each, and keep the best of each."""
    reports, plan = [], []
    for board in track(BOARDS, description="getting ready", transient=True):
        card = load_evaluator(board.model, "fastest")[1]
        report = BoardReport(board.size, board.model, bool(card.architecture().value))
        report.searches = [SearchRow(threads) for threads in THREADS]
        reports.append(report)
        plan += [_rollouts(board, report), _network(board, report)]
        plan += [_search(board, report, row) for row in report.searches]
    for _ in track(range(rounds), description="measuring", transient=True):
        for measure in plan:
            measure(seconds)
    settings = {"rounds": rounds, "seconds": seconds, "leaves a thread": _LEAVES, "cores": cores()}
    return {"boards": reports, "settings": settings | {"load before": _load()}}


def print_tables(report: dict[str, Any]) -> None:
    """Show the figures on the terminal."""
    alone = Table(title="Parts alone, on one core")
    for column in ("board", "model", "µs a rollout move", "moves a rollout", "evaluations/s"):
        alone.add_column(column, justify="left" if column == "model" else "right")
    search = Table(title=f"AlphaGo's search, {_LEAVES} leaves at once for each thread")
    for column in ("board", "lambda", "threads", "simulations/s", "of a CPU second", "ratio"):
        search.add_column(column, justify="right")
    times = Table(title="How full batches are, and where the threads' time goes")
    for column in ("board", "threads", "filled", *PARTS):
        times.add_column(column, justify="right")
    for board in report["boards"]:
        name = f"{board.size}x{board.size}"
        parts = f"{board.rollout_microseconds:.2f}", f"{board.rollout_moves:.0f}", f"{board.evaluations.per_core:,.0f}"
        alone.add_row(name, board.model, *parts)
        for row in board.searches:
            shares = [f"{row.shares[part]:.0%}" for part in PARTS]
            speed = f"{row.rate.per_second:,.0f}", f"{row.rate.per_core:,.0f}", f"{board.speedup(row):.2f}"
            share = "0.5" if board.has_value else "1"
            search.add_row(name, share, str(row.threads), *speed)
            times.add_row(name, str(row.threads), f"{row.fill:.0%}", *shares)
        search.add_section()
    console = Console()
    console.print(alone)
    console.print(search)
    console.print(times)
    if report["settings"]["load before"] is not None:
        load = report["settings"]["load before"]
        console.print(f"Load of the machine, this process included: {load:.1f}", style="dim", highlight=False)


def write_json(report: dict[str, Any], path: Path) -> None:
    """Write the figures for machines."""
    boards = [asdict(board) for board in report["boards"]]
    path.write_text(json.dumps({"alphago": {"boards": boards, "settings": report["settings"]}}, indent=2) + "\n")


def _load() -> float | None:
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


# ------------------------------------------------------------------------------------------- the parts


def _rollouts(board: Board, report: BoardReport) -> Callable[[float], None]:
    batch = _batch(board)
    games, leaves = batch.allocate(_ROOM), new_leaves(_ROOM, batch.actions)
    rollouts = FastRollouts(batch, load_fast_policy(size=board.size), seed=1)
    rollouts.evaluate(games, 1, leaves)  # compiled and warm before anything counts
    played = 0

    def work() -> int:
        nonlocal played
        before = rollouts.moves
        played += rollouts.evaluate(games, _ROOM if board.size < 13 else _ROOM // 8, leaves)
        return rollouts.moves - before

    def measure(seconds: float) -> None:
        with one_core():
            microseconds = 1e6 / rate_of(seconds, work).per_core
        best = report.rollout_microseconds
        report.rollout_microseconds = min(best, microseconds) if best else microseconds
        report.rollout_moves = rollouts.moves / (played + 1)

    return measure


def _network(board: Board, report: BoardReport) -> Callable[[float], None]:
    evaluator, card = load_evaluator(board.model, "fastest")
    encoder, batch = get_encoder(card.encoder), _batch(board)
    planes = np.zeros((_LEAVES, encoder.planes, board.size, board.size), np.uint8)
    encoder.encode_games(_root(board, batch, _LEAVES), _LEAVES, planes)
    evaluator.evaluate(planes)

    def work() -> int:
        evaluator.evaluate(planes)
        return _LEAVES

    def measure(seconds: float) -> None:
        with one_core():
            rate = rate_of(seconds, work)
        if report.evaluations is None or rate.per_core > report.evaluations.per_core:
            report.evaluations = rate

    return measure


# ------------------------------------------------------------------------------------------ the search


class Timed:
    """A leaf evaluation that notes how long it takes; all threads in one list of (seconds, calls, positions)."""

    def __init__(self, evaluation: LeafEvaluation, notes: list[tuple[float, int, int]]) -> None:
        self._evaluation, self._notes = evaluation, notes

    def evaluate(self, games: Any, count: int, leaves: Leaves) -> int:
        """Ask the evaluation."""
        began = time.perf_counter()
        computed = self._evaluation.evaluate(games, count, leaves)
        self._notes.append((time.perf_counter() - began, 1, computed))
        return computed

    def warm_up(self, most: int) -> None:
        """Of the evaluation."""
        self._evaluation.warm_up(most)

    def another(self) -> "Timed":
        """Of the evaluation, with the same notes."""
        return Timed(self._evaluation.another(), self._notes)


def _search(board: Board, report: BoardReport, row: SearchRow) -> Callable[[float], None]:
    evaluator, card = load_evaluator(board.model, "fastest", streams=row.threads)
    batch, index = _batch(board), np.arange(1)
    asked: list[tuple[float, int, int]] = []
    rolled: list[tuple[float, int, int]] = []
    network = NetworkEvaluation(batch, get_encoder(card.encoder), evaluator, value=report.has_value)
    leaf = MixedEvaluation(
        Timed(network, asked),
        Timed(FastRollouts(batch, load_fast_policy(size=board.size), seed=1), rolled),
        0.5 if report.has_value else 1.0,
    )
    rule = Puct(PuctParameters(_C_U, fpu_zero=True))
    searcher = Searcher(batch, leaf, rule, nodes=_NODES, leaves=_LEAVES, threads=row.threads, rollouts=True, seed=1)
    root = _root(board, batch, 1)
    searcher.warm_up(root, index)

    def measure(seconds: float) -> None:
        searcher.forget(index)
        asked.clear()
        rolled.clear()
        before, began, cpu = searcher.counts.simulations, time.perf_counter(), time.process_time()
        searcher.begin(root, index, 1 << 30)
        while time.perf_counter() - began < seconds and searcher.step(root, index):
            pass
        searcher.pause()
        passed, cpu = time.perf_counter() - began, time.process_time() - cpu
        done = searcher.counts.simulations - before
        rate = Rate(done / max(1e-9, cpu), done / passed)
        if row.rate is not None and row.rate.per_second > rate.per_second:
            return
        row.rate = rate
        row.fill = sum(note[2] for note in asked) / max(1, len(asked) * _LEAVES)
        parts = {"network": sum(note[0] for note in asked), "rollouts": sum(note[0] for note in rolled)}
        row.shares = {name: part / (passed * row.threads) for name, part in parts.items()}
        row.shares["rest"] = 1.0 - sum(row.shares.values())

    return measure


def _batch(board: Board) -> BatchedGame:
    encoder = get_encoder(load_evaluator(board.model, "fastest")[1].encoder)
    return open_batch(GoOptions(board.size), encoder.past, encoder.ages)


def _root(board: Board, batch: BatchedGame, count: int) -> Any:
    """A position in the middle of a game that the fast policy plays with itself."""
    policy, state = load_fast_policy(size=board.size), go.State.new(board.size)
    for _ in range(board.moves):
        scores = {move: score for move, score in policy.scores(state).items() if move >= 0 and state.is_legal(move)}
        state = state.play(max(scores, key=lambda move: scores[move]))
    games = batch.allocate(count)
    for i in range(count):
        batch.load(games, i, state)
    return games
