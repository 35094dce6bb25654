"""The fast policy as a player: the likeliest move by local shapes and tactics, in well under a millisecond."""

from dataclasses import dataclass

import numpy as np

from tengen.agents.agent import Decision, of_game
from tengen.agents.passing import may_pass, wins_by_passing
from tengen.games import go
from tengen.games.game import game_of
from tengen.games.go import PASS
from tengen.games.state import AnyState
from tengen.nets.bundled import find_model
from tengen.search.fast_model import FastPolicy

_TOLD = 10  # how many moves a decision gives probabilities for


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
        order = np.argsort(-probabilities)[:_TOLD]
        priors = {moves[i]: float(probabilities[i]) for i in order}
        return Decision(moves[best], priors=priors, pv=(moves[best],), note=f"{probabilities[best]:.0%} likely")

    def check(self, state: AnyState) -> None:
        """AgentError if this is not a game of Go."""
        of_game(state, go.State, self.name)

    def close(self) -> None:
        """Nothing to free."""

    def _draw(self, moves: list[int], logits: np.typing.NDArray[np.float64]) -> int:
        """A move, but no pass, by the temperature."""
        heated = np.where([move == PASS for move in moves], -np.inf, logits / self._temperature)
        weights = np.exp(heated - heated.max())
        return int(self._rng.choice(len(moves), p=weights / weights.sum()))
