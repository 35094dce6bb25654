"""The deep-learning player: plays what a policy network predicts, without any search."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tengen.agents.agent import AgentError, Decision, of_game
from tengen.agents.passing import wins_by_passing
from tengen.encode.encoder import get_encoder
from tengen.games.go import PASS, GameState
from tengen.games.go.coordinates import to_cell
from tengen.games.go.playout import is_eye
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
        self._evaluator, card = load_evaluator(settings.model)
        self._encoder, self._size = get_encoder(card.encoder), card.size
        self._temperature = settings.temperature
        self._rng = np.random.default_rng(settings.seed)
        self.name = f"policy:{settings.model}"

    def choose(self, state: AnyState, seconds: float | None = None) -> Decision:
        """The network's move for the player to move."""
        state = of_game(state, GameState, self.name)
        self._check_size(state)
        if state.is_over or (state.last_move == PASS and wins_by_passing(state, seconds)):
            return Decision(PASS, note="passing ends the game")
        logits, _ = self._evaluator.evaluate(self._encoder.encode([state]))
        moves = sensible_moves(state)
        probabilities = _softmax(np.array([logits[0, self._encoder.move_to_index(m, state.size)] for m in moves]))
        best = int(np.argmax(probabilities))
        if self._temperature > 0:
            sharpened = _softmax(np.log(probabilities + 1e-12) / self._temperature)
            best = int(self._rng.choice(len(moves), p=sharpened))
        order = np.argsort(-probabilities)[:_TOLD]
        priors = {moves[i]: float(probabilities[i]) for i in order}
        return Decision(moves[best], priors=priors, pv=(moves[best],), note=f"{probabilities[best]:.0%} likely")

    def close(self) -> None:
        """Nothing to free."""

    def check(self, state: AnyState) -> None:
        """AgentError if this is not a game that the model has learned."""
        self._check_size(of_game(state, GameState, self.name))

    def _check_size(self, state: GameState) -> None:
        if state.size != self._size:
            size = self._size
            raise AgentError(f"{self.name} plays on {size}x{size} only, and this board is {state.size}x{state.size}")


def sensible_moves(state: GameState) -> list[int]:
    """Legal moves that fill no own eye; PASS is always among them where the rules allow it."""
    flags, color, size = state.rules.flags, state.to_play, state.size
    return [
        move
        for move in state.legal_moves()
        if move == PASS or not is_eye(state.board, to_cell(move, size), color, flags)
    ] or [PASS]


def _softmax(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    weights = np.exp(logits.astype(np.float64) - logits.max())
    result: NDArray[np.float64] = weights / weights.sum()
    return result
