"""What every game promises: kernels and states that agree, planes, symmetries, records, keys. A new game is tested too.

A game that is not part of Tengen is tested by loading its module, which registers it: `pytest -p othello`.
"""

import pickle
from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from tengen.agents.registry import load_agent
from tengen.encode import encoder_names
from tengen.encode.game_spec import GameSpec
from tengen.games import go, microchess
from tengen.games.batch import BatchedGame
from tengen.games.game import Game, Record, game_names, game_of, get_game
from tengen.games.kernels import key, playout
from tengen.games.state import FIRST, NOBODY, RESIGN, SECOND, AnyState, Options, other_player

GIVEN: dict[str, dict[str, Any]] = {"go": {"size": 5, "rules": "tromp-taylor", "komi": 3.5, "limit": 400}}
"""Options for short games that are counted as they stand; for all others the usual ones."""


@pytest.fixture(params=game_names())
def game(request: pytest.FixtureRequest) -> Game:
    return get_game(request.param)


def options_of(game: Game) -> Options:
    return game.options.of(GIVEN.get(game.name, {}))


def random_game(game: Game, seed: int, longest: int = 150) -> list[Any]:
    """All positions of a random game, or of its beginning."""
    rng, states = np.random.default_rng(seed), [game.new(options_of(game))]
    while not states[-1].is_over and len(states) < longest:
        states.append(states[-1].play(int(rng.choice(states[-1].legal_moves()))))
    return states


def loaded(batch: BatchedGame, states: list[Any]) -> Any:
    games = batch.allocate(len(states))
    for i, state in enumerate(states):
        batch.load(games, i, state)
    return games


def judged(batch: BatchedGame, games: Any, count: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    legal, over, values = np.ones((count, batch.actions), np.bool_), np.ones(count, np.bool_), np.ones(count, "f4")
    batch.judge(games, count, legal, over, values)
    return legal, over, values


def assert_same(batch: BatchedGame, games: Any, states: list[Any]) -> None:
    """Games in arrays are those of friendly states: legal moves, who is to move, who has won."""
    legal, over, values = judged(batch, games, len(states))
    assert batch.to_play(games).tolist() == [state.to_play for state in states]
    assert over.tolist() == [state.is_over for state in states]
    for state, row, value in zip(states, legal, values):
        assert sorted(np.flatnonzero(row).tolist()) == sorted(map(state.action_of, state.legal_moves()))
        winner = state.winner()
        assert value == (0 if not winner else 1 if winner == state.to_play else -1)


@njit
def key_of(games, i):  # type: ignore[no-untyped-def]
    return key(games, i)


@njit
def play_out(games, i, legal, state):  # type: ignore[no-untyped-def]
    return playout(games, i, legal, state)


# ----------------------------------------------------------------------------------------------- states


def test_equal_games_are_equal_states_also_after_pickling(game: Game) -> None:
    one, two = random_game(game, 1, 40), random_game(game, 1, 40)
    for k, (state, twin) in enumerate(zip(one, two)):
        again = pickle.loads(pickle.dumps(state))  # noqa: S301
        assert state == twin == again and hash(state) == hash(twin) == hash(again)
        assert state.legal_moves() == again.legal_moves()
        assert str(state) == str(again)
        assert all(state != other for other in one[:k])
    assert len({*one, *two}) == len(one)
    assert one[2].play(RESIGN) == two[2].play(RESIGN) != one[2]
    assert one[0] != "a state"


def test_the_numbers_of_players_and_of_resignation_are_the_same_in_all_games() -> None:
    assert (go.BLACK, go.WHITE, go.EMPTY, go.RESIGN) == (FIRST, SECOND, NOBODY, RESIGN)
    assert (microchess.WHITE, microchess.BLACK, microchess.RESIGN) == (FIRST, SECOND, RESIGN)
    assert (other_player(FIRST), other_player(SECOND)) == (SECOND, FIRST)


def test_a_random_game_keeps_every_promise(game: Game) -> None:
    for seed in range(5):
        states = random_game(game, seed)
        for number, state in enumerate(states):
            assert (state.game, state.move_number) == (game.name, number)
            assert state.to_play == (FIRST if number % 2 == 0 else SECOND), "players alternate: let one pass who must"
            assert (state.previous is None) == (state.last_move is None) == (number == 0)
            if number:
                assert state.previous is states[number - 1]
            moves = state.legal_moves()
            assert moves or state.is_over, f"nothing is legal and the game not over: let them pass, or end it\n{state}"
            assert not (moves and state.is_over), f"the game is over, and {moves} are still legal\n{state}"
            assert all(state.why_illegal(move) is None for move in moves)
            assert [state.parse_move(state.move_name(move)) for move in moves] == moves
            assert [state.move_of(state.action_of(move)) for move in moves] == moves
            running = not state.is_over
            assert (state.winner() is None) == (state.result() == "?") == (state.end_reason is None) == running


def test_resigning_ends_the_game_for_the_other_player(game: Game) -> None:
    start = game.new(options_of(game))
    for state in (start, start.play(start.legal_moves()[0])):
        resigned = state.play(RESIGN)
        assert resigned.is_over
        assert resigned.winner() == other_player(state.to_play)
        assert (resigned.legal_moves(), resigned.end_reason) == ([], "resignation")
        assert state.move_name(RESIGN) == "resign"
        assert state.parse_move(" Resign ") == RESIGN


@pytest.mark.parametrize("move", [-3, -99, 5000])
def test_what_is_no_move_is_refused_with_a_reason(game: Game, move: int) -> None:
    state = game.new(options_of(game))
    assert state.why_illegal(move)
    with pytest.raises(ValueError, match=str(move)):
        state.play(move)
    with pytest.raises(ValueError, match=str(move)):
        state.move_name(move)
    with pytest.raises(ValueError, match="nonsense"):
        state.parse_move("nonsense")


# ---------------------------------------------------------------------------------------------- batches


def test_games_in_arrays_are_games_of_states(game: Game) -> None:
    batch, rng, count = game.batch(options_of(game)), np.random.default_rng(1), 8
    start = game.new(options_of(game))
    games, states, ended = batch.allocate(count), [start] * count, 0
    for _ in range(150):
        assert_same(batch, games, states)
        over = np.array([state.is_over for state in states])
        ended += int(over.sum())
        batch.restart(games, np.flatnonzero(over))
        states = [start if state.is_over else state for state in states]
        actions = np.full(count, -1, np.int64)
        for i, state in enumerate(states):
            if rng.random() < 0.8:  # the others are left alone for once
                move = int(rng.choice(state.legal_moves()))
                actions[i], states[i] = state.action_of(move), state.play(move)
        batch.play(games, actions)
    assert ended


def test_games_are_loaded_copied_and_followed_with_all_that_the_rules_remember(game: Game) -> None:
    batch, states = game.batch(options_of(game)), random_game(game, 3, 60)
    assert_same(batch, loaded(batch, states), states)
    middle = len(states) // 2
    actions = [before.action_of(after.last_move) for before, after in zip(states[middle:], states[middle + 1 :])]
    roots, leaves = batch.allocate(2), batch.allocate(len(actions) + 1)
    batch.copy(loaded(batch, states), np.array([middle]), roots, np.array([1]))
    lengths = np.arange(len(actions) + 1)
    paths = np.tile(np.array(actions, np.int16), (len(lengths), 1))
    batch.follow(roots, np.ones_like(lengths), paths, lengths, leaves)
    assert_same(batch, leaves, states[middle:])
    assert_same(batch, roots, [states[0], states[middle]])


def test_keys_tell_positions_and_players_apart(game: Game) -> None:
    batch = game.batch(options_of(game))
    for state in random_game(game, 4, 40)[:-1:3]:
        children = [state.play(move) for move in state.legal_moves()]
        games = loaded(batch, [state, *children])
        keys = [key_of(games, i) for i in range(len(children) + 1)]
        assert len(set(keys)) == len(keys), f"two of these have the same key:\n{state}"
        again = loaded(batch, [state] * len(children))
        batch.play(again, np.array([state.action_of(move) for move in state.legal_moves()]))
        assert [key_of(again, i) for i in range(len(children))] == keys[1:]


def test_playouts_end(game: Game) -> None:
    batch, state = game.batch(options_of(game)), np.uint64(2463534242)
    values = set()
    for _ in range(50):
        after, value = play_out(batch.allocate(1), 0, np.zeros(batch.actions, np.bool_), state)
        state = np.uint64(after)
        values.add(float(value))
    assert values <= {-1.0, 0.0, 1.0}
    assert len(values) > 1, "every random game ends alike"


# -------------------------------------------------------------------------------- planes and symmetries


def specs(game: Game) -> list[GameSpec]:
    """The game through all of its encoders."""
    return [GameSpec(options_of(game), name) for name in encoder_names(game.name)]


def test_planes_are_the_same_from_arrays_and_from_states(game: Game) -> None:
    states = random_game(game, 5, 30)
    assert specs(game), "a game needs an encoder: `Game.meanings` and `Game.encode`, or a file in encode/"
    for spec in specs(game):
        games = spec.batch.allocate(1)
        for number, state in enumerate(states):
            planes = np.full((2, *spec.shape), 77, np.uint8)
            spec.encoder.encode_games(games, 1, planes)
            assert np.array_equal(planes[:1], spec.encoder.encode([state]))
            assert (planes[1] == 77).all(), "the encoder writes to more games than it is asked for"
            if number + 1 < len(states):
                spec.batch.play(games, np.array([state.action_of(states[number + 1].last_move)]))
        assert len(spec.encoder.meanings) == spec.encoder.planes


def test_symmetric_games_look_and_go_on_symmetrically(game: Game) -> None:
    points, actions = game.symmetries(options_of(game))
    spec, rng = specs(game)[0], np.random.default_rng(6)
    batch, count = spec.batch, len(points)
    for table, length in ((points, batch.height * batch.width), (actions, batch.actions)):
        assert table.shape == (count, length), "a symmetry orders all squares, and all actions: is a pass among them?"
        assert (np.sort(table, axis=1) == np.arange(length)).all()
        assert (table[0] == np.arange(length)).all(), "symmetry 0 changes nothing"
    games = batch.allocate(count)
    for _ in range(30):
        legal, over, values = judged(batch, games, count)
        planes = np.zeros((count, *spec.shape), np.uint8)
        spec.encoder.encode_games(games, count, planes)
        flat = planes.reshape(count, spec.encoder.planes, -1)
        for k in range(count):
            assert np.array_equal(flat[k], flat[0][:, points[k]]), f"symmetry {k}: the start must be symmetric too"
            assert np.array_equal(legal[k], legal[0][actions[k]])
        assert len(set(over.tolist())) == len(set(values.tolist())) == 1
        if over[0]:
            break
        action = rng.choice(np.flatnonzero(legal[0]))
        batch.play(games, np.array([int(np.flatnonzero(row == action)[0]) for row in actions]))


# ---------------------------------------------------------------------------------- options and records


def test_options_go_and_come_back(game: Game) -> None:
    options = options_of(game)
    assert game.options.of(options.settings()) == options
    assert options.game == game.name
    state = game.new(options)
    assert str(game.new(game.options_of(state))) == str(state)
    assert game_of(state) is game
    assert game.describe(options)
    with pytest.raises(ValueError, match="colour is not an option of"):
        game.options.of({"colour": "red"})


def test_records_are_read_as_they_were_written(game: Game) -> None:
    for state in (random_game(game, 7)[-1], random_game(game, 8, 7)[-1]):
        record = Record(first="Ada", second="Bo", comments={1: "good"})
        read, result = game.read(game.write(state, record))
        assert str(read) == str(state)
        assert read.move_number == state.move_number
        assert result == (state.result() if state.is_over else result)
    with pytest.raises(ValueError):
        game.read(b"nonsense")


def test_moves_are_understood_as_records_write_them(game: Game) -> None:
    for state in random_game(game, 23)[:-1]:
        assert game.notation(state, RESIGN) == "resign"
        for move in state.legal_moves():
            assert state.parse_move(game.notation(state, move)) == move


def test_a_position_is_shown(game: Game) -> None:
    state: AnyState = game.new(options_of(game))
    assert str(state) != str(state.play(state.parse_move(game.example_move)))
    assert game.picture(state).startswith("<svg")


def test_monte_carlo_tree_search_plays_it(game: Game) -> None:
    agent, state = load_agent("mcts:playouts=16", seed=1), game.new(options_of(game))
    assert agent.choose(state).move in state.legal_moves()
    assert game.default_agent
