"""Play: games between people and agents, what a page may do to them, and how the news of them get out.

Every change of a game is written to its file and told to all pages that look at it.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from tengen.agents.agent import Agent, Decision, NeedsCheck
from tengen.games.game import AnyGame, get_game
from tengen.games.go import PASS, State
from tengen.games.go.sgf_text import decoded
from tengen.games.state import FIRST, RESIGN, SECOND
from tengen.search.life_and_death import dead_stones, estimate, group_at, result_is_open
from tengen.web.clocks import GameClock, TimeControl
from tengen.web.connection import Action, Connection, Message, problem_of
from tengen.web.guard import is_loopback
from tengen.web.inputs import MOST_OF_GAMES, field, options_of, read_any, record_in, weight_of_game
from tengen.web.opponents import opponents_for, players_of, spec_of
from tengen.web.positions import View, numbers_by_name, view_of, view_of_thought
from tengen.web.runs import is_generation
from tengen.web.storage import PlayedGame, StoredGames, count_of, is_to_be_counted, new_id
from tengen.web.subscribers import Subscribers, Watched
from tengen.web.thinking import AgentPool, AgentSlot, Thinking

_LISTED: Final = 30
_HINT: Final = 1.0  # seconds
_IN_MEMORY: Final = 200


class PlaySession(Watched):
    """A game that is being played, and what goes on at the moment."""

    def __init__(self, played: PlayedGame, slot: AgentSlot) -> None:
        super().__init__()
        self.played, self.slot = played, slot
        self.weight = weight_of_game(played.state)
        """Bytes that it holds."""
        self.thinking: asyncio.Task[None] | None = None
        self.problem = ""
        self.thought = view_of_thought(None, FIRST)
        self.marks: Message = {}
        """What somebody asked about this position: a hint, an estimate."""
        self.saving = asyncio.Lock()
        self.keeping: asyncio.Task[None] | None = None
        """The file being written, where nobody waits for it."""
        self.alarm: asyncio.TimerHandle | None = None
        """When the time of the person whose turn it is will be over."""
        self._listed: tuple[Any, list[str]] = (None, [])

    def move_list(self) -> list[str]:
        """The moves of the game; those that were listed before are not worked out again."""
        state, (known, names) = self.played.state, self._listed
        later = list[Any]()
        while state is not known and state.previous is not None:
            later.append(state)
            state = state.previous
        names = names if state is known else []
        names = names + [self.played.game.notation(each.previous, each.last_move) for each in reversed(later)]
        self._listed = self.played.state, names
        return names


class PlaySessions:
    """All tables, by the names of their games."""

    def __init__(
        self,
        stored: StoredGames,
        thinking: Thinking,
        moves: Thinking,
        agents: AgentPool,
        own: Mapping[str, str],
        runs: Path,
    ) -> None:
        """`moves`: the threads in which moves are chosen, and nothing else is done. `own`: specs of the server's own
        opponents by name. `runs`: the folder of runs whose generations may play."""
        self._stored, self._thinking, self._moves, self._agents = stored, thinking, moves, agents
        self._own, self._runs = own, runs
        self._sessions: dict[str, PlaySession] = {}
        self._subscribers: Subscribers[PlaySession] = Subscribers("play", self._left)

    def actions(self) -> dict[str, Action]:
        """What pages may ask for."""
        return {
            "play.list": self._list,
            "play.opponents": self._opponents,
            "play.new": self._new,
            "play.load": self._load,
            "play.open": self._open,
            "play.leave": self._leave,
            "play.move": self._move,
            "play.resign": self._resign,
            "play.undo": self._undo,
            "play.again": self._again,
            "play.dead": self._dead,
            "play.hint": self._hint,
            "play.estimate": self._estimate,
            "play.save": self._save,
            "play.remove": self._remove,
        }

    # ------------------------------------------------------------------------------------- before a game

    async def _list(self, page: Connection, message: Message) -> Any:
        visitor = "" if is_loopback(page.address) else page.address  # who sits at this machine sees all games
        newest = await asyncio.to_thread(self._stored.newest, _LISTED, visitor)
        shown = ("id", "game", "about", "players", "specs", "moves", "result", "touched")
        return [{name: fields.get(name) for name in shown} for fields in newest]

    async def _opponents(self, page: Connection, message: Message) -> Any:
        state = _new_state(message)
        found = opponents_for(state, self._own)
        return [asdict(one) for one in found]

    async def _new(self, page: Connection, message: Message) -> Any:
        return await self._begin(page, _new_state(message), message)

    async def _load(self, page: Connection, message: Message) -> Any:
        record = record_in(message)

        def read() -> Any:
            return read_any(record if isinstance(record, str) else decoded(record)[0])

        state = await self._thinking.run(page, read)
        return await self._begin(page, state, message)

    async def _begin(self, page: Connection, state: Any, message: Message) -> Any:
        players, specs = players_of(message.get("players"), state, self._own)
        for player, spec in zip(players, specs):
            if player.startswith("spec:"):  # of the other ones it is known that they can play
                slot = AgentSlot(self._thinking, self._agents, "check", owner=page)
                await slot.think(spec, lambda agent, seconds: _check(agent, state))
        return await self.begin_between(page, state, players, specs, TimeControl.of(message.get("clock")))

    async def begin_between(
        self,
        page: Connection,
        state: Any,
        players: tuple[str, str],
        specs: tuple[str, str],
        control: TimeControl | None = None,
    ) -> Any:
        """A game between players by name, whose specs are known to be safe; what a page is answered."""
        clock = None if control is None else GameClock(control)
        played = PlayedGame(new_id(), state, players, specs, clock=clock, visitor=page.address)
        is_long = state.previous is not None  # it takes time to weigh
        session = (
            await self._thinking.run(page, lambda: self._session_of(played)) if is_long else self._session_of(played)
        )
        session.slot.owner = page
        self._make_room(session.weight)
        self._sessions[session.played.id] = session
        await self._settle_and_save(session)
        await asyncio.to_thread(self._stored.drop_oldest)
        return {"id": session.played.id}

    # -------------------------------------------------------------------------------------- in a game

    async def _open(self, page: Connection, message: Message) -> Any:
        session = await self._session(page, message)
        self._subscribers.join(page, session)
        session.slot.owner = page
        self._wind(session)
        page.forget("game")
        page.tell("game", self._view(session), whole=True)
        self._go_on(session)
        return {"id": session.played.id}

    async def _leave(self, page: Connection, message: Message) -> Any:
        self._subscribers.leave(page)
        return {}

    def _left(self, session: PlaySession) -> None:
        """Nobody looks any more: nobody thinks, the clock is halted, and the game kept with it."""
        self._stop(session)
        self._wind(session)
        self._keep(session)

    async def _move(self, page: Connection, message: Message) -> Any:
        session = await self._session(page, message)
        played = session.played
        if played.specs[played.state.to_play - 1] and not played.state.is_over:
            raise ValueError("it is not your turn")
        if played.winner_beside_the_board:
            raise ValueError("the game is over")
        if field(message, "number", int) != played.state.move_number:
            raise ValueError("the game has gone on meanwhile")
        played.state = played.state.play(played.state.parse_move(field(message, "move", str)))
        session.thought = view_of_thought(None, FIRST)
        if played.clock is not None:
            played.clock.press()
        await self._changed(session)
        return {}

    async def _resign(self, page: Connection, message: Message) -> Any:
        """Give a game up, also while the other one thinks."""
        session = await self._session(page, message)
        played = session.played
        people = [player for player in (FIRST, SECOND) if not played.specs[player - 1]]
        if played.is_over or not people:
            raise ValueError("the game is over" if played.is_over else "only a person can resign")
        self._stop(session)
        if played.state.to_play in people:
            played.state = played.state.play(RESIGN)
        else:
            played.resigned = people[0]
        await self._changed(session)
        return {}

    async def _undo(self, page: Connection, message: Message) -> Any:
        session = await self._session(page, message)
        self._stop(session)
        played = session.played
        people = [player for player in (FIRST, SECOND) if not played.specs[player - 1]]
        state = played.state if played.resigned else played.state.previous
        while state is not None and people and state.to_play not in people:
            state = state.previous
        if state is None:
            raise ValueError("there is no move of yours to take back")
        if played.winner_on_time:
            raise ValueError("the game is over: there is no time left")
        played.state, played.resigned, session.thought = state, 0, view_of_thought(None, FIRST)
        if played.clock is not None:
            played.clock.begin_turn()
        await self._changed(session)
        return {}

    async def _again(self, page: Connection, message: Message) -> Any:
        """Let an agent that has failed try again."""
        session = await self._session(page, message)
        session.problem = ""
        await self._settle_and_save(session)
        self._go_on(session)
        return {}

    async def _dead(self, page: Connection, message: Message) -> Any:
        """Turn the stones around a point dead or alive, once the game is over."""
        session = await self._session(page, message)
        played = session.played
        if played.dead is None:
            raise ValueError("dead stones are marked when the game is over and counted")
        group = group_at(played.state, played.state.parse_move(field(message, "point", str)))
        played.dead = played.dead - group if group <= played.dead else played.dead | group
        played.state = played.state.with_dead(played.dead)
        await self._store(session)
        self._tell(session)
        return {}

    async def _hint(self, page: Connection, message: Message) -> Any:
        session = await self._session(page, message)
        state = session.played.state
        if session.played.is_over:
            raise ValueError("the game is over")
        spec = opponents_for(state, {})[-1].spec
        slot = AgentSlot(self._thinking, self._agents, f"hint {session.played.id}", owner=page)
        decision = await slot.think(spec, lambda agent, seconds: agent.choose(state, min(seconds, _HINT)))
        name = state.move_name(decision.move)
        values = numbers_by_name(state, decision.values) or ({name: decision.value} if decision.value else {})
        best = sorted(decision.visits, key=lambda move: -decision.visits[move])[:3] or [decision.move]
        hints = [{"move": state.move_name(move), "chance": values.get(state.move_name(move))} for move in best]
        if session.played.state is state:
            session.marks = {"hints": hints}
            self._tell(session)
        return {"hints": hints}

    async def _estimate(self, page: Connection, message: Message) -> Any:
        session = await self._session(page, message)
        state = session.played.state
        if not session.played.game.territory:
            raise ValueError("there is nothing to count in this game")
        guess = await self._thinking.run(page, lambda: estimate(state))
        owners = "".join(str(int(owner)) for owner in guess.owners.ravel())
        if session.played.state is state and not state.is_over:
            session.marks = {"owners": owners, "margin": guess.margin}
            self._tell(session)
        return {"margin": guess.margin}

    async def _save(self, page: Connection, message: Message) -> Any:
        played = (await self._session(page, message)).played
        return {"name": f"game{played.game.suffix}", "text": await asyncio.to_thread(played.write)}

    async def _remove(self, page: Connection, message: Message) -> Any:
        name = field(message, "id", str)
        session = self._sessions.pop(name, None)
        if session is not None:
            self._stop(session)
            session.played.clock = None
            self._wind(session)
        await asyncio.to_thread(self._stored.remove, name)
        return {}

    # ---------------------------------------------------------------------------------- what goes on

    async def _session(self, page: Connection, message: Message) -> PlaySession:
        name = field(message, "id", str)
        if name not in self._sessions:
            session = await self._thinking.run(page, lambda: self._session_of(self._stored.load(name)))
            if name not in self._sessions:
                self._make_room(session.weight)
                self._sessions[name] = session
        return self._sessions[name]

    def _session_of(self, played: PlayedGame) -> PlaySession:
        return PlaySession(played, AgentSlot(self._moves, self._agents, played.id))

    def _make_room(self, weight: int) -> None:
        """Leave to the files what nobody looks at; ValueError if there would be no room even so."""
        idle = [name for name, session in self._sessions.items() if not session.pages and session.thinking is None]
        held = weight + sum(session.weight for session in self._sessions.values())
        while held > MOST_OF_GAMES or (idle and len(self._sessions) >= _IN_MEMORY):
            if not idle:
                raise ValueError("the server holds as many games as it can: try again later")
            held -= self._sessions.pop(idle.pop(0)).weight

    async def _changed(self, session: PlaySession) -> None:
        session.problem, session.marks = "", {}
        session.played.dead = None
        self._tell(session)
        await self._settle_and_save(session)
        self._go_on(session)

    async def _settle_and_save(self, session: PlaySession) -> None:
        """Mark the dead stones of a game that has just ended, and write the game to its file."""
        played = session.played
        if is_to_be_counted(played):
            state = played.state
            dead = await session.slot.work(lambda: dead_stones(state))
            if played.state is state:
                played.dead, played.state = dead, state.with_dead(dead)
                self._tell(session)
        await self._store(session)

    async def _store(self, session: PlaySession) -> None:
        def store() -> int:
            self._stored.save(session.played)
            return weight_of_game(session.played.state)

        async with session.saving:
            session.weight = await asyncio.to_thread(store)

    async def _store_or_report(self, session: PlaySession) -> None:
        try:
            await self._store(session)
        except Exception as error:
            self._report(session, error)

    def _go_on(self, session: PlaySession) -> None:
        """Let the agent whose turn it is think, if anybody looks."""
        played = session.played
        is_agent = not played.is_over and played.specs[played.state.to_play - 1]
        if is_agent and session.thinking is None and session.pages and not session.problem:
            session.thinking = asyncio.create_task(self._think(session))
            self._tell(session)

    async def _think(self, session: PlaySession) -> None:
        try:
            try:
                await self._agents_move(session)
            finally:
                if session.thinking is asyncio.current_task():
                    session.thinking = None
            self._tell(session)
            await self._settle_and_save(session)
        except Exception as error:
            self._report(session, error)
        self._go_on(session)

    async def _agents_move(self, session: PlaySession) -> None:
        played, state = session.played, session.played.state
        spec = await asyncio.to_thread(self._todays_spec, played, state.to_play - 1)
        decision = await session.slot.think(spec, lambda agent, seconds: _choose(agent, state, seconds))
        if played.state is state:
            played.state, session.thought = state.play(decision.move), view_of_thought(decision, state.to_play)
            session.marks, played.dead = {}, None

    def _todays_spec(self, played: PlayedGame, side: int) -> str:
        """The spec of a player by today's lists: what a kept game says may start no program and read no file."""
        name, kept = played.players[side], played.specs[side]
        try:
            return spec_of(name, played.state, self._own)
        except ValueError:
            if is_generation(self._runs, name, kept):
                return kept
            raise

    def _report(self, session: PlaySession, error: Exception) -> None:
        """Let pages say what went wrong, with a way to try again."""
        session.problem = problem_of(error, f"game {session.played.id} failed")
        self._tell(session)

    @staticmethod
    def _stop(session: PlaySession) -> None:
        """Let nobody think about a position any more."""
        task, session.thinking = session.thinking, None
        if task is not None:
            task.cancel()
        session.slot.stop()

    # ------------------------------------------------------------------------------------------ clocks

    def _wind(self, session: PlaySession) -> None:
        """Let the clock of the person run whose turn it is, if anybody looks."""
        played, clock = session.played, session.played.clock
        if session.alarm is not None:
            session.alarm.cancel()
            session.alarm = None
        if clock is None:
            return
        if session.pages and not played.is_over and not played.specs[played.state.to_play - 1]:
            clock.run(played.state.to_play)
            session.alarm = asyncio.get_running_loop().call_later(max(0.0, clock.left), self._time_out, session)
        else:
            clock.halt()

    def _time_out(self, session: PlaySession) -> None:
        if session.played.clock is not None:
            session.played.clock.flag()
            session.marks = {}
            self._tell(session)
            self._keep(session)

    def _keep(self, session: PlaySession) -> None:
        """Write a game with its clock to its file, soon, unless it has been removed."""
        if session.played.clock is not None and self._sessions.get(session.played.id) is session:
            session.keeping = asyncio.create_task(self._store_or_report(session))

    # ------------------------------------------------------------------------------------------- news

    def _tell(self, session: PlaySession) -> None:
        self._wind(session)
        session.tell("game", self._view(session))

    def _view(self, session: PlaySession) -> View:
        played = session.played
        state = played.state
        view = view_of(state)
        view |= {
            "id": played.id,
            "title": played.game.title,
            "about": played.game.describe(played.game.options_of(state)),
            "territory": played.game.territory,
            "sides": list(played.players),
            "specs": list(played.specs),
            "moveList": session.move_list(),
            "thinking": session.thinking is not None,
            "problem": session.problem,
            **session.thought,
            "marks": session.marks,
            "count": None,
            "clock": None if played.clock is None else played.clock.to_json(),
        }
        if played.winner_beside_the_board:
            reason = "time" if played.winner_on_time else "resignation"
            view |= {"over": True, "winner": played.winner_beside_the_board, "result": played.result, "reason": reason}
        if played.dead is not None:
            view["count"] = count_of(played)
        return view


def _choose(agent: Agent, state: Any, seconds: float) -> Decision:
    """An agent's move. It answers a pass by a pass only where playing on cannot change who wins: elsewhere it is asked
    as if the opponent had not passed, and a pass that was a slip costs a move and not the game."""
    if isinstance(state, State) and state.last_move == PASS and state.previous is not None:
        if result_is_open(state):
            decision = agent.choose(state.previous.with_to_play(state.to_play), seconds)
            if decision.move != RESIGN and state.is_legal(decision.move):
                return decision
    return agent.choose(state, seconds)


def _check(agent: Agent, state: Any) -> None:
    """ValueError if an agent cannot play from a state."""
    if isinstance(agent, NeedsCheck) and not state.is_over:
        agent.check(state)


def _new_state(message: Message) -> Any:
    game: AnyGame = get_game(field(message, "game", str))
    return game.new(options_of(game, message.get("options")))
