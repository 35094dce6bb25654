"""Random numbers for kernels, by xorshift64: the state is one uint64 that is not 0."""

import numpy as np

from tengen._kernel import kernel


@kernel(inline=True)
def next_random(state):  # type: ignore[no-untyped-def]
    """The successor of a non-zero uint64."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@kernel(inline=True)
def random_below(state, n):  # type: ignore[no-untyped-def]
    """An integer in [0, n) from the high bits of a random uint64 (multiply-shift, no division)."""
    return np.int64(((state >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))
