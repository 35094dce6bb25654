"""The Microchess board as arrays, the rules that it is played by, and the kernel that plays a move on it.

A board is a NamedTuple of flat arrays: what stands on the 20 squares, a few numbers, and the keys of the positions
that the game may still come back to. Square = rank * 4 + file, so a1 = 0, d1 = 3, a2 = 4, d5 = 19.

    start:   5  k n b r      a5 = 16 ... d5 = 19
             4  p . . .
             3  . . . .
             2  . . . P
             1  R B N K      a1 = 0 ... d1 = 3
                a b c d

A move is one integer, from + 20 * to + 400 * promotion, with promotion 0 for none and 1 to 4 for N, B, R, Q. Castling
is the king's step of two squares.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel, view
from tengen.games.state import Options

FILES, RANKS, SQUARES = 4, 5, 20
WHITE, BLACK = 1, 2
PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(1, 7)  # White's; Black's are BLACK_PIECE more
EMPTY, BLACK_PIECE = 0, 6

WHITE_MAY_CASTLE, BLACK_MAY_CASTLE = 1, 2
DOUBLE_STEP, NCSOFT = 1, 2  # the flags of the rules

# Columns of `Board.info`.
TO_PLAY, CASTLING, HALFMOVE, PLY, HASH, RULES = range(6)
INFO_LENGTH = 6

FIFTY_MOVES = 100  # plies without a capture or a pawn's move: a draw
NCSOFT_PLIES = 80  # under ncsoft rules no game is longer

START = np.array([4, 3, 2, 6, 0, 0, 0, 1, 0, 0, 0, 0, 7, 0, 0, 0, 12, 8, 9, 10], np.int8)

_A1, _B1, _C1, _D1 = 0, 1, 2, 3
_A5, _B5, _C5, _D5 = 16, 17, 18, 19


def _rights_kept() -> NDArray[np.int64]:
    """int64[20]: the castling rights that a move from or to a square leaves."""
    kept = np.full(SQUARES, WHITE_MAY_CASTLE | BLACK_MAY_CASTLE, np.int64)
    kept[[_A1, _D1]] = BLACK_MAY_CASTLE
    kept[[_A5, _D5]] = WHITE_MAY_CASTLE
    return kept


_RIGHTS_KEPT = _rights_kept()


class Board(NamedTuple):
    """One game's position, or those of B games when every field has a leading axis of length B."""

    squares: NDArray[np.int8]  # [20] EMPTY or a piece: 1 to 6 White's P N B R Q K, 7 to 12 Black's
    info: NDArray[np.int64]  # [INFO_LENGTH] the scalars: whose turn, castling rights, clocks, hash, rules
    keys: NDArray[np.int64]  # [FIFTY_MOVES + 1] hashes since the last capture or pawn move, the present at HALFMOVE


def allocate(batch: int | None = None) -> Board:
    """Memory for one board (or `batch` of them), not yet a valid position."""
    shape = () if batch is None else (batch,)
    return Board(
        np.empty((*shape, SQUARES), np.int8),
        np.empty((*shape, INFO_LENGTH), np.int64),
        np.zeros((*shape, FIFTY_MOVES + 1), np.int64),
    )


def new_board(flags: int) -> Board:
    """The start position under rules with these flags."""
    board = allocate()
    set_up(board, START, WHITE, WHITE_MAY_CASTLE | BLACK_MAY_CASTLE, 0, 0, flags)
    return board


# --------------------------------------------------------------------------------------------- kernels


@view
def board_at(boards, i):  # type: ignore[no-untyped-def]
    """The i-th of many boards, as a view."""
    return Board(boards.squares[i], boards.info[i], boards.keys[i])


@kernel(inline=True)
def copy_board(source, target):  # type: ignore[no-untyped-def]
    """Copy one board onto another, and of the keys those in use."""
    for s in range(SQUARES):
        target.squares[s] = source.squares[s]
    for k in range(INFO_LENGTH):
        target.info[k] = source.info[k]
    for k in range(source.info[HALFMOVE] + 1):
        target.keys[k] = source.keys[k]


@kernel
def set_up(board, squares, to_play, castling, halfmove, ply, flags):  # type: ignore[no-untyped-def]
    """Make `board` this position, with nothing known of how the game came to it; squares: int8[20]."""
    key = np.int64(CASTLING_KEYS[castling])
    for s in range(SQUARES):
        board.squares[s] = squares[s]
        key ^= ZOBRIST[squares[s], s]
    if to_play == BLACK:
        key ^= TURN_KEY
    info = board.info
    info[TO_PLAY], info[CASTLING], info[HALFMOVE], info[PLY] = to_play, castling, halfmove, ply
    info[HASH], info[RULES] = key, flags
    board.keys[:] = 0
    board.keys[halfmove] = key


@kernel(inline=True)
def play_move(board, move):  # type: ignore[no-untyped-def]
    """Play a legal move in place."""
    u = np.uint64
    squares, info = board.squares, board.info
    source, target, promotion = u(move % SQUARES), u(move // SQUARES % SQUARES), move // (SQUARES * SQUARES)
    piece, captured = np.int64(squares[source]), np.int64(squares[target])
    black = piece > BLACK_PIECE
    landed = piece + promotion  # a pawn turns into the piece that many above it
    key = info[HASH] ^ ZOBRIST[u(piece), source] ^ ZOBRIST[u(captured), target] ^ ZOBRIST[u(landed), target] ^ TURN_KEY
    squares[source] = EMPTY
    squares[target] = landed

    kind = piece - BLACK_PIECE if black else piece
    if kind == KING:
        if source == _D1 and target == _B1:
            key ^= _move_rook(squares, _A1, _C1)
        elif source == _A5 and target == _C5:
            key ^= _move_rook(squares, _D5, _B5)
    castling = info[CASTLING]
    if castling:
        kept = castling & _RIGHTS_KEPT[source] & _RIGHTS_KEPT[target]
        key ^= CASTLING_KEYS[castling] ^ CASTLING_KEYS[kept]
        info[CASTLING] = kept

    halfmove = info[HALFMOVE] + 1 if kind != PAWN and captured == EMPTY else 0
    halfmove = min(halfmove, FIFTY_MOVES)  # the game ends there; a caller who plays on does no harm
    info[HALFMOVE] = halfmove
    info[PLY] += 1
    info[TO_PLAY] = WHITE if black else BLACK
    info[HASH] = key
    board.keys[u(halfmove)] = key


@kernel(inline=True)
def _move_rook(squares, source, target):  # type: ignore[no-untyped-def]
    """The rook's part of castling; returns what it does to the hash."""
    rook = squares[source]
    squares[target] = rook
    squares[source] = EMPTY
    return ZOBRIST[rook, source] ^ ZOBRIST[rook, target]


# ---------------------------------------------------------------------------------------- Zobrist keys
# A position's hash is the XOR of a random number for each piece on its square, for the castling rights
# and, when Black is to move, for the turn.
#
# They are drawn once from a fixed seed, so hashes mean the same in every process and may be stored. `ZOBRIST` has shape
# int64[13, 20], and row 0 (no piece) is zero. `CASTLING_KEYS` has one for each set of castling rights; none hashes to
# 0.


def _draw(seed: int, *shape: int) -> NDArray[np.int64]:
    keys = np.random.default_rng(seed).integers(1, np.iinfo(np.int64).max, shape, np.int64)
    keys[0] = 0
    return keys


ZOBRIST: Final = _draw(0x41C0C4E5, 13, 20)
CASTLING_KEYS: Final = _draw(0x41C0C4E6, 4)
TURN_KEY: Final = int(_draw(0x41C0C4E7, 2)[1])


# ---------------------------------------------------------------------------------------------- actions
# The numbers 0 to 435 that a policy gives to moves, always as the player to move sees the board.
#
# For Black the board is turned by half a circle (square s becomes 19 - s), which makes the start position the same for
# both. In this view
#
# * 0 to 399:   from * 20 + to; a pawn that reaches the last rank becomes a queen;
# * 400 to 435: promotions to less, 400 + 9 * file + 3 * direction + piece: the pawn's file, 0 capturing towards the
#   file before it, 1 straight on, 2 capturing towards the file after it; 0 knight, 1 bishop, 2 rook.

ACTIONS = 436
MOVES = 5 * SQUARES * SQUARES  # every move is less than this
_QUEEN = 4
_UNDER = SQUARES * SQUARES  # the first promotion to less than a queen
_SEVENTH = 3 * FILES  # a4: the rank from which pawns promote
_LAST = 4 * FILES


def _action_table() -> NDArray[np.int16]:
    """int16[2, MOVES]: the action of a move of White (row 0) and of Black (row 1)."""
    table = np.zeros((2, MOVES), np.int16)
    for move in range(MOVES):
        for row in range(2):
            source, target, promotion = move % SQUARES, move // SQUARES % SQUARES, move // (SQUARES * SQUARES)
            if row == 1:
                source, target = SQUARES - 1 - source, SQUARES - 1 - target
            file, direction = source % FILES, target % FILES - source % FILES + 1
            if promotion in (0, _QUEEN):
                table[row, move] = source * SQUARES + target
            elif 0 <= direction <= 2:
                table[row, move] = _UNDER + 9 * file + 3 * direction + promotion - 1
    return table


ACTION_TABLE: Final = _action_table()


@kernel(inline=True)
def action_of_move(move, color):  # type: ignore[no-untyped-def]
    """The action of a legal move of `color`."""
    return np.int64(ACTION_TABLE[np.uint64(color - WHITE), np.uint64(move)])


@kernel(inline=True)
def move_of_action(board, action):  # type: ignore[no-untyped-def]
    """The move that a legal action of the player to move stands for."""
    color = board.info[TO_PLAY]
    promotion = 0
    if action < _UNDER:
        source, target = action // SQUARES, action % SQUARES
    else:
        file, direction = (action - _UNDER) // 9, (action - _UNDER) // 3 % 3
        source, target = _SEVENTH + file, _LAST + file + direction - 1
        promotion = 1 + (action - _UNDER) % 3
    queens = promotion == 0 and target >= _LAST
    if color == BLACK:
        source, target = SQUARES - 1 - source, SQUARES - 1 - target
    if queens and board.squares[np.uint64(source)] == (PAWN if color == WHITE else PAWN + BLACK_PIECE):
        promotion = _QUEEN
    return source + SQUARES * target + SQUARES * SQUARES * promotion


# ---------------------------------------------------------------------------------------------- options

RULE_SETS: Final = ("standard", "ncsoft")


@dataclass(frozen=True)
class MicrochessOptions(Options):
    """Rules, and whether pawns may begin with two steps."""

    game: ClassVar[str] = "microchess"

    rules: str = "standard"
    """standard or ncsoft."""
    double_step: bool = True

    def __post_init__(self) -> None:
        rule_flags(self.rules, self.double_step)


def rule_flags(rules: str, double_step: bool) -> int:
    """What the kernels know of a rule set; ValueError if there is none of this name."""
    if rules not in RULE_SETS:
        raise ValueError(f"no rules of microchess are called {rules[:40]!r}: choose from {', '.join(RULE_SETS)}")
    return (NCSOFT if rules == "ncsoft" else 0) | (DOUBLE_STEP if double_step else 0)


# ------------------------------------------------------------------------------------- Fairy-Stockfish
# The file that teaches it this game, and the names that the variants have there and in its Python module.


def variants_path() -> Path:
    """The variants file, for `setoption name VariantPath value FILE`."""
    return Path(__file__).with_name("variants.ini")


def variant_name(double_step: bool) -> str:
    """What the game is called there, with or without the pawns' double step."""
    return "microchessds" if double_step else "microchess"
