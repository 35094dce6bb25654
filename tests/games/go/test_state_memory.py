"""What states share and let go: histories, boards made again, branches, threads, memory, equality."""

import copy
import gc
import pickle
import random
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tengen.games import go
from tengen.games.go import BLACK, PASS, RESIGN, RULES, WHITE
from tengen.games.go.board import EMPTY_COUNT, allocate, copy_board
from tengen.games.go.coordinates import to_cell
from tengen.games.go.legality import play_move

from .positions import every_rule_set, play_all
from .slow_go import SlowGo


def random_game(state: go.State, moves: int, seed: int) -> list[go.State]:
    """The states of a random game in which nobody passes unless it must be."""
    draw, states = random.Random(seed), [state]
    while not states[-1].is_over and len(states) <= moves:
        legal = states[-1].legal_moves()
        states.append(states[-1].play(draw.choice(legal[:-1] if len(legal) > 1 and legal[-1] == PASS else legal)))
    return states


def pickled(state: go.State) -> go.State:
    """A state that has been to another process and back, as it were."""
    again: go.State = pickle.loads(pickle.dumps(state))  # noqa: S301
    return again


def assert_same(state: go.State, slow: SlowGo) -> None:
    stones = {point: int(color) for point, color in enumerate(state.stones.ravel()) if color}
    assert (stones, state.to_play, state.captures) == (slow.stones, slow.to_play, slow.captures)
    assert (state.is_over, state.end_reason == "repetition") == (slow.is_over, slow.is_void)
    assert state.legal_moves() == slow.legal_moves()
    assert len(state.history) == len(slow.past)


@given(
    st.integers(2, 5),
    every_rule_set,
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=150),
    st.booleans(),
)
@settings(max_examples=80)
def test_a_tree_of_states_follows_the_rules(
    size: int, rules: str, steps: list[tuple[int, int]], lists_before_it_plays: bool
) -> None:
    """Every step goes on from any earlier state, the latest most often; old boards are let go and made again."""
    known = [(go.State.new(size, rules), SlowGo(size, RULES[rules]))]
    for where, which in steps:
        state, slow = known[-1 if where % 4 else where // 4 % len(known)]
        moves = slow.legal_moves()
        if not moves:
            continue
        if lists_before_it_plays:
            assert state.legal_moves() == moves
        for point in range(size * size):
            assert state.is_legal(point) == (point in moves)
        move = moves[which % len(moves)]
        after = slow.play(move)
        assert after is not None
        known.append((state.play(move), after))
        assert_same(*known[-1])
    for state, slow in known:
        assert_same(state, slow)


@pytest.mark.parametrize("listing", [False, True])
@pytest.mark.parametrize("rules", RULES)
def test_an_illegal_move_is_refused_whether_or_not_the_legal_ones_are_known(rules: str, listing: bool) -> None:
    states = random_game(go.State.new(4, rules), 60, 5)
    for state in states[:-1]:
        twin = pickled(state)
        legal = twin.legal_moves()
        for move in range(-3, 18):
            if listing:
                state.legal_moves()
            allowed = move in legal or move == RESIGN
            assert (state.why_illegal(move) is None) == allowed
            if allowed:
                state.play(move)
            else:
                with pytest.raises(go.IllegalMove):
                    state.play(move)


def test_a_board_made_again_is_the_same_to_the_bit() -> None:
    states = random_game(go.State.new(9), 300, 1)
    board = allocate(9)
    copy_board(states[0].board, board)
    random.Random(2).shuffle(order := list(range(1, len(states))))
    kept = {}
    for k, state in enumerate(states[1:], 1):
        assert state.last_move is not None
        play_move(board, 0 if state.last_move == PASS else to_cell(state.last_move, 9), state.last_color)
        kept[k] = [part.copy() for part in board]
    for k in order:
        for name, part, expected in zip(board._fields, states[k].board, kept[k]):
            assert np.array_equal(part, expected), (k, name)
        assert states[k].board.info[EMPTY_COUNT] == np.sum(states[k].stones == 0)


def test_histories_of_branches_stay_apart() -> None:
    trunk = random_game(go.State.new(5), 40, 3)
    expected = [state.history.copy() for state in trunk]
    branches = [random_game(state, 30, k) for k, state in enumerate(trunk) if not state.is_over]
    for state, history in zip(trunk, expected):
        assert np.array_equal(state.history, history)
    for first, branch in zip(expected, branches):
        for state in branch:
            assert np.array_equal(state.history[: len(first)], first)
            assert np.array_equal(pickled(state).history, state.history)


def test_the_states_of_a_line_share_one_history() -> None:
    states = random_game(go.State.new(9), 200, 1)
    assert all(np.shares_memory(one.history, states[-1].history) for one in states[130:])


def test_threads_may_play_on_from_the_same_states() -> None:
    trunk = random_game(go.State.new(5, "tromp-taylor"), 30, 1)
    expected = [random_game(state, 60, 7) for state in trunk]
    workers = 8
    start = Barrier(workers)

    def play(worker: int) -> bool:
        start.wait()
        for _ in range(10):
            for state, game in zip(trunk, expected):
                seed = 7 if worker % 2 else worker
                mine = random_game(state, 60, seed)
                if seed == 7 and [s.last_move for s in mine] != [s.last_move for s in game]:
                    return False
                if any(s.move_number + 1 != len(s.history) for s in mine):
                    return False
                if mine[-1].legal_moves() != pickled(mine[-1]).legal_moves():
                    return False
        return True

    with ThreadPoolExecutor(workers) as pool:
        assert all(pool.map(play, range(workers)))


def test_a_game_of_5000_moves_takes_10_megabytes_with_all_its_states() -> None:
    random_game(go.State.new(19), 10, 1)
    gc.collect()
    tracemalloc.start()
    try:
        states = random_game(go.State.new(19), 5000, 1)
        played = tracemalloc.get_traced_memory()[0]
        total = sum(int(state.stones.sum()) + len(state.legal_moves()) for state in states)
        read = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(states) == 5001 and total
    assert played <= 10_000_000
    assert read <= 10_000_000


# -------------------------------------------------------------------------------------------- equality


def test_equal_games_are_equal_states() -> None:
    one, two = (play_all(go.State.new(5, "aga"), "C3 C2 pass D2") for _ in range(2))
    assert one == two and hash(one) == hash(two) and one is not two
    assert {one: 1}[two] == 1
    assert one != play_all(go.State.new(5, "aga"), "C3 D2 pass C2")  # another order of the same stones
    assert one != one.previous and one != "C3"
    others = [
        go.State.new(5, "aga", komi=0.5),
        go.State.new(5, "chinese"),
        go.State.setup(5, "aga", to_play=WHITE),
        go.State.setup(5, "aga", black=[24]),
        go.State.setup(5, "aga", handicap=2),
    ]
    assert all(
        one != play_all(other.with_to_play(BLACK), "C3 C2 pass D2") for other in others if other.to_play == BLACK
    )
    assert len({one, two, *others}) == 1 + len(others)
    assert one != one.with_komi(1) and one == two.with_komi(1).with_komi(one.komi)
    assert one != one.play(RESIGN) and one.play(RESIGN) == two.play(RESIGN) != two.play(
        RESIGN, WHITE if two.to_play == BLACK else BLACK
    )
    assert one != one.with_dead([12]) and one.with_dead([12]) == two.with_dead([12])
    assert one != one.with_to_play(WHITE) and one.with_to_play(WHITE) == two.with_to_play(WHITE)


@pytest.mark.parametrize("copied", [pickled, copy.copy, copy.deepcopy])
def test_copies_and_pickles_are_equal(copied) -> None:  # type: ignore[no-untyped-def]
    states = random_game(go.State.setup(5, "japanese", 1.5, [0], [24], WHITE, 3), 80, 1)
    turned = states[20].with_to_play(states[20].last_color)
    more = [turned, turned.play(PASS), turned.with_to_play(states[20].to_play), states[30].play(RESIGN)]
    for state in [*states[::9], *more, states[8].with_dead([0]), go.State.new(9, handicap=2), go.State.new(9)]:
        other = copied(state)
        assert other == state and hash(other) == hash(state)
        assert np.array_equal(other.history, state.history)
        assert (other.legal_moves(), str(other), other.moves) == (state.legal_moves(), str(state), state.moves)
        assert (other.ko_point, other.setup_stones, other.result()) == (
            state.ko_point,
            state.setup_stones,
            state.result(),
        )


def test_a_ko_that_was_lifted_by_giving_the_turn_away_survives_a_pickle() -> None:
    state = play_all(go.State.new(5, "japanese"), "B3 C3 C4 D4 C2 D2 D3 E3 A1 C3")
    assert state.ko_point == go.from_gtp("D3", 5)
    lifted = state.with_to_play(WHITE).with_to_play(BLACK)
    assert lifted.ko_point is None and lifted != state
    after = lifted.play(go.from_gtp("D3", 5))
    assert pickled(after) == after
    assert pickled(lifted).ko_point is None


def test_a_long_game_can_be_pickled() -> None:
    last = random_game(go.State.new(5), 3000, 1)[-1]
    assert pickled(last) == last
