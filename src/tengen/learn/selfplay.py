"""Self-play: many games at once of a network against itself, and what it learns from them.

`SelfPlayWorker` plays; games under way continue from call to call and from model to model, so no game is cut short and
short games are not over-represented. `ZeroWorker` is the same for a process of this machine or a Ray cluster: a call
carries all that it needs (which model, how many positions), so any worker can take it. `SelfPlayRound` shares out the
positions of a round among workers, in units of a sixteenth of it or so, and takes in what they have played.

    worker = SelfPlayWorker(GameSpec(GoOptions(size=5, komi=3.5), "compact"), SelfPlaySettings(), seed=1)
    worker.load(Path("model.safetensors"))
    data = worker.play(positions=10_000)
"""

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tengen._machine import has_exact_bytes
from tengen.arena.statistics import Score
from tengen.encode.game_spec import GameSpec
from tengen.learn.duel import Pairing, duel
from tengen.learn.replay import ChunkFacts, ChunkFolder, Packed, PlayedGames, ReplayMemory, pack
from tengen.learn.zero_settings import SelfPlaySettings as SelfPlaySettings
from tengen.nets.evaluator import Evaluator, load_evaluator
from tengen.nets.registry import describe_network
from tengen.search.fast_policy import load_fast_policy
from tengen.search.leaves import LeafEvaluation, MixedEvaluation, NetworkEvaluation
from tengen.search.rollouts import rollouts_of
from tengen.search.rule import SearchResult
from tengen.search.searcher import Searcher
from tengen.workers.calls import Workers
from tengen.workers.sent_files import SentFile

_CACHE_BYTES: Final = 64 << 20  # of what a network found in positions
_EVALUATORS: Final = 4  # that a worker keeps
_UNITS: Final = 8  # of a round, for each worker
_CHUNK_SECONDS: Final = 20.0


class SelfPlayData(NamedTuple):
    """P positions of G finished games, to learn from."""

    planes: NDArray[np.uint8]  # [P, C, H, W]
    policy: NDArray[np.float16]  # [P, A] what the search thinks of each action; all 0: nothing to be learned of it
    legal: NDArray[np.uint8]  # [P, ceil(A / 8)] the legal actions, as `np.packbits` packs them
    value: NDArray[np.float32]  # [P] the game's result for the player to move: 1, 0 or -1
    root_value: NDArray[np.float32]  # [P] what the search expected
    ownership: NDArray[np.int8]  # [P, H * W] 1 where a point became the player's, -1 where it did not; [P, 0] in chess
    score: NDArray[np.float32]  # [P] by how many points the player won; 0 in chess
    game: NDArray[np.int32]  # [P] which game
    moves: NDArray[np.int16]  # [T] the actions of all games
    offsets: NDArray[np.int64]  # [G + 1] where each game's begin
    winner: NDArray[np.int8]  # [G] 1: who began, 2: the other, 0: nobody
    resigned: NDArray[np.bool_]  # [G]
    counted: NDArray[np.bool_]  # [G] whether ownership and score are known: at the end, or clear where one resigned


@dataclass(frozen=True)
class SelfPlayStatistics:
    """What a worker has done since it was made."""

    games: int = 0
    positions: int = 0
    simulations: int = 0
    evaluations: int = 0
    seconds: float = 0.0
    resignations_checked: int = 0
    """Games played on in which a player would have resigned."""
    resignations_wrong: int = 0
    """Of those, the ones that this player did not lose."""

    def __add__(self, other: "SelfPlayStatistics") -> Self:
        return replace(self, **{name: mine + getattr(other, name) for name, mine in vars(self).items()})

    def __sub__(self, other: "SelfPlayStatistics") -> Self:
        return replace(self, **{name: mine - getattr(other, name) for name, mine in vars(self).items()})


class SelfPlayWorker:
    """Games of a network against itself."""

    def __init__(self, spec: GameSpec, settings: SelfPlaySettings, seed: int) -> None:
        self.spec, self.settings = spec, settings
        self.statistics = SelfPlayStatistics()
        self._rng = np.random.default_rng(seed)
        self._game = spec.batch
        self._searcher: Searcher | None = None
        self._all = np.arange(settings.slots)
        self._games = self._game.allocate(settings.slots)
        self._legal = np.zeros((settings.slots, self._game.actions), np.bool_)
        self._over = np.zeros(settings.slots, np.bool_)
        self._results = np.zeros(settings.slots, np.float32)
        self._tables = [_GameTable() for _ in range(settings.slots)]
        self._resigns = np.zeros(settings.slots, np.bool_)  # whether resignation counts in this game
        self._finished: list[dict[str, Any]] = []
        self._begin(self._all)

    def load(self, model: Path, backend: str = "int8") -> None:
        """Play on with this model."""
        self.use(load_evaluator(model, backend)[0])

    def use(self, evaluator: Evaluator) -> None:
        """Play on with this evaluator."""
        settings, game = self.settings, self._game
        most = max(settings.simulations, settings.fast_simulations)
        cache = _CACHE_BYTES // (4 * game.actions)
        evaluation: LeafEvaluation = NetworkEvaluation(game, self.spec.encoder, evaluator, cache)
        if settings.rollouts:
            fast = load_fast_policy(size=game.height) if game.options.game == "go" else None
            rollouts = rollouts_of(game, fast, seed=int(self._rng.integers(2**63)))
            evaluation = MixedEvaluation(evaluation, rollouts, settings.rollouts)
        self._searcher = Searcher(
            game,
            evaluation,
            settings.rule(),
            trees=settings.slots,
            nodes=1 + (most + 1) * game.branching * (2 if settings.keep_trees else 1),
            seed=int(self._rng.integers(2**63)),
        )

    def play(self, positions: int, simulations: int | None = None) -> SelfPlayData:
        """Play on until so many positions of finished games are there; `simulations` takes the settings' place."""
        while sum(len(game["value"]) for game in self._finished) < positions:
            self.step(simulations)
        finished, self._finished = self._finished, []
        data = _join(finished)
        self.statistics += SelfPlayStatistics(games=len(finished), positions=len(data.value))
        return data

    def step(self, simulations: int | None = None) -> None:
        """Play one move in every game; the games that this ends come with the next `play`."""
        if self._searcher is None:
            raise ValueError("a worker needs a model: load one first")
        began, counts = time.perf_counter(), self._searcher.counts
        before = replace(counts)
        self._move(self._searcher, min(simulations or self.settings.simulations, self.settings.simulations))
        self.statistics += SelfPlayStatistics(
            simulations=counts.simulations - before.simulations,
            evaluations=counts.evaluations - before.evaluations,
            seconds=time.perf_counter() - began,
        )

    def _move(self, searcher: Searcher, simulations: int) -> None:
        """Search, record and play in every game, and begin those anew that are over."""
        settings, game = self.settings, self._game
        full = self._rng.random(settings.slots) < settings.full_share
        chosen, values = np.zeros(settings.slots, np.int64), np.zeros(settings.slots, np.float32)
        policies = np.zeros((settings.slots, game.actions), np.float32)
        for index, count, learned in (
            (self._all[full], simulations, True),
            (self._all[~full], min(simulations, settings.fast_simulations), False),
        ):
            if len(index):
                result = searcher.search(self._games, index, count, explore=1.0 if learned else 0.0)
                values[index] = result.value
                chosen[index] = self._choose(index, result)
                if learned:
                    policies[index] = result.target
        self._record(chosen, policies, values)
        game.play(self._games, chosen)
        if settings.keep_trees:
            searcher.advance(chosen)
        else:
            searcher.forget(self._all)
        game.judge(self._games, settings.slots, self._legal, self._over, self._results)
        ended = np.flatnonzero(self._over | self._resignations())
        if len(ended):
            self._finish(ended)
            self._begin(ended)
            searcher.forget(ended)

    def _choose(self, index: NDArray[np.int64], result: SearchResult) -> NDArray[np.int64]:
        """The search's choice, or in the opening one drawn from its policy."""
        chosen = result.chosen.copy()
        plies = np.array([len(self._tables[i].turns) for i in index])
        drawn = np.flatnonzero(plies < self.settings.temperature_plies)
        if len(drawn) and self.settings.temperature > 0:
            shares = result.policy[drawn].astype(np.float64)
            weights = (shares / shares.max(axis=1, keepdims=True)) ** (1.0 / self.settings.temperature)
            totals = np.cumsum(weights, axis=1)
            chosen[drawn] = (totals > self._rng.random((len(drawn), 1)) * totals[:, -1:]).argmax(axis=1)
        return chosen

    def _record(self, chosen: NDArray[np.int64], policies: NDArray[np.float32], values: NDArray[np.float32]) -> None:
        game = self._game
        planes = np.empty((len(chosen), *self.spec.shape), np.uint8)
        self.spec.encoder.encode_games(self._games, len(chosen), planes)
        legal = np.packbits(self._legal, axis=1)
        players = game.to_play(self._games)
        half = policies.astype(np.float16)
        for i, table in enumerate(self._tables):
            turn = _Turn(int(chosen[i]), planes[i], half[i], legal[i], float(values[i]), int(players[i]))
            table.turns.append(turn)

    def _resignations(self) -> NDArray[np.bool_]:
        """bool[slots]: the games that a player gives up now."""
        if self.settings.resign <= -1:
            return np.zeros(self.settings.slots, np.bool_)
        gives_up = np.array([table.is_hopeless(self.settings.resign) for table in self._tables])
        for i in np.flatnonzero(gives_up & ~self._resigns):
            self._tables[i].note_resignation()
        return gives_up & self._resigns

    def _finish(self, ended: NDArray[np.int64]) -> None:
        """Put the games that are over with the finished ones."""
        game = self._game
        margins, owners = game.score(self._games, ended)
        clear = np.ones(len(ended), np.bool_)
        resigned = ~self._over[ended]
        if resigned.any():
            margins[resigned], owners[resigned], clear[resigned] = game.estimate(self._games, ended[resigned])
        players = game.to_play(self._games)
        for k, i in enumerate(ended):
            table = self._tables[i]
            if self._over[i]:
                result = float(self._results[i]) * (1 if players[i] == 1 else -1)
                if self.spec.game.territory:  # counted as a match counts it, dead stones taken off
                    result = float(margins[k])
                winner = 0 if result == 0 else 1 if result > 0 else 2
                if table.would_resign:
                    wrong = winner != 3 - table.would_resign
                    self.statistics += SelfPlayStatistics(resignations_checked=1, resignations_wrong=int(wrong))
            else:
                winner = 3 - table.hopeless_player()
                clear[k] &= margins[k] > 0 if winner == 1 else margins[k] < 0
            known = float(margins[k]), owners[k], bool(clear[k])
            self._finished.append(table.finished(winner, bool(resigned[k]), *known))

    def _begin(self, index: NDArray[np.int64]) -> None:
        """Start new games in these slots, each with a few random moves."""
        game, count = self._game, self.settings.slots
        game.restart(self._games, index)
        game.vary(self._games, index, self.settings.komi_spread, self._rng)
        plies = np.zeros(count, np.int64)
        plies[index] = self._rng.integers(0, self.settings.random_plies + 1, len(index))
        for i in index:
            self._tables[i] = _GameTable()
        for ply in range(self.settings.random_plies):
            game.judge(self._games, count, self._legal, self._over, self._results)
            weights = self._legal * self._rng.random(self._legal.shape)
            actions = np.where((plies > ply) & ~self._over, weights.argmax(axis=1), -1)
            game.play(self._games, actions)
            for i in np.flatnonzero(actions >= 0):
                self._tables[i].opening.append(int(actions[i]))
        game.judge(self._games, count, self._legal, self._over, self._results)
        over = index[self._over[index]]  # random moves may end a game before it has begun
        if len(over):
            self._begin(over)
        self._resigns[index] = self._rng.random(len(index)) >= self.settings.resign_keep


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
        return Played(pack(data), PlayedGames.of(data), self._worker.statistics - before, generation)

    def duel(self, pairing: Pairing, games: int, simulations: int, seed: tuple[int, ...]) -> tuple[Pairing, Score]:
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
        """A model ready to run; those that have not been used lately are dropped."""
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


@dataclass
class SelfPlayRound:
    """A round under way: what it is to play, by whom, and what has come in so far."""

    iteration: int
    wanted: int
    """How many positions."""
    model: Path
    generation: int
    """Of the model."""
    backend: str
    simulations: int
    workers: Workers
    memory: ReplayMemory
    chunks: ChunkFolder
    positions: int = field(init=False)
    """How many positions of the round there are."""
    work: SelfPlayStatistics = field(default_factory=SelfPlayStatistics, init=False)
    """What the workers have done in this round since it began or was resumed."""
    seconds: float = field(default=0.0, init=False)
    """How long that took, until the last result."""

    def __post_init__(self) -> None:
        """Ask the workers for the positions that the round still lacks."""
        self._began = self._written = time.monotonic()
        self._waiting: list[Played] = []
        self.positions = sum(facts.positions for facts in self.chunks.facts if facts.iteration == self.iteration)
        lacking = max(0, self.wanted - self.positions)
        units = min(lacking, _UNITS * self.workers.count)
        each = -(-lacking // units) if units else 0
        call = (SentFile(self.model), self.generation, self.backend, each, self.simulations)
        self._calls = self.workers.map("play", [call] * units)

    @property
    def is_complete(self) -> bool:
        """Whether nothing more is to come."""
        return self._calls.unfinished == 0

    def take_in(self, now: float, wait: float = 0.0) -> None:
        """Take in what the workers have played, waiting so long for it; `now` is the run's time in seconds."""
        for played in self._calls.collect(wait):
            self._waiting.append(played)
            self.positions += len(played.positions.value)
            self.work += played.work
            self.seconds = time.monotonic() - self._began
        if self.positions >= self.wanted:  # games end when they end, so units bring a little more than asked
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
        packed = Packed.join([played.positions for played in self._waiting])
        games = PlayedGames.join([played.games for played in self._waiting])
        newest = self.chunks.facts[-1] if self.chunks.facts else None
        facts = ChunkFacts(
            first=newest.end if newest else 0,
            positions=len(packed.value),
            iteration=self.iteration,
            generation=self.generation,
            games=(newest.games if newest else 0) + len(games.winner),
            simulations=(newest.simulations if newest else 0) + sum(each.work.simulations for each in self._waiting),
            seconds=round(now, 1),
        )
        self.chunks.write(packed, games, facts)
        self.memory.add(packed, facts.first)
        self._waiting = []

    def speeds(self) -> dict[str, float]:
        """What the workers do per second, all together."""
        names = ("games", "positions", "simulations", "evaluations")
        return {f"{name}_per_second": getattr(self.work, name) / max(1e-9, self.seconds) for name in names}


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


class _Turn(NamedTuple):
    """A position of a game under way, what the search found there and the action played."""

    action: int
    planes: NDArray[np.uint8]
    policy: NDArray[np.float16]
    legal: NDArray[np.uint8]
    value: float
    player: int


class _GameTable:
    """What is recorded of a game under way."""

    def __init__(self) -> None:
        self.opening: list[int] = []
        self.turns: list[_Turn] = []
        self.would_resign = 0

    def is_hopeless(self, threshold: float) -> bool:
        """Whether one player has just found its position lost, and the other its own won."""
        if len(self.turns) < 2:
            return False
        before, last = self.turns[-2].value, self.turns[-1].value
        return abs(last) > -threshold and abs(before) > -threshold and last * before < 0

    def hopeless_player(self) -> int:
        """The player that is losing by the last position's value."""
        player = self.turns[-1].player
        return player if self.turns[-1].value < 0 else 3 - player

    def note_resignation(self) -> None:
        """Remember the first player that would have resigned."""
        if not self.would_resign:
            self.would_resign = self.hopeless_player()

    def finished(
        self, winner: int, resigned: bool, margin: float, owners: NDArray[np.int8], counted: bool
    ) -> dict[str, Any]:
        """The game's arrays; margin and owners are the first player's, and known only if they are counted."""
        actions, planes, policies, legal, values, numbers = zip(*self.turns)
        players = np.array(numbers, np.int8)
        sign = np.where(players == 1, 1, -1)
        value = np.zeros(len(players), np.float32) if winner == 0 else np.where(players == winner, 1.0, -1.0)
        return {
            "planes": np.stack(planes),
            "policy": np.stack(policies),
            "legal": np.stack(legal),
            "value": value.astype(np.float32),
            "root_value": np.array(values, np.float32),
            "ownership": (sign[:, None] * owners[None, :] * counted).astype(np.int8),
            "score": (sign * margin * counted).astype(np.float32),
            "moves": np.array([*self.opening, *actions], np.int16),
            "winner": winner,
            "resigned": resigned,
            "counted": counted,
        }


def _join(games: list[dict[str, Any]]) -> SelfPlayData:
    """The arrays of all games end to end."""
    joined = {
        name: np.concatenate([game[name] for game in games])
        for name in ("planes", "policy", "legal", "value", "root_value", "ownership", "score", "moves")
    }
    lengths = [len(game["value"]) for game in games]
    return SelfPlayData(
        **joined,
        game=np.repeat(np.arange(len(games), dtype=np.int32), lengths),
        offsets=np.cumsum([0, *(len(game["moves"]) for game in games)], dtype=np.int64),
        winner=np.array([game["winner"] for game in games], np.int8),
        resigned=np.array([game["resigned"] for game in games], np.bool_),
        counted=np.array([game["counted"] for game in games], np.bool_),
    )
