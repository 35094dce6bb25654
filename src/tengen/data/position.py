"""A position of a recorded game as a `go.State`, whether or not its moves were legal."""

import numpy as np

from tengen.data.dataset import Dataset
from tengen.games import go
from tengen.games.go import BLACK, WHITE, RuleSet
from tengen.games.go.positions import allocate_positions, replay

AS_PLAYED = RuleSet("as-played", "simple", True, "area", 0.0, removes_dead=True)
"""Rules that forbid nothing that a record may contain: a position has no ko to retake when it is set up."""


def position_of(dataset: Dataset, row: int, ply: int) -> go.State:
    """The position after `ply` moves, with the last of them to be seen; the moves before are set-up stones."""
    size = int(dataset.columns["size"][row])
    before = max(ply - 1, 0)
    positions = allocate_positions(size, 1)
    replay(dataset.game_moves, np.array([row]), np.array([before]), positions)
    stones = positions.past[0, 0]
    color, move = dataset.move_of(row, before)
    state = go.State.setup(
        size,
        AS_PLAYED,
        black=np.flatnonzero(stones == BLACK).tolist(),
        white=np.flatnonzero(stones == WHITE).tolist(),
        to_play=color,
    )
    if ply == 0:
        return state
    state = state.play(move, color)
    return state if ply == len(dataset.moves_of(row)) else state.with_to_play(dataset.move_of(row, ply)[0])
