"""`tengen learn generations`: value networks that learn from the games of the generation before."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tengen.cli.cluster_option import Cluster, as_option, cluster_hosts
from tengen.cli.config_options import command_line, preset_note, takes_settings
from tengen.cli.progress_screen import ProgressScreen
from tengen.learn.generations_config import (
    PRESETS,
    UNUSED_SETTINGS,
    GenerationsConfig,
    preset_config,
    read_config,
    run_name,
)
from tengen.learn.run_directory import CONFIG_FILE

if TYPE_CHECKING:
    from tengen.learn.generations import GenerationProgress

PANELS: Final = {
    "Length": ("generations", "first_games", "games", "positions"),
    "Game": ("game", "size", "rules", "komi", "limit"),
    "Games": ("opening", "rate_limit", "simulations"),
    "Network": ("encoder", "network", "both", "policy", "keep_weights", "attempts", "average", "seed", "symmetries"),
    "Optimiser": ("optimizer", "rate", "momentum", "decay", "schedule", "warm_up", "clip", "batch"),
    "Measures": ("match_games", "epoch", "validate", "patience"),
    "Machine": ("workers", "threads", "device", "loaders", "backend", "bf16", "checkpoint", "keep"),
}


@takes_settings(
    GenerationsConfig, PANELS, preset_note(GenerationsConfig, PRESETS), without=("preset", *UNUSED_SETTINGS)
)
def generations(
    given: dict[str, Any],
    preset: Annotated[
        str | None, typer.Option("--preset", "-p", help=f"What to learn: {', '.join(PRESETS)}.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Directory of the run; runs/PRESET-kKOMI if not given.", show_default=False),
    ] = None,
    cluster: Cluster = None,
) -> None:
    """Make generations of value networks, as in the Simple-Go lecture (Monte-Carlo policy iteration).

    Generation 1 learns who wins from random games. Each further one learns from games of the last: with the best value
    one ply ahead, and with exploration. Thousands of games go side by side. The run directory gets the networks of each
    generation and player (models/black-01.safetensors, ...), metrics.jsonl, TensorBoard files and curves.png.
    [bold]The same command goes on[/bold] where a run was stopped, by Ctrl-C, kill -9 or a power cut; with more
    --generations it goes on after its end. With --out alone, settings are those that the run was given last.

    [bold]Examples[/bold]

    [cyan]tengen learn generations --preset simple-go --komi 3.5 --generations 10[/cyan]

    [cyan]tengen learn generations --preset simple-go --both --games 50000 --out runs/one-network[/cyan]

    Then let all generations meet: [cyan]tengen tournament generations runs/simple-go-k3.5[/cyan]
    """
    from rich.console import Console

    if preset is None and (out is None or not (out / CONFIG_FILE).exists()):
        raise ValueError(f"give --preset, one of {', '.join(PRESETS)}, or --out with the folder of a run")
    config = preset_config(preset, given) if preset is not None else read_config(out or Path(), given)
    folder = Path("runs", run_name(config)) if out is None else out
    console = Console(stderr=True, highlight=False)
    resumed = (folder / "metrics.jsonl").exists()
    console.print(f"{'Resuming' if resumed else 'Run'} {folder}", markup=False, soft_wrap=True)
    console.print(_summary(config, folder), markup=False, soft_wrap=True)
    from tengen.learn.generations import learn_generations

    with GenerationsScreen(console) as screen:
        try:
            last = learn_generations(config, folder, screen.show, hosts=cluster_hosts(cluster))
        except KeyboardInterrupt:
            base = preset_config(config.preset) if config.preset else config
            words = "tengen learn generations" + (f" --preset {config.preset}" if config.preset else "")
            command = command_line(words, config, base, out=folder, **as_option(cluster))
            screen.say(f"Stopped; everything is saved in {folder}. To resume:\n\n    {command}\n")
            raise typer.Exit(130) from None
    output = Console(highlight=False)
    output.print(generation_line(last), markup=False, soft_wrap=True)
    for name, file in (("Models", "models"), ("Curves", "curves.png")):
        output.print(f"{name:<10} {folder / file}", markup=False, soft_wrap=True)


def _summary(config: GenerationsConfig, folder: Path) -> str:
    """What is learned and how, in a few words; the rest is in the folder."""
    spec = config.spec()
    games = f"{config.first_games:,} random games, then {config.games:,} a generation"
    return f"{spec.game.describe(spec.options)}; {config.network}; {games}; all settings: {folder / CONFIG_FILE}"


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


class GenerationsScreen(ProgressScreen):
    """A bar on a terminal; elsewhere only a line for each generation."""

    def show(self, now: "GenerationProgress") -> None:
        """Take in the progress of a run."""
        if now.line is not None:
            self.say(generation_line(now.line))
        figures = "  ".join(
            f"{value:,.0f} {name}" if "/s" in name else f"{name} {value:.4f}" for name, value in now.figures.items()
        )
        what = f"{now.phase} {now.side}".strip()
        self.update(f"generation {now.generation}  {what} {now.share:.0%}  {figures}", now.done)
