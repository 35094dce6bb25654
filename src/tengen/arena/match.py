"""A match: many games between two agents, A and B, several at once, saved as they end.

Games come in pairs: games 1 and 2 begin with the same opening, A moving first in one and second in the other,
and so on. A game depends on the match's settings and its own number alone: every game gets agents of its own,
with seeds made from the match's seed and the game's number. So a match that was killed and resumed has the
games that it would have had anyway (as far as the agents are deterministic), and asking for more games only
adds to them.
"""

import hashlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePath

import numpy as np

from tengen._processes import end_all
from tengen.agents.agent import Agent, AgentError, NeedsCheck
from tengen.agents.registry import code_digest, load_agent, model_card, python_file, spec_files, with_files
from tengen.agents.training_conditions import warning
from tengen.arena.game import GameRecord, Turn, forfeited, play_game
from tengen.arena.openings import Openings
from tengen.arena.results import GameResult, MatchFolder, Player, other
from tengen.games.game import AnyGame, Record, get_game
from tengen.games.state import FIRST, RESIGN, SECOND, AnyState, Options
from tengen.runs.files import SettingValue
from tengen.workers.calls import WorkerFactory, open_workers
from tengen.workers.local import this_machine
from tengen.workers.sent_files import SentFile

Load = Callable[[str, int], Agent]
"""Makes the agent of a spec, with a seed for what is random in it."""

GameNumber = tuple[int, int]
"""The place of a match among others, and the number of a game in it."""
Outcome = tuple[GameResult, bytes]
"""How a game went, and its file."""

FIRSTS = ("alternate", "a", "b")


@dataclass(frozen=True)
class Match:
    """What is played. None stands for the default of the game."""

    a: str
    """Spec of the first agent. A seed inside a spec is used in every game."""
    b: str
    """Spec of the second agent."""
    options: Options
    """Which game, and how: `get_game("go").options.of({"size": 9})`."""
    games: int = 40
    seed: int = 1
    opening_moves: int | None = None
    """Random moves that each pair of games begins with."""
    max_moves: int | None = None
    """A game of this length ends: it is scored as it stands where there is territory, else it is a draw."""
    seconds: float | None = None
    """The most that an agent should think per move; None: as its spec says."""
    first: str = "alternate"
    """Who moves first: A and B in turn, or always `a` or `b`."""
    codes: tuple[str | None, str | None] = ("", "")
    """Hashes of the agents that are Python files, None for others; found when the match is made."""

    def __post_init__(self) -> None:
        if self.codes == ("", ""):
            object.__setattr__(self, "codes", (code_digest(self.a), code_digest(self.b)))
        if self.first not in FIRSTS:
            raise ValueError(f"first {self.first[:40]!r} is not possible: choose from {', '.join(FIRSTS)}")
        _at_least("games", self.games, 1)
        _at_least("seed", self.seed, 0)
        _at_least("opening moves", self.dealt_moves, 0)
        most = self.game.most_opening_moves(self.options)
        if self.dealt_moves > most:
            raise ValueError(f"{self.dealt_moves} opening moves are too many: give at most {most}")
        if self.max_moves is not None:
            _at_least("max moves", self.max_moves, self.dealt_moves + 1)
        if self.seconds is not None and not 0 < self.seconds < 1e6:
            raise ValueError(f"{self.seconds} seconds per move are not possible: give more than 0")

    @property
    def game(self) -> AnyGame:
        """The game that is played."""
        return get_game(self.options.game)

    @cached_property
    def start(self) -> AnyState:
        """The position before the first move."""
        state: AnyState = self.game.new(self.options)
        return state

    @cached_property
    def openings(self) -> Openings:
        """The positions that pairs of games begin with."""
        return Openings(self.game, self.start)

    @property
    def dealt_moves(self) -> int:
        """How many random moves each game begins with."""
        return self.game.opening_moves if self.opening_moves is None else self.opening_moves

    @property
    def settings(self) -> dict[str, SettingValue]:
        """All that decides how a game goes, defaults filled in; not the number of games, which may grow.

        Match folders are found and compared by it. An option at the number 0, such as no handicap, is left out, so that
        folders made before there was such an option are still found. A Python file counts by its code.
        """
        options = {
            name: value for name, value in self.options.settings().items() if value or isinstance(value, bool | float)
        }
        settings: dict[str, SettingValue | None] = {
            "a": self.a.strip(),
            "b": self.b.strip(),
            "a_code": self.codes[0],
            "b_code": self.codes[1],
            "game": self.game.name,
            **options,
            "seed": self.seed,
            "opening_moves": self.dealt_moves,
            "max_moves": self.game.max_moves(self.options) if self.max_moves is None else self.max_moves,
            "seconds": self.seconds,
            "first": None if self.first == "alternate" else self.first,
        }
        return {name: value for name, value in settings.items() if value is not None}

    @property
    def conditions(self) -> str:
        """One line for people: what else decides how the games go, defaults filled in."""
        settings = self.settings
        first = {"alternate": "A and B move first in turn"}.get(self.first, f"{self.first.upper()} always moves first")
        limit = "no time limit" if self.seconds is None else f"at most {self.seconds:g} s a move"
        moves = f"{self.dealt_moves} random opening moves, at most {settings['max_moves']} moves a game"
        return f"{moves}, {limit}, {first}, seed {self.seed}"

    @property
    def warnings(self) -> list[str]:
        """A line for each agent whose model was trained on other games than this."""
        cards = {spec: model_card(spec) for spec in (self.a, self.b)}
        found = [warning(spec, card, self.start) for spec, card in cards.items() if card is not None]
        return [text for text in found if text is not None]

    @property
    def folder_name(self) -> str:
        """`uct-vs-gnugo-1f2e3d4c`: the same command finds its folder again."""
        text = json.dumps(self.settings, sort_keys=True).encode()
        digest = hashlib.blake2b(text, digest_size=4).hexdigest()
        return f"{_short_name(self.a)}-vs-{_short_name(self.b)}-{digest}"


def opening(match: Match, game: int) -> AnyState:
    """The position from which a game is played; the same for games 1 and 2, 3 and 4, ... where these are a pair."""
    number = (game + 1) // 2 if match.first == "alternate" else game
    return match.openings.get(match.dealt_moves, match.seed, number)


def first_of(match: Match, game: int) -> Player:
    """Who moves first: A in odd games, B in even ones, unless the match says that it is always the same."""
    if match.first == "alternate":
        return "a" if game % 2 else "b"
    return "a" if match.first == "a" else "b"


def run_match(
    match: Match,
    folder: Path,
    *,
    workers: int | None = None,
    load: Load = load_agent,
    on_result: Callable[[GameResult], None] = lambda result: None,
    worker_factory: WorkerFactory = this_machine,
) -> list[GameResult]:
    """Play all games that the folder does not hold yet; the results of all, in order.

    `workers` games are under way at once (default: as many as there are CPUs). `on_result` is called in this
    thread, for the games already there and then for each game when it has been saved. KeyboardInterrupt stops
    the match after the moves being thought about; the games under way are lost, the rest is in the folder.
    An agent that cannot even start is an error before anything is written; among several matches, a Python file that
    cannot start forfeits its games. The games are played by workers of the
    factory, on a cluster maybe; then `workers` is how many there are at most.
    """
    [results] = run_matches([(match, folder)], workers, load, lambda number, result: on_result(result), worker_factory)
    return results


def run_matches(
    matches: Sequence[tuple[Match, Path]],
    workers: int | None = None,
    load: Load = load_agent,
    on_result: Callable[[int, GameResult], None] = lambda number, result: None,
    worker_factory: WorkerFactory = this_machine,
) -> list[list[GameResult]]:
    """Play matches, each with its folder, in turn: two games of each, then two more of each, as `run_match` does.

    `on_result` gets the place of the match in `matches`, beginning with 0.
    """
    if workers is not None:
        _at_least("workers", workers, 1)
    unfinished = [match for match, folder in matches if len(saved_results(match, folder)) < match.games]
    rehearse(unfinished, load, forgiving=len(matches) > 1)
    with ExitStack() as stack:
        kept = [stack.enter_context(MatchFolder(folder, match.settings, match.game)) for match, folder in matches]
        games = [
            (number, game)
            for begun in range(1, max((match.games for match, _ in matches), default=0) + 1, 2)
            for number, (match, _) in enumerate(matches)
            for game in range(begun, min(begun + 2, match.games + 1))
        ]
        for number, game in games:
            if game in kept[number].results:
                on_result(number, kept[number].results[game])
        missing = [(number, game) for number, game in games if game not in kept[number].results]

        outcomes = _played([match for match, _ in matches], missing, workers or 0, load, worker_factory)
        for (number, _), (result, text) in stack.enter_context(outcomes):
            kept[number].record(result, text)
            on_result(number, result)
        return [
            [folder.results[game] for game in range(1, match.games + 1)] for folder, (match, _) in zip(kept, matches)
        ]


@contextmanager
def _played(
    matches: Sequence[Match], games: Sequence[GameNumber], workers: int, load: Load, factory: WorkerFactory
) -> Iterator[Iterator[tuple[GameNumber, Outcome]]]:
    """Games as they end: on this machine, or by workers that get with each the model files that its specs name."""
    if not games:
        yield iter(())
        return
    files = [() if factory is this_machine else _sent_files(match) for match in matches]
    plain = [replace(match) for match in matches]  # without what they have computed
    with open_workers(factory, workers, MatchPlayer, load, os.getpid()) as pool:
        calls = pool.map("play", [(game, plain[game[0]], files[game[0]]) for game in games])
        try:
            yield calls.results()
        except BaseException:
            calls.cancel()
            end_all()  # an engine that hangs would keep us waiting
            raise


class MatchPlayer:
    """A worker that plays games of any matches."""

    in_threads = True  # engines are other processes, and kernels release Python's lock

    def __init__(self, load: Load, rehearsed_in: int) -> None:
        """`rehearsed_in`: the process in which all agents have been started before."""
        self._load, self._elsewhere = load, rehearsed_in != os.getpid()
        self._rehearsed: set[tuple[str, str]] = set()
        self._stop = threading.Event()

    def play(self, number: GameNumber, match: Match, files: tuple[tuple[str, str], ...]) -> tuple[GameNumber, Outcome]:
        """Play a game; `files` has the path of each model here, by the path that specs name it by.

        An agent that cannot start here, where nothing was rehearsed, is an error, not a lost game.
        """

        def load(spec: str, seed: int) -> Agent:
            return self._load(with_files(spec, dict(files)), seed)

        if self._elsewhere and (match.a, match.b) not in self._rehearsed:
            rehearse([match], load, forgiving=True)
            self._rehearsed.add((match.a, match.b))
        return number, outcome_of(match, number[1], play_match_game(match, number[1], load, self._stop))

    def stop(self) -> None:
        """End the game under way before its next move."""
        self._stop.set()


def _sent_files(match: Match) -> tuple[tuple[str, SentFile], ...]:
    """The model files of a match, by the paths that its specs name them by."""
    return tuple((path, SentFile(Path(path).expanduser())) for path in spec_files(match.a) + spec_files(match.b))


def saved_results(match: Match, folder: Path) -> list[GameResult]:
    """The results that the folder holds so far, in order; none if it has not been made."""
    if not folder.exists():
        return []
    with MatchFolder(folder, match.settings, match.game) as kept:
        return [kept.results[number] for number in sorted(kept.results) if number <= match.games]


def play_match_game(
    match: Match, game: int, load: Load = load_agent, stop: threading.Event | None = None
) -> GameRecord:
    """Play one game of the match with agents made for it."""
    start, first = opening(match, game), first_of(match, game)
    players: dict[int, Player] = {FIRST: first, SECOND: other(first)}
    with ExitStack() as stack:
        agents: dict[int, Agent] = {}
        for number, player in players.items():
            try:
                spec = match.a if player == "a" else match.b
                agents[number] = _started(load, spec, _agent_seed(match.seed, game, player), start)
            except (AgentError, OSError) as error:
                return forfeited(start, number, f"could not start: {error}")
            stack.callback(_close, agents[number])
        return play_game(
            agents[FIRST], agents[SECOND], start, max_moves=match.max_moves, seconds=match.seconds, stop=stop
        )


def outcome_of(match: Match, game: int, record: GameRecord) -> Outcome:
    """What is kept of a game."""
    return result_of(match, game, record), written(match, game, record)


def result_of(match: Match, game: int, record: GameRecord) -> GameResult:
    """How a game of the match went."""
    first = first_of(match, game)
    numbers = (FIRST, SECOND) if first == "a" else (SECOND, FIRST)
    players: dict[int, Player] = {numbers[0]: "a", numbers[1]: "b"}
    chosen = [[turn for turn in record.turns if turn.player == number] for number in numbers]
    return GameResult(
        game=game,
        first=first,
        winner=players.get(record.winner),
        result=record.result,
        ending=record.ending,
        reason=record.reason,
        moves=record.state.move_number,
        decisions=(len(chosen[0]), len(chosen[1])),
        seconds=(_seconds(chosen[0]), _seconds(chosen[1])),
    )


def written(match: Match, number: int, record: GameRecord) -> bytes:
    """The file of a game, with the agents' values and notes as comments."""
    a_first = first_of(match, number) == "a"
    dealt = record.state.move_number - sum(turn.decision.move != RESIGN for turn in record.turns)
    termination = ""
    if record.ending in ("forfeit", "move limit"):
        termination = f"{record.ending}: {record.reason}".removesuffix(": ")
    described = Record(
        first=match.a if a_first else match.b,
        second=match.b if a_first else match.a,
        event=f"game {number} of {match.folder_name}",
        result=record.result,
        termination=termination,
        comments={n: _comment(match.game, turn) for n, turn in enumerate(record.turns, dealt + 1)},
    )
    return match.game.write(record.state, described)


def rehearse(matches: Sequence[Match], load: Load, forgiving: bool = False) -> None:
    """Make every agent once, so that a missing program, say, is one error and not many lost games.

    `forgiving`: a Python file that fails is no error; it will forfeit its games, and those of others are played.
    """
    known: dict[str, Match] = {}
    for match in matches:
        known.setdefault(match.a, match)
        known.setdefault(match.b, match)
    for spec, match in known.items():
        try:
            _close(_started(load, spec, match.seed, match.start))
        except AgentError:
            if not forgiving or python_file(spec) is None:
                raise


def _started(load: Load, spec: str, seed: int, state: AnyState) -> Agent:
    """An agent that is ready to think: a foreign engine runs and has the position, a network fits the board."""
    agent = load(spec, seed)
    try:
        if isinstance(agent, NeedsCheck):
            agent.check(state)
    except BaseException:
        _close(agent)
        raise
    return agent


def _comment(game: AnyGame, turn: Turn) -> str:
    value = turn.decision.value
    chance = "" if value is None else f"{game.players[turn.player - 1]} wins {value:.1%}"
    return "\n".join(filter(None, (chance, turn.decision.note)))


def _seconds(turns: list[Turn]) -> float:
    return round(sum(turn.seconds for turn in turns), 6)


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ValueError(f"{name} {value} is not possible: give at least {least}")


def _agent_seed(seed: int, game: int, player: Player) -> int:
    """A seed of its own for each player of each game."""
    return int(np.random.SeedSequence([seed, game, 1 if player == "a" else 2]).generate_state(1)[0])


def _short_name(spec: str) -> str:
    """`uct` for `uct:playouts=100`, and the program's name for `gtp:` and `uci:`."""
    kind, _, rest = spec.strip().partition(":")
    words = rest.replace(",", " ").split() if kind == "uci" else rest.split()
    name = PurePath(words[0]).name if kind in ("gtp", "uci") and words else kind
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:24] or "agent"


def _close(agent: Agent) -> None:
    with suppress(AgentError, OSError):
        agent.close()
