"""Match: agents play each other on the board, game after game, while a table grows.

Pairs of games, openings, results and intervals are those of `tengen match` (arena/). But agents are shared with all who
play here, and think in turn with them. A match goes on as long as somebody has its page open, a few matches at once;
all are in memory only.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from tengen.agents.agent import Agent, NeedsCheck
from tengen.arena.game import OngoingGame
from tengen.arena.match import Match, first_of, opening, result_of, written
from tengen.arena.results import GameResult
from tengen.arena.summary import summarize
from tengen.games.game import get_game
from tengen.games.state import FIRST
from tengen.web.agent_pool import AgentPool
from tengen.web.audience import Audience, Watched
from tengen.web.connection import Action, Connection, Message, problem_of
from tengen.web.fields import field, options_of
from tengen.web.opponents import players_of
from tengen.web.positions import view_of, view_of_thought
from tengen.web.seat import Seat
from tengen.web.stored_games import new_id
from tengen.web.study import read_study
from tengen.web.study_room import StudyRoom
from tengen.web.thinking import Thinking

MOST_GAMES: Final = 100
"""Games of a match."""
_AT_ONCE: Final = 2  # matches under way; others wait
_KEPT: Final = 20  # matches in memory
_SLOWEST: Final = 5.0  # seconds for a move
_INTERVAL: Final = 0.1  # seconds between two pictures of the board


class Contest(Watched):
    """A match that pages look at."""

    def __init__(self, match: Match, sides: tuple[str, str], warnings: list[str], seat: Seat, name: str) -> None:
        super().__init__()
        self.id, self.match, self.sides, self.warnings, self.seat = name, match, sides, warnings, seat
        self.results: list[GameResult] = []
        self.records: list[str] = []
        """The games that are over, as their files have them."""
        self.game = OngoingGame.begin(match.start)
        self.number = 0
        """The game on the board, 1 for the first; 0: none has begun."""
        self.wanted = True
        """Whether nobody has stopped the match."""
        self.pace = 0.0
        """Seconds that a move takes at least, for those who look on."""
        self.problem = ""
        self.task: asyncio.Task[None] | None = None
        self._picture: asyncio.TimerHandle | None = None

    @property
    def is_over(self) -> bool:
        """Whether all games have been played."""
        return len(self.results) >= self.match.games

    def spec_to_move(self) -> str:
        """The spec of the agent whose turn it is."""
        a_moves = (first_of(self.match, self.number) == "a") == (self.game.state.to_play == FIRST)
        return self.match.a if a_moves else self.match.b

    def tell_match(self) -> None:
        """Tell all pages how the match stands."""
        self.tell("match", view_of_match(self))

    def tell_board(self) -> None:
        """Tell all pages of the position, soon: agents may be faster than people can look."""
        if self._picture is None:
            self._picture = asyncio.get_running_loop().call_later(_INTERVAL, self._show_board)

    def _show_board(self) -> None:
        self._picture = None
        self.tell("matchBoard", view_of_board(self))


class MatchRoom:
    """All matches."""

    def __init__(self, studies: StudyRoom, thinking: Thinking, agents: AgentPool, own: Mapping[str, str]) -> None:
        """`own`: specs of the server's own opponents by name."""
        self._studies, self._thinking, self._agents, self._own = studies, thinking, agents, own
        self._contests: OrderedDict[str, Contest] = OrderedDict()
        self._audience: Audience[Contest] = Audience("match", self._stop)

    def actions(self) -> dict[str, Action]:
        """What pages may ask for."""
        return {
            "match.list": self._list,
            "match.new": self._new,
            "match.open": self._open,
            "match.pause": self._pause,
            "match.resume": self._resume,
            "match.pace": self._pace,
            "match.replay": self._replay,
            "match.save": self._save,
        }

    async def _list(self, page: Connection, message: Message) -> Any:
        shown = ("id", "about", "sides", "games", "summary")
        views = [view_of_match(contest) for contest in reversed(self._contests.values())]
        return [{name: view[name] for name in shown} for view in views]

    async def _new(self, page: Connection, message: Message) -> Any:
        game = get_game(field(message, "game", str))
        options = options_of(game, message.get("options"))
        sides, specs = players_of(message.get("players"), game.new(options), self._own)
        games = field(message, "games", int)
        if not all(specs):
            raise ValueError("a match is between two agents: play yourself in Play")
        if not 1 <= games <= MOST_GAMES:
            raise ValueError(f"{games} games are not possible: give 1 to {MOST_GAMES}")
        match = Match(*specs, options, games, seed=secrets.randbelow(2**31))
        name = new_id()
        seat = Seat(self._thinking, self._agents, f"match {name}", owner=page)
        for spec in dict.fromkeys(specs):
            await seat.think(spec, lambda agent, seconds: _check(agent, match))
        contest = Contest(match, sides, await seat.work(lambda: match.warnings), seat, name)
        self._make_room()
        self._contests[name] = contest
        return {"id": name}

    def _make_room(self) -> None:
        """Forget the oldest matches that nobody looks at; ValueError if all are looked at."""
        idle = [name for name, contest in self._contests.items() if not contest.pages]
        while len(self._contests) >= _KEPT:
            if not idle:
                raise ValueError("there are too many matches here: wait until one has ended")
            del self._contests[idle.pop(0)]

    async def _open(self, page: Connection, message: Message) -> Any:
        contest = self._contest(message)
        self._audience.join(page, contest)
        for topic in ("match", "matchBoard"):
            page.forget(topic)
        self._go_on()
        page.tell("match", view_of_match(contest))
        page.tell("matchBoard", view_of_board(contest))
        return {"id": contest.id}

    async def _pause(self, page: Connection, message: Message) -> Any:
        contest = self._contest(message)
        contest.wanted = False
        self._stop(contest)
        return {}

    async def _resume(self, page: Connection, message: Message) -> Any:
        contest = self._contest(message)
        contest.wanted, contest.problem = True, ""
        self._go_on()
        contest.tell_match()
        return {}

    async def _pace(self, page: Connection, message: Message) -> Any:
        contest = self._contest(message)
        seconds = field(message, "seconds", float)
        if not 0 <= seconds <= _SLOWEST:
            raise ValueError(f"{seconds} seconds for a move are not possible: give 0 to {_SLOWEST:g}")
        contest.pace = seconds
        contest.tell_match()
        return {}

    async def _replay(self, page: Connection, message: Message) -> Any:
        contest = self._contest(message)
        record = _record(contest, message)
        return await self._studies.begin(await contest.seat.work(lambda: read_study(record)))

    async def _save(self, page: Connection, message: Message) -> Any:
        contest = self._contest(message)
        text = _record(contest, message)
        return {"name": f"game-{field(message, 'number', int)}{contest.match.game.suffix}", "text": text}

    def _contest(self, message: Message) -> Contest:
        name = field(message, "id", str)
        if name not in self._contests:
            raise ValueError("this match has gone: start another")
        return self._contests[name]

    # ---------------------------------------------------------------------------------- what goes on

    def _go_on(self) -> None:
        """Let matches that are wanted and looked at go on, the oldest first, as many as may be under way."""
        under_way = sum(contest.task is not None for contest in self._contests.values())
        for contest in self._contests.values():
            if under_way >= _AT_ONCE:
                return
            if contest.wanted and contest.pages and contest.task is None and not contest.is_over:
                contest.task = asyncio.create_task(self._play(contest))
                under_way += 1
                contest.tell_match()

    def _stop(self, contest: Contest) -> None:
        """Stop after the last move; the game goes on from there when the match does."""
        task, contest.task = contest.task, None
        if task is not None:
            task.cancel()
            contest.seat.stop()
        self._go_on()
        contest.tell_match()

    async def _play(self, contest: Contest) -> None:
        try:
            while not contest.is_over:
                await _play_game(contest)
        except Exception as error:
            contest.problem, contest.wanted = problem_of(error, f"match {contest.id} failed"), False
        finally:
            if contest.task is asyncio.current_task():
                contest.task = None
        self._go_on()
        contest.tell_match()


async def _play_game(contest: Contest) -> None:
    """Play the next game of a match to its end, or go on with the one that was stopped."""
    match, loop = contest.match, asyncio.get_running_loop()
    number = len(contest.results) + 1
    if contest.number != number:
        start = await contest.seat.work(lambda: opening(match, number))
        contest.game, contest.number = OngoingGame.begin(start), number
        contest.tell_board()
    while not contest.game.is_over:
        game, began = contest.game, loop.time()
        contest.game = await contest.seat.think(contest.spec_to_move(), game.step)
        contest.tell_board()
        await asyncio.sleep(max(0.0, contest.pace - (loop.time() - began)))
    record = await contest.seat.work(contest.game.record)
    contest.records.append(written(match, number, record).decode("utf-8"))
    contest.results.append(result_of(match, number, record))
    contest.tell_match()


def _check(agent: Agent, match: Match) -> None:
    """AgentError if an agent cannot play the match."""
    if isinstance(agent, NeedsCheck):
        agent.check(match.start)


def _record(contest: Contest, message: Message) -> str:
    """The record of a game that is over; ValueError if there is none."""
    number = field(message, "number", int)
    if not 1 <= number <= len(contest.records):
        raise ValueError("this game has not been played")
    return contest.records[number - 1]


def view_of_match(contest: Contest) -> Message:
    """How the match stands, as a page shows it."""
    match = contest.match
    return {
        "id": contest.id,
        "about": match.game.describe(match.options),
        "players": list(match.game.players),
        "sides": list(contest.sides),
        "specs": [match.a, match.b],
        "warnings": contest.warnings,
        "games": match.games,
        "underWay": contest.task is not None,
        "waiting": contest.wanted and contest.task is None and not contest.is_over,
        "pace": contest.pace,
        "problem": contest.problem,
        "summary": summarize(match.a, match.b, contest.results).to_json(("first", "second")),
        "results": [
            [one.first, one.winner, one.result, one.ending, one.reason, one.moves] for one in contest.results
        ],
    }  # fmt: skip


def view_of_board(contest: Contest) -> Message:
    """The game on the board, and what its last move was thought to be worth."""
    turn = contest.game.turns[-1] if contest.game.turns else None
    number = max(1, contest.number)
    return view_of(contest.game.state) | {
        "id": contest.id,
        "round": number,
        "first": first_of(contest.match, number),
        **(view_of_thought(turn.decision, turn.player) if turn else view_of_thought(None, FIRST)),
    }
