"""In how many bits a network is trained: 32, or 16 where the processor multiplies those as such."""

from functools import cache

import torch


def autocast(bf16: bool) -> torch.autocast:
    """Compute in 16-bit bfloat within, where that is safe, if asked to and if the processor can."""
    return torch.autocast("cpu", torch.bfloat16, enabled=bf16 and multiplies_bfloat())


@cache
def multiplies_bfloat() -> bool:
    """Whether the processor multiplies bfloats. One that imitates it trains ten times as slowly as in 32 bits."""
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
