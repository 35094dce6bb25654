"""Counting: area (Tromp-Taylor, exact), territory, and which stones are dead.

Owners are EMPTY (neutral), BLACK or WHITE for every cell: a stone's own colour, or for an empty region the
one colour that it touches. Dead stones are those that random playouts from the final position mostly lose.

`final_owners` decides what a finished game is worth, for search, self-play and matches alike.
"""

import numpy as np

from tengen._kernel import copy_into, kernel, stack_array, stack_zeros
from tengen.games.go.board import (
    BLACK,
    BORDER,
    EMPTY,
    KO,
    NO_CELL,
    PRISONERS_OF_BLACK,
    PRISONERS_OF_WHITE,
    SIZE,
    TO_PLAY,
    WHITE,
    board_at,
    copy_board,
)
from tengen.games.go.guided import CANDIDATES, run_guided_playout
from tengen.games.go.life import mark_unconditional_life
from tengen.games.go.rules import BY_TERRITORY, REMOVES_DEAD, SUICIDE


@kernel
def owners(cells, size, owner):  # type: ignore[no-untyped-def]
    """Who owns each cell; cells: uint8[P] as `Board.color`, written to owner: uint8[P]."""
    stride = size + 1
    stack = stack_array(cells.shape[0], np.int64)
    region = stack_array(cells.shape[0], np.int64)
    copy_into(cells, owner)
    seen = stack_zeros(cells.shape[0], np.bool_)
    for row in range(1, size + 1):
        for start in range(row * stride + 1, row * stride + 1 + size):
            if cells[start] != EMPTY or seen[start]:
                continue
            touched = 0
            length = 0
            depth = 1
            stack[0] = start
            seen[start] = True
            while depth > 0:
                depth -= 1
                p = stack[depth]
                region[length] = p
                length += 1
                for q in (p - 1, p + 1, p - stride, p + stride):
                    c = cells[q]
                    if c == EMPTY:
                        if not seen[q]:
                            seen[q] = True
                            stack[depth] = q
                            depth += 1
                    elif c != BORDER:
                        touched |= c
            if touched == BLACK or touched == WHITE:
                for i in range(length):
                    owner[region[i]] = touched


@kernel
def add_owners(board, ownership):  # type: ignore[no-untyped-def]
    """Add +1 to ownership: int64[P] where Black owns a cell and -1 where White does; returns their sum."""
    owner = stack_array(board.color.shape[0], np.uint8)
    owners(board.color, board.info[SIZE], owner)
    return add_signs(owner, ownership)


@kernel
def add_signs(owner, ownership):  # type: ignore[no-untyped-def]
    """Add +1 to ownership: int64[P] where owner: uint8[P] is Black and -1 where it is White; returns their sum."""
    total = np.int64(0)
    for p in range(owner.shape[0]):
        sign = np.int64(owner[p] == BLACK) - np.int64(owner[p] == WHITE)
        ownership[p] += sign
        total += sign
    return total


@kernel
def area(board):  # type: ignore[no-untyped-def]
    """Black's points minus White's by Tromp-Taylor area scoring, without komi."""
    u = np.uint64
    stride = board.info[SIZE] + 1
    cells = stack_array(board.color.shape[0], np.uint8)  # empty points become BORDER once they are counted
    copy_into(board.color, cells)
    region = stack_array(cells.shape[0], np.uint16)
    total = np.int64(0)
    for start in range(stride + 1, stride * stride):
        c = cells[u(start)]
        if c == BLACK:
            total += 1
        elif c == WHITE:
            total -= 1
        elif c == EMPTY:
            region[0], length, done, touched = start, 1, 0, 0
            cells[u(start)] = BORDER
            while done < length:
                p = np.int64(region[u(done)])
                done += 1
                for q in (p - 1, p + 1, p - stride, p + stride):
                    c = cells[u(q)]
                    if c == EMPTY:
                        cells[u(q)] = BORDER
                        region[u(length)] = q
                        length += 1
                    elif c != BORDER:
                        touched |= c
            if touched == BLACK:
                total += length
            elif touched == WHITE:
                total -= length
    return total


@kernel
def areas(boards, out):  # type: ignore[no-untyped-def]
    """The area of B boards, written to out: int64[B]."""
    for i in range(out.shape[0]):
        out[i] = area(board_at(boards, i))


@kernel
def final_owners(board, flags, dead, owner):  # type: ignore[no-untyped-def]
    """Who owns each cell of a finished game, to owner: uint8[P].

    Where the rules (flags) take dead stones off, that is those in unconditional territory of the opponent, and strings
    all of whose stones are marked with their own colour in dead: uint8[P].
    """
    cells = stack_array(board.color.shape[0], np.uint8)
    copy_into(board.color, cells)
    if flags & REMOVES_DEAD:
        alive, territory = stack_array(cells.shape[0], np.bool_), stack_array(cells.shape[0], np.bool_)
        for color in (BLACK, WHITE):
            mark_unconditional_life(board, color, flags & SUICIDE != 0, alive, territory)
            for p in range(cells.shape[0]):
                if territory[p] and cells[p] == 3 - color:
                    cells[p] = EMPTY
        for p in range(cells.shape[0]):
            if dead[p] != EMPTY and dead[p] == board.color[p] and board.head[p] == p:
                _take_off_marked(board, p, dead, cells)
    owners(cells, board.info[SIZE], owner)


@kernel
def is_certain(board, flags):  # type: ignore[no-untyped-def]
    """Whether every stone is unconditionally alive, or stands in unconditional territory of the opponent."""
    cells = board.color.shape[0]
    alive, territory, decided = stack_array(cells, np.bool_), stack_array(cells, np.bool_), stack_zeros(cells, np.bool_)
    for color in (BLACK, WHITE):
        mark_unconditional_life(board, color, flags & SUICIDE != 0, alive, territory)
        for p in range(decided.shape[0]):
            decided[p] |= alive[p] or territory[p]
    for p in range(decided.shape[0]):
        c = board.color[p]
        if (c == BLACK or c == WHITE) and not decided[p]:
            return False
    return True


@kernel(inline=True)
def _take_off_marked(board, head, dead, cells):  # type: ignore[no-untyped-def]
    """Empty the cells of a string, unless it has grown by a stone that is not marked."""
    s = head
    while True:
        if dead[s] != board.color[s]:
            return
        s = board.next[s]
        if s == head:
            break
    while True:
        cells[s] = EMPTY
        s = board.next[s]
        if s == head:
            return


@kernel
def final_margin(board, flags, dead):  # type: ignore[no-untyped-def]
    """Black's points minus White's in a finished game, without komi, by `final_owners`: area, or by rules (flags) that
    count territory, the empty points and the prisoners, dead stones among them."""
    owner = stack_array(board.color.shape[0], np.uint8)
    final_owners(board, flags, dead, owner)
    margin = add_signs(owner, stack_zeros(owner.shape[0], np.int64))
    if flags & BY_TERRITORY:
        margin += board.info[PRISONERS_OF_BLACK] - board.info[PRISONERS_OF_WHITE]
        for p in range(owner.shape[0]):
            c = board.color[p]  # a stone is either dead, and then a prisoner, or no territory
            margin += np.int64(c == WHITE) - np.int64(c == BLACK)
    return margin


@kernel
def playout_owners(board, scratch, flags, count, rng, ownership):  # type: ignore[no-untyped-def]
    """Play `count` guided playouts and add their ends to ownership: int64[P], as `add_owners` does.

    Black and White begin in turn, so that the result does not hang on who is to move.
    """
    state = rng[0]
    first_player, found = stack_zeros(board.color.shape[0], np.uint8), stack_array(CANDIDATES, np.int64)
    for k in range(count):
        copy_board(board, scratch)
        scratch.info[KO] = NO_CELL
        scratch.info[TO_PLAY] = BLACK if k % 2 == 0 else WHITE
        state, _ = run_guided_playout(scratch, NO_CELL, NO_CELL, flags, found, first_player, state)
        add_owners(scratch, ownership)
    rng[0] = state


@kernel
def dead_cells(board, ownership, count, dead):  # type: ignore[no-untyped-def]
    """Mark in dead: bool[P] every stone of the strings whose points mostly end up the opponent's."""
    dead[:] = False
    for p in range(dead.shape[0]):
        c = board.color[p]
        if (c == BLACK or c == WHITE) and board.head[p] == p:
            total = 0
            stones = 0
            s = p
            while True:
                total += ownership[s]
                stones += 1
                s = board.next[s]
                if s == p:
                    break
            lost = -total if c == BLACK else total
            if 3 * lost > stones * count:  # owned by the opponent in two playouts of three
                while True:
                    dead[s] = True
                    s = board.next[s]
                    if s == p:
                        break
