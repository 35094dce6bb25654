"""OpenVINO as an evaluator: the fast way to run a network on a CPU, and the one that needs no torch."""

import threading

import numpy as np
import openvino as ov
from numpy.typing import NDArray

from tengen.nets.evaluator import check_planes
from tengen.nets.layers import Architecture
from tengen.nets.openvino_graph import Weights, build_graph


class OpenVinoEvaluator:
    """A network compiled for this CPU, in 32-bit floats, for batches of any size. Threads may share it, in turn."""

    def __init__(self, architecture: Architecture, weights: Weights, threads: int | None = 1) -> None:
        self.architecture = architecture
        # Some CPUs would compute in bfloat16 unless told; and pinned threads of two processes fight for one core.
        settings = {"INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 1, "ENABLE_CPU_PINNING": False}
        if threads is not None:
            settings["INFERENCE_NUM_THREADS"] = threads
        compiled = ov.Core().compile_model(build_graph(architecture, weights), "CPU", settings)
        self._request = compiled.create_infer_request()
        self._turn = threading.Lock()

    def evaluate(self, planes: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """Planes uint8[B, C, N, N] -> policy logits float32[B, N * N + 1] and values float32[B] in -1..1, or None."""
        check_planes(planes, self.architecture)
        with self._turn:
            outputs = self._request.infer({0: np.ascontiguousarray(planes)}, share_inputs=True)
        return outputs[0], outputs[1].reshape(-1) if self.architecture.value else None
