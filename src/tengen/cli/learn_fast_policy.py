"""`tengen learn fast-policy`: a linear policy for playouts, learned from a dataset."""

from pathlib import Path
from typing import Annotated

import typer


def fast_policy(
    data: Annotated[Path, typer.Option("--data", "-d", help="Folder of the dataset.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o", help="Model file to write.", show_default=False)],
    games: Annotated[int, typer.Option(help="Games to draw; 0 for all.")] = 0,
    passes: Annotated[int, typer.Option(help="How often to go through them.")] = 1,
    rate: Annotated[float, typer.Option(help="Learning rate at the beginning; it falls to zero.")] = 0.2,
    batch: Annotated[int, typer.Option(help="Games side by side: positions in a mini-batch.")] = 64,
    chunk: Annotated[int, typer.Option(help="Games between two validations.")] = 1000,
    validate: Annotated[int, typer.Option(help="Test games for a validation; 0 for all.")] = 200,
    size: Annotated[int, typer.Option("--size", "-s", help="Board size of the games.")] = 19,
    min_rank: Annotated[int, typer.Option(help="Weakest player, 1 for 1 dan, 11 for professionals; 0 for any.")] = 0,
    seed: Annotated[int, typer.Option(help="The same seed gives the same policy.")] = 1,
) -> None:
    """Learn the fast policy of the AlphaGo paper: local shapes and simple tactics, microseconds a move.

    [bold]The same command goes on[/bold] where it was stopped.

    [bold]Example[/bold]

    [cyan]tengen learn fast-policy --data datasets/kgs --out fast19.safetensors[/cyan]
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as ProgressBar

    from tengen.learn.fast_policy import FastPolicyConfig, FastProgress, train_fast_policy

    config = FastPolicyConfig(str(data), games, passes, rate, batch, chunk, validate, size, min_rank, seed)
    console = Console(stderr=True, highlight=False)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with ProgressBar(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("games", total=None)

        def advance(now: FastProgress) -> None:
            bar.update(task, completed=now.games, total=now.games_in_all)
            bar.console.print(
                f"{now.games:>8,} games, {now.positions:>11,} positions: loss {now.loss:.4f}; test loss "
                f"{now.validation['loss']:.4f}, top-1 {now.validation['top1']:.1%}, "
                f"top-5 {now.validation['top5']:.1%} ({now.speed:,.0f} positions/s)",
                soft_wrap=True,
            )

        validation = train_fast_policy(config, out, advance)
    typer.echo(f"top-1 {validation['top1']:.2%}, top-5 {validation['top5']:.2%}, loss {validation['loss']:.4f}: {out}")
