"""Arrays in `.safetensors` files, with a checksum of all that a file holds: a flipped bit is found when it is read."""

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from tengen._files import write_atomically

Arrays = dict[str, NDArray[Any]]
_CHECKSUM = "checksum"


def save_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None = None) -> None:
    """Write arrays and texts about them, whole or not at all."""
    plain = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
    about = dict(metadata or {})
    write_atomically(path, safetensors.numpy.save(plain, about | {_CHECKSUM: checksum_of(about, plain)}))


def load_arrays(path: Path) -> tuple[Arrays, dict[str, str]]:
    """The arrays of a file, and the texts about them; ValueError if it is damaged, OSError if it cannot be read."""
    contents = path.read_bytes()
    try:
        arrays = safetensors.numpy.load(contents)
        length = int.from_bytes(contents[:8], "little")
        about: dict[str, str] = json.loads(contents[8 : 8 + length]).get("__metadata__", {})
    except (safetensors.SafetensorError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(str(error) or type(error).__name__) from None
    written = about.pop(_CHECKSUM, None)  # files of older versions have none
    if written is not None and written != checksum_of(about, arrays):
        raise ValueError("its contents are not those that were written")
    return arrays, about


def checksum_of(metadata: Mapping[str, str], arrays: Mapping[str, NDArray[Any]]) -> str:
    """A checksum of arrays with their names, and of the texts about them."""
    total = zlib.crc32(json.dumps(metadata, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        total = zlib.crc32(f"{name} {array.dtype} {array.shape}".encode(), total)
        total = zlib.crc32(np.ascontiguousarray(array).tobytes(), total)
    return f"crc32:{total:08x}"
