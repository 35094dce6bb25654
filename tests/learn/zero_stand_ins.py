"""Small stand-ins for the loop's tests: data of self-play out of thin air, and workers in this very process."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tengen.arena.statistics import Score
from tengen.encode.game_spec import GameSpec
from tengen.learn.duel import Pairing
from tengen.learn.replay import PlayedGames, pack
from tengen.learn.selfplay import Played, SelfPlayData, SelfPlayStatistics
from tengen.learn.zero_settings import ZeroConfig
from tengen.workers.calls import Calls

NETWORK = "residual:blocks=1,filters=4,first_kernel=3,head_filters=4,value_hidden=4,value=yes,ownership=yes,score=yes"


def toy_config(**given: Any) -> ZeroConfig:
    """Go on 3x3 with a tiny network: two rounds of some 200 positions."""
    toy: dict[str, Any] = {"size": 3, "komi": 0.5, "network": NETWORK, "simulations": 4, "slots": 8, "positions": 200}
    toy |= {"batch": 32, "reuse": 2.0, "window_first": 1000, "window_most": 2000, "iterations": 2, "hours": 0.0}
    toy |= {"rate": 0.05, "schedule": "constant", "warm_up": 2, "average": 0.9, "bf16": False, "backend": "openvino"}
    toy |= {"duel_games": 8, "gate_games": 8, "duel_every": 1, "workers": 2, "threads": 1, "overlap": False}
    return ZeroConfig.preset_config("go5", toy | given)


def made_up_data(spec: GameSpec, positions: int, seed: int, games: int = 4) -> SelfPlayData:
    """Positions of so many games that nobody ever played: every array of the right shape and kind."""
    rng = np.random.default_rng(seed)
    actions, points = spec.batch.actions, spec.batch.height * spec.batch.width
    legal = rng.random((positions, actions)) < 0.7
    legal[:, -1] = True
    policy = np.where(legal, rng.random((positions, actions)), 0).astype(np.float32)
    policy /= policy.sum(axis=1, keepdims=True)
    policy[::5] = 0.0  # every fifth has none, as after a fast search
    owned = points if spec.game.territory else 0
    return SelfPlayData(
        planes=rng.integers(0, 2, (positions, *spec.shape), np.uint8),
        policy=policy.astype(np.float16),
        legal=np.packbits(legal, axis=1),
        value=rng.choice(np.array([-1, 0, 1], np.float32), positions),
        root_value=rng.uniform(-1, 1, positions).astype(np.float32),
        ownership=rng.integers(-1, 2, (positions, owned)).astype(np.int8),
        score=rng.integers(-9, 10, positions).astype(np.float32),
        game=np.sort(rng.integers(0, games, positions)).astype(np.int32),
        moves=np.arange(3 * games, dtype=np.int16) % points,
        offsets=np.arange(0, 3 * games + 1, 3, dtype=np.int64),
        winner=rng.integers(0, 3, games).astype(np.int8),
        resigned=np.arange(games) % 2 == 1,
        counted=np.arange(games) % 2 == 0,
    )


class StandInWorker:
    """Plays by making things up, the same for every call; the newer model always wins a duel by 3 to 1."""

    def __init__(self, spec: GameSpec, settings: Any, seed: int, exact_bytes: bool = False) -> None:
        self._spec = spec

    def play(self, model: str, generation: int, backend: str, positions: int, simulations: int) -> Played:
        data = made_up_data(self._spec, positions, seed=generation)
        work = SelfPlayStatistics(4, positions, simulations * positions, positions, 0.5)
        return Played(pack(data), PlayedGames.of(data), work, generation)

    def duel(self, pairing: Pairing, games: int, simulations: int, seed: Any) -> tuple[Pairing, Score]:
        return pairing, Score(3 * games // 4, games - 3 * games // 4)


class InlineWorkers:
    """Workers that live in this process and do each call when its result is asked for."""

    worker: type[Any] | None = None
    """Takes the place of the class that the loop asks for, if set."""

    def __init__(
        self, count: int, make: Callable[..., Any], arguments: Callable[[int], tuple[Any, ...]], niceness: int = 0
    ) -> None:
        self.count = count
        self._make = self.worker or make
        self._arguments = arguments
        self._worker: Any = None

    def start(self) -> None:
        self._worker = self._make(*self._arguments(0))

    def map(self, method: str, arguments: Iterable[tuple[Any, ...]], calls: Calls | None = None) -> Calls:
        assert calls is None
        return _InlineCalls(getattr(self._worker, method), list(arguments))

    def close(self) -> None:
        self._worker = None


class StandInWorkers(InlineWorkers):
    """The same with stand-ins, which take no time."""

    worker = StandInWorker


class _InlineCalls(Calls):
    def __init__(self, method: Callable[..., Any], arguments: list[tuple[Any, ...]]) -> None:
        super().__init__(len(arguments))
        self._method, self._arguments = method, arguments

    def collect(self, seconds: float = 0.0) -> list[Any]:
        if self._arguments:
            arguments = self._arguments.pop(0)
            self.deliver(None if self.cancelled else self._method(*arguments))
        return super().collect()
