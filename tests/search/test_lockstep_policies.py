"""Games in lock-step whose moves are drawn from policies."""

import numpy as np
import pytest
from numpy.typing import NDArray

from tengen.encode import encoder_names, get_encoder
from tengen.encode.alphago import SENSIBLENESS
from tengen.games import go
from tengen.games.game import get_game, open_batch
from tengen.games.go import BLACK, WHITE
from tengen.games.go.rules import GoOptions
from tengen.games.microchess.board import MicrochessOptions
from tengen.games.state import Options
from tengen.search.lockstep import PolicyPlay, PolicyPlayer, batch_for, draw_actions, final_results, play_to_end

from ..games.go.positions import state_from


class Fixed:
    """Says the same logits of every position, and notes what it was shown."""

    def __init__(self, logits: NDArray[np.float32]) -> None:
        self.logits, self.seen = logits, []  # type: ignore[var-annotated]

    def evaluate(self, planes: NDArray[np.uint8]) -> tuple[NDArray[np.float32], None]:
        self.seen.append(planes.copy())
        return np.repeat(self.logits[None], len(planes), axis=0), None


def player(name: str, logits: NDArray[np.float32]) -> PolicyPlayer:
    return PolicyPlayer(get_encoder(name), Fixed(logits))  # type: ignore[arg-type]


def test_actions_are_drawn_as_the_softmax_over_legal_ones_says() -> None:
    logits = np.array([0.5, 9.0, -1.0, 0.0, 2.0], np.float32)
    legal = np.array([True, False, True, True, True])
    count = 40_000
    for temperature in (1.0, 0.5, 3.0):
        actions = np.full(count, -1)
        uniform = np.random.default_rng(1).random(count)
        draw_actions(
            np.tile(logits, (count, 1)), np.tile(legal, (count, 1)), temperature, uniform, np.arange(count), actions
        )
        shares = np.where(legal, np.exp(logits / temperature), 0)
        found = np.bincount(actions, minlength=5) / count
        assert np.abs(found - shares / shares.sum()).max() < 0.01
    actions = np.full(2, -1)
    draw_actions(logits[None], legal[None], 0.0, np.array([0.3]), np.array([1]), actions)
    assert actions.tolist() == [-1, 4]


def test_every_mover_is_asked_about_its_own_games_in_one_batch() -> None:
    game = open_batch(GoOptions(3), 1)
    boards = game.allocate(6)
    game.play(boards, np.array([0, 1, 2, 3, -1, -1]))
    ones, twos = (player("oneplane", np.eye(10, dtype=np.float32)[k] * 50) for k in (7, 8))
    play = PolicyPlay(game, [ones, twos, None], seed=1)
    actions = play.choose(boards, np.array([1, 0, 1, 1, -1, 2]))
    assert actions[:5].tolist() == [8, 7, 8, 8, -1]
    assert play.chances[:5] == pytest.approx(1) and play.chances[5] == pytest.approx(1 / 9)
    assert 0 <= actions[5] <= 9
    assert [len(seen) for seen in ones.evaluator.seen] == [1]  # type: ignore[attr-defined]
    (seen,) = twos.evaluator.seen  # type: ignore[attr-defined]
    states = [go.State.new(3).play(move) for move in (0, 2, 3)]
    assert np.array_equal(seen, get_encoder("oneplane").encode(states))


def test_own_eyes_stay_and_a_pass_is_all_that_is_left() -> None:
    alive = """
        . X . X
        X X X X
        X X X .
        X X . X
    """
    for color, wanted in ((BLACK, [16]), (WHITE, [16])):  # for White every point is suicide
        game = batch_for(GoOptions(4, "tromp-taylor", 0.5), [get_encoder("alphago")])
        boards = game.allocate(50)
        for i in range(50):
            game.load(boards, i, state_from(alive, "tromp-taylor", color, 0.5))
        fond_of_eyes = player("alphago", np.where(np.arange(17) == 16, -30, 30).astype(np.float32))
        actions = PolicyPlay(game, [fond_of_eyes], seed=2).choose(boards, np.zeros(50, np.int64))
        assert set(actions.tolist()) == set(wanted)
        assert not fond_of_eyes.evaluator.seen[0][:, SENSIBLENESS].any()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "options", [GoOptions(3, "chinese", 1.5), GoOptions(3, "simple-go", limit=40), MicrochessOptions()]
)
def test_games_are_played_to_their_end_and_counted_as_their_states_are(options: Options) -> None:
    names = encoder_names(options.game)[-2:]
    game = batch_for(options, [get_encoder(name) for name in names])
    players = [player(name, np.zeros(game.actions, np.float32)) for name in names]
    boards, first = game.allocate(40), np.tile([0, 1], 20)
    turns = play_to_end(PolicyPlay(game, players, seed=3), boards, first, 1 - first)
    results = final_results(game, boards, 40)
    assert set(results.tolist()) <= {-1, 0, 1} and len(set(results.tolist())) > 1
    for i in range(0, 40, 7):
        state = get_game(options.game).new(options)
        assert (turns.actions[i, turns.lengths[i] :] == -1).all()
        for action, who in zip(turns.actions[i, : turns.lengths[i]], turns.players[i]):
            assert not state.is_over and who == state.to_play
            state = state.play(state.move_of(int(action)))
        outcome = get_game(options.game).outcome(state)
        assert results[i] == {1: 1, 2: -1, 0: 0}[outcome.winner], outcome


def test_games_are_the_same_with_the_same_seed() -> None:
    game = open_batch(GoOptions(4))

    def play(seed: int) -> NDArray[np.int16]:
        return play_to_end(PolicyPlay(game, [None], seed), game.allocate(8), *np.zeros((2, 8), np.int64)).actions

    assert np.array_equal(play(5), play(5))
    assert not np.array_equal(play(5)[:, :5], play(6)[:, :5])
