"""Agents that are loaded, to be borrowed by whoever thinks. A few serve many games: most of a game is waiting.

A borrower gets the agent that served it last if that is free (it still has its tree), or another of the same spec, or a
new one. The oldest that nobody uses are closed when there are more than `most`.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from tengen.agents.agent import Agent, Stoppable
from tengen.agents.registry import load_agent

MOST_AGENTS: Final = 12


@dataclass
class _Loaded:
    spec: str
    agent: Agent
    borrower: str
    in_use: bool = True


class AgentPool:
    """Loaded agents, for any thread."""

    def __init__(self, most: int = MOST_AGENTS) -> None:
        self._most = most
        self._agents: list[_Loaded] = []  # who was used last is last
        self._lock = threading.Lock()

    @contextmanager
    def borrow(self, spec: str, borrower: str) -> Iterator[Agent]:
        """An agent of this spec for as long as the block runs; ValueError if there is none."""
        loaded = self._take(spec, borrower)
        if loaded is None:
            loaded = _Loaded(spec, load_agent(spec), borrower)
            with self._lock:
                self._agents.append(loaded)
        try:
            yield loaded.agent
        finally:
            self._give_back(loaded)

    def close(self) -> None:
        """Close every agent that nobody uses, and interrupt the others."""
        with self._lock:
            agents, self._agents = self._agents, []
        for one in agents:
            if not one.in_use:
                one.agent.close()
            elif isinstance(one.agent, Stoppable):
                one.agent.stop()

    def _take(self, spec: str, borrower: str) -> _Loaded | None:
        with self._lock:
            idle = [one for one in self._agents if one.spec == spec and not one.in_use]
            if not idle:
                return None
            found = next((one for one in idle if one.borrower == borrower), idle[0])
            found.borrower, found.in_use = borrower, True
            return found

    def _give_back(self, loaded: _Loaded) -> None:
        surplus = list[_Loaded]()
        with self._lock:
            loaded.in_use = False
            if loaded in self._agents:
                self._agents.remove(loaded)
                self._agents.append(loaded)
            while len(self._agents) > self._most:
                idle = next((one for one in self._agents if not one.in_use), None)
                if idle is None:
                    break
                self._agents.remove(idle)
                surplus.append(idle)
        for one in surplus:
            one.agent.close()
