"""`tengen learn zero`: learning from nothing but the rules, by self-play."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tengen.cli.cluster_option import Cluster, as_option, hosts_at
from tengen.cli.config_options import command_line, preset_note, takes_settings
from tengen.learn.run_directory import CONFIG_FILE
from tengen.learn.zero_config import PRESETS, ZeroConfig, game_config, preset_config, read_config, run_name

if TYPE_CHECKING:
    from rich.console import Console

PANELS: Final = {
    "Length": ("hours", "iterations"),
    "Game": ("game", "size", "rules", "komi", "double_step", "limit", "encoder", "network", "start_from", "seed"),
    "Self-play": (
        *("search", "simulations", "first_simulations", "ramp", "slots", "positions", "full_share"),
        *("fast_simulations", "considered", "value_scale", "exploration", "noise", "alpha", "prune", "temperature"),
        *("temperature_plies", "random_plies", "rollouts", "keep_trees", "komi_spread", "resign", "resign_keep"),
    ),
    "Replay memory": ("reuse", "window_first", "window_growth", "window_share", "window_most", "symmetries"),
    "Loss": ("policy_weight", "value_weight", "decay", "ownership_weight", "score_weight", "blend"),
    "Optimiser": (
        *("optimizer", "batch", "rate", "momentum", "schedule", "rate_floor", "warm_up", "clip", "average", "bf16"),
    ),
    "Gate and duels": ("gate", "gate_games", "duel_every", "duel_games", "past", "duel_simulations"),
    "Machine": ("workers", "threads", "device", "overlap", "niceness", "backend", "calibration", "checkpoint"),
}


@takes_settings(ZeroConfig, PANELS, preset_note(ZeroConfig, PRESETS), without=("preset",))
def zero(
    given: dict[str, Any],
    preset: Annotated[
        str | None, typer.Option("--preset", "-p", help=f"What to learn: {', '.join(PRESETS)}.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Directory of the run; runs/PRESET if not given.", show_default=False),
    ] = None,
    cluster: Cluster = None,
) -> None:
    """Learn a game from nothing but its rules, as AlphaGo Zero did.

    Round after round, the best model plays itself on all cores, the network learns from these games, and becomes
    the model of a new generation. The run directory gets every generation (models/), the best one, metrics.jsonl,
    TensorBoard files and report.html with the learning curve.
    [bold]The same command goes on[/bold] where a run was stopped, by Ctrl-C, kill -9 or a power cut; with more --hours
    it goes on after its end. With --out alone, settings are those that the run was given last.

    [bold]Examples[/bold]

    [cyan]tengen learn zero --preset go5[/cyan]

    [cyan]tengen learn zero --preset microchess --hours 12 --gate 0.55 --out runs/chess[/cyan]

    On all nodes of a Ray cluster: [cyan]tengen learn zero --preset go9 --cluster auto[/cyan]
    """
    from rich.console import Console

    from tengen.cli.learn_zero_screen import ZeroScreen

    config, hosts = _configuration(preset, out, given), hosts_at(cluster)
    folder = Path("runs", run_name(config)) if out is None else out
    console = Console(stderr=True, highlight=False)
    resumed = (folder / "metrics.jsonl").exists()
    console.print(f"{'Resuming' if resumed else 'Run'} {folder}", markup=False, soft_wrap=True)
    console.print(_summary(config, folder), markup=False, soft_wrap=True)
    from tengen.learn.zero import learn_zero

    with ZeroScreen(console, folder, config) as screen:
        try:
            last = learn_zero(config, folder, screen.show, hosts=hosts)
        except KeyboardInterrupt:
            base = preset_config(config.preset) if config.preset else config  # which is in the folder
            words = f"tengen learn zero --preset {config.preset}" if config.preset else "tengen learn zero"
            command = command_line(words, config, base, out=folder, **as_option(cluster))
            screen.say(f"Stopped; everything is saved in {folder}. To resume:\n\n    {command}\n")
            raise typer.Exit(130) from None
    _print_end(Console(highlight=False), folder, config, dict(last))


def _summary(config: ZeroConfig, folder: Path) -> str:
    """What is learned and how, in a few words; the rest is in the folder."""
    from tengen.games.game import get_game

    game = get_game(config.game).describe(config.game_options())
    search = f"{config.search} search, {config.simulations} simulations"
    length = " or ".join(
        [f"{config.hours:g} hours"] * (config.hours > 0) + [f"{config.iterations} rounds"] * (config.iterations > 0)
    )
    return f"{game}; {config.network}; {search}; {length or 'until stopped'}; all settings: {folder / CONFIG_FILE}"


def _configuration(preset: str | None, out: Path | None, given: dict[str, Any]) -> ZeroConfig:
    """The preset's settings, or those of the run in `out`, with what was given."""
    if preset is not None:
        return preset_config(preset, given)
    if out is not None and (out / "config.toml").exists():
        return read_config(out, given)
    if "game" in given:
        return game_config(given["game"], given)
    raise ValueError(
        f"which game? Give --preset, one of {', '.join(PRESETS)}, or --game, or --out with the folder of a run"
    )


def _print_end(console: "Console", folder: Path, config: ZeroConfig, last: dict[str, Any]) -> None:
    if not last:
        console.print("Time was up before the first round ended: give more --hours")
        return
    console.print(
        f"Generation {last['champion']}, {last['positions']:,} positions of {last['games']:,} games, "
        f"{last['seconds'] / 3600:.2f} hours" + (f", Elo {last['elo']:.0f}" if "elo" in last else "")
    )
    for name, file in (("Model", "best.safetensors"), ("Report", "report.html")):
        console.print(f"{name:<10} {folder / file}", markup=False, soft_wrap=True)
    if config.hours:
        console.print(f"To learn on, give the same command with more --hours than {config.hours:g}.")
