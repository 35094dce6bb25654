"""Who plays for the loop of AlphaGo Zero: a worker object that self-play and duels are asked of.

A call carries all that it needs (which model, how many positions), so any worker can take it.
"""

from dataclasses import replace
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tengen._machine import has_exact_bytes
from tengen.encode.game_spec import GameSpec
from tengen.learn.duel import DuelResult, duel
from tengen.learn.replay import Packed, pack
from tengen.learn.replay_chunks import PlayedGames
from tengen.learn.selfplay import SelfPlayStatistics, SelfPlayWorker
from tengen.learn.selfplay_settings import SelfPlaySettings
from tengen.nets.evaluator import Evaluator, load_evaluator
from tengen.nets.registry import describe_network

_EVALUATORS: Final = 4  # that a worker keeps


class Played(NamedTuple):
    """What a call of `ZeroWorker.play` brings back."""

    positions: Packed
    games: PlayedGames
    work: SelfPlayStatistics
    """Of this call."""
    generation: int


class ZeroWorker:
    """Plays games of a model against itself, and duels of two models."""

    def __init__(self, spec: GameSpec, settings: SelfPlaySettings, seed: int, exact_bytes: bool = False) -> None:
        """`exact_bytes`: int8 was measured on a CPU that has them; where this one has not, floats take its place."""
        self._without_int8 = exact_bytes and not has_exact_bytes()
        self._spec, self._settings = spec, settings
        _compile(spec, settings)
        self._worker = SelfPlayWorker(spec, settings, seed)
        self._model: tuple[str, str] | None = None
        self._evaluators: dict[tuple[str, str], Evaluator] = {}  # the last few, for to prepare one takes a while

    def play(self, model: str, generation: int, backend: str, positions: int, simulations: int) -> Played:
        """Play on with this model until so many positions of finished games are there."""
        if self._model != (model, backend):
            self._worker.use(self._evaluator(model, backend))
            self._model = (model, backend)
        before = self._worker.statistics
        data = self._worker.play(positions, simulations)
        return Played(pack(data), PlayedGames.of(data), _difference(self._worker.statistics, before), generation)

    def duel(
        self, pairing: "Pairing", games: int, simulations: int, seed: tuple[int, ...]
    ) -> tuple["Pairing", DuelResult]:
        """Play so many games of the first model of a pairing against the second."""
        first, second = map(self._evaluator, pairing.models, pairing.backends)
        result = duel(
            self._spec,
            first,
            second,
            games=games,
            simulations=simulations,
            rule=self._settings.rule,
            opening_plies=max(2, self._settings.random_plies),
            seed=int(np.random.SeedSequence(seed).generate_state(1)[0]),
        )
        return pairing, result

    def _evaluator(self, model: str, backend: str) -> Evaluator:
        """A model ready to run; those that have not been asked for lately are let go."""
        key = model, "openvino" if backend == "int8" and self._without_int8 else backend
        found = self._evaluators.pop(key) if key in self._evaluators else load_evaluator(*key)[0]
        self._evaluators[key] = found  # behind all others
        while len(self._evaluators) > _EVALUATORS:
            del self._evaluators[next(iter(self._evaluators))]
        return found


class _Undecided:
    """In place of a network: every move is as likely as another, and nobody is ahead."""

    def __init__(self, spec: GameSpec) -> None:
        planes, height, width = spec.shape
        board = {"width": width, "actions": spec.batch.actions}
        self.architecture = describe_network("residual", planes, height, **board, value=True)

    def evaluate(self, planes: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Planes uint8[B, C, H, W] -> zeros float32[B, actions] and float32[B]."""
        return np.zeros((len(planes), self.architecture.actions), np.float32), np.zeros(len(planes), np.float32)

    def another(self) -> Self:
        """Threads may share it."""
        return self


def _compile(spec: GameSpec, settings: SelfPlaySettings) -> None:
    """Play a move, so that a worker is not ready before its kernels are compiled, half a minute on a new machine."""
    worker = SelfPlayWorker(spec, replace(settings, slots=1), 1)
    worker.use(_Undecided(spec))
    worker.step(2)


class Pairing(NamedTuple):
    """Two generations that meet."""

    first: int
    second: int
    models: tuple[str, str]
    """Their files."""
    backends: tuple[str, str]
    """What runs them."""


def _difference(after: SelfPlayStatistics, before: SelfPlayStatistics) -> SelfPlayStatistics:
    names = SelfPlayStatistics.__dataclass_fields__
    return SelfPlayStatistics(**{name: getattr(after, name) - getattr(before, name) for name in names})
