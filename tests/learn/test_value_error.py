"""The error of a value beside rollouts: the same positions, every game once, the right sign."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tengen.cli.main import app
from tengen.encode.go import get_go_encoder
from tengen.games.game import open_batch
from tengen.games.go.rules import GoOptions
from tengen.learn.evaluate import NETWORK, ValueErrors, draw_value_errors, measure_value_error, set_up
from tengen.learn.loader import PositionLoader
from tengen.learn.settings import PositionSettings
from tengen.learn.value import ValuePositions, play_positions
from tengen.nets.evaluator import load_evaluator
from tengen.nets.model_file import ModelCard, save_model
from tengen.nets.network import build_network

SIZE = 5


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("models") / "policy.safetensors"
    network = build_network("residual", 10, SIZE, seed=1, blocks=1, filters=8, value=True)
    save_model(path, network, ModelCard.of(network, encoder="compact"))
    return str(path)


@pytest.fixture(scope="module")
def folder(policy: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("positions") / "games"
    play_positions(PositionSettings(policy, policy, SIZE, "chinese", 0.5, 0.0, 18, 1), path, 300, chunk=400)
    return path


def test_rollouts_begin_where_the_network_looks(folder: Path) -> None:
    positions, encoder = ValuePositions.open(folder), get_go_encoder("compact-komi")
    loader = PositionLoader(positions.select("all"), encoder, batch=200, seed=1, symmetries=False, which="last")
    batch = loader.batch_at(0, 200)
    game = open_batch(GoOptions(size=SIZE, rules="chinese", komi=3.5))
    planes = np.empty_like(batch.planes)
    encoder.encode_games(set_up(game, positions, batch), 200, planes)
    assert np.array_equal(planes, batch.planes)


def test_the_network_and_playouts_are_measured_on_every_game_once(folder: Path, policy: str) -> None:
    errors = measure_value_error(policy, folder, "all", playouts=16)
    positions = ValuePositions.open(folder)
    rollouts = ["one fast rollout", "16 fast rollouts", "one guided playout", "16 guided playouts"]
    assert list(errors.squares) == [NETWORK, *rollouts]
    assert len(errors.plies) == len(positions.test) and 1 <= errors.plies.min() and errors.plies.max() <= 18
    loader = PositionLoader(
        positions.select("all"), get_go_encoder("compact"), batch=256, seed=0, symmetries=False, which="last"
    )
    batch = loader.batch_at(0, loader.positions)
    values = load_evaluator(policy)[0].evaluate(batch.planes)[1]
    assert errors.mean(NETWORK)[0] == pytest.approx(float(np.mean((values - batch.winner) ** 2)), abs=1e-5)
    assert set(np.unique(errors.squares["one guided playout"])) <= {0.0, 1.0, 4.0}
    for kind in ("fast rollout", "guided playout"):
        assert errors.mean(f"16 {kind}s")[0] < errors.mean(f"one {kind}")[0]
    assert len(measure_value_error(policy, folder, "all", 50, playouts=1).plies) == 50


def test_means_and_standard_errors() -> None:
    squares = {NETWORK: np.array([0.0, 1.0, 2.0, 1.0]), "other": np.array([1.0, 2.0, 4.0, 1.0])}
    errors = ValueErrors("model", "data", "test", np.array([1, 2, 11, 12]), squares)
    assert errors.mean(NETWORK) == pytest.approx((1.0, (2 / 3 / 4) ** 0.5))
    assert errors.lead("other") == pytest.approx((1.0, (2 / 3 / 4) ** 0.5))
    parts = errors.by_move()
    assert sum(part.sum() for part in parts.values()) == 4 and min(parts)[0] == 1 and max(parts)[1] == 12
    assert errors.as_dict()["network"] == pytest.approx({"error": 1.0, "standard_error": 0.40825}, abs=1e-4)
    assert draw_value_errors(errors).startswith(b"\x89PNG")


def test_the_command_prints_a_table_and_writes_what_is_asked_for(folder: Path, policy: str, tmp_path: Path) -> None:
    files = ["--plot", str(tmp_path / "errors.png"), "--json", str(tmp_path / "errors.json")]
    asked = ["learn", "value-error", policy, "--data", str(folder), "--split", "all", "--playouts", "2", *files]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0, result.output
    assert "2 guided playouts" in result.output and "The network's error is" in result.output
    written = json.loads((tmp_path / "errors.json").read_text())
    assert written["positions"] == sum(row["positions"] for row in written["by_move"])
    assert (tmp_path / "errors.png").exists()


def test_mistakes_are_told(folder: Path, policy: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"is for go on 19x19, and .* holds games of Go on 5x5"):
        measure_value_error(_value_model(tmp_path), folder)
    with pytest.raises(ValueError, match="go19 has no value head"):
        measure_value_error("go19", folder)
    with pytest.raises(ValueError, match="not a fast policy"):
        measure_value_error(policy, folder, fast=policy)
    with pytest.raises(ValueError, match="holds no positions"):
        measure_value_error(policy, tmp_path)
    with pytest.raises(ValueError, match="playouts is 0"):
        measure_value_error(policy, folder, playouts=0)
    result = CliRunner().invoke(app, ["learn", "value-error", policy, "--data", str(folder), "--split", "some"])
    assert result.exit_code != 0


def _value_model(folder: Path) -> str:
    network = build_network("alphago-value", 49, 19, seed=1, layers=1, filters=2, hidden=2)
    save_model(folder / "value19.safetensors", network, ModelCard.of(network, encoder="alphago49"))
    return str(folder / "value19.safetensors")
