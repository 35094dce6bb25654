"""Building the endgame tables: every material after those its captures and promotions lead to.

Each table is a file that is there whole or not at all, so a build that was stopped, in any way, goes on where it was.
Materials with as many pieces and pawns do not need each other and are solved side by side, by threads: the kernels and
zlib run without Python's lock.
"""

import itertools
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tengen._files import make_folder, sole_use
from tengen._machine import cores
from tengen.games.microchess.tables_file import TableError, TableFacts, facts_of, open_table, write_table
from tengen.games.microchess.tables_index import (
    KING_PLACE,
    KING_PLACES,
    KING_SQUARES,
    WITH_PAWNS,
    WITHOUT_PAWNS,
    in_memory,
    layout_of,
)
from tengen.games.microchess.tables_material import MAX_PIECES, Material, all_materials
from tengen.games.microchess.tables_retrograde import solve

_KEPT_TABLES = 48  # unpacked in memory while others are solved from them, up to about 60 MB


def build_tables(
    folder: Path,
    pieces: int = MAX_PIECES,
    double_step: bool = True,
    workers: int | None = None,
    report: Callable[[TableFacts, bool], None] | None = None,
) -> list[TableFacts]:
    """Make sure that all tables with up to so many pieces are in the folder; what each holds, in order.

    `report(facts, built)` is called after each table, from this thread, with built=False for one already there.
    Ctrl-C waits for the tables under way (seconds) and leaves what is finished. A table that is there is read through,
    and made again if it is damaged.
    """
    make_folder(folder)
    with sole_use(folder) as alone:
        if not alone:
            raise TableError(f"another build is at work in {folder}: wait for it, or choose another --out")
        return _build_missing(folder, pieces, double_step, workers, report)


def _build_missing(
    folder: Path,
    pieces: int,
    double_step: bool,
    workers: int | None,
    report: Callable[[TableFacts, bool], None] | None,
) -> list[TableFacts]:
    load = lru_cache(_KEPT_TABLES)(lambda material: open_table(folder, material, double_step).values())
    built: list[TableFacts] = []

    def note(facts: TableFacts, fresh: bool) -> None:
        built.append(facts)
        if report is not None:
            report(facts, fresh)

    with ThreadPoolExecutor(workers or cores(), thread_name_prefix="tables") as pool:
        for _, step in itertools.groupby(all_materials(pieces), key=lambda material: material.depth):
            under_way: set[Future[TableFacts]] = set()
            try:
                for material in step:
                    try:
                        note(_checked_facts(folder, material, double_step), False)
                    except TableError:
                        under_way.add(pool.submit(_build_table, folder, material, double_step, load))
                while under_way:
                    done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                    for future in done:
                        note(future.result(), True)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    return built


def _checked_facts(folder: Path, material: Material, double_step: bool) -> TableFacts:
    """What a table that is there holds; TableError unless every value can be read and its header is theirs."""
    table = open_table(folder, material, double_step)
    if table.facts != facts_of(material, double_step, table.values()):
        raise TableError(f"the header of {table.path} is damaged")
    return table.facts


def _build_table(
    folder: Path, material: Material, double_step: bool, load: Callable[[Material], NDArray[np.uint8]]
) -> TableFacts:
    return write_table(folder, material, double_step, solve_material(material, double_step, load))


def solve_material(
    material: Material, double_step: bool, load: Callable[[Material], NDArray[np.uint8]]
) -> NDArray[np.uint8]:
    """The values uint8[positions] of a material's table, given those of its successors."""
    successors = in_memory(material.successors(), load)
    values = solve(layout_of(material, solving=True), successors, double_step)
    if material.pawns or material.rights:
        return values
    # Solved with left and right swapped alone; of those with up and down swapped too only one is kept.
    kept = [KING_PLACE[WITH_PAWNS, white * 20 + black] for white, black in KING_SQUARES[WITHOUT_PAWNS]]
    kept = kept[: KING_PLACES[WITHOUT_PAWNS]]
    return np.ascontiguousarray(values.reshape(2, KING_PLACES[WITH_PAWNS], -1)[:, kept]).reshape(-1)
