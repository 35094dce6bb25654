"""Duels: pairs of games with the same opening, each model beginning once, and an honest count."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest

from tengen.arena.statistics import Score
from tengen.encode.game_spec import GameSpec
from tengen.games import go
from tengen.games.go import BLACK, PASS, WHITE
from tengen.games.go.batch import BatchedGo, GoGames
from tengen.games.go.rules import GoOptions
from tengen.learn import duel as duels
from tengen.learn.duel import duel, policy_duel, round_robin
from tengen.learn.zero import learn_zero
from tengen.nets.model_file import ModelCard, save_model
from tengen.nets.network import build_network
from tengen.runs.folder import FolderError
from tengen.search.gumbel import Gumbel, GumbelParameters
from tengen.search.lockstep import PolicyPlayer
from tengen.search.puct import Puct
from tengen.search.rule import SearchRule

from ..search.networks import Opinionated, Seen, Uniform
from ..search.tictactoe import TicTacToe
from .zero_stand_ins import StandInWorkers, toy_config

SPEC = GameSpec(GoOptions(5, "chinese", 0.5), "compact")
both_searches = pytest.mark.parametrize("rule", [Puct, Gumbel])


class Recorder(BatchedGo):
    """Go that remembers all moves of the last games that were played side by side."""

    played: list[list[int]]

    def play(self, games: GoGames, actions: np.ndarray) -> None:
        if not hasattr(self, "played") or len(self.played) != len(actions):
            self.played = [[] for _ in actions]
        for i, action in enumerate(actions):
            if action >= 0:
                self.played[i].append(int(action))
        super().play(games, actions)


class Recorded(GameSpec):
    """A game whose moves are remembered."""

    @cached_property
    def batch(self) -> Recorder:
        return Recorder(self.options)  # type: ignore[arg-type]


class Stubborn(Uniform):
    """A network that wants one order of the points, and to pass only when there is no other move."""

    def __init__(self, game: Seen, upwards: bool) -> None:
        super().__init__(game)
        self.logits = np.arange(game.batch.actions, dtype=np.float32) * (1 if upwards else -1)
        self.logits[-1] = -1000

    def evaluate(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.repeat(self.logits[None], len(planes), axis=0), np.zeros(len(planes), np.float32)


class Counting(Uniform):
    """A network that counts stones: a sensible judge on small boards."""

    def evaluate(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        stones = planes[:, :6].reshape(len(planes), 6, -1).sum(axis=2).astype(np.float32)
        return super().evaluate(planes)[0], np.tanh((stones[:, :3].sum(axis=1) - stones[:, 3:].sum(axis=1)) / 3)


def states_of(actions: list[int], spec: GameSpec) -> list[go.State]:
    states = [spec.game.new(spec.options)]
    for action in actions:
        states.append(states[-1].play(states[-1].move_of(action)))
    return states


def margin_of(state: go.State, spec: GameSpec) -> float:
    """Black's margin, dead stones taken off."""
    batch = BatchedGo(replace(spec.options, limit=1000))  # type: ignore[type-var]
    games = batch.allocate(1)
    batch.load(games, 0, state)
    return float(batch.score(games, np.array([0]))[0][0])


@both_searches
def test_a_model_against_itself_scores_exactly_half(rule: Callable[[], SearchRule]) -> None:
    game = SPEC
    result = duel(SPEC, Opinionated(game), Opinionated(game), games=30, simulations=12, rule=rule, opening_plies=3)
    assert result.games == 30
    assert result.wins == result.losses
    assert result.mean == 0.5


def test_two_models_that_swap_places_swap_their_results() -> None:
    game = SPEC
    one, two = Opinionated(game, seed=1), Opinionated(game, seed=2)
    there = duel(SPEC, one, two, games=20, simulations=8, seed=4)
    back = duel(SPEC, two, one, games=20, simulations=8, seed=4)
    assert (there.wins, there.draws, there.losses) == (back.losses, back.draws, back.wins)


def test_pairs_share_their_opening_and_each_model_begins_once() -> None:
    spec = Recorded(SPEC.options, "compact")
    up, down = Stubborn(spec, upwards=True), Stubborn(spec, upwards=False)
    result = duel(
        spec, up, down, games=12, simulations=1, rule=lambda: Gumbel(GumbelParameters(1)), opening_plies=4, seed=3
    )
    games = spec.batch.played
    assert len(games) == 12
    openings = [tuple(actions[:4]) for actions in games]
    assert openings[::2] == openings[1::2]
    assert len(set(openings)) == 6
    first_model = {BLACK: 0, WHITE: 0}
    points = 0.0
    for number, actions in enumerate(games):
        mine = BLACK if number % 2 == 0 else WHITE
        states = states_of(actions, spec)
        for state, action in zip(states[4:40], actions[4:40]):  # later on games get solved
            legal = [move for move in state.legal_moves() if move != PASS] or [PASS]
            wanted = max(legal) if state.to_play == mine else min(legal)
            assert action == (25 if wanted == PASS else wanted)
            first_model[mine] += state.to_play == mine
        assert states[-1].is_over or states[-1].move_number == 75
        margin = margin_of(states[-1], spec)
        points += (1 + np.sign(margin) * (1 if mine == BLACK else -1)) / 2
    assert min(first_model.values()) > 10
    assert result.mean == pytest.approx(points / 12)


def test_results_are_those_of_the_games() -> None:
    spec = Recorded(GoOptions(3, "tromp-taylor", 0.0), "compact")
    game = spec
    result = duel(spec, Opinionated(game, 1), Opinionated(game, 2), games=40, simulations=4, opening_plies=3, seed=2)
    wins = draws = losses = 0
    for number, actions in enumerate(spec.batch.played):
        margin = states_of(actions, spec)[-1].score(dead=())
        mine = margin if number % 2 == 0 else -margin
        wins, draws, losses = wins + (mine > 0), draws + (mine == 0), losses + (mine < 0)
    assert (result.wins, result.draws, result.losses) == (wins, draws, losses)
    assert min(wins, losses) > 0 and result.games == 40


@both_searches
def test_the_better_model_wins(rule: Callable[[], SearchRule]) -> None:
    game = SPEC
    result = duel(SPEC, Counting(game), Uniform(game), games=40, simulations=24, rule=rule)
    assert result.mean > 0.7
    assert duel(SPEC, Uniform(game), Counting(game), games=40, simulations=24, rule=rule).mean < 0.3


def test_an_odd_number_of_games_is_made_up_to_pairs() -> None:
    game = SPEC
    assert duel(SPEC, Uniform(game), Uniform(game), games=5, simulations=2).games == 6


def test_the_seed_draws_the_openings() -> None:
    specs = [Recorded(SPEC.options, "compact") for _ in range(3)]
    for spec, seed in zip(specs, (1, 1, 2)):
        duel(spec, Uniform(spec), Uniform(spec), games=8, simulations=2, seed=seed)
    first, again, other = (spec.batch.played for spec in specs)
    assert first == again
    assert [actions[:2] for actions in first] != [actions[:2] for actions in other]


def test_openings_that_end_a_game_count_it_all_the_same() -> None:
    """On 2x2 six random moves often contain two passes."""
    spec = Recorded(GoOptions(2, "tromp-taylor", 0.5), "compact")
    game = spec
    result = duel(spec, Uniform(game), Uniform(game), games=30, simulations=2, opening_plies=6, seed=1)
    assert result.games == 30
    assert any(len(actions) < 6 for actions in spec.batch.played)
    assert result.mean == 0.5


def test_another_game_is_played_as_well() -> None:
    """Tic-tac-toe by players who see everything is a draw, whatever two random moves it begins with, or a fair win."""
    game = TicTacToe()
    result = duel(game, Uniform(game), Uniform(game), games=40, simulations=1500, rule=Puct)
    assert result.mean == 0.5
    assert result.draws >= 10


def test_models_are_loaded_from_files(tmp_path: Path) -> None:
    paths = []
    for seed in (1, 2):
        network = build_network("residual", 10, 5, seed=seed, blocks=1, filters=8, value=True)
        paths.append(tmp_path / f"{seed}.safetensors")
        save_model(paths[-1], network, ModelCard.of(network, encoder="compact"))
    assert duel(SPEC, paths[0], paths[0], games=4, simulations=4, backend="openvino").mean == 0.5
    assert duel(SPEC, *paths, games=4, simulations=4, backend="openvino").games == 4


def test_many_games_are_played_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    game = SPEC
    monkeypatch.setattr(duels, "_NODES", 4 * (1 + 3 * 2 * 26))  # room for two pairs
    sizes: list[int] = []
    usual = duels._play_pairs
    monkeypatch.setattr(
        duels,
        "_play_pairs",
        lambda spec, searchers, pairs, *rest: sizes.append(pairs) or usual(spec, searchers, pairs, *rest),
    )
    assert duel(SPEC, Opinionated(game), Opinionated(game), games=10, simulations=2).mean == 0.5
    assert sizes == [2, 2, 1]


class Fixed(Uniform):
    """A policy that wants certain points, the first most of all, if it can have them."""

    def __init__(self, game: Seen, *points: int) -> None:
        super().__init__(game)
        self.logits = np.full(game.batch.actions, -99.0, np.float32)
        self.logits[list(points)] = -30.0 * np.arange(len(points))

    def evaluate(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.repeat(self.logits[None], len(planes), axis=0), np.zeros(len(planes), np.float32)


def test_policies_duel_with_colours_balanced() -> None:
    """Who is captured in the corner loses with both colours; and a policy against itself wins with one only."""
    spec = GameSpec(GoOptions(3, "tromp-taylor", 0.0, limit=4), "compact")  # two moves each, then the board is counted
    hunter, prey = (PolicyPlayer(spec.encoder, Fixed(spec, *points)) for points in ((1, 3), (0, 8)))
    assert policy_duel(spec.options, hunter, prey, games=21) == Score(22, 0, 0)
    assert policy_duel(spec.options, prey, hunter, games=20) == Score(0, 20, 0)
    short, ahead = (GoOptions(3, "tromp-taylor", komi, limit=2) for komi in (0.0, -0.5))  # one stone each
    assert policy_duel(short, hunter, hunter, games=20) == Score(0, 0, 20)
    assert policy_duel(ahead, hunter, hunter, games=20) == Score(10, 10, 0)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    learn_zero(toy_config(iterations=4, positions=40), tmp_path, hosts=StandInWorkers, report=False)
    monkeypatch.setattr(duels, "ProcessWorkers", StandInWorkers)
    return tmp_path


def test_a_sample_of_generations_is_rated_once(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reports: list[tuple[int, int]] = []
    ratings = round_robin(run, 3, 8, on_progress=lambda done, of: reports.append((done, of)))
    assert reports == [(1, 3), (2, 3), (3, 3)]
    assert list(ratings) == [0, 2, 4]
    assert ratings[0].elo == 0 > ratings[2].elo > ratings[4].elo  # the stand-in's first model wins, 6 to 2
    assert (run / "ratings.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((run / "ratings.json").read_text())["duels"][0] == [0, 2, 6, 0, 2]  # wins, draws, losses
    monkeypatch.setattr(duels, "ProcessWorkers", None)  # nothing is left to play
    assert round_robin(run, 3, 8) == ratings
    with pytest.raises(TypeError):
        round_robin(run, 3, 10)  # another contest


def test_a_round_robin_needs_generations(run: Path) -> None:
    with pytest.raises(FolderError, match="two generations at least, and not 1"):
        round_robin(run, 1)
    for path in (run / "models").iterdir():
        path.unlink()
    with pytest.raises(FolderError, match="two generations at least"):
        round_robin(run)
