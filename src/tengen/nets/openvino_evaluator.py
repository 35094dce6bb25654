"""OpenVINO as an evaluator: the fast way to run a network on a CPU, and the one that needs no torch.

A compiled network takes batches of any size, but prepares itself anew whenever the size changes: on 9x9 that takes as
long as evaluating five positions, which a player with small batches notices. So the network is compiled several times:
one copy for each of the sizes that small batches are cut into, and one for all large batches.
"""

import copy
import threading
from collections.abc import Iterator
from typing import Final, NamedTuple, Self

import numpy as np
import openvino as ov
from numpy.typing import NDArray

from tengen.nets.evaluator import check_planes, outcome_values, rounded_up
from tengen.nets.layers import Architecture
from tengen.nets.openvino_graph import Ranges, Weights, build_graph

_SMALL: Final = (16, 4, 1)


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
        self._graph = build_graph(architecture, weights, ranges)
        self._settings = threads, streams
        self._copies = [compile_graph(self._graph, *self._settings).get_compiled_model()]  # for all threads
        self._compiling = threading.Lock()
        self._make_room()

    def another(self) -> Self:
        """The same compiled network for another thread."""
        twin = copy.copy(self)
        twin._make_room()
        return twin

    def _make_room(self) -> None:
        self._pieces: dict[int, _Piece] = {}  # by size; 0: of large batches
        self._turn = threading.Lock()

    def evaluate(self, planes: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """Planes uint8[B, C, H, W] -> policy logits float32[B, actions] and values float32[B] in -1..1, or None."""
        check_planes(planes, self.architecture)
        found, count, start = self.architecture, len(planes), 0
        outputs = [
            np.empty((count, output.partial_shape[1].get_length()), np.float32) for output in self._graph.outputs
        ]
        with self._turn:
            for size in _pieces(count):
                piece, end = self._piece(size), min(start + size, count)
                piece.planes[: end - start] = planes[start:end]
                piece.request.infer(share_outputs=True)
                for output, part in zip(outputs, piece.outputs, strict=True):
                    output[start:end] = part[: end - start]
                start = end
        logits = outputs[0] if found.policy else np.zeros((count, found.actions), np.float32)
        if not found.has_value:
            return logits, None
        head = outputs[-1]
        return logits, outcome_values(head, planes, found) if found.outcome else head.reshape(-1)

    def _piece(self, size: int) -> "_Piece":
        """The copy for this size."""
        key = size if size in _SMALL else 0
        piece = self._pieces.get(key)
        if piece is None:
            self._pieces[key] = piece = _new_piece(self._copy(len(self._pieces)).create_infer_request(), size)
        elif len(piece.planes) != size:
            self._pieces[key] = piece = _new_piece(piece.request, size)
        return piece

    def _copy(self, number: int) -> ov.CompiledModel:
        with self._compiling:
            if number == len(self._copies):
                self._copies.append(compile_graph(self._graph, *self._settings).get_compiled_model())
            return self._copies[number]


class _Piece(NamedTuple):
    """A request for batches of one size, which reads and writes these arrays."""

    request: ov.InferRequest
    planes: NDArray[np.uint8]
    outputs: list[NDArray[np.float32]]


def _new_piece(request: ov.InferRequest, size: int) -> _Piece:
    model = request.get_compiled_model()
    shape = [dimension.get_length() for dimension in list(model.input(0).partial_shape)[1:]]
    planes = np.zeros((size, *shape), np.uint8)
    outputs = [np.zeros((size, output.partial_shape[1].get_length()), np.float32) for output in model.outputs]
    request.set_input_tensor(ov.Tensor(planes, shared_memory=True))
    for number, output in enumerate(outputs):
        request.set_output_tensor(number, ov.Tensor(output, shared_memory=True))
    return _Piece(request, planes, outputs)


def _pieces(count: int) -> Iterator[int]:
    """The sizes of the batches that `count` positions are cut into; that of a large one may be more than `count`."""
    if count > 2 * _SMALL[0]:
        yield rounded_up(count)
        return
    for size in _SMALL:
        yield from [size] * (count // size)
        count %= size


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
