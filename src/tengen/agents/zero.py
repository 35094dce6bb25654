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
from tengen.agents.conditions import warning
from tengen.agents.tree_search import Limits, TreeSearchAgent
from tengen.encode.game_spec import GameSpec
from tengen.encode.registry import get_encoder
from tengen.games.batch import BatchedGame
from tengen.games.game import game_of, get_game
from tengen.games.microchess.board import CASTLING, TO_PLAY
from tengen.games.microchess.tables import UNKNOWN, Tables
from tengen.games.microchess.tables_material import MAX_PIECES
from tengen.games.options import Options
from tengen.games.state import AnyState
from tengen.nets.evaluator import load_evaluator
from tengen.search.gumbel import Gumbel, GumbelParameters
from tengen.search.leaves import KnownPositions, LeafEvaluation, Leaves, NetworkEvaluation
from tengen.search.puct import Puct, PuctParameters
from tengen.search.rule import SearchRule

_CACHE = 1 << 15  # positions whose evaluation is remembered
_PLANNED = 20_000_000  # simulations times actions compared that a schedule of Gumbel search may have


@dataclass(frozen=True)
class _NetworkSearch:
    """The settings that both searches have."""

    model: str = "go9"
    sims: int | None = None
    seconds: float | None = None
    batch: int = 0
    """Leaves evaluated together; 0: one for few simulations, up to 16 for many."""
    temperature: float = 0.0
    """0 plays the best move; 1 draws as in self-play: PUCT from the shares of visits, Gumbel search by its noise."""
    resign: float = 0.0
    """Resign below this chance to win; 0: never."""
    tables: bool = False
    """Microchess: play positions of up to five pieces by the endgame tables (`tengen tables build microchess`)."""
    backend: str = "fastest"
    seed: int | None = None
    nodes: int = 0
    """Room for the tree; 0: what the limits can need, up to an eighth of the machine's memory."""

    kind: ClassVar[str]
    """The agent's name in specs."""
    draws_by_noise: ClassVar[bool] = False
    """Whether a temperature is the scale of the rule's noise, and not a power of the shares of visits."""

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

    def rule(self) -> SearchRule:
        """The rule that the search goes by."""
        raise NotImplementedError


@dataclass(frozen=True)
class ZeroSettings(_NetworkSearch):
    """AlphaGo Zero's search: PUCT with a network's policy and value."""

    kind: ClassVar[str] = "zero"

    exploration: float = PuctParameters().exploration

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.exploration < 1e6:
            raise ValueError(f"zero:exploration={self.exploration} is not possible: give 0 or more")

    def rule(self) -> SearchRule:
        """PUCT."""
        return Puct(PuctParameters(self.exploration))


@dataclass(frozen=True)
class GumbelSettings(_NetworkSearch):
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


class ZeroAgent(TreeSearchAgent):
    """A network with a search; which one, its settings say."""

    def __init__(self, settings: ZeroSettings | GumbelSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._evaluator, self._card = load_evaluator(settings.model, settings.backend)
        made_of = self._evaluator.architecture
        if not made_of.value:
            raise AgentError(f"{settings.model} has no value head, which a search needs: train it by tengen learn zero")
        if not made_of.policy:
            raise AgentError(f"{settings.model} is a value network and proposes no moves: take a model with a policy")
        simulations = 64 if settings.sims is None and settings.seconds is None else settings.sims
        super().__init__(
            Limits(simulations, settings.seconds, settings.nodes),
            batch=settings.batch,
            temperature=0.0 if settings.draws_by_noise else settings.temperature,
            explore=settings.temperature if settings.draws_by_noise else 0.0,
            resign=settings.resign,
            seed=settings.seed,
            clock=clock,
        )
        self._settings = settings
        self._tables: Tables | None = None
        limits = {"sims": simulations, "seconds": settings.seconds}
        given = ",".join(f"{name}={value}" for name, value in limits.items() if value is not None)
        self.name = f"{settings.kind}:{settings.model},{given}"

    def warning(self, state: AnyState) -> str | None:
        """One line if this game is outside of what the model was trained on."""
        return warning(self.name, self._card, state)

    def _refuse(self, state: AnyState) -> None:
        if state.game != self._card.game:
            known, played = get_game(self._card.game).title, game_of(state).title
            raise AgentError(f"{self.name} plays {known}, and this is a game of {played}")
        options = game_of(state).options_of(state)
        size = getattr(options, "size", self._card.size)
        if size != self._card.size:
            known = f"{self._card.size}x{self._card.size}"
            raise AgentError(f"{self.name} plays on {known} only, and this board is {size}x{size}")
        try:
            self._new_batch(options)
        except ValueError as error:
            raise AgentError(f"{self.name} cannot play this: {error}") from None

    def _new_batch(self, options: Options) -> BatchedGame:
        return GameSpec(options, self._card.encoder).batch

    def _evaluation(self, game: BatchedGame) -> LeafEvaluation:
        network = NetworkEvaluation(game, get_encoder(self._card.encoder), self._evaluator, _CACHE)
        tables = self._open_tables(game.options) if self._settings.tables else None
        return network if tables is None else KnownPositions(_prober(tables), network)

    def _rule(self) -> SearchRule:
        return self._settings.rule()

    def _known(self, state: Any) -> Decision | None:
        """The best move by the endgame tables, if they are asked for and have the position."""
        tables = self._open_tables(game_of(state).options_of(state)) if self._settings.tables else None
        if tables is None or np.count_nonzero(state.board.squares) > MAX_PIECES:
            return None
        moves = tables.moves(state)
        if not moves:
            return None
        best = moves[0]
        return Decision(best.move, (best.value.wdl + 1) / 2, pv=(best.move,), note=f"by table: {best.value}")

    def _open_tables(self, options: Any) -> Tables | None:
        """The endgame tables of a game, if there are any: Microchess under standard rules has them."""
        if options.game != "microchess" or options.rules != "standard":
            return None
        if self._tables is None or self._tables.double_step != options.double_step:
            self._tables = Tables.open(double_step=options.double_step)
        return self._tables


def _prober(tables: Tables) -> Callable[[Any, int, Leaves], None]:
    """Looks positions of Microchess up in endgame tables."""

    def probe(games: Any, count: int, leaves: Leaves) -> None:
        going_on = np.flatnonzero(~leaves.over[:count])
        info = games.info[going_on]
        known, _ = tables.probe_many(games.squares[going_on], info[:, TO_PLAY], info[:, CASTLING])
        found = going_on[known != UNKNOWN]
        leaves.over[found], leaves.legal[found] = True, False
        leaves.results[found] = known[known != UNKNOWN]

    return probe
