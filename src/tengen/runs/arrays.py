"""Arrays in `.safetensors` files, with a checksum of all that a file holds: a flipped bit is found when it is read.

`ArrayFolder` is a folder of such files by number, the chunks of a computation: each is there whole or not at all.
"""

import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from tengen.runs.files import make_folder, remove_cut_off, write_atomically
from tengen.runs.folder import FolderError

Arrays = dict[str, NDArray[Any]]
Kind = TypeVar("Kind")
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


def load_about(path: Path) -> dict[str, str]:
    """The texts about the arrays of a file, without reading these; ValueError if it is damaged."""
    try:
        with safetensors.safe_open(path, "np") as opened:
            about: dict[str, str] = opened.metadata() or {}
    except (safetensors.SafetensorError, RecursionError) as error:
        raise ValueError(str(error) or type(error).__name__) from None
    about.pop(_CHECKSUM, None)
    return about


class ArrayFolder:
    """A folder of files of arrays by number, `000007.safetensors`, each there whole or not at all."""

    def __init__(self, path: Path, remedy: str, *, digits: int = 6, tidy: bool = True) -> None:
        """Those in this folder; a writer makes it if it is missing, and removes what was cut off (`tidy`).

        `remedy`: what to do about a damaged file, in the words of an error.
        """
        self.path, self._remedy, self._digits = path, remedy, digits
        if tidy:
            make_folder(path)
            remove_cut_off(path)

    def numbers(self) -> list[int]:
        """The numbers of the files that are there, in order."""
        return sorted(int(file.stem) for file in self.path.glob("*.safetensors") if file.stem.isdecimal())

    def file(self, number: int) -> Path:
        """Where the file of this number is, or would be."""
        return self.path / f"{number:0{self._digits}d}.safetensors"

    def write(self, number: int, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, str] | None = None) -> None:
        """Add a file, or replace it."""
        save_arrays(self.file(number), arrays, about)

    def read(self, number: int, check: Callable[[Arrays, dict[str, str]], Kind]) -> Kind:
        """What `check` makes of the arrays of a file and the texts about them.

        FileNotFoundError if it is not there; FolderError if it is damaged, or `check` raises a ValueError, KeyError or
        TypeError.
        """
        with self._naming(number):
            return check(*load_arrays(self.file(number)))

    def read_about(self, number: int, check: Callable[[dict[str, str]], Kind]) -> Kind:
        """Likewise of the texts alone, which is quicker."""
        with self._naming(number):
            return check(load_about(self.file(number)))

    def delete(self, number: int) -> None:
        """Remove a file, if it is there."""
        self.file(number).unlink(missing_ok=True)

    @contextmanager
    def _naming(self, number: int) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise FolderError(f"{self.file(number)} is damaged ({error}): {self._remedy}") from None


def checksum_of(metadata: Mapping[str, str], arrays: Mapping[str, NDArray[Any]]) -> str:
    """A checksum of arrays with their names, and of the texts about them."""
    total = zlib.crc32(json.dumps(metadata, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        total = zlib.crc32(f"{name} {array.dtype} {array.shape}".encode(), total)
        total = zlib.crc32(np.ascontiguousarray(array).tobytes(), total)
    return f"crc32:{total:08x}"
