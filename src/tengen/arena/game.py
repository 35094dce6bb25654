"""One game between two agents: from a starting position to a result, whatever the agents do.

A game ends by its rules, by resignation, by forfeit, or at a move limit. An agent forfeits when it raises an
error or plays an illegal move; whoever runs the match need not care. In Go dead stones are taken off before
counting where the rules say so (a short search finds them: `search.status`), and a game at the move limit is
counted as it stands. In other games the move limit is a draw.
"""

import threading
import time
import traceback
from dataclasses import dataclass
from pathlib import PurePath

from tengen.agents.agent import Agent, AgentError, Decision
from tengen.games import go, microchess
from tengen.games.state import FIRST, NOBODY, RESIGN, SECOND, AnyState, other_player
from tengen.search.status import settle

Ending = str
"""`resignation`, `forfeit`, `move limit`; in Go `score` or `repetition`, in Microchess its `end_reason`."""


class GameStopped(Exception):
    """The game was told to stop before it was over; it has no result."""


@dataclass(frozen=True)
class Turn:
    """One decision of an agent."""

    player: int
    """FIRST or SECOND."""
    decision: Decision
    seconds: float
    """How long the agent took, by the wall clock."""


@dataclass(frozen=True)
class GameRecord:
    """A finished game."""

    state: AnyState
    """The last position, with all moves behind it; a move that was illegal is not among them."""
    winner: int
    """FIRST, SECOND, or NOBODY for a draw or a void game."""
    result: str
    """As the game's records write it. SGF: `B+3.5`, `W+R` (resignation), `B+F` (forfeit), `0` (draw), `Void`;
    PGN: `1-0`, `0-1`, `1/2-1/2`."""
    ending: Ending
    reason: str
    """For a forfeit, what the loser did wrong; else empty."""
    turns: tuple[Turn, ...]
    """What the agents decided, in order. Moves of an opening that was dealt to them are not here."""


def default_max_moves(start: AnyState) -> int:
    """A length that games of sensible players do not reach: in Go four times the board, at least 200 moves."""
    return max(200, 4 * start.size * start.size) if isinstance(start, go.GameState) else 400


def play_game(
    first: Agent,
    second: Agent,
    start: AnyState,
    *,
    max_moves: int | None = None,
    seconds: float | None = None,
    stop: threading.Event | None = None,
) -> GameRecord:
    """Play from `start` to the end.

    `max_moves` counts all moves of the game, those before `start` included (default: `default_max_moves`).
    `seconds` is handed to the agents as the most they should think per move; nobody is stopped for taking
    longer. When `stop` is set, GameStopped is raised before the next move.
    """
    limit = default_max_moves(start) if max_moves is None else max_moves
    agents = {FIRST: first, SECOND: second}
    state, turns = start, list[Turn]()
    while not state.is_over and state.move_number < limit:
        if stop is not None and stop.is_set():
            raise GameStopped
        player, began = state.to_play, time.perf_counter()
        try:
            decision = _decide(agents[player], state, seconds)
        except _Fault as fault:
            return forfeited(state, player, str(fault), tuple(turns))
        turns.append(Turn(player, decision, time.perf_counter() - began))
        state = state.play(decision.move)
    return _finished(state, tuple(turns))


def forfeited(state: AnyState, loser: int, reason: str, turns: tuple[Turn, ...] = ()) -> GameRecord:
    """The record of a game that `loser` loses without regard to the board."""
    winner = other_player(loser)
    if isinstance(state, go.GameState):
        result = "B+F" if winner == go.BLACK else "W+F"
    else:
        result = "1-0" if winner == FIRST else "0-1"
    return GameRecord(state, winner, result, "forfeit", reason, turns)


class _Fault(Exception):
    """What an agent did wrong."""


def _decide(agent: Agent, state: AnyState, seconds: float | None) -> Decision:
    """A legal decision of the agent, or _Fault."""
    try:
        decision = agent.choose(state, seconds)
        wrong = state.why_illegal(decision.move)
    except AgentError as error:
        raise _Fault(str(error)) from error
    except Exception as error:  # an agent is a guest: its bugs cost it the game, not us the match
        raise _Fault(_crash(error)) from error
    if wrong is None:
        return decision
    try:
        raise _Fault(f"illegal move {state.move_name(decision.move)}: {wrong}")
    except ValueError:  # a move that has no name
        raise _Fault(f"illegal move: {wrong}") from None


def _crash(error: Exception) -> str:
    """An unexpected error in one line, with the place where it was raised."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(str(error).split())
    return f"crashed with {type(error).__name__}: {text} ({PurePath(place.filename).name}, line {place.lineno})"


def _finished(state: AnyState, turns: tuple[Turn, ...]) -> GameRecord:
    """The record of a game that ended by the rules or at the move limit."""
    if isinstance(state, go.GameState):
        return _counted(state, turns)
    if not state.is_over:
        return GameRecord(state, NOBODY, "1/2-1/2", "move limit", "", turns)
    ending = state.end_reason if isinstance(state, microchess.GameState) else None
    return GameRecord(state, state.winner() or NOBODY, state.result(), ending or "rules", "", turns)


def _counted(state: go.GameState, turns: tuple[Turn, ...]) -> GameRecord:
    """The record of a game of Go: its score, unless somebody resigned or a repetition made it void."""
    if state.last_move != RESIGN:
        state = settle(state)
    result = state.result() if state.is_over else go.format_margin(state.score())
    winner = {"B": go.BLACK, "W": go.WHITE}.get(result[0], go.EMPTY)
    ending: Ending = "score"
    if not state.is_over:
        ending = "move limit"
    elif result.endswith("+R"):
        ending = "resignation"
    elif result == "Void":
        ending = "repetition"
    return GameRecord(state, winner, result, ending, "", turns)
