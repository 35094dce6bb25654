"""Rollouts whose moves a network proposes."""

import numpy as np
import pytest
from numpy.typing import NDArray

from tengen.encode import get_encoder
from tengen.games.game import get_game
from tengen.games.go.rules import GoOptions
from tengen.games.microchess.board import MicrochessOptions
from tengen.games.state import Options
from tengen.search.leaves import new_leaves
from tengen.search.lockstep import PolicyPlay, PolicyPlayer, batch_for
from tengen.search.rollouts import NetworkRollouts


class Decided:
    """Always prefers actions in the same order, so strongly that it plays no others."""

    architecture = None

    def __init__(self, actions: int) -> None:
        self.logits = 1000 * np.random.default_rng(4).permutation(actions).astype(np.float32)

    def evaluate(self, planes: NDArray[np.uint8]) -> tuple[NDArray[np.float32], None]:
        return np.repeat(self.logits[None], len(planes), axis=0), None


@pytest.mark.parametrize(
    ("options", "encoder"),
    [
        (GoOptions(4, "tromp-taylor", 1.5), "alphago"),
        (GoOptions(3, "chinese", 0.0), "compact"),
        (MicrochessOptions(), "microchess"),
    ],
)
@pytest.mark.parametrize("limit", [0, 3])
def test_each_leaf_is_worth_what_its_game_comes_to(options: Options, encoder: str, limit: int) -> None:
    if limit and options.game != "go":
        pytest.skip("unfinished games are counted in Go alone")
    rng, kind = np.random.default_rng(2), get_game(options.game)
    game = batch_for(options, [get_encoder(encoder)])
    player = PolicyPlayer(get_encoder(encoder), Decided(game.actions))  # type: ignore[arg-type]
    leaves, boards, alone = new_leaves(12, game.actions), game.allocate(12), game.allocate(1)
    play, wanted = PolicyPlay(game, [player], seed=1), []
    for i in range(12):
        state = kind.new(options)
        for _ in range(int(rng.integers(0, 12))):
            if not state.is_over:
                moves = sorted(state.legal_moves())
                state = state.play(moves[int(rng.integers(len(moves)))])
        game.load(boards, i, state)
        leaves.over[i] = state.is_over
        end, actions = state, 0
        game.load(alone, 0, state)
        while not end.is_over and actions != (limit or -1):
            action = play.choose(alone, np.zeros(1, np.int64))
            game.play(alone, action)
            if action[0] < 0:  # games in lock-step have a limit of their own
                break
            end, actions = end.play(end.move_of(int(action[0]))), actions + 1
        if end.is_over:
            first = {1: 1.0, 2: -1.0, 0: 0.0}[kind.outcome(end).winner]
        else:
            first = float(np.sign(game.score(alone, np.arange(1))[0][0]))
        wanted.append(first if state.to_play == 1 else -first)
    leaves.values[:], leaves.logits[:] = 9.0, 9.0
    computed = NetworkRollouts(game, player, limit, seed=3).evaluate(boards, 12, leaves)
    assert computed == (~leaves.over).sum() > 0 and len(set(wanted)) > 1
    for i in range(12):
        assert leaves.values[i] == (9.0 if leaves.over[i] else wanted[i]), i
        assert (leaves.logits[i] == (9.0 if leaves.over[i] else 0.0)).all()


def test_threads_draw_numbers_of_their_own() -> None:
    game = batch_for(GoOptions(5, "chinese", 0.5), [get_encoder("compact")])
    player = PolicyPlayer(get_encoder("compact"), Decided(game.actions))  # type: ignore[arg-type]
    player.evaluator.logits[:] = 0  # type: ignore[attr-defined]
    one = NetworkRollouts(game, player, seed=3)
    leaves, results = new_leaves(64, game.actions), []
    for each in (one, one.another(), NetworkRollouts(game, player, seed=3)):
        each.warm_up(2)
        each.evaluate(game.allocate(64), 64, leaves)
        results.append(leaves.values.tolist())
    assert results[0] == results[2] != results[1]
    with pytest.raises(ValueError, match="rollouts of -1 moves"):
        NetworkRollouts(game, player, -1)
