"""The event loop compiles no kernel, loads none and imports nothing of ours: meanwhile nobody would be answered."""

import subprocess
import sys
from pathlib import Path

import pytest

from tengen.web import app
from tengen.web.app import WebConfig

from .served import Page, Served


def test_the_event_loop_compiles_and_imports_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.web.visit", str(tmp_path)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_the_server_answers_while_it_warms_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what needs kernels waits until they are there."""
    import threading

    go_on = threading.Event()
    monkeypatch.setattr(app, "_warm_up", go_on.wait)
    server = Served(WebConfig(tmp_path))
    page = Page(server)
    assert page.ask("hello")["games"]
    waiting = Page(server)
    waiting._socket.send('{"n": 1, "do": "study.new", "game": "go", "options": {"size": 5}}')
    assert page.ask("hello")["games"]
    with pytest.raises(TimeoutError):
        waiting._socket.recv(timeout=0)
    go_on.set()
    assert '"ok"' in str(waiting._socket.recv())
    waiting.close()
    page.close()
    server.close()
