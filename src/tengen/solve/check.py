"""Check a certificate, position by position, by the rules of the game alone: nothing of the solver's search is in here.

Every entry is looked at: its move must be legal, and after it every move of the opponent must lead to another entry, or
to where the promise is kept: the game is over with the margin, or enough points are safe (`solve.check_safety`; the
proof is in docs/solver.md). So whoever follows the entries never meets a position without a move.

Superko, and that lines end, come last: `solve.check_circles` finds where lines can come back to the same stones, and
`solve.repetition` follows those with their history.

Tests hold all this against a slower check, which walks through the strategy with `go.State`.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen._machine import cores
from tengen.games import go
from tengen.games.go.rules import get_rules
from tengen.solve.certificate import Certificate, position_code
from tengen.solve.check_lines import Entries, Lines
from tengen.solve.check_moves import (
    ILLEGAL,
    KEPT,
    LOST,
    NO_POSITION,
    Question,
    Work,
    answer,
    least_image,
    new_work,
    replies,
)
from tengen.solve.repetition import RepetitionError, check_repetition

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
    keys, rules = certificate.keys, get_rules(certificate.promise.rules)
    question = question_of(certificate)
    if not np.all(keys[:-1] < keys[1:]):
        raise CertificateError("the positions are not in order: the file is damaged")
    starts = check_start(certificate, question)
    entries = check_entries(certificate, question, report, threads)
    lines = Lines(certificate, question, entries, starts)
    try:
        for doors in lines.doors().values():
            check_repetition(doors, lines.node, rules)
    except RepetitionError as error:
        raise CertificateError(str(error)) from None
    ended = int(entries.ends.sum())
    moves = int(np.count_nonzero(entries.after >= 0)) + len(entries.reply) + ended
    return Checked(len(keys), moves, ended, int(np.count_nonzero(lines.circles())))


def question_of(certificate: Certificate) -> Question:
    """What a certificate promises, for kernels."""
    promise = certificate.promise
    return Question(promise.size, get_rules(promise.rules).flags, promise.color, promise.margin)


def check_start(certificate: Certificate, question: Question) -> list[int]:
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


def check_entries(
    certificate: Certificate,
    question: Question,
    report: Callable[[int], None] = lambda positions: None,
    threads: int = 0,
) -> Entries:
    """Look at each entry, on all threads."""
    keys, moves, count = certificate.keys, certificate.moves, len(certificate.keys)
    parts = [slice(begin, min(begin + _CHUNK, count)) for begin in range(0, max(1, count), _CHUNK)]

    def look_at_part(part: slice) -> Entries | Fault:
        return look_at(new_work(question.size), question, keys, keys[part], moves[part])

    found = list[Entries]()
    with ThreadPoolExecutor(threads or cores()) as pool:
        try:
            for part, seen in zip(parts, pool.map(look_at_part, parts), strict=True):
                if isinstance(seen, Fault):
                    raise CertificateError(f"{_picture(certificate, part.start + seen.place)}: {seen.reason}")
                found.append(seen)
                report(part.stop)
        finally:
            pool.shutdown(cancel_futures=True)
    return Entries(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


class Fault(NamedTuple):
    """What is wrong with an entry."""

    place: int
    reason: str


def look_at(
    work: Work, question: Question, keys: NDArray[np.int64], own: NDArray[np.int64], moves: NDArray[np.int8]
) -> Entries | Fault:
    """What moves: int8[k] in positions own: int64[k] lead to, by the entries with these keys; or the first fault."""
    count = len(own)
    seen = Entries(
        np.full(count, KEPT, np.int64),
        np.zeros(count, np.int32),
        np.zeros(count, np.int32),
        np.empty(count * (question.size**2 + 1), np.int32),
    )
    place, fault = _look_at(work, question, keys, own, moves, seen)
    if place >= 0:
        return Fault(place, _FAULTS[fault])
    return seen._replace(reply=seen.reply[: seen.sizes.sum()].copy())


@kernel
def _look_at(work, question, keys, own, moves, seen):  # type: ignore[no-untyped-def]
    """`look_at`, written to `seen`; returns (the first wrong one, or -1; what is wrong)."""
    length = 0
    for i in range(own.shape[0]):
        number = answer(work, question, own[i], moves[i])
        if number == KEPT:
            seen.ends[i] = 1
            continue
        if number >= 0 and moves[i] >= 0 and number >> 6 == own[i] >> 6:
            number = np.int64(_IN_VAIN)  # superko may forbid it, which circles of stones would not tell
        if number < 0:
            return i, number
        seen.after[i] = least_image(work, number >> 6 << 6)[0] >> 6
        count = replies(work, question, number, 3 - question.color)
        for k in range(count):
            reached = work.reached[k]
            if reached == KEPT:
                seen.ends[i] += 1
                continue
            place = 0
            if reached >= 0:
                key, _ = least_image(work, reached)
                place = np.searchsorted(keys, key)
                if place == keys.shape[0] or keys[place] != key:
                    reached = _MISSING
            if reached < 0:
                return i, reached
            seen.reply[length] = place
            seen.sizes[i] += 1
            length += 1
    return -1, np.int64(0)


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
