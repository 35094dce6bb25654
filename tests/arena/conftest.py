"""Agents that do one thing, good or bad, by specs of their own: `pass`, `die:4`, `repeat:12`, ..."""

from collections.abc import Callable

import numpy as np
import pytest

from tengen.agents.agent import Agent, AgentError, AgentTimeoutError, Decision
from tengen.agents.random import Random, RandomAgent
from tengen.games import go
from tengen.games.go import PASS, RESIGN

LoadFake = Callable[..., Agent]


class Fake:
    """Decides by a function of the state."""

    def __init__(self, name: str, decide: Callable[[go.State], int]) -> None:
        self.name, self.decide = name, decide

    def choose(self, state: go.State, seconds: float | None = None) -> Decision:
        return Decision(self.decide(state), value=0.25, note=f"cap {seconds}")

    def close(self) -> None:
        """Nothing to free."""


@pytest.fixture
def load_fake() -> LoadFake:
    """Loads a fake as `load_agent` loads an agent."""
    return _load


def _load(spec: str, seed: int = 0) -> Agent:
    kind, _, text = spec.partition(":")
    number = int(text or 0)
    rng = np.random.default_rng(seed)

    def hang(state: go.State) -> int:
        raise AgentTimeoutError("fake did not answer within 60 s")

    def die(state: go.State) -> int:
        if state.move_number >= number:
            raise AgentError("fake ended with exit code 1")
        return state.legal_moves()[0]

    kinds: dict[str, Callable[[go.State], int]] = {
        "pass": lambda state: PASS,
        "resign": lambda state: RESIGN,
        "repeat": lambda state: number,
        "die": die,
        "bug": lambda state: {}["nothing"],
        "hang": hang,
        "mute": lambda state: None,  # type: ignore[dict-item, return-value]
        "wild": lambda state: int(rng.choice([m for m in state.legal_moves() if m != PASS] or [PASS])),
    }
    return RandomAgent(Random(seed)) if kind == "random" else Fake(spec, kinds[kind])
