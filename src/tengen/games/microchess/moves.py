"""Legal moves, found without trying them: who gives check, who is pinned, where the king may go.

A set of squares is the low 20 bits of an integer (see `attacks.py`).
"""

import numpy as np

from tengen._kernel import kernel
from tengen.games.microchess.attacks import (
    ALL_SQUARES,
    BETWEEN,
    KING_STEPS,
    KNIGHT_STEPS,
    LINE,
    attacked_by,
    attackers,
    bishop_attacks,
    lowest,
    pawn_attacks,
    piece_sets,
    rook_attacks,
)
from tengen.games.microchess.board import (
    BLACK_MAY_CASTLE,
    CASTLING,
    DOUBLE_STEP,
    FILES,
    RULES,
    SQUARES,
    TO_PLAY,
    WHITE,
    WHITE_MAY_CASTLE,
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
