"""Agents at a board: they think in turn with all others here, and can be interrupted."""

from collections.abc import Callable, Hashable
from typing import TypeVar

from tengen.agents.agent import Agent, Stoppable
from tengen.web.agent_pool import AgentPool
from tengen.web.thinking import Thinking

Result = TypeVar("Result")


class Seat:
    """Where agents think about one game, one at a time."""

    def __init__(self, thinking: Thinking, agents: AgentPool, name: str, owner: Hashable = None) -> None:
        """`name`: whom the agents are lent to. `owner`: whose turn the thinking takes; None: the seat's own."""
        self._thinking, self._agents, self._name = thinking, agents, name
        self.owner: Hashable = self if owner is None else owner
        self._agent: Agent | None = None

    async def think(self, spec: str, do: Callable[[Agent, float], Result]) -> Result:
        """Lend an agent to `do`, in a thread, with the seconds that it may take."""
        return await self.work(lambda: self._lend(spec, do))

    async def work(self, do: Callable[[], Result]) -> Result:
        """The same without an agent."""
        return await self._thinking.run(self.owner, do)

    def stop(self) -> None:
        """Interrupt who thinks."""
        agent = self._agent
        if isinstance(agent, Stoppable):
            agent.stop()

    def _lend(self, spec: str, do: Callable[[Agent, float], Result]) -> Result:
        with self._agents.borrow(spec, self._name) as agent:
            self._agent = agent
            try:
                return do(agent, self._thinking.share())
            finally:
                self._agent = None
