"""`tengen tables`: exact endgame tables of Microchess."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tengen.cli.options import group
from tengen.cli.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console

    from tengen.games import microchess
    from tengen.solve.endgame_index import Material
    from tengen.solve.endgame_tables import TableFacts, Tables

_LINE_PLIES = 24  # of the line of best play that is shown

GameArgument = Annotated[str, typer.Argument(metavar="[GAME]", help="The game: microchess.")]
Folder = Annotated[Path | None, typer.Option(help="Folder of the tables; your cache folder if not given.")]
Step = Annotated[bool, typer.Option(help="Tables for games with or without the double step of pawns.")]
Threads = Annotated[int | None, typer.Option("--workers", "-w", min=1, help="Threads; one per CPU if not given.")]


def build(
    game: GameArgument = "microchess",
    pieces: Annotated[int, typer.Option(min=3, max=5, help="Most pieces on the board, kings included.")] = 5,
    out: Annotated[
        Path | None,
        typer.Option("--folder", "--out", "-o", help="Folder for the tables; your cache folder if not given."),
    ] = None,
    double_step: Step = True,
    workers: Threads = None,
) -> None:
    """Solve every endgame with up to --pieces pieces: the winner, and the moves to mate.

    About a minute of work and 20 MB for five pieces. [bold]Run the same command to resume[/bold] a stopped build.

    [bold]Examples[/bold]

    [cyan]tengen tables build microchess --pieces 5[/cyan]

    [cyan]tengen tables build microchess --pieces 4 --no-double-step --out tables[/cyan]
    """
    from time import perf_counter

    from rich.console import Console

    _only_microchess(game)

    from tengen.solve.endgame_build import build_tables
    from tengen.solve.endgame_index import Material, all_materials
    from tengen.solve.endgame_tables import tables_folder

    folder = out or tables_folder()
    fresh, solved = 0, 2
    started = perf_counter()
    total = len(all_materials(pieces))
    count = 0
    with Progress() as progress:

        def advance(facts: "TableFacts", built: bool) -> None:
            nonlocal count, fresh, solved
            count += 1
            fresh += built
            reached = Material.parse(facts.material).pieces
            if reached > solved and not progress.console.is_terminal:
                progress.say(f"solved all with up to {solved} pieces")
            solved = reached
            progress.update(f"solved {facts.material:<8} {count} of {total}", count / total)

        built = build_tables(folder, pieces, double_step, workers, advance)
    console = Console(highlight=False)
    if fresh < len(built):
        console.print(f"{len(built) - fresh} of {len(built)} tables were there already.")
    _show_facts(console, built, double_step)
    size = sum(path.stat().st_size for path in folder.glob("*.mct"))
    console.print(f"{fresh} tables solved in {perf_counter() - started:.0f} s; all in the folder: {size / 1e6:.1f} MB")
    console.print(f"Tables     {folder}", markup=False, soft_wrap=True)


def check(
    game: GameArgument = "microchess",
    pieces: Annotated[
        int | None,
        typer.Option(
            min=3, max=5, help="Most pieces on the board, kings included; all tables that are there if not given."
        ),
    ] = None,
    folder: Folder = None,
    double_step: Step = True,
    workers: Threads = None,
) -> None:
    """Check every value against the values after each move, by the rules of the game; show the longest mates.

    All positions of all tables are checked, about a minute for five pieces. If none is wrong, the tables are right.

    Example: [cyan]tengen tables check microchess --pieces 4[/cyan]
    """
    from rich.console import Console
    from rich.table import Table

    _only_microchess(game)

    from tengen.solve.endgame_index import all_materials
    from tengen.solve.endgame_tables import Tables, check_tables

    tables = Tables.open(folder, double_step)
    pieces = max(3, tables.pieces) if pieces is None else pieces
    checked = []
    total = len(all_materials(pieces))
    with Progress() as progress:
        for one in check_tables(tables.folder, pieces, double_step, workers):
            checked.append(one)
            progress.update(f"checked {one.material.name:<8} {len(checked)} of {total}", len(checked) / total)

    console = Console(highlight=False, soft_wrap=True)
    facts = {one.material: tables.file(one.material).facts for one in checked}
    _show_facts(console, list(facts.values()), double_step)
    longest = Table("longest mates", "plies", "for example")
    for one in sorted(checked, key=lambda one: -facts[one.material].longest)[:10]:
        longest.add_row(one.material.name, str(facts[one.material].longest), one.longest)
    console.print(longest)
    wrong = [one for one in checked if one.faults]
    for one in wrong:
        console.print(f"{one.material.name}: {one.faults:,} at fault, such as {one.fault}", style="red", markup=False)
    if wrong:
        raise typer.Exit(1)
    total = sum(one.legal for one in facts.values())
    console.print(f"All {total:,} values follow from those one move on.")


def show(
    what: Annotated[
        list[str] | None, typer.Argument(metavar="[FEN | MATERIAL]", help="A position, or pieces such as KRPKN.")
    ] = None,
    folder: Folder = None,
    double_step: Step = True,
) -> None:
    """Show the value of a position, its moves from best to worst, and best play from there.

    With the name of a material: how many of its positions are won, and the longest mate. Without an argument: a summary
    of all tables.

    [bold]Examples[/bold]

    [cyan]tengen tables show "k3/4/1K2/4/3R w"[/cyan]

    [cyan]tengen tables show KRPKN[/cyan]
    """
    from rich.console import Console

    from tengen.games import microchess
    from tengen.solve.endgame_index import Material
    from tengen.solve.endgame_tables import Tables

    console = Console(highlight=False, soft_wrap=True)
    tables = Tables.open(folder, double_step)
    asked = " ".join(what or [])
    if not asked:
        _show_facts(console, [tables.file(material).facts for material in tables.materials], double_step)
        console.print(f"Tables     {tables.folder}", markup=False)
    elif "/" in asked:
        console.print(_title(double_step))
        _show_position(console, tables, microchess.State.from_fen(asked, double_step=double_step))
    else:
        console.print(_title(double_step))
        _show_material(console, tables, Material.parse(asked))


def _show_material(console: "Console", tables: "Tables", material: "Material") -> None:
    from tengen.solve.endgame_tables import longest_mate

    if not material.has_table:
        console.print(f"{material.name} is {material.turned.name} with the colours swapped:")
        material = material.turned
    facts = tables.file(material).facts
    for text, count in (("won", facts.wins), ("drawn", facts.draws), ("lost", facts.losses)):
        console.print(f"{text:>8} {count:>12,} {count / facts.legal:>7.1%}")
    fen = longest_mate(material, tables.file(material).values())
    if fen:
        console.print(f"Longest mate: {facts.longest} plies, such as {fen}")


def _no_table(tables: "Tables", state: "microchess.State") -> str:
    """Why a position has no value, and what to do about it."""
    from tengen.solve.endgame_index import MAX_PIECES

    pieces = int((state.squares != 0).sum())
    if pieces > MAX_PIECES:
        return f"there is no table for {state.fen()}: it has {pieces} pieces, and tables have up to {MAX_PIECES}"
    remedy = f"tengen tables build microchess --pieces {max(3, pieces)}"
    return f"there is no table for {state.fen()} in {tables.folder}: make it with `{remedy}`"


def _show_position(console: "Console", tables: "Tables", state: "microchess.State") -> None:
    value = tables.probe(state)
    console.print(str(state), markup=False)
    if value is None:
        raise ValueError(_no_table(tables, state))
    side = "White" if state.to_play == 1 else "Black"
    plies = f" ({value.dtm} plies)" if value.dtm else ""
    console.print(f"{side} is to move: {value}{plies}")
    for choice in tables.moves(state) or []:
        console.print(f"  {state.move_san(choice.move):<8}{choice.value}", markup=False)
    line: list[str] = []
    while len(line) < _LINE_PLIES and (move := tables.best_move(state)) is not None:
        line.append(state.move_san(move))
        state = state.play(move)
    if value.wdl and line:
        console.print("Best play: " + " ".join(line) + (" ..." if not state.is_over else ""), markup=False)


def judge(
    games: Annotated[list[Path], typer.Argument(help="PGN files, or folders of them such as matches/NAME/games.")],
    folder: Folder = None,
    examples: Annotated[int, typer.Option(min=0, help="How many mistakes to show as positions.")] = 3,
) -> None:
    """Count how often each player threw away a win or a draw in positions of the tables.

    Games under other rules than standard are left out, because the tables are only for those.

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
    from tengen.games.microchess.game import from_pgn

    for path in paths:
        files = sorted(path.rglob("*.pgn")) if path.is_dir() else [path]
        for file in files:
            try:
                state, tags = from_pgn(file.read_text(encoding="utf-8"))
            except ValueError as error:
                raise ValueError(f"{file}: {error}") from None
            if state.rules == "standard":
                yield state, (tags.get("White", "White"), tags.get("Black", "Black"))


def _only_microchess(game: str) -> None:
    """Refuse every other game."""
    if game != "microchess":
        raise ValueError(f"there are endgame tables only of microchess, not of {game[:40]!r}")


def _title(double_step: bool) -> str:
    """The game that tables are of."""
    return f"Microchess, standard rules, {'with the' if double_step else 'no'} double step"


def _show_facts(console: "Console", facts: "list[TableFacts]", double_step: bool) -> None:
    """Sum up tables by the number of pieces."""
    from rich.table import Table

    from tengen.solve.endgame_index import Material

    columns = ("pieces", "tables", "positions", "won", "drawn", "lost", "longest mate")
    table = Table(*columns, title=_title(double_step), title_justify="left")
    for column in table.columns[:-1]:
        column.justify = "right"
    for pieces in sorted({Material.parse(one.material).pieces for one in facts}):
        some = [one for one in facts if Material.parse(one.material).pieces == pieces]
        legal = sum(one.legal for one in some)
        shares = [sum(counts) / legal for counts in zip(*((one.wins, one.draws, one.losses) for one in some))]
        longest = max(some, key=lambda one: one.longest)
        table.add_row(
            *(f"{number:,}" for number in (pieces, len(some), legal)),
            *(f"{share:.1%}" for share in shares),
            f"{longest.longest} plies, {longest.material}" if longest.longest else "none",
        )
    console.print(table)


tables = group(
    "Build, check and query exact endgame tables of Microchess.",
    {"build": build, "check": check, "show": show, "judge": judge},
)
