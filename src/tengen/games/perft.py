"""Perft: how many sequences of legal moves there are, the usual check and speed measure of a move generator."""

from typing import Any

import numpy as np

from tengen._kernel import kernel, stack_zeros
from tengen.games.batch import BatchedGame
from tengen.games.kernels import copy, judge, play


def perft(batch: BatchedGame, state: Any, depth: int) -> int:
    """How many sequences of `depth` legal moves a state has; a game that is over has none."""
    if depth <= 0:
        return 1
    games = batch.allocate(depth)
    batch.load(games, 0, state)
    return int(count_leaves(games, np.zeros((depth, batch.actions), np.bool_)))


@kernel
def count_leaves(games, legal):  # type: ignore[no-untyped-def]
    """Perft of game 0, to the depth of legal: bool[depth, A]; the other games are room for the way down."""
    depth, actions = legal.shape
    tried = stack_zeros(depth, np.int64)  # actions of each level that are done
    judge(games, 0, legal[0])
    leaves, level = 0, 0
    while level >= 0:
        if level + 1 == depth:
            leaves += legal[level].sum()
            level -= 1
            continue
        while tried[level] < actions and not legal[level, tried[level]]:
            tried[level] += 1
        if tried[level] == actions:
            level -= 1
            continue
        copy(games, level, games, level + 1)
        play(games, level + 1, tried[level])
        tried[level] += 1
        level += 1
        tried[level] = 0
        judge(games, level, legal[level])
    return leaves
