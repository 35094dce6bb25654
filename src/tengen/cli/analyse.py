"""`tengen analyse`: a game with its graph and its mistakes; `tengen explain`: one position as an agent sees it."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tengen.cli.options import GameName, Komi, Rules, formerly, given_options
from tengen.cli.play import read_game
from tengen.cli.progress import Progress, say_if_cold

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from tengen.agents.analysis import Analyst
    from tengen.agents.explanation import Panel
    from tengen.games.state import AnyState
    from tengen.serve.review import Review

EPILOGS = {
    "analyse": """[bold]Examples[/bold]

[cyan]tengen analyse game.sgf --agent alphago:alphago9 --out annotated.sgf[/cyan]

[cyan]tengen analyse game.pgn --agent zero:microchess --visits 800[/cyan]
"""
}
_USUAL_VISITS, _USUAL_PLAYOUTS = 100, 3_000
_SMALLEST_LOSS = 0.02  # of the chance to win that makes a mistake
_SUFFIXES = (".png", ".svg")


@formerly(batch="positions")
def analyse(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A game: .sgf, .pgn or any other that Tengen writes.")],
    agent: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="Who analyses: zero, gumbel, alphago, mcts, uct. Default: the game's usual."),
    ] = None,
    visits: Annotated[
        int | None, typer.Option(min=1, help="Visits of each position. Default: 100 with a network, 3000 by playouts.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the game with comments to this file.")] = None,
    mistakes: Annotated[int, typer.Option(min=0, help="How many of the biggest mistakes to list.")] = 5,
    batch: Annotated[int, typer.Option(min=1, max=4096, help="Positions searched at a time.")] = 64,
    rules: Rules = None,
    komi: Komi = None,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same analysis.")] = None,
) -> None:
    """Analyse a recorded game: a graph of the chance to win, the biggest mistakes, and an annotated record.

    Ctrl-C ends it early; what was analysed until then is shown and written.
    """
    from rich.console import Console

    from tengen.agents.analysis import NetworkAnalyst
    from tengen.agents.registry import load_analyst
    from tengen.games.game import game_of, game_of_file
    from tengen.runs.files import write_atomically
    from tengen.serve.review import annotated

    _check_folder(out)
    last = read_game(file, None, given_options(None, rules=rules, komi=komi))
    spec = agent or game_of(last).default_agent
    analyst = load_analyst(spec, seed)
    usual = _USUAL_VISITS if isinstance(analyst, NetworkAnalyst) else _USUAL_PLAYOUTS
    console = Console(highlight=False)
    try:
        found = _review(analyst, last, visits or usual, batch)
    finally:
        analyst.close()
    _show_review(found, file, analyst.name, mistakes, console)
    if out is not None:
        write_atomically(out, annotated(found, game_of_file(file).about(file.read_bytes())))
        console.print(f"Annotated record: {out}", markup=False, soft_wrap=True)


def _review(analyst: "Analyst", last: "AnyState", visits: int, batch: int) -> "Review":
    """The review, as far as it came."""
    from tengen.serve.review import Review, review

    found = Review(last)
    total = len(found.states)
    with Progress() as progress:
        try:
            for found in review(analyst, last, visits, batch):
                done = len(found.analyses)
                progress.update(f"{done} of {total} positions, {visits} visits each", done / total)
        except KeyboardInterrupt:
            progress.say(f"Stopped after {len(found.analyses)} of {total} positions.")
    return found


def _show_review(found: "Review", file: Path, name: str, most: int, console: "Console") -> None:
    from rich import box
    from rich.table import Table

    from tengen.games.game import game_of
    from tengen.serve.review import graph, lead

    players = game_of(found.last).players
    console.print(f"{file.name} by {name}", style="bold", markup=False, soft_wrap=True)
    console.print(f"The chance of {players[0]} to win, move by move:", markup=False)
    for line in graph(found.chances(), min(100, console.width - 8)):
        console.print(line, markup=False, soft_wrap=True)
    states = found.states
    known = max(found.analyses, default=None)
    if known is not None and found.analyses[known].score is not None:
        console.print(f"After move {known}: {lead(found.analyses[known].score or 0.0, states[known])}.", markup=False)
    worst = [mistake for mistake in found.mistakes() if mistake.loss >= _SMALLEST_LOSS][:most]
    if not worst:
        console.print("No move lost much.")
        return
    table = Table(box=box.SIMPLE_HEAD, title="The biggest mistakes", title_justify="left")
    for heading in ("move", "player", "played", "better", "chance", "lost", "points"):
        table.add_column(heading, justify="left" if heading in ("player", "played", "better") else "right")
    for mistake in worst:
        table.add_row(
            str(mistake.number),
            players[mistake.player - 1],
            mistake.played,
            mistake.best_name,
            f"{mistake.before:.0%} to {mistake.after:.0%}",
            f"{mistake.loss:.1%}",
            "" if mistake.points is None else f"{mistake.points:.1f}",
        )
    console.print(table)


def explain(
    file: Annotated[Path | None, typer.Argument(help="A record of a game: SGF, PGN for Microchess, ...")] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", "-a", help="Spec of the agent; the game's usual opponent if not given.")
    ] = None,
    move: Annotated[
        int | None, typer.Option("--move", "-m", help="The position after so many moves; the last one if not given.")
    ] = None,
    fen: Annotated[str | None, typer.Option(help="Microchess: a position instead of a file.")] = None,
    game: GameName = None,
    rules: Rules = None,
    komi: Komi = None,
    seed: Annotated[int, typer.Option(help="For what is random in the agent.")] = 1,
    out: Annotated[
        Path | None, typer.Option(help="The picture, .png or .svg; beside the record if not given, FILE-moveK.png.")
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Only the table; draw no picture.")] = False,
) -> None:
    """Show what an agent sees in a position: Figure 5 of the AlphaGo paper, and a table of the best moves.

    Up to six boards: the value of each move by the value network, Q from values alone, Q from rollouts alone, the
    prior of the policy network, the share of visits, and the principal variation. Numbers are percents; chances are
    those of the player to move. The best move of each board has a ring. Agents show the boards that apply to them.

    [bold]Examples[/bold]

    [cyan]tengen explain game.sgf --move 30 --agent zero:go9,sims=800[/cyan]

    [cyan]tengen explain game.pgn --agent zero:microchess --out thoughts.svg[/cyan]

    [cyan]tengen explain --fen "knbr/p3/4/3P/RBNK w Qk - 0 1" --text[/cyan]
    """
    from rich.console import Console

    from tengen.agents.agent import NeedsCheck
    from tengen.agents.explanation import explain_position
    from tengen.agents.registry import load_agent
    from tengen.games.game import game_of
    from tengen.runs.files import write_atomically

    target = _target(file, move, out)
    if not text:
        import matplotlib  # noqa: F401  not missed after the search
    last = _position(file, fen, game, given_options(None, rules=rules, komi=komi))
    state, following = _at_move(last, move, file)
    if state.is_over:
        raise ValueError(f"the game is over after {state.move_number} moves: give a smaller --move")
    say_if_cold()
    spec = agent or game_of(state).default_agent
    player = load_agent(spec, seed)
    try:
        if isinstance(player, NeedsCheck):
            player.check(state)
        decision, panels = explain_position(player, state)
    finally:
        player.close()
    title = _title(file, fen, state)
    chosen = f"plays {_name(state, decision.move)}"
    if decision.value is not None:
        chosen += f", {decision.value:.0%} likely to win"
    lines = [spec, decision.note, chosen, f"in the record: {following}" if following else ""]
    subtitle = "; ".join(filter(None, lines))
    console = Console(highlight=False)
    console.print(title, style="bold", markup=False, soft_wrap=True)
    console.print(subtitle, markup=False, soft_wrap=True)
    console.print(_move_table(state, panels))
    for panel in panels:
        if panel.line:
            console.print(f"Line       {_line(state, panel.line)}", markup=False, soft_wrap=True)
    if not text:
        from tengen.serve.explain_picture import draw_explanation

        write_atomically(target, draw_explanation(state, panels, title, subtitle, target.suffix.lower()))
        console.print(f"Picture    {target}", markup=False, soft_wrap=True)


def _target(file: Path | None, move: int | None, out: Path | None) -> Path:
    """Where the picture goes."""
    if out is None:
        after = "" if move is None else f"-move{move}"
        return Path("explain.png") if file is None else file.with_name(f"{file.stem}{after}.png")
    if out.suffix.lower() not in _SUFFIXES:
        raise ValueError(f"--out {out} is no picture that can be written: its name should end in .png or .svg")
    _check_folder(out)
    return out


def _position(file: Path | None, fen: str | None, game: str | None, given: Mapping[str, Any]) -> "AnyState":
    """The last position of a file, or the one of a FEN."""
    from tengen.games.game import get_game

    if (file is None) == (fen is None):
        raise ValueError("give one position: a file with a record, or --fen")
    if file is not None:
        return read_game(file, game, given)
    played = get_game(game or "microchess")
    state: AnyState = played.position(fen or "", played.options.of(given))
    return state


def _at_move(last: "AnyState", move: int | None, file: Path | None) -> "tuple[AnyState, str]":
    """The position after so many moves, and what was played there."""
    from tengen.games.state import RESIGN

    state, following = last, ""
    if state.last_move == RESIGN and state.previous is not None:
        state = state.previous
    if move is not None and not 0 <= move <= state.move_number:
        raise ValueError(f"--move {move} is not possible: {file or 'the game'} has moves 0 to {state.move_number}")
    while move is not None and state.move_number > move and state.previous is not None:
        played, state = state.last_move, state.previous
        following = "" if played is None else _name(state, played)
    return state, following


def _title(file: Path | None, fen: str | None, state: "AnyState") -> str:
    from tengen.games.game import game_of

    player = game_of(state).players[state.to_play - 1]
    place = fen if file is None else f"{file.name}, after move {state.move_number}"
    return f"{place}: {player} to play"


def _name(state: "AnyState", move: int) -> str:
    """A move as the game's records write it."""
    from tengen.games.game import game_of

    return game_of(state).notation(state, move)


def _line(state: "AnyState", moves: tuple[int, ...]) -> str:
    names = []
    for move in moves:
        names.append(_name(state, move))
        state = state.play(move)
    return " ".join(names)


def _move_table(state: "AnyState", panels: "list[Panel]") -> "Table":
    from rich import box
    from rich.table import Table

    from tengen.agents.explanation import best_moves

    numbered = [panel for panel in panels if panel.numbers]
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("move", *(panel.short for panel in numbered)):
        table.add_column(heading, justify="right")
    for move in best_moves(panels):
        cells = [f"{panel.numbers[move]:.1%}" if move in panel.numbers else "" for panel in numbered]
        table.add_row(_name(state, move), *cells)
    return table


def _check_folder(out: Path | None) -> None:
    """Refuse a file in a folder that is not there, before the work."""
    if out is not None and not out.resolve().parent.is_dir():
        raise ValueError(f"--out {out} is not possible: there is no folder {out.parent}")
