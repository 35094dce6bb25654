"""Other moves for a strategy where superko could forbid those that it has.

A search proves positions without their history, so two parts of a proof may lead back to stones that stood on the board
before. Mostly there are other moves, in the strategy's own positions, that lead out of such a set of boards for good.
They are looked for here, move by move from the ways out backwards. Where there are none, the solver is asked for
positions after moves that the strategy did not need so far.
"""

from collections import defaultdict
from collections.abc import Callable, Container
from dataclasses import replace
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen.games.go.rules import get_rules
from tengen.solve.certificate import Certificate
from tengen.solve.check import Fault, check_entries, check_start, look_at, question_of
from tengen.solve.check_circles import can_come_to, mark_reached
from tengen.solve.check_lines import Entries, Lines
from tengen.solve.check_moves import KEPT, Question, new_work, replies
from tengen.solve.repetition import RepetitionError, check_repetition

Widen = Callable[[int, Callable[[int], bool]], dict[int, int]]
"""Entries (moves by key) for a position, given as its number, in which the opponent is to move; without those whose
keys are known already. Nothing if the claim cannot be kept there, as far as a short search tells."""

_ROUNDS = 10
_MOST_STEPS = 20_000  # to follow in a set of boards; one with more lines is taken for spoiled


def untangle(certificate: Certificate, widen: Widen = lambda number, is_known: {}) -> Certificate:
    """The same strategy, without positions that nobody comes to, and with moves that superko does not forbid, as far as
    there are such."""
    certificate = replace(certificate, moves=certificate.moves.copy())
    question = question_of(certificate)
    starts, entries = check_start(certificate, question), check_entries(certificate, question)
    fewest = len(certificate.keys) + 1
    for _ in range(_ROUNDS):
        lines = Lines(certificate, question, entries, starts)
        spoiled = _spoiled(certificate, lines, _reached(entries, starts))
        changed = [place for number in spoiled for place in _lead_out(certificate, question, lines, number)]
        if changed:
            entries = _seen_again(certificate, question, entries, np.sort(changed))
        left = int(np.isin(lines.sets[lines.steps.board[:-1]], spoiled).sum())
        if not changed or left >= fewest:
            more = _more_entries(certificate, question, lines, spoiled, widen)
            if more:
                certificate, entries = _with(more, certificate, question, entries)
                starts = check_start(certificate, question)
            elif not changed:
                break
        fewest = min(left, fewest)
    reached = _reached(entries, starts)
    return replace(certificate, keys=certificate.keys[reached], moves=certificate.moves[reached])


def _reached(entries: Entries, starts: list[int]) -> NDArray[np.bool_]:
    """bool[n]: the entries that lines come to."""
    reached = np.zeros(len(entries.after), np.bool_)
    first = np.concatenate([[0], np.cumsum(entries.sizes, dtype=np.int64)])
    mark_reached(first, entries.reply, np.array(starts, np.int64), reached)
    return reached


def _spoiled(certificate: Certificate, lines: Lines, reached: NDArray[np.bool_]) -> list[int]:
    """The sets of boards that lines come to and in which superko forbids a move of the player's, or might."""
    rules, found = get_rules(certificate.promise.rules), []
    live = set(lines.sets[lines.steps.board[:-1][reached]].tolist())
    for number, doors in lines.doors().items():
        if number not in live:
            continue
        try:
            check_repetition(doors, lines.node, rules, _MOST_STEPS)
        except RepetitionError:
            found.append(number)
    return found


class _Way(NamedTuple):
    """A move of an entry, within a set of boards."""

    move: int
    after: int | None
    """The board after it, if that is in the set."""
    replies: frozenset[int]
    """The boards after the replies to it, as far as they are in the set."""


def _lead_out(certificate: Certificate, question: Question, lines: Lines, number: int) -> list[int]:
    """Give the entries of a set moves that lead out of it. Returns the entries that were changed.

    Boards are freed one after the other: one is free if each entry on it has a move to a free board, and the replies to
    that lead to boards that were freed before. So no line comes back to a free board."""
    sets = lines.sets[lines.steps.board[:-1]]
    entries = defaultdict[int, list[tuple[int, list[_Way]]]](list)  # by board: (place, ways)
    for place in np.flatnonzero(sets == number).tolist():
        entries[int(lines.steps.board[place])].append((place, _ways(certificate, question, lines, number, place)))
    when = dict[int, float]()  # boards were freed
    free = dict[int, int]()
    for turn in count(1):
        freed = dict[int, list[tuple[int, _Way]]]()
        for board in entries.keys() - when.keys():
            chosen = [(place, _way_out(ways, when, entries)) for place, ways in entries[board]]
            if all(way is not None for _, way in chosen):
                freed[board] = [(place, way) for place, way in chosen if way is not None]
        if not freed:
            break
        for board, chosen_ways in freed.items():
            when[board] = turn
            for place, way in chosen_ways:
                free[place] = way.move
                if way.after is not None:
                    when.setdefault(way.after, turn - 0.5)
    changed = [place for place, move in free.items() if certificate.moves[place] != move]
    certificate.moves[changed] = [free[place] for place in changed]
    return changed


def _ways(certificate: Certificate, question: Question, lines: Lines, number: int, place: int) -> list[_Way]:
    """The moves of an entry after which lines stay in its set, or leave it for good; those that leave first."""
    keys, board, sets = certificate.keys, lines.steps.board, lines.sets
    visited, todo = np.zeros(len(board), np.bool_), np.empty(len(board), np.int32)
    ways = []
    for move in range(-1, question.size**2):
        seen = look_at(lines.work, question, keys, keys[place : place + 1], np.array([move], np.int8))
        if isinstance(seen, Fault):
            continue
        reached = sets[board[seen.reply]]
        if any(can_come_to(lines.steps, sets, reply, number, visited, todo) for reply in seen.reply[reached > number]):
            continue
        after = lines.board_of(int(seen.after[0]) << 6) if seen.after[0] >= 0 else None
        inside = after if after is not None and sets[after] == number else None
        ways.append(_Way(move, inside, frozenset(board[seen.reply[reached == number]].tolist())))
    return sorted(ways, key=lambda way: (way.after is not None, len(way.replies)))


def _way_out(ways: list[_Way], when: dict[int, float], entries: Container[int]) -> _Way | None:
    """The first move to a board that is free, or that can be freed now since no entry is on it."""
    for way in ways:
        if not way.replies <= when.keys():
            continue
        if way.after is None or (way.after not in when and way.after not in entries):
            return way
        if way.after in when and all(when[board] < when[way.after] for board in way.replies):
            return way
    return None


def _seen_again(certificate: Certificate, question: Question, entries: Entries, places: NDArray[np.int64]) -> Entries:
    """The entries after some have been given other moves."""
    keys = certificate.keys
    fresh = look_at(new_work(question.size), question, keys, keys[places], certificate.moves[places])
    assert isinstance(fresh, Entries)
    kept = np.ones(len(keys), np.bool_)
    kept[places] = False
    old = entries.reply[np.repeat(kept, entries.sizes)]
    entries.after[places], entries.sizes[places], entries.ends[places] = fresh.after, fresh.sizes, fresh.ends
    is_old = np.repeat(kept, entries.sizes)
    reply = np.empty(len(is_old), np.int32)
    reply[is_old], reply[~is_old] = old, fresh.reply
    return entries._replace(reply=reply)


def _more_entries(
    certificate: Certificate, question: Question, lines: Lines, spoiled: list[int], widen: Widen
) -> dict[int, int]:
    """Entries for moves that the strategy has no answer to so far, in spoiled sets."""
    work, found = new_work(question.size), dict[int, int]()

    def is_known(key: int) -> bool:
        return key in found or certificate.place(key) is not None

    places = np.flatnonzero(np.isin(lines.sets[lines.steps.board[:-1]], spoiled))
    for own in certificate.keys[places]:
        moves = replies(work, question, own, question.color)
        for number in work.reached[:moves].tolist():
            if number >= 0:
                found.update(widen(number, is_known))
    return found


def _with(
    more: dict[int, int], certificate: Certificate, question: Question, entries: Entries
) -> tuple[Certificate, Entries]:
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
    return larger, _seen_again(larger, question, empty, np.searchsorted(larger.keys, added))
