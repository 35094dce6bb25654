"""When to pass: the question that every agent without a territory sense of its own has to ask."""

from tengen.games.go import BLACK, PASS, GameState
from tengen.search.status import dead_stones


def wins_by_passing(state: GameState) -> bool:
    """Whether the player to move may pass and has won if the game is counted as it stands."""
    if not state.is_legal(PASS):
        return False
    margin = state.score(dead_stones(state))
    return margin > 0 if state.to_play == BLACK else margin < 0
