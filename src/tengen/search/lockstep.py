"""What tree search and self-play need of a game: many positions side by side, every question one kernel call.

A `Lockstep` owns no position. It knows a game's rules and how its positions are shown to a network; positions live in
arrays of its own kind (`allocate`), which pass through here untouched. An *action* is an index of the policy.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

GAMES = ("go", "microchess")


@dataclass(frozen=True)
class GameSpec:
    """Which game is played, by which rules, and how a network sees it."""

    game: str = "go"
    size: int = 9
    """Rows of the board; Go boards are square, Microchess has 5 rows of 4."""
    rules: str = "chinese"
    komi: float = 7.5
    double_step: bool = True
    """Microchess: whether pawns may begin with two steps."""
    encoder: str = "compact"
    limit: int = 0
    """Moves after which a game of Go is counted as it stands; 0: three times the points of the board."""

    def __post_init__(self) -> None:
        if self.game not in GAMES:
            raise ValueError(f"no game is called {self.game[:40]!r}: choose from {', '.join(GAMES)}")


class Lockstep(Protocol):
    """A game played on many boards at once. `Games` stands for the arrays that `allocate` gives."""

    spec: GameSpec
    planes: int
    height: int
    width: int
    actions: int
    branching: int
    """How many actions a position has, at most or nearly so: trees are given room by it."""

    def allocate(self, count: int) -> Any:
        """`count` games at the start position."""
        ...

    def restart(self, games: Any, index: NDArray[np.int64]) -> None:
        """Set these games back to the start position."""
        ...

    def copy(self, source: Any, source_index: NDArray[np.int64], target: Any, target_index: NDArray[np.int64]) -> None:
        """Copy games, histories included, from one array to another."""
        ...

    def play(self, games: Any, actions: NDArray[np.int64]) -> None:
        """Play one legal action in each of the first games; -1 leaves a game alone."""
        ...

    def follow(
        self,
        roots: Any,
        index: NDArray[np.int64],
        paths: NDArray[np.int16],
        lengths: NDArray[np.int64],
        leaves: Any,
    ) -> None:
        """Make leaf l the game roots[index[l]] after the first lengths[l] actions of paths[l]; paths: int16[L, D]."""
        ...

    def judge(
        self,
        games: Any,
        count: int,
        legal: NDArray[np.bool_],
        over: NDArray[np.bool_],
        values: NDArray[np.float32],
    ) -> None:
        """Of the first `count` games: which actions are legal (bool[n, A]), which games are over (bool[n]), and what
        those are worth to the player to move: 1, 0 or -1 (float32[n])."""
        ...

    def encode(self, games: Any, count: int, planes: NDArray[np.uint8]) -> None:
        """Write the first `count` games to planes: uint8[n, C, H, W]."""
        ...

    def to_play(self, games: Any) -> NDArray[np.int8]:
        """int8[B]: 1 where the player who began is to move, else 2."""
        ...

    def count_up(self, games: Any, index: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        """How these games stand: the first player's margin, float32[n], and the owner of every point, int8[n, H * W],
        1 the first player's; 0 and int8[n, 0] where a game knows no points."""
        ...

    def load(self, games: Any, i: int, state: Any) -> None:
        """Make game i this friendly state, with its history."""
        ...

    def action_of(self, state: Any, move: int) -> int:
        """The policy's index of a friendly state's move."""
        ...

    def move_of(self, state: Any, action: int) -> int:
        """The friendly state's move at an index of the policy."""
        ...


def open_game(spec: GameSpec) -> Lockstep:
    """The game of this description; ValueError if there is no such rule set or encoder for it."""
    if spec.game == "go":
        from tengen.search.lockstep_go import GoLockstep

        return GoLockstep(spec)
    from tengen.search.lockstep_microchess import MicrochessLockstep

    return MicrochessLockstep(spec)
