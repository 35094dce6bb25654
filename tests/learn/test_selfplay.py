"""Self-play: what it hands out is what happened in its games, move by move."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tengen.encode.game_spec import GameSpec
from tengen.games import go
from tengen.games.game import get_game
from tengen.games.go import BLACK, WHITE
from tengen.games.go.batch import BatchedGo
from tengen.games.go.rules import GoOptions
from tengen.learn.duel import Generations
from tengen.learn.selfplay import SelfPlayData, SelfPlayWorker, ZeroWorker
from tengen.learn.zero import ZeroTrainer
from tengen.learn.zero_settings import SelfPlaySettings

from ..search.networks import Opinionated, Uniform
from ..search.tictactoe import START, TicTacToe, is_over, minimax, played
from .zero_stand_ins import toy_config

SPEC = GameSpec(GoOptions(4, "chinese", 0.0), "compact")


def worker_for(spec: GameSpec = SPEC, seed: int = 1, network: type = Opinionated, **settings: Any) -> SelfPlayWorker:
    """A worker with a few games at once and a network without sense."""
    settings = {"simulations": 8, "slots": 6, "temperature_plies": 5} | settings
    worker = SelfPlayWorker(spec, SelfPlaySettings(**settings), seed)
    worker.use(network(spec))
    return worker


def actions_of(data: SelfPlayData, game: int) -> list[int]:
    return data.moves[data.offsets[game] : data.offsets[game + 1]].tolist()


def replay(data: SelfPlayData, game: int, spec: GameSpec) -> tuple[list[go.State], go.State]:
    """The states of a game's recorded positions, and its end; random opening moves are not recorded."""
    actions, recorded = actions_of(data, game), int(np.sum(data.game == game))
    state, states = spec.game.new(spec.options), []
    for ply, action in enumerate(actions):
        if ply >= len(actions) - recorded:
            states.append(state)
        state = state.play(state.move_of(action))
    return states, state


def counted(state: go.State, spec: GameSpec) -> tuple[float, np.ndarray]:
    """Black's margin and the owner of every point, dead stones taken off where the rules do so."""
    batch = BatchedGo(replace(spec.options, limit=1000))  # type: ignore[type-var]
    games = batch.allocate(1)
    batch.load(games, 0, state)
    margins, owners = batch.score(games, np.array([0]))
    return float(margins[0]), owners[0]


def assert_consistent(data: SelfPlayData, spec: GameSpec, random_plies: int, resigns: bool = False) -> None:
    """Play all games again, slowly, and compare everything."""
    actions, limit = spec.batch.actions, spec.batch.limit
    assert data.offsets[0] == 0 and data.offsets[-1] == len(data.moves)
    assert len(data.winner) == len(data.resigned) == len(data.offsets) - 1
    assert sorted(set(data.game.tolist())) == list(range(len(data.winner)))
    assert (np.diff(data.game) >= 0).all()
    legal = np.unpackbits(data.legal, axis=1)
    assert not legal[:, actions:].any()
    for game in range(len(data.winner)):
        rows = np.flatnonzero(data.game == game)
        states, end = replay(data, game, spec)
        assert 0 <= len(actions_of(data, game)) - len(rows) <= random_plies
        assert np.array_equal(data.planes[rows], spec.encoder.encode(states))
        for row, state in zip(rows, states):
            expected = {state.action_of(move) for move in state.legal_moves()}
            assert set(np.flatnonzero(legal[row]).tolist()) == expected
        players = np.array([state.to_play for state in states])
        sign = np.where(players == BLACK, 1, -1)
        if data.resigned[game]:
            assert resigns and not end.is_over
            assert data.winner[game] in (BLACK, WHITE)
            assert data.counted[game] or not (data.score[rows].any() or data.ownership[rows].any())
        else:
            assert end.is_over or end.move_number == limit
            margin, owner = counted(end, spec)
            assert data.winner[game] == (BLACK if margin > 0 else WHITE if margin < 0 else 0)
            assert np.array_equal(data.score[rows], sign * margin)
            assert np.array_equal(data.ownership[rows], sign[:, None] * owner)
        won = np.where(players == data.winner[game], 1, -1)
        assert np.array_equal(data.value[rows], np.zeros(len(rows)) if data.winner[game] == 0 else won)
    assert (np.abs(data.root_value) <= 1).all()
    total = data.policy.astype(np.float32).sum(axis=1)
    assert (np.abs(total - 1) < 3e-3).all() | (total == 0).any()
    assert ((np.abs(total - 1) < 3e-3) | (total == 0)).all()
    assert not data.policy[legal[:, :actions] == 0].any()


# -------------------------------------------------------------------------------------------- its data


@pytest.mark.parametrize(
    ("spec", "settings"),
    [
        (SPEC, {}),
        (SPEC, {"random_plies": 6}),
        (SPEC, {"search": "puct"}),
        (SPEC, {"search": "puct", "keep_trees": True, "simulations": 20}),
        (SPEC, {"keep_trees": True, "considered": 4}),
        (SPEC, {"full_share": 0.4, "fast_simulations": 2}),
        (GameSpec(GoOptions(5, "tromp-taylor", 2.5, limit=12), "compact"), {"random_plies": 3}),
        (GameSpec(GoOptions(3, "simple-go", 0.5), "compact"), {"random_plies": 0}),
        (GameSpec(GoOptions(3, "aga", 0.5), "zero"), {}),
    ],
    ids=lambda value: f"{value.options.size} {value.options.rules}" if isinstance(value, GameSpec) else str(value),
)
def test_data_is_what_happened_in_the_games(spec: GameSpec, settings: dict[str, Any]) -> None:
    worker = worker_for(spec, **settings)
    for _ in range(2):  # games under way go on in the next call, and end there
        data = worker.play(200)
        assert len(data.value) >= 200
        assert_consistent(data, spec, worker.settings.random_plies)


def test_a_new_network_takes_over_the_games_under_way() -> None:
    worker = worker_for()
    worker.play(60)
    worker.use(Uniform(SPEC))
    assert_consistent(worker.play(100), SPEC, 2)


def test_the_same_seed_gives_the_same_games_and_another_one_others() -> None:
    first, second, third = worker_for(seed=5).play(150), worker_for(seed=5).play(150), worker_for(seed=6).play(150)
    for one, two in zip(first, second, strict=True):
        assert np.array_equal(one, two)
    assert first.moves.tolist() != third.moves.tolist()


def test_without_any_noise_all_games_are_the_same() -> None:
    quiet = {"search": "puct", "noise": 0.0, "temperature_plies": 0, "random_plies": 0}
    data = worker_for(**quiet).play(100)
    assert len({tuple(actions_of(data, game)) for game in range(len(data.winner))}) == 1
    data = worker_for(**(quiet | {"temperature_plies": 4})).play(100)
    assert len({tuple(actions_of(data, game)) for game in range(len(data.winner))}) > 1


def test_openings_are_random_and_of_every_length() -> None:
    data = worker_for(random_plies=3, slots=20, network=Uniform).play(600)
    opening = [len(actions_of(data, game)) - int(np.sum(data.game == game)) for game in range(len(data.winner))]
    assert set(opening) == {0, 1, 2, 3}
    first = {actions_of(data, game)[0] for game, plies in enumerate(opening) if plies}
    assert len(first) > 8


@pytest.mark.parametrize("temperature", [1e-4, 0.01])
@pytest.mark.parametrize("search", ["gumbel", "puct"])
def test_a_low_temperature_plays_the_likeliest_move(search: str, temperature: float) -> None:
    worker = worker_for(
        search=search, prune=False, temperature=temperature, temperature_plies=1000, random_plies=0, simulations=9
    )
    data = worker.play(100)
    moves = np.concatenate([actions_of(data, game) for game in range(len(data.winner))])
    policy = data.policy.astype(np.float64)
    chosen = policy[np.arange(len(moves)), moves]
    assert (chosen >= policy.max(axis=1) * 0.95).all()


def test_the_first_moves_are_drawn_as_the_search_shares_them_out() -> None:
    """Games of one move: over many of them the moves come as often as the policy says."""
    spec = GameSpec(GoOptions(4, "chinese", 0.0, limit=1), "compact")
    worker = worker_for(spec, slots=500, search="puct", noise=0.0, prune=False, simulations=40, random_plies=0)
    data = worker.play(4000)
    assert len({row.tobytes() for row in data.policy}) == 1
    assert len(data.moves) == len(data.value) == len(data.winner)
    drawn = np.bincount(data.moves, minlength=17) / len(data.moves)
    assert drawn == pytest.approx(data.policy[0].astype(float), abs=4 * 0.5 / len(data.moves) ** 0.5)


def test_playout_cap_randomisation_learns_from_full_searches_only() -> None:
    for settings in ({}, {"search": "puct", "noise": 0.0}):
        worker = worker_for(full_share=0.25, simulations=16, fast_simulations=2, slots=20, **settings)
        data = worker.play(1500)
        learned = data.policy.astype(np.float32).sum(axis=1) > 0
        assert 0.18 < learned.mean() < 0.32
        per_move = worker.statistics.simulations / (len(data.moves) + 20 * 20)  # games under way are not counted
        assert per_move < 0.25 * 16 + 0.75 * 2 + 1


def test_fewer_simulations_can_be_asked_for_but_not_more() -> None:
    worker = worker_for(random_plies=0)
    worker.play(50, simulations=2)
    few = worker.statistics.simulations
    assert few % (2 * worker.settings.slots) == 0
    plies = few // (2 * worker.settings.slots)
    assert plies * worker.settings.slots >= 50
    other = worker_for(random_plies=0)
    other.play(50, simulations=100)
    assert other.statistics.simulations % (8 * worker.settings.slots) == 0


def test_statistics_add_up() -> None:
    worker = worker_for()
    data = [worker.play(70) for _ in range(3)]
    statistics = worker.statistics
    assert statistics.games == sum(len(part.winner) for part in data)
    assert statistics.positions == sum(len(part.value) for part in data)
    assert 0 < statistics.evaluations <= statistics.simulations + statistics.positions + 6 * 60
    assert statistics.seconds > 0
    assert statistics.resignations_checked == 0


def test_single_steps_lead_to_the_same_games() -> None:
    stepped, played_on = worker_for(seed=9), worker_for(seed=9)
    for _ in range(7):
        stepped.step()
    assert stepped.statistics.simulations == 7 * 6 * 8
    for one, two in zip(stepped.play(150), played_on.play(150), strict=True):
        assert np.array_equal(one, two)


def test_a_worker_without_a_model_says_so() -> None:
    with pytest.raises(ValueError, match="needs a model"):
        SelfPlayWorker(SPEC, SelfPlaySettings(slots=2), 1).play(1)


# ----------------------------------------------------------------------------------------- resignation


class Certain(Uniform):
    """A network that is sure of Black's win whatever happens."""

    def evaluate(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        black_to_play = planes[:, 8, 0, 0] > 0
        return super().evaluate(planes)[0], np.where(black_to_play, 0.999, -0.999).astype(np.float32)


CERTAIN = GameSpec(GoOptions(5, "chinese", 3.5), "compact")


def test_players_resign_when_both_agree_and_the_other_wins() -> None:
    worker = worker_for(CERTAIN, network=Certain, resign=-0.9, resign_keep=0.0, simulations=4, random_plies=0)
    data = worker.play(40)
    assert data.resigned.all()
    assert (data.winner == BLACK).all()
    assert np.array_equal(np.diff(data.offsets), np.full(len(data.winner), 2)), "the first two plies say it all"
    assert_consistent(data, CERTAIN, 0, resigns=True)
    assert worker.statistics.resignations_checked == 0


def test_some_games_are_played_on_to_see_who_would_have_resigned_in_error() -> None:
    worker = worker_for(CERTAIN, network=Certain, resign=-0.9, resign_keep=1.0, simulations=4, slots=10)
    data = worker.play(2000)
    assert not data.resigned.any()
    assert_consistent(data, CERTAIN, 2)
    games, white = len(data.winner), int(np.sum(data.winner == WHITE))
    assert white > 0
    # But for games that two passes end before both players have said what they think, all would have been resigned.
    assert games - 3 <= worker.statistics.resignations_checked <= games
    assert white - 3 <= worker.statistics.resignations_wrong <= white


def test_a_share_of_the_games_is_kept() -> None:
    worker = worker_for(CERTAIN, network=Certain, resign=-0.9, resign_keep=0.3, simulations=2, slots=64)
    data = worker.play(6000)
    assert_consistent(data, CERTAIN, 2, resigns=True)
    hopeless = worker.statistics.resignations_checked + int(data.resigned.sum())
    assert len(data.winner) - 5 <= hopeless <= len(data.winner), "but for games that two passes end at once"
    kept = len(data.winner) - data.resigned.sum()
    # Games that resign are over at once and begin again, so most of the finished ones are those.
    assert 0 < kept < 0.45 * len(data.winner)


class Unsure(Certain):
    """A network that gives Black a good chance, no more."""

    def evaluate(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        logits, values = super().evaluate(planes)
        return logits, values * 0.5


def test_nobody_resigns_a_game_that_may_still_be_won() -> None:
    data = worker_for(
        GameSpec(GoOptions(5, "chinese", 3.5, limit=8), "compact"),
        network=Unsure,
        resign=-0.9,
        resign_keep=0.0,
        simulations=2,
    ).play(60)
    assert not data.resigned.any()


# ---------------------------------------------------------------------------------------- other komis


def test_the_komi_of_games_is_drawn_and_all_that_is_learned_follows_it() -> None:
    spec = GameSpec(GoOptions(4, "tromp-taylor", 0.5), "compact-komi")
    data = worker_for(spec, slots=16, komi_spread=3.0, network=Uniform, simulations=4).play(900)
    komis = []
    for game in range(len(data.winner)):
        rows = np.flatnonzero(data.game == game)
        states, end = replay(data, game, spec)
        sign = 1 if states[0].to_play == BLACK else -1
        komi = end.with_komi(0.0).score(dead=()) - sign * float(data.score[rows[0]])
        komis.append(komi)
        assert -2.5 <= komi <= 3.5 and 2 * komi == int(2 * komi)
        assert np.array_equal(data.planes[rows], spec.encoder.encode([state.with_komi(komi) for state in states]))
        margin = end.with_komi(komi).score(dead=())
        assert data.winner[game] == (BLACK if margin > 0 else WHITE if margin < 0 else 0)
    assert len(set(komis)) >= 10
    assert min(komis) <= -1.5 and max(komis) >= 2.5
    assert (data.winner == 0).any(), "whole points can be drawn"


def test_games_have_the_komi_of_the_options_where_nothing_is_said() -> None:
    worker = worker_for(GameSpec(GoOptions(4, "chinese", 2.5), "compact-komi"))
    worker.play(60)
    assert set(worker._games.komi.tolist()) == {2.5}


# -------------------------------------------------------------------------------------- another game


def test_a_game_without_points_has_no_owners_and_no_score() -> None:
    """Tic-tac-toe in the place of Go: the worker knows nothing of either."""
    settings = SelfPlaySettings(simulations=12, slots=8, temperature_plies=3)
    worker = SelfPlayWorker(TicTacToe(), settings, seed=1)
    worker.use(Uniform(TicTacToe()))
    data = worker.play(300)
    assert data.ownership.shape == (len(data.value), 0)
    assert not data.score.any()
    lost_by_error = 0
    for game in range(len(data.winner)):
        rows = np.flatnonzero(data.game == game)
        actions = actions_of(data, game)
        board, boards = START, []
        for action in actions:
            assert not is_over(board)
            boards.append(board)
            board = played(board, action)
        assert is_over(board)
        player = 1 + len(actions) % 2
        assert data.winner[game] == (3 - player if minimax(board) == -1 else 0)
        for row, before in zip(rows, boards[len(actions) - len(rows) :]):
            mover = 1 + sum(map(bool, before)) % 2
            own = np.array(before).reshape(3, 3) == mover
            assert np.array_equal(data.planes[row, 0], own)
            assert data.value[row] == {0: 0, mover: 1, 3 - mover: -1}[int(data.winner[game])]
            empty = [square for square in range(9) if before[square] == 0]
            assert np.flatnonzero(np.unpackbits(data.legal[row])).tolist() == empty
        lost_by_error += data.winner[game] != 0
    assert 0 < lost_by_error < len(data.winner), "it plays neither perfectly nor like a fool"


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"search": "minimax"}, "no search is called 'minimax'"),
        ({"simulations": 0}, "simulations is 0"),
        ({"slots": 0}, "slots is 0"),
        ({"full_share": 1.5}, "full_share is 1.5"),
        ({"temperature": -1.0}, "temperature is -1.0"),
        ({"resign": 0.5}, "resign is 0.5"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        SelfPlaySettings(**settings)


def test_rollouts_can_take_part_in_the_values_of_the_search() -> None:
    """With 30 points for White on 16 points every rollout is lost for Black, which this network cannot know."""
    spec = GameSpec(GoOptions(4, "chinese", 30.0), "compact")
    for share in (0.25, 1.0):
        data = worker_for(spec, network=Uniform, rollouts=share).play(30)
        assert_consistent(data, spec, random_plies=2)
        seen = np.abs(data.root_value)
        assert (np.sign(data.root_value) == data.value).all() and (seen >= share - 1e-6).all()
        assert share == 1.0 or (seen < 1).any()
    assert not worker_for(spec, network=Uniform).play(30).root_value[:6].all()


def test_rollouts_are_the_games_own_playouts_outside_of_go() -> None:
    spec = GameSpec(get_game("tictactoe").options(), "tictactoe")
    data = worker_for(spec, network=Uniform, rollouts=0.5).play(30)
    assert (np.abs(data.root_value) <= 1).all() and data.root_value.any()


def test_a_worker_plays_and_duels(tmp_path: Path) -> None:
    config = toy_config()
    generations = Generations(tmp_path, "openvino")
    for number in (0, 1):
        trainer = ZeroTrainer(toy_config(seed=number), config.game_spec())
        trainer.export_as(generations.path(number), None)
    worker = ZeroWorker(config.game_spec(), config.self_play(), seed=1)
    played = worker.play(str(generations.path(0)), 0, "openvino", 50, 2)
    assert played.generation == 0
    assert played.work.positions == len(played.positions.value) >= 50
    assert played.work.games == len(played.games.winner)
    again = worker.play(str(generations.path(1)), 1, "openvino", 20, 4)
    assert again.work.positions == len(again.positions.value) < 50 + len(played.positions.value)
    pairing, result = worker.duel(generations.pairing(1, 0), 6, 2, (1, 2, 3))
    assert (pairing.first, pairing.second, result.games) == (1, 0, 6)
