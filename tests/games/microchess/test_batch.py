"""Many games side by side are the same games as one by one."""

import numpy as np
import pytest

from tengen.games import microchess
from tengen.games.microchess.batch import BatchedMicrochess
from tengen.games.microchess.board import MicrochessOptions

from .games import random_states

RULES = [("standard", True), ("standard", False), ("ncsoft", True)]


def batch_of(rules: str = "standard", double_step: bool = True) -> BatchedMicrochess:
    return BatchedMicrochess(MicrochessOptions(rules, double_step))


def value_for_mover(state: microchess.State) -> float:
    winner = state.winner()
    return 0.0 if not winner else 1.0 if winner == state.to_play else -1.0


@pytest.mark.parametrize(("rules", "double_step"), RULES)
def test_games_side_by_side_are_games_of_states(rules: str, double_step: bool) -> None:
    game = batch_of(rules, double_step)
    count, rng = 12, np.random.default_rng(50)
    games, states = game.allocate(count), [microchess.State.new(rules, double_step) for _ in range(count)]
    legal, over = np.empty((count, game.actions), np.bool_), np.empty(count, np.bool_)
    values = np.empty(count, np.float32)
    ended = 0
    for _ in range(150):
        game.judge(games, count, legal, over, values)
        assert game.to_play(games).tolist() == [state.to_play for state in states]
        assert over.tolist() == [state.is_over for state in states]
        assert values.tolist() == [value_for_mover(state) for state in states]
        actions = np.full(count, -1, np.int64)
        for i, state in enumerate(states):
            assert games.info[i].tolist() == state.board.info.tolist()
            moves = [state.move_of(int(action)) for action in np.flatnonzero(legal[i])]
            assert sorted(moves) == state.legal_moves()
            if state.is_over:
                ended += 1
            elif rng.random() < 0.8:  # the others are left alone for once
                move = int(rng.choice(moves))
                actions[i] = state.action_of(move)
                states[i] = state.play(move)
        game.play(games, actions)
        finished = np.flatnonzero(over)
        game.restart(games, finished)
        for i in finished:
            states[i] = microchess.State.new(rules, double_step)
    assert ended > 5


def test_paths_lead_to_the_states_they_name() -> None:
    """Paths through repetitions included: the leaf knows the game before the root."""
    game, rng = batch_of(), np.random.default_rng(51)
    starts = [state for state in random_states(52, 6) if not state.is_over and state.double_step][::4]
    roots, leaves = game.allocate(len(starts)), game.allocate(2 * len(starts))
    for i, state in enumerate(starts):
        game.load(roots, i, state)
    index = np.repeat(np.arange(len(starts)), 2)
    paths, lengths, ends = np.zeros((len(index), 12), np.int16), np.zeros(len(index), np.int64), []
    for leaf, root in enumerate(index):
        state = starts[root]
        while lengths[leaf] < 12 and not state.is_over and rng.random() < 0.9:
            move = int(rng.choice(state.legal_moves()))
            paths[leaf, lengths[leaf]] = state.action_of(move)
            state, lengths[leaf] = state.play(move), lengths[leaf] + 1
        ends.append(state)
    game.follow(roots, index, paths, lengths, leaves)
    legal, over = np.empty((len(ends), game.actions), np.bool_), np.empty(len(ends), np.bool_)
    values = np.empty(len(ends), np.float32)
    game.judge(leaves, len(ends), legal, over, values)
    for leaf, state in enumerate(ends):
        halfmove = state.halfmove
        assert leaves.info[leaf].tolist() == state.board.info.tolist()
        assert leaves.keys[leaf, : halfmove + 1].tolist() == state.board.keys[: halfmove + 1].tolist()
        assert (bool(over[leaf]), float(values[leaf])) == (state.is_over, value_for_mover(state))


def test_a_search_path_that_repeats_the_game_is_a_draw() -> None:
    game, state = batch_of(), microchess.State.new()
    cycle = ["a1a2", "d5d4", "a2a1", "d4d5"]
    for text in ["a1a3", "d5d3", "a3a1", "d3d5", *cycle[:3]]:
        state = state.play(state.parse_move(text))
    roots, leaves = game.allocate(1), game.allocate(2)
    game.load(roots, 0, state)
    path, after = [], state
    for text in ["d4d5", *cycle]:
        path.append(after.action_of(after.parse_move(text)))
        after = after.play(after.parse_move(text))
    paths = np.array([path, path], np.int16)
    game.follow(roots, np.zeros(2, np.int64), paths, np.array([5, 4]), leaves)
    legal, over, values = np.empty((2, game.actions), np.bool_), np.empty(2, np.bool_), np.ones(2, np.float32)
    game.judge(leaves, 2, legal, over, values)
    assert after.end_reason == "threefold repetition"
    assert over.tolist() == [True, False]
    assert values.tolist() == [0.0, 0.0]
    assert not legal[0].any() and legal[1].any()


def test_games_are_copied_with_their_past() -> None:
    game = batch_of()
    source, target = game.allocate(3), game.allocate(4)
    states = [state for state in random_states(53, 3) if not state.is_over][-3:]
    for i, state in enumerate(states):
        game.load(source, i, state)
    game.copy(source, np.array([2, 0]), target, np.array([1, 3]))
    for place, state in ((1, states[2]), (3, states[0])):
        assert np.array_equal(target.squares[place], state.squares)
        assert target.info[place, :5].tolist() == state.board.info[:5].tolist()
        assert np.array_equal(target.keys[place, : state.halfmove + 1], state.board.keys[: state.halfmove + 1])
    assert np.array_equal(target.squares[0], microchess.State.new().squares)


def test_a_state_is_played_on_by_the_rules_of_the_batch() -> None:
    game = batch_of("ncsoft")
    games = game.allocate(1)
    game.load(games, 0, microchess.State.from_fen("k3/4/r3/4/3K w - - 10 41"))
    legal, over, values = np.empty((1, game.actions), np.bool_), np.empty(1, np.bool_), np.empty(1, np.float32)
    game.judge(games, 1, legal, over, values)
    assert over[0] and values[0] == -1


def test_unknown_rules_are_refused() -> None:
    with pytest.raises(ValueError, match="choose from standard, ncsoft"):
        batch_of("chinese")
