"""The checker, slowly: by `go.State` and sets of points, in Python. `solve.check` must say the same.

From the first position, the player's move is looked up and played, and then every move of the opponent's. A line may
end when the game is over and the margin is kept, or when enough points are safe (the definition is in `solve.bitboard`,
the proof in docs/solver.md; here it is written out once more, slowly). Positions are walked from once.

Superko comes last: `slow_repetition` follows the lines that could repeat a position, with their history.
"""

from collections.abc import Hashable
from functools import cache
from typing import NamedTuple

import numpy as np

from tengen.games import go
from tengen.games.go.legality import POSITION_REPEATED, REASONS
from tengen.solve.certificate import Certificate, board_images, mark_of, without_history
from tengen.solve.check_positions import CertificateError

from .slow_repetition import Node, RepetitionError, check_repetition

Points = frozenset[int]


def check(certificate: Certificate) -> None:
    """Walk through the whole strategy; CertificateError at the first fault."""
    statement = certificate.statement
    start = statement.state
    root = _name(start)
    todo, nodes = [(start, root)], dict[Hashable, Node]()
    while todo:
        state, name = todo.pop()
        if name in nodes:
            continue
        node = nodes[name] = Node(state.stones.tobytes(), state.to_play == statement.color)
        if is_kept(state, statement.color, statement.margin):
            continue
        if state.is_over:
            raise CertificateError(f"{_line(state)}: the game is over and the margin is less than {statement.margin}")
        for move in [_own_move(certificate, state)] if node.own else replies_of_each_kind(state):
            after = after_move(state, move)
            node.steps.append((_name(after), move == go.PASS))
            todo.append((after, node.steps[-1][0]))
    rules = start.rules
    try:
        check_repetition(nodes, root, rules.ko != "positional", rules.forced_play)
    except RepetitionError as error:
        raise CertificateError(str(error)) from None


def _name(state: go.State) -> Hashable:
    """All that matters of a position but its history."""
    return state.stones.tobytes(), mark_of(state), state.last_move == go.PASS, state.is_over, state.to_play


def replies(state: go.State) -> list[int]:
    """Every move that the rules allow, whatever the moves behind: superko is for `check_repetition`."""
    points = [point for point in range(state.size**2) if _why_illegal(state, point) is None]
    return points if points and state.rules.forced_play else [*points, go.PASS]


def replies_of_each_kind(state: go.State) -> list[int]:
    """The replies; of those to an empty board or to its first stone, only one of each kind.

    Some symmetries of the board change nothing of such a game. If one of them makes a reply into another, the player
    answers as to that other one, with the whole game seen in the mirror.
    """
    if state.move_number > 1 or np.count_nonzero(state.stones) != state.move_number:
        return replies(state)
    stones = state.stones.ravel()
    unchanged = [image for image in board_images(state.size) if np.array_equal(stones[image], stones)]
    return [move for move in replies(state) if move < 0 or move == min(image[move] for image in unchanged)]


def _own_move(certificate: Certificate, state: go.State) -> int:
    move = certificate.move(state)
    if move is None:
        raise CertificateError(f"{_line(state)}: the certificate has no move here")
    reason = _why_illegal(state, move) if move >= 0 else None if move in replies(state) else "there are other moves"
    if reason is not None:
        raise CertificateError(f"{_line(state)}: {state.move_name(move)} is not legal: {reason}")
    return move


def _why_illegal(state: go.State, move: int) -> str | None:
    """What is wrong with a move; not that it repeats a position, unless this one or the last moves alone tell that."""
    reason = state.why_illegal(move)
    if reason != REASONS[POSITION_REPEATED] or move == mark_of(state):
        return reason
    fresh = without_history(state)
    if state.last_move == go.PASS and fresh.why_illegal(move) is None:
        return reason if np.array_equal(fresh.play(move).stones, state.stones) else None
    return fresh.why_illegal(move)


def after_move(state: go.State, move: int) -> go.State:
    """The position after a move, which may repeat an earlier one."""
    return (state if state.why_illegal(move) is None else without_history(state)).play(move)


def _line(state: go.State) -> str:
    moves = " ".join(state.move_name(move) for _, move in state.moves)
    return f"after {moves}" if moves else "at the start"


# ------------------------------------------------------------------------------------------- safe points, slowly


class Board(NamedTuple):
    """A board as sets of points."""

    points: Points
    own: Points
    opp: Points
    beside: dict[int, Points]


def is_kept(state: go.State, color: int, need: int) -> bool:
    """Whether a player has the margin: counted in a finished game, else by safe points."""
    if state.is_over:
        margin = state.score(dead=()) + state.compensation
        return (margin if color == go.BLACK else -margin) >= need
    board = board_of(state, color)
    safe = safe_points(board)
    if state.last_move == go.PASS and state.to_play != color and safe & board.opp:
        return False  # the opponent could end the game at once, with stones that are not captured yet
    return 2 * len(safe) - len(board.points) >= need


def safe_points(board: Board) -> Points:
    """The points of alive strings, and of what they enclose safely."""
    alive = frozenset[int]().union(*_alive(board))
    safe = set(alive)
    if alive:
        for part in _parts(board, board.points - alive):
            inner = {point for point in part if not board.beside[point] & alive}
            if len(inner) <= 1 and (not inner & board.own or not part & board.opp):
                safe |= part
    return frozenset(safe)


def _alive(board: Board) -> list[Points]:
    """The strings that are left when all without two vital regions have been dropped."""
    regions = _parts(board, board.points - board.own)
    if len(regions) < 2:
        return []
    strings = _parts(board, board.own)
    while True:
        closed = [region for region in regions if _border(board, region) <= frozenset[int]().union(*strings)]
        kept = [one for one in strings if sum(_is_vital(board, region, one) for region in closed) >= 2]
        if len(kept) == len(strings):
            return kept
        strings = kept


def _is_vital(board: Board, region: Points, string: Points) -> bool:
    inner = [point for point in region if not board.beside[point] & string]
    if not inner:
        return True
    if len(inner) > 1 or region & board.opp or not _border(board, region) <= string:
        return False
    return len(board.beside[inner[0]] & region) >= 2


def _border(board: Board, region: Points) -> Points:
    return frozenset[int]().union(*(board.beside[point] for point in region)) & board.own


def _parts(board: Board, points: Points) -> list[Points]:
    """The connected parts of a set."""
    parts, left = [], set(points)
    while left:
        part, todo = set[int](), [left.pop()]
        while todo:
            point = todo.pop()
            part.add(point)
            new = board.beside[point] & left
            left -= new
            todo += new
        parts.append(frozenset(part))
    return parts


def board_of(state: go.State, color: int) -> Board:
    beside, stones = _beside(state.size), state.stones.ravel().tolist()
    own = frozenset(point for point in beside if stones[point] == color)
    opp = frozenset(point for point in beside if stones[point] == go.BLACK + go.WHITE - color)
    return Board(frozenset(beside), own, opp, beside)


@cache
def _beside(size: int) -> dict[int, Points]:
    """The neighbours of each point."""
    beside = {}
    for point in range(size * size):
        row, col = divmod(point, size)
        around = (row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)
        beside[point] = frozenset(r * size + c for r, c in around if 0 <= r < size and 0 <= c < size)
    return beside
