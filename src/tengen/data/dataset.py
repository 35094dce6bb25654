"""A dataset: many games in one columnar file, mapped into memory, and the sampler that draws games from it.

    games.arrow     Arrow IPC file with one record batch; one row per game
    dataset.json    how many games, from which sources, and the reasons for every record left out
    rejected.csv    each record left out: source, reason, detail

| column                 | type               | meaning                                                              |
|------------------------|--------------------|----------------------------------------------------------------------|
| moves, setup           | large_list<uint16> | as in `games.go.positions`: policy index, highest bit set for White  |
| size                   | uint8              | of the board                                                         |
| rules                  | dictionary<string> | name of a rule set, empty where unknown                              |
| komi                   | float32            | nan where unknown                                                    |
| handicap               | uint8              | stones                                                               |
| black_rank, white_rank | int8               | kyu -30 to -1, dan 1 to 9, professional dan 11 to 19, 0 unknown      |
| winner                 | int8               | 1 Black, 2 White, 0 unknown or a draw                                |
| margin                 | float32            | in points; nan unless the game was counted                           |
| result                 | large_string       | as the record has it                                                 |
| year                   | int16              | 0 where unknown                                                      |
| digest                 | uint64             | of size, set-up and moves: identifies the game                       |
| source                 | large_string       | archive and file                                                     |

Nothing is read until it is used, and what is read is the operating system's to forget: memory does not grow
with the number of games. A game is a test game if its digest says so (`is_test`), in whatever dataset it lies.
"""

import json
import math
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tengen.data.records import PRO
from tengen.games import go
from tengen.games.go import BLACK, EMPTY, PASS, RULES, WHITE, RuleSet, get_rules
from tengen.games.go.positions import MOVE_MASK, WHITE_BIT, GameMoves, allocate_positions, replay

GAMES_FILE: Final = "games.arrow"
SUMMARY_FILE: Final = "dataset.json"
REJECTED_FILE: Final = "rejected.csv"
FORMAT: Final = 1
TEST_PERCENT: Final = 5
RULE_NAMES: Final = ("", *RULES)
USUAL_RULES: Final = "chinese"  # for records that name none

_CODES = pa.large_list(pa.field("item", pa.uint16(), nullable=False))
SCHEMA: Final = pa.schema(
    [
        pa.field(name, type_, nullable=False)
        for name, type_ in (
            ("moves", _CODES),
            ("setup", _CODES),
            ("size", pa.uint8()),
            ("rules", pa.dictionary(pa.int8(), pa.string())),
            ("komi", pa.float32()),
            ("handicap", pa.uint8()),
            ("black_rank", pa.int8()),
            ("white_rank", pa.int8()),
            ("winner", pa.int8()),
            ("margin", pa.float32()),
            ("result", pa.large_string()),
            ("year", pa.int16()),
            ("digest", pa.uint64()),
            ("source", pa.large_string()),
        )
    ]
)

Split = Literal["train", "test", "all"]
Rows = NDArray[np.int64]
Counts = dict[str, int]


class DatasetError(ValueError):
    """A folder that is no dataset, or a question that it cannot answer."""


@dataclass(frozen=True)
class Selection:
    """Some games of a dataset. Position t of the i-th is `replay(game_moves, rows[i], t)`, for t < lengths[i]."""

    rows: Rows  # [n] row numbers in the dataset, and game numbers in `game_moves`
    game_moves: GameMoves  # of all rows of the dataset, mapped from its file
    lengths: Rows  # [n] how many moves each game has
    size: int

    @property
    def positions(self) -> int:
        """How many positions with a next move there are."""
        return int(self.lengths.sum())


class Dataset:
    """An open dataset.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import tengen
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     record = Path(folder, "game.sgf")
    ...     _ = record.write_text("(;SZ[9]KM[7]RU[Chinese]RE[B+R];B[ee];W[ce];B[eg];W[gc])")
    ...     built = tengen.build_dataset([record], Path(folder, "dataset"), workers=1)
    ...     dataset = tengen.Dataset.open(built.folder)
    >>> dataset.games, dataset.columns["komi"].tolist()
    (1, [7.0])
    """

    def __init__(self, folder: Path, mapped: NDArray[np.uint8], batch: pa.RecordBatch, summary: dict[str, Any]) -> None:
        """Use `Dataset.open`."""
        self.folder = folder
        self.summary: Mapping[str, Any] = MappingProxyType(summary)
        self.table = batch
        """All columns, as Arrow has them."""
        self._mapped = mapped
        self.columns: Mapping[str, NDArray[Any]] = MappingProxyType(
            {field.name: self._numbers(field.name) for field in batch.schema if _is_number(field.type)}
        )
        """The columns of numbers, as arrays [games] that lie in the file; `rules` is an index into RULE_NAMES."""
        self.game_moves = self._game_moves()
        """The moves of all games, whatever their size, lying in the file; and their komi and results."""

    @classmethod
    def open(cls, folder: Path | str) -> "Dataset":
        """Open the dataset in a folder; DatasetError if there is none."""
        folder = Path(folder)
        try:
            summary = json.loads((folder / SUMMARY_FILE).read_bytes())
            if not isinstance(summary, dict):
                raise DatasetError(f"{folder / SUMMARY_FILE} is damaged: run the same `tengen data build` again")
            if summary.get("checksum") not in (None, file_checksum(folder / GAMES_FILE)):  # older ones have none
                raise DatasetError(f"{folder / GAMES_FILE} is damaged: run the same `tengen data build` again")
            # A private mapping: kernels take it for ordinary arrays, and the file is never written.
            mapped = np.memmap(folder / GAMES_FILE, np.uint8, mode="c").view(np.ndarray)
            reader = pa.ipc.open_file(pa.py_buffer(mapped))
            if reader.num_record_batches != 1 or not reader.schema.equals(SCHEMA):
                raise DatasetError(f"{folder} was written by another version: build it again")
            batch = reader.get_batch(0)
            batch.validate()
        except (FileNotFoundError, NotADirectoryError):
            raise DatasetError(f"{folder} holds no dataset: make one with `tengen data build`") from None
        except (pa.ArrowInvalid, OSError, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise DatasetError(f"the dataset in {folder} is damaged ({error}): build it again") from None
        if summary.get("games") != batch.num_rows:
            raise DatasetError(f"the dataset in {folder} is half built: run the same `tengen data build` again")
        return cls(folder, mapped, batch, summary)

    def select(self, split: Split = "all", games: int | None = None, **chosen: Any) -> Selection:
        """Games of one board size; `chosen`: the `size`, `min_rank`, `years`, `handicap` and `seed` of `select`."""
        return select(self, split, games, **chosen)

    @property
    def games(self) -> int:
        """How many games there are."""
        return int(self.table.num_rows)

    @property
    def lengths(self) -> Rows:
        """How many moves each game has: int64[games]."""
        return np.diff(self.game_moves.offsets)

    def text(self, column: str, row: int) -> str:
        """An entry of the columns `result`, `source` or `rules`."""
        return str(self.table.column(column)[self._checked(row)].as_py())

    def moves_of(self, row: int) -> NDArray[np.uint16]:
        """The moves of one game, as stored."""
        offsets = self.game_moves.offsets
        return self.game_moves.moves[offsets[self._checked(row)] : offsets[row + 1]]

    def setup_of(self, row: int) -> NDArray[np.uint16]:
        """The set-up stones of one game, as stored."""
        offsets = self.game_moves.setup_offsets
        return self.game_moves.setup[offsets[self._checked(row)] : offsets[row + 1]]

    def start_of(self, row: int) -> go.State:
        """The position before the first move of a game, by its own rules (chinese where unknown)."""
        setup, moves = self.setup_of(row), self.moves_of(row)
        komi = float(self.columns["komi"][row])
        return go.State.setup(
            int(self.columns["size"][row]),
            self.text("rules", row) or USUAL_RULES,
            None if math.isnan(komi) else komi,
            black=[int(code) for code in setup if code < WHITE_BIT],
            white=[int(code) & MOVE_MASK for code in setup if code >= WHITE_BIT],
            to_play=BLACK if moves[0] < WHITE_BIT else WHITE,
            handicap=int(self.columns["handicap"][row]),
        )

    def move_of(self, row: int, ply: int) -> tuple[int, int]:
        """Colour and move of a ply (0 is the first), as `go.State` writes them."""
        code = int(self.moves_of(row)[ply])
        point, points = code & MOVE_MASK, int(self.columns["size"][row]) ** 2
        return (WHITE if code & WHITE_BIT else BLACK), (PASS if point == points else point)

    def _checked(self, row: int) -> int:
        if not 0 <= row < self.games:
            raise DatasetError(f"there is no game {row}: the dataset has games 0 to {self.games - 1}")
        return row

    def _game_moves(self) -> GameMoves:
        winner, margin, komi = self.columns["winner"], self.columns["margin"], self._compensation()
        result = (winner == BLACK).astype(np.int8) - (winner == WHITE).astype(np.int8)
        points = result * margin + komi
        points[np.isnan(self.columns["komi"])] = np.nan  # the margin is of a komi that we do not know
        known = (winner != EMPTY) | (margin == 0)
        return GameMoves(*self._codes("moves"), *self._codes("setup"), komi, result, known, points)

    def _compensation(self) -> NDArray[np.float32]:
        """White's komi and handicap bonus in every game; where unknown, as `start_of` takes them."""
        sets = [get_rules(name or USUAL_RULES) for name in RULE_NAMES]
        usual = np.array([each.komi for each in sets])
        bonus = np.array([[each.bonus(stones) for stones in range(256)] for each in sets])
        rules, komi = self.columns["rules"], self.columns["komi"]
        known = np.where(np.isnan(komi), usual[rules], komi)
        compensation: NDArray[np.float32] = (known + bonus[rules, self.columns["handicap"]]).astype(np.float32)
        return compensation

    def _numbers(self, name: str) -> NDArray[Any]:
        column = self.table.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.indices
        return self._view(column.buffers()[1], column.type.to_pandas_dtype(), self.games)

    def _codes(self, name: str) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
        column = self.table.column(name)
        _, offsets, _, values = column.buffers()
        ends = self._view(offsets, np.int64, self.games + 1) if self.games else np.zeros(1, np.int64)
        return self._view(values, np.uint16, int(ends[-1])), ends

    def _view(self, buffer: pa.Buffer | None, dtype: Any, count: int) -> NDArray[Any]:
        """A buffer of the file as an array of the mapping itself."""
        if buffer is None or count == 0:
            return np.zeros(0, dtype)
        start = buffer.address - self._mapped.ctypes.data
        return self._mapped[start : start + count * np.dtype(dtype).itemsize].view(dtype)


def file_checksum(path: Path) -> str:
    """A checksum of a file's contents."""
    total = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            total = zlib.crc32(block, total)
    return f"crc32:{total:08x}"


def is_test(digests: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which games are test games, the same in every dataset: `TEST_PERCENT` of all, by splitmix64 of the digest."""
    z = digests + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return z % np.uint64(100) < np.uint64(TEST_PERCENT)


def select(
    dataset: Dataset,
    split: Split = "all",
    games: int | None = None,
    *,
    size: int = 19,
    min_rank: int | None = None,
    years: tuple[int, int] | None = None,
    handicap: bool | None = None,
    seed: int = 0,
) -> Selection:
    """Draw games of one board size: `games` of them (at random), or all; in the order of the dataset.

    min_rank: both players at least so strong (1 is 1 dan, 11 professional 1 dan). years: first and last, both
    included. handicap: True for games with a handicap or set-up stones only, False for games without.
    """
    if split not in ("train", "test", "all"):
        raise DatasetError(f"no split is called {split!r}: choose train, test or all")
    columns = dataset.columns
    chosen = columns["size"] == size
    if split != "all":
        chosen &= is_test(columns["digest"]) == (split == "test")
    if min_rank is not None:
        chosen &= np.minimum(_strength(columns["black_rank"]), _strength(columns["white_rank"])) >= min_rank
    if years is not None:
        chosen &= (columns["year"] >= years[0]) & (columns["year"] <= years[1])
    if handicap is not None:
        chosen &= ((columns["handicap"] >= 2) | (np.diff(dataset.game_moves.setup_offsets) > 0)) == handicap
    rows = np.flatnonzero(chosen).astype(np.int64)
    if games is not None:
        if not 0 < games <= len(rows):
            raise DatasetError(f"{games} games are wanted, but {len(rows)} of {dataset.folder} are of that kind")
        rows = np.sort(np.random.default_rng(seed).choice(rows, games, replace=False))
    if not len(rows):
        raise DatasetError(f"no game of {dataset.folder} is of that kind: ask `tengen data stats {dataset.folder}`")
    offsets = dataset.game_moves.offsets
    return Selection(rows, dataset.game_moves, offsets[rows + 1] - offsets[rows], size)


def _strength(ranks: NDArray[np.int8]) -> NDArray[np.int8]:
    """Ranks with the unknown below all others."""
    return np.where(ranks == 0, np.int8(-128), ranks)


def _is_number(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_dictionary(type_))


# ---------------------------------------------------------------------------------------- one position
# A position of a recorded game as a `go.State`, whether or not its moves were legal.

AS_PLAYED = RuleSet("as-played", "simple", True, "area", 0.0, removes_dead=True)
"""Rules that forbid nothing that a record may contain: a position has no ko to retake when it is set up."""


def position_of(dataset: Dataset, row: int, ply: int) -> go.State:
    """The position after `ply` moves, with the last of them to be seen; the moves before are set-up stones."""
    size = int(dataset.columns["size"][row])
    before = max(ply - 1, 0)
    positions = allocate_positions(size, 1)
    replay(dataset.game_moves, np.array([row]), np.array([before]), positions)
    stones = positions.past[0, 0]
    color, move = dataset.move_of(row, before)
    state = go.State.setup(
        size,
        AS_PLAYED,
        black=np.flatnonzero(stones == BLACK).tolist(),
        white=np.flatnonzero(stones == WHITE).tolist(),
        to_play=color,
    )
    if ply == 0:
        return state
    state = state.play(move, color)
    return state if ply == len(dataset.moves_of(row)) else state.with_to_play(dataset.move_of(row, ply)[0])


# ------------------------------------------------------------------------------------------ statistics


def dataset_statistics(dataset: Dataset) -> dict[str, Counts]:
    """Tables of counts by name, each in a sensible order; `players by rank` counts both players of a game."""
    columns = dataset.columns
    tests = is_test(columns["digest"])
    lengths = dataset.lengths
    ranks = np.concatenate([columns["black_rank"], columns["white_rank"]])
    return {
        "games": _by_split(np.ones_like(lengths), tests),
        "positions": _by_split(lengths, tests),
        "board size": {f"{size}x{size}": count for size, count in _counted(columns["size"])},
        "handicap": {_stones(number): count for number, count in _counted(columns["handicap"])},
        "result": _results(dataset),
        "ended": _endings(columns["margin"]),
        "rules": _rules(dataset),
        "players by rank": _by_rank(ranks),
        "year": _by_year(columns["year"]),
    }


def _by_split(counts: Rows, tests: NDArray[np.bool_]) -> Counts:
    return {"all": int(counts.sum()), "train": int(counts[~tests].sum()), "test": int(counts[tests].sum())}


def rank_name(rank: int) -> str:
    """`7d`, `12k`, `9p`, or `unknown`."""
    if rank == 0:
        return "unknown"
    if rank < 0:
        return f"{-rank}k"
    return f"{rank - PRO}p" if rank > PRO else f"{rank}d"


def _counted(values: NDArray[Any]) -> Iterable[tuple[int, int]]:
    numbers, counts = np.unique(values, return_counts=True)
    return zip(numbers.tolist(), counts.tolist())


def _stones(number: int) -> str:
    return "none" if number == 0 else f"{number} stone{'s' * (number > 1)}"


def _results(dataset: Dataset) -> Counts:
    winner, margin = dataset.columns["winner"], dataset.columns["margin"]
    counts = {
        "Black won": int((winner == BLACK).sum()),
        "White won": int((winner == WHITE).sum()),
        "draw": int(((winner == 0) & (margin == 0)).sum()),
        "unknown": int(((winner == 0) & np.isnan(margin)).sum()),
    }
    return {name: count for name, count in counts.items() if count}


def _endings(margin: NDArray[np.float32]) -> Counts:
    counted = int((~np.isnan(margin)).sum())
    return {"counted": counted, "otherwise": len(margin) - counted}


def _rules(dataset: Dataset) -> Counts:
    words = dataset.table.column("rules").dictionary.to_pylist()
    found = {words[index] or "unknown": count for index, count in _counted(dataset.columns["rules"])}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _by_rank(ranks: NDArray[np.int8]) -> Counts:
    """Strongest first, the kyus together in tens, the unknown last."""
    counts: Counter[str] = Counter()
    for rank, count in sorted(_counted(ranks), key=lambda item: (item[0] == 0, -item[0])):
        tens = (-rank - 1) // 10 * 10
        counts[f"{tens + 10}k to {tens + 1}k" if rank < 0 else rank_name(rank)] += count
    return dict(counts)


def _by_year(years: NDArray[np.int16]) -> Counts:
    """Year by year, or by decade where there are many; the unknown last."""
    by_decade = len(np.unique(years)) > 24
    counts: Counter[str] = Counter()
    for year, count in sorted(_counted(years), key=lambda item: (item[0] == 0, item[0])):
        name = f"{year // 10 * 10}s" if by_decade else str(year)
        counts[name if year else "unknown"] += count
    return dict(counts)
