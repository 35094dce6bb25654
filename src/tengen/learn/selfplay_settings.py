"""How games are played to learn from: the settings of self-play.

The text beside a setting's type is its help. Nothing heavy is imported here, for the command line reads it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

if TYPE_CHECKING:
    from tengen.search.rule import SearchRule

SEARCHES: Final = ("gumbel", "puct")


@dataclass(frozen=True)
class SelfPlaySettings:
    """How games are played to learn from."""

    search: Annotated[str, "gumbel (sequential halving, learns from few simulations) or puct (AlphaGo Zero's)."] = (
        "gumbel"
    )
    simulations: Annotated[int, "Simulations per move."] = 32
    slots: Annotated[int, "Games under way at once in each worker."] = 256
    full_share: Annotated[
        float, "Playout-cap randomisation: the share of moves that are searched in full and learned from."
    ] = 1.0
    fast_simulations: Annotated[int, "Simulations for the other moves."] = 8
    considered: Annotated[int, "Gumbel: moves compared at the root."] = 16
    value_scale: Annotated[float, "Gumbel: how much values count against the network's own policy."] = 1.0
    exploration: Annotated[float, "PUCT: the weight of the prior, c."] = 1.5
    noise: Annotated[float, "PUCT: the share of Dirichlet noise at the root."] = 0.25
    alpha: Annotated[float, "PUCT: the noise's alpha; 0: ten divided by the number of legal moves."] = 0.0
    prune: Annotated[bool, "PUCT: policy-target pruning, which leaves visits out that only exploration asked for."] = (
        True
    )
    temperature: Annotated[
        float, "In the opening, moves are drawn from the policy to the power of 1 / temperature."
    ] = 1.0
    temperature_plies: Annotated[int, "Length of that opening, in plies."] = 8
    random_plies: Annotated[int, "Each game starts with 0 to this many random moves."] = 2
    rollouts: Annotated[
        float,
        "Share of a rollout's result in the value of a leaf, AlphaGo's lambda: helps while the network's own values"
        " are poor. 0: no rollouts.",
    ] = 0.0
    keep_trees: Annotated[bool, "Reuse the search tree of the last move."] = False
    komi_spread: Annotated[
        float, "Go: each game's komi is drawn from --komi, up to so many points more or less. 0: always --komi."
    ] = 0.0
    resign: Annotated[float, "Resign below this value (-0.95, say) for both moves of a round; -1: never."] = -1.0
    resign_keep: Annotated[float, "Share of games that are played on after a resignation, to measure wrong ones."] = 0.1

    def __post_init__(self) -> None:
        if self.search not in SEARCHES:
            raise ValueError(f"no search is called {self.search[:40]!r}: choose from {', '.join(SEARCHES)}")
        for name in ("simulations", "slots", "fast_simulations", "considered"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: give 1 or more")
        for name in ("full_share", "noise", "rollouts", "resign_keep"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}: give a share from 0 to 1")
        for name in (
            "temperature",
            "temperature_plies",
            "random_plies",
            "alpha",
            "exploration",
            "value_scale",
            "komi_spread",
        ):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} is {getattr(self, name)}: give 0 or more")
        if not -1 <= self.resign < 0:
            raise ValueError(f"resign is {self.resign}: give a value from -1 (never) to just under 0")

    def rule(self) -> "SearchRule":
        """The rule that the search goes by."""
        from tengen.search.gumbel import Gumbel, GumbelParameters
        from tengen.search.puct import Puct, PuctParameters

        if self.search == "gumbel":
            return Gumbel(GumbelParameters(self.considered, value_scale=self.value_scale))
        return Puct(PuctParameters(self.exploration), noise=self.noise, alpha=self.alpha, prune=self.prune)
