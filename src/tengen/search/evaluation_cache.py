"""What a network has said before, kept by a hash of the planes it was shown.

The key is made of the planes themselves, so the cache is right for every game and every encoder: what looks the same
to the network is the same. A table of slots, each the newest of all positions that fall on it. Positions met twice in
one batch are evaluated once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import copy_into, kernel

_FREE = np.uint64(0)


class EvaluationCache(NamedTuple):
    """S slots, S a power of two."""

    keys: NDArray[np.uint64]  # [S] 0: free
    logits: NDArray[np.float32]  # [S, A]
    values: NDArray[np.float32]  # [S]


def new_cache(slots: int, actions: int) -> EvaluationCache:
    """An empty cache with room for at least so many positions."""
    size = 1 << max(1, slots - 1).bit_length()
    # Written to at once: a search that is the first to touch its memory spends an eighth of its time on that.
    logits = np.full((size, actions), 0.0, np.float32)
    return EvaluationCache(np.zeros(size, np.uint64), logits, np.zeros(size, np.float32))


@kernel
def hash_planes(planes):  # type: ignore[no-untyped-def]
    """A 64-bit hash of uint8[n] that is never 0: eight bytes at a time, mixed as in splitmix64."""
    u = np.uint64
    words, rest = planes.shape[0] // 8, planes.shape[0] % 8
    key = u(0x9E3779B97F4A7C15) ^ u(planes.shape[0])
    wide = planes[: words * 8].view(np.uint64)
    for i in range(words):
        key = (key ^ wide[i]) * u(0xBF58476D1CE4E5B9)
        key ^= key >> u(29)
    tail = u(0)
    for i in range(rest):
        tail = tail << u(8) | u(planes[words * 8 + i])
    key = (key ^ tail) * u(0x94D049BB133111EB)
    key ^= key >> u(31)
    return key | u(1)


@kernel
def look_up(cache, planes, skip, count, keys, source, missing, claimed, logits, values):  # type: ignore[no-untyped-def]
    """Write what is known of the first `count` positions to logits: float32[L, A] and values: float32[L]; returns how
    many have to be evaluated.

    planes: uint8[L, C * H * W]; skip: bool[L], positions of which nothing is asked. Writes keys: uint64[L] and, to
    source: int64[L], k for the k-th of missing: int64[L], the positions to evaluate, packed to the front of planes in
    that order, or -1 where nothing is missing. claimed: int64[a power of two, at least 2 L] is scratch room.
    """
    mask = np.uint64(cache.keys.shape[0] - 1)
    wanted = 0
    claim_mask = np.uint64(2 * _power_of_two(count) - 1)
    for place in range(claim_mask + np.uint64(1)):  # where the keys of this batch's missing ones stand
        claimed[place] = -1
    for k in range(count):
        source[k] = -1
        if skip[k]:
            continue
        key = hash_planes(planes[k])
        keys[k] = key
        slot = (key >> np.uint64(1)) & mask
        if cache.keys[slot] == key:
            copy_into(cache.logits[slot], logits[k])
            values[k] = cache.values[slot]
            continue
        place = (key >> np.uint64(20)) & claim_mask
        while claimed[place] >= 0 and keys[missing[claimed[place]]] != key:
            place = (place + np.uint64(1)) & claim_mask
        if claimed[place] < 0:
            claimed[place] = wanted
            missing[wanted] = k
            if wanted != k:
                copy_into(planes[k], planes[wanted])
            wanted += 1
        source[k] = claimed[place]
    return wanted


@kernel
def _power_of_two(n):  # type: ignore[no-untyped-def]
    power = 1
    while power < n:
        power *= 2
    return power


@kernel
def fill_in(cache, count, keys, source, missing, fresh_logits, fresh_values, logits, values):  # type: ignore[no-untyped-def]
    """Give every position that the cache did not know its evaluation, and remember it.

    fresh_logits: float32[M, A] and fresh_values: float32[M] are of the missing positions; written are
    logits: float32[L, A] and values: float32[L].
    """
    for k in range(count):
        if source[k] >= 0:
            copy_into(fresh_logits[source[k]], logits[k])
            values[k] = fresh_values[source[k]]
    mask = np.uint64(cache.keys.shape[0] - 1)
    for m in range(fresh_values.shape[0]):
        key = keys[missing[m]]
        slot = (key >> np.uint64(1)) & mask
        cache.keys[slot] = key
        copy_into(fresh_logits[m], cache.logits[slot])
        cache.values[slot] = fresh_values[m]
