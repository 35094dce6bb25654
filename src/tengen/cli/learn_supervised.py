"""`tengen learn supervised`: a policy network, with a value if you like, from game records."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tengen.cli.cluster_option import Cluster, as_option, cluster_hosts
from tengen.cli.config_options import command_line, takes_config
from tengen.learn.run_directory import CONFIG_FILE
from tengen.learn.supervised_config import SupervisedConfig, run_name

if TYPE_CHECKING:
    from tengen.cli.learn_progress import TrainingScreen

PANELS: Final = {
    "Games": ("data", "size", "games", "min_rank", "first_year", "last_year", "handicap", "komi_spread"),
    "Network": (
        "encoder",
        "network",
        "start_from",
        "value_weight",
        "ownership_weight",
        "average",
        "seed",
        "symmetries",
    ),
    "Optimiser": ("optimizer", "rate", "momentum", "decay", "schedule", "warm_up", "clip", "smoothing", "batch"),
    "Length": ("positions", "hours", "epoch", "validate", "patience"),
    "Machine": ("threads", "device", "loaders", "bf16", "checkpoint"),
}


@takes_config(SupervisedConfig, PANELS)
def supervised(
    config: SupervisedConfig,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Directory of the run; runs/ENCODER-NETWORK-DIGEST if not given, the digest being of all settings.",
            show_default=False,
        ),
    ] = None,
    cluster: Cluster = None,
    workers: Annotated[
        int,
        typer.Option(
            help="With --cluster: processes that train together, this one included; 0: one for each of its cores.",
            rich_help_panel="Machine",
            min=0,
        ),
    ] = 0,
) -> None:
    """Train a network to predict the moves of game records, and with value=yes who won.

    Test games are set apart by a hash of the game, and validation is always on the same test positions. The run
    directory gets the models (best and last), metrics.jsonl, TensorBoard files and report.html.
    [bold]The same command goes on[/bold] where a run was stopped, by Ctrl-C, kill -9 or a power cut.

    [bold]Examples[/bold]

    [cyan]tengen learn supervised --data datasets/kgs --encoder simple --network small[/cyan]

    [cyan]tengen learn supervised --data datasets/kgs --encoder alphago --network residual:blocks=6,filters=64
    --positions 0 --hours 8 --average 0.999 --out runs/go19[/cyan]

    [cyan]tengen learn supervised --data datasets/9x9 --size 9 --encoder compact-komi --komi-spread 4
    --network residual:blocks=6,filters=64,value=yes --out runs/go9[/cyan]

    By all nodes of a Ray cluster, each on its part of every batch:
    [cyan]tengen learn supervised --data datasets/kgs --batch 1024 --cluster auto[/cyan]
    """
    from rich.console import Console

    from tengen.cli.learn_progress import TrainingScreen
    from tengen.learn.optimizers import DEFAULT_RATES
    from tengen.learn.supervised import check_config, learn_supervised

    check_config(config)  # before a run is announced
    folder = Path("runs", run_name(config)) if out is None else out
    console = Console(stderr=True, highlight=False)
    resumed = (folder / "trainer.safetensors").exists()
    console.print(f"{'Resuming' if resumed else 'Run'} {folder}", markup=False, soft_wrap=True)
    rate = config.rate or DEFAULT_RATES[config.optimizer]
    what = f"{config.network} on {config.encoder}, {config.optimizer}, rate {rate:g}"
    console.print(f"{what}; all settings: {folder / CONFIG_FILE}", markup=False, soft_wrap=True)
    with TrainingScreen(console) as progress:
        try:
            best = learn_supervised(
                config, folder, progress.show, hosts=cluster_hosts(cluster, config.device), workers=workers
            )
        except KeyboardInterrupt:
            _say_how_to_resume(progress, config, folder, cluster)
            raise typer.Exit(130) from None
    out_console = Console(highlight=False)
    value = f", value loss {best['value_loss']:.4f}" if "value_loss" in best else ""
    out_console.print(
        f"Best validation: top-1 {best['top1']:.2%}, top-5 {best['top5']:.2%}, loss {best['loss']:.4f}{value} "
        f"at step {best['step']:,}"
    )
    for name, file in (("Model", "best.safetensors"), ("Report", "report.html")):
        out_console.print(f"{name:<10} {folder / file}", markup=False, soft_wrap=True)


def _say_how_to_resume(progress: "TrainingScreen", config: SupervisedConfig, folder: Path, cluster: str | None) -> None:
    command = command_line("tengen learn supervised", config, out=folder, **as_option(cluster))
    progress.say(f"Stopped; everything is saved in {folder}. To resume:\n\n    {command}\n")
