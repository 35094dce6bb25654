"""Both backends compute what the network computes, on every architecture; playing needs no torch."""

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tengen.nets.evaluator import Evaluator, load_evaluator, rounded_up
from tengen.nets.layers import ACTIVATIONS
from tengen.nets.model_file import ModelCard, save_model
from tengen.nets.network import TorchEvaluator
from tengen.nets.openvino_evaluator import OpenVinoEvaluator
from tengen.nets.registry import parse_network

from .networks import BOARDS, SPECS, lived_in, some_planes


def assert_same(one: Evaluator, other: Evaluator, planes: NDArray[np.uint8]) -> None:
    (policy, value), (other_policy, other_value) = one.evaluate(planes), other.evaluate(planes)
    assert policy.dtype == other_policy.dtype == np.float32
    assert policy.shape == other_policy.shape == (len(planes), one.architecture.actions)
    np.testing.assert_allclose(policy, other_policy, atol=1e-4)
    assert (value is None) == (other_value is None) == (not one.architecture.has_value)
    if value is not None and other_value is not None:
        assert value.shape == other_value.shape == (len(planes),)
        np.testing.assert_allclose(value, other_value, atol=1e-4)


@pytest.mark.parametrize("size", [5, 9, 19])
@pytest.mark.parametrize("spec", SPECS)
def test_openvino_computes_what_pytorch_computes(spec: str, size: int) -> None:
    name, arguments = parse_network(spec)
    network = lived_in(name, 3, size, **arguments)
    openvino = OpenVinoEvaluator(network.architecture, network.weights())
    for batch in (1, 5, 2):
        assert_same(openvino, TorchEvaluator(network), some_planes(batch, 3, size))


@pytest.mark.parametrize(("size", "width", "actions"), BOARDS)
@pytest.mark.parametrize("spec", [spec for spec in SPECS if not spec.startswith("alphago")])
def test_openvino_computes_what_pytorch_computes_on_any_board(
    spec: str, size: int, width: int, actions: int | None
) -> None:
    name, arguments = parse_network(spec)
    network = lived_in(name, 3, size, width=width, actions=actions, **arguments)
    assert network.architecture.actions == (actions or size * width + 1)
    openvino = OpenVinoEvaluator(network.architecture, network.weights())
    assert_same(openvino, TorchEvaluator(network), some_planes(3, 3, size, width))


def test_batches_of_any_size_are_judged_alike() -> None:
    """Inside, batches are made up to a few sizes; outside, nothing is seen of it."""
    network = lived_in("residual", 2, 4, blocks=1, filters=4, value=True)
    openvino = OpenVinoEvaluator(network.architecture, network.weights())
    everything = some_planes(150, 2, 4)
    policy, value = openvino.evaluate(everything)
    assert value is not None
    for batch in (0, 1, 33, 34, 65, 67, 129, 150):
        part, part_value = openvino.evaluate(everything[:batch])
        assert part_value is not None
        assert part.shape == (batch, 17) and part_value.shape == (batch,)
        np.testing.assert_allclose(part, policy[:batch], atol=1e-5)
        np.testing.assert_allclose(part_value, value[:batch], atol=1e-5)


@given(count=st.integers(1, 5000))
def test_a_batch_is_made_up_by_a_sixteenth_at_most(count: int) -> None:
    size = rounded_up(count)
    assert count <= size <= max(count, count * 17 / 16)
    assert rounded_up(size) == size
    assert len({rounded_up(other) for other in range(1, count + 1)}) <= 32 + 16 * max(0, count.bit_length() - 5)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_is_the_same_in_openvino(activation: str) -> None:
    network = lived_in("small", 3, 5, filters=(4, 4), dense=8, activation=activation)
    openvino = OpenVinoEvaluator(network.architecture, network.weights())
    assert_same(openvino, TorchEvaluator(network), some_planes(4, 3, 5))


def test_networks_of_full_size_agree() -> None:
    network = lived_in("alphago", 48, 19, filters=64)
    openvino = OpenVinoEvaluator(network.architecture, network.weights())
    assert_same(openvino, TorchEvaluator(network), some_planes(2, 48, 19))


def test_an_evaluator_judges_each_position_by_itself_and_keeps_its_answers() -> None:
    network = lived_in("residual", 3, 5, blocks=1, filters=4, pool_every=1, value=True)
    for evaluator in (OpenVinoEvaluator(network.architecture, network.weights()), TorchEvaluator(network)):
        planes = some_planes(6, 3, 5)
        policy, value = evaluator.evaluate(planes)
        kept = policy.copy()
        alone, alone_value = evaluator.evaluate(planes[4:5])
        strided, _ = evaluator.evaluate(planes[::2])
        assert value is not None and alone_value is not None
        np.testing.assert_allclose(alone[0], policy[4], atol=1e-5)
        np.testing.assert_allclose(alone_value[0], value[4], atol=1e-5)
        np.testing.assert_allclose(strided, policy[::2], atol=1e-5)
        assert np.array_equal(policy, kept)


def test_threads_may_share_an_evaluator() -> None:
    network = lived_in("residual", 3, 5, blocks=1, filters=4)
    evaluator = OpenVinoEvaluator(network.architecture, network.weights())
    batches = [some_planes(batch, 3, 5) for batch in range(1, 9)]
    alone = [evaluator.evaluate(planes)[0] for planes in batches]
    answers: dict[int, NDArray[np.float32]] = {}

    def ask(number: int) -> None:
        for _ in range(20):
            answers[number] = evaluator.evaluate(batches[number])[0]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(batches))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(answers[number], alone[number]) for number in range(len(batches)))


def test_pytorch_evaluates_without_dropout_and_leaves_training_mode_alone() -> None:
    network = lived_in("residual", 3, 5, blocks=1, filters=4, dropout=0.5).train()
    evaluator = TorchEvaluator(network)
    planes = some_planes(3, 3, 5)
    before = network.weights()
    assert np.array_equal(evaluator.evaluate(planes)[0], evaluator.evaluate(planes)[0])
    assert network.training
    assert all(np.array_equal(before[key], weights) for key, weights in network.weights().items())


@pytest.mark.parametrize(
    "planes",
    [
        np.zeros((1, 2, 5, 5), np.uint8),
        np.zeros((1, 3, 9, 9), np.uint8),
        np.zeros((3, 5, 5), np.uint8),
        np.zeros((1, 3, 5, 5), np.float32),
    ],
)
def test_planes_of_another_shape_are_refused(planes: NDArray[np.uint8]) -> None:
    network = lived_in("residual", 3, 5, blocks=1, filters=4)
    for evaluator in (OpenVinoEvaluator(network.architecture, network.weights()), TorchEvaluator(network)):
        with pytest.raises(ValueError, match=r"reads planes uint8\[B, 3, 5, 5\]"):
            evaluator.evaluate(planes)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    network = lived_in("residual", 3, 5, blocks=1, filters=4, value=True)
    save_model(tmp_path / "a.safetensors", network, ModelCard.of(network, encoder="simple"), half=True)
    return tmp_path / "a.safetensors"


def test_a_model_file_is_loaded_into_any_backend(model: Path) -> None:
    threads = torch.get_num_threads()
    openvino, card = load_evaluator(model)
    pytorch, card_again = load_evaluator(model, backend="torch", threads=None)
    assert card == card_again
    assert torch.get_num_threads() == threads
    assert_same(openvino, pytorch, some_planes(3, 3, 5))
    with pytest.raises(ValueError, match="choose from openvino, int8, fastest, torch"):
        load_evaluator(model, backend="abacus")


def test_ctrl_c_is_heard_after_evaluators_have_come_and_gone(model: Path) -> None:
    program = (
        "import faulthandler, os, signal, sys; faulthandler.enable()\n"
        "from tengen.nets.evaluator import load_evaluator\n"
        "first, second = load_evaluator(sys.argv[1])[0], load_evaluator(sys.argv[1])[0]\n"
        "del first\n"
        "del second\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "try:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "except KeyboardInterrupt:\n"
        "    print('heard')\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(model)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "heard\n"), done.stderr


def test_playing_needs_no_torch(model: Path) -> None:
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "import numpy; from tengen.nets.evaluator import load_evaluator\n"
        "evaluator, card = load_evaluator(sys.argv[1])\n"
        "logits, value = evaluator.evaluate(numpy.zeros((2, 3, 5, 5), numpy.uint8))\n"
        "assert logits.shape == (2, 26) and value.shape == (2,)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(model)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
