"""What the checker knows of a game: each entry of a certificate by itself, by the rules alone.

It is the rules engine (`games.go.board`, `games.go.legality`) with what positions remember of the last moves (`mark`,
as in `certificate.mark_of`) and the checker's own safe points: nothing of the solver's search is in here.

A position is a number, as in the file: `(stones * 32 + mark + 1) * 2 + passed`, but in any of its eight images. Whose
turn it is stands beside it. Cells are those of the padded board; NO_CELL is a pass, or no mark.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen._machine import cores
from tengen.games import go
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
from tengen.games.go.rules import POSITIONAL, SITUATIONAL, TERRITORY_KEPT, get_rules
from tengen.games.go.score import area
from tengen.solve.certificate import Certificate, board_images

# What stands in place of a position after a move.
KEPT: Final = -1  # the statement is proven here: the line ends
LOST: Final = -2  # the game is over, and the margin is not reached
ILLEGAL: Final = -3
NO_POSITION: Final = -4  # the number is none of a position
_CHUNK = 20_000  # entries between two reports
_MISSING, _IN_VAIN = -5, -6
FAULTS = {
    NO_POSITION: "this is no position",
    ILLEGAL: "the move is not legal",
    LOST: "the game can end here with a margin that is less",
    _IN_VAIN: "the move leaves all stones as they are",
    _MISSING: "the opponent has a move after which the certificate has no move",
}


class CertificateError(ValueError):
    """A certificate that does not prove its statement; the message says where."""


class Goal(NamedTuple):
    """The statement: that `color` gets a margin of at least `margin` under rules with these flags."""

    size: int
    flags: int
    color: int
    margin: int


class Entries(NamedTuple):
    """What was seen of the n entries of a certificate."""

    after: NDArray[np.int64]  # [n] the stones after the player's move, up to symmetry; KEPT if the line ends there
    sizes: NDArray[np.int32]  # [n] how many replies to it do not end the line
    ends: NDArray[np.int32]  # [n] how many lines end with the move or a reply to it
    reply: NDArray[np.int32]  # [...] the entries that replies lead to, one after the other


class Fault(NamedTuple):
    """What is wrong with an entry."""

    place: int
    reason: str


class SafetyWork(NamedTuple):
    """Room for one board of P cells. Strings are named by their heads, regions by numbers."""

    region: NDArray[np.int16]  # [P] the number of the region of each cell, -1 on stones of the player
    regions: NDArray[np.int16]  # [P, 2] points of each region, and stones of the opponent in it
    touched: NDArray[np.int16]  # [P, P] points of a region that are beside a string
    alive: NDArray[np.bool_]  # [P] by the head of a string
    part: NDArray[np.int64]  # [P] a connected set of cells, or those still to visit
    seen: NDArray[np.bool_]  # [P]


def safety_work(size: int) -> SafetyWork:
    """Room for boards of this size."""
    cells = cell_count(size)
    return SafetyWork(
        np.zeros(cells, np.int16),
        np.zeros((cells, 2), np.int16),
        np.zeros((cells, cells), np.int16),
        np.zeros(cells, np.bool_),
        np.zeros(cells, np.int64),
        np.zeros(cells, np.bool_),
    )


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


def goal_of(certificate: Certificate) -> Goal:
    """The statement of a certificate, for kernels."""
    statement = certificate.statement
    return Goal(statement.size, get_rules(statement.rules).flags, statement.color, statement.margin)


def check_entries(
    certificate: Certificate,
    goal: Goal,
    report: Callable[[int], None] = lambda positions: None,
    threads: int = 0,
) -> Entries:
    """Look at each entry, on all threads."""
    keys, moves, count = certificate.keys, certificate.moves, len(certificate.keys)
    parts = [slice(begin, min(begin + _CHUNK, count)) for begin in range(0, max(1, count), _CHUNK)]

    def look_at_part(part: slice) -> Entries | Fault:
        return look_at(new_work(goal.size), goal, keys, keys[part], moves[part])

    found = list[Entries]()
    with ThreadPoolExecutor(threads or cores()) as pool:
        try:
            for part, seen in zip(parts, pool.map(look_at_part, parts), strict=True):
                if isinstance(seen, Fault):
                    raise CertificateError(f"{_picture(certificate, part.start + seen.place)}: {seen.reason}")
                found.append(seen)
                report(part.stop)
        finally:
            pool.shutdown(cancel_futures=True)
    return Entries(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


def look_at(
    work: Work, goal: Goal, keys: NDArray[np.int64], own: NDArray[np.int64], moves: NDArray[np.int8]
) -> Entries | Fault:
    """What moves: int8[k] in positions own: int64[k] lead to, by the entries with these keys; or the first fault."""
    count = len(own)
    seen = Entries(
        np.full(count, KEPT, np.int64),
        np.zeros(count, np.int32),
        np.zeros(count, np.int32),
        np.empty(count * (goal.size**2 + 1), np.int32),
    )
    place, fault = _look_at(work, goal, keys, own, moves, seen)
    if place >= 0:
        return Fault(place, FAULTS[fault])
    return seen._replace(reply=seen.reply[: seen.sizes.sum()].copy())


def _picture(certificate: Certificate, entry: int) -> str:
    """The position of an entry, with its move."""
    statement, key, move = certificate.statement, int(certificate.keys[entry]), int(certificate.moves[entry])
    stones = [(key >> 6) // 3**point % 3 for point in range(statement.size**2)]
    black, white = ([point for point, one in enumerate(stones) if one == color] for color in (go.BLACK, go.WHITE))
    try:
        state = go.State.setup(statement.size, statement.rules, statement.komi, black, white, statement.color)
        return f"position {entry:,}, {state.move_name(go.PASS if move < 0 else move)} in\n{state}\n"
    except ValueError:
        return f"position {entry:,}"


# -------------------------------------------------------------------------- kernels: entries and moves


@kernel
def _look_at(work, goal, keys, own, moves, seen):  # type: ignore[no-untyped-def]
    """`look_at`, written to `seen`; returns (the first wrong one, or -1; what is wrong)."""
    length = 0
    for i in range(own.shape[0]):
        number = answer(work, goal, own[i], moves[i])
        if number == KEPT:
            seen.ends[i] = 1
            continue
        if number >= 0 and moves[i] >= 0 and number >> 6 == own[i] >> 6:
            number = np.int64(_IN_VAIN)  # superko may forbid it, which circles of stones would not show
        if number < 0:
            return i, number
        seen.after[i] = least_image(work, number >> 6 << 6)[0] >> 6
        count = replies(work, goal, number, 3 - goal.color)
        for k in range(count):
            reached = work.reached[k]
            if reached == KEPT:
                seen.ends[i] += 1
                continue
            place = 0
            if reached >= 0:
                key, _ = least_image(work, reached)
                place = np.searchsorted(keys, key)
                if place == keys.shape[0] or keys[place] != key:
                    reached = _MISSING
            if reached < 0:
                return i, reached
            seen.reply[length] = place
            seen.sizes[i] += 1
            length += 1
    return -1, np.int64(0)


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
def replies(work, goal, number, color):  # type: ignore[no-untyped-def]
    """List all moves of `color` in `work.moves`, with what they lead to in `work.reached`; returns how many, or
    NO_POSITION. Superko is left out, except for the mark."""
    mark = _set_up(work, goal, number, color)
    if mark == NO_POSITION:
        return NO_POSITION
    count = 0
    for row in range(goal.size):
        for col in range(goal.size):
            p = (row + 1) * (goal.size + 1) + col + 1
            reached = _play(work, goal, mark, p)
            if reached != ILLEGAL:
                work.moves[count], work.reached[count] = p, reached
                count += 1
    if count == 0 or goal.flags & TERRITORY_KEPT == 0:
        work.moves[count], work.reached[count] = NO_CELL, _play(work, goal, mark, NO_CELL)
        count += 1
    return count


@kernel
def answer(work, goal, number, point):  # type: ignore[no-untyped-def]
    """What the move of the player whose margin it is leads to; point: -1 for a pass."""
    if point < 0 and goal.flags & TERRITORY_KEPT:
        count = replies(work, goal, number, goal.color)
        return work.reached[0] if count == 1 and work.moves[0] == NO_CELL else np.int64(min(count, ILLEGAL))
    mark = _set_up(work, goal, number, goal.color)
    if mark == NO_POSITION or point >= goal.size * goal.size:
        return np.int64(NO_POSITION)
    p = NO_CELL if point < 0 else point + point // goal.size + goal.size + 2
    return _play(work, goal, mark, p)


@kernel
def _set_up(work, goal, number, color):  # type: ignore[no-untyped-def]
    """Make `work.here` a position; returns the cell of its mark, or NO_POSITION."""
    size = goal.size
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
def _play(work, goal, mark, p):  # type: ignore[no-untyped-def]
    """Play p in `work.here`, with a mark: the position after it, or KEPT, LOST or ILLEGAL."""
    here, after, flags = work.here, work.after, goal.flags
    color = here.info[TO_PLAY]
    if p != NO_CELL and (_is_forbidden(here, mark, p, flags) or local_verdict(here, p, color, flags) != LEGAL):
        return np.int64(ILLEGAL)
    copy_board(here, after)
    play_move(after, p, color)
    same = after.color[p] == EMPTY and after.info[EMPTY_COUNT] == here.info[EMPTY_COUNT]  # one stone, by suicide
    if p != NO_CELL and same and (flags & POSITIONAL or (flags & SITUATIONAL and here.info[PASSES])):
        return np.int64(ILLEGAL)
    ko, after.info[KO] = after.info[KO], NO_CELL
    if _is_kept(after, goal, work.safety):
        return np.int64(KEPT)
    if after.info[PASSES] == 2:
        return np.int64(LOST)
    new_mark = ko if ko != NO_CELL else _mark(work, flags, mark, p)
    stones, size = np.int64(0), goal.size
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
def _is_kept(board, goal, safety):  # type: ignore[no-untyped-def]
    """Whether the player has the margin: counted in a finished game, else by safe points."""
    if board.info[PASSES] == 2:
        margin = area(board)
        return (margin if goal.color == BLACK else -margin) >= goal.margin
    points, stones = count_safe(board, goal.color, safety)
    if board.info[PASSES] and board.info[TO_PLAY] != goal.color and stones > 0:
        return False  # the opponent could end the game at once, with stones that are not captured yet
    return 2 * points - goal.size * goal.size >= goal.margin


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


# -------------------------------------------------------------------------------- kernels: safe points
# As defined in `solve.bitboard`, but with lists of points, strings and regions on the board of the rules engine, so
# that no code is shared with the search.


@kernel
def count_safe(board, own, work):  # type: ignore[no-untyped-def]
    """(how many points the player `own` keeps, how many stones of the opponent are among them)."""
    count = _find_regions(board, own, work)
    if count < 2 or not _find_alive(board, own, count, work):
        return 0, 0
    size = board.info[SIZE]
    points, stones = 0, 0
    for p in range(board.color.shape[0]):
        work.seen[p] = board.color[p] == BORDER
        if board.color[p] == own and work.alive[board.head[p]]:
            work.seen[p] = True
            points += 1
    for start in range(board.color.shape[0]):
        if work.seen[start]:
            continue
        length = _collect(board, start, size + 1, work)
        inner, inner_own, opponents = 0, 0, 0
        for k in range(length):
            p = work.part[k]
            opponents += board.color[p] == 3 - own
            if not _is_beside_alive(board, p, own, work):
                inner += 1
                inner_own += board.color[p] == own
        if inner <= 1 and (inner_own == 0 or opponents == 0):
            points += length
            stones += opponents
    return points, stones


@kernel
def _collect(board, start, stride, work):  # type: ignore[no-untyped-def]
    """List in `part` all cells that are connected to `start` without going over seen ones; returns how many."""
    work.part[0], length, done = start, 1, 0
    work.seen[start] = True
    while done < length:
        p = work.part[done]
        done += 1
        for q in (p - 1, p + 1, p - stride, p + stride):
            if not work.seen[q]:
                work.seen[q] = True
                work.part[length] = q
                length += 1
    return length


@kernel
def _find_regions(board, own, work):  # type: ignore[no-untyped-def]
    """Number the regions, and count their points, the opponent's stones in them and the points beside each string.
    Returns how many regions there are; if only one, no more is done."""
    stride = board.info[SIZE] + 1
    for p in range(board.color.shape[0]):
        work.region[p] = -1
        work.seen[p] = board.color[p] == BORDER or board.color[p] == own
    count = 0
    for start in range(board.color.shape[0]):
        if work.seen[start]:
            continue
        length = _collect(board, start, stride, work)
        work.regions[count, 0], work.regions[count, 1] = length, 0
        work.touched[count, :] = 0
        for k in range(length):
            p = work.part[k]
            work.region[p] = count
            work.regions[count, 1] += board.color[p] != EMPTY
            neighbours = (p - 1, p + 1, p - stride, p + stride)
            for i in range(4):
                if board.color[neighbours[i]] != own:
                    continue
                head, counted = board.head[neighbours[i]], False
                for j in range(i):
                    counted |= board.color[neighbours[j]] == own and board.head[neighbours[j]] == head
                if not counted:
                    work.touched[count, head] += 1
        count += 1
    return count


@kernel
def _find_alive(board, own, count, work):  # type: ignore[no-untyped-def]
    """Mark the strings that are left when all without two vital regions have been dropped; False if there are none."""
    cells = board.color.shape[0]
    for head in range(cells):
        work.alive[head] = board.color[head] == own and board.head[head] == head
    while True:
        dropped, kept = False, False
        for r in range(count):  # as `alive` is at the beginning of a round: a region is closed by it
            closed = True
            for head in range(cells):
                closed &= work.touched[r, head] == 0 or work.alive[head]
            work.part[r] = closed
        for head in range(cells):
            if not work.alive[head]:
                continue
            vital = 0
            for r in range(count):
                vital += work.part[r] and _is_vital(board, r, head, work)
            if vital < 2:
                work.alive[head] = False
                dropped = True
            else:
                kept = True
        if not dropped or not kept:
            return kept


@kernel
def _is_vital(board, r, string, work):  # type: ignore[no-untyped-def]
    """Whether region r, whose borders are alive, is vital to a string, given by its head."""
    missing = work.regions[r, 0] - work.touched[r, string]
    if missing == 0:
        return True
    if missing > 1 or work.regions[r, 1] > 0:
        return False
    for head in range(board.color.shape[0]):
        if head != string and work.touched[r, head] > 0:
            return False
    stride = board.info[SIZE] + 1
    for p in range(board.color.shape[0]):
        if work.region[p] != r:
            continue
        beside, ways = False, 0
        for q in (p - 1, p + 1, p - stride, p + stride):
            beside |= board.color[q] == board.color[string] and board.head[q] == string
            ways += work.region[q] == r
        if not beside:
            return ways >= 2
    return False


@kernel
def _is_beside_alive(board, p, own, work):  # type: ignore[no-untyped-def]
    stride = board.info[SIZE] + 1
    for q in (p - 1, p + 1, p - stride, p + stride):
        if board.color[q] == own and work.alive[board.head[q]]:
            return True
    return False
