"""Learning who wins: the third stage of AlphaGo (Silver et al. 2016), from one position of each of many games.

    loss = mean of (z - v)^2 + policy_weight * KL(p_start || p)         z: 1 the player to move won, -1 lost, 0 a draw

Two kinds of network: AlphaGo's value network (`alphago-value`), for which the second term is missing; or one network
with both heads that starts from a model with a policy, learns the value, and is held to the policy p_start of the
model at the same positions. Positions come from `value_games`; those of game records may be mixed in, one position of
each game a pass.

The value loss is the mean of (z - v)^2, on test games and on as many games learned from. Always 0 has a loss of 1; the
best that can be said where the player to move wins with probability q has 4 q (1 - q).
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tengen.agents.training_conditions import suited_options
from tengen.data.dataset import Dataset, Selection, select
from tengen.encode.go import get_go_encoder
from tengen.games.go.rules import GoOptions
from tengen.learn.curves import draw_value_curves
from tengen.learn.device import find_device
from tengen.learn.loader import PositionLoader, RecordBatch
from tengen.learn.report_pages import CURVES_FILE
from tengen.learn.supervised import predictor
from tengen.learn.training import CALIBRATION, Trainer, TrainingProgress
from tengen.learn.value_config import FREE_VALUE_SETTINGS, VALUE_ENCODER, VALUE_NETWORK, PositionSettings, ValueConfig
from tengen.learn.value_positions import PlayProgress, ValuePositions, play_positions
from tengen.learn.warm_start import check_start
from tengen.nets.bundled import find_model
from tengen.nets.evaluator import Evaluator, load_evaluator
from tengen.nets.model_file import ModelCard, read_card
from tengen.nets.network import Network, PolicyValueOutput
from tengen.nets.registry import describe_network, network_spec, parse_network
from tengen.runs.files import write_atomically
from tengen.runs.folder import FolderError, RunDirectory, read_metrics
from tengen.workers.calls import Hosts

GAMES_FOLDER = "games"
"""Where a run keeps its positions unless --data says otherwise."""
_BATCH = 256  # positions of a validation that are evaluated together


class ValueBatch(NamedTuple):
    """B positions to learn from."""

    planes: NDArray[np.uint8]  # [B, C, N, N]
    winner: NDArray[np.int8]  # [B] 1 if the player to move won, -1 if the opponent did, 0 for a draw
    policy: NDArray[np.float32] | None  # [B, A] logits of the model to be held to


def learn_value(
    config: ValueConfig,
    out: str | Path,
    on_progress: Callable[[TrainingProgress], None] = lambda _: None,
    on_games: Callable[[PlayProgress], None] = lambda _: None,
    hosts: Hosts | None = None,
) -> dict[str, Any]:
    """Play games and learn who wins from them, or go on with the run in the directory `out`; returns the best
    validation. Ctrl-C ends the run: what is played and learned by then is kept. `hosts`: who plays, if not processes of
    this machine.

    >>> import tempfile
    >>> import tengen
    >>> from tengen.learn.value_config import ValueConfig
    >>> tiny = {"games": 200, "positions": 256, "validate": 32, "network": "alphago-value:layers=2,filters=4"}
    >>> with tempfile.TemporaryDirectory() as run:
    ...     best = tengen.learn_value(ValueConfig(policy="go5", **tiny), run)
    >>> 0 <= best["value_loss"] <= 4
    True
    """
    out = Path(out)
    config = resolve(config)
    _check(config)
    folder = Path(config.data) if config.data else out / GAMES_FOLDER
    torch.set_num_threads(config.threads)
    run = RunDirectory(out, asdict(config), FREE_VALUE_SETTINGS, asdict(ValueConfig(data=str(folder))), kind="value")

    def show(now: TrainingProgress) -> None:
        on_progress(now)
        if now.validation:
            write_value_curves(out)

    try:
        if config.policy:
            games = position_settings(config)
            play_positions(games, folder, config.games, workers=config.workers, on_progress=on_games, hosts=hosts)
        best = _ValueTrainer(config, run, ValuePositions.open(folder, config.games)).train(show)
        write_value_curves(out)  # for a run that was killed after its last validation
        return best
    finally:
        run.close()


def write_value_curves(run: Path) -> Path:
    """Draw the curves of the run in this directory, also of one under way; returns the path of the picture."""
    lines = read_metrics(run)
    if not lines:
        raise FolderError(f"the run in {run} has made no validation yet: there is nothing to draw")
    write_atomically(run / CURVES_FILE, draw_value_curves(lines))
    return run / CURVES_FILE


def resolve(config: ValueConfig) -> ValueConfig:
    """The configuration with all that follows from its models and positions filled in."""
    start = read_card(find_model(config.start_from)) if config.start_from else None
    if config.policy:
        card = read_card(find_model(config.policy))
        size = config.size or card.size
        komi = config.komi
        if komi != komi:
            suited = suited_options(card).get("komi", GoOptions(size=size, rules=config.rules).komi)
            assert isinstance(suited, int | float)
            komi = float(suited)
        last_move = config.last_move or max(1, 3 * size * size // 4)
        config = replace(config, size=size, komi=komi, last_move=last_move, rl=config.rl or config.policy)
    else:
        there = ValuePositions.open(config.data, config.games).settings
        config = replace(config, size=there.size, rules=there.rules, komi=there.komi, komi_spread=there.komi_spread)
        config = replace(config, last_move=there.last_move, temperature=there.temperature)
    network, encoder = VALUE_NETWORK, VALUE_ENCODER
    if start is not None:
        heads = {"value": True, "ownership": False, "score": False}
        kept = {name: heads.get(name, value) for name, value in start.arguments.items()}
        network, encoder = network_spec(start.network, kept), start.encoder
    return replace(config, network=config.network or network, encoder=config.encoder or encoder)


def position_settings(config: ValueConfig) -> PositionSettings:
    """The games that a configuration, with all filled in, asks for."""
    return PositionSettings(**{name: getattr(config, name) for name in PositionSettings.__dataclass_fields__})


def _check(config: ValueConfig) -> None:
    """Find mistakes while there is no run directory yet."""
    if config.policy and not config.games:
        raise ValueError("games is 0: give the number of games to play, or leave --policy out to use those in --data")
    find_device(config.device)
    name, arguments = parse_network(config.network)
    parts = describe_network(name, get_go_encoder(config.encoder).planes, config.size, **arguments)
    if not parts.value:
        raise ValueError(f"{config.network} has no value head: add value=yes, or take {VALUE_NETWORK}")
    if parts.ownership or parts.score:
        raise ValueError(f"these games do not teach ownership and score: leave the heads out of {config.network}")
    if parts.policy and not config.start_from:
        raise ValueError(f"{config.network} has a policy, which needs a model to be held to: give --start-from")
    if config.start_from:
        check_start(config)
        if parts.policy and not read_card(find_model(config.start_from)).architecture().policy:
            raise ValueError(f"{config.start_from} has no policy that {config.network} could be held to")
    if config.komi_spread and config.encoder != "compact-komi":
        raise ValueError(f"{config.encoder} does not show the komi that komi_spread draws: take compact-komi")
    if config.records:
        _known_records(config)
    if config.policy:
        settings = position_settings(config)
        options = GoOptions(size=settings.size, rules=settings.rules, komi=settings.komi)
        for model in (settings.policy, settings.rl):
            card = read_card(find_model(model))
            if card.game != "go" or card.size != options.size:
                board = f"{options.size}x{options.size}"
                raise ValueError(f"{model} plays {card.game} on {card.size}x{card.size}, and the games are on {board}")
        if settings.last_move > 3 * options.size**2 - 2:
            raise ValueError(f"last_move is {settings.last_move}: games end after {3 * options.size**2} moves at most")


class _ValueTrainer(Trainer[ValueConfig, ValueBatch]):
    """Learns the results of games, and if there is one, keeps the policy of the model it started from."""

    def __init__(self, config: ValueConfig, run: RunDirectory, positions: ValuePositions) -> None:
        self.encoder, self._positions = get_go_encoder(config.encoder), positions
        super().__init__(config, run, self.encoder.planes)
        self._teacher: Evaluator | None = None
        if self.network.policy is not None:
            self._teacher, _ = load_evaluator(config.start_from, "openvino", config.threads)

    def batches(self) -> Generator[ValueBatch]:
        with ExitStack() as stack:
            sources = [stack.enter_context(closing(loader.batches())) for loader in self._loaders()]
            while True:
                yield self._batch([next(source) for source in sources])

    def planes_of(self, batch: ValueBatch) -> NDArray[np.uint8]:
        return batch.planes

    def losses(self, output: PolicyValueOutput, batch: ValueBatch) -> tuple[Tensor, dict[str, Tensor]]:
        assert output.value is not None
        error = (output.value.float() - torch.from_numpy(batch.winner)).square().mean()
        if batch.policy is None:
            return error, {"loss": error, "value_loss": error}
        distance = divergence(torch.from_numpy(batch.policy), output.policy.float())
        total = error + self.config.policy_weight * distance
        return total, {"loss": total, "value_loss": error, "policy_divergence": distance}

    def measure(self, network: Network) -> dict[str, Any]:
        tested = [self._answers(network, batch) for batch in self._validation("test")]
        fitted = [self._answers(network, batch) for batch in self._validation("train")]
        errors = np.concatenate([squares for squares, _ in tested])
        found = {"positions": len(errors), "loss": float(errors.mean()), "value_loss": float(errors.mean())}
        found["value_loss_standard_error"] = float(errors.std() / len(errors) ** 0.5)
        found["train_value_loss"] = float(np.concatenate([squares for squares, _ in fitted]).mean())
        if self._teacher is not None:
            distances = np.array([distance for _, distance in tested])
            found["policy_divergence"] = float(np.average(distances, weights=[len(squares) for squares, _ in tested]))
            found["loss"] += self.config.policy_weight * found["policy_divergence"]
        return {name: round(value, 5) for name, value in found.items()}

    def describe(self, network: Network, measures: dict[str, Any]) -> ModelCard:
        config, spread = self.config, self._positions.settings.komi_spread
        settings = self._positions.settings
        return ModelCard.of(
            network,
            encoder=config.encoder,
            rules=settings.rules,
            data=f"one position of each of {len(self._positions.test):,} games of "
            f"{Path(settings.policy).name} and {Path(settings.rl).name}",
            recipe=self.recipe("data", "records", "start_from", "policy", "rl", "komi", "komi_spread"),
            komi=[settings.komi - spread, settings.komi + spread],
            positions=self.positions,
            hours=round(self.seconds / 3600, 2),
            validation=measures,
        )

    def calibration_planes(self) -> NDArray[np.uint8]:
        return self._loader(self._positions.select("train"), CALIBRATION).batch_at(0, CALIBRATION).planes

    def _loaders(self) -> list[PositionLoader]:
        """Of the games played, and of the records if there are any."""
        config = self.config
        if not config.records:
            return [self._loader(self._positions.select("train"), config.batch)]
        others = min(config.batch - 1, max(1, round(config.records_share * config.batch)))
        return [
            self._loader(self._positions.select("train"), config.batch - others),
            PositionLoader(
                _known_records(config),
                self.encoder,
                batch=others,
                seed=config.seed,
                symmetries=config.symmetries,
                start=self.step * others,
                komi_spread=config.komi_spread,
                which="drawn",
            ),
        ]

    def _loader(self, games: Selection, batch: int) -> PositionLoader:
        config = self.config
        return PositionLoader(
            games,
            self.encoder,
            batch=batch,
            seed=config.seed,
            symmetries=config.symmetries,
            threads=config.loaders,
            start=self.step * batch,
            which="last",
        )

    def _batch(self, parts: list[RecordBatch]) -> ValueBatch:
        planes = np.concatenate([part.planes for part in parts])
        return ValueBatch(planes, np.concatenate([part.winner for part in parts]), self._ask(planes))

    def _ask(self, planes: NDArray[np.uint8]) -> NDArray[np.float32] | None:
        """What the model that the run started from says; it may see fewer planes."""
        if self._teacher is None:
            return None
        return self._teacher.evaluate(np.ascontiguousarray(planes[:, : self._teacher.architecture.planes]))[0]

    def _validation(self, split: Any) -> Iterator[RecordBatch]:
        """The same positions every time."""
        loader = PositionLoader(
            self._positions.select(split), self.encoder, batch=_BATCH, seed=0, symmetries=False, which="last"
        )
        wanted = min(self.config.validate, loader.positions)
        for start in range(0, wanted, _BATCH):
            yield loader.batch_at(start, min(_BATCH, wanted - start))

    def _answers(self, network: Network, batch: RecordBatch) -> tuple[NDArray[np.float32], float]:
        """The squared errors of the values, float32[B], and the mean divergence of the policy."""
        logits, values = predictor(network, self.config.bf16)(batch.planes)
        assert values is not None
        wanted = self._ask(batch.planes)
        distance = 0.0 if wanted is None else float(divergence(torch.from_numpy(wanted), torch.from_numpy(logits)))
        return np.square(values - batch.winner), distance


def divergence(wanted: Tensor, logits: Tensor) -> Tensor:
    """The mean of KL(p || q) in nats, p and q being the softmax of wanted and logits: both [B, A]."""
    target = functional.log_softmax(wanted, dim=1)
    return functional.kl_div(functional.log_softmax(logits, dim=1), target, reduction="batchmean", log_target=True)


def _known_records(config: ValueConfig) -> Selection:
    """The records to learn from whose result is known."""
    games = select(Dataset.open(config.records), "train", size=config.size)
    known = games.game_moves.known[games.rows]
    if not known.any():
        raise ValueError(f"no game of {config.records} has a result: leave --records out")
    return Selection(games.rows[known], games.game_moves, games.lengths[known], games.size)
