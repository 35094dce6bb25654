"""The lines of a strategy, where they can come back to the same stones, for `solve.repetition`."""

from collections import defaultdict
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen.games import go
from tengen.games.go.board import NO_CELL
from tengen.solve.certificate import Certificate, position_code
from tengen.solve.check_circles import NOWHERE, Steps, connected_sets, mark_doors
from tengen.solve.check_moves import KEPT, Question, answer, least_image, new_work, replies
from tengen.solve.check_order import ordered_sets
from tengen.solve.repetition import Node

Position = tuple[int, bool]
"""A position as it stands, not up to symmetry, and whether the player is to move."""


class Entries(NamedTuple):
    """What was seen of the n entries of a certificate."""

    after: NDArray[np.int64]  # [n] the stones after the player's move, up to symmetry; KEPT if the line ends there
    sizes: NDArray[np.int32]  # [n] how many replies to it do not end the line
    ends: NDArray[np.int32]  # [n] how many lines end with the move or a reply to it
    reply: NDArray[np.int32]  # [...] the entries that replies lead to, one after the other


class Lines:
    """The lines of a strategy: `sets` numbers the strongly connected sets of its boards, as `connected_sets` does."""

    def __init__(self, certificate: Certificate, question: Question, entries: Entries, starts: list[int]) -> None:
        self._certificate, self._question, self.work = certificate, question, new_work(question.size)
        own, (root, _) = certificate.keys >> 6, position_code(certificate.promise.state)
        self._boards = np.unique(np.concatenate([own, entries.after[entries.after >= 0], [root >> 6]]))
        after = np.where(entries.after >= 0, np.searchsorted(self._boards, entries.after), NOWHERE)
        # One more entry, on a board of its own, stands for what was before the start; its replies are the first ones.
        before = len(self._boards), np.searchsorted(self._boards, root >> 6)
        self.steps = Steps(
            np.append(np.searchsorted(self._boards, own), before[0]).astype(np.int32),
            np.append(after, before[1]).astype(np.int32),
            np.concatenate([[0], np.cumsum(np.append(entries.sizes, len(starts)), dtype=np.int64)]),
            np.append(entries.reply, np.array(starts, np.int32)),
        )
        self.sets = connected_sets(self.steps, len(self._boards) + 1)
        self._is_circle = np.bincount(self.sets) > 1
        ordered = ordered_sets(self.steps, self.sets, self._is_circle, np.append(entries.ends > 0, False))
        self._is_circle[list(ordered)] = False
        self.node = cache(self._node)

    def circles(self) -> NDArray[np.bool_]:
        """bool[n]: the entries from which a move of the player's might come back to the same stones."""
        inside: NDArray[np.bool_] = self._is_circle[self.sets[self.steps.board[:-1]]]
        return inside

    def doors(self) -> dict[int, list[Position]]:
        """For each set in which the player might come back to the same stones, the positions where lines come in.

        In one image, for the others are the same: unless the set has a board that is its own image, where the move that
        stands for all images may not be an image of itself. Then in all of them."""
        keys, promise = self._certificate.keys, self._certificate.promise
        own_doors, other_doors = np.zeros((2, len(keys) + 1), np.bool_)
        mark_doors(self.steps, self.sets, self._is_circle, own_doors, other_doors)
        positions = [(int(key), True) for key in keys[own_doors[:-1]]]
        for key in keys[other_doors[:-1]]:
            ((to, _),) = self.node((int(key), True)).steps
            assert to is not None
            positions.append(to)
        boards = np.flatnonzero(self._is_circle[self.sets[:-1]])
        symmetric = {int(self.sets[board]) for board in boards if len(self._images(int(self._boards[board]) << 6)) < 8}
        found = defaultdict[int, list[Position]](list)
        for number, own in positions:
            inside = self.set_of(number)
            assert inside is not None
            images = self._images(number) if inside in symmetric else [number]
            found[inside] += [(image, own) for image in images]
        if other_doors[-1]:
            root, _ = position_code(promise.state)
            found[int(self.sets[self.steps.after[-1]])].append((root, promise.to_play == promise.color))
        return found

    def board_of(self, number: int) -> int | None:
        """Which board a position has; None if it is none of the strategy's."""
        board = int(least_image(self.work, number >> 6 << 6)[0] >> 6)
        place = int(np.searchsorted(self._boards, board))
        return place if place < len(self._boards) and self._boards[place] == board else None

    def set_of(self, number: int) -> int | None:
        """The set of a position's board; None if the strategy does not have it."""
        board = self.board_of(number)
        return None if board is None else int(self.sets[board])

    def _node(self, position: Position) -> Node[Position]:
        number, own = position
        question, work = self._question, self.work
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
            for cell, reached in zip(work.moves[:count].tolist(), work.reached[:count].tolist(), strict=True):
                steps.append((None if reached == KEPT else (reached, True), cell == NO_CELL))
        return Node(number >> 6, own, self.set_of(number), steps)

    def _images(self, number: int) -> list[int]:
        """A position in all its images, each once."""
        stones = np.array([(number >> 6) // 3**point % 3 for point in range(self._question.size**2)], np.int64)
        powers = 3 ** np.arange(len(stones), dtype=np.int64)
        codes = (stones[self.work.images] @ powers) * 64 + (number & 1)
        mark = (number >> 1) % 32
        if mark:
            codes += (self.work.places[:, mark - 1] + 1) * 2
        return sorted(set(codes.tolist()))
