"""A value network that learns who won, from positions after one player's moves: cross entropy over three outcomes.

    loss = mean of -log p(outcome)     outcomes: the first player won (0), the second won (1), a draw (2)
         + mean of -z log p(move)      with a policy: the next move, z = 1 if who makes it won, 0 if not, 1/2 a draw

The second line is the lecture's policy gradient, over all moves of the games. With z = -1 for a defeat it has no
minimum: the log of a move that always loses goes down for ever. So z is the share of the point that the mover got.

Every position of every game is one to learn from, turned by a random symmetry of the board. One game in fifty is a test
game. `constant_loss` is that of always saying how often each outcome occurs: a network that does no better has learned
nothing, and its player would move by the numbering of the board (see docs/simple-go.md).
"""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tengen.encode.game_spec import GameSpec
from tengen.learn.distributed import answers
from tengen.learn.generations_config import FREE_GENERATION_SETTINGS, UNUSED_SETTINGS, GenerationsConfig
from tengen.learn.generations_games import GenerationGames
from tengen.learn.loader import draw_positions
from tengen.learn.trainer import CALIBRATION, TrainingRun
from tengen.nets.model_file import ModelCard
from tengen.nets.network import Network, PolicyValueOutput, build_network
from tengen.nets.registry import network_spec, parse_network
from tengen.runs.folder import RunDirectory

TEST_EVERY: Final = 50
"""Of so many games one is a test game."""
_AT_ONCE: Final = 1024  # test positions that are evaluated together


class OutcomeBatch(NamedTuple):
    """B positions to learn from."""

    planes: NDArray[np.uint8]  # [B, C, H, W]
    outcomes: NDArray[np.int64]  # [B] 0: the first player won, 1: the second won, 2: a draw
    actions: NDArray[np.int64]  # [B] the next move, turned likewise; 0 after the last move
    rewards: NDArray[np.float32]  # [B] z of who made it: 1 won, 0 lost, 0.5 a draw; 0 after the last move


class PositionsAfter:
    """The positions of games after the moves of one player, or of both, numbered from 0 on.

    `after`: first, second or both. `test`: those of test games, else those of all others. `start`: whether the start
    position counts as one after the second player's moves.
    """

    def __init__(self, spec: GameSpec, games: GenerationGames, after: str, *, test: bool, start: bool = False) -> None:
        self._spec = spec
        self._rows = np.flatnonzero((np.arange(len(games.results)) % TEST_EVERY == 0) == test)
        self._games, lengths = games, games.lengths[self._rows]
        self._begin, self._step = {"first": (1, 2), "second": (2, 2), "both": (1, 1)}[after]
        if start and after != "first":
            self._begin = 0
        self._ends = np.cumsum(np.maximum(0, (lengths - self._begin) // self._step + 1))
        self._points, gather = spec.game.symmetries(spec.options)
        self._turned = np.argsort(gather, axis=1)  # what each action becomes
        self._roots = spec.batch.allocate(1)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def labels(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[B]: the outcomes of the games of these positions."""
        results = self._games.results[self._rows[self._game_of(numbers)]]
        labels: NDArray[np.int64] = np.choose(results.astype(np.int64) + 1, [1, 2, 0])
        return labels

    def read(self, numbers: NDArray[np.int64], symmetries: NDArray[np.int64] | None = None) -> OutcomeBatch:
        """The positions of these numbers, int64[B], each turned by a symmetry of int64[B]; None: by none."""
        game, count = self._spec.batch, len(numbers)
        place = self._game_of(numbers)
        before = np.where(place > 0, self._ends[place - 1], 0)
        moves = self._begin + self._step * (numbers - before)
        positions = game.allocate(count)
        paths = self._games.actions[self._rows[place]]
        game.follow(self._roots, np.zeros(count, np.int64), paths, moves, positions)
        planes = np.empty((count, *self._spec.shape), np.uint8)
        self._spec.encoder.encode_games(positions, count, planes)
        actions, rewards = self._next_moves(self._rows[place], moves)
        if symmetries is not None:
            chosen = symmetries % len(self._points)
            flat = planes.reshape(count, planes.shape[1], -1)
            turned = np.take_along_axis(flat, self._points[chosen][:, None, :], axis=2)
            planes = np.ascontiguousarray(turned.reshape(planes.shape))
            actions = self._turned[chosen, actions]
        return OutcomeBatch(planes, self.labels(numbers), actions, rewards)

    def _next_moves(
        self, games: NDArray[np.int64], moves: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """What was played after so many moves, and what it got to the player."""
        longest = self._games.actions.shape[1]
        actions = self._games.actions[games, np.minimum(moves, longest - 1)].astype(np.int64)
        goes_on = (moves < longest) & (actions >= 0)
        results = self._games.results[games].astype(np.float32)
        rewards = (1 + np.where(moves % 2 == 0, results, -results)) / 2
        return np.where(goes_on, actions, 0), np.where(goes_on, rewards, 0).astype(np.float32)

    def shuffled(self, start: int, count: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The numbers start, start + 1, ... of an endless sequence in which every pass has each position once, and a
        random number for each; int64[count] both."""
        order, chances = np.empty(count, np.int64), np.empty(count, np.int64)
        draw_positions(start, len(self), seed, True, order, chances)
        return order, chances

    def _game_of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[B]: the places in `rows` of the games."""
        return np.searchsorted(self._ends, numbers, side="right")


class OutcomeTrainer(TrainingRun[GenerationsConfig, OutcomeBatch]):
    """Trains one network of a generation."""

    def __init__(
        self,
        config: GenerationsConfig,
        run: RunDirectory,
        spec: GameSpec,
        games: GenerationGames,
        after: str,
        **about: Any,
    ) -> None:
        """`about`: what the model's card says beside the usual."""
        self._spec, self._about = spec, about
        self._train, self._test = (
            PositionsAfter(spec, games, after, test=test, start=config.policy) for test in (False, True)
        )
        if not len(self._train) or not len(self._test):
            raise ValueError(f"{len(games.results)} games are too few to learn from: play more than {TEST_EVERY}")
        super().__init__(network_config(config, after), run, spec.encoder.planes)

    def batches(self) -> Generator[OutcomeBatch]:
        """The next batch is made while the network learns from the last one."""
        with ThreadPoolExecutor(1, thread_name_prefix="positions") as pool:
            start, size = self.step * self.config.batch, self.config.batch
            ahead = pool.submit(self._batch, start, size)
            try:
                while True:
                    batch = ahead.result()
                    start += size
                    ahead = pool.submit(self._batch, start, size)
                    yield batch
            finally:
                ahead.cancel()

    def losses(self, output: PolicyValueOutput, batch: OutcomeBatch) -> tuple[Tensor, dict[str, Tensor]]:
        assert output.outcome is not None
        loss = functional.cross_entropy(output.outcome.float(), torch.from_numpy(batch.outcomes))
        if not self.config.policy:
            return loss, {"loss": loss}
        moves = functional.cross_entropy(output.policy.float(), torch.from_numpy(batch.actions), reduction="none")
        policy_loss = (moves * torch.from_numpy(batch.rewards)).mean()
        return loss + policy_loss, {"loss": loss, "policy_loss": policy_loss}

    def measure(self, network: Network) -> dict[str, Any]:
        numbers, _ = self._test.shuffled(0, min(self.config.validate, len(self._test)), 1)
        losses, right, hits, won = 0.0, 0, 0, 0
        for start in range(0, len(numbers), _AT_ONCE):
            batch = self._test.read(numbers[start : start + _AT_ONCE])
            with torch.inference_mode():
                output = answers(network, batch.planes, self.config.bf16)
            logits = output.outcome
            assert logits is not None
            wanted = torch.from_numpy(batch.outcomes)
            losses += float(functional.cross_entropy(logits.float(), wanted, reduction="sum"))
            right += int((logits.argmax(dim=1) == wanted).sum())
            winners = batch.rewards == 1
            hits += int((output.policy.argmax(dim=1).numpy() == batch.actions)[winners].sum())
            won += int(winners.sum())
        shares = np.bincount(self._test.labels(numbers), minlength=3) / len(numbers)
        constant = -sum(share * np.log(share) for share in shares if share)
        found = {"loss": losses / len(numbers), "constant_loss": constant, "accuracy": right / len(numbers)}
        if self.config.policy:
            found["policy_accuracy"] = hits / max(1, won)
        return {"positions": len(numbers)} | {name: round(float(value), 5) for name, value in found.items()}

    def describe(self, network: Network, measures: dict[str, Any]) -> ModelCard:
        machine = FREE_GENERATION_SETTINGS | set(UNUSED_SETTINGS)
        return ModelCard.of(
            network,
            encoder=self._spec.encoder_name,
            game=self._spec.options.game,
            rules=str(getattr(self._spec.options, "rules", "")),
            recipe=self.config.recipe(*machine),
            positions=self.positions,
            validation=measures,
            **self._about,
        )

    def calibration_planes(self) -> NDArray[np.uint8]:
        return self._batch(0, CALIBRATION).planes

    def _batch(self, start: int, count: int) -> OutcomeBatch:
        order, chances = self._train.shuffled(start, count, self.config.seed)
        return self._train.read(order, chances if self.config.symmetries else None)

    def new_network(self) -> Network:
        name, arguments = parse_network(self.config.network)
        batch = self._spec.batch
        board = {"width": batch.width, "actions": batch.actions}
        return build_network(name, self._planes, batch.height, seed=self.config.seed, **board, **arguments)


def network_config(config: GenerationsConfig, after: str) -> GenerationsConfig:
    """The configuration with the network for positions after these moves."""
    name, arguments = parse_network(config.network)
    arguments |= {"after": after} | ({"policy": True} if config.policy else {})
    return replace(config, network=network_spec(name, arguments))
