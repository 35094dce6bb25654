"""Play: games between people and agents, what a page may do to them, and how the news of them get out.

Every change of a game is written to its file and told to all pages that look at it.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from tengen.agents.agent import Agent, Decision, NeedsCheck
from tengen.games.game import Game, get_game
from tengen.games.go import PASS, State
from tengen.games.go.sgf import decoded
from tengen.games.state import FIRST, RESIGN, SECOND
from tengen.search.status import dead_stones
from tengen.serve.estimate import estimate
from tengen.web.agent_pool import AgentPool
from tengen.web.audience import Audience, Watched
from tengen.web.clocks import Clock, TimeControl
from tengen.web.connection import Action, Connection, Message, problem_of
from tengen.web.counting import count_of, group_at, is_to_be_counted, result_is_open
from tengen.web.fields import field, options_of
from tengen.web.guard import is_loopback
from tengen.web.memory import MOST_OF_GAMES, weight_of_game
from tengen.web.opponents import opponents_for, players_of, spec_of
from tengen.web.positions import View, moves_of, numbers_by_name, view_of, view_of_thought
from tengen.web.records import read_any, record_in
from tengen.web.runs import is_generation
from tengen.web.seat import Seat
from tengen.web.stored_games import PlayedGame, StoredGames, new_id
from tengen.web.thinking import Thinking

_LISTED: Final = 30
_HINT: Final = 1.0  # seconds
_IN_MEMORY: Final = 200


class Table(Watched):
    """A game that is being played, and what goes on at the moment."""

    def __init__(self, played: PlayedGame, seat: Seat) -> None:
        super().__init__()
        self.played, self.seat = played, seat
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


class PlayRoom:
    """All tables, by the names of their games."""

    def __init__(
        self, stored: StoredGames, thinking: Thinking, agents: AgentPool, own: Mapping[str, str], runs: Path
    ) -> None:
        """`own`: specs of the server's own opponents by name. `runs`: the folder of runs whose generations may play."""
        self._stored, self._thinking, self._agents, self._own, self._runs = stored, thinking, agents, own, runs
        self._tables: dict[str, Table] = {}
        self._audience: Audience[Table] = Audience("play", self._left)

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
        text = record if isinstance(record, str) else decoded(record)[0]
        state = await self._thinking.run(page, lambda: read_any(text))
        return await self._begin(page, state, message)

    async def _begin(self, page: Connection, state: Any, message: Message) -> Any:
        players, specs = players_of(message.get("players"), state, self._own)
        for player, spec in zip(players, specs):
            if player.startswith("spec:"):  # of the other ones it is known that they can play
                seat = Seat(self._thinking, self._agents, "check", owner=page)
                await seat.think(spec, lambda agent, seconds: _check(agent, state))
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
        clock = None if control is None else Clock(control)
        table = self._table_of(PlayedGame(new_id(), state, players, specs, clock=clock, visitor=page.address))
        table.seat.owner = page
        self._make_room(table.weight)
        self._tables[table.played.id] = table
        await self._settle_and_save(table)
        await asyncio.to_thread(self._stored.drop_oldest)
        return {"id": table.played.id}

    # -------------------------------------------------------------------------------------- in a game

    async def _open(self, page: Connection, message: Message) -> Any:
        table = await self._table(message)
        self._audience.join(page, table)
        table.seat.owner = page
        self._wind(table)
        page.forget("game")
        page.tell("game", self._view(table), whole=True)
        self._go_on(table)
        return {"id": table.played.id}

    async def _leave(self, page: Connection, message: Message) -> Any:
        self._audience.leave(page)
        return {}

    def _left(self, table: Table) -> None:
        """Nobody looks any more: nobody thinks, the clock is halted, and the game kept with it."""
        self._stop(table)
        self._wind(table)
        self._keep(table)

    async def _move(self, page: Connection, message: Message) -> Any:
        table = await self._table(message)
        played = table.played
        if played.specs[played.state.to_play - 1] and not played.state.is_over:
            raise ValueError("it is not your turn")
        if played.winner_beside_the_board:
            raise ValueError("the game is over")
        if field(message, "number", int) != played.state.move_number:
            raise ValueError("the game has gone on meanwhile")
        played.state = played.state.play(played.state.parse_move(field(message, "move", str)))
        table.thought = view_of_thought(None, FIRST)
        if played.clock is not None:
            played.clock.press()
        await self._changed(table)
        return {}

    async def _resign(self, page: Connection, message: Message) -> Any:
        """Give a game up, also while the other one thinks."""
        table = await self._table(message)
        played = table.played
        people = [player for player in (FIRST, SECOND) if not played.specs[player - 1]]
        if played.is_over or not people:
            raise ValueError("the game is over" if played.is_over else "only a person can resign")
        self._stop(table)
        if played.state.to_play in people:
            played.state = played.state.play(RESIGN)
        else:
            played.resigned = people[0]
        await self._changed(table)
        return {}

    async def _undo(self, page: Connection, message: Message) -> Any:
        table = await self._table(message)
        self._stop(table)
        played = table.played
        people = [player for player in (FIRST, SECOND) if not played.specs[player - 1]]
        state = played.state if played.resigned else played.state.previous
        while state is not None and people and state.to_play not in people:
            state = state.previous
        if state is None:
            raise ValueError("there is no move of yours to take back")
        if played.winner_on_time:
            raise ValueError("the game is over: there is no time left")
        played.state, played.resigned, table.thought = state, 0, view_of_thought(None, FIRST)
        if played.clock is not None:
            played.clock.begin_turn()
        await self._changed(table)
        return {}

    async def _again(self, page: Connection, message: Message) -> Any:
        """Let an agent that has failed try again."""
        table = await self._table(message)
        table.problem = ""
        await self._settle_and_save(table)
        self._go_on(table)
        return {}

    async def _dead(self, page: Connection, message: Message) -> Any:
        """Turn the stones around a point dead or alive, once the game is over."""
        table = await self._table(message)
        played = table.played
        if played.dead is None:
            raise ValueError("dead stones are marked when the game is over and counted")
        group = group_at(played.state, played.state.parse_move(field(message, "point", str)))
        played.dead = played.dead - group if group <= played.dead else played.dead | group
        played.state = played.state.with_dead(played.dead)
        await self._store(table)
        self._tell(table)
        return {}

    async def _hint(self, page: Connection, message: Message) -> Any:
        table = await self._table(message)
        state = table.played.state
        if table.played.is_over:
            raise ValueError("the game is over")
        spec = opponents_for(state, {})[-1].spec
        seat = Seat(self._thinking, self._agents, f"hint {table.played.id}", owner=page)
        decision = await seat.think(spec, lambda agent, seconds: agent.choose(state, min(seconds, _HINT)))
        name = state.move_name(decision.move)
        values = numbers_by_name(state, decision.values) or ({name: decision.value} if decision.value else {})
        best = sorted(decision.visits, key=lambda move: -decision.visits[move])[:3] or [decision.move]
        hints = [{"move": state.move_name(move), "chance": values.get(state.move_name(move))} for move in best]
        if table.played.state is state:
            table.marks = {"hints": hints}
            self._tell(table)
        return {"hints": hints}

    async def _estimate(self, page: Connection, message: Message) -> Any:
        table = await self._table(message)
        state = table.played.state
        if not table.played.game.territory:
            raise ValueError("there is nothing to count in this game")
        guess = await self._thinking.run(page, lambda: estimate(state))
        owners = "".join(str(int(owner)) for owner in guess.owners.ravel())
        if table.played.state is state and not state.is_over:
            table.marks = {"owners": owners, "margin": guess.margin}
            self._tell(table)
        return {"margin": guess.margin}

    async def _save(self, page: Connection, message: Message) -> Any:
        played = (await self._table(message)).played
        return {"name": f"game{played.game.suffix}", "text": played.write()}

    async def _remove(self, page: Connection, message: Message) -> Any:
        name = field(message, "id", str)
        table = self._tables.pop(name, None)
        if table is not None:
            self._stop(table)
            table.played.clock = None
            self._wind(table)
        await asyncio.to_thread(self._stored.remove, name)
        return {}

    # ---------------------------------------------------------------------------------- what goes on

    async def _table(self, message: Message) -> Table:
        name = field(message, "id", str)
        if name not in self._tables:
            played = await asyncio.to_thread(self._stored.load, name)
            table = self._table_of(played)
            if name not in self._tables:
                self._make_room(table.weight)
                self._tables[name] = table
        return self._tables[name]

    def _table_of(self, played: PlayedGame) -> Table:
        return Table(played, Seat(self._thinking, self._agents, played.id))

    def _make_room(self, weight: int) -> None:
        """Leave to the files what nobody looks at; ValueError if there would be no room even so."""
        idle = [name for name, table in self._tables.items() if not table.pages and table.thinking is None]
        held = weight + sum(table.weight for table in self._tables.values())
        while held > MOST_OF_GAMES or (idle and len(self._tables) >= _IN_MEMORY):
            if not idle:
                raise ValueError("the server holds as many games as it can: try again later")
            held -= self._tables.pop(idle.pop(0)).weight

    async def _changed(self, table: Table) -> None:
        table.problem, table.marks = "", {}
        table.played.dead = None
        self._tell(table)
        await self._settle_and_save(table)
        self._go_on(table)

    async def _settle_and_save(self, table: Table) -> None:
        """Mark the dead stones of a game that has just ended, and write the game to its file."""
        played = table.played
        if is_to_be_counted(played):
            state = played.state
            dead = await table.seat.work(lambda: dead_stones(state))
            if played.state is state:
                played.dead, played.state = dead, state.with_dead(dead)
                self._tell(table)
        await self._store(table)

    async def _store(self, table: Table) -> None:
        async with table.saving:
            await asyncio.to_thread(self._stored.save, table.played)
            table.weight = weight_of_game(table.played.state)

    async def _store_or_report(self, table: Table) -> None:
        try:
            await self._store(table)
        except Exception as error:
            self._report(table, error)

    def _go_on(self, table: Table) -> None:
        """Let the agent whose turn it is think, if anybody looks."""
        played = table.played
        is_agent = not played.is_over and played.specs[played.state.to_play - 1]
        if is_agent and table.thinking is None and table.pages and not table.problem:
            table.thinking = asyncio.create_task(self._think(table))
            self._tell(table)

    async def _think(self, table: Table) -> None:
        try:
            try:
                await self._agents_move(table)
            finally:
                if table.thinking is asyncio.current_task():
                    table.thinking = None
            self._tell(table)
            await self._settle_and_save(table)
        except Exception as error:
            self._report(table, error)
        self._go_on(table)

    async def _agents_move(self, table: Table) -> None:
        played, state = table.played, table.played.state
        spec = await asyncio.to_thread(self._todays_spec, played, state.to_play - 1)
        decision = await table.seat.think(spec, lambda agent, seconds: _choose(agent, state, seconds))
        if played.state is state:
            played.state, table.thought = state.play(decision.move), view_of_thought(decision, state.to_play)
            table.marks, played.dead = {}, None

    def _todays_spec(self, played: PlayedGame, side: int) -> str:
        """The spec of a player by today's lists: what a kept game says may start no program and read no file."""
        name, kept = played.players[side], played.specs[side]
        try:
            return spec_of(name, played.state, self._own)
        except ValueError:
            if is_generation(self._runs, name, kept):
                return kept
            raise

    def _report(self, table: Table, error: Exception) -> None:
        """Let pages say what went wrong, with a way to try again."""
        table.problem = problem_of(error, f"game {table.played.id} failed")
        self._tell(table)

    @staticmethod
    def _stop(table: Table) -> None:
        """Let nobody think about a position any more."""
        task, table.thinking = table.thinking, None
        if task is not None:
            task.cancel()
        table.seat.stop()

    # ------------------------------------------------------------------------------------------ clocks

    def _wind(self, table: Table) -> None:
        """Let the clock of the person run whose turn it is, if anybody looks."""
        played, clock = table.played, table.played.clock
        if table.alarm is not None:
            table.alarm.cancel()
            table.alarm = None
        if clock is None:
            return
        if table.pages and not played.is_over and not played.specs[played.state.to_play - 1]:
            clock.run(played.state.to_play)
            table.alarm = asyncio.get_running_loop().call_later(max(0.0, clock.left), self._time_out, table)
        else:
            clock.halt()

    def _time_out(self, table: Table) -> None:
        if table.played.clock is not None:
            table.played.clock.flag()
            table.marks = {}
            self._tell(table)
            self._keep(table)

    def _keep(self, table: Table) -> None:
        """Write a game with its clock to its file, soon, unless it has been removed."""
        if table.played.clock is not None and self._tables.get(table.played.id) is table:
            table.keeping = asyncio.create_task(self._store_or_report(table))

    # ------------------------------------------------------------------------------------------- news

    def _tell(self, table: Table) -> None:
        self._wind(table)
        table.tell("game", self._view(table))

    def _view(self, table: Table) -> View:
        played = table.played
        state = played.state
        view = view_of(state)
        view |= {
            "id": played.id,
            "title": played.game.title,
            "about": played.game.describe(played.game.options_of(state)),
            "territory": played.game.territory,
            "sides": list(played.players),
            "specs": list(played.specs),
            "moveList": moves_of(state),
            "thinking": table.thinking is not None,
            "problem": table.problem,
            **table.thought,
            "marks": table.marks,
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
    game: Game = get_game(field(message, "game", str))
    return game.new(options_of(game, message.get("options")))
