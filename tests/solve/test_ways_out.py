"""Ways out of made-up regions: whatever is chosen, no line comes to the same stones twice."""

import random

import numpy as np

from tengen.solve.ways_out import Way, turned_round, ways_out

OUTSIDE = 99
COMES = np.arange(100) != OUTSIDE


def test_a_circle_is_left_where_it_can_be() -> None:
    """Entry 1 can end the line, 0 can go to 1, 2 can go to 0 or round in a circle with 3, which can do nothing else."""
    region = {
        0: [Way(5, 20, [2]), Way(6, 21, [1])],
        1: [Way(7, 22, [0]), Way(8, -1, [])],
        2: [Way(9, 23, [3]), Way(1, 24, [0, OUTSIDE])],
        3: [Way(2, 25, [3])],
    }
    chosen = ways_out(region, {place: 10 + place for place in region}, COMES)
    assert {place: way.move for place, way in chosen.items()} == {0: 6, 1: 8, 2: 1}


def test_stones_that_stood_before_are_not_come_back_to() -> None:
    """Entries 0 and 1 have the same stones, 10. After 0 the opponent can only go to 1, and 1 back to those stones."""
    region = {0: [Way(5, 20, [1])], 1: [Way(6, 10, [OUTSIDE])]}
    assert ways_out(region, {0: 10, 1: 10}, COMES) == {}
    region = {0: [Way(5, 20, [1])], 1: [Way(6, 20, [OUTSIDE])]}
    assert ways_out(region, {0: 10, 1: 11}, COMES).keys() == {1}


def test_no_line_of_random_regions_repeats_stones() -> None:
    freed, cyclic = 0, 0
    for seed in range(400):
        rng = random.Random(seed)
        count = rng.randint(2, 12)
        boards = range(rng.randint(3, 2 * count))
        board = {place: rng.choice(boards) for place in range(count)}
        region = {place: [_random_way(rng, count, boards) for _ in range(rng.randint(1, 4))] for place in range(count)}
        chosen = ways_out(region, board, COMES)
        freed += len(chosen)
        cyclic += len({board[place] for place in chosen} & {way.after for way in chosen.values()}) > 0
        assert all(place in chosen for place, ways in region.items() if any(way.after < 0 for way in ways))
        for place in chosen:
            _follow(place, chosen, board, [])
    assert freed > 1000
    assert cyclic > 50  # so that there was something to avoid


def _random_way(rng: random.Random, count: int, boards: range) -> Way:
    if rng.random() < 0.1:
        return Way(0, -1, [])
    return Way(0, rng.choice(boards), rng.sample([*range(count), OUTSIDE], rng.randint(1, 2)))


def _follow(place: int, chosen: dict[int, Way], board: dict[int, int], history: list[int]) -> None:
    way = chosen[place]
    if way.after < 0:
        return
    history = [*history, board[place]]
    assert way.after not in history
    for reply in way.replies:
        if reply != OUTSIDE:
            _follow(reply, chosen, board, [*history, way.after])


def test_steps_are_turned_round() -> None:
    rng = np.random.default_rng(1)
    sizes = rng.integers(0, 4, 50)
    first = np.concatenate([[0], np.cumsum(sizes)])
    reply = rng.integers(0, 50, sizes.sum()).astype(np.int32)
    begin, before = turned_round(first, reply)
    steps = {(e, int(to)) for e in range(50) for to in reply[first[e] : first[e + 1]]}
    assert {(int(e), to) for to in range(50) for e in before[begin[to] : begin[to + 1]]} == steps
    assert len(before) == len(reply)
