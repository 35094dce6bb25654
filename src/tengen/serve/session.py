"""A game in the terminal, whatever the game: whose turn it is, and the commands that people type.

A `GameSession` reads lines through a function and writes to a rich console, both given from outside, so that a test
can play a whole game. It plays every game there is; `go_session.GoSession` and `microchess_session.MicrochessSession`
draw finer boards and add commands. The screen has the board, beside it a panel with facts about the game, and a message
below; in a narrow terminal the facts stand below the board in a few lines. Files are what the `Game` reads and writes.
"""

import os
import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from textwrap import wrap
from typing import Any, ClassVar, Final, Generic, TypeVar

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from tengen._text import printable
from tengen.agents.agent import Agent, AgentError, Decision, Trained
from tengen.games.game import AnyGame, Record, game_of
from tengen.games.state import FIRST, RESIGN, SECOND, AnyState
from tengen.runs.files import make_folder

_HINTS: Final = 3
_SESSIONS: Final = {
    "go": ("tengen.serve.go_session", "GoSession"),
    "microchess": ("tengen.serve.microchess_session", "MicrochessSession"),
}
"""Games with a session of their own; all others have `GameSession`."""

State = TypeVar("State", bound=AnyState)

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


def session_type(game: AnyGame) -> "type[GameSession[Any]]":
    """The kind of session that a game is played in."""
    if game.name not in _SESSIONS:
        return GameSession
    module, name = _SESSIONS[game.name]
    found: type[GameSession[Any]] = getattr(import_module(module), name)
    return found


class GameSession(Generic[State]):
    """A game, its players, and the commands that people type.

    agents:   who plays a side; a side that is missing is played by the person at the keyboard.
    ask:      shows a prompt and returns a line; EOFError or KeyboardInterrupt end the session.
    adviser:  makes the agent that `hint` asks; without it, the opponent gives hints.
    keep_in:  the file that a game not yet saved goes to when it is left.
    delay:    seconds to wait after each move when there are only bots to watch.
    """

    HELP: ClassVar[Mapping[str, str]] = {}
    """Moves and commands that this game alone has, with their meanings."""
    NEW: ClassVar[str] = "new"
    """How to ask for a new game."""

    def __init__(
        self,
        state: State,
        agents: Mapping[int, Agent],
        *,
        console: Console,
        ask: Callable[[str], str] = input,
        adviser: Callable[[], Agent] | None = None,
        keep_in: Path | None = None,
        delay: float = 0.0,
    ) -> None:
        self.state, self.game = state, game_of(state)
        self._agents, self._console, self._ask = dict(agents), console, ask
        self._people = [player for player in (FIRST, SECOND) if player not in agents]
        self._make_adviser = adviser
        self._adviser: Agent | None = None
        self._keep_in, self._delay = keep_in, delay
        self._spinner = "dots" if Look.of(console).unicode else "line"
        self._own_files: set[Path] = {keep_in} if keep_in else set()
        self._saved = state
        self._done = self._opponent_failed = self._kept = False
        self._decision: Decision | None = None
        self._first_chance: float | None = None
        self._message, self._helping = "", False
        if self._people and not state.is_over:
            self._message = f"Type a move such as {self.game.example_move}, or help."
        self._message = f"{self._message} {self._warnings()}".strip()
        self._commands: dict[str, Callable[[str], None]] = {
            "resign": lambda _: self._play(RESIGN),
            "moves": lambda _: self._list_moves(),
            "undo": lambda _: self._undo(),
            "hint": lambda _: self._hint(),
            "chances": lambda _: self._chances(),
            "save": self._save,
            "save!": lambda file: self._save(file, overwrite=True),
            "load": self._load,
            "new": self._new,
            "help": lambda _: self._help(),
            "quit": lambda _: self._quit(),
            "exit": lambda _: self._quit(),
            **self._own_commands(),
        }

    def run(self) -> None:
        """Play until the person leaves; an unsaved game is then kept."""
        try:
            if self.state.is_over:
                self._announce_result()
            while not self._done:
                self._take_turn()
        except (EOFError, KeyboardInterrupt):
            self._console.print()
        finally:
            kept = self._keep()
            if kept:
                self._console.print(kept, markup=False, highlight=False, soft_wrap=True)
            if self._adviser is not None:
                self._adviser.close()

    # ------------------------------------------------------------------- what games may do otherwise

    def _own_commands(self) -> dict[str, Callable[[str], None]]:
        """Commands that this game alone has; each is given what was typed behind it."""
        return {}

    def _action(self, move: int) -> str:
        """What a player does, in words."""
        return "resigns" if move == RESIGN else f"plays {self.state.move_name(move)}"

    def _fresh(self, text: str) -> State:
        """The start of another game with the same options; `text` is what was typed behind `new`."""
        if text:
            raise ValueError(f"new takes nothing behind it, not {text[:20]!r}")
        state: State = self.game.new(self.game.options_of(self.state))
        return state

    def _announce_result(self) -> None:
        """Show who has won, and how."""
        winner = self.state.winner()
        won = f"{self.game.players[winner - 1]} wins" if winner else "A draw"
        result = "" if self.state.result() == won else f" ({self.state.result()})"
        self._message = f"{won}{result}: {self.state.end_reason}."

    def _clear_marks(self) -> None:
        """Take off the board whatever the last command pointed out."""

    def _mark_hints(self, moves: list[int]) -> None:
        """Point out moves on the board, the best first."""

    def _mark_chances(self, chances: Mapping[int, float]) -> None:
        """Write the chance to win with each move, 0 to 1, on the board."""

    def _board(self, look: Look) -> tuple[Text, int]:
        """The board, and how many columns it takes."""
        text = _shown(str(self.state))
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

    def _warnings(self) -> str:
        """Whether the bots were trained on other games than this."""
        trained = [agent for agent in self._agents.values() if isinstance(agent, Trained)]
        found = dict.fromkeys(agent.warning(self.state) for agent in trained)
        return " ".join(f"{text}." for text in found if text)

    # ------------------------------------------------------------------------------------------ a turn

    def _take_turn(self) -> None:
        self._show()
        agent = None if self.state.is_over or self._opponent_failed else self._agents.get(self.state.to_play)
        if agent is not None:
            self._let_move(agent)
            return
        line = self._ask(self._prompt())
        self._message, self._helping = "", False
        self._clear_marks()
        self._opponent_failed = False
        self._obey(line)

    def _prompt(self) -> str:
        if self.state.is_over:
            return "save FILE, undo, new or quit > "
        if self._opponent_failed:
            return "Enter to try again, or undo, save FILE, quit > "
        return f"{self.game.players[self.state.to_play - 1]} > "

    def _let_move(self, agent: Agent) -> None:
        """Ask a bot for its move and play it. A bot that fails does not end the session."""
        player = self.state.to_play
        name = self.game.players[player - 1]
        try:
            with self._console.status(f"{name} is thinking...", spinner=self._spinner):
                decision = agent.choose(self.state)
            state = self.state.play(decision.move)
        except (AgentError, ValueError) as error:
            self._message = f"{agent.name} failed: {error}"
            self._opponent_failed = True
            return
        moved = f"{name} {self._action(decision.move)}."
        self.state, self._decision = state, decision
        if decision.value is not None:
            self._first_chance = decision.value if player == FIRST else 1 - decision.value
        self._message = f"{self._message} {moved}".strip() if self._people else moved
        if self.state.is_over:
            self._announce_result()
        elif not self._people and self._delay:
            time.sleep(self._delay)

    def _obey(self, line: str) -> None:
        """Do what a typed line says; a line that cannot be obeyed is answered in one line."""
        word, _, rest = line.strip().partition(" ")
        command = self._commands.get(word.lower())
        try:
            if command is not None:
                command(rest.strip())
            elif word and not self._opponent_ought_to_move():
                self._play(self._parse_move(line.strip()))
        except OSError as error:
            self._message = f"{error.filename or rest.strip()}: {error.strerror or error}"
        except (ValueError, AgentError) as error:
            self._message = str(error)

    def _opponent_ought_to_move(self) -> bool:
        return not self.state.is_over and self.state.to_play in self._agents

    # ---------------------------------------------------------------------------------------- commands

    def _play(self, move: int) -> None:
        if self._opponent_ought_to_move():
            raise ValueError("it is not your turn: press Enter to let the opponent try again, or undo")
        self.state = self.state.play(move)
        self._decision = None
        if self.state.is_over:
            self._announce_result()

    def _parse_move(self, text: str) -> int:
        try:
            return self.state.parse_move(text)
        except ValueError as error:
            raise ValueError(f"{error}; type  moves  to see them, or  help") from None

    def _list_moves(self) -> None:
        names = [self.state.move_name(move) for move in self.state.legal_moves()]
        self._message = f"Legal moves: {' '.join(sorted(names))}." if names else "The game is over."

    def _undo(self) -> None:
        """Go back to where the person was to move, before the person's last move."""
        state, count = self.state.previous, 1
        while state is not None and state.to_play not in self._people:
            state, count = state.previous, count + 1
        if state is None:
            raise ValueError("there is no move of yours to take back")
        self.state, self._decision, self._first_chance = state, None, None
        self._message = f"Took back {count} move{'s' if count > 1 else ''}."

    def _hint(self) -> None:
        if self.state.is_over:
            raise ValueError("the game is over")
        adviser = self._advising()
        with self._console.status("Looking for a good move...", spinner=self._spinner):
            decision = adviser.choose(self.state)
        best = _best_moves(decision)
        self._mark_hints(best)
        texts = [self._with_chance(move, decision) for move in best]
        numbered = [f"{i}. {text}" for i, text in enumerate(texts, 1)] if len(texts) > 1 else texts
        self._message = f"{adviser.name} would play: {', '.join(numbered)}."

    def _advising(self) -> Agent:
        """Who gives hints."""
        if self._adviser is None and self._make_adviser is not None:
            self._adviser = self._make_adviser()
        adviser = self._adviser or next(iter(self._agents.values()), None)
        if adviser is None:
            raise ValueError("nobody is here to give a hint")
        return adviser

    def _chances(self) -> None:
        """Show the chance to win with each move, as the opponent sees it, or without one who gives hints."""
        if self.state.is_over:
            raise ValueError("the game is over")
        asked = next(iter(self._agents.values()), None) or self._advising()
        with self._console.status("Looking at the moves...", spinner=self._spinner):
            decision = asked.choose(self.state)
        if not decision.values:
            raise ValueError(f"{asked.name} does not give the chances of moves")
        self._mark_chances(decision.values)
        best = sorted(decision.values, key=lambda move: -decision.values[move])
        self._message = f"{asked.name} gives: {', '.join(self._with_chance(move, decision) for move in best)}."

    def _save(self, file: str, overwrite: bool = False) -> None:
        path = _path(file) if file else _free_name(Path(f"game{self.game.suffix}"))
        if path.exists() and path not in self._own_files and not overwrite:
            raise ValueError(f"{path} is there already: write over it with  save! {path}")
        self._write(path)
        self._message = f"Saved in {path}."

    def _load(self, file: str) -> None:
        if not file:
            raise ValueError(f"which file? Try  load game{self.game.suffix}")
        path = _path(file)
        data = path.read_bytes()
        try:
            state, result = self.game.read(data)
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None
        kept = self._keep()
        self._begin(state)
        ended = f", result {_shown(result)}" if result else ""
        self._message = f"Loaded {path}, {state.move_number} moves{ended}. {kept} {self._warnings()}".strip()
        if self.state.is_over:
            self._announce_result()

    def _new(self, text: str) -> None:
        state = self._fresh(text)
        kept = self._keep()
        self._begin(state)
        self._message = f"A new game. {kept} {self._warnings()}".strip()

    def _help(self) -> None:
        self._helping = True

    def _quit(self) -> None:
        self._done = True

    # ------------------------------------------------------------------------------------------- files

    def _begin(self, state: State) -> None:
        """Turn to another game; if this one has been kept, the next is kept beside it."""
        if self._keep_in is not None and self._kept:
            self._keep_in, self._kept = _free_name(self._keep_in), False
        self.state = self._saved = state
        self._decision, self._first_chance = None, None

    def _write(self, path: Path) -> None:
        names = self._names()
        path.write_bytes(self.game.write(self.state, Record(names[FIRST], names[SECOND])))
        self._own_files.add(path)
        self._saved = self.state

    def _keep(self) -> str:
        """Write a game that is not saved to its file; returns a message, or nothing."""
        if self._keep_in is None or self.state is self._saved or self.state.previous is None:
            return ""
        try:
            make_folder(self._keep_in.parent)
            self._write(self._keep_in)
            self._kept = True
        except OSError as error:
            return f"The game could not be kept in {self._keep_in}: {error.strerror or error}."
        return f"The game is kept: tengen play --load {shlex.quote(str(self._keep_in))}"

    def _with_chance(self, move: int, decision: Decision) -> str:
        chance = decision.values.get(move, decision.value if move == decision.move else None)
        return self.state.move_name(move) + ("" if chance is None else f" ({chance:.0%})")

    # ------------------------------------------------------------------------------------------ screen

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
            label, name = self._label(look, player), Text(f"  {_shown(agent)}", no_wrap=True, overflow="ellipsis")
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
            Text(_shown(f"{', '.join(players)}.{chance}")), self._description(self._console.width), self._turn()
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


def _best_moves(decision: Decision) -> list[int]:
    """The move decided on, then the most visited others."""
    others = sorted(decision.visits, key=lambda move: -decision.visits[move])
    return list(dict.fromkeys([decision.move, *others]))[:_HINTS]


def _path(file: str) -> Path:
    return Path(os.path.expanduser(file))


def _free_name(path: Path) -> Path:
    """The path itself, or the first of game-2.sgf, game-3.sgf, ... that does not exist."""
    free, number = path, 2
    while free.exists():
        free, number = path.with_stem(f"{path.stem}-{number}"), number + 1
    return free


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
        console.print(Text(_shown(page.message), style="bold"))


def _shown(text: str) -> str:
    """The text without control characters; line ends stay."""
    return printable(text, " ", lines=True)


def footnotes(look: Look, note: str, short_help: str) -> list[RenderableType]:
    """The bot's note on its move, and the commands in a few lines."""
    notes = [Text(_shown(note), style="dim", no_wrap=True, overflow="ellipsis")] if note else []
    return [*notes, rule(look), Text(short_help, style="dim", no_wrap=True, overflow="ellipsis")]


def _help(commands: Mapping[str, str]) -> RenderableType:
    table = Table.grid(padding=(0, 1))
    for command, meaning in commands.items():
        table.add_row(Text(command, style="bold", no_wrap=True), Text(meaning, style="dim"))
    return table


def rule(look: Look) -> Rule:
    """A line between two parts of the panel."""
    return Rule(characters="─" if look.unicode else "-", style="dim")
