"""`tengen bench`: how fast this machine runs Tengen, as ratios to yardsticks measured in the same run."""

from pathlib import Path
from typing import Annotated

import typer

bench = typer.Typer(no_args_is_help=True, help="Measure speed, always as a ratio to yardsticks in the same run.")


@bench.callback()
def _group() -> None:
    """Measure speed, always as a ratio to yardsticks in the same run."""


@bench.command()
def engine(
    rounds: Annotated[int, typer.Option(min=1, max=100, help="How often each measure is taken; the best counts.")] = 3,
    yardsticks: Annotated[
        Path, typer.Option(help="Folder with playout.cpp, which g++ compiles for this machine.")
    ] = Path("benchmarks/yardsticks"),
    json: Annotated[Path | None, typer.Option(help="Also write the figures to this file.")] = None,
) -> None:
    """Measure the Go engine on one core: playouts, search, and the friendly API.

    Every figure stands beside its yardsticks when they are there: the same playout in C++ (needs g++ and
    --yardsticks), OpenSpiel and sente (when installed). Machines are noisy, so everything is measured in
    turn, `--rounds` times, and the best round of each is compared.

    Example: tengen bench engine --rounds 5 --json engine.json
    """
    from tengen.cli.bench_engine import measure_engine, print_table, write_json

    report = measure_engine(rounds, yardsticks)
    print_table(report)
    if json is not None:
        write_json(report, json)
