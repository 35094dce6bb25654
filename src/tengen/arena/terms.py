"""The terms of a match: everything about it that depends on which game is played.

`GoTerms` and `MicrochessTerms` are the two there are; `Match` asks no other questions about a game than these.
"""

from typing import Protocol

from tengen._files import Setting
from tengen.arena.game import GameRecord
from tengen.games.state import AnyState


class Terms(Protocol):
    """A game with its rules, as a match plays it."""

    @property
    def start(self) -> AnyState:
        """The position before the first move."""
        ...

    @property
    def title(self) -> str:
        """One line for people: `9x9, chinese rules, komi 7.5`."""
        ...

    @property
    def settings(self) -> dict[str, Setting]:
        """What these terms are, defaults filled in."""
        ...

    @property
    def players(self) -> tuple[str, str]:
        """What who moves first and who moves second are called: `("Black", "White")` in Go."""
        ...

    @property
    def opening_moves(self) -> int:
        """How many random moves a game begins with, when the match does not say."""
        ...

    @property
    def most_opening_moves(self) -> int:
        """With more of them there may be no game left to play."""
        ...

    @property
    def suffix(self) -> str:
        """How the names of game records end: `.sgf`."""
        ...

    def opening(self, moves: int, seed: int, pair: int) -> AnyState:
        """The position that both games of a pair begin with; pairs are numbered from 1."""
        ...

    def write(self, record: GameRecord, first: str, second: str, event: str) -> bytes:
        """The record of a game between `first` and `second`, with the agents' values and notes as comments."""
        ...
