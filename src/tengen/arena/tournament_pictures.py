"""Pictures of a tournament: ratings as bars with their intervals, and the cross table as a heat map."""

from matplotlib.figure import Figure

from tengen._figures import BLUE, GREY, as_png, dress
from tengen.arena.standings import Standings

_LONGEST = 44  # characters of a name


def draw_ratings(standings: Standings, title: str) -> bytes:
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


def draw_crosstable(standings: Standings) -> bytes:
    """Each agent's score against each other as a PNG: blue where it wins, red where it loses."""
    names = [player.name for player in standings.players]
    size = 0.72 * len(names)
    figure = Figure(figsize=(max(5.5, 4.2 + size), max(3.6, 2.6 + 0.8 * size)), dpi=130, layout="constrained")
    axes = figure.subplots()
    scores = [[standings.table[one, other].mean if one != other else float("nan") for other in names] for one in names]
    image = axes.imshow(scores, cmap="RdBu", vmin=0, vmax=1, aspect="auto")
    for row, one in enumerate(names):
        for column, other in enumerate(names):
            if one == other or not standings.table[one, other].games:
                continue
            score = standings.table[one, other]
            ink = "white" if abs(score.mean - 0.5) > 0.3 else "#1f2937"
            text = f"{score.mean:.0%}\n{score.points:g}/{score.games}"
            axes.text(column, row, text, ha="center", va="center", color=ink, fontsize=8)
    axes.set_yticks(range(len(names)), [f"{_short(name)}  {place}" for place, name in enumerate(names, 1)])
    axes.set_xticks(range(len(names)), [str(place) for place in range(1, len(names) + 1)])
    dress(axes, "Score of each agent (row) against each other (column)")
    axes.grid(visible=False)
    axes.set_facecolor("#d1d5db")  # of the diagonal
    axes.tick_params(length=0)
    bar = figure.colorbar(image, ax=axes, ticks=[0, 0.5, 1], shrink=0.8)
    bar.ax.set_yticklabels(["loses all", "even", "wins all"], fontsize=9)
    bar.outline.set_visible(False)
    return as_png(figure)


def _short(name: str) -> str:
    """A name for a picture; of a long one, its ends."""
    half = (_LONGEST - 1) // 2
    name = name if len(name) <= _LONGEST else f"{name[:half]}…{name[-half:]}"
    return name.replace("$", r"\$")
