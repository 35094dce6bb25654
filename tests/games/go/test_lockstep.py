"""Many games side by side: each is the game that `GameState` would play."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tengen.games.go import BLACK, PASS, RULES, WHITE, GameState
from tengen.games.go.board import MOVES, PASSES, TO_PLAY, board_at
from tengen.games.go.coordinates import to_policy
from tengen.games.go.lockstep import (
    GoGames,
    allocate_games,
    copy_games,
    count_games,
    follow_paths,
    judge_games,
    play_games,
    restart_games,
)

from .positions import choices, pick, state_from

AREA_RULES = [name for name, rules in RULES.items() if rules.scoring == "area"]


def empty_games(count: int, size: int, rules: str, limit: int = 300, past: int = 0) -> GoGames:
    games = allocate_games(size, count, limit, past)
    restart_games(games, np.arange(count), size, RULES[rules].flags)
    return games


def judged(games: GoGames, count: int, size: int, rules: str, komi: float = 7.5, limit: int = 300) -> tuple:
    """Legal actions, ends and values, written over nonsense."""
    legal = np.ones((count, size * size + 1), np.bool_)
    over, values = np.ones(count, np.bool_), np.full(count, 9, np.float32)
    judge_games(games, count, RULES[rules].flags, komi, limit, legal, over, values)
    return legal, over, values


def assert_is(games: GoGames, i: int, state: GameState) -> None:
    """Game i is at this state, with the same past."""
    board = board_at(games.boards, i)
    assert np.array_equal(board.color, state.board.color)
    assert np.array_equal(board.info, state.board.info)
    assert np.array_equal(games.history[i, : games.length[i]], state.history)
    assert len(state.history) == games.length[i]
    back: GameState | None = state
    for snapshot in games.past[i]:
        assert np.array_equal(snapshot, np.zeros(state.size**2) if back is None else back.stones.ravel())
        back = back.previous if back is not None else None


def legal_mask(state: GameState) -> list[bool]:
    legal = {to_policy(move, state.size) for move in state.legal_moves()}
    return [action in legal for action in range(state.size**2 + 1)]


def value_of(state: GameState) -> float:
    """What a finished game is worth to the player to move, all stones alive."""
    sign = float(np.sign(state.score(dead=())))
    return sign if state.to_play == BLACK else -sign


@given(size=st.integers(2, 6), rules=st.sampled_from(AREA_RULES), games=st.lists(choices, min_size=1, max_size=4))
def test_games_in_lockstep_are_those_of_the_friendly_state(size: int, rules: str, games: list[list[int]]) -> None:
    count = len(games)
    states = [GameState.new(size, rules) for _ in games]
    boards = empty_games(count, size, rules, past=8)
    for ply in range(max(map(len, games))):
        legal, over, values = judged(boards, count, size, rules, states[0].komi)
        actions = np.full(count, -1)
        for i, (state, numbers) in enumerate(zip(states, games)):
            assert_is(boards, i, state)
            assert over[i] == state.is_over
            assert legal[i].tolist() == legal_mask(state)
            assert values[i] == (value_of(state) if state.is_over else 0)
            if not state.is_over and ply < len(numbers):
                move = pick(state, numbers[ply])
                actions[i] = to_policy(move, size)
                states[i] = state.play(move)
        play_games(boards, actions, RULES[rules].flags)


@given(size=st.integers(2, 5), rules=st.sampled_from(AREA_RULES), numbers=choices, begun=st.integers(0, 60))
def test_a_path_leads_where_its_moves_lead(size: int, rules: str, numbers: list[int], begun: int) -> None:
    states = [GameState.new(size, rules)]
    while len(states) <= len(numbers) and not states[-1].is_over:
        states.append(states[-1].play(pick(states[-1], numbers[len(states) - 1])))
    actions = [to_policy(move, size) for _, move in states[-1].moves]
    begun = min(begun, len(actions))
    flags = RULES[rules].flags
    roots, leaves = empty_games(3, size, rules, past=3), empty_games(4, size, rules, past=3)
    for action in actions[:begun]:
        play_games(roots, np.array([-1, action]), flags)
    rest = actions[begun:]
    paths = np.full((4, 200), 77, np.int16)
    lengths = np.array([len(rest), 0, len(rest) // 2, len(rest) - len(rest) // 3])
    for row, length in enumerate(lengths):
        paths[row, :length] = rest[:length]
    play_games(leaves, np.array([0, 0, -1, 1]), flags)  # whatever stood there before
    follow_paths(roots, np.array([1, 1, 1, 1]), paths, lengths, leaves, flags)
    for row, length in enumerate(lengths):
        assert_is(leaves, row, states[begun + length])
    assert_is(roots, 1, states[begun])


def test_games_end_with_two_passes_and_are_counted_as_they_stand() -> None:
    games = empty_games(3, 3, "tromp-taylor")
    for actions in ([4, 4, 9], [9, 0, 9], [9, 9, -1], [-1, 9, -1]):
        play_games(games, np.array(actions), RULES["tromp-taylor"].flags)
    # A stone in the centre that owns all nine points, White to move; the same and a white stone in a corner, so that
    # the empty points are nobody's, Black to move; and nothing at all, Black to move.
    for komi, expected in ((-0.5, [-1, 1, 1]), (0.0, [-1, 0, 0]), (9.0, [0, -1, -1]), (9.5, [1, -1, -1])):
        legal, over, values = judged(games, 3, 3, "tromp-taylor", komi)
        assert over.all() and not legal.any()
        assert values.tolist() == expected


def test_a_game_that_reaches_its_limit_is_counted() -> None:
    games = empty_games(2, 3, "chinese", limit=5)
    flags = RULES["chinese"].flags
    for ply, action in enumerate([4, 0, 1, 8]):
        play_games(games, np.array([action, -1]), flags)
        _, over, _ = judged(games, 2, 3, "chinese", 0.5, limit=5)
        assert not over.any(), ply
    play_games(games, np.array([3]), flags)
    legal, over, values = judged(games, 2, 3, "chinese", 0.5, limit=5)
    assert over.tolist() == [True, False]
    assert not legal[0].any() and legal[1].all()
    assert values.tolist() == [-1, 0]  # Black is ahead by more than 0.5, and White is to move


def test_copies_are_whole_and_apart() -> None:
    source, target = empty_games(3, 5, "chinese", past=4), empty_games(5, 5, "chinese", past=4)
    flags = RULES["chinese"].flags
    states = [GameState.new(5), GameState.new(5), GameState.new(5)]
    for moves in ([12, 0, 1], [7, 5, PASS], [11, 6, 2]):
        play_games(source, np.array([to_policy(move, 5) for move in moves]), flags)
        states = [state.play(move) for state, move in zip(states, moves)]
    copy_games(source, np.array([2, 0, 2]), target, np.array([0, 3, 4]))
    play_games(source, np.array([20, 20, 20]), flags)
    assert_is(target, 0, states[2])
    assert_is(target, 3, states[0])
    assert_is(target, 4, states[2])
    assert_is(target, 1, GameState.new(5))
    assert_is(source, 2, states[2].play(20))


def test_a_restarted_game_knows_nothing_of_the_last_one() -> None:
    games = empty_games(2, 4, "aga", past=3)
    for actions in ([5, 6], [16, 7], [3, 16], [16, 16]):
        play_games(games, np.array(actions), RULES["aga"].flags)
    assert games.boards.info[0, PASSES] == 1
    restart_games(games, np.array([0]), 4, RULES["aga"].flags)
    assert_is(games, 0, GameState.new(4, "aga"))
    assert games.boards.info[1, MOVES] == 4 and games.boards.info[1, TO_PLAY] == BLACK


SHARED = """
    . X O . .
    X X O O O
    . . X O .
    X X X O O
    . X O . O
"""


def test_points_are_counted_for_both_sides() -> None:
    state = state_from(SHARED, "tromp-taylor", WHITE, 2.5)
    games = empty_games(2, 5, "tromp-taylor")
    games.boards.color[1] = state.board.color
    margins, ownership = np.zeros(2, np.float32), np.zeros((2, 25), np.int8)
    count_games(games, np.array([1, 0]), 2.5, margins, ownership)
    owners = state.ownership(dead=()).ravel()
    assert margins.tolist() == [state.score(dead=()), -2.5]
    assert ownership[0].tolist() == [{BLACK: 1, WHITE: -1}.get(owner, 0) for owner in owners]
    assert set(ownership[0].tolist()) == {1, -1}
    assert not ownership[1].any()


@pytest.mark.parametrize("rules", AREA_RULES)
@pytest.mark.parametrize("size", [2, 9, 13])
def test_random_games_to_the_end(rules: str, size: int) -> None:
    rng = np.random.default_rng(size)
    count, flags = 6, RULES[rules].flags
    games = empty_games(count, size, rules, limit=2000)
    states = [GameState.new(size, rules) for _ in range(count)]
    for _ in range(60):
        legal, over, _ = judged(games, count, size, rules, limit=2000)
        actions = np.where(over, -1, (legal * rng.random(legal.shape)).argmax(axis=1))
        for i, action in enumerate(actions):
            if action >= 0:
                assert legal[i].tolist() == legal_mask(states[i])
                states[i] = states[i].play(PASS if action == size * size else int(action))
        play_games(games, actions, flags)
    margins, ownership = np.zeros(count, np.float32), np.zeros((count, size * size), np.int8)
    count_games(games, np.arange(count), states[0].komi, margins, ownership)
    for i, state in enumerate(states):
        assert margins[i] == state.score(dead=())
        assert ownership[i].sum() - state.komi == margins[i]
