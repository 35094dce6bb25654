"""The screen of a game in the terminal: the board, beside it a panel with facts about the game, and a message below.

In a terminal too narrow for a panel beside the board, the panel's facts stand below it in a few lines.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

_NARROWEST_PANEL, _WIDEST_PANEL = 26, 38


@dataclass(frozen=True)
class Look:
    """What the terminal can show."""

    unicode: bool = True
    color: bool = True

    @classmethod
    def of(cls, console: Console) -> "Look":
        """The best look that this console can show."""
        unicode = console.encoding.lower().replace("-", "").startswith("utf")
        color = console.color_system in ("256", "truecolor") and not console.no_color
        return cls(unicode, unicode and color)


@dataclass(frozen=True)
class Page:
    """What a screen consists of, before it is known how much room there is."""

    board: Text
    width: int
    """Columns that the board takes."""
    facts: Callable[[int], list[RenderableType]]
    """What the panel shows, given its width inside."""
    summary: RenderableType
    """The same in a few lines."""
    commands: Mapping[str, str]
    helping: bool
    """Whether the commands are shown instead of the facts."""
    message: str


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


def footnotes(look: Look, note: str, short_help: str) -> list[RenderableType]:
    """The bot's note on its move, and the commands in a few lines."""
    notes = [Text(printable(note), style="dim", no_wrap=True, overflow="ellipsis")] if note else []
    return [*notes, rule(look), Text(short_help, style="dim", no_wrap=True, overflow="ellipsis")]


def _help(commands: Mapping[str, str]) -> RenderableType:
    table = Table.grid(padding=(0, 1))
    for command, meaning in commands.items():
        table.add_row(Text(command, style="bold", no_wrap=True), Text(meaning, style="dim"))
    return table


def rule(look: Look) -> Rule:
    """A line between two parts of the panel."""
    return Rule(characters="─" if look.unicode else "-", style="dim")
