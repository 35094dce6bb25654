"""The file that a new player of one's own begins with: `tengen agents new strategy.py`."""

from typing import Any

from tengen.games.game import AnyGame

_FILE = '''\
"""My own player for {title}.

    tengen match {file} random{options} --games 10        how strong is it?
    tengen play --opponent {file}{options}                play against it
    python {file}                                         run its test

Tengen calls choose(state) whenever it is this player's turn, in a process of its own. What you print is shown. An error
or an illegal move loses the game and is reported with its line.
"""

import random


def choose(state):
    """Return a move: one of state.legal_moves(), or its name such as {move!r}.

    Useful here:
        state.legal_moves()      all legal moves, as numbers
        state.play(move)         the state after a move; `state` itself never changes
        state.to_play            1 if the first player ({first}) is to move, else 2
        state.is_over            whether the game has ended
        state.winner()           1, 2, or 0 for a draw; None while the game goes on
        state.move_name(move)    how people write a move
        print(state)             the board, as text
    """
    moves = state.legal_moves()
    for move in moves:
        if wins_at_once(state, move):
            return move
    return random.choice({sensible})


def wins_at_once(state, move):
    """Whether the game ends with this move, and the player to move has won."""
    after = state.play(move)
    return after.is_over and after.winner() == state.to_play


# Exercise 1. Look at the opponent's answers as well: do not play a move after which the opponent wins at once.
#
# Exercise 2. Play out each move a few times at random (while not state.is_over: state = state.play(...)), and choose
#             the move that wins most often. Return (move, chances) with a dict of chances, 0 to 1, by move: the page
#             and `tengen explain --agent {file}` show what you think.
#
# Exercise 3. Write a class instead, which may remember things between moves; each game makes one of its own:
#
#                 class Careful:
#                     name = "careful"
#                     def choose(self, state, seconds=None):      # seconds: what a clock allows for this move
#                         ...
#
#             and play it as {file}:Careful.


def test_every_move_is_legal():
    """Play a game against itself, and check each move."""
    import tengen

    state = tengen.get_game({game!r}).start({start})
    while not state.is_over and state.move_number < 300:
        move = choose(state)
        assert move in state.legal_moves(), move
        state = state.play(move)


if __name__ == "__main__":
    test_every_move_is_legal()
    print("All moves of a game were legal.")
'''


def starting_file(game: AnyGame, name: str) -> str:
    """The text of the file."""
    is_go = game.name == "go"
    values: dict[str, Any] = {
        "title": game.title,
        "file": name,
        "game": game.name,
        "options": " --size 5" if is_go else f" --game {game.name}",
        "start": "size=5" if is_go else "",
        "move": game.example_move,
        "first": game.players[0],
        "sensible": "[move for move in moves if move != -1] or moves" if is_go else "moves",
    }
    return _FILE.format_map(values)
