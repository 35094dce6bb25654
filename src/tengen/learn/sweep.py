"""Many short runs that differ in one thing: which encoder, network, optimiser or batch size learns best.

Each run has the same budget of positions, the same order of positions and the same validation. From a base point,
the first entry of every list, one factor is varied at a time; or all combinations are tried (`grid`). Every run is an
ordinary run in a directory of its own, so a sweep that was stopped resumes.

    OUT/runs/<name>/    the runs        OUT/sweep.json, sweep.csv, sweep.md, sweep.png    the outcome
"""

import csv
import io
import itertools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from tengen.encode.go import get_go_encoder
from tengen.learn.optimizers import DEFAULT_RATES, DivergedError
from tengen.learn.report import draw_sweep
from tengen.learn.settings import SupervisedConfig
from tengen.learn.supervised import check_config, learn_supervised
from tengen.nets.registry import describe_network, parse_network
from tengen.runs.files import make_folder, write_atomically
from tengen.runs.folder import read_metrics
from tengen.runs.progress import RunProgress

FACTORS: Final = ("encoder", "network", "optimizer", "batch")


@dataclass(frozen=True)
class SweepResult:
    """One run of a sweep, as far as it has come."""

    name: str
    """What is special about it."""
    encoder: str
    network: str
    optimizer: str
    rate: float
    batch: int
    weights: int
    positions: int
    """How many it has learned from."""
    seconds: float
    """Of training."""
    loss: float
    top1: float
    top1_error: float
    """Standard error of top-1."""
    top5: float
    run: str
    """Its directory, within that of the sweep."""


def sweep_points(
    base: SupervisedConfig,
    encoders: Sequence[str],
    networks: Sequence[str],
    optimizers: Sequence[str],
    batches: Sequence[int] = (),
    grid: bool = False,
) -> dict[str, SupervisedConfig]:
    """The runs of a sweep by name. An optimiser may carry its learning rate: `adam=0.003`."""
    sizes = [str(batch) for batch in batches or [base.batch]]
    lists = [list(dict.fromkeys(values)) for values in (encoders, networks, optimizers, sizes)]
    for factor, values in zip(FACTORS, lists):
        if not values:
            raise ValueError(f"a sweep needs at least one {factor}")
    points = {}
    for encoder, network, optimizer, batch in itertools.product(*lists) if grid else _one_at_a_time(lists):
        words = (encoder, network, optimizer, f"batch {batch}")
        name = ", ".join(word for word, values in zip(words, lists) if len(values) > 1)
        points[name or f"{encoder}, {network}"] = _at(base, encoder, network, optimizer, int(batch))
    return points


def _one_at_a_time(lists: list[list[str]]) -> Iterator[tuple[str, ...]]:
    """The first of every list, then with each entry in turn put to another value."""
    first = tuple(values[0] for values in lists)
    yield first
    for i, values in enumerate(lists):
        yield from ((*first[:i], value, *first[i + 1 :]) for value in values[1:])


def check_points(points: dict[str, SupervisedConfig]) -> None:
    """ValueError if one of the runs cannot begin: there are no such games, or no such network."""
    for config in {(config.encoder, config.network): config for config in points.values()}.values():
        check_config(config)


def run_sweep(
    points: dict[str, SupervisedConfig],
    out: Path,
    on_progress: Callable[[str, RunProgress], None] = lambda name, progress: None,
) -> list[SweepResult]:
    """Make or resume all runs, and write the outcome after each; the best first."""
    make_folder(out)
    finished: dict[str, SweepResult] = {}
    diverged: list[str] = []
    for name, config in points.items():
        run = out / "runs" / _folder(config)
        try:
            learn_supervised(config, run, partial(on_progress, name), report=False)
        except DivergedError:  # a result, too: this point is left out of the table, and named above it
            diverged.append(name)
            continue
        finished[name] = _outcome(name, config, run, out)
        title = _title(config, len(finished), len(points))
        title += f"; diverged: {', '.join(diverged)}" if diverged else ""
        write_outcome(out, _best_first(finished), title)
    if not finished:
        raise DivergedError("every run of the sweep diverged: try smaller learning rates")
    return _best_first(finished)


def write_outcome(out: Path, outcomes: list[SweepResult], title: str) -> None:
    """The outcome as JSON, CSV, a Markdown table and a picture."""
    rows = [asdict(outcome) for outcome in outcomes]
    write_atomically(out / "sweep.json", (json.dumps({"title": title, "runs": rows}, indent=2) + "\n").encode())
    text = io.StringIO(newline="")
    table = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    write_atomically(out / "sweep.csv", text.getvalue().encode())
    write_atomically(out / "sweep.md", as_markdown(outcomes).encode())
    runs = [read_metrics(out / outcome.run) for outcome in outcomes]
    names, errors = [outcome.name for outcome in outcomes], [outcome.top1_error for outcome in outcomes]
    write_atomically(out / "sweep.png", draw_sweep(names, errors, runs, title))


COLUMNS: Final = ("encoder", "network", "optimizer", "rate", "batch", "weights", "top-1", "top-5", "loss", "minutes")


def as_cells(outcome: SweepResult) -> tuple[str, ...]:
    """The entries of the COLUMNS, for people."""
    return (
        outcome.encoder,
        outcome.network,
        outcome.optimizer,
        f"{outcome.rate:g}",
        str(outcome.batch),
        f"{outcome.weights:,}",
        f"{outcome.top1:.1%} ± {1.96 * outcome.top1_error:.1%}",
        f"{outcome.top5:.1%}",
        f"{outcome.loss:.3f}",
        f"{outcome.seconds / 60:.1f}",
    )


def as_markdown(outcomes: list[SweepResult]) -> str:
    """The outcome as a table for a page of the lab book."""
    rows = [COLUMNS, tuple("---" if i < 3 else "---:" for i in range(len(COLUMNS))), *map(as_cells, outcomes)]
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def split_list(text: str) -> list[str]:
    """`small,residual:blocks=2,filters=32,large` as three specs: `key=value` belongs to the spec before it."""
    words: list[str] = []
    for word in filter(None, (word.strip() for word in text.split(","))):
        if words and ":" in words[-1] and "=" in word and ":" not in word:
            words[-1] += f",{word}"
        else:
            words.append(word)
    return words


def _at(base: SupervisedConfig, encoder: str, network: str, optimizer: str, batch: int) -> SupervisedConfig:
    """The base with another point in it."""
    name, equals, text = optimizer.partition("=")
    try:
        rate = float(text) if equals else base.rate
    except ValueError:
        raise ValueError(f"{optimizer!r} is no optimiser with a learning rate: write adam=0.003, say") from None
    config = replace(base, encoder=encoder, network=network, optimizer=name, rate=rate, batch=batch)
    kind, arguments = parse_network(network)
    describe_network(kind, get_go_encoder(encoder).planes, config.size, **arguments)
    return config


def _folder(config: SupervisedConfig) -> str:
    head, _, digest = config.run_name().rpartition("-")
    return f"{head}-{config.optimizer}-{digest}"


def _outcome(name: str, config: SupervisedConfig, run: Path, out: Path) -> SweepResult:
    last = read_metrics(run)[-1]
    kind, arguments = parse_network(config.network)
    shapes = describe_network(kind, get_go_encoder(config.encoder).planes, config.size, **arguments).shapes()
    return SweepResult(
        name=name,
        encoder=config.encoder,
        network=config.network,
        optimizer=config.optimizer,
        rate=config.rate or DEFAULT_RATES[config.optimizer],
        batch=config.batch,
        weights=sum(math.prod(shape) for shape in shapes.values()),
        positions=last["positions"],
        seconds=last["seconds"],
        loss=last["test_loss"],
        top1=last["test_top1"],
        top1_error=math.sqrt(last["test_top1"] * (1 - last["test_top1"]) / last["test_positions"]),
        top5=last["test_top5"],
        run=str(run.relative_to(out)),
    )


def _best_first(finished: dict[str, SweepResult]) -> list[SweepResult]:
    return sorted(finished.values(), key=lambda outcome: (-outcome.top1, outcome.loss))


def _title(config: SupervisedConfig, done: int, wanted: int) -> str:
    unfinished = f" ({done} of {wanted} runs so far)" if done < wanted else ""
    return f"{config.positions:,} positions of {Path(config.data).name}, {config.size}x{config.size}{unfinished}"
