"""The memory of evaluations: what was said comes back, for the right position, and once."""

import numpy as np
import pytest

from tengen.search.evaluation_cache import EvaluationCache, fill_in, hash_planes, look_up, new_cache

ACTIONS = 3


def said_of(planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A network for tests: what it says depends on every byte."""
    weights = np.random.default_rng(0).normal(size=planes.shape[1]).astype(np.float32)
    total = (planes * weights).sum(axis=1)
    return np.outer(total, [1, 2, 3]).astype(np.float32), np.tanh(total).astype(np.float32)


class Asker:
    """Evaluates batches through a cache, as a searcher does, and counts what reaches the network."""

    def __init__(self, cache: EvaluationCache) -> None:
        self.cache, self.asked = cache, 0

    def ask(self, planes: np.ndarray, over: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        count = len(planes)
        over = np.zeros(count, np.bool_) if over is None else over
        keys, source, missing = np.zeros(count, np.uint64), np.zeros(count, np.int64), np.zeros(count, np.int64)
        packed = planes.copy()
        logits, values = np.full((count, ACTIONS), np.nan, np.float32), np.full(count, np.nan, np.float32)
        claimed = np.zeros(2 << (count - 1).bit_length(), np.int64)
        wanted = look_up(self.cache, packed, over, count, keys, source, missing, claimed, logits, values)
        assert np.array_equal(packed[:wanted], planes[missing[:wanted]])
        self.asked += wanted
        fresh = said_of(packed[:wanted])
        fill_in(self.cache, count, keys, source, missing, *fresh, logits, values)
        return logits, values


def some_planes(count: int, seed: int, width: int = 29) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (count, width), np.uint8)


def assert_right(found: tuple[np.ndarray, np.ndarray], planes: np.ndarray) -> None:
    logits, values = said_of(planes)
    assert np.array_equal(found[0], logits)
    assert np.array_equal(found[1], values)


@pytest.mark.parametrize(("slots", "size"), [(1, 2), (2, 2), (3, 4), (1000, 1024), (1024, 1024), (1025, 2048)])
def test_slots_are_a_power_of_two(slots: int, size: int) -> None:
    cache = new_cache(slots, ACTIONS)
    assert cache.keys.shape == cache.values.shape == (size,)
    assert cache.logits.shape == (size, ACTIONS)


def test_what_was_said_once_is_not_asked_again() -> None:
    asker, planes = Asker(new_cache(1 << 12, ACTIONS)), some_planes(50, 1)
    assert_right(asker.ask(planes), planes)
    assert asker.asked == 50
    assert_right(asker.ask(planes[::-1]), planes[::-1])
    assert asker.asked == 50
    both = np.concatenate([some_planes(10, 2), planes[:20], some_planes(10, 3)])
    assert_right(asker.ask(both), both)
    assert asker.asked == 70


def test_what_occurs_twice_in_a_batch_is_asked_once() -> None:
    asker, planes = Asker(new_cache(1 << 12, ACTIONS)), some_planes(40, 4)
    batch = planes[np.random.default_rng(5).integers(0, 40, 300)]
    assert_right(asker.ask(batch), batch)
    assert asker.asked == len({row.tobytes() for row in batch})


def test_finished_games_are_neither_asked_nor_answered() -> None:
    asker, planes = Asker(new_cache(64, ACTIONS)), some_planes(20, 6)
    over = np.arange(20) % 3 == 0
    logits, values = asker.ask(planes, over)
    assert_right((logits[~over], values[~over]), planes[~over])
    assert np.isnan(logits[over]).all() and np.isnan(values[over]).all()
    assert asker.asked == (~over).sum()


@pytest.mark.parametrize("slots", [1, 4, 32])
def test_positions_that_fall_on_one_slot_drive_each_other_out_and_nobody_is_mistaken(slots: int) -> None:
    asker, planes = Asker(new_cache(slots, ACTIONS)), some_planes(200, 7)
    rng = np.random.default_rng(8)
    for _ in range(100):
        batch = planes[rng.integers(0, 200, rng.integers(1, 60))]
        assert_right(asker.ask(batch), batch)
    held = asker.cache.keys[asker.cache.keys > 0]
    assert len(held) == len(asker.cache.keys), "all slots are in use"
    keys = {int(hash_planes(row)): row for row in planes}
    for slot, key in enumerate(asker.cache.keys):
        logits, values = said_of(keys[int(key)][None])
        assert (int(key) >> 1) % len(asker.cache.keys) == slot
        assert np.array_equal(asker.cache.logits[slot], logits[0]) and asker.cache.values[slot] == values[0]


def test_the_newest_of_a_slot_stays() -> None:
    asker, planes = Asker(new_cache(1, ACTIONS)), some_planes(100, 9)
    slots = np.array([(int(hash_planes(row)) >> 1) & 1 for row in planes])
    first, second = planes[slots == 0][:2]
    for row in (first, second):
        asker.ask(row[None])
    asker.ask(second[None])
    assert asker.asked == 2
    asker.ask(first[None])
    assert asker.asked == 3


@pytest.mark.parametrize("width", [1, 7, 8, 9, 16, 250, 810])
def test_every_byte_changes_the_key(width: int) -> None:
    planes = np.random.default_rng(10).integers(0, 2, width, np.uint8)
    keys = {int(hash_planes(planes))}
    for i in range(width):
        changed = planes.copy()
        changed[i] ^= 1
        keys.add(int(hash_planes(changed)))
    assert len(keys) == 1 + width
    assert 0 not in keys


def test_positions_that_differ_in_few_stones_have_keys_of_their_own() -> None:
    """All ways to put up to three stones of either colour on a 5x5 board: sparse planes, as in an opening."""
    keys, count = set(), 0
    for a in range(-1, 50):
        for b in range(a, 50):
            for c in range(b, 50):
                chosen = {stone for stone in (a, b, c) if stone >= 0}
                if len(chosen) != sum(stone >= 0 for stone in (a, b, c)):
                    continue
                planes = np.zeros(250, np.uint8)
                planes[list(chosen)] = 1
                keys.add(int(hash_planes(planes)))
                count += 1
    assert len(keys) == count > 20_000
    low = np.bincount([(key >> 1) & 255 for key in keys], minlength=256)
    assert low.max() < 3 * count / 256, "slots are used evenly"


def test_rows_anywhere_in_memory_hash_alike() -> None:
    """Rows of 250 bytes do not all begin on a word's boundary."""
    row = some_planes(1, 11, 250)[0]
    many = np.repeat(row[None], 9, axis=0)
    assert {int(hash_planes(many[i])) for i in range(9)} == {int(hash_planes(row))}
