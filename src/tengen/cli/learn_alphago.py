"""`tengen learn alphago`: from game records to an AlphaGo, every stage in one command."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tengen.cli.cluster_option import Cluster, as_option, cluster_hosts
from tengen.cli.config_options import command_line, preset_note, takes_settings
from tengen.learn.alphago_config import PRESETS, AlphaGoConfig, preset_config, read_config
from tengen.learn.run_directory import CONFIG_FILE

if TYPE_CHECKING:
    from tengen.learn.alphago import AlphaGoProgress

_PANELS: Final = {
    "Game and records": ("size", "komi", "data", "teacher", "teacher_games"),
    "Policy network": ("policy", "encoder", "network", "positions", "rate", "batch"),
    "Fast policy": ("fast", "fast_passes"),
    "Policy gradient": ("updates", "update_games", "match_games"),
    "Value": ("value_encoder", "value_network", "value_games", "value_passes"),
    "Ablation": ("ablation_games", "ablation_seconds"),
    "Machine": ("workers", "device", "seed"),
}


@takes_settings(AlphaGoConfig, _PANELS, preset_note(AlphaGoConfig, PRESETS), without=("preset",))
def alphago(
    given: dict[str, Any],
    preset: Annotated[
        str | None, typer.Option("--preset", "-p", help=f"What to learn: {', '.join(PRESETS)}.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Directory of the run; runs/alphago-PRESET if not given.", show_default=False),
    ] = None,
    cluster: Cluster = None,
) -> None:
    """Learn Go as AlphaGo did: a policy and a fast policy from records, policy gradient, a value, search.

    All stages run one after the other, each in a folder of the run directory; report.html has accuracy, win rates,
    the error of the value, sample games and the ablation. The preset go5 needs no records, and takes
    four minutes on two free cores.
    [bold]The same command goes on[/bold] where a run was stopped, by Ctrl-C, kill -9 or a power cut.

    [bold]Examples[/bold]

    [cyan]tengen learn alphago --preset go5[/cyan]

    [cyan]tengen learn alphago --preset go9 --data datasets/9x9 --out runs/alphago9[/cyan]

    [cyan]tengen learn alphago --preset go9 --data datasets/9x9 --policy go9 --fast fast9[/cyan]

    [cyan]tengen match alphago:runs/alphago-go5/alphago.safetensors uct --size 5 --komi 3.5[/cyan]
    """
    from rich.console import Console

    from tengen.learn.alphago import MODEL_FILE, learn_alphago

    config = _configuration(preset, out, given)
    folder = Path("runs", f"alphago-{config.preset}") if out is None else out
    console = Console(stderr=True, highlight=False)
    resumed = (folder / CONFIG_FILE).exists()
    console.print(f"{'Resuming' if resumed else 'Run'} {folder}", markup=False, soft_wrap=True)
    with _Screen(console) as screen:
        try:
            learn_alphago(config, folder, screen.show, hosts=cluster_hosts(cluster))
        except KeyboardInterrupt:
            base = preset_config(config.preset) if config.preset else AlphaGoConfig()
            command = command_line(
                "tengen learn alphago", config, base, preset=config.preset, out=folder, **as_option(cluster)
            )
            screen.say(f"Stopped; what is done is saved in {folder}. To resume:\n\n    {command}\n")
            raise typer.Exit(130) from None
    printed = Console(highlight=False)
    for name, file in (("Model", MODEL_FILE), ("Report", "report.html")):
        printed.print(f"{name:<10} {folder / file}", markup=False, soft_wrap=True)


def _configuration(preset: str | None, out: Path | None, given: dict[str, Any]) -> AlphaGoConfig:
    """What is asked for: the preset, or else what the run in `out` was given, but for what is given now."""
    if preset is None and out is not None and (out / CONFIG_FILE).exists():
        return read_config(out, given)
    if preset is None:
        raise typer.BadParameter(f"name a preset: {', '.join(PRESETS)}", param_hint="--preset")
    config = preset_config(preset, given)
    if preset != "go5" and not config.data and "teacher" not in given:
        raise typer.BadParameter(
            "this preset learns from records: make a dataset of them by tengen data build, and name its folder; or let "
            "a --teacher play games",
            param_hint="--data",
        )
    return config


class _Screen:
    """A bar for the stage under way, and a line for each that ends."""

    def __init__(self, console: Any) -> None:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
        )
        self._bar = Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
        self._task = self._bar.add_task("", total=1.0)
        self._stage = ""

    def __enter__(self) -> "_Screen":
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def show(self, now: "AlphaGoProgress") -> None:
        """Take in the progress of a run."""
        title = f"{now.number}/{now.stages} {now.stage}"
        if now.stage != self._stage:
            self._stage = now.stage
            self._bar.reset(self._task, total=1.0)
            self.say(f"{title} ...")
        self._bar.update(self._task, description=f"{title}  {now.text}", completed=now.done)
        if now.figures is not None:
            self.say(f"{title}: {_in_words(now.figures)}")

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)


def _in_words(figures: dict[str, Any]) -> str:
    """The figures of a stage in one line."""
    return ", ".join(f"{name.replace('_', ' ')} {_text(value)}" for name, value in figures.items())


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name} {_text(each)}" for name, each in value.items())
    if isinstance(value, list):
        return "..".join(map(_text, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)
