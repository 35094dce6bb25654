"""Opponents by names that people understand, from a beginner's to the strongest, each a spec with what was measured.

The figures are those of the lab book (docs/lab) and of the models' cards (docs/models.md); where there are none,
none are given. Ratings are those of docs/lab/2026-11-17-levels.md: each level played every other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from tengen.games import go
from tengen.games.state import AnyState
from tengen.web.inputs import safe_spec

HUMAN: Final = "human"
"""The player that is a person."""


@dataclass(frozen=True)
class Opponent:
    """Somebody to play against."""

    key: str
    """The name that pages use, and translate."""
    spec: str
    measured: str = ""
    """One line about how well it plays, where that was measured."""
    rating: int | None = None
    """Elo on this board, where it was measured; `first-game` has 0."""


_RANDOM: Final = Opponent("first-game", "random")
_GO: Final = (
    _RANDOM,
    Opponent("beginner", "uct:playouts=30,resign=0"),
    Opponent("casual", "uct:playouts=300"),
    Opponent("improving", "uct:playouts=2000"),
)
_PLAYOUTS: Final = (
    *_GO,
    Opponent("strong", "uct:playouts=5000"),
    Opponent("strongest", "uct:playouts=20000"),
)
"""For boards, rules and a komi that no network has learned: each level searches more than the one before."""
_GO9: Final = (
    *_GO[:-1],
    Opponent("improving", "policy:go9", "82.5% of 20 games against GNU Go level 10, without search"),
    Opponent("club", "uct:playouts=2000"),
    Opponent("strong", "zero:go9,sims=100", "91.7% of 30 games against GNU Go level 10"),
    Opponent("strongest", "alphago:seconds=2", "with one second a move 98.5% of 100 games against uct:seconds=1"),
)
_RATINGS9: Final = (0, 406, 662, 913, 973, 1360, None)
_GO5: Final = (
    *_GO,
    Opponent("club", "zero:go5,sims=4"),
    Opponent(
        "strongest", "zero:go5,sims=256", "as Black with 64 simulations 100 of 100 games against uct:playouts=10000"
    ),
)
_RATINGS5: Final = (0, 465, 670, 736, 766, 844)
_GO19: Final = (
    *_GO,
    Opponent("club", "fast-policy", "loses to GNU Go level 1"),
    Opponent("strong", "policy:go19", "its forerunner: 25% of 20 games against GNU Go level 10, without search"),
    Opponent(
        "strongest",
        "alphago:go19,lambda=1,seconds=5",
        "14 of 20 games against GNU Go level 10, on one core",
    ),
)
_BY_TERRITORY: Final = {
    9: (
        *_GO[:-1],
        Opponent("improving", "policy:go9"),
        Opponent("club", "uct:playouts=2000"),
        Opponent("strong", "uct:playouts=5000"),
        Opponent("strongest", "uct:playouts=20000"),
    ),
    19: (*_GO, Opponent("strong", "fast-policy"), Opponent("strongest", "policy:go19")),
}
"""Where territory counts, networks propose moves: what they and playouts say of the value of a position is for area."""
_MICROCHESS: Final = (
    _RANDOM,
    Opponent("beginner", "alphabeta:depth=1"),
    Opponent("casual", "alphabeta:depth=3"),
    Opponent("improving", "zero:microchess,sims=8"),
    Opponent("strong", "zero:microchess,sims=100"),
    Opponent(
        "strongest",
        "zero:microchess,seconds=1",
        "with 0.1 s a move 45.5% of 100 games against Fairy-Stockfish skill 20",
    ),
)
_RATINGS_MICROCHESS: Final = (0, 419, 579, 588, 701, None)
_OTHER: Final = (
    _RANDOM,
    Opponent("casual", "mcts:playouts=50"),
    Opponent("strongest", "mcts:playouts=5000"),
)


def opponents_for(state: AnyState, own: Mapping[str, str]) -> list[Opponent]:
    """Who can be played from a state, the weakest first; then those of the server's own list, specs by name."""
    if isinstance(state, go.State):
        found = _in_go(state)
    else:
        found = _rated(_MICROCHESS, _RATINGS_MICROCHESS) if state.game == "microchess" else _OTHER
    return [*found, *(Opponent(key, spec) for key, spec in own.items())]


def players_of(given: Any, state: AnyState, own: Mapping[str, str]) -> tuple[tuple[str, str], tuple[str, str]]:
    """Two players as a page names them, and their specs, empty for people; ValueError if it may not ask for them."""
    if not isinstance(given, list) or len(given) != 2 or not all(isinstance(one, str) for one in given):
        raise ValueError("give two players, each human, an opponent or spec:...")
    first, second = given
    return (first, second), (spec_of(first, state, own), spec_of(second, state, own))


def spec_of(player: str, state: AnyState, own: Mapping[str, str]) -> str:
    """The spec of a player by name, empty for people; ValueError if nobody is called so here."""
    if player == HUMAN:
        return ""
    if player.startswith("spec:"):
        return safe_spec(player.removeprefix("spec:"))
    for one in opponents_for(state, own):
        if one.key == player:
            return one.spec
    raise ValueError(f"no opponent is called {player[:40]!r} here")


def _in_go(state: go.State) -> tuple[Opponent, ...]:
    """Networks play the boards that they have learned; playouts play all of them."""
    if state.rules.name == "simple-go":  # another game: nothing that was measured holds for it
        return _PLAYOUTS
    by_area = state.rules.scoring == "area"
    if by_area and state.size == 9:
        return _rated(_GO9, _RATINGS9)
    if by_area and state.size == 5 and state.komi == 3.5:
        return _rated(_GO5, _RATINGS5)
    if by_area and state.size == 19:
        return _GO19
    return _PLAYOUTS if by_area else _BY_TERRITORY.get(state.size, _PLAYOUTS)


def _rated(levels: Sequence[Opponent], ratings: Sequence[int | None]) -> tuple[Opponent, ...]:
    return tuple(replace(level, rating=rating) for level, rating in zip(levels, ratings, strict=True))


def analysts_for(state: AnyState) -> list[str]:
    """Specs of agents that can analyse a state, the one to begin with first."""
    if state.game == "microchess":
        return ["zero:microchess", "uct"]
    if not isinstance(state, go.State):
        return ["mcts"]
    by_area = state.rules.scoring == "area"
    networks = {
        9: ["zero:alphago9", "alphago:alphago9", "zero:go9", "gumbel:go9"],
        5: ["zero:go5", "gumbel:go5"],
        19: ["alphago:go19,lambda=1"],
    }
    return [*(networks.get(state.size, []) if by_area else []), "uct"]
