"""What a session in the terminal shows, whatever the game: the board as text, and a panel with facts about the game."""

from collections.abc import Mapping
from functools import partial
from textwrap import wrap
from typing import ClassVar, Generic, TypeVar

from rich.console import Console, Group, RenderableType
from rich.text import Text

from tengen.agents.agent import Agent, Decision
from tengen.games.game import Game
from tengen.games.state import FIRST, RESIGN, SECOND, AnyState
from tengen.serve.screen import Look, Page, footnotes, lay_out, printable, rule

State = TypeVar("State", bound=AnyState)


class SessionScreen(Generic[State]):
    """The screen of a session. A game that can show more overrides `_board` and what follows it."""

    HELP: ClassVar[Mapping[str, str]] = {}
    """Moves and commands that this game alone has, with their meanings."""
    NEW: ClassVar[str] = "new"
    """How to ask for a new game."""

    state: State
    game: Game
    _agents: dict[int, Agent]
    _people: list[int]
    """The players that people are."""
    _console: Console
    _message: str
    _helping: bool
    """Whether the commands are shown instead of the facts."""
    _decision: Decision | None
    """The last one of a bot."""
    _first_chance: float | None
    """The first player's chance to win, as a bot saw it last."""

    def _board(self, look: Look) -> tuple[Text, int]:
        """The board, and how many columns it takes."""
        text = printable(str(self.state))
        return Text(text), max(map(len, text.splitlines()), default=0)

    def _label(self, look: Look, player: int) -> Text:
        """What a player is called, in the panel."""
        return Text(self.game.players[player - 1], style="bold")

    def _standing(self, player: int) -> str:
        """What a player has achieved so far, in a few words."""
        return ""

    def _chance(self, look: Look, chance: float, width: int) -> Text:
        """The first player's chance to win, in the panel."""
        return Text(f"{self.game.players[0]}'s chance: {chance:.0%}")

    def _last_player(self, before: State) -> int:
        """Who made the last move."""
        return before.to_play

    def _move_text(self, before: State, move: int) -> str:
        """The last move, in the panel."""
        return before.move_name(move)

    def _turn_note(self) -> str:
        """What there is to say about the player to move."""
        return ""

    def _show(self) -> None:
        look = Look.of(self._console)
        board, width = self._board(look)
        page = Page(
            board, width, partial(self._facts, look), self._summary(), self._help_table(), self._helping, self._message
        )
        lay_out(self._console, page)

    def _help_table(self) -> dict[str, str]:
        suffix = self.game.suffix
        return {
            **(self.HELP or {self.game.example_move: "play this move"}),
            "moves": "which are legal?",
            "undo": "take your move back",
            "hint": "ask a bot",
            "chances": "of each move",
            "resign": "give up",
            "save FILE": f"write a {suffix} file",
            "load FILE": f"read a {suffix} file",
            self.NEW: "begin again",
            "help": "this list",
            "quit": "leave, game kept",
        }

    def _facts(self, look: Look, width: int) -> list[RenderableType]:
        facts: list[RenderableType] = []
        for player, agent in self._names().items():
            label, name = self._label(look, player), Text(f"  {printable(agent)}", no_wrap=True, overflow="ellipsis")
            facts += [label.append_text(name)] if width >= 30 else [label, name]
            if standing := self._standing(player):
                facts.append(Text(f"     {standing}", style="dim"))
        facts += [rule(look), self._description(width), self._turn()]
        if self._first_chance is not None:
            facts.append(self._chance(look, self._first_chance, width))
        words = [command.split()[0] for command in self._help_table()]
        short = "\n".join(wrap(" ".join(words), max(8, width)))
        return [*facts, *footnotes(look, self._decision.note if self._decision else "", short)]

    def _summary(self) -> RenderableType:
        """The panel's facts in a few lines."""
        players = list[str]()
        for player, name in self._names().items():
            standing = self._standing(player)
            players.append(f"{self.game.players[player - 1]}: {name}" + (f" ({standing})" if standing else ""))
        chance = "" if self._first_chance is None else f" {self.game.players[0]} {self._first_chance:.0%}."
        return Group(
            Text(printable(f"{', '.join(players)}.{chance}")), self._description(self._console.width), self._turn()
        )

    def _description(self, width: int) -> Text:
        """The game's options, with lines that end at a comma."""
        text = self.game.describe(self.game.options_of(self.state))
        lines = wrap(text.replace(" ", "\u00a0").replace(",\u00a0", ", "), max(8, width))
        return Text("\n".join(lines).replace("\u00a0", " "))

    def _turn(self) -> Text:
        last, before, move = "", self.state.previous, self.state.last_move
        if before is not None and move is not None:
            name = "resigns" if move == RESIGN else self._move_text(before, move)
            player = self.game.players[self._last_player(before) - 1]
            last = f"Move {self.state.move_number}: {player} {name}\n"
        if self.state.is_over:
            return Text(f"{last}The game is over")
        return Text(f"{last}{self.game.players[self.state.to_play - 1]} to play{self._turn_note()}")

    def _names(self) -> dict[int, str]:
        person = "you" if len(self._people) == 1 else "person"
        return {player: self._agents[player].name if player in self._agents else person for player in (FIRST, SECOND)}
