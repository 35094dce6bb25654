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
from tengen.arena.results import GameResult, summarize
from tengen.games.game import get_game
from tengen.games.state import FIRST
from tengen.web.connection import Action, Connection, Message, problem_of
from tengen.web.inputs import field, options_of
from tengen.web.opponents import players_of
from tengen.web.positions import view_of, view_of_thought
from tengen.web.storage import new_id
from tengen.web.study import read_study
from tengen.web.study_sessions import StudySessions
from tengen.web.subscribers import Subscribers, Watched
from tengen.web.thinking import AgentPool, AgentSlot, Thinking

MOST_GAMES: Final = 100
"""Games of a match."""
_AT_ONCE: Final = 2  # matches under way; others wait
_KEPT: Final = 20  # matches in memory
_SLOWEST: Final = 5.0  # seconds for a move
_INTERVAL: Final = 0.1  # seconds between two pictures of the board


class MatchSession(Watched):
    """A match that pages look at."""

    def __init__(self, match: Match, sides: tuple[str, str], warnings: list[str], slot: AgentSlot, name: str) -> None:
        super().__init__()
        self.id, self.match, self.sides, self.warnings, self.slot = name, match, sides, warnings, slot
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


class MatchSessions:
    """All matches."""

    def __init__(self, studies: StudySessions, thinking: Thinking, agents: AgentPool, own: Mapping[str, str]) -> None:
        """`own`: specs of the server's own opponents by name."""
        self._studies, self._thinking, self._agents, self._own = studies, thinking, agents, own
        self._sessions: OrderedDict[str, MatchSession] = OrderedDict()
        self._subscribers: Subscribers[MatchSession] = Subscribers("match", self._stop)

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
        views = [view_of_match(session) for session in reversed(self._sessions.values())]
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
        slot = AgentSlot(self._thinking, self._agents, f"match {name}", owner=page)
        for spec in dict.fromkeys(specs):
            await slot.think(spec, lambda agent, seconds: _check(agent, match))
        session = MatchSession(match, sides, await slot.work(lambda: match.warnings), slot, name)
        self._make_room()
        self._sessions[name] = session
        return {"id": name}

    def _make_room(self) -> None:
        """Forget the oldest matches that nobody looks at; ValueError if all are looked at."""
        idle = [name for name, session in self._sessions.items() if not session.pages]
        while len(self._sessions) >= _KEPT:
            if not idle:
                raise ValueError("there are too many matches here: wait until one has ended")
            del self._sessions[idle.pop(0)]

    async def _open(self, page: Connection, message: Message) -> Any:
        session = self._session(message)
        self._subscribers.join(page, session)
        for topic in ("match", "matchBoard"):
            page.forget(topic)
        self._go_on()
        page.tell("match", view_of_match(session))
        page.tell("matchBoard", view_of_board(session))
        return {"id": session.id}

    async def _pause(self, page: Connection, message: Message) -> Any:
        session = self._session(message)
        session.wanted = False
        self._stop(session)
        return {}

    async def _resume(self, page: Connection, message: Message) -> Any:
        session = self._session(message)
        session.wanted, session.problem = True, ""
        self._go_on()
        session.tell_match()
        return {}

    async def _pace(self, page: Connection, message: Message) -> Any:
        session = self._session(message)
        seconds = field(message, "seconds", float)
        if not 0 <= seconds <= _SLOWEST:
            raise ValueError(f"{seconds} seconds for a move are not possible: give 0 to {_SLOWEST:g}")
        session.pace = seconds
        session.tell_match()
        return {}

    async def _replay(self, page: Connection, message: Message) -> Any:
        session = self._session(message)
        record = _record(session, message)
        return await self._studies.begin(page, await session.slot.work(lambda: read_study(record)))

    async def _save(self, page: Connection, message: Message) -> Any:
        session = self._session(message)
        text = _record(session, message)
        return {"name": f"game-{field(message, 'number', int)}{session.match.game.suffix}", "text": text}

    def _session(self, message: Message) -> MatchSession:
        name = field(message, "id", str)
        if name not in self._sessions:
            raise ValueError("this match has gone: start another")
        return self._sessions[name]

    # ---------------------------------------------------------------------------------- what goes on

    def _go_on(self) -> None:
        """Let matches that are wanted and looked at go on, the oldest first, as many as may be under way."""
        under_way = sum(session.task is not None for session in self._sessions.values())
        for session in self._sessions.values():
            if under_way >= _AT_ONCE:
                return
            if session.wanted and session.pages and session.task is None and not session.is_over:
                session.task = asyncio.create_task(self._play(session))
                under_way += 1
                session.tell_match()

    def _stop(self, session: MatchSession) -> None:
        """Stop after the last move; the game goes on from there when the match does."""
        task, session.task = session.task, None
        if task is not None:
            task.cancel()
            session.slot.stop()
        self._go_on()
        session.tell_match()

    async def _play(self, session: MatchSession) -> None:
        try:
            while not session.is_over:
                await _play_game(session)
        except Exception as error:
            session.problem, session.wanted = problem_of(error, f"match {session.id} failed"), False
        finally:
            if session.task is asyncio.current_task():
                session.task = None
        self._go_on()
        session.tell_match()


async def _play_game(session: MatchSession) -> None:
    """Play the next game of a match to its end, or go on with the one that was stopped."""
    match, loop = session.match, asyncio.get_running_loop()
    number = len(session.results) + 1
    if session.number != number:
        start = await session.slot.work(lambda: opening(match, number))
        session.game, session.number = OngoingGame.begin(start), number
        session.tell_board()
    while not session.game.is_over:
        game, began = session.game, loop.time()
        session.game = await session.slot.think(session.spec_to_move(), game.step)
        session.tell_board()
        await asyncio.sleep(max(0.0, session.pace - (loop.time() - began)))
    record = await session.slot.work(session.game.record)
    session.records.append(written(match, number, record).decode("utf-8"))
    session.results.append(result_of(match, number, record))
    session.tell_match()


def _check(agent: Agent, match: Match) -> None:
    """AgentError if an agent cannot play the match."""
    if isinstance(agent, NeedsCheck):
        agent.check(match.start)


def _record(session: MatchSession, message: Message) -> str:
    """The record of a game that is over; ValueError if there is none."""
    number = field(message, "number", int)
    if not 1 <= number <= len(session.records):
        raise ValueError("this game has not been played")
    return session.records[number - 1]


def view_of_match(session: MatchSession) -> Message:
    """How the match stands, as a page shows it."""
    match = session.match
    return {
        "id": session.id,
        "about": match.game.describe(match.options),
        "players": list(match.game.players),
        "sides": list(session.sides),
        "specs": [match.a, match.b],
        "warnings": session.warnings,
        "games": match.games,
        "underWay": session.task is not None,
        "waiting": session.wanted and session.task is None and not session.is_over,
        "pace": session.pace,
        "problem": session.problem,
        "summary": summarize(match.a, match.b, session.results).to_json(("first", "second")),
        "results": [
            [one.first, one.winner, one.result, one.ending, one.reason, one.moves] for one in session.results
        ],
    }  # fmt: skip


def view_of_board(session: MatchSession) -> Message:
    """The game on the board, and what its last move was thought to be worth."""
    turn = session.game.turns[-1] if session.game.turns else None
    number = max(1, session.number)
    return view_of(session.game.state) | {
        "id": session.id,
        "round": number,
        "first": first_of(session.match, number),
        **(view_of_thought(turn.decision, turn.player) if turn else view_of_thought(None, FIRST)),
    }
