"""A match: many games between two agents, A and B, several at once, saved as they end.

Games come in pairs: games 1 and 2 begin with the same opening, A being Black in the first and White in the
second, and so on. A game depends on the match's settings and its own number alone: every game gets agents of
its own, with seeds made from the match's seed and the game's number. So a match that was killed and resumed
has the games that it would have had anyway (as far as the agents are deterministic), and asking for more
games only adds to them.
"""

import hashlib
import json
import os
import queue
import re
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path, PurePath

import numpy as np

from tengen._files import Setting
from tengen.agents.agent import Agent, AgentError
from tengen.agents.gtp import GtpEngine
from tengen.agents.policy import PolicyAgent
from tengen.agents.registry import load_agent
from tengen.arena.game import GameRecord, GameStopped, Turn, default_max_moves, forfeited, play_game
from tengen.arena.results import GameResult, MatchFolder, Player
from tengen.data.sgf import write_sgf
from tengen.games.go import BLACK, PASS, RESIGN, WHITE, GameState

Load = Callable[[str, int], Agent]
"""Makes the agent of a spec, with a seed for what is random in it."""


@dataclass(frozen=True)
class Match:
    """What is played. None stands for the default of the rule set (size, komi) or of the size (max_moves)."""

    a: str
    """Spec of the first agent. A seed inside a spec is used in every game."""
    b: str
    """Spec of the second agent."""
    games: int = 40
    size: int | None = None
    rules: str = "chinese"
    komi: float | None = None
    seed: int = 1
    opening_moves: int = 2
    """Random moves, not on the first two lines, that each pair of games begins with."""
    max_moves: int | None = None
    """A game of this length ends and is scored as it stands."""
    seconds: float | None = None
    """The most that an agent should think per move; None: as its spec says."""
    game: str = "go"

    def __post_init__(self) -> None:
        if self.game != "go":
            raise ValueError(f"no game is called {self.game[:40]!r}: choose from go")
        _at_least("games", self.games, 1)
        _at_least("seed", self.seed, 0)
        _at_least("opening moves", self.opening_moves, 0)
        points = self.start.size**2
        if self.opening_moves > points // 2:
            raise ValueError(f"{self.opening_moves} opening moves are too many: give at most {points // 2}")
        if self.max_moves is not None:
            _at_least("max moves", self.max_moves, self.opening_moves + 1)
        if self.seconds is not None and not 0 < self.seconds < 1e6:
            raise ValueError(f"{self.seconds} seconds per move are not possible: give more than 0")

    @property
    def start(self) -> GameState:
        """The empty board."""
        return GameState.new(self.size, self.rules, self.komi)

    @property
    def settings(self) -> dict[str, Setting]:
        """All that decides how a game goes, defaults filled in; not the number of games, which may grow."""
        start = self.start
        settings: dict[str, Setting | None] = {
            "a": self.a.strip(),
            "b": self.b.strip(),
            "game": self.game,
            "size": start.size,
            "rules": start.rules.name,
            "komi": start.komi,
            "seed": self.seed,
            "opening_moves": self.opening_moves,
            "max_moves": default_max_moves(start.size) if self.max_moves is None else self.max_moves,
            "seconds": self.seconds,
        }
        return {name: value for name, value in settings.items() if value is not None}

    @property
    def folder_name(self) -> str:
        """`uct-vs-gnugo-1f2e3d4c`: the same command finds its folder again."""
        text = json.dumps(self.settings, sort_keys=True).encode()
        digest = hashlib.blake2b(text, digest_size=4).hexdigest()
        return f"{_short_name(self.a)}-vs-{_short_name(self.b)}-{digest}"


def opening(match: Match, game: int) -> GameState:
    """The position from which a game is played; the same for games 1 and 2, 3 and 4, ..."""
    rng = np.random.default_rng([match.seed, (game + 1) // 2])
    state = match.start
    for _ in range(match.opening_moves):
        points = [move for move in state.legal_moves() if move != PASS]
        points = [move for move in points if _off_the_edge(move, state.size)] or points
        if points:
            state = state.play(int(rng.choice(points)))
    return state


def black_of(game: int) -> Player:
    """Who has Black: A in odd games, B in even ones."""
    return "a" if game % 2 else "b"


def run_match(
    match: Match,
    folder: Path,
    *,
    workers: int | None = None,
    load: Load = load_agent,
    on_result: Callable[[GameResult], None] = lambda result: None,
) -> list[GameResult]:
    """Play all games that the folder does not hold yet; the results of all, in order.

    `workers` games are under way at once (default: as many as there are CPUs). `on_result` is called in this
    thread, for the games already there and then for each game when it has been saved. KeyboardInterrupt stops
    the match after the moves being thought about; the games under way are lost, the rest is in the folder.
    An agent that cannot even start is an error before anything is written.
    """
    workers = workers if workers is not None else os.cpu_count() or 1
    _at_least("workers", workers, 1)
    if len(saved_results(match, folder)) < match.games:
        _rehearse(match, load)
    with MatchFolder(folder, match.settings) as kept:
        wanted = range(1, match.games + 1)
        for number in wanted:
            if number in kept.results:
                on_result(kept.results[number])
        missing = [number for number in wanted if number not in kept.results]
        with _Workers(match, missing, workers, load) as finished:
            for number, record in finished:
                result = _to_result(number, record)
                kept.record(result, _to_sgf(match, result, record))
                on_result(result)
        return [kept.results[number] for number in wanted]


def saved_results(match: Match, folder: Path) -> list[GameResult]:
    """The results that the folder holds so far, in order; none if it has not been made."""
    if not folder.exists():
        return []
    with MatchFolder(folder, match.settings) as kept:
        return [kept.results[number] for number in sorted(kept.results) if number <= match.games]


def play_match_game(
    match: Match, game: int, load: Load = load_agent, stop: threading.Event | None = None
) -> GameRecord:
    """Play one game of the match with agents made for it."""
    start, black = opening(match, game), black_of(game)
    players: dict[int, Player] = {BLACK: black, WHITE: "b" if black == "a" else "a"}
    with ExitStack() as stack:
        agents: dict[int, Agent] = {}
        for color, player in players.items():
            try:
                spec = match.a if player == "a" else match.b
                agents[color] = _started(load, spec, _agent_seed(match.seed, game, player), start)
            except (AgentError, OSError) as error:
                return forfeited(start, color, f"could not start: {error}")
            stack.callback(_close, agents[color])
        return play_game(
            agents[BLACK], agents[WHITE], start, max_moves=match.max_moves, seconds=match.seconds, stop=stop
        )


def _rehearse(match: Match, load: Load) -> None:
    """Make both agents once, so that a missing program, say, is one error and not many lost games."""
    for spec in dict.fromkeys((match.a, match.b)):
        _close(_started(load, spec, match.seed, match.start))


def _started(load: Load, spec: str, seed: int, state: GameState) -> Agent:
    """An agent that is ready to think: a foreign engine runs and knows the position, a network knows the board."""
    agent = load(spec, seed)
    try:
        if isinstance(agent, GtpEngine):
            agent.sync(state)
        elif isinstance(agent, PolicyAgent):
            agent.check(state)
    except BaseException:
        _close(agent)
        raise
    return agent


class _Workers:
    """Threads that play games; iterating yields (number, record) as games end, in this thread.

    Threads are enough, since engines are other processes and kernels release Python's lock while they think.
    """

    def __init__(self, match: Match, numbers: list[int], workers: int, load: Load) -> None:
        self._match, self._load, self._count = match, load, len(numbers)
        self._waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in numbers:
            self._waiting.put(number)
        self._finished: queue.SimpleQueue[tuple[int, GameRecord | Exception]] = queue.SimpleQueue()
        self._stop = threading.Event()
        # Daemons, so that a second Ctrl-C need not wait for a long thought.
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(min(workers, len(numbers)))]

    def __enter__(self) -> "_Workers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def __iter__(self) -> "_Workers":
        return self

    def __next__(self) -> tuple[int, GameRecord]:
        if self._count == 0:
            raise StopIteration
        self._count -= 1
        while True:
            try:
                number, record = self._finished.get(timeout=1.0)  # the timeout lets Ctrl-C in, on Windows too
                break
            except queue.Empty:
                continue
        if isinstance(record, Exception):
            raise record
        return number, record

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                number = self._waiting.get_nowait()
            except queue.Empty:
                return
            try:
                self._finished.put((number, play_match_game(self._match, number, self._load, self._stop)))
            except GameStopped:
                return
            except Exception as error:  # raised again in the thread that runs the match
                self._finished.put((number, error))
                return


def _to_result(game: int, record: GameRecord) -> GameResult:
    black = black_of(game)
    colors = (BLACK, WHITE) if black == "a" else (WHITE, BLACK)
    players: dict[int, Player] = {colors[0]: "a", colors[1]: "b"}
    chosen = [[turn for turn in record.turns if turn.color == color] for color in colors]
    return GameResult(
        game=game,
        black=black,
        winner=players.get(record.winner),
        result=record.result,
        ending=record.ending,
        reason=record.reason,
        moves=record.state.move_number,
        decisions=(len(chosen[0]), len(chosen[1])),
        seconds=(_seconds(chosen[0]), _seconds(chosen[1])),
    )


def _to_sgf(match: Match, result: GameResult, record: GameRecord) -> bytes:
    """The game with the agents' values and notes as comments."""
    specs = (match.a, match.b) if result.black == "a" else (match.b, match.a)
    dealt = result.moves - sum(turn.decision.move != RESIGN for turn in record.turns)
    comments = {number: _comment(turn) for number, turn in enumerate(record.turns, dealt + 1)}
    if record.ending in ("forfeit", "move limit"):
        end = len(record.turns) + dealt
        why = f"{record.result}, {record.ending}: {record.reason}".removesuffix(": ")
        comments[end] = f"{comments.get(end, '')}\n{why}".strip()
    return write_sgf(
        record.state,
        black_name=specs[0],
        white_name=specs[1],
        result=record.result,
        comments=comments,
        event=f"game {result.game} of {match.folder_name}",
    )


def _comment(turn: Turn) -> str:
    value = turn.decision.value
    chance = "" if value is None else f"{'Black' if turn.color == BLACK else 'White'} wins {value:.1%}"
    return "\n".join(filter(None, (chance, turn.decision.note)))


def _seconds(turns: list[Turn]) -> float:
    return round(sum(turn.seconds for turn in turns), 6)


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ValueError(f"{name} {value} is not possible: give at least {least}")


def _agent_seed(seed: int, game: int, player: Player) -> int:
    """A seed of its own for each player of each game."""
    return int(np.random.SeedSequence([seed, game, 1 if player == "a" else 2]).generate_state(1)[0])


def _off_the_edge(move: int, size: int) -> bool:
    """Whether a point is on the third line or higher; on boards below 7x7 every point counts."""
    row, col = divmod(move, size)
    return size < 7 or min(row, col, size - 1 - row, size - 1 - col) >= 2


def _short_name(spec: str) -> str:
    """`uct` for `uct:playouts=100`, and the program's name for `gtp:`."""
    kind, _, rest = spec.strip().partition(":")
    words = rest.split()
    name = PurePath(words[0]).name if kind == "gtp" and words else kind
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:24] or "agent"


def _close(agent: Agent) -> None:
    with suppress(AgentError, OSError):
        agent.close()
