"""`tengen learn sweep`: encoders, networks and optimisers compared on one budget."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tengen.cli.config_options import takes_config
from tengen.learn.supervised_config import SupervisedConfig

if TYPE_CHECKING:
    from rich.table import Table

    from tengen.learn.sweep import SweepResult

PANELS: Final = {
    "Games": ("data", "size", "games", "min_rank", "first_year", "last_year", "handicap"),
    "Length of every run": ("positions", "hours", "epoch", "validate"),
    "Optimiser of every run": ("rate", "momentum", "decay", "schedule", "warm_up", "clip", "smoothing"),
    "Network of every run": ("komi_spread", "value_weight", "ownership_weight", "average", "symmetries", "seed"),
    "Machine": ("threads", "device", "loaders", "bf16", "checkpoint"),
}


@takes_config(
    SupervisedConfig,
    PANELS,
    without=("encoder", "network", "optimizer", "batch", "start_from", "patience"),
    positions=100_000,
    epoch=10_000,
)
def sweep(
    config: SupervisedConfig,
    encoders: Annotated[str, typer.Option(help="Encoders to try.")] = "simple,oneplane,sevenplane,alphago",
    networks: Annotated[
        str, typer.Option(help="Networks to try, with settings if you like: small,residual:blocks=2,filters=32.")
    ] = "small,medium,residual:blocks=4,filters=32",
    optimizers: Annotated[
        str, typer.Option(help="Optimisers to try, with a learning rate if you like: sgd,sgd=0.01,adam=0.003.")
    ] = "sgd,adagrad,adadelta,adam",
    batches: Annotated[str, typer.Option(help="Batch sizes to try.")] = "128",
    grid: Annotated[
        bool, typer.Option("--grid", help="Try all combinations; else one thing is varied at a time.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Directory of the sweep; runs/sweep-DATA if not given.", show_default=False),
    ] = None,
) -> None:
    """Compare encoders, networks and optimisers: each run has the same positions and the same validation.

    The first of each list is the base point, from which one thing is varied at a time. The outcome is a table here
    and in sweep.json, sweep.csv and sweep.md, and a picture, sweep.png, which also shows accuracy against time.
    [bold]The same command goes on[/bold] where a sweep was stopped.

    [bold]Example[/bold]

    [cyan]tengen learn sweep --data datasets/kgs --positions 100000 --encoders simple,oneplane,alphago
    --networks small --optimizers sgd,adagrad,adadelta,adam[/cyan]
    """
    from rich.console import Console

    from tengen.cli.learn_progress import TrainingScreen
    from tengen.learn.sweep import run_sweep, split_list, sweep_points
    from tengen.learn.training import TrainingProgress

    points = sweep_points(
        config, split_list(encoders), split_list(networks), split_list(optimizers), _numbers(batches), grid
    )
    folder = Path("runs", f"sweep-{Path(config.data).name}") if out is None else out
    console = Console(stderr=True, highlight=False)
    console.print(f"{len(points)} runs in {folder}", markup=False, soft_wrap=True)
    with TrainingScreen(console) as progress:
        names = list(points)

        def show(name: str, now: TrainingProgress) -> None:
            progress.entitle(f"[{names.index(name) + 1}/{len(names)}] {name}")
            progress.show(now)

        try:
            outcomes = run_sweep(points, folder, show)
        except KeyboardInterrupt:
            progress.say(f"Stopped; everything is saved in {folder}. The same command goes on.")
            raise typer.Exit(130) from None
    result = Console(highlight=False)
    result.print(_table(outcomes))
    result.print(f"Picture    {folder / 'sweep.png'}", markup=False, soft_wrap=True)


def _numbers(text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise ValueError(f"batches {text!r} are no numbers: write 32,128, say") from None


def _table(outcomes: "list[SweepResult]") -> "Table":
    from rich import box
    from rich.table import Table

    from tengen.learn.sweep import COLUMNS, as_cells

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("run", overflow="fold")
    measures = COLUMNS[COLUMNS.index("weights") :]
    for name in measures:
        table.add_column(name, justify="right", no_wrap=True)
    for outcome in outcomes:
        table.add_row(outcome.name, *as_cells(outcome)[-len(measures) :])
    return table
