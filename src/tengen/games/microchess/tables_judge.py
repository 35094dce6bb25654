"""Games before the judgement of the endgame tables: who threw away a win or a draw, and where."""

from collections.abc import Iterable
from typing import NamedTuple

from tengen.games.microchess.state import State
from tengen.games.microchess.tables import Tables


class JudgedMove(NamedTuple):
    """A move of a game, whose value before and after the tables know, both as its player sees it."""

    state: State
    """The position before the move."""
    move: int
    """The move played, or RESIGN."""
    before: int
    """1 a win, 0 a draw, -1 a loss."""
    after: int

    @property
    def player(self) -> int:
        """Who moved."""
        return self.state.to_play

    @property
    def is_mistake(self) -> bool:
        """Whether it threw away a win or a draw."""
        return self.after < self.before


def judge_games(tables: Tables, games: Iterable[State]) -> list[JudgedMove]:
    """All moves of games (each given by its last state) from positions in the tables, in their order.

    A move that ends the game is judged by the result: who repeats the position for the third time in a won endgame has
    thrown the win away, and so has who resigns it.
    """
    pairs: list[tuple[State, State]] = []
    for game in games:
        steps = []
        after = game
        while after.previous is not None:
            steps.append((after.previous, after))
            after = after.previous
        pairs += reversed(steps)
    values_before = tables.probe_states([before for before, _ in pairs])
    values_after = tables.probe_states([after for _, after in pairs])
    judged = []
    for (before, after), known, then in zip(pairs, values_before, values_after):
        left = _result(after, before.to_play) if after.is_over else None if then is None else -then.wdl
        if known is not None and left is not None and after.last_move is not None:
            judged.append(JudgedMove(before, after.last_move, known.wdl, left))
    return judged


def mistakes(tables: Tables, game: State) -> list[JudgedMove]:
    """The moves of a game (given by its last state) that threw away a win or a draw."""
    return [move for move in judge_games(tables, [game]) if move.is_mistake]


def _result(state: State, player: int) -> int:
    winner = state.winner()
    return 0 if not winner else 1 if winner == player else -1
