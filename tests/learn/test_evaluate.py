"""Evaluation: the figures of validation again, whatever runs the network, and of fast policies too."""

from pathlib import Path

import numpy as np
import pytest

from tengen.data.dataset import Dataset, DatasetError, select
from tengen.encode.go import get_go_encoder
from tengen.learn.evaluate import BATCH, evaluate_policy
from tengen.nets.model_file import ModelCard, ModelFileError, save_model
from tengen.nets.network import build_network
from tengen.search.fast_model import FastPolicy
from tengen.search.fast_policy import WEIGHTS


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
