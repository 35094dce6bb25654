"""Every encoder once more, slow and obvious: no kernel, no arrays but the planes themselves.

A position is worked out from the moves of its game on the slow board of the Go tests, a dict of stones. Where the slow
reader of ladders gives up, a plane holds UNKNOWN.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tengen.games import go
from tengen.games.go import BLACK, PASS, WHITE

from ..games.go.diagrams import Point, Stones, all_points, beside, liberties_of, string_of, strings_of
from ..games.go.slow_ladder import SlowReader, TooLongError

Planes = NDArray[np.uint8]
UNKNOWN = 255


@dataclass
class Scene:
    """A position and its past, for the player to move (`own`)."""

    size: int
    own: int
    ko: Point | None
    past: list[Stones]  # now, one move ago, ...; as far back as the game began
    ages: dict[Point, int]  # how many moves ago a stone was played; set-up stones are not in here
    passed: bool  # whether the last move was a pass
    komi: float  # handicap bonus included

    @property
    def stones(self) -> Stones:
        return self.past[0]

    @property
    def enemy(self) -> int:
        return 3 - self.own

    def liberties(self, p: Point) -> int:
        return len(liberties_of(self.stones, string_of(self.stones, p, self.size), self.size))

    def blank(self, planes: int) -> Planes:
        return np.zeros((planes, self.size, self.size), np.uint8)


def scene_of(state: go.State) -> Scene:
    """Play the game again from its set-up."""
    size = state.size
    black, white = state.setup_stones
    stones = {divmod(p, size): BLACK for p in black} | {divmod(p, size): WHITE for p in white}
    past, ko, placed, last_color = [stones], None, {}, None
    for turn, (color, move) in enumerate(state.moves):
        ko = ko if color != last_color else None
        if move == PASS:
            ko = None
        else:
            after = SlowReader(size).play(stones, ko, divmod(move, size), color)
            assert after is not None, "an illegal move"
            stones, ko = after
            placed[divmod(move, size)] = turn
        past.insert(0, stones)
        last_color = color
    if last_color == state.to_play:  # out of turn
        ko = None
    ages = {p: len(state.moves) - turn for p, turn in placed.items() if p in stones}
    passed = bool(state.moves) and state.moves[-1][1] == PASS
    return Scene(size, state.to_play, ko, past, ages, passed, state.komi + state.rules.bonus(state.handicap))


def oneplane(scene: Scene) -> Planes:
    planes = scene.blank(1)
    for p in all_points(scene.size):
        planes[0][p] = {scene.own: 2, None: 1, scene.enemy: 0}[scene.stones.get(p)]
    return planes


def sevenplane(scene: Scene) -> Planes:
    planes = scene.blank(7)
    for p, color in scene.stones.items():
        planes[(0 if color == scene.own else 3) + min(scene.liberties(p), 3) - 1][p] = 1
    if scene.ko:
        planes[6][scene.ko] = 1
    return planes


def simple(scene: Scene) -> Planes:
    planes = scene.blank(11)
    for p, color in scene.stones.items():
        planes[(0 if color == BLACK else 4) + min(scene.liberties(p), 4) - 1][p] = 1
    planes[8 if scene.own == BLACK else 9] = 1
    if scene.ko:
        planes[10][scene.ko] = 1
    return planes


def zero(scene: Scene) -> Planes:
    planes = scene.blank(17)
    for t, stones in enumerate(scene.past[:8]):
        for p, color in stones.items():
            planes[2 * t if color == scene.own else 2 * t + 1][p] = 1
    planes[16] = scene.own == BLACK
    return planes


def compact(scene: Scene) -> Planes:
    ones = np.ones((1, scene.size, scene.size), np.uint8)
    return np.concatenate([sevenplane(scene), ones, ones * (scene.own == BLACK), ones * scene.passed])


def compact_komi(scene: Scene) -> Planes:
    ones = np.ones((1, scene.size, scene.size), np.uint8)
    own = scene.komi if scene.own == WHITE else -scene.komi
    marks = [-15, -11, -9, -7, -5, -3, -1, 1, 3, 5, 7, 9, 11, 15]
    margins = range(-(scene.size**2), scene.size**2 + 1, 2)  # Black's, if every point is somebody's
    drawn = any(margin - scene.komi == 0 for margin in margins)
    return np.concatenate([compact(scene), *(ones * (own > mark) for mark in marks), ones * drawn])


def alphago(scene: Scene) -> Planes:
    planes = scene.blank(48)
    planes[3] = 1
    for p in all_points(scene.size):
        if p in scene.stones:
            planes[0 if scene.stones[p] == scene.own else 1][p] = 1
            planes[4 + min(scene.ages.get(p, 8), 8) - 1][p] = 1
            planes[12 + min(scene.liberties(p), 8) - 1][p] = 1
        else:
            planes[2][p] = 1
            mark_move(scene, p, planes)
    mark_ladders(scene, planes)
    return planes


def alphago49(scene: Scene) -> Planes:
    player = np.full((1, scene.size, scene.size), scene.own == BLACK, np.uint8)
    return np.concatenate([alphago(scene), player])


def mark_move(scene: Scene, p: Point, planes: Planes) -> None:
    """Play it, and look what has happened."""
    played = SlowReader(scene.size).play(scene.stones, scene.ko, p, scene.own)
    if played is None:
        return
    after = played[0]
    captured = len(scene.stones) + 1 - len(after)
    string = string_of(after, p, scene.size)
    liberties = len(liberties_of(after, string, scene.size))
    if captured:
        planes[20 + min(captured, 8) - 1][p] = 1
    if liberties == 1:
        planes[28 + min(len(string), 8) - 1][p] = 1
    planes[36 + min(liberties, 8) - 1][p] = 1
    planes[46][p] = not is_eye(scene, p)


def is_eye(scene: Scene, p: Point) -> bool:
    if any(scene.stones.get(q) != scene.own for q in beside(p, scene.size)):
        return False
    r, c = p
    diagonals = [(r - 1, c - 1), (r - 1, c + 1), (r + 1, c - 1), (r + 1, c + 1)]
    inside = [q for q in diagonals if q in all_points(scene.size)]
    enemies = [q for q in inside if scene.stones.get(q) == scene.enemy]
    return len(enemies) < (2 if len(inside) == 4 else 1)


def mark_ladders(scene: Scene, planes: Planes) -> None:
    """Try every move of every ladder."""
    reader, stones = SlowReader(scene.size), scene.stones
    for string in strings_of(stones, scene.size):
        target = min(string)
        liberties = reader.liberties(stones, target)
        if stones[target] == scene.own and len(liberties) == 1:
            plane, moves = 45, reader.defences(stones, target)
        elif stones[target] == scene.enemy and len(liberties) == 2:
            plane, moves = 44, liberties
        else:
            continue
        for p in moves:
            after = reader.play(stones, scene.ko, p, scene.own)
            if after is None or planes[plane][p] == 1:
                continue
            reader.nodes = 0
            try:
                if plane == 45:
                    planes[plane][p] |= not reader.is_captured(*after, target)
                else:
                    planes[plane][p] |= not reader.escapes(*after, target)
            except TooLongError:
                planes[plane][p] = UNKNOWN


def stones(scene: Scene) -> Planes:
    planes = scene.blank(3)
    for row, col in all_points(scene.size):
        planes[{BLACK: 0, WHITE: 1}.get(scene.stones.get((row, col), 0), 2), row, col] = 1
    return planes


def stones_player(scene: Scene) -> Planes:
    player = scene.blank(1) + np.uint8(scene.own == BLACK)
    return np.concatenate([stones(scene), player])


SLOW = {
    "oneplane": oneplane,
    "sevenplane": sevenplane,
    "simple": simple,
    "alphago": alphago,
    "alphago49": alphago49,
    "zero": zero,
    "compact": compact,
    "compact-komi": compact_komi,
    "stones": stones,
    "stones-player": stones_player,
}
