"""Value learning from end to end at toy size: one position a game, who won it, training that learns and resumes."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from typer.testing import CliRunner

from tengen.cli.main import app
from tengen.encode.go import get_go_encoder
from tengen.games.go.batch import BatchedGo
from tengen.games.go.positions import MOVE_MASK, WHITE_BIT
from tengen.games.go.rules import GoOptions
from tengen.learn.loader import PositionLoader
from tengen.learn.settings import PositionSettings, ValueConfig
from tengen.learn.value import (
    ValueGames,
    ValuePlayer,
    ValuePositions,
    learn_value,
    play_positions,
    position_settings,
    resolve,
)
from tengen.nets.evaluator import load_evaluator
from tengen.nets.model_file import ModelCard, is_calibrated, read_card, save_model
from tengen.nets.network import build_network
from tengen.runs.folder import FolderError, read_metrics
from tengen.runs.progress import RunProgress

SIZE, LAST = 5, 8
VALUE = "alphago-value:layers=2,filters=8,hidden=16"
BOTH = "residual:blocks=1,filters=8,head_filters=8,value=yes,value_hidden=8"


@pytest.fixture(scope="session")
def policy(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A policy for 5x5 that sees the komi, and has learned nothing."""
    path = tmp_path_factory.mktemp("models") / "policy.safetensors"
    network = build_network(
        "residual", 25, SIZE, seed=1, blocks=1, filters=8, head_filters=8, value=True, value_hidden=8
    )
    save_model(path, network, ModelCard.of(network, encoder="compact-komi"))
    return str(path)


@pytest.fixture(scope="session")
def settings(policy: str) -> PositionSettings:
    return PositionSettings(policy, policy, SIZE, "chinese", 0.5, 2.0, LAST, 1)


@pytest.fixture(scope="session")
def games(settings: PositionSettings) -> ValueGames:
    return ValuePlayer(settings).play(0, 2000)[1]


@pytest.fixture(scope="session")
def folder(settings: PositionSettings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("positions") / "games"
    play_positions(settings, path, 1500, chunk=800)
    return path


def make_config(folder: Path, **changes: Any) -> ValueConfig:
    """A run of 40 steps with 4 validations and a checkpoint every 3 steps."""
    usual: dict[str, Any] = {"data": str(folder), "games": 0, "network": VALUE, "encoder": "compact-komi"}
    usual |= {"batch": 32, "positions": 1280, "epoch": 320, "validate": 256, "checkpoint": 3, "bf16": False}
    return ValueConfig(**(usual | changes))


def actions_of(games: ValueGames, number: int) -> list[int]:
    codes = games.moves[games.offsets[number] : games.offsets[number + 1]]
    assert [bool(code & WHITE_BIT) for code in codes] == [bool(ply % 2) for ply in range(len(codes))]
    return [int(code & MOVE_MASK) for code in codes]


def test_the_positions_are_spread_evenly_over_the_moves(games: ValueGames) -> None:
    """U is uniform: the counts are within four standard deviations of each other's mean."""
    counts = np.bincount(np.diff(games.offsets) - 1, minlength=LAST + 1)
    assert counts[0] == 0 and len(counts) == LAST + 1
    expected = len(games.komi) / LAST
    assert (np.abs(counts[1:] - expected) < 4 * expected**0.5).all()
    assert len(games.komi) > 1900  # few games end so early


def test_every_game_gives_one_position_of_its_own(games: ValueGames) -> None:
    assert len(games.digest) == len(games.komi) == len(games.margin) == len(games.offsets) - 1
    assert len(np.unique(games.digest)) == len(games.digest)
    assert set(np.unique(games.komi)) == {0.5 + half / 2 for half in range(-4, 5)}
    assert np.all((games.margin + games.komi) % 1 == 0)  # points are whole


def test_the_moves_are_legal_and_the_last_before_the_position_is_any_point(games: ValueGames) -> None:
    game = BatchedGo(GoOptions(size=SIZE, rules="chinese", komi=0.5))
    legal, over, values = np.zeros((1, game.actions), np.bool_), np.zeros(1, np.bool_), np.zeros(1, np.float32)
    for number in range(100):
        board = game.allocate(1)
        actions = actions_of(games, number)
        assert actions[-2] < SIZE * SIZE  # the move drawn at random is no pass
        for action in actions:
            game.judge(board, 1, legal, over, values)
            assert legal[0, action] and not over[0]
            game.play(board, np.array([action]))
    drawn = np.bincount([actions_of(games, number)[-2] for number in range(len(games.komi))], minlength=25)
    assert drawn.min() > 0.5 * drawn.mean()  # a policy would prefer some


def test_at_temperature_0_only_the_moves_up_to_the_position_are_drawn(settings: PositionSettings) -> None:
    """Where two games agree up to their positions, the greedy policy goes on alike in both."""
    played = ValuePlayer(replace(settings, temperature=0.0, komi_spread=0.0, last_move=1)).play(0, 200)[1]
    answers: dict[int, set[tuple[int, float]]] = {}
    for number in range(len(played.komi)):
        first, second = actions_of(played, number)
        answers.setdefault(first, set()).add((second, float(played.margin[number])))
    assert len(answers) == 25 and all(len(found) == 1 for found in answers.values())


def write_games(folder: Path, settings: PositionSettings, games: ValueGames) -> ValuePositions:
    play_positions(settings, folder, 0)
    (folder / "chunks" / "000000.safetensors").write_bytes(safetensors.numpy.save(games._asdict()))
    return ValuePositions.open(folder)


def test_the_result_is_seen_by_the_player_to_move(settings: PositionSettings, tmp_path: Path) -> None:
    """After one move White is to play, after two Black; who won is 1 for the one and -1 for the other."""
    after = [np.array([12, 7 | WHITE_BIT], np.uint16), np.array([12, 7 | WHITE_BIT, 3], np.uint16)]
    margins = [3.5, -1.5, 0.0]
    made = ValueGames(
        np.concatenate([moves for _ in margins for moves in after]),
        np.cumsum([0, *[2, 3] * len(margins)], dtype=np.int64),
        np.full(6, 0.5, np.float32),
        np.repeat(np.array(margins, np.float32), 2),
        np.arange(6, dtype=np.uint64),
    )
    positions = write_games(tmp_path / "games", settings, made)
    encoder = get_go_encoder("compact-komi")
    loader = PositionLoader(
        positions.select("all"), encoder, batch=6, seed=1, symmetries=False, shuffle=False, which="last"
    )
    assert loader.positions == 6
    batch = loader.batch_at(0, 6)
    assert batch.winner.tolist() == [-1, 1, 1, -1, 0, 0]
    black_to_play = encoder.meanings.index("ones if Black is to play")
    assert batch.planes[:, black_to_play, 0, 0].tolist() == [0, 1] * 3
    own, enemy = batch.planes[:, 0:3].sum(axis=(1, 2, 3)), batch.planes[:, 3:6].sum(axis=(1, 2, 3))
    assert own.tolist() == [0, 1] * 3 and enemy.tolist() == [1, 1] * 3


def test_test_games_stay_test_games_as_games_are_added(
    folder: Path, settings: PositionSettings, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "games")
    before = ValuePositions.open(tmp_path / "games")
    play_positions(settings, tmp_path / "games", 1700, chunk=800)
    after = ValuePositions.open(tmp_path / "games")
    assert len(after.test) > len(before.test) and 0 < before.test.sum() < 0.1 * len(before.test)
    assert np.array_equal(after.test[: len(before.test)], before.test)
    assert set(before.select("test").rows).isdisjoint(before.select("train").rows)
    assert len(ValuePositions.open(tmp_path / "games", 100).test) == 100


def test_a_chunk_that_is_missing_is_played_again_as_it_was(
    folder: Path, settings: PositionSettings, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "games")
    chunk = tmp_path / "games" / "chunks" / "000000.safetensors"
    played = chunk.read_bytes()
    chunk.unlink()
    play_positions(settings, tmp_path / "games", 1500, chunk=800)
    assert chunk.read_bytes() == played
    chunk.write_bytes(played[:100])
    with pytest.raises(FolderError, match=r"000000.safetensors is damaged .*: delete it"):
        ValuePositions.open(tmp_path / "games")
    with pytest.raises(FolderError, match="holds another run, with last_move 8"):
        play_positions(replace(settings, last_move=9), tmp_path / "games", 1500)


@pytest.mark.parametrize("network", [VALUE, BOTH])
def test_the_error_falls(
    network: str, policy: str, settings: PositionSettings, games: ValueGames, tmp_path: Path
) -> None:
    """In games that Black always wins, a value has to be 1 where Black is to play and -1 where White is."""
    write_games(tmp_path / "games", settings, games._replace(margin=np.full(len(games.komi), 1.5, np.float32)))
    both = {"start_from": policy} if network == BOTH else {}
    config = make_config(tmp_path / "games", network=network, positions=16_000, epoch=4000, symmetries=False, **both)
    best = learn_value(config, tmp_path / "run")
    lines = read_metrics(tmp_path / "run")
    assert [line["positions"] for line in lines] == [4000, 8000, 12000, 16000]
    assert best["value_loss"] < 0.2 and lines[-1]["train_value_loss"] < 0.2
    card = read_card(tmp_path / "run" / "best.safetensors")
    assert card.conditions["komi"] == (-1.5, 2.5) and card.training["validation"]["value_loss"] == best["value_loss"]
    assert is_calibrated(tmp_path / "run" / "best.safetensors")
    curves = tmp_path / "run" / "curves.png"
    curves.unlink()  # as if killed before they were drawn
    learn_value(config, tmp_path / "run")
    assert curves.read_bytes().startswith(b"\x89PNG")


class Stopped(Exception):
    """Stands for a power cut."""


def stopping_at(*steps: int) -> Callable[[RunProgress], None]:
    def on_progress(now: RunProgress) -> None:
        if now.number in steps:
            raise Stopped

    return on_progress


def test_a_run_that_was_stopped_ends_as_one_that_was_not(folder: Path, policy: str, tmp_path: Path) -> None:
    config = make_config(folder, network=BOTH, start_from=policy)
    learn_value(config, tmp_path / "whole")
    with pytest.raises(Stopped):
        learn_value(config, tmp_path / "parts", stopping_at(17))
    learn_value(config, tmp_path / "parts")
    for name in ("trainer.safetensors", "best.safetensors"):
        one, other = (safetensors.numpy.load((tmp_path / run / name).read_bytes()) for run in ("whole", "parts"))
        for key in one:
            np.testing.assert_array_equal(one[key], other[key], f"{name} {key}")
    lines, others = ([line | {"seconds": 0} for line in read_metrics(tmp_path / run)] for run in ("whole", "parts"))
    assert lines == others


def test_both_heads_keep_the_policy_close(folder: Path, policy: str, tmp_path: Path) -> None:
    moved = {}
    for weight in (0.0, 4.0):
        config = make_config(folder, network=BOTH, start_from=policy, policy_weight=weight, rate=0.1)
        moved[weight] = learn_value(config, tmp_path / str(weight))["policy_divergence"]
    assert moved[4.0] < 0.05 and moved[4.0] < 0.5 * moved[0.0]
    model, _ = load_evaluator(tmp_path / "4.0" / "best.safetensors")
    assert model.architecture.policy and model.architecture.value


def test_records_can_be_mixed_in(folder: Path, tiny: Path, tmp_path: Path) -> None:
    config = make_config(folder, records=str(tiny), records_share=0.5, positions=64, epoch=64)
    assert 0 < learn_value(config, tmp_path / "run")["value_loss"] < 2


def test_what_is_not_given_follows_from_the_models(policy: str, folder: Path) -> None:
    config = resolve(ValueConfig(policy=policy))
    assert (config.size, config.last_move, config.rl, config.encoder) == (5, 18, policy, "alphago49")
    assert config.network == "alphago-value:layers=7,filters=64" and config.komi == 7.5
    assert position_settings(config) == PositionSettings(policy, policy, 5, "chinese", 7.5, 0.0, 18, 1)
    config = resolve(ValueConfig(data=str(folder), games=0, start_from=policy))
    assert config.encoder == "compact-komi" and config.network.startswith("residual:blocks=1,filters=8,")
    assert (config.komi, config.komi_spread, config.last_move) == (0.5, 2.0, LAST)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": "nowhere"}, "nowhere holds no positions"),
        ({"data": ""}, "there is nothing to learn from"),
        ({"games": 10**6}, "games, and 1000000 are wanted"),
        ({"network": "residual:blocks=1"}, "has no value head"),
        ({"network": "residual:value=yes,score=yes"}, "do not teach ownership and score"),
        ({"network": BOTH}, "needs a model to be held to: give --start-from"),
        ({"network": BOTH, "start_from": "go9"}, "cannot start a residual"),
        ({"encoder": "compact"}, "compact does not show the komi"),
        ({"policy": "go9", "data": "", "games": 0, "komi_spread": 0.0}, "games is 0"),
        ({"policy": "go9", "size": 7, "games": 5}, "go9 plays go on 9x9, and the games are on 7x7"),
        ({"policy": "nobody"}, "no model is called 'nobody'"),
        ({"rl": "go9"}, "give that too"),
        ({"records_share": 1.0}, "records_share is 1.0"),
        ({"last_move": -1}, "last_move is -1"),
        ({"workers": 0}, "workers is 0"),
        ({"temperature": -1.0}, "temperature is -1.0"),
        ({"records": "nowhere"}, "tengen data build"),
    ],
)
def test_mistakes_are_found_before_anything_is_written(
    changes: dict[str, Any], message: str, folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        learn_value(make_config(folder, **changes), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_the_command_plays_and_learns_and_does_neither_twice(policy: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    asked = [
        "learn",
        "value",
        "--policy",
        policy,
        "--games",
        "200",
        "--komi",
        "0.5",
        "--last-move",
        "4",
        "--out",
        str(out),
    ]
    asked += ["--network", VALUE, "--encoder", "compact", "--positions", "256", "--epoch", "128", "--validate", "64"]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0, result.output
    assert "mean of (z - v)^2" in result.output and "best.safetensors" in result.output
    chunks = {path: path.stat().st_mtime_ns for path in (out / "games" / "chunks").iterdir()}
    lines = read_metrics(out)
    again = CliRunner().invoke(app, asked)
    assert again.exit_code == 0 and read_metrics(out) == lines and len(lines) == 2
    assert {path: path.stat().st_mtime_ns for path in (out / "games" / "chunks").iterdir()} == chunks


def test_several_workers_play_the_same_games_as_one(settings: PositionSettings, folder: Path, tmp_path: Path) -> None:
    play_positions(settings, tmp_path / "games", 1500, chunk=800, workers=2)
    for name in ("000000", "000001"):
        chunk = tmp_path / "games" / "chunks" / f"{name}.safetensors"
        if chunk.exists():  # a third one may have been ready before the second
            assert chunk.read_bytes() == (folder / "chunks" / chunk.name).read_bytes()
    assert len(ValuePositions.open(tmp_path / "games").test) >= 1500
