"""One game between two agents: from a starting position to a result, whatever the agents do.

A game ends by its rules, by resignation, by forfeit, or at a move limit. An agent forfeits when it raises an
error or plays an illegal move; the match continues. Where there is territory, dead stones are taken off before
counting if the rules say so (a short search finds them: `search.life_and_death`), and a game at the move limit is
counted as it stands. In other games the move limit is a draw.
"""

import threading
import time
import traceback
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from tengen.agents.agent import Agent, AgentError, AgentTimeoutError, Decision
from tengen.games.game import game_of
from tengen.games.state import FIRST, RESIGN, SECOND, AnyState, other_player
from tengen.search.life_and_death import settle


class GameStopped(Exception):
    """The game was stopped before it was over; it has no result."""


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
    """A finished game.

    >>> import tengen
    >>> agent = tengen.load_agent("random", seed=1)
    >>> record = tengen.play_game(agent, agent, tengen.microchess.State.new())
    >>> record.result == record.state.result(), record.ending == record.state.end_reason
    (True, True)
    """

    state: AnyState
    """The last position, with all moves behind it; a move that was illegal is not among them."""
    winner: int
    """FIRST, SECOND, or NOBODY for a draw or a void game."""
    result: str
    """As the game's records write it. SGF: `B+3.5`, `W+R` (resignation), `B+F` (forfeit), `0` (draw), `Void`;
    PGN: `1-0`, `0-1`, `1/2-1/2`."""
    ending: str
    """`resignation`, `forfeit`, `move limit`, or the state's `end_reason`."""
    reason: str
    """For a forfeit, what the loser did wrong; else empty."""
    turns: tuple[Turn, ...]
    """What the agents decided, in order. Moves of the opening that they were given are not here."""

    def __repr__(self) -> str:
        return f"GameRecord({self.result!r}, {self.ending!r}, {self.state.move_number} moves)"


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

    `max_moves` counts all moves of the game, those before `start` included (default: the game's own limit).
    `seconds` is handed to the agents as the most they should think per move; nobody is stopped for taking
    longer. When `stop` is set, GameStopped is raised before the next move.

    >>> import tengen
    >>> black, white = tengen.load_agent("uct:playouts=200", seed=1), tengen.load_agent("random", seed=1)
    >>> record = tengen.play_game(black, white, tengen.go.State.new(size=5, komi=0.5))
    >>> record.winner == tengen.go.BLACK, record.ending
    (True, 'score')
    """
    agents = {FIRST: first, SECOND: second}
    game = OngoingGame.begin(start, max_moves)
    while not game.is_over:
        if stop is not None and stop.is_set():
            raise GameStopped
        game = game.step(agents[game.state.to_play], seconds)
    return game.record()


@dataclass(frozen=True)
class OngoingGame:
    """A game between two decisions, for displays that show it move by move; `play_game` plays it to the end."""

    state: AnyState
    limit: int
    """The number of moves at which the game ends."""
    turns: tuple[Turn, ...] = ()
    fault: str = ""
    """What the player to move did wrong; that ends the game."""

    @classmethod
    def begin(cls, start: AnyState, max_moves: int | None = None) -> "OngoingGame":
        """A game without a decision; `max_moves` as in `play_game`."""
        game = game_of(start)
        return cls(start, game.max_moves(game.options_of(start)) if max_moves is None else max_moves)

    @property
    def is_over(self) -> bool:
        """Whether nobody decides any more."""
        return bool(self.fault) or self.state.is_over or self.state.move_number >= self.limit

    def step(self, agent: Agent, seconds: float | None = None) -> "OngoingGame":
        """The game after a decision of the agent whose turn it is."""
        player, began = self.state.to_play, time.perf_counter()
        try:
            decision = _decide(agent, self.state, seconds)
        except _Fault as fault:
            return replace(self, fault=str(fault))
        turn = Turn(player, decision, time.perf_counter() - began)
        return replace(self, state=self.state.play(decision.move), turns=(*self.turns, turn))

    def record(self) -> GameRecord:
        """The finished game."""
        if self.fault:
            return forfeited(self.state, self.state.to_play, self.fault, self.turns)
        return _finished(self.state, self.turns)


def forfeited(state: AnyState, loser: int, reason: str, turns: tuple[Turn, ...] = ()) -> GameRecord:
    """The record of a game that `loser` loses without regard to the board."""
    winner = other_player(loser)
    return GameRecord(state, winner, game_of(state).forfeit(winner), "forfeit", reason, turns)


class _Fault(Exception):
    """What an agent did wrong."""


def _decide(agent: Agent, state: AnyState, seconds: float | None) -> Decision:
    """A legal decision of the agent, or _Fault."""
    try:
        decision = agent.choose(state, seconds)
        wrong = state.why_illegal(decision.move)
    except AgentTimeoutError as error:
        raise _Fault(f"{error}; --seconds gives it more time for every move") from error
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


def _finished(state: Any, turns: tuple[Turn, ...]) -> GameRecord:
    """The record of a game that ended by the rules or at the move limit."""
    game = game_of(state)
    if game.territory and state.last_move != RESIGN:
        state = settle(state)
    outcome = game.outcome(state)
    return GameRecord(state, outcome.winner, outcome.result, outcome.ending, "", turns)
