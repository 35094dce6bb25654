"""How a download looks in the terminal: a bar for all of it, and one for the file under way."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

from tengen.data.fetch import Watcher


class ProgressBars(Watcher):
    """Bars on a terminal; elsewhere a line for each file, and for everything that goes wrong."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task: TaskID | None = None
        self._files = self._done = 0

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def chosen(self, files: int, games: int) -> None:
        self._files = files
        self._print(f"{games:,} games in {files} archives")

    def started(self, name: str, received: int, total: int | None) -> None:
        self._forget()
        self._task = self._progress.add_task(
            f"[{self._done + 1}/{self._files}] {name}", total=total, completed=received
        )

    def progressed(self, name: str, received: int, total: int | None) -> None:
        if self._task is not None:
            self._progress.update(self._task, completed=received)

    def waiting(self, name: str, reason: str, seconds: float) -> None:
        self._print(f"{name}: {reason}; trying again in {seconds:.1f} s", "yellow")

    def damaged(self, name: str, reason: str) -> None:
        self._print(f"{name} {reason}; fetching it again", "yellow")

    def present(self, name: str, games: int, fetched: bool) -> None:
        self._done += 1
        self._forget()
        if fetched:
            self._print(f"[{self._done}/{self._files}] {name}: {games:,} games")

    def _forget(self) -> None:
        if self._task is not None:
            self._progress.remove_task(self._task)
            self._task = None

    def _print(self, line: str, style: str | None = None) -> None:
        self._progress.console.print(line, style=style, markup=False, soft_wrap=True)
