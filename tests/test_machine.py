"""`tengen._machine`: the processor, and how much of the machine others take."""

import os
from pathlib import Path

import pytest

from tengen._machine import MachineUse, processor_name


def test_the_processor_has_its_name_and_its_widest_vectors(tmp_path: Path) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text("processor\t: 0\nmodel name\t: AMD EPYC 9000\nflags\t\t: fpu avx avx2 avx512f avx512bw\n")
    assert processor_name(info) == "AMD EPYC 9000, AVX-512"
    info.write_text("processor\t: 0\nmodel name\t: Core\nflags\t\t: fpu avx avx2\n")
    assert processor_name(info) == "Core, AVX2"
    assert processor_name(tmp_path / "nothing")


@pytest.mark.skipif(not hasattr(os, "sysconf"), reason="needs the length of a tick")
def test_the_share_of_other_programs_is_what_is_neither_idle_nor_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second, statistics, own = os.sysconf("SC_CLK_TCK"), tmp_path / "stat", [0.0]

    def write(busy: int, idle: int) -> None:
        statistics.write_text(f"cpu  {busy * second} 0 0 {idle * second} 0 0 0 0 0 0\ncpu0 1 2 3\n")

    monkeypatch.setattr(os, "times", lambda: (own[0], 0.0, 0.0, 0.0, 0.0))
    write(busy=10, idle=10)
    use = MachineUse(statistics)
    write(busy=16, idle=14)
    own[0] = 2.0
    assert use.others() == pytest.approx(0.4)  # of 10 seconds 4 were idle and 2 ours
    statistics.unlink()
    assert use.others() is None
    assert MachineUse(tmp_path / "nothing").others() is None
