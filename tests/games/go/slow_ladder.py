"""A slow, exhaustive reader of ladders on the slow board of `diagrams.py`: the oracle for ladders in kernels."""

from .diagrams import Point, Stones, beside, liberties_of, string_of, strings_of


class TooLongError(Exception):
    """The slow reader has used up its nodes."""


class SlowReader:
    """Reads ladders by trying every move that the rules of the ladder allow, without any shortcut."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.nodes = 0

    def play(self, stones: Stones, ko: Point | None, p: Point, color: int) -> tuple[Stones, Point | None] | None:
        """The stones and the ko after a move; None if it is illegal."""
        if p in stones or p == ko:
            return None
        after = stones | {p: color}
        captured: set[Point] = set()
        for q in beside(p, self.size):
            if after.get(q) == 3 - color and not self.liberties(after, q):
                captured |= string_of(after, q, self.size)
        after = {q: c for q, c in after.items() if q not in captured}
        liberties = self.liberties(after, p)
        if not liberties:
            return None
        is_ko = len(captured) == len(liberties) == len(string_of(after, p, self.size)) == 1
        return after, captured.pop() if is_ko else None

    def liberties(self, stones: Stones, p: Point) -> set[Point]:
        return liberties_of(stones, string_of(stones, p, self.size), self.size)

    def defences(self, stones: Stones, target: Point) -> set[Point]:
        """The last liberty, and where attackers beside the string can be captured; legal or not."""
        moves = set(self.liberties(stones, target))
        for p in string_of(stones, target, self.size):
            for q in beside(p, self.size):
                if stones.get(q) == 3 - stones[target] and len(self.liberties(stones, q)) == 1:
                    moves |= self.liberties(stones, q)
        return moves

    def escapes(self, stones: Stones, ko: Point | None, target: Point) -> bool:
        """Whether the owner of the target, in atari and to move, can save it."""
        for move in sorted(self.defences(stones, target)):
            after = self.play(stones, ko, move, stones[target])
            if after is not None and not self.is_captured(*after, target):
                return True
        return False

    def is_captured(self, stones: Stones, ko: Point | None, target: Point) -> bool:
        """Whether the attacker, to move, can capture the target."""
        self.nodes += 1
        if self.nodes > 300:  # a repetition, most likely
            raise TooLongError
        liberties = self.liberties(stones, target)
        attacks = [self.play(stones, ko, p, 3 - stones[target]) for p in sorted(liberties)]
        if len(liberties) == 1:
            return attacks[0] is not None
        if len(liberties) == 2:
            for after in attacks:
                if after is not None and not self.escapes(*after, target):
                    return True
        return False

    def is_ladder_capture(self, stones: Stones, ko: Point | None, p: Point, color: int) -> bool:
        after = self.play(stones, ko, p, color)
        targets = [q for q in beside(p, self.size) if stones.get(q) == 3 - color]
        targets = [q for q in targets if len(self.liberties(stones, q)) == 2]
        return after is not None and any(not self.escapes(*after, q) for q in targets)

    def is_ladder_escape(self, stones: Stones, ko: Point | None, p: Point, color: int) -> bool:
        after = self.play(stones, ko, p, color)
        targets = [min(s) for s in strings_of(stones, self.size) if stones[min(s)] == color]
        targets = [q for q in targets if len(self.liberties(stones, q)) == 1 and p in self.defences(stones, q)]
        return after is not None and any(not self.is_captured(*after, q) for q in targets)
