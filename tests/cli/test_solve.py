"""`tengen solve` from the outside: solved, checked, stopped and resumed."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tengen.cli.main import app
from tengen.games import go
from tengen.nets.model_file import ModelCard, save_model
from tengen.nets.network import build_network
from tengen.search.generations import model_file
from tengen.workers.calls import Calls, WorkerError
from tengen.workers.local import this_machine

runner = CliRunner()


def solve(*arguments: str) -> str:
    result = runner.invoke(app, ["solve", "go", "--memory", "0.02", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """3x3 solved at komi 8.5."""
    folder = tmp_path_factory.mktemp("solved")
    shown = solve("--size", "3", "--komi", "8.5", "--out", str(folder))
    assert "Black wins at komi 8.5 (Black by 9 or more)" in shown
    assert "Main line  B2 " in shown
    return folder


def test_the_proof_is_accepted(folder: Path) -> None:
    result = runner.invoke(app, ["solve", "check", str(folder / "proof.safetensors")])
    assert result.exit_code == 0, result.output
    assert "Proven" in result.output


def test_solving_again_begins_with_what_is_known(tmp_path: Path) -> None:
    state, rng = go.State.new(5, "simple-go"), np.random.default_rng(1)
    for _ in range(16):
        state = state.play(int(rng.choice(state.legal_moves())))
    moves = " ".join(state.move_name(move) for _, move in state.moves)
    assert "wins at komi 3.5" in solve("--size", "5", "--moves", moves, "--out", str(tmp_path))
    shown = solve("--size", "5", "--moves", moves, "--out", str(tmp_path))
    assert "positions of an earlier run" in shown
    assert "wins at komi 3.5" in shown


def test_a_folder_belongs_to_one_question(folder: Path) -> None:
    result = runner.invoke(app, ["solve", "go", "--size", "3", "--komi", "7.5", "--out", str(folder)])
    assert result.exit_code == 2
    assert "komi" in result.output


def test_a_search_that_was_stopped_goes_on(tmp_path: Path) -> None:
    arguments = "--size", "5", "--komi", "3.5", "--claim", "white", "--out", str(tmp_path)
    assert "none yet" in solve(*arguments, "--nodes", "20000")
    assert "positions of an earlier run" in solve(*arguments, "--nodes", "1000")


def test_a_network_guides_the_search_and_every_result_is_kept(tmp_path: Path) -> None:
    models, out = tmp_path / "run", tmp_path / "out"
    for side, after in (("black", "first"), ("white", "second")):
        network = build_network("simple-go", 3, 5, seed=1, filters=(4,), hidden=8, after=after)
        about = {"encoder": "stones", "rules": "simple-go", "komi": 3.5, "recipe": {"rules": "simple-go"}}
        save_model(model_file(models, side, 1), network, ModelCard.of(network, **about))
    arguments = "--size", "5", "--komi", "3.5", "--moves", "C3", "--claim", "black", "--out", str(out)
    more = "--guide", f"value:{models}", "--threads", "2", "--leaf-nodes", "500"
    shown = solve(*arguments, *more, "--nodes", "5000")
    assert "none yet" in shown
    assert "Open       Black by 4 or more after " in shown
    (kept,) = out.glob("tree-*.jsonl")
    searches = len(kept.read_bytes().splitlines())
    kept.write_bytes(kept.read_bytes() + b"[123, 4")  # torn by a power cut
    shown = solve(*arguments, *more, "--nodes", "1000")
    assert f"{searches} searches of an earlier run" in shown
    assert len(kept.read_bytes().splitlines()) > searches
    kept.write_bytes(b"[1, 2\n" + kept.read_bytes())
    result = runner.invoke(app, ["solve", "go", "--memory", "0.02", *arguments, *more])
    assert result.exit_code == 2
    assert "line 1 of" in result.output and "delete the line and all after it" in result.output


class ClusterThatGoes:
    """A cluster with one worker, which is gone after 50 leaves."""

    count = 1

    def __init__(self, count: int, make: Callable[..., Any], arguments: Callable[[int], tuple[Any, ...]], nice: int):
        self._worker, self._left = make(*arguments(0)), 50

    def start(self) -> None:
        pass

    def map(self, method: str, arguments: Iterable[tuple[Any, ...]], calls: Calls | None = None) -> Calls:
        calls = calls or Calls(0)
        for each in arguments:
            self._left -= 1
            calls.unfinished += 1
            calls.deliver(getattr(self._worker, method)(*each) if self._left >= 0 else WorkerError("gone"))
        return calls

    def close(self) -> None:
        pass


def test_what_a_cluster_has_found_is_kept_when_it_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tengen.cli.solve.worker_factory", lambda cluster: ClusterThatGoes if cluster else this_machine)
    moves = "--moves", "C3 C2 B2 B3 D2 C1 D1 C4 D3 D4"
    arguments = *moves, "--size", "5", "--komi", "3.5", "--leaf-nodes", "300", "--out", str(tmp_path)
    result = runner.invoke(app, ["solve", "go", "--memory", "0.02", *arguments, "--cluster", "local"])
    assert result.exit_code == 2
    assert "gone" in result.output
    shown = solve(*arguments)
    assert "50 searches of an earlier run" in shown
    assert "positions of an earlier run" in shown
    assert "Black wins at komi 3.5" in shown


def test_a_game_may_be_given(tmp_path: Path) -> None:
    shown = solve("--size", "3", "--rules", "chinese", "--komi", "0.5", "--moves", "A1 B2", "--out", str(tmp_path))
    assert "White wins at komi 0.5" in shown


def test_what_is_not_possible_is_refused(tmp_path: Path) -> None:
    for arguments, message in (
        (["--claim", "red"], "choose black, white or both"),
        (["--rules", "japanese"], "count territory"),
        (["--moves", "C3 C3"], "there is a stone"),
        (["--cluster", "local"], "--cluster is for 5x5"),
    ):
        result = runner.invoke(app, ["solve", "go", "--size", "3", "--out", str(tmp_path), *arguments])
        assert result.exit_code == 2
        assert message in result.output


def test_agents_are_measured_by_the_truth(tmp_path: Path) -> None:
    table = tmp_path / "mistakes.csv"
    arguments = "--size 3 --komi 3.5 --positions 20 --from-move 1 --memory 0.02 --csv".split()
    result = runner.invoke(app, ["solve", "judge", "random", "random:seed=2", *arguments, str(table)])
    assert result.exit_code == 0, result.output
    assert "thrown away" in result.output
    header, *rows = table.read_text().splitlines()
    assert header.startswith("agent,positions")
    assert [row.split(",")[1] for row in rows] == ["20", "20"]


def test_margins_of_both_players_with_proofs(tmp_path: Path) -> None:
    arguments = ["solve", "margins", "--size", "3", "--rules", "chinese", "--memory", "0.02", "--out", str(tmp_path)]
    result = runner.invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "Black's margin is at least 9" in result.output
    assert "Black's margin is at most 9" in result.output
    assert "Solved" in result.output
    checked = runner.invoke(app, ["solve", "check", str(tmp_path / "black.safetensors")])
    assert checked.exit_code == 0, checked.output


def test_generations_are_measured_by_the_truth(tmp_path: Path) -> None:
    for side, after in (("black", "first"), ("white", "second")):
        network = build_network("simple-go", 3, 3, seed=1, filters=(4,), hidden=8, after=after)
        about = {"encoder": "stones", "rules": "simple-go", "komi": 0.5, "recipe": {"rules": "simple-go"}}
        save_model(model_file(tmp_path, side, 1), network, ModelCard.of(network, **about))
    arguments = ["--positions", "20", "--from-move", "1", "--memory", "0.02"]
    result = runner.invoke(app, ["solve", "generations", str(tmp_path), *arguments])
    assert result.exit_code == 0, result.output
    rows = (tmp_path / "crosstable/mistakes.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows[1:]] == ['"random"', '"generation 1"']
    assert (tmp_path / "crosstable/mistakes.png").read_bytes().startswith(b"\x89PNG")


def test_every_search_is_on_the_disk_before_the_next_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = list[int]()
    sync = os.fsync

    def noted(file: int) -> None:
        synced.append(os.fstat(file).st_size)
        sync(file)

    monkeypatch.setattr(os, "fsync", noted)
    arguments = "--size", "5", "--komi", "3.5", "--claim", "black", "--threads", "1", "--leaf-nodes", "300"
    solve(*arguments, "--moves", "C3", "--nodes", "2000", "--out", str(tmp_path))
    (kept,) = tmp_path.glob("tree-*.jsonl")
    lines = kept.read_bytes().splitlines(keepends=True)
    assert len(lines) > 1 and {sum(map(len, lines[: i + 1])) for i in range(len(lines))} <= set(synced)
