"""AlphaGo and its stages: `tengen learn supervised`, `fast-policy`, `reinforce`, `value`, all as `alphago`; `sweep`.

Silver et al. 2016, "Mastering the game of Go with deep neural networks and tree search".
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tengen.cli.options import (
    Cluster,
    cluster_hosts,
    command_line,
    preset_option,
    run_option,
    takes_config,
    takes_settings,
)
from tengen.cli.progress import Progress, learning, print_places
from tengen.learn.alphago import AlphaGoConfig
from tengen.learn.settings import ReinforceConfig, SupervisedConfig, ValueConfig
from tengen.runs.folder import CONFIG_FILE

if TYPE_CHECKING:
    from rich.table import Table

    from tengen.learn.sweep import SweepResult
    from tengen.runs.progress import RunProgress


@takes_config(SupervisedConfig)
def supervised(
    config: SupervisedConfig,
    out: Annotated[Path | None, run_option("runs/ENCODER-NETWORK-DIGEST")] = None,
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
    """Train a network to predict the moves of game records, and with value=yes the winner.

    The train/test split is a hash of the game, and validation is always on the same test positions. The run
    directory gets the models (best and last), metrics.jsonl, TensorBoard files and report.html.
    You can stop a run at any time, even by kill -9 or a power cut: [bold]run the same command to resume[/bold].

    [bold]Examples[/bold]

    [cyan]tengen learn supervised --data datasets/kgs --encoder simple --network residual:blocks=2,filters=32
    --rate 0.1 --batch 64 --average 0.99 --positions 100000 --out runs/first[/cyan]

    The KGS lecture's network: [cyan]tengen learn supervised --data datasets/kgs --encoder simple --network small[/cyan]

    [cyan]tengen learn supervised --data datasets/kgs --encoder alphago --network residual:blocks=6,filters=64
    --positions 0 --hours 8 --average 0.999 --out runs/go19[/cyan]

    [cyan]tengen learn supervised --data datasets/9x9 --size 9 --encoder compact-komi --komi-spread 4
    --network residual:blocks=6,filters=64,value=yes --out runs/go9[/cyan]

    By all nodes of a Ray cluster, each on its part of every batch:
    [cyan]tengen learn supervised --data datasets/kgs --batch 1024 --cluster auto[/cyan]
    """
    from tengen.learn.optimizers import DEFAULT_RATES
    from tengen.learn.supervised import check_config, learn_supervised

    check_config(config)  # before a run is announced
    folder = Path("runs", config.run_name()) if out is None else out
    rate = config.rate or DEFAULT_RATES[config.optimizer]
    what = f"{config.network} on {config.encoder}, {config.optimizer}, rate {rate:g}"
    command = command_line("tengen learn supervised", config, out=folder, cluster=cluster)
    with learning(folder, what, command) as progress:
        show = TrainingDisplay(progress).show
        hosts = cluster_hosts(cluster, config.device)
        best = learn_supervised(config, folder, show, hosts=hosts, workers=workers)
    value = f", value loss {best['value_loss']:.4f}" if "value_loss" in best else ""
    typer.echo(
        f"Best validation: top-1 {best['top1']:.2%}, top-5 {best['top5']:.2%}, loss {best['loss']:.4f}{value} "
        f"at step {best['step']:,}"
    )
    print_places(folder, Model="best.safetensors", Report="report.html")


def fast_policy(
    data: Annotated[Path, typer.Option("--data", "-d", help="Folder of the dataset.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Model file to write.")],
    games: Annotated[int, typer.Option(help="Games to draw; 0 for all.")] = 0,
    passes: Annotated[int, typer.Option(help="How often to go through them.")] = 1,
    rate: Annotated[float, typer.Option(help="Learning rate at the beginning; it falls to zero.")] = 0.2,
    batch: Annotated[int, typer.Option(help="Games side by side: positions in a mini-batch.")] = 64,
    chunk: Annotated[int, typer.Option(help="Games between two validations.")] = 1000,
    validate: Annotated[int, typer.Option(help="Test games for a validation; 0 for all.")] = 200,
    size: Annotated[int, typer.Option("--size", "-s", help="Board size of the games.")] = 19,
    min_rank: Annotated[int, typer.Option(help="Weakest player, 1 for 1 dan, 11 for professionals; 0 for any.")] = 0,
    seed: Annotated[int, typer.Option(help="The same seed gives the same policy.")] = 1,
) -> None:
    """Learn the fast policy of the AlphaGo paper: local shapes and simple tactics, microseconds per move.

    [bold]Run the same command to resume[/bold] where it was stopped.

    [bold]Example[/bold]

    [cyan]tengen learn fast-policy --data datasets/kgs --out fast19.safetensors[/cyan]
    """
    from tengen.learn.fast_policy import FastPolicyConfig, train_fast_policy

    config = FastPolicyConfig(str(data), games, passes, rate, batch, chunk, validate, size, min_rank, seed)
    with Progress() as progress:

        def show(now: "RunProgress") -> None:
            found, tested = now.figures, now.line or {}
            progress.update(f"{found['games']:,} of {found['wanted']:,} games", now.done)
            progress.say(
                f"{found['games']:>8,} games, {found['positions']:>11,} positions: loss {found['loss']:.4f}; test loss "
                f"{tested['loss']:.4f}, top-1 {tested['top1']:.1%}, top-5 {tested['top5']:.1%} "
                f"({found['positions/s']:,.0f} positions/s)"
            )

        validation = train_fast_policy(config, out, show)
    typer.echo(f"top-1 {validation['top1']:.2%}, top-5 {validation['top5']:.2%}, loss {validation['loss']:.4f}: {out}")


@takes_config(ReinforceConfig)
def reinforce(
    config: ReinforceConfig,
    out: Annotated[Path | None, run_option("runs/MODEL-reinforce")] = None,
    cluster: Cluster = None,
) -> None:
    """Improve a policy by playing against its own earlier versions: stage 2 of AlphaGo (Silver et al. 2016).

    In every update the policy plays games against one opponent of a pool, both drawing their moves, and makes the moves
    of the games that it won more likely, those of the games that it lost less likely (REINFORCE). Every few updates it
    plays a match against the policy that it started from. The run directory gets the best model (best.safetensors),
    the pool (models/), metrics.jsonl, TensorBoard files and report.html with the learning curve.
    You can stop a run at any time, even by kill -9 or a power cut: [bold]run the same command to resume[/bold]; with
    more --updates or --hours it continues after its end.

    [bold]Examples[/bold]

    [cyan]tengen learn reinforce --start-from go9 --komi 7 --out runs/rl9[/cyan]

    [cyan]tengen learn reinforce --start-from runs/go19/best.safetensors --update-games 128 --updates 0 --hours 8[/cyan]

    Plain self-play against a copy, as in the AlphaGo lecture, without a baseline:

    [cyan]tengen learn reinforce --start-from go9 --opponents self --baseline none --trust 0 --batch 100000
    --optimizer sgd --rate 0.01[/cyan]
    """
    folder = Path("runs", f"{Path(config.start_from).stem}-reinforce") if out is None else out
    what = f"{config.start_from}, {config.games} games per update against {config.opponent}, {config.optimizer}"
    command = command_line("tengen learn reinforce", config, out=folder, cluster=cluster)
    with learning(folder, f"{what}, rate {config.rate:g}", command) as progress:
        from tengen.learn.reinforce import learn_reinforce

        def show(now: "RunProgress") -> None:
            if now.line is not None:
                progress.say(update_line(now.line))
            figures = "  ".join(f"{name} {value:.3f}" for name, value in now.figures.items())
            share = f" {now.share:.0%}" if now.phase == "learning" else ""
            progress.update(f"update {now.number}  {now.phase}{share}  {figures}", now.done)

        best = learn_reinforce(config, folder, show, hosts=cluster_hosts(cluster))
    if not best:
        typer.echo("Time was up before the first match against the policy of the start: give more --hours")
        return
    typer.echo(
        f"Best match against the policy of the start: {best['score']:.1%} "
        f"(95%: {best['score_low']:.1%} to {best['score_high']:.1%}) after update {best['step']}"
    )
    print_places(folder, Model="best.safetensors", Report="report.html")


@takes_config(ValueConfig)
def value(
    config: ValueConfig,
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory of the run.")],
    cluster: Cluster = None,
) -> None:
    """Play games between policies, keep one position of each, and train a network to predict the winner.

    As in AlphaGo (Silver et al. 2016): the supervised policy plays up to move U - 1, move U is drawn at random, and the
    policy that learned by reinforcement plays to the end; the position after move U is the one to learn from. The value
    loss is the mean of (z - v)^2, with z 1 for a win of the player to move and -1 for a loss.

    [bold]Run the same command to resume[/bold] where it was stopped, while playing and while training.

    [bold]Examples[/bold]

    AlphaGo's value network: [cyan]tengen learn value --policy go9 --rl runs/rl9/best.safetensors
    --network alphago-value:layers=7,filters=64 --games 200000 --out runs/value9[/cyan]

    One network with both heads, from the same games: [cyan]tengen learn value --data runs/value9/games --games 0
    --start-from go9 --out runs/both9[/cyan]

    Games played by all nodes of a Ray cluster: [cyan]tengen learn value --policy go9 --cluster auto
    --out runs/value9[/cyan]
    """
    from tengen.learn.value import check_config, learn_value, resolve

    config = resolve(config)
    check_config(config)  # before a run is announced
    command = command_line("tengen learn value", config, out=out, cluster=cluster)
    with learning(out, f"{config.network} on {config.encoder}", command) as progress:
        best = learn_value(config, out, TrainingDisplay(progress).show, cluster_hosts(cluster))
    typer.echo(
        f"Best validation: mean of (z - v)^2 {best['value_loss']:.4f} ± {best['value_loss_standard_error']:.4f} "
        f"(standard error) on test games, {best['train_value_loss']:.4f} on games learned from, "
        f"at step {best['step']:,}"
    )
    print_places(out, Model="best.safetensors", Curves="curves.png")


@takes_settings(AlphaGoConfig, without=("preset",))
def alphago(
    given: dict[str, Any],
    preset: Annotated[str | None, preset_option(AlphaGoConfig.presets)] = None,
    out: Annotated[Path | None, run_option("runs/alphago-PRESET")] = None,
    cluster: Cluster = None,
) -> None:
    """Learn Go as AlphaGo did: a policy and a fast policy from records, policy gradient, a value, search.

    All stages run one after the other, each in a folder of the run directory; report.html has accuracy, win rates,
    the error of the value, sample games and the ablation. The preset go5 needs no records, and takes
    four minutes on two free cores.
    You can stop a run at any time, even by kill -9 or a power cut: [bold]run the same command to resume[/bold].

    [bold]Examples[/bold]

    [cyan]tengen learn alphago --preset go5[/cyan]

    [cyan]tengen learn alphago --preset go9 --data datasets/9x9 --out runs/alphago9[/cyan]

    [cyan]tengen learn alphago --preset go9 --data datasets/9x9 --policy go9 --fast fast9[/cyan]

    [cyan]tengen match alphago:runs/alphago-go5/alphago.safetensors uct --size 5 --komi 3.5[/cyan]
    """
    from tengen.learn.alphago import MODEL_FILE, learn_alphago

    config = _configuration(preset, out, given)
    folder = Path("runs", f"alphago-{config.preset}") if out is None else out
    base = AlphaGoConfig.preset_config(config.preset) if config.preset else AlphaGoConfig()
    command = command_line(
        "tengen learn alphago", config, base, preset=config.preset or None, out=folder, cluster=cluster
    )
    with learning(folder, f"{config.size}x{config.size}, komi {config.komi:g}; {config.network}", command) as progress:
        begun = ""

        def show(now: "RunProgress") -> None:
            nonlocal begun
            title = f"stage {now.number}, {now.phase}"
            if title != begun:
                begun = title
                progress.say(f"{title} ...")
            moment = "  ".join(f"{name} {_text(value)}" for name, value in now.figures.items())
            progress.update(f"{title}  {moment}", now.share)
            if now.line is not None:
                figures = (f"{name.replace('_', ' ')} {_text(value)}" for name, value in now.line.items())
                progress.say(f"{title}: {', '.join(figures)}")

        learn_alphago(config, folder, show, hosts=cluster_hosts(cluster))
    print_places(folder, Model=MODEL_FILE, Report="report.html")


@takes_config(
    SupervisedConfig,
    without=("encoder", "network", "optimizer", "batch", "start_from", "patience"),
    positions=100_000,
    epoch=10_000,
)
def sweep(
    config: SupervisedConfig,
    encoders: Annotated[str, typer.Option(help="Encoders to try.")] = "simple,oneplane,sevenplane,alphago",
    networks: Annotated[
        str, typer.Option(help="Networks to try, with settings if you like: small,residual:blocks=2,filters=32.")
    ] = "small,medium,residual:blocks=4,filters=32",
    optimizers: Annotated[
        str, typer.Option(help="Optimisers to try, with a learning rate if you like: sgd,sgd=0.01,adam=0.003.")
    ] = "sgd,adagrad,adadelta,adam",
    batches: Annotated[str, typer.Option(help="Batch sizes to try.")] = "128",
    grid: Annotated[
        bool, typer.Option("--grid", help="Try all combinations; else one thing is varied at a time.")
    ] = False,
    out: Annotated[Path | None, run_option("runs/sweep-DATA")] = None,
) -> None:
    """Compare encoders, networks and optimisers: each run has the same positions and the same validation.

    The first of each list is the base point, from which one thing is varied at a time. The outcome is a table here
    and in sweep.json, sweep.csv and sweep.md, and a picture, sweep.png, which also shows accuracy against time.
    [bold]Run the same command to resume[/bold] a sweep that was stopped.

    [bold]Example[/bold]

    [cyan]tengen learn sweep --data datasets/kgs --positions 100000 --encoders simple,oneplane,alphago
    --networks small --optimizers sgd,adagrad,adadelta,adam[/cyan]
    """
    from rich.console import Console

    from tengen.learn.sweep import check_points, run_sweep, split_list, sweep_points

    points = sweep_points(
        config, split_list(encoders), split_list(networks), split_list(optimizers), _numbers(batches), grid
    )
    check_points(points)  # before anything is announced
    folder = Path("runs", f"sweep-{Path(config.data).name}") if out is None else out
    typer.echo(f"{len(points)} runs in {folder}", err=True)
    with Progress() as progress, progress.resumable(folder):
        shown, names = TrainingDisplay(progress), list(points)

        def show(name: str, now: "RunProgress") -> None:
            shown.entitle(f"[{names.index(name) + 1}/{len(names)}] {name}")
            shown.show(now)

        outcomes = run_sweep(points, folder, show)
    Console(highlight=False).print(_sweep_table(outcomes))
    print_places(folder, Picture="sweep.png")


class TrainingDisplay:
    """Shows the training of a network: its figures, and a line for each validation."""

    def __init__(self, progress: Progress, title: str = "training") -> None:
        self._progress, self._title = progress, title
        self._top1: float | None = None

    def show(self, now: "RunProgress") -> None:
        """Take in the progress of a run."""
        figures = now.figures
        if now.phase == "playing":
            what = f"{figures['games']:,} of {figures['wanted']:,} games  {figures['games/s']:.1f} games/s"
            self._progress.update(f"playing  {what}", now.share)
            if not self._progress.console.is_terminal:
                self._progress.say(f"playing  {what}")
            return
        if now.line is not None:
            self._top1 = now.line.get("test_top1")
            self._progress.say(validation_line(now.line, figures["positions/s"]))
        top1 = f"top-1 {self._top1:.1%}  " if self._top1 is not None else ""
        speed = f"{figures['positions/s']:,.0f} positions/s"
        shown = f"loss {figures['loss']:.3f}  {top1}rate {figures['rate']:.2g}  {speed}"
        self._progress.update(f"{self._title}  {shown}", now.done)

    def entitle(self, title: str) -> None:
        """Give what follows another title, and print it if it is new."""
        if title != self._title:
            self._title, self._top1 = title, None
            self._progress.say(title)


def validation_line(line: Mapping[str, Any], speed: float) -> str:
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


def _configuration(preset: str | None, out: Path | None, given: dict[str, Any]) -> AlphaGoConfig:
    """What is asked for: the preset, or else what the run in `out` was given, but for what is given now."""
    if preset is None and out is not None and (out / CONFIG_FILE).exists():
        return AlphaGoConfig.read(out, given)
    if preset is None:
        raise typer.BadParameter(f"name a preset: {', '.join(AlphaGoConfig.presets)}", param_hint="--preset")
    config = AlphaGoConfig.preset_config(preset, given)
    if preset != "go5" and not config.data and "teacher" not in given:
        raise typer.BadParameter(
            "this preset learns from records: make a dataset of them by tengen data build, and name its folder; or let "
            "a --teacher play games",
            param_hint="--data",
        )
    return config


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name} {_text(each)}" for name, each in value.items())
    if isinstance(value, list):
        return "..".join(map(_text, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _numbers(text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise ValueError(f"batches {text!r} are no numbers: write them as in 32,128") from None


def _sweep_table(outcomes: "list[SweepResult]") -> "Table":
    from rich import box
    from rich.table import Table

    from tengen.learn.sweep import COLUMNS, as_cells

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("run", overflow="fold")
    measures = COLUMNS[COLUMNS.index("weights") :]
    for name in measures:
        table.add_column(name, justify="right", no_wrap=True)
    for outcome in outcomes:
        table.add_row(outcome.name, *as_cells(outcome)[-len(measures) :])
    return table
