"""Reports of runs that play: self-play, policy gradient, all stages of AlphaGo. `report.html` and its pictures.

The page needs no other file: the learning curve, losses, speed, settings, and some of the newest games. It can be
written at any time, while the run is under way too, because it only reads.
"""

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.ticker import EngFormatter, MaxNLocator

from tengen._figures import BLUE, CURVE_COLORS, GREEN, GREY, RED, as_png, dress, new_figure
from tengen.arena.statistics import Rating, Score, describe_elo
from tengen.games.game import get_game
from tengen.games.go.coordinates import board_svg
from tengen.games.go.sgf import SgfGame, read_sgf
from tengen.games.state import Options
from tengen.learn.alphago import Figures, read_figures
from tengen.learn.reinforce import GameFolder
from tengen.learn.replay import ChunkFolder
from tengen.learn.report import duration, write_page
from tengen.learn.settings import ReinforceConfig
from tengen.learn.zero_settings import ZeroConfig
from tengen.nets.model_file import read_card
from tengen.runs.folder import FolderError, read_metrics, read_settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Line = Mapping[str, Any]


def write_zero_report(run: Path, games: int = 6) -> Path:
    """Write the report of the run in this directory; returns the path of the page."""
    config = ZeroConfig.read(run)
    metrics = read_metrics(run)
    lines = [line for line in metrics if "generation" in line]
    if not lines:
        raise FolderError(f"the run in {run} has completed no round yet: there is nothing to report")
    played = get_game(config.game).describe(config.game_options())
    return write_page(
        run,
        "zero_page.html",
        subtitle=f"{played}: {config.network} on {config.encoder}",
        figures=_zero_figures(lines),
        settings=asdict(config),
        curves=draw_zero(lines),
        duels=_duels(lines),
        sheet="".join(map(_show_game, _games_of_self_play(run, config, games))),
        changes=_changes(metrics),
    )


def _games_of_self_play(run: Path, config: ZeroConfig, count: int) -> "list[_ShownGame]":
    """Some of the newest games of self-play, spread evenly over the newest chunk, or over several if it has too few."""
    options, chunks = config.game_options(), ChunkFolder(run / "chunks", tidy=False)
    records: list[_ShownGame] = []
    for facts in reversed(chunks.facts):
        played, origin = chunks.read_games(facts), f"generation {facts.generation}, round {facts.iteration}"
        wanted = min(count - len(records), len(played.winner))
        for i in np.linspace(0, len(played.winner) - 1, wanted).astype(int):
            moves = played.moves[played.offsets[i] : played.offsets[i + 1]].tolist()
            records.append(_replay(options, moves, int(played.winner[i]), bool(played.resigned[i]), origin))
        if len(records) == count:
            break
    return records


def _zero_figures(lines: Sequence[Line]) -> dict[str, str]:
    last = lines[-1]
    rated = [line["elo"] for line in lines if "elo" in line]
    found = {
        "Elo over the first": f"{rated[-1]:.0f}" if rated else "?",
        "generations": f"{last['generation']}",
        "best generation": f"{last['champion']}",
        "positions": f"{last['positions']:,}",
        "games": f"{last['games']:,}",
        "simulations": f"{last['simulations'] / 1e6:,.1f} M",
        "steps": f"{last['step']:,}",
        "time": duration(last["seconds"]),
    }
    if "int8_top1" in last:
        found["8-bit agreement"] = f"{last['int8_top1']:.1%}"
    return found


def _duels(lines: Sequence[Line], most: int = 12) -> str:
    """The last duels: who met whom, how it ended, what was decided."""
    rows = []
    for line in [line for line in reversed(lines) if line["duels"]][:most]:
        met = ", ".join(
            f"g{one} {wins}-{losses}" + (f" ={drawn}" * (drawn > 0)) for one, wins, drawn, losses in line["duels"]
        )
        verdict = "" if "gate_promoted" not in line else "promoted" if line["gate_promoted"] else "not promoted"
        elo = f"{line['elo']:.0f}" if "elo" in line else ""
        rows.append(f"<tr><th>g{line['generation']}</th><td>{met}</td><td>{verdict}</td><td>{elo}</td></tr>")
    return "".join(rows)


def _changes(metrics: Sequence[Line]) -> str:
    """What was changed on the way."""
    changes = [
        f"<li>{line['seconds'] / 3600:.2f} h: {escape(name)} {escape(str(old))} &rarr; {escape(str(new))}</li>"
        for line in metrics
        for name, (old, new) in line.get("settings_changed", {}).items()
    ]
    return f"<p>Changed on the way:</p><ul>{''.join(changes)}</ul>" if changes else ""


@dataclass(frozen=True)
class _ShownGame:
    """A game to look at."""

    picture: str
    """SVG of the last position."""
    text: str
    """Its moves."""
    result: str
    length: int
    origin: str


def _replay(options: Options, actions: list[int], winner: int, resigned: bool, origin: str) -> _ShownGame:
    """A game from its actions."""
    game = get_game(options.game)
    state = game.new(options)
    words: list[str] = []
    numbers: dict[int, str] = {}
    for number, action in enumerate(actions):
        move = state.move_of(action)
        words.append(state.move_name(move))
        numbers[move] = str(number + 1)
        state = state.play(move)
    result = "drawn" if winner == 0 else f"{game.players[winner - 1]} won{' by resignation' if resigned else ''}"
    return _ShownGame(game.picture(state, numbers), " ".join(words), result, len(actions), origin)


def _show_game(game: _ShownGame) -> str:
    """A game with its caption, for a page of HTML."""
    return (
        f"<figure>{game.picture}<figcaption><p><b>{escape(game.result)}</b> in {game.length} moves</p>"
        f'<p class="moves">{escape(game.text)}</p><small>{escape(game.origin)}</small></figcaption></figure>'
    )


def draw_zero(lines: Sequence[Line]) -> bytes:
    """The curves of a run as a PNG; lines: the metrics of its completed rounds."""
    figure = new_figure(12, 10.6)
    strength, policy, value, games, speed, machine = figure.subplots(3, 2).ravel()
    unit, name = (3600.0, "hours") if lines[-1]["seconds"] > 7200 else (60.0, "minutes")
    hours = [line["seconds"] / unit for line in lines]
    _strength(strength, lines, unit)
    draw = _drawer(lines, hours)
    draw(policy, "loss_policy", "training", GREY)
    draw(policy, "fresh_policy", "new positions", BLUE)
    draw(policy, "fresh_entropy", "entropy of the search's policy", GREEN)
    draw(value, "loss_value", "training", GREY)
    draw(value, "fresh_value", "new positions", BLUE)
    others = [key for key in lines[-1] if key.startswith("loss_") and key not in ("loss_policy", "loss_value")]
    for term, color in zip(others, CURVE_COLORS[3:]):
        if any(line.get(term) for line in lines):
            draw(value, term, term.removeprefix("loss_"), color)
    draw(games, "play_first", "points of the first player", BLUE)
    draw(games, "play_draws", "drawn", GREEN)
    if any(line.get("play_resigned") for line in lines):
        draw(games, "play_resigned", "resigned", RED)
    games.set_ylim(0, 1)
    draw(speed, "play_simulations_per_second", "simulations", BLUE)
    draw(speed, "play_positions_per_second", "positions", GREEN)
    speed.set_yscale("log")
    speed.yaxis.set_major_formatter(EngFormatter(sep=""))
    _shares(machine, lines, hours)
    titles = ("Elo, by duels with past generations", "Policy loss (nats)", "Other losses", "Games of self-play")
    for axes, title in zip(
        (strength, policy, value, games, speed, machine),
        (*titles, "Self-play, per second", "Where a round's time goes (seconds)"),
    ):
        dress(axes, title, f"{name} of learning", share=axes is games)
    return as_png(figure)


def draw_ratings(ratings: Mapping[int, Rating], chain: Mapping[int, float]) -> bytes:
    """Ratings by a round robin, with 95% intervals, and those that the run gave itself on the way."""
    figure = new_figure(9, 5)
    axes = figure.subplots()
    generations = sorted(ratings)
    first = generations[0]
    if len(chain) > 1:
        rated = sorted(generation for generation in chain if generation >= first)
        base = chain.get(first, 0.0)
        axes.plot(rated, [chain[each] - base for each in rated], color=GREY, linewidth=1.2, label="the run's own")
    elo = [ratings[each].elo for each in generations]
    reach = [1.96 * ratings[each].error for each in generations]
    axes.errorbar(generations, elo, reach, color=BLUE, marker="o", capsize=3, linewidth=1.8, label="round robin")
    dress(axes, f"Elo over generations (generation {first} has 0)", "generation")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return as_png(figure)


def _drawer(lines: Sequence[Line], hours: Sequence[float]) -> Callable[["Axes", str, str, str], None]:
    marker = "." if len(lines) <= 60 else ""

    def draw(axes: "Axes", name: str, label: str, color: str) -> None:
        values = [line.get(name, float("nan")) for line in lines]
        axes.plot(hours, values, color=color, label=label, linewidth=1.8, marker=marker, markersize=6)

    return draw


def _strength(axes: "Axes", lines: Sequence[Line], unit: float) -> None:
    """Elo over time; with a gate, the models that passed it are marked."""
    rated = [line for line in lines if "elo" in line]
    times = [0.0, *(line["seconds"] / unit for line in rated)]
    marker = "." if len(rated) <= 60 else ""
    axes.plot(times, [0.0, *(line["elo"] for line in rated)], color=BLUE, linewidth=1.8, marker=marker, markersize=6)
    for promoted, color, label in ((True, GREEN, "promoted"), (False, RED, "not promoted")):
        those = [line for line in rated if line.get("gate_promoted") is promoted]
        if those:
            places = [line["seconds"] / unit for line in those]
            axes.plot(places, [line["elo"] for line in those], "o", color=color, markersize=5, label=label)


def _shares(axes: "Axes", lines: Sequence[Line], hours: Sequence[float]) -> None:
    """The seconds of each phase, one above the other."""
    phases = ("play", "train", "export", "duels")
    parts = [[line.get(f"seconds_{phase}", 0.0) for line in lines] for phase in phases]
    if len(lines) > 1:
        axes.stackplot(hours, parts, labels=phases, colors=(BLUE, GREEN, GREY, CURVE_COLORS[3]), alpha=0.8)


# ------------------------------------------------------------------------------------- policy gradient

_PAPER: Final = 0.8  # what AlphaGo's policy won against the one that it started from


def write_reinforce_report(run: Path, games: int = 6) -> Path:
    """Write the report of the run in this directory; returns the path of the page."""
    settings, lines = read_settings(run), read_metrics(run)
    if not lines:
        raise FolderError(f"the run in {run} has completed no update yet: there is nothing to report")
    return write_page(
        run,
        "zero_page.html",
        subtitle=f"Policy gradient from {Path(str(settings['start_from'])).name}",
        figures=_reinforce_figures(lines),
        settings=settings,
        curves=draw_reinforce(lines),
        duels=_matches(lines),
        sheet="".join(map(_show_game, _games_of_update(run, games))),
        changes="",
    )


def draw_reinforce(lines: Sequence[Line]) -> bytes:
    """The curves of a run as a PNG; lines: the metrics of its updates."""
    figure = new_figure(12, 7.4)
    strength, points, entropy, value = figure.subplots(2, 2).ravel()
    unit, name = (3600.0, "hours") if lines[-1]["seconds"] > 7200 else (60.0, "minutes")
    measured = [line for line in lines if "score" in line]
    times = [0.0, *(line["seconds"] / unit for line in measured)]
    scores = [0.5, *(line["score"] for line in measured)]
    bounds = ([0.5, *(line[f"score_{end}"] for line in measured)] for end in ("low", "high"))
    strength.plot(times, scores, color=BLUE, linewidth=1.8, marker=".", markersize=6, label="with 95% interval")
    strength.fill_between(times, *bounds, color=BLUE, alpha=0.15, linewidth=0)
    strength.axhline(_PAPER, color=GREY, linewidth=1, linestyle="--", label="AlphaGo (Silver et al. 2016)")
    strength.set_ylim(0, 1)
    _curve(points, lines, "points", unit, "of the learner", BLUE)
    _curve(points, lines, "first", unit, "of the first player", GREEN)
    points.set_ylim(0, 1)
    _curve(entropy, lines, "entropy", unit, "", BLUE)
    entropy.set_ylim(bottom=0)
    _curve(value, lines, "loss_value", unit, "", RED)
    for axes, title in (
        (strength, "Points against the policy of the start"),
        (points, "Points in the games it learned from"),
        (entropy, "Entropy of the policy (nats)"),
        (value, "Squared error of the value"),
    ):
        dress(axes, title, f"{name} of learning", share=axes in (strength, points))
    return as_png(figure)


def _curve(axes: "Axes", lines: Sequence[Line], key: str, unit: float, name: str, color: str) -> None:
    found = [(line["seconds"] / unit, line[key]) for line in lines if key in line]
    if found:
        axes.plot(*zip(*found), color=color, label=name or None, linewidth=1.4)


def _games_of_update(run: Path, count: int) -> list[_ShownGame]:
    """Some games of the newest update, spread evenly over it."""
    folder = GameFolder(run / "games", tidy=False)
    experience = folder.read(folder.updates()[-1]) if folder.updates() else None
    if experience is None:
        return []
    options = ReinforceConfig.read(run).spec(read_card(run / "last.safetensors")).options
    names, shown = get_game(options.game).players, []
    for i in np.linspace(0, len(experience.winner) - 1, min(count, len(experience.winner))).astype(int):
        side = int(experience.learner[i])
        origin = f"the learner was {names[side - 1]}" if side else "the learner against itself"
        moves = experience.actions[i][experience.actions[i] >= 0].tolist()
        shown.append(_replay(options, moves, int(experience.winner[i]), False, origin))
    return shown


def _reinforce_figures(lines: Sequence[Line]) -> dict[str, str]:
    last = lines[-1]
    best = max((line for line in lines if "score" in line), key=lambda line: float(line["score"]), default=None)
    return {
        "best match against the start": f"{best['score']:.1%}" if best else "?",
        "updates": f"{last['step']:,}",
        "games": f"{sum(line['games'] for line in lines):,}",
        "positions": f"{sum(line['positions'] for line in lines):,}",
        "entropy, first and last": f"{lines[0]['entropy']:.2f}, {last['entropy']:.2f}",
        "time": duration(last["seconds"]),
    }


def _matches(lines: Sequence[Line], most: int = 12) -> str:
    """The last matches against the policy of the start."""
    rows = []
    for line in [line for line in reversed(lines) if "score" in line][:most]:
        score = Score(line["wins"], line["losses"], line["draws"])
        rows.append(
            f"<tr><th>update {line['step']}</th><td>{line['wins']}-{line['losses']}"
            f"{f' ={score.draws}' * (score.draws > 0)}</td><td>{score}</td><td>{escape(describe_elo(score))}</td></tr>"
        )
    return "".join(rows)


# --------------------------------------------------------------------------- all stages of AlphaGo

_SAMPLES: Final = 3  # games of each folder
_CHOSEN_FROM: Final = 40
_PICTURES: Final = {
    "policy": (("policy/curves.png", "Loss and accuracy over positions learned from"),),
    "reinforce": (("reinforce/curves.png", "Score against the policy before"),),
    "value": (
        ("value/curves.png", "Error of the value over positions learned from"),
        ("value/errors.png", "Error by move number, of the network and of rollouts"),
    ),
    "ablation": (
        ("ablation/ratings.png", "Ratings with 95% intervals"),
        ("ablation/crosstable.png", "Scores of each against each"),
    ),
}
_SAYS: Final = {
    "records": "Games to learn from, which the teacher played against itself.",
    "policy": "The policy network learns to predict the moves of the records; figures are of games it has not seen.",
    "fast policy": "A linear policy over local shapes, which plays a move in microseconds: for rollouts.",
    "reinforce": "The policy network plays its earlier versions, and moves of games that it wins become likelier.",
    "match": "The policy after policy gradient against the one before, both drawing their moves.",
    "value": "The value learns who wins from one position of each game; beside it, rollouts from the same positions.",
    "ablation": "The search without one part or another, all thinking for the same time; the policy alone has 0 Elo.",
}


def write_alphago_report(run: Path) -> Path:
    """Write the report of the run in this directory, also of one under way; returns the path of the page."""
    figures, settings = read_figures(run), read_settings(run)
    return write_page(
        run,
        "alphago_page.html",
        subtitle=_subtitle(settings),
        figures={_TILES[name][0]: _TILES[name][1](found) for name, found in figures.items() if name in _TILES},
        settings=settings,
        stages="".join(_stage(run, name, figures) for name in figures),
        games=_games(run),
    )


def _subtitle(settings: Mapping[str, Any]) -> str:
    board = f"{settings.get('size', '?')}x{settings.get('size', '?')}, komi {settings.get('komi', '?'):g}"
    return f"AlphaGo on {board}: {settings.get('network', '?')} on {settings.get('encoder', '?')}"


_TILES: Final[dict[str, tuple[str, Callable[[Figures], str]]]] = {
    "policy": ("moves predicted (top-1)", lambda found: f"{found['top1']:.1%}"),
    "fast policy": ("by the fast policy", lambda found: f"{found['top1']:.1%}"),
    "match": ("score after policy gradient", lambda found: f"{found['score']:.1%}"),
    "value": ("error of the value", lambda found: f"{found['error of network']:.3f}"),
    "ablation": ("highest rating, Elo", lambda found: ": ".join(next(iter(found["ratings"].items())))),
}


def _stage(run: Path, name: str, figures: Mapping[str, Figures]) -> str:
    """One stage: its pictures and all its figures."""
    found = figures[name]
    pictures = "".join(_picture(run / path, text) for path, text in _PICTURES.get(name, ()))
    rows = "".join(
        f"<tr><th>{escape(key.replace('_', ' '))}</th><td>{_figure(value)}</td></tr>" for key, value in found.items()
    )
    words = f"{_SAYS.get(name, '')} {_verdict(name, figures)}".strip()
    says = f'<p class="stage">{escape(words)}</p>'
    return f'<h2>{escape(name.capitalize())}</h2>{says}{pictures}<section class="card"><table>{rows}</table></section>'


def _verdict(name: str, figures: Mapping[str, Figures]) -> str:
    """What the figures of a stage say, in a sentence; empty if there is nothing to compare."""
    found = figures[name]
    if name == "fast policy" and "policy" in figures:
        fast, policy = found["top1"], figures["policy"]["top1"]
        than = "worse than" if fast < policy else "better than" if fast > policy else "as well as"
        return f"It predicts {than} the policy network: {fast:.1%} against {policy:.1%} of the moves."
    if name == "reinforce" and "best_after" in found:
        return (
            "The best of the measured versions is kept, so its score in this curve is too high on average; "
            "the match below is of new games."
        )
    if name == "match":
        low, high = found["interval"]
        verdict = "It is stronger" if low > 0.5 else "It is weaker" if high < 0.5 else "Neither is shown to be stronger"
        return f"{verdict}: {found['score']:.1%} of {found['games']:,} games (95% interval {low:.1%} to {high:.1%})."
    if name == "ablation" and len(found["ratings"]) > 1:
        (first, best), (second, next_best) = list(found["ratings"].items())[:2]
        (elo, reach), (other, other_reach) = _rating(best), _rating(next_best)
        if elo - other > math.hypot(reach, other_reach):
            return f"{first} is the strongest."
        return f"{first} has the highest rating, but is not shown to be stronger than {second}."
    return ""


def _rating(text: str) -> tuple[float, float]:
    """Elo and half of its 95% interval, of `+20 ± 162`."""
    elo, _, reach = text.partition(" ± ")
    return float(elo), float(reach)


def _picture(path: Path, text: str) -> str:
    if not path.exists():
        return ""
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<section class="card"><img alt="{escape(text)}" src="data:image/png;base64,{data}"></section>'


def _figure(value: Any) -> str:
    """A figure for people."""
    if isinstance(value, dict):
        return "<br>".join(f"{escape(str(name))}: {_figure(each)}" for name, each in value.items())
    if isinstance(value, list):
        return " to ".join(map(_figure, value))
    return f"{value:,.4g}" if isinstance(value, float) else escape(f"{value:,}" if isinstance(value, int) else value)


def _games(run: Path) -> str:
    """The ends of some games, the longest ones: of the policies, and of the best two of the ablation."""
    folders = [run / "match", *sorted((run / "ablation" / "matches").glob("*"))][:4]
    games = [game for folder in folders for game in _longest(folder / "games")]
    return "".join(map(_game, games)) or "<p>No games yet.</p>"


def _longest(folder: Path) -> list[SgfGame]:
    """Of the first games in a folder those with the most moves: a short one has little to show."""
    games = [read_sgf(path.read_bytes()) for path in sorted(folder.glob("*.sgf"))[:_CHOSEN_FROM]]
    return sorted(games, key=lambda game: -game.state.move_number)[:_SAMPLES]


def _game(game: SgfGame) -> str:
    """The last position of a game, with who played and how it ended."""
    players = f"{escape(game.black_name)} (Black) against {escape(game.white_name)} (White)"
    caption = f"<p>{players}</p>{escape(game.result)} after {game.state.move_number} moves"
    return f"<figure>{board_svg(game.state)}<figcaption>{caption}</figcaption></figure>"
