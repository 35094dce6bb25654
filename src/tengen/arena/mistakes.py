"""The truth as a yardstick: how often an agent throws away a game that it has won, by the exact solver.

Positions come from games that the agent plays against itself, a share of all moves being random, so that both good and
strange positions occur. Of every game one position is taken. A position counts if it is won for the player to move, and
if the solver can also tell who has won after the agent's move; it is thrown away if that is the opponent then.

The solver looks at positions without the moves behind them: superko counts from there on. It counts finished games with
all stones alive, so measure agents that leave dead stones on the board under rules where they must not (simple-go,
tromp-taylor).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tengen.agents.agent import Agent
from tengen.arena.statistics import wilson_interval
from tengen.games import go
from tengen.solve.go_solver import Solver


@dataclass(frozen=True)
class Mistake:
    """A move that threw the game away."""

    state: go.State
    move: int


@dataclass(frozen=True)
class Mistakes:
    """How an agent did in positions that were won for it."""

    sampled: int
    """Positions taken from games."""
    undecided: int
    """Positions of which the solver could not tell who has won, before or after the move."""
    won: int
    """Positions that were won for the player to move, and decided after its move."""
    thrown_away: tuple[Mistake, ...]

    @property
    def share(self) -> float:
        """The share of won positions that were thrown away; NaN if there are none."""
        return len(self.thrown_away) / self.won if self.won else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """Where the true share lies with 95% confidence."""
        return wilson_interval(len(self.thrown_away), self.won)


def find_mistakes(
    agent: Agent,
    start: go.State,
    solver: Solver,
    positions: int,
    *,
    nodes: int = 300_000,
    from_move: int = 8,
    noise: float = 0.3,
    seed: int = 1,
    report: Callable[[int], None] = lambda done: None,
) -> Mistakes:
    """Sample so many positions after at least `from_move` moves, and hold the agent's moves against the solver.

    `nodes`: how much the solver may search for each verdict. `noise`: the share of random moves in the games.
    """
    rng = np.random.default_rng(seed)
    sampled = undecided = won = 0
    thrown_away = []
    while sampled < positions:
        state = _sample(agent, start, from_move, noise, rng)
        if state is None:
            continue
        sampled += 1
        report(sampled)
        winner = winner_by(solver, state, nodes)
        if winner is None:
            undecided += 1
        elif winner == state.to_play:
            move = agent.choose(state).move
            after = winner_by(solver, state.play(move), nodes)
            if after is None:
                undecided += 1
                continue
            won += 1
            if after != state.to_play:
                thrown_away.append(Mistake(state, move))
    return Mistakes(sampled, undecided, won, tuple(thrown_away))


def _sample(agent: Agent, start: go.State, from_move: int, noise: float, rng: np.random.Generator) -> go.State | None:
    """A position of a game after a random number of moves; None if the game was over before."""
    state = start
    wanted = from_move + int(rng.integers(start.size**2))
    while state.move_number < wanted:
        random = rng.random() < noise
        state = state.play(int(rng.choice(state.legal_moves())) if random else agent.choose(state).move)
        if state.is_over:
            return None
    return state


def winner_by(solver: Solver, state: go.State, nodes: int) -> int | None:
    """Who has won; None if the solver cannot tell."""
    return winner_of(state) if state.is_over else solver.verdict(state, nodes).winner


def winner_of(state: go.State) -> int | None:
    """Who has won a finished game, with all stones alive where it was counted."""
    if state.end_reason != "score":
        return state.winner()
    margin = state.score(dead=())
    return go.BLACK if margin > 0 else go.WHITE if margin < 0 else go.EMPTY
