"""How a long run looks in the terminal: a bar with the figures of the moment, and lines above it."""

from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.console import Console


class ProgressScreen:
    """A bar on a terminal; elsewhere only the lines."""

    def __init__(self, console: "Console") -> None:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
            expand=True,
        )
        self._task = self._bar.add_task("preparing", total=1.0)

    def __enter__(self) -> Self:
        from tengen._kernel_cache import is_cold

        if is_cold():
            self.say("Compiling the engine, once: this takes a minute or two ...")
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def update(self, description: str, done: float) -> None:
        """Show where the run stands; done: 0 to 1."""
        self._bar.update(self._task, description=description, completed=done)

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
