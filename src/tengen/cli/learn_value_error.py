"""`tengen learn value-error`: how far the value of a model is from the results of games, and rollouts beside it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from tengen.learn.value_error import ValueErrors


def value_error(
    model: Annotated[str, typer.Argument(help="A model with a value: a bundled one by name, or a .safetensors file.")],
    data: Annotated[
        Path, typer.Option(help="Positions, as `tengen learn value` makes them (RUN/games).", show_default=False)
    ],
    split: Annotated[str, typer.Option(help="Which games: test, train or all.")] = "test",
    positions: Annotated[int, typer.Option(min=0, help="How many positions, drawn at random; 0 for all.")] = 0,
    playouts: Annotated[int, typer.Option(min=1, help="Rollouts from each position, beside a single one.")] = 32,
    fast: Annotated[
        str, typer.Option(help="The fast policy of rollouts; empty: the bundled one for the board.", show_default=False)
    ] = "",
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the playouts.")] = 1,
    backend: Annotated[str, typer.Option(help="What runs the network: fastest, openvino, int8 or torch.")] = "fastest",
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw the errors by move here.", show_default=False)
    ] = None,
    as_json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Also write the figures here.", show_default=False)
    ] = None,
) -> None:
    """Measure the value of a model on one position of each game, beside rollouts from the same positions.

    Rollouts are played by the fast policy and by the guided playouts of the game, one or several from each position.
    The error is the mean of (z - v)^2, z being 1 if the player to move won and -1 if not: always saying 0 has an error
    of 1. It is given with its standard error, for all positions and by the number of moves, as in Figure 2b of the
    AlphaGo paper. A model that learned from these positions has not seen the test games.

    [bold]Example[/bold]  [cyan]tengen learn value-error runs/value9/best.safetensors --data runs/value9/games
    --plot value9.png[/cyan]
    """
    from typing import cast

    from rich.console import Console
    from rich.progress import Progress

    from tengen._files import write_atomically
    from tengen.data.dataset import Split
    from tengen.learn.value_error import NETWORK, draw_value_errors, measure_value_error

    if split not in ("test", "train", "all"):
        raise ValueError(f"no split is called {split!r}: choose test, train or all")
    screen = Console(stderr=True)
    with Progress(console=screen, disable=not screen.is_terminal, transient=True) as bar:
        task = bar.add_task("positions", total=None)
        errors = measure_value_error(
            model,
            data,
            cast(Split, split),
            positions,
            playouts=playouts,
            fast=fast,
            backend=backend,
            seed=seed,
            on_progress=lambda done, wanted: bar.update(task, completed=done, total=wanted),
        )
    console = Console(highlight=False)
    games = f"{len(errors.plies):,} {'' if split == 'all' else split + ' '}games"
    console.print(f"{model}: mean of (z - v)^2 ± standard error on one position of each of {games}", soft_wrap=True)
    console.print(_table(errors))
    for name in errors.squares:
        if name != NETWORK:
            lead, error = errors.lead(name)
            word = "lower" if lead > 0 else "higher"
            console.print(f"The network's error is {abs(lead):.4f} ± {error:.4f} {word} than that of {name}")
    if plot is not None:
        write_atomically(plot, draw_value_errors(errors))
    if as_json is not None:
        write_atomically(as_json, (json.dumps(errors.as_dict(), indent=2) + "\n").encode())


def _table(errors: "ValueErrors") -> "Table":
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
