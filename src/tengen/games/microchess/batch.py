"""Many games of Microchess side by side, in `Board` arrays with a leading axis; actions are those of `board.py`."""

import numpy as np

from tengen._kernel import kernel, stack_array
from tengen.games.batch import BatchedGame
from tengen.games.kernels import WIN, implement, next_random, random_below
from tengen.games.microchess.board import (
    ACTIONS,
    BLACK_PIECE,
    FILES,
    HASH,
    RANKS,
    RULES,
    SQUARES,
    START,
    TO_PLAY,
    WHITE,
    Board,
    MicrochessOptions,
    action_of_move,
    allocate,
    board_at,
    copy_board,
    move_of_action,
    play_move,
    rule_flags,
    set_up,
)
from tengen.games.microchess.moves import MAX_MOVES, RUNNING, ending, legal_moves, winner
from tengen.games.microchess.state import State

_ALL_RIGHTS = 3
_BRANCHING = 64  # positions with more moves are rare; a tree without room goes on evaluating, but no longer grows
_VALUES = np.array([0, 100, 300, 300, 500, 900, 0], np.int64)  # of nothing, P, N, B, R, Q, K, in hundredths of a pawn


class BatchedMicrochess(BatchedGame):
    """Many games of Microchess by one set of rules."""

    height, width, actions, branching = RANKS, FILES, ACTIONS, _BRANCHING

    def __init__(self, options: MicrochessOptions) -> None:
        self.options = options
        self._flags = rule_flags(options.rules, options.double_step)

    def allocate(self, count: int) -> Board:
        """`count` games at the start position."""
        games = allocate(count)
        games.info[:, RULES] = self._flags
        self.restart(games, np.arange(count))
        return games

    def load(self, games: Board, i: int, state: State) -> None:
        """Make game i this state, played on by the rules here."""
        copy_board(state.board, board_at(games, i))
        games.info[i, RULES] = self._flags


# --------------------------------------------------------------------------------------------- kernels


@kernel
def restart_game(boards, i):  # type: ignore[no-untyped-def]
    """Set game i back to the start position, under the rules that it has."""
    board = board_at(boards, i)
    set_up(board, START, WHITE, _ALL_RIGHTS, 0, 0, board.info[RULES])


@kernel(inline=True)
def copy_game(source, i, target, j):  # type: ignore[no-untyped-def]
    """Copy game i of `source` onto game j of `target`."""
    copy_board(board_at(source, i), board_at(target, j))


@kernel(inline=True)
def play_action(boards, i, action):  # type: ignore[no-untyped-def]
    """Play a legal action in game i."""
    board = board_at(boards, i)
    play_move(board, move_of_action(board, np.int64(action)))


@kernel
def judge_game(boards, i, legal):  # type: ignore[no-untyped-def]
    """The legal actions of game i to legal: bool[ACTIONS]; returns (over, value for the player to move)."""
    board = board_at(boards, i)
    moves = stack_array(MAX_MOVES, np.int16)
    color = board.info[TO_PLAY]
    legal[:] = False
    count, in_check = legal_moves(board, moves)
    reason = ending(board, count, in_check)
    if reason == RUNNING:
        for k in range(count):
            legal[np.uint64(action_of_move(moves[np.uint64(k)], color))] = True
        return False, np.float32(0.0)
    won = winner(board, reason)
    return True, np.float32(0.0 if won == 0 else 1.0 if won == color else -1.0)


@kernel(inline=True)
def player_to_move(boards, i):  # type: ignore[no-untyped-def]
    """WHITE or BLACK."""
    return boards.info[i, TO_PLAY]


@kernel(inline=True)
def position_hash(boards, i):  # type: ignore[no-untyped-def]
    """Of the pieces, castling rights and the player to move; not of repetition and the counts of moves."""
    return boards.info[i, HASH]


@kernel
def play_out(boards, i, legal, state):  # type: ignore[no-untyped-def]
    """A random game to the end."""
    board = board_at(boards, i)
    mover = board.info[TO_PLAY]
    state, won = run_playout(board, stack_array(MAX_MOVES, np.int16), state)
    return state, np.float32(0.0 if won == 0 else 1.0 if won == mover else -1.0)


@kernel
def list_actions(boards, i, actions):  # type: ignore[no-untyped-def]
    """The legal actions of game i to actions: int16[ACTIONS]; returns (count, value, is the king in check)."""
    board = board_at(boards, i)
    color = board.info[TO_PLAY]
    count, in_check = legal_moves(board, actions)
    reason = ending(board, count, in_check)
    if reason == RUNNING:
        for k in range(count):
            actions[k] = action_of_move(actions[k], color)
        return count, np.int64(0), in_check
    won = winner(board, reason)
    return 0, np.int64(0 if won == 0 else WIN if won == color else -WIN), False


@kernel(inline=True)
def material(boards, i):  # type: ignore[no-untyped-def]
    """The material of the player to move less the opponent's."""
    balance = np.int64(0)
    for s in range(SQUARES):
        piece = np.int64(boards.squares[i, s])
        balance += -_VALUES[piece - BLACK_PIECE] if piece > BLACK_PIECE else _VALUES[piece]
    return balance if boards.info[i, TO_PLAY] == WHITE else -balance


@kernel(inline=True)
def gain_of_action(boards, i, action):  # type: ignore[no-untyped-def]
    """What an action captures, mostly, then how little it risks; -1 if it neither captures nor promotes."""
    board = board_at(boards, i)
    move = move_of_action(board, np.int64(action))
    captured = np.int64(board.squares[np.uint64(move // SQUARES % SQUARES)])
    promotion = move // (SQUARES * SQUARES)
    if captured == 0 and promotion == 0:
        return np.int64(-1)
    taken = _VALUES[captured - BLACK_PIECE if captured > BLACK_PIECE else captured]
    piece = np.int64(board.squares[np.uint64(move % SQUARES)])
    mover = _VALUES[piece - BLACK_PIECE if piece > BLACK_PIECE else piece]
    return np.int64(16 * (taken + _VALUES[promotion + 1 if promotion else 0]) + 1000 - mover)


# -------------------------------------------------------------------------------------------- playouts
# Random games to the end, by all rules, repetition and the counting of moves included.


@kernel(inline=True)
def run_playout(board, moves, state):  # type: ignore[no-untyped-def]
    """Play `board` to its end in place, every legal move as likely as any other.

    moves: int16[MAX_MOVES], scratch; state: the random numbers', a non-zero uint64.
    Returns (state, the winner or 0 for a draw).
    """
    while True:
        count, in_check = legal_moves(board, moves)
        reason = ending(board, count, in_check)
        if reason != RUNNING:
            return state, winner(board, reason)
        state = next_random(state)
        play_move(board, np.int64(moves[np.uint64(random_below(state, count))]))


implement(
    Board,
    restart=restart_game,
    copy=copy_game,
    play=play_action,
    judge=judge_game,
    player=player_to_move,
    key=position_hash,
    playout=play_out,
    moves=list_actions,
    evaluate=material,
    gain=gain_of_action,
    quiescence=True,
)
