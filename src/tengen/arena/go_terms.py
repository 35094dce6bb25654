"""Matches of Go: openings off the edge, records in SGF."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tengen._files import Setting
from tengen.arena.game import GameRecord, Turn
from tengen.games.go import BLACK, PASS, RESIGN, GameState
from tengen.games.go.sgf import write_sgf


@dataclass(frozen=True)
class GoTerms:
    """Go on a board of some size. None stands for the default of the rule set."""

    size: int | None = None
    rules: str = "chinese"
    komi: float | None = None

    players = ("Black", "White")
    opening_moves = 2
    suffix = ".sgf"

    @cached_property
    def start(self) -> GameState:
        """The empty board."""
        return GameState.new(self.size, self.rules, self.komi)

    @property
    def title(self) -> str:
        """`9x9, chinese rules, komi 7.5`."""
        start = self.start
        return f"{start.size}x{start.size}, {start.rules.name} rules, komi {start.komi:g}"

    @property
    def settings(self) -> dict[str, Setting]:
        """Board, rules and komi."""
        return {"size": self.start.size, "rules": self.start.rules.name, "komi": self.start.komi}

    @property
    def most_opening_moves(self) -> int:
        """Half the board."""
        return self.start.size**2 // 2

    def opening(self, moves: int, seed: int, pair: int) -> GameState:
        """Random moves, not on the first two lines where there is room."""
        rng = np.random.default_rng([seed, pair])
        state = self.start
        for _ in range(moves):
            points = [move for move in state.legal_moves() if move != PASS]
            points = [move for move in points if _off_the_edge(move, state.size)] or points
            if points:
                state = state.play(int(rng.choice(points)))
        return state

    def write(self, record: GameRecord, first: str, second: str, event: str) -> bytes:
        """The game as SGF."""
        assert isinstance(record.state, GameState)
        dealt = record.state.move_number - sum(turn.decision.move != RESIGN for turn in record.turns)
        comments = {number: _comment(turn) for number, turn in enumerate(record.turns, dealt + 1)}
        if record.ending in ("forfeit", "move limit"):
            end = len(record.turns) + dealt
            why = f"{record.result}, {record.ending}: {record.reason}".removesuffix(": ")
            comments[end] = f"{comments.get(end, '')}\n{why}".strip()
        return write_sgf(
            record.state, black_name=first, white_name=second, result=record.result, comments=comments, event=event
        )


def _comment(turn: Turn) -> str:
    value = turn.decision.value
    chance = "" if value is None else f"{'Black' if turn.player == BLACK else 'White'} wins {value:.1%}"
    return "\n".join(filter(None, (chance, turn.decision.note)))


def _off_the_edge(move: int, size: int) -> bool:
    """Whether a point is on the third line or higher; on boards below 7x7 every point counts."""
    row, col = divmod(move, size)
    return size < 7 or min(row, col, size - 1 - row, size - 1 - col) >= 2
