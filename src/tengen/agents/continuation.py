"""How a position continues one that was searched before, so that its tree can be kept."""

from dataclasses import replace

from tengen.games.options import Options
from tengen.games.state import AnyState


def fits(kept: Options, wanted: Options) -> bool:
    """Whether a searcher set up for one game serves for another: the same, with as much room or more."""
    if type(kept) is not type(wanted):
        return False
    room = getattr(kept, "limit", 0)
    if room < getattr(wanted, "limit", 0):
        return False
    return kept == (replace(wanted, limit=room) if hasattr(wanted, "limit") else wanted)  # type: ignore[call-arg]


def actions_between(root: AnyState | None, state: AnyState) -> list[int] | None:
    """The actions that lead from the position searched last to this one; None if it is another game."""
    actions: list[int] = []
    here: AnyState = state
    while root is not None and here is not root:
        before, move = here.previous, here.last_move
        if before is None or move is None or here.move_number <= root.move_number:
            return None
        if here.to_play == before.to_play or getattr(here, "last_color", before.to_play) != before.to_play:
            return None  # someone moved out of turn
        actions.append(before.action_of(move))
        here = before
    return None if root is None else actions[::-1]
