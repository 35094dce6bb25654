"""A page that uses everything once; prints what the event loop compiled, loaded or imported for it.

python -m tests.web.visit FOLDER, in a process of its own: in that of other tests all kernels may be there already.
"""

import importlib.abc
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core.dispatcher import Dispatcher

from tengen.web.app import WebConfig

from .served import Page, Served

_SMALL = {"size": 5, "komi": 3.5}


class Watch(importlib.abc.MetaPathFinder):
    """Notes what a thread loads."""

    def __init__(self, thread: threading.Thread) -> None:
        self.thread, self.found = thread, set[str]()
        compile = Dispatcher.compile

        def compile_and_note(kernel: Any, signature: Any) -> Any:
            self._note(f"kernel {kernel.py_func.__module__}.{kernel.py_func.__name__}")
            return compile(kernel, signature)

        Dispatcher.compile = compile_and_note
        sys.meta_path.insert(0, self)

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        """A module is looked for."""
        if fullname.startswith(("tengen.", "numba.", "openvino")):
            self._note(f"module {fullname}")

    def _note(self, what: str) -> None:
        if threading.current_thread() is self.thread:
            self.found.add(what)


def play(page: Page, game: str, options: dict[str, Any], moves: Sequence[str], opponent: str = "human") -> str:
    """A game, and the moves of a person in it."""
    page.ask("play.opponents", game=game, options=options)
    name: str = page.ask("play.new", game=game, options=options, players=["human", opponent])["id"]
    page.ask("play.open", id=name)
    page.wait("game", lambda view: view["id"] == name)
    for one in moves:
        page.wait("game", lambda view: not view["thinking"])
        number = page.news["game"]["number"]
        page.ask("play.move", id=name, move=one, number=number)
        page.wait("game", lambda view: view["number"] > number)  # noqa: B023
    return name


def study(page: Page, name: str, spec: str, move: str) -> None:
    """Walk through a study, analyse it and step through its search."""
    page.ask("study.open", id=name)
    page.wait("study", lambda view: view["id"] == name)
    page.ask("study.play", id=name, node=0, move=move)
    page.ask("study.go", id=name, node=0)
    page.ask("study.analyse", id=name, spec=spec)
    page.wait("analysis", lambda view: view["visits"] > 0)
    page.ask("study.analyse", id=name, spec="")
    with suppress(ValueError):  # not every agent goes step by step
        page.ask("explain.start", id=name, spec=spec)
        page.ask("explain.step", count=20)
        page.ask("explain.node", node=1)
    page.ask("study.export", id=name)


def visit(page: Page) -> None:
    """Everything."""
    name = play(page, "go", _SMALL, ["C3", "D3", "C2", "D2", "pass", "pass"])
    page.wait("game", lambda view: view["count"] is not None)
    page.ask("play.dead", id=name, point="D3")
    page.ask("play.save", id=name)
    page.ask("play.undo", id=name)
    page.ask("play.estimate", id=name)
    page.ask("play.resign", id=name)
    page.ask("study.game", game=name)
    play(page, "go", {"size": 9, "rules": "japanese", "handicap": 2}, ["E5", "pass", "pass"])
    play(page, "go", {"size": 9, "rules": "simple-go"}, ["E5", "E4"])
    play(page, "go", {"size": 9}, ["E5"], "beginner")
    play(page, "tictactoe", {}, ["b2"])
    name = play(page, "microchess", {}, [], "spec:random")
    moves = page.news["game"]["moves"]
    page.ask("play.hint", id=name)
    page.ask("play.resign", id=name)
    study(page, page.ask("study.new", game="microchess", options={})["id"], "mcts:playouts=50", moves[0])
    study(page, page.ask("study.new", game="go", options=_SMALL)["id"], "zero:go5", "C3")
    record = "(;SZ[5]AB[aa][bb];B[cc](;W[dd];B[])(;W[ee]C[x]))"
    study(page, page.ask("study.load", record=record)["id"], "uct", "D3")
    players = ["spec:random", "spec:random:seed=1"]
    name = page.ask("match.new", game="go", options=_SMALL, players=players, games=2)["id"]
    page.ask("match.open", id=name)
    page.wait("match", lambda view: len(view["results"]) == 2)
    page.ask("match.replay", id=name, number=1)


def main() -> None:
    """Visit a server of our own."""
    server = Served(WebConfig(Path(sys.argv[1])))
    page = Page(server)
    page.ask("play.list")  # once this is answered, the server is warm
    watch = Watch(server._thread)
    visit(page)
    page.close()
    server.close()
    print("\n".join(sorted(watch.found)))


if __name__ == "__main__":
    main()
