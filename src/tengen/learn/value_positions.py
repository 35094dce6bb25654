"""Positions for value learning on the disk: a folder of chunks, each of some thousand games, whole or not there at all.

    config.toml                    which policies played, on which board, at which komi
    chunks/000007.safetensors      the games that chunk 7 began and kept

A position is its game's moves up to it, two bytes each: 200,000 games of 9x9 take about 20 MB. Chunk k has its own
random numbers, so a run that was stopped goes on with the chunks that are missing. A hash of the whole game
decides whether it is a test game, for ever, however many are added.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tengen.data.dataset import Selection, Split, is_test
from tengen.games.go.positions import GameMoves
from tengen.learn.value_config import PositionSettings
from tengen.learn.value_games import ValueGames, ValuePlayer
from tengen.nets.bundled import find_model
from tengen.runs.arrays import load_arrays, save_arrays
from tengen.runs.files import make_folder
from tengen.runs.folder import RunDirectory, read_settings
from tengen.workers.calls import Hosts, Workers
from tengen.workers.local import LocalWorkers
from tengen.workers.sent_files import SentFile

CHUNK: Final = 2048
"""Games that a chunk begins."""
_CHUNKS: Final = "chunks"
_WAIT: Final = 0.1  # seconds for which one worker is listened to


class PositionsError(ValueError):
    """A folder that holds no positions, too few, or damaged ones."""


@dataclass(frozen=True)
class PlayProgress:
    """How far playing is."""

    games: int
    wanted: int
    speed: float
    """Games per second since this start."""


@dataclass(frozen=True)
class ValuePositions:
    """Positions of many games, one of each, and how the games ended."""

    settings: PositionSettings
    games: GameMoves
    test: NDArray[np.bool_]  # [G] which games are test games

    @classmethod
    def open(cls, folder: str | Path, games: int = 0) -> "ValuePositions":
        """Those in a folder: the first `games`, or all with 0."""
        folder = Path(folder)
        try:
            settings = PositionSettings(**read_settings(folder))  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise PositionsError(f"{folder} holds no positions: `tengen learn value` plays games for them") from None
        chunks = [_read(path) for _, path in sorted(_chunks(folder).items())]
        counts = [len(chunk.komi) for chunk in chunks]
        if sum(counts) < max(1, games):
            raise PositionsError(
                f"{folder} holds {sum(counts)} games, and {max(1, games)} are wanted: give fewer --games, "
                "or --policy to play more"
            )
        joined = _joined(chunks, games or sum(counts))
        count = len(joined.komi)
        moves = GameMoves(
            joined.moves,
            joined.offsets,
            np.zeros(0, np.uint16),
            np.zeros(count + 1, np.int64),
            joined.komi,
            np.sign(joined.margin).astype(np.int8),
            np.ones(count, np.bool_),
            joined.margin + joined.komi,
        )
        return cls(settings, moves, is_test(joined.digest))

    def select(self, split: Split) -> Selection:
        """The games to learn from, or those to test on."""
        chosen = np.ones(len(self.test), np.bool_) if split == "all" else self.test == (split == "test")
        rows = np.flatnonzero(chosen).astype(np.int64)
        if not len(rows):
            raise PositionsError(f"none of {len(self.test)} games is a {split} game: play more --games")
        offsets = self.games.offsets
        return Selection(rows, self.games, offsets[rows + 1] - offsets[rows], self.settings.size)


def play_positions(
    settings: PositionSettings,
    folder: Path,
    games: int,
    *,
    workers: int = 1,
    chunk: int = CHUNK,
    on_progress: Callable[[PlayProgress], None] = lambda _: None,
    hosts: Hosts | None = None,
) -> None:
    """Play until the folder holds so many games. It can be stopped at any time; the same call goes on.

    With `hosts` their workers play, as many as there are, on a cluster maybe.
    """
    run = RunDirectory(folder, asdict(settings), usual={"temperature": 1.0}, kind="positions")
    try:
        make_folder(folder / _CHUNKS)
        there = sum(len(_read(path).komi) for path in _chunks(folder).values())
        if there >= games:
            return
        began, first = monotonic(), there
        with _played(settings, folder, workers, chunk, hosts) as chunks:
            for number, played in chunks:
                save_arrays(_file(folder, number), played._asdict())
                there += len(played.komi)
                on_progress(PlayProgress(there, games, (there - first) / max(1e-9, monotonic() - began)))
                if there >= games:
                    break
    finally:
        run.close()


@contextmanager
def _played(
    settings: PositionSettings, folder: Path, workers: int, chunk: int, hosts: Hosts | None
) -> Iterator[Iterator[tuple[int, ValueGames]]]:
    """Chunks without end, those first that the folder lacks; in this process, or as other ones have them ready."""
    if workers == 1 and hosts is None:
        player = ValuePlayer(settings)
        yield (player.play(number, chunk) for number in _missing(folder))
        return
    with closing(_pool(hosts, workers, settings)) as pool:
        pool.start()
        yield _collected(pool, _missing(folder), chunk)


def _pool(hosts: Hosts | None, workers: int, settings: PositionSettings) -> Workers:
    models = SentFile(find_model(settings.policy)), SentFile(find_model(settings.rl))
    make = LocalWorkers if hosts is None else hosts
    return make(0 if hosts else workers, player_of, lambda _: (settings, *models), 0)


def player_of(settings: PositionSettings, policy: str, rl: str) -> ValuePlayer:
    """A worker that plays the games of these settings with the models of these files."""
    return ValuePlayer(replace(settings, policy=policy, rl=rl))


def _collected(pool: Workers, numbers: Iterator[int], chunk: int) -> Iterator[tuple[int, ValueGames]]:
    """Chunks in the order in which they are ready."""
    under_way = [pool.map("play", [(next(numbers), chunk)]) for _ in range(pool.count)]
    while True:
        for i in range(len(under_way)):
            for found in under_way[i].collect(_WAIT):
                under_way[i] = pool.map("play", [(next(numbers), chunk)])
                yield found


def _missing(folder: Path) -> Iterator[int]:
    there, number = set(_chunks(folder)), 0
    while True:
        if number not in there:
            yield number
        number += 1


def _chunks(folder: Path) -> dict[int, Path]:
    return {int(path.stem): path for path in (folder / _CHUNKS).glob("[0-9]*.safetensors")}


def _file(folder: Path, number: int) -> Path:
    return folder / _CHUNKS / f"{number:06d}.safetensors"


def _read(path: Path) -> ValueGames:
    try:
        return ValueGames(**load_arrays(path)[0])
    except (OSError, TypeError, ValueError) as error:
        raise PositionsError(f"{path} is damaged ({error}): delete it, and the same command plays it again") from None


def _joined(chunks: list[ValueGames], games: int) -> ValueGames:
    """The first games of all chunks, end to end."""
    lengths = np.concatenate([np.diff(chunk.offsets) for chunk in chunks])[:games]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return ValueGames(
        np.concatenate([chunk.moves for chunk in chunks])[: offsets[-1]],
        offsets,
        *(np.concatenate([getattr(chunk, name) for chunk in chunks])[:games] for name in ("komi", "margin", "digest")),
    )
