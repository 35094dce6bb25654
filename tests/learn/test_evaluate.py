"""How well models do: policies on records, values beside rollouts, and the measures themselves."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tengen.cli.main import app
from tengen.data.dataset import Dataset, DatasetError, select
from tengen.encode.go import get_go_encoder
from tengen.games.game import open_batch
from tengen.games.go.rules import GoOptions
from tengen.learn.evaluate import (
    BATCH,
    NETWORK,
    PHASES,
    PolicyMeasures,
    ValueErrors,
    evaluate_policy,
    measure_policy,
    measure_value_error,
    phase_name,
    set_up,
)
from tengen.learn.loader import PositionLoader, RecordBatch
from tengen.learn.report import draw_value_errors
from tengen.learn.settings import PositionSettings
from tengen.learn.value import ValuePositions, play_positions
from tengen.nets.evaluator import load_evaluator
from tengen.nets.model_file import ModelCard, ModelFileError, save_model
from tengen.nets.network import build_network
from tengen.search.fast_policy import WEIGHTS, FastPolicy


def slow_measures(logits: np.ndarray, moves: np.ndarray, plies: np.ndarray) -> tuple[float, float, float, dict]:
    """Mean loss, top-1, top-5 and (positions, right) by phase; of equal logits the wrong ones come first."""
    losses, ranks = [], []
    for row, move in zip(logits.astype(np.float64), moves):
        losses.append(math.log(sum(math.exp(x) for x in row)) - row[move])
        ranks.append(sum(1 for i, x in enumerate(row) if x > row[move] or (x == row[move] and i != move)))
    phases = dict.fromkeys(PHASES, (0, 0))
    for rank, ply in zip(ranks, plies):
        for low, high in PHASES:
            if low <= ply < high:
                seen, right = phases[low, high]
                phases[low, high] = (seen + 1, right + (rank == 0))
    return float(np.mean(losses)), np.mean([r == 0 for r in ranks]), np.mean([r < 5 for r in ranks]), phases


@pytest.mark.parametrize("levels", [3, 20, 1000])
def test_measures_are_those_of_the_slow_version(levels: int) -> None:
    rng = np.random.default_rng(levels)
    logits = rng.integers(-levels, levels, (200, 26)).astype(np.float32) * 10 / levels
    moves, plies = rng.integers(0, 26, 200), rng.integers(0, 300, 200)
    planes = np.zeros((200, 1, 5, 5), np.uint8)
    winner, known, komi = rng.integers(-1, 2, 200).astype(np.int8), rng.random(200) < 0.5, np.zeros(200, np.float32)
    values = rng.uniform(-1, 1, 200).astype(np.float32)
    whole = RecordBatch(planes, moves, plies, plies, plies, winner, known, komi)
    batches = [RecordBatch(*(field[i:j] for field in whole[:8])) for i, j in ((0, 64), (64, 65), (65, 200))]
    rows = iter(range(200))

    def predict(planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        chosen = [next(rows) for _ in planes]
        return logits[chosen], values[chosen]

    measures = measure_policy(predict, batches)
    loss, top1, top5, phases = slow_measures(logits, moves, plies)
    assert measures.positions == 200
    assert measures.loss == pytest.approx(loss, rel=1e-5)
    assert (measures.top1, measures.top5, measures.by_phase) == (top1, top5, phases)
    errors = [(float(v) - int(z)) ** 2 for v, z, sure in zip(values, winner, known) if sure]
    assert measures.value_loss == pytest.approx(sum(errors) / len(errors), rel=1e-5)
    assert measures.as_dict()["value_loss"] == pytest.approx(measures.value_loss, abs=1e-4)


def test_a_policy_without_a_value_has_no_value_loss() -> None:
    measures = PolicyMeasures()
    measures.add(np.zeros((3, 26), np.float32), np.array([0, 7, 25]), np.array([0, 1, 2]))
    assert measures.value_loss is None
    assert "value_loss" not in measures.as_dict()


def test_a_constant_policy_is_not_right() -> None:
    measures = PolicyMeasures()
    measures.add(np.zeros((3, 26), np.float32), np.array([0, 7, 25]), np.array([0, 1, 2]))
    assert (measures.top1, measures.top5) == (0, 0)
    assert measures.loss == pytest.approx(math.log(26))


def test_large_logits_do_not_overflow() -> None:
    measures = PolicyMeasures()
    measures.add(np.array([[2e4, 0.0]], np.float32), np.array([1]), np.array([0]))
    assert measures.loss == pytest.approx(2e4)


def test_phases_without_positions_are_left_out_of_the_summary() -> None:
    measures = PolicyMeasures()
    measures.add(np.array([[1.0, 0.0]], np.float32), np.array([0]), np.array([59]))
    assert measures.as_dict()["top1_by_phase"] == {"moves 21-60": 1.0}
    assert [phase_name(phase) for phase in PHASES][-1] == "moves 181+"
    assert PolicyMeasures().as_dict()["loss"] == 0


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A network that has learned nothing."""
    network = build_network("residual", get_go_encoder("simple").planes, 5, seed=1, blocks=1, filters=8)
    path = tmp_path_factory.mktemp("models") / "model.safetensors"
    save_model(path, network, ModelCard.of(network, encoder="simple"))
    return str(path)


def test_all_positions_of_a_split_are_measured(model: str, tiny: Path, tiny_dataset: Dataset) -> None:
    reports: list[tuple[int, int]] = []
    evaluation = evaluate_policy(model, tiny, "all", on_progress=lambda done, wanted: reports.append((done, wanted)))
    everything = select(tiny_dataset, "all", size=5)
    assert evaluation.measures.positions == everything.positions == reports[-1][0] == reports[-1][1]
    assert evaluation.games == len(everything.rows)
    train, test = (evaluate_policy(model, tiny, split).measures for split in ("train", "test"))
    assert train.positions + test.positions == everything.positions
    assert train.first + test.first == evaluation.measures.first
    assert evaluation.as_dict()["top1_standard_error"] < 0.02


def test_backends_agree_and_seeds_draw(model: str, tiny: Path) -> None:
    count = BATCH + 1
    torch, openvino = (evaluate_policy(model, tiny, "train", count, backend=name) for name in ("torch", "openvino"))
    assert torch.measures.positions == openvino.measures.positions == count
    assert torch.measures.loss == pytest.approx(openvino.measures.loss, abs=1e-4)
    assert evaluate_policy(model, tiny, "train", count, seed=1).measures.loss != openvino.measures.loss


def test_a_fast_policy_is_measured_on_whole_games(tiny: Path, tmp_path: Path) -> None:
    path = tmp_path / "fast.safetensors"
    FastPolicy(np.zeros(WEIGHTS, np.float32)).save(path, size=5, training={})
    evaluation = evaluate_policy(str(path), tiny, "train", 100)
    assert 100 <= evaluation.measures.positions < 200
    assert 0 < evaluation.measures.loss < np.log(27)
    assert evaluation.games > 1
    assert evaluate_policy(str(path), tiny, "train").games == evaluate_policy(str(path), tiny, "train", 10**6).games


def test_mistakes_are_told(model: str, tiny: Path) -> None:
    with pytest.raises(ModelFileError, match="no model is called 'nobody'"):
        evaluate_policy("nobody", tiny)
    with pytest.raises(DatasetError, match="is of that kind"):
        evaluate_policy(model, tiny, min_rank=9)


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


def test_a_value_of_another_board_is_refused(folder: Path, policy: str, tmp_path: Path) -> None:
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
