"""`tengen models list`: the models that come with Tengen."""


def list_models() -> None:
    """List the models that come with Tengen: what each one learned, and how strong it is.

    Use a name wherever a model is asked for: [cyan]tengen play --size 5 --opponent zero:go5[/cyan]
    """
    from rich.console import Console
    from rich.table import Table

    from tengen.cli.models_show import board_of, komi_of, strength_of
    from tengen.nets.bundled import bundled_models
    from tengen.nets.model_file import read_card

    table = Table.grid(padding=(0, 2))
    for name, path in bundled_models().items():
        card = read_card(path)
        komi = f", komi {komi_of(card)}" if komi_of(card) else ""
        learned = f"{card.game} {board_of(card)}, {card.conditions['rules'] or 'any'} rules{komi}"
        table.add_row(name, f"{learned}; encoder {card.encoder}; {path.stat().st_size / 1e6:.1f} MB")
        table.add_row("", strength_of(card))
    Console(highlight=False, markup=False).print(table)
