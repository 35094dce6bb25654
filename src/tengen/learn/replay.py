"""Positions of self-play: a window on the newest ones in memory, read as batches to learn from, and all of it on disk.

`ReplayMemory` numbers positions from the first of the run. Number n lies in row n % capacity, so new ones write over
the oldest, and a batch is a gather over a few arrays: nothing is done position by position. Packed, a position of 5x5
Go takes about 130 bytes, of 9x9 Go 380, of Microchess 160. A run that is resumed fills its memory from `ChunkFolder`:

    chunks/00000040960.safetensors      the positions from number 40960 on, with their games

A chunk is whole or not there at all, holds finished games only, and has in its metadata which round it belongs to,
which model played and what the run had done by then. Chunks that the window has left behind are deleted.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen.runs.arrays import ArrayFolder

if TYPE_CHECKING:
    from tengen.encode.game_spec import GameSpec
    from tengen.learn.selfplay import SelfPlayData

_MOST_MOVES: Final = 32  # room for the policies of so many legal moves at first


class Packed(NamedTuple):
    """P positions as they are kept in memory and on the disk."""

    planes: NDArray[np.uint8]  # [P, ceil(C * H * W / 8)], as `np.packbits` packs them
    policy: NDArray[np.float16]  # [P, K]: of the legal actions only, in order; K is the most that a position has
    legal: NDArray[np.uint8]  # [P, ceil(A / 8)], packed likewise
    value: NDArray[np.float16]  # [P]
    root_value: NDArray[np.float16]  # [P]
    ownership: NDArray[np.int8]  # [P, H * W], or [P, 0]
    score: NDArray[np.float16]  # [P]
    counted: NDArray[np.bool_]  # [P]: whether ownership and score are known

    @classmethod
    def join(cls, parts: "Sequence[Packed]") -> "Packed":
        """All of them, end to end."""
        most = max(part.policy.shape[1] for part in parts)
        wide = [part._replace(policy=np.pad(part.policy, ((0, 0), (0, most - part.policy.shape[1])))) for part in parts]
        joined: list[Any] = [np.concatenate(arrays) for arrays in zip(*wide)]
        return cls(*joined)


class ReplayBatch(NamedTuple):
    """B positions to learn from."""

    planes: NDArray[np.uint8]  # [B, C, H, W]
    policy: NDArray[np.float32]  # [B, A], sums to 1, or all 0 where there is no policy to learn
    legal: NDArray[np.bool_]  # [B, A]
    value: NDArray[np.float32]  # [B]
    root_value: NDArray[np.float32]  # [B]
    ownership: NDArray[np.int8]  # [B, H * W], or [B, 0]
    score: NDArray[np.float32]  # [B]
    counted: NDArray[np.bool_]  # [B]


def pack(data: "SelfPlayData") -> Packed:
    """The positions of finished games, packed. ValueError unless all planes are of zeros and ones."""
    count, actions = data.policy.shape
    if count and data.planes.max() > 1:
        raise ValueError("the replay memory keeps planes of zeros and ones, and this encoder writes other numbers")
    legal = _unpacked(data.legal, actions)
    rows, places = _places(legal)
    policy = np.zeros((count, int(legal.sum(axis=1).max(initial=0))), np.float16)
    policy[rows, places] = data.policy[legal]
    counted = np.zeros(count, np.bool_) if data.ownership.shape[1] == 0 else data.counted[data.game]
    return Packed(
        np.packbits(data.planes.reshape(count, -1), axis=1),
        policy,
        data.legal,
        data.value.astype(np.float16),
        data.root_value.astype(np.float16),
        data.ownership,
        data.score.astype(np.float16),
        counted,
    )


def window_size(positions: int, first: int, growth: float, share: float, most: int) -> int:
    """How many of a run's positions to learn from: all up to `first`, then fewer and fewer of the new ones more.

    KataGo's c * (1 + share * ((n / c)^growth - 1) / growth) for n positions and c = first (Wu 2019), at most `most`.
    """
    if positions <= first:
        return min(positions, most)
    risen = np.log(positions / first) if growth == 0 else ((positions / first) ** growth - 1) / growth
    return int(min(most, positions, first * (1 + share * risen)))


class ReplayMemory:
    """The newest `capacity` positions, which are those numbered `total - capacity` to `total - 1`."""

    def __init__(self, spec: "GameSpec", capacity: int) -> None:
        self.capacity, self.total = capacity, 0
        self._shape, self._actions = spec.shape, spec.batch.actions
        self._oldest = 0  # the first position that was ever put in
        points = spec.batch.height * spec.batch.width
        bits = spec.encoder.planes * points
        owned = points if spec.game.territory else 0
        # np.empty of a large array takes memory only as it is written to.
        self._rows = Packed(
            np.empty((capacity, (bits + 7) // 8), np.uint8),
            np.empty((capacity, min(self._actions, _MOST_MOVES)), np.float16),
            np.empty((capacity, (self._actions + 7) // 8), np.uint8),
            np.empty(capacity, np.float16),
            np.empty(capacity, np.float16),
            np.empty((capacity, owned), np.int8),
            np.empty(capacity, np.float16),
            np.empty(capacity, np.bool_),
        )
        self._symmetries = spec.game.symmetries(spec.options)

    def add(self, positions: Packed, first: int) -> None:
        """Take in positions, of which the first has this number: the next one, or any if the memory is empty."""
        if self.total == 0:
            self.total = self._oldest = first
        if first != self.total:
            raise ValueError(f"position {self.total} is next in the replay memory, not {first}")
        count = len(positions.value)
        self._widen(positions.policy.shape[1])
        kept = min(count, self.capacity)
        at = np.arange(first + count - kept, first + count) % self.capacity
        pairs: Iterable[tuple[NDArray[Any], NDArray[Any]]] = zip(self._rows, positions, strict=True)
        for ours, theirs in pairs:
            if ours is self._rows.policy:
                ours[at] = 0
                ours[at, : theirs.shape[1]] = theirs[count - kept :]
            else:
                ours[at] = theirs[count - kept :]
        self.total += count

    def start(self, window: int, end: int) -> int:
        """The first number of the window of this size that ends before position `end`, of what is in memory."""
        return max(end - window, self.total - self.capacity, self._oldest)

    def draw(
        self, rng: np.random.Generator, count: int, start: int, end: int, *, symmetries: bool = False
    ) -> ReplayBatch:
        """So many positions numbered start to end - 1, drawn evenly; with `symmetries` each turned or mirrored."""
        numbers = rng.integers(start, end, count)
        return self.batch(numbers, symmetries=symmetries)

    def batch(self, numbers: NDArray[np.int64], *, symmetries: bool = False) -> ReplayBatch:
        """The positions of these numbers. With `symmetries`, an equal part of them is put through each."""
        at = numbers % self.capacity
        count, (planes, height, width) = len(at), self._shape
        board = np.unpackbits(self._rows.planes[at], axis=1, count=planes * height * width)
        board = board.reshape(count, planes, height * width)
        legal = _unpacked(self._rows.legal[at], self._actions)
        rows, places = _places(legal)
        policy = np.zeros((count, self._actions), np.float32)
        policy[legal] = self._rows.policy[at[rows], places]
        policy /= np.maximum(policy.sum(axis=1, keepdims=True), 1e-6)  # 16 bits do not sum to 1 exactly
        ownership = self._rows.ownership[at]
        if symmetries:
            _turn(board, policy, legal, ownership, *self._symmetries)
        return ReplayBatch(
            board.reshape(count, planes, height, width),
            policy,
            legal,
            self._rows.value[at].astype(np.float32),
            self._rows.root_value[at].astype(np.float32),
            ownership,
            self._rows.score[at].astype(np.float32),
            self._rows.counted[at],
        )

    def _widen(self, moves: int) -> None:
        """Make room for policies over so many legal moves."""
        room = self._rows.policy.shape[1]
        if moves > room:
            wider = np.zeros((self.capacity, min(self._actions, max(moves, 2 * room))), np.float16)
            wider[:, :room] = self._rows.policy
            self._rows = self._rows._replace(policy=wider)


class PlayedGames(NamedTuple):
    """Games as they were played."""

    moves: NDArray[np.int16]  # [T] the actions of all games
    offsets: NDArray[np.int64]  # [G + 1] where each game's begin
    winner: NDArray[np.int8]  # [G] 1: who began, 2: the other, 0: nobody
    resigned: NDArray[np.bool_]  # [G]

    @classmethod
    def of(cls, data: "SelfPlayData") -> "PlayedGames":
        """The games of self-play's data."""
        return cls(data.moves, data.offsets, data.winner, data.resigned)

    @classmethod
    def join(cls, parts: "Sequence[PlayedGames]") -> "PlayedGames":
        """All of them, end to end."""
        begins = np.cumsum([0, *(len(part.moves) for part in parts)])
        offsets = [part.offsets[:-1] + begin for part, begin in zip(parts, begins)]
        moves, _, winner, resigned = (np.concatenate(arrays) for arrays in zip(*parts))
        return cls(moves, np.concatenate([*offsets, begins[-1:]]), winner, resigned)


@dataclass(frozen=True)
class ChunkFacts:
    """The metadata of a chunk."""

    first: int
    """Number of its first position in the run."""
    positions: int
    iteration: int
    """The round of self-play it belongs to."""
    generation: int
    """The model that played."""
    games: int
    """Games of the run, those of the chunk included."""
    simulations: int
    """Simulations of the run, likewise."""
    seconds: float
    """The run's time when it was written."""

    @property
    def end(self) -> int:
        """The number after its last position."""
        return self.first + self.positions


class ChunkFolder:
    """The chunks of a run."""

    def __init__(self, path: Path, *, tidy: bool = True) -> None:
        """Those in this folder; a writer makes it if it is missing, and removes what was cut off (`tidy`)."""
        self._files = ArrayFolder(path, "delete it to resume without it", digits=11, tidy=tidy)
        self.facts: list[ChunkFacts] = []
        """Of all chunks that are there, in order."""
        for number in self._files.numbers():
            with suppress(FileNotFoundError):  # just deleted, by the run that a report is written about
                facts = self._files.read_about(number, lambda about: ChunkFacts(**json.loads(about["facts"])))
                self.facts.append(facts)

    def write(self, positions: Packed, games: PlayedGames, facts: ChunkFacts) -> None:
        """Add a chunk."""
        arrays: dict[str, NDArray[Any]] = {f"positions.{name}": value for name, value in positions._asdict().items()}
        arrays |= {f"games.{name}": value for name, value in games._asdict().items()}
        self._files.write(facts.first, arrays, {"facts": json.dumps(asdict(facts))})
        self.facts.append(facts)

    def read(self, facts: ChunkFacts) -> Packed:
        """The positions of a chunk."""
        return self._files.read(
            facts.first, lambda arrays, _: Packed(*(arrays[f"positions.{name}"] for name in Packed._fields))
        )

    def read_games(self, facts: ChunkFacts) -> PlayedGames:
        """The games of a chunk."""
        return self._files.read(
            facts.first, lambda arrays, _: PlayedGames(*(arrays[f"games.{name}"] for name in PlayedGames._fields))
        )

    def since(self, number: int) -> Iterator[ChunkFacts]:
        """The unbroken row of newest chunks that hold positions from this number on."""
        wanted: list[ChunkFacts] = []
        for facts in reversed(self.facts):
            if facts.end <= number or (wanted and facts.end != wanted[-1].first):
                break
            wanted.append(facts)
        return reversed(wanted)

    def drop_before(self, number: int) -> None:
        """Delete chunks all of whose positions come before this number."""
        for facts in [facts for facts in self.facts if facts.end <= number]:
            self._files.delete(facts.first)
            self.facts.remove(facts)


def _turn(
    board: NDArray[np.uint8],
    policy: NDArray[np.float32],
    legal: NDArray[np.bool_],
    ownership: NDArray[np.int8],
    points: NDArray[np.int64],
    actions: NDArray[np.int64],
) -> None:
    """Put equal parts of a batch through one symmetry each, in place.

    points: int64[K, H * W] and actions: int64[K, A] as `Game.symmetries` gives them.
    """
    count = len(points)
    bounds = np.linspace(0, len(board), count + 1).astype(np.int64)
    tables: tuple[tuple[NDArray[Any], NDArray[np.int64]], ...]
    tables = ((board, points), (policy, actions), (legal, actions))
    if ownership.shape[1]:
        tables = (*tables, (ownership, points))
    for k in range(1, count):
        part = slice(bounds[k], bounds[k + 1])
        for array, sources in tables:
            array[part] = np.take(array[part], sources[k], axis=-1)


def _unpacked(bits: NDArray[np.uint8], count: int) -> NDArray[np.bool_]:
    return np.unpackbits(bits, axis=1, count=count).view(np.bool_)


def _places(legal: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of every legal action, in order, the row and which legal action of that row it is; legal: bool[P, A]."""
    rows = np.nonzero(legal)[0]
    counts = np.bincount(rows, minlength=len(legal))
    begins = np.cumsum(counts) - counts
    return rows, np.arange(len(rows)) - begins[rows]
