"""Nim as the rest of Tengen sees a game: take 1 to 3 matches; who takes the last one wins."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from tengen.games.batch import BatchedGame
from tengen.games.game import Game
from tengen.games.state import FIRST, RESIGN, AnyState, Options, other_player


@dataclass(frozen=True)
class NimOptions(Options):
    """How many matches there are."""

    game: ClassVar[str] = "nim"
    matches: int = 7


@dataclass(frozen=True, eq=False)
class NimState(AnyState):
    """A heap of matches; a move is how many to take."""

    left: int
    start: int
    to_play: int = FIRST
    move_number: int = 0
    previous: Self | None = None
    last_move: int | None = None
    game: ClassVar[str] = "nim"

    @property
    def is_over(self) -> bool:
        return self.left == 0 or self.last_move == RESIGN

    @property
    def end_reason(self) -> str | None:
        return None if not self.is_over else "resignation" if self.last_move == RESIGN else "last match"

    def legal_moves(self) -> list[int]:
        return [] if self.is_over else list(range(1, min(3, self.left) + 1))

    def why_illegal(self, move: int) -> str | None:
        return None if move in (RESIGN, *self.legal_moves()) else "take 1 to 3"

    def play(self, move: int) -> "NimState":
        if self.is_over or self.why_illegal(move):
            raise ValueError(f"{move} is not legal: take 1 to 3")
        left = self.left if move == RESIGN else self.left - move
        number = self.move_number + (move != RESIGN)
        return replace(
            self, left=left, to_play=other_player(self.to_play), move_number=number, previous=self, last_move=move
        )

    def winner(self) -> int | None:
        return other_player(self.to_play) if self.left == 0 else self.to_play if self.is_over else None

    def result(self) -> str:
        return f"{('Alice', 'Bob')[(self.winner() or 1) - 1]} wins" if self.is_over else "?"

    def move_name(self, move: int) -> str:
        return str(move)

    def parse_move(self, text: str) -> int:
        if not text.isdecimal():
            raise ValueError(f"{text[:20]!r} is not a number")
        return int(text)

    def action_of(self, move: int) -> int:
        return move - 1

    def move_of(self, action: int) -> int:
        return action + 1

    def _facts(self) -> tuple[Any, ...]:
        return self.start, self.move_number, self.last_move

    def _start(self) -> int:
        return self.start

    def __str__(self) -> str:
        return "|" * self.left or "-"


class Nim(Game):
    """Nim with one heap."""

    name, title, players = "nim", "Nim", ("Alice", "Bob")
    options: ClassVar = NimOptions
    example_move = "2"
    opening_moves = 1
    default_agent = "random"

    def new(self, options: NimOptions) -> NimState:
        return NimState(options.matches, options.matches)

    def batch(self, options: NimOptions, past: int = 0, ages: bool = False) -> BatchedGame:
        raise NotImplementedError

    def options_of(self, state: Any) -> NimOptions:
        return NimOptions(state.start)
