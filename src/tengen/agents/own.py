"""Somebody's own code as an agent: a function `choose(state)`, a class or an object with such a method.

What `choose` returns may be a move (a number, or its name such as "D4"), a `Decision`, or a pair: the move, and what it
thinks of moves, a dict of chances to win between 0 and 1. In a process of its own the same runs from a file:
`python_file.py`.
"""

import inspect
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import index
from typing import Any, SupportsIndex

from tengen._text import one_line
from tengen.agents.agent import Agent, AgentError, Decision
from tengen.games.state import RESIGN, AnyState

Choose = Callable[..., Any]
"""`choose(state)` or `choose(state, seconds)`."""
AgentLike = str | Agent | type | Choose
"""What plays: a spec, an agent, a class that makes one for each game, or a function that chooses a move."""


class OwnAgent:
    """A function, or an object with `choose`, as an agent.

    >>> import tengen
    >>> agent = OwnAgent(lambda state: ("C3", {"C3": 0.7}), "centre")
    >>> decision = agent.choose(tengen.go.State.new(size=5))
    >>> decision.value, decision.values == {decision.move: 0.7}
    (0.7, True)
    """

    def __init__(self, player: object, name: str = "", *, ours: bool = True) -> None:
        """`ours`: whether the object is closed with this agent."""
        chooses = getattr(player, "choose", player)
        if not callable(chooses):
            raise ValueError(
                f"{one_line(repr(player), 60)} cannot play: give a function choose(state), or a class with it"
            )
        self.name = name or one_line(str(getattr(player, "name", "") or name_of(player)), 40)
        self._player, self._ours = player, ours
        self._choose: Choose = chooses
        self._analyse: Choose | None = getattr(player, "analyse", None)
        self._takes_seconds = _takes_two(chooses)
        self._turns = threading.Lock()  # one object may play several games of a match at once

    def choose(self, state: AnyState, seconds: float | None = None) -> Decision:
        """What the code decides; AgentError where it returns no move."""
        with self._turns:
            answer = self._choose(state, seconds) if self._takes_seconds else self._choose(state)
        try:
            return decision_of(answer, state)
        except ValueError as error:
            raise AgentError(f"{self.name} {error}") from None

    def think(self, state: AnyState) -> Decision:
        """What the code thinks of all moves: by its method `analyse`, if it has one, else by `choose`."""
        if self._analyse is None:
            return self.choose(state)
        with self._turns:
            values = self._analyse(state)
        try:
            thoughts = _thoughts(values, state)
        except ValueError as error:
            raise AgentError(f"{self.name} {error}") from None
        if not thoughts:
            return self.choose(state)
        best = max(thoughts, key=lambda move: thoughts[move])
        return Decision(best, value=thoughts[best], values=thoughts)

    def close(self) -> None:
        """Close the object, if it can be and nobody else needs it."""
        close = getattr(self._player, "close", None)
        if self._ours and callable(close):
            close()


def own_agent(player: object) -> Agent:
    """The agent that a class, an object or a function is. A class is called without arguments; an object stays open."""
    made = player() if isinstance(player, type) else player
    return OwnAgent(made, name_of(player) if not getattr(made, "name", "") else "", ours=made is not player)


def name_of(player: object) -> str:
    """What a function, a class or an object is called where it is shown: its own name, or that of its class."""
    if isinstance(player, str):
        return player.strip()
    named = getattr(player, "__name__", "") or getattr(player, "name", "") or type(player).__name__
    return one_line(str(named), 40)


def decision_of(answer: object, state: AnyState) -> Decision:
    """The decision that `choose` returned in one of its forms; ValueError says what is wrong with it.

    >>> import tengen
    >>> decision_of("pass", tengen.go.State.new(size=5)).move == tengen.go.PASS
    True
    """
    if isinstance(answer, Decision):
        found = plain(replace(answer, move=_move(answer.move, state)))
    elif isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], Mapping):
        move, values = _move(answer[0], state), _thoughts(answer[1], state)
        found = Decision(move, value=values.get(move), values=values)
    else:
        found = Decision(_move(answer, state))
    wrong = None if found.move == RESIGN else state.why_illegal(found.move)
    if wrong is not None:
        raise ValueError(f"returned {_shown(found.move, state)}, which is not legal: {wrong}")
    return found


def plain(decision: Decision) -> Decision:
    """A decision made elsewhere, with numbers in all fields; ValueError if they hold none."""
    value, nodes = decision.value, decision.nodes
    try:
        return Decision(
            int(decision.move),
            None if value is None else float(value),
            {int(move): int(visits) for move, visits in decision.visits.items()},
            {int(move): float(chance) for move, chance in decision.values.items()},
            {int(move): float(prior) for move, prior in decision.priors.items()},
            tuple(map(int, decision.pv)),
            one_line(str(decision.note)),
            None if nodes is None else int(nodes),
        )
    except (TypeError, AttributeError, ValueError):
        raise ValueError(
            f"returned a Decision with fields that hold no numbers: {one_line(repr(decision), 120)}"
        ) from None


def _move(value: object, state: AnyState) -> int:
    if isinstance(value, str):
        try:
            return state.parse_move(value)
        except ValueError as error:
            raise ValueError(
                f"returned {one_line(repr(value), 60)}, which is no move: {one_line(str(error))}"
            ) from None
    try:
        if isinstance(value, bool) or not isinstance(value, SupportsIndex):  # which NumPy's integers are
            raise TypeError
        number = index(value)
    except TypeError:
        raise ValueError(
            f"returned {one_line(repr(value), 60)}, which is no move: return one of state.legal_moves(), or its name"
        ) from None
    return number


def _thoughts(values: object, state: AnyState) -> dict[int, float]:
    """Chances by move, checked; moves that are not legal are left out."""
    if not isinstance(values, Mapping):
        raise ValueError(
            f"returned {one_line(repr(values), 60)} for what it thinks: give a dict of chances, 0 to 1, by move"
        )
    legal, found = set(state.legal_moves()), dict[int, float]()
    for move, chance in values.items():
        number = _move(move, state)
        try:
            found[number] = float(chance)
        except (TypeError, ValueError):
            found[number] = -1.0
        if not 0.0 <= found[number] <= 1.0:
            raise ValueError(f"returned {one_line(repr(chance), 40)} as a chance to win: give numbers from 0 to 1")
    return {move: chance for move, chance in found.items() if move in legal}


def _shown(move: int, state: AnyState) -> str:
    try:
        return state.move_name(move)
    except ValueError:
        return str(move)


def _takes_two(chooses: Choose) -> bool:
    """Whether `choose` can be given the seconds of a clock beside the state."""
    try:
        inspect.signature(chooses).bind(None, None)
    except TypeError:
        return False
    except ValueError:  # a builtin without a signature
        return False
    return True
