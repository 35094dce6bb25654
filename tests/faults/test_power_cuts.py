"""After a power cut at any moment nothing is lost that was promised, and the same command comes to the same result."""

from pathlib import Path
from unittest.mock import patch

import pytest

from tengen.agents.registry import load_agent
from tengen.arena.match import Match, run_match, saved_results
from tengen.data.build import build_dataset
from tengen.games import go
from tengen.games.go.rules import GoOptions
from tengen.runs.arrays import load_arrays, save_arrays
from tengen.runs.folder import RunDirectory, read_metrics
from tengen.solve.endgame_index import Material, layout_of
from tengen.solve.endgame_tables import open_table, write_table
from tengen.web.storage import PlayedGame, StoredGames, StoredStudies, new_id
from tengen.web.study import read_study

from ..data.packed_games import records, tar
from .commands import COMMANDS
from .cutting import cut_power
from .power import Recording, images, recorded

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="looks at /proc")
FEW, MANY = 60, 1_000


@pytest.fixture(params=[FEW, pytest.param(MANY, marks=pytest.mark.long)])
def count(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_data_build(tmp_path: Path, count: int) -> None:
    with patch("tengen.data.build.CHUNK_RECORDS", 3):
        sources = [tar(tmp_path / "a.tar.gz", records(7) | {"bad.sgf": b"(;B[xx])"})]
        out, image = tmp_path / "out", tmp_path / "image"
        out.mkdir()
        with recorded(out, lambda: None) as recording:
            build_dataset(sources, out, workers=1)
        wanted = _files(out)
        for folder, moment in images(recording, image, count, seed=1):
            build_dataset(sources, folder, workers=1)
            assert _files(folder) == wanted, f"{moment.number}: {moment.what}"


def test_a_match(tmp_path: Path, count: int) -> None:
    match = Match("random:seed=1", "random:seed=2", GoOptions(5), 4, seed=3)
    out, image, told = tmp_path / "out", tmp_path / "image", list[int]()
    out.mkdir()
    with recorded(out, lambda: set(told)) as recording:
        run_match(match, out, workers=1, load=load_agent, on_result=lambda result: told.append(result.game))
    wanted = _files(out)
    for folder, moment in images(recording, image, count, seed=2):
        kept = {result.game for result in saved_results(match, folder)}
        assert moment.done <= kept, f"{moment.number}: {moment.what}: game {moment.done - kept} is lost"
        assert all((folder / "games" / f"{game:04d}.sgf").read_bytes() for game in kept)
        run_match(match, folder, workers=1)
        found = _files(folder)
        assert found.keys() == wanted.keys()
        for name in wanted:  # times of moves differ from run to run
            assert name == "results.jsonl" or found[name] == wanted[name], f"{moment.number}: {moment.what}: {name}"


def test_the_games_of_the_page(tmp_path: Path, count: int) -> None:
    out, image = tmp_path / "games", tmp_path / "image"
    out.mkdir()
    saved: dict[str, int] = {}
    with recorded(out, lambda: dict(saved)) as recording:
        stored = StoredGames(out)
        for name in (new_id(), new_id()):
            state = go.State.new(size=5)
            for vertex in ("C3", "D3", "B2", "pass"):
                state = state.play(state.parse_move(vertex))
                stored.save(PlayedGame(name, state, ("human", "human"), ("", "")))
                saved[name] = state.move_number
    for folder, moment in images(recording, image, count, seed=3):
        for name, moves in moment.done.items():
            found = StoredGames(folder).load(name).state.move_number
            assert moves <= found <= moves + 1, f"{moment.number}: {moment.what}"


def test_the_studies_of_the_page(tmp_path: Path, count: int) -> None:
    """The first of them makes a folder of its own."""
    out, image = tmp_path / "games", tmp_path / "image"
    out.mkdir()
    saved: dict[str, int] = {}
    with recorded(out, lambda: dict(saved)) as recording:
        stored = StoredStudies(out / "studies")
        for name in (new_id(), new_id()):
            study = read_study("(;SZ[5];B[cc](;W[dd])(;W[ee]))")
            for move in ("A1", "B1", "C1"):
                study.play(1, move)
                stored.save(name, study)
                saved[name] = len(study.nodes)
    for folder, moment in images(recording, image, count, seed=6):
        for name, nodes in moment.done.items():
            found = len(StoredStudies(folder / "studies").load(name).nodes)
            assert nodes <= found <= nodes + 1, f"{moment.number}: {moment.what}"


def test_checkpoints_and_metrics_of_a_run(tmp_path: Path, count: int) -> None:
    """What `tengen learn zero` and the other learners go on from."""
    import numpy as np

    out, image = tmp_path / "run", tmp_path / "image"
    out.mkdir()
    done = {"lines": 0, "step": 0}
    with recorded(out, lambda: dict(done)) as recording:
        run = RunDirectory(out, {"seed": 1})
        for step in range(1, 5):
            save_arrays(out / "trainer.safetensors", {"weights": np.full(100, step, np.float32)}, {"step": str(step)})
            done["step"] = step
            run.record({"step": step})
            done["lines"] = step
        run.close()
    for folder, moment in images(recording, image, count, seed=4):
        if moment.done["step"]:
            weights, about = load_arrays(folder / "trainer.safetensors")
            assert int(about["step"]) >= moment.done["step"] and set(weights["weights"]) == {int(about["step"])}
        again = RunDirectory(folder, {"seed": 1})
        lines = [line["step"] for line in read_metrics(folder)]
        again.record({"step": -1})
        again.close()
        assert lines == list(range(1, len(lines) + 1)) and len(lines) >= moment.done["lines"]
        assert [line["step"] for line in read_metrics(folder)] == [*lines, -1]


def test_an_endgame_table_that_is_made_again(tmp_path: Path, count: int) -> None:
    """At every moment the old one or the new one is there, whole."""
    import numpy as np

    material, out, image = Material.parse("KQK"), tmp_path / "tables", tmp_path / "image"
    out.mkdir()
    size = 2 * layout_of(material).counts[1]
    write_table(out, material, True, np.full(size, 1, np.uint8))
    with recorded(out) as recording:
        write_table(out, material, True, np.random.default_rng(1).integers(1, 9, size, np.uint8))
    for folder, moment in images(recording, image, count, seed=5):
        values = open_table(folder, material, True).values()
        assert len(values) == size, f"{moment.number}: {moment.what}"


def test_without_syncs_the_images_show_it(tmp_path: Path) -> None:
    """The images are of use: a store that never syncs does not survive them."""
    with pytest.raises((AssertionError, ValueError)), patch.object(Recording, "sync", lambda recording, handle: None):
        test_the_games_of_the_page(tmp_path, FEW)


@pytest.mark.parametrize(
    "name, count", [("supervised", 4), *(pytest.param(name, MANY, marks=pytest.mark.long) for name in COMMANDS)]
)
def test_a_whole_command_comes_to_the_same_result(name: str, count: int, tmp_path: Path) -> None:
    said = list[str]()
    assert not cut_power(name, count, tmp_path / name, 1, said.append), "\n".join(said)


def _files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}
