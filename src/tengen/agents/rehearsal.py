"""A trial game before the first real move: it compiles and loads all that a move needs, so that no clock waits for it.

Kernels compile when they are first called, which takes a minute or two in a fresh home. A game calls some of them only
at its second move (the tree that is kept) or after a pass (the count), so an agent that gets ready plays a few moves.
"""

from collections.abc import Callable

from tengen.agents.agent import Agent, AgentError, Decision
from tengen.games.game import game_of
from tengen.games.go import PASS
from tengen.games.state import RESIGN, AnyState

_MOVES = 4
_REHEARSED = set[tuple[str, str]]()
"""The agents that have played a trial game in this process, by name and game: their kernels are loaded."""


def rehearse(agent: Agent, state: AnyState, choose: Callable[[AnyState], Decision] | None = None) -> None:
    """Let an agent play a few moves from `state`, once for each name and game.

    The agent should be one that nobody plays with: its tree and its random numbers are used. `choose` takes the place
    of its own, with a limit of time, say.
    """
    key = agent.name, game_of(state).name
    if key in _REHEARSED or state.is_over:
        return
    _REHEARSED.add(key)
    choose = choose or agent.choose
    try:
        for _ in range(_MOVES):
            move = choose(state).move
            played = move if move != RESIGN else state.legal_moves()[0]
            assert state.why_illegal(played) is None
            state = state.play(played)
            if state.is_over:
                return
        if game_of(state).territory and PASS in state.legal_moves():
            choose(state.play(PASS))
    except AgentError:  # the real game gives the reason
        _REHEARSED.discard(key)
