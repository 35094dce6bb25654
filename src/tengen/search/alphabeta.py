"""Alpha-beta (Knuth and Moore, "An Analysis of Alpha-Beta Pruning", 1975): minimax without the useless part, in kernels
that serve every game.

In negamax form, every value being seen by the player to move:

    v(s, d, alpha, beta) = max over a of -v(s.a, d - 1, -beta, -alpha)

where the search of s stops as soon as some move reaches beta: the opponent has something better elsewhere and will not
let us come here. Values are exact inside (alpha, beta), and bounds outside it (fail-soft). Around that core:

* iterative deepening: depth 1, 2, 3, ... so that there is an answer at any time, and a first guess for the next depth;
* quiescence, where a game wants it: beyond the depth only moves that gain something are tried, and nobody has to;
* a transposition table: the value found (exact, or a bound) and the best move;
* move ordering: the table's move, moves that gain something, killers (moves that cut off elsewhere at this ply), then
  by history (moves that cut off anywhere) and how promising they look.

A table entry counts for the very depth that it was searched to, or for a greater one if all its lines ended in finished
games. So a search returns exactly what one without a table returns. With one exception: what superko and repetition do
depends on the moves behind, which the key does not hold. Two paths to one position may then share a value that only one
of them deserves (the "graph history interaction"). It is rare, and `table=False` gives certainty where that matters.
"""

import threading
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.games.batch import BatchedGame, GameArrays
from tengen.games.kernels import WIN, copy, ending, evaluate, gain, has_quiescence, key, moves, play, player
from tengen.games.state import RESIGN, AnyState
from tengen.search.minimax import GameTreeResult

MAX_DEPTH: Final = 200

_LONGEST = 256  # plies that a line may have, quiescence included
_INFINITY = 2 * WIN
_LOOKS = 255  # nodes between two looks at the stop flag, a mask
_UNLIMITED = 2**62

# Columns of Workspace.frames and of Workspace.counts.
_FLOOR, _ALPHA, _BETA, _BEST, _CHOICE, _NEXT, _COUNT, _OPEN, _KEY, _STORED = range(10)
_NODES, _LIMIT, _ABORTED, _SALT = range(4)

_EXACT, _LOWER, _UPPER = range(3)
_FIRST, _GAINS, _KILLER = 2**60, 2**50, 2**48  # ordering: the table's move, what gains, killers, the others by history
_MOST_HISTORY, _HISTORY_STEP = 2**30, 2**13


class Workspace(NamedTuple):
    """Memory for one line of play and what is known along it; L: the longest line, A: the policy."""

    games: GameArrays  # [L, ...] the positions along the line
    actions: NDArray[np.int16]  # [L, A] what is legal at each ply
    scores: NDArray[np.int64]  # [L, A] in which order it is tried, the highest first
    frames: NDArray[np.int64]  # [L, 10] at each ply: alpha at first and now, beta, best value and action so far, ...
    pv: NDArray[np.int16]  # [L, L] the best line from each ply on
    pv_length: NDArray[np.int64]  # [L]
    killers: NDArray[np.int64]  # [L, 2] the last two quiet actions that cut off
    history: NDArray[np.int64]  # [2, A] how much each player's quiet actions cut off
    table: NDArray[np.int64]  # [T, 2] key; value, action, depth, bound and whether it is open; T is a power of 2 or 0
    counts: NDArray[np.int64]  # [4] nodes, most nodes, was the search stopped, what keys of this search differ by
    stop: NDArray[np.int64]  # [1] not 0: return soon


class AlphaBetaSearch:
    """Alpha-beta over the positions of one game, one search at a time."""

    def __init__(self, game: BatchedGame, table: bool = True, table_bits: int = 20) -> None:
        """`table_bits`: the table has room for 2 ** table_bits positions, 16 bytes each."""
        self._game, actions = game, game.actions
        self._work = Workspace(
            game.allocate(_LONGEST),
            np.zeros((_LONGEST, actions), np.int16),
            np.zeros((_LONGEST, actions), np.int64),
            np.zeros((_LONGEST, 10), np.int64),
            np.zeros((_LONGEST, _LONGEST), np.int16),
            np.zeros(_LONGEST, np.int64),
            np.full((_LONGEST, 2), -1, np.int64),
            np.zeros((2, actions), np.int64),
            np.zeros((1 << table_bits if table else 0, 2), np.int64),
            np.zeros(4, np.int64),
            np.zeros(1, np.int64),
        )

    def stop(self) -> None:
        """Let a `run` in another thread return soon with the best it knows."""
        self._work.stop[0] = 1

    def run(
        self,
        state: AnyState,
        depth: int = MAX_DEPTH,
        moves: list[int] | None = None,
        seconds: float | None = None,
        nodes: int | None = None,
        dead: frozenset[int] = frozenset(),
    ) -> GameTreeResult:
        """Search deeper and deeper, to `depth` plies, a result that no depth can change, or the end of time or nodes.

        `moves`: those to consider at the root, all legal ones when None. Of moves that stay equal it keeps the one that
        looks best at once, and of those the first. `dead`: points whose stones come off when a game is counted.
        """
        if depth < 1:
            raise ValueError(f"alpha-beta cannot search {depth} plies: give a depth of at least 1")
        self._work.stop[0] = 0
        timer = None
        if seconds is not None:
            timer = threading.Timer(min(max(seconds, 0), threading.TIMEOUT_MAX), self.stop)
            timer.daemon = True
            timer.start()
        moves = state.legal_moves() if moves is None else moves
        if not moves:
            return GameTreeResult(RESIGN, None)
        self._game.load(self._work.games, 0, state)
        if dead:
            self._game.mark_dead(self._work.games, 0, dead)
        try:
            found = self._deepen({state.action_of(move): move for move in moves}, min(depth, MAX_DEPTH), nodes)
        finally:
            if timer is not None:
                timer.cancel()
        return replace(found, pv=tuple(_as_moves(state, found.pv)), nodes=int(self._work.counts[_NODES]))

    def _deepen(self, moves: dict[int, int], depth: int, nodes: int | None) -> GameTreeResult:
        """Search the moves of the root, by action; the line of the result is one of actions."""
        work, order = self._work, np.array(list(moves), np.int64)
        prepare(work, order, _UNLIMITED if nodes is None else nodes)
        result, values = GameTreeResult(moves[int(order[0])], None), np.zeros(len(order), np.int64)
        for plies in range(1, depth + 1):
            best = int(search_root(work, order, values, plies))
            finished = not work.counts[_ABORTED]
            if best >= 0:  # also of a depth that was cut short: the best move of the last one came first
                value, line = int(values[best]), tuple(work.pv[0, : work.pv_length[0]].tolist())
                exact = {moves[int(order[k])]: int(values[k]) for k in np.flatnonzero(values > -_INFINITY)}
                solved = finished and bool(not work.frames[0, _OPEN] or abs(value) >= WIN - _LONGEST)
                searched = plies if finished else plies - 1
                result = GameTreeResult(moves[int(order[best])], value, exact, line, searched, solved=solved)
                order[: best + 1] = np.roll(order[: best + 1], 1)
            if not finished or result.solved:
                break
        return result


def _as_moves(state: AnyState, actions: tuple[int, ...]) -> list[int]:
    """A line of actions as moves, up to where the table may have led into what is illegal on this path."""
    line = list[int]()
    for action in actions:
        move = state.move_of(action)
        if state.is_over or state.why_illegal(move) is not None:
            break
        line.append(move)
        state = state.play(move)
    return line


# --------------------------------------------------------------------------------------------- kernels


@kernel
def prepare(work, order, limit):  # type: ignore[no-untyped-def]
    """Forget the last search, and sort the root's actions, order: int64[n], by how promising they look."""
    work.killers[:] = -1
    work.history[:] = 0
    work.counts[_NODES], work.counts[_LIMIT], work.counts[_ABORTED] = 0, limit, 0
    work.counts[_SALT] = work.counts[_SALT] * 6364136223846793005 + 1442695040888963407
    for n in range(1, order.shape[0]):
        action = order[n]
        promise = gain(work.games, 0, action)
        k = n
        while k > 0 and gain(work.games, 0, order[k - 1]) < promise:
            order[k] = order[k - 1]
            k -= 1
        order[k] = action


@kernel
def search_root(work, order, values, depth):  # type: ignore[no-untyped-def]
    """The index of the best of the root's actions, order: int64[n], or -1 if the search was stopped before the first.

    values: int64[n] holds the values that are exact, and -_INFINITY elsewhere.
    """
    best, alpha = -1, np.int64(-_INFINITY)
    values[:] = -_INFINITY
    work.frames[0, _OPEN] = 0
    for n in range(order.shape[0]):
        copy(work.games, 0, work.games, 1)
        play(work.games, 1, order[n])
        value = -_negamax(work, depth, np.int64(-_INFINITY), -alpha)
        if work.counts[_ABORTED]:
            break
        work.frames[0, _OPEN] |= work.frames[1, _OPEN]
        if value > alpha:
            values[n] = alpha = value
            best = n
            _extend_line(work, 0, order[n])
    return best


@kernel
def _negamax(work, depth, alpha, beta):  # type: ignore[no-untyped-def]
    """The value of the position at ply 1 for the player to move, exact between alpha and beta.

    A loop over frames, one per ply, where the textbook calls itself: Numba cannot cache functions that do.
    """
    frames = work.frames
    frames[1, _ALPHA], frames[1, _BETA] = alpha, beta
    ply, entering, value = 1, True, np.int64(0)
    while True:
        known = False
        if entering:
            known, value = _enter(work, ply, depth - ply)
            entering = False
        if not known:
            if _next_move(work, ply):
                frames[ply + 1, _ALPHA], frames[ply + 1, _BETA] = -frames[ply, _BETA], -frames[ply, _ALPHA]
                ply, entering = ply + 1, True
                continue
            value = frames[ply, _BEST]
            if frames[ply, _STORED] and not work.counts[_ABORTED]:
                _store(work, ply, depth - ply)
        if work.counts[_ABORTED] or ply == 1:
            return value
        ply, value = ply - 1, -value
        frame = frames[ply]
        frame[_OPEN] |= frames[ply + 1, _OPEN]
        if value > frame[_BEST]:
            action = np.int64(work.actions[ply, frame[_NEXT] - 1])
            frame[_BEST], frame[_CHOICE] = value, action
            if value > frame[_ALPHA]:
                frame[_ALPHA] = value
                _extend_line(work, ply, action)
                if value >= frame[_BETA]:
                    _remember_cutoff(work, ply, action, depth - ply)


@kernel
def _enter(work, ply, depth):  # type: ignore[no-untyped-def]
    """Look at the position at `ply`: (True, its value) if that is known at once, else prepare to try its moves."""
    counts, frame, games, actions = work.counts, work.frames[ply], work.games, work.actions[ply]
    work.pv_length[ply] = 0
    if counts[_NODES] >= counts[_LIMIT] or (counts[_NODES] & _LOOKS == _LOOKS and work.stop[0] != 0):
        counts[_ABORTED] = 1
        return True, np.int64(0)
    counts[_NODES] += 1
    frame[_OPEN] = 0
    if depth <= 0 and not has_quiescence(games):
        over, value = ending(games, ply, actions)
        if over:
            return True, _nearer(value, ply)
        frame[_OPEN] = 1
        return True, evaluate(games, ply)

    count, value, forced = moves(games, ply, actions)
    if count == 0:
        return True, _nearer(value, ply)
    if ply == _LONGEST - 1:
        frame[_OPEN] = 1
        return True, evaluate(games, ply)
    frame[_FLOOR], frame[_BEST], frame[_CHOICE] = frame[_ALPHA], -_INFINITY, -1
    frame[_NEXT], frame[_COUNT], frame[_STORED] = 0, count, 0
    if depth <= 0 and not forced:  # only what gains something from here on, and no duty to play that
        frame[_OPEN] = 1
        value = evaluate(games, ply)
        if value >= frame[_BETA]:
            return True, value
        frame[_ALPHA], frame[_BEST] = max(frame[_ALPHA], value), value
        frame[_COUNT] = _keep_gains(work, ply, count)
        return False, np.int64(0)
    first = np.int64(-1)
    if depth > 0 and work.table.shape[0] > 0:
        frame[_STORED], frame[_KEY] = 1, key(games, ply) ^ counts[_SALT]
        known, value, first = _look_up(work, ply, depth)
        if known:
            return True, value
    _score_moves(work, ply, count, first)
    return False, np.int64(0)


@kernel(inline=True)
def _nearer(value, ply):  # type: ignore[no-untyped-def]
    """The value of a finished game: a win counts more the sooner it comes, a loss the later."""
    return value - ply if value >= WIN else value + ply if value <= -WIN else value


@kernel(inline=True)
def _next_move(work, ply):  # type: ignore[no-untyped-def]
    """Play the next move worth trying at `ply` in the game of the next; False if there is none."""
    frame, actions, scores = work.frames[ply], work.actions[ply], work.scores[ply]
    begin, count = frame[_NEXT], frame[_COUNT]
    if begin >= count or frame[_BEST] >= frame[_BETA]:
        return False
    best = begin
    for k in range(begin + 1, count):
        if scores[k] > scores[best]:
            best = k
    actions[begin], actions[best] = actions[best], actions[begin]
    scores[begin], scores[best] = scores[best], scores[begin]
    copy(work.games, ply, work.games, ply + 1)
    play(work.games, ply + 1, np.int64(actions[begin]))
    frame[_NEXT] = begin + 1
    return True


@kernel(inline=True)
def _keep_gains(work, ply, count):  # type: ignore[no-untyped-def]
    """Of the first `count` actions at `ply` keep those that are not quiet; returns how many."""
    actions, scores, kept = work.actions[ply], work.scores[ply], 0
    for k in range(count):
        promise = gain(work.games, ply, np.int64(actions[k]))
        if promise >= 0:
            actions[kept], scores[kept] = actions[k], promise
            kept += 1
    return kept


@kernel(inline=True)
def _score_moves(work, ply, count, first):  # type: ignore[no-untyped-def]
    """Decide in which order the actions at `ply` are tried; first: the table's, or -1."""
    actions, scores, killers = work.actions[ply], work.scores[ply], work.killers[ply]
    history = work.history[player(work.games, ply) - 1]
    for k in range(count):
        action = np.int64(actions[k])
        score = gain(work.games, ply, action)
        if action == first:
            score = np.int64(_FIRST)
        elif score >= 0:
            score += _GAINS
        elif action == killers[0] or action == killers[1]:
            score += _KILLER
        else:
            score += _HISTORY_STEP * history[action]
        scores[k] = score


@kernel(inline=True)
def _remember_cutoff(work, ply, action, depth):  # type: ignore[no-untyped-def]
    """A move that refuted one position often refutes the next."""
    if depth <= 0 or gain(work.games, ply, action) >= 0:
        return
    killers, history = work.killers[ply], work.history[player(work.games, ply) - 1]
    if killers[0] != action:
        killers[1], killers[0] = killers[0], action
    history[action] += depth * depth
    if history[action] > _MOST_HISTORY:
        history //= 2


@kernel(inline=True)
def _look_up(work, ply, depth):  # type: ignore[no-untyped-def]
    """(whether the table knows a value that counts here, the value, the best action or -1)."""
    frame = work.frames[ply]
    entry = work.table[frame[_KEY] & (work.table.shape[0] - 1)]
    if entry[0] != frame[_KEY]:
        return False, np.int64(0), np.int64(-1)
    value, rest = entry[1] >> 32, entry[1] & 0xFFFFFFFF
    action, searched, bound, is_open = rest >> 16, rest >> 3 & 0xFF, rest >> 1 & 3, rest & 1
    if searched == depth or (is_open == 0 and searched < depth):
        if value > WIN - 2 * _LONGEST:
            value -= ply
        elif value < 2 * _LONGEST - WIN:
            value += ply
        if (
            bound == _EXACT
            or (bound == _LOWER and value >= frame[_BETA])
            or (bound == _UPPER and value <= frame[_ALPHA])
        ):
            frame[_OPEN] = is_open
            work.pv[ply, 0], work.pv_length[ply] = action, 1
            return True, value, action
    return False, np.int64(0), action


@kernel(inline=True)
def _store(work, ply, depth):  # type: ignore[no-untyped-def]
    """Remember the position at `ply`, whose moves have been tried."""
    frame = work.frames[ply]
    value = frame[_BEST]
    bound = _UPPER if value <= frame[_FLOOR] else _LOWER if value >= frame[_BETA] else _EXACT
    if value > WIN - 2 * _LONGEST:  # as seen from here, not from the root
        value += ply
    elif value < 2 * _LONGEST - WIN:
        value -= ply
    entry = work.table[frame[_KEY] & (work.table.shape[0] - 1)]
    entry[0] = frame[_KEY]
    entry[1] = value << 32 | frame[_CHOICE] << 16 | depth << 3 | bound << 1 | frame[_OPEN]


@kernel(inline=True)
def _extend_line(work, ply, action):  # type: ignore[no-untyped-def]
    """The best line from `ply` on is this action and then the line after it."""
    length = work.pv_length[ply + 1]
    work.pv[ply, 0] = action
    for k in range(length):
        work.pv[ply, k + 1] = work.pv[ply + 1, k]
    work.pv_length[ply] = length + 1
