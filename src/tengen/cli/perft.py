"""`tengen perft`: count the move sequences of a game, the usual check of a move generator."""

from typing import Annotated

import typer


def perft(
    game: Annotated[str, typer.Argument(help="The game: microchess.")] = "microchess",
    depth: Annotated[int, typer.Option(min=1, max=9, help="How many moves deep.")] = 6,
    double_step: Annotated[bool, typer.Option(help="Whether pawns may begin with two steps.")] = True,
    fen: Annotated[
        str | None, typer.Option(help="The position to begin with; the start if not given.", show_default=False)
    ] = None,
) -> None:
    """Count the sequences of legal moves, depth by depth, with the time each took.

    Example: [cyan]tengen perft microchess --depth 7 --no-double-step[/cyan]
    """
    from time import perf_counter

    from tengen._kernel_cache import is_cold

    if game != "microchess":
        raise ValueError(f"perft knows only microchess, not {game[:40]!r}")
    if is_cold():
        typer.echo("compiling the rules engine, once: about a minute", err=True)

    from tengen.games.microchess import START_FEN, GameState
    from tengen.games.microchess.perft import perft as count

    position = START_FEN if fen is None else fen
    board = GameState.from_fen(position, double_step=double_step).board
    rule = "with the" if double_step else "no"
    typer.echo(f"Microchess, {rule} double step, up to {depth} moves from {position}")
    count(board, 2)  # compiled before the clock runs
    for level in range(1, depth + 1):
        started = perf_counter()
        found = count(board, level)
        typer.echo(f"{level:2d} {found:14d} {perf_counter() - started:9.3f} s")
