"""Which of two models is better: duels, the generations of a run that are rated by them, and a round robin of these.

In a duel two models play many games at once, in pairs with the same random opening, each model beginning once.
`arena.match` is for any agents, one game at a time. `policy_duel` is the same for policies that play without search.
`Generations` keeps the models of a run:

    models/g0000.safetensors     the network before it has learned anything; g0001 after the first round, and so on
    best.safetensors             the one that plays: the newest, or the last one that passed the gate
    last.safetensors             the newest

A round robin writes down each duel when it is done, so one that was stopped resumes:

    ratings.json    settings, every duel, every rating        ratings.png    the ratings over the generations
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen.arena.statistics import Rating, Score, fit_ratings, rating_against
from tengen.encode.encoder import get_encoder
from tengen.encode.game_spec import GameSpec
from tengen.games.state import Options
from tengen.nets.evaluator import Evaluator, load_evaluator
from tengen.runs.files import write_atomically
from tengen.runs.folder import FolderError, deferred_interrupts, read_metrics
from tengen.search.gumbel import Gumbel
from tengen.search.leaves import NetworkEvaluation
from tengen.search.lockstep import PolicyPlay, PolicyPlayer, batch_for, final_results, play_in_lockstep, play_to_end
from tengen.search.rule import SearchRule
from tengen.search.searcher import Searcher
from tengen.workers.calls import Calls, Workers
from tengen.workers.local import ProcessWorkers
from tengen.workers.sent_files import SentFile

RATINGS_FILE: Final = "ratings.json"
PICTURE_FILE: Final = "ratings.png"
_NODES: Final = 8_000_000  # of all trees of a searcher, 33 bytes each
_STEP_BACK: Final = 4  # past opponents are the last, the 4th last, the 16th last... of the models that have a rating


def duel(
    spec: GameSpec,
    first: Path | Evaluator,
    second: Path | Evaluator,
    *,
    games: int = 100,
    simulations: int = 32,
    rule: Callable[[], SearchRule] = Gumbel,
    opening_plies: int = 2,
    seed: int = 1,
    backend: str = "int8",
) -> Score:
    """Play `games` games (rounded up to pairs) of the first model against the second, in parts if they are many."""
    evaluators = [load_evaluator(model, backend)[0] if isinstance(model, Path) else model for model in (first, second)]
    game, pairs, rng = spec.batch, (games + 1) // 2, np.random.default_rng(seed)
    nodes = 1 + (simulations + 1) * 2 * game.branching
    at_once = max(1, min(pairs, _NODES // (2 * nodes)))
    result = Score(0, 0)
    for begun in range(0, pairs, at_once):
        count = min(at_once, pairs - begun)
        searchers = [
            Searcher(
                game,
                NetworkEvaluation(game, spec.encoder, evaluator),
                rule(),
                trees=2 * count,
                nodes=nodes,
                seed=seed,
            )
            for evaluator in evaluators
        ]
        result += _play_pairs(spec, searchers, count, simulations, opening_plies, rng)
    return result


def _play_pairs(
    spec: GameSpec,
    searchers: list[Searcher],
    pairs: int,
    simulations: int,
    opening_plies: int,
    rng: np.random.Generator,
) -> Score:
    """Two games from each of so many random openings, all at once."""
    game, count = spec.batch, 2 * pairs
    boards = game.allocate(count)
    legal, over = np.zeros((count, game.actions), np.bool_), np.zeros(count, np.bool_)
    results = np.zeros(count, np.float32)
    begins = np.tile([1, 2], pairs)  # as which player the first model plays

    def choose(turn: int, _: NDArray[np.bool_]) -> NDArray[np.int64]:
        game.judge(boards, count, legal, over, results)
        if turn < opening_plies:
            drawn = (legal[::2] * rng.random((pairs, game.actions))).argmax(axis=1)
            return np.where(over, -1, np.repeat(drawn, 2))
        players = game.to_play(boards)
        actions = np.full(count, -1, np.int64)
        for searcher, mine in zip(searchers, (players == begins, players != begins), strict=True):
            index = np.flatnonzero(mine & ~over)
            if len(index):
                actions[index] = searcher.search(boards, index, simulations).chosen
        for searcher in searchers:
            searcher.advance(actions)
        return actions

    for _ in play_in_lockstep(game, boards, count, choose):
        pass
    return Score.of(final_results(game, boards, count) * np.where(begins == 1, 1, -1))


def policy_duel(
    options: Options,
    first: Path | PolicyPlayer,
    second: Path | PolicyPlayer,
    *,
    games: int = 400,
    temperature: float = 1.0,
    seed: int = 1,
    backend: str = "fastest",
) -> Score:
    """Play `games` games (rounded up to an even number) of one policy against another, all at once and without search.

    Each has the first move in half of them. With temperature 0 all games of a half are the same.
    """
    players = [load_player(model, backend) if isinstance(model, Path) else model for model in (first, second)]
    game, half = batch_for(options, [player.encoder for player in players]), (games + 1) // 2
    boards, begins = game.allocate(2 * half), np.repeat([0, 1], half)
    play_to_end(PolicyPlay(game, players, seed), boards, begins, 1 - begins, temperature)
    return Score.of(final_results(game, boards, 2 * half) * np.where(begins == 0, 1, -1))


def load_player(model: str | Path, backend: str = "fastest") -> PolicyPlayer:
    """A model's policy, ready to play."""
    evaluator, card = load_evaluator(model, backend)
    return PolicyPlayer(get_encoder(card.encoder), evaluator)


class Pairing(NamedTuple):
    """Two generations that meet."""

    first: int
    second: int
    models: tuple[str, str]
    """Their files."""
    backends: tuple[str, str]
    """What runs them."""


@dataclass
class Generations:
    """The models of a run, as in its metrics."""

    run: Path
    backend: str
    champion: int = 0
    elo: dict[int, float] = field(default_factory=lambda: {0: 0.0})
    """Of the generations that have a rating."""

    def recall(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Take in the lines of metrics of completed rounds."""
        for line in lines:
            if "generation" in line:
                self.champion = line["champion"]
                if "elo" in line:
                    self.elo[line["generation"]] = line["elo"]

    def backend_of(self, generation: int) -> str:
        """What runs it: the first one comes before there are positions to calibrate 8 bits on."""
        return "openvino" if generation == 0 and self.backend == "int8" else self.backend

    def path(self, generation: int) -> Path:
        """Its model file."""
        return self.run / "models" / f"g{generation:04d}.safetensors"

    def opponents(self, generation: int, count: int) -> list[int]:
        """Up to so many past generations to be rated against."""
        rated = [each for each in self.elo if each < generation]
        places = [min(len(rated), _STEP_BACK**i) for i in range(count)]
        return list(dict.fromkeys(rated[-place] for place in places if place))

    def begin_duels(
        self, workers: Workers, generation: int, games: Mapping[int, int], simulations: int, seed: int
    ) -> Calls:
        """Let a generation meet others in so many games each, shared out among the workers."""
        calls = []
        for opponent, count in games.items():
            pairing = self.pairing(generation, opponent)
            pairs, parts = (count + 1) // 2, min(workers.count, (count + 1) // 2)
            for part in range(parts):
                share = 2 * (pairs // parts + (part < pairs % parts))
                calls.append((pairing, share, simulations, (seed, generation, opponent, part)))
        return workers.map("duel", calls)

    def pairing(self, first: int, second: int) -> Pairing:
        """Two generations with what runs them."""
        models = SentFile(self.path(first)), SentFile(self.path(second))
        return Pairing(first, second, models, (self.backend_of(first), self.backend_of(second)))

    def rate(self, generation: int, results: Mapping[int, Score]) -> float:
        """Give a generation its rating by its duels with rated ones."""
        known = [(self.elo[opponent], result) for opponent, result in results.items() if opponent in self.elo]
        self.elo[generation] = round(rating_against(known), 1)
        return self.elo[generation]

    def publish(self, generation: int, promoted: bool) -> None:
        """Make it the last, and the best if it was promoted."""
        model = self.path(generation).read_bytes()
        write_atomically(self.run / "last.safetensors", model)
        if promoted:
            self.champion = generation
            write_atomically(self.run / "best.safetensors", model)


def round_robin(
    run: Path,
    generations: int = 8,
    games: int = 40,
    simulations: int = 0,
    workers: int = 0,
    on_progress: Callable[[int, int], None] = lambda done, wanted: None,
) -> dict[int, Rating]:
    """Rate so many generations of a run, spread evenly from the first to the last, by duels of every two of them.

    Duels that were played before count. `simulations`: per move; 0: as in the run. `on_progress` takes the number of
    duels done and the number of all. The ratings are in the run's directory, too.
    """
    from tengen.learn.game_report import draw_ratings
    from tengen.learn.selfplay import ZeroWorker
    from tengen.learn.zero_settings import ZeroConfig

    config, models = ZeroConfig.read(run), Generations(run, "")
    models.recall(read_metrics(run))
    there = sorted(int(path.stem[1:]) for path in (run / "models").glob("g*.safetensors"))
    if min(len(there), generations) < 2:
        why = f"{run} has {len(there)}: let it learn for longer" if len(there) < 2 else f"not {generations}"
        raise FolderError(f"a round robin needs two generations at least, and {why}")
    places = np.unique(np.linspace(0, len(there) - 1, min(generations, len(there))).round().astype(int))
    chosen = [there[place] for place in places]
    settings = {"games": games, "simulations": simulations or config.duel_simulations or config.simulations}
    duels, pairs = _played_duels(run, settings), list(combinations(chosen, 2))
    if lacking := [pair for pair in pairs if pair not in duels]:
        spec, self_play = config.game_spec(), config.self_play()
        models.backend = config.backend
        hosts = ProcessWorkers(workers, ZeroWorker, lambda number: (spec, self_play, number))
        with closing(hosts), deferred_interrupts() as interrupted:
            hosts.start()
            count = settings["simulations"]
            calls = hosts.map("duel", [(models.pairing(*pair), games, count, (count, *pair)) for pair in lacking])
            while calls.unfinished:
                for pairing, result in calls.collect(0.2):
                    duels[pairing.first, pairing.second] = result
                    _write_ratings(run, settings, duels, {})
                on_progress(len(pairs) - calls.unfinished, len(pairs))
                if interrupted():
                    raise KeyboardInterrupt
    ratings = fit_ratings({pair: duels[pair] for pair in pairs}, chosen)
    _write_ratings(run, settings, duels, ratings)
    write_atomically(run / PICTURE_FILE, draw_ratings(ratings, models.elo))
    return ratings


_Duels = dict[tuple[int, int], Score]
"""By the two generations, the lower one first; the result is the lower one's."""


def _played_duels(run: Path, settings: Mapping[str, int]) -> _Duels:
    """The duels that were played before with these settings."""
    try:
        there = json.loads((run / RATINGS_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    if any(there[name] != value for name, value in settings.items()):
        return {}
    return {(one, other): Score(wins, losses, draws) for one, other, wins, draws, losses in there["duels"]}


def _write_ratings(run: Path, settings: Mapping[str, int], duels: _Duels, ratings: Mapping[int, Rating]) -> None:
    found: dict[str, Any] = dict(settings)
    found["ratings"] = [{"generation": each, **asdict(rating)} for each, rating in ratings.items()]
    found["duels"] = [[*pair, each.wins, each.draws, each.losses] for pair, each in sorted(duels.items())]
    write_atomically(run / RATINGS_FILE, (json.dumps(found, indent=1) + "\n").encode())
