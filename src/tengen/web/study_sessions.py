"""Analyse: records and lines of one's own, walked through, with analysis of the position shown or of the whole game.

Studies are kept as games are. What changes is written a moment later, and at the latest when nobody looks any more.
"""

import asyncio
import base64
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, Final

from tengen.agents.agent import Agent, Stoppable
from tengen.agents.analysis import Analysis, Analyst
from tengen.agents.registry import read_spec
from tengen.games.game import get_game
from tengen.games.state import FIRST, AnyState
from tengen.serve.review import estimate_of, line_names
from tengen.web.connection import Action, Connection, Message, problem_of
from tengen.web.inputs import MOST_OF_STUDIES, check_weight, field, options_of, record_in, safe_spec, weight_of
from tengen.web.opponents import analysts_for
from tengen.web.positions import mover_of, view_of
from tengen.web.storage import StoredGames, StoredStudies, names_of, new_id
from tengen.web.study import Study, read_study, study_of
from tengen.web.subscribers import Subscribers, Watched
from tengen.web.thinking import AgentPool, Thinking

_MOST_STUDIES: Final = 100  # in memory
_LISTED: Final = 30
_SOON: Final = 1.0  # seconds until a change is written
_MOST_PER_MOVE: Final = 2_000  # visits of a position in the analysis of a whole game
_LINGER: Final = 5.0  # seconds after the last page has left

MOST_VISITS: Final = 20_000
"""At which the analysis of a position ends."""
NO_ANALYSIS: Final[dict[str, Any]] = {
    "visits": 0, "chance": None, "score": None, "owners": None, "moves": [], "final": False,
}  # fmt: skip
"""What a page is told before there is any."""
_SLICE: Final = 1.0  # seconds
_INTERVAL: Final = 0.15  # seconds between two snapshots, about seven a second
_SHOWN: Final = 24  # moves with all they have
_NODES: Final = {"uct": 2_000_000}  # room for the tree; others:
_FEW_NODES: Final = 1_000_000
_TREES: Final = ("uct", "mcts", "zero", "gumbel", "alphago")


class StudySession(Watched):
    """A study that pages look at."""

    def __init__(self, study: Study, thinking: Thinking, agents: AgentPool, name: str) -> None:
        super().__init__()
        self.id, self.study = name, study
        self.weight = check_weight(weight_of(node.state for node in study.nodes))
        """Bytes that it holds."""
        self.live = LiveAnalysis(thinking, agents, f"live {name}")
        self.whole = LiveAnalysis(thinking, agents, f"whole {name}")
        self.spec = ""
        """Who analyses the position shown; empty: nobody."""
        self.task: asyncio.Task[None] | None = None
        self.progress: Message = {"done": 0, "total": 0}
        self.saving: asyncio.Task[None] | None = None
        """The file that is about to be written."""

    def want(self, page: Connection) -> None:
        """Let analysis take this page's turns, however many studies it has."""
        self.live.owner = self.whole.owner = page

    def stop(self) -> None:
        """Analyse nothing any more."""
        self.live.stop()
        self.whole.stop()
        if self.task is not None:
            self.task.cancel()
            self.task = None


class StudySessions:
    """All studies: the newest in memory, the others on disk."""

    def __init__(self, stored: StoredGames, kept: StoredStudies, thinking: Thinking, agents: AgentPool) -> None:
        self._stored, self._kept, self._thinking, self._agents = stored, kept, thinking, agents
        self._sessions: OrderedDict[str, StudySession] = OrderedDict()
        self._subscribers: Subscribers[StudySession] = Subscribers("study", self._left)

    def actions(self) -> dict[str, Action]:
        """What pages may ask for."""
        return {
            "study.list": self._list,
            "study.remove": self._remove,
            "study.choose": self._choose,
            "study.new": self._new,
            "study.load": self._load,
            "study.game": self._game,
            "study.open": self._open,
            "study.go": self._go,
            "study.play": self._play,
            "study.analyse": self._analyse,
            "study.whole": self._whole,
            "study.export": self._export,
        }

    async def session(self, page: Connection, message: Message) -> StudySession:
        """The study that a message names; ValueError if it has gone."""
        name = field(message, "id", str)
        if name not in self._sessions:
            session = await self._thinking.run(page, lambda: self._session_of(self._kept.load(name), name))
            if name not in self._sessions:
                self._put(session)
        self._sessions.move_to_end(name)
        return self._sessions[name]

    # ---------------------------------------------------------------------------------------- beginning

    async def _list(self, page: Connection, message: Message) -> Any:
        return await asyncio.to_thread(self._kept.newest, _LISTED)

    async def _remove(self, page: Connection, message: Message) -> Any:
        name = field(message, "id", str)
        session = self._sessions.pop(name, None)
        if session is not None:
            session.stop()
            if session.saving is not None:
                session.saving.cancel()
        await asyncio.to_thread(self._kept.remove, name)
        return {}

    async def _new(self, page: Connection, message: Message) -> Any:
        game = get_game(field(message, "game", str))
        return await self.begin(page, Study(game.new(options_of(game, message.get("options")))))

    async def _load(self, page: Connection, message: Message) -> Any:
        """A record as text that was pasted, or as the bytes of a file in Base64."""
        record = record_in(message)
        return await self.begin(page, await self._thinking.run(page, lambda: read_study(record)))

    async def _choose(self, page: Connection, message: Message) -> Any:
        """Another game of the file, as a study of its own."""
        session, number = await self.session(page, message), field(message, "game", int)
        source = session.study.source
        if source is None:
            raise ValueError("this study has one game")
        return await self.begin(page, await self._thinking.run(page, lambda: read_study(replace(source, game=number))))

    async def _game(self, page: Connection, message: Message) -> Any:
        name = field(message, "game", str)
        played = await self._thinking.run(page, lambda: self._stored.load(name))
        return await self.begin(page, await self._thinking.run(page, lambda: study_of(played.state, names_of(played))))

    async def begin(self, page: Connection, study: Study) -> Any:
        """Open a session for a study and keep it; what a page is answered."""
        session = await self._thinking.run(page, lambda: self._session_of(_with_source(study), new_id()))
        self._put(session)
        await asyncio.to_thread(self._kept.save, session.id, session.study)
        await asyncio.to_thread(self._kept.drop_oldest)
        return {"id": session.id}

    def _session_of(self, study: Study, name: str) -> StudySession:
        return StudySession(study, self._thinking, self._agents, name)

    def _put(self, session: StudySession) -> None:
        """Take a study into memory. The oldest ones go that nobody looks at; ValueError if there is no room even so."""
        unseen = [name for name, other in self._sessions.items() if not other.pages]
        held = session.weight + sum(other.weight for other in self._sessions.values())
        while len(self._sessions) >= _MOST_STUDIES or held > MOST_OF_STUDIES:
            if not unseen:
                raise ValueError("the server holds as many studies as it can: try again later")
            gone = self._sessions.pop(unseen.pop(0))
            gone.stop()
            held -= gone.weight
        self._sessions[session.id] = session

    def _keep(self, session: StudySession) -> None:
        """Write a study soon, with all that changes until then."""
        if session.saving is None and self._sessions.get(session.id) is session:
            session.saving = asyncio.create_task(self._save(session))

    async def _save(self, session: StudySession) -> None:
        await asyncio.sleep(_SOON)
        session.saving = None
        await asyncio.to_thread(self._kept.save, session.id, session.study)

    async def _open(self, page: Connection, message: Message) -> Any:
        session = await self.session(page, message)
        self._subscribers.join(page, session)
        session.want(page)
        for topic in ("study", "position", "analysis", "graph"):
            page.forget(topic)
        page.tell("study", _tree(session))
        page.tell("position", _position(session))
        page.tell("graph", _graph(session))
        self._restart(session)
        return {"id": session.id}

    def _left(self, session: StudySession) -> None:
        """Nobody looks any more: analysis of the whole game goes on for a moment, in case of a reload."""
        session.live.stop()
        asyncio.get_running_loop().call_later(_LINGER, self._stop_if_left, session)

    @staticmethod
    def _stop_if_left(session: StudySession) -> None:
        if not session.pages:
            session.stop()

    # ----------------------------------------------------------------------------------------- walking

    async def _go(self, page: Connection, message: Message) -> Any:
        session = await self.session(page, message)
        number = field(message, "node", int)
        session.study.node(number)
        self._show(session, number)
        return {}

    async def _play(self, page: Connection, message: Message) -> Any:
        session = await self.session(page, message)
        before = len(session.study.nodes)
        check_weight(session.weight)
        number = session.study.play(field(message, "node", int), field(message, "move", str))
        if len(session.study.nodes) > before:
            session.weight += weight_of([session.study.nodes[number].state])
            session.tell("study", _tree(session))
            await asyncio.to_thread(self._kept.save, session.id, session.study)
        self._show(session, number)
        return {"node": number}

    def _show(self, session: StudySession, number: int) -> None:
        if number != session.study.at:
            session.study.at = number
            session.tell("position", _position(session))
            self._keep(session)
            self._restart(session)

    # --------------------------------------------------------------------------------------- analysing

    async def _analyse(self, page: Connection, message: Message) -> Any:
        """Turn the analysis of the position shown on, by a spec, or off."""
        session = await self.session(page, message)
        session.want(page)
        spec = field(message, "spec", str)
        session.spec = analyst_spec(spec) if spec else ""
        self._restart(session)
        return {}

    def _restart(self, session: StudySession) -> None:
        session.live.stop()
        number = session.study.at
        state = session.study.node(number).state
        blank = {"node": number, "spec": session.spec, "problem": "", **NO_ANALYSIS, "toPlay": state.to_play}
        session.tell("analysis", blank)
        if not session.spec or not session.pages or state.is_over:
            return

        def show(analysis: Analysis) -> None:
            self.keep_estimate(session, number, analysis)
            session.tell("analysis", blank | view_of_analysis(state, analysis))

        def fail(problem: str) -> None:
            session.tell("analysis", blank | {"problem": problem})

        session.live.start(session.spec, state, MOST_VISITS, show, fail)

    def keep_estimate(self, session: StudySession, number: int, analysis: Analysis) -> None:
        """Keep the best analysis of each position."""
        node = session.study.nodes[number]
        if node.estimate is None or analysis.visits >= node.estimate.visits:
            judged = estimate_of(node.state, analysis)
            if judged != node.estimate:
                node.estimate = judged
                session.tell("graph", _graph(session))
                self._keep(session)

    async def _whole(self, page: Connection, message: Message) -> Any:
        """Analyse every position of the main line in the background, or stop doing so (no visits)."""
        session = await self.session(page, message)
        visits = field(message, "visits", int)
        if not 0 <= visits <= _MOST_PER_MOVE:
            raise ValueError(f"{visits} visits for each position are not possible: give 1 to {_MOST_PER_MOVE}")
        if visits and page not in session.pages:
            raise ValueError("open this study first: it is analysed as long as somebody looks at it")
        session.whole.stop()
        if session.task is not None:
            session.task.cancel()
            session.task = None
        session.progress = {"done": 0, "total": 0}
        if visits:
            session.want(page)
            spec = analyst_spec(field(message, "spec", str))
            session.task = asyncio.create_task(self._go_through(session, spec, visits))
        session.tell("graph", _graph(session))
        return {}

    async def _go_through(self, session: StudySession, spec: str, visits: int) -> None:
        line = [number for number in session.study.main_line() if not session.study.nodes[number].state.is_over]
        problems = list[str]()
        for done, number in enumerate(line):
            session.progress = {"done": done, "total": len(line)}
            node = session.study.nodes[number]
            if node.estimate is None or node.estimate.visits < visits:
                show = _collector(self, session, number)
                session.whole.start(spec, node.state, visits, show, problems.append)
                await session.whole.done()
            if problems:
                break
            session.tell("graph", _graph(session))
        session.progress = {"done": len(line), "total": len(line), "problem": " ".join(problems[:1])}
        session.task = None
        session.tell("graph", _graph(session))

    async def _export(self, page: Connection, message: Message) -> Any:
        study = (await self.session(page, message)).study
        name, data = await self._thinking.run(page, study.write)
        return {"name": name, "data": base64.b64encode(data).decode()}


def _with_source(study: Study) -> Study:
    """A study that was made here begins with what it would be saved as."""
    if study.source is not None:
        return study
    found = read_study(study.write()[1])
    found.names, found.result = study.names, study.result
    return found


def _collector(sessions: StudySessions, session: StudySession, number: int) -> Any:
    return lambda analysis: sessions.keep_estimate(session, number, analysis)


def _tree(session: StudySession) -> Message:
    """The tree as lists: parent and move of each node."""
    study = session.study
    return {
        "id": session.id,
        "title": study.game.title,
        "about": study.game.describe(study.game.options_of(study.nodes[0].state)),
        "names": list(study.names),
        "result": study.result,
        "games": study.games,
        "chosen": study.source.game if study.source else 0,
        "parents": [node.parent for node in study.nodes],
        "moves": [node.move for node in study.nodes],
        "movers": [mover_of(node.state) for node in study.nodes],
        "analysts": analysts_for(study.nodes[0].state),
    }


def _position(session: StudySession) -> Message:
    node = session.study.nodes[session.study.at]
    return view_of(node.state) | {"node": session.study.at, "comment": node.comment}


def _graph(session: StudySession) -> Message:
    """The chance and the score of the first player in every position that was analysed."""
    judged = [(number, node.estimate) for number, node in enumerate(session.study.nodes)]
    values = {
        str(number): [round(one.chance, 4), None if one.score is None else round(one.score, 2), one.visits, one.best]
        for number, one in judged
        if one is not None
    }
    return {"values": values, "progress": dict(session.progress)}


def analyst_spec(text: Any) -> str:
    """The spec of an agent that analyses, with bounded room for its tree; ValueError if it is none."""
    spec = safe_spec(text)
    kind, settings = read_spec(spec)
    if kind not in _TREES:
        raise ValueError(f"{kind} does not search a tree: choose from {', '.join(_TREES)}")
    if "nodes" in settings:
        return spec
    return f"{spec}{',' if settings else ':'}nodes={_NODES.get(kind, _FEW_NODES)}"


class LiveAnalysis:
    """Analyses one position at a time for one page."""

    def __init__(self, thinking: Thinking, agents: AgentPool, name: str) -> None:
        """`name`: whom the agents are lent to."""
        self._thinking, self._agents, self._name = thinking, agents, name
        self.owner: Hashable = self
        """Whose turn the thinking takes: the page that asked."""
        self._task: asyncio.Task[None] | None = None
        self._agent: Agent | None = None
        self._turn = 0

    def start(
        self, spec: str, state: AnyState, visits: int, show: Callable[[Analysis], None], fail: Callable[[str], None]
    ) -> None:
        """Analyse a position up to so many visits, and no other; `show` is called on the event loop."""
        self.stop()
        self._task = asyncio.create_task(self._run(spec, state, visits, show, fail, self._turn))

    def stop(self) -> None:
        """Analyse nothing."""
        self._turn += 1
        task, agent, self._task = self._task, self._agent, None
        if task is not None:
            task.cancel()
        if isinstance(agent, Stoppable):
            agent.stop()

    async def done(self) -> None:
        """Wait until the analysis under way has ended."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _run(
        self,
        spec: str,
        state: AnyState,
        visits: int,
        show: Callable[[Analysis], None],
        fail: Callable[[str], None],
        turn: int,
    ) -> None:
        loop, known = asyncio.get_running_loop(), -1

        def tell(analysis: Analysis) -> None:
            if turn == self._turn:
                show(analysis)

        try:
            while True:
                last = await self._thinking.run(
                    self.owner,
                    lambda: self._slice(spec, state, visits, lambda one: loop.call_soon_threadsafe(tell, one), turn),
                )
                if last is None or last.visits >= visits or last.visits <= known or not last.moves:
                    return
                known = last.visits
        except Exception as error:
            fail(problem_of(error, f"an analysis by {spec} failed"))

    def _slice(
        self, spec: str, state: AnyState, visits: int, show: Callable[[Analysis], object], turn: int
    ) -> Analysis | None:
        """In a thread: analyse for a while; the last snapshot."""
        last: Analysis | None = None
        with self._agents.borrow(spec, self._name) as agent:
            if not isinstance(agent, Analyst):
                raise ValueError(f"{agent.name} does not analyse")
            self._agent = agent
            try:
                for analysis in agent.analyse(state, visits=visits, seconds=_SLICE, interval=_INTERVAL):
                    last = analysis
                    show(analysis)
                    if turn != self._turn:
                        break
            finally:
                self._agent = None
        return last


def view_of_analysis(state: AnyState, analysis: Analysis) -> dict[str, Any]:
    """The analysis as a page draws it: chances and scores of the player to move, ownership of the first player."""
    sign = 1 if state.to_play == FIRST else -1
    shown = [
        {
            "move": state.move_name(each.move),
            "visits": each.visits,
            "chance": round(each.chance, 4),
            "prior": round(each.prior, 5),
            "score": None if each.score is None else round(each.score, 2),
            "pv": list(line_names(state, each.pv)) if each.visits and each.order < _SHOWN else [],
        }
        for each in analysis.moves
    ]
    owners = None if analysis.ownership is None else [round(sign * float(one), 2) for one in analysis.ownership.ravel()]
    return {
        "visits": analysis.visits,
        "chance": round(analysis.chance, 4),
        "score": None if analysis.score is None else round(analysis.score, 2),
        "owners": owners,
        "moves": shown,
        "toPlay": state.to_play,
        "final": analysis.final,
    }
