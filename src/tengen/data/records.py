"""One game record, as bytes, into a compact game; or into a reason why not. Fast, bounded, never an exception.

Only the main line is read (`games/go/sgf_text.py`).

What a record says was played is taken as played: passes (`[]`, and `[tt]` up to 19x19), colours that do not
alternate, suicide, and a ko retaken too early are all facts of the game. What cannot have happened is not:
a stone on an occupied point or outside the board makes the record an `illegal move`, and set-up stones without
a liberty, or twice on one point, a `bad set-up`.
"""

import hashlib
import math
import re
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen._text import printable
from tengen.games.go.board import (
    BLACK,
    EMPTY,
    EMPTY_COUNT,
    MAX_SIZE,
    MIN_SIZE,
    NO_CELL,
    WHITE,
    Board,
    clear,
    new_board,
    place,
)
from tengen.games.go.coordinates import to_gtp, to_sgf
from tengen.games.go.legality import play_move
from tengen.games.go.positions import MOVE_MASK, WHITE_BIT
from tengen.games.go.sgf import MAX_MOVES, in_points, rules_of
from tengen.games.go.sgf_text import CutOff, NotSgf, as_utf8, properties

UNREADABLE: Final = "unreadable"
TRUNCATED: Final = "truncated"
NOT_GO: Final = "not Go"
NO_MOVES: Final = "no moves"
SIZE_UNSUPPORTED: Final = "size unsupported"
NOT_SQUARE: Final = "board not square"
BAD_SETUP: Final = "bad set-up"
LATE_SETUP: Final = "set-up after a move"
ILLEGAL_MOVE: Final = "illegal move"
TOO_LONG: Final = "too many moves"

MAX_RESULT_LENGTH: Final = 24

_SETUP: Final = {b"AB": BLACK, b"AW": WHITE, b"AE": EMPTY}
_INFO: Final = frozenset((b"SZ", b"GM", b"KM", b"HA", b"RU", b"RE", b"DT", b"BR", b"WR"))

Codes = NDArray[np.uint16]


class RecordedGame(NamedTuple):
    """A game as datasets store it. Moves and set-up stones are written as in `games.go.positions`."""

    moves: Codes  # [T]
    setup: Codes  # [S] sorted
    size: int
    rules: str  # a key of RULES, or empty
    komi: float
    handicap: int
    black_rank: int
    white_rank: int
    winner: int
    margin: float
    result: str
    year: int
    digest: int  # of size, set-up and moves: 64 bits that identify the game


class Rejected(NamedTuple):
    """Why a record is left out: a reason that can be counted, and what exactly."""

    reason: str
    detail: str = ""


class _Refusal(Exception):
    """Carries a `Rejected` out of the reading."""

    def __init__(self, reason: str, detail: str = "") -> None:
        self.rejected = Rejected(reason, detail)


def read_game(data: bytes) -> RecordedGame | Rejected:
    """The game of a record, or the reason why there is none; whatever the bytes are."""
    try:
        return _read(data)
    except _Refusal as refusal:
        return refusal.rejected
    except NotSgf as error:
        return Rejected(UNREADABLE, str(error))
    except CutOff as error:
        return Rejected(TRUNCATED, str(error))


def digest_of(size: int, setup: Codes, moves: Codes) -> int:
    """64 bits that identify a game by what happened on the board."""
    head = np.array([size, len(setup)], "<u2").tobytes()
    body = setup.astype("<u2", copy=False).tobytes() + moves.astype("<u2", copy=False).tobytes()
    return int.from_bytes(hashlib.blake2b(head + body, digest_size=8).digest(), "little")


# ---------------------------------------------------------------------------------------------- reading


class _Line:
    """The main line, sorted into information, set-up and moves; values still raw."""

    def __init__(self, data: bytes) -> None:
        self.info: dict[bytes, bytes] = {}
        self.setup: list[tuple[bytes, bytes]] = []
        self.moves: list[tuple[bytes, bytes]] = []
        for name, value, repeated, _ in properties(data):
            if name == b"B" or name == b"W":
                if repeated:
                    raise _Refusal(UNREADABLE, f"move {len(self.moves)} has two points")
                self.moves.append((name, value))
            elif name in _SETUP:
                if self.moves:
                    raise _Refusal(LATE_SETUP, f"{name.decode()} after move {len(self.moves)}")
                self.setup.append((name, value))
            elif name in _INFO:
                self.info.setdefault(name, value)
            if len(self.moves) > MAX_MOVES:
                raise _Refusal(TOO_LONG, f"more than {MAX_MOVES}")

    def text(self, name: bytes) -> str:
        """An information property as one line of printable text, empty when missing."""
        text = self.info.get(name, b"")[:200].decode("utf-8", "replace")
        return printable(text, " ").strip()


def _read(data: bytes) -> RecordedGame:
    line = _Line(data if data.isascii() else as_utf8(data))
    if line.text(b"GM") not in ("", "1"):
        raise _Refusal(NOT_GO, f"GM[{line.text(b'GM')[:20]}]")
    size = _size(line.text(b"SZ"))
    setup = _setup(line.setup, size)
    moves = _moves(line.moves, size)
    if not len(moves):
        raise _Refusal(NO_MOVES)
    _check(size, setup, moves)
    handicap = handicap_of(line.text(b"HA"))
    if handicap is None:
        handicap = _handicap_stones(setup)
    result = line.text(b"RE")
    winner, margin = result_of(result)
    return RecordedGame(
        moves=moves,
        setup=setup,
        size=size,
        rules=rules_of(line.text(b"RU")) or "",
        komi=komi_of(line.text(b"KM")),
        handicap=handicap,
        black_rank=rank_of(line.text(b"BR")),
        white_rank=rank_of(line.text(b"WR")),
        winner=winner,
        margin=margin,
        result=result[:MAX_RESULT_LENGTH],
        year=year_of(line.text(b"DT")),
        digest=digest_of(size, setup, moves),
    )


def _size(text: str) -> int:
    width, colon, height = (part.strip() for part in text.partition(":"))
    if colon and width != height:
        raise _Refusal(NOT_SQUARE, f"SZ[{text[:20]}]")
    if not width:
        return 19
    if not (width.isascii() and width.isdigit() and len(width) < 4 and MIN_SIZE <= int(width) <= MAX_SIZE):
        raise _Refusal(SIZE_UNSUPPORTED, f"SZ[{text[:20]}]")
    return int(width)


def _moves(raw: list[tuple[bytes, bytes]], size: int) -> Codes:
    table = _code_table(size)
    codes = [table.get(move, -1) for move in raw]
    if -1 in codes:
        codes = [table.get((color, point.strip()), -1) for color, point in raw]
    if -1 in codes:
        number = codes.index(-1)
        raise _Refusal(ILLEGAL_MOVE, f"move {number + 1} at {_shown(raw[number][1])}, outside the board")
    return np.array(codes, np.uint16)


@cache
def _code_table(size: int) -> dict[tuple[bytes, bytes], int]:
    """(B or W, SGF point) -> the move as it is stored."""
    table: dict[tuple[bytes, bytes], int] = {}
    for name, bit in ((b"B", 0), (b"W", WHITE_BIT)):
        for point in range(size * size):
            table[name, to_sgf(point, size).encode()] = point | bit
        table[name, b""] = size * size | bit
        if size <= 19:
            table[name, b"tt"] = size * size | bit
    return table


def _setup(raw: list[tuple[bytes, bytes]], size: int) -> Codes:
    if len(raw) > 4 * size * size:
        raise _Refusal(BAD_SETUP, f"{len(raw)} set-up properties")
    stones: dict[int, int] = {}
    for name, value in raw:
        color = _SETUP[name]
        for point in _rectangle(value, size):
            if color == EMPTY:
                stones.pop(point, None)
            elif stones.setdefault(point, color) != color:
                raise _Refusal(BAD_SETUP, f"{to_gtp(point, size)} is black and white")
    return np.array(sorted(p | (WHITE_BIT if c == WHITE else 0) for p, c in stones.items()), np.uint16)


def _rectangle(value: bytes, size: int) -> list[int]:
    """The points of `dd`, or of `dd:ff`; none of an empty value."""
    first, colon, last = (part.strip() for part in value.partition(b":"))
    if not first and not colon:
        return []
    table = _code_table(size)
    start, end = table.get((b"B", first), -1), table.get((b"B", last if colon else first), -1)
    if not (0 <= start < size * size and 0 <= end < size * size):
        raise _Refusal(BAD_SETUP, f"{_shown(value)} is not on the board")
    (top, left), (bottom, right) = divmod(start, size), divmod(end, size)
    if top > bottom or left > right:
        raise _Refusal(BAD_SETUP, f"{_shown(value)} is no rectangle")
    return [row * size + col for row in range(top, bottom + 1) for col in range(left, right + 1)]


def _handicap_stones(setup: Codes) -> int:
    """Without a word about a handicap: black stones, two or more and nothing else, are one."""
    only_black = len(setup) >= 2 and int(setup[-1]) < WHITE_BIT
    return min(len(setup), 99) if only_black else 0


def _check(size: int, setup: Codes, moves: Codes) -> None:
    number = first_impossible(_board(size), size, setup, moves)
    if number == SETUP_IMPOSSIBLE:
        raise _Refusal(BAD_SETUP, "stones without a liberty")
    if number >= 0:
        point = to_gtp(int(moves[number]) & MOVE_MASK, size)
        raise _Refusal(ILLEGAL_MOVE, f"move {number + 1} at {point}, where a stone is")


@cache
def _board(size: int) -> Board:
    """Scratch room for checking."""
    return new_board(size)


def _shown(value: bytes) -> str:
    return repr(value[:20].decode("ascii", "replace"))


# --------------------------------------------------------------------------------------------- kernels

ALL_POSSIBLE, SETUP_IMPOSSIBLE = -1, -2


@kernel
def first_impossible(board, size, setup, moves):  # type: ignore[no-untyped-def]
    """Replay a game; the index of the first move onto a stone, or ALL_POSSIBLE, or SETUP_IMPOSSIBLE.

    setup: uint16[S], moves: uint16[T]; board is scratch room.
    """
    points = size * size
    clear(board, size)
    for k in range(setup.shape[0]):
        point = np.int64(setup[k] & MOVE_MASK)
        place(board, point + point // size + size + 2, WHITE if setup[k] & WHITE_BIT else BLACK)
    if board.info[EMPTY_COUNT] != points - setup.shape[0]:
        return SETUP_IMPOSSIBLE
    for k in range(moves.shape[0]):
        point = np.int64(moves[k] & MOVE_MASK)
        p = NO_CELL
        if point < points:
            p = point + point // size + size + 2
            if board.color[p] != EMPTY:
                return k
        play_move(board, p, WHITE if moves[k] & WHITE_BIT else BLACK)
    return ALL_POSSIBLE


# ---------------------------------------------------------------------------------- facts about a game
# What the text properties of game records mean: ranks, results, dates, komi. Nonsense is "unknown", never an error.
#
# | fact   | value                                                             | unknown          |
# |--------|-------------------------------------------------------------------|------------------|
# | rank   | 30 kyu to 1 kyu: -30 to -1; 1 to 9 dan: 1 to 9; 1 to 9 pro: 11 to 19 | 0                |
# | result | winner BLACK, WHITE or EMPTY (a draw), margin in points           | EMPTY, nan       |
# | year   | of the (first) date                                               | 0                |
# | komi   | in points                                                         | nan              |

PRO: Final = 10  # added to the dan of a professional
_RANK = re.compile(r"\s*(?:p\s*(\d{1,2})|(\d{1,2})\s*(?:([k級级급])|([d段단])\w*\W*(?:(pro)\b)?|p))", re.IGNORECASE)
_RESULT = re.compile(r"\s*([BW])\w*\s*\+\s*([0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)?", re.IGNORECASE)
_DRAW = re.compile(r"\s*(?:0(?:\.0)?|draw|jigo|tie)\s*$", re.IGNORECASE)
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")


def rank_of(text: str) -> int:
    """`7d` is 7, `6d?` 6, `12k` -12, `9p` and `P9` 19, `9 dan pro` 19; anything else 0."""
    found = _RANK.match(text)
    number = int(found[1] or found[2]) if found else 0
    if found is None or number == 0:
        return 0
    if found[3]:
        return -min(number, 30)
    is_amateur = found[4] and not found[5]
    return min(number, 9) + (0 if is_amateur else PRO)


def result_of(text: str) -> tuple[int, float]:
    """The winner, and by how much if it was counted: `B+3.5`, `W+Resign`, `B+Time`, `0`, `Draw`, ..."""
    if _DRAW.match(text):
        return EMPTY, 0.0
    found = _RESULT.match(text)
    if found is None:
        return EMPTY, math.nan
    margin = float(found[2].replace(",", ".")) if found[2] else math.nan
    return BLACK if found[1] in "Bb" else WHITE, margin if margin <= 1000 else math.nan


def year_of(text: str) -> int:
    """The year of a date such as `2016-05-10` or `Published on 1 May 1933`; 0 without one."""
    found = _YEAR.search(text)
    return int(found[1]) if found else 0


def komi_of(text: str) -> float:
    """Komi in points; 3.75 and 375 are the 7.5 points that Chinese servers count as stones."""
    try:
        komi = float(text.replace(",", "."))
    except ValueError:
        return math.nan
    komi = in_points(komi)
    return komi if abs(komi) <= 1000 else math.nan


def handicap_of(text: str) -> int | None:
    """The number of handicap stones, None without one."""
    return int(text) if re.fullmatch(r"[0-9]{1,2}", text) else None
