"""Strings of stones, as kernels over a `Board`: their real liberties, and whether a ladder captures them.

The board keeps pseudo-liberties, which tell captures and ataris but not numbers. These kernels walk a string
and see each liberty once: a liberty q belongs to the first stone of the string among q's neighbours in the
order left, right, above, below, and is skipped at the others. So no marks are needed, and no memory.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.games.go.board import (
    BLACK,
    EMPTY,
    KO,
    NO_CELL,
    SIZE,
    TO_PLAY,
    WHITE,
    Board,
    allocate,
    atari_cell,
    board_at,
    copy_board,
    is_only_liberty,
    place,
    pseudo_liberties,
)
from tengen.games.go.legality import is_breathing

if TYPE_CHECKING:
    from tengen.games.go.state import State

_MOST_BESIDE = 4  # a liberty touches at most four stones of a string, so it counts for at most four pseudo-liberties


@kernel(inline=True)
def is_of_string(board, q, color, head):  # type: ignore[no-untyped-def]
    """Whether cell q holds a stone of the string of this colour with this head."""
    u = np.uint64
    return board.color[u(q)] == color and board.head[u(q)] == head


@kernel
def string_cells(board, stone, out):  # type: ignore[no-untyped-def]
    """Write the cells of the string of `stone` to out: int[P]; returns how many there are."""
    first = board.head[stone]
    count = 0
    s = first
    while True:
        out[count] = s
        count += 1
        s = board.next[s]
        if s == first:
            return count


@kernel
def liberty_cells(board, stone, out):  # type: ignore[no-untyped-def]
    """Write the liberties of the string of `stone` to out: int[P]; returns how many there are.

    They come in no particular order. If out is shorter than the liberties are many, it is filled and the
    walk ends: the answer is then the length of out.
    """
    u = np.uint64
    cells = board.color
    stride = board.info[SIZE] + 1
    room = out.shape[0]
    color, first = cells[stone], board.head[stone]
    count = 0
    s = np.int64(first)
    while count < room:
        for side in range(4):
            q = _beside(s, side, stride)
            if cells[u(q)] == EMPTY and count < room and _is_first(board, q, side, color, first, stride):
                out[count] = q
                count += 1
        s = np.int64(board.next[u(s)])
        if s == first:
            break
    return count


@kernel
def liberty_count(board, stone, at_most):  # type: ignore[no-untyped-def]
    """How many liberties the string of `stone` has; counting ends at `at_most`."""
    u = np.uint64
    cells = board.color
    stride = board.info[SIZE] + 1
    color, first = cells[u(stone)], board.head[u(stone)]
    if pseudo_liberties(board.liberties[first]) > _MOST_BESIDE * (at_most - 1):
        return at_most
    count = 0
    s = np.int64(first)
    while True:
        for side in range(4):
            q = _beside(s, side, stride)
            if cells[u(q)] == EMPTY and _is_first(board, q, side, color, first, stride):
                count += 1
                if count >= at_most:
                    return at_most
        s = np.int64(board.next[u(s)])
        if s == first:
            return count


@kernel(inline=True)
def two_liberties(board, stone):  # type: ignore[no-untyped-def]
    """(count, a, b): the number of liberties, 3 standing for 3 or more, and two of them or NO_CELL."""
    u = np.uint64
    cells = board.color
    stride = board.info[SIZE] + 1
    first = board.head[u(stone)]
    a = b = np.int64(NO_CELL)
    if pseudo_liberties(board.liberties[first]) > 2 * _MOST_BESIDE:
        return 3, a, b
    s = np.int64(first)
    while True:
        for q in (s - 1, s + 1, s - stride, s + stride):
            if cells[u(q)] == EMPTY and q != a and q != b:
                if b != NO_CELL:
                    return 3, a, b
                if a != NO_CELL:
                    b = q
                else:
                    a = q
        s = np.int64(board.next[u(s)])
        if s == first:
            return np.int64(a != NO_CELL) + np.int64(b != NO_CELL), a, b


@kernel(inline=True)
def _beside(p, side, stride):  # type: ignore[no-untyped-def]
    """The neighbour of p on side 0 to 3, such that p is neighbour number `side` of it (see `_is_first`)."""
    if side == 0:
        return p + 1
    if side == 1:
        return p - 1
    if side == 2:
        return p + stride
    return p - stride


@kernel(inline=True)
def _is_first(board, q, side, color, head, stride):  # type: ignore[no-untyped-def]
    """Whether none of the first `side` neighbours (left, right, above) of q is of the string."""
    if side >= 1 and is_of_string(board, q - 1, color, head):
        return False
    if side >= 2 and is_of_string(board, q + 1, color, head):
        return False
    return not (side >= 3 and is_of_string(board, q - stride, color, head))


# ---------------------------------------------------------------------------------------------- ladders
# Ladders are read to the end: can a string that is put in atari, move after move, get away?
#
# The *defender* owns the target string, the *attacker* wants it. While the target is in atari, the defender may
# extend at its last liberty or capture any attacking string beside it that is in atari itself. While it has two
# liberties, the attacker may play either. With three liberties it has escaped; with one on the attacker's turn
# it is captured. Both sides try all of these moves, and no others. Captures, snapbacks and throw-ins are
# played out for real; suicide and the immediate retaking of a ko are forbidden.
#
# A reading has a budget of moves, and of positions kept to come back to. When either is used up the verdict is
# EXHAUSTED, and every yes-or-no function here takes that for "not captured": a capture has to be proven.
# (Endless repetitions, as by double ko, end this way too.)
#
# The reading is a depth-first walk without recursion. The line under study is played out on a scratch board;
# where a side has several moves the position is kept, and its untried moves wait on a stack. When a line is
# decided, the latest waiting move of the side that lost it is tried, and later ones of the winner are dropped.
# An ordinary ladder has one sensible move at each turn, and copies no board on its way.

ESCAPED, CAPTURED, EXHAUSTED = 0, 1, 2
MOVE_BUDGET: Final = 1000  # ten times the longest plain ladder on 19x19
_KEPT_POSITIONS = 48
_WAITING_MOVES = 256

_WINS_AT_ONCE = -1  # what `_attacks` and `_defences` answer if there is no need to play; 0 is a loss
_READING, _ROOT = 0, 1  # rows of `LadderScratch.moves`
_COLOR, _CELL, _LEVEL = range(3)  # columns of `LadderScratch.waiting`


class LadderScratch(NamedTuple):
    """Memory for reading ladders; one for each thread."""

    boards: Board  # [49, ...] the line under study, on top of the positions kept
    waiting: NDArray[np.int64]  # [256, 3] untried moves: colour, cell, and on which of the boards
    moves: NDArray[np.int64]  # [2, P] the moves of the side to play, in the reading and before it


def ladder_scratch(size: int) -> LadderScratch:
    """Memory for reading ladders on boards of this size."""
    boards = allocate(size, _KEPT_POSITIONS + 1)
    waiting = np.empty((_WAITING_MOVES, 3), np.int64)
    return LadderScratch(boards, waiting, np.empty((2, boards.color.shape[1]), np.int64))


def find_ladders(
    position: "State | Board", color: int | None = None, budget: int = MOVE_BUDGET
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(captures, escapes): bool[size, size] each, the points where `color` (or who is to play) can do either.

    captures: the move puts an enemy string with two liberties in atari, and it cannot get away.
    escapes: the move saves an own string in atari, which then cannot be caught in a ladder.
    """
    board = position if isinstance(position, Board) else position.board
    size = int(board.info[SIZE])
    if color is None:
        color = int(board.info[TO_PLAY])
    elif color not in (BLACK, WHITE):
        raise ValueError(f"colour {color} does not play: choose BLACK ({BLACK}) or WHITE ({WHITE})")
    marks = np.empty((2, board.color.shape[0]), np.bool_)
    mark_ladders(board, color, marks[0], marks[1], ladder_scratch(size), budget)
    captures, escapes = marks[:, size + 1 : (size + 1) ** 2].reshape(2, size, size + 1)[:, :, 1:].copy()
    return captures, escapes


# --------------------------------------------------------------------------------------- public kernels


@kernel
def mark_ladders(board, color, captures, escapes, scratch, budget):  # type: ignore[no-untyped-def]
    """Mark where `color` can capture or escape by a ladder in captures, escapes: bool[P].

    Every string is read once for each move that matters, so this is the fast way to have all points.
    """
    u = np.uint64
    cells = board.color
    ko = _forbidden(board, color)
    captures[:] = False
    escapes[:] = False
    for p in range(cells.shape[0]):
        if board.head[u(p)] != p:
            continue
        if cells[u(p)] == color:
            if atari_cell(board.liberties[u(p)]) != NO_CELL:
                for i in range(_list_defences(board, p, ko, scratch.moves[_ROOT])):
                    move = scratch.moves[_ROOT, i]
                    if not escapes[move]:
                        escapes[move] = _read_after(board, p, move, color, scratch, budget) != CAPTURED
        elif cells[u(p)] == 3 - color:
            count, a, b = two_liberties(board, p)
            if count == 2:
                captures[a] = captures[a] or _falls_to(board, p, a, b, ko, scratch, budget)
                captures[b] = captures[b] or _falls_to(board, p, b, a, ko, scratch, budget)


@kernel
def ladder_capture(board, p, color, scratch, budget):  # type: ignore[no-untyped-def]
    """Whether `color` by playing p puts an enemy string with two liberties in atari that cannot get away."""
    stride = board.info[SIZE] + 1
    if board.color[p] != EMPTY:
        return False
    ko = _forbidden(board, color)
    for q in (p - 1, p + 1, p - stride, p + stride):
        if board.color[q] == 3 - color:
            count, a, b = two_liberties(board, q)
            if count == 2 and _falls_to(board, q, p, a + b - p, ko, scratch, budget):
                return True
    return False


@kernel
def ladder_escape(board, p, color, scratch, budget):  # type: ignore[no-untyped-def]
    """Whether `color` by playing p saves a string of its own in atari: by extending it or by a capture."""
    if board.color[p] != EMPTY:
        return False
    ko = _forbidden(board, color)
    for q in range(board.color.shape[0]):
        if board.color[q] == color and board.head[q] == q and atari_cell(board.liberties[q]) != NO_CELL:
            count = _list_defences(board, q, ko, scratch.moves[_ROOT])
            if _is_among(p, scratch.moves[_ROOT], count):
                if _read_after(board, q, p, color, scratch, budget) != CAPTURED:
                    return True
    return False


@kernel
def can_escape(board, stone, scratch, budget):  # type: ignore[no-untyped-def]
    """Whether the string of `stone`, its owner to move, can get out of atari for good.

    A string that is not in atari needs no escape: the answer is yes.
    """
    if atari_cell(board.liberties[board.head[stone]]) == NO_CELL:
        return True
    return read_ladder(board, stone, np.int64(board.color[stone]), scratch, budget) != CAPTURED


@kernel
def is_captured_by(board, stone, scratch, budget):  # type: ignore[no-untyped-def]
    """Whether the opponent, to move, can capture the string of `stone`, which has at most two liberties,
    without ever letting go of it. A string with more liberties is in no ladder: the answer is no."""
    return read_ladder(board, stone, 3 - np.int64(board.color[stone]), scratch, budget) == CAPTURED


@kernel
def read_ladder(board, stone, to_move, scratch, budget):  # type: ignore[no-untyped-def]
    """ESCAPED, CAPTURED or EXHAUSTED: the fate of the string of `stone`, with `to_move` to play.

    If that is its owner, it has to be in atari.
    """
    start = board_at(scratch.boards, 0)
    copy_board(board, start)
    start.info[KO] = _forbidden(board, to_move)
    return _read(scratch, stone, to_move, budget)


# ------------------------------------------------------------------------------ the first move of a ladder


@kernel(inline=True)
def _forbidden(board, color):  # type: ignore[no-untyped-def]
    """The cell that the ko forbids to `color`: none if it plays out of turn."""
    return board.info[KO] if board.info[TO_PLAY] == color else NO_CELL


@kernel
def _falls_to(board, target, attack, other, ko, scratch, budget):  # type: ignore[no-untyped-def]
    """Whether the target, with just two liberties `attack` and `other`, is captured by the move at `attack`."""
    if _freedom(board, target, attack, other, ko) >= 3:
        return False
    return _read_after(board, target, attack, 3 - np.int64(board.color[target]), scratch, budget) == CAPTURED


@kernel
def _read_after(board, target, move, color, scratch, budget):  # type: ignore[no-untyped-def]
    """The fate of the target if `color` plays a move that is legal."""
    start = board_at(scratch.boards, 0)
    copy_board(board, start)
    place(start, move, color)
    return _read(scratch, target, 3 - color, budget)


# --------------------------------------------------------------------------------------------- reading


@kernel
def _read(scratch, target, to_move, budget):  # type: ignore[no-untyped-def]
    """The fate of the target on boards[0]."""
    boards, waiting, moves = scratch.boards, scratch.waiting, scratch.moves[_READING]
    owner = np.int64(boards.color[0, target])
    level = 0  # the board that the line is played on
    pending = 0  # moves that wait
    for _ in range(budget + 1):
        board = board_at(boards, level)
        if to_move == owner:
            count = _defences(board, target, moves)
        else:
            count = _attacks(board, target, moves)
        if count > 0:
            move = moves[0]
            if count > 1:
                if level == _KEPT_POSITIONS or pending + count > _WAITING_MOVES:
                    return EXHAUSTED
                for i in range(count - 1, 0, -1):
                    waiting[pending, _COLOR] = to_move
                    waiting[pending, _CELL] = moves[i]
                    waiting[pending, _LEVEL] = level
                    pending += 1
                level += 1
                copy_board(board, board_at(boards, level))
        else:
            winner = to_move if count == _WINS_AT_ONCE else 3 - to_move
            while pending > 0 and waiting[pending - 1, _COLOR] == winner:
                pending -= 1
            if pending == 0:
                return ESCAPED if winner == owner else CAPTURED
            pending -= 1
            to_move = waiting[pending, _COLOR]
            move = waiting[pending, _CELL]
            level = waiting[pending, _LEVEL]
            if pending > 0 and waiting[pending - 1, _LEVEL] == level:  # more moves wait for this position
                copy_board(board_at(boards, level), board_at(boards, level + 1))
                level += 1
        place(board_at(boards, level), move, to_move)
        to_move = 3 - to_move
    return EXHAUSTED


@kernel(inline=True)
def _attacks(board, target, moves):  # type: ignore[no-untyped-def]
    """Write the attacker's moves worth trying, the more pressing first; returns how many, or _WINS_AT_ONCE."""
    ko = board.info[KO]
    count, a, b = two_liberties(board, target)
    if count != 2:
        return _WINS_AT_ONCE if count == 1 and a != ko else 0
    after_a, after_b = _freedom(board, target, a, b, ko), _freedom(board, target, b, a, ko)
    if after_b < after_a:
        a, b, after_a, after_b = b, a, after_b, after_a
    moves[0] = a
    moves[1] = b
    return np.int64(after_a < 3) + np.int64(after_b < 3)


@kernel(inline=True)
def _defences(board, target, moves):  # type: ignore[no-untyped-def]
    """Write the defender's moves worth trying; returns how many, or _WINS_AT_ONCE."""
    u = np.uint64
    ko = board.info[KO]
    color, first = np.int64(board.color[u(target)]), board.head[u(target)]
    last = atari_cell(board.liberties[first])
    freedom = liberties_after(board, last, color, first, last)
    if freedom >= 3 and last != ko:
        return _WINS_AT_ONCE
    count = _list_captures(board, target, ko, moves)
    if last != ko and not _is_among(last, moves, count):
        if freedom == 2 or is_capture(board, last, color):
            moves[count] = last
            count += 1
    return count


@kernel
def _list_defences(board, target, ko, moves):  # type: ignore[no-untyped-def]
    """Write all legal defences of the target, which is in atari; returns how many."""
    last = atari_cell(board.liberties[board.head[target]])
    count = _list_captures(board, target, ko, moves)
    color = np.int64(board.color[target])
    if last != ko and is_breathing(board, last, color) and not _is_among(last, moves, count):
        moves[count] = last
        count += 1
    return count


@kernel
def _list_captures(board, target, ko, moves):  # type: ignore[no-untyped-def]
    """Write the cells where the target's owner captures a string beside it; returns how many."""
    u = np.uint64
    cells = board.color
    stride = board.info[SIZE] + 1
    first = board.head[u(target)]
    enemy = 3 - cells[first]
    count = 0
    s = np.int64(first)
    while True:
        for q in (s - 1, s + 1, s - stride, s + stride):
            if cells[u(q)] == enemy:
                cell = atari_cell(board.liberties[board.head[u(q)]])
                if cell != NO_CELL and cell != ko and not _is_among(cell, moves, count):
                    moves[count] = cell
                    count += 1
        s = np.int64(board.next[u(s)])
        if s == first:
            return count


@kernel(inline=True)
def _is_among(move, moves, count):  # type: ignore[no-untyped-def]
    for i in range(count):
        if moves[i] == move:
            return True
    return False


@kernel
def _freedom(board, target, attack, extension, ko):  # type: ignore[no-untyped-def]
    """How many liberties, at most 3, the target has after an attack and an extension; 3 if the attack is illegal.

    An attack that captures changes too much to be judged from here; it counts as pressing (0).
    """
    u = np.uint64
    color = np.int64(board.color[u(target)])
    if attack == ko or not is_breathing(board, attack, 3 - color):
        return 3
    if is_capture(board, attack, 3 - color):
        return 0
    return liberties_after(board, extension, color, board.head[u(target)], attack)


@kernel(inline=True)
def is_capture(board, p, color):  # type: ignore[no-untyped-def]
    """Whether `color` takes stones off by playing the empty cell p."""
    u = np.uint64
    stride = board.info[SIZE] + 1
    for q in (p - 1, p + 1, p - stride, p + stride):
        if board.color[u(q)] == 3 - color and is_only_liberty(board.liberties[board.head[u(q)]], p):
            return True
    return False


@kernel
def liberties_after(board, p, color, target, without):  # type: ignore[no-untyped-def]
    """How many liberties, at most 3, the string of a new stone on p has, leaving out the cell `without`.

    Liberties that come from captures are not seen, nor those of the string with the head `target`.
    """
    u = np.uint64
    cells = board.color
    stride = board.info[SIZE] + 1
    a = b = np.int64(NO_CELL)
    for q in (p - 1, p + 1, p - stride, p + stride):
        if cells[u(q)] == color and board.head[u(q)] != target:
            first = np.int64(board.head[u(q)])
            s = first
            while True:
                for r in (s - 1, s + 1, s - stride, s + stride):
                    if cells[u(r)] == EMPTY and r != p and r != without and r != a and r != b:
                        if b != NO_CELL:
                            return 3
                        a, b = r, a
                s = np.int64(board.next[u(s)])
                if s == first:
                    break
        elif cells[u(q)] == EMPTY and q != without and q != a and q != b:
            if b != NO_CELL:
                return 3
            a, b = q, a
    return np.int64(a != NO_CELL) + np.int64(b != NO_CELL)
