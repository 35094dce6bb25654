"""Starting a run of training from the weights of another model, of the same kind or with fewer inputs and outputs.

| the model may differ in | what becomes of it                                                                       |
|-------------------------|------------------------------------------------------------------------------------------|
| its encoder             | if that is the first planes of the run's (compact, compact-komi), new planes begin at 0  |
| heads that we lack      | left out (ownership and score, which self-play learns)                                   |
| heads that it lacks     | begin with fresh weights                                                                 |
"""

from typing import Protocol

from torch import Tensor

from tengen.encode.registry import get_encoder
from tengen.nets.bundled import find_model
from tengen.nets.model_file import ModelCard, load_network, read_card
from tengen.nets.network import Network
from tengen.nets.registry import describe_network, parse_network


class StartSettings(Protocol):
    """What decides whether a model can start a run: these settings of it."""

    @property
    def start_from(self) -> str: ...
    @property
    def network(self) -> str: ...
    @property
    def encoder(self) -> str: ...
    @property
    def size(self) -> int: ...


def check_start(config: StartSettings, game: str = "go") -> None:
    """ValueError if the model to start from is of another kind."""
    card = read_card(find_model(config.start_from))
    if not _fits(card, config, game):
        raise ValueError(
            f"{config.start_from} holds {card.network} for {card.game} of {card.size} rows and the encoder "
            f"{card.encoder}, and cannot start a {config.network} for {game} of {config.size} rows and {config.encoder}"
        )


def start_from(network: Network, model: str) -> None:
    """Give a network the weights of a model that fits it."""
    theirs: dict[str, Tensor] = load_network(find_model(model))[0].state_dict()
    ours: dict[str, Tensor] = network.state_dict()
    for name in ours.keys() & theirs.keys():
        if ours[name].shape != theirs[name].shape:  # the first convolution [filters, planes, kernel, kernel]
            ours[name].zero_()[:, : theirs[name].shape[1]] = theirs[name]
        else:
            ours[name].copy_(theirs[name])


def _fits(card: ModelCard, config: StartSettings, game: str) -> bool:
    name, arguments = parse_network(config.network)
    if (card.game, card.network, card.size) != (game, name, config.size):
        return False
    seen, wanted = get_encoder(card.encoder).meanings, get_encoder(config.encoder).meanings
    theirs, ours = (
        describe_network(name, len(wanted), config.size, **card.board(), **each) for each in (card.arguments, arguments)
    )
    same_value = not theirs.value or not ours.value or theirs.value == ours.value
    return seen == wanted[: len(seen)] and (theirs.trunk, theirs.policy) == (ours.trunk, ours.policy) and same_value
