"""Why an agent likes which move: the boards that apply to it, and a short table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, runtime_checkable

from tengen.agents.agent import Agent, AgentError, Decision
from tengen.agents.explanation import Explanation
from tengen.games.state import AnyState

_LEAST_VISITED: Final = 0.005  # share of the visits from which on a move's Q is shown


@runtime_checkable
class Explains(Protocol):
    """An agent that knows more about the moves than its decisions say."""

    def explain(self, state: AnyState, seconds: float | None = None) -> Explanation:
        """Think as `choose` does, and give what is known of every legal move."""
        ...


@dataclass(frozen=True)
class Panel:
    """What one board shows: a number for each move, or a line of play."""

    title: str
    short: str
    """The title in the table."""
    numbers: Mapping[int, float] = field(default_factory=dict)
    is_share: bool = False
    """Whether the numbers are shares, 1 together; else they are chances to win."""
    line: tuple[int, ...] = ()


def explain_position(agent: Agent, state: AnyState) -> tuple[Decision, list[Panel]]:
    """What an agent chooses and why, as boards in the order of AlphaGo's Figure 5, those that apply.

    AgentError if the agent knows nothing of moves but the one that it chooses.
    """
    if isinstance(agent, Explains):
        found = agent.explain(state)
        decision, priors, visits = found.decision, found.prior, _shares(found.visits)
        values = [
            Panel("Value of each move", "value", found.value_of_move),
            Panel("Q from values", "Q values", _well_known(found.q_value, visits)),
            Panel("Q from rollouts", "Q rollouts", _well_known(found.q_rollout, visits)),
        ]
    else:
        decision = agent.choose(state)
        priors, visits = decision.priors, _shares(decision.visits)
        values = [Panel("Chance to win, by search", "chance", _well_known(decision.values, visits))]
    if len(priors) > 1 and max(priors.values()) - min(priors.values()) < 1e-6:
        priors = {}  # all moves alike: there is no policy
    shares = [Panel("Prior", "prior", priors, is_share=True), Panel("Visits", "visits", visits, is_share=True)]
    panels = [panel for panel in (*values, *shares) if panel.numbers]
    if not panels:
        reason = decision.note or "it gives no numbers of moves"
        remedy = "choose an agent that searches or has a policy"
        raise AgentError(f"{agent.name} explains nothing here, {reason}: {remedy}")
    if len(decision.pv) > 1:
        panels.append(Panel("Principal variation", "line", line=decision.pv))
    return decision, panels


def best_moves(panels: Sequence[Panel], most: int = 8) -> list[int]:
    """The moves that matter most: by visits, or else by the last numbers that there are."""
    ranked = [panel.numbers for panel in panels if panel.numbers]
    moves = {move for numbers in ranked for move in numbers}
    return sorted(moves, key=lambda move: [-numbers.get(move, -1.0) for numbers in reversed(ranked)])[:most]


def _well_known(values: Mapping[int, float], visits: Mapping[int, float]) -> dict[int, float]:
    """The means of moves that have had their share of visits; those of others are noise."""
    least = min(_LEAST_VISITED, max(visits.values(), default=0.0))
    return {move: value for move, value in values.items() if visits.get(move, 0.0) >= least}


def _shares(visits: Mapping[int, int]) -> dict[int, float]:
    total = sum(visits.values())
    return {move: count / total for move, count in visits.items() if count} if total else {}
