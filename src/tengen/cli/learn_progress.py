"""How a training run looks in the terminal: a bar with the figures of the moment, a line for each validation."""

from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as ProgressBar

from tengen.learn.training import TrainingProgress
from tengen.learn.value_positions import PlayProgress


class TrainingScreen:
    """A bar on a terminal; elsewhere only the lines."""

    def __init__(self, console: Console, title: str = "training") -> None:
        self._console, self._title = console, title
        self._top1: float | None = None
        self._bar = ProgressBar(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
            expand=True,
        )
        self._task = self._bar.add_task(title, total=1.0)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def show(self, now: TrainingProgress) -> None:
        """Take in the progress of a run."""
        if now.validation is not None:
            self._top1 = now.validation.get("test_top1")
            self.say(validation_line(now.validation, now.speed))
        right = f"top-1 {self._top1:.1%}  " if self._top1 is not None else ""
        figures = f"loss {now.loss:.3f}  {right}rate {now.rate:.2g}  {now.speed:,.0f} positions/s"
        self._bar.update(self._task, description=f"{self._title}  {figures}", completed=now.done)

    def show_games(self, now: PlayProgress) -> None:
        """Take in how far playing is."""
        what = f"playing  {now.games:,} of {now.wanted:,} games  {now.speed:.1f} games/s"
        self._bar.update(self._task, description=what, completed=min(1.0, now.games / now.wanted))
        if not self._console.is_terminal:
            self.say(what)

    def entitle(self, title: str) -> None:
        """Give what follows another title, and say so if it is new."""
        if title != self._title:
            self._title, self._top1 = title, None
            self._bar.reset(self._task, total=1.0)
            self.say(title)

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)


def validation_line(line: dict[str, Any], speed: float) -> str:
    """One validation in words."""
    if "test_top1" not in line:
        policy = ""
        if "test_policy_divergence" in line:
            policy = f"policy {line['test_policy_divergence']:.4f} nats from the start  "
        return (
            f"{line['positions']:>12,} positions  (z - v)^2 {line['test_value_loss']:.4f} on test games, "
            f"{line['train_value_loss']:.4f} on those learned from  {policy}rate {line['rate']:.2g}  "
            f"{speed:,.0f} positions/s"
        )
    value = ""
    if "test_value_loss" in line:
        value = f"value loss {line['test_value_loss']:.4f} (training {line['train_value_loss']:.4f})  "
    return (
        f"{line['positions']:>12,} positions  top-1 {line['test_top1']:6.2%}  top-5 {line['test_top5']:6.2%}  "
        f"loss {line['test_loss']:.4f} (training {line['train_loss']:.4f})  "
        f"{value}rate {line['rate']:.2g}  {speed:,.0f} positions/s"
    )
