"""Learning a fast policy from game records: gradient ascent on the likelihood of the moves that were played.

Many games are replayed side by side, one move each in turn; the positions of one turn are a mini-batch. With p the
policy and f(a) the features of a move, the gradient of log p(played) is f(played) - sum over a of p(a) f(a), so only
weights of features that occur change. Each has a step of its own (Adagrad: rate / sqrt(sum of squared gradients)).
Games come in chunks; after each the state is saved, and the same command goes on from there.
"""

import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.data.dataset import Dataset, Selection, select
from tengen.games.go.board import (
    BLACK,
    NO_CELL,
    TO_PLAY,
    WHITE,
    Board,
    board_at,
    cell_count,
    clear,
    new_boards,
    place,
)
from tengen.games.go.legality import play_move
from tengen.games.go.positions import MOVE_MASK, WHITE_BIT
from tengen.learn.evaluate import PolicyMeasures
from tengen.nets.model_file import ModelCard, read_card, read_tensors, write_tensors
from tengen.runs.progress import OnProgress, RunProgress, ignore_progress
from tengen.search.fast_policy import (
    NETWORK,
    WEIGHTS,
    Candidates,
    FastPolicy,
    Scene,
    find_candidates,
    new_candidates,
    new_scene,
    score_candidates,
    survey,
)
from tengen.search.fast_shapes import ShapeTables, shape_tables

_FIRST_SQUARES: Final = 0.01  # what the sums of squared gradients begin with
_IMPOSSIBLE: Final = -50.0  # the score of moves that the policy cannot play, in measures


@dataclass(frozen=True)
class FastPolicyConfig:
    """Everything that shapes what is learned."""

    data: str
    """Folder of the dataset."""
    games: int = 0
    """Games to draw; 0 for all."""
    passes: int = 1
    """How often to go through them."""
    rate: float = 0.2
    """Step at the beginning; it falls to zero in a straight line."""
    batch: int = 64
    """Games side by side."""
    chunk: int = 1000
    """Games between two validations."""
    validate: int = 200
    """Test games for a validation; 0 for all."""
    size: int = 19
    min_rank: int = 0
    """Both players at least so strong (1 is 1 dan, 11 professional 1 dan); 0 for any."""
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("passes", "batch", "chunk"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)} is too few: give at least 1")
        if not 0 < self.rate < 100:
            raise ValueError(f"a rate of {self.rate} is not possible: give a positive number such as 0.2")


class FastPolicyRunError(ValueError):
    """A file that belongs to another run."""


def train_fast_policy(config: FastPolicyConfig, out: Path, on_progress: OnProgress = ignore_progress) -> dict[str, Any]:
    """Learn a fast policy and write it to the model file `out`; returns its validation.

    The figures of its progress, after each chunk of games: the games and positions so far, the games in all, the mean
    loss over the chunk, each position measured before it was learned from, and the speed.
    """
    dataset = Dataset.open(config.data)
    rank = config.min_rank or None
    games = select(dataset, "train", config.games or None, size=config.size, min_rank=rank, seed=config.seed)
    tests = select(dataset, "test", size=config.size, min_rank=rank)
    tests = _first_games(tests, config.validate)
    run = _Run(config, out, len(games.rows))
    while run.done < run.games_in_all:
        began = time.monotonic()
        order = _chunk(config, games.rows, run.done)
        rate = config.rate * (1.0 - run.done / run.games_in_all)
        positions, loss = learn_games(games.game_moves, order, run.room, run.weights, run.squares, config.size, rate)
        seconds = time.monotonic() - began
        run.done += len(order)
        run.positions += positions
        run.validation = measure_fast_policy(FastPolicy(run.weights), tests).as_dict()
        run.save()
        share = run.done / run.games_in_all
        figures = {"games": run.done, "wanted": run.games_in_all, "positions": run.positions, "loss": loss / positions}
        figures |= {"positions/s": positions / max(1e-9, seconds)}
        on_progress(RunProgress("training", run.done, share, share, figures=figures, line=run.validation))
    run.finish()
    return run.validation


class _Run:
    """Where a run stands: the weights, the sums of their squared gradients, and how many games are done."""

    def __init__(self, config: FastPolicyConfig, out: Path, games: int) -> None:
        self.config, self.out, self.aside = config, out, out.with_name(f"{out.name}.learning")
        self.games_in_all = games * config.passes
        self.recipe = asdict(config) | {"data": Path(config.data).name}
        self.done = self.positions = 0
        self.validation: dict[str, Any] = {}
        self.weights = np.zeros(WEIGHTS, np.float32)
        self.squares = np.full(WEIGHTS, _FIRST_SQUARES, np.float32)
        self.room = new_room(config.size, config.batch)
        for path in (self.aside, self.out):
            if path.exists():
                self._resume(path)
                break

    def _resume(self, path: Path) -> None:
        card = read_card(path)
        if card.network != NETWORK or card.training.get("recipe") != self.recipe:
            raise FastPolicyRunError(f"{path} holds another model or run: choose another --out, or delete it")
        if path == self.aside:
            tensors, _ = read_tensors(path)
            self.weights, self.squares = tensors["weights"], tensors["squares"]
        else:
            self.weights = FastPolicy.load(path).weights
        self.done, self.positions = card.training["games"], card.training["positions"]
        self.validation = card.training["validation"]

    def save(self) -> None:
        """Write all that is needed to go on."""
        card = ModelCard("go", self.config.size, "chinese", NETWORK, 0, NETWORK, {}, self._training())
        write_tensors(self.aside, {"weights": self.weights, "squares": self.squares}, card)

    def finish(self) -> None:
        """Write the model; what was kept aside is no longer needed."""
        FastPolicy(self.weights).save(self.out, size=self.config.size, training=self._training())
        self.aside.unlink(missing_ok=True)

    def _training(self) -> dict[str, Any]:
        progress = {"games": self.done, "positions": self.positions}
        return {"recipe": self.recipe, **progress, "validation": self.validation}


def _chunk(config: FastPolicyConfig, rows: NDArray[np.int64], done: int) -> NDArray[np.int64]:
    """The next games to learn from: another order on each pass, no chunk across the end of one."""
    number, start = divmod(done, len(rows))
    return np.random.default_rng([config.seed, number]).permutation(rows)[start : start + config.chunk]


def _first_games(selection: Selection, count: int) -> Selection:
    """`count` of the games (0 for all), the same ones every time."""
    if not 0 < count < len(selection.rows):
        return selection
    chosen = np.sort(np.random.default_rng(0).permutation(len(selection.rows))[:count])
    return Selection(selection.rows[chosen], selection.game_moves, selection.lengths[chosen], selection.size)


def measure_fast_policy(policy: FastPolicy, selection: Selection) -> PolicyMeasures:
    """How well a fast policy predicts all moves of the games chosen."""
    measures, size, games = PolicyMeasures(), selection.size, selection.game_moves
    room = new_room(size, 1)
    for row, length in zip(selection.rows, selection.lengths, strict=True):
        logits = np.empty((length, size * size + 1), np.float32)
        predict_game(games, row, room, policy.weights, size, logits)
        moves = (games.moves[games.offsets[row] : games.offsets[row + 1]] & MOVE_MASK).astype(np.int64)
        measures.add(logits, moves, np.arange(length))
    return measures


# --------------------------------------------------------------------------------------------- kernels


class LearningRoom(NamedTuple):
    """Memory that learning works in: L games side by side."""

    tables: ShapeTables
    boards: Board  # fields [L, ...]
    games: NDArray[np.int64]  # [L] which game, or -1
    plies: NDArray[np.int64]  # [L] moves played in it
    scene: Scene
    candidates: Candidates
    scores: NDArray[np.float32]  # [P]
    gradient: NDArray[np.float32]  # [WEIGHTS]
    touched: NDArray[np.int64]  # [WEIGHTS] the features whose gradient is not zero, and
    is_touched: NDArray[np.bool_]  # [WEIGHTS]


def new_room(size: int, games: int) -> LearningRoom:
    """Room for so many games side by side."""
    return LearningRoom(
        shape_tables(),
        new_boards(size, games),
        np.full(games, -1, np.int64),
        np.zeros(games, np.int64),
        new_scene(size),
        new_candidates(size),
        np.zeros(cell_count(size), np.float32),
        np.zeros(WEIGHTS, np.float32),
        np.zeros(WEIGHTS, np.int64),
        np.zeros(WEIGHTS, np.bool_),
    )


@kernel
def learn_games(games, order, room, weights, squares, size, rate):  # type: ignore[no-untyped-def]
    """Learn from the games order: int64[n], one position of each game side by side being a mini-batch.

    Passes count as moves; a move that the policy does not know (a suicide) is passed over. Returns (positions,
    sum of losses).
    """
    following = 0
    positions = 0
    loss = 0.0
    room.games[:] = -1
    while True:
        touched = 0
        live = 0
        for lane in range(room.games.shape[0]):
            board = board_at(room.boards, lane)
            game = room.games[lane]
            if game < 0 or room.plies[lane] >= games.offsets[game + 1] - games.offsets[game]:
                room.games[lane] = -1
                if following >= order.shape[0]:
                    continue
                game = order[following]
                following += 1
                room.games[lane] = game
                room.plies[lane] = 0
                _set_up(board, games, game, size)
                if games.offsets[game + 1] == games.offsets[game]:
                    continue
            live += 1
            n, slot = _look(board, games, game, room.plies[lane], room, size)
            if slot >= 0:
                log_total = score_candidates(weights, room.candidates, n, room.scores)
                loss += log_total - room.scores[slot]
                positions += 1
                touched = add_gradient(room, n, slot, log_total, touched)
            _play(board, games, game, room.plies[lane], size)
            room.plies[lane] += 1
        _ascend(room, touched, weights, squares, rate)
        if live == 0 and following >= order.shape[0]:
            return positions, loss


@kernel
def add_gradient(room, n, slot, log_total, touched):  # type: ignore[no-untyped-def]
    """Add the gradient of log p(candidate `slot`); returns how many features are touched now."""
    features, counts = room.candidates.features, room.candidates.counts
    for i in range(n):
        slope = np.float32((1.0 if i == slot else 0.0) - math.exp(room.scores[i] - log_total))
        for k in range(counts[i]):
            feature = features[i, k]
            if not room.is_touched[feature]:
                room.is_touched[feature] = True
                room.touched[touched] = feature
                touched += 1
            room.gradient[feature] += slope
    return touched


@kernel
def _ascend(room, touched, weights, squares, rate):  # type: ignore[no-untyped-def]
    """Take a step along the gradient, and make it zero again."""
    for i in range(touched):
        feature = room.touched[i]
        slope = room.gradient[feature]
        squares[feature] += slope * slope
        weights[feature] += np.float32(rate) * slope / np.float32(math.sqrt(squares[feature]))
        room.gradient[feature] = 0
        room.is_touched[feature] = False


@kernel
def predict_game(games, game, room, weights, size, logits):  # type: ignore[no-untyped-def]
    """Write the scores of all moves in every position of a game to logits: float32[length, size * size + 1]."""
    board = board_at(room.boards, 0)
    _set_up(board, games, game, size)
    logits[:] = _IMPOSSIBLE
    for ply in range(logits.shape[0]):
        n, _ = _look(board, games, game, ply, room, size)
        score_candidates(weights, room.candidates, n, room.scores)
        for i in range(n - 1):
            p = room.candidates.cells[i]
            logits[ply, p - p // (size + 1) - size - 1] = room.scores[i]
        logits[ply, size * size] = room.scores[n - 1]
        _play(board, games, game, ply, size)


@kernel
def _look(board, games, game, ply, room, size):  # type: ignore[no-untyped-def]
    """Find the candidates before a move of a game; returns (how many, which of them was played or -1)."""
    at = games.offsets[game] + ply
    color = WHITE if games.moves[at] & WHITE_BIT else BLACK
    last = _cell(games.moves[at - 1], size) if ply >= 1 else np.int64(NO_CELL)
    before = _cell(games.moves[at - 2], size) if ply >= 2 else np.int64(NO_CELL)
    board.info[TO_PLAY] = color
    survey(board, room.scene)
    n = find_candidates(board, room.scene, room.tables, last, before, color, room.candidates)
    played = _cell(games.moves[at], size)
    return n, (n - 1 if played == NO_CELL else room.candidates.slots[played])


@kernel
def _set_up(board, games, game, size):  # type: ignore[no-untyped-def]
    clear(board, size)
    for k in range(games.setup_offsets[game], games.setup_offsets[game + 1]):
        place(board, _cell(games.setup[k], size), WHITE if games.setup[k] & WHITE_BIT else BLACK)


@kernel
def _play(board, games, game, ply, size):  # type: ignore[no-untyped-def]
    code = games.moves[games.offsets[game] + ply]
    play_move(board, _cell(code, size), WHITE if code & WHITE_BIT else BLACK)


@kernel(inline=True)
def _cell(code, size):  # type: ignore[no-untyped-def]
    """The cell of a recorded move, NO_CELL for a pass."""
    point = np.int64(code & MOVE_MASK)
    return point + point // size + size + 2 if point < size * size else np.int64(NO_CELL)
