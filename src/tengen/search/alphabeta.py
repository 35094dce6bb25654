"""Alpha-beta (Knuth and Moore, "An Analysis of Alpha-Beta Pruning", 1975): minimax without the useless part.

In negamax form, every value being seen by the player to move:

    v(s, d, alpha, beta) = max over a of -v(s.a, d - 1, -beta, -alpha)

where the search of s stops as soon as some move reaches beta: the opponent has something better elsewhere
and will not let us come here. Values are exact inside (alpha, beta), and bounds outside it (fail-soft).
Around that core:

* iterative deepening: depth 1, 2, 3, ... so that there is an answer at any time, and a first guess for the
  next depth;
* a transposition table, by position: the value found (exact, or a bound) and the best move;
* move ordering: the table's move, captures, rescues, killers (moves that cut off elsewhere at this ply),
  history (moves that cut off anywhere), then static looks (`ordering.py`).

A table entry's value is used only for the very depth it was searched to, so a depth-limited search returns
exactly what minimax returns. With one exception: under superko (and at the third repetition that voids a
game) what is legal depends on the moves behind, which the table's key does not hold; it holds the stones,
the player, the ko, and the passes. Two paths to one position may then share a value that only one of them
deserves (the "graph history interaction"). It is rare, and `table=False` gives certainty where that counts.
"""

from dataclasses import dataclass
from typing import Final

from tengen.games.go import PASS, GameState
from tengen.games.go.board import HASH, KO, PASSES, PRISONERS_OF_BLACK, PRISONERS_OF_WHITE, TO_PLAY
from tengen.search.budget import Budget, BudgetSpent
from tengen.search.evaluation import Evaluation, final_points
from tengen.search.ordering import best_looking_first, static_scores
from tengen.search.result import SearchResult

MAX_DEPTH: Final = 200
_INFINITY: Final = float("inf")
_KILLER, _HISTORY = 250, 240  # ordering bonuses: below captures and rescues, above static looks
_TABLE_LIMIT: Final = 1_000_000

Key = tuple[int, ...]
Line = tuple[int, ...]


@dataclass(slots=True)
class _Entry:
    """What the table knows of a position: lower <= v <= upper for that depth, and the best move."""

    depth: int
    iteration: int
    lower: float
    upper: float
    move: int


class AlphaBetaSearch:
    """One search of one position. Make a new one for each move: superko makes old tables worthless."""

    def __init__(
        self,
        evaluation: Evaluation,
        budget: Budget | None = None,
        table: bool = True,
    ) -> None:
        self._evaluation = evaluation
        self._budget = budget or Budget()
        self._table: dict[Key, _Entry] | None = {} if table else None
        self._killers: dict[int, list[int]] = {}
        self._history: dict[tuple[int, int], int] = {}
        self._iteration = 0
        self._reached_horizon = False

    def run(self, state: GameState, depth: int = MAX_DEPTH, moves: list[int] | None = None) -> SearchResult:
        """Search deeper and deeper, to `depth` plies, the end of the game in every line, or the budget's end.

        `moves`: the moves to consider at the root, all legal ones when None. Of moves that stay equal it
        keeps the one that looks best at once, and of those the first.
        """
        if depth < 1:
            raise ValueError(f"alpha-beta cannot search {depth} plies: give a depth of at least 1")
        moves = best_looking_first(state, state.legal_moves() if moves is None else moves)
        result = SearchResult(moves[0] if moves else PASS, None)
        while moves and result.depth < min(depth, MAX_DEPTH) and not result.solved:
            self._iteration = result.depth + 1
            self._reached_horizon = False
            result, finished = self._search_root(state, moves, result)
            if not finished:
                break
            moves.sort(key=lambda move: move != result.move)  # stable: the best first, the others stay
        return result

    def _search_root(self, state: GameState, moves: list[int], last: SearchResult) -> tuple[SearchResult, bool]:
        """One iteration. If the budget ends within it, what it found is kept: the best move came first."""
        best, pv = last.move, last.pv
        values: dict[int, float] = {}
        alpha, depth, finished = -_INFINITY, self._iteration, True
        try:
            for move in moves:
                value, line = self._negamax(state.play(move), depth - 1, -_INFINITY, -alpha)
                if -value > alpha:
                    best, alpha, pv = move, -value, (move, *line)
                    values[move] = alpha
        except BudgetSpent:
            finished = False
        nodes = self._budget.nodes
        if not values:
            return SearchResult(last.move, last.value, last.values, last.pv, last.depth, nodes), False
        solved = finished and not self._reached_horizon
        searched = depth if finished else last.depth
        return SearchResult(best, alpha, values, pv, searched, nodes, solved), finished

    def _negamax(self, state: GameState, depth: int, alpha: float, beta: float) -> tuple[float, Line]:
        """v(s, d, alpha, beta) and the best line."""
        self._budget.spend()
        if state.is_over:
            return final_points(state), ()
        if depth == 0:
            self._reached_horizon = True
            return self._evaluation(state), ()
        key = self._key(state)
        entry = self._table.get(key) if self._table is not None else None
        if entry is not None and entry.depth == depth and entry.iteration == self._iteration:
            if entry.lower >= beta or entry.lower == entry.upper:
                return entry.lower, (entry.move,)
            if entry.upper <= alpha:
                return entry.upper, (entry.move,)

        ply, best, raised = self._iteration - depth, -_INFINITY, alpha
        line: Line = ()
        for move in self._ordered(state, ply, entry):
            value, rest = self._negamax(state.play(move), depth - 1, -beta, -raised)
            if -value > best:
                best, line = -value, (move, *rest)
                raised = max(raised, best)
                if best >= beta:
                    self._remember_cutoff(state, move, ply, depth)
                    break
        self._store(key, depth, best, alpha, beta, line[0])
        return best, line

    def _ordered(self, state: GameState, ply: int, entry: _Entry | None) -> list[int]:
        """The legal moves, most promising first."""
        moves = state.legal_moves()
        killers, color, history = self._killers.get(ply, ()), state.to_play, self._history
        first = entry.move if entry is not None else None
        scores = {}
        for move, score in zip(moves, static_scores(state, moves).tolist()):
            if move == first:
                score = _INFINITY
            elif score >= 0:  # neither a pass nor an eye
                score += _KILLER if move in killers else min(history.get((color, move), 0), _HISTORY)
            scores[move] = score
        return sorted(moves, key=lambda move: -scores[move])

    def _remember_cutoff(self, state: GameState, move: int, ply: int, depth: int) -> None:
        """A move that refuted one position often refutes the next."""
        killers = self._killers.setdefault(ply, [])
        if move not in killers:
            self._killers[ply] = [move, *killers[:1]]
        seen = (state.to_play, move)
        self._history[seen] = self._history.get(seen, 0) + depth * depth

    def _store(self, key: Key, depth: int, value: float, alpha: float, beta: float, move: int) -> None:
        if self._table is None or (len(self._table) >= _TABLE_LIMIT and key not in self._table):
            return
        lower = value if value > alpha else -_INFINITY  # all moves failed: value is no more than an upper bound
        upper = value if value < beta else _INFINITY
        self._table[key] = _Entry(depth, self._iteration, lower, upper, move)

    @staticmethod
    def _key(state: GameState) -> Key:
        """What the table tells positions apart by; prisoners matter only where they are points."""
        info = state.board.info.tolist()
        prisoners = info[PRISONERS_OF_BLACK] - info[PRISONERS_OF_WHITE] if state.rules.scoring == "territory" else 0
        return info[HASH], info[TO_PLAY], info[KO], info[PASSES], prisoners
