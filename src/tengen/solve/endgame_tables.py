"""Endgame tables: the exact value of every position with up to five pieces, kings included.

>>> from tengen.games.microchess import State
>>> from tengen.solve.endgame_tables import Tables
>>> tables = Tables.open()                                          # doctest: +SKIP
>>> tables.probe(State.from_fen("k3/4/K3/4/3R w"))              # doctest: +SKIP
TableValue(wdl=1, dtm=1)

Values hold under `standard` rules without repetition and the 50-move rule, with castling, with or without the double
step as the tables were opened. `tengen tables build microchess` makes them (`solve.endgame_build`).

A table is a file. Its values lie in blocks, each compressed by itself, so that a probe unpacks only one:

    magic    8 bytes
    length   uint32, of the header
    header   JSON: material, double_step, positions, longest, wins, draws, losses
    offsets  uint32[blocks + 1], where each block begins, counted from the end of the offsets
    blocks   zlib streams (which carry their own checksums) of 16,384 values each, fewer in the last

All numbers are little-endian. Files are memory-mapped; the same material has one file for each rule that matters to
it, so tables without pawns serve with and without the double step.

`check_tables` is the full consistency check: every value of every table must follow from those of its successors.
These come from the game's own rules (`games/microchess/moves.py`, `board.py`), which share no code with the build. If
all positions agree, the tables are right: by induction on the distance for wins and losses, and what always has a
drawing move and never a winning one is a draw.
"""

import json
import mmap
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tengen._kernel import kernel, stack_array, stack_zeros
from tengen._kernel_cache import user_cache
from tengen._machine import cores
from tengen.games.microchess.board import (
    BLACK,
    BLACK_MAY_CASTLE,
    BLACK_PIECE,
    CASTLING,
    DOUBLE_STEP,
    EMPTY,
    INFO_LENGTH,
    KING,
    NCSOFT_PLIES,
    ROOK,
    SQUARES,
    TO_PLAY,
    WHITE,
    WHITE_MAY_CASTLE,
    Board,
    copy_board,
    play_move,
    set_up,
)
from tengen.games.microchess.moves import MAX_MOVES, is_attacked, is_dead, legal_moves
from tengen.games.microchess.notation import board_to_fen
from tengen.games.microchess.state import State
from tengen.runs.files import write_atomically
from tengen.solve.endgame_index import (
    DRAW,
    MAX_PIECES,
    UNUSED,
    Material,
    TablesInMemory,
    all_materials,
    catalogue_of,
    in_memory,
    layout_of,
    locate_board,
    look_up,
    place,
)

# ------------------------------------------------------------------------------- the file of one table

_MAGIC = b"TENGMCT1"
_REMEDY = "make it again with `tengen tables build microchess`"
BLOCK: Final = 1 << 14  # values


class TableError(ValueError):
    """A table file that is missing, damaged or of another kind."""


@dataclass(frozen=True)
class TableFacts:
    """The facts in the header of a table."""

    material: str
    double_step: bool | None  # None: there are no pawns, the rule does not matter
    positions: int  # entries, both sides to move, the unused ones too
    longest: int  # plies of the longest mate, 0 if there is none
    wins: int  # positions that the side to move wins; and so on
    draws: int
    losses: int

    @property
    def legal(self) -> int:
        return self.wins + self.draws + self.losses


def table_path(folder: Path, material: Material, double_step: bool) -> Path:
    """Where the table of a material lies, whether it is there or not."""
    rule = "" if not material.pawns else "-double" if double_step else "-single"
    return folder / f"{material.name}{rule}.mct"


def facts_of(material: Material, double_step: bool, values: NDArray[np.uint8]) -> TableFacts:
    """The header of a table with these values (uint8[positions])."""
    counts = np.bincount(values, minlength=256)
    decided = np.flatnonzero(counts[1:UNUSED])
    return TableFacts(
        material=material.name,
        double_step=double_step if material.pawns else None,
        positions=len(values),
        longest=int(decided[-1]) if len(decided) else 0,
        wins=int(counts[2:UNUSED:2].sum()),
        draws=int(counts[DRAW]),
        losses=int(counts[1:UNUSED:2].sum()),
    )


def write_table(folder: Path, material: Material, double_step: bool, values: NDArray[np.uint8]) -> TableFacts:
    """Write a table (values: uint8[positions]) whole or not at all."""
    facts = facts_of(material, double_step, values)
    blocks = [_pack(values[start : start + BLOCK].tobytes()) for start in range(0, len(values), BLOCK)]
    offsets = np.cumsum([0, *(len(block) for block in blocks)]).astype("<u4")
    header = json.dumps(asdict(facts)).encode()
    parts = [_MAGIC, np.array([len(header)], "<u4").tobytes(), header, offsets.tobytes(), *blocks]
    write_atomically(table_path(folder, material, double_step), b"".join(parts))
    return facts


def open_table(folder: Path, material: Material, double_step: bool) -> "TableFile":
    """The table of a material; TableError if it is missing, damaged or not what its name says."""
    path = table_path(folder, material, double_step)
    if not path.exists():
        raise TableError(f"{path} is missing: {_REMEDY}")
    table = TableFile(path)
    if (table.facts.material, table.facts.double_step) != (material.name, double_step if material.pawns else None):
        raise TableError(f"{path} holds another table than its name says: {_REMEDY}")
    return table


def _pack(values: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 15, 9, zlib.Z_FILTERED)
    return packer.compress(values) + packer.flush()


class TableFile:
    """A table on disk, memory-mapped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            try:
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError:  # an empty file
                raise TableError(f"{path} is empty: {_REMEDY}") from None
        if self._bytes[:8] != _MAGIC:
            raise TableError(f"{path} is not an endgame table of this version: {_REMEDY}")
        try:
            length = int(np.frombuffer(self._bytes[8:12], "<u4")[0])
            self.facts = TableFacts(**json.loads(self._bytes[12 : 12 + length]))
            self._first = 12 + length + 4 * (self.blocks + 1)
            self._offsets = np.frombuffer(self._bytes[12 + length : self._first], "<u4").astype(np.int64)
            whole = len(self._bytes) == self._first + int(self._offsets[self.blocks])
            whole = whole and self.facts.positions == 2 * layout_of(Material.parse(self.facts.material)).counts[1]
        except (ValueError, TypeError, IndexError):
            whole = False
        if not whole:
            raise TableError(f"{path} is damaged: {_REMEDY}")

    @property
    def blocks(self) -> int:
        return -(-self.facts.positions // BLOCK)

    def block(self, number: int) -> NDArray[np.uint8]:
        """The values of one block, unpacked."""
        start, end = self._first + self._offsets[number : number + 2]
        unpacker = zlib.decompressobj()
        try:
            values = np.frombuffer(unpacker.decompress(self._bytes[start:end], BLOCK + 1), np.uint8)
        except zlib.error:
            values = np.zeros(0, np.uint8)
        if len(values) != min(BLOCK, self.facts.positions - number * BLOCK) or not unpacker.eof:
            raise TableError(f"{self.path} is damaged: {_REMEDY}")
        return values

    def values(self) -> NDArray[np.uint8]:
        """All values, unpacked: uint8[positions]."""
        return np.concatenate([self.block(number) for number in range(self.blocks)])


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
    """The value, or None if the rules of the game may change it."""
    if value.wdl == UNKNOWN:
        return None
    if state.rules == "ncsoft" and (value.dtm is None or state.ply + value.dtm > NCSOFT_PLIES):
        return None
    return value


def _preference(choice: MoveValue) -> tuple[int, int]:
    """Rising from the soonest win over draws to the soonest loss."""
    wdl, dtm = choice.value
    return -wdl, wdl * (dtm or 0)


@kernel
def _locate_many(squares, to_play, castling, catalogue, table, index):  # type: ignore[no-untyped-def]
    """Write where each of many positions is: table: int16[n] or -1, index: int64[n]."""
    codes, places = stack_zeros(3, np.int64), stack_zeros(3, np.int64)
    for i in range(squares.shape[0]):
        table[i], index[i] = locate_board(squares[i], to_play[i], castling[i], codes, places, catalogue)


# ---------------------------- games evaluated by the tables: wins and draws thrown away


class EvaluatedMove(NamedTuple):
    """A move of a game, whose value before and after the tables know, both as its player sees it."""

    state: State
    """The position before the move."""
    move: int
    """The move played, or RESIGN."""
    before: int
    """1 a win, 0 a draw, -1 a loss."""
    after: int

    @property
    def player(self) -> int:
        """Who moved."""
        return self.state.to_play

    @property
    def is_mistake(self) -> bool:
        """Whether it threw away a win or a draw."""
        return self.after < self.before


def evaluate_games(tables: Tables, games: Iterable[State]) -> list[EvaluatedMove]:
    """All moves of games (each given by its last state) from positions in the tables, in their order.

    A move that ends the game counts by its result: the player who repeats the position for the third time in a won
    endgame, or resigns it, has thrown the win away.
    """
    pairs: list[tuple[State, State]] = []
    for game in games:
        pairs += pairwise(game.states())
    values_before = tables.probe_states([before for before, _ in pairs])
    values_after = tables.probe_states([after for _, after in pairs])
    found = []
    for (before, after), known, then in zip(pairs, values_before, values_after):
        left = _result(after, before.to_play) if after.is_over else None if then is None else -then.wdl
        if known is not None and left is not None and after.last_move is not None:
            found.append(EvaluatedMove(before, after.last_move, known.wdl, left))
    return found


def mistakes(tables: Tables, game: State) -> list[EvaluatedMove]:
    """The moves of a game (given by its last state) that threw away a win or a draw."""
    return [move for move in evaluate_games(tables, [game]) if move.is_mistake]


def _result(state: State, player: int) -> int:
    winner = state.winner()
    return 0 if not winner else 1 if winner == player else -1


# ---------------------------------------------------------------------- the check of whole tables

_KEPT_TABLES = 64  # unpacked in memory while others are checked against them
_A1, _D5 = 0, 19
_ASTRAY = -1  # the expected value of a position that the catalogue puts elsewhere, or a successor nowhere


@dataclass(frozen=True)
class Checked:
    """What the check of one table found."""

    material: Material
    longest: str  # FEN of a position with the longest mate, empty if there is no mate
    faults: int  # positions whose value does not follow from their successors
    fault: str  # the first of them in words, empty if there is none


def check_tables(folder: Path, pieces: int, double_step: bool = True, workers: int | None = None) -> Iterator[Checked]:
    """Check all tables with up to so many pieces, in the order of `all_materials`; an error if one cannot be read."""
    load = lru_cache(_KEPT_TABLES)(lambda material: open_table(folder, material, double_step).values())
    with ThreadPoolExecutor(workers or cores(), thread_name_prefix="tables") as pool:
        futures = [pool.submit(check_table, material, double_step, load) for material in all_materials(pieces)]
        try:
            for future in futures:
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def check_table(material: Material, double_step: bool, load: Callable[[Material], NDArray[np.uint8]]) -> Checked:
    """Check one table; `load` gives the values of any."""
    memory = in_memory([material, *material.successors()], load)
    faults, first, expected = _check(memory, _codes(material), DOUBLE_STEP if double_step else 0)
    values = load(material)
    fault = _describe(material, int(first), int(values[first]), int(expected)) if faults else ""
    return Checked(material, longest_mate(material, values), int(faults), fault)


def longest_mate(material: Material, values: NDArray[np.uint8]) -> str:
    """FEN of a position with the longest mate; empty if there is no mate at all."""
    decided = np.where(values == UNUSED, DRAW, values)
    longest = int(np.argmax(decided))
    return position_fen(material, longest) if decided[longest] != DRAW else ""


def position_fen(material: Material, index: int) -> str:
    """The position at an index of a material's table."""
    catalogue = catalogue_of([material])
    squares = np.zeros(SQUARES, np.int8)
    _put_on_board(catalogue, _codes(material), index, squares, np.zeros(5, np.int64))
    black = index >= catalogue.counts[0, 1]
    return board_to_fen(squares, BLACK if black else WHITE, material.rights, 0, int(black))


def _describe(material: Material, index: int, value: int, expected: int) -> str:
    if expected == _ASTRAY:
        return f"{position_fen(material, index)} or a position after it is not where the index says"
    return f"{position_fen(material, index)} has value {value}, but {expected} follows from its moves"


def _codes(material: Material) -> NDArray[np.int64]:
    return np.array((KING, KING + BLACK_PIECE, *material.codes), np.int64)


@kernel
def _check(memory, codes, flags):  # type: ignore[no-untyped-def]
    """Check table 0: (how many faults, the index of the first, the value expected there); codes: int64[pieces]."""
    counts = memory.catalogue.counts[0]
    rights = counts[3]
    squares, places = stack_zeros(SQUARES, np.int8), stack_zeros(5, np.int64)
    # The history of a game is of no interest here: two keys are as many as one move writes.
    board = Board(stack_zeros(SQUARES, np.int8), stack_zeros(INFO_LENGTH, np.int64), stack_zeros(2, np.int64))
    after = Board(stack_zeros(SQUARES, np.int8), stack_zeros(INFO_LENGTH, np.int64), stack_zeros(2, np.int64))
    others, other_places = stack_zeros(3, np.int64), stack_zeros(3, np.int64)
    moves = stack_array(MAX_MOVES, np.int16)
    faults, first, expected_first = 0, -1, 0
    for index in range(2 * counts[1]):
        legal = _put_on_board(memory.catalogue, codes, index, squares, places)
        to_play = BLACK if index >= counts[1] else WHITE
        if legal:
            set_up(board, squares, to_play, rights, 0, 0, flags)
            legal = not is_attacked(board, 3 - to_play)
        expected = _derive(board, after, moves, index, memory, others, other_places) if legal else UNUSED
        if expected != memory.values[index]:
            if faults == 0:
                first, expected_first = index, expected
            faults += 1
    return faults, first, expected_first


@kernel
def _put_on_board(catalogue, codes, index, squares, places):  # type: ignore[no-untyped-def]
    """Write the pieces of a position to squares: int8[20]; whether each has one, and castling its kings and rooks."""
    counts = catalogue.counts[0]
    place(index % counts[1], places, catalogue.group[0], catalogue.radix[0], counts[2])
    squares[:] = EMPTY
    for i in range(codes.shape[0]):
        if squares[places[i]] != EMPTY:
            return False
        squares[places[i]] = codes[i]
    if counts[3] & WHITE_MAY_CASTLE and squares[_A1] != ROOK:
        return False
    return not counts[3] & BLACK_MAY_CASTLE or squares[_D5] == ROOK + BLACK_PIECE


@kernel
def _derive(board, after, moves, index, memory, codes, places):  # type: ignore[no-untyped-def]
    """The value of a legal position that follows from those of its successors; the other arrays are to work with."""
    info = board.info
    if locate_board(board.squares, info[TO_PLAY], info[CASTLING], codes, places, memory.catalogue) != (0, index):
        return _ASTRAY
    count, in_check = legal_moves(board, moves)
    if count == 0:
        return 1 if in_check else DRAW
    win, loss, drawn = 256, 0, is_dead(board)
    for m in range(count):
        copy_board(board, after)
        play_move(after, np.int64(moves[m]))
        info = after.info
        value = look_up(after.squares, info[TO_PLAY], info[CASTLING], codes, places, memory)
        if value == UNUSED:
            return _ASTRAY
        if value == DRAW:
            drawn = True
        elif value & 1:
            win = min(win, value + 1)
        else:
            loss = max(loss, value + 1)
    if win < 256:
        return win
    return DRAW if drawn else loss
