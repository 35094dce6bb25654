"""A look into the machine code of kernels, as Numba has put it on disk."""

from pathlib import Path

import tengen
from tengen._kernel_cache import kernel_digest, user_cache

ALLOCATING = {"check._tarjan", "check.mark_reached", "extract.reversed_steps"}
"""The kernels that make arrays, and so count references."""

_COUNTER = b"NRT_"  # how all functions of Numba's runtime that count references begin


def kernel_folder() -> Path:
    """Where the kernels of these sources are kept."""
    return user_cache() / "kernels" / kernel_digest(Path(tengen.__file__).parent)


def compiled_kernels(folder: Path) -> dict[str, list[Path]]:
    """Every kernel that is kept in a folder, as `file.function`, with its machine code for each kind of arguments."""
    kernels: dict[str, list[Path]] = {}
    for path in folder.rglob("*.nbc"):  # board.place-220.py311.1.nbc
        kernels.setdefault(path.name.rpartition("-")[0], []).append(path)
    return kernels


def counting_kernels(folder: Path) -> set[str]:
    """Those whose machine code counts references."""
    return {name for name, files in compiled_kernels(folder).items() if any(_COUNTER in f.read_bytes() for f in files)}
