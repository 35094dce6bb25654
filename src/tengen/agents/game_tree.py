"""What the agents that search the game tree share: which moves they consider, and how they explain one."""

import math
from collections.abc import Callable

import numpy as np

from tengen.agents.agent import AgentError, Decision
from tengen.agents.passing import Count, Pass, count_now
from tengen.games import go
from tengen.games.batch import BatchedGame
from tengen.games.game import game_names, game_of, get_game
from tengen.games.go import PASS
from tengen.games.kernels import WIN
from tengen.games.state import AnyState
from tengen.search.result import GameTreeResult

Search = Callable[[list[int], frozenset[int]], GameTreeResult]
"""A search of these root moves, with these stones dead when the game is counted."""


def check_evaluation(name: str | None) -> None:
    """ValueError if no game has an evaluation of this name; None stands for a game's usual one."""
    known = [known for game in game_names() for known in get_game(game).evaluations if known]
    if name is not None and name not in known:
        raise ValueError(f"no evaluation is called {name[:40]!r}: choose from {', '.join(known)}")


def batch_for(state: AnyState, evaluation: str | None) -> BatchedGame:
    """The kernels for games like this one, with an evaluation; AgentError if the game has none of this name."""
    game = game_of(state)
    batch = game.batch(game.options_of(state))
    if evaluation is not None:
        if evaluation not in game.evaluations:
            raise AgentError(f"{game.title} has no evaluation {evaluation}: choose {' or '.join(game.evaluations)}")
        batch.use_evaluation(game.evaluations.index(evaluation))
    return batch


def search_with_care(
    state: AnyState, rng: np.random.Generator, seconds: float | None, search: Search
) -> GameTreeResult:
    """Search the legal moves, shuffled; in Go with care about the pass, which `passing` decides."""
    moves = state.legal_moves()
    rng.shuffle(moves)
    if not isinstance(state, go.State):
        return search(moves, frozenset())
    if len(moves) < 2 or PASS not in moves:
        return search(moves, frozenset()) if moves else GameTreeResult(PASS, None)
    if state.last_move == PASS:
        count = count_now(state, seconds)
        return search([PASS] if count.verdict is Pass.WINS else _allowed(state, moves, count), count.dead)
    result = search(moves, frozenset())
    if result.move == PASS:
        count = count_now(state, seconds)
        if len(_allowed(state, moves, count)) < len(moves):
            return search(_allowed(state, moves, count), count.dead)
    return result


def decision(state: AnyState, result: GameTreeResult, batch: BatchedGame, seconds: float) -> Decision:
    """The result of a search that took so many seconds as an agent's decision: evaluations become rough chances."""
    note = f"depth {result.depth}, {result.nodes} nodes, {result.nodes / max(seconds, 1e-9):.0f} nodes/s"
    if result.value is None:
        return Decision(result.move, note=note, nodes=result.nodes)
    left = WIN - abs(result.value)
    if left < WIN // 2:
        note += f", {'win' if result.value > 0 else 'loss'} in {left} plies"
    else:
        note += f", {result.value / 100:+g} {game_of(state).unit}" + (", solved" if result.solved else "")
    return Decision(
        result.move,
        value=chance(result.value, batch.spread),
        values={move: chance(value, batch.spread) for move, value in result.values.items()},
        pv=result.pv,
        note=note,
        nodes=result.nodes,
    )


def chance(value: float, spread: float) -> float:
    """A rough chance, 0 to 1, of winning with this evaluation: a logistic curve."""
    return 0.5 * (1.0 + math.tanh(value / (2 * spread)))


def _allowed(state: go.State, moves: list[int], count: Count) -> list[int]:
    """The moves without the pass, if that loses and there is a move that fills no eye."""
    if count.verdict is not Pass.LOSES or game_of(state).sensible_moves(state) == [PASS]:
        return moves
    return [move for move in moves if move != PASS]
