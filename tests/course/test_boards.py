"""The boards of the course agree with the engine, move by move, on random games."""

import random

import pytest

from tengen.course import board_of_sets, board_with_hashes
from tengen.games import go
from tengen.games.go import BLACK, PASS

Point = tuple[int, int]


def stones(state: go.State) -> dict[Point, int]:
    return {(row, col): int(state.stones[row, col]) for row, col in zip(*state.stones.nonzero())}


@pytest.mark.parametrize(("size", "games"), [(2, 30), (3, 20), (5, 6), (9, 1)])
def test_three_boards_agree(size: int, games: int) -> None:
    assert BLACK == 1
    rng = random.Random(size)
    for _ in range(games):
        slow, hashed = board_of_sets.Game(size), board_with_hashes.Game(size)
        state = go.State.new(size=size, rules="aga")  # situational superko, no suicide
        while not state.is_over and state.move_number < 4 * size * size:
            legal = {divmod(move, size) for move in state.legal_moves() if move != PASS}
            assert set(slow.legal_moves()) == set(hashed.legal_moves()) == legal
            assert slow.board.colours() == hashed.colours() == stones(state)
            assert slow.to_play == hashed.to_play == state.to_play
            move = None if not legal or rng.random() < 0.03 else rng.choice(sorted(legal))
            slow.play(move)
            hashed.play(move)
            state = state.play(PASS if move is None else move[0] * size + move[1])
        assert slow.is_over == hashed.is_over == state.is_over


def test_a_position_has_one_number_however_it_came_about() -> None:
    def played(*moves: Point) -> board_with_hashes.Game:
        game = board_with_hashes.Game(5)
        for move in moves:
            game.play(move)
        return game

    one, other = played((0, 0), (1, 1), (2, 2), (3, 3)), played((2, 2), (3, 3), (0, 0), (1, 1))
    assert one.code == other.code != played((0, 0), (1, 1)).code
    corner = played((0, 1), (0, 0), (1, 0))  # captures the corner
    assert corner.code == board_with_hashes.CODES[0, 1, 1] ^ board_with_hashes.CODES[1, 0, 1]
