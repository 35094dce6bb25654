"""`tengen learn evaluate`: how well a model predicts the moves of games, and their results."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from tengen.learn.evaluate import ModelEvaluation
    from tengen.learn.measure import PolicyMeasures


def evaluate(
    model: Annotated[str, typer.Argument(help="A policy model: a bundled one by name (go19), or a .safetensors file.")],
    data: Annotated[Path, typer.Option(help="A dataset, as `tengen data build` makes it.", show_default=False)],
    split: Annotated[str, typer.Option(help="Which games: test, train or all.")] = "test",
    positions: Annotated[int, typer.Option(min=0, help="How many positions, drawn at random; 0 for all.")] = 20_000,
    min_rank: Annotated[
        int, typer.Option(help="Both players at least so strong (1 is 1 dan, 11 professional 1 dan); 0 for any.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Draws the positions.")] = 0,
    backend: Annotated[str, typer.Option(help="What runs the network: openvino, int8 or torch.")] = "openvino",
    threads: Annotated[int, typer.Option(min=1, help="Threads that run the network.")] = 1,
    as_json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Also write the figures here.", show_default=False)
    ] = None,
) -> None:
    """Measure a model on a dataset: top-1, top-5, loss, top-1 by phase of the game, and the loss of its value.

    The value loss is the mean squared error of the value over positions of games with a known result, 1 or -1, or 0
    for a draw: always guessing 0 has a loss of 1.

    The games of a dataset that are test games are so for ever, in whatever dataset they lie: a model that was
    trained by `tengen learn` has not seen them.

    [bold]Example[/bold]  [cyan]tengen learn evaluate go19 --data datasets/kgs --json go19.json[/cyan]
    """
    from rich.console import Console

    from tengen._files import write_atomically

    if split not in ("test", "train", "all"):
        raise ValueError(f"no split is called {split!r}: choose test, train or all")
    evaluation = _evaluate(model, data, split, positions, min_rank, seed, backend, threads)
    console = Console(highlight=False)
    console.print(
        f"{evaluation.card.network} on {evaluation.card.encoder}, {evaluation.measures.positions:,} positions of "
        f"{evaluation.games:,} {'' if split == 'all' else split + ' '}games of {data}",
        markup=False,
        soft_wrap=True,
    )
    console.print(_table(evaluation))
    console.print(_phases(evaluation.measures))
    if as_json is not None:
        write_atomically(as_json, (json.dumps(evaluation.as_dict(), indent=2) + "\n").encode())


def _evaluate(
    model: str, data: Path, split: str, positions: int, min_rank: int, seed: int, backend: str, threads: int
) -> "ModelEvaluation":
    """Measure under a progress bar on standard error."""
    from typing import cast

    from rich.console import Console
    from rich.progress import Progress

    from tengen.data.dataset import Split
    from tengen.learn.evaluate import evaluate_policy

    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("positions", total=None)
        return evaluate_policy(
            model,
            data,
            cast(Split, split),
            positions,
            min_rank=min_rank or None,
            seed=seed,
            backend=backend,
            threads=threads,
            on_progress=lambda done, wanted: bar.update(task, completed=done, total=wanted),
        )


def _table(evaluation: "ModelEvaluation") -> "Table":
    from rich import box
    from rich.table import Table

    measures = evaluation.measures
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    error = 1.96 * evaluation.top1_error
    cells = {"top-1": f"{measures.top1:.2%} ± {error:.2%}", "top-5": f"{measures.top5:.2%}"}
    cells["loss"] = f"{measures.loss:.4f}"
    if measures.value_loss is not None:
        cells["value loss"] = f"{measures.value_loss:.4f}"
    for name in cells:
        table.add_column(name, justify="right")
    table.add_row(*cells.values())
    return table


def _phases(measures: "PolicyMeasures") -> "Table":
    from rich import box
    from rich.table import Table

    from tengen.learn.measure import phase_name

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("phase")
    table.add_column("positions", justify="right")
    table.add_column("top-1", justify="right")
    for phase, (seen, right) in measures.by_phase.items():
        if seen:
            table.add_row(phase_name(phase), f"{seen:,}", f"{right / seen:.2%}")
    return table
