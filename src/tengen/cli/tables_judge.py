"""`tengen tables judge`: how well endgames were played, measured by the exact tables."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tengen.games import microchess


def judge(
    games: Annotated[list[Path], typer.Argument(help="PGN files, or folders of them such as matches/NAME/games.")],
    folder: Annotated[Path | None, typer.Option(help="Folder of the tables; your cache folder if not given.")] = None,
    examples: Annotated[int, typer.Option(min=0, help="How many mistakes to show as positions.")] = 3,
) -> None:
    """Count how often each player threw away a win or a draw in positions of the tables.

    Games under other rules than standard are left out, for the tables hold for those alone.

    Example: [cyan]tengen tables judge matches/zero-vs-fairy-stockfish-1f2e3d4c[/cyan]
    """
    from rich.console import Console
    from rich.table import Column, Table

    from tengen.arena.statistics import wilson_interval
    from tengen.solve.endgame_tables import EvaluatedMove, Tables, evaluate_games

    moves: dict[str, list[EvaluatedMove]] = defaultdict(list)
    opened: dict[bool, Tables] = {}
    read = 0
    for state, names in _read(games):
        tables = opened.setdefault(state.double_step, Tables.open(folder, state.double_step))
        read += 1
        for move in evaluate_games(tables, [state]):
            moves[names[move.player - 1]].append(move)
    if not read:
        raise ValueError(f"no game under standard rules is in {', '.join(map(str, games))}")
    console = Console(highlight=False)
    table = Table(
        Column("player", overflow="fold"), "moves", "wins thrown away", "draws thrown away", "mistakes", "95%"
    )
    for name, judged in sorted(moves.items()):
        wrong = [move for move in judged if move.is_mistake]
        low, high = wilson_interval(len(wrong), len(judged))
        wins = sum(move.before == 1 for move in wrong)
        share = f"{len(wrong) / len(judged):.2%}"
        table.add_row(name, f"{len(judged):,}", str(wins), str(len(wrong) - wins), share, f"{low:.2%} to {high:.2%}")
    console.print(table)
    for name, judged in sorted(moves.items()):
        for move in [move for move in judged if move.is_mistake][:examples]:
            played = move.state.move_name(move.move)
            console.print(f"{name}: {move.state.fen()}  {played}", markup=False, soft_wrap=True)
    console.print(f"Games  {read:,}")


def _read(paths: Iterable[Path]) -> "Iterable[tuple[microchess.State, tuple[str, str]]]":
    """The last states of all games under standard rules, with the names of White and Black."""
    from tengen.games.microchess.record import from_pgn

    for path in paths:
        files = sorted(path.rglob("*.pgn")) if path.is_dir() else [path]
        for file in files:
            try:
                state, tags = from_pgn(file.read_text(encoding="utf-8"))
            except ValueError as error:
                raise ValueError(f"{file}: {error}") from None
            if state.rules == "standard":
                yield state, (tags.get("White", "White"), tags.get("Black", "Black"))
