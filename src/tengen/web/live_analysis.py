"""Analysis that goes on while somebody looks: in slices, so that all who think here take turns."""

import asyncio
from collections.abc import Callable, Hashable
from typing import Any, Final

from tengen.agents.agent import Agent, Stoppable
from tengen.agents.analysis import Analysis, Analyst
from tengen.agents.registry import read_spec
from tengen.games.state import FIRST
from tengen.web.agent_pool import AgentPool
from tengen.web.connection import problem_of
from tengen.web.specs import safe_spec
from tengen.web.study import Judgement, first_chance
from tengen.web.thinking import Thinking

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
        self, spec: str, state: Any, visits: int, show: Callable[[Analysis], None], fail: Callable[[str], None]
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
        state: Any,
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
        self, spec: str, state: Any, visits: int, show: Callable[[Analysis], object], turn: int
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


def judgement_of(state: Any, analysis: Analysis) -> Judgement:
    """The analysis in short, as the first player sees it."""
    sign = 1 if state.to_play == FIRST else -1
    best = analysis.moves[0] if analysis.moves else None
    return Judgement(
        analysis.visits,
        first_chance(state, analysis.chance),
        None if analysis.score is None else sign * analysis.score,
        "" if best is None else state.move_name(best.move),
        () if best is None else line_names(state, best.pv),
    )


def line_names(state: Any, line: tuple[int, ...]) -> tuple[str, ...]:
    """The names of the moves of a line."""
    names = list[str]()
    for move in line:
        names.append(state.move_name(move))
        if state.why_illegal(move) is not None:
            break
        state = state.play(move)
    return tuple(names)


def view_of_analysis(state: Any, analysis: Analysis) -> dict[str, Any]:
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
