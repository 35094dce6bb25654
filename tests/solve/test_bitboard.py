"""The solver's bit sets against the rules of the game itself, on random games: every move, every result."""

import numpy as np
import pytest

from tengen.games import go
from tengen.games.go.legality import POSITION_REPEATED, REASONS
from tengen.games.go.rules import RULES, RuleSet
from tengen.solve.bitboard import board_points, image, legal_points, margin, play, position_key

FREE = RuleSet("free", "simple", True, "area", 0.5, removes_dead=False)
RULE_SETS = [*RULES.values(), FREE]


def points_of(state: go.State, color: int) -> int:
    """The stones of a colour as a bit set."""
    return sum(1 << 5 * int(row) + int(col) for row, col in zip(*np.nonzero(state.stones == color)))


def as_bit(state: go.State, point: int | None) -> int:
    return 0 if point is None else 1 << 5 * (point // state.size) + point % state.size


def random_states(size: int, rules: RuleSet, games: int, seed: int) -> "list[go.State]":
    """All positions of random games, the moves being legal."""
    rng = np.random.default_rng(seed)
    states = []
    for _ in range(games):
        state = go.State.new(size, rules)
        while not state.is_over and state.move_number < 6 * size * size:
            states.append(state)
            moves = state.legal_moves()
            points = [move for move in moves if move >= 0]
            state = state.play(int(rng.choice(points if points and rng.random() < 0.95 else moves)))
        states.append(state)
    return states


@pytest.mark.parametrize("size", [2, 3, 4, 5])
@pytest.mark.parametrize("rules", RULE_SETS, ids=lambda rules: rules.name)
def test_moves_and_positions_are_those_of_the_rules(size: int, rules: RuleSet) -> None:
    board = board_points(size)
    for state in random_states(size, rules, 12, seed=size):
        if state.is_over:
            continue
        own, opp = points_of(state, state.to_play), points_of(state, go.BLACK + go.WHITE - state.to_play)
        ko = as_bit(state, state.ko_point)
        legal = legal_points(own, opp, ko, board, rules.flags)
        for point in range(size * size):
            bit = as_bit(state, point)
            reason = state.why_illegal(point)
            if reason == REASONS[POSITION_REPEATED]:
                continue
            assert bool(legal & bit) == (reason is None), (str(state), point, reason)
            if reason is None:
                after = state.play(point)
                expected = points_of(after, state.to_play), points_of(after, after.to_play)
                assert play(own, opp, bit, board) == (*expected, as_bit(after, after.ko_point)), (str(state), point)


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_the_area_is_that_of_the_rules(size: int) -> None:
    for state in random_states(size, FREE, 12, seed=size):
        found = margin(points_of(state, go.BLACK), points_of(state, go.WHITE), board_points(size))
        assert found == state.score() + state.compensation


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_a_key_is_shared_by_the_images_of_one_position_alone(size: int) -> None:
    keys: dict[int, set[tuple[int, int, int]]] = {}
    for state in random_states(size, FREE, 20, seed=size):
        pair = points_of(state, go.BLACK) | points_of(state, go.WHITE) << 32
        ko = as_bit(state, state.ko_point)
        images = {(image(pair, size, k), image(ko, size, k), state.to_play) for k in range(8)}
        found = {
            position_key(turned & (1 << 25) - 1, turned >> 32, turned_ko, turn - 1, 0, size)
            for turned, turned_ko, turn in images
        }
        assert len(found) == 1
        assert keys.setdefault(found.pop(), images) == images


def test_images_are_turned_and_mirrored_boards() -> None:
    rng = np.random.default_rng(1)
    for size in (2, 3, 4, 5):
        stones = rng.random((size, size)) < 0.5
        pair = sum(1 << 5 * int(row) + int(col) for row, col in zip(*np.nonzero(stones)))
        found = set()
        for symmetry in range(8):
            turned = image(pair, size, symmetry)
            found.add(tuple(bool(turned >> 5 * row + col & 1) for row in range(size) for col in range(size)))
        expected = {tuple(np.rot90(flipped, k).ravel().tolist()) for flipped in (stones, stones.T) for k in range(4)}
        assert found == expected


@pytest.mark.parametrize("size", [1, 6])
def test_other_sizes_are_refused(size: int) -> None:
    with pytest.raises(ValueError, match="2x2 to 5x5"):
        board_points(size)
