"""A game of Go in the terminal: the session of every game, with passing, scoring and territory."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from rich.text import Text

from tengen.games import go
from tengen.games.go import PASS
from tengen.games.go.coordinates import max_fixed_handicap
from tengen.search.status import dead_stones
from tengen.serve.estimate import describe_count, describe_margin, estimate
from tengen.serve.goban import Marks, board_width, chance_bar, draw_board, stone_name
from tengen.serve.screen import Look
from tengen.serve.session import GameSession


class GoSession(GameSession[go.State]):
    """A session at a Go board."""

    HELP: ClassVar = {"d4": "play there", "pass": "twice ends the game", "score": "who is ahead?"}
    NEW: ClassVar = "new [SIZE]"
    _marks = Marks()

    def _own_commands(self) -> dict[str, Callable[[str], None]]:
        return {"pass": lambda _: self._play(PASS), "score": lambda _: self._score()}

    def _board(self, look: Look) -> tuple[Text, int]:
        return draw_board(self.state, look, self._marks), board_width(self.state.size, self._marks)

    def _label(self, look: Look, player: int) -> Text:
        return stone_name(look, player)

    def _standing(self, player: int) -> str:
        return f"captured {self.state.captures[player - 1]}"

    def _chance(self, look: Look, chance: float, width: int) -> Text:
        percent = f" {chance:.0%} Black"
        return chance_bar(look, chance, width - len(percent)).append(percent)

    def _last_player(self, before: go.State) -> int:
        return self.state.last_color or before.to_play

    def _action(self, move: int) -> str:
        return "passes" if move == PASS else super()._action(move)

    def _clear_marks(self) -> None:
        self._marks = Marks()

    def _mark_hints(self, moves: list[int]) -> None:
        self._marks = Marks(hints={move: str(i) for i, move in enumerate(moves, 1) if move >= 0})

    def _mark_chances(self, chances: Mapping[int, float]) -> None:
        percents = {move: min(99, round(100 * chance)) for move, chance in chances.items() if move >= 0}
        self._marks = Marks(hints={move: f"{percent:2d}" for move, percent in percents.items()})

    def _score(self) -> None:
        if self.state.is_over:
            self._announce_result()
            return
        guess = estimate(self.state)
        self._marks = Marks(guess.owners, guess.dead)
        self._message = f"An estimate: {describe_margin(guess.margin, 'is ahead by about')}."

    def _fresh(self, text: str) -> go.State:
        if text and not text.isdecimal():
            raise ValueError(f"new takes a board size, 2 to 25, not {text[:20]!r}")
        old, size = self.state, int(text) if text else self.state.size
        handicap = old.handicap if 2 <= old.handicap <= max_fixed_handicap(size) else 0
        return go.State.new(size, old.rules, old.komi, handicap)

    def _announce_result(self) -> None:
        """Show who has won and how it was counted, and mark what was taken for dead."""
        if self.state.last_move != PASS:
            ended = {"B+R": "White resigns: Black wins.", "W+R": "Black resigns: White wins."}
            repeated = "No result: the same position came for the third time."
            self._message = ended.get(self.state.result(), repeated)
            return
        dead = dead_stones(self.state)
        self.state = self.state.with_dead(dead)
        self._marks = Marks(self.state.ownership(dead), dead)
        won = describe_margin(self.state.score(dead), "wins by")
        self._message = f"{won} ({self.state.result()}). {describe_count(self.state, dead)}"
