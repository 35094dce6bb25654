"""The measures behind `tengen bench generations`: random games, greedy games, and games by tree search, in lock-step.

Each is measured over whole games and given for the number of games that the Simple-Go lecture speaks of. Beside the
clock on the wall stands processor time, which tells more on a machine that others use too.
"""

import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.table import Table

from tengen._machine import cores
from tengen.encode.game_spec import GameSpec
from tengen.learn.generation_games import GenerationPlayer
from tengen.learn.settings import GenerationsConfig
from tengen.nets.model_file import ModelCard, save_model
from tengen.nets.network import build_network
from tengen.nets.openvino_evaluator import calibrate
from tengen.search.generations import Generation, GenerationValues, find_generation, model_file

TRIALS: Final = 100  # of the tree search, for a move
RANDOM_GAMES: Final = 100_000
_SIDE_BY_SIDE: Final = 4096  # games of a thread
_TREES: Final = 256  # games of a thread by tree search


@dataclass(frozen=True)
class GamesRow:
    """One kind of games."""

    name: str
    games: int
    """How many were played."""
    seconds: float
    """By the clock."""
    cpu: float
    """Seconds of processor time."""
    moves: float
    """Of a game, on average."""
    stated: int
    """For how many games the target is stated."""
    target: float
    """Seconds for these."""

    @property
    def scaled(self) -> float:
        """Seconds for as many games as the target is for."""
        return self.seconds * self.stated / self.games


def measure_generations(run: Path | None, games: int, searched: int, threads: int) -> dict[str, Any]:
    """Measure with the newest networks of a run, or with untrained ones."""
    config = GenerationsConfig.preset_config("simple-go")
    spec = config.spec()
    with TemporaryDirectory() as folder:
        files = find_generation(run) if run is not None else _untrained(spec, Path(folder))
        values = GenerationValues(files, streams=threads)
        rows = [
            _measure("random", spec, config, None, RANDOM_GAMES, threads, (100_000, 10.0)),
            _measure("greedy", spec, config, values, games, threads, (250_000, 1200.0)),
        ]
        changes = {"simulations": TRIALS, "opening": 2, "rate_limit": 0.0}
        searching = GenerationsConfig.preset_config("simple-go", changes)
        name = f"{TRIALS} trials a move"
        rows.append(_measure(name, spec, searching, values, searched, threads, (1, 0.4)))
    about = {"networks": "untrained" if run is None else str(run), "threads": threads, "cores": cores()}
    return {
        "rows": rows,
        "settings": about | {"load before": os.getloadavg()[0] if hasattr(os, "getloadavg") else None},
    }


def print_table(report: dict[str, Any]) -> None:
    """Show the figures on the terminal."""
    table = Table(title=f"Simple-Go on 5x5, {report['settings']['threads']} threads")
    for column in ("games", "played", "moves", "seconds", "CPU s", "scaled to", "seconds", "CPU s", "wanted s"):
        table.add_column(column, justify="left" if column == "games" else "right")
    for row in report["rows"]:
        figures = f"{row.games:,}", f"{row.moves:.1f}", _text(row.seconds), _text(row.cpu), f"{row.stated:,}"
        scaled = row.stated / row.games
        table.add_row(row.name, *figures, _text(row.seconds * scaled), _text(row.cpu * scaled), _text(row.target))
    console = Console()
    console.print(table)
    load = report["settings"]["load before"]
    note = "" if load is None else f"; load of the machine, this process included: {load:.1f}"
    console.print(f"Networks: {report['settings']['networks']}{note}", style="dim", highlight=False, markup=False)


def write_json(report: dict[str, Any], path: Path) -> None:
    """Write the figures for machines."""
    rows = [asdict(row) | {"scaled": row.scaled} for row in report["rows"]]
    path.write_text(json.dumps({"generations": {"rows": rows, "settings": report["settings"]}}, indent=2) + "\n")


def _text(seconds: float) -> str:
    return f"{seconds:,.0f}" if seconds >= 100 else f"{seconds:.3g}"


def _measure(
    name: str,
    spec: GameSpec,
    config: GenerationsConfig,
    values: GenerationValues | None,
    games: int,
    threads: int,
    target: tuple[int, float],
) -> GamesRow:
    """Play so many games, in parts that threads play."""
    player = GenerationPlayer(config, values)
    player.play(1, 0, 2)  # compiled and warm before anything counts
    part = min(_TREES if config.simulations else _SIDE_BY_SIDE, -(-games // threads))
    sizes = [min(part, games - start) for start in range(0, games, part)]
    play: Callable[[int], int] = lambda number: int(player.play(2, number, sizes[number]).lengths.sum())  # noqa: E731
    began, cpu = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(threads) as pool:
        moves = sum(pool.map(play, range(len(sizes))))
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    return GamesRow(name, games, seconds, cpu, moves / games, *target)


def _untrained(spec: GameSpec, folder: Path) -> Generation:
    """Networks with their first weights, ready for int8: they cost as much as any others."""
    planes, height, _ = spec.shape
    rng = np.random.default_rng(1)
    stones = np.eye(planes, dtype=np.uint8)[rng.integers(0, planes, (256, height, height))].transpose(0, 3, 1, 2)
    paths = []
    for side, after in (("black", "first"), ("white", "second")):
        network = build_network("simple-go", planes, height, seed=1, after=after)
        ranges = calibrate(network.architecture, network.weights(), np.ascontiguousarray(stones))
        paths.append(model_file(folder, side, 1))
        save_model(paths[-1], network, ModelCard.of(network, encoder=spec.encoder_name), ranges=ranges)
    return Generation(*paths)
