"""OpenVINO as an evaluator: the fast way to run a network on a CPU, and the one that needs no torch."""

import copy
import threading
from typing import Self

import numpy as np
import openvino as ov
from numpy.typing import NDArray

from tengen.nets.evaluator import check_planes, outcome_values, rounded_up
from tengen.nets.layers import Architecture
from tengen.nets.openvino_graph import Ranges, Weights, build_graph


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
