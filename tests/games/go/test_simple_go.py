"""Simple-Go against a second version of its rules, written for clarity and nothing else.

The rules: a player may pass only without a valid move, and the game ends when neither has one. One-point
territory of one's own is not filled, unless the opponent playing there would capture. No suicide, no
repetition of a position. Area counts, prisoners do not. Komi 0.5 to 24.5.
"""

import numpy as np
import pytest

from tengen.games import go
from tengen.games.go import BLACK, EMPTY, PASS, WHITE, IllegalMove, from_gtp, opponent

from .positions import state_from

Position = tuple[int, ...]  # colour of every point, row by row

# ------------------------------------------------------------------------------------- the slow version


def neighbours(point: int, size: int) -> list[int]:
    row, col = divmod(point, size)
    around = [(row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)]
    return [r * size + c for r, c in around if 0 <= r < size and 0 <= c < size]


def connected(position: Position, point: int, size: int) -> set[int]:
    """The points of one colour, or empty, that hang together with this one."""
    found, edge = {point}, [point]
    while edge:
        for q in neighbours(edge.pop(), size):
            if position[q] == position[point] and q not in found:
                found.add(q)
                edge.append(q)
    return found


def without_liberty(position: Position, color: int, size: int) -> set[int]:
    """All stones of a colour whose string touches no empty point."""
    return {
        p
        for p in range(size * size)
        if position[p] == color
        and not any(position[q] == EMPTY for s in connected(position, p, size) for q in neighbours(s, size))
    }


def after(position: Position, point: int, color: int, size: int) -> tuple[Position, int]:
    """The position after a stone is put here, and how many it captured; own stones may lack liberties."""
    stones = list(position)
    stones[point] = color
    captured = without_liberty(tuple(stones), opponent(color), size)
    for p in captured:
        stones[p] = EMPTY
    return tuple(stones), len(captured)


def is_valid(history: list[Position], point: int, color: int, size: int) -> bool:
    """Whether `color` may play here after these positions."""
    position = history[-1]
    if position[point] != EMPTY:
        return False
    following, _ = after(position, point, color, size)
    if without_liberty(following, color, size) or following in history:
        return False
    own_territory = all(position[q] == color for q in neighbours(point, size))
    _, losses = after(position, point, opponent(color), size)
    return not own_territory or losses > 0


def area(position: Position, size: int) -> int:
    """Black's stones and territory minus White's."""
    total = 0
    for p in range(size * size):
        region = connected(position, p, size) if position[p] == EMPTY else set()
        colors = {position[q] for s in region for q in neighbours(s, size)} - {EMPTY} or {position[p]}
        total += {(BLACK,): 1, (WHITE,): -1}.get(tuple(colors), 0)
    return total


# ---------------------------------------------------------------------------------------------- the tests


def check_game(size: int, seed: int) -> int:
    """A random game to its end, every position compared; returns the number of moves."""
    rng = np.random.default_rng(seed)
    state = go.State.new(size, "simple-go", komi=0.5)
    history: list[Position] = [(EMPTY,) * (size * size)]
    passes = 0
    while passes < 2:
        color = state.to_play
        valid = [p for p in range(size * size) if is_valid(history, p, color, size)]
        assert not state.is_over
        assert state.legal_moves() == (valid or [PASS]), str(state)
        assert state.is_legal(PASS) == (not valid)
        move = int(rng.choice(valid)) if valid else PASS
        passes = 0 if valid else passes + 1
        state = state.play(move)
        if valid:
            history.append(after(history[-1], move, color, size)[0])
        assert tuple(state.stones.ravel().tolist()) == history[-1]
    assert state.is_over
    assert state.score() == area(history[-1], size) - 0.5
    assert state.winner() == (BLACK if state.score() > 0 else WHITE)
    return state.move_number


@pytest.mark.parametrize("seed", range(10))
def test_random_5x5_games_agree_with_the_slow_rules_to_the_end(seed: int) -> None:
    assert check_game(5, seed) > 20


@pytest.mark.parametrize("size", [2, 3, 4])
def test_random_games_on_smaller_boards_agree_too(size: int) -> None:
    for seed in range(20):
        check_game(size, seed)


def test_at_the_end_only_one_point_regions_are_left() -> None:
    """Dead stones are captured, neutral points filled, and bigger territories too, down to single points."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        state = go.State.new(rules="simple-go")
        while not state.is_over:
            state = state.play(int(rng.choice(state.legal_moves())))
        position = tuple(state.stones.ravel().tolist())
        regions = [len(connected(position, p, 5)) for p in range(25) if position[p] == EMPTY]
        assert set(regions) <= {1}, str(state)


def test_the_board_is_5x5_and_komi_3_and_a_half_unless_told() -> None:
    state = go.State.new(rules="simple-go")
    assert (state.size, state.komi) == (5, 3.5)
    assert go.State.new(7, "simple-go").size == 7


@pytest.mark.parametrize("komi", [0.5, 1, 3.5, 24.5])
def test_komi_from_a_half_to_24_and_a_half_is_known(komi: float) -> None:
    assert go.State.new(rules="simple-go", komi=komi).komi == komi


@pytest.mark.parametrize("komi", [0, -0.5, 25, 100.5, float("nan")])
def test_other_komi_is_refused(komi: float) -> None:
    with pytest.raises(ValueError, match="not possible"):
        go.State.new(rules="simple-go", komi=komi)


def test_a_player_with_a_move_may_not_pass() -> None:
    state = go.State.new(rules="simple-go")
    assert not state.is_legal(PASS)
    with pytest.raises(IllegalMove, match="pass"):
        state.play(PASS)


EYES = """
    . X . X O
    X X X X O
    O O O O O
    . . . . .
    . . . . .
"""


def test_own_one_point_territory_in_peace_is_not_filled() -> None:
    state = state_from(EYES, "simple-go")
    for eye in ("A5", "C5"):
        assert "one-point territory" in str(state.why_illegal(from_gtp(eye, 5)))
    assert "suicide" in str(state.with_to_play(WHITE).why_illegal(from_gtp("A5", 5)))


def test_own_one_point_territory_is_filled_to_save_stones() -> None:
    """Black's two stones at D5 and D4 breathe only at C5; White there would take them, Black may connect."""
    state = state_from(
        """
        . X . X O
        X X X O O
        . . . . .
        . O O O .
        . . . . .
        """,
        "simple-go",
    )
    assert state.with_to_play(WHITE).is_legal(from_gtp("C5", 5))
    assert state.is_legal(from_gtp("C5", 5))
    assert state.why_illegal(from_gtp("A5", 5)) is not None


def test_territory_of_two_points_is_filled_like_any_other() -> None:
    state = state_from(
        """
        . . X . .
        X X X . .
        . . . . .
        . . . O .
        . . . . .
        """,
        "simple-go",
    )
    assert state.is_legal(from_gtp("A5", 5))
    assert state.is_legal(from_gtp("B5", 5))


def test_the_game_ends_when_neither_has_a_move_and_not_before() -> None:
    """Black has only eyes left and passes; White has moves and must play on."""
    full = """
        . X . X X
        X X X X X
        O O O O O
        . . O . O
        . . O O O
    """
    state = state_from(full, "simple-go", BLACK)
    assert state.legal_moves() == [from_gtp(name, 5) for name in ("A2", "B2", "A1", "B1")]
    blocked = state_from(full.replace(". . O . O", ". O O . O").replace(". . O O O", "O O O O O"), "simple-go")
    assert blocked.legal_moves() == [PASS]
    passed = blocked.play(PASS)
    assert not passed.is_over
    assert passed.legal_moves() == [PASS]
    assert passed.play(PASS).is_over


def test_captured_stones_do_not_count() -> None:
    state = state_from(
        """
        O X .
        . X X
        X X .
        """,
        "simple-go",
        komi=0.5,
    )
    state = state.play(from_gtp("A2", 3))
    assert state.captures == (1, 0)
    assert state.score() == 8.5


def test_dead_stones_stay_where_they_are() -> None:
    """Nothing is taken off for free: a stone on the board counts for its owner."""
    state = state_from(EYES.replace(". . . . .", ". X . . .", 1), "simple-go", komi=0.5)
    assert state.score() == state.score(dead=())
