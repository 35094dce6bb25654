"""Does an agent win what it has won? Games from openings that the exact solver gives to it, against exact play."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tengen.agents.agent import Agent
from tengen.arena.mistakes import Mistake, winner_by, winner_of
from tengen.games import go
from tengen.solve.go_solver import Solver


@dataclass(frozen=True)
class WonGame:
    """A game that an agent should have won."""

    opening: go.State
    end: go.State
    player: int
    """Whom the agent played: who had won the opening."""
    mistake: Mistake | None
    """The agent's move in the last position that the solver gave to it, if the agent did not win."""

    @property
    def held(self) -> bool:
        """Whether the agent won."""
        return self.mistake is None and winner_of(self.end) == self.player


def play_won_games(
    agent: Agent,
    opponent: Agent,
    start: go.State,
    solver: Solver,
    games: int,
    *,
    nodes: int = 300_000,
    opening: tuple[int, int] = (6, 12),
    seed: int = 1,
) -> Iterator[WonGame]:
    """So many games after `opening` (from, to) random moves; the agent plays whom the solver calls the winner.

    Openings that the solver cannot decide within `nodes` are left out.
    """
    rng = np.random.default_rng(seed)
    played = 0
    while played < games:
        state = _wander(start, int(rng.integers(opening[0], opening[1] + 1)), rng)
        winner = None if state.is_over else winner_by(solver, state, nodes)
        if winner not in (go.BLACK, go.WHITE):
            continue
        played += 1
        yield _play(agent, opponent, state, int(winner), solver, nodes)


def _play(agent: Agent, opponent: Agent, state: go.State, player: int, solver: Solver, nodes: int) -> WonGame:
    opening, decisions = state, list[Mistake]()
    while not state.is_over:
        mine = state.to_play == player
        move = (agent if mine else opponent).choose(state).move
        if mine:
            decisions.append(Mistake(state, move))
        state = state.play(move)
    if winner_of(state) == player:
        return WonGame(opening, state, player, None)
    won = (one for one in reversed(decisions) if winner_by(solver, one.state, nodes) == player)
    return WonGame(opening, state, player, next(won, None))


def _wander(state: go.State, moves: int, rng: np.random.Generator) -> go.State:
    for _ in range(moves):
        if state.is_over:
            break
        points = [move for move in state.legal_moves() if move != go.PASS]
        state = state.play(int(rng.choice(points or state.legal_moves())))
    return state
