"""Learning from nothing but the rules: `tengen learn zero` and `tengen learn generations`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tengen.cli.options import (
    Cluster,
    cluster_hosts,
    command_line,
    hosts_at,
    preset_option,
    run_option,
    takes_settings,
)
from tengen.cli.progress import Progress, learning, print_places
from tengen.learn.settings import GenerationsConfig
from tengen.learn.zero_settings import ZeroConfig
from tengen.runs.folder import CONFIG_FILE

if TYPE_CHECKING:
    from rich.panel import Panel
    from rich.table import Table

    from tengen.runs.progress import RunProgress

_SPEEDS: Final = ("positions", "simulations")
_BARS: Final = "▁▂▃▄▅▆▇█"


@takes_settings(ZeroConfig, without=("preset",))
def zero(
    given: dict[str, Any],
    preset: Annotated[str | None, preset_option(ZeroConfig.presets)] = None,
    out: Annotated[Path | None, run_option("runs/PRESET")] = None,
    cluster: Cluster = None,
) -> None:
    """Learn a game from nothing but its rules, as AlphaGo Zero did.

    Round after round, the best model plays itself on all cores, the network learns from these games, and becomes
    the model of a new generation. The run directory gets every generation (models/), the best one, metrics.jsonl,
    TensorBoard files and report.html with the learning curve.
    You can stop a run at any time, even by kill -9 or a power cut: [bold]run the same command to resume[/bold]; with
    more --hours it continues after its end. With --out alone, settings are those that the run was given last.

    [bold]Examples[/bold]

    [cyan]tengen learn zero --preset go5[/cyan]

    [cyan]tengen learn zero --preset microchess --hours 12 --gate 0.55 --out runs/chess[/cyan]

    On all nodes of a Ray cluster: [cyan]tengen learn zero --preset go9 --cluster auto[/cyan]
    """
    config, hosts = _configuration(preset, out, given), hosts_at(cluster)
    folder = Path("runs", config.run_name()) if out is None else out
    base = ZeroConfig.preset_config(config.preset) if config.preset else config  # which is in the folder
    words = "tengen learn zero" + (f" --preset {config.preset}" if config.preset else "")
    command = command_line(words, config, base, out=folder, cluster=cluster)

    from tengen.learn.zero import check_config, learn_zero

    check_config(config)  # before a run is announced
    with learning(folder, _summary(config), command) as progress:
        last = learn_zero(config, folder, ZeroDisplay(progress, config).show, hosts=hosts)
    _print_end(folder, config, dict(last))


@takes_settings(GenerationsConfig, without=("preset", *GenerationsConfig.unused))
def generations(
    given: dict[str, Any],
    preset: Annotated[str | None, preset_option(GenerationsConfig.presets)] = None,
    out: Annotated[Path | None, run_option("runs/PRESET-kKOMI")] = None,
    cluster: Cluster = None,
) -> None:
    """Make generations of value networks, as in the Simple-Go lecture (Monte-Carlo policy iteration).

    Generation 1 learns the winners of random games. Each further one learns from games of the last: with the best value
    one ply ahead, and with exploration. Thousands of games go side by side. The run directory gets the networks of each
    generation and player (models/black-01.safetensors, ...), metrics.jsonl, TensorBoard files and curves.png.
    You can stop a run at any time, even by kill -9 or a power cut: [bold]run the same command to resume[/bold]; with
    more --generations it continues after its end. With --out alone, settings are those that the run was given last.

    [bold]Examples[/bold]

    [cyan]tengen learn generations --preset simple-go --komi 3.5 --generations 10[/cyan]

    [cyan]tengen learn generations --preset simple-go --both --games 50000 --out runs/one-network[/cyan]

    Then let all generations meet: [cyan]tengen tournament generations runs/simple-go-k3.5[/cyan]
    """
    if preset is None and (out is None or not (out / CONFIG_FILE).exists()):
        raise ValueError(
            f"give --preset, one of {', '.join(GenerationsConfig.presets)}, or --out with the folder of a run"
        )
    make = GenerationsConfig.preset_config
    config = make(preset, given) if preset is not None else GenerationsConfig.read(out or Path(), given)
    folder = Path("runs", config.run_name()) if out is None else out
    base = make(config.preset) if config.preset else config
    words = "tengen learn generations" + (f" --preset {config.preset}" if config.preset else "")
    command = command_line(words, config, base, out=folder, cluster=cluster)
    spec = config.spec()
    games = f"{config.first_games:,} random games, then {config.games:,} for each generation"
    with learning(folder, f"{spec.game.describe(spec.options)}; {config.network}; {games}", command) as progress:
        from tengen.learn.generations import learn_generations

        def show(now: "RunProgress") -> None:
            if now.line is not None:
                progress.say(generation_line(now.line))
            figures = "  ".join(
                f"{value:,.0f} {name}" if "/s" in name else f"{name} {value:.4f}" for name, value in now.figures.items()
            )
            progress.update(f"generation {now.number}  {now.phase} {now.share:.0%}  {figures}", now.done)

        last = learn_generations(config, folder, show, hosts=cluster_hosts(cluster))
    typer.echo(generation_line(last))
    print_places(folder, Models="models", Curves="curves.png")


def _summary(config: ZeroConfig) -> str:
    """What is learned and how, in a few words."""
    from tengen.games.game import get_game

    game = get_game(config.game).describe(config.game_options())
    search = f"{config.search} search, {config.simulations} simulations"
    length = " or ".join(
        [f"{config.hours:g} hours"] * (config.hours > 0) + [f"{config.iterations} rounds"] * (config.iterations > 0)
    )
    return f"{game}; {config.network}; {search}; {length or 'until stopped'}"


def _configuration(preset: str | None, out: Path | None, given: dict[str, Any]) -> ZeroConfig:
    """The preset's settings, or those of the run in `out`, with what was given."""
    if preset is not None:
        return ZeroConfig.preset_config(preset, given)
    if out is not None and (out / CONFIG_FILE).exists():
        return ZeroConfig.read(out, given)
    if "game" in given:
        return ZeroConfig.of_game(given["game"], given)
    known = ", ".join(ZeroConfig.presets)
    raise ValueError(f"which game? Give --preset, one of {known}, or --game, or --out with the folder of a run")


def _print_end(folder: Path, config: ZeroConfig, last: dict[str, Any]) -> None:
    if not last:
        typer.echo("Time was up before the first round ended: give more --hours")
        return
    typer.echo(
        f"Generation {last['champion']}, {last['positions']:,} positions of {last['games']:,} games, "
        f"{last['seconds'] / 3600:.2f} hours" + (f", Elo {last['elo']:.0f}" if "elo" in last else "")
    )
    print_places(folder, Model="best.safetensors", Report="report.html")
    if config.hours:
        typer.echo(f"To learn more, run the same command with more --hours than {config.hours:g}.")


class ZeroDisplay:
    """Shows a run of `tengen learn zero`: a line for each round, and on a terminal a panel with the latest figures."""

    def __init__(self, progress: Progress, config: ZeroConfig) -> None:
        self._progress, self._config = progress, config
        self._figures: dict[str, float] = {}  # the last of each name
        self._lines: list[Mapping[str, Any]] = []
        self._last_rating: float | None = None

    def show(self, now: "RunProgress") -> None:
        """Take in the progress of a run."""
        self._figures |= now.figures
        if now.line is not None:
            self._lines.append(now.line)
            self._progress.say(round_line(now.line, self._last_rating))
            self._last_rating = now.line.get("elo", self._last_rating)
        asked = self._config.hours * 3600
        left = f" of {clock(asked)}, {clock(max(0.0, asked - now.seconds))} left" if asked else ""
        panel = self._panel() if self._progress.console.is_terminal else None
        text = f"round {now.number}  {now.phase} {now.share:.0%}  {clock(now.seconds)}{left}"
        endless = not (self._config.hours or self._config.iterations)
        self._progress.update(text, now.share if endless else now.done, panel)

    def _panel(self) -> "Panel":
        from rich.panel import Panel
        from rich.table import Table

        columns = Table.grid(padding=(0, 4), expand=True)
        columns.add_row(
            _column("self-play", self._play()),
            _column("training", self._training()),
            _column("strength", self._strength()),
        )
        title = f"{self._config.preset or self._config.game}  {self._config.network.partition(',first_kernel')[0]}"
        return Panel(columns, title=title, border_style="dim")

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
        losses = {name: loss for name, loss in now.items() if name != "rate" and not name.endswith("_per_second")}
        found = {f"{name} loss": f"{loss:.4f}" for name, loss in losses.items() if loss}
        found |= {"rate": f"{now['rate']:.2g}"} if "rate" in now else {}
        if self._lines:
            found |= {"steps": f"{self._lines[-1]['step']:,}", "window": f"{self._lines[-1]['window']:,}"}
        return found

    def _strength(self) -> dict[str, str]:
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
        return found


def round_line(line: Mapping[str, Any], before: float | None) -> str:
    """A completed round in one line."""
    losses = ", ".join(
        f"{name.removeprefix('loss_')} {loss:.3f}" for name, loss in line.items() if name.startswith("loss_") and loss
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


def _column(title: str, found: Mapping[str, str]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 1))
    table.add_column(style="dim")
    table.add_column()
    table.add_row(Text(title, "bold"), "")
    for name, value in found.items():
        table.add_row(name, value)
    return table


def generation_line(line: Mapping[str, Any]) -> str:
    """One generation in words."""
    number = line["step"]
    sides = [name.removesuffix("_constant_loss") for name in line if name.endswith("_constant_loss")]
    networks = "  ".join(
        f"{side} loss {line[f'{side}_loss']:.4f} (of a constant {line[f'{side}_constant_loss']:.4f}), "
        f"{line[f'{side}_accuracy']:.1%} right"
        + (f", {line[f'{side}_policy_accuracy']:.1%} of moves" if f"{side}_policy_accuracy" in line else "")
        + (f", {attempts} attempts" if attempts > 1 else "")
        for side in sides
        for attempts in [line[f"{side}_attempts"]]
    )
    against = ""
    if f"match_{number}_{number}" in line:
        last = number - 1
        first, second = line[f"match_{number}_{last}"], 1 - line[f"match_{last}_{number}"]
        against = f"  against generation {last} {first:.1%} as first, {second:.1%} as second player"
    return (
        f"generation {number:>2}  {line['games']:,} games, first player {line['first']:.1%}, "
        f"{line['length']:.1f} moves  {networks}{against}  play {line['seconds_play']:.0f} s  "
        f"learn {line['seconds_learn']:.0f} s"
    )
