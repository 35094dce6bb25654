"""What this machine lets us use."""

import os
from pathlib import Path
from typing import Final

_EXACT_BYTES: Final = {"avx512_vnni", "avx_vnni", "amx_int8", "asimddp", "i8mm"}


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def has_exact_bytes(cpu_info: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether this CPU adds products of 8-bit integers in 32 bits, as VNNI does; others can overflow.

    Where the system does not say, it is assumed.
    """
    try:
        words = set(cpu_info.read_text(encoding="utf-8", errors="replace").split())
    except OSError:
        return True
    return bool(words & _EXACT_BYTES)
