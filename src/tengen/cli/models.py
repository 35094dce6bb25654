"""`tengen models` and `tengen agents`: what can play here, and publishing a model of one's own."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tengen.cli.options import DEFAULT_GAME, GAMES, default_group, group
from tengen.cli.progress import Progress

if TYPE_CHECKING:
    from tengen.nets.model_file import ModelCard


def list_agents() -> None:
    """List every kind of agent with its settings, and the models that come with Tengen.

    [cyan]tengen agents new strategy.py[/cyan] writes a file to begin a player of your own with.
    """
    from rich.console import Console
    from rich.table import Table

    from tengen.agents.registry import agent_kinds
    from tengen.nets.model_file import bundled_models

    table = Table("spec", "who plays, and its settings with their defaults", show_lines=True)
    for kind, text in agent_kinds().items():
        table.add_row(kind, text)
    Console().print(table)
    Console().print(f"Models: {', '.join(bundled_models()) or 'none'}. Example: uct:playouts=20000,resign=0.1")


def new(
    file: Annotated[Path, typer.Argument(help="The file to write, such as strategy.py.")],
    game: Annotated[str, typer.Option(help=f"The game that it is for: {GAMES}.")] = DEFAULT_GAME,
) -> None:
    """Write a Python file to begin your own player with: a legal one, with a test and three exercises.

    Play it wherever a spec is asked for. This runs the code of the file on your machine:

    [cyan]tengen match strategy.py random --size 5 --games 10[/cyan]

    [cyan]tengen play --size 5 --opponent strategy.py[/cyan]
    """
    from tengen.agents.new_agent import starting_file
    from tengen.games.game import get_game
    from tengen.runs.files import write_atomically

    if file.suffix != ".py":
        raise ValueError(f"{file} is no name of a Python file: it should end in .py")
    if file.exists():
        raise ValueError(f"{file} is there already: choose another name")
    if not file.absolute().parent.is_dir():
        raise ValueError(f"there is no folder {file.parent}: create it first")
    write_atomically(file, starting_file(get_game(game), file.name).encode())
    board = " --size 5" if game == "go" else f" --game {game}"
    typer.echo(f"{file} is ready: edit `choose`, then try\n  tengen match {file} random{board} --games 10")


def list_models() -> None:
    """List the models that come with Tengen: what each one learned, and how strong it is.

    Use a name wherever a model is asked for: [cyan]tengen play --size 5 --opponent zero:go5[/cyan]
    """
    from rich.console import Console
    from rich.table import Table

    from tengen.nets.model_file import bundled_models, read_card

    table = Table.grid(padding=(0, 2))
    for name, path in bundled_models().items():
        card = read_card(path)
        komi = f", komi {_komi_of(card)}" if _komi_of(card) else ""
        learned = f"{card.game} {_board_of(card)}, {card.conditions['rules'] or 'any'} rules{komi}"
        table.add_row(name, f"{learned}; encoder {card.encoder}; {path.stat().st_size / 1e6:.1f} MB")
        table.add_row("", _strength_of(card))
    Console(highlight=False, markup=False).print(table)


def show(
    model: Annotated[str, typer.Argument(help="Name of a bundled model, or path of a .safetensors file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole card as JSON.")] = False,
) -> None:
    """Show what a model is for, what it is made of and how it learned.

    [bold]Examples[/bold]

    [cyan]tengen models show go5[/cyan]

    [cyan]tengen models show runs/go9/best.safetensors --json[/cyan]
    """
    import json
    from dataclasses import asdict

    from rich.console import Console
    from rich.table import Table

    from tengen.nets.model_file import find_model, is_calibrated, read_card

    path = find_model(model)
    card = read_card(path)
    if as_json:
        typer.echo(json.dumps(asdict(card), indent=2))
        return
    known = {
        "file": f"{path}, {path.stat().st_size / 1e6:.1f} MB",
        "game": f"{card.game}, {_board_of(card)}",
        "rules": card.conditions["rules"] or "any",
        "komi": _komi_of(card),
        "double step": {True: "yes", False: "no", None: ""}[card.conditions["double_step"]],
        "encoder": f"{card.encoder}, {card.planes} planes",
        "network": ", ".join([card.network, *(f"{name}={value}" for name, value in card.arguments.items())]),
        "int8": "calibrated" if is_calibrated(path) else "not calibrated",
        "strength": _strength_of(card),
        "written by": f"tengen {card.tengen}",
    }
    known |= {name.replace("_", " "): _text(value) for name, value in card.training.items() if name not in known}
    table = Table.grid(padding=(0, 2))
    for name, text in known.items():
        if text:
            table.add_row(name, text)
    Console(highlight=False, markup=False).print(table)


def export(
    source: Annotated[
        str, typer.Argument(metavar="RUN", help="Directory of a run, or a model: a path or a bundled name.")
    ],
    name: Annotated[str, typer.Argument(help="What the model is to be called.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the file.")] = Path("models"),
    opponent: Annotated[str, typer.Option(help="Spec of the opponent in the smoke match.")] = "random",
    games: Annotated[int, typer.Option(min=0, help="Games of the smoke match; 0: no match.")] = 6,
    strength: Annotated[str, typer.Option(help="A line for the card about how strong the model is.")] = "",
    data: Annotated[
        Path | None, typer.Option(help="A dataset of game records to find the int8 ranges on, for a model without any.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file of this name.")] = False,
) -> None:
    """Publish a model: one file with 16-bit weights, int8 ranges, a complete card and the result of a smoke match.

    RUN is the directory of `tengen learn zero` or `tengen learn supervised`, whose best model is taken. Ranges that
    the model has are kept; else they are found on positions that the run has kept, or of --data. The match is played
    in the conditions that the model learned. Nothing is written before it is over.

    [bold]Examples[/bold]

    [cyan]tengen models export runs/go9 go9 --opponent uct:playouts=300[/cyan]

    [cyan]tengen models export go19 mine --data datasets/kgs[/cyan]

    [cyan]tengen play --size 9 --opponent zero:models/go9.safetensors[/cyan]
    """
    from rich.console import Console

    from tengen.learn.export import export_model

    with Progress() as progress:
        path, card = export_model(
            source,
            name,
            out,
            opponent=opponent,
            games=games,
            strength=strength,
            data=data,
            force=force,
            report=progress.update,
        )
    console = Console(highlight=False, markup=False, soft_wrap=True)
    smoke, agreed = card.training.get("smoke"), card.training.get("int8")
    if games and smoke:
        score = "{wins} won, {draws} drawn, {losses} lost".format_map(smoke)
        console.print(f"Smoke match  {smoke['agent']} against {smoke['opponent']}: {score}")
    if agreed:
        console.print(f"int8         same first choice as in floats in {agreed['top1']:.1%} of the positions")
    console.print(f"Model        {path}, {path.stat().st_size / 1e6:.1f} MB")


def _board_of(card: "ModelCard") -> str:
    """`9x9`, columns first."""
    return f"{card.width or card.size}x{card.size}"


def _komi_of(card: "ModelCard") -> str:
    """`7.5`, `5 to 9`, or nothing."""
    komi = card.conditions["komi"]
    if komi is None:
        return ""
    return f"{komi[0]:g}" if komi[0] == komi[1] else f"{komi[0]:g} to {komi[1]:g}"


def _strength_of(card: "ModelCard") -> str:
    """One line about how well a model plays: its publisher's, or else what was measured last."""
    training = card.training
    if training.get("strength"):
        return str(training["strength"])
    smoke, validation = training.get("smoke"), training.get("validation")
    if isinstance(smoke, dict):
        return "won {wins} of {games} games against {opponent}".format_map(smoke)
    if isinstance(validation, dict) and "top1" in validation:
        return f"predicts {validation['top1']:.1%} of the moves of test games"
    return ""


def _text(value: Any) -> str:
    """A value of a card for people."""
    if isinstance(value, dict):
        return ", ".join(f"{name}={_text(entry)}" for name, entry in value.items())
    if isinstance(value, list):
        return " to ".join(map(_text, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


agents = default_group("List the agents, or begin a player of your own.", {"list": list_agents, "new": new})
models = group("Look at models and publish them.", {"list": list_models, "show": show, "export": export})
