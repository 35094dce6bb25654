"""Who owned which point at the end of recorded games."""

from dataclasses import replace

import numpy as np

from tengen.data.dataset import Dataset, select
from tengen.games import go
from tengen.learn.supervised import final_ownership


def end_of(dataset: Dataset, row: int) -> go.State:
    state = dataset.start_of(row)
    for turn in range(int(dataset.lengths[row])):
        color, move = dataset.move_of(row, turn)
        state = state.play(move, color)
    return state


def test_counted_games_end_as_their_states_do(tiny_dataset: Dataset) -> None:
    games = select(tiny_dataset, "train", size=5)
    found = final_ownership(games)
    chosen = set(games.rows.tolist())
    counted = 0
    for row in range(len(found)):
        state = end_of(tiny_dataset, row)
        if row not in chosen or np.isnan(games.game_moves.points[row]):
            assert not found[row].any()
            continue
        if found[row].any():  # else the rules of the game left dead stones on the board
            assert np.array_equal(found[row], np.array([0, 1, -1])[state.ownership().ravel()]), row
            counted += 1
    assert counted > 20


def test_games_whose_count_is_another_are_left_out(tiny_dataset: Dataset) -> None:
    games = select(tiny_dataset, "all", size=5)
    right = final_ownership(games).any(axis=1)
    points = games.game_moves.points.copy()
    points[::2] += 1.5
    wrong = final_ownership(replace(games, game_moves=games.game_moves._replace(points=points))).any(axis=1)
    assert right.sum() > 20 and not wrong[::2].any() and np.array_equal(wrong[1::2], right[1::2])
