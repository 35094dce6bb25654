"""When to pass: the one place that decides it, for every agent that can.

A pass may end the game, and then the stones on the board are counted by the rules: where they take dead stones off, a
position that looks won with all stones alive may be lost. So whoever wants to pass asks here first, and searches
count finished games by the dead stones found here (`BatchedGo.mark_dead`, `UctRoot.dead`).
"""

from dataclasses import dataclass
from enum import Enum

from tengen.games import go
from tengen.games.go import BLACK, PASS
from tengen.search.life_and_death import is_settled, search_ownership

_MOST_PLAYOUTS, _FEWEST_PLAYOUTS = 4000, 200
_CLOCK_SHARE = 0.1  # of the time for a move that the question may take
_POINTS_PER_SECOND = 1_000_000  # points of the board whose owner playouts decide in a second, roughly


class Pass(Enum):
    """What a pass means for the player to move."""

    WINS = "it ends the game, won"
    SAFE = "if the game is counted now, it is won; or no move can change the count"
    LOSES = "if the game is counted now, it is not won, and some points are still to be had"


@dataclass(frozen=True)
class Count:
    """A position counted as if the game ended now."""

    margin: float
    """Points by which the player to move is ahead."""
    dead: frozenset[int]
    """The stones that come off."""
    verdict: Pass


def count_now(state: go.State, seconds: float | None = None) -> Count:
    """Count a position by its rules; with little time for the move (`seconds`) life and death is read less deeply."""
    playouts = _MOST_PLAYOUTS
    if seconds is not None:
        affordable = int(seconds * _CLOCK_SHARE * _POINTS_PER_SECOND / state.size**2)
        playouts = max(_FEWEST_PLAYOUTS, min(_MOST_PLAYOUTS, affordable))
    ownership = search_ownership(state, playouts)
    lost = state.dead_by_ownership(ownership, playouts)
    dead = lost if state.rules.removes_dead else frozenset()
    margin = state.score(dead) if state.to_play == BLACK else -state.score(dead)
    if margin > 0:
        verdict = Pass.WINS if state.last_move == PASS and state.is_legal(PASS) else Pass.SAFE
    else:  # where dead stones stay, their points are still to be had as well
        verdict = Pass.SAFE if is_settled(state, ownership, playouts) and dead == lost else Pass.LOSES
    return Count(margin, dead, verdict)


def may_pass(state: go.State, seconds: float | None = None) -> bool:
    """Whether a pass does no harm, for an agent without a search that could find a better move."""
    return state.is_legal(PASS) and count_now(state, seconds).verdict is not Pass.LOSES


def wins_by_passing(state: go.State, seconds: float | None = None) -> bool:
    """Whether the opponent has passed, and a pass now ends the game, won."""
    if state.last_move != PASS:
        return False
    return count_now(state, seconds).verdict is Pass.WINS
