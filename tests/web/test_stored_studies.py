"""Studies in files: all that a study has comes back, the newest are listed, and a damaged file does no harm."""

import json
import os
from pathlib import Path

import pytest

from tengen.serve.review import PositionEstimate
from tengen.web import storage
from tengen.web.storage import StoredStudies, new_id, study_as_json, study_from_json
from tengen.web.study import Study, read_study

RECORD = "(;SZ[5]PB[A]PW[B]RE[B+R];B[cc];W[bb](;B[dd])(;B[bd]))"


def studied() -> Study:
    """A study with a move of its own, and estimates with points and without."""
    study = read_study(RECORD)
    study.at = study.play(1, "D3")
    study.nodes[1].estimate = PositionEstimate(50, 0.25, -1.5, "B4", ("B4", "D3"))
    study.nodes[2].estimate = PositionEstimate(7, 0.5, None, "", ())
    study.names, study.result = ("Me", "You"), "W+1"
    return study


def test_all_that_a_study_has_comes_back() -> None:
    study = studied()
    found = study_from_json(json.loads(json.dumps(study_as_json(new_id(), study))))
    assert [(node.parent, node.move) for node in found.nodes] == [(node.parent, node.move) for node in study.nodes]
    assert [node.estimate for node in found.nodes] == [node.estimate for node in study.nodes]
    assert (found.at, found.names, found.result) == (study.at, ("Me", "You"), "W+1")
    assert found.read == study.read == len(study.nodes) - 1 and found.source == study.source


def test_only_names_that_we_gave_are_files(tmp_path: Path) -> None:
    (tmp_path / "studies").mkdir()
    stored, outside = StoredStudies(tmp_path / "studies"), tmp_path / "secret.json"
    outside.write_text("{}")
    for name in ("../secret", "", "a" * 15):
        for do in (stored.load, stored.remove, lambda name: stored.save(name, studied())):
            with pytest.raises(ValueError, match=r"no such study|has gone"):
                do(name)
    assert outside.read_text() == "{}" and list((tmp_path / "studies").iterdir()) == []


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"{}", b"\xff", b"3", b"[" * 100_000])
def test_a_damaged_file_does_no_harm(tmp_path: Path, text: bytes) -> None:
    stored, name, damaged = StoredStudies(tmp_path), new_id(), new_id()
    stored.save(name, studied())
    (tmp_path / f"{damaged}.json").write_bytes(text)
    with pytest.raises(ValueError, match="has gone"):
        stored.load(damaged)
    assert [fields["id"] for fields in stored.newest(9)] == [name]


def test_a_position_that_is_not_there_is_found(tmp_path: Path) -> None:
    fields = study_as_json(new_id(), studied())
    for wrong in ({"at": 99}, {"added": [[99, "D3"]]}, {"judged": {"99": [1, 0.5, None, "", []]}}):
        with pytest.raises(ValueError, match="no such position"):
            study_from_json(fields | wrong)


def test_the_newest_are_listed_first_and_the_oldest_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored, names = StoredStudies(tmp_path / "state" / "studies"), [new_id() for _ in range(5)]
    assert stored.newest(9) == []
    for time, name in enumerate(names):
        stored.save(name, studied())
        os.utime(tmp_path / "state" / "studies" / f"{name}.json", (time, time))
    listed = stored.newest(3)
    assert [fields["id"] for fields in listed] == names[:1:-1] and [fields["touched"] for fields in listed] == [4, 3, 2]
    assert listed[0].keys() == {"id", "title", "about", "names", "result", "positions", "touched"}
    assert (listed[0]["title"], listed[0]["names"], listed[0]["positions"]) == ("Go", ["Me", "You"], 6)
    monkeypatch.setattr(storage, "MOST_STUDIES", 2)
    stored.drop_oldest()
    assert [fields["id"] for fields in stored.newest(9)] == names[:2:-1]
    stored.remove(names[4])
    stored.remove(names[4])
    with pytest.raises(ValueError, match="has gone"):
        stored.load(names[4])
    assert stored.load(names[3]).names == ("Me", "You")
