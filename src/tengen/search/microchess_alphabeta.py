"""Alpha-beta for Microchess: negamax with iterative deepening, captures played out, material counted.

A search goes on until it has seen the depth asked for, found a mate, or is told to stop: `stop` is an array that
another thread (a timer, say) may write to while the kernel runs. The last depth that was seen in full counts.
"""

from typing import Final, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tengen.games.microchess import GameState
from tengen.games.microchess.board import (
    BLACK_PIECE,
    SQUARES,
    TO_PLAY,
    WHITE,
    Board,
    allocate,
    board_at,
    copy_board,
    play_move,
)
from tengen.games.microchess.ending import RUNNING, ending, winner
from tengen.games.microchess.moves import MAX_MOVES, legal_moves
from tengen.search.result import SearchResult

MAX_DEPTH: Final = 40
WIN: Final = 30_000
"""The value of a game won at once, in hundredths of a pawn; a ply later it is worth one less."""

_LONGEST = 64  # plies that a line may have, captures included
_VALUES = np.array([0, 100, 300, 300, 500, 900, 0], np.int64)  # nothing, P, N, B, R, Q, K
_NODES, _ABORTED = 0, 1  # columns of Workspace.counts
_ALPHA, _BETA, _BEST, _NEXT, _COUNT, _QUIET = range(6)  # columns of Workspace.frames


class Workspace(NamedTuple):
    """Memory for one line of play and what is known along it; L is the length of the longest line."""

    boards: Board  # [L, ...]
    moves: NDArray[np.int16]  # [L, MAX_MOVES] the legal moves at each ply, those tried first
    frames: NDArray[np.int64]  # [L, 6] alpha, beta, best value so far, next move, number of moves, captures only
    pv: NDArray[np.int16]  # [L, L] the best line from each ply on
    pv_length: NDArray[np.int64]  # [L]
    counts: NDArray[np.int64]  # [2] nodes, and whether the search was stopped
    stop: NDArray[np.int64]  # [1] not 0: come back soon


def new_workspace() -> Workspace:
    """Memory for a search; one search at a time."""
    return Workspace(
        allocate(_LONGEST),
        np.empty((_LONGEST, MAX_MOVES), np.int16),
        np.zeros((_LONGEST, 6), np.int64),
        np.empty((_LONGEST, _LONGEST), np.int16),
        np.zeros(_LONGEST, np.int64),
        np.zeros(2, np.int64),
        np.zeros(1, np.int64),
    )


def search_microchess(state: GameState, depth: int, moves: list[int], work: Workspace) -> SearchResult:
    """The best of `moves`, legal ones, by looking `depth` plies ahead; of equal ones the first.

    Values are hundredths of a pawn, as the player to move sees them.
    """
    work.counts[:] = 0
    copy_board(state.board, board_at(work.boards, 0))
    order, values = np.array(moves, np.int16), np.zeros(len(moves), np.int64)
    result = SearchResult(moves[0], None)
    for plies in range(1, min(depth, MAX_DEPTH) + 1):
        best = int(_search_root(work, order, values, plies))
        if best < 0:  # stopped: what this depth found so far may be worse than what the last one found
            break
        value = int(values[best])
        pv = tuple(int(move) for move in work.pv[0, : work.pv_length[0]])
        found = abs(value) >= WIN - _LONGEST
        result = SearchResult(int(order[best]), value, {int(order[best]): value}, pv, plies, 0, found)
        order = np.concatenate([order[best : best + 1], np.delete(order, best)])
        if found or len(moves) == 1:
            break
    return SearchResult(
        result.move, result.value, result.values, result.pv, result.depth, int(work.counts[_NODES]), result.solved
    )


# --------------------------------------------------------------------------------------------- kernels


@njit(cache=True, nogil=True)
def _search_root(work, moves, values, depth):  # type: ignore[no-untyped-def]
    """The index of the best of moves: int16[n], its value in values: int64[n]; -1 if the search was stopped."""
    best, alpha = -1, np.int64(-WIN - 1)
    for i in range(moves.shape[0]):
        child = board_at(work.boards, 1)
        copy_board(board_at(work.boards, 0), child)
        play_move(child, np.int64(moves[i]))
        value = -_negamax(work, depth, np.int64(-WIN - 1), -alpha)
        if work.counts[_ABORTED]:
            return -1
        values[i] = value
        if value > alpha:
            alpha, best = value, i
            _extend_line(work, 0, moves[i])
    return best


@njit(cache=True, nogil=True)
def _negamax(work, depth, alpha, beta):  # type: ignore[no-untyped-def]
    """The value of the position at ply 1 for the player to move, exact between alpha and beta.

    A loop over frames, one per ply, where the textbook calls itself: numba cannot cache functions that do.
    """
    frames, moves = work.frames, work.moves
    frames[1, _ALPHA], frames[1, _BETA] = alpha, beta
    ply, entering, value = 1, True, np.int64(0)
    while True:
        leaf = False
        if entering:
            leaf, value = _enter(work, ply, depth - ply)
            entering = False
        if not leaf:
            if _next_move(work, ply):
                frames[ply + 1, _ALPHA], frames[ply + 1, _BETA] = -frames[ply, _BETA], -frames[ply, _ALPHA]
                ply, entering = ply + 1, True
                continue
            value = frames[ply, _BEST]
        if work.counts[_ABORTED] or ply == 1:
            return value
        ply, value = ply - 1, -value
        if value > frames[ply, _BEST]:
            frames[ply, _BEST] = value
            if value > frames[ply, _ALPHA]:
                frames[ply, _ALPHA] = value
                _extend_line(work, ply, moves[ply, frames[ply, _NEXT] - 1])


@njit(cache=True, nogil=True)
def _enter(work, ply, depth):  # type: ignore[no-untyped-def]
    """Look at the position at `ply`: (True, its value) if that is known at once, else prepare to try its moves."""
    counts, frame = work.counts, work.frames[ply]
    counts[_NODES] += 1
    if counts[_NODES] & 1023 == 0 and work.stop[0] != 0:
        counts[_ABORTED] = 1
    work.pv_length[ply] = 0
    if counts[_ABORTED]:
        return True, np.int64(0)
    board = board_at(work.boards, ply)
    count, in_check = legal_moves(board, work.moves[ply])
    reason = ending(board, count, in_check)
    if reason != RUNNING:
        won_by = winner(board, reason)
        if won_by == 0:
            return True, np.int64(0)
        return True, np.int64(WIN - ply if won_by == board.info[TO_PLAY] else ply - WIN)
    if ply == _LONGEST - 1:
        return True, _material(board)
    frame[_NEXT], frame[_COUNT], frame[_BEST], frame[_QUIET] = 0, count, -WIN - 1, 0
    if depth <= 0 and not in_check:  # only captures from here on, and no duty to make one
        value = _material(board)
        if value >= frame[_BETA]:
            return True, value
        frame[_ALPHA] = max(frame[_ALPHA], value)
        frame[_BEST], frame[_QUIET] = value, 1
    return False, np.int64(0)


@njit(cache=True, nogil=True, forceinline=True)
def _next_move(work, ply):  # type: ignore[no-untyped-def]
    """Play the next move worth trying at `ply` on the board of the next; False if there is none."""
    frame, moves = work.frames[ply], work.moves[ply]
    if frame[_NEXT] >= frame[_COUNT] or frame[_BEST] >= frame[_BETA]:
        return False
    board, child = board_at(work.boards, ply), board_at(work.boards, ply + 1)
    gain = _bring_best_first(board, moves, frame[_NEXT], frame[_COUNT])
    if frame[_QUIET] and gain < 0:  # nothing is left that captures or promotes
        return False
    copy_board(board, child)
    play_move(child, np.int64(moves[frame[_NEXT]]))
    frame[_NEXT] += 1
    return True


@njit(cache=True, nogil=True, forceinline=True)
def _bring_best_first(board, moves, begin, count):  # type: ignore[no-untyped-def]
    """Swap the move that captures or promotes most to moves[begin]; returns its gain, -1 if it does neither."""
    best, most = begin, np.int64(-2)
    for i in range(begin, count):
        gain = _gain(board, np.int64(moves[i]))
        if gain > most:
            best, most = i, gain
    moves[begin], moves[best] = moves[best], moves[begin]
    return most


@njit(cache=True, nogil=True, forceinline=True)
def _gain(board, move):  # type: ignore[no-untyped-def]
    """What a move captures, mostly, then how little it risks; -1 if it neither captures nor promotes."""
    captured = np.int64(board.squares[np.uint64(move // SQUARES % SQUARES)])
    promotion = move // (SQUARES * SQUARES)
    if captured == 0 and promotion == 0:
        return np.int64(-1)
    taken = _VALUES[captured - BLACK_PIECE if captured > BLACK_PIECE else captured]
    piece = np.int64(board.squares[np.uint64(move % SQUARES)])
    mover = _VALUES[piece - BLACK_PIECE if piece > BLACK_PIECE else piece]
    return np.int64(16 * (taken + _VALUES[promotion + 1 if promotion else 0]) + 1000 - mover)


@njit(cache=True, nogil=True, forceinline=True)
def _material(board):  # type: ignore[no-untyped-def]
    """The material of the player to move less the opponent's."""
    balance = np.int64(0)
    for s in range(SQUARES):
        piece = np.int64(board.squares[s])
        balance += -_VALUES[piece - BLACK_PIECE] if piece > BLACK_PIECE else _VALUES[piece]
    return balance if board.info[TO_PLAY] == WHITE else -balance


@njit(cache=True, nogil=True, forceinline=True)
def _extend_line(work, ply, move):  # type: ignore[no-untyped-def]
    """The best line from `ply` on is this move and then the line after it."""
    length = work.pv_length[ply + 1]
    work.pv[ply, 0] = move
    for k in range(length):
        work.pv[ply, k + 1] = work.pv[ply + 1, k]
    work.pv_length[ply] = length + 1
