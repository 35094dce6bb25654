"""The run directory belongs to one run, keeps every line, and lets one process in."""

import json
import os
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tengen.runs.files import settings_as_toml
from tengen.runs.folder import (
    FolderError,
    RunDirectory,
    kind_of_run,
    read_metrics,
    read_settings,
)

SETTINGS = {"network": "small", "rate": 0.1, "bf16": True, "threads": 1}


def steps(path: Path) -> list[int]:
    return [line["step"] for line in read_metrics(path)]


def tensorboard_steps(path: Path, tag: str) -> list[int]:
    """The steps that TensorBoard shows."""
    events = EventAccumulator(str(path / "tensorboard"))
    events.Reload()
    return [event.step for event in events.Scalars(tag)]


def test_metrics_and_settings_are_kept(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "a" / "b", SETTINGS)
    run.record({"step": 1, "loss": 2.5})
    run.record({"step": 2, "loss": 2.0})
    assert run.metrics() == [{"step": 1, "loss": 2.5}, {"step": 2, "loss": 2.0}]
    run.close()
    assert read_settings(run.path) == SETTINGS
    assert read_metrics(run.path)[1] == {"step": 2, "loss": 2.0}


def test_only_one_process_has_it(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path, SETTINGS)
    with pytest.raises(FolderError, match="under way in another process"):
        RunDirectory(tmp_path, SETTINGS)
    run.close()
    RunDirectory(tmp_path, SETTINGS).close()


def test_it_belongs_to_one_run_for_ever(tmp_path: Path) -> None:
    RunDirectory(tmp_path, SETTINGS).close()
    with pytest.raises(FolderError, match=r"rate 0\.1 where you ask for 0\.2: choose another --out"):
        RunDirectory(tmp_path, SETTINGS | {"rate": 0.2})
    RunDirectory(tmp_path, SETTINGS | {"threads": 4}, frozenset({"threads"})).close()
    assert read_settings(tmp_path)["threads"] == 4
    RunDirectory(tmp_path, SETTINGS | {"threads": 4}).close()  # a refusal leaves no lock behind


def test_it_goes_on_when_there_are_new_settings(tmp_path: Path) -> None:
    RunDirectory(tmp_path, SETTINGS).close()
    with pytest.raises(FolderError, match="with start_from '' where you ask for 'go9'"):
        RunDirectory(tmp_path, SETTINGS | {"start_from": "go9"}, usual={"start_from": ""})
    RunDirectory(tmp_path, SETTINGS | {"start_from": ""}, usual={"start_from": ""}).close()
    assert read_settings(tmp_path) == SETTINGS | {"start_from": ""}


def test_a_torn_line_is_dropped_and_later_steps_with_it(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path, SETTINGS)
    for step in (10, 20, 30):
        run.record({"step": step})
    run.close()
    with (tmp_path / "metrics.jsonl").open("ab") as file:
        file.write(b'{"step": 40, "lo')
    assert steps(tmp_path) == [10, 20, 30]
    run = RunDirectory(tmp_path, SETTINGS)
    run.rewind(20)
    run.record({"step": 30, "again": True})
    run.close()
    assert steps(tmp_path) == [10, 20, 30]
    assert json.loads((tmp_path / "metrics.jsonl").read_text().splitlines()[-1])["again"]


def test_rewinding_never_takes_kept_lines_out_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a `kill -9` in the middle of it would leave: every line that was to stay."""
    run = RunDirectory(tmp_path, SETTINGS)
    for step in (10, 20, 30):
        run.record({"step": step})
    seen: list[list[int]] = []
    monkeypatch.setattr("tengen.runs.folder.os.fsync", lambda _: seen.append(steps(tmp_path)))
    monkeypatch.setattr(run._metrics, "_file", Spy(run._metrics._file, lambda: seen.append(steps(tmp_path))))
    run.rewind(20)
    run.close()
    assert seen
    assert all(kept[:2] == [10, 20] for kept in seen)


class Spy:
    """A file that looks at itself after every call."""

    def __init__(self, file: object, look: object) -> None:
        self.file, self.look = file, look

    def __getattr__(self, name: str) -> object:
        method = getattr(self.file, name)

        def call(*arguments: object) -> object:
            result = method(*arguments)
            if name not in ("fileno", "close"):
                self.look()  # type: ignore[operator]
            return result

        return call


def test_tensorboard_shows_each_step_once(tmp_path: Path) -> None:
    for first, last in ((0, 40), (20, 60)):
        run = RunDirectory(tmp_path, SETTINGS)
        run.rewind(first)
        for step in range(first + 10, last + 1, 10):
            run.record({"step": step, "test_loss": 1 / step, "rate": 0.1, "test_top1_by_phase": {"moves 1-20": 0.5}})
        run.close()
    for tag in ("test/loss", "run/rate", "test/top1_by_phase/moves 1-20"):
        assert tensorboard_steps(tmp_path, tag) == [10, 20, 30, 40, 50, 60]


def test_no_run_is_told(tmp_path: Path) -> None:
    for read in (read_metrics, read_settings):
        with pytest.raises(FolderError, match="no directory of a run"):
            read(tmp_path)
    (tmp_path / "config.toml").write_text("= = =")
    with pytest.raises(FolderError, match="cannot be read"):
        read_settings(tmp_path)


@given(st.dictionaries(st.sampled_from("abcde"), st.text() | st.integers(-(2**63), 2**63 - 1) | st.booleans()))
def test_settings_survive_as_toml(settings: dict[str, str | int | bool]) -> None:
    assert tomllib.loads(settings_as_toml(settings)) == settings


@given(st.floats(allow_nan=False))
def test_numbers_survive_as_toml(number: float) -> None:
    assert tomllib.loads(settings_as_toml({"number": number})) == {"number": number}


def test_a_torn_line_is_cut_off_before_the_next_one_is_added(tmp_path: Path) -> None:
    RunDirectory(tmp_path, {}).close()
    (tmp_path / "metrics.jsonl").write_bytes(b'{"step": 1}\n{"st')
    run = RunDirectory(tmp_path, {})
    run.record({"note": "after a power cut"})
    run.close()
    assert read_metrics(tmp_path) == [{"step": 1}, {"note": "after a power cut"}]


@pytest.mark.parametrize("line", [b'{"step": 1', b"[]", b"\xff"])
def test_a_damaged_line_is_named(tmp_path: Path, line: bytes) -> None:
    RunDirectory(tmp_path, {}).close()
    (tmp_path / "metrics.jsonl").write_bytes(b'{"step": 0}\n' + line + b'\n{"step": 2}\n')
    for read in (read_metrics, lambda path: RunDirectory(path, {})):
        with pytest.raises(FolderError, match=r"line 2 of .*metrics.jsonl is damaged .*: repair it, or delete"):
            read(tmp_path)


def test_what_a_kill_cut_off_is_removed(tmp_path: Path) -> None:
    RunDirectory(tmp_path, {}).close()
    cut_off = tmp_path / "models" / f".g0001.safetensors.{'0f' * 16}.part"
    cut_off.parent.mkdir()
    cut_off.write_bytes(b"half a model")
    RunDirectory(tmp_path, {}).close()
    assert not cut_off.exists()


def test_a_run_says_its_kind_and_older_ones_are_recognised(tmp_path: Path) -> None:
    RunDirectory(tmp_path, SETTINGS, kind="value").close()
    assert kind_of_run(tmp_path) == "value" and read_settings(tmp_path) == SETTINGS
    with pytest.raises(FolderError, match="a run of the kind value, not zero: choose another --out"):
        RunDirectory(tmp_path, SETTINGS, kind="zero")
    for name, kind in (("reuse", "zero"), ("teacher_games", "alphago"), ("records_share", "value"), ("rate", "")):
        (tmp_path / "config.toml").write_text(f"{name} = 1\n")
        assert kind_of_run(tmp_path) == kind


def test_what_is_dropped_is_dropped_after_a_power_cut_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunDirectory(tmp_path, SETTINGS)
    for step in (10, 20, 30):
        run.record({"step": step})
    synced = list[list[int]]()
    monkeypatch.setattr("tengen.runs.folder.os.fsync", lambda _: synced.append(steps(tmp_path)))
    run.rewind(20)
    run.close()
    assert synced == [[10, 20]]


def test_a_closed_directory_may_be_opened_while_it_is_remembered(tmp_path: Path) -> None:
    first = RunDirectory(tmp_path / "a" / "b", SETTINGS)
    first.record({"step": 1, "test_loss": 0.5})
    first.close()
    with pytest.raises(FolderError) as refused:
        RunDirectory(first.path, {})  # its traceback keeps the directory, too
    RunDirectory(first.path, SETTINGS).close()
    assert refused and first.metrics() == [{"step": 1, "test_loss": 0.5}]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="looks at /proc")
def test_a_closed_directory_has_no_open_files(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path, SETTINGS)
    run.record({"step": 1, "test_loss": 0.5})
    run.close()
    links = [os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    assert [link for link in links if link.startswith(str(tmp_path))] == []


def test_only_steps_go_to_tensorboard_and_lines_without_one_stay(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path, SETTINGS)
    run.record({"note": "begun"})
    assert not (tmp_path / "tensorboard").exists()
    run.record({"step": 0})
    run.record({"step": 1})
    run.rewind(0)
    run.close()
    assert read_metrics(tmp_path) == [{"note": "begun"}, {"step": 0}]
