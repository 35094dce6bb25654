"""Go in search and self-play: friendly states go in with their past, and come out as a network sees them."""

import numpy as np
import pytest

from tengen.encode import encoder_names, get_encoder
from tengen.encode.alphago import SENSIBLENESS
from tengen.encode.game_spec import GameSpec
from tengen.games import go
from tengen.games.batch import BatchedGame
from tengen.games.game import get_game, open_batch
from tengen.games.go import BLACK, PASS, WHITE
from tengen.games.go.batch import BatchedGo
from tengen.games.go.rules import GoOptions

from ..games.go.positions import pick, random_game, state_from

ENCODERS = encoder_names()


def some_states(size: int, rules: str, seed: int) -> list[go.State]:
    """Positions of random games and of one from a set-up, none of them over."""
    rng = np.random.default_rng(seed)
    states = [state for _ in range(4) for state in random_game(size, rules, rng, 40)[::3]]
    state = go.State.setup(size, rules, None, [0, 3], [1, 6], WHITE)
    for move in (8, 7, PASS, 5):
        if state.is_legal(move):
            state = state.play(move)
            states.append(state)
    return [state for state in states if not state.is_over]


def load_all(game: BatchedGame, states: list[go.State]) -> object:
    games = game.allocate(len(states))
    for i, state in enumerate(states):
        game.load(games, i, state)
    return games


def judge(game: BatchedGame, games: object, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    legal = np.zeros((count, game.actions), np.bool_)
    over, values = np.zeros(count, np.bool_), np.zeros(count, np.float32)
    game.judge(games, count, legal, over, values)
    return legal, over, values


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("size", [3, 5, 9])
def test_loaded_states_look_to_the_network_as_they_do_elsewhere(encoder: str, size: int) -> None:
    spec = GameSpec(GoOptions(size, "chinese", limit=200), encoder)
    states = some_states(size, "chinese", seed=size)
    planes = np.full((len(states) + 3, *spec.shape), 77, np.uint8)
    spec.encoder.encode_games(load_all(spec.batch, states), len(states), planes)
    assert np.array_equal(planes[: len(states)], get_encoder(encoder).encode(states))
    assert (planes[len(states) :] == 77).all()


@pytest.mark.parametrize("encoder", ENCODERS)
def test_games_played_on_from_there_look_right_too(encoder: str) -> None:
    spec = GameSpec(GoOptions(5, "aga", limit=200), encoder)
    game = spec.batch
    states = some_states(5, "aga", seed=7)
    games, rng = load_all(game, states), np.random.default_rng(1)
    for _ in range(6):
        legal, over, _ = judge(game, games, len(states))
        assert over.tolist() == [state.is_over for state in states]
        actions = np.where(over, -1, (legal * rng.random(legal.shape)).argmax(axis=1))
        for i, action in enumerate(actions):
            if action >= 0:
                move = states[i].move_of(int(action))
                assert states[i].action_of(move) == action
                states[i] = states[i].play(move)
        game.play(games, actions)
    assert game.to_play(games).tolist() == [state.to_play for state in states]
    planes = np.zeros((len(states), *spec.shape), np.uint8)
    spec.encoder.encode_games(games, len(states), planes)
    assert np.array_equal(planes, get_encoder(encoder).encode(states))


@pytest.mark.parametrize("rules", ["tromp-taylor", "aga", "new-zealand", "simple-go"])
@pytest.mark.parametrize("size", [4, 7])
def test_whole_games_in_lockstep_look_to_every_encoder_as_their_states_do(rules: str, size: int) -> None:
    """Captures, passes, suicide where the rules have it, set-up and handicap stones."""
    rng = np.random.default_rng(size)
    states = [go.State.new(size, rules) for _ in range(3)]
    states.append(go.State.setup(size, rules, None, [0, 3], [1, 6], WHITE))
    states += [go.State.new(size, rules, handicap=3)] if size >= 7 else []
    specs = [GameSpec(GoOptions(size, rules, limit=400), name) for name in ENCODERS]
    games = [load_all(spec.batch, states) for spec in specs]
    for ply in range(90):
        moves = [None if state.is_over else pick(state, int(rng.integers(10**6))) for state in states]
        actions = [-1 if move is None else state.action_of(move) for state, move in zip(states, moves)]
        states = [state if move is None else state.play(move) for state, move in zip(states, moves)]
        for spec, boards in zip(specs, games):
            spec.batch.play(boards, np.array(actions))
            if ply % 6 == 5:
                planes = np.full((len(states), *spec.shape), 77, np.uint8)
                spec.encoder.encode_games(boards, len(states), planes)
                assert np.array_equal(planes, spec.encoder.encode(states)), (spec.encoder_name, ply)
    assert sum(sum(state.captures) for state in states) > 10
    for spec, boards in zip(specs, games):  # and loaded again in the middle of the game
        again = load_all(spec.batch, states)
        planes = np.zeros((2, len(states), *spec.shape), np.uint8)
        spec.encoder.encode_games(boards, len(states), planes[0])
        spec.encoder.encode_games(again, len(states), planes[1])
        assert np.array_equal(planes[0], planes[1])


@pytest.mark.parametrize("rules", ["tromp-taylor", "chinese", "new-zealand", "simple-go"])
def test_sensible_actions_are_those_of_the_48_planes(rules: str) -> None:
    states = [state for seed in range(8) for state in some_states(5, rules, seed)]
    spec = GameSpec(GoOptions(5, rules, limit=200), "alphago")
    games = load_all(spec.batch, states)
    legal, _, _ = judge(spec.batch, games, len(states))
    sensible = legal.copy()
    spec.batch.keep_sensible(games, len(states), sensible)
    planes = spec.encoder.encode(states)[:, SENSIBLENESS].reshape(len(states), -1) > 0
    if rules == "simple-go":  # whose rules forbid what is not sensible
        assert np.array_equal(sensible, legal)
    else:
        assert np.array_equal(sensible[:, :-1], legal[:, :-1] & planes)
        assert (sensible != legal).any()
    assert np.array_equal(sensible[:, -1], legal[:, -1] & ~sensible[:, :-1].any(axis=1))


@pytest.mark.parametrize("rules", ["tromp-taylor", "chinese", "aga", "new-zealand", "simple-go"])
def test_loaded_states_have_their_legal_moves_superko_included(rules: str) -> None:
    game = open_batch(GoOptions(5, rules, limit=200))
    states = some_states(5, rules, seed=3)
    legal, over, _ = judge(game, load_all(game, states), len(states))
    assert not over.any()
    for row, state in zip(legal, states):
        assert np.flatnonzero(row).tolist() == [state.action_of(move) for move in state.legal_moves()]


def test_finished_games_are_worth_what_they_are_counted() -> None:
    owned = """
        . X O .
        X X O O
        . X O O
        X X O .
    """
    for komi, black in ((-0.5, 1), (0.0, 0), (0.5, -1)):
        game = open_batch(GoOptions(4, "chinese", komi))
        state = state_from(owned, "chinese", BLACK, komi).play(PASS).play(PASS)
        games = load_all(game, [state, state_from(owned, "chinese", WHITE, komi).play(PASS).play(PASS)])
        _, over, values = judge(game, games, 2)
        assert over.all()
        assert values.tolist() == [black, -black]
        margins, ownership = game.score(games, np.array([1]))
        assert margins.tolist() == [-komi]
        assert ownership.tolist() == [[1, 1, -1, -1] * 4]


def test_a_loaded_set_up_counts_its_moves_from_there() -> None:
    state = go.State.setup(3, "chinese", 0, [0, 1], [7, 8]).play(4)
    game = open_batch(GoOptions(3, "chinese", 0, limit=3))
    games = load_all(game, [state])
    for action in (2, 6):
        assert not judge(game, games, 1)[1][0]
        game.play(games, np.array([action]))
    assert judge(game, games, 1)[1][0]


def test_the_limit_of_moves_is_three_times_the_points_where_none_is_given() -> None:
    assert BatchedGo(GoOptions(5)).limit == 75
    assert BatchedGo(GoOptions(5, limit=9)).limit == 9


def test_what_cannot_be_loaded_or_opened_is_refused_with_a_remedy() -> None:
    game = open_batch(GoOptions(3, limit=4))
    long = go.State.new(3)
    for move in (0, 1, 2, 3, 4):
        long = long.play(move)
    with pytest.raises(ValueError, match="5 moves is too long here: the limit is 4"):
        game.load(game.allocate(1), 0, long)
    with pytest.raises(ValueError, match="on 5x5, and this is set up for 3"):
        game.load(game.allocate(1), 0, go.State.new(5))
    with pytest.raises(ValueError, match="japanese rules do not: take chinese"):
        open_batch(GoOptions(5, "japanese"))
    with pytest.raises(ValueError, match="alphago shows how old stones are, and these games do not keep it"):
        get_encoder("alphago").encode_games(game.allocate(1), 1, np.zeros((1, 48, 3, 3), np.uint8))
    with pytest.raises(ValueError, match="no rule set"):
        GoOptions(5, "house")
    with pytest.raises(ValueError, match="no game is called 'shogi'"):
        get_game("shogi")
