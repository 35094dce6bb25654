"""The fast policy of the AlphaGo paper: a linear softmax over local shapes and simple tactics.

The score of a move is a sum of weights, one for each feature that it has; its probability is exp(score) over the sum
of all. The features follow Extended Data Table 4 of Silver et al. (2016), with liberties in the shapes:

| features | how many | what                                                                                          |
|----------|----------|-----------------------------------------------------------------------------------------------|
| shape    |  2**15   | 3x3 around the move, with the liberties (1, 2, more) of its four neighbours                    |
| diamond  |  2**18   | the twelve cells around the move, likewise (hashed)                                            |
| point    |   165    | distances from the two nearest edges, and whether there are stones in the 7x7 around           |
| tactic   |   400    | stones captured, put in atari, saved from atari, put in self-atari: how many                   |
| last     |    66    | where the move lies from the opponent's last move, up to ten lines away                        |
| before   |    66    | where it lies from the player's own last move                                                  |
| response |  2**18   | the twelve cells around the last move, and where the answer lies from it (5x5; hashed)         |
| near     |  2**15   | the shape again, for answers in the 5x5 around the last move                                   |
| rescue   |     6    | it saves a string that the last move put in atari: by running, by capturing; stones saved      |
| pass     |     2    | pass, and pass after a pass                                                                    |

The first four depend on the board alone (`static_features`), the others on the last two moves as well.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.games import go
from tengen.games.go.board import EMPTY, EMPTY_COUNT, KO, NO_CELL, PASSES, SIZE, WHITE, atari_cell, cell_count
from tengen.games.go.coordinates import PASS, from_cell, to_cell
from tengen.games.go.legality import is_breathing
from tengen.games.go.playout import is_self_atari
from tengen.nets.model_file import ModelCard, ModelFileError, find_model, read_tensors, write_tensors
from tengen.search.fast_shapes import (
    OFFSETS,
    OWN_BITS,
    REACH,
    SHAPES,
    TACTICAL,
    TURN_BITS,
    liberty_class,
    read_far,
    read_shape,
    shape_class,
    shape_tables,
    swap_shape,
)

HASHED: Final = 1 << 18
WINDOW: Final = 10  # how many lines away the last moves are seen
CROWD: Final = 3  # lines around a point in which stones are counted
CROWD_STRIDE: Final = 32  # a row of `Scene.crowd`
OUTSIDE: Final = 100  # more than the stones that a 7x7 may hold
_PLACES: Final = (WINDOW + 1) * (WINDOW + 2) // 2
_POINTS: Final = 55 * 3

SECTIONS: Final = {
    "shape": SHAPES,
    "diamond": HASHED,
    "point": _POINTS,
    "tactic": 400,
    "last": _PLACES,
    "before": _PLACES,
    "response": HASHED,
    "near": SHAPES,
    "rescue": 6,
    "pass": 2,
}
"""The tables of weights, in the order in which they lie in one flat array."""
_starts = np.cumsum([0, *SECTIONS.values()]).tolist()
WEIGHTS: Final = int(_starts[-1])
SHAPE, DIAMOND, POINT, TACTIC, LAST, BEFORE, RESPONSE, NEAR, RESCUE, PASS_ = (int(start) for start in _starts[:-1])

STATIC: Final = 4  # features of every move
MOST: Final = 9  # features of one move at most
RESCUES: Final = 32  # moves that save stones, at most
LANES: Final = 32  # cells are weighed in blocks of so many

NETWORK: Final = "fast-policy"
"""What a model file calls this kind of model."""
_SMALL: Final = 13  # boards up to this size have a fast policy of their own


class Factors(NamedTuple):
    """A fast policy as kernels multiply it, for boards of one size N, whose P cells are Q in whole blocks of LANES."""

    table: NDArray[np.float32]  # [WEIGHTS] exp of the weights
    windows: NDArray[np.float32]  # factors of all cells by their place from a move: windows[starts[k, move] + cell]
    starts: NDArray[np.int64]  # [2, P] for the last move and the one before; NO_CELL has factors of 1


@dataclass(frozen=True)
class FastPolicy:
    """A linear softmax over local features; it plays on boards of every size.

    >>> import tengen
    >>> policy: tengen.FastPolicy = tengen.load_fast_policy(size=9)
    >>> policy.weights.shape
    (590529,)
    """

    weights: NDArray[np.float32]  # [WEIGHTS], the sections of `fast_policy.SECTIONS` end to end

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model file; ModelFileError if it holds something else."""
        tensors, card = read_tensors(path)
        if card.network != NETWORK:
            raise ModelFileError(f"{path} holds a network of kind {card.network}, not a fast policy")
        shapes = {name: tensor.shape for name, tensor in tensors.items()}
        if shapes != {name: (count,) for name, count in SECTIONS.items()}:
            raise ModelFileError(f"{path} holds a fast policy with other features: learn it again")
        weights = np.concatenate([tensors[name].astype(np.float32) for name in SECTIONS])
        if not np.isfinite(weights).all():
            raise ModelFileError(f"{path} holds weights that are no numbers")
        return cls(weights)

    def save(self, path: str | Path, *, size: int, training: dict[str, Any], half: bool = True) -> None:
        """Write a model file in one step."""
        card = ModelCard("go", size, "chinese", NETWORK, 0, NETWORK, {}, training)
        write_tensors(path, sections_of(self.weights), card, half=half)

    def factors(self, size: int, temperature: float = 1.0) -> Factors:
        """The same policy for playouts on boards of this size, scores divided by the temperature.

        All who ask for the same get the same arrays.
        """
        if not 0 < temperature <= 100:
            raise ValueError(f"a temperature of {temperature} is not possible: give a positive number such as 1")
        if (size, temperature) not in self._factors:
            self._factors[size, temperature] = factors_of(self.weights / np.float32(temperature), size)
        return self._factors[size, temperature]

    @cached_property
    def _factors(self) -> dict[tuple[int, float], Factors]:
        return {}

    def scores(self, state: go.State) -> dict[int, float]:
        """The score of every move: the logarithm of its probability, but for a constant.

        Moves are legal by simple ko and no suicide; superko and eyes are the caller's business. PASS is among them.
        """
        size, board = state.size, state.board
        scene, candidates = new_scene(size), new_candidates(size)
        survey(board, scene)
        last, before = last_cells(state)
        n = find_candidates(board, scene, shape_tables(), last, before, state.to_play, candidates)
        scores = np.empty(n, np.float32)
        score_candidates(self.weights, candidates, n, scores)
        moves = (PASS if cell == NO_CELL else from_cell(int(cell), size) for cell in candidates.cells[:n])
        return dict(zip(moves, scores.tolist(), strict=True))


def load_fast_policy(name: str | Path = "", size: int = 19) -> FastPolicy:
    """A fast policy by the name of a bundled model or by its path; without one, the bundled one for this board size.

    >>> import tengen
    >>> policy = tengen.load_fast_policy(size=9)
    >>> scores = policy.scores(tengen.go.State.new(9))
    >>> tengen.go.to_gtp(max(scores, key=scores.get), 9)
    'E5'
    """
    return FastPolicy.load(find_model(name or ("fast9" if size <= _SMALL else "fast19")))


def sections_of(weights: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
    """The tables of a flat array by name, as views."""
    assert weights.shape == (WEIGHTS,)
    ends = np.cumsum(list(SECTIONS.values()))
    return dict(zip(SECTIONS, np.split(weights, ends[:-1]), strict=True))


def last_cells(state: go.State) -> tuple[int, int]:
    """The cells of the last move and of the one before, NO_CELL for a pass or none."""

    def cell(move: int | None) -> int:
        return NO_CELL if move is None or move < 0 else to_cell(move, state.size)

    return cell(state.last_move), cell(state.previous.last_move if state.previous else None)


def blocks_of(size: int) -> int:
    """How many cells whole blocks of LANES have, on a board of this size."""
    return -(-cell_count(size) // LANES) * LANES


def factors_of(weights: NDArray[np.float32], size: int) -> Factors:
    """The factors of weights: float32[WEIGHTS] on boards of this size."""
    table = np.exp(weights.astype(np.float32))
    stride, rows, ones = size + 1, 2 * size + 1, blocks_of(size)
    windows = np.ones((2, size, rows, stride), np.float32)
    starts = np.zeros((2, cell_count(size)), np.int64)
    for k, section in enumerate((LAST, BEFORE)):
        for col in range(1, stride):
            for row in range(1, stride):
                starts[k, row * stride + col] = ones + ((k * size + col - 1) * rows + size - row) * stride
            for r in range(-size, size + 1):
                for c in range(1, stride):
                    place = place_of(r, c - col)
                    if place >= 0:
                        windows[k, col - 1, r + size, c] = table[section + place]
    edge = np.ones(ones, np.float32)
    return Factors(table, np.concatenate([edge, windows.ravel(), edge]), starts)


class Scene(NamedTuple):
    """What is known of a board before its moves are looked at."""

    classes: NDArray[np.uint8]  # [P] at the head of a string: 1, 2 or 3 (or more) liberties
    crowd: NDArray[np.uint8]  # [(N + 6) * 32] stones in the 7x7 around a point, with margins that hold OUTSIDE or more
    crowd_cells: NDArray[np.uint16]  # [P] where a cell of the board stands in `crowd`
    points: NDArray[np.int32]  # [P] the feature of a point without stones around it


class Candidates(NamedTuple):
    """The legal moves of a position with their features; pass is the last."""

    cells: NDArray[np.int64]  # [P] NO_CELL for pass
    features: NDArray[np.int32]  # [P, MOST]
    counts: NDArray[np.int64]  # [P] how many features each has
    slots: NDArray[np.int64]  # [P] where a cell stands among the candidates, or -1
    rescues: NDArray[np.int64]  # [RESCUES, 2] scratch: cell, kind


def new_scene(size: int) -> Scene:
    """Room for one scene."""
    cells = cell_count(size)
    scene = Scene(
        np.zeros(cells, np.uint8),
        np.full((size + 2 * CROWD) * CROWD_STRIDE, OUTSIDE, np.uint8),
        np.zeros(cells, np.uint16),
        np.zeros(cells, np.int32),
    )
    for row in range(size):
        for col in range(size):
            p = (row + 1) * (size + 1) + col + 1
            a, b = sorted((min(row, size - 1 - row, 9), min(col, size - 1 - col, 9)))
            scene.crowd_cells[p] = (row + CROWD) * CROWD_STRIDE + col + CROWD
            scene.points[p] = POINT + 3 * (b * (b + 1) // 2 + a)
    return scene


def new_candidates(size: int) -> Candidates:
    """Room for the candidates of one position."""
    cells = cell_count(size)
    return Candidates(
        np.zeros(cells, np.int64),
        np.zeros((cells, MOST), np.int32),
        np.zeros(cells, np.int64),
        np.full(cells, -1, np.int64),
        np.zeros((RESCUES, 2), np.int64),
    )


# ------------------------------------------------------------------------------------------- the board


@kernel
def survey(board, scene):  # type: ignore[no-untyped-def]
    """Look at a whole board: the liberties of all strings and the stones around all points."""
    size = board.info[SIZE]
    stride = size + 1
    scene.crowd[:] = OUTSIDE
    for row in range(size):
        start = (row + CROWD) * CROWD_STRIDE + CROWD
        scene.crowd[start : start + size] = 0
    for row in range(size):
        for col in range(size):
            p = (row + 1) * stride + col + 1
            if board.color[p] != EMPTY:
                add_to_crowd(scene, p, 1)
                if board.head[p] == p:
                    scene.classes[p] = liberty_class(board, p)


@kernel(inline=True)
def add_to_crowd(scene, p, change):  # type: ignore[no-untyped-def]
    """Count a stone that comes (change 1) or goes (-1) at p; returns whether some count around it is 2 or less now."""
    u = np.uint64
    start = u(scene.crowd_cells[u(p)]) - u(CROWD * (CROWD_STRIDE + 1))
    least = np.uint8(OUTSIDE)
    for row in range(u(2 * CROWD + 1)):
        for col in range(u(2 * CROWD + 1)):
            q = start + row * u(CROWD_STRIDE) + col
            count = np.uint8(scene.crowd[q] + np.uint8(change))
            scene.crowd[q] = count
            least = min(least, count)
    return least <= 2


@kernel(inline=True)
def string_size(board, stone, at_most):  # type: ignore[no-untyped-def]
    """How many stones the string has; counting ends at `at_most`."""
    u = np.uint64
    first = board.head[u(stone)]
    s = board.next[first]
    count = 1
    while s != first and count < at_most:
        count += 1
        s = board.next[s]
    return count


@kernel(inline=True)
def hashed(key):  # type: ignore[no-untyped-def]
    """A number below HASHED from a key (Fibonacci hashing)."""
    return np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - 18))


# ------------------------------------------------------------------------------------ static features


@kernel(inline=True)
def diamond_feature(shape, far, tables):  # type: ignore[no-untyped-def]
    """The feature of twelve cells; shape: an entry of `ShapeTables.shape`, far: as seen by the player."""
    turn, own = (shape >> TURN_BITS) & 7, (shape >> OWN_BITS) & 255
    turned = tables.far_least[np.uint64(own), np.uint64(turn_far(far, turn))]
    return DIAMOND + hashed((np.int64(shape_class(shape)) << 8) | np.int64(turned))


@kernel(inline=True)
def turn_far(far, turn):  # type: ignore[no-untyped-def]
    """Apply a symmetry to the four fields of `far`."""
    if turn & 4:  # top and bottom stay, right and left change places
        far = (far & 0b00110011) | (far & 0b00001100) << 4 | (far & 0b11000000) >> 4
    turns = 2 * (turn & 3)
    return (far << turns | far >> (8 - turns)) & 255


@kernel(inline=True)
def point_feature(scene, p):  # type: ignore[no-untyped-def]
    """Distances from the edges, ten standing for more, and whether stones are around: none, one, more."""
    u = np.uint64
    return np.int64(scene.points[u(p)]) + min(np.int64(2), np.int64(scene.crowd[scene.crowd_cells[u(p)]]))


@kernel(inline=True)
def _band(count):  # type: ignore[no-untyped-def]
    """0, 1, 2, 3 to 4, 5 or more stones, as 0 to 4."""
    return count if count < 3 else (3 if count < 5 else 4)


@kernel(inline=True)
def tactic_feature(board, p, color, code):  # type: ignore[no-untyped-def]
    """What the move does to the strings beside it; code: the shape as the player sees it."""
    stride = board.info[SIZE] + 1
    captured, attacked, saved, joined = 0, 0, 0, 0
    sides = code >> 8
    for step in (-stride, 1, stride, -1):
        side = sides & 7
        sides >>= 3
        if side == 1 or side == 2:
            joined = max(joined, string_size(board, p + step, 5))
            if side == 1:
                saved = max(saved, string_size(board, p + step, 3))
        elif side == 4:
            captured = max(captured, string_size(board, p + step, 5))
        elif side == 5:
            attacked = max(attacked, string_size(board, p + step, 3))
    risked = 0
    if captured == 0 and is_self_atari(board, p, color):
        risked, saved = _band(joined + 1), 0
    return TACTIC + ((_band(captured) * 5 + risked) * 4 + attacked) * 4 + saved


@kernel(inline=True)
def static_features(board, scene, tables, p, color, out):  # type: ignore[no-untyped-def]
    """Write the STATIC features of the move p of `color` to out; returns its entry in `ShapeTables.shape`."""
    code = read_shape(board, scene.classes, p)
    far = read_far(board, p)
    if color == WHITE:
        code = swap_shape(code, tables)
        far = np.int64(tables.swap_colors[np.uint64(far)])
    shape = np.int64(tables.shape[np.uint64(code)])
    out[0] = SHAPE + shape_class(shape)
    out[1] = diamond_feature(shape, far, tables)
    out[2] = point_feature(scene, p)
    out[3] = tactic_feature(board, p, color, code) if shape & TACTICAL else TACTIC
    return shape


# ----------------------------------------------------------------------- features of the last two moves


@kernel(inline=True)
def place_of(rows, cols):  # type: ignore[no-untyped-def]
    """The number of the offset (rows, cols) up to symmetry, or -1 outside the window."""
    a, b = abs(rows), abs(cols)
    if a > b:
        a, b = b, a
    return b * (b + 1) // 2 + a if b <= WINDOW else -1


@kernel(inline=True)
def response_key(board, classes, tables, last, color):  # type: ignore[no-untyped-def]
    """(key, symmetry, second symmetry, symmetries left): the diamond around the last move, as `color` sees it.

    An answer at an offset o has the feature `response_feature(key, ..., o)`.
    """
    code = read_shape(board, classes, last)
    far = read_far(board, last)
    if color == WHITE:
        code = swap_shape(code, tables)
        far = np.int64(tables.swap_colors[far])
    shape = np.int64(tables.shape[code])
    turn, own = (shape >> TURN_BITS) & 7, (shape >> OWN_BITS) & 255
    turned = turn_far(far, turn)
    liberties = np.int64(0)
    if board.color[last] != EMPTY:
        liberties = np.int64(classes[board.head[last]])
    key = shape_class(shape) << 10 | np.int64(tables.far_least[own, turned]) << 2 | liberties
    return key, turn, np.int64(tables.far_turn[own, turned]), np.int64(tables.far_own[own, turned])


@kernel(inline=True)
def response_feature(tables, key, turn, second, own, offset):  # type: ignore[no-untyped-def]
    """The feature of an answer at `offset` (0 to OFFSETS - 1, row by row) from the last move."""
    u = np.uint64
    least = tables.offset_least[u(own), tables.offset_turned[u(second), tables.offset_turned[u(turn), u(offset)]]]
    return RESPONSE + hashed(key * OFFSETS + np.int64(least))


@kernel(inline=True)
def find_rescues(board, last, color, rescues):  # type: ignore[no-untyped-def]
    """The moves that save strings of `color` which stand in atari beside the last move; returns how many.

    Writes rows (cell, kind): 0 to 2 for running with 1, 2 or more stones, 3 to 5 for capturing an attacker.
    """
    count = 0
    if last == NO_CELL:
        return count
    stride = board.info[SIZE] + 1
    for q in (last - 1, last + 1, last - stride, last + stride):
        if board.color[q] != color:
            continue
        run = atari_cell(board.liberties[board.head[q]])
        if run == NO_CELL:
            continue
        kind = string_size(board, q, 3) - 1
        if not is_self_atari(board, run, color):
            count = _note_rescue(rescues, count, run, kind)
        first = board.head[q]
        s = first
        while True:
            p = np.int64(s)
            for n in (p - 1, p + 1, p - stride, p + stride):
                if board.color[n] == 3 - color:
                    a = atari_cell(board.liberties[board.head[n]])
                    if a != NO_CELL:
                        count = _note_rescue(rescues, count, a, 3 + kind)
            s = board.next[s]
            if s == first:
                break
    return count


@kernel(inline=True)
def _note_rescue(rescues, count, p, kind):  # type: ignore[no-untyped-def]
    """Note a saving move once, for the most that it does."""
    for i in range(count):
        if rescues[i, 0] == p:
            rescues[i, 1] = max(rescues[i, 1], kind)
            return count
    if count < RESCUES:
        rescues[count, 0] = p
        rescues[count, 1] = kind
        count += 1
    return count


# ------------------------------------------------------------------------------------- whole positions


@kernel
def find_candidates(board, scene, tables, last, before, color, candidates):  # type: ignore[no-untyped-def]
    """List the moves of `color` with their features, a pass at the end; returns how many there are.

    Legal by simple ko and without suicide; eyes are not left out. `last` is the opponent's last move and `before`
    the player's own, NO_CELL for none; the scene is that of the board.
    """
    stride = board.info[SIZE] + 1
    cells, features, counts = candidates.cells, candidates.features, candidates.counts
    key, turn, second, own = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    if last != NO_CELL:
        key, turn, second, own = response_key(board, scene.classes, tables, last, color)
    candidates.slots[:] = -1
    n = 0
    for i in range(board.info[EMPTY_COUNT]):
        p = np.int64(board.empties[i])
        if p == board.info[KO] or not is_breathing(board, p, color):
            continue
        cells[n] = p
        candidates.slots[p] = n
        shape = static_features(board, scene, tables, p, color, features[n])
        k = STATIC
        if last != NO_CELL:
            rows, cols = p // stride - last // stride, p % stride - last % stride
            place = place_of(rows, cols)
            if place >= 0:
                features[n, k] = LAST + place
                k += 1
            if max(abs(rows), abs(cols)) <= REACH:
                offset = (rows + REACH) * (2 * REACH + 1) + cols + REACH
                features[n, k] = response_feature(tables, key, turn, second, own, offset)
                features[n, k + 1] = NEAR + shape_class(shape)
                k += 2
        if before != NO_CELL:
            place = place_of(p // stride - before // stride, p % stride - before % stride)
            if place >= 0:
                features[n, k] = BEFORE + place
                k += 1
        counts[n] = k
        n += 1
    for i in range(find_rescues(board, last, color, candidates.rescues)):
        slot = candidates.slots[candidates.rescues[i, 0]]
        if slot >= 0:
            features[slot, counts[slot]] = RESCUE + candidates.rescues[i, 1]
            counts[slot] += 1
    cells[n] = NO_CELL
    features[n, 0] = PASS_ + min(np.int64(1), board.info[PASSES])
    counts[n] = 1
    return n + 1


@kernel
def score_candidates(weights, candidates, n, scores):  # type: ignore[no-untyped-def]
    """Write the sums of weights to scores: float32[P]; returns the logarithm of the sum of their exponentials."""
    highest = np.float32(-1e30)
    for i in range(n):
        score = np.float32(0.0)
        for k in range(candidates.counts[i]):
            score += weights[candidates.features[i, k]]
        scores[i] = score
        highest = max(highest, score)
    total = 0.0
    for i in range(n):
        total += math.exp(scores[i] - highest)
    return highest + math.log(total)
