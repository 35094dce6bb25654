"""One game between two agents: from a starting position to a result, whatever the agents do.

A game ends by two passes, by resignation, by the rules (a position for the third time under simple ko: void),
by forfeit, or at a move limit, and then the board is scored as it stands. An agent forfeits when it raises an
error or plays an illegal move; whoever runs the match need not care. Dead stones are taken off before
counting where the rules say so; a short search finds them (`search.status`).
"""

import threading
import time
import traceback
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from tengen.agents.agent import Agent, AgentError, Decision
from tengen.games.go import BLACK, EMPTY, RESIGN, WHITE, GameState, format_margin, opponent, to_gtp
from tengen.search.status import settle

Ending = Literal["score", "resignation", "forfeit", "move limit", "repetition"]


class GameStopped(Exception):
    """The game was told to stop before it was over; it has no result."""


@dataclass(frozen=True)
class Turn:
    """One decision of an agent."""

    color: int
    decision: Decision
    seconds: float
    """How long the agent took, by the wall clock."""


@dataclass(frozen=True)
class GameRecord:
    """A finished game."""

    state: GameState
    """The last position, with all moves behind it; a move that was illegal is not among them."""
    winner: int
    """BLACK, WHITE, or EMPTY for a draw or a void game."""
    result: str
    """As SGF writes it: `B+3.5`, `W+R` (resignation), `B+F` (forfeit), `0` (draw), `Void`."""
    ending: Ending
    reason: str
    """For a forfeit, what the loser did wrong; else empty."""
    turns: tuple[Turn, ...]
    """What the agents decided, in order. Moves of an opening that was dealt to them are not here."""


def default_max_moves(size: int) -> int:
    """A length that games of sensible players do not reach: four times the board, at least 200 moves."""
    return max(200, 4 * size * size)


def play_game(
    black: Agent,
    white: Agent,
    start: GameState,
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
    limit = default_max_moves(start.size) if max_moves is None else max_moves
    agents = {BLACK: black, WHITE: white}
    state, turns = start, list[Turn]()
    while not state.is_over and state.move_number < limit:
        if stop is not None and stop.is_set():
            raise GameStopped
        color, began = state.to_play, time.perf_counter()
        try:
            decision = _decide(agents[color], state, seconds)
        except _Fault as fault:
            return forfeited(state, color, str(fault), tuple(turns))
        turns.append(Turn(color, decision, time.perf_counter() - began))
        state = state.play(decision.move)
    return _finished(state, tuple(turns))


def forfeited(state: GameState, loser: int, reason: str, turns: tuple[Turn, ...] = ()) -> GameRecord:
    """The record of a game that `loser` loses without regard to the board."""
    winner = opponent(loser)
    return GameRecord(state, winner, f"{_letter(winner)}+F", "forfeit", reason, turns)


class _Fault(Exception):
    """What an agent did wrong."""


def _decide(agent: Agent, state: GameState, seconds: float | None) -> Decision:
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
    on_board = 0 <= decision.move < state.size * state.size
    name = f" {to_gtp(decision.move, state.size)}" if on_board else ""
    raise _Fault(f"illegal move{name}: {wrong}")


def _crash(error: Exception) -> str:
    """An unexpected error in one line, with the place where it was raised."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(str(error).split())
    return f"crashed with {type(error).__name__}: {text} ({PurePath(place.filename).name}, line {place.lineno})"


def _finished(state: GameState, turns: tuple[Turn, ...]) -> GameRecord:
    """The record of a game that ended by the rules or at the move limit."""
    if state.last_move != RESIGN:
        state = settle(state)
    result = state.result() if state.is_over else format_margin(state.score())
    winner = {"B": BLACK, "W": WHITE}.get(result[0], EMPTY)
    ending: Ending = "score"
    if not state.is_over:
        ending = "move limit"
    elif result.endswith("+R"):
        ending = "resignation"
    elif result == "Void":
        ending = "repetition"
    return GameRecord(state, winner, result, ending, "", turns)


def _letter(color: int) -> str:
    return "B" if color == BLACK else "W"
