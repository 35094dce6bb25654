"""Analyse: records and lines of one's own, walked through, with analysis of the position shown or of the whole game.

Studies are kept as games are. What changes is written a moment later, and at the latest when nobody looks any more.
"""

import asyncio
import base64
from collections import OrderedDict
from dataclasses import replace
from typing import Any, Final

from tengen.agents.analysis import Analysis
from tengen.games.game import get_game
from tengen.web.agent_pool import AgentPool
from tengen.web.audience import Audience, Watched
from tengen.web.connection import Action, Connection, Message
from tengen.web.fields import field, options_of
from tengen.web.live_analysis import (
    MOST_VISITS,
    NO_ANALYSIS,
    LiveAnalysis,
    analyst_spec,
    judgement_of,
    view_of_analysis,
)
from tengen.web.memory import MOST_OF_STUDIES, check_weight, weight_of
from tengen.web.opponents import analysts_for
from tengen.web.positions import mover_of, view_of
from tengen.web.records import record_in
from tengen.web.stored_games import StoredGames, names, new_id
from tengen.web.stored_studies import StoredStudies
from tengen.web.study import Study, read_study, study_of
from tengen.web.thinking import Thinking

_MOST_STUDIES: Final = 100  # in memory
_LISTED: Final = 30
_SOON: Final = 1.0  # seconds until a change is written
_MOST_PER_MOVE: Final = 2_000  # visits of a position in the analysis of a whole game
_LINGER: Final = 5.0  # seconds after the last page has left


class Desk(Watched):
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


class StudyRoom:
    """All studies: the newest in memory, the others on disk."""

    def __init__(self, stored: StoredGames, kept: StoredStudies, thinking: Thinking, agents: AgentPool) -> None:
        self._stored, self._kept, self._thinking, self._agents = stored, kept, thinking, agents
        self._desks: OrderedDict[str, Desk] = OrderedDict()
        self._audience: Audience[Desk] = Audience("study", self._left)

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

    async def desk(self, message: Message) -> Desk:
        """The study that a message names; ValueError if it has gone."""
        name = field(message, "id", str)
        if name not in self._desks:
            study = await asyncio.to_thread(self._kept.load, name)
            if name not in self._desks:
                self._put(Desk(study, self._thinking, self._agents, name))
        self._desks.move_to_end(name)
        return self._desks[name]

    # ---------------------------------------------------------------------------------------- beginning

    async def _list(self, page: Connection, message: Message) -> Any:
        return await asyncio.to_thread(self._kept.newest, _LISTED)

    async def _remove(self, page: Connection, message: Message) -> Any:
        name = field(message, "id", str)
        desk = self._desks.pop(name, None)
        if desk is not None:
            desk.stop()
            if desk.saving is not None:
                desk.saving.cancel()
        await asyncio.to_thread(self._kept.remove, name)
        return {}

    async def _new(self, page: Connection, message: Message) -> Any:
        game = get_game(field(message, "game", str))
        return await self.begin(Study(game.new(options_of(game, message.get("options")))))

    async def _load(self, page: Connection, message: Message) -> Any:
        """A record as text that was pasted, or as the bytes of a file in Base64."""
        record = record_in(message)
        return await self.begin(await self._thinking.run(page, lambda: read_study(record)))

    async def _choose(self, page: Connection, message: Message) -> Any:
        """Another game of the file, as a study of its own."""
        desk, number = await self.desk(message), field(message, "game", int)
        source = desk.study.source
        if source is None:
            raise ValueError("this study has one game")
        return await self.begin(await self._thinking.run(page, lambda: read_study(replace(source, game=number))))

    async def _game(self, page: Connection, message: Message) -> Any:
        name = field(message, "game", str)
        played = await asyncio.to_thread(self._stored.load, name)
        return await self.begin(study_of(played.state, names(played)))

    async def begin(self, study: Study) -> Any:
        """Put a study on a desk and keep it; what a page is answered."""
        if study.source is None:  # made here: what it begins with is what it would be saved as
            known, (_, record) = study, study.write()
            study = await asyncio.to_thread(read_study, record)
            study.names, study.result = known.names, known.result
        desk = Desk(study, self._thinking, self._agents, new_id())
        self._put(desk)
        await asyncio.to_thread(self._kept.save, desk.id, study)
        await asyncio.to_thread(self._kept.drop_oldest)
        return {"id": desk.id}

    def _put(self, desk: Desk) -> None:
        """Take a study into memory. The oldest ones go that nobody looks at; ValueError if there is no room even so."""
        unseen = [name for name, other in self._desks.items() if not other.pages]
        held = desk.weight + sum(other.weight for other in self._desks.values())
        while len(self._desks) >= _MOST_STUDIES or held > MOST_OF_STUDIES:
            if not unseen:
                raise ValueError("the server holds as many studies as it can: try again later")
            gone = self._desks.pop(unseen.pop(0))
            gone.stop()
            held -= gone.weight
        self._desks[desk.id] = desk

    def _keep(self, desk: Desk) -> None:
        """Write a study soon, with all that changes until then."""
        if desk.saving is None and self._desks.get(desk.id) is desk:
            desk.saving = asyncio.create_task(self._save(desk))

    async def _save(self, desk: Desk) -> None:
        await asyncio.sleep(_SOON)
        desk.saving = None
        await asyncio.to_thread(self._kept.save, desk.id, desk.study)

    async def _open(self, page: Connection, message: Message) -> Any:
        desk = await self.desk(message)
        self._audience.join(page, desk)
        desk.want(page)
        for topic in ("study", "position", "analysis", "graph"):
            page.forget(topic)
        page.tell("study", _tree(desk))
        page.tell("position", _position(desk))
        page.tell("graph", _graph(desk))
        self._restart(desk)
        return {"id": desk.id}

    def _left(self, desk: Desk) -> None:
        """Nobody looks any more: analysis of the whole game goes on for a moment, in case of a reload."""
        desk.live.stop()
        asyncio.get_running_loop().call_later(_LINGER, self._stop_if_left, desk)

    @staticmethod
    def _stop_if_left(desk: Desk) -> None:
        if not desk.pages:
            desk.stop()

    # ----------------------------------------------------------------------------------------- walking

    async def _go(self, page: Connection, message: Message) -> Any:
        desk = await self.desk(message)
        number = field(message, "node", int)
        desk.study.node(number)
        self._show(desk, number)
        return {}

    async def _play(self, page: Connection, message: Message) -> Any:
        desk = await self.desk(message)
        before = len(desk.study.nodes)
        check_weight(desk.weight)
        number = desk.study.play(field(message, "node", int), field(message, "move", str))
        if len(desk.study.nodes) > before:
            desk.weight += weight_of([desk.study.nodes[number].state])
            desk.tell("study", _tree(desk))
            await asyncio.to_thread(self._kept.save, desk.id, desk.study)
        self._show(desk, number)
        return {"node": number}

    def _show(self, desk: Desk, number: int) -> None:
        if number != desk.study.at:
            desk.study.at = number
            desk.tell("position", _position(desk))
            self._keep(desk)
            self._restart(desk)

    # --------------------------------------------------------------------------------------- analysing

    async def _analyse(self, page: Connection, message: Message) -> Any:
        """Turn the analysis of the position shown on, by a spec, or off."""
        desk = await self.desk(message)
        desk.want(page)
        spec = field(message, "spec", str)
        desk.spec = analyst_spec(spec) if spec else ""
        self._restart(desk)
        return {}

    def _restart(self, desk: Desk) -> None:
        desk.live.stop()
        number = desk.study.at
        state = desk.study.node(number).state
        blank = {"node": number, "spec": desk.spec, "problem": "", **NO_ANALYSIS, "toPlay": state.to_play}
        desk.tell("analysis", blank)
        if not desk.spec or not desk.pages or state.is_over:
            return

        def show(analysis: Analysis) -> None:
            self.judge(desk, number, analysis)
            desk.tell("analysis", blank | view_of_analysis(state, analysis))

        def fail(problem: str) -> None:
            desk.tell("analysis", blank | {"problem": problem})

        desk.live.start(desk.spec, state, MOST_VISITS, show, fail)

    def judge(self, desk: Desk, number: int, analysis: Analysis) -> None:
        """Keep the best analysis of each position."""
        node = desk.study.nodes[number]
        if node.judgement is None or analysis.visits >= node.judgement.visits:
            judged = judgement_of(node.state, analysis)
            if judged != node.judgement:
                node.judgement = judged
                desk.tell("graph", _graph(desk))
                self._keep(desk)

    async def _whole(self, page: Connection, message: Message) -> Any:
        """Analyse every position of the main line in the background, or stop doing so (no visits)."""
        desk = await self.desk(message)
        visits = field(message, "visits", int)
        if not 0 <= visits <= _MOST_PER_MOVE:
            raise ValueError(f"{visits} visits for each position are not possible: give 1 to {_MOST_PER_MOVE}")
        if visits and page not in desk.pages:
            raise ValueError("open this study first: it is analysed as long as somebody looks at it")
        desk.whole.stop()
        if desk.task is not None:
            desk.task.cancel()
            desk.task = None
        desk.progress = {"done": 0, "total": 0}
        if visits:
            desk.want(page)
            spec = analyst_spec(field(message, "spec", str))
            desk.task = asyncio.create_task(self._go_through(desk, spec, visits))
        desk.tell("graph", _graph(desk))
        return {}

    async def _go_through(self, desk: Desk, spec: str, visits: int) -> None:
        line = [number for number in desk.study.main_line() if not desk.study.nodes[number].state.is_over]
        problems = list[str]()
        for done, number in enumerate(line):
            desk.progress = {"done": done, "total": len(line)}
            node = desk.study.nodes[number]
            if node.judgement is None or node.judgement.visits < visits:
                show = _collector(self, desk, number)
                desk.whole.start(spec, node.state, visits, show, problems.append)
                await desk.whole.done()
            if problems:
                break
            desk.tell("graph", _graph(desk))
        desk.progress = {"done": len(line), "total": len(line), "problem": " ".join(problems[:1])}
        desk.task = None
        desk.tell("graph", _graph(desk))

    async def _export(self, page: Connection, message: Message) -> Any:
        name, data = (await self.desk(message)).study.write()
        return {"name": name, "data": base64.b64encode(data).decode()}


def _collector(room: StudyRoom, desk: Desk, number: int) -> Any:
    return lambda analysis: room.judge(desk, number, analysis)


def _tree(desk: Desk) -> Message:
    """The tree as lists: parent and move of each node."""
    study = desk.study
    return {
        "id": desk.id,
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


def _position(desk: Desk) -> Message:
    node = desk.study.nodes[desk.study.at]
    return view_of(node.state) | {"node": desk.study.at, "comment": node.comment}


def _graph(desk: Desk) -> Message:
    """The chance and the score of the first player in every position that was analysed."""
    judged = [(number, node.judgement) for number, node in enumerate(desk.study.nodes)]
    values = {
        str(number): [round(one.chance, 4), None if one.score is None else round(one.score, 2), one.visits, one.best]
        for number, one in judged
        if one is not None
    }
    return {"values": values, "progress": dict(desk.progress)}
