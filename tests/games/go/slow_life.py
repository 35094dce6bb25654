"""Unconditional life once more, slow and obvious: Benson's definitions word for word."""

from tengen.games.go.board import EMPTY

from .diagrams import Point, Stones, all_points, beside, string_of, strings_of


def slow_life(stones: Stones, size: int, color: int, suicide: bool) -> tuple[set[Point], set[Point]]:
    """Benson's definitions word for word: (living stones, points of their vital regions)."""
    chains = {s for s in strings_of(stones, size) if stones[next(iter(s))] == color}
    others = {p: EMPTY for p in all_points(size) if stones.get(p) != color}
    regions = {string_of(others, p, size) for p in others}

    def touches(point: Point, chain: frozenset[Point]) -> bool:
        return any(q in chain for q in beside(point, size))

    def is_vital(region: frozenset[Point], chain: frozenset[Point]) -> bool:
        return all(touches(p, chain) for p in region if suicide or p not in stones)

    while True:
        safe = {chain for chain in chains if sum(is_vital(region, chain) for region in regions) >= 2}
        closed = {r for r in regions if all(c in safe for c in chains if any(touches(p, c) for p in r))}
        if safe == chains and closed == regions:
            break
        gone = chains - safe
        regions = {r for r in regions if not any(touches(p, c) for p in r for c in gone)}
        chains = safe
    owned = {region for region in regions if any(is_vital(region, chain) for chain in chains)}
    return {p for chain in chains for p in chain}, {p for region in owned for p in region}
