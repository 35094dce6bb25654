"""Many games side by side: each is the game that `go.State` would play."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tengen._kernel import kernel
from tengen.games import go
from tengen.games.go import BLACK, PASS, RULES, WHITE
from tengen.games.go.batch import BatchedGo, GoGames
from tengen.games.go.board import MOVES, NO_CELL, PASSES, TO_PLAY, Board, board_at
from tengen.games.go.coordinates import to_cell
from tengen.games.go.playout import CANDIDATES, run_guided_playout
from tengen.games.go.positions import ages_of
from tengen.games.go.rules import GoOptions
from tengen.games.kernels import playout

from .positions import choices, pick, state_from

AREA_RULES = [name for name, rules in RULES.items() if rules.scoring == "area"]


def batch_of(size: int, rules: str, komi: float = float("nan"), limit: int = 300, past: int = 0) -> BatchedGo:
    return BatchedGo(GoOptions(size, rules, komi, limit=limit), past, ages=past > 0)


def judged(batch: BatchedGo, games: GoGames, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Legal actions, ends and values, written over nonsense."""
    legal = np.ones((count, batch.actions), np.bool_)
    over, values = np.ones(count, np.bool_), np.full(count, 9, np.float32)
    batch.judge(games, count, legal, over, values)
    return legal, over, values


def assert_is(games: GoGames, i: int, state: go.State) -> None:
    """Game i is at this state, with the same past."""
    board = board_at(games.boards, i)
    assert np.array_equal(board.color, state.board.color)
    assert np.array_equal(board.info, state.board.info)
    assert np.array_equal(games.history[i, : games.length[i]], state.history)
    assert len(state.history) == games.length[i]
    back: go.State | None = state
    for snapshot in games.past[i]:
        assert np.array_equal(snapshot, np.zeros(state.size**2) if back is None else back.stones.ravel())
        back = back.previous if back is not None else None
    moves = [move for _, move in state.moves[::-1]]
    cells = [NO_CELL if move == PASS else to_cell(move, state.size) for move in (*moves, PASS, PASS)]
    assert games.recent[i].tolist() == cells[:2]
    if games.placed.size:
        stones = state.stones.ravel() > 0
        ages = np.minimum(32767, games.length[i] - games.placed[i])
        assert np.array_equal(ages[stones], ages_of(state)[stones])


def legal_mask(state: go.State) -> list[bool]:
    legal = {state.action_of(move) for move in state.legal_moves()}
    return [action in legal for action in range(state.size**2 + 1)]


def value_of(state: go.State) -> float:
    """What a finished game is worth to the player to move, all stones alive."""
    sign = float(np.sign(state.score(dead=())))
    return sign if state.to_play == BLACK else -sign


@given(size=st.integers(2, 6), rules=st.sampled_from(AREA_RULES), games=st.lists(choices, min_size=1, max_size=4))
def test_games_in_lockstep_are_those_of_the_friendly_state(size: int, rules: str, games: list[list[int]]) -> None:
    count = len(games)
    states = [go.State.new(size, rules) for _ in games]
    batch = batch_of(size, rules, past=8)
    boards = batch.allocate(count)
    for ply in range(max(map(len, games))):
        legal, over, values = judged(batch, boards, count)
        actions = np.full(count, -1)
        for i, (state, numbers) in enumerate(zip(states, games)):
            assert_is(boards, i, state)
            assert over[i] == state.is_over
            assert legal[i].tolist() == legal_mask(state)
            assert values[i] == (value_of(state) if state.is_over else 0)
            if not state.is_over and ply < len(numbers):
                move = pick(state, numbers[ply])
                actions[i] = state.action_of(move)
                states[i] = state.play(move)
        batch.play(boards, actions)


@given(size=st.integers(2, 5), rules=st.sampled_from(AREA_RULES), numbers=choices, begun=st.integers(0, 60))
def test_a_path_leads_where_its_moves_lead(size: int, rules: str, numbers: list[int], begun: int) -> None:
    states = [go.State.new(size, rules)]
    while len(states) <= len(numbers) and not states[-1].is_over:
        states.append(states[-1].play(pick(states[-1], numbers[len(states) - 1])))
    actions = [states[-1].action_of(move) for _, move in states[-1].moves]
    begun = min(begun, len(actions))
    batch = batch_of(size, rules, past=3)
    roots, leaves = batch.allocate(3), batch.allocate(4)
    for action in actions[:begun]:
        batch.play(roots, np.array([-1, action]))
    rest = actions[begun:]
    paths = np.full((4, 200), 77, np.int16)
    lengths = np.array([len(rest), 0, len(rest) // 2, len(rest) - len(rest) // 3])
    for row, length in enumerate(lengths):
        paths[row, :length] = rest[:length]
    batch.play(leaves, np.array([0, 0, -1, 1]))  # whatever stood there before
    batch.follow(roots, np.array([1, 1, 1, 1]), paths, lengths, leaves)
    for row, length in enumerate(lengths):
        assert_is(leaves, row, states[begun + length])
    assert_is(roots, 1, states[begun])


def test_games_end_with_two_passes_and_are_counted_as_they_stand() -> None:
    batch = batch_of(3, "tromp-taylor")
    games = batch.allocate(3)
    for actions in ([4, 4, 9], [9, 0, 9], [9, 9, -1], [-1, 9, -1]):
        batch.play(games, np.array(actions))
    # A stone in the centre that owns all nine points, White to move; the same and a white stone in a corner, so that
    # the empty points are nobody's, Black to move; and nothing at all, Black to move.
    for komi, expected in ((-0.5, [-1, 1, 1]), (0.0, [-1, 0, 0]), (9.0, [0, -1, -1]), (9.5, [1, -1, -1])):
        games.komi[:] = komi
        legal, over, values = judged(batch, games, 3)
        assert over.all() and not legal.any()
        assert values.tolist() == expected


def test_a_game_that_reaches_its_limit_is_counted() -> None:
    batch = batch_of(3, "chinese", 0.5, limit=5)
    games = batch.allocate(2)
    for ply, action in enumerate([4, 0, 1, 8]):
        batch.play(games, np.array([action, -1]))
        _, over, _ = judged(batch, games, 2)
        assert not over.any(), ply
    batch.play(games, np.array([3]))
    legal, over, values = judged(batch, games, 2)
    assert over.tolist() == [True, False]
    assert not legal[0].any() and legal[1].all()
    assert values.tolist() == [-1, 0]  # Black is ahead by more than 0.5, and White is to move


def test_copies_are_whole_and_apart() -> None:
    batch = batch_of(5, "chinese", past=4)
    source, target = batch.allocate(3), batch.allocate(5)
    source.komi[:] = [1.5, 2.5, 3.5]
    states = [go.State.new(5), go.State.new(5), go.State.new(5)]
    for moves in ([12, 0, 1], [7, 5, PASS], [11, 6, 2]):
        batch.play(source, np.array([states[0].action_of(move) for move in moves]))
        states = [state.play(move) for state, move in zip(states, moves)]
    batch.mark_dead(source, 2, frozenset([1]))
    batch.copy(source, np.array([2, 0, 2]), target, np.array([0, 3, 4]))
    batch.play(source, np.array([20, 20, 20]))
    assert target.komi.tolist() == [3.5, 7.5, 7.5, 1.5, 3.5]
    assert target.dead.any(axis=1).tolist() == [True, False, False, False, True]
    assert_is(target, 0, states[2])
    assert_is(target, 3, states[0])
    assert_is(target, 4, states[2])
    assert_is(target, 1, go.State.new(5))
    assert_is(source, 2, states[2].play(20))


def test_a_restarted_game_knows_nothing_of_the_last_one() -> None:
    batch = batch_of(4, "aga", past=3)
    games = batch.allocate(2)
    for actions in ([5, 6], [16, 7], [3, 16], [16, 16]):
        batch.play(games, np.array(actions))
    assert games.boards.info[0, PASSES] == 1
    batch.mark_dead(games, 0, frozenset([5]))
    batch.restart(games, np.array([0]))
    assert not games.dead.any()
    assert_is(games, 0, go.State.new(4, "aga"))
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
    batch = batch_of(5, "tromp-taylor", 2.5)
    games = batch.allocate(2)
    batch.load(games, 1, state)
    margins, ownership = batch.score(games, np.array([1, 0]))
    owners = state.ownership(dead=()).ravel()
    assert margins.tolist() == [state.score(dead=()), -2.5]
    assert ownership[0].tolist() == [{BLACK: 1, WHITE: -1}.get(owner, 0) for owner in owners]
    assert set(ownership[0].tolist()) == {1, -1}
    assert not ownership[1].any()


@pytest.mark.parametrize("rules", AREA_RULES)
@pytest.mark.parametrize("size", [2, 9, 13])
def test_random_games_to_the_end(rules: str, size: int) -> None:
    rng = np.random.default_rng(size)
    count, batch = 6, batch_of(size, rules, limit=2000)
    games = batch.allocate(count)
    states = [go.State.new(size, rules) for _ in range(count)]
    for _ in range(60):
        legal, over, _ = judged(batch, games, count)
        actions = np.where(over, -1, (legal * rng.random(legal.shape)).argmax(axis=1))
        for i, action in enumerate(actions):
            if action >= 0:
                assert legal[i].tolist() == legal_mask(states[i])
                states[i] = states[i].play(states[i].move_of(int(action)))
        batch.play(games, actions)
    margins, ownership = batch.score(games, np.arange(count))
    for i, state in enumerate(states):
        assert RULES[rules].removes_dead or margins[i] == state.score(dead=())
        assert ownership[i].sum() - state.komi == margins[i]


@kernel
def play_out(games, i, legal, state):  # type: ignore[no-untyped-def]
    return playout(games, i, legal, state)


def test_the_first_moves_of_a_playout_answer_the_last_two_moves() -> None:
    """It is the guided playout of the state's board and moves, so it draws the same random numbers."""
    state, batch, found = go.State.new(9), batch_of(9, "chinese"), np.empty(CANDIDATES, np.int64)
    cells = [NO_CELL]
    for name in "E5 E4 D4 F4 D3 E3 C5 E2 F5 G4 G5".split():
        state = state.play(go.from_gtp(name, 9))
        cells.append(to_cell(state.moves[-1][1], 9))
        for seed in range(1, 10):
            boards, board = batch.allocate(1), Board(*(field.copy() for field in state.board))
            batch.load(boards, 0, state)
            expected, _ = run_guided_playout(
                board, cells[-1], cells[-2], state.rules.flags, found, np.zeros_like(board.color), np.uint64(seed)
            )
            after, _ = play_out(boards, 0, np.zeros(batch.actions, np.bool_), np.uint64(seed))
            assert np.uint64(after) == np.uint64(expected)
