"""Go as its rules are written, with sets of stones and all positions remembered: a slow, obvious oracle for `State`."""

from dataclasses import dataclass, field

from tengen.games.go import BLACK, EMPTY, PASS, RuleSet

Stones = dict[int, int]


@dataclass
class SlowGo:
    """One position with all that its rules remember."""

    size: int
    rules: RuleSet
    stones: Stones = field(default_factory=dict)
    to_play: int = BLACK
    captures: tuple[int, int] = (0, 0)
    ko: int | None = None
    passes: int = 0
    past: list[tuple[frozenset[tuple[int, int]], int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.past = [*self.past, (frozenset(self.stones.items()), self.to_play)]

    @property
    def is_void(self) -> bool:
        return self.rules.ko == "simple" and self.passes < 2 and self.past.count(self.past[-1]) >= 3

    @property
    def is_over(self) -> bool:
        return self.passes >= 2 or self.is_void

    def neighbours(self, point: int) -> list[int]:
        row, col = divmod(point, self.size)
        around = [(row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)]
        return [r * self.size + c for r, c in around if 0 <= r < self.size and 0 <= c < self.size]

    def string(self, stones: Stones, point: int) -> tuple[set[int], set[int]]:
        """(stones, liberties) of the string at a point."""
        found, liberties, todo = {point}, set(), [point]
        while todo:
            for near in self.neighbours(todo.pop()):
                color = stones.get(near, EMPTY)
                if color == EMPTY:
                    liberties.add(near)
                elif color == stones[point] and near not in found:
                    found.add(near)
                    todo.append(near)
        return found, liberties

    def play(self, move: int) -> "SlowGo | None":
        """The position after a point or PASS; None if that is not legal (forced passes apart)."""
        me, other = self.to_play, 3 - self.to_play
        if move == PASS:
            return SlowGo(
                self.size, self.rules, self.stones, other, self.captures, None, self.passes + 1, past=self.past
            )
        if move in self.stones or move == self.ko:
            return None
        stones = {**self.stones, move: me}
        taken: set[int] = set()
        for near in self.neighbours(move):
            if stones.get(near) == other and not self.string(stones, near)[1]:
                taken |= self.string(stones, near)[0]
        stones = {point: color for point, color in stones.items() if point not in taken}
        own, liberties = self.string(stones, move)
        lost: set[int] = set() if liberties else own
        if lost and not self.rules.suicide:
            return None
        if self.rules.forced_play and self._fills_territory(move, me):
            return None
        stones = {point: color for point, color in stones.items() if point not in lost}
        ko = next(iter(taken)) if len(taken) == 1 and len(own) == 1 and len(liberties) == 1 else None
        by_black, by_white = self.captures
        mine, theirs = len(taken), len(lost)
        gained = (by_black + mine, by_white + theirs) if me == BLACK else (by_black + theirs, by_white + mine)
        after = SlowGo(self.size, self.rules, stones, other, gained, ko, past=self.past)
        position, player = after.past[-1]
        if self.rules.ko == "positional" and any(position == earlier for earlier, _ in self.past):
            return None
        return None if self.rules.ko == "situational" and (position, player) in self.past else after

    def legal_moves(self) -> list[int]:
        if self.is_over:
            return []
        points = [point for point in range(self.size**2) if self.play(point) is not None]
        return points if points and self.rules.forced_play else [*points, PASS]

    def _fills_territory(self, move: int, me: int) -> bool:
        """Whether a point has only own stones around it, none of which is in atari."""
        around = self.neighbours(move)
        if any(self.stones.get(near) != me for near in around):
            return False
        return all(len(self.string(self.stones, near)[1]) > 1 for near in around)
