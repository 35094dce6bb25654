"""`tengen learn`: train networks, and see how well they do.

The commands that train are in `learn_alphago.py` (AlphaGo and its stages, on records and on games of policies) and
`learn_zero.py` (from nothing but the rules); here are those that measure a model or a run.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, cast

import typer

from tengen.cli.learn_alphago import alphago, fast_policy, reinforce, supervised, sweep, value
from tengen.cli.learn_zero import generations, zero
from tengen.cli.options import JsonFile, formerly, group
from tengen.cli.progress import Progress

if TYPE_CHECKING:
    from rich.table import Table

    from tengen.learn.evaluate import ModelEvaluation, PolicyMeasures, ValueErrors


_WRITERS: Final = {
    "supervised": "report:write_report",
    "zero": "game_report:write_zero_report",
    "reinforce": "game_report:write_reinforce_report",
    "value": "report:write_value_curves",
    "generations": "report:write_generation_curves",
    "alphago": "game_report:write_alphago_report",
}
"""The function that writes the report of each kind of run."""


@formerly(json_file="json")
def evaluate(
    model: Annotated[str, typer.Argument(help="A policy model: a bundled one by name (go19), or a .safetensors file.")],
    data: Annotated[Path, typer.Option(help="A dataset, as `tengen data build` makes it.")],
    split: Annotated[str, typer.Option(help="Which games: test, train or all.")] = "test",
    positions: Annotated[int, typer.Option(min=0, help="How many positions, drawn at random; 0 for all.")] = 20_000,
    min_rank: Annotated[
        int, typer.Option(help="Both players at least so strong (1 is 1 dan, 11 professional 1 dan); 0 for any.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Draws the positions.")] = 0,
    backend: Annotated[str, typer.Option(help="What runs the network: openvino, int8 or torch.")] = "openvino",
    threads: Annotated[int, typer.Option(min=1, help="Threads that run the network.")] = 1,
    json_file: JsonFile = None,
) -> None:
    """Measure a model on a dataset: top-1, top-5, loss, top-1 by phase of the game, and the loss of its value.

    The value loss is the mean squared error of the value over positions of games with a known result, 1 or -1, or 0
    for a draw: always guessing 0 has a loss of 1.

    The train/test split is a hash of the game, so it is the same in every dataset: a model that was trained by
    `tengen learn` has not seen the test games.

    [bold]Example[/bold]  [cyan]tengen learn evaluate go19 --data datasets/kgs --json-file go19.json[/cyan]
    """
    from rich.console import Console

    from tengen.data.dataset import Split
    from tengen.learn.evaluate import evaluate_policy
    from tengen.runs.files import write_atomically

    _check_split(split)
    with Progress() as progress:
        evaluation = evaluate_policy(
            model,
            data,
            cast(Split, split),
            positions,
            min_rank=min_rank or None,
            seed=seed,
            backend=backend,
            threads=threads,
            on_progress=_counting(progress),
        )
    console = Console(highlight=False)
    console.print(
        f"{evaluation.card.network} on {evaluation.card.encoder}, {evaluation.measures.positions:,} positions of "
        f"{evaluation.games:,} {'' if split == 'all' else split + ' '}games of {data}",
        markup=False,
        soft_wrap=True,
    )
    console.print(_accuracies(evaluation))
    console.print(_phases(evaluation.measures))
    if json_file is not None:
        write_atomically(json_file, (json.dumps(evaluation.as_dict(), indent=2) + "\n").encode())


@formerly(json_file="json")
def value_error(
    model: Annotated[str, typer.Argument(help="A model with a value: a bundled one by name, or a .safetensors file.")],
    data: Annotated[Path, typer.Option(help="Positions, as `tengen learn value` makes them (RUN/games).")],
    split: Annotated[str, typer.Option(help="Which games: test, train or all.")] = "test",
    positions: Annotated[int, typer.Option(min=0, help="How many positions, drawn at random; 0 for all.")] = 0,
    playouts: Annotated[int, typer.Option(min=1, help="Rollouts from each position, beside a single one.")] = 32,
    fast: Annotated[str, typer.Option(help="The fast policy of rollouts; empty: the bundled one for the board.")] = "",
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the playouts.")] = 1,
    backend: Annotated[str, typer.Option(help="What runs the network: fastest, openvino, int8 or torch.")] = "fastest",
    plot: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Draw the errors by move here.")] = None,
    json_file: JsonFile = None,
) -> None:
    """Measure the value of a model on one position of each game, beside rollouts from the same positions.

    Rollouts are played by the fast policy and by the guided playouts of the game, one or several from each position.
    The error is the mean of (z - v)^2, z being 1 if the player to move won and -1 if not: always saying 0 has an error
    of 1. It is given with its standard error, for all positions and by the number of moves, as in Figure 2b of the
    AlphaGo paper. A model that learned from these positions has not seen the test games.

    [bold]Example[/bold]  [cyan]tengen learn value-error runs/value9/best.safetensors --data runs/value9/games
    --plot value9.png[/cyan]
    """
    from rich.console import Console

    from tengen.data.dataset import Split
    from tengen.learn.evaluate import NETWORK, measure_value_error
    from tengen.learn.report import draw_value_errors
    from tengen.runs.files import write_atomically

    _check_split(split)
    with Progress() as progress:
        errors = measure_value_error(
            model,
            data,
            cast(Split, split),
            positions,
            playouts=playouts,
            fast=fast,
            backend=backend,
            seed=seed,
            on_progress=_counting(progress),
        )
    console = Console(highlight=False)
    games = f"{len(errors.plies):,} {'' if split == 'all' else split + ' '}games"
    console.print(f"{model}: mean of (z - v)^2 ± standard error on one position of each of {games}", soft_wrap=True)
    console.print(_errors_by_move(errors))
    for name in errors.squares:
        if name != NETWORK:
            lead, error = errors.lead(name)
            word = "lower" if lead > 0 else "higher"
            console.print(f"The network's error is {abs(lead):.4f} ± {error:.4f} {word} than that of {name}")
    if plot is not None:
        write_atomically(plot, draw_value_errors(errors))
    if json_file is not None:
        write_atomically(json_file, (json.dumps(errors.as_dict(), indent=2) + "\n").encode())


def ratings(
    run: Annotated[Path, typer.Argument(help="Directory of a run of `tengen learn zero`, finished or not.")],
    generations: Annotated[
        int, typer.Option(min=2, help="How many generations meet, the first and the last included.")
    ] = 8,
    games: Annotated[int, typer.Option(min=1, help="Games of every two of them.")] = 40,
    simulations: Annotated[int, typer.Option(min=0, help="Simulations per move; 0: as in the run.")] = 0,
    workers: Annotated[int, typer.Option(min=0, help="Processes that play; 0: one a core.")] = 0,
) -> None:
    """Rate a sample of a run's generations by a round robin.

    Every two of them play the same number of games, both colours alike; ratings are those of the Bradley-Terry
    model. The outcome is a table here, and ratings.json and ratings.png in the run's directory.
    [bold]Run the same command to resume[/bold] where it was stopped.

    [bold]Example[/bold]  [cyan]tengen learn ratings runs/go5 --generations 10 --games 100[/cyan]
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from tengen.learn.duel import PICTURE_FILE, round_robin

    with Progress() as progress, progress.resumable(run):

        def show(done: int, wanted: int) -> None:
            progress.update(f"{done} of {wanted} duels", done / wanted)

        found = round_robin(run, generations, games, simulations, workers, show)
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("generation", "Elo", "±", "games", "score"):
        table.add_column(name, justify="right")
    for generation, rating in sorted(found.items(), key=lambda pair: -pair[1].elo):
        reach = f"{1.96 * rating.error:.0f}"
        table.add_row(f"g{generation}", f"{rating.elo:.0f}", reach, f"{rating.games:,}", f"{rating.score:.1%}")
    console = Console(highlight=False)
    console.print(table)
    console.print(f"Picture    {run / PICTURE_FILE}", markup=False, soft_wrap=True)


def report(
    run: Annotated[Path, typer.Argument(help="Directory of a run, finished or under way.", show_default=False)],
) -> None:
    """Write report.html, curves.png or both into the directory of a run, as training does at its end and now and then.

    Of `supervised`: curves of loss, accuracy and learning rate, accuracy by phase of the game, and a sheet of test
    positions with the network's moves as a heat map. Of `zero`: its strength, its losses and its newest games. Of
    `reinforce`: its matches against the policy of the start. Of `alphago`: a page of all its stages. Of `value` and
    `generations`: curves.

    [bold]Example[/bold]  [cyan]tengen learn report runs/go19[/cyan]
    """
    from pkgutil import resolve_name

    from tengen.runs.folder import kind_of_run

    kind = kind_of_run(run)
    if kind not in _WRITERS:
        known = ", ".join(_WRITERS)
        raise ValueError(f"{run} holds no run with a report: its kind is {kind or 'not known'}, not one of {known}")
    path: Path = resolve_name(f"tengen.learn.{_WRITERS[kind]}")(run)
    typer.echo(f"{'Report' if path.suffix == '.html' else 'Curves':<10} {path}")


def _check_split(split: str) -> None:
    if split not in ("test", "train", "all"):
        raise ValueError(f"no split is called {split!r}: choose test, train or all")


def _counting(progress: Progress) -> Callable[[int, int], None]:
    return lambda done, wanted: progress.update(f"{done:,} of {wanted:,} positions", done / max(1, wanted))


def _accuracies(evaluation: "ModelEvaluation") -> "Table":
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

    from tengen.learn.evaluate import phase_name

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("phase")
    table.add_column("positions", justify="right")
    table.add_column("top-1", justify="right")
    for phase, (seen, right) in measures.by_phase.items():
        if seen:
            table.add_row(phase_name(phase), f"{seen:,}", f"{right / seen:.2%}")
    return table


def _errors_by_move(errors: "ValueErrors") -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("moves")
    for name in ("positions", *errors.squares):
        table.add_column(name, justify="right")
    rows = [("all", None), *((f"{first}-{last}", chosen) for (first, last), chosen in errors.by_move().items())]
    for moves, chosen in rows:
        count = len(errors.plies) if chosen is None else int(chosen.sum())
        means = (errors.mean(name, chosen) for name in errors.squares)
        table.add_row(moves, f"{count:,}", *(f"{mean:.3f} ± {error:.3f}" for mean, error in means))
    return table


learn = group(
    "Train networks, and see how well they do.",
    {
        "supervised": supervised,
        "fast-policy": fast_policy,
        "reinforce": reinforce,
        "value": value,
        "value-error": value_error,
        "alphago": alphago,
        "zero": zero,
        "generations": generations,
        "ratings": ratings,
        "evaluate": evaluate,
        "report": report,
        "sweep": sweep,
    },
)
