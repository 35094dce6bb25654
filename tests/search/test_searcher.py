"""Searches of many games at once: each is what it would be alone, and all of them find the truth."""

import numpy as np
import pytest

from tengen.encode.game_spec import GameSpec
from tengen.games import go
from tengen.games.go import BLACK, PASS, WHITE
from tengen.games.go.rules import GoOptions
from tengen.search.evaluation_cache import new_cache
from tengen.search.gumbel import GumbelParameters
from tengen.search.puct import PuctParameters
from tengen.search.tree import EXPANDED, UNSEEN

from ..games.go.positions import random_game, state_from
from .networks import Opinionated, Seen, Uniform, searcher_of
from .scripted import Said, ScriptedGame, ScriptedNetwork, look, wild_script
from .tictactoe import START, TicTacToe, all_positions, best_squares, minimax

PUCT, GUMBEL = PuctParameters(), GumbelParameters()
both_searches = pytest.mark.parametrize("parameters", [PUCT, GUMBEL], ids=["puct", "gumbel"])


def go_positions(size: int, count: int, seed: int) -> list[go.State]:
    """Positions of random games that are not over."""
    rng = np.random.default_rng(seed)
    states: list[go.State] = []
    while len(states) < count:
        game = random_game(size, "chinese", rng, 2 * size * size)
        states.append(next(state for state in (game[int(rng.integers(len(game)))], game[0]) if not state.is_over))
    return states


def loaded(game: Seen, states: list) -> object:
    roots = game.batch.allocate(len(states))
    for i, state in enumerate(states):
        game.batch.load(roots, i, state)
    return roots


# ----------------------------------------------------------------------------------- together and alone


@both_searches
@pytest.mark.parametrize("leaves", [1, 4])
def test_trees_in_lockstep_are_those_of_each_game_alone(
    parameters: PuctParameters | GumbelParameters, leaves: int
) -> None:
    game = GameSpec(GoOptions(5, "chinese", 3.5), "compact")
    states = go_positions(5, 12, seed=1)
    together = searcher_of(game, Opinionated(game), parameters, trees=12, nodes=3000, leaves=leaves)
    results = together.search(loaded(game, states), np.arange(12), 70)
    for i, state in enumerate(states):
        alone = searcher_of(game, Opinionated(game), parameters, nodes=3000, leaves=leaves)
        result = alone.search(loaded(game, [state]), np.array([0]), 70)
        assert look(together.trees, i) == look(alone.trees)
        for name in result._fields:
            assert np.array_equal(getattr(results, name)[i], getattr(result, name)[0]), name


@both_searches
def test_only_the_games_that_are_named_are_searched(parameters: PuctParameters | GumbelParameters) -> None:
    game = GameSpec(GoOptions(5, "chinese", 3.5), "compact")
    states = go_positions(5, 6, seed=2)
    roots = loaded(game, states)
    searcher = searcher_of(game, Opinionated(game), parameters, trees=6, nodes=3000)
    some = np.array([4, 1])
    first = searcher.search(roots, some, 30)
    assert [look(searcher.trees, b).stage for b in (0, 2, 3, 5)] == [UNSEEN] * 4
    rest = searcher.search(roots, np.array([0, 2, 3, 5]), 30)
    again = searcher_of(game, Opinionated(game), parameters, trees=6, nodes=3000).search(roots, np.arange(6), 30)
    assert np.array_equal(again.visits[some], first.visits)
    assert np.array_equal(again.visits[[0, 2, 3, 5]], rest.visits)


@both_searches
def test_games_with_different_numbers_of_simulations_do_not_disturb_each_other(
    parameters: PuctParameters | GumbelParameters,
) -> None:
    game = TicTacToe()
    roots = game.batch.allocate(4)
    searcher = searcher_of(game, Opinionated(game), parameters, trees=4)
    fast = searcher.search(roots, np.array([0, 2]), 8)
    full = searcher.search(roots, np.array([1, 3]), 40)
    for result, simulations in ((fast, 8), (full, 40)):
        alone = searcher_of(game, Opinionated(game), parameters)
        visits = alone.search(game.allocate(1), np.array([0]), simulations).visits
        assert result.visits.tolist() == 2 * visits.tolist()


# ------------------------------------------------------------------------------------------- the cache


@both_searches
@pytest.mark.parametrize("slots", [1, 16, 1 << 14])
def test_the_cache_changes_nothing_but_the_work(parameters: PuctParameters | GumbelParameters, slots: int) -> None:
    game = GameSpec(GoOptions(5, "chinese", 3.5), "compact")
    states = go_positions(5, 5, seed=3) * 2  # every position twice: duplicates inside a batch
    roots = loaded(game, states)
    plain = searcher_of(game, Opinionated(game), parameters, trees=10, nodes=3000, cache=1)
    cached = searcher_of(game, Opinionated(game), parameters, trees=10, nodes=3000, cache=slots)
    index = np.arange(10)
    one, two = plain.search(roots, index, 60), cached.search(roots, index, 60)
    assert np.array_equal(one.visits, two.visits) and np.array_equal(one.policy, two.policy)
    assert plain.counts.simulations == cached.counts.simulations == 600
    assert cached.counts.evaluations <= plain.counts.evaluations <= plain.counts.leaves // 2 + 10
    assert np.array_equal(two.visits[:5], two.visits[5:])


def test_a_position_twice_in_a_batch_is_evaluated_once() -> None:
    game = GameSpec(GoOptions(5, "chinese", 3.5), "compact")
    network = Opinionated(game)
    searcher = searcher_of(game, network, PUCT, trees=64)
    searcher.prepare(game.batch.allocate(64), np.arange(64))
    assert network.batches == [1]
    searcher.search(game.batch.allocate(64), np.arange(64), 10)
    assert max(network.batches) == 1
    searcher.forget(np.arange(64))
    before = searcher.counts.evaluations
    searcher.search(game.batch.allocate(64), np.arange(64), 10)
    assert searcher.counts.evaluations == before, "all of it was known"


def test_a_cache_can_be_shared_by_searchers() -> None:
    game = TicTacToe()
    cache = new_cache(1 << 20, 9)
    first = searcher_of(game, Opinionated(game), PUCT, cache=cache)
    first.search(game.batch.allocate(1), np.array([0]), 50)
    second = searcher_of(game, Opinionated(game), PUCT, cache=cache)
    second.search(game.batch.allocate(1), np.array([0]), 50)
    assert second.counts.evaluations == 0
    assert look(first.trees) == look(second.trees)


# ------------------------------------------------------------------------------------ moving on in games


@both_searches
def test_a_kept_tree_belongs_to_the_game_that_was_played_on(parameters: PuctParameters | GumbelParameters) -> None:
    """Every child of a kept tree is a legal action of the position, and its priors are the network's for it."""
    game = GameSpec(GoOptions(5, "chinese", 3.5), "compact")
    roots, index = game.batch.allocate(8), np.arange(8)
    network, noise = Opinionated(game), {"noise": 0.3} if parameters is PUCT else {}
    searcher = searcher_of(game, network, parameters, rule=noise, trees=8, nodes=6000, seed=1)
    legal, over, values = np.zeros((8, 26), np.bool_), np.zeros(8, np.bool_), np.zeros(8, np.float32)
    kept = 0
    for _ in range(12):
        result = searcher.search(roots, index, 40, explore=1.0)
        game.batch.play(roots, result.chosen)
        searcher.advance(result.chosen)
        game.batch.judge(roots, 8, legal, over, values)
        game.batch.restart(roots, index[over])
        searcher.forget(index[over])
        planes = np.zeros((8, *game.shape), np.uint8)
        game.encoder.encode_games(roots, 8, planes)
        logits, _ = network.evaluate(planes)
        for b in range(8):
            root = look(searcher.trees, b)
            if root.stage == EXPANDED:
                kept += 1
                assert sorted(root.children) == np.flatnonzero(legal[b]).tolist()
                expected = np.exp(logits[b][legal[b]]) / np.exp(logits[b][legal[b]]).sum()
                assert list(root.priors.values()) == pytest.approx(expected.tolist(), abs=1e-5)
    assert kept > 60


def test_visits_of_a_kept_tree_count_on() -> None:
    script = wild_script(2, ends=0)
    game = ScriptedGame(script)
    searcher = searcher_of(game, ScriptedNetwork(script), PUCT)
    roots, only = game.batch.allocate(1), np.array([0])
    first = searcher.search(roots, only, 100)
    child = look(searcher.trees).children[int(first.chosen[0])]
    game.batch.play(roots, first.chosen)
    searcher.advance(first.chosen)
    second = searcher.search(roots, only, 50)
    assert second.visits.sum() == child.visits - 1 + 50


def test_roots_that_cannot_be_searched_are_refused() -> None:
    game, only = TicTacToe(), np.array([0])
    with pytest.raises(ValueError, match="have no room in its tree"):
        searcher_of(game, Uniform(game), PUCT, nodes=9).search(game.batch.allocate(1), only, 5)
    over = loaded(game, [(1, 1, 1, 2, 2, 0, 0, 0, 0)])
    with pytest.raises(ValueError, match="over cannot be searched"):
        searcher_of(game, Uniform(game), PUCT).search(over, only, 5)


def test_a_network_without_a_value_is_refused() -> None:
    class Policy(Uniform):
        def evaluate(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return super().evaluate(planes)[0], None  # type: ignore[return-value]

    game = TicTacToe()
    with pytest.raises(ValueError, match="value head"):
        searcher_of(game, Policy(game), PUCT).search(game.batch.allocate(1), np.array([0]), 1)


def test_the_deepest_path_has_an_end() -> None:
    """A game of one move at a time: after 256 of them the last position is visited again and again."""
    game = ScriptedGame(lambda number: Said(0.1, (1, 0, 0, 0)))
    searcher = searcher_of(game, ScriptedNetwork(game.script), PUCT)
    result = searcher.search(game.batch.allocate(1), np.array([0]), 300)
    assert result.visits[0].tolist() == [300, 0, 0, 0]
    assert searcher.trees.used[0] == 257  # the root, and one child for each position but the deepest's


# ------------------------------------------------------------------------------------ it finds the truth


def test_tic_tac_toe_is_solved_by_puct_from_every_position() -> None:
    """A uniform network, 3,000 simulations: every move chosen is a best one, every value is near the exact one."""
    game, boards = TicTacToe(), all_positions()
    assert len(boards) == 4520 and minimax(START) == 0
    boards = boards[::4]
    searcher = searcher_of(game, Uniform(game), PUCT, trees=len(boards), nodes=4000)
    result = searcher.search(loaded(game, boards), np.arange(len(boards)), 3000)
    assert [board for i, board in enumerate(boards) if int(result.chosen[i]) not in best_squares(board)] == []
    exact = np.array([minimax(board) for board in boards])
    assert np.abs(result.value - exact).max() < 0.2
    assert np.abs(result.value - exact).mean() < 0.03


def test_tic_tac_toe_is_solved_by_gumbel_search_from_nearly_every_position() -> None:
    game, boards = TicTacToe(), [board for board in all_positions()[::4] if sum(map(bool, board)) >= 2]
    searcher = searcher_of(game, Uniform(game), GUMBEL, trees=len(boards), nodes=4000)
    result = searcher.search(loaded(game, boards), np.arange(len(boards)), 600)
    wrong = [board for i, board in enumerate(boards) if int(result.chosen[i]) not in best_squares(board)]
    assert len(wrong) <= len(boards) // 200
    exact = np.array([minimax(board) for board in boards])
    assert np.abs(result.value - exact).mean() < 0.02


def solve(state: go.State, alpha: int = -1, beta: int = 1) -> int:
    """The exact result of a game of Go for the player to move, 1, 0 or -1: alpha-beta to the end, passes first."""
    if state.is_over:
        sign = int(np.sign(state.score(dead=())))
        return sign if state.to_play == BLACK else -sign
    for move in [PASS, *state.legal_moves()[:-1]]:
        alpha = max(alpha, -solve(state.play(move), -beta, -alpha))
        if alpha >= beta:
            break
    return alpha


@both_searches
@pytest.mark.parametrize(("komi", "exact"), [(0.5, 1), (1.5, -1)])
def test_the_smallest_board_is_solved(parameters: PuctParameters | GumbelParameters, komi: float, exact: int) -> None:
    """2x2 Go is worth one point to Black, superko and all."""
    assert solve(go.State.new(2, "tromp-taylor", komi)) == exact
    game = GameSpec(GoOptions(2, "tromp-taylor", komi, limit=200), "compact")
    searcher = searcher_of(game, Uniform(game), parameters, nodes=100_000)
    result = searcher.search(game.batch.allocate(1), np.array([0]), 8000)
    assert result.value[0] == pytest.approx(exact, abs=0.15)
    move = go.State.new(2).move_of(int(result.chosen[0]))
    assert solve(go.State.new(2, "tromp-taylor", komi).play(move)) == -exact


# Games on 3x3 whose last position is far from decided by the eye, but can be solved by alpha-beta; komi is 0.
FIGHTS = [
    [8, 4, 1, 7, 6, 0, PASS, 2, 3, 1],
    [6, 2, 8, 4, 3, 1, 0, 7, 0, 6, 3],
    [6, 3, 0, 2, 5, 1, 7, 4, 8],
    [7, 4, 6, 8, 1, 0, PASS, 3, 2, 5],
    [1, 3, 4, PASS, 8, 0, 5, 7, 6],
    [1, 8, 7, 5, 4, 0, 2, 5, 6, 8],
    [4, 3, 0, 5, 1, 8, 2, 6, 7],
    [8, 3, 0, 5, 7, 6, 1, 2],
    [3, 8, 4, 1, PASS, 2, 0, 7, 5, 2, 6, 1],
    [3, 2, 8, 0, 1, 4, 6, 7, 0, 0, 3, 1],
    [5, 1, 4, 8, 6, 2, 7, 3, 0, 1],
]


@both_searches
def test_fights_on_3x3_are_solved(parameters: PuctParameters | GumbelParameters) -> None:
    states = []
    for moves in FIGHTS:
        state = go.State.new(3, "tromp-taylor", 0.0)
        for move in moves:
            state = state.play(move)
        states.append(state)
    exact = np.array([solve(state) for state in states])
    assert set(exact.tolist()) == {-1, 1}
    game = GameSpec(GoOptions(3, "tromp-taylor", 0.0, limit=200), "compact")
    searcher = searcher_of(game, Uniform(game), parameters, trees=len(states), nodes=60_000)
    result = searcher.search(loaded(game, states), np.arange(len(states)), 6000)
    assert result.value == pytest.approx(exact, abs=0.15)
    for state, action, value in zip(states, result.chosen, exact):
        assert solve(state.play(state.move_of(int(action)))) == -value


def test_values_are_those_of_the_player_to_move() -> None:
    """Black owns the board: good for Black to move, bad for White, whose passes end nothing."""
    owned = """
        . X .
        X X X
        . X .
    """
    game = GameSpec(GoOptions(3, "tromp-taylor", 0.0, limit=200), "compact")
    for to_play, expected in ((BLACK, 1), (WHITE, -1)):
        state = state_from(owned, "tromp-taylor", to_play, 0.0)
        searcher = searcher_of(game, Uniform(game), PUCT, nodes=60_000)
        value = searcher.search(loaded(game, [state]), np.array([0]), 3000).value[0]
        assert value == pytest.approx(expected, abs=0.2)
