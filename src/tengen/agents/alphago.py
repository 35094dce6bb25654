"""The AlphaGo player (Silver et al. 2016): a policy network proposes moves, a value network and rollouts evaluate
positions, and a tree search on all cores joins them.

    V = (1 - lambda) * value + lambda * rollout,        a = argmax Q + c_u * P * sqrt(N(s)) / (1 + N(s, a)).

One model file can be both networks, or `value` names another; the fast policy of the rollouts is a file of its own. It
plays every game that there is a model of: outside of Go the rollouts are the game's own playouts.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tengen.agents.agent import AgentError
from tengen.agents.network_search import (
    CACHE,
    NetworkSearchAgent,
    NetworkSearchSettings,
    checked_threads,
    open_network,
    ownership_of,
)
from tengen.agents.search_agent import SearchParts
from tengen.games.batch import BatchedGame
from tengen.nets.evaluator import Model
from tengen.nets.model_file import ModelCard, find_model, read_card
from tengen.search.fast_policy import NETWORK as FAST_POLICY
from tengen.search.fast_policy import load_fast_policy
from tengen.search.leaves import (
    LeafEvaluation,
    MixedEvaluation,
    NetworkEvaluation,
    PolicyAndValue,
    UniformPolicy,
)
from tengen.search.lockstep import PolicyPlayer
from tengen.search.puct import Puct, PuctParameters
from tengen.search.rollouts import RolloutPolicy, rollouts_of

_GUIDED = "guided"


@dataclass(frozen=True)
class AlphaGoSettings(NetworkSearchSettings):
    """AlphaGo's search: a policy network, a value network and rollouts, on all cores."""

    kind: ClassVar[str] = "alphago"
    usual_sims: ClassVar[int] = 400
    aliases: ClassVar[dict[str, str]] = {"num_simulations": "sims", "lambda": "lambda_value"}

    model: str = "alphago9"
    resign: float = 0.05
    """Resign below this chance to win; 0: never."""
    value: str = ""
    """The model that evaluates positions; empty: the first one, which then needs a value head."""
    fast: str = ""
    """Who plays the rollouts: a fast policy or, more slowly, a policy network; empty: the bundled fast policy;
    `guided`: the game's own playouts, as outside of Go."""
    lambda_value: float = 0.5
    """lambda: the share of the rollouts in a leaf's value; 0: no rollouts, 1: no value network."""
    c_u: float = 1.5
    """How much the search explores; the paper has 5, with fpu_zero."""
    fpu: float = PuctParameters().fpu_reduction
    """Q of moves not visited yet: that of their position less this much for each unit of the root of the priors visited
    so far."""
    fpu_zero: bool = False
    """Whether it is 0 instead, as in the paper."""
    n_thr: int = 1
    """The visit at which a leaf is expanded."""
    depth: int = 0
    """Moves that the search looks ahead at most, where rollouts take over; 0: no limit."""
    rollout_limit: int = 0
    """Moves of a rollout by the fast policy at most, where the board is counted as it is; 0: to the end of the game."""
    prior: bool = True
    """Whether the policy network is asked; no: all legal moves are alike."""
    threads: int = 0
    """0: as many as this process may use cores, up to 8."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_threads(self.kind, self.threads)
        if not 0 <= self.lambda_value <= 1:
            raise ValueError(f"alphago:lambda={self.lambda_value} is not possible: give 0 (values) to 1 (rollouts)")
        if not 0 <= self.c_u < 1e6:
            raise ValueError(f"alphago:c_u={self.c_u} is not possible: give 0 or more")
        if not -2 <= self.fpu <= 2:
            raise ValueError(f"alphago:fpu={self.fpu} is not possible: give -2 to 2, such as 0.2")
        if not 1 <= self.n_thr <= 1_000_000:
            raise ValueError(f"alphago:n_thr={self.n_thr} is not possible: give 1 or more visits")
        if not 0 <= self.depth <= 256:
            raise ValueError(f"alphago:depth={self.depth} is not possible: give up to 256 moves, or 0 (no limit)")
        if not 0 <= self.rollout_limit <= 10_000:
            raise ValueError(f"alphago:rollout_limit={self.rollout_limit} is not possible: give 1 to 10000 moves, or 0")


def alphago_agent(settings: AlphaGoSettings, clock: Callable[[], float] = time.monotonic) -> NetworkSearchAgent:
    """A policy, a value and rollouts, joined by AlphaGo's search."""
    threads, weight = checked_threads(settings.kind, settings.threads), settings.lambda_value
    policy = open_network(settings.model, settings.backend, threads)
    values = open_network(settings.value, settings.backend, threads) if settings.value else policy
    _check_models(settings, policy, values)
    fast = _load_rollout_policy(settings, policy.card, threads) if weight > 0 else None
    encoders = [policy.encoder, values.encoder, *([fast.encoder] if isinstance(fast, PolicyPlayer) else [])]

    def evaluation(game: BatchedGame, rng: np.random.Generator) -> LeafEvaluation:
        networks = _networks(settings, policy, values, game)
        if weight == 0:
            return networks
        rollouts = rollouts_of(game, fast, settings.rollout_limit, seed=int(rng.integers(2**63)))
        return MixedEvaluation(networks, rollouts, weight)

    parts = SearchParts(
        evaluation=evaluation,
        rule=lambda: Puct(
            PuctParameters(
                settings.c_u, settings.fpu, settings.fpu_zero, threshold=settings.n_thr, depth=settings.depth
            )
        ),
        encoders=tuple(encoders),
        ownership=ownership_of([name for name in (settings.value, settings.model) if name], policy.card),
        value_network=lambda game: _value_network(values, game),
        card=policy.card,
    )
    variant = f",lambda={weight:g}" if weight != AlphaGoSettings.lambda_value else ""
    variant += "" if settings.prior else ",prior=no"
    return NetworkSearchAgent(
        settings, parts, policy, values, variant=variant, threads=threads, rollout_weight=weight, clock=clock
    )


def _check_models(settings: AlphaGoSettings, policy: Model, values: Model) -> None:
    """AgentError if the models do not go together, or lack what is asked of them."""
    card, other = policy.card, values.card
    if (other.game, other.size) != (card.game, card.size):
        raise AgentError(
            f"{settings.model} plays {card.game} of size {card.size} and {settings.value} {other.game} of size"
            f" {other.size}: give two models of one game and size"
        )
    if settings.lambda_value < 1 and not values.evaluator.architecture.value:
        raise AgentError(
            f"{settings.value or settings.model} has no value head: name a model that has one by value=MODEL, or"
            " search by rollouts alone, lambda=1"
        )
    if settings.prior and not policy.evaluator.architecture.policy:
        raise AgentError(
            f"{settings.model} is a value network and proposes no moves: give a model with a policy and this one by"
            f" value={settings.model}, or prior=no"
        )


def _load_rollout_policy(settings: AlphaGoSettings, card: ModelCard, threads: int) -> RolloutPolicy | None:
    """Who plays the rollouts; None: they are the game's own playouts."""
    if settings.fast not in ("", _GUIDED):
        fast = read_card(find_model(settings.fast))
        if fast.game != card.game or (fast.network != FAST_POLICY and fast.size != card.size):
            raise AgentError(
                f"alphago:fast={settings.fast} plays {fast.game} of size {fast.size}, and {settings.model}"
                f" {card.game} of size {card.size}: give a policy of one game and size with it"
            )
        if fast.network != FAST_POLICY:
            if not fast.architecture().policy:
                raise AgentError(f"alphago:fast={settings.fast} is a value network and proposes no moves")
            player = open_network(settings.fast, settings.backend, threads)
            return PolicyPlayer(player.encoder, player.evaluator)
    if settings.fast != _GUIDED and card.game == "go":
        return load_fast_policy(settings.fast, card.size)
    if settings.rollout_limit:
        raise AgentError(
            f"alphago:rollout_limit={settings.rollout_limit} is for rollouts by a policy: the game's own playouts"
            " go to the end"
        )
    return None


def _networks(settings: AlphaGoSettings, policy: Model, values: Model, game: BatchedGame) -> LeafEvaluation:
    """Of the policy and of the value what is asked for, in one go where one network gives both."""
    if settings.prior and settings.lambda_value < 1 and not settings.value:
        return NetworkEvaluation(game, policy.encoder, policy.evaluator, CACHE)
    priors: LeafEvaluation = UniformPolicy()
    if settings.prior:
        priors = NetworkEvaluation(game, policy.encoder, policy.evaluator, CACHE, value=False)
    network = _value_network(values, game)
    return priors if settings.lambda_value == 1 or network is None else PolicyAndValue(priors, network)


def _value_network(values: Model, game: BatchedGame) -> LeafEvaluation | None:
    if not values.evaluator.architecture.value:
        return None
    return NetworkEvaluation(game, values.encoder, values.evaluator, CACHE, policy=False)
