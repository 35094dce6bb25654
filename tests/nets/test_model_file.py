"""A model file comes back as it was written, and a file that is not one is refused in a sentence."""

import json
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch.nn import functional

import tengen
from tengen.encode.encoder import get_encoder
from tengen.nets import model_file
from tengen.nets.model_file import (
    ModelCard,
    ModelFileError,
    bundled_models,
    find_model,
    load_network,
    read_card,
    read_model,
    read_tensors,
    save_model,
    write_tensors,
)
from tengen.nets.network import Network, build_network
from tengen.nets.registry import parse_network
from tengen.runs.arrays import checksum_of

from .networks import SPECS, lived_in


@pytest.fixture(scope="module")
def network() -> Network:
    return lived_in("residual", 3, 5, blocks=1, filters=4, head_filters=2, value=True, value_hidden=3)


@pytest.fixture(scope="module")
def card(network: Network) -> ModelCard:
    return ModelCard.of(network, encoder="simple", rules="chinese", data="kgs", steps=100, top1=0.25)


@pytest.fixture(scope="module")
def model(network: Network, card: ModelCard, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("model") / "model.safetensors"
    save_model(path, network, card)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("game", "training", "conditions"),
    [
        ("go", {"recipe": {"rules": "aga", "komi": 3.5, "double_step": True}}, ("aga", (3.5, 3.5), None)),
        ("go", {"recipe": {"rules": "aga", "komi": 3.5}, "komi": [-4, 12.5]}, ("aga", (-4.0, 12.5), None)),
        ("go", {"komi": 7, "rules": "aga"}, ("aga", (7.0, 7.0), None)),
        ("go", {"recipe": {"rules": "aga", "komi": 7, "komi_spread": 2.5}}, ("aga", (4.5, 9.5), None)),
        ("go", {"recipe": {"rules": "aga", "komi": 7, "komi_spread": 2.5}, "komi": [5, 9]}, ("aga", (5.0, 9.0), None)),
        ("go", {"recipe": {"data": "kgs", "komi_spread": 2.0}}, (None, None, None)),
        ("go", {"recipe": ["odd"], "komi": "7.5", "double_step": 1}, (None, None, None)),
        ("go", {"komi": [1, 2, 3]}, (None, None, None)),
        ("microchess", {"recipe": {"rules": "aga", "komi": 0.0, "double_step": False}}, ("aga", None, False)),
        ("microchess", {}, (None, None, None)),
        ("tictactoe", {"recipe": {"komi": 3.5, "double_step": True}}, (None, None, None)),
    ],
)
def test_a_card_has_the_conditions(
    card: ModelCard, game: str, training: dict[str, object], conditions: tuple[object, ...]
) -> None:
    found = replace(card, game=game, rules="aga", training=training).conditions
    assert found == dict(zip(("rules", "komi", "double_step"), conditions))


def test_bundled_models_have_conditions() -> None:
    conditions = {name: tuple(read_card(path).conditions.values()) for name, path in bundled_models().items()}
    assert conditions["go5"] == ("chinese", (3.5, 3.5), None)
    assert conditions["microchess"] == ("standard", None, True)
    assert conditions["go9"][0] == "chinese" and conditions["go9"][1] is not None
    assert conditions["go19"] == conditions["fast19"] == (None, None, None)


@pytest.mark.parametrize("spec", SPECS)
def test_a_network_comes_back_exactly(spec: str, tmp_path: Path) -> None:
    name, arguments = parse_network(spec)
    network = lived_in(name, 3, 5, **arguments)
    save_model(tmp_path / "a.safetensors", network, ModelCard.of(network, encoder="simple"))
    loaded, card = load_network(tmp_path / "a.safetensors")
    assert not loaded.training
    assert (loaded.name, loaded.arguments) == (card.network, card.arguments) == (network.name, network.arguments)
    for key, weights in network.weights().items():
        assert np.array_equal(loaded.weights()[key], weights), key
    planes = torch.rand(2, 3, 5, 5)
    assert torch.equal(loaded(planes).policy, network(planes).policy)


def test_models_with_old_names_are_read(tmp_path: Path) -> None:
    network = lived_in("seed-microchess", 14, 5, width=4, actions=436, layers=1, filters=4, dense=8)
    card = ModelCard.of(network, encoder="microchess-seed", game="microchess", rules="standard")
    assert card.network == "seed-microchess"
    save_model(tmp_path / "old.safetensors", network, card)
    loaded, read = load_network(tmp_path / "old.safetensors")
    assert (loaded.name, read.network) == ("microchess-lecture", "microchess-lecture")
    assert get_encoder(read.encoder).name == "microchess-lecture"
    planes = torch.rand(2, 14, 5, 4)
    assert torch.equal(loaded(planes).policy, network(planes).policy)


def test_half_precision_takes_half_the_space_and_changes_little(tmp_path: Path) -> None:
    network = lived_in("alphago", 3, 5, layers=4, filters=32)
    card = ModelCard.of(network, encoder="simple")
    save_model(tmp_path / "whole.safetensors", network, card)
    save_model(tmp_path / "half.safetensors", network, card, half=True)
    assert (tmp_path / "half.safetensors").stat().st_size < 0.6 * (tmp_path / "whole.safetensors").stat().st_size
    loaded, _ = load_network(tmp_path / "half.safetensors")
    for key, weights in network.weights().items():
        assert loaded.weights()[key].dtype == np.float32
        np.testing.assert_allclose(loaded.weights()[key], weights, rtol=1e-3, atol=1e-6)
    planes = torch.rand(2, 3, 5, 5)
    torch.testing.assert_close(loaded(planes).policy, network(planes).policy, rtol=0.01, atol=0.01)


def test_a_loaded_network_can_be_trained_on(network: Network, card: ModelCard, tmp_path: Path) -> None:
    save_model(tmp_path / "a.safetensors", network, card)
    loaded, _ = load_network(tmp_path / "a.safetensors")
    before = {name: weights.copy() for name, weights in loaded.weights().items()}
    optimizer = torch.optim.SGD(loaded.parameters(), lr=0.1)
    output = loaded.train()(torch.rand(2, 3, 5, 5))
    (functional.cross_entropy(output.policy, torch.tensor([3, 4])) + (output.value - 1).square().mean()).backward()
    optimizer.step()
    trained = {name for name, parameter in loaded.named_parameters() if parameter.grad is not None}
    assert trained == {name for name, _ in loaded.named_parameters()}
    assert any(not np.array_equal(before[name], weights) for name, weights in loaded.weights().items())


def test_the_card_tells_everything_and_needs_no_weights(model: bytes, card: ModelCard, tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(model)
    assert read_card(path) == card
    assert (card.game, card.size, card.planes, card.rules) == ("go", 5, 3, "chinese")
    assert card.training == {"data": "kgs", "steps": 100, "top1": 0.25}
    assert card.tengen == tengen.__version__
    path.write_bytes(model[: 8 + struct.unpack("<Q", model[:8])[0]])
    assert read_card(path) == card


def test_training_facts_of_any_kind_are_written(network: Network, card: ModelCard, tmp_path: Path) -> None:
    facts = {"loss": np.float32(0.5), "best": float("nan"), "path": Path("runs/a"), "curve": (1, {2: np.int64(3)})}
    save_model(tmp_path / "a.safetensors", network, replace(card, training=facts))
    training = read_card(tmp_path / "a.safetensors").training
    assert training == {"loss": 0.5, "best": None, "path": "runs/a", "curve": [1, {"2": 3}]}


def test_saving_again_replaces_the_file_and_leaves_nothing_else(
    network: Network, card: ModelCard, tmp_path: Path
) -> None:
    path = tmp_path / "new" / "a.safetensors"
    for steps in (1, 2):
        save_model(path, network, replace(card, training={"steps": steps}))
    assert read_card(path).training == {"steps": 2}
    assert list(path.parent.iterdir()) == [path]


def test_a_failed_save_keeps_the_old_file(network: Network, card: ModelCard, tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    save_model(path, network, card)
    before = path.read_bytes()
    broken = lived_in("residual", 3, 5, **network.arguments)
    with torch.no_grad():
        next(broken.parameters()).fill_(float("nan"))
    with pytest.raises(ModelFileError, match="not-a-number"):
        save_model(path, broken, card)
    with torch.no_grad():
        next(broken.parameters()).fill_(1e6)
    with pytest.raises(ModelFileError, match="too large for 16 bits"):
        save_model(path, broken, card, half=True)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_card_of_another_network_is_refused(network: Network, card: ModelCard, tmp_path: Path) -> None:
    other = build_network("residual", 3, 5, blocks=2, filters=4)
    with pytest.raises(ModelFileError, match="another network"):
        save_model(tmp_path / "a.safetensors", other, card)


def test_other_models_than_networks_can_be_kept_too(tmp_path: Path) -> None:
    card = ModelCard("go", 19, "chinese", "patterns", 0, "fast-policy", training={"top1": 0.24})
    tensors = {"weights": np.arange(6.0).reshape(2, 3), "keys": np.arange(3, dtype=np.uint64)}
    write_tensors(tmp_path / "a.safetensors", tensors, card)
    read, read_as = read_tensors(tmp_path / "a.safetensors")
    assert read_as == card
    assert {key: value.dtype for key, value in read.items()} == {"weights": np.float32, "keys": np.uint64}
    assert all(np.array_equal(read[key], tensors[key]) for key in tensors)
    with pytest.raises(ModelFileError, match="no network is called 'fast-policy'"):
        load_network(tmp_path / "a.safetensors")


Edit = Callable[[dict[str, np.ndarray], dict[str, str]], object]


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (lambda tensors, metadata: metadata.update(tengen_format="2"), "has format 2"),
        (lambda tensors, metadata: metadata.clear(), "not one that Tengen wrote"),
        (lambda tensors, metadata: metadata.pop("encoder"), "lacks 'encoder'"),
        (lambda tensors, metadata: metadata.update(size='"5"'), "size of its card is '5'"),
        (lambda tensors, metadata: metadata.update(network="[]"), "network of its card"),
        (lambda tensors, metadata: metadata.update(arguments="{"), "card cannot be read"),
        (lambda tensors, metadata: metadata.update(arguments="[" * 100_000), "card cannot be read"),
        (lambda tensors, metadata: metadata.update(rules='"japanese"'), "not those that were written"),
        (lambda tensors, metadata: metadata.pop("checksum"), "not those that were written"),
        (lambda tensors, metadata: tensors["trunk.0.weight"].fill(0), "not those that were written"),
        (lambda tensors, metadata: tensors.pop("trunk.0.weight"), "not those that were written"),
    ],
)
def test_an_edited_file_is_refused(edit: Edit, complaint: str, model: bytes, tmp_path: Path) -> None:
    header = json.loads(model[8 : 8 + struct.unpack("<Q", model[:8])[0]])
    tensors = {key: tensor.copy() for key, tensor in safetensors.numpy.load(model).items()}
    metadata = header["__metadata__"]
    edit(tensors, metadata)
    path = tmp_path / "a.safetensors"
    path.write_bytes(safetensors.numpy.save(tensors, metadata))
    with pytest.raises(ModelFileError, match=complaint):
        load_network(path)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"planes": 4}, r"trunk.0.weight is \(4, 3, 5, 5\), not \(4, 4, 5, 5\)"),
        ({"arguments": {"blocks": 2}}, "does not fit its network"),
        ({"network": "transformer"}, "no network is called 'transformer'"),
        ({"arguments": {"heads": 2}}, "no setting 'heads'"),
        ({"arguments": {"blocks": "many"}}, "cannot have blocks=many"),
        ({"arguments": {"blocks": 10**9}}, "cannot have blocks=1000000000"),
        ({"size": 10**9}, "size is 1000000000"),
    ],
)
def test_weights_that_do_not_fit_their_card_are_refused(
    change: dict[str, object], complaint: str, network: Network, card: ModelCard, tmp_path: Path
) -> None:
    path = tmp_path / "a.safetensors"
    write_tensors(path, network.weights(), replace(card, **change))  # type: ignore[arg-type]
    with pytest.raises(ModelFileError, match=complaint):
        read_model(path)


def test_a_tensor_too_few_or_too_many_is_named(network: Network, card: ModelCard, tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    weights = network.weights()
    write_tensors(path, weights | {"policy.9.weight": np.zeros(3)}, card)
    with pytest.raises(ModelFileError, match=r"policy\.9\.weight is \(3,\), not absent"):
        read_model(path)
    del weights["trunk.0.weight"]
    write_tensors(path, weights, card)
    with pytest.raises(ModelFileError, match=r"trunk\.0\.weight is absent, not \(4, 3, 5, 5\)"):
        read_model(path)


def test_a_card_tells_what_board_a_network_is_for(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    network = lived_in("residual", 3, 5, width=4, actions=436, blocks=1, filters=4)
    card = ModelCard.of(network, encoder="microchess", game="microchess", rules="standard")
    assert (card.size, card.width, card.actions) == (5, 4, 436)
    save_model(path, network, card)
    loaded, read = load_network(path)
    assert read == card
    assert loaded.architecture == network.architecture == card.architecture()
    for change, complaint in (({"width": 3}, "does not fit"), ({"actions": -1}, "actions is -1")):
        write_tensors(path, network.weights(), replace(card, **change))  # type: ignore[arg-type]
        with pytest.raises(ModelFileError, match=complaint):
            load_network(path)


def test_files_from_before_boards_had_a_width_are_read(model: bytes, card: ModelCard, tmp_path: Path) -> None:
    """Such a file lacks the entries for width and actions, and settings that its network has got since."""
    header = json.loads(model[8 : 8 + struct.unpack("<Q", model[:8])[0]])
    tensors, metadata = safetensors.numpy.load(model), header["__metadata__"]
    for entry in ("width", "actions", "checksum"):
        del metadata[entry]
    arguments = {key: value for key, value in card.arguments.items() if key not in ("ownership", "score")}
    metadata["arguments"] = json.dumps(arguments)
    metadata["checksum"] = checksum_of(metadata, tensors)
    path = tmp_path / "old.safetensors"
    path.write_bytes(safetensors.numpy.save(tensors, metadata))
    loaded, read = load_network(path)
    assert read == replace(card, arguments=arguments)
    assert (read.width, read.actions) == (0, 0)
    save_model(tmp_path / "again.safetensors", loaded, read)
    assert read_model(tmp_path / "again.safetensors")[1] == read


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GIF89a",
        b"\0" * 100,
        b"\xff" * 100,
        b"PK\x03\x04" + b"\0" * 100,
        struct.pack("<Q", 2) + b"{}",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 4) + b"null",
        struct.pack("<Q", 19) + b'{"__metadata__": 1} ',
        struct.pack("<Q", 1 << 62) + b"{}",
        struct.pack("<Q", 200_000) + b"[" * 200_000,
    ],
    ids=lambda content: repr(content[:12]),
)
def test_a_foreign_file_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(content)
    for read in (read_card, load_network):
        with pytest.raises(ModelFileError, match=r"a\.safetensors"):
            read(path)


def test_an_absent_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.safetensors"):
        with pytest.raises(ModelFileError, match="no model file at"):
            read_card(path)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_truncated_file_is_refused(data: st.DataObject, model: bytes, tmp_path: Path) -> None:
    length = data.draw(st.integers(0, len(model) - 1))
    path = tmp_path / "a.safetensors"
    path.write_bytes(model[:length])
    with pytest.raises(ModelFileError):
        load_network(path)


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_one_flipped_bit_anywhere_is_noticed(data: st.DataObject, model: bytes, tmp_path: Path) -> None:
    """Most of the flips are made in the header, where they could do most."""
    header = 8 + struct.unpack("<Q", model[:8])[0]
    place = data.draw(st.one_of(st.integers(0, 7), st.integers(8, header - 1), st.integers(0, len(model) - 1)))
    damaged = bytearray(model)
    damaged[place] ^= 1 << data.draw(st.integers(0, 7))
    path = tmp_path / "a.safetensors"
    path.write_bytes(damaged)
    with pytest.raises(ModelFileError):
        load_network(path)


def test_models_are_found_by_short_name_or_path(model: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_file, "_BUNDLED", tmp_path / "models")
    with pytest.raises(ModelFileError, match="give the path"):
        find_model("go19")
    (tmp_path / "models").mkdir()
    for place in ("models/go19.safetensors", "mine.safetensors"):
        (tmp_path / place).write_bytes(model)
    assert find_model("go19") == tmp_path / "models" / "go19.safetensors"
    assert find_model(str(tmp_path / "mine.safetensors")) == tmp_path / "mine.safetensors"
    with pytest.raises(ModelFileError, match="choose from go19 or give"):
        find_model("go20")


def test_bundled_models_are_whole() -> None:
    models = bundled_models()
    assert {"go5", "go9", "go19", "alphago9", "fast9", "microchess"} <= models.keys()
    for path in models.values():
        tensors, card = read_tensors(path)
        assert tensors and card.game in ("go", "microchess")


def test_a_card_cannot_steer_the_terminal(tmp_path: Path) -> None:
    network = build_network("residual", 10, 5, seed=1, blocks=1, filters=2, head_filters=1)
    card = ModelCard.of(network, encoder="compact", training={"strength": "\x1b[2Jstrong\x07", "\x1b]0;x": ["\x9b31m"]})
    path = tmp_path / "model.safetensors"
    save_model(path, network, card)
    shown = str(read_card(path))
    assert shown.isprintable() and "strong" in shown
