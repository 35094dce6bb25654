"""`tengen data show`: one game of a dataset, as a board in the terminal or as a picture."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tengen.data.dataset import Dataset


def show(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A dataset, as `tengen data build` makes it.", show_default=False)
    ],
    game: Annotated[int, typer.Option("--game", "-g", help="Which game: 0 is the first.")] = 0,
    move: Annotated[
        int | None,
        typer.Option("--move", "-m", help="After how many moves; the end if not given.", show_default=False),
    ] = None,
    svg: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the board as an SVG picture instead.", show_default=False),
    ] = None,
) -> None:
    """Show a position of a game: the board, the next move, and what is known of the game.

    [bold]Examples[/bold]

    [cyan]tengen data show datasets/kgs --game 1234 --move 50[/cyan]

    [cyan]tengen data show datasets/kgs --game 1234 --svg board.svg[/cyan]
    """
    from tengen.data.dataset import Dataset, DatasetError, position_of
    from tengen.games.go.draw import board_svg

    dataset = Dataset.open(folder)
    length = len(dataset.moves_of(game))
    ply = length if move is None else move
    if not 0 <= ply <= length:
        raise DatasetError(f"game {game} has no position after {ply} moves: give 0 to {length}")
    state = position_of(dataset, game, ply)
    if svg is not None:
        svg.write_text(board_svg(state), encoding="utf-8")
        typer.echo(f"Wrote {svg}")
        return
    typer.echo("\n".join(str(state).splitlines()[:-1]))  # without its last line, which scores by the rules
    for line in _facts(dataset, game, ply):
        typer.echo(line)


def _facts(dataset: "Dataset", game: int, ply: int) -> list[str]:
    """Lines about the game beneath the board."""
    from tengen.data.dataset import is_test
    from tengen.data.statistics import rank_name

    columns = dataset.columns
    moves = len(dataset.moves_of(game))
    black, white = (rank_name(int(columns[name][game])) for name in ("black_rank", "white_rank"))
    komi = float(columns["komi"][game])
    year = int(columns["year"][game])
    split = "test" if is_test(columns["digest"][game : game + 1])[0] else "train"
    played = f"Move {ply} of {moves}" + (f": {_move(dataset, game, ply - 1)}" if ply else "")
    following = f"; next {_move(dataset, game, ply)}" if ply < moves else "; the end"
    return [
        played + following,
        f"Game {game} ({split}), Black {black}, White {white}, {year or 'year unknown'}",
        f"Result {dataset.text('result', game) or 'unknown'}, komi {'unknown' if math.isnan(komi) else f'{komi:g}'}, "
        f"handicap {columns['handicap'][game]}, {dataset.text('rules', game) or 'unknown'} rules",
        f"Source {dataset.text('source', game)}",
    ]


def _move(dataset: "Dataset", game: int, ply: int) -> str:
    from tengen.games.go import BLACK, to_gtp

    color, move = dataset.move_of(game, ply)
    return f"{'Black' if color == BLACK else 'White'} {to_gtp(move, int(dataset.columns['size'][game]))}"
