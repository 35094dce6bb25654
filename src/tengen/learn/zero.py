"""Self-play training, the loop of AlphaGo Zero (Silver et al. 2017): round after round of

    self-play    the best model plays itself on all cores: positions with the search's policy and the game's result
    training     the current network learns from a window on the newest positions
    export       the running average of its weights becomes the model of a new generation
    duels        with the best, which it replaces if it passes the gate, and with past ones, for a rating

All of a run is in its directory: chunks of positions, a checkpoint of the trainer, a model for each generation, a
line of metrics for each completed round. A run is resumed from what is there, so `kill -9` at any moment costs at most
the unit of work under way.

The loss, pi being the search's policy, p and v the network's, z the result, theta the weights:

    L = policy_weight * cross_entropy(pi, p) + value_weight * (z - v)^2 + decay / 2 * |theta|^2
        + ownership_weight * (who will own each point)^2 + score_weight * (margin / points)^2

`decay` is PyTorch's weight_decay: it adds decay * theta to the gradient, the gradient of decay / 2 * |theta|^2.
(With adamw it is no part of the loss: every step shrinks theta by rate * decay.) AlphaGo Zero (Silver et al. 2017)
writes c * |theta|^2 with c = 0.0001, so its weights are policy_weight 1, value_weight 1, decay 0.0002.

The Microchess lecture's code, in these words: its cross entropy is a mean over 400 outputs, ours a sum, so its
policy_weight is 1/400 = 0.0025; value_weight 0.02 (its c1); decay 0.0001 (its c2, given to PyTorch's weight_decay);
rate 0.01. A loss 400 times as large with a rate 400 times smaller moves the weights along the same path, with sgd and
without --clip: policy_weight 1, value_weight 8, decay 0.04, rate 0.000025. (Its momentum of 0.9 is plain, ours is
Nesterov's.)

In this file, in order: the run; the network that learns, with its loss. The settings are in `zero_settings.py`, the
games in `selfplay.py`, the window of positions in `replay.py`, duels and ratings in `duel.py`.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tengen._machine import cores, has_exact_bytes
from tengen.arena.statistics import Score
from tengen.encode.game_spec import GameSpec
from tengen.learn.distributed import answers, find_device
from tengen.learn.duel import Generations
from tengen.learn.optimizers import rate_at
from tengen.learn.replay import ChunkFolder, ReplayBatch, ReplayMemory, window_size
from tengen.learn.selfplay import SelfPlayRound, ZeroWorker, round_figures
from tengen.learn.trainer import Trainer, check_start, start_from
from tengen.learn.zero_settings import ZeroConfig
from tengen.nets.evaluator import load_evaluator
from tengen.nets.model_file import ModelCard
from tengen.nets.network import Network, PolicyValueOutput, build_network
from tengen.nets.openvino_evaluator import agreement, split_positions
from tengen.nets.registry import describe_network, parse_network
from tengen.runs.folder import (
    CHECKPOINT_FILE,
    CONFIG_FILE,
    FolderError,
    RunDirectory,
    deferred_interrupts,
    read_settings,
)
from tengen.runs.progress import OnProgress, RunProgress, ignore_progress, reporting
from tengen.workers.calls import WorkerFactory
from tengen.workers.local import ProcessWorkers

_PROGRESS_SECONDS: Final = 0.2
_FRESH: Final = 2048  # new positions on which the network is measured before it learns from them


def learn_zero(
    config: ZeroConfig | str,
    out: str | Path,
    on_progress: OnProgress = ignore_progress,
    *,
    hosts: WorkerFactory = ProcessWorkers,
    report: bool = True,
    **settings: Any,
) -> Mapping[str, Any]:
    """Learn a game from nothing but its rules, or resume the run in the directory `out`.

    Returns the last line of its metrics. `config` is a configuration or the name of a preset; `settings` change it.
    Ctrl-C ends the run at once in self-play and duels, and after a step in training: a checkpoint is written, then
    KeyboardInterrupt is raised. With `report`, report.html is written at the end and every few minutes. `hosts`: where
    games are played, in processes of this machine or with `ray_cluster("auto")` on a Ray cluster.

    >>> import tempfile
    >>> import tengen
    >>> tiny = {"network": "residual:blocks=1,filters=4,value=yes", "simulations": 2, "positions": 64, "slots": 8}
    >>> with tempfile.TemporaryDirectory() as run:
    ...     last = tengen.learn_zero("tictactoe", run, report=False, iterations=1, **tiny)
    ...     model = tengen.load_model(f"{run}/best.safetensors")
    >>> last["generation"], model.card.game
    (1, 'tictactoe')
    """
    from tengen.learn.game_report import write_zero_report

    config = ZeroConfig.preset_config(config, settings) if isinstance(config, str) else replace(config, **settings)
    out, config = Path(out), config.completed()
    check_config(config)
    torch.set_num_threads(config.threads or (1 if config.overlap else cores()))
    changed = _changed(config, out)
    run = config.open_run(out)
    try:
        loop = _Loop(config, run)
        if changed:
            run.record({"settings_changed": changed, "seconds": round(loop.seconds(), 1)})
        with reporting(out, on_progress, write_zero_report if report else None) as report_and_write:
            loop.run(report_and_write, hosts)
        return next((line for line in reversed(run.metrics()) if "generation" in line), {})
    finally:
        run.close()


def check_config(config: ZeroConfig) -> None:
    """ValueError if the network does not fit the game, or the device is not there."""
    find_device(config.device)
    spec = config.game_spec()
    name, arguments = parse_network(config.network)
    planes, height, width = spec.shape
    architecture = describe_network(name, planes, height, width=width, actions=spec.batch.actions, **arguments)
    if not architecture.parts().get("value"):
        raise ValueError(f"the network {config.network} has no value head, which self-play needs: add value=yes")
    if not architecture.policy:
        raise ValueError(f"the network {config.network} has no policy, which self-play needs: take residual")
    if config.start_from:
        check_start(config, config.game)


def _changed(config: ZeroConfig, out: Path) -> dict[str, list[Any]]:
    """The settings, old and new, that differ from those of the last call; those of the machine do not count."""
    if not (out / CONFIG_FILE).exists():
        return {}
    before = read_settings(out)
    return {name: [before.get(name), value] for name, value in config.recipe().items() if before.get(name) != value}


class _Loop:
    """A run under way: where it stands, and one method for each phase of a round."""

    def __init__(self, config: ZeroConfig, run: RunDirectory) -> None:
        self.config, self.run_directory = config, run
        self.spec = config.game_spec()
        self.trainer = ZeroTrainer(config, self.spec)
        self.chunks = ChunkFolder(run.path / "chunks")
        self.trained: dict[str, Any] = {"iteration": 0, "done": 0, "sums": [0.0] * len(Losses._fields), "fresh": {}}
        if (run.path / CHECKPOINT_FILE).exists():
            self.trained = self.trainer.load(run.path / CHECKPOINT_FILE)
        elif any(facts.iteration > 2 for facts in self.chunks.facts):
            raise FolderError(f"{run.path / CHECKPOINT_FILE} is gone: put it back, or delete chunks to begin anew")
        run.rewind(self.trainer.step)
        lines = [line for line in run.metrics() if "generation" in line]
        self.completed: int = lines[-1]["iteration"] if lines else 0
        self.generations = Generations(run.path, config.backend)
        self.generations.recall(lines)
        self.memory = ReplayMemory(self.spec, config.window_most + 2 * config.positions)
        for facts in self.chunks.since(self._end() - self._window(self._end())):
            self.memory.add(self.chunks.read(facts), facts.first)
        self._seconds_before = max(
            [self.trained.get("seconds", 0.0), *(facts.seconds for facts in self.chunks.facts[-1:])]
            + [line["seconds"] for line in lines[-1:]]
        )
        self._began = time.monotonic()
        self._costs: dict[str, float] = {name.removeprefix("seconds_"): cost for name, cost in _costs(lines)}
        self._round: SelfPlayRound | None = None
        self._on_progress: OnProgress = ignore_progress
        self._interrupted: Callable[[], bool] = lambda: False

    def run(self, on_progress: OnProgress, hosts: WorkerFactory) -> None:
        """Round after round, until time or rounds are used up."""
        self._on_progress = on_progress
        if not self.completed and not self.generations.path(0).exists():
            self.trainer.export_as(self.generations.path(0), None, generation=0)
            self.generations.publish(0, promoted=True)
        if not self._may_begin(self.completed + 1):
            return
        config = self.config
        niceness = config.niceness if config.overlap else 0
        self.workers = hosts(config.workers, ZeroWorker, self._worker_arguments, niceness)
        self.workers.start()
        try:
            with deferred_interrupts() as self._interrupted:
                while self._may_begin(self.completed + 1):
                    if not self._complete_round(self.completed + 1):
                        break
        finally:
            self.workers.close()

    def seconds(self) -> float:
        """The run's time, all calls counted together."""
        return float(self._seconds_before + time.monotonic() - self._began)

    def _worker_arguments(self, number: int) -> tuple[Any, ...]:
        """Of worker `number`; its seed is another one after each resumption, or it would begin the same games again."""
        words = np.random.SeedSequence((self.config.seed, self._end(), number)).generate_state(2)
        return self.spec, self.config.self_play(), int(words[0]) << 20 | int(words[1]) >> 12, has_exact_bytes()

    # ---- one round ----

    def _complete_round(self, iteration: int) -> bool:
        """All phases of a round, or those that are left of it; False if there was no time to play anything."""
        self._begin_play(iteration)
        self._finish_play(iteration)
        if not any(facts.iteration == iteration for facts in self.chunks.facts):
            return False
        played = self._play_figures(iteration)
        began = time.monotonic()
        if self.config.overlap and self._may_begin(iteration + 1):
            self._begin_play(iteration + 1)
        self._train(iteration)
        self._costs["train"] = time.monotonic() - began
        agreement = self._export(iteration)
        if self.config.overlap and self._round is not None:
            self._finish_play(iteration + 1)
        results = self._duels(iteration)
        self._record(iteration, played, agreement, results)
        return True

    def _begin_play(self, iteration: int) -> None:
        """Set the workers to play a round, unless they are at it."""
        if self._round is None or self._round.iteration != iteration:
            champion = self.generations.champion
            self._round = SelfPlayRound(
                iteration,
                self.config.positions,
                self.generations.path(champion),
                champion,
                self.generations.backend_of(champion),
                self.config.simulations_in(iteration),
                self.workers,
                self.memory,
                self.chunks,
            )

    def _finish_play(self, iteration: int) -> None:
        """Wait for the rest of a round; a run whose time is up trains on what is there."""
        current = self._round
        assert current is not None
        while not current.is_complete:
            current.take_in(self.seconds(), _PROGRESS_SECONDS)
            self._report("self-play", iteration, current.positions / self.config.positions, current.speeds())
            self._leave_if_interrupted()
            if self._time_left() < self._costs_of_the_rest(current.positions):
                current.cancel()
        current.take_in(self.seconds())

    def _train(self, iteration: int) -> None:
        """Learn from the window, each new position `reuse` times on average."""
        config, trainer, trained = self.config, self.trainer, self.trained
        if trained["iteration"] != iteration:
            trained |= {"iteration": iteration, "done": 0, "sums": [0.0] * len(Losses._fields), "fresh": {}}
        first, end = self._span(iteration)
        start = self.memory.start(self._window(end), end)
        steps = max(1, math.ceil((end - first) * config.reuse / config.batch))
        if not trained["done"]:
            trained["fresh"] = trainer.measure(self._drawn(_FRESH, self.memory.start(end - first, end), end))
        saved = reported = time.monotonic()
        while trained["done"] < steps:
            rng = np.random.default_rng((config.seed, trainer.step))
            batch = self.memory.draw(rng, config.batch, start, end, symmetries=config.symmetries)
            parts = trainer.learn_at(batch, self._done())
            trained["done"] += 1
            trained["sums"] = [before + part for before, part in zip(trained["sums"], parts.values())]
            if time.monotonic() - reported > _PROGRESS_SECONDS:
                reported = time.monotonic()
                figures = {name: value / trained["done"] for name, value in zip(Losses._fields, trained["sums"])}
                figures["rate"] = trainer.rate
                if self._round is not None and not self._round.is_complete:
                    self._round.take_in(self.seconds())
                    figures |= self._round.speeds()
                self._report("training", iteration, trained["done"] / steps, figures)
            if self._interrupted() or time.monotonic() - saved > 60 * config.checkpoint:
                self._save()
                saved = time.monotonic()
                self._leave_if_interrupted()
        self._save()

    def _export(self, iteration: int) -> dict[str, float]:
        """Write the model of the new generation."""
        began = time.monotonic()
        self._report("export", iteration, 0.0)
        end = self._span(iteration)[1]
        start = self.memory.start(self._window(end), end)
        found = self.trainer.export_as(
            self.generations.path(iteration),
            self._drawn(2 * self.config.calibration, start, end).planes,
            generation=iteration,
            positions=end,
            steps=self.trainer.step,
            hours=round(self.seconds() / 3600, 3),
        )
        self._costs["export"] = time.monotonic() - began
        return found

    def _duels(self, iteration: int) -> dict[int, Score]:
        """Meet the best, if there is a gate, and past generations, if it is time for that."""
        config, began = self.config, time.monotonic()
        games: dict[int, int] = {}
        if config.duel_every and iteration % config.duel_every == 0 and self._time_left() > 0:
            games = dict.fromkeys(self.generations.opponents(iteration, config.past), config.duel_games)
        if config.gate:
            games[self.generations.champion] = config.gate_games
        simulations = config.duel_simulations or config.simulations
        calls = self.generations.begin_duels(self.workers, iteration, games, simulations, config.seed)
        results: dict[int, Score] = {}
        asked = max(1, calls.unfinished)
        while calls.unfinished:
            for pairing, result in calls.collect(_PROGRESS_SECONDS):
                results[pairing.second] = results.get(pairing.second, Score(0, 0)) + result
            self._report("duels", iteration, 1 - calls.unfinished / asked)
            self._leave_if_interrupted()
        self._costs["duels"] = time.monotonic() - began
        return results

    def _record(
        self,
        iteration: int,
        played: Mapping[str, float],
        agreement: Mapping[str, float],
        results: Mapping[int, Score],
    ) -> None:
        """Complete the round: decide about the new model, write the line of metrics, forget what is too old."""
        config, generations, trained = self.config, self.generations, self.trained
        facts = next(facts for facts in reversed(self.chunks.facts) if facts.iteration == iteration)
        line: dict[str, Any] = {"step": self.trainer.step, "iteration": iteration, "generation": iteration}
        line |= {"positions": facts.end, "games": facts.games, "simulations": facts.simulations}
        line |= {"window": self._window(facts.end), "seconds": round(self.seconds(), 1), "rate": self.trainer.rate}
        line |= {
            f"loss_{name}": round(total / trained["done"], 5) for name, total in zip(Losses._fields, trained["sums"])
        }
        line |= {f"fresh_{name}": round(value, 5) for name, value in trained["fresh"].items()}
        line |= played
        line |= {f"int8_{name}": round(value, 5) for name, value in agreement.items()}
        line["duels"] = [[other, each.wins, each.draws, each.losses] for other, each in results.items()]
        promoted = True
        if config.gate:
            line["gate_score"] = round(results[generations.champion].mean, 4)
            promoted = line["gate_score"] >= config.gate
            line["gate_promoted"] = promoted
        if any(opponent in generations.elo for opponent in results):
            line["elo"] = generations.rate(iteration, results)
        generations.publish(iteration, promoted)
        line["champion"] = generations.champion
        line |= {f"seconds_{name}": round(cost, 2) for name, cost in self._costs.items()}
        self.run_directory.record(line)
        self.chunks.drop_before(self.memory.start(self._window(facts.end), facts.end))
        self.completed = iteration
        self._report("duels", iteration, 1.0, line=line)

    # ---- where the run stands ----

    def _play_figures(self, iteration: int) -> dict[str, float]:
        current = self._round
        assert current is not None
        self._costs["play"] = current.seconds
        checked = {"resignations_checked": current.work.resignations_checked}
        checked |= {"resignations_wrong": current.work.resignations_wrong} if checked["resignations_checked"] else {}
        figures: dict[str, float] = {"play_simulations": current.simulations}
        if current.work.positions:  # else the whole round was there before this call of the command
            figures |= {f"play_{name}": round(value, 2) for name, value in current.speeds().items()}
        return figures | (checked if self.config.resign > -1 else {}) | round_figures(self.chunks, iteration)

    def _end(self) -> int:
        """How many positions the run has."""
        return self.chunks.facts[-1].end if self.chunks.facts else 0

    def _span(self, iteration: int) -> tuple[int, int]:
        """The number of the first position of a round, and that after its last."""
        facts = [facts for facts in self.chunks.facts if facts.iteration == iteration]
        return facts[0].first, facts[-1].end

    def _window(self, positions: int) -> int:
        config = self.config
        return window_size(
            positions, config.window_first, config.window_growth, config.window_share, config.window_most
        )

    def _drawn(self, count: int, start: int, end: int) -> Any:
        return self.memory.draw(np.random.default_rng((self.config.seed, end)), count, start, end)

    def _may_begin(self, iteration: int) -> bool:
        """Whether there is time for this round, or enough of it to be worth it."""
        if self.config.iterations and iteration > self.config.iterations:
            return False
        if self._round is not None and self._round.iteration == iteration:  # begun beside the last training
            return self._time_left() > 0.8 * self._costs_of_the_rest(self._round.positions)
        return self._time_left() > 0.25 * sum(self._costs.values())

    def _time_left(self) -> float:
        return 3600 * self.config.hours - self.seconds() if self.config.hours else math.inf

    def _done(self) -> float:
        """Which share of the run is done, 0 to 1."""
        by_time = self.seconds() / (3600 * self.config.hours) if self.config.hours else 0.0
        by_rounds = self.completed / self.config.iterations if self.config.iterations else 0.0
        return min(1.0, max(by_time, by_rounds))

    def _costs_of_the_rest(self, positions: int) -> float:
        """How long training on so many new positions, export and duels will take, going by the last round."""
        train = self._costs.get("train", 0.0) * positions / self.config.positions
        return train + self._costs.get("export", 0.0) + self._costs.get("duels", 0.0)

    def _save(self) -> None:
        self.trainer.save(self.run_directory.path / CHECKPOINT_FILE, self.trained | {"seconds": self.seconds()})

    def _leave_if_interrupted(self) -> None:
        if self._interrupted():
            if self._round is not None:
                self._round.keep(self.seconds())
            raise KeyboardInterrupt

    def _report(
        self,
        phase: str,
        iteration: int,
        share: float,
        figures: Mapping[str, float] | None = None,
        line: Mapping[str, Any] | None = None,
    ) -> None:
        self._on_progress(
            RunProgress(phase, iteration, min(1.0, share), self._done(), self.seconds(), figures or {}, line)
        )


def _costs(lines: list[dict[str, Any]]) -> Iterator[tuple[str, float]]:
    """What the phases of the last round cost, in seconds."""
    if lines:
        yield from ((name, value) for name, value in lines[-1].items() if name.startswith("seconds_"))


# ------------------------------------------------------------------------------------- the network

_FORBIDDEN: Final = -1e4  # the logit of an illegal action: nothing is left of it after the softmax


class Losses(NamedTuple):
    """The parts of the loss, before they are weighted."""

    policy: Tensor
    value: Tensor
    ownership: Tensor
    score: Tensor


class ZeroTrainer(Trainer[ReplayBatch]):
    """Learns from the window; the running average of its weights plays."""

    def __init__(self, config: ZeroConfig, spec: GameSpec) -> None:
        self.config = config
        self._points = spec.batch.height * spec.batch.width
        super().__init__(
            _new_network(config, spec),
            optimizer=config.optimizer,
            rate=config.rate,
            momentum=config.momentum,
            decay=config.decay,
            clip=config.clip,
            average=config.average,
            bf16=config.bf16,
            device=config.device,
        )

    def learn_at(self, batch: ReplayBatch, done: float) -> dict[str, float]:
        """One step of the optimiser, when this share of the run is done; returns the parts of the loss."""
        config = self.config
        warm = min(1.0, (self.step + 1) / config.warm_up) if config.warm_up else 1.0
        fallen = config.rate_floor + (1.0 - config.rate_floor) * rate_at(config.schedule, min(1.0, done), 0.0)
        return self.learn(batch, config.rate * warm * fallen)

    def losses(self, output: PolicyValueOutput, batch: ReplayBatch) -> tuple[Tensor, dict[str, Tensor]]:
        config, parts = self.config, self.parts(output, batch)
        weights = (config.policy_weight, config.value_weight, config.ownership_weight, config.score_weight)
        total = sum((weight * part for weight, part in zip(weights, parts)), torch.zeros(()))
        return total, parts._asdict()

    def measure(self, batch: ReplayBatch) -> dict[str, float]:
        """The losses of the averaged network on positions it has not seen, and the entropy of the policies there."""
        self.averaged.eval()
        with torch.inference_mode():
            losses = self.parts(answers(self.averaged, batch.planes), batch)
        known = batch.policy[batch.policy.sum(axis=1) > 0]
        entropy = -(known * np.log(np.maximum(known, 1e-12))).sum(axis=1).mean() if len(known) else 0.0
        return {"policy": float(losses.policy), "value": float(losses.value), "entropy": float(entropy)}

    def export_as(self, path: Path, planes: NDArray[np.uint8] | None, **training: Any) -> dict[str, float]:
        """Write the averaged network as a model file, calibrated for 8 bits on half of the planes: uint8[n, C, H, W].

        Returns how well the 8-bit network agrees with the exact one on the other half: top1, policy, value.
        """
        config = self.config
        about = {"encoder": config.encoder, "game": config.game, "rules": config.rules}
        card = ModelCard.of(self.averaged, **about, **training, recipe=config.recipe())
        if planes is None or config.backend != "int8":
            self.export(path, card)
            return {}
        known, unseen = split_positions(planes)
        self.export(path, card, known)
        if not len(unseen):
            return {}
        exact, rounded = (load_evaluator(path, backend)[0] for backend in ("openvino", "int8"))
        return agreement(exact, rounded, unseen)

    def parts(self, output: PolicyValueOutput, batch: ReplayBatch) -> Losses:
        """The parts of the loss, each a mean over the positions that have a target for it."""
        config, none = self.config, torch.zeros(())
        target = torch.from_numpy(batch.policy)
        logits = output.policy.float().masked_fill(~torch.from_numpy(batch.legal), _FORBIDDEN)
        known = target.sum().clamp(min=1.0)  # every target sums to 1
        policy = -(target * torch.log_softmax(logits, dim=1)).sum() / known
        result = torch.from_numpy((1.0 - config.blend) * batch.value + config.blend * batch.root_value)
        assert output.value is not None
        value = (output.value.float() - result).square().mean()
        ownership = score = none
        counted = torch.from_numpy(batch.counted.astype(np.float32))
        share = counted.sum().clamp(min=1.0)
        if output.ownership is not None and batch.ownership.shape[1]:
            owners = torch.from_numpy(batch.ownership).float()
            ownership = ((output.ownership.float() - owners).square().mean(dim=1) * counted).sum() / share
        if output.score is not None and batch.ownership.shape[1]:
            margin = torch.from_numpy(batch.score / self._points)
            score = ((output.score.float() - margin).square() * counted).sum() / share
        return Losses(policy, value, ownership, score)


def _new_network(config: ZeroConfig, spec: GameSpec) -> Network:
    """The network as the run begins."""
    name, arguments = parse_network(config.network)
    planes, height, width = spec.shape
    shape = {"width": width, "actions": spec.batch.actions}
    network = build_network(name, planes, height, **shape, seed=config.seed, **arguments)
    if config.start_from:
        start_from(network, config.start_from)
    return network
