"""What a dataset holds, counted: sizes, ranks, years, results, handicaps."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tengen.data.dataset import Dataset, is_test
from tengen.data.records import PRO
from tengen.games.go import BLACK, WHITE

Counts = dict[str, int]


def dataset_statistics(dataset: Dataset) -> dict[str, Counts]:
    """Tables of counts by name, each in a sensible order; `players by rank` counts both players of a game."""
    columns = dataset.columns
    tests = is_test(columns["digest"])
    lengths = dataset.lengths
    ranks = np.concatenate([columns["black_rank"], columns["white_rank"]])
    return {
        "games": {
            "all": dataset.games,
            "train": int((~tests).sum()),
            "test": int(tests.sum()),
        },
        "positions": {
            "all": int(lengths.sum()),
            "train": int(lengths[~tests].sum()),
            "test": int(lengths[tests].sum()),
        },
        "board size": {f"{size}x{size}": count for size, count in _counted(columns["size"])},
        "handicap": {_stones(number): count for number, count in _counted(columns["handicap"])},
        "result": _results(dataset),
        "ended": _endings(columns["margin"]),
        "rules": _rules(dataset),
        "players by rank": _by_rank(ranks),
        "year": _by_year(columns["year"]),
    }


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
