"""`tengen learn reinforce`: a policy that improves by playing against itself, stage 2 of AlphaGo."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tengen.cli.cluster_option import Cluster, as_option, cluster_hosts
from tengen.cli.config_options import command_line, takes_config
from tengen.cli.progress_screen import ProgressScreen
from tengen.learn.reinforce_config import ReinforceConfig
from tengen.learn.run_directory import CONFIG_FILE

if TYPE_CHECKING:
    from rich.console import Console

    from tengen.learn.reinforce import ReinforceProgress

PANELS: Final = {
    "Games": ("start_from", "rules", "komi", "komi_spread", "limit", "opponent", "games", "snapshot", "temperature"),
    "Learning": (
        *("baseline", "value_weight", "entropy", "optimizer", "rate", "momentum", "clip", "batch", "trust", "passes"),
        "seed",
    ),
    "Length": ("updates", "hours", "measure", "match_games"),
    "Machine": ("workers", "threads", "device", "backend", "bf16", "keep"),
}


@takes_config(ReinforceConfig, PANELS)
def reinforce(
    config: ReinforceConfig,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Directory of the run; runs/MODEL-reinforce if not given.", show_default=False
        ),
    ] = None,
    cluster: Cluster = None,
) -> None:
    """Improve a policy by playing against its own earlier versions: stage 2 of AlphaGo (Silver et al. 2016).

    In every update the policy plays games against one opponent of a pool, both drawing their moves, and makes the moves
    of the games that it won more likely, those of the games that it lost less likely (REINFORCE). Every few updates it
    plays a match against the policy that it started from. The run directory gets the best model (best.safetensors),
    the pool (models/), metrics.jsonl, TensorBoard files and report.html with the learning curve.
    [bold]The same command goes on[/bold] where a run was stopped, by Ctrl-C, kill -9 or a power cut; with more
    --updates or --hours it goes on after its end.

    [bold]Examples[/bold]

    [cyan]tengen learn reinforce --start-from go9 --komi 7 --out runs/rl9[/cyan]

    [cyan]tengen learn reinforce --start-from runs/go19/best.safetensors --games 128 --updates 0 --hours 8[/cyan]

    Plain self-play against a copy, as in the AlphaGo lecture, without a baseline:

    [cyan]tengen learn reinforce --start-from go9 --opponent self --baseline none --trust 0 --batch 100000
    --optimizer sgd --rate 0.01[/cyan]
    """
    from rich.console import Console

    folder = Path("runs", f"{Path(config.start_from).stem}-reinforce") if out is None else out
    console = Console(stderr=True, highlight=False)
    resumed = (folder / "metrics.jsonl").exists()
    console.print(f"{'Resuming' if resumed else 'Run'} {folder}", markup=False, soft_wrap=True)
    what = f"{config.start_from}, {config.games} games an update against {config.opponent}, {config.optimizer}"
    console.print(f"{what}, rate {config.rate:g}; all settings: {folder / CONFIG_FILE}", markup=False, soft_wrap=True)
    from tengen.learn.reinforce import learn_reinforce

    with ReinforceScreen(console) as screen:
        try:
            best = learn_reinforce(config, folder, screen.show, hosts=cluster_hosts(cluster))
        except KeyboardInterrupt:
            command = command_line("tengen learn reinforce", config, out=folder, **as_option(cluster))
            screen.say(f"Stopped; everything is saved in {folder}. To resume:\n\n    {command}\n")
            raise typer.Exit(130) from None
    _print_end(Console(highlight=False), folder, best)


def update_line(line: Mapping[str, Any]) -> str:
    """One update in words."""
    met = f"against {line['opponent']:>4} {line['points']:6.1%}  " if "points" in line else ""
    match = ""
    if "score" in line:
        match = f"  match against the start {line['score']:.1%} ({line['score_low']:.1%} to {line['score_high']:.1%})"
    return (
        f"update {line['step']:>5}  {met}first player {line['first']:.0%}  {line['length']:.0f} moves  "
        f"entropy {line['entropy']:.3f}  play {line['seconds_play']:.0f} s  learn {line['seconds_learn']:.0f} s{match}"
    )


class ReinforceScreen(ProgressScreen):
    """A bar on a terminal; elsewhere only a line for each update."""

    def show(self, now: "ReinforceProgress") -> None:
        """Take in the progress of a run."""
        if now.line is not None:
            self.say(update_line(now.line))
        figures = "  ".join(f"{name} {value:.3f}" for name, value in now.figures.items())
        share = f" {now.share:.0%}" if now.phase == "learning" else ""
        self.update(f"update {now.update}  {now.phase}{share}  {figures}", now.done)


def _print_end(console: "Console", folder: Path, best: Mapping[str, Any]) -> None:
    if not best:
        console.print("Time was up before the first match against the policy of the start: give more --hours")
        return
    console.print(
        f"Best match against the policy of the start: {best['score']:.1%} "
        f"(95%: {best['score_low']:.1%} to {best['score_high']:.1%}) after update {best['step']}"
    )
    for name, file in (("Model", "best.safetensors"), ("Report", "report.html")):
        console.print(f"{name:<10} {folder / file}", markup=False, soft_wrap=True)
