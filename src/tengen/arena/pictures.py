"""Pictures of tournaments, cross tables and mistakes; only this file of the room needs Matplotlib."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from tengen._figures import BLUE, GREY, as_png, dress
from tengen.arena.statistics import Score
from tengen.games.game import get_game

if TYPE_CHECKING:
    from tengen.arena.generation_table import GenerationTable
    from tengen.arena.mistakes import Mistakes
    from tengen.arena.tournament_report import Standings

_LONGEST = 44  # characters of a name


def draw_ratings(standings: "Standings", title: str) -> bytes:
    """The ratings as a PNG, the highest on top."""
    players = standings.players
    figure = Figure(figsize=(9, 1.5 + 0.42 * len(players)), dpi=130, layout="constrained")
    axes = figure.subplots()
    places = range(len(players))
    elo, reach = [player.rating.elo for player in players], [player.reach for player in players]
    colors = [GREY if player.name == standings.anchor else BLUE for player in players]
    whiskers = {"ecolor": "#1f2937", "capsize": 3}
    axes.barh(places, elo, xerr=reach, color=colors, alpha=0.55, height=0.62, error_kw=whiskers)
    ends = [max(0.0, rating + length) for rating, length in zip(elo, reach)]
    for place, rating, length, end in zip(places, elo, reach, ends):
        text = f"  {rating:+.0f} ± {length:.0f}" if length else "  0"
        axes.text(end, place, text, va="center", fontsize=9, color="#1f2937")
    axes.set_yticks(places, [_short(player.name) for player in players])
    axes.invert_yaxis()
    low, high = min(0.0, *(rating - length for rating, length in zip(elo, reach))), max(1.0, *ends)
    axes.set_xlim(low - 0.03 * (high - low), high + 0.2 * (high - low))
    axes.axvline(0, color="#9ca3af", linewidth=1)
    dress(axes, f"Elo over {_short(standings.anchor)}, with 95% intervals")
    axes.set_xlabel(f"{title}; {standings.games:,} games", color=GREY, fontsize=9)
    axes.grid(axis="y", visible=False)
    return as_png(figure)


def draw_crosstable(standings: "Standings") -> bytes:
    """Each agent's score against each other as a PNG: blue where it wins, red where it loses."""
    names = [player.name for player in standings.players]
    size = 0.72 * len(names)
    figure = Figure(figsize=(max(5.5, 4.2 + size), max(3.6, 2.6 + 0.8 * size)), dpi=130, layout="constrained")
    table = standings.table
    played = {(one, other) for one in names for other in names if one != other and table[one, other].games}
    scores = [[table[one, other].mean if one != other else float("nan") for other in names] for one in names]
    texts = [[_cell(table[one, other]) if (one, other) in played else "" for other in names] for one in names]
    rows = [f"{_short(name)}  {place}" for place, name in enumerate(names, 1)]
    columns = [str(place) for place in range(1, len(names) + 1)]
    _heat_map(figure, scores, texts, rows, columns, "Score of each agent (row) against each other (column)")
    return as_png(figure)


def draw_generations(table: "GenerationTable") -> bytes:
    """The scores of generations as first players against generations as second players, as a PNG."""
    numbers, (rows, columns) = table.generations, table.names()
    size = 0.6 * len(numbers)
    figure = Figure(figsize=(max(5.5, 2.6 + size), max(3.6, 1.8 + 0.7 * size)), dpi=130, layout="constrained")
    scores = [[table.score(first, second) for second in numbers] for first in numbers]
    texts = [[f"{score:.2f}" if score == score else "" for score in row] for row in scores]
    rows = [f"{name}  ({table.first_average(number):.3f})" for number, name in zip(numbers, rows)]
    columns = [f"{name}\n({table.second_average(number):.3f})" for number, name in zip(numbers, columns)]
    game = get_game(table.options.game)
    title = f"Score of {game.players[0]} (row) against {game.players[1]} (column)"
    _heat_map(figure, scores, texts, rows, columns, title)
    about = f"{game.describe(table.options)}; {table.settings.games:,} games a pair"
    about += f" after {table.settings.random_moves} random moves; averages in brackets"
    figure.axes[0].set_xlabel(about.replace("; ", "\n", 1), color=GREY, fontsize=9)
    return as_png(figure)


def draw_mistakes(found: Mapping[int, "Mistakes"], about: str) -> bytes:
    """The share of won positions that each generation threw away, with 95% intervals, as a PNG."""
    measured = {number: mistakes for number, mistakes in found.items() if mistakes.won}
    figure = Figure(figsize=(8, 4.2), dpi=130, layout="constrained")
    axes = figure.subplots()
    shares = [100 * mistakes.share for mistakes in measured.values()]
    low, high = ([100 * mistakes.interval[side] for mistakes in measured.values()] for side in (0, 1))
    axes.plot(list(measured), shares, color=BLUE, marker="o")
    axes.fill_between(list(measured), low, high, color=BLUE, alpha=0.15, linewidth=0)
    axes.set_xticks(list(measured), ["random" if number == 0 else str(number) for number in measured])
    axes.set_ylim(bottom=0)
    axes.set_ylabel("won positions thrown away, %", color=GREY, fontsize=9)
    axes.set_xlabel(f"generation; {about}", color=GREY, fontsize=9)
    dress(axes, "Games thrown away by the greedy move, by the exact solver")
    return as_png(figure)


def _heat_map(
    figure: Figure,
    scores: Sequence[Sequence[float]],
    texts: Sequence[Sequence[str]],
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
) -> None:
    """Scores, 0 to 1, as colours with texts on them; grey where there is none."""
    axes = figure.subplots()
    image = axes.imshow(scores, cmap="RdBu", vmin=0, vmax=1, aspect="auto")
    for row, line in enumerate(texts):
        for column, text in enumerate(line):
            ink = "white" if abs(scores[row][column] - 0.5) > 0.3 else "#1f2937"
            axes.text(column, row, text, ha="center", va="center", color=ink, fontsize=8)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xticks(range(len(columns)), columns)
    dress(axes, title)
    axes.grid(visible=False)
    axes.set_facecolor("#d1d5db")
    axes.tick_params(length=0)
    bar = figure.colorbar(image, ax=axes, ticks=[0, 0.5, 1], shrink=0.8)
    bar.ax.set_yticklabels(["loses all", "even", "wins all"], fontsize=9)
    bar.outline.set_visible(False)


def _cell(score: Score) -> str:
    return f"{score.mean:.0%}\n{score.points:g}/{score.games}"


def _short(name: str) -> str:
    """A name for a picture; of a long one, its ends."""
    half = (_LONGEST - 1) // 2
    name = name if len(name) <= _LONGEST else f"{name[:half]}…{name[-half:]}"
    return name.replace("$", r"\$")
