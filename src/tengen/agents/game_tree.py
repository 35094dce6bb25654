"""What the agents that search the game tree share: which moves they consider, and how they explain one."""

import numpy as np

from tengen.agents.agent import Decision
from tengen.games.go import BLACK, PASS, GameState
from tengen.search.budget import Budget
from tengen.search.evaluation import chance
from tengen.search.ordering import PASS_SCORE, static_scores
from tengen.search.result import SearchResult


def moves_to_consider(state: GameState, rng: np.random.Generator) -> list[int]:
    """The legal moves, shuffled, with care about the pass.

    If the opponent has passed and the game counted now is won, the pass is all there is to consider. The
    search counts every stone as alive; where the rules take dead stones off and only that makes a won game
    a lost one, the pass is left out, as long as a move remains that fills no eye.
    """
    moves = state.legal_moves()
    rng.shuffle(moves)
    if PASS not in moves or len(moves) == 1:
        return moves
    if state.last_move == PASS and _margin(state) > 0:
        return [PASS]
    if state.rules.removes_dead and _margin(state, all_alive=True) > 0 and _margin(state) <= 0:
        if np.any(static_scores(state, moves) > PASS_SCORE):
            moves.remove(PASS)
    return moves


def decision(state: GameState, result: SearchResult, budget: Budget) -> Decision:
    """A search's result as an agent's decision: points become rough chances."""
    size = state.size
    speed = budget.nodes / max(budget.elapsed, 1e-9)
    note = f"depth {result.depth}, {budget.nodes} nodes, {speed:.0f} nodes/s"
    if result.value is None:
        return Decision(result.move, note=note)
    note += f", {result.value:+g} points" + (", solved" if result.solved else "")
    return Decision(
        result.move,
        value=chance(result.value, size),
        values={move: chance(value, size) for move, value in result.values.items()},
        pv=result.pv,
        note=note,
    )


def _margin(state: GameState, all_alive: bool = False) -> float:
    """How many points the player to move leads by if the game is counted now."""
    margin = state.score(dead=() if all_alive else None)
    return margin if state.to_play == BLACK else -margin
