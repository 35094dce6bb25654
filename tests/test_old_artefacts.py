"""What earlier versions wrote is read and resumed: `tests/artefacts`, by the commands that made it."""

import json
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file
from typer.testing import CliRunner

import tengen
from tengen.cli.main import app
from tengen.games.game import get_game
from tengen.web.stored_games import StoredGames
from tengen.web.stored_studies import StoredStudies

from .artefacts.make import ARTEFACTS

Unpack = Callable[..., Path]
VERSIONS = sorted(path for path in (Path(__file__).parent / "artefacts").iterdir() if path.name[0].isdigit())
CLOSE = 0.02  # between processors, a learned figure differs by the rounding of floats


@pytest.fixture(params=VERSIONS, ids=lambda path: path.name)
def unpack(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Unpack:
    """Unpacks artefacts of a version into the working folder; returns the path of the last one."""
    monkeypatch.chdir(tmp_path)

    def unpack(*names: str) -> Path:
        for name in names:
            with tarfile.open(request.param / f"{name.removesuffix('.safetensors')}.tar.xz") as tar:
                tar.extractall(filter="data")
        return Path(names[-1])

    return unpack


def call(*words: str) -> str:
    result = CliRunner().invoke(app, list(words), terminal_width=200)
    assert result.exit_code == 0, (words, result.output, result.exception)
    return result.output


def resume(name: str) -> str:
    """Give the command again that made an artefact."""
    words = ARTEFACTS[name].words(name)
    return call(*words)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]


def figures(run: Path, name: str) -> list[float]:
    return [line[name] for line in lines_of(run / "metrics.jsonl") if name in line]


# ------------------------------------------------------------------------------------------------------ learning


@pytest.mark.parametrize("name", ["supervised", "value"])
def test_training_that_was_cut_off_ends_as_if_it_had_not_been(name: str, unpack: Unpack) -> None:
    run, whole = unpack("dataset", "supervised", name, f"{name}-cut"), Path(name)
    before = lines_of(run / "metrics.jsonl")
    measured = "test_loss" if name == "supervised" else "test_value_loss"
    assert 0 < len(before) < len(lines_of(whole / "metrics.jsonl"))
    resume(f"{name}-cut")
    assert lines_of(run / "metrics.jsonl")[: len(before) - 1] == before[:-1]
    assert figures(run, measured) == pytest.approx(figures(whole, measured), rel=CLOSE)
    assert figures(run, "positions") == figures(whole, "positions")


def test_self_play_that_was_cut_off_keeps_its_rounds(unpack: Unpack) -> None:
    run = unpack("zero-cut")
    before = [line for line in lines_of(run / "metrics.jsonl") if "generation" in line]
    models = {path.name: path.read_bytes() for path in (run / "models").iterdir()}
    assert before and len(before) < 4
    resume("zero-cut")
    after = [line for line in lines_of(run / "metrics.jsonl") if "generation" in line]
    assert after[: len(before)] == before
    assert [line["generation"] for line in after] == [1, 2, 3, 4]
    assert all((run / "models" / name).read_bytes() == content for name, content in models.items())


def test_generations_that_were_cut_off_end_as_if_they_had_not_been(unpack: Unpack) -> None:
    run, whole = unpack("generations", "generations-cut"), Path("generations")
    assert len(lines_of(run / "metrics.jsonl")) < len(lines_of(whole / "metrics.jsonl"))
    resume("generations-cut")
    assert sorted(path.name for path in run.glob("models/*")) == sorted(path.name for path in whole.glob("models/*"))
    assert figures(run, "positions") == figures(whole, "positions")
    for path in whole.glob("models/*.safetensors"):
        assert load_file(run / "models" / path.name).keys() == load_file(path).keys()


def test_policy_gradient_that_was_cut_off_keeps_its_updates(unpack: Unpack) -> None:
    run = unpack("supervised", "reinforce-cut")
    before = lines_of(run / "metrics.jsonl")
    resume("reinforce-cut")
    after = lines_of(run / "metrics.jsonl")
    assert after[: len(before) - 1] == before[:-1] and len(after) > len(before)
    assert max(figures(run, "step")) == 6


def test_a_sweep_that_was_cut_off_ends_as_if_it_had_not_been(unpack: Unpack) -> None:
    sweep, whole = unpack("dataset", "sweep", "sweep-cut"), Path("sweep")
    resume("sweep-cut")
    found, expected = (
        {row["name"]: row["loss"] for row in json.loads((folder / "sweep.json").read_text())["runs"]}
        for folder in (sweep, whole)
    )
    assert found == pytest.approx(expected, rel=CLOSE) and len(found) == 2


def test_alphago_that_was_cut_off_keeps_its_stages(unpack: Unpack) -> None:
    run, whole = unpack("alphago", "alphago-cut"), Path("alphago")
    before = json.loads((run / "figures.json").read_text())
    assert before.keys() >= {"records", "policy"} and "value" not in before
    resume("alphago-cut")
    after, expected = (json.loads((folder / "figures.json").read_text()) for folder in (run, whole))
    assert {name: after[name] for name in before} == before
    assert after.keys() == expected.keys()
    assert after["value"]["error of network"] == pytest.approx(expected["value"]["error of network"], rel=0.2)


def test_a_fast_policy_that_was_cut_off_is_learned_to_its_end(unpack: Unpack) -> None:
    unpack("dataset", "fast-cut.safetensors")
    learning = Path("fast-cut.safetensors.learning")
    assert learning.exists()
    assert "top-1" in resume("fast-cut.safetensors")
    assert Path("fast-cut.safetensors").exists() and not learning.exists()


@pytest.mark.parametrize("name", ["supervised", "zero", "reinforce"])
def test_reports_are_written_anew(name: str, unpack: Unpack) -> None:
    run = unpack("dataset", name)
    assert "report.html" in call("learn", "report", name)
    assert f"<title>{name}" in (run / "report.html").read_text() or name in (run / "report.html").read_text()


def test_generations_of_self_play_are_rated(unpack: Unpack) -> None:
    run = unpack("zero")
    shown = call("learn", "ratings", "zero", "--generations", "2", "--games", "4", "--workers", "1")
    assert "g0" in shown and "g4" in shown
    assert (run / "ratings.json").exists()


# ----------------------------------------------------------------------------------------------- games and matches


@pytest.mark.parametrize(("name", "results"), [("match-cut", 12), ("tournament-cut", 36)])
def test_a_match_that_was_cut_off_is_played_to_its_end(name: str, results: int, unpack: Unpack) -> None:
    folder = unpack(name)
    before = {path: path.read_bytes() for path in folder.rglob("results.jsonl")}
    played = sum(len(lines_of(path)) for path in before)
    assert 0 < played < results
    resume(name)
    after = {path: lines_of(path) for path in folder.rglob("results.jsonl")}
    assert sum(map(len, after.values())) == results
    for path, content in before.items():
        whole = content[: content.rfind(b"\n") + 1]
        assert path.read_bytes().startswith(whole)
    for path, games in after.items():
        assert sorted(game["game"] for game in games) == list(range(1, len(games) + 1))
        assert len(list((path.parent / "games").glob("*.sgf"))) == len(games)


def test_a_tournament_that_is_finished_plays_nothing_again(unpack: Unpack) -> None:
    folder = unpack("tournament")
    before = {path: path.read_bytes() for path in folder.rglob("results.jsonl")}
    standings = json.loads((folder / "tournament.json").read_text())["agents"]
    resume("tournament")
    assert {path: path.read_bytes() for path in folder.rglob("results.jsonl")} == before
    assert json.loads((folder / "tournament.json").read_text())["agents"] == standings
    assert len(standings) == 3


def test_a_cross_table_plays_only_new_generations(unpack: Unpack) -> None:
    folder = unpack("generations", "crosstable")
    (table,) = folder.glob("*.json")
    before = json.loads(table.read_text())
    resume("crosstable")
    assert json.loads(table.read_text()) == before


def test_a_dataset_is_whole_and_up_to_date(unpack: Unpack) -> None:
    folder = unpack("match", "dataset")
    content = (folder / "games.arrow").read_bytes()
    stats = json.loads(call("data", "stats", "dataset", "--json"))
    assert stats["games"]["all"] == 60
    shutil.rmtree("dataset.safetensors", ignore_errors=True)
    resume("dataset")
    assert (folder / "games.arrow").read_bytes() == content  # the same games make the same file
    damaged = bytearray(content)
    damaged[len(damaged) // 2] ^= 1
    (folder / "games.arrow").write_bytes(damaged)
    result = CliRunner().invoke(app, ["data", "stats", "dataset"])
    assert result.exit_code != 0


# ------------------------------------------------------------------------------------------------- exact knowledge


def test_a_certificate_is_checked(unpack: Unpack) -> None:
    unpack("proof")
    assert "Proven" in call("solve", "check", "proof/proof.safetensors")


def test_a_search_for_a_proof_that_was_cut_off_is_resumed(unpack: Unpack) -> None:
    folder = unpack("proof-cut")
    assert not (folder / "proof.safetensors").exists()
    assert "searches of an earlier run" in resume("proof-cut")
    assert "Proven" in call("solve", "check", "proof-cut/proof.safetensors")


def test_endgame_tables_are_right_and_finished(unpack: Unpack) -> None:
    unpack("tables", "tables-cut")
    assert "values follow from those one move on" in call("tables", "check", "--folder", "tables", "--workers", "1")
    assert "tables were there already" in resume("tables-cut")
    for path in Path("tables").glob("*.mct"):
        assert (Path("tables-cut") / path.name).read_bytes() == path.read_bytes()


# ---------------------------------------------------------------------------------------------------- models, page


@pytest.mark.parametrize(
    ("needed", "spec", "game", "options"),
    [
        ("supervised", "policy:supervised/best.safetensors,temperature=0", "go", {"size": 5, "komi": 3.5}),
        ("supervised", "zero:supervised/best.safetensors,sims=8", "go", {"size": 5, "komi": 3.5}),
        ("reinforce", "policy:reinforce/best.safetensors,temperature=0", "go", {"size": 5, "komi": 3.5}),
        ("zero", "zero:zero/best.safetensors,sims=8", "tictactoe", {}),
        ("generations", "value:generations", "go", {"size": 4, "komi": 1.5, "rules": "simple-go"}),
        ("fast.safetensors", "fast-policy:fast.safetensors", "go", {"size": 5}),
        ("alphago", "alphago:alphago/alphago.safetensors,sims=8", "go", {"size": 3, "komi": 0.5}),
    ],
)
def test_a_model_plays(needed: str, spec: str, game: str, options: dict[str, Any], unpack: Unpack) -> None:
    unpack(needed)
    agent = tengen.load_agent(spec, seed=1)
    kind = get_game(game)
    state = kind.start(**options)
    for _ in range(3):
        move = agent.choose(state).move
        assert state.why_illegal(move) is None
        state = state.play(move)
    agent.close()


def test_the_card_of_a_model_is_shown(unpack: Unpack) -> None:
    unpack("supervised")
    card = json.loads(call("models", "show", "supervised/best.safetensors", "--json"))
    assert (card["game"], card["size"], card["encoder"]) == ("go", 5, "compact")
    assert card["training"]["positions"] == 960
    assert "residual" in call("models", "show", "supervised/best.safetensors")


def test_a_game_and_a_study_of_the_page_are_there(unpack: Unpack) -> None:
    folder = unpack("web")
    (listed,) = StoredGames(folder).newest(10)
    played = StoredGames(folder).load(listed["id"])
    assert [played.state.move_name(move) for _, move in played.state.moves] == ["C3", "D3", "C2", "D2"]
    assert played.players == ("human", "human")
    (kept,) = StoredStudies(folder / "studies").newest(10)
    study = StoredStudies(folder / "studies").load(kept["id"])
    assert [node.move for node in study.nodes] == ["", "C3", "C2", "B2", "D2", "D3"]
    assert sum(node.judgement is not None for node in study.nodes) >= 4
