"""Greedy games in lock-step choose what the slow, obvious version chooses."""

import numpy as np
import pytest

from tengen.encode import get_encoder
from tengen.games import go
from tengen.games.game import get_game, open_batch
from tengen.games.go.rules import GoOptions
from tengen.games.state import Options
from tengen.games.tictactoe.game import TicTacToeOptions
from tengen.nets.network import Network, TorchEvaluator, build_network
from tengen.search.leaves import AfterMoves, NetworkEvaluation, PolicyAndValue, UniformPolicy
from tengen.search.lockstep import TreePlay, ValuePlay, final_results, play_at_random
from tengen.search.puct import Puct, PuctParameters
from tengen.search.searcher import Searcher

SIMPLE_GO = GoOptions(size=4, rules="simple-go", komi=1.5)


def networks(options: Options, encoder: str) -> dict[str, Network]:
    """One for the positions after each player's moves."""
    batch, planes = open_batch(options), get_encoder(encoder).planes
    made = {}
    for seed, after in enumerate(("first", "second")):
        board = {"width": batch.width, "actions": batch.actions}
        network = build_network("simple-go", planes, batch.height, seed=seed, filters=(8, 8), after=after, **board)
        made[after] = network.eval()
    return made


def player(options: Options, encoder: str, by_side: dict[str, Network]) -> AfterMoves:
    batch = open_batch(options)
    first, second = (
        NetworkEvaluation(batch, get_encoder(encoder), TorchEvaluator(by_side[after]), policy=False)
        for after in ("first", "second")
    )
    return AfterMoves(batch, first, second)


def slow_choice(state: go.State, encoder: str, by_side: dict[str, Network]) -> tuple[dict[int, float], int]:
    """The value of every move to who makes it, by one position at a time, and the best move."""
    after = "first" if state.to_play == 1 else "second"
    values = {}
    for move in get_game(state.game).sensible_moves(state):
        child = state.play(move)
        if child.is_over:
            winner = child.winner()
            values[move] = 0.0 if not winner else 1.0 if winner == state.to_play else -1.0
        else:
            found = TorchEvaluator(by_side[after]).evaluate(get_encoder(encoder).encode([child]))[1]
            assert found is not None
            values[move] = -float(found[0])
    return values, max(values, key=lambda move: values[move])


@pytest.mark.parametrize(
    ("options", "encoder"), [(SIMPLE_GO, "stones"), (TicTacToeOptions(), "tictactoe")], ids=["simple-go", "tictactoe"]
)
def test_the_moves_are_those_of_the_slow_version(options: Options, encoder: str) -> None:
    game, batch = get_game(options.game), open_batch(options)
    by_side = networks(options, encoder)
    play, count = ValuePlay(batch, [player(options, encoder, by_side)]), 12
    rng = np.random.default_rng(1)
    boards, states = batch.allocate(count), [game.new(options) for _ in range(count)]
    checked, movers = 0, np.zeros(count, np.int64)
    while not all(state.is_over for state in states):
        at_random = rng.random(count) < 0.5
        values = {
            i: play.values(boards, i, 0) for i, state in enumerate(states) if not state.is_over and not at_random[i]
        }
        actions = play.choose(boards, movers, at_random, rng.random(count))
        for i, state in enumerate(states):
            if state.is_over:
                assert actions[i] == -1
                continue
            if i in values:
                expected, best = slow_choice(state, encoder, by_side)
                found = {state.move_of(action): value for action, value in values[i].items()}
                assert found == pytest.approx(expected, abs=1e-5)
                assert expected[state.move_of(int(actions[i]))] == pytest.approx(expected[best], abs=1e-5)
                checked += 1
            states[i] = state.play(state.move_of(int(actions[i])))
        batch.play(boards, actions)
    assert checked > 30
    winners = {1: 1, 2: -1}
    results = final_results(batch, boards, count)
    assert results.tolist() == [winners.get(state.winner() or 0, 0) for state in states]


def test_repeated_positions_are_evaluated_once() -> None:
    batch = open_batch(SIMPLE_GO)
    play = ValuePlay(batch, [player(SIMPLE_GO, "stones", networks(SIMPLE_GO, "stones"))])
    boards, movers, none = batch.allocate(100), np.zeros(100, np.int64), np.zeros(100, np.bool_)
    actions = play.choose(boards, movers, none, np.zeros(100))
    assert (actions == actions[0]).all()
    assert play.children == 1600 and play.evaluations == 16
    batch.play(boards, actions)
    play.choose(boards, movers, none, np.zeros(100))
    assert play.evaluations == 16 + 15


def test_more_children_than_there_is_room_for_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = open_batch(SIMPLE_GO)
    boards, movers, none = batch.allocate(50), np.zeros(50, np.int64), np.zeros(50, np.bool_)
    batch.play(boards, np.arange(50) % 17)
    by_side = networks(SIMPLE_GO, "stones")
    plenty = ValuePlay(batch, [player(SIMPLE_GO, "stones", by_side)]).choose(boards, movers, none, np.zeros(50))
    monkeypatch.setattr("tengen.search.lockstep._ROOM", 40)
    little = ValuePlay(batch, [player(SIMPLE_GO, "stones", by_side)]).choose(boards, movers, none, np.zeros(50))
    assert little.tolist() == plenty.tolist()


def test_random_moves_are_all_alike_and_players_without_a_network_draw_theirs() -> None:
    batch = open_batch(GoOptions(size=3, rules="simple-go", komi=0.5))
    count = 9000
    boards, rng, movers = batch.allocate(count), np.random.default_rng(1), np.zeros(count, np.int64)
    actions = ValuePlay(batch, [None]).choose(boards, movers, movers < 0, rng.random(count))
    counts = np.bincount(actions, minlength=10)
    assert counts[9] == 0 and np.abs(counts[:9] - 1000).max() < 120
    left_out = ValuePlay(batch, [None]).choose(boards, np.full(count, -1), np.ones(count, np.bool_), rng.random(count))
    assert (left_out == -1).all()


def test_random_games_are_games_of_legal_moves_to_their_end() -> None:
    batch = open_batch(SIMPLE_GO)
    boards = batch.allocate(200)
    actions = play_at_random(batch, boards, 200, seed=5)
    assert np.array_equal(actions, play_at_random(batch, batch.allocate(200), 200, seed=5))
    assert len({tuple(row) for row in actions.tolist()}) == 200
    for row in actions[:10]:
        state = go.State.new(4, "simple-go", 1.5)
        for action in row[row >= 0].tolist():
            assert state.is_legal(state.move_of(action))
            state = state.play(state.move_of(action))
        assert state.is_over


def test_games_by_tree_search_are_those_that_a_searcher_of_its_own_would_play() -> None:
    batch, count = open_batch(SIMPLE_GO), 4
    by_side = networks(SIMPLE_GO, "stones")
    play = TreePlay(batch, player(SIMPLE_GO, "stones", by_side), simulations=30, trees=count, seed=1)
    boards, movers, rng = batch.allocate(count), np.zeros(count, np.int64), np.random.default_rng(1)
    batch.play(boards, np.arange(count))
    first = play.choose(boards, movers, np.zeros(count, np.bool_), rng.random(count))
    for i in range(count):
        alone = batch.allocate(1)
        batch.play(alone, np.array([i]))
        leaf = PolicyAndValue(UniformPolicy(), player(SIMPLE_GO, "stones", by_side))
        searcher = Searcher(batch, leaf, Puct(PuctParameters(1.0, fpu_reduction=0.0)), seed=1)
        assert int(searcher.search(alone, np.arange(1), 30).chosen[0]) == first[i]
    batch.play(boards, first)
    while (movers >= 0).any():
        actions = play.choose(boards, movers, rng.random(count) < 0.3, rng.random(count))
        batch.play(boards, actions)
        movers[actions < 0] = -1
    assert (final_results(batch, boards, count) != 0).all() and 0 < play.evaluations <= play.children + count * 100
