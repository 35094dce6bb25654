"""`tengen perft`: count the move sequences of a game, the usual check of a move generator."""

from typing import Annotated

import typer


def perft(
    game: Annotated[str, typer.Argument(help="the game: microchess")] = "microchess",
    depth: Annotated[int, typer.Option(min=1, max=9, help="how many moves deep")] = 6,
    double_step: Annotated[bool, typer.Option(help="whether pawns may begin with two steps")] = True,
    fen: Annotated[str, typer.Option(help="the position to begin with")] = "",
) -> None:
    """Count the sequences of legal moves, depth by depth, with the time each took."""
    from time import perf_counter

    from tengen.games.microchess import START_FEN, GameState
    from tengen.games.microchess.perft import perft as count

    if game != "microchess":
        raise ValueError(f"perft knows only microchess, not {game[:40]!r}")
    board = GameState.from_fen(fen or START_FEN, double_step=double_step).board
    count(board, 2)  # compiled before the clock runs
    for level in range(1, depth + 1):
        started = perf_counter()
        found = count(board, level)
        typer.echo(f"{level:2d} {found:14d} {perf_counter() - started:9.3f} s")
