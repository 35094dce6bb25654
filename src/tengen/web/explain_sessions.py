"""Explain: the search of a position one simulation at a time, node by node, and its numbers as boards side by side."""

import asyncio
from typing import Any, Final, Protocol, runtime_checkable

from tengen.agents.explanation import SearchNode, SteppedSearch, Visit
from tengen.games.state import AnyState
from tengen.web.connection import Action, Connection, Message
from tengen.web.inputs import field
from tengen.web.positions import numbers_by_name, view_of
from tengen.web.study_sessions import StudySessions, analyst_spec
from tengen.web.thinking import AgentPool, Thinking

_MOST_AT_ONCE: Final = 500
_SHOWN: Final = 30  # children of a node
_MOST_TREES: Final = 40  # each takes up to 12 MB


@runtime_checkable
class CanStep(Protocol):
    """An agent whose search goes one simulation at a time."""

    def stepped(self, state: AnyState) -> SteppedSearch:
        """The search of a state, from an empty tree."""
        ...


class _ExplainSession:
    """The search that one page follows."""

    def __init__(self, spec: str, state: Any, search: SteppedSearch) -> None:
        self.spec, self.state, self.search = spec, state, search
        self.path: list[Message] = []
        """The nodes of the last simulation, with what changed."""
        self.shown = 0
        self.busy = asyncio.Lock()


class ExplainSessions:
    """The searches of all pages, one each."""

    def __init__(self, studies: StudySessions, thinking: Thinking, agents: AgentPool) -> None:
        self._studies, self._thinking, self._agents = studies, thinking, agents
        self._pages: list[Connection] = []  # that follow a search, the newest last

    def actions(self) -> dict[str, Action]:
        """What pages may ask for."""
        return {"explain.start": self._start, "explain.step": self._step, "explain.node": self._node}

    async def _start(self, page: Connection, message: Message) -> Any:
        """Begin with an empty tree at the position that a study shows."""
        study = (await self._studies.session(page, message)).study
        state, spec = study.node(study.at).state, analyst_spec(field(message, "spec", str))

        def begin() -> tuple[_ExplainSession, Message]:
            with self._agents.borrow(spec, "explain") as agent:
                if not isinstance(agent, CanStep):
                    raise ValueError(f"{agent.name} does not go one simulation at a time: choose zero, alphago or mcts")
                session = _ExplainSession(spec, state, agent.stepped(state))
                return session, _view(session)

        session, view = await self._thinking.run(page, begin)
        page.parts["explain"] = session
        self._pages = [each for each in self._pages if each is not page and "explain" in each.parts] + [page]
        while len(self._pages) > _MOST_TREES:
            self._pages.pop(0).parts.pop("explain")
        page.forget("search")
        page.tell("search", view)
        return {}

    async def _step(self, page: Connection, message: Message) -> Any:
        session = _session_of(page)
        count = field(message, "count", int)
        if not 1 <= count <= _MOST_AT_ONCE:
            raise ValueError(f"{count} simulations at once are not possible: give 1 to {_MOST_AT_ONCE}")

        def simulate() -> Message:
            session.path, session.shown = _simulate(session, count), 0
            return _view(session)

        async with session.busy:
            page.tell("search", await self._thinking.run(page, simulate))
        return {}

    async def _node(self, page: Connection, message: Message) -> Any:
        session = _session_of(page)
        number = field(message, "node", int)

        def show() -> Message:
            session.search.node(number)
            session.shown = number
            return _view(session)

        async with session.busy:
            page.tell("search", await self._thinking.run(page, show))
        return {}


def _session_of(page: Connection) -> _ExplainSession:
    found = page.parts.get("explain")
    if not isinstance(found, _ExplainSession):
        raise ValueError("no search has begun, or too many others have since: choose the agent again")
    return found


def _simulate(session: _ExplainSession, count: int) -> list[Message]:
    """In a thread: so many simulations; what the last one went through and changed."""
    search, went = session.search, list[Visit]()
    for _ in range(count):
        went = search.step()
    return [_step_of(search, went, place) for place in range(len(went))]


def _step_of(search: SteppedSearch, went: list[Visit], place: int) -> Message:
    parent = went[place - 1].number if place else None
    node = search.node(went[place].number, parent)
    move = "" if parent is None else _move_name(search, parent, node)
    return _numbers_of(node, move) | {"oldN": went[place].visits, "oldW": round(went[place].value_sum, 3)}


def _move_name(search: SteppedSearch, parent: int, node: SearchNode) -> str:
    state = search.state_at(parent)
    return str(state.move_name(state.move_of(node.action)))


def _numbers_of(node: SearchNode, move: str) -> Message:
    return {
        "node": node.number,
        "move": move,
        "N": node.visits,
        "W": round(node.value_sum, 3),
        "Q": None if node.q is None else round(node.q, 4),
        "P": round(node.prior, 4),
        "u": round(node.bonus, 4),
        "v": None if node.value is None else round(node.value, 4),
        "stage": node.stage,
        "children": node.children,
    }


def _view(session: _ExplainSession) -> Message:
    search, number = session.search, session.shown
    state = search.state_at(number)
    children = search.children(number)
    line = search.line(number)
    return {
        "spec": session.spec,
        "simulations": search.simulations,
        "path": session.path,
        "node": number,
        "line": [
            {"node": each, "move": _move_name(search, before, search.node(each)) if each else ""}
            for before, each in zip([0, *line], line, strict=False)
        ],
        "position": view_of(state),
        "numbers": _numbers_of(search.node(number, line[-2] if len(line) > 1 else None), ""),
        "urgency": round(search.first_play_urgency(number), 4),
        "children": [_numbers_of(each, state.move_name(state.move_of(each.action))) for each in children[:_SHOWN]],
        "boards": _boards(session),
    }


def _boards(session: _ExplainSession) -> Message:
    """Numbers of the root's moves, a board each: Figure 5 of AlphaGo (Silver et al. 2016)."""
    search, state = session.search, session.state
    children = {state.move_of(each.action): each for each in search.children(0)}
    seen = {move: each for move, each in children.items() if each.visits}
    boards: Message = {"prior": numbers_by_name(state, {move: each.prior for move, each in children.items()})}
    if search.values:
        boards["value"] = numbers_by_name(state, search.values)
    boards["q"] = numbers_by_name(state, {move: (each.q + 1) / 2 for move, each in seen.items() if each.q is not None})
    rollouts = {
        move: (each.rollout_sum / each.visits + 1) / 2 for move, each in seen.items() if each.rollout_sum is not None
    }
    if rollouts:
        boards["rollouts"] = numbers_by_name(state, rollouts)
    boards["visits"] = numbers_by_name(state, {move: each.visits for move, each in seen.items()})
    return boards
