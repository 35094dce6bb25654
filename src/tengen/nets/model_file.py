"""The model file: one `.safetensors` with the weights and, as metadata, all that is needed to use them.

Nothing in it can execute code. Each field of the card is a metadata entry written as JSON; beside them stand the
version of this format and a checksum of the whole. A file is written aside, synced and renamed: a reader sees
the old one or the new one, whole. Reading needs no torch until a `Network` is asked for.

Models that come with Tengen have short names: `go19` is `tengen/models/go19.safetensors`.
"""

import dataclasses
import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from safetensors import SafetensorError

import tengen
from tengen import _plugins
from tengen._text import printable
from tengen.nets.layers import Architecture
from tengen.nets.registry import NetworkSpecError, describe_network, network_kind
from tengen.runs.arrays import checksum_of
from tengen.runs.files import make_folder, write_atomically

if TYPE_CHECKING:
    from tengen.nets.network import Network

SUFFIX = ".safetensors"
_BUNDLED = Path(tengen.__file__).parent / "models"
FORMAT = 1
_MARK = "tengen_format"
_CHECKSUM = "checksum"
_CALIBRATION = "calibration."
_KOMI_OF, _DOUBLE_STEP_OF = "go", "microchess"  # recipes hold the settings of all games, whichever was learned
_LONGEST_HEADER = 16 * 1024 * 1024
_PREFIX = 8  # bytes that hold the length of the header

Tensors = dict[str, NDArray[Any]]


class ModelFileError(ValueError):
    """A file that is not a model, is damaged, or holds what its card does not promise."""


class Conditions(TypedDict):
    """What the games were like that a model learned from; None: it learned from all kinds, or the game has no such."""

    rules: str | None
    komi: tuple[float, float] | None  # the lowest and the highest
    double_step: bool | None


@dataclass(frozen=True)
class ModelCard:
    """What a model is for, what it is made of and how it came about.

    >>> import tengen
    >>> card: tengen.ModelCard = tengen.load_model("go5").card
    >>> card.game, card.size, card.network, card.encoder
    ('go', 5, 'residual', 'compact')
    """

    game: str  # name of the game, such as "go"
    size: int  # rows of the board
    rules: str  # the rule set it learned under
    encoder: str  # the encoder whose planes it reads
    planes: int  # how many those are
    network: str  # a kind of network
    arguments: dict[str, Any] = field(default_factory=dict)  # its settings
    training: dict[str, Any] = field(default_factory=dict)  # data, recipe, steps, metrics: anything JSON can say
    tengen: str = tengen.__version__  # the version that wrote the file
    width: int = 0  # columns of the board; 0: as many as rows, which are `size`
    actions: int = 0  # length of a policy; 0: every point and the pass
    plugins: tuple[str, ...] = ()  # files or packages that game, encoder or network come from, if not from Tengen

    @classmethod
    def of(cls, network: "Network", *, encoder: str, game: str = "go", rules: str = "chinese", **training: Any) -> Self:
        """The card of a network; other arguments describe its training."""
        made_of = network.architecture
        return cls(
            game,
            made_of.size,
            rules,
            encoder,
            made_of.planes,
            network.name,
            network.arguments,
            training,
            width=0 if made_of.width == made_of.size else made_of.width,
            actions=0 if made_of.board.has_pass else made_of.actions,
        )

    @property
    def conditions(self) -> Conditions:
        """The conditions of the games that the model learned from: in others its values are wrong.

        They are in `training` by `komi` (a number, or the lowest and the highest), `double_step` and `rules`, or else
        in its `recipe`, as in all models that played themselves: `komi` and, if it was drawn, `komi_spread`. Models of
        game records learned all kinds of games.
        """
        recipe = self.training.get("recipe")
        stated = {**(recipe if isinstance(recipe, dict) else {}), **self.training}
        komi, step = stated.get("komi"), stated.get("double_step")
        limits: list[Any] = list(komi) if isinstance(komi, list | tuple) else [komi, komi]
        known = len(limits) == 2 and all(isinstance(limit, int | float) and math.isfinite(limit) for limit in limits)
        spread = stated.get("komi_spread")
        if known and "komi" not in self.training and isinstance(spread, int | float):
            limits = [limits[0] - spread, limits[1] + spread]
        return {
            "rules": self.rules or None if "rules" in stated else None,
            "komi": (float(limits[0]), float(limits[1])) if known and self.game == _KOMI_OF else None,
            "double_step": step if isinstance(step, bool) and self.game == _DOUBLE_STEP_OF else None,
        }

    def architecture(self) -> Architecture:
        """What the network is made of; NetworkSpecError if there can be no such network."""
        return describe_network(self.network, self.planes, self.size, **self.board(), **self.arguments)

    def board(self) -> dict[str, int | None]:
        """The width and the number of actions, as `describe_network` and `build_network` take them."""
        return {"width": self.width or None, "actions": self.actions or None}


def bundled_models() -> dict[str, Path]:
    """Every model that comes with Tengen."""
    return {path.name.removesuffix(SUFFIX): path for path in sorted(_BUNDLED.glob(f"*{SUFFIX}"))}


def find_model(name: str | Path) -> Path:
    """The file of a model: a bundled one by its short name, or any by its path."""
    bundled = bundled_models()
    if str(name) in bundled:
        return bundled[str(name)]
    path = Path(name).expanduser()
    if path.is_file():
        return path
    known = f"choose from {', '.join(bundled)} or give" if bundled else "give"
    raise ModelFileError(f"no model is called {str(name)[:200]!r}: {known} the path of a {SUFFIX} file")


def save_model(
    path: str | Path,
    network: "Network",
    card: ModelCard,
    *,
    half: bool = False,
    ranges: Mapping[str, NDArray[np.float32]] | None = None,
) -> None:
    """Write a network with its card; `half` stores 16-bit weights, in half the space and near enough to play with.

    `ranges`, found by `calibrate`, let the model be played in 8-bit integers.

    >>> import tempfile
    >>> import tengen
    >>> encoder = tengen.get_encoder("compact")
    >>> network = tengen.build_network("residual", encoder.planes, 5, blocks=1, filters=8, value=True, seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tengen.save_model(f"{folder}/mine.safetensors", network, tengen.ModelCard.of(network, encoder="compact"))
    ...     model = tengen.load_model(f"{folder}/mine.safetensors")
    >>> model
    Model('go', size=5, network='residual', encoder='compact')
    """
    if card.network != network.name or card.architecture() != network.architecture:
        raise ModelFileError(f"the card describes another network than the one to save: {card.network}")
    write_tensors(path, network.weights() | calibration_tensors(ranges or {}), card, half=half)


def load_network(path: str | Path) -> tuple["Network", ModelCard]:
    """The network in a file, in evaluation mode, and its card. Needs torch."""
    import torch

    from tengen.nets.network import Network

    tensors, card = read_model(path)
    with torch.device("meta"):
        network = Network(card.network, card.planes, card.size, **card.board(), **card.arguments)
    network.to_empty(device="cpu")
    state = {name: torch.from_numpy(tensor) for name, tensor in tensors.items()}
    state |= {name: torch.zeros_like(value) for name, value in network.state_dict().items() if name not in state}
    network.load_state_dict(state)
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return network.eval(), card


def read_model(path: str | Path) -> tuple[Tensors, ModelCard]:
    """The weights of a network as float32 arrays, checked against what the card's network needs, and the card."""
    tensors, card = read_tensors(path)
    tensors = {name: tensor for name, tensor in tensors.items() if not name.startswith(_CALIBRATION)}
    try:
        shapes = card.architecture().shapes()
    except (NetworkSpecError, TypeError) as error:
        raise ModelFileError(f"{path} holds a network that this version of Tengen cannot build: {error}") from None
    wrong = set(shapes.keys() ^ tensors.keys())
    wrong |= {name for name in shapes.keys() & tensors.keys() if tensors[name].shape != shapes[name]}
    if wrong:
        name = min(wrong)
        found = tensors[name].shape if name in tensors else "absent"
        expected = shapes.get(name, "absent")
        raise ModelFileError(f"{path} does not fit its network, {card.network}: {name} is {found}, not {expected}")
    return {name: np.asarray(tensors[name], np.float32) for name in shapes}, card


def calibration_tensors(ranges: Mapping[str, NDArray[np.float32]]) -> Tensors:
    """The ranges that int8 needs, under the names that they have in a file."""
    return {f"{_CALIBRATION}{name}": found for name, found in ranges.items()}


def is_calibrated(path: str | Path) -> bool:
    """Whether a model was saved with the ranges that int8 needs."""
    return any(name.startswith(_CALIBRATION) for name in read_tensors(path)[0])


def read_ranges(path: str | Path) -> dict[str, NDArray[np.float32]]:
    """The ranges that a model was saved with, float32[2] each; ModelFileError if there are none."""
    tensors, _ = read_tensors(path)
    ranges = {
        name.removeprefix(_CALIBRATION): tensor for name, tensor in tensors.items() if name.startswith(_CALIBRATION)
    }
    if not ranges:
        raise ModelFileError(f"{path} was saved without calibration and cannot be played in int8: use openvino")
    for name, found in ranges.items():
        if found.shape != (2,) or not np.isfinite(found).all() or found[0] > found[1]:
            raise ModelFileError(f"{path} is damaged: its calibration of {name} is {str(found.tolist())[:40]}")
    return {name: np.asarray(found, np.float32) for name, found in ranges.items()}


def write_tensors(
    path: str | Path, tensors: Mapping[str, NDArray[Any]], card: ModelCard, *, half: bool = False
) -> None:
    """Write any arrays with a card, atomically: the file of a network, or of another kind of model."""
    dtype = np.float16 if half else np.float32
    stored = {}
    for name, tensor in tensors.items():
        with np.errstate(over="ignore"):
            floats = np.issubdtype(tensor.dtype, np.floating)
            stored[name] = np.ascontiguousarray(tensor, dtype if floats else None).reshape(tensor.shape)
        if not np.isfinite(stored[name]).all():
            reason = "numbers too large for 16 bits" if np.isfinite(tensor).all() else "infinity or not-a-number"
            raise ModelFileError(f"{path} is not written: {name} holds {reason}")
    parts = (("game", card.game), ("encoder", card.encoder), ("network", card.network))
    plugins = {*card.plugins, *filter(None, (_plugins.source_of(*part) for part in parts))}
    card = dataclasses.replace(card, plugins=tuple(sorted(plugins)))
    metadata = {key: json.dumps(_plain(value)) for key, value in dataclasses.asdict(card).items()}
    metadata[_MARK] = str(FORMAT)
    metadata[_CHECKSUM] = checksum_of(metadata, stored)
    make_folder(Path(path).parent)
    write_atomically(Path(path), safetensors.numpy.save(stored, metadata))


def read_tensors(path: str | Path) -> tuple[Tensors, ModelCard]:
    """The arrays of a model file as they are stored, and its card; ModelFileError if anything is amiss."""
    data = _bytes(path)
    metadata = _metadata(path, data)
    card = _card(path, metadata)
    try:
        tensors = safetensors.numpy.load(data)
    except (SafetensorError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelFileError(f"{path} is damaged or cut short: {error}") from None
    if metadata.pop(_CHECKSUM, None) != checksum_of(metadata, tensors):
        raise ModelFileError(f"{path} is damaged: its contents are not those that were written")
    return tensors, card


def read_card(path: str | Path) -> ModelCard:
    """The card of a model file; its weights are left unread."""
    return _card(path, _metadata(path, _bytes(path, only_header=True)))


def _plain(value: Any) -> Any:
    """A value as JSON can write it: numbers of NumPy become Python's, what is no number becomes null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value


def _bytes(path: str | Path, only_header: bool = False) -> bytes:
    """A file, or its beginning up to the end of its header."""
    try:
        if not Path(path).is_file():
            raise ModelFileError(f"no model file at {path}: give the path of a .safetensors file")
        with open(path, "rb") as file:
            if not only_header:
                return file.read()
            start = file.read(_PREFIX)
            return start + file.read(_header_length(path, start))
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror or error}") from None


def _header_length(path: str | Path, data: bytes) -> int:
    length = struct.unpack("<Q", data[:_PREFIX])[0] if len(data) >= _PREFIX else 0
    if not 2 <= length <= _LONGEST_HEADER:
        raise ModelFileError(f"{path} is not a model file: it does not begin as .safetensors files do")
    return int(length)


def _metadata(path: str | Path, data: bytes) -> dict[str, str]:
    """The metadata of a safetensors file, of text only."""
    length = _header_length(path, data)
    try:
        header = json.loads(data[_PREFIX : _PREFIX + length].decode())
        metadata = header.get("__metadata__", {})
    except (ValueError, RecursionError, AttributeError):
        raise ModelFileError(f"{path} is damaged or is not a model file: its header cannot be read") from None
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise ModelFileError(f"{path} is damaged: its metadata is not a table of texts")
    return metadata


def _printable(value: Any) -> Any:
    """What a card says without the characters that steer a terminal."""
    if isinstance(value, str):
        return printable(value, " ", lines=True)
    if isinstance(value, dict):
        return {_printable(name): _printable(each) for name, each in value.items()}
    return [_printable(each) for each in value] if isinstance(value, list) else value


def _card(path: str | Path, metadata: Mapping[str, str]) -> ModelCard:
    version = metadata.get(_MARK)
    if version is None:
        raise ModelFileError(f"{path} is a .safetensors file, but not one that Tengen wrote: it carries no model card")
    if version != str(FORMAT):
        raise ModelFileError(
            f"{path} has format {version[:20]}; this Tengen reads format {FORMAT}: try another version"
        )
    try:
        # A card written before boards could be other than square has no width and actions; older ones name no plugins.
        added = {"width", "actions", "plugins"}
        written = metadata.keys() | {entry.name for entry in dataclasses.fields(ModelCard)} - added
        values = {
            entry.name: _printable(json.loads(metadata[entry.name]))
            for entry in dataclasses.fields(ModelCard)
            if entry.name in written
        }
    except KeyError as error:
        raise ModelFileError(f"{path} is damaged: its card lacks {error.args[0]!r}") from None
    except (ValueError, RecursionError):
        raise ModelFileError(f"{path} is damaged: its card cannot be read") from None
    numbers = dict.fromkeys(("size", "planes", "width", "actions"), int)
    kinds: dict[str, type] = {**numbers, "arguments": dict, "training": dict, "plugins": list}
    for name, kind in kinds.items():
        if name in values and type(values[name]) is not kind:
            raise ModelFileError(f"{path} is damaged: {name} of its card is {str(values[name])[:40]!r}")
    for name in ("game", "rules", "encoder", "network", "tengen"):
        if not isinstance(values[name], str):
            raise ModelFileError(f"{path} is damaged: {name} of its card is {str(values[name])[:40]!r}")
    values["arguments"] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in values["arguments"].items()
    }
    values["plugins"] = tuple(str(name) for name in values.get("plugins", ()))
    if missing := _plugins.remedy(values["plugins"]):
        raise ModelFileError(f"{path} cannot be used: {missing}")
    return ModelCard(**values | {"network": network_kind(values["network"])})
