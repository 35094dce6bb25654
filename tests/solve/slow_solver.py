"""Slow and obvious solutions of tiny boards, to hold the solver against."""

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import NamedTuple

from tengen.games import go
from tengen.games.go.rules import TERRITORY_KEPT, RuleSet
from tengen.solve.bitboard import board_points, connected, legal_points, margin, neighbours, play


class Position(NamedTuple):
    """Stones of the player to move and of the other one, the ko point, who is to move, and whether a pass came last."""

    own: int
    opp: int
    ko: int
    turn: int
    passes: int


def positions(size: int, rules: RuleSet) -> "dict[Position, list[Position | int]]":
    """All legal positions with what they lead to: positions, or the final margin of player 0."""
    board, found = board_points(size), {}
    todo = [Position(own, opp, 0, turn, 0) for own, opp in all_stones(size) for turn in (0, 1)]
    while todo:
        position = todo.pop()
        if position not in found:
            found[position] = list(_after(position, board, rules))
            todo += [after for after in found[position] if isinstance(after, Position)]
    return found


def won(graph: "dict[Position, list[Position | int]]", need: int, endless: bool) -> "set[Position]":
    """From where player 0 forces a final margin of at least `need`; `endless`: whether it wins games that never end."""
    win = set(graph) if endless else set()
    leads_here: dict[Position, list[Position]] = {}
    for position, after in graph.items():
        for one in after:
            if isinstance(one, Position):
                leads_here.setdefault(one, []).append(position)
    todo = list(graph)
    while todo:
        position = todo.pop()
        if _is_won(position, graph[position], need, win) != (position in win):
            win ^= {position}
            todo += leads_here.get(position, [])
    return win


def _is_won(position: Position, after: "list[Position | int]", need: int, win: "set[Position]") -> bool:
    good = [one >= need if isinstance(one, int) else one in win for one in after]
    return any(good) if position.turn == 0 else all(good)


def _after(position: Position, board: int, rules: RuleSet) -> "Iterator[Position | int]":
    own, opp, ko, turn, passes = position
    legal = int(legal_points(own, opp, ko, board, rules.flags))
    for p in range(25):
        if legal >> p & 1:
            mine, yours, new_ko = play(own, opp, 1 << p, board)
            yield Position(yours, mine, new_ko, 1 - turn, 0)
    if not legal or not rules.flags & TERRITORY_KEPT:
        last = int(margin(own, opp, board)) * (1 if turn == 0 else -1)
        yield last if passes else Position(opp, own, 0, 1 - turn, 1)


@cache
def all_stones(size: int) -> "list[tuple[int, int]]":
    """All pairs of stones of two colours in which every string has a liberty."""
    board, pairs = board_points(size), []
    bits = [1 << p for p in range(25) if board >> p & 1]
    for colors in product((0, 1, 2), repeat=len(bits)):
        own = sum(bit for bit, color in zip(bits, colors) if color == 1)
        opp = sum(bit for bit, color in zip(bits, colors) if color == 2)
        empty = board & ~(own | opp)
        if all(connected(neighbours(empty), stones) == stones for stones in (own, opp)):
            pairs.append((own, opp))
    return pairs


def wins_with_history(state: go.State, need: int) -> bool:
    """Whether Black forces a margin of at least `need`, by trying every game that the rules allow, superko included."""
    if state.is_over:
        return state.score(dead=()) + state.compensation >= need
    black = state.to_play == go.BLACK
    for move in sorted(state.legal_moves()):
        if wins_with_history(state.play(move), need) == black:
            return black
    return not black
