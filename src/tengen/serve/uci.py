"""Tengen as a UCI engine that plays Microchess, over two byte streams.

The board program sends one command per line. Nothing that it sends ends the conversation but `quit` and the end
of the stream: what cannot be done is answered by an `info string`. Thinking happens in a thread of its own, so
that `isready` and `stop` are heard meanwhile. Beyond the standard there is `d`, which shows the position.

The game is the variant `microchessds`, or `microchess` without the double step (UCI_Variant); the rules of draws
are an option too. A draw by repetition or by counting ends our games but not every program's: if the program
plays on, so do we, from the same board with the past forgotten.
"""

import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import BinaryIO, Final, TextIO

from tengen import __version__
from tengen.agents.agent import Agent, AgentError, Decision, NeedsCheck, Stoppable, Trained
from tengen.agents.centipawns import centipawns
from tengen.agents.registry import load_agent, with_limit
from tengen.games import microchess
from tengen.games.microchess import RESIGN, RULE_SETS, WHITE, variant_name
from tengen.games.microchess.game import GAME
from tengen.games.microchess.options import MicrochessOptions
from tengen.serve.uci_protocol import (
    GoCommand,
    parse_go,
    parse_option,
    parse_position,
    printable,
    read_lines,
)

_VARIANTS: Final = {variant_name(double_step): double_step for double_step in (True, False)}
_FIRST_SLICE, _LONGEST_SLICE = 0.2, 5.0  # of endless thinking, for agents that cannot be stopped
_PATIENCE: Final = 2.0  # seconds that `quit` waits for a thought to end
_PATIENCE_TO_LOAD: Final = 60.0  # and for one that can be stopped: it ends at once, unless kernels are still loading

Load = Callable[[str], Agent]


class UciServer:
    """A UCI engine whose moves the agent of a spec chooses. `run` obeys until the program leaves.

    A limit that `go` gives (time, nodes, depth) is the agent's own limit where its spec names none; where it does,
    thinking ends with whichever comes first.
    """

    def __init__(
        self,
        spec: str,
        commands: BinaryIO,
        answers: BinaryIO,
        *,
        options: MicrochessOptions | None = None,
        load: Load = load_agent,
        log: TextIO | None = None,
    ) -> None:
        self._input, self._output, self._log = commands, answers, log or sys.stderr
        self._writing = threading.Lock()
        self._load, self._spec = load, spec
        self._limited = with_limit(spec, timed=True)
        self._agent = self._loaded(spec, self._limited)
        self._options, self._overhead = options or MicrochessOptions(), 10
        self._warned: str | None = None
        self._positions: list[microchess.State] = []
        """The game so far; the same states are kept from command to command, so that agents keep their trees."""
        self._thread: threading.Thread | None = None
        self._endless = False
        self._stop = threading.Event()

    @property
    def state(self) -> microchess.State:
        """The position on the board."""
        if not self._positions:
            self._positions = [GAME.new(self._options)]
        return self._positions[-1]

    def run(self) -> None:
        """Obey every command until `quit`, the end of the input, or nobody reads the answers."""
        try:
            for line in read_lines(self._input):
                if line == "quit":
                    break
                self.obey(line)
            else:
                self._finish()
        except BrokenPipeError:
            pass
        finally:
            self._halt(_PATIENCE_TO_LOAD if isinstance(self._agent, Stoppable) else _PATIENCE)
            if self._thread is None:
                self._agent.close()

    def obey(self, line: str) -> None:
        """Do what one line says. It never raises, but for BrokenPipeError."""
        word, *words = line.split()
        command = COMMANDS.get(word)
        try:
            if command is None:
                self._send(f"info string unknown command: {printable(line, 60)}")
            else:
                command(self, words)
        except BrokenPipeError:
            raise
        except (ValueError, AgentError) as error:
            self._send(f"info string {printable(str(error))}")
        except Exception as error:
            traceback.print_exc(file=self._log)
            self._send(f"info string internal error: {printable(f'{type(error).__name__}: {error}')}")

    # ----------------------------------------------------------------------------------------- commands

    def uci(self, _: list[str]) -> None:
        variants = " ".join(f"var {name}" for name in _VARIANTS)
        rules = " ".join(f"var {name}" for name in RULE_SETS)
        self._send(
            f"id name Tengen {__version__} ({self._spec})",
            "id author The Tengen authors",
            f"option name UCI_Variant type combo default {self._variant} {variants}",
            f"option name Rules type combo default {self._options.rules} {rules}",
            f"option name Agent type string default {self._spec}",
            f"option name Move Overhead type spin default {self._overhead} min 0 max 5000",
            "uciok",
        )

    def isready(self, _: list[str]) -> None:
        if self._thread is None:
            self.state.legal_moves()  # the first position loads the kernels
            if isinstance(self._agent, NeedsCheck):
                try:
                    self._agent.check(self.state)
                except AgentError as error:
                    self._send(f"info string {printable(str(error))}")
        self._send("readyok")

    def ucinewgame(self, _: list[str]) -> None:
        self._halt()
        self._positions = []

    def setoption(self, words: list[str]) -> None:
        self._halt()
        name, value = parse_option(words)
        if name == "uci_variant":
            if value not in _VARIANTS:
                raise ValueError(f"no variant is called {value[:40]!r}: choose from {', '.join(_VARIANTS)}")
            self._options, self._positions = replace(self._options, double_step=_VARIANTS[value]), []
        elif name == "rules":
            self._options, self._positions = replace(self._options, rules=value), []
        elif name == "agent":
            self._use(value, with_limit(value, timed=True))
        elif name == "move overhead":
            if not value.isdecimal():
                raise ValueError(f"Move Overhead is a number of milliseconds, not {value[:40]!r}")
            self._overhead = min(5000, int(value[:9]))
        else:
            raise ValueError(f"there is no option {name[:40]!r}")

    def position(self, words: list[str]) -> None:
        self._halt()
        fen, moves = parse_position(words)
        game = [self._start(fen)]
        kept = self._positions
        if kept and (kept[0].fen(), kept[0].double_step) == (game[0].fen(), game[0].double_step):
            game = kept[:1]
        self._positions = game
        for number, word in enumerate(moves, 1):
            state = _resumed(game[-1])
            move = state.parse_move(word)
            next_state = kept[number] if number < len(kept) else None
            if next_state is None or next_state.previous is not state or next_state.last_move != move:
                next_state, kept = state.play(move), []
            game.append(next_state)

    def go(self, words: list[str]) -> None:
        self._halt()
        request = parse_go(words)
        state = _resumed(self.state)
        if state.is_over:
            self._send(f"info depth 0 score {'mate 0' if state.in_check else 'cp 0'}", "bestmove (none)")
            return
        try:
            self._use(self._spec, with_limit(self._spec, nodes=request.nodes, depth=request.depth, timed=request.timed))
        except (ValueError, OSError, AgentError) as error:  # whatever happens, the program waits for a move
            self._send(f"info string {printable(str(error))}", "bestmove (none)")
            return
        self._warn(state)
        self._stop.clear()
        self._endless = request.endless
        self._thread = threading.Thread(target=self._think, args=(state, request), daemon=True)
        self._thread.start()

    def stop(self, _: list[str]) -> None:
        self._stop.set()
        if isinstance(self._agent, Stoppable):
            self._halt()

    def ponderhit(self, _: list[str]) -> None:
        self.stop([])

    def show(self, _: list[str]) -> None:
        state = self.state
        moves = " ".join(state.move_name(move) for move in state.legal_moves())
        over = f"Result: {state.result()} ({state.end_reason})" if state.is_over else f"Legal moves: {moves}"
        self._send("", *str(state).splitlines(), "", f"Fen: {state.fen()}", over)

    def ignore(self, _: list[str]) -> None:
        """What UCI knows and we do not need."""

    # ----------------------------------------------------------------------------------------- thinking

    def _think(self, state: microchess.State, request: GoCommand) -> None:
        """Decide and say so; in the thread that belongs to it."""
        began = time.monotonic()
        try:
            decision = self._decide(state, request)
            if request.endless:
                self._stop.wait()
            move = self._playable(state, decision, request)
            self._send(self._info(state, decision, time.monotonic() - began), f"bestmove {state.move_name(move)}")
        except BrokenPipeError:
            return
        except Exception as error:  # whatever the agent did, the program waits for a line
            if not isinstance(error, AgentError):
                traceback.print_exc(file=self._log)
            text = printable(f"{self._agent.name} failed: {type(error).__name__}: {error}")
            self._send(f"info string {text}", "bestmove (none)")

    def _decide(self, state: microchess.State, request: GoCommand) -> Decision:
        agent = self._agent
        if not request.endless:
            return agent.choose(state, request.seconds(0 if state.to_play == WHITE else 1, self._overhead))
        if isinstance(agent, Stoppable) or self._limited == self._spec:
            return agent.choose(state)
        seconds = _FIRST_SLICE  # it would think for ever: ask again and again, until someone has had enough
        while True:
            decision = agent.choose(state, seconds)
            if self._stop.wait(0.001):
                return decision
            seconds = min(2 * seconds, _LONGEST_SLICE)

    def _playable(self, state: microchess.State, decision: Decision, request: GoCommand) -> int:
        """The move decided on, or the best of those that the program allows; UCI cannot resign."""
        allowed = state.legal_moves()
        if request.moves:
            named = set(request.moves)
            allowed = [move for move in allowed if state.move_name(move) in named] or allowed
        if decision.move in allowed:
            return decision.move
        if decision.move != RESIGN and state.why_illegal(decision.move) is not None:
            raise AgentError(f"{self._agent.name} chose {decision.move}, which is not legal")
        return max(allowed, key=lambda move: (decision.visits.get(move, 0), decision.values.get(move, 0.0)))

    def _info(self, state: microchess.State, decision: Decision, seconds: float) -> str:
        words = ["info", "depth", str(max(1, len(decision.pv)))]
        if decision.value is not None:
            words += ["score", "cp", str(centipawns(decision.value))]
        nodes = decision.nodes if decision.nodes is not None else sum(decision.visits.values())
        if nodes:
            words += ["nodes", str(nodes), "nps", str(int(nodes / max(seconds, 1e-3)))]
        words += ["time", str(int(1000 * seconds))]
        if decision.pv and decision.pv[0] != RESIGN:
            words += ["pv", *(state.move_name(move) for move in decision.pv)]
        return " ".join(words)

    def _finish(self) -> None:
        """Let the thought under way come to its end: whoever closes our input after `go` still wants the move."""
        if self._thread is not None and not self._endless:
            self._thread.join()

    def _halt(self, patience: float | None = None) -> None:
        """End the thought under way, if there is one; after `patience` seconds it is left to itself."""
        self._stop.set()
        deadline = None if patience is None else time.monotonic() + patience
        while self._thread is not None:
            # Again and again, since the thread may not have come to its agent yet.
            if isinstance(self._agent, Stoppable):
                self._agent.stop()
            self._thread.join(0.02)
            if not self._thread.is_alive():
                self._thread = None
            elif deadline is not None and time.monotonic() > deadline:
                return

    # ------------------------------------------------------------------------------------------ private

    @property
    def _variant(self) -> str:
        return variant_name(self._options.double_step)

    def _use(self, spec: str, limited: str) -> None:
        """Let another agent play, if it is another."""
        if limited != self._limited:
            agent = self._loaded(spec, limited)
            self._agent.close()
            self._agent, self._limited = agent, limited
        self._spec = spec

    def _warn(self, state: microchess.State) -> None:
        """Report, once for each rule set, that the agent's model was trained with another."""
        text = self._agent.warning(state) if isinstance(self._agent, Trained) else None
        if text is not None and text != self._warned:
            self._send(f"info string {printable(text)}")
        self._warned = text

    def _loaded(self, spec: str, limited: str) -> Agent:
        """The agent of a spec with limits; where it cannot be limited so, it thinks as the spec alone says."""
        try:
            return self._load(limited)
        except ValueError:
            return self._load(spec)

    def _start(self, fen: str | None) -> microchess.State:
        return GAME.new(self._options) if fen is None else GAME.position(fen, self._options)

    def _send(self, *lines: str) -> None:
        data = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
        with self._writing:
            try:
                self._output.write(data)
                self._output.flush()
            except ValueError:  # the stream is closed
                raise BrokenPipeError from None


def _resumed(state: microchess.State) -> microchess.State:
    """The position with the game going on, if only its past ended it: the clock at 0, no repetition known."""
    if not state.is_over:
        return state
    board, color, castling, *_ = state.fen().split()
    return microchess.State.from_fen(f"{board} {color} {castling} - 0 1", state.rules, state.double_step)


COMMANDS: Final[dict[str, Callable[[UciServer, list[str]], None]]] = {
    "uci": UciServer.uci,
    "isready": UciServer.isready,
    "ucinewgame": UciServer.ucinewgame,
    "setoption": UciServer.setoption,
    "position": UciServer.position,
    "go": UciServer.go,
    "stop": UciServer.stop,
    "ponderhit": UciServer.ponderhit,
    "d": UciServer.show,
    "debug": UciServer.ignore,
    "register": UciServer.ignore,
}
