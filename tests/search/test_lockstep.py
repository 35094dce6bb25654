"""The loop by which many games are played side by side."""

import numpy as np
from numpy.typing import NDArray

from tengen.arena.statistics import Score
from tengen.games.game import open_batch
from tengen.games.tictactoe.game import TicTacToeOptions
from tengen.search.lockstep import PolicyPlay, actions_of, final_results, play_in_lockstep


def test_games_that_are_over_wait_for_the_others() -> None:
    game = open_batch(TicTacToeOptions())
    boards, play = game.allocate(20), PolicyPlay(game, [None], seed=1)
    seen: list[NDArray[np.bool_]] = []

    def choose(turn: int, running: NDArray[np.bool_]) -> NDArray[np.int64]:
        assert turn == len(seen)
        seen.append(running.copy())
        return play.choose(boards, np.where(running, 0, -1))

    actions = actions_of(play_in_lockstep(game, boards, 20, choose), 20)
    lengths = (actions >= 0).sum(axis=1)
    assert actions.shape == (20, lengths.max()) and 5 <= lengths.min() < lengths.max() <= 9
    assert all((row[:length] >= 0).all() and (row[length:] == -1).all() for row, length in zip(actions, lengths))
    assert all((running == (lengths > turn - 1)).all() for turn, running in enumerate(seen))
    score = Score.of(final_results(game, boards, 20))
    assert score.games == 20 and score.wins > score.losses > 0


def test_games_that_end_make_room_for_others() -> None:
    game = open_batch(TicTacToeOptions())
    boards, play, waiting, finished = game.allocate(3), PolicyPlay(game, [None], seed=2), 7, 0

    def choose(_: int, running: NDArray[np.bool_]) -> NDArray[np.int64]:
        return play.choose(boards, np.where(running, 0, -1))

    def refill(ended: NDArray[np.int64]) -> NDArray[np.bool_]:
        nonlocal waiting, finished
        finished += len(ended)
        new = ended[:waiting]
        waiting -= len(new)
        game.restart(boards, new)
        return np.arange(len(ended)) < len(new)

    turns = list(play_in_lockstep(game, boards, 3, choose, refill))
    moves = sum(int((actions >= 0).sum()) for actions in turns)
    assert (waiting, finished) == (0, 10) and 5 * 10 <= moves <= 9 * 10
    assert (turns[-1] == -1).all() and len(turns) <= moves


def test_nothing_is_played_where_there_are_no_games() -> None:
    game = open_batch(TicTacToeOptions())
    turns = play_in_lockstep(game, game.allocate(1), 0, lambda *_: np.zeros(0, np.int64))
    assert actions_of(turns, 0).shape == (0, 0)
