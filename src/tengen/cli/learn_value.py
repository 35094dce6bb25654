"""`tengen learn value`: a value network, or the value of a network with both heads, from games that policies play."""

from pathlib import Path
from typing import Annotated, Final

import typer

from tengen.cli.cluster_option import Cluster, as_option, cluster_hosts
from tengen.cli.config_options import command_line, takes_config
from tengen.learn.run_directory import CONFIG_FILE
from tengen.learn.value_config import ValueConfig

PANELS: Final = {
    "Games": (
        "policy",
        "rl",
        "games",
        "data",
        "last_move",
        "temperature",
        "size",
        "rules",
        "komi",
        "komi_spread",
        "workers",
    ),
    "Network": ("encoder", "network", "start_from", "policy_weight", "average", "seed", "symmetries"),
    "Records": ("records", "records_share"),
    "Optimiser": ("optimizer", "rate", "momentum", "decay", "schedule", "warm_up", "clip", "batch"),
    "Length": ("positions", "hours", "epoch", "validate", "patience"),
    "Machine": ("threads", "device", "loaders", "bf16", "checkpoint"),
}


@takes_config(ValueConfig, PANELS)
def value(
    config: ValueConfig,
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory of the run.", show_default=False)],
    cluster: Cluster = None,
) -> None:
    """Play games between policies, keep one position of each, and train a network to predict who wins.

    As in AlphaGo (Silver et al. 2016): the supervised policy plays up to move U - 1, move U is drawn at random, and the
    policy that learned by reinforcement plays to the end; the position after move U is the one to learn from. The value
    loss is the mean of (z - v)^2, with z 1 for a win of the player to move and -1 for a loss.

    [bold]The same command goes on[/bold] where it was stopped, while playing and while training.

    [bold]Examples[/bold]

    AlphaGo's value network: [cyan]tengen learn value --policy go9 --rl runs/rl9/best.safetensors
    --network alphago-value:layers=7,filters=64 --games 200000 --out runs/value9[/cyan]

    One network with both heads, from the same games: [cyan]tengen learn value --data runs/value9/games --games 0
    --start-from go9 --out runs/both9[/cyan]

    Games played by all nodes of a Ray cluster: [cyan]tengen learn value --policy go9 --cluster auto
    --out runs/value9[/cyan]
    """
    from rich.console import Console

    from tengen.cli.learn_progress import TrainingScreen
    from tengen.learn.value import learn_value, resolve

    console = Console(stderr=True, highlight=False)
    config, hosts = resolve(config), cluster_hosts(cluster)
    console.print(f"Run {out}: {config.network} on {config.encoder}", markup=False, soft_wrap=True)
    console.print(f"All settings: {out / CONFIG_FILE}", markup=False, soft_wrap=True)
    with TrainingScreen(console) as progress:
        try:
            best = learn_value(config, out, progress.show, progress.show_games, hosts)
        except KeyboardInterrupt:
            command = command_line("tengen learn value", config, out=out, **as_option(cluster))
            progress.say(f"Stopped; everything is saved in {out}. To resume:\n\n    {command}\n")
            raise typer.Exit(130) from None
    out_console = Console(highlight=False)
    out_console.print(
        f"Best validation: mean of (z - v)^2 {best['value_loss']:.4f} ± {best['value_loss_standard_error']:.4f} "
        f"(standard error) on test games, {best['train_value_loss']:.4f} on games learned from, "
        f"at step {best['step']:,}",
        soft_wrap=True,
    )
    for name, file in (("Model", "best.safetensors"), ("Curves", "curves.png")):
        out_console.print(f"{name:<10} {out / file}", markup=False, soft_wrap=True)
