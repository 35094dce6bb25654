"""What this machine lets us use."""

import os
import platform
from pathlib import Path
from typing import Final

_VECTORS: Final = {"avx512f": "AVX-512", "avx2": "AVX2", "asimd": "NEON"}
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


def processor_name(cpu_info: Path = Path("/proc/cpuinfo")) -> str:
    """The processor as its maker calls it, and the widest vectors that it has where the system says so."""
    try:
        lines = cpu_info.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    vectors = [name for flag, name in _VECTORS.items() if flag in facts.get("flags", "").split()]
    return ", ".join([facts.get("model name", platform.machine()), *vectors[:1]])


class MachineUse:
    """How much of this machine other programs take while something is measured."""

    def __init__(self, statistics: Path = Path("/proc/stat")) -> None:
        self._statistics = statistics
        self._before = self._times()

    def others(self) -> float | None:
        """Their share of all cores since this object was made, 0 to 1; None where the system does not say."""
        if self._before is None or (now := self._times()) is None:
            return None
        total, idle, own = (after - before for before, after in zip(self._before, now))
        return min(max((total - idle - own) / total, 0.0), 1.0) if total > 0 else 0.0

    def _times(self) -> tuple[float, float, float] | None:
        """Seconds of all cores together, those in which they were idle, and those that this process and its ended
        children took."""
        try:
            ticks = [int(word) for word in self._statistics.read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]]
        except (OSError, ValueError):
            return None
        second = os.sysconf("SC_CLK_TCK")
        return sum(ticks) / second, sum(ticks[3:5]) / second, sum(os.times()[:4])
