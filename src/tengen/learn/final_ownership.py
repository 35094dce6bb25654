"""Who owned which point at the end of recorded games, which teaches a network more than who won.

Records do not mark dead stones: playouts find them, as in self-play. A game is used if the count then agrees with
its result.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.data.dataset import Selection
from tengen.games.game import open_batch
from tengen.games.go.board import board_at, copy_board
from tengen.games.go.positions import MOVE_MASK, allocate_positions, replay
from tengen.games.go.rules import GoOptions

_AT_ONCE: Final = 1024
_TOLERANCE: Final = 1.0  # area and territory differ by a point where Black has the last move


def final_ownership(games: Selection) -> NDArray[np.int8]:
    """int8[G, N * N] for all G rows of the selection's records: 1 where a point was Black's at the end of a game, -1
    where it was White's; all 0 for games that were not chosen, not counted, or counted otherwise."""
    records, points = games.game_moves, games.size * games.size
    found = np.zeros((len(records.komi), points), np.int8)
    rows = games.rows[~np.isnan(records.points[games.rows]) & (games.lengths > 0)]
    batch = open_batch(GoOptions(games.size, "chinese", 0.0))
    positions, boards = allocate_positions(games.size, _AT_ONCE), batch.allocate(_AT_ONCE)
    for start in range(0, len(rows), _AT_ONCE):
        part = rows[start : start + _AT_ONCE]
        last = records.offsets[part + 1] - 1
        replay(records, part, last - records.offsets[part], positions)
        batch.restart(boards, np.arange(_AT_ONCE))
        _copy_boards(positions.boards, boards.boards, len(part))
        batch.play(boards, (records.moves[last] & MOVE_MASK).astype(np.int64))
        margins, owners = batch.score(boards, np.arange(len(part)))
        agrees = np.abs(margins - records.points[part]) <= _TOLERANCE
        found[part[agrees]] = owners[agrees]
    return found


@kernel
def _copy_boards(source, target, count):  # type: ignore[no-untyped-def]
    for i in range(count):
        copy_board(board_at(source, i), board_at(target, i))
