"""A game of Go in the terminal: a person against a bot, two people, or two bots to watch.

The sitting itself, with the commands that every game has, is `sitting.Sitting`; the screen is `screen`.
"""

from collections.abc import Callable
from typing import ClassVar

from tengen.games.go import BLACK, PASS, WHITE, GameState, from_gtp
from tengen.games.go.coordinates import max_fixed_handicap
from tengen.games.go.sgf import read_sgf, write_sgf
from tengen.search.status import dead_stones
from tengen.serve.estimate import count_told, estimate, margin_told
from tengen.serve.goban import Marks
from tengen.serve.screen import Scene, printable, show
from tengen.serve.sitting import Sitting


class TerminalGame(Sitting[GameState]):
    """One sitting at a Go board."""

    PLAYERS: ClassVar = {BLACK: "Black", WHITE: "White"}
    EXAMPLE: ClassVar = "D4"
    FILE: ClassVar = "game.sgf"
    _marks = Marks()

    def _own_commands(self) -> dict[str, Callable[[str], None]]:
        return {"pass": lambda _: self._play(PASS), "score": lambda _: self._score()}

    def _show(self) -> None:
        note = self._decision.note if self._decision else ""
        scene = Scene(self.state, self._names(), self._message, self._marks, self._first_chance, note, self._helping)
        show(self._console, scene)

    def _move(self, text: str) -> int:
        try:
            return from_gtp(text, self.state.size)
        except ValueError as error:
            if "outside" in str(error):
                raise
            raise ValueError(f"{text[:20]!r} is no move and no command: try a point such as C3, or help") from None

    def _told(self, move: int) -> str:
        return "passes" if move == PASS else super()._told(move)

    def _clear_marks(self) -> None:
        self._marks = Marks()

    def _mark_hints(self, moves: list[int]) -> None:
        self._marks = Marks(hints={move: str(i) for i, move in enumerate(moves, 1) if move >= 0})

    def _score(self) -> None:
        if self.state.is_over:
            self._announce_result()
            return
        guess = estimate(self.state)
        self._marks = Marks(guess.owners, guess.dead)
        self._message = f"An estimate: {margin_told(guess.margin, 'is ahead by about')}."

    def _fresh(self, text: str) -> GameState:
        if text and not text.isdecimal():
            raise ValueError(f"new takes a board size, 2 to 25, not {text[:20]!r}")
        old, size = self.state, int(text) if text else self.state.size
        handicap = old.handicap if 2 <= old.handicap <= max_fixed_handicap(size) else 0
        return GameState.new(size, old.rules, old.komi, handicap)

    def _read(self, data: bytes) -> tuple[GameState, str]:
        game = read_sgf(data)
        return game.state, printable(game.result)

    def _record(self) -> bytes:
        names = self._names()
        return write_sgf(self.state, black_name=names[BLACK], white_name=names[WHITE])

    def _announce_result(self) -> None:
        """Say who has won, how it was counted, and mark what was taken for dead."""
        if self.state.last_move != PASS:
            ended = {"B+R": "White resigns: Black wins.", "W+R": "Black resigns: White wins."}
            repeated = "No result: the same position came for the third time."
            self._message = ended.get(self.state.result(), repeated)
            return
        dead = dead_stones(self.state)
        self.state = self.state.with_dead(dead)
        self._marks = Marks(self.state.ownership(dead), dead)
        won = margin_told(self.state.score(dead), "wins by")
        self._message = f"{won} ({self.state.result()}). {count_told(self.state, dead)}"
