"""How many games of Go stand, or would end: the kernels behind `BatchedGo.score` and `BatchedGo.estimate`."""

import numpy as np

from tengen._kernel import kernel, stack_array
from tengen.games.go.board import BLACK, EMPTY, HASH, SIZE, WHITE, board_at
from tengen.games.go.score import dead_cells, final_margin, final_owners, is_certain, playout_owners

_AT_ONCE = 8  # playouts between two looks at whether they agree


@kernel
def score_games(games, index, flags, playouts, margins, ownership, scratch):  # type: ignore[no-untyped-def]
    """How the games of index: int64[n] stand: margins: float32[n], Black's points minus White's and komi;
    ownership: int8[n, N * N], 1 where a point is Black's and -1 where it is White's. With playouts > 0, up to so many
    of them find the dead stones that are to be taken off, where these are not certain; flags: of the rule set;
    scratch: a board to play on."""
    cells = games.dead.shape[1]
    owner, dead, counts = stack_array(cells, np.uint8), stack_array(cells, np.bool_), stack_array(cells, np.int64)
    rng = stack_array(1, np.uint64)
    for k in range(index.shape[0]):
        i = index[k]
        board = board_at(games.boards, i)
        if playouts > 0 and not is_certain(board, flags):
            counts[:] = 0
            rng[0] = np.uint64(board.info[HASH]) | np.uint64(1)
            done = 0
            while done < playouts and (done == 0 or not _agree(board, counts, done)):
                playout_owners(board, scratch, flags, _AT_ONCE, rng, counts)
                done += _AT_ONCE
            dead_cells(board, counts, done, dead)
            for p in range(cells):
                games.dead[i, p] = board.color[p] if dead[p] else EMPTY
        final_owners(board, flags, games.dead[i], owner)
        size = board.info[SIZE]
        for row in range(size):
            for col in range(size):
                whose = owner[(row + 1) * (size + 1) + col + 1]
                ownership[k, row * size + col] = np.int8(whose == BLACK) - np.int8(whose == WHITE)
        margins[k] = final_margin(board, flags, games.dead[i]) - games.komi[i]


@kernel(inline=True)
def _agree(board, counts, playouts):  # type: ignore[no-untyped-def]
    """Whether seven playouts of eight agree on the owner of every stone's cell; counts: int64[P] is their sum."""
    for p in range(counts.shape[0]):
        c = board.color[p]
        if (c == BLACK or c == WHITE) and 4 * abs(counts[p]) < 3 * playouts:
            return False
    return True


@kernel
def estimate_games(games, index, flags, playouts, margins, ownership, clear, scratch):  # type: ignore[no-untyped-def]
    """How the games of index: int64[n] would end: margins: float32[n], the mean of Black's points minus White's and
    komi; ownership: int8[n, N * N], 1 Black's and -1 White's in two playouts of three, else 0; clear: bool[n], whether
    that decides three points of four; scratch: a board to play on."""
    counts, rng = stack_array(games.dead.shape[1], np.int64), stack_array(1, np.uint64)
    for k in range(index.shape[0]):
        board = board_at(games.boards, index[k])
        counts[:] = 0
        rng[0] = np.uint64(board.info[HASH]) | np.uint64(1)
        playout_owners(board, scratch, flags, playouts, rng, counts)
        size = board.info[SIZE]
        total = decided = np.int64(0)
        for row in range(size):
            for col in range(size):
                count = counts[(row + 1) * (size + 1) + col + 1]
                whose = np.int64(3 * count >= playouts) - np.int64(-3 * count >= playouts)
                ownership[k, row * size + col] = whose
                decided += abs(whose)
                total += count
        margins[k] = total / playouts - games.komi[index[k]]
        clear[k] = 4 * decided >= 3 * size * size
