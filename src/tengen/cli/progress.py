"""How a command shows what it does: one display for all of them, on standard error.

On a terminal it is a bar with a line of figures, and above it a table or a panel where a command has one; elsewhere
there are only lines.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import typer

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


def say_if_cold() -> None:
    """Report on standard error that the first use compiles, if it will."""
    from tengen._kernel_cache import is_cold

    if is_cold():
        text = "compiling the rules engine, once: a minute or two; `tengen warm-up` does it ahead of time"
        print(text, file=sys.stderr, flush=True)


def say_when_compiling() -> None:
    """Report on standard error, once, when a kernel is compiled from now on: for engines, which nobody watches."""
    from numba.core import event

    class Notice(event.Listener):
        """Numba compiles: its own cache had no machine code for a kernel."""

        is_given = False

        def on_start(self, event: Any) -> None:
            if not self.is_given:
                self.is_given = True
                text = "compiling kernels for this machine, once: up to two minutes; `tengen warm-up` does it ahead"
                print(text, file=sys.stderr, flush=True)

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Notice())  # type: ignore[no-untyped-call]


class Progress:
    """The display of a command: `with Progress() as progress: progress.update("playing", 0.5)`."""

    def __init__(self, console: "Console | None" = None, engine: bool = True) -> None:
        """`engine`: whether the work runs compiled kernels, for which the first use has to wait."""
        from rich.console import Console
        from rich.live import Live
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self.console = console or Console(stderr=True, highlight=False)
        """Where it is shown."""
        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
            expand=True,
        )
        self._task = self._bar.add_task("preparing", total=None)
        self._engine, self._done = engine, 0.0
        self._above: RenderableType | None = None
        self._live = Live(get_renderable=self._view, console=self.console, transient=True)

    def __enter__(self) -> Self:
        if self._engine:
            say_if_cold()
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def update(self, text: str, done: float | None = None, above: "RenderableType | None" = None) -> None:
        """Show what is done at the moment; done: 0 to 1, None where nobody knows."""
        self._above = above
        if done is not None and done < self._done:
            self._bar.reset(self._task)  # another stage, with another speed
        self._done = done or 0.0
        self._bar.update(self._task, description=text, completed=self._done, total=None if done is None else 1.0)

    def say(self, line: str, style: str | None = None) -> None:
        """Print a line above the bar."""
        self.console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)

    @contextmanager
    def resumable(self, folder: Path, command: str = "") -> Iterator[None]:
        """For the work of a run: on Ctrl-C print that it is saved, and how to resume it."""
        try:
            yield
        except KeyboardInterrupt:
            how = f"To resume:\n\n    {command}\n" if command else "Run the same command to resume."
            self.say(f"Stopped; everything is saved in {folder}. {how}")
            raise typer.Exit(130) from None

    def _view(self) -> Any:
        from rich.console import Group

        return self._bar if self._above is None else Group(self._above, self._bar)


@contextmanager
def learning(folder: Path, what: str, command: str) -> Iterator[Progress]:
    """Announce a run of `tengen learn`, show its progress, and on Ctrl-C print the command that resumes it."""
    from tengen.runs.folder import CONFIG_FILE

    typer.echo(f"{'Resuming' if (folder / CONFIG_FILE).exists() else 'Run'} {folder}", err=True)
    typer.echo(f"{what}; all settings: {folder / CONFIG_FILE}", err=True)
    with Progress() as progress, progress.resumable(folder, command):
        yield progress


def print_places(folder: Path, **files: str) -> None:
    """Print where the results of a command are."""
    for name, file in files.items():
        typer.echo(f"{name:<10} {folder / file}")
