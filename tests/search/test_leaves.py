"""What leaves are worth: networks, playouts, mixtures of both, and positions that are known exactly."""

from typing import Any

import numpy as np
import pytest

from tengen.encode.game_spec import GameSpec
from tengen.games import microchess
from tengen.games.game import open_batch
from tengen.games.go import BLACK, PASS
from tengen.games.go.rules import GoOptions
from tengen.games.microchess.board import MicrochessOptions
from tengen.search.leaves import (
    KnownPositions,
    LeafEvaluation,
    Leaves,
    MixedEvaluation,
    NetworkEvaluation,
    PlayoutEvaluation,
    new_leaves,
)
from tengen.search.puct import Puct
from tengen.search.searcher import Searcher
from tengen.search.tree import TERMINAL

from ..games.go.positions import state_from
from .networks import Opinionated, Uniform
from .tictactoe import TicTacToe, all_positions, best_squares, minimax


class Saying:
    """An evaluation that says one thing about every leaf that is not over, and counts what it was asked."""

    def __init__(self, value: float, logit: float) -> None:
        self.value, self.logit, self.asked, self.warmed = value, logit, 0, 0

    def evaluate(self, games: Any, count: int, leaves: Leaves) -> int:
        going_on = np.flatnonzero(~leaves.over[:count])
        leaves.values[going_on], leaves.logits[going_on] = self.value, self.logit
        self.asked += len(going_on)
        return len(going_on)

    def warm_up(self, most: int) -> None:
        self.warmed += most


def evaluated(evaluation: LeafEvaluation, over: list[bool], actions: int = 9) -> tuple[Leaves, int]:
    leaves = new_leaves(len(over), actions)
    leaves.over[:] = over
    computed = evaluation.evaluate(TicTacToe().allocate(len(over)), len(over), leaves)
    return leaves, computed


# --------------------------------------------------------------------------------------------- networks


def test_a_network_is_asked_about_what_goes_on_and_is_not_known() -> None:
    game = TicTacToe()
    network = Opinionated(game)
    evaluation = NetworkEvaluation(game, game.encoder, network)
    games, leaves = game.allocate(4), new_leaves(4, 9)
    games.squares[2, 4] = 1
    leaves.over[3] = True
    assert evaluation.evaluate(games, 4, leaves) == 2, "the first two are the same"
    planes = np.zeros((4, *game.shape), np.uint8)
    game.encode_games(games, 4, planes)
    logits, values = network.evaluate(planes)
    assert np.array_equal(leaves.values[:3], values[:3]) and np.array_equal(leaves.logits[:3], logits[:3])
    assert evaluation.evaluate(games, 3, leaves) == 0, "all of it is remembered"


# --------------------------------------------------------------------------------------------- playouts


def test_playouts_of_finished_and_of_decided_games_are_exact() -> None:
    """White mates or is mated by the only move there is; every playout of these ends alike."""
    batch = open_batch(MicrochessOptions())
    evaluation = PlayoutEvaluation(batch, playouts=5, seed=1)
    games, leaves = batch.allocate(1), new_leaves(1, batch.actions)
    batch.load(games, 0, microchess.State.from_fen("k3/4/4/4/3K w - - 0 1"))  # two kings are a draw
    batch.judge(games, 1, leaves.legal, leaves.over, leaves.results)
    assert leaves.over[0] and evaluation.evaluate(games, 1, leaves) == 0, "what is over is not played out"

    go = open_batch(GoOptions(5, "tromp-taylor", 0.5))
    owned = state_from(". X . X .\n X X X X X\n . X . X .\n X X X X X\n . X . X .", "tromp-taylor", BLACK, 0.5)
    games, leaves = go.allocate(2), new_leaves(2, go.actions)
    go.load(games, 0, owned)
    go.load(games, 1, owned.play(PASS))
    assert PlayoutEvaluation(go, playouts=20, seed=1).evaluate(games, 2, leaves) == 2
    assert leaves.values.tolist() == [1.0, -1.0], "won for Black, and lost for White to move"
    assert not leaves.logits.any(), "every action is as likely as any other"


def test_the_value_is_the_mean_of_the_playouts() -> None:
    batch = open_batch(MicrochessOptions())
    games, leaves = batch.allocate(200), new_leaves(200, batch.actions)
    for i in range(200):
        batch.load(games, i, microchess.State.from_fen("k3/4/4/2Q1/3K w - - 0 1"))
    PlayoutEvaluation(batch, playouts=1, seed=1).evaluate(games, 200, leaves)
    assert set(leaves.values.tolist()) <= {-1.0, 0.0, 1.0}
    singles = float(leaves.values.mean())
    assert PlayoutEvaluation(batch, playouts=400, seed=2).evaluate(games, 1, leaves) == 1
    assert leaves.values[0] == pytest.approx(singles, abs=0.15)
    assert leaves.values[0] * 400 == pytest.approx(round(float(leaves.values[0]) * 400), abs=1e-3)


def test_playouts_come_from_the_seed_and_are_never_remembered() -> None:
    batch = open_batch(GoOptions(5, "chinese", 3.5))
    games = batch.allocate(64)

    def values(seed: int, rounds: int = 1) -> list[float]:
        evaluation, leaves = PlayoutEvaluation(batch, seed=seed), new_leaves(64, batch.actions)
        for _ in range(rounds):
            assert evaluation.evaluate(games, 64, leaves) == 64
        return leaves.values.tolist()

    assert values(1) == values(1) != values(2)
    assert values(1, rounds=2) != values(1)
    assert len(set(values(1))) > 1, "the same position is played out anew in every place of a batch"


def test_playouts_leave_the_positions_as_they_are() -> None:
    batch = open_batch(GoOptions(5, "chinese", 3.5))
    games, before = batch.allocate(3), batch.allocate(3)
    PlayoutEvaluation(batch, playouts=3, seed=1).evaluate(games, 3, new_leaves(3, batch.actions))
    assert np.array_equal(games.boards.color, before.boards.color)
    assert np.array_equal(games.length, before.length)


# --------------------------------------------------------------------------------------------- mixtures


@pytest.mark.parametrize(("weight", "value"), [(0.0, 0.8), (0.25, 0.5), (0.5, 0.2), (1.0, -0.4)])
def test_a_mixture_is_the_weighted_mean_of_values_with_the_policy_of_the_first(weight: float, value: float) -> None:
    one, other = Saying(0.8, 3.0), Saying(-0.4, 7.0)
    mixed = MixedEvaluation(one, other, weight)
    leaves, computed = evaluated(mixed, [False, True, False])
    assert leaves.values[[0, 2]] == pytest.approx([value, value])
    assert leaves.logits[[0, 2]].tolist() == [[3.0] * 9] * 2
    assert computed == one.asked + other.asked == 4
    mixed.warm_up(5)
    assert one.warmed == other.warmed == 5


@pytest.mark.parametrize("weight", [-0.1, 1.1, float("nan")])
def test_weights_that_are_no_shares_are_refused(weight: float) -> None:
    with pytest.raises(ValueError, match="give a share from 0 to 1"):
        MixedEvaluation(Saying(0, 0), Saying(0, 0), weight)


def test_the_playouts_of_a_mixture_are_not_cached_with_the_network() -> None:
    spec = GameSpec(GoOptions(5, "chinese", 3.5), "compact")
    network = NetworkEvaluation(spec.batch, spec.encoder, Opinionated(spec))
    mixed = MixedEvaluation(network, PlayoutEvaluation(spec.batch, seed=1))
    games, leaves = spec.batch.allocate(1), new_leaves(1, spec.batch.actions)
    seen = set()
    for _ in range(20):
        computed = mixed.evaluate(games, 1, leaves)
        seen.add(float(leaves.values[0]))
    assert computed == 1, "the network's part is remembered, the playout is not"
    assert len(seen) > 1
    alone = new_leaves(1, spec.batch.actions)
    assert network.evaluate(games, 1, alone) == 0
    assert {round(2 * value - float(alone.values[0]), 3) for value in seen} <= {-1.0, 0.0, 1.0}


# -------------------------------------------------------------------------------- what is known exactly


def knows_late_positions(games: Any, count: int, leaves: Leaves) -> None:
    """A table of all positions of tic-tac-toe with six stones or more."""
    for k in range(count):
        board = tuple(games.squares[k].tolist())
        if not leaves.over[k] and sum(map(bool, board)) >= 6:
            leaves.over[k], leaves.legal[k], leaves.results[k] = True, False, minimax(board)


def test_what_is_known_is_not_asked_for() -> None:
    otherwise = Saying(0.3, 0.0)
    known = KnownPositions(knows_late_positions, otherwise)
    game, leaves = TicTacToe(), new_leaves(2, 9)
    games = game.allocate(2)
    game.load(games, 1, (1, 2, 1, 2, 1, 0, 2, 0, 0))
    game.judge(games, 2, leaves.legal, leaves.over, leaves.results)
    assert known.evaluate(games, 2, leaves) == otherwise.asked == 1
    assert leaves.over.tolist() == [False, True]
    assert leaves.values[0] == np.float32(0.3)
    assert leaves.results[1] == minimax((1, 2, 1, 2, 1, 0, 2, 0, 0))
    known.warm_up(3)
    assert otherwise.warmed == 3


def test_a_search_takes_known_positions_for_finished_games() -> None:
    game = TicTacToe()
    network = NetworkEvaluation(game, game.encoder, Uniform(game))
    boards = [board for board in all_positions() if sum(map(bool, board)) == 4][::20]
    searcher = Searcher(game, KnownPositions(knows_late_positions, network), Puct(), trees=len(boards), nodes=200)
    roots = game.allocate(len(boards))
    for i, board in enumerate(boards):
        game.load(roots, i, board)
    result = searcher.search(roots, np.arange(len(boards)), 60)
    for i, board in enumerate(boards):
        assert int(result.chosen[i]) in best_squares(board)
        assert searcher.trees.used[i] <= 1 + 5 + 5 * 4, "nothing grows below six stones"
    assert (searcher.trees.stage[:, 1:6] == TERMINAL).mean() > 0.5


def test_puct_with_playouts_plays_go_sensibly() -> None:
    """Black to move captures two stones in atari, and owns the board with them."""
    batch = open_batch(GoOptions(4, "tromp-taylor", 0.5))
    state = state_from(". X X .\n X O O .\n X X X X\n . X . X", "tromp-taylor", BLACK, 0.5)
    roots = batch.allocate(1)
    batch.load(roots, 0, state)
    searcher = Searcher(batch, PlayoutEvaluation(batch, seed=1), Puct(), seed=1)
    result = searcher.search(roots, np.array([0]), 400)
    assert result.chosen[0] == 7
    assert result.value[0] > 0.7
