"""`play_match`: a match in one call, from Python."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tengen.agents.agent import Agent
from tengen.agents.own import AgentLike, name_of, own_agent
from tengen.agents.registry import load_agent
from tengen.arena.match import Load, Match, run_match
from tengen.arena.results import MatchSummary, summarize
from tengen.games.game import get_game


def play_match(
    a: AgentLike,
    b: AgentLike,
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
    """Play a match between two agents; `options` are those of the game: `size`, `rules`, `komi`, ...

    An agent is a spec, a function `choose(state)` that returns a move, a class with this method (each game makes one of
    its own), or an agent that you have made. Games come in pairs with the same random opening and colours reversed.
    With `folder`, games and results are saved there as they end, and the same call resumes the match. `Match` explains
    the other settings.

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
    >>> def choose(state):
    ...     return state.legal_moves()[0]
    >>> tengen.play_match(choose, "random", game="microchess", games=2).a.spec
    'choose'
    """
    names, load = _named(a, b)
    match = Match(
        *names, get_game(game).options.of(options), games, seed, opening_moves, max_moves, seconds, first
    )  # fmt: skip
    with ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="tengen-match-"))) / "match"
        return summarize(*names, run_match(match, Path(folder), workers=workers, load=load))


def _named(a: AgentLike, b: AgentLike) -> tuple[tuple[str, str], Load]:
    """What a match calls two agents, and what makes them by these names. One object plays all of its games."""
    first, second = name_of(a), name_of(b)
    if first == second and a is not b:
        first, second = f"{first} (A)", f"{second} (B)"
    own = {name: player for name, player in ((first, a), (second, b)) if not isinstance(player, str)}

    def load(name: str, seed: int) -> Agent:
        return own_agent(own[name]) if name in own else load_agent(name, seed)

    return (first, second), load
