"""OpenVINO as an evaluator: the fast way to run a network on a CPU, and the one that needs no torch.

In floats, or in eight bits instead of 32. How a network is made ready to be played in integers, and how well it then
plays:

    known, unseen = split_positions(planes)
    ranges = calibrate(network.architecture, network.weights(), known)
    save_model(path, network, card, ranges=ranges)
    fast, _ = load_evaluator(path, backend="int8")
    agreement(load_evaluator(path)[0], fast, unseen)
"""

import copy
import threading
from typing import Self

import numpy as np
import openvino as ov
from numpy.typing import NDArray

from tengen.nets.evaluator import Evaluator, check_planes, outcome_values, rounded_up
from tengen.nets.layers import Architecture
from tengen.nets.openvino_graph import Ranges, Weights, build_graph, build_observed_graph


class OpenVinoEvaluator:
    """A network compiled for this CPU, for batches of any size. Threads may share it, in turn.

    It computes in 32-bit floats, or with ranges in 8-bit integers. Answers are new arrays each time. With `streams`, so
    many of it, made by `another`, evaluate at a time.
    """

    def __init__(
        self,
        architecture: Architecture,
        weights: Weights,
        threads: int | None = 1,
        ranges: Ranges | None = None,
        streams: int = 1,
    ) -> None:
        self.architecture = architecture
        self._request = compile_graph(build_graph(architecture, weights, ranges), threads, streams)
        self._make_room()

    def another(self) -> Self:
        """The same compiled network for another thread."""
        twin = copy.copy(self)
        twin._request = self._request.get_compiled_model().create_infer_request()
        twin._make_room()
        return twin

    def _make_room(self) -> None:
        made_of = self.architecture
        self._padded = np.zeros((0, made_of.planes, made_of.size, made_of.width), np.uint8)
        self._turn = threading.Lock()

    def evaluate(self, planes: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """Planes uint8[B, C, H, W] -> policy logits float32[B, actions] and values float32[B] in -1..1, or None."""
        check_planes(planes, self.architecture)
        count = len(planes)
        with self._turn:
            outputs = self._request.infer({0: self._round_up(planes)}, share_inputs=True)
        found = self.architecture
        logits = outputs[0][:count] if found.policy else np.zeros((count, found.actions), np.float32)
        if not found.has_value:
            return logits, None
        head = outputs[1 if found.policy else 0][:count]
        return logits, outcome_values(head, planes, found) if found.outcome else head.reshape(-1)

    def _round_up(self, planes: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The planes of a batch, made up to one of 16 sizes an octave.

        OpenVINO prepares itself anew for each size it has not met, which takes about as long as evaluating the batch.
        """
        size = rounded_up(len(planes))
        if size == len(planes):
            return np.ascontiguousarray(planes)
        if len(self._padded) < size:
            self._padded = np.zeros((size, *planes.shape[1:]), np.uint8)
        self._padded[: len(planes)] = planes
        return self._padded[:size]


# ------------------------------------------------------------------------------------------- the engine
# OpenVINO's engine, one for the process, and how we want it to compile.
#
# It must be one: each engine sets aside a stack for signal handlers when it first compiles, and when it goes it puts
# back the stack it found. Should engines not go in the opposite order of their coming, that is the stack of one already
# gone, and the next signal, such as Ctrl-C, ends the process with a segmentation fault (OpenVINO 2026.4).

_ENGINE = ov.Core()


def compile_graph(graph: ov.Model, threads: int | None, streams: int = 1) -> ov.InferRequest:
    """A graph made ready to run on this CPU, each request with so many threads; None lets OpenVINO choose.

    `streams`: how many requests of the compiled model can run at a time.
    """
    # Some CPUs compute in bfloat16 by default; and pinned threads of two processes fight for one core.
    settings = {"INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": streams, "ENABLE_CPU_PINNING": False}
    if threads is not None:
        settings["INFERENCE_NUM_THREADS"] = threads * streams
    return _ENGINE.compile_model(graph, "CPU", settings).create_infer_request()


# ------------------------------------------------------------------------------------------ eight bits
# A range is the least and the greatest number that positions like those to come have brought to some place in the
# network. The positions decide: take a few hundred to a few thousand from the games the network plays, and measure the
# agreement on others than those, or what lies beyond the ranges is never seen.


_BATCH = 64


def calibrate(architecture: Architecture, weights: Weights, planes: NDArray[np.uint8], threads: int = 1) -> Ranges:
    """The ranges of all tensors that int8 rounds, float32[2] each, over planes uint8[B, C, H, W].

    >>> import tengen
    >>> encoder = tengen.get_encoder("compact")
    >>> planes = encoder.encode([tengen.go.State.new(size=5).play(move) for move in range(25)])
    >>> network = tengen.build_network("residual", encoder.planes, 5, blocks=1, filters=8, seed=1)
    >>> ranges = tengen.calibrate(network.architecture, network.weights(), planes)
    >>> all(low <= high for low, high in ranges.values())
    True
    """
    check_planes(planes, architecture)
    if not len(planes):
        raise ValueError("no positions to calibrate on: give some hundreds, from games the network plays")
    graph = build_observed_graph(architecture, weights)
    request = compile_graph(graph.model, threads)
    heads = len(graph.model.outputs) - len(graph.names)
    ranges: dict[str, NDArray[np.float32]] = {}
    for start in range(0, len(planes), _BATCH):
        outputs = request.infer({0: np.ascontiguousarray(planes[start : start + _BATCH])}, share_outputs=True)
        for number, name in enumerate(graph.names, heads):
            low, high = ranges.get(name, (np.inf, -np.inf))
            tensor = outputs[number]
            ranges[name] = np.array([min(low, tensor.min()), max(high, tensor.max())], np.float32)
    wrong = [name for name, found in ranges.items() if not np.isfinite(found).all()]
    if wrong:
        raise ValueError(f"the network cannot be calibrated: at {wrong[0]} it computes infinity or not-a-number")
    return ranges


def split_positions(planes: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Two halves of planes uint8[B, C, H, W] with no position in common: to calibrate on, and to measure agreement on.

    A position that occurs several times, as the empty board does, is in one of them, once.

    >>> import numpy as np
    >>> import tengen
    >>> planes = np.array([[1], [1], [2], [3]], np.uint8).reshape(4, 1, 1, 1)
    >>> [half.ravel().tolist() for half in tengen.split_positions(planes)]
    [[1, 2], [3]]
    """
    first = np.unique(planes.reshape(len(planes), -1), axis=0, return_index=True)[1]
    distinct = planes[np.sort(first)]
    half = (len(distinct) + 1) // 2
    return distinct[:half], distinct[half:]


def agreement(exact: Evaluator, rounded: Evaluator, planes: NDArray[np.uint8]) -> dict[str, float]:
    """How alike two evaluators evaluate planes uint8[B, C, H, W].

    `top1` is the share of positions whose first choice is the same, `policy` the mean share of probability that sits
    on other moves, if there is a policy; `value` the mean distance of the values, if there are any.

    >>> import tengen
    >>> exact, rounded = (tengen.load_evaluator("go5", backend)[0] for backend in ("openvino", "int8"))
    >>> states = [tengen.go.State.new(size=5).play(move) for move in range(25)]
    >>> found = tengen.agreement(exact, rounded, tengen.get_encoder("compact").encode(states))
    >>> sorted(found), found["top1"] > 0.8
    (['policy', 'top1', 'value'], True)
    """
    (logits, values), (other_logits, other_values) = exact.evaluate(planes), rounded.evaluate(planes)
    found = {}
    if exact.architecture.policy:
        found["top1"] = float((logits.argmax(axis=1) == other_logits.argmax(axis=1)).mean())
        found["policy"] = float(np.abs(_softmax(logits) - _softmax(other_logits)).sum(axis=1).mean() / 2)
    if values is not None and other_values is not None:
        found["value"] = float(np.abs(values - other_values).mean())
    return found


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    shares: NDArray[np.float32] = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return shares
