"""When to pass: the question that every agent without a territory sense of its own has to ask."""

from tengen.games.go import BLACK, PASS, GameState
from tengen.search.status import dead_stones

_MOST_PLAYOUTS, _FEWEST_PLAYOUTS = 4000, 200
_CLOCK_SHARE = 0.1  # of the time for a move that the question may take
_POINTS_PER_SECOND = 1_000_000  # points of the board whose owner playouts decide in a second, roughly


def wins_by_passing(state: GameState, seconds: float | None = None) -> bool:
    """Whether the player to move may pass and has won if the game is counted as it stands.

    With little time for the move (`seconds`) the reading of life and death is shorter.
    """
    if not state.is_legal(PASS):
        return False
    playouts = _MOST_PLAYOUTS
    if seconds is not None:
        affordable = int(seconds * _CLOCK_SHARE * _POINTS_PER_SECOND / state.size**2)
        playouts = max(_FEWEST_PLAYOUTS, min(_MOST_PLAYOUTS, affordable))
    margin = state.score(dead_stones(state, playouts))
    return margin > 0 if state.to_play == BLACK else margin < 0
