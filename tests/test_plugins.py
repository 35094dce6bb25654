"""Plugins: games, encoders, networks, rules and optimisers of a user's own, by one decorator in a file."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import tengen
from tengen import _plugins
from tengen._plugins import PluginError, load_plugins
from tengen.agents.registry import load_agent
from tengen.encode import encoder_names, get_encoder
from tengen.games import game
from tengen.learn.optimizers import build_optimizer
from tengen.learn.zero_settings import SelfPlaySettings
from tengen.web.app import catalogue

OTHELLO = Path(__file__).parent.parent / "examples" / "othello.py"


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What a test registers is unknown to the next one; Othello stays loaded, as its kernels take long to compile."""
    known = {kind: dict(things) for kind, things in _plugins._known.items()}
    files, games, encoders = list(_plugins._files), dict(game._LOADED), dict(_plugins._known["encoder"])
    yield
    for kind, things in known.items():
        _plugins._known[kind].clear()
        _plugins._known[kind].update(things)
    _plugins._files[:] = files
    game._LOADED.clear()
    game._LOADED.update(games)
    assert encoders.keys() >= _plugins._known["encoder"].keys()


def run(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", "from tengen.cli.main import main; main()", *words]
    return subprocess.run(program, cwd=folder, capture_output=True, text=True)


def test_othello_is_a_game_an_encoder_and_a_network(tmp_path: Path) -> None:
    assert len(OTHELLO.read_text().splitlines()) < 200
    load_plugins([OTHELLO])
    load_plugins([OTHELLO])  # a second time changes nothing
    assert "othello" in tengen.game_names() and encoder_names("othello") == ("othello", "othello-edges")
    assert "Othello" in [each["title"] for each in catalogue()["games"]], "the page offers it"
    tengen.testing.check_game("othello")
    tengen.testing.check_encoder("othello-edges")
    tengen.testing.check_network("tiny", "othello", "othello-edges")
    state = tengen.get_game("othello").start(size=8)
    counts = [1]
    states = [state]
    for _ in range(4):  # the number of games of so many moves is known: 4, 12, 56, 244
        states = [after.play(move) for after in states for move in after.legal_moves()]
        counts.append(len(states))
    assert counts == [1, 4, 12, 56, 244]


def test_a_model_of_a_plugin_learns_plays_and_names_it(tmp_path: Path) -> None:
    out = tmp_path / "run"
    given = ["--plugin", str(OTHELLO), "--game", "othello", "--size", "4", "--encoder", "othello-edges"]
    settings = ["--iterations", "1", "--positions", "300", "--simulations", "4", "--slots", "16", "--duel-every", "0"]
    learned = run(
        "learn",
        "zero",
        *given,
        "--network",
        "tiny:filters=8",
        *settings,
        "--workers",
        "2",
        "--out",
        str(out),
        folder=tmp_path,
    )
    assert learned.returncode == 0, learned.stderr
    model = str(out / "best.safetensors")
    refused = run("match", f"zero:{model},sims=2", "random", "-n", "2", folder=tmp_path)
    assert refused.returncode == 2
    assert "it needs the plugin othello.py: add --plugin othello.py" in refused.stderr
    played = run(
        f"--plugin={OTHELLO}", "match", f"zero:{model},sims=2", "random", "-n", "2", "--workers", "1", folder=tmp_path
    )
    assert played.returncode == 0, played.stderr
    assert "Othello" in played.stdout


def test_plugins_are_refused_on_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import tengen\n")
    refused = run("match", "random", "random", "--plugin", "mine.py", "--cluster", "local", folder=tmp_path)
    assert refused.returncode == 2 and "plugins are not sent to other machines" in refused.stderr


def test_a_rule_and_an_optimizer_of_ones_own() -> None:
    @tengen.register("rule", "bolder")
    class Bolder(tengen.Puct):
        def __init__(self) -> None:
            super().__init__(noise=0.5)

    @tengen.register("optimizer", "plain")
    def plain(parameters: list[nn.Parameter], rate: float, momentum: float, decay: float) -> torch.optim.Optimizer:
        return torch.optim.SGD(parameters, rate)

    agent = load_agent("zero:go5,sims=4,rule=bolder", seed=1)
    state = tengen.go.State.new(size=5, komi=3.5)
    assert agent.choose(state).move in state.legal_moves()
    agent.close()
    assert isinstance(SelfPlaySettings(search="bolder").rule(), Bolder)
    weight = nn.Parameter(torch.ones(2))
    made = build_optimizer("plain", [weight], 0.5, 0.9, 0.0)
    assert made.param_groups[0]["lr"] == 0.5
    with pytest.raises(ValueError, match="no search rule is called 'timid'"):
        load_agent("zero:go5,rule=timid")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import tengen\nx = 1 / 0\n", "mine.py, line 2: ZeroDivisionError"),
        ("x = (\n", "mine.py, line 1: SyntaxError"),
        ("import tengen\ntengen.register('planet', 'mars')\n", "line 2: PluginError: a planet cannot be registered"),
        ("import tengen\n@tengen.register('game', 'a b')\nclass G: pass\n", "'a b' cannot be the name of a game"),
        (None, "there is no plugin"),
    ],
)  # fmt: skip
def test_a_bad_plugin_is_one_line_with_its_place(tmp_path: Path, code: str | None, message: str) -> None:
    file = tmp_path / "mine.py"
    if code is not None:
        file.write_text(code)
    with pytest.raises(PluginError, match="mine") as error:
        load_plugins([file])
    assert message in str(error.value) and "\n" not in str(error.value)


def test_what_is_registered_has_to_be_what_it_says() -> None:
    tengen.register("game", "chess")(object)
    with pytest.raises(PluginError, match=r"no tengen\.Game with this name"):
        tengen.get_game("chess")
    tengen.register("encoder", "mine")(lambda name: None)
    with pytest.raises(PluginError, match=r"no tengen\.Encoder"):
        get_encoder("mine")
    tengen.register("network", "mine")(3)
    with pytest.raises(PluginError, match="no dataclass with a method architecture"):
        tengen.testing.check_network("mine")


def test_the_checks_find_what_is_wrong() -> None:
    class Wider(type(get_encoder("simple"))):  # type: ignore[misc]
        def encode_games(self, games: Any, count: int, out: np.ndarray) -> None:
            out[:] = 1

    usual = get_encoder("simple")
    wider = Wider(usual.name, usual.meanings, past=usual.past, kernel=usual.kernel)  # type: ignore[attr-defined]
    tengen.register("encoder", "wider")(Wider("wider", wider.meanings, past=wider.past, kernel=wider.kernel))
    with pytest.raises(AssertionError, match=r"writes to more games"):
        tengen.testing.check_encoder("wider", size=5)
    with pytest.raises(AssertionError, match="forfeits as X: <lambda> returned 99"):
        tengen.testing.check_agent(lambda state: 99, "tictactoe")


def test_known_words_look_for_no_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(kind: str, name: str) -> None:
        raise AssertionError(f"{kind} {name} was looked for")

    monkeypatch.setattr(_plugins, "find", fail)
    assert SelfPlaySettings(search="gumbel").rule() and get_encoder("simple")
    with pytest.raises(AssertionError, match="rule bold"):
        SelfPlaySettings(search="bold")
