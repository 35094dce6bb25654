"""Other moves for a strategy where superko could forbid those that it has.

A search proves positions without their history, so two parts of a proof may lead back to stones that stood on the board
before. Mostly there are other moves, in the strategy's own positions, that lead out of such a set of boards for good.
That is what is looked for here, move by move from the ways out backwards; no new position is needed.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tengen.games.go.rules import get_rules
from tengen.solve.certificate import Certificate
from tengen.solve.check import Fault, check_entries, check_start, look_at, question_of
from tengen.solve.check_circles import mark_reached
from tengen.solve.check_lines import Entries, Lines
from tengen.solve.check_moves import Question, new_work
from tengen.solve.repetition import RepetitionError, check_repetition

_ROUNDS = 8
_MOST_STEPS = 20_000  # to follow in a set of boards; one with more lines is taken for spoiled


def untangle(certificate: Certificate) -> Certificate:
    """The same strategy, without positions that nobody comes to, and with moves that superko does not forbid, as far as
    there are such."""
    certificate = replace(certificate, moves=certificate.moves.copy())
    question = question_of(certificate)
    starts, entries = check_start(certificate, question), check_entries(certificate, question)
    for _ in range(_ROUNDS):
        lines = Lines(certificate, question, entries, starts)
        changed = [
            place
            for number in _spoiled(certificate, lines)
            for place in _lead_out(certificate, question, lines, number)
        ]
        if not changed:
            break
        entries = _seen_again(certificate, question, entries, np.sort(changed))
    reached = np.zeros(len(certificate.keys) + 1, np.bool_)
    mark_reached(Lines(certificate, question, entries, starts).steps, np.array(starts, np.int64), reached)
    return replace(certificate, keys=certificate.keys[reached[:-1]], moves=certificate.moves[reached[:-1]])


def _spoiled(certificate: Certificate, lines: Lines) -> list[int]:
    """The sets of boards in which superko forbids a move of the player's, or might."""
    rules, found = get_rules(certificate.promise.rules), []
    for number, doors in lines.doors().items():
        try:
            check_repetition(doors, lines.node, rules, _MOST_STEPS)
        except RepetitionError:
            found.append(number)
    return found


def _lead_out(certificate: Certificate, question: Question, lines: Lines, number: int) -> list[int]:
    """Give the entries of a set moves that lead out of it: first those that leave by their move, then those that can be
    sure to leave by the answer to it, then those that come to one of these, and so on. Returns what was changed."""
    keys, moves = certificate.keys, certificate.moves
    sets = lines.sets[lines.steps.board[:-1]]
    choices = dict[int, list[tuple[int, set[int]]]]()  # of an entry: its moves, with the entries of this set after them
    free = dict[int, int]()
    for place in np.flatnonzero(sets == number).tolist():
        own, ways = keys[place : place + 1], []
        for move in range(-1, question.size**2):
            seen = look_at(lines.work, question, keys, own, np.array([move], np.int8))
            if isinstance(seen, Fault) or np.any(sets[seen.reply] > number):
                continue
            inside = set(seen.reply[sets[seen.reply] == number].tolist())
            ways.append((move, inside))
            after = lines.set_of(int(seen.after[0]) << 6) if seen.after[0] >= 0 else None
            if not inside and (after is None or after < number):
                free[place] = move
        choices[place] = sorted(ways, key=lambda way: len(way[1]))
    while True:
        found = dict[int, int]()
        for place in choices.keys() - free.keys():
            ways_out = [move for move, inside in choices[place] if inside <= free.keys()]
            if ways_out:
                found[place] = ways_out[0]
        if not found:
            break
        free |= found
    changed = [place for place, move in free.items() if moves[place] != move]
    moves[changed] = [free[place] for place in changed]
    return changed


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
