"""The games that generations learn from: random ones, or greedy ones with exploration, in lock-step.

Exploration, as in the Simple-Go lecture: each player in each game draws, half and half, either a number m of 1 to
`opening`, and moves at random up to move m of the game; or a rate of 0 to `rate_limit`, at which each of its moves is
random. Its other moves are those with the best value one ply ahead, or those that tree search finds.

A game is its actions. Games are played and kept in chunks, each with random numbers of its own: whoever plays chunk k,
and whenever, plays the same games.
"""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen.encode.game_spec import GameSpec
from tengen.games.batch import BatchedGame
from tengen.learn.generations_config import GenerationsConfig
from tengen.runs.arrays import load_arrays, save_arrays
from tengen.runs.files import make_folder
from tengen.search.generations import Generation, GenerationValues
from tengen.search.lockstep import TreePlay, ValuePlay, actions_of, final_results, play_at_random, play_in_lockstep
from tengen.workers.calls import WorkerFactory
from tengen.workers.sent_files import SentFile

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

    def __init__(self, config: GenerationsConfig, spec: GameSpec, values: GenerationValues | None) -> None:
        self._config, self._spec, self._values = config, spec, values

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


PlayChunks = Callable[[Sequence[tuple[int, int]]], Generator[tuple[int, GenerationGames]]]
"""Plays chunks, given their numbers and sizes; yields each with its number when it is played."""


def play_in_threads(player: GenerationPlayer, generation: int, workers: int) -> PlayChunks:
    """Several at a time, in threads of this process."""

    def play(chunks: Sequence[tuple[int, int]]) -> Generator[tuple[int, GenerationGames]]:
        with ThreadPoolExecutor(workers, thread_name_prefix="play") as pool:
            calls = {pool.submit(player.play, generation, number, size): number for number, size in chunks}
            try:
                for call in as_completed(calls):
                    yield calls[call], call.result()
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    return play


class GenerationWorker:
    """Plays chunks of games where it is, on another machine maybe."""

    def __init__(self, config: GenerationsConfig, first: str | None, second: str | None) -> None:
        """`first` and `second`: the files of the generation's networks; None for both: random games."""
        values = None
        if first or second:
            files = Generation(*(Path(file) if file else None for file in (first, second)))
            values = GenerationValues(files, config.backend)
        self._player = GenerationPlayer(config, config.spec(), values)

    def play(self, generation: int, number: int, count: int) -> tuple[int, GenerationGames]:
        """As `GenerationPlayer.play`, with the number of the chunk."""
        return number, self._player.play(generation, number, count)


def play_by_workers(
    config: GenerationsConfig, files: Generation | None, generation: int, hosts: WorkerFactory
) -> PlayChunks:
    """By workers of the hosts."""
    sent = [SentFile(file) if file else None for file in files or (None, None)]

    def play(chunks: Sequence[tuple[int, int]]) -> Generator[tuple[int, GenerationGames]]:
        if not chunks:
            return
        with closing(hosts(config.workers, GenerationWorker, lambda _: (config, *sent), 0)) as workers:
            workers.start()
            calls = workers.map("play", [(generation, number, size) for number, size in chunks])
            while calls.unfinished:
                yield from calls.collect(1.0)

    return play


class GamesError(ValueError):
    """Games on the disk that cannot be read."""


class GenerationFolder:
    """The games that one generation learns from, on the disk: chunks/0007.safetensors is there whole or not at all."""

    def __init__(self, path: Path, games: int, chunk: int = CHUNK) -> None:
        self._path = path
        self.sizes = [min(chunk, games - start) for start in range(0, games, chunk)]
        """How many games each chunk has."""

    def play(self, play: "PlayChunks") -> Iterator[int]:
        """Have the chunks that are missing played; yields how many games there are, again and again."""
        make_folder(self._path)
        missing = [number for number in range(len(self.sizes)) if not self._file(number).exists()]
        there = sum(self.sizes) - sum(self.sizes[number] for number in missing)
        yield there
        with closing(play([(number, self.sizes[number]) for number in missing])) as played:
            for number, games in played:
                self._write(number, games)
                there += self.sizes[number]
                yield there

    def is_complete(self) -> bool:
        """Whether all games are there."""
        return all(self._file(number).exists() for number in range(len(self.sizes)))

    def read(self) -> GenerationGames:
        """All games, chunk after chunk."""
        chunks = [self._read(number) for number in range(len(self.sizes))]
        longest = max(chunk.actions.shape[1] for chunk in chunks)
        actions = np.full((sum(self.sizes), longest), -1, np.int16)
        start = 0
        for chunk in chunks:
            actions[start : start + len(chunk.actions), : chunk.actions.shape[1]] = chunk.actions
            start += len(chunk.actions)
        work: NDArray[np.float64] = np.sum([chunk.work for chunk in chunks], axis=0)
        return GenerationGames(actions, np.concatenate([chunk.results for chunk in chunks]), work)

    def delete(self) -> None:
        """Remove the games."""
        for path in self._path.glob("*"):
            path.unlink()
        if self._path.exists():
            self._path.rmdir()

    def _write(self, number: int, games: GenerationGames) -> None:
        save_arrays(self._file(number), games._asdict())

    def _read(self, number: int) -> GenerationGames:
        file = self._file(number)
        try:
            chunk = GenerationGames(**load_arrays(file)[0])
            if not len(chunk.actions) == len(chunk.results) == self.sizes[number]:
                raise ValueError(f"it holds {len(chunk.actions)} games")
        except (OSError, TypeError, ValueError) as error:
            raise GamesError(f"{file} is damaged ({error}): delete it, and the same command plays it again") from None
        return chunk

    def _file(self, number: int) -> Path:
        return self._path / f"{number:04d}.safetensors"
