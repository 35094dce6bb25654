"""Agents measured by the exact solver: how often one throws away a game that it has won.

Positions come from games that the agent plays against itself, a share of all moves being random, so that both good and
strange positions occur. Of every game one position is taken. A position counts if it is won for the player to move, and
if the solver can also decide the position after the agent's move; it is thrown away if the opponent wins then.

The solver looks at positions without the moves behind them: superko counts from there on. It counts finished games with
all stones alive, so measure agents that leave dead stones on the board under rules where they must not (simple-go,
tromp-taylor).

`play_won_games` asks for more: that an agent wins, against exact play, games that the solver gives to it.
"""

from collections.abc import Callable, Iterator
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
    """Positions that the solver could not decide, before or after the move."""
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
    """Sample `positions` positions after at least `from_move` moves, and compare the agent's moves with the solver.

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
    """The winner; None if the solver cannot decide."""
    return winner_of(state) if state.is_over else solver.verdict(state, nodes).winner


def winner_of(state: go.State) -> int | None:
    """The winner of a finished game, with all stones alive where it was counted."""
    if state.end_reason != "score":
        return state.winner()
    margin = state.score(dead=())
    return go.BLACK if margin > 0 else go.WHITE if margin < 0 else go.EMPTY


@dataclass(frozen=True)
class WonGame:
    """A game that an agent should have won."""

    opening: go.State
    end: go.State
    player: int
    """The colour of the agent, which the solver gave the opening to."""
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
    """`games` games after `opening` (from, to) random moves; the agent plays the colour that wins by the solver.

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
