"""Publishing models: what the file holds, what its card tells, and that nothing is half written."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tengen.learn import export
from tengen.learn.export import export_model, player_of, smoke_match
from tengen.learn.settings import SupervisedConfig
from tengen.learn.supervised import learn_supervised
from tengen.learn.zero import learn_zero
from tengen.nets.evaluator import load_evaluator
from tengen.nets.model_file import (
    ModelCard,
    find_model,
    is_calibrated,
    read_card,
    read_model,
    read_ranges,
    read_tensors,
    save_model,
)
from tengen.nets.network import build_network
from tengen.runs.folder import read_metrics

from .zero_stand_ins import StandInWorkers, toy_config


@pytest.fixture(scope="module", params=["openvino", "int8"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one round, which has calibrated its models or not."""
    folder = tmp_path_factory.mktemp("runs") / str(request.param)
    before = torch.get_num_threads()
    learn_zero(toy_config(backend=request.param, iterations=1), folder, hosts=StandInWorkers, report=False)
    torch.set_num_threads(before)
    return folder


def test_a_model_of_a_run_is_published(run: Path, tmp_path: Path) -> None:
    seen: list[tuple[str, float]] = []
    path, card = export_model(
        run, "toy", tmp_path / "a", games=2, strength="weak", report=lambda *what: seen.append(what)
    )
    assert path == tmp_path / "a" / "toy.safetensors"
    assert read_card(path) == card
    tensors, _ = read_tensors(path)
    assert all(tensor.dtype == np.float16 for tensor in tensors.values())
    before, there = read_model(run / "best.safetensors")[0], read_model(path)[0]
    for name, weights in before.items():
        np.testing.assert_allclose(there[name], weights, rtol=1e-3, atol=1e-6)
    training = card.training
    assert card.conditions == {"rules": "chinese", "komi": (0.5, 0.5), "double_step": None}
    assert training["strength"] == "weak"
    assert (training["games"], training["positions"]) == tuple(
        read_metrics(run)[-1][name] for name in ("games", "positions")
    )
    assert {"generation", "hours", "recipe", "rules", "komi"} <= training.keys()
    assert set(training["int8"]) == {"top1", "policy", "value"}
    smoke = training["smoke"]
    assert (smoke["agent"], smoke["opponent"], smoke["games"]) == ("zero:sims=32", "random", 2)
    assert smoke["wins"] + smoke["draws"] + smoke["losses"] == 2
    assert [what for what, _ in seen][-2:] == ["playing random"] * 2
    assert load_evaluator(path, "int8")[0].evaluate(np.zeros((1, card.planes, 3, 3), np.uint8))[0].shape == (1, 10)
    if is_calibrated(run / "best.safetensors"):
        kept, found = read_ranges(run / "best.safetensors"), read_ranges(path)
        assert all(np.allclose(found[name], kept[name], rtol=1e-3, atol=1e-6) for name in kept)


def test_no_file_is_replaced_without_force(run: Path, tmp_path: Path) -> None:
    path, _ = export_model(run, "toy", tmp_path, games=0)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="is there already"):
        export_model(run, "toy", tmp_path, games=0, strength="other")
    assert path.read_bytes() == before
    export_model(run, "toy", tmp_path, games=0, strength="other", force=True)
    assert read_card(path).training["strength"] == "other"


def test_an_interrupted_match_leaves_nothing(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(export, "play_match_game", interrupted)
    with pytest.raises(KeyboardInterrupt):
        export_model(run, "toy", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"name": "../toy"}, "is no name for a model"),
        ({"name": ""}, "is no name for a model"),
        ({"source": "."}, "holds no best.safetensors"),
        ({"source": "nothing-here"}, "no model is called"),
        ({"opponent": "nobody"}, "no agent is called"),
        ({"opponent": "policy:go19"}, "plays on 19x19 only"),
    ],
)
def test_mistakes_are_told_and_nothing_is_written(run: Path, tmp_path: Path, given: dict[str, str], error: str) -> None:
    settings = {"source": str(run), "name": "toy", **given}
    if settings["source"] == ".":
        settings["source"] = str(tmp_path)
    with pytest.raises(ValueError, match=error):
        export_model(**settings, folder=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("network", "agent"), [("small:filters=4", "policy"), ("residual:blocks=1,filters=4,value=yes", "zero:sims=32")]
)
def test_a_model_of_game_records_is_published_too(tiny: Path, tmp_path: Path, network: str, agent: str) -> None:
    config = SupervisedConfig(str(tiny), encoder="simple", network=network, size=5, batch=16, positions=32, epoch=32)
    learn_supervised(config, tmp_path / "run", report=False)
    path, card = export_model(tmp_path / "run", "records", tmp_path, games=2)
    assert card.conditions == read_card(tmp_path / "run" / "best.safetensors").conditions
    assert card.training["smoke"]["agent"] == agent
    assert card.training["validation"]["top1"] >= 0
    assert is_calibrated(path) == is_calibrated(tmp_path / "run" / "best.safetensors")


def test_game_records_calibrate_a_model_that_is_not(tiny: Path, tmp_path: Path) -> None:
    network = build_network("residual", 11, 5, seed=1, blocks=1, filters=4)
    save_model(tmp_path / "plain.safetensors", network, ModelCard.of(network, encoder="simple"))
    plain, _ = export_model(tmp_path / "plain.safetensors", "plain", tmp_path / "a", games=0)
    path, card = export_model(tmp_path / "plain.safetensors", "exact", tmp_path / "b", games=0, data=tiny)
    assert is_calibrated(path) and not is_calibrated(plain)
    assert 0.5 < card.training["int8"]["top1"] <= 1
    assert read_model(path)[0].keys() == read_model(plain)[0].keys()
    with pytest.raises(ValueError, match="holds games of Go, and the model plays microchess: leave --data out"):
        network = build_network("residual", 21, 5, width=4, actions=436, seed=1, blocks=1, filters=4)
        card = ModelCard.of(network, encoder="microchess", game="microchess")
        save_model(tmp_path / "chess.safetensors", network, card)
        export_model(tmp_path / "chess.safetensors", "chess", tmp_path / "c", games=0, data=tiny)


def test_who_plays_a_model() -> None:
    players = {name: player_of(read_card(find_model(name))) for name in ("go5", "microchess", "go19", "fast19")}
    assert players == {
        "go5": "zero:sims=32",
        "microchess": "zero:sims=32",
        "go19": "policy",
        "fast19": "fast-policy",
    }


def test_a_smoke_match_is_played_in_the_conditions_that_were_learned() -> None:
    found = smoke_match(find_model("microchess"), "random", 2)
    assert (found["games"], found["losses"]) == (2, 0)
