"""`tengen agents`: who can play, and with which settings."""


def agents() -> None:
    """List every kind of agent with its settings, and the models that come with Tengen."""
    from rich.console import Console
    from rich.table import Table

    from tengen.agents.registry import agent_kinds
    from tengen.nets.bundled import bundled_models

    table = Table("spec", "who plays, and its settings with their defaults", show_lines=True)
    for kind, text in agent_kinds().items():
        table.add_row(kind, text)
    Console().print(table)
    Console().print(f"Models: {', '.join(bundled_models()) or 'none'}. Example: uct:playouts=20000,resign=0.1")
