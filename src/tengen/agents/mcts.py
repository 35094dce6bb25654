"""The plain Monte-Carlo player: PUCT with playouts at the leaves, for every game, or with the values of networks."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tengen.agents.search_agent import Limits, SearchAgent, SearchParts
from tengen.search.leaves import PlayoutEvaluation
from tengen.search.puct import Puct, PuctParameters

if TYPE_CHECKING:
    from tengen.search.generations import GenerationValues


@dataclass(frozen=True)
class MctsSettings:
    """Monte-Carlo tree search with random playouts, in every game; or with a generation of value networks."""

    model: str = ""
    """A run of `tengen learn generations`, or a file of one: its values take the place of playouts, and its policy, if
    it has one, that of all moves being equally likely."""
    generation: int = 0
    """Which generation of a run; 0: the newest."""
    playouts: int | None = None
    """Playouts for a move at most; 2000 where no time is given either, with a model 100."""
    seconds: float | None = None
    """Seconds per move."""
    exploration: float = 1.0
    """c of PUCT, every move being equally likely at first."""
    batch: int = 0
    """Leaves played out together; 0: one for few playouts, up to 16 for many."""
    resign: float = 0.0
    """Games with territory: resign below this chance to win; 0: never."""
    seed: int | None = None
    nodes: int = 0
    """Room for the tree; 0: what the limits can need, up to an eighth of the machine's memory."""

    def __post_init__(self) -> None:
        if self.playouts is not None and not 1 <= self.playouts <= 100_000_000:
            raise ValueError(f"mcts:playouts={self.playouts} is not possible: give 1 or more")
        if self.seconds is not None and not 0 < self.seconds < 1e6:
            raise ValueError(f"mcts:seconds={self.seconds} is not a time: give seconds for a move, such as 0.5")
        if not 0 <= self.exploration < 1e6:
            raise ValueError(f"mcts:exploration={self.exploration} is not possible: give 0 or more")
        if not 0 <= self.batch <= 1024:
            raise ValueError(f"mcts:batch={self.batch} is not possible: give 0 (automatic) to 1024")
        if not 0 <= self.resign < 0.5:
            raise ValueError(f"mcts:resign={self.resign} is not possible: give a chance from 0 (never) to 0.5")
        if self.nodes and not 1_000 <= self.nodes <= 1_000_000_000:
            raise ValueError(f"mcts:nodes={self.nodes} is not possible: give 1000 to 1000000000, or 0 (automatic)")


def mcts_agent(settings: MctsSettings, clock: Callable[[], float] = time.monotonic) -> SearchAgent:
    """Searches by playouts, or by the values of networks."""
    playouts = settings.playouts
    if playouts is None and settings.seconds is None:
        playouts = 100 if settings.model else 2_000
    model = f"{settings.model}," if settings.model else ""
    model += f"generation={settings.generation}," if settings.generation else ""
    limit = f"playouts={playouts}" if playouts is not None else f"seconds={settings.seconds:g}"
    return SearchAgent(
        f"mcts:{model}{limit}",
        _by_values(settings) if settings.model else _by_playouts(settings),
        Limits(playouts, settings.seconds, settings.nodes),
        batch=settings.batch,
        rollout_weight=0.0 if settings.model else 1.0,
        resign=settings.resign,
        seed=settings.seed,
        clock=clock,
    )


def _by_playouts(settings: MctsSettings) -> SearchParts:
    """Where nothing else is known of moves, one that was not tried looks as good as can be."""
    return SearchParts(
        evaluation=lambda game, rng: PlayoutEvaluation(game, seed=int(rng.integers(2**63))),
        rule=lambda: Puct(PuctParameters(settings.exploration, fpu_reduction=-1.0)),
    )


def _by_values(settings: MctsSettings) -> SearchParts:
    """With values, a move that was not tried looks as good as its parent."""
    values = _generation_values(settings)
    return SearchParts(
        evaluation=lambda game, rng: values.with_policy(game),
        rule=lambda: Puct(PuctParameters(settings.exploration, fpu_reduction=0.0)),
        encoders=(values.encoder,),
        card=values.card,
    )


def _generation_values(settings: MctsSettings) -> "GenerationValues":
    """Imported here, so that playouts need no networks."""
    from tengen.search.generations import GenerationValues, find_generation

    return GenerationValues(find_generation(settings.model, settings.generation))
