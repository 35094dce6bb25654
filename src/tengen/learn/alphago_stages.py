"""The stages of a run of `learn.alphago`, in their order: each is a run of its own, in a folder of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tengen._machine import cores
from tengen.arena.match import Match, run_match
from tengen.arena.summary import MatchSummary, summarize
from tengen.arena.tournament import Entrant, Tournament, run_tournament
from tengen.data.build import build_dataset
from tengen.games.go.rules import GoOptions
from tengen.learn.ablation import ablation
from tengen.learn.alphago import FAST_FILE, Figures, Run, publish
from tengen.learn.alphago_config import AlphaGoConfig
from tengen.learn.evaluate import measure_value_error
from tengen.learn.fast_policy import FastPolicyConfig, FastProgress, train_fast_policy
from tengen.learn.reinforce import ReinforceProgress, learn_reinforce
from tengen.learn.reinforce_config import ReinforceConfig
from tengen.learn.report import draw_value_errors
from tengen.learn.settings import SupervisedConfig, ValueConfig
from tengen.learn.supervised import learn_supervised
from tengen.learn.value import GAMES_FOLDER, learn_value
from tengen.nets.bundled import find_model
from tengen.runs.files import write_atomically
from tengen.runs.progress import RunProgress

_MEASURED: Final = 4_000  # unseen positions on which the value is compared with playouts


@dataclass(frozen=True)
class Stage:
    """One stage: when there is one, and what it does."""

    name: str
    run: Callable[[Run], Figures]
    applies: Callable[[AlphaGoConfig], bool] = lambda config: True


def make_records(run: Run) -> Figures:
    """Let the teacher play itself, and make a dataset of its games."""
    config = run.config
    summary = _play(run, "records", config.teacher, config.teacher, config.teacher_games)
    built = build_dataset([run.path / "records"], run.data, workers=config.workers or None, hosts=run.hosts)
    return {"teacher": config.teacher, "games": built.games, "positions": built.positions, "moves": summary.mean_moves}


def learn_policy(run: Run) -> Figures:
    """Predict the moves of the records."""
    config = run.config

    def show(now: RunProgress) -> None:
        run.say(now.done, f"loss {now.figures['loss']:.3f}  {now.figures['positions/s']:,.0f} positions/s")

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
        show,
    )
    return {name: best[name] for name in ("top1", "top5", "loss", "value_loss", "positions") if name in best}


def learn_fast(run: Run) -> Figures:
    """A linear policy for rollouts."""
    config = run.config

    def show(now: FastProgress) -> None:
        run.say(now.games / now.games_in_all, f"top-1 {now.validation['top1']:.1%}")

    settings = FastPolicyConfig(str(run.data), passes=config.fast_passes, size=config.size, seed=config.seed)
    validation = train_fast_policy(settings, run.path / FAST_FILE, show)
    return {name: validation[name] for name in ("top1", "top5", "loss")}


def strengthen_policy(run: Run) -> Figures:
    """Policy gradient, from games against earlier versions."""
    config = run.config

    def show(now: ReinforceProgress) -> None:
        run.say(now.done, f"update {now.update:,}, {now.phase}")

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
    config = run.config

    def show(now: RunProgress) -> None:
        if now.phase == "playing":
            run.say(0.5 * now.share, f"{now.figures['games']:,} of {now.figures['wanted']:,} games")
        else:
            run.say(0.5 + 0.5 * now.done, f"{now.figures['positions/s']:,.0f} positions/s")

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
    publish(run, find_model(run.policy) if config.value_network else learned)
    errors = measure_value_error(str(learned), run.path / "value" / GAMES_FOLDER, positions=_MEASURED)
    write_atomically(run.path / "value" / "errors.png", draw_value_errors(errors))
    return {"games": config.value_games} | {f"error of {name}": errors.mean(name)[0] for name in errors.squares}


def play_ablation(run: Run) -> Figures:
    """A tournament of the search without one part or another."""
    config = run.config
    players = ablation(run.model, config.ablation_seconds, value=run.value, fast=run.fast)
    entrants = tuple(Entrant(name, spec) for name, spec in players.items())
    tournament = Tournament(entrants, _options(config), config.ablation_games, config.seed, anchor="policy")
    played, wanted = 0, config.ablation_games * len(tournament.pairs)

    def show(pair: int, result: object) -> None:
        nonlocal played
        played += 1
        run.say(played / wanted, f"{played:,} of {wanted:,} games")

    standings = run_tournament(
        tournament, run.path / "ablation", workers=config.workers or None, on_result=show, hosts=run.hosts
    )
    return {
        "seconds": config.ablation_seconds,
        "games": standings.games,
        "ratings": {player.name: f"{player.rating.elo:+.0f} ± {player.reach:.0f}" for player in standings.players},
    }


def _play(run: Run, folder: str, a: str, b: str, games: int) -> MatchSummary:
    """A match, saved and resumed in this folder of the run."""
    played = 0

    def show(_: object) -> None:
        nonlocal played
        played += 1
        run.say(played / games, f"{played:,} of {games:,} games")

    match = Match(a, b, _options(run.config), games, run.config.seed)
    results = run_match(match, run.path / folder, workers=run.config.workers or None, on_result=show, hosts=run.hosts)
    return summarize(a, b, results)


def _options(config: AlphaGoConfig) -> GoOptions:
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
