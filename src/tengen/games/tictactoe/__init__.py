"""Tic-tac-toe: the smallest game there is, and the example of `docs/add-a-game.md`."""
