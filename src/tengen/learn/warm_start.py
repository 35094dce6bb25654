"""Starting a run of training from the weights of another model, of the same kind or with fewer inputs and outputs.

| the model may differ in | what becomes of it                                                                       |
|-------------------------|------------------------------------------------------------------------------------------|
| its encoder             | if that is the first planes of the run's (compact, compact-komi), new planes begin at 0  |
| heads that we lack      | left out (ownership and score, which self-play learns)                                   |
| heads that it lacks     | begin with fresh weights; so does a value head of another kind                           |
| global pooling, lacking | its shifts begin at 0, so that at first the network says what the model says             |
"""

from typing import Protocol

from torch import Tensor

from tengen.encode.encoder import get_encoder
from tengen.nets.model_file import ModelCard, find_model, load_network, read_card
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
    known = load_network(find_model(model))[0]
    theirs, ours = known.state_dict(), network.state_dict()
    same_value = known.architecture.value == network.architecture.value
    for name, weights in theirs.items():
        if name.startswith("value.") and not same_value:
            continue
        place = name if name in ours else _among_pooled(ours, name)
        if place not in ours:
            continue
        if ours[place].shape != weights.shape:  # the first convolution [filters, planes, kernel, kernel]
            ours[place].zero_()[:, : weights.shape[1]] = weights
        else:
            ours[place].copy_(weights)


def _among_pooled(ours: dict[str, Tensor], name: str) -> str:
    """Where the weights of a convolution belong if ours is shifted by global pooling; that shift begins at 0."""
    layer, _, kind = name.rpartition(".")
    for pooled in ours:
        if pooled.startswith(f"{layer}.branches.1.") and pooled.endswith(".weight") and ours[pooled].ndim == 2:
            ours[pooled].zero_()
            ours[pooled.removesuffix("weight") + "bias"].zero_()
    return f"{layer}.branches.0.0.{kind}"


def _fits(card: ModelCard, config: StartSettings, game: str) -> bool:
    name, arguments = parse_network(config.network)
    if (card.game, card.network, card.size) != (game, name, config.size):
        return False
    seen, wanted = get_encoder(card.encoder).meanings, get_encoder(config.encoder).meanings
    known = dict(card.arguments)
    if not known.get("pool_every") and "pool_every" in arguments:
        known["pool_every"] = arguments["pool_every"]
    theirs, ours = (
        describe_network(name, len(wanted), config.size, **card.board(), **each) for each in (known, arguments)
    )
    return seen == wanted[: len(seen)] and (theirs.trunk, theirs.policy) == (ours.trunk, ours.policy)
