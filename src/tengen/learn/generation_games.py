"""The games that generations learn from: random ones, or greedy ones with exploration, in lock-step.

Exploration, as in the Simple-Go lecture: each player in each game draws, half and half, either a number m of 1 to
`opening`, and moves at random up to move m of the game; or a rate of 0 to `rate_limit`, at which each of its moves is
random. Its other moves are those with the best value one ply ahead, or those that tree search finds.

A game is its actions. Games are played and kept in chunks, each with random numbers of its own: whoever plays chunk k,
and whenever, plays the same games.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen.games.batch import BatchedGame
from tengen.learn.settings import GenerationsConfig
from tengen.runs.arrays import ArrayFolder, Arrays
from tengen.runs.files import make_folder
from tengen.search.generations import Generation, GenerationValues
from tengen.search.lockstep import TreePlay, ValuePlay, actions_of, final_results, play_at_random, play_in_lockstep
from tengen.workers.calls import Workers

CHUNK: Final = 4096
"""Games of a chunk, which are played side by side ..."""
SEARCHED_CHUNK: Final = 256
"""... and by tree search, where each has a tree."""


class GenerationGames(NamedTuple):
    """G finished games of up to D moves. The first player makes moves 0, 2, ..., the second 1, 3, ..."""

    actions: NDArray[np.int16]  # [G, D] -1 after the end of a game
    results: NDArray[np.int8]  # [G] 1: the first player won, -1: the second, 0: a draw
    work: NDArray[np.float64]  # [3] seconds, positions wanted, positions that networks were asked about

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64[G]: how many moves each game has."""
        lengths: NDArray[np.int64] = (self.actions >= 0).sum(axis=1)
        return lengths


class Exploration(NamedTuple):
    """When the two players of B games move at random."""

    opening: NDArray[np.int64]  # [B, 2] up to which move of the game; 0: not by this
    rate: NDArray[np.float64]  # [B, 2] how often; 0: not by this

    @classmethod
    def draw(cls, rng: np.random.Generator, count: int, opening: int, rate_limit: float) -> "Exploration":
        """Half and half for each player and game."""
        by_opening = rng.random((count, 2)) < 0.5
        moves = rng.integers(1, opening + 1, (count, 2)) if opening else np.zeros((count, 2), np.int64)
        rates = rate_limit * rng.random((count, 2))
        return cls(np.where(by_opening, moves, 0), np.where(by_opening, 0.0, rates))

    def at_random(self, move: int, player: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """bool[B]: whether `player`, 1 or 2, makes a random move; the first move of a game is number 1."""
        drawn: NDArray[np.bool_] = (move <= self.opening[:, player - 1]) | (
            rng.random(len(self.rate)) < self.rate[:, player - 1]
        )
        return drawn


class GenerationPlayer:
    """Plays chunks of games of one generation; None: random games. Threads may share it."""

    def __init__(self, config: GenerationsConfig, values: GenerationValues | None = None) -> None:
        self._config, self._spec, self._values = config, config.spec(), values

    def play(self, generation: int, number: int, count: int) -> GenerationGames:
        """Chunk `number` of the games that `generation` learns from."""
        began = time.thread_time()
        rng = np.random.default_rng((self._config.seed, generation, number))
        game = self._spec.batch
        boards = game.allocate(count)
        if self._values is None:
            actions, work = play_at_random(game, boards, count, int(rng.integers(1, 2**63))), (0, 0)
        else:
            play = self._new_play(count, int(rng.integers(2**63)))
            explore = Exploration.draw(rng, count, self._config.opening, self._config.rate_limit)
            actions = _play_out(game, play, boards, explore, rng)
            work = play.children, play.evaluations
        results = final_results(game, boards, count)
        return GenerationGames(actions, results, np.array([time.thread_time() - began, *work], np.float64))

    def _new_play(self, count: int, seed: int) -> ValuePlay | TreePlay:
        """Greedy, or by tree search."""
        assert self._values is not None
        game, simulations = self._spec.batch, self._config.simulations
        if not simulations:
            return ValuePlay(game, [self._values.evaluation(game)])
        return TreePlay(game, self._values.with_policy(game), simulations, count, seed)


def _play_out(
    game: BatchedGame, play: ValuePlay | TreePlay, boards: object, explore: Exploration, rng: np.random.Generator
) -> NDArray[np.int16]:
    """Play all games to their end; returns the actions, int16[B, D]."""
    count = len(explore.rate)

    def choose(turn: int, running: NDArray[np.bool_]) -> NDArray[np.int64]:
        at_random = explore.at_random(turn + 1, 1 + turn % 2, rng)
        return play.choose(boards, np.where(running, 0, -1), at_random, rng.random(count))

    return actions_of(play_in_lockstep(game, boards, count, choose), count)


class GenerationWorker:
    """Plays chunks of games where it is, on another machine maybe."""

    in_threads: ClassVar = True  # kernels and networks release Python's lock

    def __init__(self, config: GenerationsConfig, first: str | None, second: str | None) -> None:
        """`first` and `second`: the files of the generation's networks; None for both: random games."""
        values = None
        if first or second:
            files = Generation(*(Path(file) if file else None for file in (first, second)))
            values = GenerationValues(files, config.backend)
        self._player = GenerationPlayer(config, values)

    def play(self, generation: int, number: int, count: int) -> tuple[int, GenerationGames]:
        """As `GenerationPlayer.play`, with the number of the chunk."""
        return number, self._player.play(generation, number, count)


class GenerationFolder:
    """The games that one generation learns from: games/03/0007.safetensors is there whole or not at all."""

    def __init__(self, path: Path, games: int, chunk: int = CHUNK) -> None:
        self._files = ArrayFolder(path, "delete it, and the same command plays it again", digits=4, tidy=False)
        self.sizes = [min(chunk, games - start) for start in range(0, games, chunk)]
        """How many games each chunk has."""

    def play(self, generation: int, workers: Workers) -> Iterator[int]:
        """Let `GenerationWorker`s play the chunks that are missing; yields how many games there are, at each chunk."""
        make_folder(self._files.path)
        missing = sorted(set(range(len(self.sizes))).difference(self._files.numbers()))
        there = sum(self.sizes) - sum(self.sizes[number] for number in missing)
        yield there
        calls = workers.map("play", [(generation, number, self.sizes[number]) for number in missing])
        for number, games in calls.results():
            self._files.write(number, games._asdict())
            there += self.sizes[number]
            yield there

    def is_complete(self) -> bool:
        """Whether all games are there."""
        return set(range(len(self.sizes))) <= set(self._files.numbers())

    def read(self) -> GenerationGames:
        """All games, chunk after chunk."""
        chunks = [self._files.read(number, self._as_chunk(number)) for number in range(len(self.sizes))]
        longest = max(chunk.actions.shape[1] for chunk in chunks)
        actions = np.full((sum(self.sizes), longest), -1, np.int16)
        start = 0
        for chunk in chunks:
            actions[start : start + len(chunk.actions), : chunk.actions.shape[1]] = chunk.actions
            start += len(chunk.actions)
        work: NDArray[np.float64] = np.sum([chunk.work for chunk in chunks], axis=0)
        return GenerationGames(actions, np.concatenate([chunk.results for chunk in chunks]), work)

    def _as_chunk(self, number: int) -> Callable[[Arrays, dict[str, str]], GenerationGames]:
        def check(found: Arrays, _: Mapping[str, str]) -> GenerationGames:
            chunk = GenerationGames(**found)
            if not len(chunk.actions) == len(chunk.results) == self.sizes[number]:
                raise ValueError(f"it holds {len(chunk.actions)} games")
            return chunk

        return check
