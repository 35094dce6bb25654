"""A game of Go in the terminal: the session of every game, with passing, scoring and territory, and its board.

The board is drawn with rich: wood and stones in colour, glyphs or ASCII where it must be.

| look          | when                                  | Black, White | last move | territory | dead stone |
|---------------|---------------------------------------|--------------|-----------|-----------|------------|
| colour        | the terminal has 256 colours or more  | ● ● on wood  | ◉         | ▪         | ×          |
| plain         | fewer, NO_COLOR, or output to a file  | ● ○          | (●)       | ▪ ▫       | × ¤        |
| ASCII         | the output's encoding is not UTF-8    | X O          | (X)       | # =       | x o        |

A point is two columns wide and one line high, so that a 19x19 board is 43 x 21 and leaves room for a panel
beside it in a terminal of 80 x 24.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from tengen.games import go
from tengen.games.go import BLACK, EMPTY, PASS, WHITE
from tengen.games.go.coordinates import GTP_COLUMNS, max_fixed_handicap, star_points
from tengen.search.life_and_death import dead_stones, describe_count, describe_margin, estimate
from tengen.serve.session import GameSession, Look

WOOD: Final = "#e0b566"
GLOW: Final = "#cf8a3e"  # around the last move
LINE: Final = "#96713a"
INK: Final = "#5f4520"
BLACK_STONE: Final = "#14110e"
WHITE_STONE: Final = "#fffdf7"
HINT: Final = "#c02f1d"


@dataclass(frozen=True)
class Marks:
    """What is drawn over the stones."""

    owners: NDArray[np.int8] | None = None
    """int8[size, size]: whose territory each point is, or None to show none."""
    dead: frozenset[int] = frozenset()
    hints: Mapping[int, str] = field(default_factory=dict)
    """One letter for each point that is pointed out; with two for some of them the board is drawn wider."""

    @property
    def is_wide(self) -> bool:
        """Whether a point takes three columns, and not two."""
        return any(len(hint) > 1 for hint in self.hints.values())


class GoSession(GameSession[go.State]):
    """A session at a Go board."""

    HELP: ClassVar = {"d4": "play there", "pass": "twice ends the game", "score": "who is ahead?"}
    NEW: ClassVar = "new [SIZE]"
    _marks = Marks()

    def _own_commands(self) -> dict[str, Callable[[str], None]]:
        return {"pass": lambda _: self._play(PASS), "score": lambda _: self._score()}

    def _board(self, look: Look) -> tuple[Text, int]:
        return draw_board(self.state, look, self._marks), board_width(self.state.size, self._marks)

    def _label(self, look: Look, player: int) -> Text:
        return stone_name(look, player)

    def _standing(self, player: int) -> str:
        return f"captured {self.state.captures[player - 1]}"

    def _chance(self, look: Look, chance: float, width: int) -> Text:
        percent = f" {chance:.0%} Black"
        return chance_bar(look, chance, width - len(percent)).append(percent)

    def _last_player(self, before: go.State) -> int:
        return self.state.last_color or before.to_play

    def _action(self, move: int) -> str:
        return "passes" if move == PASS else super()._action(move)

    def _clear_marks(self) -> None:
        self._marks = Marks()

    def _mark_hints(self, moves: list[int]) -> None:
        self._marks = Marks(hints={move: str(i) for i, move in enumerate(moves, 1) if move >= 0})

    def _mark_chances(self, chances: Mapping[int, float]) -> None:
        percents = {move: min(99, round(100 * chance)) for move, chance in chances.items() if move >= 0}
        self._marks = Marks(hints={move: f"{percent:2d}" for move, percent in percents.items()})

    def _score(self) -> None:
        if self.state.is_over:
            self._announce_result()
            return
        guess = estimate(self.state)
        self._marks = Marks(guess.owners, guess.dead)
        self._message = f"An estimate: {describe_margin(guess.margin, 'is ahead by about')}."

    def _fresh(self, text: str) -> go.State:
        if text and not text.isdecimal():
            raise ValueError(f"new takes a board size, 2 to 25, not {text[:20]!r}")
        old, size = self.state, int(text) if text else self.state.size
        handicap = old.handicap if 2 <= old.handicap <= max_fixed_handicap(size) else 0
        return go.State.new(size, old.rules, old.komi, handicap)

    def _announce_result(self) -> None:
        """Show who has won and how it was counted, and mark what was taken for dead."""
        if self.state.last_move != PASS:
            ended = {"B+R": "White resigns: Black wins.", "W+R": "Black resigns: White wins."}
            repeated = "No result: the same position came for the third time."
            self._message = ended.get(self.state.result(), repeated)
            return
        dead = dead_stones(self.state)
        self.state = self.state.with_dead(dead)
        self._marks = Marks(self.state.ownership(dead), dead)
        won = describe_margin(self.state.score(dead), "wins by")
        self._message = f"{won} ({self.state.result()}). {describe_count(self.state, dead)}"


def board_width(size: int, marks: Marks | None = None) -> int:
    """Columns that `draw_board` takes."""
    return (3 * size + 6) if marks is not None and marks.is_wide else 2 * size + 5


def draw_board(state: go.State, look: Look, marks: Marks | None = None) -> Text:
    """The board with coordinates all around, `size + 2` lines."""
    pen = _Pen(state, look, marks or Marks())
    size = state.size
    margin = f"on {WOOD}" if look.color else ""
    ink = f"{INK} on {WOOD}" if look.color else "dim"
    gap = "  " if marks is not None and marks.is_wide else " "
    letters = Text(f"  {gap}{gap.join(GTP_COLUMNS[:size])}{gap}  ", style=ink)
    lines = [letters]
    for row in range(size):
        line = Text(f"{size - row:>2}", style=ink)
        for col in range(size):
            line.append_text(pen.before(row, col)).append_text(pen.point(row, col))
        line.append_text(pen.before(row, size))
        line.append(f"{size - row:<2}", style=ink)
        line.stylize_before(margin)
        lines.append(line)
    lines.append(letters)
    return Text("\n").join(lines)


def stone(look: Look, color: int) -> str:
    """The glyph of a stone."""
    if not look.unicode:
        return "X" if color == BLACK else "O"
    return "●" if color == BLACK or look.color else "○"


def _style(look: Look, color: int, glows: bool = False) -> str:
    """The style of a stone's glyph on the board."""
    if not look.color:
        return "bold"
    return f"bold {BLACK_STONE if color == BLACK else WHITE_STONE} on {GLOW if glows else WOOD}"


class _Pen:
    """Draws one point, and the gap before it."""

    def __init__(self, state: go.State, look: Look, marks: Marks) -> None:
        self._size, self._look, self._marks = state.size, look, marks
        self._stones, self._stars = state.stones, set(star_points(state.size))
        self._last = state.last_move if state.last_move is not None and state.last_move >= 0 else None

    def before(self, row: int, col: int) -> Text:
        """What is between a point and its left neighbour: the line, or a bracket of the last move. In a wide board it
        has two columns, of which the second may be the first letter of a hint."""
        here = row * self._size + col
        opens, closes = col < self._size and here == self._last, col > 0 and here - 1 == self._last
        gap, line = self._gap(col, opens, closes), self._gap(col, False, False)
        if not self._marks.is_wide:
            return gap
        hint = self._marks.hints.get(here, "") if col < self._size else ""
        if len(hint) > 1:
            return (gap if closes else line) + Text(hint[0], style=self._hint_style())
        return gap + line if closes else line + gap

    def _gap(self, col: int, opens: bool, closes: bool) -> Text:
        """One column of it."""
        if not self._look.color:
            return Text("(" if opens else ")" if closes else " ", style="bold")
        wood = GLOW if opens or closes else WOOD
        return Text("─" if 0 < col < self._size else " ", style=f"{LINE} on {wood}")

    def point(self, row: int, col: int) -> Text:
        point, color = row * self._size + col, int(self._stones[row, col])
        if point in self._marks.hints:
            return Text(self._marks.hints[point][-1], style=self._hint_style())
        owner = EMPTY if self._marks.owners is None else int(self._marks.owners[row, col])
        if color != EMPTY:
            glyph = self._dead(color) if point in self._marks.dead else self._stone(point, color)
            return Text(glyph, style=_style(self._look, color, glows=point == self._last))
        if owner != EMPTY:
            return Text(self._territory(owner), style=_style(self._look, owner))
        if point in self._stars:
            return self._text("•" if self._look.color else "+", INK, "dim")
        return self._text(self._crossing(row, col), LINE, "dim")

    def _hint_style(self) -> str:
        return f"bold {WHITE_STONE} on {HINT}" if self._look.color else "reverse bold"

    def _text(self, glyph: str, ink: str, plain_style: str) -> Text:
        return Text(glyph, style=f"{ink} on {WOOD}" if self._look.color else plain_style)

    def _stone(self, point: int, color: int) -> str:
        return "◉" if point == self._last and self._look.color else stone(self._look, color)

    def _dead(self, color: int) -> str:
        if not self._look.unicode:
            return stone(self._look, color).lower()
        return "×" if color == BLACK or self._look.color else "¤"

    def _territory(self, owner: int) -> str:
        if not self._look.unicode:
            return "#" if owner == BLACK else "="
        return "▪" if owner == BLACK or self._look.color else "▫"

    def _crossing(self, row: int, col: int) -> str:
        if not self._look.color:
            return "·" if self._look.unicode else "."
        end = self._size - 1
        across = 0 if col == 0 else 2 if col == end else 1
        return ("┌┬┐", "├┼┤", "└┴┘")[0 if row == 0 else 2 if row == end else 1][across]


def stone_name(look: Look, color: int) -> Text:
    """A stone and the name of its colour, for panels and messages."""
    glyph = (f" {stone(look, color)} ", _style(look, color))
    return Text.assemble(glyph, (" Black" if color == BLACK else " White", "bold"))


def chance_bar(look: Look, black_chance: float, width: int) -> Text:
    """Who is how likely to win, as a bar: Black from the left, White from the right."""
    filled = round(min(max(black_chance, 0.0), 1.0) * width)
    if not look.color:
        return Text(("█" if look.unicode else "#") * filled + ("░" if look.unicode else ".") * (width - filled))
    return Text.assemble(("━" * filled, _style(look, BLACK)), ("━" * (width - filled), _style(look, WHITE)))
