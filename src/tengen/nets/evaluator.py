"""What search and agents need of a network: planes in, move logits and value out. Behind it stands a backend.

    evaluator, card = load_evaluator("go19")
    logits, value = evaluator.evaluate(encoder.encode(states))

`Model` has both ends: states in, probabilities and values out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from tengen.encode.encoder import Encoder, get_encoder
from tengen.games.state import AnyState
from tengen.nets.layers import Architecture
from tengen.nets.model_file import (
    ModelCard,
    ModelFileError,
    find_model,
    is_calibrated,
    load_network,
    read_card,
    read_model,
    read_ranges,
)

if TYPE_CHECKING:
    from tengen.nets.openvino_graph import Ranges, Weights

BACKENDS = ("openvino", "int8", "fastest", "torch")


class Evaluator(Protocol):
    """A network ready to evaluate positions.

    >>> import tengen
    >>> model = tengen.load_model("go5")
    >>> evaluator: tengen.Evaluator = model.evaluator
    >>> logits, values = evaluator.evaluate(model.encoder.encode([tengen.go.State.new(size=5)]))
    >>> logits.shape
    (1, 26)
    """

    architecture: Architecture

    def evaluate(self, planes: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """Planes uint8[B, C, H, W] -> policy logits float32[B, actions] and values float32[B] in -1..1, or None.

        A network without a policy (`architecture.policy` is empty) has logits of 0: every move is as likely.
        """
        ...

    def another(self) -> "Evaluator":
        """The same network for another thread."""
        ...


def load_evaluator(
    model: str | Path, backend: str = "openvino", threads: int | None = 1, streams: int = 1
) -> tuple[Evaluator, ModelCard]:
    """The model of this name or path, ready to run, and its card.

    `openvino` is the faster on a CPU in floats; `int8` is several times as fast again, for models saved with their
    calibration; `fastest` is int8 for these and openvino for others; `torch` needs the `train` extra. With `threads`
    None the backend chooses. `streams`: how many evaluators of it, made by `another`, work at a time.

    >>> import tengen
    >>> evaluator, card = tengen.load_evaluator("go5", backend="int8")
    >>> planes = tengen.get_encoder(card.encoder).encode([tengen.go.State.new(size=5)])
    >>> logits, values = evaluator.evaluate(planes)
    >>> logits.shape, values.shape
    ((1, 26), (1,))
    """
    path = find_model(model)
    if backend == "fastest":
        backend = "int8" if is_calibrated(path) else "openvino"
    if backend in ("openvino", "int8"):
        from tengen.nets.openvino_evaluator import OpenVinoEvaluator

        weights, card = read_model(path)
        ranges = read_ranges(path) if backend == "int8" else None
        try:
            return OpenVinoEvaluator(card.architecture(), weights, threads, ranges, streams), card
        except ValueError as error:
            raise ModelFileError(f"{path}: {error}") from None
    if backend == "torch":
        from tengen.nets.network import TorchEvaluator

        network, card = load_network(path)
        return TorchEvaluator(network, threads), card
    raise ValueError(f"no backend is called {backend[:40]!r}: choose from {', '.join(BACKENDS)}")


@dataclass(frozen=True)
class Model:
    """A network with all that is needed to use it; `load_model` makes it.

    >>> import tengen
    >>> model = tengen.load_model("go9")
    >>> model.card.game, model.card.size, model.encoder.planes
    ('go', 9, 25)
    """

    card: ModelCard
    """Which game it plays, what it is made of, how it was trained."""
    encoder: Encoder
    """How it sees positions."""
    evaluator: Evaluator
    """The network itself: planes in, logits and values out."""

    def __repr__(self) -> str:
        card = self.card
        return f"Model({card.game!r}, size={card.size}, network={card.network!r}, encoder={card.encoder!r})"

    def predict(self, states: Sequence[AnyState]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """The policy, float32[B, A] with 0 for illegal actions, and the values for the players to move, float32[B] from
        -1 (lost) to 1 (won), or None if the network has no value head. No state may be over.

        >>> import tengen
        >>> state = tengen.go.State.new(size=5, komi=3.5)
        >>> policy, value = tengen.load_model("go5").predict([state])
        >>> policy.shape, value.shape
        ((1, 26), (1,))
        >>> state.move_name(state.move_of(int(policy[0].argmax())))
        'C3'
        """
        for state in states:
            if state.game != self.card.game or state.is_over:
                what = "is over" if state.game == self.card.game else f"is of {state.game}"
                raise ValueError(f"the model evaluates unfinished games of {self.card.game}, and this one {what}")
        logits, values = self.evaluator.evaluate(self.encoder.encode(states))
        policy = np.zeros_like(logits)
        for row, logit, state in zip(policy, logits, states):
            legal = [state.action_of(move) for move in state.legal_moves()]
            weights = np.exp(logit[legal] - logit[legal].max())
            row[legal] = weights / weights.sum()
        return policy, values


def load_model(name: str | Path, backend: str = "fastest", threads: int | None = 1) -> Model:
    """A model by its short name, if it comes with Tengen, or by the path of its file.

    `backend`: `openvino` in floats, `int8` for models saved with their calibration, `fastest` of these two, or `torch`
    (needs the extra `train`). With `threads` None the backend chooses. Nothing in a model file can execute code.

    >>> import tengen
    >>> model = tengen.load_model("microchess")
    >>> policy, value = model.predict([tengen.microchess.State.new()])
    >>> bool(abs(value[0]) <= 1)
    True
    """
    evaluator, card = load_evaluator(name, backend, threads)
    return Model(card, get_encoder(card.encoder), evaluator)


def outcome_values(
    logits: NDArray[np.float32], planes: NDArray[np.uint8], architecture: Architecture
) -> NDArray[np.float32]:
    """The values float32[B] of B positions as the players to move see them: the chance to win minus that to lose.

    logits: float32[B, 3] of a network with an outcome head: the first player wins, the second wins, a draw.
    """
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    values: NDArray[np.float32] = (chances[:, 0] - chances[:, 1]) / chances.sum(axis=1)
    if architecture.to_move:
        return values if architecture.to_move == 1 else -values
    return np.where(planes[:, -1, 0, 0] != 0, values, -values)


def check_planes(planes: NDArray[np.uint8], architecture: Architecture) -> None:
    """ValueError unless the planes are of the network's shape and type."""
    expected = (architecture.planes, architecture.size, architecture.width)
    if planes.dtype != np.uint8 or planes.ndim != 4 or planes.shape[1:] != expected:
        wanted = ", ".join(map(str, expected))
        raise ValueError(f"the network reads planes uint8[B, {wanted}], not {planes.dtype}{list(planes.shape)}")


def rounded_up(count: int) -> int:
    """The next of the sizes 1, 2, ..., 32, 34, ..., 64, 68, ..., 128, 136, ..."""
    step = 1 << max(0, (count - 1).bit_length() - 5)
    return -(-count // step) * step


# ------------------------------------------------------------------------------------------- ownership
# What a network expects of the end of the game: whose each point will be, for models that have learned it. Players
# leave this head out; analysis asks it about single positions.


class OwnershipEvaluator:
    """The trunk of a network and its ownership head, compiled for this CPU; the trunk in 8-bit integers with ranges."""

    def __init__(self, architecture: Architecture, weights: "Weights", ranges: "Ranges | None" = None) -> None:
        # Agents without a network import this file as well, and OpenVINO takes half a second.
        from tengen.nets.openvino_evaluator import compile_graph
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
