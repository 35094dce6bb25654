"""`tengen models show`: the card of a model."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from tengen.nets.model_file import ModelCard


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

    from tengen.nets.bundled import find_model
    from tengen.nets.model_file import is_calibrated, read_card

    path = find_model(model)
    card = read_card(path)
    if as_json:
        typer.echo(json.dumps(asdict(card), indent=2))
        return
    known = {
        "file": f"{path}, {path.stat().st_size / 1e6:.1f} MB",
        "game": f"{card.game}, {board_of(card)}",
        "rules": card.conditions["rules"] or "any",
        "komi": komi_of(card),
        "double step": {True: "yes", False: "no", None: ""}[card.conditions["double_step"]],
        "encoder": f"{card.encoder}, {card.planes} planes",
        "network": ", ".join([card.network, *(f"{name}={value}" for name, value in card.arguments.items())]),
        "int8": "calibrated" if is_calibrated(path) else "not calibrated",
        "strength": strength_of(card),
        "written by": f"tengen {card.tengen}",
    }
    known |= {name.replace("_", " "): _text(value) for name, value in card.training.items() if name not in known}
    table = Table.grid(padding=(0, 2))
    for name, text in known.items():
        if text:
            table.add_row(name, text)
    Console(highlight=False, markup=False).print(table)


def board_of(card: "ModelCard") -> str:
    """`9x9`, columns first."""
    return f"{card.width or card.size}x{card.size}"


def komi_of(card: "ModelCard") -> str:
    """`7.5`, `5 to 9`, or nothing."""
    komi = card.conditions["komi"]
    if komi is None:
        return ""
    return f"{komi[0]:g}" if komi[0] == komi[1] else f"{komi[0]:g} to {komi[1]:g}"


def strength_of(card: "ModelCard") -> str:
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
