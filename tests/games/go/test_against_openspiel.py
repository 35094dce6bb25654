"""Random games agree with OpenSpiel's Go move by move: legal moves, who plays, stones, area.

OpenSpiel plays with simple ko and without suicide, and ends a game at the first repeated position. Its
returns tell only who won, so a score is asked for by komi: a game replayed with our score as komi is a draw.
"""

import numpy as np
import pyspiel
import pytest

from tengen.games import go
from tengen.games.go import BLACK, EMPTY, PASS, WHITE, RuleSet

OPENSPIEL = RuleSet("openspiel", "simple", False, "area", 0.0, removes_dead=False)
POSITIONS = 4_000  # for each board size; 68,000 in all
ENOUGH = 1_000_000  # moves


def mirrored(move: int, size: int) -> int:
    """OpenSpiel's action for our move, or the other way: rows are counted from the bottom, pass is last."""
    if move in (PASS, size * size):
        return PASS if move == size * size else size * size
    row, col = divmod(move, size)
    return (size - 1 - row) * size + col


def openspiel_game(size: int, komi: float, length: int = ENOUGH) -> pyspiel.Game:
    parameters = {"board_size": size, "komi": komi, "max_game_length": length}
    return pyspiel.load_game("go", parameters)


def openspiel_stones(theirs: pyspiel.State, size: int) -> np.ndarray:
    """int8[size, size] of the stones that OpenSpiel prints."""
    colors = {"+": EMPTY, "X": BLACK, "O": WHITE}
    rows = str(theirs).split("\n\n")[1].split("\n")[:size]
    return np.array([[colors[char] for char in row.split()[1]] for row in rows], np.int8)


def check_area(ours: go.State, theirs: pyspiel.State) -> None:
    """Replay the game with our area as komi, to end right here: a draw; half a point decides it."""
    area, actions = ours.score(), theirs.history()
    for komi, returns in ((area, [0.0, 0.0]), (area - 0.5, [1.0, -1.0]), (area + 0.5, [-1.0, 1.0])):
        again = openspiel_game(ours.size, komi, len(actions)).new_initial_state()
        for action in actions:
            again.apply_action(action)
        assert again.is_terminal()
        assert again.returns() == returns, f"area {area}\n{ours}"


def check_game(size: int, rng: np.random.Generator) -> int:
    """One random game, step by step; returns the number of positions compared."""
    ours, theirs = go.State.new(size, OPENSPIEL), openspiel_game(size, 0.0).new_initial_state()
    seen = {ours.hash}
    pass_rate, limit = float(rng.choice([0.0, 0.02, 0.2])), int(rng.integers(2, 3 * size * size))
    while not theirs.is_terminal() and ours.move_number < limit:
        moves = ours.legal_moves()
        assert sorted(mirrored(move, size) for move in moves) == theirs.legal_actions(), str(ours)
        assert ours.to_play == theirs.current_player() + 1
        assert not ours.is_over
        move = PASS if len(moves) == 1 or rng.random() < pass_rate else moves[int(rng.integers(len(moves) - 1))]
        ours = ours.play(move)
        theirs.apply_action(mirrored(move, size))
        repeated = move != PASS and ours.hash in seen
        seen.add(ours.hash)
        assert theirs.is_terminal() == (ours.is_over or repeated)
        if repeated:
            return ours.move_number
    assert np.array_equal(ours.stones, openspiel_stones(theirs, size))
    check_area(ours, theirs)
    return ours.move_number


@pytest.mark.parametrize("size", range(3, 20))
def test_random_games_agree_with_openspiel(size: int) -> None:
    rng, positions = np.random.default_rng(size), 0
    while positions < POSITIONS:
        positions += check_game(size, rng)
