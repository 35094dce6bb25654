"""`play_match`: a match in one call, from Python."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tengen.arena.match import Match, run_match
from tengen.arena.results import MatchSummary, summarize
from tengen.games.game import get_game


def play_match(
    a: str,
    b: str,
    *,
    game: str = "go",
    games: int = 40,
    seed: int = 1,
    opening_moves: int | None = None,
    max_moves: int | None = None,
    seconds: float | None = None,
    first: str = "alternate",
    workers: int | None = None,
    folder: str | Path | None = None,
    **options: Any,
) -> MatchSummary:
    """Play a match between the agents of two specs; `options` are those of the game: `size`, `rules`, `komi`, ...

    Games come in pairs with the same random opening and colours reversed. With `folder`, games and results are saved
    there as they end, and the same call resumes the match. `Match` explains the other settings.

    >>> import tengen
    >>> summary = tengen.play_match("uct:playouts=200", "random", game="go", games=4, size=5)
    >>> summary.games
    4
    >>> score = summary.a.score
    >>> score.wins, round(score.mean, 2), score.elo
    (4, 1.0, inf)
    >>> [round(bound, 2) for bound in score.interval]
    [0.51, 1.0]
    >>> print(summary)
    uct:playouts=200 against random: 4 wins, 0 losses, 0 draws, 100.0% (95%: 51.0% to 100.0%), Elo > +7 (95%)
    """
    match = Match(
        a, b, get_game(game).options.of(options), games, seed, opening_moves, max_moves, seconds, first
    )  # fmt: skip
    with ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="tengen-match-"))) / "match"
        return summarize(a, b, run_match(match, Path(folder), workers=workers))
