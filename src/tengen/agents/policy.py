"""Players without any search: the moves that a policy network predicts, and those of the fast policy.

The fast policy goes by local shapes and tactics, in well under a millisecond.
"""

from copy import copy
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tengen.agents.agent import AgentError, Decision, of_game
from tengen.agents.passing import may_pass, wins_by_passing
from tengen.agents.rehearsal import rehearse
from tengen.agents.training_conditions import warning
from tengen.encode.encoder import get_encoder
from tengen.games import go
from tengen.games.game import game_of, get_game
from tengen.games.go import PASS
from tengen.games.state import AnyState
from tengen.nets.evaluator import load_evaluator
from tengen.nets.model_file import find_model
from tengen.search.fast_policy import FastPolicy

_REPORTED = 10  # how many moves a decision gives probabilities for

_Policy = TypeVar("_Policy", "PolicyAgent", "FastPolicyAgent")


@dataclass(frozen=True)
class PolicySettings:
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

    def __init__(self, settings: PolicySettings) -> None:
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
        order = np.argsort(-probabilities)[:_REPORTED]
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
        """Get ready to move at once; AgentError if this is not a game that the model has learned."""
        self._check_size(of_game(state, go.State, self.name))
        rehearse(_for_trial(self), state)

    def warning(self, state: AnyState) -> str | None:
        """One line if this game is outside of what the model was trained on."""
        return warning(self.name, self._card, state)

    def _check_size(self, state: go.State) -> None:
        if state.size != self._size:
            size = self._size
            raise AgentError(f"{self.name} plays on {size}x{size} only, and this board is {state.size}x{state.size}")


def _for_trial(agent: _Policy) -> _Policy:
    """The same agent with random numbers of its own."""
    trial = copy(agent)
    trial._rng = np.random.default_rng(1)
    return trial


def _softmax(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    weights = np.exp(logits.astype(np.float64) - logits.max())
    result: NDArray[np.float64] = weights / weights.sum()
    return result


@dataclass(frozen=True)
class FastPolicySettings:
    """Plays the likeliest move of a fast policy (shapes and tactics), or draws among likely ones; no search."""

    model: str = "fast19"
    temperature: float = 0.0
    """0 plays the likeliest move; 1 draws as the policy predicts; between, likelier moves more often."""
    seed: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.temperature <= 10:
            raise ValueError(f"fast-policy:temperature={self.temperature} is not possible: give 0 (greedy) to 10")


class FastPolicyAgent:
    """The moves of a fast policy, made sensible; on boards of every size."""

    def __init__(self, settings: FastPolicySettings) -> None:
        self._policy = FastPolicy.load(find_model(settings.model))
        self._temperature = settings.temperature
        self._rng = np.random.default_rng(settings.seed)
        self.name = "fast-policy" if settings.model == "fast19" else f"fast-policy:{settings.model}"

    def choose(self, state: AnyState, seconds: float | None = None) -> Decision:
        """The policy's move for the player to move."""
        state = of_game(state, go.State, self.name)
        if state.is_over or wins_by_passing(state, seconds):
            return Decision(PASS, note="passing ends the game")
        scores = self._policy.scores(state)
        known = [move for move in game_of(state).sensible_moves(state) if move in scores]
        moves = known if known != [PASS] else []
        if not moves:  # nothing sensible is left
            return Decision(PASS if state.is_legal(PASS) else state.legal_moves()[0])
        logits = np.array([scores[move] for move in moves])
        probabilities = np.exp(logits - logits.max())
        probabilities /= probabilities.sum()
        best = int(np.argmax(probabilities))
        if moves[best] == PASS and len(moves) > 1 and not may_pass(state, seconds):
            logits[best] = -np.inf
            best = int(np.argmax(logits))
        if self._temperature > 0 and moves[best] != PASS:
            best = self._draw(moves, logits)
        order = np.argsort(-probabilities)[:_REPORTED]
        priors = {moves[i]: float(probabilities[i]) for i in order}
        return Decision(moves[best], priors=priors, pv=(moves[best],), note=f"{probabilities[best]:.0%} likely")

    def check(self, state: AnyState) -> None:
        """Get ready to move at once; AgentError if this is not a game of Go."""
        of_game(state, go.State, self.name)
        rehearse(_for_trial(self), state)

    def close(self) -> None:
        """Nothing to free."""

    def _draw(self, moves: list[int], logits: np.typing.NDArray[np.float64]) -> int:
        """A move, but no pass, by the temperature."""
        heated = np.where([move == PASS for move in moves], -np.inf, logits / self._temperature)
        weights = np.exp(heated - heated.max())
        return int(self._rng.choice(len(moves), p=weights / weights.sum()))
