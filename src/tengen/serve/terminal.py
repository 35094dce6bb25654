"""A game of Go in the terminal: a person against a bot, two people, or two bots to watch.

`TerminalGame` holds the game and obeys typed commands (`screen.COMMANDS`). It reads lines through a function
and writes to a rich console, both given from outside, so that a test can play a whole game.
"""

import os
import shlex
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from rich.console import Console

from tengen.agents.agent import Agent, AgentError, Decision
from tengen.data.sgf import SgfError, read_sgf, write_sgf
from tengen.games.go import BLACK, PASS, RESIGN, WHITE, GameState, IllegalMove, from_gtp, to_gtp
from tengen.games.go.coordinates import max_fixed_handicap
from tengen.search.status import dead_stones
from tengen.serve.estimate import count_told, estimate, margin_told
from tengen.serve.goban import Look, Marks
from tengen.serve.screen import Scene, printable, show

_COLORS: Final = {BLACK: "Black", WHITE: "White"}
_HINTS: Final = 3


class TerminalGame:
    """One sitting at the board: a game, its players, and the commands that people type.

    agents:   who plays a colour; a colour that is missing is played by the person at the keyboard.
    ask:      shows a prompt and returns a line; EOFError or KeyboardInterrupt end the sitting.
    adviser:  makes the agent that `hint` asks; without it, the opponent gives hints.
    keep_in:  the file that a game not yet saved goes to when it is left.
    delay:    seconds to wait after each move when there are only bots to watch.
    """

    def __init__(
        self,
        state: GameState,
        agents: Mapping[int, Agent],
        *,
        console: Console,
        ask: Callable[[str], str] = input,
        adviser: Callable[[], Agent] | None = None,
        keep_in: Path | None = None,
        delay: float = 0.0,
    ) -> None:
        self.state = state
        self._agents, self._console, self._ask = dict(agents), console, ask
        self._people = [color for color in _COLORS if color not in agents]
        self._make_adviser = adviser
        self._adviser: Agent | None = None
        self._keep_in, self._delay = keep_in, delay
        self._spinner = "dots" if Look.of(console).unicode else "line"
        self._own_files: set[Path] = {keep_in} if keep_in else set()
        self._saved = state
        self._done = self._opponent_failed = self._kept = False
        self._decision: Decision | None = None
        self._black_chance: float | None = None
        self._message, self._marks, self._helping = "", Marks(), False
        if self._people and not state.is_over:
            self._message = "Type a move such as D4, or help."
        self._commands: dict[str, Callable[[str], None]] = {
            "pass": lambda _: self._play(PASS),
            "resign": lambda _: self._play(RESIGN),
            "undo": lambda _: self._undo(),
            "hint": lambda _: self._hint(),
            "score": lambda _: self._score(),
            "save": self._save,
            "save!": lambda file: self._save(file, overwrite=True),
            "load": self._load,
            "new": self._new,
            "help": lambda _: self._help(),
            "quit": lambda _: self._quit(),
            "exit": lambda _: self._quit(),
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

    # ------------------------------------------------------------------------------------------ a turn

    def _take_turn(self) -> None:
        self._show()
        agent = None if self.state.is_over or self._opponent_failed else self._agents.get(self.state.to_play)
        if agent is not None:
            self._let_move(agent)
            return
        line = self._ask(self._prompt())
        self._message, self._marks, self._helping = "", Marks(), False
        self._opponent_failed = False
        self._obey(line)

    def _show(self) -> None:
        decision = self._decision
        note = decision.note if decision else ""
        scene = Scene(self.state, self._names(), self._message, self._marks, self._black_chance, note, self._helping)
        show(self._console, scene)

    def _prompt(self) -> str:
        if self.state.is_over:
            return "save FILE, undo, new or quit > "
        if self._opponent_failed:
            return "Enter to try again, or undo, save FILE, quit > "
        return f"{_COLORS[self.state.to_play]} > "

    def _names(self) -> dict[int, str]:
        person = "you" if len(self._people) == 1 else "person"
        return {color: self._agents[color].name if color in self._agents else person for color in _COLORS}

    def _let_move(self, agent: Agent) -> None:
        """Ask a bot for its move and play it. A bot that fails does not end the sitting."""
        color = self.state.to_play
        try:
            with self._console.status(f"{_COLORS[color]} is thinking...", spinner=self._spinner):
                decision = agent.choose(self.state)
            self.state = self.state.play(decision.move)
        except (AgentError, IllegalMove) as error:
            self._message = f"{agent.name} failed: {error}"
            self._opponent_failed = True
            return
        self._decision = decision
        if decision.value is not None:
            self._black_chance = decision.value if color == BLACK else 1 - decision.value
        told = f"{_COLORS[color]} {_told(decision.move, self.state.size)}."
        self._message = f"{self._message} {told}".strip() if self._people else told
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
                self._play(self._point(line.strip()))
        except SgfError as error:
            self._message = f"{rest.strip()}: {error}"
        except OSError as error:
            self._message = f"{error.filename or rest.strip()}: {error.strerror or error}"
        except (ValueError, AgentError) as error:
            self._message = str(error)

    def _opponent_ought_to_move(self) -> bool:
        return not self.state.is_over and self.state.to_play in self._agents

    def _point(self, text: str) -> int:
        try:
            return from_gtp(text, self.state.size)
        except ValueError as error:
            if "outside" in str(error):
                raise
            raise ValueError(f"{text[:20]!r} is no move and no command: try a point such as C3, or help") from None

    # ---------------------------------------------------------------------------------------- commands

    def _play(self, move: int) -> None:
        if self._opponent_ought_to_move():
            raise ValueError("it is not your turn: press Enter to let the opponent try again, or undo")
        self.state = self.state.play(move)
        self._decision = None
        if self.state.is_over:
            self._announce_result()

    def _undo(self) -> None:
        """Go back to where the person was to move, before the person's last move."""
        state = self.state.previous
        while state is not None and state.to_play not in self._people:
            state = state.previous
        if state is None:
            raise ValueError("there is no move of yours to take back")
        count = len(self.state.moves) - len(state.moves)
        self.state, self._decision, self._black_chance = state, None, None
        self._message = f"Took back {count} move{'s' if count > 1 else ''}."

    def _hint(self) -> None:
        if self.state.is_over:
            raise ValueError("the game is over")
        if self._adviser is None and self._make_adviser is not None:
            self._adviser = self._make_adviser()
        adviser = self._adviser or next(iter(self._agents.values()), None)
        if adviser is None:
            raise ValueError("nobody is here to give a hint")
        with self._console.status("Looking for a good move...", spinner=self._spinner):
            decision = adviser.choose(self.state)
        best = _best_moves(decision)
        self._marks = Marks(hints={move: str(i) for i, move in enumerate(best, 1) if move >= 0})
        told = [_with_chance(move, decision, self.state.size) for move in best]
        numbered = [f"{i}. {text}" for i, text in enumerate(told, 1)] if len(told) > 1 else told
        self._message = f"{adviser.name} would play: {', '.join(numbered)}."

    def _score(self) -> None:
        if self.state.is_over:
            self._announce_result()
            return
        guess = estimate(self.state)
        self._marks = Marks(guess.owners, guess.dead)
        self._message = f"An estimate: {margin_told(guess.margin, 'is ahead by about')}."

    def _save(self, file: str, overwrite: bool = False) -> None:
        path = _path(file) if file else _free_name(Path("game.sgf"))
        if path.exists() and path not in self._own_files and not overwrite:
            raise ValueError(f"{path} is there already: write over it with  save! {path}")
        self._write(path)
        self._message = f"Saved in {path}."

    def _load(self, file: str) -> None:
        if not file:
            raise ValueError("which file? Try  load game.sgf")
        path = _path(file)
        game = read_sgf(path.read_bytes())
        kept = self._keep()
        self._begin(game.state)
        self._message = f"Loaded {path}, {game.state.move_number} moves{_said(game.result)}. {kept}".strip()
        if self.state.is_over:
            self._announce_result()

    def _new(self, size_text: str) -> None:
        if size_text and not size_text.isdecimal():
            raise ValueError(f"new takes a board size, 2 to 25, not {size_text[:20]!r}")
        old, size = self.state, int(size_text) if size_text else self.state.size
        handicap = old.handicap if 2 <= old.handicap <= max_fixed_handicap(size) else 0
        state = GameState.new(size, old.rules, old.komi, handicap)
        kept = self._keep()
        self._begin(state)
        self._message = f"A new game. {kept}".strip()

    def _help(self) -> None:
        self._helping = True

    def _quit(self) -> None:
        self._done = True

    # ------------------------------------------------------------------------------- files and results

    def _begin(self, state: GameState) -> None:
        """Turn to another game; if this one has been kept, the next is kept beside it."""
        if self._keep_in is not None and self._kept:
            self._keep_in, self._kept = _free_name(self._keep_in), False
        self.state = self._saved = state
        self._decision, self._black_chance = None, None

    def _write(self, path: Path) -> None:
        names = self._names()
        path.write_bytes(write_sgf(self.state, black_name=names[BLACK], white_name=names[WHITE]))
        self._own_files.add(path)
        self._saved = self.state

    def _keep(self) -> str:
        """Write a game that is not saved to its file; returns what to tell, or nothing."""
        if self._keep_in is None or self.state is self._saved or not self.state.moves:
            return ""
        try:
            self._keep_in.parent.mkdir(parents=True, exist_ok=True)
            self._write(self._keep_in)
            self._kept = True
        except OSError as error:
            return f"The game could not be kept in {self._keep_in}: {error.strerror or error}."
        return f"The game is kept: tengen play --load {shlex.quote(str(self._keep_in))}"

    def _announce_result(self) -> None:
        """Say who has won, how it was counted, and mark what was taken for dead."""
        if self.state.last_move != PASS:
            ended = {"B+R": "White resigns: Black wins.", "W+R": "Black resigns: White wins."}
            repeated = "No result: the same position came for the third time."
            self._message = ended.get(self.state.result(), repeated)
            return
        dead = dead_stones(self.state)
        self.state = self.state.with_dead(dead)
        self._marks = Marks(self.state.ownership(dead), dead)
        won = margin_told(self.state.score(dead), "wins by")
        self._message = f"{won} ({self.state.result()}). {count_told(self.state, dead)}"


# ------------------------------------------------------------------------------------------- in words


def _told(move: int, size: int) -> str:
    return {PASS: "passes", RESIGN: "resigns"}.get(move, f"plays {to_gtp(move, size)}")


def _best_moves(decision: Decision) -> list[int]:
    """The move decided on, then the most visited others."""
    others = sorted(decision.visits, key=lambda move: -decision.visits[move])
    return list(dict.fromkeys([decision.move, *others]))[:_HINTS]


def _with_chance(move: int, decision: Decision, size: int) -> str:
    chance = decision.values.get(move, decision.value if move == decision.move else None)
    return to_gtp(move, size) + ("" if chance is None else f" ({chance:.0%})")


def _said(result: str) -> str:
    return f", result {printable(result)}" if result else ""


def _path(file: str) -> Path:
    return Path(os.path.expanduser(file))


def _free_name(path: Path) -> Path:
    """The path itself, or the first of game-2.sgf, game-3.sgf, ... that does not exist."""
    free, number = path, 2
    while free.exists():
        free, number = path.with_stem(f"{path.stem}-{number}"), number + 1
    return free
