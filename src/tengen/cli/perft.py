"""`tengen perft`: count the move sequences of a game, the usual check of a move generator."""

from typing import Annotated

import typer

from tengen.cli.options import GAMES, DoubleStep, OtherOptions, Rules, Size, given_options
from tengen.cli.progress import say_if_cold

_USUAL_DEPTH = 6
_MANY = 200_000  # sequences, after which no deeper level is counted unless it is asked for


def perft(
    game: Annotated[str, typer.Argument(help=f"The game: {GAMES}.")] = "microchess",
    depth: Annotated[
        int | None,
        typer.Option(min=1, max=9, help="How many moves deep; 6, or fewer where that is millions, if not given."),
    ] = None,
    size: Size = None,
    rules: Rules = None,
    double_step: DoubleStep = None,
    option: OtherOptions = None,
    fen: Annotated[
        str | None, typer.Option(help="Microchess: the position to begin with; the start if not given.")
    ] = None,
) -> None:
    """Count the sequences of legal moves, depth by depth, with the time each took.

    Example: [cyan]tengen perft microchess --depth 7 --no-double-step[/cyan]
    """
    from time import perf_counter

    say_if_cold()

    from tengen.games.game import get_game

    played = get_game(game)
    options = played.options.of(given_options(option, size=size, rules=rules, double_step=double_step))
    state = played.new(options) if fen is None else played.position(fen, options)
    position = "the start position" if fen is None else fen
    typer.echo(f"{played.describe(options)}, up to {depth or _USUAL_DEPTH} moves from {position}")
    played.perft(state, 2)  # compiled before the clock runs
    for level in range(1, (depth or _USUAL_DEPTH) + 1):
        started = perf_counter()
        found = played.perft(state, level)
        typer.echo(f"{level:2d} {found:14d} {perf_counter() - started:9.3f} s")
        if depth is None and found > _MANY:
            typer.echo("the next would be too many: give --depth to count them all the same")
            break
