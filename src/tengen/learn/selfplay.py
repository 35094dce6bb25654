"""Self-play: many games at once by one network against itself, and what it learns from them.

A worker is a plain object that a process hosts. Games under way go on from call to call
and from model to model, so no game is cut short and short games are not over-represented.

    worker = SelfPlayWorker(GameSpec(GoOptions(size=5, komi=3.5), "compact"), SelfPlaySettings(), seed=1)
    worker.load(Path("model.safetensors"))
    data = worker.play(positions=10_000)
"""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen.encode.game_spec import GameSpec
from tengen.learn.selfplay_settings import SelfPlaySettings
from tengen.nets.evaluator import Evaluator, load_evaluator
from tengen.search.fast_model import load_fast_policy
from tengen.search.leaves import LeafEvaluation, MixedEvaluation, NetworkEvaluation
from tengen.search.rollouts import rollouts_of
from tengen.search.rule import SearchResult
from tengen.search.searcher import Searcher

_CACHE_BYTES = 64 << 20


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
        self._tables = [_GameTable(spec) for _ in range(settings.slots)]
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
        self.statistics = replace(
            self.statistics,
            games=self.statistics.games + len(finished),
            positions=self.statistics.positions + len(data.value),
        )
        return data

    def step(self, simulations: int | None = None) -> None:
        """Play one move in every game; the games that this ends come with the next `play`."""
        if self._searcher is None:
            raise ValueError("a worker needs a model: load one first")
        started, counts = time.perf_counter(), self._searcher.counts
        before = replace(counts)
        self._move(self._searcher, min(simulations or self.settings.simulations, self.settings.simulations))
        self.statistics = replace(
            self.statistics,
            simulations=self.statistics.simulations + counts.simulations - before.simulations,
            evaluations=self.statistics.evaluations + counts.evaluations - before.evaluations,
            seconds=self.statistics.seconds + time.perf_counter() - started,
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
        plies = np.array([len(self._tables[i].actions) for i in index])
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
            table.add(int(chosen[i]), planes[i], half[i], legal[i], float(values[i]), int(players[i]))

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
                    self.statistics = replace(
                        self.statistics,
                        resignations_checked=self.statistics.resignations_checked + 1,
                        resignations_wrong=self.statistics.resignations_wrong + (winner != 3 - table.would_resign),
                    )
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
            self._tables[i] = _GameTable(self.spec)
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


class _GameTable:
    """What is written down of a game under way."""

    def __init__(self, spec: GameSpec) -> None:
        self.opening: list[int] = []
        self.actions: list[int] = []
        self.would_resign = 0
        self._points = spec.batch.height * spec.batch.width
        self._planes: list[NDArray[np.uint8]] = []
        self._policies: list[NDArray[np.float16]] = []
        self._legal: list[NDArray[np.uint8]] = []
        self._values: list[float] = []
        self._players: list[int] = []

    def add(
        self,
        action: int,
        planes: NDArray[np.uint8],
        policy: NDArray[np.float16],
        legal: NDArray[np.uint8],
        value: float,
        player: int,
    ) -> None:
        """Write down a position, what the search found and the action played."""
        self.actions.append(action)
        self._planes.append(planes)
        self._policies.append(policy)
        self._legal.append(legal)
        self._values.append(value)
        self._players.append(player)

    def is_hopeless(self, threshold: float) -> bool:
        """Whether one player has just found its position lost, and the other its own won."""
        return (
            len(self._values) >= 2
            and abs(self._values[-1]) > -threshold
            and (abs(self._values[-2]) > -threshold and self._values[-1] * self._values[-2] < 0)
        )

    def hopeless_player(self) -> int:
        """Who is losing by the last position's value."""
        player = self._players[-1]
        return player if self._values[-1] < 0 else 3 - player

    def note_resignation(self) -> None:
        """Remember the first player who would have resigned."""
        if not self.would_resign:
            self.would_resign = self.hopeless_player()

    def finished(
        self, winner: int, resigned: bool, margin: float, owners: NDArray[np.int8], counted: bool
    ) -> dict[str, Any]:
        """The game's arrays; margin and owners are the first player's, and known only if they are counted."""
        players = np.array(self._players, np.int8)
        sign = np.where(players == 1, 1, -1)
        value = np.zeros(len(players), np.float32) if winner == 0 else np.where(players == winner, 1.0, -1.0)
        return {
            "planes": np.stack(self._planes),
            "policy": np.stack(self._policies),
            "legal": np.stack(self._legal),
            "value": value.astype(np.float32),
            "root_value": np.array(self._values, np.float32),
            "ownership": (sign[:, None] * owners[None, :] * counted).astype(np.int8),
            "score": (sign * margin * counted).astype(np.float32),
            "moves": np.array(self.opening + self.actions, np.int16),
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
