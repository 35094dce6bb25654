"""One round of self-play: its positions are asked of the workers in small units, taken in and put on the disk.

A unit is a sixteenth of a round or so. Whichever worker is free takes the next one; games under way in a worker go on
from unit to unit and from round to round. Every few seconds what has come in becomes a chunk.
"""

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from tengen.learn.replay import Packed, ReplayMemory
from tengen.learn.replay_chunks import ChunkFacts, ChunkFolder, PlayedGames
from tengen.learn.selfplay import SelfPlayStatistics
from tengen.learn.zero_workers import Played
from tengen.workers.calls import Calls, Workers
from tengen.workers.sent_files import SentFile

_UNITS: Final = 8  # of a round, for each worker
_CHUNK_SECONDS: Final = 20.0


@dataclass(frozen=True)
class RoundOrder:
    """What a round is to play."""

    iteration: int
    positions: int
    model: Path
    generation: int
    backend: str
    simulations: int


@dataclass
class SelfPlayRound:
    """A round under way."""

    order: RoundOrder
    workers: Workers
    memory: ReplayMemory
    chunks: ChunkFolder
    work: SelfPlayStatistics = field(default_factory=SelfPlayStatistics)
    """What the workers have done in this round since it was begun or resumed."""
    seconds: float = 0.0
    """How long that took, until the last result."""

    def __post_init__(self) -> None:
        self._began = self._written = time.monotonic()
        self._waiting: list[Played] = []
        self._there = sum(facts.positions for facts in self.chunks.facts if facts.iteration == self.order.iteration)
        self._calls = self._call()

    @property
    def positions(self) -> int:
        """How many positions of the round are there."""
        return self._there

    @property
    def is_complete(self) -> bool:
        """Whether nothing more is to come."""
        return self._calls.unfinished == 0

    def take_in(self, now: float, wait: float = 0.0) -> None:
        """Take in what the workers have played, waiting so long for it; `now` is the run's time in seconds."""
        for played in self._calls.collect(wait):
            self._waiting.append(played)
            self._there += len(played.positions.value)
            self.work = _sum(self.work, played.work)
            self.seconds = time.monotonic() - self._began
        if self._there >= self.order.positions:  # games end when they end, so units bring a little more than asked
            self._calls.cancel()
        if self.is_complete or time.monotonic() - self._written > _CHUNK_SECONDS:
            self.keep(now)

    def cancel(self) -> None:
        """Let what is being played now be the end of the round."""
        self._calls.cancel()

    def keep(self, now: float) -> None:
        """Make a chunk of what has come in."""
        self._written = time.monotonic()
        if not self._waiting:
            return
        packed = _join_positions([played.positions for played in self._waiting])
        games = _join_games([played.games for played in self._waiting])
        newest = self.chunks.facts[-1] if self.chunks.facts else None
        facts = ChunkFacts(
            first=newest.end if newest else 0,
            positions=len(packed.value),
            iteration=self.order.iteration,
            generation=self.order.generation,
            games=(newest.games if newest else 0) + len(games.winner),
            simulations=(newest.simulations if newest else 0) + sum(each.work.simulations for each in self._waiting),
            seconds=round(now, 1),
        )
        self.chunks.write(packed, games, facts)
        self.memory.add(packed, facts.first)
        self._waiting = []

    def _call(self) -> Calls:
        """Ask for the positions that the round still lacks."""
        order, lacking = self.order, max(0, self.order.positions - self._there)
        units = min(lacking, _UNITS * self.workers.count)
        each = -(-lacking // units) if units else 0
        call = (SentFile(order.model), order.generation, order.backend, each, order.simulations)
        return self.workers.map("play", [call] * units)


def round_figures(chunks: ChunkFolder, iteration: int) -> dict[str, float]:
    """What the games of a round were like: their length, who won, how many ended by resignation."""
    games = [chunks.read_games(facts) for facts in chunks.facts if facts.iteration == iteration]
    if not games:
        return {}
    winner = np.concatenate([each.winner for each in games])
    lengths = np.concatenate([np.diff(each.offsets) for each in games])
    return {
        "play_length": round(float(lengths.mean()), 1),
        "play_first": round(float((winner == 1).mean() + (winner == 0).mean() / 2), 4),
        "play_draws": round(float((winner == 0).mean()), 4),
        "play_resigned": round(float(np.concatenate([each.resigned for each in games]).mean()), 4),
    }


def _sum(one: SelfPlayStatistics, other: SelfPlayStatistics) -> SelfPlayStatistics:
    values = {name: getattr(one, name) + getattr(other, name) for name in SelfPlayStatistics.__dataclass_fields__}
    return replace(one, **values)


def _join_positions(parts: list[Packed]) -> Packed:
    moves = max(part.policy.shape[1] for part in parts)
    parts = [part._replace(policy=np.pad(part.policy, ((0, 0), (0, moves - part.policy.shape[1])))) for part in parts]
    joined: list[Any] = [np.concatenate(arrays) for arrays in zip(*parts)]
    return Packed(*joined)


def _join_games(parts: list[PlayedGames]) -> PlayedGames:
    begins = np.cumsum([0, *(len(part.moves) for part in parts)])
    offsets = [part.offsets[:-1] + begin for part, begin in zip(parts, begins)]
    return PlayedGames(
        np.concatenate([part.moves for part in parts]),
        np.concatenate([*offsets, begins[-1:]]),
        np.concatenate([part.winner for part in parts]),
        np.concatenate([part.resigned for part in parts]),
    )
