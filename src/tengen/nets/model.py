"""`Model`: a model file ready to use, from states to probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tengen.encode.encoder import Encoder
from tengen.encode.registry import get_encoder
from tengen.games.state import AnyState
from tengen.nets.evaluator import Evaluator, load_evaluator
from tengen.nets.model_file import ModelCard


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
                raise ValueError(f"a game of {self.card.game} that goes on is needed, and this one {what}")
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
