"""The measures behind `tengen bench zero`: self-play with its network included, beside its peers, and networks alone.

Everything runs on one and the same core in turn. Rates are per second of that core (processor time), so that a busy
machine changes them little; wall-clock rates are in the JSON, too. Peers live in processes of their own with their own
interpreter, for nobody wants JAX beside PyTorch: `benchmarks/peers/` holds a small script for each. A peer compiles
once and then measures when asked.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table

from tengen.encode.game_spec import GameSpec
from tengen.games.go.rules import GoOptions
from tengen.learn.selfplay import SelfPlayWorker
from tengen.learn.zero_settings import SelfPlaySettings
from tengen.nets.evaluator import Evaluator
from tengen.nets.network import Network, TorchEvaluator, build_network
from tengen.nets.openvino_evaluator import OpenVinoEvaluator, calibrate

PEERS = {"mctx + pgx": "mctx_pgx.py", "OpenSpiel AlphaZero": "openspiel_alphazero.py"}
_NAMES = {"Tengen": "Tengen, int8", "openvino": "OpenVINO, floats", "torch": "PyTorch, channels_last"}
_SIMULATIONS = 32
_PEER_BATCH = 64
_EVALUATED_AT_ONCE = 256
_CALIBRATION = 512


@dataclass(frozen=True)
class Contest:
    """A board, and the residual network that plays on it."""

    size: int
    blocks: int
    filters: int
    slots: int
    komi: float

    @property
    def network(self) -> str:
        """The network's size, in short."""
        return f"{self.blocks}x{self.filters}"


CONTESTS = (Contest(5, 2, 32, slots=256, komi=3.5), Contest(9, 4, 64, slots=128, komi=7.5))


@dataclass(frozen=True)
class Rate:
    """How fast something went."""

    per_core: float
    """Units per second of processor time."""
    per_second: float
    """Units per second on the wall's clock."""


@dataclass
class ZeroRow:
    """A board's rates: simulations/s of self-play by player, or evaluations/s of the network by backend."""

    what: str
    size: int
    network: str
    rates: dict[str, Rate] = field(default_factory=dict)
    evaluated: float | None = None
    """Of Tengen's simulations, the share that asked the network; the rest ended in known or finished positions."""

    def ratio(self, of: str, to: str) -> float:
        """How many times as fast the one is as the other."""
        return self.rates[of].per_core / self.rates[to].per_core

    def keep_best(self, name: str, rate: Rate | None) -> None:
        """Remember a rate if it is the best of this name."""
        if rate is not None and (name not in self.rates or rate.per_core > self.rates[name].per_core):
            self.rates[name] = rate


@dataclass
class Report:
    """All figures, and how they came about."""

    rows: list[ZeroRow]
    settings: dict[str, object]
    absent: list[str]
    """Peers that could not be measured, and why."""


def measure_zero(rounds: int, seconds: float, python: str, folder: Path) -> Report:
    """Take every measure `rounds` times in turn, for `seconds` each, and keep the best of each."""
    report = Report([], _settings(rounds, seconds), [])
    with ExitStack() as stack:
        stack.enter_context(one_core())
        plan: list[tuple[ZeroRow, str, Callable[[float], Rate | None]]] = []
        for contest in track(CONTESTS, description="getting ready", transient=True):
            play = ZeroRow("self-play", contest.size, contest.network)
            alone = ZeroRow("network alone", contest.size, contest.network)
            report.rows += [play, alone]
            backends = _backends(contest)
            plan.append((play, "Tengen", _self_play(contest, backends["int8"], play)))
            for name, script in PEERS.items():
                peer = Peer(python, folder / script, contest)
                stack.callback(peer.close)
                if peer.trouble:
                    report.absent.append(f"{name}, {contest.size}x{contest.size}: {peer.trouble}")
                else:
                    plan.append((play, name, peer.measure))
            planes = _positions(contest, backends["openvino"], _EVALUATED_AT_ONCE)
            plan += [(alone, name, _evaluations(evaluator, planes)) for name, evaluator in backends.items()]
        for _ in track(range(rounds), description="measuring", transient=True):
            for row, name, measure in plan:
                row.keep_best(name, measure(seconds))
    return report


def print_tables(report: Report) -> None:
    """Show the figures on the terminal."""
    search = f"{report.settings['search']}, {report.settings['simulations']} simulations a move"
    title = f"Self-play ({search}), network included, on one core"
    play = _table(title, "by", "simulations/s", "Tengen is faster by")
    alone = _table(
        f"The network alone on one core, {_EVALUATED_AT_ONCE} positions at once",
        "by",
        "evaluations/s",
        "int8 is faster by",
    )
    for row in report.rows:
        table, first = (play, "Tengen") if row.what == "self-play" else (alone, "int8")
        for name, rate in row.rates.items():
            board = (f"{row.size}x{row.size}", row.network) if name == first else ("", "")
            ratio = "" if name == first else f"{row.ratio(first, name):,.2f}"
            table.add_row(*board, _NAMES.get(name, name), f"{rate.per_core:,.0f}", ratio)
        table.add_section()
    console = Console()
    console.print(play)
    for row in report.rows:
        if row.evaluated is not None:
            line = f"{row.size}x{row.size}: {row.evaluated:.0%} of Tengen's simulations asked the network"
            console.print(f"{line}; the others reached a known position or the end of a game.", style="dim")
    console.print(alone)
    for reason in report.absent:
        console.print(f"Not measured: {reason}", style="dim", highlight=False)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title)
    for column in ("board", "network", *columns):
        table.add_column(column, justify="left" if column == "by" else "right")
    return table


def write_json(report: Report, path: Path) -> None:
    """Write the figures for machines."""
    path.write_text(json.dumps({"zero": asdict(report)}, indent=2) + "\n")


def _settings(rounds: int, seconds: float) -> dict[str, object]:
    return {
        "rounds": rounds,
        "seconds": seconds,
        "search": "gumbel",
        "simulations": _SIMULATIONS,
        "games at once": {f"{contest.size}x{contest.size}": contest.slots for contest in CONTESTS},
        "games at once, mctx + pgx": _PEER_BATCH,
        "network": "residual, first_kernel=3, value=yes, random weights, encoder compact",
    }


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process and those it starts on one core, where the system lets us."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


# --------------------------------------------------------------------------------------------- Tengen's


def rate_of(seconds: float, work: Callable[[], int]) -> Rate:
    """Repeat some work for this time; it returns how many units it did."""
    began, cpu, done = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - began < seconds:
        done += work()
    return Rate(done / max(1e-9, time.process_time() - cpu), done / (time.perf_counter() - began))


def _worker(contest: Contest) -> SelfPlayWorker:
    """A worker whose games begin with up to half a board of random moves: openings and middle games at once."""
    spec = GameSpec(GoOptions(contest.size, komi=contest.komi), "compact")
    settings = SelfPlaySettings(
        simulations=_SIMULATIONS, slots=contest.slots, random_plies=contest.size**2 // 2, temperature_plies=8
    )
    return SelfPlayWorker(spec, settings, seed=1)


def _self_play(contest: Contest, evaluator: Evaluator, row: ZeroRow) -> Callable[[float], Rate]:
    worker = _worker(contest)
    worker.use(evaluator)
    worker.step()  # compiled and warm before anything counts

    def move() -> int:
        before = worker.statistics.simulations
        worker.step()
        return worker.statistics.simulations - before

    def measure(seconds: float) -> Rate:
        rate = rate_of(seconds, move)
        row.evaluated = worker.statistics.evaluations / worker.statistics.simulations
        return rate

    return measure


def _backends(contest: Contest) -> dict[str, Evaluator]:
    """One network, run by each backend in one thread."""
    import torch

    network = _network(contest)
    architecture, weights = network.architecture, network.weights()
    plain = OpenVinoEvaluator(architecture, weights, threads=1)
    ranges = calibrate(architecture, weights, _positions(contest, plain, _CALIBRATION))
    return {
        "int8": OpenVinoEvaluator(architecture, weights, 1, ranges),
        "openvino": plain,
        "torch": TorchEvaluator(network.to(memory_format=torch.channels_last), threads=1),  # type: ignore[call-overload]
    }


def _network(contest: Contest) -> Network:
    """A network whose layers all do something; at its first weights each block would pass its input on."""
    from torch import nn

    network = build_network(
        "residual", 10, contest.size, seed=1, blocks=contest.blocks, filters=contest.filters, first_kernel=3, value=True
    )
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
    return network.eval()


def _positions(contest: Contest, evaluator: Evaluator, count: int) -> NDArray[np.uint8]:
    """Planes of self-play positions, of random openings and what follows them."""
    worker = SelfPlayWorker(
        GameSpec(GoOptions(contest.size, komi=contest.komi, limit=contest.size**2 // 2 + 4), "compact"),
        SelfPlaySettings(simulations=2, slots=32, random_plies=contest.size**2 // 2),
        seed=2,
    )
    worker.use(evaluator)
    return worker.play(count).planes[:count].copy()


def _evaluations(evaluator: Evaluator, planes: NDArray[np.uint8]) -> Callable[[float], Rate]:
    evaluator.evaluate(planes)

    def work() -> int:
        evaluator.evaluate(planes)
        return len(planes)

    return lambda seconds: rate_of(seconds, work)


# ------------------------------------------------------------------------------------------------ peers


class Peer:
    """A foreign program in a process of its own: it reports when it is ready, then measures when asked."""

    def __init__(self, python: str, script: Path, contest: Contest) -> None:
        self.trouble: str | None = None
        self._process: subprocess.Popen[str] | None = None
        if not script.is_file():
            self.trouble = f"there is no {script}: give its folder by --yardsticks"
            return
        options = {"size": contest.size, "blocks": contest.blocks, "filters": contest.filters}
        options |= {"batch": _PEER_BATCH, "simulations": _SIMULATIONS}
        command = [python, str(script), *(f"--{name}={value}" for name, value in options.items())]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        except OSError as error:
            self.trouble = f"{python} does not run ({error.strerror}): give an interpreter by --peers"
            return
        if self._answer() is None:
            self.trouble = f"it does not run with {python}: give an interpreter that has it by --peers"
            self.close()

    def measure(self, seconds: float) -> Rate | None:
        """What it does in about so many seconds; None if it has died."""
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(f"{seconds}\n")
            self._process.stdin.flush()
        except OSError:
            return None
        answer = self._answer()
        if answer is None:
            return None
        done = answer["simulations"]
        return Rate(done / max(1e-9, answer["cpu"]), done / max(1e-9, answer["seconds"]))

    def close(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _answer(self) -> dict[str, float] | None:
        assert self._process is not None and self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                answer: dict[str, float] = json.loads(line)
                return answer
        return None
