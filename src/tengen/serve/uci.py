"""Tengen as a UCI engine that plays Microchess, over two byte streams.

The board program sends one command per line. Nothing that it sends ends the conversation but `quit` and the end
of the stream: what cannot be done is answered by an `info string`. Thinking happens in a thread of its own, so
that `isready` and `stop` are heard meanwhile. Beyond the standard there is `d`, which shows the position.

The game is the variant `microchessds`, or `microchess` without the double step (UCI_Variant); the rules of draws
are an option too. A draw by repetition or by counting ends our games but not every program's: if the program
plays on, so do we, from the same board with the past forgotten.
"""

import math
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO, Final, TextIO

from tengen import __version__
from tengen._text import one_line
from tengen.agents.agent import Agent, AgentError, Decision, NeedsCheck, Stoppable, Trained
from tengen.agents.analysis import Analysis, Analyst, Watcher
from tengen.agents.registry import load_agent, with_limit, with_settings
from tengen.agents.uci import centipawns
from tengen.games import microchess
from tengen.games.microchess import RESIGN, RULE_SETS, WHITE, variant_name
from tengen.games.microchess.board import MicrochessOptions
from tengen.games.microchess.game import GAME
from tengen.search.searcher import NODE_BYTES

_VARIANTS: Final = {variant_name(double_step): double_step for double_step in (True, False)}
_FIRST_SLICE, _LONGEST_SLICE = 0.2, 5.0  # of endless thinking, for agents that cannot be stopped
_INFO_INTERVAL = 0.5  # seconds between two reports on a search
_MOST_LINES, _MOST_THREADS, _MOST_HASH = 20, 64, 65_536  # of MultiPV, Threads and Hash (megabytes)
_MOST_NODES = 200_000_000
_PATIENCE: Final = 2.0  # seconds that `quit` waits for a thought to end
_PATIENCE_TO_LOAD: Final = 60.0  # and for one that can be stopped: it ends at once, unless kernels are still loading

Load = Callable[[str], Agent]

LONGEST_LINE: Final = 1 << 20
_INTEGER = re.compile(r"[+-]?[0-9]{1,15}")
_NUMBERS: Final = (
    "wtime", "btime", "winc", "binc", "movestogo", "depth", "nodes", "mate", "movetime", "perft",
)  # fmt: skip
_MOVES_LEFT: Final = 25  # that a game is expected to last for each player, when the program does not say
_SHORTEST: Final = 0.001


@dataclass(frozen=True)
class GoCommand:
    """What a `go` command asks for; times in milliseconds."""

    moves: tuple[str, ...] = ()
    """The only moves to choose from; empty: all."""
    endless: bool = False
    """Think until `stop`: `infinite` or `ponder`."""
    movetime: int | None = None
    nodes: int | None = None
    depth: int | None = None
    time: tuple[int | None, int | None] = (None, None)
    """What is left on the clocks of White and Black."""
    increment: tuple[int, int] = (0, 0)
    moves_to_go: int | None = None

    @property
    def timed(self) -> bool:
        """Whether time is what ends the thinking."""
        return self.endless or self.movetime is not None or self.time != (None, None)

    def seconds(self, color: int, overhead: int) -> float | None:
        """How long White (0) or Black (1) may think, less the `overhead` of talking; None without a limit."""
        budgets: list[float] = []
        if self.movetime is not None:
            budgets.append(self.movetime - overhead)
        left = self.time[color]
        if left is not None:
            share = left / max(1, self.moves_to_go or _MOVES_LEFT) + 0.8 * self.increment[color]
            budgets.append(min(share, left - 2 * overhead))
        return None if self.endless or not budgets else max(_SHORTEST, min(budgets) / 1000)


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
        self._threads: int | None = None
        self._hash: int | None = None
        self._lines = 1
        self._limited = self._with_limit(timed=True)
        self._kept: Agent | None = None
        self._options, self._overhead = options or MicrochessOptions(), 10
        self._warned: str | None = None
        self._positions: list[microchess.State] = []
        """The game so far; the same states are kept from command to command, so that agents keep their trees."""
        self._thread: threading.Thread | None = None
        self._endless = False
        self._stop = threading.Event()

    @property
    def _agent(self) -> Agent:
        """Loaded when it is first wanted, so that the program has its `uciok` before."""
        if self._kept is None:
            self._kept = self._loaded(self._spec, self._limited)
        return self._kept

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
            if self._kept is not None:
                self._halt(_PATIENCE_TO_LOAD if isinstance(self._kept, Stoppable) else _PATIENCE)
                if self._thread is None:
                    self._kept.close()

    def obey(self, line: str) -> None:
        """Do what one line says. It never raises, but for BrokenPipeError."""
        word, *words = line.split()
        command = COMMANDS.get(word)
        try:
            if command is None:
                self._send(f"info string unknown command: {one_line(line, 60)}")
            else:
                command(self, words)
        except BrokenPipeError:
            raise
        except (ValueError, AgentError) as error:
            self._send(f"info string {one_line(str(error))}")
        except Exception as error:
            traceback.print_exc(file=self._log)
            self._send(f"info string internal error: {one_line(f'{type(error).__name__}: {error}')}")

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
            f"option name MultiPV type spin default {self._lines} min 1 max {_MOST_LINES}",
            f"option name Threads type spin default 1 min 1 max {_MOST_THREADS}",
            f"option name Hash type spin default 64 min 1 max {_MOST_HASH}",
            "uciok",
        )

    def isready(self, _: list[str]) -> None:
        if self._thread is None:
            self.state.legal_moves()  # the first position loads the kernels
            if isinstance(self._agent, NeedsCheck):
                try:
                    self._agent.check(self.state)
                except AgentError as error:
                    self._send(f"info string {one_line(str(error))}")
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
            self._use(value, self._with_limit(value, timed=True))
        elif name == "move overhead":
            self._overhead = _spin("Move Overhead", value, 0, 5000)
        elif name == "multipv":
            self._lines = _spin("MultiPV", value, 1, _MOST_LINES)
        elif name == "threads":
            self._threads = _spin("Threads", value, 1, _MOST_THREADS)
        elif name == "hash":
            self._hash = _spin("Hash", value, 1, _MOST_HASH)
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
            limits = {"nodes": request.nodes, "depth": request.depth, "timed": request.timed}
            self._use(self._spec, self._with_limit(**limits))  # type: ignore[arg-type]
        except (ValueError, OSError, AgentError) as error:  # whatever happens, the program waits for a move
            self._send(f"info string {one_line(str(error))}", "bestmove (none)")
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
            decision = self._decide(state, request, began)
            if request.endless:
                self._stop.wait()
            move = self._playable(state, decision, request)
            if not isinstance(self._agent, Analyst):  # others have shown their search
                self._send(self._info(state, decision, time.monotonic() - began))
            self._send(f"bestmove {state.move_name(move)}")
        except BrokenPipeError:
            return
        except Exception as error:  # whatever the agent did, the program waits for a line
            if not isinstance(error, AgentError):
                traceback.print_exc(file=self._log)
            text = one_line(f"{self._agent.name} failed: {type(error).__name__}: {error}")
            self._send(f"info string {text}", "bestmove (none)")

    def _decide(self, state: microchess.State, request: GoCommand, began: float) -> Decision:
        agent = self._agent
        seconds = request.seconds(0 if state.to_play == WHITE else 1, self._overhead)
        if isinstance(agent, Analyst):
            watcher = Watcher(lambda analysis: self._show(state, analysis, began), _INFO_INTERVAL)
            avoid = set(state.legal_moves()) - self._allowed(state, request)
            return (
                self._among(agent, state, request, seconds, avoid, watcher)
                if avoid
                else agent.choose(state, seconds, watcher)
            )
        if not request.endless:
            return agent.choose(state, seconds)
        if isinstance(agent, Stoppable) or self._limited == self._spec:
            return agent.choose(state)
        slice_ = _FIRST_SLICE  # it would think for ever: ask again and again, until someone has had enough
        while True:
            decision = agent.choose(state, slice_)
            if self._stop.wait(0.001):
                return decision
            slice_ = min(2 * slice_, _LONGEST_SLICE)

    def _among(
        self,
        agent: Analyst,
        state: microchess.State,
        request: GoCommand,
        seconds: float | None,
        avoid: set[int],
        watcher: Watcher,
    ) -> Decision:
        """The best of the moves that the program allows, by a search of these alone."""
        seconds = math.inf if request.endless else seconds
        limits = {} if seconds is None and request.nodes is None else {"seconds": seconds, "visits": request.nodes}
        last = None
        for last in agent.analyse(state, interval=watcher.interval, avoid=avoid, **limits):  # type: ignore[arg-type]
            watcher.show(last)
            if self._stop.is_set():
                break
        if last is None or not last.moves:
            return agent.choose(state, _FIRST_SLICE)
        best = last.moves[0]
        visits = {each.move: each.visits for each in last.moves if each.visits}
        return Decision(best.move, last.chance, visits, pv=best.pv, nodes=last.visits)

    def _allowed(self, state: microchess.State, request: GoCommand) -> set[int]:
        """The moves to choose from: those that the program names, or all."""
        legal, named = state.legal_moves(), set(request.moves)
        return {move for move in legal if state.move_name(move) in named} or set(legal)

    def _show(self, state: microchess.State, analysis: Analysis, began: float) -> None:
        """The best lines so far, as `info`."""
        milliseconds = int(1000 * (time.monotonic() - began))
        nodes = sum(move.visits for move in analysis.moves)
        nps = int(1000 * nodes / max(1, milliseconds))
        for number, move in enumerate(analysis.moves[: self._lines], 1):
            chance = analysis.chance if number == 1 else move.chance
            of_many = f" multipv {number}" if self._lines > 1 else ""
            pv = " ".join(state.move_name(each) for each in move.pv)
            self._send(
                f"info depth {max(1, len(move.pv))}{of_many} score cp {centipawns(chance)}"
                f" nodes {nodes} nps {nps} time {milliseconds} pv {pv}"
            )

    def _playable(self, state: microchess.State, decision: Decision, request: GoCommand) -> int:
        """The move decided on, or the best of those that the program allows; UCI cannot resign."""
        allowed = self._allowed(state, request)
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
            if isinstance(self._kept, Stoppable):
                self._kept.stop()
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
        if limited != self._limited or self._kept is None:
            agent = self._loaded(spec, limited)
            if self._kept is not None:
                self._kept.close()
            self._kept, self._limited = agent, limited
        self._spec = spec

    def _with_limit(
        self, spec: str | None = None, *, nodes: int | None = None, depth: int | None = None, timed: bool = False
    ) -> str:
        """The spec with limits, and with the program's threads and memory where its kind has such settings."""
        settings = {} if self._threads is None else {"threads": self._threads}
        if self._hash is not None:
            settings["nodes"] = min(max(10_000, (self._hash << 20) // NODE_BYTES), _MOST_NODES)
        return with_limit(with_settings(spec or self._spec, **settings), nodes=nodes, depth=depth, timed=timed)

    def _warn(self, state: microchess.State) -> None:
        """Report, once for each rule set, that the agent's model was trained with another."""
        text = self._agent.warning(state) if isinstance(self._agent, Trained) else None
        if text is not None and text != self._warned:
            self._send(f"info string {one_line(text)}")
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


def _spin(name: str, value: str, least: int, most: int) -> int:
    """The value of an option that is a number, brought within its bounds."""
    if not (value.isascii() and value.isdecimal()):
        raise ValueError(f"{name} is a number from {least} to {most}, not {value[:40]!r}")
    return min(most, max(least, int(value[:9])))


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


# --------------------------------------------------------------------------------------------- protocol


def read_lines(stream: BinaryIO) -> Iterator[str]:
    """Every line until the stream ends, in single blanks; a line that is too long is left out."""
    while raw := stream.readline(LONGEST_LINE):
        if len(raw) == LONGEST_LINE and not raw.endswith(b"\n"):
            while raw and not raw.endswith(b"\n"):
                raw = stream.readline(LONGEST_LINE)
            continue
        line = " ".join(raw.decode("utf-8", "replace").split())
        if line:
            yield line


def parse_go(words: Sequence[str]) -> GoCommand:
    """The request behind the words of a `go` command; what cannot be understood is left out."""
    numbers: dict[str, int] = {}
    moves: list[str] = []
    endless, key = False, ""
    for word in words:
        if word in ("infinite", "ponder"):
            endless, key = True, ""
        elif word == "searchmoves" or word in _NUMBERS:
            key = word
        elif key == "searchmoves":
            moves.append(word)
        elif key and _INTEGER.fullmatch(word):
            numbers[key], key = max(0, int(word)), ""
    depth = numbers.get("depth", numbers.get("mate"))
    return GoCommand(
        moves=tuple(moves),
        endless=endless,
        movetime=numbers.get("movetime"),
        nodes=numbers.get("nodes"),
        depth=depth,
        time=(numbers.get("wtime"), numbers.get("btime")),
        increment=(numbers.get("winc", 0), numbers.get("binc", 0)),
        moves_to_go=numbers.get("movestogo"),
    )


def parse_option(words: Sequence[str]) -> tuple[str, str]:
    """Name, in small letters, and value of `setoption name NAME value VALUE`; either may be several words."""
    words = list(words[1:]) if words[:1] == ["name"] else list(words)
    place = words.index("value") if "value" in words else len(words)
    return " ".join(words[:place]).lower(), " ".join(words[place + 1 :])


def parse_position(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """The FEN of a `position` command, None for `startpos`, and the moves behind it; ValueError if it is neither."""
    words = list(words)
    place = words.index("moves") if "moves" in words else len(words)
    where, moves = words[:place], words[place + 1 :]
    if where == ["startpos"]:
        return None, moves
    if where[:1] == ["fen"] and len(where) > 1:
        return " ".join([*where[1:], *["w", "-", "-", "0", "1"][len(where) - 2 :]]), moves
    raise ValueError("a position is `startpos` or `fen FEN`, and there may be `moves` behind it")
