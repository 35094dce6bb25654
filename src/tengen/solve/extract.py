"""From a claim to its certificate: the strategy behind it, by the solution of the whole board, or by the table of a
search, where parts that the table has forgotten are searched again.
A search proves positions without their history, so two parts of a proof may lead back to stones that stood on the board
before, where superko forbids the move. Mostly there are other moves, in the strategy's own positions, that lead out of
such boards for good (`escaping_moves`). Where there are none, the solver is asked for positions after moves that the
strategy did not need so far, and moves before are changed, too, so that lines do not come there.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.games import go
from tengen.games.go.rules import get_rules
from tengen.solve import dfpn
from tengen.solve.bitboard import WIDTH, board_points, is_kept, position_key
from tengen.solve.certificate import Certificate, Statement, stones_code
from tengen.solve.check import Lines, RepetitionError, check_repetition, check_start, mark_reached
from tengen.solve.check_positions import KEPT, Entries, Goal, check_entries, goal_of, look_at, new_work, replies
from tengen.solve.dfpn import COUNT, DELTA, KEY, MOVE, PHI, RANK, TURN
from tengen.solve.go_solver import Claim, Node, Solver, bit_of, node_of, point_of
from tengen.solve.retrograde import Choice, Position, Solution

_SHORT_SEARCH: Final = 30_000  # nodes


class NotProvenError(ValueError):
    """A position of a proof that could not be proven again."""


class Strategy(Protocol):
    """How a player keeps a claim."""

    claim: Claim

    def choose(self, node: Node) -> tuple[int, Node | None]:
        """The player's move at a node, and the node after it unless the claim is kept there already."""
        ...

    def replies(self, node: Node) -> list[tuple[int, Node | None]]:
        """The same for all moves of the opponent, the one it holds out longest with last."""
        ...

    def is_kept(self, node: Node) -> bool:
        """Whether the claim is kept where the opponent is to move, by a short search."""
        ...


def extract(strategy: Strategy, state: go.State, report: Callable[[str], None] = lambda text: None) -> Certificate:
    """The certificate of a strategy that begins with this state, with moves that superko does not forbid if there are
    such (`avoid_repetition`); `report` gets a line about what is being done."""
    claim, size = strategy.claim, state.size
    statement = Statement.about(state, claim.color, claim.margin)

    def widen(number: int, is_known: Callable[[int], bool]) -> dict[int, int]:
        node = _node_of_number(number, claim, size)
        try:
            return _entries_below(strategy, node, size, is_known) if strategy.is_kept(node) else {}
        except NotProvenError:  # it would repeat a position
            return {}

    found = _entries_below(strategy, node_of(state, claim), size, report=report)
    report(f"looking for repetitions in {len(found):,} positions")
    keys = np.array(sorted(found), np.int64)
    moves = np.array([found[int(key)] for key in keys], np.int8)
    return avoid_repetition(Certificate(statement, keys, moves), widen, report)


def _entries_below(
    strategy: Strategy,
    start: Node,
    size: int,
    is_known: Callable[[int], bool] = lambda key: False,
    report: Callable[[str], None] = lambda text: None,
) -> dict[int, int]:
    """The moves, by keys, of all positions that a strategy comes to from a node, but for those below known ones."""
    todo = [start]
    seen, found = {start[KEY]}, dict[int, int]()
    while todo:
        node = todo.pop()
        if node[TURN] == 0:
            key, points = stones_code(*_board(node, strategy.claim, size), size)
            if is_known(key):
                continue
            move, after = strategy.choose(node)
            found[key] = -1 if move == go.PASS else int(np.argmax(points == move))
            successors = [after]
        else:
            successors = [after for _, after in strategy.replies(node)]
        for successor in successors:
            if successor is not None and successor[KEY] not in seen:
                seen.add(successor[KEY])
                todo.append(successor)
        if len(found) % 10_000 == 0:
            report(f"writing the proof: {len(found):,} positions")
    return found


def main_line(strategy: Strategy, state: go.State, longest: int = 60) -> list[int]:
    """The line of a strategy in which the opponent holds out longest, up to where enough points are safe."""
    node: Node | None = node_of(state, strategy.claim)
    moves: list[int] = []
    while node is not None and len(moves) < longest:
        move, node = strategy.choose(node) if node[TURN] == 0 else strategy.replies(node)[-1]
        moves.append(move)
    return moves


def _board(node: Node, claim: Claim, size: int) -> tuple[NDArray[np.int8], int, bool]:
    """The stones of a node as int8[N * N], its mark or -1, and whether a pass came last."""
    a, b, mark, _, passes, _ = node
    other = go.BLACK + go.WHITE - claim.color
    bits = [1 << WIDTH * row + col for row in range(size) for col in range(size)]
    stones = [claim.color if a & bit else other if b & bit else go.EMPTY for bit in bits]
    return np.array(stones, np.int8), point_of(mark, size) if mark else -1, bool(passes)


def _node_of_number(number: int, claim: Claim, size: int) -> Node:
    """A position of `solve.check_positions` in which the opponent is to move, as kernels of the solver know it."""
    stones = [(number >> 6) // 3**point % 3 for point in range(size * size)]
    other = go.BLACK + go.WHITE - claim.color
    a, b = (sum(bit_of(p, size) for p, stone in enumerate(stones) if stone == one) for one in (claim.color, other))
    mark, passes = (number >> 1) % 32, number & 1
    bit = bit_of(mark - 1, size) if mark else 0
    return a, b, bit, 1, passes, int(position_key(a, b, bit, 1, passes, size))


class SolutionStrategy:
    """Moves that keep a guarantee and lower its rank; answers may raise the guarantee. So no position comes twice."""

    def __init__(self, solution: Solution, claim: Claim) -> None:
        self.claim, self._solution = claim, solution
        self._size, self._all = solution.size, board_points(solution.size)

    def choose(self, node: Node) -> tuple[int, Node | None]:
        """The shortest way to the best guarantee."""
        best = max(self._choices(node), key=lambda choice: (choice.guarantee, -choice.rank))
        if best.guarantee < self.claim.margin:
            raise ValueError(f"{self.claim} is not guaranteed here")
        return self._step(node, best)

    def replies(self, node: Node) -> list[tuple[int, Node | None]]:
        """All moves of the opponent."""
        choices = sorted(self._choices(node), key=lambda choice: (-choice.guarantee, choice.rank))
        return [self._step(node, choice) for choice in choices]

    def is_kept(self, node: Node) -> bool:
        """By the guarantee."""
        a, b, mark, _, passes, _ = node
        return self._solution.guarantee(Position(b, a, mark, passes), False)[0] >= self.claim.margin

    def _choices(self, node: Node) -> list[Choice]:
        a, b, mark, turn, passes, _ = node
        own, opp = (a, b) if turn == 0 else (b, a)
        return self._solution.choices(Position(own, opp, mark, passes), turn == 0)

    def _step(self, node: Node, choice: Choice) -> tuple[int, Node | None]:
        move = point_of(choice.bit, self._size)
        if choice.after is None:
            return move, None
        own, opp, mark, passes = choice.after
        turn = 1 - node[TURN]
        a, b = (own, opp) if turn == 0 else (opp, own)
        if is_kept(a, b, turn, passes, self._all, self.claim.margin):
            return move, None
        return move, (a, b, mark, turn, passes, int(position_key(a, b, mark, turn, passes, self._size)))


class TableStrategy:
    """What the table of a search that has proven a claim knows of the proof."""

    def __init__(self, solver: Solver, claim: Claim) -> None:
        self.claim, self._size = claim, solver.size
        self._table, self._question = solver.table(claim), solver.question(claim)
        self._work = dfpn.new_workspace()

    def choose(self, node: Node) -> tuple[int, Node | None]:
        """Of several moves that win, the one whose proof is shortest: so that it seldom goes round in circles."""
        won = [child for child in self._children(node) if child[DELTA] == 0]
        if not won:
            self._search(node)
            won = [child for child in self._children(node) if child[DELTA] == 0]
        return self._step(min(won, key=lambda child: int(child[RANK])))

    def replies(self, node: Node) -> list[tuple[int, Node | None]]:
        """All moves of the opponent."""
        children = self._children(node)
        for child in children:
            if child[PHI] != 0:
                self._search(tuple(child[: KEY + 1].tolist()))
        return [self._step(child) for child in sorted(children, key=lambda child: int(child[RANK]))]

    def is_kept(self, node: Node) -> bool:
        """By the table, or by a search of some ten thousand nodes."""
        self._work.nodes[0, : KEY + 1] = node
        _, delta = dfpn.search(self._work, self._table, self._question, _SHORT_SEARCH)
        return bool(delta == 0)

    def _step(self, child: NDArray[np.int64]) -> tuple[int, Node | None]:
        move = point_of(int(child[MOVE]), self._size)
        proven = child[PHI] == 0 or child[DELTA] == 0
        return move, None if proven and child[RANK] == 0 else tuple(child[: KEY + 1].tolist())

    def _children(self, node: Node) -> list[NDArray[np.int64]]:
        self._work.nodes[0, : KEY + 1] = node
        dfpn.expand(self._work, self._table, self._question, 0)
        return list(self._work.children[0, : self._work.nodes[0, COUNT]].copy())

    def _search(self, node: Node) -> None:
        """Prove a node again that the table has forgotten."""
        self._work.nodes[0, : KEY + 1] = node
        phi, _ = dfpn.search(self._work, self._table, self._question, 1 << 60)
        if (phi == 0) != (node[TURN] == 0):
            raise NotProvenError("a position of the proof could not be proven again: the claim rests on a repetition")


_ROUNDS = 20
_MOST_STEPS = 1_000_000  # to follow in a set of boards; one with more lines is taken for spoiled
_STEPS = 30  # by which the region that is changed may grow

Widen = Callable[[int, Callable[[int], bool]], dict[int, int]]
"""Entries (moves by key) for a position, given as its number, in which the opponent is to move; without those whose
keys are known already. Nothing if a short search finds no way to keep the claim there."""

Places = NDArray[np.int64]
"""Which entries of a certificate."""

Backwards = tuple[NDArray[np.int64], NDArray[np.int32]]
"""What `reversed_steps` returns."""


class Option(NamedTuple):
    """A move of an entry."""

    move: int
    after: int
    """The stones after it, up to symmetry; below 0 if the line ends there."""
    replies: list[int]
    """The entries that replies lead to."""


def avoid_repetition(
    certificate: Certificate,
    widen: Widen = lambda number, is_known: {},
    report: Callable[[str], None] = lambda text: None,
) -> Certificate:
    """The same strategy, without positions that nobody comes to, and with moves that superko does not forbid, as far as
    there are such; `report` gets a line about what is being done."""
    strategy = _Strategy(certificate, widen)
    for _ in range(_ROUNDS):
        spoiled = strategy.spoiled()
        report(f"looking for other moves in {len(spoiled):,} positions, because of superko")
        if not len(spoiled) or not strategy.lead_out(spoiled):
            break
    return strategy.used()


class _Strategy:
    """A strategy that is being changed."""

    def __init__(self, certificate: Certificate, widen: Widen) -> None:
        self._certificate = replace(certificate, moves=certificate.moves.copy())
        self._goal, self._work = goal_of(certificate), new_work(certificate.statement.size)
        self._entries, self._widen = check_entries(certificate, self._goal), widen
        self._asked = set[int]()  # positions that the solver was asked for

    def used(self) -> Certificate:
        """Without the entries that no line comes to."""
        certificate, reached = self._certificate, self._reached()
        return replace(certificate, keys=certificate.keys[reached], moves=certificate.moves[reached])

    def spoiled(self) -> Places:
        """The entries of all sets of boards that lines come to and in which superko forbids a move of the player's, or
        might."""
        certificate, rules = self._certificate, get_rules(self._certificate.statement.rules)
        reached = self._reached()
        entries = _only(reached, self._entries)
        lines = Lines(certificate, self._goal, entries, check_start(certificate, self._goal))
        found = []
        for number, doors in lines.doors().items():
            try:
                check_repetition(doors, lines.node, rules, _MOST_STEPS)
            except RepetitionError:
                found.append(number)
        return np.flatnonzero(np.isin(lines.sets[lines.steps.board[:-1]], found) & reached)

    def lead_out(self, spoiled: Places) -> bool:
        """Give these entries, and others around them where it must be, moves that lead away from them for good. False
        if nothing could be changed."""
        keys, is_changed = self._certificate.keys[spoiled], False
        for _ in range(_STEPS):
            region = np.searchsorted(self._certificate.keys, keys)
            backwards = reversed_steps(self._first(), self._entries.reply)
            comes = np.zeros(len(self._certificate.keys), np.bool_)
            mark_reached(backwards[0], backwards[1], region, comes)
            options = {place: self._options(place) for place in region.tolist()}
            boards = dict(zip(options, (self._certificate.keys[region] >> 6).tolist(), strict=True))
            free = escaping_moves(options, boards, comes)
            is_changed |= self._take(free)
            reached = self._reached()
            stuck = [place for place in options if place not in free and reached[place]]
            if not stuck:
                break
            near = {reply for place in stuck for option in options[place] for reply in option.replies if comes[reply]}
            if near <= options.keys():
                near = {place for place in _before(backwards, stuck) if reached[place]}
            keys = np.union1d(keys, self._certificate.keys[list(near)])
            is_changed |= self._add_entries(self._certificate.keys[stuck])
        return is_changed

    def _options(self, place: int) -> list[Option]:
        """All moves of an entry with which the claim is kept, as far as the strategy has positions for it; its own move
        first."""
        keys, found = self._certificate.keys, list[Option]()
        own = int(self._certificate.moves[place])
        for move in [own, *(move for move in range(-1, self._goal.size**2) if move != own)]:
            seen = look_at(self._work, self._goal, keys, keys[place : place + 1], np.array([move], np.int8))
            if isinstance(seen, Entries):
                found.append(Option(move, int(seen.after[0]), seen.reply.tolist()))
        return found

    def _take(self, options: dict[int, Option]) -> bool:
        """Give entries the moves of these options. Whether any of them is another one."""
        moves = self._certificate.moves
        changed = np.array(sorted(place for place, option in options.items() if moves[place] != option.move), np.int64)
        moves[changed] = [options[place].move for place in changed.tolist()]
        self._entries = _seen_again(self._certificate, self._goal, self._entries, changed)
        return len(changed) > 0

    def _add_entries(self, keys: NDArray[np.int64]) -> bool:
        """Ask the solver for entries after moves in these positions to which there is no answer so far. Whether it has
        found any."""
        found = dict[int, int]()

        def is_known(key: int) -> bool:
            return key in found or self._certificate.place(key) is not None

        for key in keys:
            count = replies(self._work, self._goal, key, self._goal.color)
            for number in self._work.reached[:count].tolist():
                if number >= 0 and number not in self._asked:
                    self._asked.add(number)
                    found.update(self._widen(number, is_known))
        if found:
            self._certificate, self._entries = _with(found, self._certificate, self._goal, self._entries)
        return bool(found)

    def _first(self) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(self._entries.sizes, dtype=np.int64)])

    def _reached(self) -> NDArray[np.bool_]:
        """bool[n]: the entries that lines come to."""
        reached = np.zeros(len(self._certificate.keys), np.bool_)
        starts = np.array(check_start(self._certificate, self._goal), np.int64)
        mark_reached(self._first(), self._entries.reply, starts, reached)
        return reached


def _before(backwards: Backwards, places: list[int]) -> list[int]:
    """The entries from which a line comes to one of these by a move and a reply."""
    begin, before = backwards
    return [int(one) for place in places for one in before[begin[place] : begin[place + 1]]]


def _only(kept: NDArray[np.bool_], entries: Entries) -> Entries:
    """The entries as if lines ended with the moves of all but the kept ones: bool[n]."""
    return Entries(
        np.where(kept, entries.after, KEPT),
        np.where(kept, entries.sizes, 0).astype(np.int32),
        np.where(kept, entries.ends, 1).astype(np.int32),
        entries.reply[np.repeat(kept, entries.sizes)],
    )


def _seen_again(certificate: Certificate, goal: Goal, entries: Entries, places: NDArray[np.int64]) -> Entries:
    """The entries after some have been given other moves."""
    keys = certificate.keys
    fresh = look_at(new_work(goal.size), goal, keys, keys[places], certificate.moves[places])
    assert isinstance(fresh, Entries)
    kept = np.ones(len(keys), np.bool_)
    kept[places] = False
    old = entries.reply[np.repeat(kept, entries.sizes)]
    entries.after[places], entries.sizes[places], entries.ends[places] = fresh.after, fresh.sizes, fresh.ends
    is_old = np.repeat(kept, entries.sizes)
    reply = np.empty(len(is_old), np.int32)
    reply[is_old], reply[~is_old] = old, fresh.reply
    return entries._replace(reply=reply)


def _with(more: dict[int, int], certificate: Certificate, goal: Goal, entries: Entries) -> tuple[Certificate, Entries]:
    """The strategy with more entries, which no line leads to yet."""
    added = np.array(sorted(more), np.int64)
    moves = np.array([more[int(key)] for key in added], np.int8)
    places = np.searchsorted(certificate.keys, added)
    number = np.arange(len(certificate.keys)) + np.searchsorted(added, certificate.keys)
    larger = replace(
        certificate,
        keys=np.insert(certificate.keys, places, added),
        moves=np.insert(certificate.moves, places, moves),
    )
    empty = Entries(
        np.insert(entries.after, places, KEPT),
        np.insert(entries.sizes, places, 0),
        np.insert(entries.ends, places, 0),
        number[entries.reply].astype(np.int32),
    )
    return larger, _seen_again(larger, goal, empty, np.searchsorted(larger.keys, added))


# ------------------------------------------------------------ moves that lead out of a region for good
# A region is some entries of a certificate, each with all the moves that it could have. Entries are freed one after the
# other, from the ways out backwards. Each board after a move of the player's gets a height, and the height falls with
# every move, so no line comes to such a board again; and where the player moves from a board that has a height itself,
# it goes lower, so it does not come back to stones that the opponent left, either.


def escaping_moves(
    region: Mapping[int, list[Option]], board: Mapping[int, int], comes: NDArray[np.bool_]
) -> dict[int, Option]:
    """An option for each entry of a region from which lines leave it for good. `board`: the stones of each entry up to
    symmetry; `comes`: bool[n], the entries from which lines come to the region, or which are in it."""
    heights, chosen = _Heights(), dict[int, Option]()
    waiting = {
        place: sorted(options, key=lambda option: int(comes[option.replies].sum())) for place, options in region.items()
    }
    turn = 0
    while True:
        turn += 1
        freed = dict[int, Option]()
        for place, options in waiting.items():
            for option in options:
                inside = [reply for reply in option.replies if comes[reply]]
                if all(reply in chosen for reply in inside) and heights.give(place, board[place], option, inside, turn):
                    freed[place] = option
                    break
        if not freed:
            return chosen
        chosen |= freed
        waiting = {place: options for place, options in waiting.items() if place not in chosen}


class _Heights:
    """Of boards after moves of the player's, and of entries: that of the board after the move."""

    def __init__(self) -> None:
        self._after, self._entry = dict[int, float](), dict[int, float]()
        self._highest_on = defaultdict[int, float](float)  # by board: of the entries on it

    def give(self, place: int, board: int, option: Option, inside: list[int], turn: int) -> bool:
        """Give an entry the height of an option, if that is higher than those of the entries inside that follow."""
        if option.after < 0:
            self._entry[place] = 0.0
            return True
        below = max((self._entry[reply] for reply in inside), default=0.0)
        above = self._after.get(board, turn + 1.0)  # none so far is higher than that
        height = self._after.get(option.after)
        if height is None:
            below = max(below, self._highest_on[option.after])
            height = float(turn) if below < turn < above else (below + above) / 2
        if not below < height < above or option.after == board:
            return False
        self._after[option.after] = self._entry[place] = height
        self._highest_on[board] = max(self._highest_on[board], height)
        return True


@kernel(allocates=True)
def reversed_steps(first, reply):  # type: ignore[no-untyped-def]
    """The steps of a strategy backwards: for `first`: int64[n + 1] and `reply`: int32[...] of Steps, where the entries
    that lead to each entry begin, int64[n + 1], and these entries, int32[...]."""
    count = first.shape[0] - 1
    begin = np.zeros(count + 1, np.int64)
    for to in reply:
        begin[to + 1] += 1
    for e in range(count):
        begin[e + 1] += begin[e]
    filled = begin[:-1].copy()
    before = np.empty(reply.shape[0], np.int32)
    for e in range(count):
        for k in range(first[e], first[e + 1]):
            to = reply[k]
            before[filled[to]] = e
            filled[to] += 1
    return begin, before
