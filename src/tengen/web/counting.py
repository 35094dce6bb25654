"""Counting a game of Go that is over: which stones are dead, and whose the points are."""

from typing import Any

from tengen.serve.counting import describe_count
from tengen.web.stored_games import PlayedGame


def is_to_be_counted(played: PlayedGame) -> bool:
    """Whether a game has ended in a way that its stones are to be counted, and nobody has done so."""
    state = played.state
    return (
        played.dead is None
        and not played.resigned
        and played.game.territory
        and state.is_over
        and state.end_reason == "score"
    )


def count_of(played: PlayedGame) -> dict[str, Any]:
    """Who owns what, with the dead stones taken off, as a page shows it."""
    state, dead = played.state, played.dead or frozenset()
    owners = state.ownership(dead)
    return {
        "dead": [state.move_name(point) for point in sorted(dead)],
        "owners": "".join(str(int(owner)) for owner in owners.ravel()),
        "margin": state.score(dead),
        "text": describe_count(state, dead),
        "correctable": state.rules.removes_dead,
    }
