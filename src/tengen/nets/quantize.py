"""Eight bits instead of 32: how a network is made ready to be played in integers, and how well it then plays.

    known, unseen = apart(planes)
    ranges = calibrate(network.architecture, network.weights(), known)
    save_model(path, network, card, ranges=ranges)
    fast, _ = load_evaluator(path, backend="int8")
    agreement(load_evaluator(path)[0], fast, unseen)

A range is the least and the greatest number that positions like those to come have brought to some place in the
network. The positions decide: take a few hundred to a few thousand from the games the network plays, and measure the
agreement on others than those, or what lies beyond the ranges is never seen.
"""

import numpy as np
from numpy.typing import NDArray

from tengen.nets.evaluator import Evaluator, check_planes
from tengen.nets.layers import Architecture
from tengen.nets.openvino_evaluator import compile_graph
from tengen.nets.openvino_graph import Ranges, Weights, build_observed_graph

_BATCH = 64


def calibrate(architecture: Architecture, weights: Weights, planes: NDArray[np.uint8], threads: int = 1) -> Ranges:
    """The ranges of all tensors that int8 rounds, float32[2] each, over planes uint8[B, C, H, W]."""
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


def apart(planes: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Two halves of planes uint8[B, C, H, W] with no position in common: to calibrate on, and to measure agreement on.

    A position that occurs several times, as the empty board does, is in one of them, once.
    """
    first = np.unique(planes.reshape(len(planes), -1), axis=0, return_index=True)[1]
    distinct = planes[np.sort(first)]
    half = (len(distinct) + 1) // 2
    return distinct[:half], distinct[half:]


def agreement(exact: Evaluator, rounded: Evaluator, planes: NDArray[np.uint8]) -> dict[str, float]:
    """How alike two evaluators evaluate planes uint8[B, C, H, W].

    `top1` is the share of positions whose first choice is the same, `policy` the mean share of probability that sits
    on other moves, if there is a policy; `value` the mean distance of the values, if there are any.
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
