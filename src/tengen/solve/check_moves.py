"""What the checker knows of a game, in kernels: the positions of a certificate, their moves, and when a line may end.

It is the rules engine (`games.go.board`, `games.go.legality`) with what positions remember of the last moves (`mark`,
as in `certificate.mark_of`): nothing of the solver's search is in here.

A position is a number, as in the file: `(stones * 32 + mark + 1) * 2 + passed`, but in any of its eight images. Whose
turn it is stands beside it. Cells are those of the padded board; NO_CELL is a pass, or no mark.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.games.go.board import (
    BLACK,
    BORDER,
    EMPTY,
    EMPTY_COUNT,
    KO,
    NO_CELL,
    PASSES,
    SIZE,
    TO_PLAY,
    Board,
    atari_cell,
    cell_count,
    copy_board,
    new_board,
    set_stones,
)
from tengen.games.go.legality import LEGAL, local_verdict, play_move
from tengen.games.go.rules import POSITIONAL, SITUATIONAL, TERRITORY_KEPT
from tengen.games.go.score import area
from tengen.solve.certificate import board_images
from tengen.solve.check_safety import SafetyWork, count_safe, safety_work

# What stands in place of a position after a move.
KEPT: Final = -1  # the promise is kept: the line ends
LOST: Final = -2  # the game is over, and the margin is not reached
ILLEGAL: Final = -3
NO_POSITION: Final = -4  # the number is none of a position


class Question(NamedTuple):
    """What was promised: that `color` gets a margin of at least `margin` under rules with these flags."""

    size: int
    flags: int
    color: int
    margin: int


class Work(NamedTuple):
    """Room to try moves."""

    here: Board
    after: Board
    later: Board
    cells: NDArray[np.uint8]  # [P] stones to set up
    images: NDArray[np.int64]  # [8, N * N] as `board_images`
    places: NDArray[np.int64]  # [8, N * N] the other way round
    moves: NDArray[np.int64]  # [N * N + 1] the moves of a position
    reached: NDArray[np.int64]  # [N * N + 1] the positions after them
    safety: SafetyWork


def new_work(size: int) -> Work:
    """Room for boards of this size."""
    images = board_images(size)
    moves, reached = np.zeros((2, size * size + 1), np.int64)
    cells = np.zeros(cell_count(size), np.uint8)
    here, after, later = new_board(size), new_board(size), new_board(size)
    return Work(here, after, later, cells, images, np.argsort(images, axis=1), moves, reached, safety_work(size))


@kernel
def least_image(work, number):  # type: ignore[no-untyped-def]
    """(the number of a position's least image, which image that is)."""
    passed, mark, points = number & 1, (number >> 1) % 32, work.images.shape[1]
    best, best_image, left = np.int64(-1), 0, number >> 6
    for point in range(points):
        work.cells[point] = left % 3
        left //= 3
    for image in range(8):
        stones, power = np.int64(0), np.int64(1)
        for point in range(points):
            stones += power * work.cells[work.images[image, point]]
            power *= 3
        code = stones * 32
        if mark > 0:
            code += work.places[image, mark - 1] + 1
        if best < 0 or code < best:
            best, best_image = code, image
    return best * 2 + passed, best_image


@kernel
def replies(work, question, number, color):  # type: ignore[no-untyped-def]
    """List all moves of `color` in `work.moves`, with what they lead to in `work.reached`; returns how many, or
    NO_POSITION. Superko is left out, but for what the mark tells."""
    mark = _set_up(work, question, number, color)
    if mark == NO_POSITION:
        return NO_POSITION
    count = 0
    for row in range(question.size):
        for col in range(question.size):
            p = (row + 1) * (question.size + 1) + col + 1
            reached = _play(work, question, mark, p)
            if reached != ILLEGAL:
                work.moves[count], work.reached[count] = p, reached
                count += 1
    if count == 0 or question.flags & TERRITORY_KEPT == 0:
        work.moves[count], work.reached[count] = NO_CELL, _play(work, question, mark, NO_CELL)
        count += 1
    return count


@kernel
def answer(work, question, number, point):  # type: ignore[no-untyped-def]
    """What the move of the player who promised leads to; point: -1 for a pass."""
    if point < 0 and question.flags & TERRITORY_KEPT:
        count = replies(work, question, number, question.color)
        return work.reached[0] if count == 1 and work.moves[0] == NO_CELL else np.int64(min(count, ILLEGAL))
    mark = _set_up(work, question, number, question.color)
    if mark == NO_POSITION or point >= question.size * question.size:
        return np.int64(NO_POSITION)
    p = NO_CELL if point < 0 else point + point // question.size + question.size + 2
    return _play(work, question, mark, p)


@kernel
def _set_up(work, question, number, color):  # type: ignore[no-untyped-def]
    """Make `work.here` a position; returns the cell of its mark, or NO_POSITION."""
    size = question.size
    left, mark = number >> 6, (number >> 1) % 32
    work.cells[:] = BORDER
    for point in range(size * size):
        work.cells[point + point // size + size + 2] = left % 3
        left //= 3
    if number < 0 or left > 0 or mark > size * size or not set_stones(work.here, work.cells):
        return NO_POSITION
    work.here.info[TO_PLAY], work.here.info[PASSES] = color, number & 1
    return NO_CELL if mark == 0 else mark - 1 + (mark - 1) // size + size + 2


@kernel
def _play(work, question, mark, p):  # type: ignore[no-untyped-def]
    """Play p in `work.here`, with a mark: the position after it, or KEPT, LOST or ILLEGAL."""
    here, after, flags = work.here, work.after, question.flags
    color = here.info[TO_PLAY]
    if p != NO_CELL and (_is_forbidden(here, mark, p, flags) or local_verdict(here, p, color, flags) != LEGAL):
        return np.int64(ILLEGAL)
    copy_board(here, after)
    play_move(after, p, color)
    same = after.color[p] == EMPTY and after.info[EMPTY_COUNT] == here.info[EMPTY_COUNT]  # one stone, by suicide
    if p != NO_CELL and same and (flags & POSITIONAL or (flags & SITUATIONAL and here.info[PASSES])):
        return np.int64(ILLEGAL)
    ko, after.info[KO] = after.info[KO], NO_CELL
    if _is_kept(after, question, work.safety):
        return np.int64(KEPT)
    if after.info[PASSES] == 2:
        return np.int64(LOST)
    new_mark = ko if ko != NO_CELL else _mark(work, flags, mark, p)
    stones, size = np.int64(0), question.size
    for row in range(size, 0, -1):
        for col in range(size, 0, -1):
            stones = stones * 3 + after.color[row * (size + 1) + col]
    code = stones * 32
    if new_mark != NO_CELL:
        row = new_mark // (size + 1) - 1
        code += row * size + new_mark % (size + 1)  # columns of cells begin with 1, as marks do
    return code * 2 + after.info[PASSES]


@kernel
def _is_forbidden(board, mark, p, flags):  # type: ignore[no-untyped-def]
    """Whether the mark forbids to play p: always under positional superko, else only with stones all around."""
    if p != mark:
        return False
    stride = board.info[SIZE] + 1
    for q in (p - 1, p + 1, p - stride, p + stride):
        if board.color[q] == EMPTY:
            return flags & POSITIONAL != 0
    return True


@kernel
def _is_kept(board, question, safety):  # type: ignore[no-untyped-def]
    """Whether the player has the margin: counted in a finished game, else by safe points."""
    if board.info[PASSES] == 2:
        margin = area(board)
        return (margin if question.color == BLACK else -margin) >= question.margin
    points, stones = count_safe(board, question.color, safety)
    if board.info[PASSES] and board.info[TO_PLAY] != question.color and stones > 0:
        return False  # the opponent could end the game at once, with stones that are not captured yet
    return 2 * points - question.size * question.size >= question.margin


@kernel
def _mark(work, flags, mark, p):  # type: ignore[no-untyped-def]
    """What is remembered after a move that made no simple ko; the steps are those of `certificate.mark_of`."""
    here, after = work.here, work.after
    color = here.info[TO_PLAY]
    if flags & (POSITIONAL | SITUATIONAL) == 0:
        return NO_CELL
    if p == NO_CELL:
        is_retaken = mark != NO_CELL and here.color[mark] == 3 - color and here.next[mark] == mark
        return _sent_before(here, mark) if is_retaken and flags & SITUATIONAL else NO_CELL
    if after.info[EMPTY_COUNT] == here.info[EMPTY_COUNT] - 1 and _is_pair_in_atari(after, p):
        return p
    if mark != NO_CELL and here.color[mark] == 3 - color and here.next[mark] != mark:
        return _retaken(work, flags, mark)
    return p if p == mark and flags & SITUATIONAL else NO_CELL


@kernel
def _is_pair_in_atari(board, p):  # type: ignore[no-untyped-def]
    other = board.next[p]
    return other != p and board.next[other] == p and atari_cell(board.liberties[board.head[p]]) != NO_CELL


@kernel
def _retaken(work, flags, mark):  # type: ignore[no-untyped-def]
    """Where one of two stones, the second of which was sent to `mark`, can be retaken, if they alone have been captured
    and if that brings back the stones before they were two."""
    here, after, later = work.here, work.after, work.later
    retaken = np.int64(here.next[mark])
    if after.color[mark] != EMPTY or after.info[EMPTY_COUNT] != here.info[EMPTY_COUNT] + 1:
        return NO_CELL
    if local_verdict(after, retaken, after.info[TO_PLAY], flags) != LEGAL:
        return NO_CELL
    copy_board(after, later)
    play_move(later, retaken, after.info[TO_PLAY])
    for q in range(here.color.shape[0]):
        if later.color[q] != (EMPTY if q == mark else here.color[q]):
            return NO_CELL
    return retaken


@kernel
def _sent_before(board, retaken):  # type: ignore[no-untyped-def]
    """Where the second stone was sent: the liberty of the one retaken that has no other stone of its colour and no
    empty point beside it. (The other liberty has one: that is how the capturing stone could be captured.)"""
    stride = board.info[SIZE] + 1
    for p in (retaken - 1, retaken + 1, retaken - stride, retaken + stride):
        if board.color[p] != EMPTY:
            continue
        closed = True
        for q in (p - 1, p + 1, p - stride, p + stride):
            closed &= q == retaken or board.color[q] == BORDER or board.color[q] == 3 - board.color[retaken]
        if closed:
            return p
    return NO_CELL
