"""The screen of a terminal game: the board, beside it a panel that tells of the game, and a line below.

What is told of a game of Go is a `Scene`; how a screen is laid out, in every game, depends on the room there is
(`lay_out`). In a terminal too narrow for a panel beside the board, the panel's facts stand below it in two lines.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from tengen.games.go import BLACK, WHITE, GameState, to_gtp
from tengen.serve.goban import Look, Marks, board_width, chance_bar, draw_board, stone_name

COMMANDS: Final = {
    "d4": "play there",
    "pass": "twice ends the game",
    "undo": "take your move back",
    "hint": "ask a bot",
    "score": "who is ahead?",
    "resign": "give up",
    "save FILE": "write an SGF file",
    "load FILE": "read an SGF file",
    "new [SIZE]": "begin again",
    "help": "this list",
    "quit": "leave, game kept",
}
_SHORT_HELP: Final = "d4 pass undo hint score resign\nsave load new help quit"
_NARROWEST_PANEL, _WIDEST_PANEL = 26, 38


@dataclass(frozen=True)
class Scene:
    """Everything that one screen shows."""

    state: GameState
    names: Mapping[int, str]
    """Who plays each colour."""
    message: str = ""
    marks: Marks = field(default_factory=Marks)
    black_chance: float | None = None
    """Black's chance to win as the bot saw it last."""
    note: str = ""
    """What the bot said of its last move."""
    helping: bool = False
    """Whether the panel shows the commands instead of the game."""


@dataclass(frozen=True)
class Page:
    """What a screen consists of, before it is known how much room there is."""

    board: Text
    width: int
    """Columns that the board takes."""
    facts: Callable[[int], list[RenderableType]]
    """What the panel tells, given its width inside."""
    summary: RenderableType
    """The same in a few lines."""
    commands: Mapping[str, str]
    helping: bool
    """Whether the commands are shown instead of the facts."""
    message: str


def show(console: Console, scene: Scene) -> None:
    """Clear the terminal, if it is one, and show a game of Go."""
    look = Look.of(console)
    board = draw_board(scene.state, look, scene.marks)
    width = board_width(scene.state.size)
    facts, summary = partial(_facts, scene, look), _summary(scene, look)
    lay_out(console, Page(board, width, facts, summary, COMMANDS, scene.helping, scene.message))


def lay_out(console: Console, page: Page) -> None:
    """Clear the terminal, if it is one, and show a page."""
    look = Look.of(console)
    if console.is_terminal and not console.is_dumb_terminal:
        console.clear()
    help_text = _help(page.commands)
    room = console.width - page.width - 1
    if room >= _NARROWEST_PANEL:
        width = min(room, _WIDEST_PANEL)
        body = help_text if page.helping else Group(*page.facts(width - 4))
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_row(page.board, Panel(body, title="tengen", width=width, border_style="#96713a" if look.color else ""))
        console.print(grid)
    else:
        console.print(page.board, no_wrap=True, overflow="crop")
        console.print(help_text if page.helping else page.summary)
    if page.message:
        console.print(Text(printable(page.message), style="bold"))


def printable(text: str) -> str:
    """The text without control characters, which could take over a terminal; line ends stay."""
    return "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text)


def _facts(scene: Scene, look: Look, width: int) -> list[RenderableType]:
    state = scene.state
    facts: list[RenderableType] = []
    for color, captured in ((BLACK, state.captures[0]), (WHITE, state.captures[1])):
        name = Text(f"  {printable(scene.names[color])}", no_wrap=True, overflow="ellipsis")
        facts.append(stone_name(look, color).append_text(name) if width >= 30 else stone_name(look, color))
        if width < 30:
            facts.append(name)
        facts.append(Text(f"     captured {captured}", style="dim"))
    facts += [rule(look), _terms(state), _turn(state)]
    if scene.black_chance is not None:
        percent = f" {scene.black_chance:.0%} Black"
        facts.append(chance_bar(look, scene.black_chance, width - len(percent)).append(percent))
    return [*facts, *footnotes(look, scene.note, _SHORT_HELP)]


def footnotes(look: Look, note: str, short_help: str) -> list[RenderableType]:
    """What the bot said, and the commands in two lines."""
    said = [Text(printable(note), style="dim", no_wrap=True, overflow="ellipsis")] if note else []
    return [*said, rule(look), Text(short_help, style="dim", no_wrap=True, overflow="ellipsis")]


def _summary(scene: Scene, look: Look) -> RenderableType:
    """The panel's facts in a few lines."""
    (by_black, by_white), names = scene.state.captures, scene.names
    players = Text(f"{look.stone(BLACK)} {names[BLACK]} ({by_black}), ")
    players.append(f"{'O' if not look.unicode else '○'} {names[WHITE]} ({by_white}). ")
    if scene.black_chance is not None:
        players.append(f"Black {scene.black_chance:.0%}.")
    return Group(Text(printable(players.plain)), _terms(scene.state), _turn(scene.state))


def _help(commands: Mapping[str, str]) -> RenderableType:
    table = Table.grid(padding=(0, 1))
    for command, meaning in commands.items():
        table.add_row(Text(command, style="bold", no_wrap=True), Text(meaning, style="dim"))
    return table


def _terms(state: GameState) -> Text:
    handicap = f"\nHandicap {state.handicap}" if state.handicap else ""
    return Text(f"{state.size}x{state.size} {state.rules.name}, komi {state.komi:g}{handicap}")


def _turn(state: GameState) -> Text:
    last = ""
    if state.last_move is not None:
        player = "Black" if state.last_color == BLACK else "White"
        last = f"Move {state.move_number}: {player} {to_gtp(state.last_move, state.size)}\n"
    if state.is_over:
        return Text(f"{last}The game is over")
    return Text(f"{last}{'Black' if state.to_play == BLACK else 'White'} to play")


def rule(look: Look) -> Rule:
    """A line between two parts of the panel."""
    return Rule(characters="─" if look.unicode else "-", style="dim")
