"""`alphago`: the 48 feature planes of AlphaGo's policy network, and the 49th of its value network.

They are those of Extended Data Table 2 in Silver et al., "Mastering the game of Go with deep neural networks and tree
search" (Nature 529, 2016), in the order of the table. The paper gives each a name and a line; this is what they
mean here. *Own* is the player to move. A *move* is a point where own may play: empty, no suicide, not forbidden
by the ko. The planes about moves are 0 at all other points.

| planes   | feature              | 1 where                                                                            |
|----------|----------------------|------------------------------------------------------------------------------------|
| 0, 1, 2  | stone colour         | there is an own stone; an enemy stone; no stone                                    |
| 3        | ones                 | everywhere                                                                         |
| 4 to 11  | turns since          | the stone here was the last move; the one before; ... the 8th last or older        |
| 12 to 19 | liberties            | the string of the stone here has 1, 2, ... 8 or more liberties                     |
| 20 to 27 | capture size         | the move takes off 1, 2, ... 8 or more enemy stones                                |
| 28 to 35 | self-atari size      | the move leaves its string one liberty, and 1, 2, ... 8 or more stones in atari    |
| 36 to 43 | liberties after move | the string that the move makes has 1, 2, ... 8 or more liberties                   |
| 44       | ladder capture       | the move puts a string with two liberties in atari, and it cannot get away         |
| 45       | ladder escape        | the move saves an own string in atari, which then cannot be caught in a ladder     |
| 46       | sensibleness         | it is a move, and does not fill an own eye                                         |
| 47       | zeros                | nowhere                                                                            |
| 48       | player colour        | everywhere, if own is Black (`alphago49` only)                                     |

Set-up and handicap stones are the oldest of all. A passed turn is a turn. Stones that a move captures count for the
liberties after it. A self-atari may capture, as a throw-in or a ko does. Ladders are read as `games.go.strings` says;
eyes are as playouts see them (`games.go.playout.is_eye`): own stones on all sides, the enemy on fewer than two
diagonals, on none at the edge.
"""

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel, stack_array
from tengen.encode.liberties import count_strings
from tengen.games.go.board import BLACK, EMPTY, KO, SIZE, TO_PLAY, board_at, is_only_liberty
from tengen.games.go.playout import is_eye
from tengen.games.go.positions import Positions
from tengen.games.go.strings import MOVE_BUDGET, ladder_scratch, mark_ladders

OWN, ENEMY, NOTHING, ONES = range(4)
TURNS_SINCE, LIBERTIES, CAPTURE_SIZE, SELF_ATARI_SIZE, LIBERTIES_AFTER = range(4, 44, 8)
LADDER_CAPTURE, LADDER_ESCAPE, SENSIBLENESS, ZEROS, PLAYER = range(44, 49)

_MOST = 8  # this and more share the last plane of a number
_NUMBERS = (*(str(n) for n in range(1, _MOST)), f"{_MOST} or more")

MEANINGS = (
    "own stones",
    "enemy stones",
    "empty points",
    "ones",
    *(f"stones played {n} turns ago" for n in _NUMBERS),
    *(f"stones with {n} liberties" for n in _NUMBERS),
    *(f"moves that capture {n} stones" for n in _NUMBERS),
    *(f"moves that put {n} own stones in atari" for n in _NUMBERS),
    *(f"moves that leave their string {n} liberties" for n in _NUMBERS),
    "moves that capture in a ladder",
    "moves that escape from a ladder",
    "moves that fill no own eye",
    "zeros",
)
MEANINGS_WITH_PLAYER = (*MEANINGS, "ones if Black is to play")


def encode_alphago(positions: Positions, out: NDArray[np.uint8]) -> None:
    """Write B positions to out: uint8[B, 48, N * N], or [B, 49, N * N] with the player plane."""
    size = round(out.shape[2] ** 0.5)
    _encode_batch(positions, out, ladder_scratch(size), MOVE_BUDGET)


# --------------------------------------------------------------------------------------------- kernels


@kernel
def _encode_batch(positions, out, scratch, budget):  # type: ignore[no-untyped-def]
    cells = positions.boards.color.shape[1]
    stones, liberties, seen = stack_array(cells, np.int64), stack_array(cells, np.int64), stack_array(cells, np.int64)
    seen[:] = -1
    captures, escapes = stack_array(cells, np.bool_), stack_array(cells, np.bool_)
    for i in range(out.shape[0]):
        board = board_at(positions.boards, i)
        own = board.info[TO_PLAY]
        planes = out[i]
        planes[:] = 0
        planes[ONES] = 1
        if planes.shape[0] > PLAYER:
            planes[PLAYER] = own == BLACK
        count_strings(board, stones, liberties)
        _mark_stones(board, positions.age[i], own, liberties, planes)
        mark_ladders(board, own, captures, escapes, scratch, budget)
        _mark_moves(board, own, stones, liberties, captures, escapes, seen, i * cells, planes)


@kernel
def _mark_stones(board, age, own, liberties, planes):  # type: ignore[no-untyped-def]
    """Write the planes about the stones as they stand."""
    u = np.uint64
    cells, head = board.color, board.head
    size = board.info[SIZE]
    for row in range(size):
        for col in range(size):
            p, point = u((row + 1) * (size + 1) + col + 1), u(row * size + col)
            if cells[p] == EMPTY:
                planes[NOTHING, point] = 1
            else:
                planes[u(OWN) if cells[p] == own else u(ENEMY), point] = 1
                planes[_plane(TURNS_SINCE, np.int64(age[point])), point] = 1
                planes[_plane(LIBERTIES, liberties[head[p]]), point] = 1


@kernel
def _mark_moves(board, own, stones, liberties, captures, escapes, seen, stamp, planes):  # type: ignore[no-untyped-def]
    """Write the planes about moves. captures, escapes: bool[P], the ladders; seen: int64[P] holds none of the numbers
    from `stamp` to `stamp + P - 1`."""
    u = np.uint64
    cells, head = board.color, board.head
    size = board.info[SIZE]
    for row in range(size):
        for col in range(size):
            p, point = (row + 1) * (size + 1) + col + 1, u(row * size + col)
            if cells[u(p)] != EMPTY or p == board.info[KO]:
                continue
            n0, n1, n2, n3 = u(p - 1), u(p + 1), u(p - size - 1), u(p + size + 1)
            colors = (cells[n0], cells[n1], cells[n2], cells[n3])
            heads = (head[n0], head[n1], head[n2], head[n3])
            captured, joined, after = 0, 1, 0
            for k in range(4):
                if colors[k] == EMPTY:
                    after += 1
                elif colors[k] == 3 - own and liberties[heads[k]] == 1:
                    after += 1
                    captured += 0 if _is_repeated(colors, heads, k) else stones[heads[k]]
                elif colors[k] == own and not _is_repeated(colors, heads, k):
                    joined += stones[heads[k]]
            if joined > 1:
                after = _liberties_of_move(board, p, own, seen, stamp + p)
            if after == 0:  # suicide
                continue
            if captured > 0:
                planes[_plane(CAPTURE_SIZE, captured), point] = 1
            if after == 1:
                planes[_plane(SELF_ATARI_SIZE, joined), point] = 1
            planes[_plane(LIBERTIES_AFTER, after), point] = 1
            planes[LADDER_CAPTURE, point] = captures[u(p)]
            planes[LADDER_ESCAPE, point] = escapes[u(p)]
            planes[SENSIBLENESS, point] = joined == 1 or not is_eye(board, p, own, 0)


@kernel(inline=True)
def _plane(first, number):  # type: ignore[no-untyped-def]
    """Which of the eight planes from `first` on shows a number from 1 on."""
    return np.uint64(first + min(number, _MOST) - 1)


@kernel(inline=True)
def _is_repeated(colors, heads, k):  # type: ignore[no-untyped-def]
    """Whether an earlier one of four neighbours is a stone of the same string as the k-th."""
    for j in range(k):
        if colors[j] == colors[k] and heads[j] == heads[k]:
            return True
    return False


@kernel
def _liberties_of_move(board, p, own, seen, stamp):  # type: ignore[no-untyped-def]
    """How many liberties, at most 8, the string has that the move at p makes of own strings beside it."""
    u = np.uint64
    cells, head, following, packed = board.color, board.head, board.next, board.liberties
    stride = board.info[SIZE] + 1
    count = 0
    for start in (p, p - 1, p + 1, p - stride, p + stride):  # the new stone, then the strings that it joins
        if start != p and (cells[u(start)] != own or seen[u(start)] == stamp):
            continue
        s = start
        while True:
            seen[u(s)] = stamp
            for q in (u(s - 1), u(s + 1), u(s - stride), u(s + stride)):
                if seen[q] != stamp:
                    if cells[q] == EMPTY or (cells[q] == 3 - own and is_only_liberty(packed[head[q]], p)):
                        seen[q] = stamp
                        count += 1
            if count >= _MOST:
                return _MOST
            s = p if start == p else np.int64(following[u(s)])
            if s == start:
                break
    return count
