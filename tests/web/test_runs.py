"""Runs and tournaments of a folder: listed, shown, followed while they go on, and never written to."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tengen.arena.generation_table import TableSettings, play_table
from tengen.arena.results import GameResult
from tengen.learn.replay import ChunkFacts, ChunkFolder, Packed, PlayedGames
from tengen.nets.model_file import ModelCard, find_model, save_model
from tengen.nets.network import build_network
from tengen.search.generations import model_file
from tengen.web.app import WebConfig
from tengen.web.runs import describe_run, pair_game

from ..faults.commands import COMMANDS
from ..faults.inputs import Inputs
from .served import Page, Served


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of 5x5 and a tournament."""
    folder = tmp_path_factory.mktemp("runs")
    run = folder / "zero" / "five"
    (run / "models").mkdir(parents=True)
    (run / "config.toml").write_text('game = "go"\nsize = 5\nkomi = 3.5\nreuse = 4.0\n')
    for line in range(3):
        add_line(run, line)
    for generation in (1, 2):
        shutil.copy(find_model("go5"), run / "models" / f"g000{generation}.safetensors")
    games = PlayedGames(np.array([12, 11, 25], np.int16), np.array([0, 3]), np.array([1], np.int8), np.array([True]))
    nothing = {name: np.zeros(0, np.int8) for name in Packed._fields}
    ChunkFolder(run / "chunks").write(Packed(**nothing), games, ChunkFacts(0, 0, 1, 2, 1, 10, 1.0))  # type: ignore[arg-type]
    tournament = folder / "cup"
    tournament.mkdir()
    agents = [{"name": name, "spec": "random", "elo": 10.0, "elo_error": 5.0} for name in ("a", "b")]
    pair = {"a": "a", "b": "b", "score": 0.75, "wins": 3, "losses": 1, "draws": 0, "folder": "matches/a-vs-b"}
    (tournament / "tournament.json").write_text(json.dumps({"agents": agents, "pairs": [pair], "games": 4}))
    add_games(tournament / "matches" / "a-vs-b")
    add_generations(folder / "simple-go")
    return folder


def add_games(match: Path) -> None:
    """Two games of a match, and a third that was being written."""
    (match / "games").mkdir(parents=True)
    for number, first in ((1, "a"), (2, "b")):
        result = GameResult(number, first, "a", "B+R", "resignation", "", 3, (2, 1), (0.1, 0.1))  # type: ignore[arg-type]
        with (match / "results.jsonl").open("a") as file:
            file.write(result.to_json() + "\n" + ('{"game": 3, "fir' if number == 2 else ""))
        (match / "games" / f"{number:04d}.sgf").write_text("(;SZ[5]KM[3.5];B[cc];W[bc];B[dd])")


def add_generations(run: Path) -> None:
    """A generation of value networks that have learned nothing, and its cross table."""
    for side, after in (("black", "first"), ("white", "second")):
        network = build_network("simple-go", 3, 3, seed=1, filters=(4,), hidden=8, after=after)
        card = ModelCard.of(network, encoder="stones", rules="simple-go", komi=0.5, recipe={"rules": "simple-go"})
        save_model(model_file(run, side, 1), network, card)
    (run / "config.toml").write_text('game = "go"\nsize = 3\nrules = "simple-go"\nkomi = 0.5\n')
    (run / "metrics.jsonl").write_text('{"step": 1, "loss": 0.5}\n')
    play_table(run, run / "crosstable", TableSettings(games=10, random_moves=2))


def add_line(run: Path, step: int) -> None:
    line = {"step": step, "generation": step, "loss_policy": 3.0 - step, "elo": 10.0 * step, "duels": [[0, 5, 1, 2]]}
    with (run / "metrics.jsonl").open("a") as file:
        file.write(json.dumps(line | {"nan": float("nan"), "gate_promoted": True}) + "\n")


@pytest.fixture(scope="module")
def page(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    served = Served(WebConfig(tmp_path_factory.mktemp("games"), runs=runs))
    page = Page(served)
    yield page
    page.close()
    served.close()


def test_runs_are_listed_and_shown(page: Page, runs: Path) -> None:
    assert {one["name"] for one in page.ask("runs.list")["runs"]} == {"zero/five", "cup", "simple-go"}
    page.ask("runs.open", name="zero/five")
    run = page.wait("run", lambda run: run["name"] == "zero/five")
    assert run["series"]["loss_policy"] == [[0, 3.0], [1, 2.0], [2, 1.0]]
    assert "nan" not in run["series"]
    assert run["duels"][0] == {"generation": 2, "duels": [[0, 5, 1, 2]], "elo": 20.0, "gate_promoted": True}
    assert run["models"] == ["g0001", "g0002"] and run["settings"]["size"] == 5
    page.ask("runs.open", name="cup")
    assert page.wait("run", lambda run: run["name"] == "cup")["tournament"]["pairs"] == [["a", "b", 0.75, "3-1-0"]]


def test_a_run_under_way_is_followed(page: Page, runs: Path) -> None:
    page.ask("runs.open", name="zero/five")
    before = page.wait("run", lambda run: run["name"] == "zero/five")["lines"]
    add_line(runs / "zero" / "five", before)
    assert page.wait("run", lambda run: run["lines"] == before + 1)["series"]["elo"][-1] == [before, 10.0 * before]


def test_a_game_of_self_play_is_replayed(page: Page) -> None:
    page.ask("runs.open", name="zero/five")
    assert page.wait("run", lambda run: run["games"])["games"] == [{"generation": 2, "winner": 1, "length": 3}]
    study = page.ask("runs.replay", name="zero/five", index=0)["id"]
    page.ask("study.open", id=study)
    assert page.wait("study", lambda tree: tree["id"] == study)["moves"] == ["", "C3", "B3", "pass"]
    with pytest.raises(ValueError, match="has gone"):
        page.ask("runs.replay", name="zero/five", index=5)


def test_two_generations_play_each_other(page: Page) -> None:
    name = page.ask("runs.duel", name="zero/five", first="g0001", second="g0002")["id"]
    page.ask("play.open", id=name)
    view = page.wait("game", lambda view: view["id"] == name and view["number"] >= 2)
    assert view["sides"] == ["g0001", "g0002"] and view["komi"] == 3.5
    page.ask("play.leave")


def test_generations_of_value_networks_play_each_other(page: Page) -> None:
    page.ask("runs.open", name="simple-go")
    run = page.wait("run", lambda run: run["name"] == "simple-go")
    assert run["models"] == ["g0", "g1"]
    [table] = run["tables"]
    assert [pair[:2] for pair in table["pairs"]] == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert all(sum(pair[2:]) == 10 for pair in table["pairs"])
    assert table["players"] == ["Black", "White"] and table["about"] == {"komi": 0.5, "games": 10, "random_moves": 2}
    name = page.ask("runs.duel", name="simple-go", first="g1", second="g0", komi=1.5)["id"]
    page.ask("play.open", id=name)
    view = page.wait("game", lambda view: view["id"] == name and view["number"] >= 2)
    assert view["specs"][1] == "random" and view["specs"][0].endswith("generation=1")
    assert (view["komi"], view["rules"], view["rows"]) == (1.5, "simple-go", 3)
    page.ask("play.leave")


def test_the_games_of_a_pair_of_a_tournament_are_replayed(page: Page) -> None:
    games = page.ask("runs.pair", name="cup", first="b", second="a")
    assert [(game["number"], game["first"], game["winner"]) for game in games] == [(2, "b", "a"), (1, "a", "a")]
    study = page.ask("runs.game", name="cup", first="b", second="a", number=2)["id"]
    page.ask("study.open", id=study)
    assert page.wait("study", lambda tree: tree["id"] == study)["moves"] == ["", "C3", "B3", "D2"]
    with pytest.raises(ValueError, match="no record of game 9"):
        page.ask("runs.game", name="cup", first="a", second="b", number=9)
    with pytest.raises(ValueError, match="no games of these two"):
        page.ask("runs.pair", name="cup", first="a", second="../../zero")


def test_a_table_cannot_lead_out_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "secret" / "games").mkdir(parents=True)
    (tmp_path / "secret" / "games" / "0001.sgf").write_text("(;SZ[5];B[cc])")
    (tmp_path / "cup").mkdir()
    table = {"agents": [], "pairs": [{"a": "a", "b": "b", "folder": "../secret"}]}
    (tmp_path / "cup" / "tournament.json").write_text(json.dumps(table))
    with pytest.raises(ValueError, match="no games of these two"):
        pair_game(tmp_path / "cup", "a", "b", 1)


@pytest.mark.parametrize("name", ["..", "../..", "/etc", "zero", "zero/five/..", "zero/five/models", ""])
def test_nothing_outside_the_folder_is_shown(page: Page, name: str) -> None:
    with pytest.raises(ValueError, match="no run is called"):
        page.ask("runs.open", name=name)
    with pytest.raises(ValueError, match="no run is called"):
        page.ask("runs.replay", name=name, index=0)


def test_only_models_of_the_run_play(page: Page) -> None:
    with pytest.raises(ValueError, match="no such generation"):
        page.ask("runs.duel", name="zero/five", first="g0001", second="../../../secret")


def test_nothing_is_written(page: Page, runs: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in runs.rglob("*")}
    for name in ("zero/five", "cup", "simple-go"):
        page.ask("runs.open", name=name)
    page.ask("runs.pair", name="cup", first="a", second="b")
    page.ask("runs.leave")
    assert {path: path.stat().st_mtime_ns for path in runs.rglob("*")} == before


KINDS = ("supervised", "zero", "generations", "reinforce", "value", "alphago", "tournament")


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_run_is_shown_as_its_command_wrote_it(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "runs" / kind
    folder.mkdir(parents=True)
    inputs = Inputs(tmp_path / "inputs")
    steps = [COMMANDS[kind].arguments(inputs)]
    if kind == "generations":
        steps.append(["tournament", "generations", ".", "--games", "4", "--workers", "1"])
    for arguments in steps:
        subprocess.run([sys.executable, "-m", "tengen", *arguments], cwd=folder, check=True, capture_output=True)
    served = Served(WebConfig(tmp_path / "games", runs=tmp_path / "runs"))
    page = Page(served)
    names = [one["name"] for one in page.ask("runs.list")["runs"]]
    assert any(name.startswith(kind) for name in names)
    for name in names:
        page.ask("runs.open", name=name)
        run = page.wait("run", lambda run: run["name"] == name)  # noqa: B023
        assert run["series"] or run["tournament"] or run["tables"] or not run["lines"]
    if kind == "generations":
        assert run["tables"][0]["players"] == ["Black", "White"]
    page.close()
    served.close()


HOSTILE = {"constructor": None, "type": "img", "props": {"src": "x", "onerror": "alert(1)"}, "__k": None}
"""What a page's framework may take for a part of the page."""


def has_only_plain_fields(view: dict[str, Any]) -> bool:
    text = json.dumps(view, allow_nan=False)
    return '"props"' not in text and "NaN" not in text


@pytest.mark.parametrize("value", [HOSTILE, [HOSTILE], float("nan"), float("inf"), 10**400, "x" * 10**6, None, True])
def test_a_run_folder_gives_the_page_plain_texts_and_finite_numbers(tmp_path: Path, value: object) -> None:
    run, names = tmp_path / "run", ("name", "spec", "elo", "elo_error", "score", "wins", "losses", "draws")
    run.mkdir()
    agent, pair = dict.fromkeys(names, value), {"a": value, "b": value, "score": value, "folder": value}
    pair |= {"wins": value, "losses": value, "draws": value}
    (run / "tournament.json").write_text(json.dumps({"agents": [agent], "pairs": [pair], "games": value}))
    lines = [{"step": value, "loss": 1.0, "generation": value, "duels": [[1, value, 0, 0], value], "elo": value}] * 3
    (run / "metrics.jsonl").write_text("".join(json.dumps({**line, "gate_promoted": value}) + "\n" for line in lines))
    (run / "config.toml").write_text(
        'game = "go"\nwhen = 2026-11-18T12:00:00Z\nday = 2026-11-18\nrate = nan\nlist = [1]\n'
    )
    view = describe_run("run", run)
    assert has_only_plain_fields(view) and len(json.dumps(view)) < 100_000
    assert view["settings"]["day"] == "2026-11-18" and view["settings"]["rate"] == "nan"
    for one in view["tournament"]["agents"]:
        assert isinstance(one["name"], str) and (one["elo"] is None or isinstance(one["elo"], int | float))
    server = Served(WebConfig(tmp_path / "games", runs=tmp_path))
    page = Page(server)
    page.ask("runs.open", name="run")
    assert page.wait("run", lambda shown: shown["name"] == "run")["settings"]["game"] == "go"
    assert page.ask("runs.list")["runs"]
    page.close()
    server.close()
