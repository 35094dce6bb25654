"""Legal moves, found without trying them: who gives check, who is pinned, where the king may go; and how a game ends.

A set of squares is the low 20 bits of an integer (see the end of this file).
"""

from typing import Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from tengen._kernel import kernel, stack_zeros
from tengen.games.microchess.board import (
    BISHOP,
    BLACK,
    BLACK_MAY_CASTLE,
    BLACK_PIECE,
    CASTLING,
    DOUBLE_STEP,
    FIFTY_MOVES,
    FILES,
    HALFMOVE,
    HASH,
    KING,
    KNIGHT,
    NCSOFT,
    NCSOFT_PLIES,
    PAWN,
    PLY,
    QUEEN,
    RANKS,
    ROOK,
    RULES,
    SQUARES,
    TO_PLAY,
    WHITE,
    WHITE_MAY_CASTLE,
    Board,
    allocate,
    board_at,
    copy_board,
    play_move,
)

MAX_MOVES = 160
"""More than any position has: at most 100 pairs of a piece and a square that is not its own side's, and promotions."""

_PROMOTION = SQUARES * SQUARES
_LAST_RANKS = 0xF000F  # no pawn stands there: one that arrives is promoted
_WHITE_START, _BLACK_START = 0x000F0, 0x0F000  # ranks 2 and 4
# Castling: the squares between king and rook, the squares that the king crosses and reaches, the move.
_WHITE_BETWEEN, _BLACK_BETWEEN = 0x00006, 0x60000  # b1 c1, b5 c5
_WHITE_CASTLES, _BLACK_CASTLES = 3 + SQUARES * 1, 16 + SQUARES * 18


@kernel(inline=True)
def legal_moves(board, moves):  # type: ignore[no-untyped-def]
    """Write the legal moves to moves: int16[MAX_MOVES], in no order. Returns (how many, is the king in check)."""
    color = board.info[TO_PLAY]
    sets = piece_sets(board.squares)
    white, black, pawns, knights, diagonals, straights = sets
    own, enemy = (white, black) if color == WHITE else (black, white)
    occupied = white | black
    own_king = own & ~(pawns | knights | diagonals | straights)
    king = lowest(own_king)
    attacked = attacked_by(3 - color, sets, occupied ^ own_king)  # the king hides nothing from its own flight squares
    in_check = attacked & own_king != 0

    count = _write(king, np.int64(KING_STEPS[np.uint64(king)]) & ~own & ~attacked, moves, 0)
    allowed = ALL_SQUARES & ~own
    if in_check:
        checkers = attackers(king, 3 - color, sets, occupied)
        if checkers & (checkers - 1):
            return count, True
        allowed &= checkers | np.int64(BETWEEN[np.uint64(king), np.uint64(lowest(checkers))])
    elif board.info[CASTLING]:
        count = _write_castling(color, board.info[CASTLING], occupied, attacked, moves, count)

    pinned = _pinned(king, own, enemy, diagonals, straights, occupied)
    double_step = board.info[RULES] & DOUBLE_STEP
    rest = own ^ own_king
    while rest:
        s = lowest(rest)
        bit = rest & -rest
        rest ^= bit
        lawful = allowed
        if bit & pinned:
            lawful &= np.int64(LINE[np.uint64(king), np.uint64(s)])
        targets = lawful & _targets(s, bit, color, sets, double_step)
        count = _write_pawn(s, targets, moves, count) if bit & pawns else _write(s, targets, moves, count)
    return count, in_check


@kernel
def is_attacked(board, color):  # type: ignore[no-untyped-def]
    """Whether the king of `color` is attacked, whoever is to move."""
    sets = piece_sets(board.squares)
    white, black, pawns, knights, diagonals, straights = sets
    occupied = white | black
    king = (white if color == WHITE else black) & ~(pawns | knights | diagonals | straights)
    return attacked_by(3 - color, sets, occupied) & king != 0


@kernel
def reaches(board, source, target):  # type: ignore[no-untyped-def]
    """Whether the mover's piece on `source` goes to `target`, castling aside, if no king were at stake."""
    color = board.info[TO_PLAY]
    sets = piece_sets(board.squares)
    white, black, pawns, knights, diagonals, straights = sets
    bit = np.int64(1) << source
    targets = _targets(source, bit, color, sets, board.info[RULES] & DOUBLE_STEP)
    if bit & (pawns | knights | diagonals | straights) == 0:
        targets = np.int64(KING_STEPS[np.uint64(source)])
    return targets & ~(white if color == WHITE else black) & (np.int64(1) << target) != 0


@kernel(inline=True)
def _write(source, targets, moves, count):  # type: ignore[no-untyped-def]
    while targets:
        moves[np.uint64(count)] = source + SQUARES * lowest(targets)
        targets &= targets - 1
        count += 1
    return count


@kernel(inline=True)
def _write_pawn(source, targets, moves, count):  # type: ignore[no-untyped-def]
    while targets:
        bit = targets & -targets
        move = source + SQUARES * lowest(targets)
        targets ^= bit
        if bit & _LAST_RANKS:
            for promotion in range(1, 5):
                moves[np.uint64(count)] = move + promotion * _PROMOTION
                count += 1
        else:
            moves[np.uint64(count)] = move
            count += 1
    return count


@kernel(inline=True)
def _write_castling(color, rights, occupied, attacked, moves, count):  # type: ignore[no-untyped-def]
    """Castling when not in check: nothing between king and rook, and the king's way is not attacked."""
    if color == WHITE:
        if rights & WHITE_MAY_CASTLE and (occupied | attacked) & _WHITE_BETWEEN == 0:
            moves[np.uint64(count)] = _WHITE_CASTLES
            count += 1
    elif rights & BLACK_MAY_CASTLE and (occupied | attacked) & _BLACK_BETWEEN == 0:
        moves[np.uint64(count)] = _BLACK_CASTLES
        count += 1
    return count


@kernel(inline=True)
def _targets(square, bit, color, sets, double_step):  # type: ignore[no-untyped-def]
    """Where a piece of `color` could go, castling aside, if no king were at stake; own pieces count as targets."""
    white, black, pawns, knights, diagonals, straights = sets
    occupied = white | black
    if bit & pawns:
        return _pawn_targets(square, bit, color, black if color == WHITE else white, occupied, double_step)
    if bit & knights:
        return np.int64(KNIGHT_STEPS[np.uint64(square)])
    targets = np.int64(0)
    if bit & diagonals:
        targets |= bishop_attacks(square, occupied)
    if bit & straights:
        targets |= rook_attacks(square, occupied)
    return targets


@kernel(inline=True)
def _pawn_targets(square, bit, color, enemy, occupied, double_step):  # type: ignore[no-untyped-def]
    targets = pawn_attacks(square, color) & enemy
    if color == WHITE:
        step = bit << FILES & ~occupied
        targets |= step
        if double_step and bit & _WHITE_START:
            targets |= step << FILES & ~occupied
    else:
        step = bit >> FILES & ~occupied
        targets |= step
        if double_step and bit & _BLACK_START:
            targets |= step >> FILES & ~occupied
    return targets


@kernel(inline=True)
def _pinned(king, own, enemy, diagonals, straights, occupied):  # type: ignore[no-untyped-def]
    """The own pieces that alone stand between their king and an enemy slider."""
    pinned = np.int64(0)
    snipers = enemy & ((bishop_attacks(king, 0) & diagonals) | (rook_attacks(king, 0) & straights))
    while snipers:
        blockers = np.int64(BETWEEN[np.uint64(king), np.uint64(lowest(snipers))]) & occupied
        snipers &= snipers - 1
        if blockers & (blockers - 1) == 0:
            pinned |= blockers & own
    return pinned


# ------------------------------------------------------------------------------------- how a game ends
# Mate, stalemate, the draws, and who has won.

RUNNING, CHECKMATE, STALEMATE, INSUFFICIENT, THREEFOLD, FIFTY, EIGHTY_PLIES = range(7)
END_REASONS: Final = (
    "",
    "checkmate",
    "stalemate",
    "insufficient material",
    "threefold repetition",
    "fifty moves",
    "80 plies",
)

_DARK_SQUARES = 0x5A5A5  # a1, c1, b2, d2, ...
_NCSOFT_VALUES = (1, 3, 3, 5, 10, 4)  # P N B R Q K, as NCSOFT's platform counts


def _balance() -> NDArray[np.int64]:
    """int64[13]: what a piece adds to White's material less Black's."""
    return np.array([0, *_NCSOFT_VALUES, *(-value for value in _NCSOFT_VALUES)], np.int64)


BALANCE: Final = _balance()


@kernel(inline=True)
def ending(board, move_count, in_check):  # type: ignore[no-untyped-def]
    """RUNNING, or by which rule the game is over; `move_count` and `in_check` as `legal_moves` gives them.

    Mate comes before all draws: a mate on the last ply of the fifty moves or of the eighty plies counts.
    """
    info = board.info
    if move_count == 0:
        return CHECKMATE if in_check else STALEMATE
    if is_dead(board):
        return INSUFFICIENT
    if info[HALFMOVE] >= 8 and earlier_occurrences(board) >= 2:
        return THREEFOLD
    if info[HALFMOVE] >= FIFTY_MOVES:
        return FIFTY
    if info[RULES] & NCSOFT and info[PLY] >= NCSOFT_PLIES:
        return EIGHTY_PLIES
    return RUNNING


@kernel(inline=True)
def winner(board, reason):  # type: ignore[no-untyped-def]
    """WHITE, BLACK, or 0 for a draw, of a game that ended for this reason: under ncsoft rules material decides."""
    if reason == CHECKMATE:
        return 3 - board.info[TO_PLAY]
    if board.info[RULES] & NCSOFT:
        balance = material_balance(board)
        if balance != 0:
            return np.int64(WHITE if balance > 0 else BLACK)
    return np.int64(0)


@kernel(inline=True)
def is_dead(board):  # type: ignore[no-untyped-def]
    """Whether the material cannot give any mate: bare kings, one knight, or bishops on squares of one colour only."""
    _, _, pawns, knights, diagonals, straights = piece_sets(board.squares)
    if pawns | straights:
        return False
    if knights:
        return diagonals == 0 and knights & (knights - 1) == 0
    return diagonals & _DARK_SQUARES == 0 or diagonals & ~_DARK_SQUARES == 0


@kernel(inline=True)
def earlier_occurrences(board):  # type: ignore[no-untyped-def]
    """How often the present position, turn and castling rights included, stood on the board before."""
    key = board.info[HASH]
    count = 0
    k = board.info[HALFMOVE] - 4  # sooner than after two moves of each side nothing comes back
    while k >= 0:
        count += board.keys[np.uint64(k)] == key
        k -= 2
    return count


@kernel(inline=True)
def material_balance(board):  # type: ignore[no-untyped-def]
    """White's material less Black's, by the ncsoft values."""
    balance = np.int64(0)
    for s in range(SQUARES):
        balance += BALANCE[np.uint64(board.squares[s])]
    return balance


# ----------------------------------------------------------------------------------------------- perft


def perft(board: Board, depth: int) -> int:
    """How many sequences of `depth` legal moves the position has (games are not ended by draws)."""
    if depth <= 0:
        return 1
    return int(count_leaves(board, depth, allocate(depth), np.empty((depth, MAX_MOVES), np.int16)))


@kernel
def count_leaves(root, depth, boards, moves):  # type: ignore[no-untyped-def]
    """Perft with room for the way down: boards of batch `depth`, moves: int16[depth, MAX_MOVES]."""
    left = stack_zeros(depth, np.int64)
    copy_board(root, board_at(boards, 0))
    left[0], _ = legal_moves(root, moves[0])
    if depth == 1:
        return left[0]
    leaves = np.int64(0)
    level = 0
    while level >= 0:
        if left[level] == 0:
            level -= 1
            continue
        left[level] -= 1
        below = board_at(boards, level + 1)
        copy_board(board_at(boards, level), below)
        play_move(below, np.int64(moves[level, left[level]]))
        count, _ = legal_moves(below, moves[level + 1])
        if level + 2 == depth:
            leaves += count
        else:
            level += 1
            left[level] = count
    return leaves


# ----------------------------------------------------------------------- which squares a piece attacks
# As sets of squares in the low 20 bits of an integer, looked up in small tables.
#
# How far a bishop, rook or queen sees depends only on the *inner* squares of its lines: what stands on the last square
# of a line is attacked in any case. For a bishop these are the six squares b2 to c4 (64 cases), for a rook along its
# rank the two on files b and c, along its file the three on ranks 2 to 4.

ALL_SQUARES = (1 << SQUARES) - 1

_STRAIGHT = ((0, 1), (0, -1), (1, 0), (-1, 0))  # steps as (files, ranks)
_DIAGONAL = ((1, 1), (1, -1), (-1, 1), (-1, -1))
_KNIGHTS = ((1, 2), (1, -2), (-1, 2), (-1, -2), (2, 1), (2, -1), (-2, 1), (-2, -1))
_INNER = tuple(rank * FILES + file for rank in (1, 2, 3) for file in (1, 2))  # b2 c2 b3 c3 b4 c4


def _ray(square: int, step: tuple[int, int], occupied: int = 0) -> list[int]:
    """The squares from `square` in one direction, up to the first occupied one or the edge."""
    file, rank = square % FILES + step[0], square // FILES + step[1]
    seen = []
    while 0 <= file < FILES and 0 <= rank < RANKS:
        seen.append(rank * FILES + file)
        if occupied >> seen[-1] & 1:
            break
        file, rank = file + step[0], rank + step[1]
    return seen


def _set(squares: list[int]) -> int:
    return sum(1 << square for square in squares)


def _reach(square: int, steps: tuple[tuple[int, int], ...], occupied: int) -> int:
    return sum(_set(_ray(square, step, occupied)) for step in steps)


def _steps(steps: tuple[tuple[int, int], ...]) -> NDArray[np.int32]:
    """int32[20]: where single steps lead."""
    return np.array([_set([t for step in steps for t in _ray(s, step)[:1]]) for s in range(SQUARES)], np.int32)


def _pawn_steps(forward: int) -> NDArray[np.int32]:
    return _steps(((1, forward), (-1, forward)))


def _bishop_table() -> NDArray[np.int32]:
    cases = [_set([square for bit, square in enumerate(_INNER) if case >> bit & 1]) for case in range(64)]
    return np.array([[_reach(square, _DIAGONAL, case) for case in cases] for square in range(SQUARES)], np.int32)


def _rank_table() -> NDArray[np.int32]:
    steps = ((1, 0), (-1, 0))
    cases = [[case << s // FILES * FILES + 1 for case in range(4)] for s in range(SQUARES)]
    return np.array([[_reach(s, steps, case) for case in cases[s]] for s in range(SQUARES)], np.int32)


def _file_table() -> NDArray[np.int32]:
    steps = ((0, 1), (0, -1))
    cases = [sum(1 << rank * FILES for rank in (1, 2, 3) if case >> (rank - 1) & 1) for case in range(8)]
    return np.array([[_reach(s, steps, case << s % FILES) for case in cases] for s in range(SQUARES)], np.int32)


def _line_tables() -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    between, line = np.zeros((SQUARES, SQUARES), np.int32), np.zeros((SQUARES, SQUARES), np.int32)
    for square in range(SQUARES):
        for dx, dy in _STRAIGHT + _DIAGONAL:
            ahead, behind = _ray(square, (dx, dy)), _ray(square, (-dx, -dy))
            for i, other in enumerate(ahead):
                between[square, other] = _set(ahead[:i])
                line[square, other] = _set([*ahead, *behind, square])
    return between, line


def _lanes(*kinds: tuple[int, ...]) -> NDArray[np.int64]:
    """int64[13]: for each piece, in which of three 20-bit lanes it counts."""
    return np.array([sum(1 << SQUARES * i for i, kind in enumerate(kinds) if p in kind) for p in range(13)], np.int64)


def _both(*kinds: int) -> tuple[int, ...]:
    return (*kinds, *(kind + BLACK_PIECE for kind in kinds))


KNIGHT_STEPS: Final = _steps(_KNIGHTS)
KING_STEPS: Final = _steps(_STRAIGHT + _DIAGONAL)
WHITE_PAWN_STEPS: Final = _pawn_steps(1)  # where a pawn captures
BLACK_PAWN_STEPS: Final = _pawn_steps(-1)
BISHOP_TABLE: Final = _bishop_table()  # [20, 64] by the occupied inner squares
RANK_TABLE: Final = _rank_table()  # [20, 4]
FILE_TABLE: Final = _file_table()  # [20, 8]
BETWEEN, LINE = _line_tables()  # [20, 20] squares strictly between two, and on the whole line through them; else none

_WHITE_PIECES, _BLACK_PIECES = tuple(range(PAWN, KING + 1)), tuple(range(PAWN + BLACK_PIECE, KING + BLACK_PIECE + 1))
_COLOR_LANES = _lanes(_WHITE_PIECES, _BLACK_PIECES, _both(PAWN))
_KIND_LANES = _lanes(_both(KNIGHT), _both(BISHOP, QUEEN), _both(ROOK, QUEEN))


@intrinsic
def _trailing_zeros(typing_context, bits):  # type: ignore[no-untyped-def]
    """The machine's instruction for it, which NumPy does not offer."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


@kernel(inline=True)
def lowest(squares):  # type: ignore[no-untyped-def]
    """The lowest square of a set that is not empty."""
    return _trailing_zeros(squares)  # type: ignore[call-arg]


@kernel(inline=True)
def piece_sets(squares):  # type: ignore[no-untyped-def]
    """(White's, Black's, pawns, knights, bishops and queens, rooks and queens): six sets, read in one pass.

    Three sets of 20 bits fit into one 64-bit integer, so that a piece is added to all its sets by two operations.
    """
    colors, kinds = np.int64(0), np.int64(0)
    for s in range(SQUARES):
        piece = np.uint64(squares[s])
        colors |= _COLOR_LANES[piece] << s
        kinds |= _KIND_LANES[piece] << s
    return (
        colors & ALL_SQUARES,
        colors >> SQUARES & ALL_SQUARES,
        colors >> 2 * SQUARES,
        kinds & ALL_SQUARES,
        kinds >> SQUARES & ALL_SQUARES,
        kinds >> 2 * SQUARES,
    )


@kernel(inline=True)
def bishop_attacks(square, occupied):  # type: ignore[no-untyped-def]
    """Where a bishop on `square` sees, up to and including the first piece in each direction."""
    inner = (occupied >> 5 & 3) | (occupied >> 7 & 12) | (occupied >> 9 & 48)
    return np.int64(BISHOP_TABLE[np.uint64(square), np.uint64(inner)])


@kernel(inline=True)
def rook_attacks(square, occupied):  # type: ignore[no-untyped-def]
    """Where a rook on `square` sees, up to and including the first piece in each direction."""
    along_rank = occupied >> ((square & ~3) + 1) & 3
    file = occupied >> ((square & 3) + 4)
    along_file = (file & 1) | (file >> 3 & 2) | (file >> 6 & 4)
    return np.int64(RANK_TABLE[np.uint64(square), np.uint64(along_rank)]) | np.int64(
        FILE_TABLE[np.uint64(square), np.uint64(along_file)]
    )


@kernel(inline=True)
def pawn_attacks(square, color):  # type: ignore[no-untyped-def]
    """Where a pawn of `color` on `square` captures."""
    return np.int64(WHITE_PAWN_STEPS[np.uint64(square)] if color == WHITE else BLACK_PAWN_STEPS[np.uint64(square)])


@kernel(inline=True)
def attackers(square, color, sets, occupied):  # type: ignore[no-untyped-def]
    """The pieces of `color`, its king left out, that attack a square; sets: as `piece_sets` gives them."""
    white, black, pawns, knights, diagonals, straights = sets
    found = pawn_attacks(square, 3 - color) & pawns  # a pawn attacks what an enemy pawn there would attack it from
    found |= np.int64(KNIGHT_STEPS[np.uint64(square)]) & knights
    found |= bishop_attacks(square, occupied) & diagonals
    found |= rook_attacks(square, occupied) & straights
    return found & (white if color == WHITE else black)


@kernel(inline=True)
def attacked_by(color, sets, occupied):  # type: ignore[no-untyped-def]
    """All squares that pieces of `color` attack, when `occupied` are in the way."""
    white, black, pawns, knights, diagonals, straights = sets
    own = white if color == WHITE else black
    reach = np.int64(0)
    rest = own
    while rest:
        s = lowest(rest)
        bit = rest & -rest
        rest ^= bit
        if bit & pawns:
            reach |= pawn_attacks(s, color)
        elif bit & knights:
            reach |= np.int64(KNIGHT_STEPS[np.uint64(s)])
        elif bit & (diagonals | straights):
            if bit & diagonals:
                reach |= bishop_attacks(s, occupied)
            if bit & straights:
                reach |= rook_attacks(s, occupied)
        else:
            reach |= np.int64(KING_STEPS[np.uint64(s)])
    return reach
