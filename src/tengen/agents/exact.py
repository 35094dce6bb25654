"""Plays Go on small boards by the exact solver: boards up to 4x4 by the solution of all positions, 5x5 by search."""

from collections.abc import Mapping
from dataclasses import dataclass

from tengen.agents.agent import AgentError, Decision, of_game
from tengen.games import go
from tengen.games.state import AnyState
from tengen.solve.go_solver import Solver, guaranteed, point_of, position_of, winning_claims
from tengen.solve.retrograde import MAX_SIZE, Choice, Solution, solve_board


@dataclass(frozen=True)
class ExactSettings:
    """Plays Go up to 5x5 by the exact solver; on 5x5 it needs some moves on the board to find out who wins."""

    nodes: int = 1_000_000
    """How many nodes are searched for each player's win on 5x5."""
    memory: float = 0.5
    """Memory for the tables of searches, in GB."""

    def __post_init__(self) -> None:
        if self.nodes < 1 or self.memory <= 0:
            raise ValueError(f"exact:nodes={self.nodes},memory={self.memory} is not possible: give more than 0 of both")


class ExactAgent:
    """Keeps what it wins by force; where it has lost, it holds out as long as possible.

    It remembers what it found out about a board, and chooses among moves that are legal with all of the game behind.
    """

    name = "exact"

    def __init__(self, settings: ExactSettings) -> None:
        self._settings = settings
        self._solution: Solution | None = None
        self._solver: Solver | None = None

    def choose(self, state: AnyState, seconds: float | None = None) -> Decision:
        """The best move by what is proven; on 5x5, where nothing is, the one that looks easiest to prove."""
        board = self._board_of(state)
        if board.is_over:
            return Decision(go.PASS, note="the game is over")
        return self._by_solution(board) if board.size <= MAX_SIZE else self._by_search(board)

    def check(self, state: AnyState) -> None:
        """Solve the board, if it is small enough for that; AgentError if the solver does not know this game."""
        board = self._board_of(state)
        if board.size <= MAX_SIZE:
            self._solution_for(board)
        else:
            self._solver_for(board)

    def close(self) -> None:
        """Forget all."""
        self._solution = self._solver = None

    def _board_of(self, state: AnyState) -> go.State:
        board = of_game(state, go.State, self.name)
        if board.size > 5 or board.rules.scoring != "area":
            raise AgentError(
                f"exact plays Go up to 5x5 under rules that count area, and this is {board.size}x{board.size} under "
                f"{board.rules.name} rules"
            )
        return board

    def _solution_for(self, state: go.State) -> Solution:
        if self._solution is None or (self._solution.size, self._solution.rules) != (state.size, state.rules):
            self._solution = solve_board(state.size, state.rules)
        return self._solution

    def _solver_for(self, state: go.State) -> Solver:
        if self._solver is None or (self._solver.size, self._solver.rules) != (state.size, state.rules):
            self._solver = Solver(state.size, state.rules, self._settings.memory)
        return self._solver

    def _by_solution(self, state: go.State) -> Decision:
        solution = self._solution_for(state)
        position = position_of(state)
        ours, theirs = (
            {point_of(choice.bit, state.size): choice for choice in solution.choices(position, mine)}
            for mine in (True, False)
        )
        moves = [move for move in state.legal_moves() if move in ours] or state.legal_moves()
        floor = -(state.size**2)

        def worth(move: int) -> tuple[int, int, int]:
            """What the move guarantees, what it leaves to the opponent, and how soon."""
            if move not in ours:
                return floor, floor, 0
            mine, yours = ours[move], theirs[move]
            return mine.guarantee, -yours.guarantee, -mine.rank if mine.guarantee > floor else yours.rank

        move = max(moves, key=worth)
        own, other = winning_claims(state)
        values = {one: _chance(ours, theirs, one, own.margin, other.margin) for one in moves}
        note = f"forces {guaranteed(solution, state, state.to_play)}"
        return Decision(move, values[move], values=values, pv=(move,), note=note)

    def _by_search(self, state: go.State) -> Decision:
        solver, (own, other) = self._solver_for(state), winning_claims(state)
        before = solver.nodes
        won = solver.prove(state, own, nodes=self._settings.nodes)
        lost = not won and solver.prove(state, other, nodes=self._settings.nodes)
        nodes = solver.nodes - before
        legal = set(state.legal_moves())
        estimates = [one for one in solver.estimates(state, other if lost else own) if one.move in legal]
        if not estimates:
            return Decision(state.legal_moves()[0], note="superko forbids all that was searched", nodes=nodes)
        best = (
            max(estimates, key=lambda one: one.rank) if lost else min(estimates, key=lambda one: (one.work, one.rank))
        )
        value, note = (1.0, f"won: {own}") if won else (0.0, f"lost: {other}") if lost else (None, "undecided")
        return Decision(best.move, value, pv=(best.move,), note=note, nodes=nodes)


def _chance(ours: Mapping[int, Choice], theirs: Mapping[int, Choice], move: int, need: int, other: int) -> float:
    """1 if a move wins by force, 0 if it loses, else one half."""
    if move not in ours:
        return 0.5
    return 1.0 if ours[move].guarantee >= need else 0.0 if theirs[move].guarantee >= other else 0.5
