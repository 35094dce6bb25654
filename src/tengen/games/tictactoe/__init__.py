"""Tic-tac-toe: the smallest game there is, and the example of `docs/add-a-game.md`.

>>> from tengen import tictactoe
>>> state = tictactoe.GAME.start()
>>> for move in ("b2", "a3"):
...     state = state.play(state.parse_move(move))
>>> print(state)
3 O . .
2 . X .
1 . . .
  a b c
"""

from tengen.games.tictactoe.game import GAME

__all__ = ["GAME"]
