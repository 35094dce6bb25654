"""In 8-bit integers a network judges nearly as in floats, and a file tells whether and how it can be so played."""

import json
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tengen._machine import has_exact_bytes
from tengen.nets.evaluator import load_evaluator
from tengen.nets.layers import ACTIVATIONS
from tengen.nets.model_file import ModelCard, ModelFileError, load_network, read_model, read_ranges, save_model
from tengen.nets.network import Network, TorchEvaluator, build_network
from tengen.nets.openvino_evaluator import OpenVinoEvaluator, agreement, calibrate, compile_graph, split_positions
from tengen.nets.openvino_graph import build_graph
from tengen.nets.registry import parse_network

from .networks import SPECS, lived_in, some_planes
from .slow_int8 import evaluate_rounded

exact_bytes = pytest.mark.skipif(not has_exact_bytes(), reason="8-bit sums can overflow on this processor")


def in_int8(network: Network, planes: NDArray[np.uint8]) -> OpenVinoEvaluator:
    weights = network.weights()
    return OpenVinoEvaluator(network.architecture, weights, ranges=calibrate(network.architecture, weights, planes))


def trained(**arguments: object) -> tuple[Network, NDArray[np.uint8]]:
    """A network that has learned where the one stone is and who has more stones, and positions it has not seen."""
    network = build_network("residual", 3, 5, seed=1, filters=16, value=True, **arguments)
    generator = np.random.default_rng(1)

    def positions(count: int) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.float32]]:
        planes = (generator.random((count, 3, 5, 4)) < 0.3).astype(np.uint8)
        moves = generator.integers(0, 20, count)
        planes[:, 2] = 0
        planes.reshape(count, 3, 20)[np.arange(count), 2, moves] = 1
        stones = planes[:, :2].sum(axis=(2, 3), dtype=np.float32)
        return planes, moves, np.tanh(stones[:, 0] - stones[:, 1])

    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(80):
        planes, moves, values = positions(64)
        output = network(torch.from_numpy(planes))
        loss = torch.nn.functional.cross_entropy(output.policy, torch.from_numpy(moves))
        loss = loss + (output.value - torch.from_numpy(values)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return network.eval(), positions(500)[0]


@pytest.mark.parametrize("settings", [{}, {"order": "pre"}, {"pool_every": 2}, {"activation": "mish"}])
@pytest.mark.parametrize("actions", [None, 40])
def test_a_trained_network_judges_alike_in_int8(settings: dict[str, object], actions: int | None) -> None:
    network, planes = trained(width=4, actions=actions, blocks=2, **settings)
    floats = TorchEvaluator(network)
    found = agreement(floats, in_int8(network, planes[:250]), planes[250:])
    assert found["top1"] > 0.97
    assert found["policy"] < 0.03
    assert found["value"] < 0.03
    assert np.mean(floats.evaluate(planes)[0].argmax(axis=1) == planes[:, 2].reshape(500, 20).argmax(axis=1)) > 0.9


LARGER = [
    "residual:blocks=2,filters=32,first_kernel=3,value=yes",
    "residual:blocks=4,filters=64,first_kernel=3,head_filters=16,value=yes",
    "residual:blocks=3,filters=32,pool_every=2,value=yes",
    "residual:blocks=2,filters=32,value=yes,value_norm=yes",
    "residual:blocks=3,filters=32,order=pre,value=yes",
    "residual:blocks=2,filters=32,order=pre,pool_every=1,activation=mish,value=yes",
    "microchess-lecture:state_planes=1",
    "small:filters=32-32,dense=256",
    "alphago:layers=4,filters=32,batch_norm=yes",
    "alphago-value:layers=4,filters=32,hidden=500",
]


@exact_bytes
@pytest.mark.parametrize(
    ("spec", "actions"),
    [(spec, actions) for spec in SPECS + LARGER for actions in (None, 436) if not (actions and "alphago" in spec)],
)
def test_int8_computes_what_rounding_by_hand_computes(spec: str, actions: int | None) -> None:
    """The oracle that OpenVINO's fusions must not change: now and then a number falls on the other side of a step."""
    name, arguments = parse_network(spec)
    network = lived_in(name, 3, 7, width=5, actions=actions, **arguments)
    planes = some_planes(100, 3, 7, 5)
    ranges = calibrate(network.architecture, network.weights(), planes)
    logits, values = OpenVinoEvaluator(network.architecture, network.weights(), ranges=ranges).evaluate(planes)
    slow_logits, slow_values = evaluate_rounded(network, ranges, planes)
    exact, exact_values = TorchEvaluator(network).evaluate(planes)
    if not network.architecture.policy:
        assert values is not None and slow_values is not None and exact_values is not None
        logits, slow_logits, exact = values, slow_values, exact_values
    by_fusion, by_rounding = np.abs(logits - slow_logits).mean(), np.abs(slow_logits - exact).mean()
    assert by_rounding < 0.1 * exact.std()
    # An average of bytes is made a byte again by OpenVINO: one more rounding than by hand.
    assert by_fusion < (2.0 if "pooling=average" in spec else 0.1) * by_rounding
    if values is not None and slow_values is not None:
        assert np.abs(values - slow_values).mean() < 0.01
    assert (values is None) == (slow_values is None)


@exact_bytes
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_can_be_rounded(activation: str) -> None:
    network = lived_in("residual", 3, 5, blocks=1, filters=8, activation=activation)
    planes = some_planes(100, 3, 5)
    logits, _ = TorchEvaluator(network).evaluate(planes)
    assert np.abs(in_int8(network, planes).evaluate(planes)[0] - logits).mean() < 0.1 * logits.std()


def test_int8_is_integers_all_through() -> None:
    """What is fast must not fall back to floats unseen: every convolution of the compiled network is of bytes."""
    network = lived_in("residual", 3, 9, blocks=2, filters=16, value=True)
    planes = some_planes(64, 3, 9)
    weights = network.weights()
    graph = build_graph(network.architecture, weights, calibrate(network.architecture, weights, planes))
    compiled = compile_graph(graph, threads=1).get_compiled_model()
    kinds = [operation.get_rt_info() for operation in compiled.get_runtime_model().get_ordered_ops()]
    convolutions = [kind for kind in kinds if str(kind["layerType"].value) == "Convolution"]
    assert len(convolutions) == 8  # the first, two a block, and three of the heads
    assert {str(kind["runtimePrecision"].value) for kind in convolutions} <= {"u8", "i8"}
    assert not any(str(kind["layerType"].value) == "FakeQuantize" for kind in kinds)


def test_a_large_dense_layer_is_rounded_and_a_small_one_is_not() -> None:
    network = build_network("microchess-lecture", 14, 5, width=4, actions=436, seed=1).eval()
    planes = some_planes(100, 14, 5, 4)
    planes[:, 12:] = planes[:, 12:, :1, :1]
    ranges = calibrate(network.architecture, network.weights(), planes)
    assert ranges.keys() == {*(f"trunk.0.branches.0.{number}" for number in range(2, 13, 2)), "trunk.1", "policy.0"}
    assert agreement(TorchEvaluator(network), in_int8(network, planes), planes)["value"] < 0.01


def test_ranges_are_the_extremes_of_all_positions() -> None:
    network = lived_in("residual", 3, 5, blocks=1, filters=4, activation="elu")
    planes = some_planes(150, 3, 5)
    whole = calibrate(network.architecture, network.weights(), planes)
    parts = [calibrate(network.architecture, network.weights(), part) for part in (planes[:70], planes[70:])]
    for name, (low, high) in whole.items():
        np.testing.assert_allclose(low, min(part[name][0] for part in parts), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(high, max(part[name][1] for part in parts), rtol=1e-5, atol=1e-6)
        assert -1 < low < 0 < high


def test_a_network_that_says_nothing_is_played_too() -> None:
    network = lived_in("residual", 3, 5, blocks=1, filters=4, value=True)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
    logits, values = in_int8(network, some_planes(4, 3, 5)).evaluate(some_planes(5, 3, 5))
    assert values is not None and not logits.any() and not values.any()


def test_calibration_needs_positions_of_the_network_and_finite_numbers() -> None:
    network = lived_in("residual", 3, 5, blocks=1, filters=4)
    with pytest.raises(ValueError, match="no positions to calibrate on"):
        calibrate(network.architecture, network.weights(), some_planes(0, 3, 5))
    with pytest.raises(ValueError, match="reads planes uint8"):
        calibrate(network.architecture, network.weights(), some_planes(1, 3, 9))
    weights = network.weights()
    weights["trunk.1.bias"] = weights["trunk.1.bias"] + np.float32(np.inf)
    with pytest.raises(ValueError, match=r"at trunk\.2 it computes infinity"):
        calibrate(network.architecture, weights, some_planes(1, 3, 5))


def test_no_position_is_calibrated_on_and_checked_on() -> None:
    planes = np.random.default_rng(1).integers(0, 2, (200, 1, 2, 3), np.uint8)  # 64 positions, most of them repeated
    known, unseen = split_positions(planes)
    ours, others = ({board.tobytes() for board in half} for half in (known, unseen))
    assert ours.isdisjoint(others)
    assert ours | others == {board.tobytes() for board in planes}
    assert 0 <= len(known) - len(unseen) <= 1 and len(known) == len(ours)
    assert [len(half) for half in split_positions(np.zeros((5, 1, 2, 3), np.uint8))] == [1, 0]


def test_agreement_of_an_evaluator_with_itself_and_with_another() -> None:
    network, other = lived_in("residual", 3, 5, blocks=1, value=True), build_network("residual", 3, 5, blocks=1, seed=3)
    planes = some_planes(20, 3, 5)
    assert agreement(TorchEvaluator(network), TorchEvaluator(network), planes) == {"top1": 1, "policy": 0, "value": 0}
    found = agreement(TorchEvaluator(network), TorchEvaluator(other), planes)
    assert found.keys() == {"top1", "policy"}
    assert found["top1"] < 0.9 and 0.1 < found["policy"] <= 1


@pytest.fixture(scope="module")
def network() -> Network:
    return lived_in("residual", 3, 5, blocks=1, filters=4, head_filters=2, value=True, value_hidden=3)


@pytest.fixture
def model(network: Network, tmp_path: Path) -> Path:
    ranges = calibrate(network.architecture, network.weights(), some_planes(100, 3, 5))
    path = tmp_path / "a.safetensors"
    save_model(path, network, ModelCard.of(network, encoder="simple"), ranges=ranges)
    return path


def test_calibration_is_kept_in_the_model_file(model: Path, network: Network) -> None:
    planes = some_planes(100, 3, 5)
    ranges = calibrate(network.architecture, network.weights(), planes)
    kept = read_ranges(model)
    assert kept.keys() == ranges.keys()
    assert all(np.array_equal(kept[name], ranges[name]) for name in ranges)
    fast, card = load_evaluator(model, backend="int8")
    assert np.array_equal(fast.evaluate(planes)[0], in_int8(network, planes).evaluate(planes)[0])
    assert card == ModelCard.of(network, encoder="simple")
    weights, _ = read_model(model)
    assert weights.keys() == network.weights().keys()
    loaded, _ = load_network(model)
    assert torch.equal(loaded(torch.from_numpy(planes)).policy, network(torch.from_numpy(planes)).policy)


def test_a_model_of_16_bits_keeps_its_calibration(network: Network, tmp_path: Path) -> None:
    planes = some_planes(100, 3, 5)
    ranges = calibrate(network.architecture, network.weights(), planes)
    path = tmp_path / "half.safetensors"
    save_model(path, network, ModelCard.of(network, encoder="simple"), half=True, ranges=ranges)
    found = agreement(load_evaluator(path)[0], load_evaluator(path, backend="int8")[0], planes)
    assert found["policy"] < 0.02


def test_a_model_without_calibration_is_not_played_in_int8(network: Network, tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    save_model(path, network, ModelCard.of(network, encoder="simple"))
    with pytest.raises(ModelFileError, match=r"a\.safetensors was saved without calibration"):
        load_evaluator(path, backend="int8")


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"trunk.2": np.zeros(3, np.float32)}, "calibration of trunk.2 is"),
        ({"trunk.2": np.array([1, 0], np.float32)}, "calibration of trunk.2 is"),
        ({"trunk.2": np.zeros((2, 1), np.float32)}, "calibration of trunk.2 is"),
        ({"trunk.99": np.array([0, 1], np.float32)}, "calibration is of another network: trunk.99 is unknown"),
        ({"trunk.2": None}, "calibration is of another network: trunk.2 is absent"),
    ],
)
def test_a_wrong_calibration_is_refused(
    wrong: dict[str, NDArray[np.float32] | None], complaint: str, model: Path, network: Network
) -> None:
    ranges = {name: found for name, found in (read_ranges(model) | wrong).items() if found is not None}
    save_model(model, network, ModelCard.of(network, encoder="simple"), ranges=ranges)
    load_evaluator(model)
    with pytest.raises(ModelFileError, match=complaint):
        load_evaluator(model, backend="int8")


def test_a_damaged_calibration_is_noticed(model: Path) -> None:
    data = bytearray(model.read_bytes())
    length = struct.unpack("<Q", data[:8])[0]
    begin, _ = json.loads(data[8 : 8 + length])["calibration.trunk.2"]["data_offsets"]
    data[8 + length + begin + 6] ^= 1
    model.write_bytes(data)
    for backend in ("openvino", "int8"):
        with pytest.raises(ModelFileError, match="not those that were written"):
            load_evaluator(model, backend=backend)


def test_a_calibration_of_another_architecture_is_refused(model: Path, network: Network) -> None:
    ranges = read_ranges(model)
    other = lived_in("residual", 3, 5, **(network.arguments | {"blocks": 2}))
    save_model(model, other, replace(ModelCard.of(other, encoder="simple")), ranges=ranges)
    with pytest.raises(ModelFileError, match="calibration is of another network"):
        load_evaluator(model, backend="int8")


def test_the_fastest_way_is_int8_for_models_that_can(model: Path, network: Network) -> None:
    planes = some_planes(100, 3, 5)
    fastest = load_evaluator(model, backend="fastest")[0].evaluate(planes)[0]
    assert np.array_equal(fastest, load_evaluator(model, backend="int8")[0].evaluate(planes)[0])
    save_model(model, network, ModelCard.of(network, encoder="simple"))
    fastest = load_evaluator(model, backend="fastest")[0].evaluate(planes)[0]
    assert np.array_equal(fastest, load_evaluator(model)[0].evaluate(planes)[0])


def test_int8_needs_no_torch(model: Path) -> None:
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "import numpy; from tengen.nets.evaluator import load_evaluator\n"
        "evaluator, card = load_evaluator(sys.argv[1], backend='int8')\n"
        "logits, value = evaluator.evaluate(numpy.zeros((2, 3, 5, 5), numpy.uint8))\n"
        "assert logits.shape == (2, 26) and value.shape == (2,)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(model)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
