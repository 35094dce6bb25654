"""What a network expects of the end of the game: whose each point will be, for models that have learned it.

Players leave this head out (see `evaluator.py`); analysis asks it about single positions.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tengen.nets.bundled import find_model
from tengen.nets.evaluator import check_planes, rounded_up
from tengen.nets.layers import Architecture
from tengen.nets.model_file import is_calibrated, read_card, read_model, read_ranges

if TYPE_CHECKING:
    from tengen.nets.openvino_graph import Ranges, Weights


class OwnershipEvaluator:
    """The trunk of a network and its ownership head, compiled for this CPU; the trunk in 8-bit integers with ranges."""

    def __init__(self, architecture: Architecture, weights: "Weights", ranges: "Ranges | None" = None) -> None:
        # Agents without a network import this file as well, and OpenVINO takes half a second.
        from tengen.nets.openvino_core import compile_graph
        from tengen.nets.openvino_graph import build_graph

        self.architecture = architecture
        self._request = compile_graph(build_graph(architecture, weights, ranges, heads=("ownership",)), threads=1)

    def evaluate(self, planes: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Planes uint8[B, C, H, W] -> float32[B, H * W] in -1..1, 1 where a point will be the mover's."""
        check_planes(planes, self.architecture)
        padded = np.zeros((rounded_up(len(planes)), *planes.shape[1:]), np.uint8)
        padded[: len(planes)] = planes
        found: NDArray[np.float32] = self._request.infer({0: padded})[0][: len(planes)]
        return found.reshape(len(planes), -1)


def load_ownership(model: str | Path) -> OwnershipEvaluator | None:
    """The ownership head of the model of this name or path; None if it has not learned ownership."""
    path = find_model(model)
    if not read_card(path).architecture().ownership:
        return None
    weights, card = read_model(path)
    return OwnershipEvaluator(card.architecture(), weights, read_ranges(path) if is_calibrated(path) else None)
