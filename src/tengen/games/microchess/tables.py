"""Endgame tables: the exact value of every position with up to five pieces, kings included.

>>> from tengen.games.microchess import State
>>> from tengen.games.microchess.tables import Tables
>>> tables = Tables.open()                                          # doctest: +SKIP
>>> tables.probe(State.from_fen("k3/4/K3/4/3R w"))              # doctest: +SKIP
TableValue(wdl=1, dtm=1)

Values hold under `standard` rules without repetition and the 50-move rule, with castling, with or without the double
step as the tables were opened. `tengen tables build microchess` makes them; `tables_index.py`, `tables_retrograde.py`,
See `tables_file.py` and `tables_check.py`.
"""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tengen._kernel import kernel, stack_zeros
from tengen._kernel_cache import user_cache
from tengen.games.microchess.board import NCSOFT_PLIES, SQUARES
from tengen.games.microchess.state import State
from tengen.games.microchess.tables_file import BLOCK, TableError, TableFile, open_table, table_path
from tengen.games.microchess.tables_index import DRAW, UNUSED, TablesInMemory, catalogue_of, in_memory, locate_board
from tengen.games.microchess.tables_material import MAX_PIECES, Material, all_materials

UNKNOWN: Final = -2  # in the answers of `probe_many`
_KEPT_BLOCKS = 8192  # unpacked, 16 KB each: as many as there are, 100 MB once all have been asked


class TableValue(NamedTuple):
    """What a position is worth to the player to move."""

    wdl: int
    """1 a win, 0 a draw, -1 a loss."""
    dtm: int | None
    """Plies to mate when the winner hurries and the loser holds out; None for a draw."""

    def __str__(self) -> str:
        if self.dtm is None:
            return "draw"
        if self.dtm == 0:
            return "mated"
        return f"{'wins' if self.wdl > 0 else 'loses'} in {(self.dtm + 1) // 2}"


class MoveValue(NamedTuple):
    """A legal move and what it is worth to the player who makes it; distances are counted from before the move."""

    move: int
    value: TableValue


def tables_folder() -> Path:
    """The default folder of the tables."""
    return user_cache() / "tables" / "microchess"


class Tables:
    """The tables of one folder, for games with or without the double step."""

    def __init__(self, folder: Path, double_step: bool, materials: list[Material]) -> None:
        self.folder = folder
        self.double_step = double_step
        self.materials = materials
        """Those whose tables are there, in the order of `all_materials`."""
        self._catalogue = catalogue_of(materials)
        self._file: Callable[[int], TableFile] = lru_cache(None)(self._open_file)
        self._block: Callable[[int, int], NDArray[np.uint8]] = lru_cache(_KEPT_BLOCKS)(self._read_block)

    @classmethod
    def open(cls, folder: Path | None = None, double_step: bool = True) -> Self:
        """The tables in a folder, by default the user's; TableError if there are none."""
        folder = tables_folder() if folder is None else folder
        there = [material for material in all_materials() if table_path(folder, material, double_step).exists()]
        if not there:
            rule = "" if double_step else " --no-double-step"
            raise TableError(f"no endgame tables in {folder}: make them with `tengen tables build microchess{rule}`")
        return cls(folder, double_step, there)

    @property
    def pieces(self) -> int:
        """Up to how many pieces all tables are there."""
        there = set(self.materials)
        return max(n for n in range(1, MAX_PIECES + 1) if n == 1 or there.issuperset(all_materials(n)))

    # ------------------------------------------------------------------------------------------ probing

    def probe(self, state: State) -> TableValue | None:
        """The value of a position, or None if no table has it.

        Under `ncsoft` rules, where material decides draws, only mates that come before the last ply are known.
        """
        return self.probe_states([state])[0]

    def probe_states(self, states: list[State]) -> list[TableValue | None]:
        """The values of many positions at once."""
        if any(state.double_step != self.double_step for state in states):
            rule = "with" if self.double_step else "without"
            raise ValueError(f"these endgame tables are for games {rule} the double step: open the others")
        squares = np.array([state.board.squares for state in states], np.int8).reshape(-1, SQUARES)
        to_play = np.array([state.to_play for state in states], np.int8)
        castling = np.array([state.castling for state in states], np.int8)
        wdl, dtm = self.probe_many(squares, to_play, castling)
        values = zip(states, wdl.tolist(), dtm.tolist())
        return [_known(state, TableValue(won, plies if won else None)) for state, won, plies in values]

    def probe_many(
        self, squares: NDArray[np.int8], to_play: ArrayLike, castling: ArrayLike = 0
    ) -> tuple[NDArray[np.int8], NDArray[np.int16]]:
        """Values of squares: int8[n, 20] with to_play and castling int8[n] or one for all.

        Returns wdl int8[n] (1, 0, -1 to the player to move, or UNKNOWN) and dtm int16[n] (plies to mate; -1 if none).
        """
        n = len(squares)
        table, index = np.empty(n, np.int16), np.empty(n, np.int64)
        turns, rights = (np.broadcast_to(np.asarray(given, np.int8), n) for given in (to_play, castling))
        _locate_many(squares, turns, rights, self._catalogue, table, index)
        values = self._values_at(table, index)
        wdl = np.where(values == DRAW, 0, np.where(values & 1, -1, 1)).astype(np.int8)
        wdl[values == UNUSED] = UNKNOWN
        dtm = np.where((values == DRAW) | (values == UNUSED), -1, values.astype(np.int16) - 1).astype(np.int16)
        return wdl, dtm

    def _values_at(self, table: NDArray[np.int16], index: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The values uint8[n] at these places, UNUSED where the table is -1; each block is unpacked once."""
        values = np.full(len(table), UNUSED, np.uint8)
        block, within = np.divmod(index, BLOCK)
        key = table.astype(np.int64) << 32 | block
        order = np.argsort(key, kind="stable")
        order = order[np.searchsorted(key[order], 0) :]  # what is in no table came first
        for same in np.split(order, np.flatnonzero(np.diff(key[order])) + 1) if len(order) else ():
            values[same] = self._block(int(table[same[0]]), int(block[same[0]]))[within[same]]
        return values

    def moves(self, state: State) -> list[MoveValue] | None:
        """Every legal move with its value, best first, or None if one of them leads out of the tables.

        Unlike the tables, this knows the rules of the game: a move that ends it, by repetition too, has that value.
        """
        legal = state.legal_moves()
        after = [state.play(move) for move in legal]
        found = []
        for move, end, value in zip(legal, after, self.probe_states(after)):
            if end.is_over:
                winner = end.winner()
                value = TableValue(0, None) if winner == 0 else TableValue(-1 if winner == state.to_play else 1, 0)
            if value is None:
                return None
            found.append(MoveValue(move, TableValue(-value.wdl, None if value.dtm is None else value.dtm + 1)))
        return sorted(found, key=_preference)

    def best_move(self, state: State) -> int | None:
        """A move that keeps the value and wins soonest or loses latest; None if the tables or the game end here."""
        moves = self.moves(state)
        return moves[0].move if moves else None

    def load(self, materials: list[Material] | None = None) -> TablesInMemory:
        """Tables unpacked, all of them (100 MB) by default, for kernels that probe by themselves."""
        return in_memory(self.materials if materials is None else materials, lambda one: self.file(one).values())

    def file(self, material: Material) -> TableFile:
        """The file of a material's table."""
        if material not in self.materials:
            raise TableError(f"there is no table of {material.name} in {self.folder}")
        return self._file(self.materials.index(material))

    def _open_file(self, table: int) -> TableFile:
        return open_table(self.folder, self.materials[table], self.double_step)

    def _read_block(self, table: int, block: int) -> NDArray[np.uint8]:
        return self._file(table).block(block)


def _known(state: State, value: TableValue) -> TableValue | None:
    """The value if the rules of the game let it stand."""
    if value.wdl == UNKNOWN:
        return None
    if state.rules == "ncsoft" and (value.dtm is None or state.ply + value.dtm > NCSOFT_PLIES):
        return None
    return value


def _preference(choice: MoveValue) -> tuple[int, int]:
    """Rising from the soonest win over draws to the soonest loss."""
    wdl, dtm = choice.value
    return -wdl, wdl * (dtm or 0)


# --------------------------------------------------------------------------------------------- kernels


@kernel
def _locate_many(squares, to_play, castling, catalogue, table, index):  # type: ignore[no-untyped-def]
    """Write where each of many positions is: table: int16[n] or -1, index: int64[n]."""
    codes, places = stack_zeros(3, np.int64), stack_zeros(3, np.int64)
    for i in range(squares.shape[0]):
        table[i], index[i] = locate_board(squares[i], to_play[i], castling[i], codes, places, catalogue)
