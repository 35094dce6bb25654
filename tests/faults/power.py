"""Power cuts, as SQLite tests them: what a disk may hold if the power fails at any moment of some work.

While the work runs in this process, every sync, rename, removal and new folder is an event, and at each of them the
folder is looked at. A disk is sure of nothing but this: the bytes that a file had when it was last synced, and the
names that a folder had when it was last synced. All else may have reached it or not, in any order: names without
their bytes, bytes cut off anywhere, old names. `images` makes folders of that kind.
"""

import os
import random
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

Names = dict[str, int]


@dataclass
class Moment:
    """What could be on the disk."""

    number: int
    what: str
    root: int
    folders: dict[int, Names]
    """By number of the inode: the names in a folder now."""
    files: dict[int, bytes]
    synced_folders: dict[int, Names]
    synced_files: dict[int, bytes]
    done: Any = None
    """What the work had promised to keep by then."""


@dataclass
class Recording:
    """All moments of some work in a folder."""

    folder: Path
    done: Callable[[], Any] = lambda: None
    moments: list[Moment] = field(default_factory=list)
    synced_folders: dict[int, Names] = field(default_factory=dict)
    synced_files: dict[int, bytes] = field(default_factory=dict)
    _known: dict[int, tuple[int, int, bytes]] = field(default_factory=dict)

    def look(self, what: str) -> None:
        """Remember this moment."""
        folders, files = _contents(self.folder, self._known)
        root = self.folder.stat().st_ino
        synced = {number: dict(names) for number, names in self.synced_folders.items()}
        self.moments.append(
            Moment(len(self.moments), what, root, folders, files, synced, dict(self.synced_files), self.done())
        )

    def sync(self, handle: int) -> None:
        """A file or folder has been synced."""
        status = os.fstat(handle)
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        if not path.is_relative_to(self.folder):
            return
        if stat.S_ISDIR(status.st_mode):
            self.synced_folders[status.st_ino] = {each.name: each.stat().st_ino for each in path.iterdir()}
        elif path.exists():
            self.synced_files[status.st_ino] = path.read_bytes()


@contextmanager
def recorded(folder: Path, done: Callable[[], Any] = lambda: None) -> Iterator[Recording]:
    """Record what happens in a folder that is on the disk as it is; `done`: what has been promised so far."""
    recording = Recording(folder, done)
    recording.synced_folders, recording.synced_files = _contents(folder, recording._known)
    real = {name: getattr(os, name) for name in ("fsync", "replace", "rename", "unlink", "remove", "rmdir", "mkdir")}

    def wrapped(name: str) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            recording.look(f"before {name}")
            result = real[name](*given, **named)
            if name == "fsync":
                recording.sync(given[0])
            recording.look(f"after {name} of {given[0]}")
            return result

        return call

    with contextmanager(_patched)({name: wrapped(name) for name in real}):
        yield recording
    recording.look("the end")


def images(recording: Recording, target: Path, count: int, seed: int) -> Iterator[tuple[Path, Moment]]:
    """So many folders that a power cut may have left, in turn in the same place, each with its moment."""
    rng = random.Random(seed)
    for number in range(count):
        moment = recording.moments[number * len(recording.moments) // count]
        _remove(target)
        _write(moment, moment.root, target, rng, ("sure", "new", "mixed", "mixed")[rng.randrange(4)])
        yield target, moment


def _write(moment: Moment, folder: int, target: Path, rng: random.Random, way: str) -> None:
    """Put a folder on the disk with what is sure, with all new names but only sure bytes, or with a mixture."""
    target.mkdir(exist_ok=True)
    old, new = moment.synced_folders.get(folder, {}), moment.folders.get(folder, {})
    names = {"sure": old, "new": new}.get(way) or {}
    if way == "mixed":
        names = rng.choice((old, new))
        if rng.random() < 0.5:  # renames in any order
            names = {name: each[name] for name in old | new if name in (each := rng.choice((old, new)))}
    for name, number in names.items():
        if number in moment.folders or number in moment.synced_folders:
            _write(moment, number, target / name, rng, way)
        else:
            (target / name).write_bytes(_bytes(moment, number, rng, way))


def _bytes(moment: Moment, number: int, rng: random.Random, way: str) -> bytes:
    sure = moment.synced_files.get(number, b"")
    now = moment.files.get(number, sure)
    if way == "sure" or way == "new" or now == sure:
        return sure
    cut = rng.randrange(len(now) + 1)
    half = now[:cut] + bytes(rng.choice((0, len(now) - cut)))  # the length is there, and the bytes are not
    if now.startswith(sure):  # an addition
        cut = rng.randrange(len(sure), len(now) + 1)
        half = now[:cut]
    return rng.choice((sure, now, half))


def _contents(folder: Path, known: dict[int, tuple[int, int, bytes]]) -> tuple[dict[int, Names], dict[int, bytes]]:
    """What a folder holds. `known`: of each file its time, size and bytes; what has not changed is not read again."""
    folders: dict[int, Names] = {}
    files: dict[int, bytes] = {}
    todo = [str(folder)]
    while todo:
        here = todo.pop()
        names = folders[os.stat(here).st_ino] = Names()
        for entry in os.scandir(here):
            number = names[entry.name] = entry.inode()
            if entry.is_dir(follow_symlinks=False):
                todo.append(entry.path)
                continue
            status = entry.stat()
            before = known.get(number)
            if before is None or before[:2] != (status.st_mtime_ns, status.st_size):
                before = known[number] = status.st_mtime_ns, status.st_size, Path(entry.path).read_bytes()
            files[number] = before[2]
    return folders, files


def _remove(folder: Path) -> None:
    for place, _, names in os.walk(folder, topdown=False):
        for name in names:
            os.unlink(os.path.join(place, name))
        os.rmdir(place)


def _patched(functions: dict[str, Callable[..., Any]]) -> Iterator[None]:
    patches = [patch.object(os, name, function) for name, function in functions.items()]
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in patches:
            each.stop()
