"""Agents that can analyse, for the commands that need one."""

from tengen.agents.agent import Agent
from tengen.agents.analysis import Analyst


def as_analyst(agent: Agent, spec: str) -> Analyst:
    """The agent itself; ValueError if it does not search a tree."""
    if not isinstance(agent, Analyst):
        agent.close()
        raise ValueError(f"{spec} searches no tree and cannot analyse: take zero, gumbel, alphago, mcts or uct")
    return agent
