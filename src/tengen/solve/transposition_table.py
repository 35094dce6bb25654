"""The transposition table: what is known of positions, by their exact keys, in buckets of four.

An entry is two int64: the key, and `phi | delta << 24 | log2(work) << 48 | rank << 54`, where the rank of a proven
position is how many plies its proof takes at most (0: none is known). A new position takes the place of the one in its
bucket that took the least work.

Threads may share a table. A bucket is locked by one bit of its first key while an entry is read or written, so that
nobody sees half of an entry. Functions for whole tables (`save_table`, `load_table`) want no search under way.
"""

import zlib
from pathlib import Path
from typing import Any, Final

import numpy as np
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.runs.files import atomic_file

INFINITY: Final = (1 << 24) - 1
"""Of proof numbers: the other side has won."""
_BUCKET: Final = 4
_PRESENT: Final = 1 << 57  # so that no key is 0
_LOCK: Final = 1 << 62  # in the first key of a bucket
_SPREAD: Final = -7046029254386353131  # 2^64 / golden ratio: multiplicative hashing
_HALF: Final = (1 << 32) - 1
ENTRY_BYTES: Final = 16
HIGHEST_RANK: Final = (1 << 9) - 1
_WORTH_SAVING: Final = 3  # log2 of the work, plus 1
_CHUNK: Final = 1 << 20
_CHECKSUM: Final = b"crc32"  # stands after the entries of a file, with their checksum


def new_table(gigabytes: float) -> NDArray[np.int64]:
    """int64[entries, 2]: an empty table."""
    entries = max(256, int(gigabytes * 1e9 / ENTRY_BYTES / _BUCKET)) * _BUCKET
    room = np.zeros((entries + _BUCKET, 2), np.int64)
    start = -room.ctypes.data % (_BUCKET * ENTRY_BYTES) // ENTRY_BYTES  # a bucket is a line of the processor's cache
    return room[start : start + entries]


def save_table(table: NDArray[np.int64], path: Path) -> int:
    """Write all entries that took some work, as a NumPy file; returns how many. The table is never in memory twice."""
    parts = [slice(start, start + _CHUNK) for start in range(0, len(table), _CHUNK)]
    count = sum(int(np.count_nonzero(_worth_saving(table[part]))) for part in parts)
    checksum = 0
    with atomic_file(path) as file:
        header = {"descr": np.lib.format.dtype_to_descr(table.dtype), "fortran_order": False, "shape": (count, 2)}
        np.lib.format.write_array_header_1_0(file, header)
        for part in parts:
            entries = table[part][_worth_saving(table[part])].tobytes()
            checksum = zlib.crc32(entries, checksum)
            file.write(entries)
        file.write(_CHECKSUM + checksum.to_bytes(4, "little"))
    return count


def _worth_saving(entries: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (entries[:, 1] >> 48 & 63) >= _WORTH_SAVING


def load_table(table: NDArray[np.int64], path: Path) -> int:
    """Put the entries of a file into a table, of whatever size; returns how many there are. ValueError if the file is
    damaged: then the table may hold some of its entries."""
    try:
        saved = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError:
        raise
    except Exception as error:  # NumPy parses the header as Python, which can fail in any way
        raise ValueError(f"{path} is damaged ({' '.join(str(error).split())}): delete it to begin anew") from None
    if saved.ndim != 2 or saved.shape[1] != 2 or saved.dtype != np.int64:
        raise ValueError(f"{path} is not a table of the solver: delete it to begin anew")
    checksum = 0
    for start in range(0, len(saved), _CHUNK):
        entries = np.array(saved[start : start + _CHUNK])
        checksum = zlib.crc32(entries.tobytes(), checksum)
        _put(table, entries)
    if _written_checksum(path, saved.offset + saved.nbytes) not in (checksum, None):
        raise ValueError(f"{path} is damaged, its entries are not those that were written: delete it to begin anew")
    return len(saved)


def _written_checksum(path: Path, end: int) -> int | None:
    """The checksum after the entries of a file, which end there; None in a file of an older version."""
    with path.open("rb") as file:
        file.seek(end)
        mark, checksum = file.read(len(_CHECKSUM)), file.read(4)
    return int.from_bytes(checksum, "little") if mark or checksum else None


@kernel
def _put(table, entries):  # type: ignore[no-untyped-def]
    for k in range(entries.shape[0]):
        numbers = entries[k, 1]
        work = np.int64(1) << ((numbers >> 48 & 63) - 1)
        store(table, entries[k, 0] & ~_PRESENT, numbers & INFINITY, numbers >> 24 & INFINITY, work, numbers >> 54)


@kernel(inline=True)
def _bucket(table, key):  # type: ignore[no-untyped-def]
    mixed = (key ^ key >> 29) * _SPREAD
    return (mixed >> 31 & _HALF) * (table.shape[0] // _BUCKET) >> 32


@kernel
def probe(table, key):  # type: ignore[no-untyped-def]
    """(phi, delta, rank) of a position, or zeros if it is not in the table."""
    first = _bucket(table, key) * _BUCKET
    wanted = key | _PRESENT
    numbers = np.int64(0)
    _lock(table, first)
    for k in range(first, first + _BUCKET):
        if table[k, 0] & ~_LOCK == wanted:
            numbers = table[k, 1]
            break
    _unlock(table, first)
    return numbers & INFINITY, numbers >> 24 & INFINITY, numbers >> 54


@kernel
def store(table, key, phi, delta, work, rank):  # type: ignore[no-untyped-def]
    """Keep a position's numbers and how many expansions they took. What is solved stays so, by its shortest proof:
    then the rank of a proven position is always above those of the successors that prove it."""
    first = _bucket(table, key) * _BUCKET
    wanted = key | _PRESENT
    place, least, solved = first, np.int64(1) << 62, False
    effort = np.int64(1)
    while work > 1:
        work >>= 1
        effort += 1
    _lock(table, first)
    for k in range(first, first + _BUCKET):
        numbers = table[k, 1]
        if table[k, 0] & ~_LOCK == wanted:
            place = k
            solved = numbers & INFINITY == 0 or numbers >> 24 & INFINITY == 0
            rank = min(rank, numbers >> 54) if solved else rank
            break
        if numbers >> 48 & 63 < least:
            place, least = k, numbers >> 48 & 63
    if not solved or phi == 0 or delta == 0:
        table[place, 0] = wanted | _LOCK if place == first else wanted
        table[place, 1] = phi | delta << 24 | effort << 48 | min(rank, HIGHEST_RANK) << 54
    _unlock(table, first)


@kernel(inline=True)
def _lock(table, first):  # type: ignore[no-untyped-def]
    """Wait until nobody else has this bucket."""
    while _or(table, first, _LOCK) & _LOCK:
        pass


@kernel(inline=True)
def _unlock(table, first):  # type: ignore[no-untyped-def]
    _and(table, first, ~_LOCK)


def _update(operation: str, ordering: str) -> Any:
    """An intrinsic (table, row, bits) that changes the first number of a row in one step, and returns what it was."""

    def update(typing_context, table, row, bits):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            array: Any = make_array(table)(context, builder, arguments[0])  # type: ignore[no-untyped-call]
            index = context.cast(builder, arguments[1], row, types.intp)
            place = builder.gep(array.data, [builder.add(index, index)])  # two numbers a row
            number = context.cast(builder, arguments[2], bits, types.int64)
            return builder.atomic_rmw(operation, place, number, ordering)

        return types.int64(table, row, bits), generate

    return intrinsic(update)


_or, _and = _update("or", "acquire"), _update("and", "release")
