"""Positions for training, perfectly shuffled, made on the fly in background threads.

All positions of all chosen games are numbered 0 to n - 1 and visited in a random order that is computed, never
stored: a Feistel cipher with a key for each pass over the data is a permutation of the numbers. Every position comes
exactly once a pass, memory does not grow with the data, and a run resumes exactly where it was from one integer.
Each position is replayed from its game's moves and encoded when it is needed.

For values, successive positions of a game are too much alike: `which` chooses one of each game, the last that is
recorded or another one on each pass.

A game that was counted has a result at any komi. With `komi_spread` each of its positions is shown at a komi drawn
around the record's, in half points, with the result that the count then gives.
"""

from collections import deque
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import local
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.data.dataset import Selection
from tengen.encode.go import GoEncoder
from tengen.games.go.positions import MOVE_MASK, WHITE_BIT, Positions, allocate_positions, replay
from tengen.games.symmetry import SYMMETRIES, transform_batch

Which = Literal["all", "last", "drawn"]
"""Positions of a game in a pass: all, the one before its last move, or one at random."""
_ROUNDS = 6


class RecordBatch(NamedTuple):
    """B positions and what was played in them."""

    planes: NDArray[np.uint8]  # [B, C, N, N]
    moves: NDArray[np.int64]  # [B] policy indices, N * N being pass
    plies: NDArray[np.int64]  # [B] how many moves had been played before
    games: NDArray[np.int64]  # [B] rows of the games
    lengths: NDArray[np.int64]  # [B] how many moves the games have
    winner: NDArray[np.int8]  # [B] 1 if the player to move won, -1 if the opponent did, 0 for a draw or unknown
    known: NDArray[np.bool_]  # [B] whether the result is known
    komi: NDArray[np.float32]  # [B] at which the games are shown, the handicap bonus included
    ownership: NDArray[np.int8] | None = None
    """[B, N * N] 1 where a point was the mover's at the end, -1 where the opponent's, all 0 if that is unknown."""


class PositionLoader:
    """Batches of positions from games on boards of one size, without end.

    `start` is the number of positions already seen: batches go on from there. With `symmetries` each position is
    turned by one of the eight symmetries of the board, another one on each pass. The games are chosen from a dataset
    by `Dataset.select`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import tengen
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     record = Path(folder, "game.sgf")
    ...     _ = record.write_text("(;SZ[9]KM[7]RU[Chinese]RE[B+R];B[ee];W[ce];B[eg];W[gc])")
    ...     built = tengen.build_dataset([record], Path(folder, "dataset"), workers=1)
    ...     games = tengen.Dataset.open(built.folder).select(size=9)
    >>> loader = tengen.PositionLoader(games, tengen.get_encoder("simple"), batch=3, seed=1)
    >>> batch = loader.batch_at(0, 3)
    >>> batch.planes.shape, batch.moves.shape
    ((3, 11, 9, 9), (3,))
    """

    def __init__(
        self,
        games: Selection,
        encoder: GoEncoder,
        *,
        batch: int,
        seed: int,
        symmetries: bool = True,
        shuffle: bool = True,
        threads: int = 1,
        start: int = 0,
        komi_spread: float = 0.0,
        which: Which = "all",
        ownership: NDArray[np.int8] | None = None,
        part: tuple[int, int] | None = None,
    ) -> None:
        """`ownership`: int8[G, N * N], who owned each point at the end of each game, as `final_ownership` finds it.

        `part`: of each batch only some positions: the first, and how many.
        """
        self._rows, self._which = np.asarray(games.rows), which
        self._ends = np.cumsum(games.lengths if which == "all" else np.ones_like(games.lengths))
        self.positions = int(self._ends[-1]) if len(games.rows) else 0
        if self.positions == 0:
            raise ValueError("there is no position to learn from: choose more games or loosen the filters")
        self._games, self._encoder, self._size, self._batch = games.game_moves, encoder, games.size, batch
        self._seed, self._symmetries, self._shuffle = seed, symmetries, shuffle
        self._threads, self._next, self._spread, self._ownership = threads, start, komi_spread, ownership
        self._part = part or (0, batch)
        self._own = local()

    def batch_at(self, start: int, count: int) -> RecordBatch:
        """The positions number `start` to `start + count - 1` of the endless sequence."""
        order, chances = np.empty(count, np.int64), np.empty(count, np.int64)
        draw_positions(start, self.positions, self._seed, self._shuffle, order, chances)
        games = np.searchsorted(self._ends, order, side="right")
        rows = self._rows[games]
        lengths = self._games.offsets[rows + 1] - self._games.offsets[rows]
        plies = self._plies(order, games, lengths, chances)
        positions = self._buffer(count)
        replay(self._games, rows, plies, positions)
        result = self._results(rows, chances // SYMMETRIES, positions.komi)
        planes = np.empty((count, self._encoder.planes, self._size, self._size), np.uint8)
        self._encoder.encode_positions(positions, planes)
        codes = self._games.moves[self._games.offsets[rows] + plies]
        moves, sign = (codes & MOVE_MASK).astype(np.int64), np.where(codes & WHITE_BIT, -1, 1).astype(np.int8)
        ownership = None if self._ownership is None else self._ownership[rows] * sign[:, None]
        if self._symmetries:
            if ownership is not None:
                as_planes = ownership.view(np.uint8).reshape(count, 1, self._size, self._size)
                transform_batch(as_planes, moves.copy(), chances % SYMMETRIES)
            transform_batch(planes, moves, chances % SYMMETRIES)
        known, komi = self._games.known[rows], positions.komi.copy()
        return RecordBatch(planes, moves, plies, rows, lengths, sign * result, known, komi, ownership)

    def batches(self) -> Generator[RecordBatch]:
        """Batches in order, prepared ahead by the threads."""
        with ThreadPoolExecutor(self._threads, thread_name_prefix="loader") as pool:
            ahead: deque[Future[RecordBatch]] = deque()
            try:
                while True:
                    while len(ahead) < 2 * self._threads + 1:
                        first, count = self._part
                        ahead.append(pool.submit(self.batch_at, self._next + first, count))
                        self._next += self._batch
                    yield ahead.popleft().result()
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def _plies(
        self,
        order: NDArray[np.int64],
        games: NDArray[np.int64],
        lengths: NDArray[np.int64],
        chances: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """int64[B]: how many moves come before each position; all arguments: int64[B]."""
        match self._which:
            case "all":
                return order - (self._ends[games] - lengths)
            case "last":
                return lengths - 1
            case "drawn":
                return (chances >> 16) % lengths

    def _results(
        self, rows: NDArray[np.int64], chances: NDArray[np.int64], komi: NDArray[np.float32]
    ) -> NDArray[np.int8]:
        """int8[B]: 1 where Black won. Moves the komi of games that were counted by their chances: int64[B]."""
        steps = int(2 * self._spread)
        points, result = self._games.points[rows], self._games.result[rows]
        shifts = np.where(np.isnan(points), 0, (chances % (2 * steps + 1) - steps) / 2)
        komi += shifts.astype(np.float32)
        moved: NDArray[np.int8] = np.where(shifts != 0, np.sign(points - komi), result).astype(np.int8)
        return moved

    def _buffer(self, count: int) -> Positions:
        """Memory for positions, one for each thread."""
        buffer: Positions | None = getattr(self._own, "positions", None)
        if buffer is None or len(buffer.age) != count:
            buffer = self._own.positions = allocate_positions(self._size, count)
        return buffer


@kernel
def draw_positions(start, count, seed, shuffle, order, chances):  # type: ignore[no-untyped-def]
    """The position numbers of entries start, start + 1, ... of the endless sequence, and a random number for each."""
    for i in range(order.shape[0]):
        run, index = (start + i) // count, (start + i) % count
        key = _mix(np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(run))
        order[i] = permuted(index, count, key) if shuffle else index
        chances[i] = np.int64(_mix(key ^ np.uint64(index)) & np.uint64(0xFFFFFFFF))


@kernel
def permuted(index, count, key):  # type: ignore[no-untyped-def]
    """Where a pseudo-random permutation of 0 ... count - 1, chosen by the uint64 key, takes `index`.

    A Feistel cipher permutes the next larger even power of two; numbers outside are sent on until they fall inside.
    """
    half = np.uint64(1)
    while (np.uint64(1) << (half + half)) < np.uint64(count):
        half += np.uint64(1)
    mask = (np.uint64(1) << half) - np.uint64(1)
    x = np.uint64(index)
    while True:
        left, right = x >> half, x & mask
        for i in range(_ROUNDS):
            left, right = right, left ^ (_mix(right ^ (key + np.uint64(i) * np.uint64(0xD1342543DE82EF95))) & mask)
        x = (left << half) | right
        if x < np.uint64(count):
            return np.int64(x)


@kernel(inline=True)
def _mix(x):  # type: ignore[no-untyped-def]
    """A well-mixed uint64 (the finaliser of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
