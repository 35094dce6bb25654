"""The folder of a match survives what may happen to it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tengen.arena.results import GameResult, MatchFolder
from tengen.games.game import get_game
from tengen.games.go.game import GAME
from tengen.runs.files import write_atomically
from tengen.runs.folder import FolderError

SETTINGS = {"a": "random", "b": 'gtp:"my engine" --name \\ä\x7f\U0001f600\n', "size": 9, "komi": 7.5}


def result(game: int) -> GameResult:
    return GameResult(game, "a", "b", "W+3.5", "score", "", 80, (40, 40), (0.5, 1.5))


def make(folder: Path, games: int) -> bytes:
    """A folder with results of so many games; what results.jsonl holds."""
    with MatchFolder(folder, SETTINGS, GAME) as kept:
        for game in range(1, games + 1):
            kept.record(result(game), b"(;)")
    return (folder / "results.jsonl").read_bytes()


def test_results_and_settings_are_read_back(tmp_path: Path) -> None:
    make(tmp_path, 3)
    with MatchFolder(tmp_path, SETTINGS, GAME) as kept:
        assert kept.results == {game: result(game) for game in (1, 2, 3)}
        assert kept.record_path(3).read_bytes() == b"(;)"


def test_a_line_cut_anywhere_costs_one_game(tmp_path: Path) -> None:
    whole = make(tmp_path, 3)
    last = len(whole) - len(whole.splitlines()[-1]) - 1
    for cut in range(last, len(whole)):
        (tmp_path / "results.jsonl").write_bytes(whole[:cut])
        with MatchFolder(tmp_path, SETTINGS, GAME) as kept:
            assert sorted(kept.results) == [1, 2]
            kept.record(result(3), b"(;)")
        assert (tmp_path / "results.jsonl").read_bytes() == whole


@given(st.binary(max_size=80))
def test_a_last_line_of_junk_is_dropped(tmp_path_factory: pytest.TempPathFactory, junk: bytes) -> None:
    folder = tmp_path_factory.mktemp("match")
    whole = make(folder, 2)
    (folder / "results.jsonl").write_bytes(whole + junk.replace(b"\n", b"").replace(b"\r", b""))
    make_again = MatchFolder(folder, SETTINGS, GAME)
    make_again.close()
    assert sorted(make_again.results) == [1, 2]
    assert (folder / "results.jsonl").read_bytes() == whole


def test_a_damaged_line_in_the_middle_is_told(tmp_path: Path) -> None:
    first, *rest = make(tmp_path, 3).splitlines(keepends=True)
    (tmp_path / "results.jsonl").write_bytes(first + b"{}\n" + b"".join(rest))
    with pytest.raises(FolderError, match=r"line 2 .* is damaged .*: delete the line"):
        MatchFolder(tmp_path, SETTINGS, GAME)


@pytest.mark.parametrize("line", [b"3", b"[]", b"null", b'{"game": 1}', b'{"decisions": 1, "seconds": 2}', b"\xff"])
def test_what_is_no_result_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        GameResult.from_json(line)


def test_only_one_process_plays_a_match(tmp_path: Path) -> None:
    with MatchFolder(tmp_path, SETTINGS, GAME), pytest.raises(FolderError, match="another process"):
        MatchFolder(tmp_path, SETTINGS, GAME)
    MatchFolder(tmp_path, SETTINGS, GAME).close()


@pytest.mark.parametrize("other", [{"size": 19}, {"seconds": 1.0}, {"a": "uct"}])
def test_other_settings_are_refused_by_name(tmp_path: Path, other: dict[str, str | int | float]) -> None:
    make(tmp_path, 1)
    with pytest.raises(FolderError, match=f"another match, with {next(iter(other))} .*another --out"):
        MatchFolder(tmp_path, SETTINGS | other, GAME)


def test_results_without_settings_are_refused(tmp_path: Path) -> None:
    make(tmp_path, 1)
    (tmp_path / "match.toml").unlink()
    with pytest.raises(FolderError, match=r"no match\.toml"):
        MatchFolder(tmp_path, SETTINGS, GAME)


def test_unreadable_settings_are_told(tmp_path: Path) -> None:
    (tmp_path / "match.toml").write_text("a = ")
    with pytest.raises(FolderError, match=r"match\.toml cannot be read"):
        MatchFolder(tmp_path, SETTINGS, GAME)


def test_an_atomic_write_replaces_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"long and old")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_closed_folder_may_be_opened_while_it_is_remembered(tmp_path: Path) -> None:
    first = MatchFolder(tmp_path, SETTINGS, GAME)
    first.close()
    with pytest.raises(FolderError) as refused:
        MatchFolder(tmp_path, {"size": 5}, GAME)  # its traceback keeps the folder, too
    MatchFolder(tmp_path, SETTINGS, GAME).close()
    assert refused and first.results == {}


def test_a_recorded_game_is_known_at_once(tmp_path: Path) -> None:
    with MatchFolder(tmp_path, SETTINGS, GAME) as kept:
        kept.record(result(7), b"(;)")
        assert kept.results == {7: result(7)}
        assert (tmp_path / "games" / "0007.sgf").read_bytes() == b"(;)"


def test_every_changed_letter_of_a_line_is_found() -> None:
    line = result(7).to_json().encode()
    assert GameResult.from_json(line) == result(7)
    for place in range(len(line)):
        changed = line[:place] + bytes([line[place] ^ 1]) + line[place + 1 :]
        try:
            assert GameResult.from_json(changed) == result(7)  # an equal way to write it
        except ValueError:
            continue


@pytest.mark.parametrize("game, first", [("go", "a"), ("microchess", "b")])
def test_lines_of_older_versions_name_who_had_black(tmp_path: Path, game: str, first: str) -> None:
    """Black moves first in Go and second in Microchess; such lines have no checksum either."""
    values = json.loads(result(1).to_json())
    del values["check"], values["first"]
    with MatchFolder(tmp_path, SETTINGS, get_game(game)):
        pass
    line = json.dumps(values | {"black": "a"}).encode() + b"\n"
    (tmp_path / "results.jsonl").write_bytes(line)
    with MatchFolder(tmp_path, SETTINGS, get_game(game)) as kept:
        assert kept.results[1].first == first and kept.results[1].seconds == (0.5, 1.5)
    assert GameResult.from_json(line).first == "a"


def test_of_two_lines_of_a_game_the_first_counts(tmp_path: Path) -> None:
    make(tmp_path, 2)
    again = replace(result(1), winner="a").to_json().encode()
    with (tmp_path / "results.jsonl").open("ab") as file:
        file.write(again + b"\n")
    with MatchFolder(tmp_path, SETTINGS, GAME) as kept:
        assert kept.results == {1: result(1), 2: result(2)}


def test_what_a_kill_cut_off_is_removed(tmp_path: Path) -> None:
    make(tmp_path, 1)
    cut_off = tmp_path / "games" / f".0002.sgf.{'0f' * 16}.part"
    cut_off.write_bytes(b"half a game")
    make(tmp_path, 0)
    assert not cut_off.exists()
