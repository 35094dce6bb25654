"""Play: games between people and agents, what a page may do to them, and how the news of them get out.

Every change of a game is written to its file and told to all pages that look at it.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from tengen.agents.agent import Agent, AgentError, Decision, Stoppable
from tengen.games.game import Game, Record, get_game
from tengen.games.go import EMPTY
from tengen.games.state import FIRST, SECOND
from tengen.search.status import dead_stones
from tengen.serve.estimate import describe_count, estimate
from tengen.web.agent_pool import AgentPool
from tengen.web.connection import Action, Connection, Message
from tengen.web.fields import field, options_of
from tengen.web.opponents import opponents_for
from tengen.web.positions import View, moves_of, numbers_by_name, view_of
from tengen.web.records import read_any
from tengen.web.specs import safe_spec
from tengen.web.stored_games import PlayedGame, StoredGames, names, new_id
from tengen.web.thinking import Thinking

HUMAN: Final = "human"
_LISTED: Final = 30
_IN_MEMORY: Final = 200


class Table:
    """A game that is being played: its pages, and what goes on at the moment."""

    def __init__(self, played: PlayedGame) -> None:
        self.played = played
        self.pages: set[Connection] = set()
        self.thinking: asyncio.Task[None] | None = None
        self.agent: Agent | None = None
        """Who thinks at the moment."""
        self.problem = ""
        self.decision: Decision | None = None
        self.marks: Message = {}
        """What somebody asked about this position: a hint, an estimate."""
        self.saving = asyncio.Lock()


class PlayRoom:
    """All tables, by the names of their games."""

    def __init__(self, stored: StoredGames, thinking: Thinking, agents: AgentPool, own: Mapping[str, str]) -> None:
        """`own`: specs of the server's own opponents by name."""
        self._stored, self._thinking, self._agents, self._own = stored, thinking, agents, own
        self._tables: dict[str, Table] = {}

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
        newest = await asyncio.to_thread(self._stored.newest, _LISTED)
        shown = ("id", "game", "about", "players", "specs", "moves", "result", "touched")
        return [{name: fields.get(name) for name in shown} for fields in newest]

    async def _opponents(self, page: Connection, message: Message) -> Any:
        state = _new_state(message)
        found = opponents_for(state, self._own)
        return [{"key": one.key, "spec": one.spec, "measured": one.measured} for one in found]

    async def _new(self, page: Connection, message: Message) -> Any:
        return await self._begin(page, _new_state(message), message)

    async def _load(self, page: Connection, message: Message) -> Any:
        state = await asyncio.to_thread(read_any, field(message, "record", str))
        return await self._begin(page, state, message)

    async def _begin(self, page: Connection, state: Any, message: Message) -> Any:
        players = message.get("players")
        if not isinstance(players, list) or len(players) != 2 or not all(isinstance(one, str) for one in players):
            raise ValueError("give two players, each human, an opponent or spec:...")
        specs = self._spec_of(players[0], state), self._spec_of(players[1], state)
        return await self.begin_between(state, (players[0], players[1]), specs)

    async def begin_between(self, state: Any, players: tuple[str, str], specs: tuple[str, str]) -> Any:
        """A game between players by name, whose specs are known to be safe; what a page is answered."""
        table = Table(PlayedGame(new_id(), state, players, specs))
        self._tables[table.played.id] = table
        await self._settle_and_save(table)
        await asyncio.to_thread(self._stored.drop_oldest)
        self._forget_idle()
        return {"id": table.played.id}

    def _spec_of(self, player: str, state: Any) -> str:
        """The spec of a player; empty for a person."""
        if player == HUMAN:
            return ""
        if player.startswith("spec:"):
            return safe_spec(player.removeprefix("spec:"))
        for one in opponents_for(state, self._own):
            if one.key == player:
                return one.spec
        raise ValueError(f"no opponent is called {player[:40]!r} here")

    # -------------------------------------------------------------------------------------- in a game

    async def _open(self, page: Connection, message: Message) -> Any:
        table = await self._table(message)
        self._leave_all(page)
        table.pages.add(page)
        page.rooms["play"] = table
        if "play left" not in page.rooms:
            page.rooms["play left"] = True
            page.on_leaving(lambda: self._leave_all(page))
        page.forget("game")
        page.tell("game", self._view(table), whole=True)
        self._go_on(table)
        return {"id": table.played.id}

    async def _leave(self, page: Connection, message: Message) -> Any:
        self._leave_all(page)
        return {}

    def _leave_all(self, page: Connection) -> None:
        table = page.rooms.pop("play", None)
        if table is not None:
            table.pages.discard(page)

    async def _move(self, page: Connection, message: Message) -> Any:
        table = await self._table(message)
        played = table.played
        if played.specs[played.state.to_play - 1] and not played.state.is_over:
            raise ValueError("it is not your turn")
        if field(message, "number", int) != played.state.move_number:
            raise ValueError("the game has gone on meanwhile")
        played.state = played.state.play(played.state.parse_move(field(message, "move", str)))
        table.decision = None
        await self._changed(table)
        return {}

    async def _undo(self, page: Connection, message: Message) -> Any:
        table = await self._table(message)
        self._stop(table)
        played = table.played
        people = [player for player in (FIRST, SECOND) if not played.specs[player - 1]]
        state = played.state.previous
        while state is not None and people and state.to_play not in people:
            state = state.previous
        if state is None:
            raise ValueError("there is no move of yours to take back")
        played.state, table.decision = state, None
        await self._changed(table)
        return {}

    async def _again(self, page: Connection, message: Message) -> Any:
        """Let an agent that has failed try again."""
        table = await self._table(message)
        table.problem = ""
        self._go_on(table)
        return {}

    async def _dead(self, page: Connection, message: Message) -> Any:
        """Turn the stones around a point dead or alive, once the game is over."""
        table = await self._table(message)
        played = table.played
        if played.dead is None:
            raise ValueError("dead stones are marked when the game is over and counted")
        group = _group(played.state, played.state.parse_move(field(message, "point", str)))
        played.dead = played.dead - group if group <= played.dead else played.dead | group
        played.state = played.state.with_dead(played.dead)
        await self._store(table)
        self._tell(table)
        return {}

    async def _hint(self, page: Connection, message: Message) -> Any:
        table = await self._table(message)
        state = table.played.state
        if state.is_over:
            raise ValueError("the game is over")
        spec = opponents_for(state, {})[-1].spec
        decision = await self._thinking.run(page, lambda: self._choose(spec, state, f"hint {table.played.id}", 1.0))
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
        data = played.game.write(played.state, Record(*names(played)))
        return {"name": f"game{played.game.suffix}", "text": data.decode("utf-8")}

    async def _remove(self, page: Connection, message: Message) -> Any:
        name = field(message, "id", str)
        table = self._tables.pop(name, None)
        if table is not None:
            self._stop(table)
        await asyncio.to_thread(self._stored.remove, name)
        return {}

    # ---------------------------------------------------------------------------------- what goes on

    async def _table(self, message: Message) -> Table:
        name = field(message, "id", str)
        if name not in self._tables:
            played = await asyncio.to_thread(self._stored.load, name)
            self._tables.setdefault(name, Table(played))
            self._forget_idle()
        return self._tables[name]

    def _forget_idle(self) -> None:
        """Leave to the files what nobody looks at."""
        idle = [name for name, table in self._tables.items() if not table.pages and table.thinking is None]
        for name in idle[: max(0, len(self._tables) - _IN_MEMORY)]:
            del self._tables[name]

    async def _changed(self, table: Table) -> None:
        table.problem, table.marks = "", {}
        table.played.dead = None
        self._tell(table)
        await self._settle_and_save(table)
        self._go_on(table)

    async def _settle_and_save(self, table: Table) -> None:
        """Mark the dead stones of a game that has just ended, and write the game to its file."""
        played = table.played
        if _is_counted(played):
            state = played.state
            dead = await self._thinking.run(table, lambda: dead_stones(state))
            if played.state is state:
                played.dead, played.state = dead, state.with_dead(dead)
                self._tell(table)
        await self._store(table)

    async def _store(self, table: Table) -> None:
        async with table.saving:
            await asyncio.to_thread(self._stored.save, table.played)

    def _go_on(self, table: Table) -> None:
        """Let the agent whose turn it is think, if anybody looks."""
        played = table.played
        spec = "" if played.state.is_over else played.specs[played.state.to_play - 1]
        if spec and table.thinking is None and table.pages and not table.problem:
            table.thinking = asyncio.create_task(self._think(table, spec))
            self._tell(table)

    async def _think(self, table: Table, spec: str) -> None:
        played, state = table.played, table.played.state
        try:
            decision = await self._thinking.run(
                table, lambda: self._choose(spec, state, played.id, self._thinking.share(), table)
            )
            if played.state is state:
                played.state, table.decision = state.play(decision.move), decision
                table.marks, played.dead = {}, None
        except (AgentError, ValueError) as error:
            table.problem = " ".join(str(error).split())[:300]
        finally:
            if table.thinking is asyncio.current_task():
                table.thinking = None
        self._tell(table)
        await self._settle_and_save(table)
        self._go_on(table)

    def _choose(self, spec: str, state: Any, borrower: str, seconds: float, table: Table | None = None) -> Decision:
        """In a thread: let an agent choose, which `_stop` of the table may interrupt."""
        with self._agents.borrow(spec, borrower) as agent:
            if table is not None:
                table.agent = agent
            try:
                return agent.choose(state, seconds)
            finally:
                if table is not None:
                    table.agent = None

    @staticmethod
    def _stop(table: Table) -> None:
        """Let nobody think about a position any more."""
        task, agent, table.thinking = table.thinking, table.agent, None
        if task is not None:
            task.cancel()
        if isinstance(agent, Stoppable):
            agent.stop()

    # ------------------------------------------------------------------------------------------- news

    def _tell(self, table: Table) -> None:
        view = self._view(table)
        for page in table.pages:
            page.tell("game", view)

    def _view(self, table: Table) -> View:
        played = table.played
        state, decision = played.state, table.decision
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
            "note": decision.note if decision is not None else "",
            "chance": None if decision is None or decision.value is None else round(decision.value, 3),
            "marks": table.marks,
            "count": None,
        }
        if played.dead is not None:
            view["count"] = _count(played)
        return view


def _new_state(message: Message) -> Any:
    game: Game = get_game(field(message, "game", str))
    return game.new(options_of(game, message.get("options")))


def _is_counted(played: PlayedGame) -> bool:
    """Whether a game has ended in a way that its stones are to be counted, and nobody has done so."""
    state = played.state
    return played.dead is None and played.game.territory and state.is_over and state.end_reason == "score"


def _group(state: Any, point: int) -> frozenset[int]:
    """The stones of one colour that are connected with a point, also across empty points: they live or die together."""
    stones, size = state.stones, state.size
    color = int(stones.ravel()[point]) if 0 <= point < size * size else EMPTY
    if color == EMPTY:
        raise ValueError("there is no stone")
    seen, todo = {point}, [point]
    while todo:
        row, col = divmod(todo.pop(), size)
        for r, c in ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)):
            if 0 <= r < size and 0 <= c < size and stones[r, c] in (color, EMPTY) and r * size + c not in seen:
                seen.add(r * size + c)
                todo.append(r * size + c)
    return frozenset(p for p in seen if stones.ravel()[p] == color)


def _count(played: PlayedGame) -> Message:
    state, dead = played.state, played.dead or frozenset()
    owners = state.ownership(dead)
    return {
        "dead": [state.move_name(point) for point in sorted(dead)],
        "owners": "".join(str(int(owner)) for owner in owners.ravel()),
        "margin": state.score(dead),
        "text": describe_count(state, dead),
        "correctable": state.rules.removes_dead,
    }
