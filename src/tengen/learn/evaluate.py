"""How well a model does: its moves against those of game records, its values against results, beside rollouts.

`PolicyMeasures` are loss, top-1, top-5 and top-1 by phase, and the error of the value at the same positions; training
validates by them, and `evaluate_policy` measures a finished model on a dataset.

`measure_value_error` is AlphaGo's Figure 2b: how far a value is from the results of games, beside rollouts from the
same positions. These are those of value learning (`value.py`), one of each game, so every game counts once. The
error is the mean of (z - v)^2 with z 1, 0 or -1 for the player to move: always 0 has an error of 1, and a single
rollout by the players of the games would have twice the error of the best value. Silver et al. (2016) give 0.226 on
games learned from and 0.234 on others; they do not say in which unit, but Figure 2b begins near 0.5, where little is
known, which would be half of ours.
"""

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from tengen.data.dataset import Dataset, Selection, Split, select
from tengen.encode.go import get_go_encoder
from tengen.games.game import open_batch
from tengen.games.go.positions import MOVE_MASK
from tengen.games.go.rules import GoOptions
from tengen.learn.loader import PositionLoader, RecordBatch
from tengen.nets.evaluator import load_evaluator
from tengen.nets.model_file import ModelCard, find_model, read_card
from tengen.search.fast_policy import NETWORK as FAST_POLICY
from tengen.search.fast_policy import FastPolicy, load_fast_policy
from tengen.search.leaves import LeafEvaluation, PlayoutEvaluation, new_leaves
from tengen.search.rollouts import FastRollouts

if TYPE_CHECKING:
    from tengen.learn.value import ValuePositions

NETWORK: Final = "network"
"""The name of the network among rollouts."""
BATCH: Final = 256
"""Positions that are evaluated together."""
PHASES: Final = ((0, 20), (20, 60), (60, 120), (120, 180), (180, 10_000))
_BINS: Final = 6  # rows of the table of errors by move, and points of the picture
Predict = Callable[[NDArray[np.uint8]], tuple[NDArray[np.float32], NDArray[np.float32] | None]]
"""planes uint8[B, C, N, N] -> logits float32[B, N * N + 1], values float32[B] or None: as `Evaluator.evaluate`"""


@dataclass
class PolicyMeasures:
    """Sums over positions; the properties are means."""

    positions: int = 0
    loss_sum: float = 0.0
    first: int = 0
    first_five: int = 0
    by_phase: dict[tuple[int, int], tuple[int, int]] = field(default_factory=lambda: dict.fromkeys(PHASES, (0, 0)))
    """For each phase, (positions, right at first guess)."""
    results: int = 0
    """Positions of games with a known result, if there is a value."""
    error_sum: float = 0.0
    """Of the squares of the errors of the value there."""

    @property
    def loss(self) -> float:
        """Mean cross-entropy in nats."""
        return self.loss_sum / max(1, self.positions)

    @property
    def top1(self) -> float:
        """Share of positions where the most likely move was played."""
        return self.first / max(1, self.positions)

    @property
    def top5(self) -> float:
        """Share of positions where one of the five most likely moves was played."""
        return self.first_five / max(1, self.positions)

    @property
    def value_loss(self) -> float | None:
        """Mean squared error of the value, of results that are 1, 0 or -1; None if none was measured."""
        return self.error_sum / self.results if self.results else None

    def add_batch(self, logits: NDArray[np.float32], values: NDArray[np.float32] | None, batch: RecordBatch) -> None:
        """Count what a network answered to a batch."""
        self.add(logits, batch.moves, batch.plies)
        if values is not None:
            self.results += int(batch.known.sum())
            self.error_sum += float(np.square(values - batch.winner)[batch.known].sum())

    def add(self, logits: NDArray[np.float32], moves: NDArray[np.int64], plies: NDArray[np.int64]) -> None:
        """Count a batch; logits: float32[B, A], moves: int64[B], plies: int64[B]."""
        played = logits[np.arange(len(moves)), moves]
        largest = logits.max(axis=1, keepdims=True)
        log_sum = np.log(np.exp(logits - largest).sum(axis=1)) + largest[:, 0]
        # Ties count against the policy: a constant network is right for one move, not for all.
        rank = (logits >= played[:, None]).sum(axis=1) - 1
        self.positions += len(moves)
        self.loss_sum += float((log_sum - played).sum())
        self.first += int((rank == 0).sum())
        self.first_five += int((rank < 5).sum())
        for low, high in PHASES:
            inside = (plies >= low) & (plies < high)
            seen, right = self.by_phase[low, high]
            self.by_phase[low, high] = seen + int(inside.sum()), right + int((inside & (rank == 0)).sum())

    def as_dict(self) -> dict[str, Any]:
        """For JSON and model cards."""
        phases = {phase_name(phase): round(right / seen, 4) for phase, (seen, right) in self.by_phase.items() if seen}
        means = {"loss": round(self.loss, 4), "top1": round(self.top1, 4), "top5": round(self.top5, 4)}
        value = {} if self.value_loss is None else {"value_loss": round(self.value_loss, 4)}
        return {"positions": self.positions, **means, **value, "top1_by_phase": phases}


def phase_name(phase: tuple[int, int]) -> str:
    """`moves 21-60`, `moves 181+`."""
    low, high = phase
    return f"moves {low + 1}-{high}" if high < 10_000 else f"moves {low + 1}+"


def measure_policy(predict: Predict, batches: Iterable[RecordBatch]) -> PolicyMeasures:
    """The measures of a network over batches."""
    measures = PolicyMeasures()
    for batch in batches:
        measures.add_batch(*predict(batch.planes), batch)
    return measures


# ---------------------------------------------------------------------------------- a policy on records


@dataclass(frozen=True)
class ModelEvaluation:
    """How well a model predicts the moves of a dataset."""

    model: str
    card: ModelCard
    data: str
    split: str
    games: int
    measures: PolicyMeasures

    @property
    def top1_error(self) -> float:
        """The standard error of top-1, were positions independent."""
        share = self.measures.top1
        return math.sqrt(share * (1.0 - share) / max(1, self.measures.positions))

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        described: dict[str, Any] = {"model": self.model, "network": self.card.network, "encoder": self.card.encoder}
        described |= {"size": self.card.size, "data": self.data, "split": self.split, "games": self.games}
        return described | self.measures.as_dict() | {"top1_standard_error": round(self.top1_error, 5)}


def evaluate_policy(
    model: str,
    data: str | Path,
    split: Split = "test",
    positions: int = 0,
    *,
    min_rank: int | None = None,
    seed: int = 0,
    backend: str = "openvino",
    threads: int = 1,
    on_progress: Callable[[int, int], None] = lambda done, wanted: None,
) -> ModelEvaluation:
    """Measure a policy model, by bundled name or path, on `positions` of the split drawn at random; 0 for all.

    Seed 0 draws in the order in which training validates. A fast policy is measured on whole games. `on_progress`
    gets the number of positions done and the number of all.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import tengen
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     record = Path(folder, "game.sgf")
    ...     _ = record.write_text("(;SZ[9]KM[7]RU[Chinese]RE[B+R];B[ee];W[ce];B[eg];W[gc])")
    ...     built = tengen.build_dataset([record], Path(folder, "dataset"), workers=1)
    ...     evaluation = tengen.evaluate_policy("go9", built.folder, split="all")
    >>> evaluation.games, evaluation.measures.positions
    (1, 4)
    """
    from tengen.learn.fast_policy import measure_fast_policy

    card = read_card(find_model(model))
    games = select(Dataset.open(data), split, size=card.size, min_rank=min_rank)
    if card.network == FAST_POLICY:
        games = _games_with(games, positions, seed)
        measures = measure_fast_policy(FastPolicy.load(find_model(model)), games)
        return ModelEvaluation(str(model), card, str(data), split, len(games.rows), measures)
    if not card.architecture().policy:
        raise ValueError(f"{model} is a value network and predicts no moves: measure it by `tengen learn value-error`")
    evaluator, _ = load_evaluator(model, backend, threads)
    loader = PositionLoader(games, get_go_encoder(card.encoder), batch=BATCH, seed=seed, symmetries=False)
    wanted = min(positions, loader.positions) if positions else loader.positions
    measures = PolicyMeasures()
    for start in range(0, wanted, BATCH):
        batch = loader.batch_at(start, min(BATCH, wanted - start))
        measures.add_batch(*evaluator.evaluate(batch.planes), batch)
        on_progress(measures.positions, wanted)
    return ModelEvaluation(str(model), card, str(data), split, len(games.rows), measures)


def _games_with(games: Selection, positions: int, seed: int) -> Selection:
    """As few games as have so many positions, drawn at random; 0 for all."""
    order = np.random.default_rng(seed).permutation(len(games.rows))
    count = int(np.searchsorted(np.cumsum(games.lengths[order]), positions)) + 1 if positions else len(order)
    chosen = np.sort(order[:count])
    return Selection(games.rows[chosen], games.game_moves, games.lengths[chosen], games.size)


# ---------------------------------------------------------------------------------- a value beside rollouts


@dataclass(frozen=True)
class ValueErrors:
    """The squared errors of a network and of rollouts, at the same positions."""

    model: str
    data: str
    split: str
    plies: NDArray[np.int64]  # [n] how many moves have been played in each position
    squares: dict[str, NDArray[np.float64]]  # of whom -> [n] (z - v)^2

    def mean(self, name: str, chosen: NDArray[np.bool_] | None = None) -> tuple[float, float]:
        """The mean error of a value and its standard error, over all positions or the chosen ones: bool[n]."""
        squares = self.squares[name] if chosen is None else self.squares[name][chosen]
        return float(squares.mean()), float(squares.std(ddof=1) / math.sqrt(len(squares))) if len(squares) > 1 else 0.0

    def lead(self, name: str) -> tuple[float, float]:
        """By how much the network's error is lower than that of another value, and the standard error of that."""
        differences = self.squares[name] - self.squares[NETWORK]
        return float(differences.mean()), float(differences.std(ddof=1) / math.sqrt(len(differences)))

    def by_move(self) -> dict[tuple[int, int], NDArray[np.bool_]]:
        """First and last number of moves -> which positions have so many: bool[n]; about as many moves in each."""
        edges = np.unique(np.linspace(self.plies.min(), self.plies.max() + 1, _BINS + 1).round().astype(int))
        parts = {(int(a), int(b) - 1): (self.plies >= a) & (self.plies < b) for a, b in itertools.pairwise(edges)}
        return {moves: chosen for moves, chosen in parts.items() if chosen.any()}

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        parts = [({}, None), *(({"moves": list(moves)}, chosen) for moves, chosen in self.by_move().items())]
        rows: list[dict[str, Any]] = []
        for head, chosen in parts:
            means = {name: dict(zip(("error", "standard_error"), self.mean(name, chosen))) for name in self.squares}
            rows.append(head | {"positions": int(len(self.plies) if chosen is None else chosen.sum())} | means)
        described = {"model": self.model, "data": self.data, "split": self.split, "unit": "mean of (z - v)^2"}
        return described | rows[0] | {"by_move": rows[1:]}


def measure_value_error(
    model: str,
    data: str | Path,
    split: Split = "test",
    positions: int = 0,
    *,
    playouts: int = 32,
    fast: str = "",
    backend: str = "fastest",
    seed: int = 1,
    on_progress: Callable[[int, int], None] = lambda done, wanted: None,
) -> ValueErrors:
    """Measure a model, and one and several rollouts, on so many positions of a folder; 0 for all of the split.

    `fast`: the fast policy of rollouts, the bundled one for the board if empty; the game's guided playouts come too.
    """
    from tengen.learn.value import ValuePositions

    if playouts < 1:
        raise ValueError(f"playouts is {playouts}: give 1 or more")
    evaluator, card = load_evaluator(model, backend)
    there = ValuePositions.open(data)
    settings = there.settings
    if not card.architecture().value:
        raise ValueError(f"{model} has no value head: there is nothing to measure")
    if card.game != "go" or card.size != settings.size:
        board = f"{settings.size}x{settings.size}"
        raise ValueError(
            f"{model} is for {card.game} on {card.size}x{card.size}, and {data} holds games of Go on {board}"
        )
    encoder = get_go_encoder(card.encoder)
    loader = PositionLoader(there.select(split), encoder, batch=BATCH, seed=0, symmetries=False, which="last")
    game = open_batch(GoOptions(size=settings.size, rules=settings.rules, komi=settings.komi))
    policy = load_fast_policy(fast, settings.size)
    rollouts: dict[str, LeafEvaluation] = {
        "one fast rollout": FastRollouts(game, policy, 1, seed=seed),
        f"{playouts} fast rollouts": FastRollouts(game, policy, playouts, seed=seed + 1),
        "one guided playout": PlayoutEvaluation(game, 1, seed + 2),
        f"{playouts} guided playouts": PlayoutEvaluation(game, playouts, seed + 3),
    }
    wanted = min(positions, loader.positions) if positions else loader.positions
    squares: dict[str, list[NDArray[np.float64]]] = {name: [] for name in (NETWORK, *rollouts)}
    plies = []
    for start in range(0, wanted, BATCH):
        batch = loader.batch_at(start, min(BATCH, wanted - start))
        values = evaluator.evaluate(batch.planes)[1]
        assert values is not None
        squares[NETWORK].append(np.square(values - batch.winner, dtype=np.float64))
        games, leaves = set_up(game, there, batch), new_leaves(len(batch.games), game.actions)
        for name, evaluation in rollouts.items():
            evaluation.evaluate(games, len(batch.games), leaves)
            squares[name].append(np.square(leaves.values - batch.winner, dtype=np.float64))
        plies.append(batch.plies)
        on_progress(start + len(batch.games), wanted)
    joined = {name: np.concatenate(parts) for name, parts in squares.items()}
    return ValueErrors(str(model), str(data), split, np.concatenate(plies), joined)


def set_up(game: Any, there: "ValuePositions", batch: RecordBatch) -> Any:
    """The positions of a batch as games, in the arrays of the game."""
    games = game.allocate(len(batch.games))
    games.komi[:] = batch.komi
    starts = there.games.offsets[batch.games]
    for ply in range(int(batch.plies.max())):
        codes = there.games.moves[np.minimum(starts + ply, len(there.games.moves) - 1)]
        game.play(games, np.where(ply < batch.plies, (codes & MOVE_MASK).astype(np.int64), -1))
    return games
