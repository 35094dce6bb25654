"""Every page passes axe-core, which looks for what keeps people from using it; light and dark."""

import json
import warnings
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tengen.web.app import STATIC, WebConfig

from ..conftest import IN_CI
from .chromium import Chromium
from .clicks import WIDE, start
from .served import Page, Served
from .test_runs import add_games, add_line

AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
RECORD = "(;GM[1]SZ[5]KM[3.5]PB[A]PW[B]C[words];B[cc];W[cd];B[bd](;W[dc];B[db])(;W[bc];B[cb]))(;SZ[5];B[cc])"


@pytest.fixture(scope="module")
def script() -> str:
    if not AXE.is_file():
        missing = "NOT TESTED: axe-core is not installed: make page"
        if IN_CI:
            pytest.fail(missing)
        warnings.warn(missing, stacklevel=1)
        pytest.skip(missing)
    return AXE.read_text("utf-8")


def violations(chromium: Chromium, script: str) -> list[str]:
    """What axe-core finds in the page as it is, light and dark."""
    found = list[str]()
    for theme in ("light", "dark"):
        still = {"name": "prefers-reduced-motion", "value": "reduce"}  # colours that fade are neither old nor new
        chromium.send("Emulation.setEmulatedMedia", features=[still])
        chromium.run(f"document.documentElement.dataset.theme = {theme!r}; 0")
        chromium.run(f"window.axe || (0, eval)({json.dumps(script)}); 0")
        answer = chromium.run(
            "axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations.flatMap((one) =>"
            " one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 200)} ${node.any[0]?.message ?? ''}`)))"
        )
        found += [f"{theme} {one}" for one in answer]
    return found


def opened(chromium: Chromium, address: str, ready: str) -> None:
    chromium.open(address, *WIDE)
    chromium.wait(f"location.href === {json.dumps(address)} && {ready}")


def test_no_page_has_a_violation(chromium: Chromium, tmp_path: Path, script: str) -> None:
    run = tmp_path / "runs" / "five"
    run.mkdir(parents=True)
    (run / "config.toml").write_text('game = "go"\nsize = 5\nkomi = 3.5\nreuse = 4.0\n')
    for step in range(3):
        add_line(run, step)
    cup = tmp_path / "runs" / "cup"
    cup.mkdir()
    agents = [{"name": name, "spec": "random", "elo": 10.0, "elo_error": 5.0} for name in ("a", "b")]
    pair = {"a": "a", "b": "b", "score": 0.75, "wins": 3, "losses": 1, "draws": 0, "folder": "matches/a-vs-b"}
    (cup / "tournament.json").write_text(json.dumps({"agents": agents, "pairs": [pair], "games": 4}))
    add_games(cup / "matches" / "a-vs-b")
    served = Served(WebConfig(tmp_path / "games", runs=tmp_path / "runs"))
    page = Page(served)
    found = dict[str, list[str]]()

    start(chromium, served, game="go", given={"size": 5}, level="spec", spec="uct:playouts=50", side="1")
    chromium.click("button", "Score")
    chromium.wait("document.querySelector('.estimate') !== null")
    chromium.click("button", "Pass")
    chromium.wait("document.querySelector('.confirm') !== null")
    found["game"] = violations(chromium, script)
    study = page.ask("study.load", record=RECORD)["id"]
    opened(chromium, f"{served.address}/?1#/play", "document.querySelectorAll('form option').length > 5")
    found["play"] = violations(chromium, script)
    opened(chromium, f"{served.address}/?2#/analyse", "document.querySelector('.games a') !== null")
    found["analyse"] = violations(chromium, script)
    opened(chromium, f"{served.address}/?3#/analyse/{study}", "document.querySelectorAll('.tree .node').length > 5")
    chromium.press("a")
    chromium.wait("document.querySelector('.candidates') !== null")
    found["study"] = violations(chromium, script)
    chromium.press("a")
    opened(chromium, f"{served.address}/?4#/analyse/nothing-here1234", "document.querySelector('.problem') !== null")
    found["gone"] = violations(chromium, script)
    opened(chromium, f"{served.address}/?5#/explain", "document.querySelector('.games a') !== null")
    found["explain"] = violations(chromium, script)
    opened(chromium, f"{served.address}/?6#/match", "document.querySelectorAll('form option').length > 5")
    found["match"] = violations(chromium, script)
    players = ["spec:random", "spec:random:seed=2"]
    match = page.ask("match.new", game="tictactoe", options={}, players=players, games=2)["id"]
    opened(chromium, f"{served.address}/?7#/match/{match}", "document.querySelectorAll('.games-table tr').length > 2")
    found["a match"] = violations(chromium, script)
    opened(chromium, f"{served.address}/?8#/learn", "document.querySelectorAll('.runs a').length === 2")
    found["learn"] = violations(chromium, script)
    opened(chromium, f"{served.address}/?9#/learn/five", "document.querySelector('.chart') !== null")
    found["a run"] = violations(chromium, script)
    opened(chromium, f"{served.address}/?10#/learn/cup", "document.querySelector('.cross button') !== null")
    chromium.click(".cross button", "75")
    chromium.wait("document.querySelector('.games-table') !== null")
    found["a tournament"] = violations(chromium, script)
    new = page.ask("study.new", game="tictactoe")["id"]
    opened(chromium, f"{served.address}/?11#/explain/{new}", "document.querySelector('.numbers tbody tr') !== null")
    found["a search"] = violations(chromium, script)
    page.close()
    served.close()
    wrong = "\n".join(f"{name}: {one}" for name, each in found.items() for one in each)
    assert not wrong, wrong


def test_the_page_is_sent_compressed_and_kept(served: Served) -> None:
    asset = next((STATIC / "assets").glob("*.js")).name
    request = Request(f"{served.address}/assets/{asset}", headers={"accept-encoding": "gzip"})
    with urlopen(request) as answer:
        assert answer.headers["content-encoding"] == "gzip"
        assert "immutable" in answer.headers["cache-control"]
        assert len(answer.read()) < 50_000
