"""Where Numba keeps compiled kernels: one folder per version of the kernel sources.

Numba's own on-disk cache looks only at the file that holds a kernel, not at the files of the kernels it
calls, so an edit can leave stale machine code in use. Here the folder's name is a digest of every source
that kernels are made of: any change opens a new folder, nothing stale is ever loaded, and a read-only
installation works too. `docs/decisions/0004-kernel-cache.md` tells the story.

Kernels that play any game are compiled for each. Of games that are not part of Tengen nothing is kept: the digest knows
nothing of their sources, and another program that opens the cache could not import them.
"""

import hashlib
import importlib
import os
import shutil
import sys
from pathlib import Path
from typing import Any

_KEPT_VERSIONS = 4


def kernel_digest(package: Path) -> str:
    """A digest of the package's kernel sources: every file with kernels, and all of games/."""
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(package.rglob("*.py")):
        text = path.read_bytes()
        if b"@kernel" in text or "games" in path.relative_to(package).parts:
            digest.update(path.relative_to(package).as_posix().encode())
            digest.update(text)
    return digest.hexdigest()


def use_kernel_cache() -> Path:
    """Point Numba at the cache folder of these sources; must run before the first kernel is defined."""
    package = Path(__file__).parent
    root = _cache_root()
    folder = root / kernel_digest(package)
    from numba import config

    _keep_only_our_games()
    config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
    try:
        fresh = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        if fresh:
            _drop_old_versions(root)
    except OSError:  # a home that cannot be written: compile in memory each time
        config.CACHE_DIR = ""  # type: ignore[attr-defined]
    return folder


def _keep_only_our_games() -> None:
    """Let Numba neither load nor save what Tengen's kernels become for arrays of games from elsewhere."""
    dispatcher: Any = importlib.import_module("numba.core.dispatcher")
    sigutils: Any = importlib.import_module("numba.core.sigutils")
    usual = dispatcher.FunctionCache

    def is_kept(signature: Any) -> bool:
        arguments, _ = sigutils.normalize_signature(signature)
        return all(_is_ours(getattr(argument, "instance_class", None)) for argument in arguments)

    def cache_of(function: Any) -> Any:
        cache = usual(function)
        if _is_ours(function):
            load, save = cache.load_overload, cache.save_overload
            cache.load_overload = lambda signature, context: load(signature, context) if is_kept(signature) else None
            cache.save_overload = lambda signature, compiled: save(signature, compiled) if is_kept(signature) else None
        return cache

    dispatcher.FunctionCache = cache_of


def _is_ours(thing: Any) -> bool:
    """Whether a function or class belongs to Tengen; None does."""
    return thing is None or str(thing.__module__).partition(".")[0] == "tengen"


def is_cold() -> bool:
    """Whether nothing has been compiled yet for these sources (the first run after an install)."""
    folder = _cache_root() / kernel_digest(Path(__file__).parent)
    return not any(folder.rglob("*.nbi"))


def user_cache() -> Path:
    """The user's folder for what Tengen has made and can make again."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "tengen"


def _cache_root() -> Path:
    return user_cache() / "kernels"


def _drop_old_versions(root: Path) -> None:
    versions = sorted(root.iterdir(), key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in versions[_KEPT_VERSIONS:]:
        shutil.rmtree(folder, ignore_errors=True)
