"""Which moves are legal, as kernels, and the hash of a position before it is played.

`history: int64[n]` holds the keys of all positions of the game so far, the present one included. A key is
the Zobrist hash; unless repetition is judged by position alone (`POSITIONAL`), who is to play is mixed in.
"""

import numpy as np

from tengen._kernel import kernel, stack_zeros
from tengen.games.go.board import (
    BORDER,
    EMPTY,
    EMPTY_COUNT,
    HASH,
    KO,
    MOVES,
    NO_CELL,
    PASSES,
    SIZE,
    TO_PLAY,
    WHITE,
    WHITE_TO_PLAY,
    ZOBRIST,
    board_at,
    is_only_liberty,
    place,
)
from tengen.games.go.rules import POSITIONAL, SITUATIONAL, SUICIDE, TERRITORY_KEPT

VOID_REPETITIONS = 3  # of a position, where only the simple ko is forbidden, leave a game without result

# Verdicts on a move.
LEGAL, OCCUPIED, KO_RETAKEN, SUICIDAL, POSITION_REPEATED, TERRITORY_FILLED, NO_FORCED_PASS = range(7)
REASONS = (
    "legal",
    "there is a stone already",
    "that retakes the ko at once",
    "that is suicide, which these rules forbid",
    "that repeats an earlier position (superko)",
    "that fills your own one-point territory, which simple-go forbids unless it saves stones",
    "simple-go allows a pass only when there is no other move",
)


@kernel(inline=True)
def is_breathing(board, p, color):  # type: ignore[no-untyped-def]
    """Whether a stone of `color` on the empty cell p would have a liberty (that is: it is not suicide)."""
    u = np.uint64
    cells = board.color
    stride = board.info[SIZE] + 1
    n0, n1, n2, n3 = u(p - 1), u(p + 1), u(p - stride), u(p + stride)
    if cells[n0] == EMPTY or cells[n1] == EMPTY or cells[n2] == EMPTY or cells[n3] == EMPTY:
        return True
    for n in (n0, n1, n2, n3):
        c = cells[n]
        if c != BORDER:
            last = is_only_liberty(board.liberties[board.head[n]], p)
            if (c == color) != last:
                return True
    return False


@kernel(inline=True)
def is_surrounded(board, p, color):  # type: ignore[no-untyped-def]
    """Whether all four neighbours of p are stones of `color` or edge."""
    u = np.uint64
    cells = board.color
    stride = board.info[SIZE] + 1
    c = cells[u(p - 1)]
    if c != color and c != BORDER:
        return False
    c = cells[u(p + 1)]
    if c != color and c != BORDER:
        return False
    c = cells[u(p - stride)]
    if c != color and c != BORDER:
        return False
    c = cells[u(p + stride)]
    return c == color or c == BORDER


@kernel(inline=True)
def is_last_liberty_of_neighbour(board, p):  # type: ignore[no-untyped-def]
    """Whether some string beside the empty cell p has no other liberty."""
    u = np.uint64
    stride = board.info[SIZE] + 1
    for q in (p - 1, p + 1, p - stride, p + stride):
        if board.color[u(q)] != BORDER and board.color[u(q)] != EMPTY:
            if is_only_liberty(board.liberties[board.head[u(q)]], p):
                return True
    return False


@kernel
def hash_after(board, p, color):  # type: ignore[no-untyped-def]
    """The Zobrist hash of the board after `color` plays the empty cell p, without playing it.

    One XOR where nothing is captured; otherwise one more for each stone that comes off.
    """
    stride = board.info[SIZE] + 1
    key = board.info[HASH] ^ ZOBRIST[color, p]
    neighbours = (p - 1, p + 1, p - stride, p + stride)
    opponent = 3 - color
    captures = False
    for i in range(4):
        q = neighbours[i]
        if board.color[q] == opponent and is_only_liberty(board.liberties[board.head[q]], p):
            captures = True
            if not _seen_before(board, neighbours, i):
                key ^= _string_hash(board, q, opponent)
    if not captures and not is_breathing(board, p, color):
        key ^= ZOBRIST[color, p]
        for i in range(4):
            if board.color[neighbours[i]] == color and not _seen_before(board, neighbours, i):
                key ^= _string_hash(board, neighbours[i], color)
    return key


@kernel(inline=True)
def _seen_before(board, neighbours, i):  # type: ignore[no-untyped-def]
    """Whether an earlier neighbour belongs to the same string as the i-th."""
    q = neighbours[i]
    for j in range(i):
        r = neighbours[j]
        if board.color[r] == board.color[q] and board.head[r] == board.head[q]:
            return True
    return False


@kernel
def _string_hash(board, stone, color):  # type: ignore[no-untyped-def]
    first = board.head[stone]
    key = ZOBRIST[color, first]
    s = board.next[first]
    while s != first:
        key ^= ZOBRIST[color, s]
        s = board.next[s]
    return key


@kernel(inline=True)
def position_key(board_hash, to_play, flags):  # type: ignore[no-untyped-def]
    """What the history stores for a position."""
    if flags & POSITIONAL == 0 and to_play == WHITE:
        return board_hash ^ WHITE_TO_PLAY
    return board_hash


@kernel
def occurrences(key, history):  # type: ignore[no-untyped-def]
    """How often a key stands in the history."""
    count = 0
    for i in range(history.shape[0]):
        count += history[i] == key
    return count


@kernel(inline=True)
def local_verdict(board, p, color, flags):  # type: ignore[no-untyped-def]
    """The verdict on a move by all rules but superko, which needs the history."""
    if board.color[p] != EMPTY:
        return OCCUPIED
    if p == board.info[KO] and color == board.info[TO_PLAY]:
        return KO_RETAKEN
    if flags & SUICIDE == 0 and not is_breathing(board, p, color):
        return SUICIDAL
    if flags & TERRITORY_KEPT and is_surrounded(board, p, color) and not is_last_liberty_of_neighbour(board, p):
        return TERRITORY_FILLED
    return LEGAL


@kernel
def verdict(board, p, color, flags, history):  # type: ignore[no-untyped-def]
    """LEGAL, or which rule the move at cell p by `color` breaks."""
    found = local_verdict(board, p, color, flags)
    if found == LEGAL and flags & (POSITIONAL | SITUATIONAL):
        if occurrences(position_key(hash_after(board, p, color), 3 - color, flags), history) > 0:
            return POSITION_REPEATED
    return found


@kernel
def legal_points(board, color, flags, history, legal):  # type: ignore[no-untyped-def]
    """Mark the legal points of `color` in `legal: bool[size * size]`; returns how many there are.

    Superko costs little: a 4,096-bit filter over the history rules out nearly every move at once.
    """
    size = board.info[SIZE]
    superko = flags & (POSITIONAL | SITUATIONAL) != 0
    filter_bits = stack_zeros(64, np.uint64)
    if superko:
        for i in range(history.shape[0]):
            filter_bits[(history[i] >> 6) & 63] |= np.uint64(1) << np.uint64(history[i] & 63)
    count = 0
    legal[:] = False
    for i in range(board.info[EMPTY_COUNT]):
        p = np.int64(board.empties[i])
        if local_verdict(board, p, color, flags) != LEGAL:
            continue
        if superko:
            key = position_key(hash_after(board, p, color), 3 - color, flags)
            if filter_bits[(key >> 6) & 63] >> np.uint64(key & 63) & np.uint64(1):
                if occurrences(key, history) > 0:
                    continue
        row = p // (size + 1)
        legal[p - row - size - 1] = True
        count += 1
    return count


@kernel
def play_move(board, p, color):  # type: ignore[no-untyped-def]
    """Play a legal move, or a pass (NO_CELL), in place."""
    info = board.info
    if p == NO_CELL:
        info[KO] = NO_CELL
        info[PASSES] += 1
    else:
        place(board, p, color)
        info[PASSES] = 0
    info[MOVES] += 1
    info[TO_PLAY] = 3 - color


# ---------------------------------------------------------------------------------- many games at once


@kernel
def legal_policies(boards, flags, histories, lengths, legal):  # type: ignore[no-untyped-def]
    """The legal moves of B games: marks `legal: bool[B, size * size + 1]`, the last column being pass.

    histories: int64[B, H] with the first lengths[i] keys of game i valid.
    """
    for i in range(lengths.shape[0]):
        board = board_at(boards, i)
        points = legal.shape[1] - 1
        count = legal_points(board, board.info[TO_PLAY], flags, histories[i, : lengths[i]], legal[i, :points])
        legal[i, points] = flags & TERRITORY_KEPT == 0 or count == 0


@kernel
def play_policies(boards, moves, flags, histories, lengths):  # type: ignore[no-untyped-def]
    """Play one legal move in each of B games, in place; moves: int64[B] as policy indices, -1 to leave a
    game alone. Appends to the histories."""
    for i in range(moves.shape[0]):
        if moves[i] < 0:
            continue
        board = board_at(boards, i)
        size = board.info[SIZE]
        p = NO_CELL
        if moves[i] < size * size:
            p = moves[i] + moves[i] // size + size + 2
        play_move(board, p, board.info[TO_PLAY])
        histories[i, lengths[i]] = position_key(board.info[HASH], board.info[TO_PLAY], flags)
        lengths[i] += 1
