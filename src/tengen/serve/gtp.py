"""Tengen as a GTP engine: the Go Text Protocol, version 2, over two byte streams.

The controller (Sabaki, GoGui, a match program) sends one command per line and reads one answer for each.
Nothing that it sends ends the conversation but `quit` and the end of the stream: a command that fails is
answered with `?` and a reason, even when the fault is ours. Error messages are the protocol's own where it
names one. Beyond the standard there are KataGo's rules commands, the KGS commands that programs like, and for agents
that search a tree the commands for analysis (`gtp_analysis.py`), which end at the next line; so may pondering.

As the protocol allows, stones may be played out of turn, and play may go on after two passes (to take dead
stones off the board, say): see `resumed`.
"""

import math
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import BinaryIO, Final, TextIO

import numpy as np

from tengen import __version__
from tengen._text import one_line
from tengen.agents.agent import Agent, AgentError, NeedsCheck, Trained
from tengen.agents.analysis import Analyst, Watcher
from tengen.agents.random import RandomAgent, RandomSettings
from tengen.agents.rehearsal import rehearse
from tengen.games import go
from tengen.games.go import BLACK, EMPTY, PASS, RESIGN, WHITE, IllegalMove, format_margin, to_gtp
from tengen.games.go.coordinates import fixed_handicap
from tengen.games.go.game import GAME
from tengen.games.go.rules import GoOptions, rules_as_json, rules_from_text
from tengen.games.go.sgf import write_sgf
from tengen.search.life_and_death import dead_stones
from tengen.serve.gtp_analysis import ANALYSIS_COMMANDS, Execute, Parameters
from tengen.serve.gtp_protocol import (
    AnswerStream,
    Command,
    CommandReader,
    GtpClocks,
    GtpError,
    argument,
    as_color,
    as_integer,
    as_number,
    as_vertex,
    cleanup_move,
    handicap_places,
    read_game,
    resumed,
    strings_of,
    under_rules,
)

Arguments = tuple[str, ...]


class GtpServer:
    """A GTP engine whose moves an agent chooses. `run` answers until the controller leaves, then closes it.

    `options` hold until the controller sets others.
    """

    def __init__(
        self,
        agent: Agent,
        commands: BinaryIO,
        answers: BinaryIO,
        *,
        options: GoOptions | None = None,
        ponder: bool = False,
        log: TextIO | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`ponder`: think on the opponent's time, where the agent can."""
        self._agent = agent
        self._commands: dict[str, Execute] = ANALYSIS_COMMANDS if isinstance(agent, Analyst) else {}
        self._parameters = Parameters(pondering=ponder)
        self._reader: CommandReader | None = None
        self._input, self._output = commands, answers
        self._log, self._now = log or sys.stderr, now
        self._first = options or GoOptions()
        self._warned: str | None = None
        # Every position since the board was cleared. It is not the chain of `previous`: play resumed after
        # two passes leaves one of them out there, and `undo` must take back each command by itself.
        self._positions: list[go.State] = []
        self.clocks = GtpClocks()

    @property
    def _game(self) -> list[go.State]:
        # Made when it is first wanted: a controller gets its first answers without waiting for kernels.
        if not self._positions:
            self._positions = [GAME.new(self._first)]
        return self._positions

    @property
    def greeting(self) -> str:
        """One line for people: who plays, and which game until the controller sets another."""
        return f"{self._agent.name} plays {GAME.describe(self._first)}, until the program sets another game"

    @property
    def state(self) -> go.State:
        """The position on the board."""
        return self._game[-1]

    def run(self) -> None:
        """Answer every command until `quit`, the end of the input, or nobody reads the answers."""
        self._reader = CommandReader(self._input)
        try:
            for command in self._reader:
                self._execute(command, self._send)
                if command.name == "quit":
                    return
                if self._parameters.pondering and "genmove" in command.name and self._commands:
                    self._ponder()
        except BrokenPipeError:
            return
        finally:
            self._agent.close()

    def respond(self, command: Command) -> bytes:
        """The answer to one command, an analysis being ended at once. It never raises."""
        parts: list[bytes] = []
        self._execute(command, parts.append)
        return b"".join(parts)

    def _execute(self, command: Command, write: Callable[[bytes], None]) -> None:
        """Write the answer to a command."""
        stream = AnswerStream(command.number, write)
        try:
            stream.end(self._obey(command, stream))
        except BrokenPipeError:
            raise
        except (GtpError, AgentError) as error:
            stream.fail(one_line(str(error), None))
        except Exception as error:
            traceback.print_exc(file=self._log)
            stream.fail(one_line(f"internal error: {type(error).__name__}: {error}", 500))

    def _obey(self, command: Command, stream: AnswerStream) -> str:
        if (execute := COMMANDS.get(command.name)) is not None:
            return execute(self, command.arguments)
        if (analyse := self._commands.get(command.name)) is not None:
            return analyse(self, self._parameters, command.arguments, stream)
        raise GtpError("unknown command")

    def _send(self, data: bytes) -> None:
        self._output.write(data)
        self._output.flush()

    # ------------------------------------------------------------------------------ what analysis asks for

    @property
    def analyst(self) -> Analyst:
        """The agent, as one that analyses."""
        assert isinstance(self._agent, Analyst)
        return self._agent

    def to_analyse(self, color: int | None) -> go.State:
        """The position on the board, play going on, with this colour to move or whose turn it is."""
        return resumed(self.state).with_to_play(color or self.state.to_play)

    def until_next_line(self, on_line: Callable[[], None]) -> AbstractContextManager[None]:
        """While inside, this is called once the controller sends another line; at once if nobody listens to it."""
        if self._reader is None:
            on_line()
            return nullcontext()
        return self._reader.interrupting(on_line)

    def _ponder(self) -> None:
        """Search on from the position on the board, so that the tree has grown when the opponent has moved."""
        try:
            snapshots = self.analyst.analyse(self.to_analyse(None), seconds=math.inf, interval=math.inf)
        except AgentError:  # not a game for this agent, as `genmove` has answered
            return
        with self.until_next_line(self.analyst.stop):
            for _ in snapshots:
                pass

    # ----------------------------------------------------------------------------------- administration

    def protocol_version(self, _: Arguments) -> str:
        return "2"

    def engine_name(self, _: Arguments) -> str:
        return "Tengen"

    def version(self, _: Arguments) -> str:
        return f"{__version__} ({self._agent.name})"

    def known_command(self, arguments: Arguments) -> str:
        return "true" if arguments and arguments[0] in {**COMMANDS, **self._commands} else "false"

    def list_commands(self, _: Arguments) -> str:
        return "\n".join(sorted({**COMMANDS, **self._commands}))

    def quit(self, _: Arguments) -> str:
        return ""

    # -------------------------------------------------------------------------------------------- set-up

    def boardsize(self, arguments: Arguments) -> str:
        size = as_integer(argument(arguments, 0))
        try:
            state = go.State.new(size, self.state.rules, self.state.komi)
            try:
                self._prepare(state)
            except AgentError:  # the rules may be at fault, which are set by another command
                self._prepare(go.State.new(size, "chinese"))
        except (ValueError, AgentError):
            raise GtpError("unacceptable size") from None
        self._begin(state)
        return ""

    def clear_board(self, _: Arguments) -> str:
        self._begin(go.State.new(self.state.size, self.state.rules, self.state.komi))
        self._prepare_quietly()
        return ""

    def time_settings(self, arguments: Arguments) -> str:
        self._prepare_quietly()
        return self.clocks.time_settings(arguments)

    def kgs_time_settings(self, arguments: Arguments) -> str:
        self._prepare_quietly()
        return self.clocks.kgs_time_settings(arguments)

    def _prepare(self, state: go.State) -> None:
        """Load and compile what the first move needs, before a clock runs; AgentError if the agent cannot play this."""
        rehearse(RandomAgent(RandomSettings(seed=1)), state)  # the rules, for agents that cannot get ready
        state.with_to_play(BLACK + WHITE - state.to_play)  # a colour may play twice
        if isinstance(self._agent, NeedsCheck):
            self._agent.check(state)

    def _prepare_quietly(self) -> None:
        try:
            self._prepare(self.state)
        except AgentError:  # as `genmove` will answer
            pass

    def komi(self, arguments: Arguments) -> str:
        try:
            self._game[-1] = self.state.with_komi(as_number(argument(arguments, 0)))
        except ValueError as error:
            raise GtpError(str(error)) from None
        return ""

    def fixed_handicap(self, arguments: Arguments) -> str:
        stones = as_integer(argument(arguments, 0))
        try:
            points = fixed_handicap(self.state.size, stones)
        except ValueError:
            raise GtpError("invalid number of stones") from None
        return self._set_handicap(points)

    def place_free_handicap(self, arguments: Arguments) -> str:
        stones = as_integer(argument(arguments, 0))
        if not 2 <= stones < self.state.size**2:
            raise GtpError("invalid number of stones")
        return self._set_handicap(handicap_places(self.state.size, stones))

    def set_free_handicap(self, arguments: Arguments) -> str:
        points = [as_vertex(word, self.state.size) for word in arguments]
        if len(points) < 2 or PASS in points:
            raise GtpError("bad vertex list")
        self._set_handicap(points)
        return ""

    def get_rules(self, _: Arguments) -> str:
        return rules_as_json(self.state.rules)

    def set_rules(self, arguments: Arguments) -> str:
        argument(arguments, 0)
        try:
            self._positions = under_rules(self._game, rules_from_text(" ".join(arguments)))
        except ValueError as error:
            raise GtpError(str(error)) from None
        return ""

    def loadsgf(self, arguments: Arguments) -> str:
        argument(arguments, 0)
        # A path may have blanks in it; the last word is the move number if it is a number and not the path.
        numbered = len(arguments) > 1 and arguments[-1].isascii() and arguments[-1].isdigit()
        before = as_integer(arguments[-1]) if numbered else None
        positions = read_game(" ".join(arguments[:-1] if numbered else arguments), self.state.rules)
        self._begin(positions[0])
        self._positions = positions[: max(1, before)] if before is not None else positions
        return ""

    # ------------------------------------------------------------------------------------------- playing

    def play(self, arguments: Arguments) -> str:
        color = as_color(argument(arguments, 0))
        move = as_vertex(argument(arguments, 1), self.state.size)
        try:
            self._game.append(resumed(self.state).play(move, color))
        except IllegalMove:
            raise GtpError("illegal move") from None
        return ""

    def genmove(self, arguments: Arguments) -> str:
        return self.generate(as_color(argument(arguments, 0)))

    def genmove_cleanup(self, arguments: Arguments) -> str:
        """As `genmove`, but it does not pass while stones of the opponent are dead and can be captured."""
        color = as_color(argument(arguments, 0))
        return self._move(color, lambda state, seconds: cleanup_move(state, lambda: self._choose(state, seconds)))

    def reg_genmove(self, arguments: Arguments) -> str:
        state = self.to_analyse(as_color(argument(arguments, 0)))
        return to_gtp(self._choose(state, None), state.size)

    def generate(self, color: int, watcher: Callable[[go.State], Watcher] | None = None, *, plays: bool = True) -> str:
        """The agent's move by the clock, and played if that is wanted; `watcher` is who is shown the search."""
        return self._move(color, lambda state, seconds: self._choose(state, seconds, watcher), plays)

    def _move(self, color: int, choose: Callable[[go.State, float | None], int], plays: bool = True) -> str:
        state = self.to_analyse(color)
        began, clock = self._now(), self.clocks.of(color)
        move = choose(state, clock.budget(int(np.sum(state.stones == EMPTY))))
        clock.spend(self._now() - began)
        if move != RESIGN and plays:
            self._game.append(state.play(move))
        return to_gtp(move, state.size)

    def undo(self, _: Arguments) -> str:
        if len(self._game) < 2:
            raise GtpError("cannot undo")
        komi = self._game.pop().komi
        if komi != self.state.komi:
            self._game[-1] = self.state.with_komi(komi)
        return ""

    # ------------------------------------------------------------------------------------------- looking

    def final_score(self, _: Arguments) -> str:
        return format_margin(self.state.score(dead_stones(self.state)))

    def final_status_list(self, arguments: Arguments) -> str:
        """One string per line. Seki is not recognised: its stones are alive."""
        status = argument(arguments, 0)
        if status not in ("alive", "dead", "seki"):
            raise GtpError("syntax error")
        state = self.state
        dead = dead_stones(state)
        strings = [] if status == "seki" else [s for s in strings_of(state) if (s[0] in dead) == (status == "dead")]
        return "\n".join(" ".join(to_gtp(point, state.size) for point in string) for string in strings)

    def showboard(self, _: Arguments) -> str:
        return f"\n{self.state}"

    def list_stones(self, arguments: Arguments) -> str:
        color, state = as_color(argument(arguments, 0)), self.state
        points = np.flatnonzero(state.stones.ravel() == color).tolist()
        return " ".join(to_gtp(point, state.size) for point in points)

    def get_komi(self, _: Arguments) -> str:
        return f"{self.state.komi:g}"

    def query_boardsize(self, _: Arguments) -> str:
        return str(self.state.size)

    def printsgf(self, arguments: Arguments) -> str:
        """The game's record; unlike in GNU Go it cannot be written to a file."""
        if arguments:
            raise GtpError("printsgf writes no files: without a name it prints the record")
        text = write_sgf(self.state).decode()
        return "\n".join(line for line in text.splitlines() if line.strip())

    def cputime(self, _: Arguments) -> str:
        return f"{time.process_time():.3f}"

    def chat(self, _: Arguments) -> str:
        """Whatever somebody says: who is playing."""
        return f"This is Tengen {__version__}, {self._agent.name}."

    def game_over(self, _: Arguments) -> str:
        """The server has ended the game; the next one begins with `clear_board`."""
        return ""

    def gogui_analyze_commands(self, _: Arguments) -> str:
        return "\n".join(_GOGUI_COMMANDS)

    # ------------------------------------------------------------------------------------------- private

    def _begin(self, state: go.State) -> None:
        self._positions = [state]
        self.clocks.reset()

    def _set_handicap(self, points: list[int]) -> str:
        state = self.state
        if state.stones.any():
            raise GtpError("board not empty")
        try:
            self._begin(
                go.State.setup(state.size, state.rules, state.komi, points, (), WHITE, len(points)),
            )
        except ValueError:
            raise GtpError("bad vertex list") from None
        return " ".join(to_gtp(point, state.size) for point in points)

    def _choose(
        self, state: go.State, seconds: float | None, watcher: Callable[[go.State], Watcher] | None = None
    ) -> int:
        """The agent's move, after making sure that it is legal."""
        self._warn(state)
        if watcher is None:
            decision = self._agent.choose(state, seconds)
        else:
            decision = self.analyst.choose(state, seconds, watcher(state))
        color, move = "B" if state.to_play == BLACK else "W", decision.move
        reason = state.why_illegal(move)
        if reason is not None:
            word = to_gtp(move, state.size) if RESIGN <= move < state.size**2 else str(move)
            raise AgentError(f"{self._agent.name} chose {word}, which is not legal: {reason}")
        value = "" if decision.value is None else f", wins {decision.value:.1%}"
        note = f", {decision.note}" if decision.note else ""
        print(f"{color} {to_gtp(move, state.size)}{value}{note}", file=self._log, flush=True)
        return move

    def _warn(self, state: go.State) -> None:
        """Report on the log, once for each komi and rule set, that the agent's model was trained with others."""
        text = self._agent.warning(state) if isinstance(self._agent, Trained) else None
        if text not in (None, self._warned):
            print(text, file=self._log, flush=True)
        self._warned = text


_GOGUI_COMMANDS: Final = (
    "string/Final Score/final_score",
    "plist/Dead Stones/final_status_list dead",
    "plist/Stones/list_stones %c",
    "plist/Move by Search/reg_genmove %c",
    "string/Rules/kata-get-rules",
    "string/Komi/get_komi",
    "hstring/Board/showboard",
    "hstring/Record/printsgf",
    "string/Processor Time/cputime",
)
"""For the menu of GoGui: a type of output, a name, and the command."""

COMMANDS: Final[dict[str, Callable[[GtpServer, Arguments], str]]] = {
    "protocol_version": GtpServer.protocol_version,
    "name": GtpServer.engine_name,
    "version": GtpServer.version,
    "known_command": GtpServer.known_command,
    "list_commands": GtpServer.list_commands,
    "quit": GtpServer.quit,
    "boardsize": GtpServer.boardsize,
    "clear_board": GtpServer.clear_board,
    "komi": GtpServer.komi,
    "fixed_handicap": GtpServer.fixed_handicap,
    "place_free_handicap": GtpServer.place_free_handicap,
    "set_free_handicap": GtpServer.set_free_handicap,
    "kata-get-rules": GtpServer.get_rules,
    "kata-set-rules": GtpServer.set_rules,
    "kgs-rules": GtpServer.set_rules,
    "loadsgf": GtpServer.loadsgf,
    "play": GtpServer.play,
    "genmove": GtpServer.genmove,
    "kgs-genmove_cleanup": GtpServer.genmove_cleanup,
    "reg_genmove": GtpServer.reg_genmove,
    "undo": GtpServer.undo,
    "time_settings": GtpServer.time_settings,
    "kgs-time_settings": GtpServer.kgs_time_settings,
    "time_left": lambda server, words: server.clocks.time_left(words),
    "final_score": GtpServer.final_score,
    "final_status_list": GtpServer.final_status_list,
    "showboard": GtpServer.showboard,
    "list_stones": GtpServer.list_stones,
    "get_komi": GtpServer.get_komi,
    "query_boardsize": GtpServer.query_boardsize,
    "printsgf": GtpServer.printsgf,
    "cputime": GtpServer.cputime,
    "kgs-chat": GtpServer.chat,
    "kgs-game_over": GtpServer.game_over,
    "gogui-analyze_commands": GtpServer.gogui_analyze_commands,
}
