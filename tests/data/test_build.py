"""Building: every record is in the dataset or in the list of those left out; killed at any moment, it goes on."""

import csv
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tengen.cli.main import app
from tengen.data import build
from tengen.data.build import BuildError, BuildProgress, Built, build_dataset
from tengen.data.dataset import Dataset

from .packed_games import loose, record, records, tar, zipped

FILES = ("dataset.json", "games.arrow", "rejected.csv")
SHARED = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Archives and files with good games, bad records and duplicates among them."""
    folder = tmp_path_factory.mktemp("sources")
    tar(folder / "a.tar.gz", records(12) | {"games/empty.sgf": b"(;SZ[9])"})
    zipped(folder / "b.zip", records(8, 10) | {"games/bad.sgf": b"(;SZ[9];B[aa];W[aa])"})
    cut = tar(folder / "c.tar.gz", records(10, 100))
    cut.write_bytes(cut.read_bytes()[:-300])
    loose(folder / "d", records(5, 200) | {"again.sgf": record(0)})
    return folder


@pytest.fixture(scope="module")
def expected(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of the dataset, built without any disturbance."""
    return contents(build_dataset([sources], tmp_path_factory.mktemp("expected"), workers=1).folder)


def contents(folder: Path) -> dict[str, bytes]:
    assert sorted(path.name for path in folder.iterdir()) == list(FILES)
    return {name: (folder / name).read_bytes() for name in FILES}


def test_every_record_is_in_the_dataset_or_in_the_list(sources: Path, tmp_path: Path) -> None:
    built = build_dataset([sources], tmp_path, workers=1)
    left_out = list(csv.DictReader((tmp_path / "rejected.csv").open()))
    counted = {reason: sum(row["reason"] == reason for row in left_out) for reason in built.rejected}
    assert built.rejected == counted
    assert counted["duplicate"] == 3
    assert counted["no moves"] == counted["illegal move"] == counted["archive cut off"] == 1
    dataset = Dataset.open(tmp_path)
    names = [dataset.text("source", row) for row in range(dataset.games)] + [row["source"] for row in left_out]
    assert len(names) == len(set(names))
    assert dataset.games == built.games == len(names) - len(left_out)
    assert built.positions == int(dataset.lengths.sum())
    assert sum(source["games"] for source in dataset.summary["sources"]) == dataset.games
    assert sum(source["rejected"] for source in dataset.summary["sources"]) == len(left_out)


def test_a_duplicate_names_the_game_it_repeats(sources: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    build_dataset([sources], tmp_path, workers=1)
    dataset = Dataset.open(tmp_path)
    row = next(row for row in csv.DictReader((tmp_path / "rejected.csv").open()) if row["source"] == "d/again.sgf")
    assert dataset.text("source", int(row["detail"].split()[-1])) == "a.tar.gz/games/0.sgf"


def test_the_dataset_does_not_depend_on_workers(sources: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    build_dataset([sources], tmp_path, workers=3)
    assert contents(tmp_path) == expected


def test_nor_on_how_games_fall_into_chunks(
    sources: Path, expected: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "CHUNK_RECORDS", 3)
    build_dataset([sources], tmp_path, workers=1)
    assert (tmp_path / "games.arrow").read_bytes() == expected["games.arrow"]


def test_progress_goes_up_to_the_end(sources: Path, tmp_path: Path) -> None:
    seen: list[BuildProgress] = []
    build_dataset([sources], tmp_path, workers=1, on_progress=seen.append)
    assert [now.bytes for now in seen] == sorted(now.bytes for now in seen)
    assert seen[-1].bytes == seen[-1].total_bytes


# ------------------------------------------------------------------------------------------ stopped midway

KILLED = textwrap.dedent("""
    import os, signal, sys
    from pathlib import Path
    from tengen.data import build

    moment, sources, out, workers = int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
    replace = os.replace
    steps = 0

    def step(*paths):
        global steps
        if paths[1:]:
            replace(*paths)
        steps += not paths[1:] or out in Path(paths[1]).parents  # numba, too, completes files by a rename
        if steps == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    if workers == 1:
        os.replace = step  # each of them completes a file
    if __name__ == "__main__":
        build.build_dataset([sources], out, workers, step if workers > 1 else None)
""")


def killed_build(folder: Path, moment: int, sources: Path, out: Path, workers: int) -> None:
    """Run a build in another process that is killed by `kill -9` after so many steps."""
    script = folder / "killed.py"
    script.write_text(KILLED)
    command = [sys.executable, str(script), str(moment), str(sources), str(out), str(workers)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL


@pytest.mark.parametrize("moment", [1, 2, 5, 10, 12, 13, 14])
def test_a_killed_build_goes_on_to_the_same_bytes(
    sources: Path, expected: dict[str, bytes], tmp_path: Path, moment: int
) -> None:
    """Killed after the plan, chunks, counts; and between the files of the finished dataset."""
    out = tmp_path / "out"
    killed_build(tmp_path, moment, sources, out, workers=1)
    assert (out / "building").exists()
    resumed = build_dataset([sources], out, workers=1).resumed
    # Of the plan, five chunks and their five counts, `moment` files are there.
    assert min(5, max(0, moment - 6)) <= resumed <= 5
    assert contents(out) == expected


def test_a_build_killed_again_and_again_with_workers_goes_on(
    sources: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    for moment in (1, 3):
        killed_build(tmp_path, moment, sources, out, workers=2)
    build_dataset([sources], out, workers=2)
    assert contents(out) == expected


def test_chunks_of_other_files_are_not_used(sources: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    other.mkdir()
    tar(other / "a.tar.gz", records(3, 50))
    killed_build(tmp_path, 2, other, out, workers=1)
    assert build_dataset([sources], out, workers=1).resumed == 0
    assert contents(out) == expected


def test_a_finished_build_is_not_repeated_but_a_larger_one_is(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    tar(folder / "a.tar.gz", records(6))
    first = build_dataset([folder], out, workers=1)
    assert not first.up_to_date
    assert build_dataset([folder], out, workers=1) == Built(out, 6, first.positions, {}, up_to_date=True)
    tar(folder / "b.tar.gz", records(6, 3))
    second = build_dataset([folder], out, workers=1)
    assert (second.games, second.rejected) == (9, {"duplicate": 3})


def test_two_builds_cannot_share_a_folder(tmp_path: Path) -> None:
    folder = loose(tmp_path / "in", records(2))

    def intrude(_: BuildProgress) -> None:
        with pytest.raises(BuildError, match="another build"):
            build_dataset([folder], tmp_path / "out", workers=1)

    build_dataset([folder], tmp_path / "out", workers=1, on_progress=intrude)


def test_an_impossible_number_of_workers_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="0 workers"):
        build_dataset([loose(tmp_path / "in", records(1))], tmp_path / "out", workers=0)


# ------------------------------------------------------------------------------------------- command line


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["data", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_commands_tell_what_happened(sources: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = run("build", sources, "--out", out, "--workers", 1)
    assert "left out: duplicate" in said and "bytes per game" in said
    assert "Already built" in run("build", sources, "--out", out)
    assert "9x9" in run("stats", out)
    assert json.loads(run("stats", out, "--json"))["board size"].keys() == {"9x9"}
    board = run("show", out, "--game", 1, "--move", 5)
    assert "A B C D E F G H J" in board and "Move 5 of" in board and "a.tar.gz/games/1.sgf" in board
    assert "the end" in run("show", out)
    run("show", out, "--svg", tmp_path / "board.svg")
    assert (tmp_path / "board.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    "arguments",
    [("build", "{missing}", "--out", "{out}"), ("stats", "{missing}"), ("show", "{missing}"),
     ("show", "{out}", "--game", "99"), ("show", "{out}", "--move", "999"), ("show", "{out}", "--move=-1")],
)  # fmt: skip
def test_mistakes_are_told_in_one_line(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    out = tmp_path / "out"
    build_dataset([loose(tmp_path / "in", records(1))], out, workers=1)
    words = [word.format(missing=tmp_path / "missing", out=out) for word in arguments]
    result = CliRunner().invoke(app, ["data", *words])
    assert result.exit_code == 2
    assert result.output.startswith("tengen: ") and result.output.count("\n") == 1


# ------------------------------------------------------------------------------------------- real archives


@pytest.mark.skipif(not SHARED.exists(), reason="needs the archives of real games")
def test_real_archives_lose_nothing(tmp_path: Path) -> None:
    archive = SHARED / "kgs" / "KGS-2017_02-19-525-.tar.gz"
    built = build_dataset([archive, SHARED / "tricky-sgf.tar.gz"], tmp_path, workers=1)
    of_archive, of_tricky = Dataset.open(tmp_path).summary["sources"]
    assert of_archive["games"] + of_archive["rejected"] == 525
    assert of_tricky["games"] > 1500
    assert (tmp_path / "games.arrow").stat().st_size < 1000 * built.games
    assert build.WORK_FOLDER not in os.listdir(tmp_path)
