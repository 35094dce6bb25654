"""The games of policy-gradient learning: played in lock-step, kept on the disk, and read again as positions.

    games/000012.safetensors      the games of update 12: moves, who moved, who was the learner, who won

A file is whole or not there at all. Positions are not stored: they are set up again from the moves when they are
learned from.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen.arena.statistics import Score
from tengen.encode.game_spec import GameSpec
from tengen.learn.duel import load_player, policy_duel
from tengen.runs.arrays import load_arrays, save_arrays
from tengen.runs.files import make_folder, remove_cut_off
from tengen.search.lockstep import PlayedTurns, PolicyPlay, final_results, play_to_end
from tengen.workers.calls import Workers
from tengen.workers.sent_files import SentFile

BOTH = 0
"""As `Experience.learner`: the policy played both sides."""


class Experience(NamedTuple):
    """The G games of an update, of D turns at most."""

    actions: NDArray[np.int16]  # [G, D] -1 after the end of a game
    players: NDArray[np.int8]  # [G, D] who moved: 1 the first player, 2 the second, 0 nobody
    chances: NDArray[np.float32]  # [G, D] how likely each action was to be drawn
    learner: NDArray[np.int8]  # [G] which player the learner was: 1, 2, or BOTH
    winner: NDArray[np.int8]  # [G] 1: the first player, 2: the second, 0: nobody
    opponent: NDArray[np.int64]  # [] the update after which the opponent was the learner

    @property
    def rewards(self) -> NDArray[np.float32]:
        """float32[G, D]: the result of the game for who moved: 1 won, -1 lost, 0 drawn."""
        drawn, won = self.winner[:, None] == 0, self.winner[:, None] == self.players
        return np.where(drawn, 0.0, np.where(won, 1.0, -1.0)).astype(np.float32)

    @property
    def learned(self) -> NDArray[np.bool_]:
        """bool[G, D]: the moves of the learner."""
        mine: NDArray[np.bool_] = (self.players == self.learner[:, None]) | (self.learner[:, None] == BOTH)
        return mine & (self.players > 0)


class ExperienceError(ValueError):
    """A file of games that is damaged."""


class GamesOrder(NamedTuple):
    """Games to be played, in parts by several workers."""

    learner: str
    """The file of the policy that learns."""
    opponent: str | None
    """The file of the policy that it meets; None: itself."""
    games: int
    """An even number; the learner is the first player in every other game."""
    parts: int
    seed: tuple[int, ...]
    komi_spread: float
    temperature: float
    backend: str

    @property
    def sides(self) -> NDArray[np.int8]:
        """int8[G]: which player the learner is."""
        if self.opponent is None:
            return np.full(self.games, BOTH, np.int8)
        return np.tile(np.array([1, 2], np.int8), self.games // 2)


class PolicyWorker:
    """Plays parts of the games of updates and matches; all that a call needs comes with it."""

    def __init__(self, spec: GameSpec) -> None:
        self._spec = spec

    def play(self, order: GamesOrder, number: int) -> tuple[int, PlayedTurns, NDArray[np.int8]]:
        """Part `number` of the games, from 0 on: the number, the turns, and int8[G] who won."""
        game, sides = self._spec.batch, order.sides
        boards = new_boards(self._spec, order.games, order.komi_spread, order.seed)
        part = np.array_split(np.arange(order.games), order.parts)[number]
        players = [load_player(model, order.backend) for model in (order.learner, order.opponent) if model is not None]
        mine = game.allocate(len(part))
        game.copy(boards, part, mine, np.arange(len(part)))
        first, second = (sides[part] == 2).astype(np.int64), (sides[part] == 1).astype(np.int64)
        play = PolicyPlay(game, players, (*order.seed, int(part[0])))
        turns = play_to_end(play, mine, first, second, order.temperature)
        return number, turns, final_results(game, mine, len(part))

    def duel(self, models: tuple[str, str], backend: str, games: int, seed: int) -> Score:
        """So many games of a policy against another, as `policy_duel` plays them."""
        return policy_duel(self._spec.options, *(load_player(path, backend) for path in models), games=games, seed=seed)


def play_games(
    spec: GameSpec,
    learner: Path,
    opponent: Path | None,
    *,
    games: int,
    number: int,
    seed: tuple[int, ...],
    komi_spread: float = 0.0,
    temperature: float = 1.0,
    backend: str = "int8",
    workers: int | Workers = 1,
) -> Experience:
    """Play so many games (rounded up to an even number) of a model against another, or itself if there is none.

    `number` is that of the opponent. The learner is the first player in half of the games. `workers`: how many threads
    of this process, or `PolicyWorker`s elsewhere.
    """
    there = 2 * ((games + 1) // 2)
    files = SentFile(learner), None if opponent is None else SentFile(opponent)
    parts = min(there, workers if isinstance(workers, int) else workers.count)
    order = GamesOrder(*files, there, parts, seed, komi_spread, temperature, backend)
    calls = [(order, part) for part in range(parts)]
    played = sorted(call_all(spec, "play", calls, workers), key=lambda part: int(part[0]))
    most = max(turns.actions.shape[1] for _, turns, _ in played)
    results = np.concatenate([results for _, _, results in played])
    return Experience(
        _stack([turns.actions for _, turns, _ in played], most, -1),
        _stack([turns.players for _, turns, _ in played], most, 0),
        _stack([turns.chances for _, turns, _ in played], most, 1),
        order.sides,
        np.where(results == 0, 0, np.where(results > 0, 1, 2)).astype(np.int8),
        np.array(number),
    )


def call_all(spec: GameSpec, method: str, calls: Sequence[tuple[Any, ...]], workers: int | Workers) -> list[Any]:
    """Results of calls of a `PolicyWorker`, in any order: of threads here, or of workers elsewhere."""
    if isinstance(workers, int):
        here = getattr(PolicyWorker(spec), method)
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(lambda arguments: here(*arguments), calls))
    under_way, results = workers.map(method, calls), list[Any]()
    while under_way.unfinished:
        results += under_way.collect(1.0)
    return results


def new_boards(spec: GameSpec, games: int, komi_spread: float, seed: tuple[int, ...]) -> Any:
    """The start positions of an update's games; the same seed gives the same komi."""
    boards = spec.batch.allocate(games)
    spec.batch.vary(boards, np.arange(games), komi_spread, np.random.default_rng((*seed, 1)))
    return boards


def _stack(parts: list[NDArray[Any]], width: int, filler: int) -> NDArray[Any]:
    """Arrays [G, D] on top of each other, made equally wide."""
    return np.concatenate(
        [np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=filler) for part in parts]
    )


class LearnedPositions(NamedTuple):
    """B positions in which the learner moved."""

    planes: NDArray[np.uint8]  # [B, C, H, W]
    sensible: NDArray[np.bool_]  # [B, A] the actions that could be drawn
    actions: NDArray[np.int64]  # [B] the action drawn
    chances: NDArray[np.float32]  # [B] how likely it was to be drawn
    rewards: NDArray[np.float32]  # [B] the result for who moved
    players: NDArray[np.int8]  # [B] who moved
    lengths: NDArray[np.float32]  # [B] how many moves of the learner the game has


class PositionReader:
    """The positions of an update's games, in any order."""

    def __init__(self, spec: GameSpec, experience: Experience, boards: Any) -> None:
        """`boards`: where the games began, as `new_boards` has them."""
        self._spec, self._experience, self._boards = spec, experience, boards
        self._games, self._turns = np.nonzero(experience.learned)
        self._leaves: Any = None
        self._room = 0

    def __len__(self) -> int:
        return len(self._games)

    def read(self, numbers: NDArray[np.int64]) -> LearnedPositions:
        """The positions of these numbers, int64[B], each from 0 to len(self) - 1."""
        game, count, experience = self._spec.batch, len(numbers), self._experience
        games, turns = self._games[numbers], self._turns[numbers]
        if count > self._room:
            self._leaves, self._room = game.allocate(count), count
        game.follow(self._boards, games, experience.actions[games], turns, self._leaves)
        planes = np.empty((count, *self._spec.shape), np.uint8)
        self._spec.encoder.encode_games(self._leaves, count, planes)
        sensible, over = np.zeros((count, game.actions), np.bool_), np.zeros(count, np.bool_)
        game.judge(self._leaves, count, sensible, over, np.zeros(count, np.float32))
        game.keep_sensible(self._leaves, count, sensible)
        return LearnedPositions(
            planes,
            sensible,
            experience.actions[games, turns].astype(np.int64),
            experience.chances[games, turns],
            experience.rewards[games, turns],
            experience.players[games, turns],
            experience.learned.sum(axis=1).astype(np.float32)[games],
        )

    def planes(self, count: int, rng: np.random.Generator) -> NDArray[np.uint8]:
        """uint8[n, C, H, W]: what the network saw of so many positions, or of all if there are fewer."""
        return self.read(rng.permutation(len(self))[:count]).planes


class GameFolder:
    """The games of a run's newest updates."""

    def __init__(self, path: Path, *, tidy: bool = True) -> None:
        """Those in this folder; whoever writes to it makes it if it is missing, and removes what was cut off."""
        self._path = path
        if tidy:
            make_folder(path)
            remove_cut_off(path)

    def write(self, update: int, experience: Experience, keep: int) -> None:
        """Keep the games of an update, and delete those that are not among so many of the newest."""
        save_arrays(self._file(update), experience._asdict())
        for number in self.updates():
            if number <= update - keep:
                self._file(number).unlink(missing_ok=True)

    def read(self, update: int) -> Experience | None:
        """The games of an update, if they are there."""
        file = self._file(update)
        try:
            found, _ = load_arrays(file)
            experience = Experience(**{name: found[name] for name in Experience._fields})
            games, shape = (len(experience.winner),), experience.actions.shape
            fit = experience.players.shape == experience.chances.shape == shape
            if not (fit and experience.learner.shape == games == shape[:1]):
                raise ValueError("its arrays do not fit each other")
        except FileNotFoundError:
            return None
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise ExperienceError(f"{file} is damaged ({error}): delete it, and its games are played again") from None
        return experience

    def updates(self) -> list[int]:
        """The updates whose games are there, in order."""
        return sorted(int(file.stem) for file in self._path.glob("*.safetensors") if file.stem.isdecimal())

    def _file(self, update: int) -> Path:
        return self._path / f"{update:06d}.safetensors"
