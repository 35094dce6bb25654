"""The AlphaGo Zero player: tree search guided by a network that evaluates positions and proposes moves.

Two searches share it: PUCT (`zero:go5,sims=64`) and Gumbel search (`gumbel:go5,sims=16`), for every game of which
there is a model.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tengen.agents.agent import AgentError, Decision
from tengen.agents.network_search import (
    CACHE,
    NetworkSearchAgent,
    NetworkSearchSettings,
    checked_threads,
    open_network,
    ownership_of,
)
from tengen.agents.search_agent import SearchParts
from tengen.games import microchess
from tengen.games.batch import BatchedGame, GameArrays
from tengen.games.game import game_of
from tengen.games.microchess.board import CASTLING, TO_PLAY
from tengen.games.state import AnyState
from tengen.search.gumbel import Gumbel, GumbelParameters
from tengen.search.leaves import KnownPositions, LeafEvaluation, Leaves, NetworkEvaluation
from tengen.search.puct import Puct, PuctParameters
from tengen.search.rule import SearchRule, own_rule
from tengen.solve.endgame_index import MAX_PIECES
from tengen.solve.endgame_tables import UNKNOWN, Tables

_PLANNED = 20_000_000  # simulations times actions compared that a schedule of Gumbel search may have


@dataclass(frozen=True)
class _ZeroSearch(NetworkSearchSettings):
    """The settings that both searches have."""

    tables: bool = False
    """Microchess: play positions of up to five pieces by the endgame tables (`tengen tables build microchess`)."""

    draws_by_noise: ClassVar[bool] = False
    """Whether a temperature is the scale of the rule's noise, and not a power of the shares of visits."""

    def rule(self) -> SearchRule:
        """The rule that the search goes by."""
        raise NotImplementedError

    def thread_count(self) -> int:
        """How many threads search."""
        return 1


@dataclass(frozen=True)
class ZeroSettings(_ZeroSearch):
    """AlphaGo Zero's search: PUCT with a network's policy and value."""

    kind: ClassVar[str] = "zero"

    exploration: float = PuctParameters().exploration
    threads: int = 1
    """How many threads search one tree; 0: as many as this process may use cores, up to 8."""
    rule_name: str = ""
    """A search rule that a plugin has registered, in place of PUCT."""

    aliases: ClassVar[dict[str, str]] = {"rule": "rule_name"}

    def __post_init__(self) -> None:
        super().__post_init__()
        self.thread_count()
        if self.rule_name:
            own_rule(self.rule_name)
        if not 0 <= self.exploration < 1e6:
            raise ValueError(f"zero:exploration={self.exploration} is not possible: give 0 or more")

    def thread_count(self) -> int:
        """As many as the settings say."""
        return checked_threads(self.kind, self.threads)

    def rule(self) -> SearchRule:
        """PUCT, or the rule of a plugin."""
        return own_rule(self.rule_name) if self.rule_name else Puct(PuctParameters(self.exploration))


@dataclass(frozen=True)
class GumbelSettings(_ZeroSearch):
    """Gumbel search: sequential halving among the moves that a network proposes."""

    kind: ClassVar[str] = "gumbel"
    draws_by_noise: ClassVar[bool] = True

    considered: int = GumbelParameters().considered
    value_scale: float = GumbelParameters().value_scale

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sims is None and self.seconds is not None:
            raise ValueError("gumbel plans its simulations in advance: give sims beside seconds, or take zero")
        if not 1 <= self.considered <= 1024:
            raise ValueError(f"gumbel:considered={self.considered} is not possible: give 1 to 1024")
        if not 0 <= self.value_scale < 1e6:
            raise ValueError(f"gumbel:value_scale={self.value_scale} is not possible: give 0 or more")
        if (self.sims or 0) * self.considered > _PLANNED:
            most = _PLANNED // self.considered
            raise ValueError(
                f"gumbel:sims={self.sims} is too much to plan: give up to {most} simulations, or take zero"
            )

    def rule(self) -> SearchRule:
        """Gumbel search."""
        return Gumbel(GumbelParameters(self.considered, value_scale=self.value_scale))


def zero_agent(
    settings: ZeroSettings | GumbelSettings, clock: Callable[[], float] = time.monotonic
) -> NetworkSearchAgent:
    """A network with a search; which one, its settings say."""
    threads = settings.thread_count()
    model = open_network(settings.model, settings.backend, threads)
    made_of = model.evaluator.architecture
    if not made_of.value:
        raise AgentError(f"{settings.model} has no value head, which a search needs: train it by tengen learn zero")
    if not made_of.policy:
        raise AgentError(f"{settings.model} is a value network and proposes no moves: take a model with a policy")
    tables = _EndgameTables() if settings.tables else None

    def evaluation(game: BatchedGame, rng: np.random.Generator) -> LeafEvaluation:
        network = NetworkEvaluation(game, model.encoder, model.evaluator, CACHE)
        opened = None if tables is None else tables.of(game.options)
        return network if opened is None else KnownPositions(_prober(opened), network)

    parts = SearchParts(
        evaluation=evaluation,
        rule=settings.rule,
        encoders=(model.encoder,),
        ownership=ownership_of([settings.model], model.card),
        value_network=lambda game: NetworkEvaluation(game, model.encoder, model.evaluator, 1, policy=False),
        known=(lambda state: None) if tables is None else tables.decide,
        card=model.card,
    )
    explore = settings.temperature if settings.draws_by_noise else 0.0
    return NetworkSearchAgent(settings, parts, model, model, threads=threads, explore=explore, clock=clock)


class _EndgameTables:
    """The endgame tables of Microchess, opened when a game needs them."""

    def __init__(self) -> None:
        self._tables: Tables | None = None

    def of(self, options: Any) -> Tables | None:
        """Those of a game, if there are any: Microchess under standard rules has them."""
        if options.game != "microchess" or options.rules != "standard":
            return None
        if self._tables is None or self._tables.double_step != options.double_step:
            self._tables = Tables.open(double_step=options.double_step)
        return self._tables

    def decide(self, state: AnyState) -> Decision | None:
        """The best move of a position that they have."""
        tables = self.of(game_of(state).options_of(state))
        if (
            tables is None
            or not isinstance(state, microchess.State)
            or np.count_nonzero(state.board.squares) > MAX_PIECES
        ):
            return None
        moves = tables.moves(state)
        if not moves:
            return None
        best = moves[0]
        return Decision(best.move, (best.value.wdl + 1) / 2, pv=(best.move,), note=f"by table: {best.value}")


def _prober(tables: Tables) -> Callable[[Any, int, Leaves], None]:
    """Looks positions of Microchess up in endgame tables."""

    def probe(games: GameArrays, count: int, leaves: Leaves) -> None:
        going_on = np.flatnonzero(~leaves.over[:count])
        info = games.info[going_on]
        known, _ = tables.probe_many(games.squares[going_on], info[:, TO_PLAY], info[:, CASTLING])
        found = going_on[known != UNKNOWN]
        leaves.over[found], leaves.legal[found] = True, False
        leaves.results[found] = known[known != UNKNOWN]

    return probe
