"""Check a certificate move by move, by the rules of the game alone: nothing of the solver's search is in here.

From the first position, the player's move is looked up and played, and then every move of the opponent's. A line may
end when the game is over and the margin is kept, or when enough points are safe (the definition is in `solve.safety`,
the proof in docs/solver.md; here it is written out once more, slowly). Positions are walked from once.

No line may repeat a position, so that the proof holds under any superko: every step that changes the stones is noted,
and in the end the steps must not go round in circles.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tengen.games import go
from tengen.games.go.legality import POSITION_REPEATED, REASONS
from tengen.solve.certificate import Certificate, position_code

Points = frozenset[int]


class CertificateError(ValueError):
    """A certificate that does not prove what it promises; the message says where."""


@dataclass(frozen=True)
class Checked:
    """What was walked through."""

    positions: int
    """Positions of the player's, up to symmetry."""
    moves: int
    """Moves of both players."""
    ended: int
    """Lines that ended, in a finished game or with enough safe points."""


def check(certificate: Certificate, report: Callable[[int], None] = lambda positions: None) -> Checked:
    """Walk through the whole strategy; CertificateError at the first fault."""
    promise = certificate.promise
    opponent = go.BLACK + go.WHITE - promise.color
    todo, seen = [promise.state], set[tuple[int, int]]()
    steps: dict[int, set[int]] = defaultdict(set)
    positions = moves = ended = 0
    while todo:
        state = todo.pop()
        key, _ = position_code(state)
        if (key, state.to_play) in seen and not state.is_over:
            continue
        seen.add((key, state.to_play))
        if _is_kept(state, promise.color, promise.margin):
            ended += 1
            continue
        if state.is_over:
            raise CertificateError(f"{_line(state)}: the game is over and the margin is less than {promise.margin}")
        if state.to_play == opponent:
            choices = list(_replies(state))
        else:
            choices = [_own_move(certificate, state)]
            positions += 1
            if positions % 1000 == 0:
                report(positions)
        for move in choices:
            after = state.play(move)
            moves += 1
            todo.append(after)
            if move != go.PASS:
                steps[_stones_key(state)].add(_stones_key(after))
    _no_circles(steps)
    return Checked(positions, moves, ended)


def _replies(state: go.State) -> Iterator[int]:
    """Every legal move; none may be illegal for the one reason that it repeats a position."""
    yield from state.legal_moves()
    for point in range(state.size**2):
        if state.why_illegal(point) == REASONS[POSITION_REPEATED]:
            raise CertificateError(f"{_line(state)}: {state.move_name(point)} repeats a position")


def _own_move(certificate: Certificate, state: go.State) -> int:
    move = certificate.move(state)
    if move is None:
        raise CertificateError(f"{_line(state)}: the certificate has no move here")
    reason = state.why_illegal(move)
    if reason is not None:
        raise CertificateError(f"{_line(state)}: {state.move_name(move)} is not legal: {reason}")
    return move


def _stones_key(state: go.State) -> int:
    """The stones alone, up to symmetry."""
    key, _ = position_code(state)
    return key // 64


def _no_circles(steps: dict[int, set[int]]) -> None:
    """Take away what nothing leads to, again and again: in the end nothing may be left."""
    leads_here: dict[int, int] = defaultdict(int)
    for after in steps.values():
        for one in after:
            leads_here[one] += 1
    free = [one for one in steps if not leads_here[one]]
    gone = 0
    while free:
        one = free.pop()
        gone += one in steps
        for target in steps.get(one, ()):
            leads_here[target] -= 1
            if not leads_here[target]:
                free.append(target)
    if gone < len(steps):
        raise CertificateError(f"{len(steps) - gone} positions lead back to themselves: lines may repeat a position")


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


def _is_kept(state: go.State, color: int, need: int) -> bool:
    """Whether a player has the margin: counted in a finished game, else by safe points."""
    if state.is_over:
        margin = state.score(dead=()) + state.compensation
        return (margin if color == go.BLACK else -margin) >= need
    board = _board(state, color)
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


def _board(state: go.State, color: int) -> Board:
    size, stones = state.size, state.stones.ravel()
    beside = {}
    for point in range(size * size):
        row, col = divmod(point, size)
        around = (row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)
        beside[point] = frozenset(r * size + c for r, c in around if 0 <= r < size and 0 <= c < size)
    own = frozenset(point for point in beside if stones[point] == color)
    opp = frozenset(point for point in beside if stones[point] == go.BLACK + go.WHITE - color)
    return Board(frozenset(beside), own, opp, beside)
