"""The deep-learning player: plays what a policy network predicts, without any search."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tengen.agents.agent import AgentError, Decision, of_game
from tengen.agents.conditions import warning
from tengen.agents.passing import may_pass, wins_by_passing
from tengen.encode.registry import get_encoder
from tengen.games import go
from tengen.games.game import game_of, get_game
from tengen.games.go import PASS
from tengen.games.state import AnyState
from tengen.nets.evaluator import load_evaluator

_TOLD = 10  # how many moves a decision gives probabilities for


@dataclass(frozen=True)
class Policy:
    """Plays the likeliest move of a policy network, or draws among likely ones; no search."""

    model: str = "go19"
    temperature: float = 0.0
    """0 plays the likeliest move; 1 draws as the network predicts; between, likelier moves more often."""
    seed: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.temperature <= 10:
            raise ValueError(f"policy:temperature={self.temperature} is not possible: give 0 (greedy) to 10")


class PolicyAgent:
    """A network's moves, made sensible: legal, no own eye filled, and a pass when nothing is left to win."""

    def __init__(self, settings: Policy) -> None:
        self._evaluator, self._card = load_evaluator(settings.model)
        if not self._evaluator.architecture.policy:
            raise AgentError(f"{settings.model} is a value network and proposes no moves: take a model with a policy")
        if self._card.game != "go":
            known = get_game(self._card.game).title
            raise AgentError(f"{settings.model} plays {known}, and policy: plays only Go: take zero:{settings.model}")
        self._encoder, self._size = get_encoder(self._card.encoder), self._card.size
        self._temperature = settings.temperature
        self._rng = np.random.default_rng(settings.seed)
        self.name = f"policy:{settings.model}"

    def choose(self, state: AnyState, seconds: float | None = None) -> Decision:
        """The network's move for the player to move."""
        state = of_game(state, go.State, self.name)
        self._check_size(state)
        if state.is_over or wins_by_passing(state, seconds):
            return Decision(PASS, note="passing ends the game")
        logits, _ = self._evaluator.evaluate(self._encoder.encode([state]))
        moves = game_of(state).sensible_moves(state)
        probabilities = _softmax(np.array([logits[0, state.action_of(move)] for move in moves]))
        best = self._draw(probabilities)
        if moves[best] == PASS and len(moves) > 1 and not may_pass(state, seconds):
            moves, probabilities = moves[:best] + moves[best + 1 :], np.delete(probabilities, best)
            probabilities /= max(probabilities.sum(), 1e-30)
            best = self._draw(probabilities)
        order = np.argsort(-probabilities)[:_TOLD]
        priors = {moves[i]: float(probabilities[i]) for i in order}
        return Decision(moves[best], priors=priors, pv=(moves[best],), note=f"{probabilities[best]:.0%} likely")

    def _draw(self, probabilities: NDArray[np.float64]) -> int:
        """The likeliest, or one by the temperature."""
        if self._temperature == 0:
            return int(np.argmax(probabilities))
        return int(self._rng.choice(len(probabilities), p=_softmax(np.log(probabilities + 1e-12) / self._temperature)))

    def close(self) -> None:
        """Nothing to free."""

    def check(self, state: AnyState) -> None:
        """AgentError if this is not a game that the model has learned."""
        self._check_size(of_game(state, go.State, self.name))

    def warning(self, state: AnyState) -> str | None:
        """One line if this game is outside of what the model was trained on."""
        return warning(self.name, self._card, state)

    def _check_size(self, state: go.State) -> None:
        if state.size != self._size:
            size = self._size
            raise AgentError(f"{self.name} plays on {size}x{size} only, and this board is {state.size}x{state.size}")


def _softmax(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    weights = np.exp(logits.astype(np.float64) - logits.max())
    result: NDArray[np.float64] = weights / weights.sum()
    return result
