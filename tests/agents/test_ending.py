"""An engine that hangs ends with the command that started it, by Ctrl-C and by SIGTERM."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ..program import COMMAND

HANGS = """import os, sys, time
for line in sys.stdin:
    words = line.split()
    if words[:1] == ["genmove"]:
        open(sys.argv[1], "w").write(str(os.getpid()))
        os.kill(os.getpid(), 19)  # SIGSTOP: it will never answer, nor read that it should leave
    print("=", "name" if words[:1] == ["name"] else "", end="\\n\\n", flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs pidfd_open")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("cluster", [(), ("--cluster", "local")], ids=["threads", "processes"])
def test_an_engine_that_hangs_ends_with_the_match(tmp_path: Path, number: int, cluster: tuple[str, ...]) -> None:
    script, sign = tmp_path / "engine.py", tmp_path / "sign"
    script.write_text(HANGS)
    os.mkfifo(sign)
    reader = os.open(sign, os.O_RDONLY | os.O_NONBLOCK)
    spec = f"gtp:{sys.executable} {script} {sign}"
    command = [sys.executable, "-c", COMMAND, "match", spec, "random", "--games", "1", "--size", "5", *cluster]
    with subprocess.Popen([*command, "--out", str(tmp_path / "match")], stderr=subprocess.PIPE) as match:
        asked, _, _ = select.select([reader], [], [], 300)  # until it is asked for a move
        if not asked:
            match.kill()
            pytest.fail(f"the engine was never asked for a move: {match.communicate()[1]!r}")
        engine = os.pidfd_open(int(os.read(reader, 20)))
        os.close(reader)
        match.send_signal(number)
        match.communicate(timeout=30)  # half of what an engine is given for an answer
    assert match.returncode == (143 if number == signal.SIGTERM else 130) or cluster  # Ray aborts on SIGTERM
    gone, _, _ = select.select([engine], [], [], 60)  # a worker of a cluster may end after the command
    os.close(engine)
    assert gone
