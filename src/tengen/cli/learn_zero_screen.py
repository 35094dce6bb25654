"""How learning from nothing looks in the terminal: a panel with the figures of the moment, a line for each round."""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tengen._kernel_cache import is_cold
from tengen.learn.zero_config import ZeroConfig
from tengen.learn.zero_progress import ZeroProgress

_PHASES: Final = ("self-play", "training", "export", "duels")
_SPEEDS: Final = ("positions", "simulations")
_BARS: Final = "▁▂▃▄▅▆▇█"


class ZeroScreen:
    """A panel on a terminal; elsewhere only the lines."""

    def __init__(self, console: Console, folder: Path, config: ZeroConfig) -> None:
        self._console, self._folder, self._config = console, folder, config
        self._figures: dict[str, float] = {}  # the last of each name
        self._lines: list[Mapping[str, Any]] = []
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        self._last_rating: float | None = None

    def __enter__(self) -> Self:
        if is_cold():
            self.say("Compiling the engine, once: this takes a minute or two ...")
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, now: ZeroProgress) -> None:
        """Take in the progress of a run."""
        self._figures |= now.figures
        if now.line is not None:
            self._lines.append(now.line)
            self.say(round_line(now.line, self._last_rating))
            self._last_rating = now.line.get("elo", self._last_rating)
        if self._live is not None:
            self._live.update(self._panel(now), refresh=True)

    def say(self, line: str) -> None:
        """Print a line, above the panel."""
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _panel(self, now: ZeroProgress) -> Panel:
        head = Table.grid(padding=(0, 2), expand=True)
        head.add_column(ratio=1)
        head.add_column(justify="right")
        phases = Text("  ").join(Text(name, "bold cyan" if name == now.phase else "dim") for name in _PHASES)
        head.add_row(Text.assemble(f"round {now.iteration}   ", phases), self._time(now))
        bar = ProgressBar(total=1.0, completed=now.share, width=None)
        columns = Table.grid(padding=(0, 4), expand=True)
        columns.add_row(_column("self-play", self._play()), _column("training", self._training()), self._strength())
        title = f"{self._config.preset or self._config.game}  {self._config.network.partition(',first_kernel')[0]}"
        return Panel(Group(head, bar, Text(), columns), title=title, subtitle=str(self._folder), border_style="dim")

    def _time(self, now: ZeroProgress) -> Text:
        asked = self._config.hours * 3600
        if not asked:
            return Text(clock(now.seconds))
        return Text(f"{clock(now.seconds)} of {clock(asked)}, {clock(max(0.0, asked - now.seconds))} left")

    def _play(self) -> dict[str, str]:
        speeds = self._figures
        found = {
            "games/s": f"{speeds.get('games_per_second', 0):,.1f}",
            "positions/s": f"{speeds.get('positions_per_second', 0):,.0f}",
            "simulations/s": f"{speeds.get('simulations_per_second', 0):,.0f}",
        }
        if self._lines:
            line = self._lines[-1]
            found |= {"positions": f"{line['positions']:,}", "games": f"{line['games']:,}"}
            found |= {"moves a game": f"{line.get('play_length', 0):.1f}"}
            found |= {"first player": f"{line.get('play_first', 0):.0%}"}
        return found

    def _training(self) -> dict[str, str]:
        now = self._figures
        names = ("policy", "value", "ownership", "score")
        found = {f"{name} loss": f"{now[name]:.4f}" for name in names if now.get(name)}
        found |= {"rate": f"{now['rate']:.2g}"} if "rate" in now else {}
        if self._lines:
            found |= {"steps": f"{self._lines[-1]['step']:,}", "window": f"{self._lines[-1]['window']:,}"}
        return found

    def _strength(self) -> Table:
        ratings = [line["elo"] for line in self._lines if "elo" in line]
        found: dict[str, str] = {}
        if self._lines:
            found["best"] = f"g{self._lines[-1]['champion']}"
            found |= {f"against g{duel[0]}": _score(duel) for duel in self._lines[-1]["duels"]}
            if "gate_score" in self._lines[-1]:
                verdict = "promoted" if self._lines[-1]["gate_promoted"] else "not promoted"
                found["gate"] = f"{self._lines[-1]['gate_score']:.0%}, {verdict}"
        if ratings:
            found["Elo"] = f"{ratings[-1]:.0f}"
            found[""] = sparkline(ratings[-24:])
        return _column("strength", found)


def round_line(line: Mapping[str, Any], before: float | None) -> str:
    """A completed round in one line."""
    losses = ", ".join(
        f"{name} {line[f'loss_{name}']:.3f}"
        for name in ("policy", "value", "ownership", "score")
        if line.get(f"loss_{name}")
    )
    words = [
        f"{clock(line['seconds'])}  round {line['iteration']}",
        f"{line['positions']:,} positions",
        f"{line['games']:,} games",
        *(f"{line[f'play_{name}_per_second']:,.0f} {name}/s" for name in _SPEEDS if f"play_{name}_per_second" in line),
        f"loss {losses}",
        f"rate {line['rate']:.2g}",
    ]
    words += [f"g{duel[0]} {_score(duel)}" for duel in line["duels"]]
    if "gate_score" in line:
        words.append(f"gate {line['gate_score']:.0%} {'promoted' if line['gate_promoted'] else 'not promoted'}")
    if "elo" in line:
        words.append(f"Elo {line['elo']:.0f}" + (f" ({line['elo'] - before:+.0f})" if before is not None else ""))
    return "  ".join(words)


def clock(seconds: float) -> str:
    """`1:02:03`."""
    return f"{int(seconds) // 3600}:{int(seconds) // 60 % 60:02d}:{int(seconds) % 60:02d}"


def sparkline(values: list[float]) -> str:
    """Numbers as bars of one character each."""
    low, high = min(values), max(values)
    return "".join(_BARS[round((value - low) / max(1e-9, high - low) * (len(_BARS) - 1))] for value in values)


def _score(duel: list[int]) -> str:
    """`25-15`, with half points for draws."""
    wins, draws, losses = duel[1:]
    return f"{wins + draws / 2:g}-{losses + draws / 2:g}"


def _column(title: str, found: Mapping[str, str]) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(style="dim")
    table.add_column()
    table.add_row(Text(title, "bold"), "")
    for name, value in found.items():
        table.add_row(name, value)
    return table
