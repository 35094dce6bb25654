"""Cross tables of generations: every generation as the first player against every one as the second, random included.

    crosstable-k3.5.json    settings and results; the pairs in it are not played again
    crosstable-k3.5.csv     the first player's score in each pair, and averages
    crosstable-k3.5.png     the same as a heat map

Files are replaced whole after each row, so that a table can be stopped at any time and is resumed. A pair has random
numbers of its own: its result is the same whatever else is played.

Generations play greedily, in lock-step (`play_pairs`). That is deterministic, so that every game begins with random
moves (two in the Simple-Go lecture), the same ones for a pair and a seed, whatever else is played.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tengen.agents.training_conditions import suited_options
from tengen.arena.statistics import Score
from tengen.arena.tournament_report import as_csv
from tengen.games.batch import BatchedGame
from tengen.games.game import get_game, open_batch
from tengen.games.state import Options
from tengen.runs.files import make_folder, write_atomically
from tengen.search.generations import GenerationValues, find_generation, generation_numbers
from tengen.search.leaves import LeafEvaluation
from tengen.search.lockstep import ValuePlay, final_results, play_in_lockstep

RANDOM: Final = 0
"""The number of the generation that moves at random."""


@dataclass(frozen=True)
class TableSettings:
    """What decides the results of a table."""

    games: int = 1000
    """Games of each pair."""
    random_moves: int = 2
    """Random moves that each game begins with."""
    seed: int = 1
    komi: float = float("nan")
    """NaN: that of the run."""

    def __post_init__(self) -> None:
        if self.games < 1:
            raise ValueError(f"{self.games} games of a pair are not possible: give 1 or more")
        if self.random_moves < 0:
            raise ValueError(f"{self.random_moves} random moves are not possible: give 0 or more")


@dataclass
class GenerationTable:
    """The results so far, by the generations of the first player and of the second."""

    settings: TableSettings
    options: Options
    generations: list[int]
    pairs: dict[tuple[int, int], Score] = field(default_factory=dict)
    """The first player's."""

    def score(self, first: int, second: int) -> float:
        """The first player's points per game; NaN where it is not known."""
        result = self.pairs.get((first, second))
        return result.mean if result else float("nan")

    def first_average(self, first: int) -> float:
        """The mean score of a generation as the first player against all."""
        return sum(self.score(first, second) for second in self.generations) / len(self.generations)

    def second_average(self, second: int) -> float:
        """The mean score of a generation as the second player against all."""
        return 1.0 - sum(self.score(first, second) for first in self.generations) / len(self.generations)

    def names(self) -> tuple[list[str], list[str]]:
        """`B0`, `B1`, ... and `W0`, `W1`, ..."""
        first, second = (player[0] for player in get_game(self.options.game).players)
        return tuple([f"{letter}{number}" for number in self.generations] for letter in (first, second))  # type: ignore[return-value]

    def rows(self) -> list[list[object]]:
        """The table as text, with a heading, an average behind each row and one below each column."""
        firsts, seconds = self.names()
        rows: list[list[object]] = [["", *seconds, "average"]]
        for number, name in zip(self.generations, firsts):
            scores = [self.score(number, other) for other in self.generations]
            rows.append([name, *(_text(score) for score in scores), _text(self.first_average(number), 3)])
        rows.append(["average", *(_text(self.second_average(number), 3) for number in self.generations), ""])
        return rows


def run_options(run: Path, komi: float) -> Options:
    """The game that the generations of a run have learned, at another komi if that is a number."""
    card = find_generation(run).card
    recipe: dict[str, Any] = card.training.get("recipe", {})
    asked: dict[str, Any] = {**suited_options(card)}
    if card.game == "go":
        asked |= {"limit": recipe.get("limit", 0)} | ({} if komi != komi else {"komi": komi})
    return get_game(card.game).options.of(asked)


def play_table(
    run: Path,
    folder: Path,
    settings: TableSettings,
    *,
    workers: int = 1,
    on_row: Callable[[GenerationTable], None] = lambda _: None,
) -> GenerationTable:
    """Play what is missing of a run's table, and write it to `folder` after each row."""
    options = run_options(run, settings.komi)
    numbers = generation_numbers(run)
    table = GenerationTable(
        settings, options, [RANDOM, *numbers], _read(_file(folder, options, "json"), settings, options)
    )
    wanted = {
        first: [(first, second) for second in table.generations if (first, second) not in table.pairs]
        for first in table.generations
    }
    wanted = {first: pairs for first, pairs in wanted.items() if pairs}
    make_folder(folder)
    if wanted:
        loaded = {number: GenerationValues(find_generation(run, number), streams=workers) for number in numbers}
        batch = open_batch(options, max(values.encoder.past for values in loaded.values()))

        def play(pairs: list[tuple[int, int]]) -> list[Score]:
            players = {number: loaded[number].evaluation(batch) for number in {*sum(pairs, ())} - {RANDOM}}
            return play_pairs(
                batch,
                {RANDOM: None, **players},
                pairs,
                games=settings.games,
                random_moves=settings.random_moves,
                seed=settings.seed,
            )

        with ThreadPoolExecutor(workers, thread_name_prefix="table") as pool:
            calls = {pool.submit(play, pairs): pairs for pairs in wanted.values()}
            try:
                for call in as_completed(calls):
                    table.pairs |= dict(zip(calls[call], call.result()))
                    _write(folder, table)
                    on_row(table)
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
    _write(folder, table, picture=True)
    return table


def _write(folder: Path, table: GenerationTable, picture: bool = False) -> None:
    pairs = [[*pair, result.wins, result.draws, result.losses] for pair, result in sorted(table.pairs.items())]
    columns = ["first", "second", "wins", "draws", "losses"]
    found = {"settings": _decisive(table.settings, table.options), "columns": columns, "pairs": pairs}
    write_atomically(_file(folder, table.options, "json"), (json.dumps(found) + "\n").encode())
    write_atomically(_file(folder, table.options, "csv"), as_csv(table.rows()))
    if picture:
        from tengen.arena.pictures import draw_generations

        write_atomically(_file(folder, table.options, "png"), draw_generations(table))


def _read(path: Path, settings: TableSettings, options: Options) -> dict[tuple[int, int], Score]:
    """The pairs of a table that was begun before."""
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text())
        pairs = {(first, second): Score(wins, losses, draws) for first, second, wins, draws, losses in found["pairs"]}
        there = found["settings"]
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise ValueError(f"{path} is damaged ({error}): delete it to play the table again") from None
    for name, value in _decisive(settings, options).items():
        if there.get(name) != value:
            raise ValueError(
                f"{path} holds a table with {name} {there.get(name)} where you ask for {value}: choose another --out"
            )
    return pairs


def _decisive(settings: TableSettings, options: Options) -> dict[str, Any]:
    """What decides the results; the komi is among the options."""
    return {name: value for name, value in asdict(settings).items() if name != "komi"} | options.settings()


def _file(folder: Path, options: Options, suffix: str) -> Path:
    komi = f"-k{options.komi:g}" if hasattr(options, "komi") else ""
    return folder / f"crosstable{komi}.{suffix}"


def _text(score: float, digits: int = 2) -> str:
    return "" if score != score else f"{score:.{digits}f}"


def play_pairs(
    game: BatchedGame,
    players: Mapping[int, LeafEvaluation | None],
    pairs: Sequence[tuple[int, int]],
    *,
    games: int = 1000,
    random_moves: int = 2,
    seed: int = 1,
) -> list[Score]:
    """Play `games` games of each pair, all at once; a pair is the first player's generation and the second's, and its
    score is the first player's.

    `players`: the generations by number; None moves at random.
    """
    numbers = list(players)
    play = ValuePlay(game, [players[number] for number in numbers])
    count = games * len(pairs)
    boards = game.allocate(count)
    generations = [np.repeat([numbers.index(pair[side]) for pair in pairs], games) for side in (0, 1)]
    sources = [np.random.default_rng((seed, *pair)) for pair in pairs]

    def choose(turn: int, running: NDArray[np.bool_]) -> NDArray[np.int64]:
        uniform = np.concatenate([source.random(games) for source in sources])
        movers = np.where(running, generations[turn % 2], -1)
        return play.choose(boards, movers, np.full(count, turn < random_moves), uniform)

    for _ in play_in_lockstep(game, boards, count, choose):
        pass
    return [Score.of(row) for row in final_results(game, boards, count).reshape(len(pairs), games)]
