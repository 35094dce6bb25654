"""The Learn page in a real Chromium, with a run that is being trained at that moment."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tengen.runs.folder import METRICS_FILE, read_metrics
from tengen.web.app import WebConfig

from ..program import COMMAND
from .chromium import Chromium, wait_until
from .clicks import WIDE
from .served import Served

NETWORK = "residual:blocks=1,filters=4,first_kernel=3,head_filters=4,value_hidden=4,value=yes"
TINY = (
    f"--preset go5 --network {NETWORK} --simulations 4 --slots 8 --positions 100 --batch 32 --duel-games 4 --hours 0 "
    "--iterations 1000000 --workers 1 --threads 1 --backend openvino"
)


@pytest.fixture
def training(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """`tengen learn zero` on 5x5, as small as it can be, in the folder `runs/tiny`. It goes on until it is stopped."""
    command = [sys.executable, "-c", COMMAND, "learn", "zero", *TINY.split(), "--out", "runs/tiny"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    yield process
    process.kill()
    process.wait()


def has_begun(run: Path) -> bool:
    """Whether the first round is over, for which kernels may have to compile."""
    return (run / METRICS_FILE).exists() and len(read_metrics(run)) > 0


CURVE = "document.querySelector('.charts .stroke').getAttribute('d').split('L').length"


def test_a_run_that_is_being_trained(chromium: Chromium, training: "subprocess.Popen[bytes]", tmp_path: Path) -> None:
    run = tmp_path / "runs" / "tiny"
    wait_until(lambda: training.poll() is not None or has_begun(run), "the training did not begin")
    served = Served(WebConfig(tmp_path / "games", runs=tmp_path / "runs"))
    chromium.open(f"{served.address}/?learn#/learn", *WIDE)
    chromium.wait("location.search === '?learn' && document.querySelector('.runs') !== null")
    chromium.click(".runs a", "tiny")
    points = chromium.wait(CURVE)
    chromium.wait("document.querySelector('.runs a .live') !== null")
    chromium.wait(f"{CURVE} > {points}", "the curve did not grow")
    assert training.poll() is None
    training.send_signal(signal.SIGINT)
    assert training.wait() == 130
    lines = len(read_metrics(run))
    chromium.wait(f"document.querySelector('.run').textContent.includes('{lines} lines')")
    served.close()
