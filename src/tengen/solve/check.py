"""Check a certificate, position by position, by the rules of the game alone: nothing of the solver's search is in here.

Every entry is looked at: its move must be legal, and after it every move of the opponent must lead to another entry, or
to where the promise is kept: the game is over with the margin, or enough points are safe (`solve.check_safety`; the
proof is in docs/solver.md). So whoever follows the entries never meets a position without a move.

Superko, and that lines end, come last: `solve.check_circles` finds where lines can come back to the same stones, and
`solve.repetition` follows those with their history.

Tests hold all this against a slower check, which walks through the strategy with `go.State`.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tengen.games import go
from tengen.games.borrow import borrow
from tengen.games.go.board import NO_CELL
from tengen.games.go.rules import get_rules
from tengen.solve.certificate import Certificate, position_code
from tengen.solve.check_circles import NOWHERE, Steps, circles, mark_doors
from tengen.solve.check_moves import (
    ILLEGAL,
    KEPT,
    LOST,
    NO_POSITION,
    Question,
    answer,
    least_image,
    new_work,
    replies,
)
from tengen.solve.repetition import Node, RepetitionError, check_repetition

_CHUNK = 20_000  # entries between two reports
_MISSING, _IN_VAIN = -5, -6
_FAULTS = {
    NO_POSITION: "this is no position",
    ILLEGAL: "the move is not legal",
    LOST: "the game can end here with a margin that is less",
    _IN_VAIN: "the move leaves all stones as they are",
    _MISSING: "the opponent has a move after which the certificate has no move",
}


class CertificateError(ValueError):
    """A certificate that does not prove what it promises; the message says where."""


@dataclass(frozen=True)
class Checked:
    """What was looked at."""

    positions: int
    """Positions of the player's, up to symmetry."""
    moves: int
    """Moves of both players."""
    ended: int
    """Lines that ended, in a finished game or with enough safe points."""
    circles: int
    """Positions in which lines could come back to the same stones, and which were followed with their history."""


def check(
    certificate: Certificate, report: Callable[[int], None] = lambda positions: None, threads: int = 0
) -> Checked:
    """Look at the whole strategy; CertificateError at the first fault. `threads` 0: one a core."""
    promise, keys = certificate.promise, certificate.keys
    rules = get_rules(promise.rules)
    question = Question(promise.size, rules.flags, promise.color, promise.margin)
    if keys.shape != certificate.moves.shape or not np.all(keys[:-1] < keys[1:]):
        raise CertificateError("the positions are not in order: the file is damaged")
    starts = _check_start(certificate, question)
    entries = _check_entries(certificate, question, report, threads or os.cpu_count() or 1)
    lines = _Lines(certificate, question, entries, starts)
    try:
        check_repetition(lines.entries(), lines.node, rules.ko != "positional", rules.forced_play)
    except RepetitionError as error:
        raise CertificateError(str(error)) from None
    moves = int(np.count_nonzero(entries.after >= 0)) + len(entries.reply) + entries.ended
    return Checked(len(keys), moves, entries.ended, lines.positions)


def _check_start(certificate: Certificate, question: Question) -> list[int]:
    """The entries that the strategy begins with: one, or those after all first moves of the opponent."""
    promise = certificate.promise
    number, _ = position_code(promise.state)
    first = [number]
    if promise.to_play != promise.color:
        work = new_work(promise.size)
        count = replies(work, question, number, promise.to_play)
        first = [int(one if one < 0 else least_image(work, one)[0]) for one in work.reached[:count]]
    if LOST in first:
        raise CertificateError(f"at the start: {_FAULTS[LOST]}")
    places = [certificate.place(one) for one in first if one != KEPT]
    if None in places:
        raise CertificateError("at the start: the certificate has no move")
    return sorted({place for place in places if place is not None})


class _Entries(NamedTuple):
    """What was seen of n entries."""

    after: NDArray[np.int64]  # [n] the stones after the player's move, up to symmetry; KEPT if the line ends there
    first: NDArray[np.int64]  # [n + 1] where the replies to it begin in `reply`
    reply: NDArray[np.int32]  # [...] the entries that replies lead to
    ended: int


def _check_entries(
    certificate: Certificate, question: Question, report: Callable[[int], None], threads: int
) -> _Entries:
    """Look at each entry, on all threads."""
    keys, moves, count = certificate.keys, certificate.moves, len(certificate.keys)
    after, sizes = np.full(count, KEPT, np.int64), np.zeros(count, np.int64)
    found = [np.empty(0, np.int32)]

    def check_chunk(begin: int) -> tuple[int, int, int, NDArray[np.int32]]:
        part = slice(begin, min(begin + _CHUNK, count))
        reply = np.empty(_CHUNK * (question.size**2 + 1), np.int32)
        work = new_work(question.size)
        wrong, fault, ends = _check_chunk(work, question, keys, moves, begin, after[part], sizes[part], reply)
        return wrong, fault, ends, reply[: sizes[part].sum()].copy()

    ended = 0
    with ThreadPoolExecutor(threads) as pool:
        try:
            for begin, (wrong, fault, ends, reply) in zip(
                range(0, count, _CHUNK), pool.map(check_chunk, range(0, count, _CHUNK)), strict=True
            ):
                if wrong >= 0:
                    raise CertificateError(f"{_picture(certificate, wrong)}: {_FAULTS[fault]}")
                found.append(reply)
                ended += ends
                report(min(begin + _CHUNK, count))
        finally:
            pool.shutdown(cancel_futures=True)
    return _Entries(after, np.concatenate([[0], np.cumsum(sizes)]), np.concatenate(found), ended)


@njit(cache=True, nogil=True)
def _check_chunk(work, question, keys, moves, begin, after, sizes, reply):  # type: ignore[no-untyped-def]
    """Look at the entries from `begin` on: writes the stones after their moves (or KEPT) to after: int64[k], how many
    replies do not end the line to sizes: int64[k], and the entries those lead to to `reply`, one after the other.

    Returns (the first wrong entry, or -1; what is wrong; how many lines ended)."""
    work = borrow(work)
    ended, length = 0, 0
    for i in range(after.shape[0]):
        number = answer(work, question, keys[begin + i], moves[begin + i])
        if number == KEPT:
            ended += 1
            continue
        if number >= 0 and moves[begin + i] >= 0 and number >> 6 == keys[begin + i] >> 6:
            number = np.int64(_IN_VAIN)  # superko may forbid it, which circles of stones would not tell
        if number < 0:
            return begin + i, number, ended
        after[i] = least_image(work, number >> 6 << 6)[0] >> 6
        count = replies(work, question, number, 3 - question.color)
        for k in range(count):
            reached = work.reached[k]
            if reached == KEPT:
                ended += 1
                continue
            place = 0
            if reached >= 0:
                key, _ = least_image(work, reached)
                place = np.searchsorted(keys, key)
                if place == keys.shape[0] or keys[place] != key:
                    reached = _MISSING
            if reached < 0:
                return begin + i, reached, ended
            reply[length] = place
            length += 1
            sizes[i] += 1
    return -1, np.int64(0), ended


def _picture(certificate: Certificate, entry: int) -> str:
    """The position of an entry, with its move."""
    promise, key, move = certificate.promise, int(certificate.keys[entry]), int(certificate.moves[entry])
    stones = [(key >> 6) // 3**point % 3 for point in range(promise.size**2)]
    black, white = ([point for point, one in enumerate(stones) if one == color] for color in (go.BLACK, go.WHITE))
    try:
        state = go.State.setup(promise.size, promise.rules, promise.komi, black, white, promise.color)
        return f"position {entry:,}, {state.move_name(go.PASS if move < 0 else move)} in\n{state}\n"
    except ValueError:
        return f"position {entry:,}"


Position = tuple[int, bool]  # a position as it stands, not up to symmetry, and whether the player is to move


class _Lines:
    """The lines of a strategy, where they can come back to the same stones."""

    def __init__(self, certificate: Certificate, question: Question, entries: _Entries, starts: list[int]) -> None:
        self._certificate, self._question, self._work = certificate, question, new_work(question.size)
        own, (root, _) = certificate.keys >> 6, position_code(certificate.promise.state)
        self._boards = np.unique(np.concatenate([own, entries.after[entries.after >= 0], [root >> 6]]))
        after = np.where(entries.after >= 0, np.searchsorted(self._boards, entries.after), NOWHERE)
        # One more entry, on a board of its own, stands for what was before the start: its reply are the first entries.
        before = len(self._boards), np.searchsorted(self._boards, root >> 6)
        self._steps = Steps(
            np.append(np.searchsorted(self._boards, own), before[0]).astype(np.int32),
            np.append(after, before[1]).astype(np.int32),
            np.append(entries.first, entries.first[-1] + len(starts)),
            np.append(entries.reply, np.array(starts, np.int32)),
        )
        self._sets = circles(self._steps, len(self._boards) + 1)
        self.positions = int(np.count_nonzero(self._sets[self._steps.board] != NOWHERE))
        self.node = cache(self._node)

    def entries(self) -> Iterator[Position]:
        """Where lines can come into a set of stones from elsewhere, in all images."""
        keys, promise = self._certificate.keys, self._certificate.promise
        own_doors, other_doors = np.zeros((2, len(keys) + 1), np.bool_)
        mark_doors(self._steps, self._sets, own_doors, other_doors)
        for place in np.flatnonzero(own_doors[:-1]):
            yield from ((image, True) for image in self._images(int(keys[place])))
        for place in np.flatnonzero(other_doors[:-1]):
            ((to, _),) = self.node((int(keys[place]), True)).steps
            assert to is not None
            yield from ((image, False) for image in self._images(to[0]))
        root, _ = position_code(promise.state)
        if other_doors[-1]:
            yield root, promise.to_play == promise.color

    def _node(self, position: Position) -> Node[Position]:
        number, own = position
        question, work = self._question, self._work
        steps: list[tuple[Position | None, bool]] = []
        if own:
            key, image = least_image(work, number)
            place = self._certificate.place(int(key))
            assert place is not None
            move = int(self._certificate.moves[place])
            reached = int(answer(work, question, number, -1 if move < 0 else work.images[image, move]))
            steps.append((None if reached == KEPT else (reached, False), move < 0))
        else:
            count = replies(work, question, number, go.BLACK + go.WHITE - question.color)
            for move, reached in zip(work.moves[:count].tolist(), work.reached[:count].tolist(), strict=True):
                steps.append((None if reached == KEPT else (reached, True), move == NO_CELL))
        board = np.searchsorted(self._boards, least_image(work, number >> 6 << 6)[0] >> 6)
        inside = int(self._sets[board])
        return Node(number >> 6, own, None if inside == NOWHERE else inside, steps)

    def _images(self, number: int) -> list[int]:
        """A position in all its images."""
        stones = np.array([(number >> 6) // 3**point % 3 for point in range(self._question.size**2)], np.int64)
        powers = 3 ** np.arange(len(stones), dtype=np.int64)
        codes = (stones[self._work.images] @ powers) * 64 + (number & 1)
        mark = (number >> 1) % 32
        if mark:
            codes += (self._work.places[:, mark - 1] + 1) * 2
        return sorted(set(codes.tolist()))
