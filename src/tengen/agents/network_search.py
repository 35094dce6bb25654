"""What players share whose tree search asks a network: settings, limits, and the games that a model can play."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from tengen._machine import cores
from tengen.agents.analysis import (
    Analysis,
    MoveAnalysis,
    NetworkOwnership,
    OwnershipSource,
    PlayoutOwnership,
    over,
    with_scores,
)
from tengen.agents.search_agent import Limits, SearchAgent, SearchParts
from tengen.encode.encoder import get_encoder
from tengen.games.state import AnyState
from tengen.nets.evaluator import Model, load_evaluator, load_ownership
from tengen.nets.model_file import ModelCard, bundled_models, find_model, read_card

CACHE = 1 << 15
"""Positions whose evaluation is remembered."""
_MOST_THREADS = 64
_MOST_CORES = 8  # that are taken where nobody says how many


@dataclass(frozen=True)
class NetworkSearchSettings:
    """The settings that all of them have."""

    model: str = "go9"
    sims: int | None = None
    seconds: float | None = None
    batch: int = 0
    """Leaves evaluated together; 0: one for few simulations, up to 16 for many."""
    temperature: float = 0.0
    """0 plays the best move; 1 draws as in self-play: PUCT from the shares of visits, Gumbel search by its noise."""
    resign: float = 0.0
    """Resign below this chance to win; 0: never."""
    backend: str = "fastest"
    seed: int | None = None
    nodes: int = 0
    """Room for the tree; 0: what the limits can need, up to an eighth of the machine's memory."""

    kind: ClassVar[str]
    """The agent's name in specs."""
    usual_sims: ClassVar[int] = 64
    """Simulations where neither these nor seconds are given."""

    def __post_init__(self) -> None:
        kind = self.kind
        if self.sims is not None and not 1 <= self.sims <= 10_000_000:
            raise ValueError(f"{kind}:sims={self.sims} is not possible: give 1 or more simulations")
        if self.seconds is not None and not 0 < self.seconds < 1e6:
            raise ValueError(f"{kind}:seconds={self.seconds} is not a time: give seconds for a move, such as 0.5")
        if not 0 <= self.batch <= 1024:
            raise ValueError(f"{kind}:batch={self.batch} is not possible: give 0 (automatic) to 1024")
        if not 0 <= self.temperature <= 10:
            raise ValueError(f"{kind}:temperature={self.temperature} is not possible: give 0 (best move) to 10")
        if not 0 <= self.resign < 0.5:
            raise ValueError(f"{kind}:resign={self.resign} is not possible: give a chance from 0 (never) to 0.5")
        if self.nodes and not 1_000 <= self.nodes <= 1_000_000_000:
            raise ValueError(f"{kind}:nodes={self.nodes} is not possible: give 1000 to 1000000000, or 0 (automatic)")


class NetworkSearchAgent(SearchAgent):
    """Searches with networks, which can be asked alone."""

    def __init__(
        self,
        settings: NetworkSearchSettings,
        parts: SearchParts,
        policy: Model,
        values: Model,
        *,
        variant: str = "",
        threads: int = 1,
        explore: float = 0.0,
        rollout_weight: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`variant`: what its name says beside the model and the limits. `explore` takes the place of the settings'
        temperature."""
        simulations = settings.usual_sims if settings.sims is None and settings.seconds is None else settings.sims
        limits = {"sims": simulations, "seconds": settings.seconds}
        given = ",".join(f"{name}={value}" for name, value in limits.items() if value is not None)
        super().__init__(
            f"{settings.kind}:{settings.model},{given}{variant}",
            parts,
            Limits(simulations, settings.seconds, settings.nodes),
            batch=settings.batch,
            threads=threads,
            temperature=0.0 if explore else settings.temperature,
            explore=explore,
            rollout_weight=rollout_weight,
            resign=settings.resign,
            seed=settings.seed,
            clock=clock,
        )
        self.policy, self.values = policy, values

    def look(self, state: AnyState) -> Analysis:
        """What the networks say of a position and its moves, without any search."""
        self._refuse(state)
        if state.is_over:
            return over(state)
        (policy,), _ = self.policy.predict([state])
        _, values = self.values.predict([state])
        chance = 0.5 if values is None else (float(values[0]) + 1) / 2
        legal = sorted(state.legal_moves(), key=lambda move: -policy[state.action_of(move)])
        moves = [
            MoveAnalysis(move, 0, chance, float(policy[state.action_of(move)]), order, (move,), (0,))
            for order, move in enumerate(legal)
        ]
        return with_scores(Analysis(0, chance, tuple(moves), final=True), self.ownership_estimator(state))


def open_network(model: str, backend: str, threads: int) -> Model:
    """The network of a model file, for so many threads."""
    evaluator, card = load_evaluator(model, backend, streams=threads)
    return Model(card, get_encoder(card.encoder), evaluator)


def ownership_of(models: Sequence[str], card: ModelCard) -> Callable[[], OwnershipSource]:
    """Gives the first of the models that has learned ownership; else a bundled one for this board; else playouts."""

    @cache
    def source() -> OwnershipSource:
        cards = {name: read_card(path) for name, path in bundled_models().items()}
        board = card.game, card.size
        alike = [n for n, known in cards.items() if (known.game, known.size) == board]
        for model in [*models, *(name for name in alike if cards[name].arguments.get("ownership"))]:
            network = load_ownership(model)
            if network is not None:
                return NetworkOwnership(get_encoder(read_card(find_model(model)).encoder), network)
        return PlayoutOwnership()

    return source


def checked_threads(kind: str, threads: int) -> int:
    """So many threads, 0 standing for all cores that this process may use, up to 8; ValueError if they are too many."""
    if not 0 <= threads <= _MOST_THREADS:
        raise ValueError(f"{kind}:threads={threads} is not possible: give 1 to {_MOST_THREADS}, or 0 (all cores)")
    return threads or min(cores(), _MOST_CORES)
