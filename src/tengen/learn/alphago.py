"""AlphaGo from game records (Silver et al. 2016): every stage in one run, from records to a player and its report.

    records      games to learn from: a dataset, or games of a teacher that is at hand
    policy       a policy network that predicts their moves                      policy/
    fast policy  a linear one for rollouts, a thousand times as fast             fast.safetensors
    reinforce    the policy network, made stronger by policy gradient            reinforce/
    match        the policy after it against the one before                      match/
    value        a value network, on one position of each of many such games     value/
    ablation     the search without one part or another, in a tournament         ablation/

A stage that is done writes its figures to figures.json; each stage resumes by itself, so `kill -9` at any moment costs
at most the unit of work under way. At the end `alphago.safetensors` is the model to play by.

The command line reads the settings here, so each stage imports what it needs.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

from tengen._machine import cores
from tengen.runs.files import write_atomically
from tengen.runs.folder import FolderError
from tengen.runs.progress import OnProgress, RunProgress, ignore_progress
from tengen.runs.settings import Setting, Settings
from tengen.workers.calls import WorkerFactory
from tengen.workers.local import this_machine

if TYPE_CHECKING:
    from tengen.arena.results import MatchSummary
    from tengen.games.go.rules import GoOptions

_ABLATION: Final = "Ablation"
_FAST: Final = "Fast policy"
_GRADIENT: Final = "Policy gradient"
_MACHINE: Final = "Machine"
_POLICY: Final = "Policy network"
_RECORDS: Final = "Records"
_VALUE: Final = "Value"


@dataclass(frozen=True)
class AlphaGoConfig(Settings):
    """Everything that shapes a run; kept as config.toml in its directory.

    >>> import tengen
    >>> tengen.AlphaGoConfig(size=5, komi=3.5).updates
    100
    """

    kind: ClassVar[str] = "alphago"

    preset: Annotated[str, "Where the settings that you do not give come from."] = ""
    data: Annotated[str, "Folder of a dataset, as `tengen data build` makes it; none: the teacher makes records."] = ""
    teacher: Annotated[
        str, Setting("Who plays the games that are learned from where there is no dataset.", _RECORDS)
    ] = "uct:playouts=200"
    teacher_games: Annotated[int, Setting("How many of them.", _RECORDS, low=1)] = 1_000
    size: Annotated[int, Setting("Size of the board.", low=2, high=19)] = 9
    komi: Annotated[float, "Points that White gets for moving second."] = 7.0
    policy: Annotated[str, "A policy to begin with, by name or path, in place of learning one from records."] = ""
    encoder: Annotated[str, Setting("How positions are shown to the policy network.", _POLICY)] = "compact-komi"
    network: Annotated[
        str, "The policy network; alphago:layers=13,filters=192 with the encoder alphago is the paper's."
    ] = "residual:blocks=4,filters=64,first_kernel=3,pool_every=2,value=yes"
    positions: Annotated[int, Setting("Positions of records that it learns from.", low=1)] = 4_000_000
    rate: Annotated[float, Setting("Learning rate of the policy network on records.", _POLICY, above=0)] = 0.1
    batch: Annotated[int, Setting("Batch size, in positions, of the policy network on records.", _POLICY, low=1)] = 128
    fast: Annotated[str, "A fast policy to use, by name or path, in place of learning one from records."] = ""
    fast_passes: Annotated[int, Setting("How often the fast policy goes through the records.", _FAST, low=1)] = 2
    updates: Annotated[int, Setting("Updates by policy gradient.", low=0)] = 100
    update_games: Annotated[int, Setting("Games for each of them.", _GRADIENT, low=1)] = 512
    value_encoder: Annotated[str, Setting("How positions are shown to a value network of its own.", _VALUE)] = (
        "alphago49"
    )
    value_network: Annotated[
        str,
        Setting(
            "A value network of its own, such as the paper's alphago-value:layers=13,filters=192; none: "
            "the policy network gets a value head.",
            _VALUE,
        ),
    ] = ""
    value_games: Annotated[
        int, Setting("Games of self-play, each of which gives one position for the value.", low=1)
    ] = 200_000
    value_passes: Annotated[float, Setting("How often the value goes through these positions.", _VALUE, above=0)] = 4.0
    match_games: Annotated[
        int, Setting("Games between the policies before and after policy gradient.", _GRADIENT, low=1, free=True)
    ] = 200
    ablation_games: Annotated[
        int, Setting("Games of each pair in the ablation; 0: no ablation.", _ABLATION, low=0, free=True)
    ] = 10
    ablation_seconds: Annotated[float, Setting("Seconds a move in the ablation.", _ABLATION, above=0)] = 0.1
    workers: Annotated[int, Setting("Processes that play; 0: one a core.", low=0, free=True)] = 0
    device: Annotated[
        str, Setting("Where to train: cpu, cuda (a graphics card), cuda:1 (the second one).", _MACHINE, free=True)
    ] = "cpu"
    seed: Annotated[int, Setting("Random seed of everything.", low=0)] = 1

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "go5": {
            "size": 5,
            "komi": 3.5,
            "teacher": "uct:playouts=100",
            "teacher_games": 1_200,
            "network": "residual:blocks=2,filters=32,first_kernel=3,value=yes",
            "positions": 100_000,
            "updates": 20,
            "update_games": 256,
            "value_games": 20_000,
            "match_games": 200,
            "ablation_games": 4,
            "ablation_seconds": 0.02,
        },
        "go9": {},
        "go19": {
            "size": 19,
            "komi": 7.5,
            "encoder": "alphago49",
            "network": "residual:blocks=6,filters=64,first_kernel=3,pool_every=2,value=yes",
            "positions": 8_000_000,
            "update_games": 128,
            "value_games": 100_000,
            "ablation_seconds": 1.0,
        },
    }


FIGURES_FILE: Final = "figures.json"
MODEL_FILE: Final = "alphago.safetensors"
FAST_FILE: Final = "fast.safetensors"

Figures = dict[str, Any]
"""What a stage found, as JSON has it."""
_MEASURED: Final = 4_000  # unseen positions on which the value is compared with rollouts


@dataclass
class Run:
    """A run under way, as its stages see it."""

    config: AlphaGoConfig
    path: Path
    report: Callable[[float, Mapping[str, float]], None] = lambda share, figures: None
    """Takes the share of the stage that is done, and the figures of the moment."""
    hosts: WorkerFactory | None = None
    """Who plays games and reads records, if not this machine."""

    def show(self, now: RunProgress) -> None:
        """The `on_progress` of a stage that is one run."""
        self.report(now.done, now.figures)

    @property
    def data(self) -> Path:
        """The dataset."""
        return Path(self.config.data) if self.config.data else self.path / "dataset"

    @property
    def policy(self) -> str:
        """The policy that records taught."""
        return self.config.policy or str(self.path / "policy" / "best.safetensors")

    @property
    def fast(self) -> str:
        """The fast policy."""
        return self.config.fast or str(self.path / FAST_FILE)

    @property
    def stronger(self) -> str:
        """The policy after policy gradient; without any, the one before."""
        return str(self.path / "reinforce" / "best.safetensors") if self.config.updates else self.policy

    @property
    def model(self) -> Path:
        """What plays: a policy, and a value unless that has a network of its own."""
        return self.path / MODEL_FILE

    @property
    def value(self) -> str:
        """A value network of its own, if there is one."""
        return str(self.path / "value" / "best.safetensors") if self.config.value_network else ""


def learn_alphago(
    config: AlphaGoConfig | str,
    out: str | Path,
    on_progress: OnProgress = ignore_progress,
    *,
    hosts: WorkerFactory | None = None,
    **settings: Any,
) -> dict[str, Figures]:
    """Go through all stages, or resume the run in the directory `out`; returns the figures of each stage.

    `config` is a configuration or the name of a preset; `settings` change it. Ctrl-C ends the run as it ends the stage
    under way, which keeps what it has. `hosts`: where games are played and records read, if not on this machine;
    networks are trained here.

    >>> import tempfile
    >>> import tengen
    >>> tiny = {"size": 3, "komi": 0.5, "teacher": "random", "teacher_games": 80, "positions": 256, "value_games": 40}
    >>> tiny |= {"network": "residual:blocks=1,filters=4,value=yes", "match_games": 2, "ablation_games": 0}
    >>> with tempfile.TemporaryDirectory() as run:
    ...     figures = tengen.learn_alphago("go5", run, updates=0, workers=1, **tiny)
    ...     model = tengen.load_model(f"{run}/alphago.safetensors")
    >>> list(figures)
    ['records', 'policy', 'fast policy', 'value']
    >>> model.card.size
    3
    """
    from tengen.learn.distributed import find_device
    from tengen.learn.game_report import write_alphago_report

    config = AlphaGoConfig.preset_config(config, settings) if isinstance(config, str) else replace(config, **settings)
    out = Path(out)
    find_device(config.device)
    stages = [stage for stage in STAGES if stage.applies(config)]
    directory = config.open_run(out)
    try:
        figures = read_figures(out)
        for number, stage in enumerate(stages, 1):
            if stage.name in figures:
                continue

            def report(
                share: float,
                figures: Mapping[str, float],
                line: Figures | None = None,
                stage: str = stage.name,
                number: int = number,
            ) -> None:
                done = (number - 1 + share) / len(stages)
                on_progress(RunProgress(stage, number, share, done, figures=figures, line=line))

            report(0.0, {})
            figures[stage.name] = stage.run(Run(config, out, report, hosts))
            write_atomically(out / FIGURES_FILE, (json.dumps(figures, indent=1) + "\n").encode())
            write_alphago_report(out)
            report(1.0, {}, figures[stage.name])
        return figures
    finally:
        directory.close()


def read_figures(run: Path) -> dict[str, Figures]:
    """The figures of the stages that are done, in order."""
    try:
        found: dict[str, Figures] = json.loads((run / FIGURES_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise FolderError(f"{run / FIGURES_FILE} is damaged ({error}): repair it, or delete it") from None
    return found


@dataclass(frozen=True)
class Stage:
    """One stage: when there is one, and what it does."""

    name: str
    run: Callable[[Run], Figures]
    applies: Callable[[AlphaGoConfig], bool] = lambda config: True


def make_records(run: Run) -> Figures:
    """Let the teacher play itself, and make a dataset of its games."""
    from tengen.data.build import build_dataset

    config = run.config
    summary = _play(run, "records", config.teacher, config.teacher, config.teacher_games)
    built = build_dataset(
        [run.path / "records"], run.data, workers=config.workers or None, worker_factory=run.hosts or this_machine
    )
    return {"teacher": config.teacher, "games": built.games, "positions": built.positions, "moves": summary.mean_moves}


def learn_policy(run: Run) -> Figures:
    """Predict the moves of the records."""
    from tengen.learn.settings import SupervisedConfig
    from tengen.learn.supervised import learn_supervised

    config = run.config

    best = learn_supervised(
        SupervisedConfig(
            data=str(run.data),
            encoder=config.encoder,
            network=config.network,
            size=config.size,
            positions=config.positions,
            rate=config.rate,
            batch=config.batch,
            epoch=max(1, config.positions // 20),
            average=0.999,
            komi_spread=4.0 if config.encoder == "compact-komi" else 0.0,
            device=config.device,
            seed=config.seed,
        ),
        run.path / "policy",
        run.show,
    )
    return {name: best[name] for name in ("top1", "top5", "loss", "value_loss", "positions") if name in best}


def learn_fast(run: Run) -> Figures:
    """A linear policy for rollouts."""
    from tengen.learn.fast_policy import FastPolicyConfig, train_fast_policy

    config = run.config

    settings = FastPolicyConfig(str(run.data), passes=config.fast_passes, size=config.size, seed=config.seed)
    validation = train_fast_policy(settings, run.path / FAST_FILE, run.show)
    return {name: validation[name] for name in ("top1", "top5", "loss")}


def strengthen_policy(run: Run) -> Figures:
    """Policy gradient, from games against earlier versions."""
    from tengen.learn.reinforce import learn_reinforce
    from tengen.learn.settings import ReinforceConfig

    config = run.config

    def show(now: RunProgress) -> None:
        run.report(now.done, {"update": now.number, **now.figures})

    settings = ReinforceConfig(
        run.policy,
        komi=config.komi,
        games=config.update_games,
        updates=config.updates,
        measure=max(1, config.updates // 10),
        workers=config.workers,
        threads=config.workers,
        device=config.device,
        seed=config.seed,
    )
    best = learn_reinforce(settings, run.path / "reinforce", show, hosts=run.hosts)
    return {"updates": config.updates, "best_after": best["step"], "games_an_update": config.update_games}


def compare_policies(run: Run) -> Figures:
    """The policy after policy gradient against the one before; both draw their moves."""
    after, before = (f"policy:{model},temperature=1" for model in (run.stronger, run.policy))
    score = _play(run, "match", after, before, run.config.match_games).a.score
    return {"games": score.games, "score": score.mean, "interval": list(score.interval)}


def learn_values(run: Run) -> Figures:
    """The value, on one position of each of many games; then there is a model to play by."""
    from tengen.learn.evaluate import measure_value_error
    from tengen.learn.report import draw_value_errors
    from tengen.learn.settings import ValueConfig
    from tengen.learn.value import GAMES_FOLDER, learn_value
    from tengen.nets.model_file import find_model

    config = run.config

    def show(now: RunProgress) -> None:
        if now.phase == "playing":
            run.report(0.5 * now.share, now.figures)
        else:
            run.report(0.5 + 0.5 * now.done, now.figures)

    positions = round(config.value_games * config.value_passes)
    shared: dict[str, Any] = {"start_from": run.policy} if not config.value_network else {}
    own: dict[str, Any] = {"encoder": config.value_encoder, "network": config.value_network}
    learn_value(
        ValueConfig(
            policy=run.policy,
            rl=run.stronger,
            games=config.value_games,
            komi=config.komi,
            positions=positions,
            epoch=max(1, positions // 20),
            workers=config.workers or cores(),
            device=config.device,
            seed=config.seed,
            **(shared or own),
        ),
        run.path / "value",
        show,
        run.hosts,
    )
    learned = run.path / "value" / "best.safetensors"
    played = find_model(run.policy) if config.value_network else learned
    write_atomically(run.model, played.read_bytes())
    errors = measure_value_error(str(learned), run.path / "value" / GAMES_FOLDER, positions=_MEASURED)
    write_atomically(run.path / "value" / "errors.png", draw_value_errors(errors))
    return {"games": config.value_games} | {f"error of {name}": errors.mean(name)[0] for name in errors.squares}


def play_ablation(run: Run) -> Figures:
    """A tournament of the search without one part or another."""
    from tengen.arena.tournament import Entrant, Tournament, run_tournament

    config = run.config
    players = ablation(run.model, config.ablation_seconds, value=run.value, fast=run.fast)
    entrants = tuple(Entrant(name, spec) for name, spec in players.items())
    tournament = Tournament(entrants, _options(config), config.ablation_games, config.seed, anchor="policy")
    played, wanted = 0, config.ablation_games * len(tournament.pairs)

    def show(pair: int, result: object) -> None:
        nonlocal played
        played += 1
        run.report(played / wanted, {"games": played, "wanted": wanted})

    standings = run_tournament(
        tournament,
        run.path / "ablation",
        workers=config.workers or None,
        on_result=show,
        worker_factory=run.hosts or this_machine,
    )
    return {
        "seconds": config.ablation_seconds,
        "games": standings.games,
        "ratings": {player.name: f"{player.rating.elo:+.0f} ± {player.reach:.0f}" for player in standings.players},
    }


def ablation(model: str | Path, seconds: float, *, value: str | Path = "", fast: str | Path = "") -> dict[str, str]:
    """The players of AlphaGo's ablation (Figure 4b), which all think for the same time on one core: name -> spec.

    Policy alone, value, rollouts, both; each search with and without the policy's prior; and two of another kind to
    compare with. `value` and `fast` name the value network and the fast policy of the search.

    >>> ablation("go9", 0.1)["rollouts, no prior"]
    'alphago:go9,lambda=1.0,prior=no,seconds=0.1,threads=1'
    """
    others = "".join(f",{name}={path}" for name, path in (("value", value), ("fast", fast)) if str(path))
    players = {}
    for name, share in (("value and rollouts", 0.5), ("value", 0.0), ("rollouts", 1.0)):
        for suffix, prior in (("", ""), (", no prior", ",prior=no")):
            players[name + suffix] = f"alphago:{model}{others},lambda={share}{prior},seconds={seconds:g},threads=1"
    players["policy"] = f"policy:{model}"
    players["uct"] = f"uct:seconds={seconds:g}"
    if not str(value):
        players["zero"] = f"zero:{model},seconds={seconds:g}"
    return players


def _play(run: Run, folder: str, a: str, b: str, games: int) -> "MatchSummary":
    """A match, saved and resumed in this folder of the run."""
    from tengen.arena.match import Match, run_match
    from tengen.arena.results import summarize

    played = 0

    def show(_: object) -> None:
        nonlocal played
        played += 1
        run.report(played / games, {"games": played, "wanted": games})

    match = Match(a, b, _options(run.config), games, run.config.seed)
    results = run_match(
        match,
        run.path / folder,
        workers=run.config.workers or None,
        on_result=show,
        worker_factory=run.hosts or this_machine,
    )
    return summarize(a, b, results)


def _options(config: AlphaGoConfig) -> "GoOptions":
    from tengen.games.go.rules import GoOptions

    return GoOptions(size=config.size, komi=config.komi)


STAGES: Final = (
    Stage("records", make_records, lambda config: not config.data),
    Stage("policy", learn_policy, lambda config: not config.policy),
    Stage("fast policy", learn_fast, lambda config: not config.fast),
    Stage("reinforce", strengthen_policy, lambda config: config.updates > 0),
    Stage("match", compare_policies, lambda config: config.updates > 0),
    Stage("value", learn_values),
    Stage("ablation", play_ablation, lambda config: config.ablation_games > 0),
)
