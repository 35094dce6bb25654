"""Many positions at once with their recent past, as encoders want them; and replaying recorded games into them.

A recorded game is its moves: uint16 each, a policy index (point, or size * size for a pass) in the low 15 bits
and the colour in the highest (set for White). Set-up stones are written the same way. All games lie end to end
in one array, with offsets: a hundred thousand games need a hundred megabytes, and any position of any game is
some ten microseconds away.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel, stack_array
from tengen.games.go.board import (
    BLACK,
    EMPTY,
    KO,
    NO_CELL,
    TO_PLAY,
    WHITE,
    Board,
    board_at,
    clear,
    copy_board,
    new_boards,
    place,
)
from tengen.games.go.legality import play_move
from tengen.games.go.state import State

PAST = 8  # how many positions back an encoder may look, the present one included
WHITE_BIT = 1 << 15  # of a recorded move: set for White
MOVE_MASK = WHITE_BIT - 1  # the bits of a recorded move that hold its policy index
OLDEST = 32767


class Positions(NamedTuple):
    """B positions on boards of one size N."""

    boards: Board  # fields [B, ...]; TO_PLAY is the player to move
    past: NDArray[np.uint8]  # [B, PAST, N * N] stones now and 1, 2, ... moves ago; EMPTY before the game began
    age: NDArray[np.int16]  # [B, N * N] for a stone, how many moves ago it was played (1: the last), else OLDEST
    komi: NDArray[np.float32]  # [B] White's compensation, the rules' handicap bonus included


class GameMoves(NamedTuple):
    """Games on boards of one size, as flat arrays. Game g has moves[offsets[g] : offsets[g + 1]]."""

    moves: NDArray[np.uint16]  # [T]
    offsets: NDArray[np.int64]  # [G + 1]
    setup: NDArray[np.uint16]  # [S] set-up stones (handicap among them)
    setup_offsets: NDArray[np.int64]  # [G + 1]
    komi: NDArray[np.float32]  # [G] White's compensation, the rules' handicap bonus included; never nan
    result: NDArray[np.int8]  # [G] 1 if Black won, -1 if White did, 0 for a draw and where it is not known
    known: NDArray[np.bool_]  # [G] whether the result is known
    points: NDArray[np.float32]  # [G] Black's points minus White's before komi; nan unless the game was counted


def allocate_positions(size: int, batch: int) -> Positions:
    """Room for `batch` positions."""
    return Positions(
        new_boards(size, batch),
        np.zeros((batch, PAST, size * size), np.uint8),
        np.full((batch, size * size), OLDEST, np.int16),
        np.zeros(batch, np.float32),
    )


def positions_of(states: Sequence[State]) -> Positions:
    """The positions of friendly states, all of one size."""
    size = states[0].size
    positions = allocate_positions(size, len(states))
    for i, state in enumerate(states):
        copy_board(state.board, board_at(positions.boards, i))
        positions.komi[i] = state.compensation
        positions.age[i] = ages_of(state)
        back: State | None = state
        for turn in range(PAST):
            if back is not None:
                positions.past[i, turn] = back.stones.ravel()
                back = back.previous
    return positions


def ages_of(state: State) -> NDArray[np.int16]:
    """int16[N * N]: `Positions.age` of one state."""
    ages = np.full(state.size**2, OLDEST, np.int16)
    for turn, (_, move) in enumerate(reversed(state.moves), 1):
        if move >= 0 and ages[move] == OLDEST:
            ages[move] = turn
    ages[state.stones.ravel() == EMPTY] = OLDEST
    return ages


def encode_move(color: int, move: int, size: int) -> int:
    """A move as recorded games store it; PASS is -1 as in `State`."""
    return (size * size if move < 0 else move) | (WHITE_BIT if color == WHITE else 0)


@kernel
def replay(games, chosen, plies, positions):  # type: ignore[no-untyped-def]
    """Set up position i as game chosen[i] after plies[i] moves, for the player of the next move.

    chosen: int64[B], plies: int64[B], each less than the length of its game. Returns nothing; the next move of
    position i is games.moves[games.offsets[chosen[i]] + plies[i]].
    """
    placed_at = stack_array(positions.age.shape[1], np.int64)
    for i in range(chosen.shape[0]):
        board = board_at(positions.boards, i)
        positions.komi[i] = games.komi[chosen[i]]
        replay_one(games, chosen[i], plies[i], board, positions.past[i], positions.age[i], placed_at)


@kernel
def replay_one(games, game, ply, board, past, age, placed_at):  # type: ignore[no-untyped-def]
    """Set up one position; placed_at: int64[N * N] is scratch room."""
    points = age.shape[0]
    size = int(np.sqrt(points))
    clear(board, size)
    past[:] = 0
    placed_at[:] = -OLDEST
    for k in range(games.setup_offsets[game], games.setup_offsets[game + 1]):
        point = np.int64(games.setup[k] & MOVE_MASK)
        place(board, point + point // size + size + 2, WHITE if games.setup[k] & WHITE_BIT else BLACK)
    start = games.offsets[game]
    for turn in range(ply):
        if ply - turn < past.shape[0]:
            _snapshot(board, size, past[ply - turn])
        code = games.moves[start + turn]
        point = np.int64(code & MOVE_MASK)
        p = np.int64(NO_CELL)
        if point < points:
            p = point + point // size + size + 2
            placed_at[point] = turn
        play_move(board, p, WHITE if code & WHITE_BIT else BLACK)
    _snapshot(board, size, past[0])
    for k in range(points):
        age[k] = min(np.int64(OLDEST), ply - placed_at[k]) if past[0, k] else OLDEST
    if start + ply < games.offsets[game + 1]:
        color = WHITE if games.moves[start + ply] & WHITE_BIT else BLACK
        if color != board.info[TO_PLAY]:  # a ko binds the player whose turn it was, not one who moves out of turn
            board.info[KO] = NO_CELL
        board.info[TO_PLAY] = color


@kernel
def _snapshot(board, size, stones):  # type: ignore[no-untyped-def]
    """Copy the stones of a board to stones: uint8[N * N]."""
    for row in range(size):
        for col in range(size):
            stones[row * size + col] = board.color[(row + 1) * (size + 1) + col + 1]
