"""Archives: every kind gives the same records, and none can escape, swell, hang or break the reading."""

import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tengen.data.archives import (
    ARCHIVE_CUT,
    ARCHIVE_INSIDE,
    ARCHIVE_UNREADABLE,
    LOOSE_FILES,
    MAX_NAME_LENGTH,
    MAX_RECORD_BYTES,
    TOO_LARGE,
    RecordFile,
    clean_name,
    find_sources,
    iter_records,
)

from .packed_games import loose, records, tar, zipped

GAMES = records(5)


def read(*paths: Path) -> list[RecordFile]:
    return list(iter_records(paths))


def good(*paths: Path) -> list[bytes]:
    return [record.data for record in read(*paths) if not record.reason]


def reasons(*paths: Path) -> list[str]:
    return [record.reason for record in read(*paths) if record.reason]


@pytest.fixture(params=["tar", "tar.gz", "tgz", "tar.bz2", "tar.xz", "zip", "folder", "TAR.GZ"])
def packed(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The same games, packed in each way."""
    kind = request.param
    if kind == "folder":
        return loose(tmp_path / "some", GAMES)
    path = tmp_path / f"some.{kind}"
    modes = {"gz": "w:gz", "tgz": "w:gz", "bz2": "w:bz2", "xz": "w:xz", "tar": "w"}
    return zipped(path, GAMES) if kind == "zip" else tar(path, GAMES, modes[kind.lower().rpartition(".")[2]])


def test_every_packing_gives_the_same_records(packed: Path) -> None:
    found = read(packed)
    assert [record.data for record in found] == list(GAMES.values())
    assert [Path(record.name).name for record in found] == [Path(name).name for name in GAMES]
    assert not any(record.reason for record in found)


def test_names_do_not_depend_on_where_the_files_lie(packed: Path) -> None:
    assert not any(str(packed.parent) in record.name for record in read(packed))


def test_folders_archives_and_files_can_be_mixed(tmp_path: Path) -> None:
    folder = loose(tmp_path / "mixed", {"b/1.sgf": b"(;1)", "a.sgf": b"(;2)", "notes.txt": b"no record"})
    tar(folder / "c.tar.gz", {"x.SGF": b"(;3)"})
    single = loose(tmp_path, {"single.sgf": b"(;4)"}) / "single.sgf"
    assert good(folder, single) == [b"(;3)", b"(;2)", b"(;1)", b"(;4)"]


def test_many_single_records_make_several_sources(tmp_path: Path) -> None:
    folder = loose(tmp_path / "many", {f"{i:05d}.sgf": b"(;)" for i in range(LOOSE_FILES + 1)})
    assert [len(source.files) for source in find_sources([folder])] == [LOOSE_FILES, 1]


@pytest.mark.parametrize("name", ["missing", "notes.txt", "empty"])
def test_a_path_without_records_is_an_error_that_says_so(tmp_path: Path, name: str) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=name):
        find_sources([tmp_path / name])


# -------------------------------------------------------------------------------------------- hostile ones


@pytest.mark.parametrize("name", ["../../escape.sgf", "/etc/escape.sgf", "a/../../../escape.sgf", "C:\\escape.sgf"])
def test_a_path_in_an_archive_is_only_a_name(tmp_path: Path, name: str) -> None:
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    for archive in (tar(inside / "x.tar.gz", {name: b"(;)"}), zipped(inside / "x.zip", {name: b"(;)"})):
        assert good(archive) == [b"(;)"]
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {"x.tar.gz", "x.zip"}


def test_a_bomb_is_left_out_and_the_records_around_it_are_not(tmp_path: Path) -> None:
    members = {"1.sgf": b"(;1)", "bomb.sgf": b"(;C[" + bytes(50 * MAX_RECORD_BYTES), "2.sgf": b"(;2)"}
    for archive in (tar(tmp_path / "x.tar.gz", members), zipped(tmp_path / "x.zip", members)):
        assert good(archive) == [b"(;1)", b"(;2)"]
        assert reasons(archive) == [TOO_LARGE]


def test_a_zip_that_lies_about_a_size_gets_no_more_than_it_said(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "x.zip", {"bomb.sgf": bytes(5 * MAX_RECORD_BYTES)})
    honest = (5 * MAX_RECORD_BYTES).to_bytes(4, "little")
    archive.write_bytes(archive.read_bytes().replace(honest, (10).to_bytes(4, "little")))
    assert all(len(record.data) <= MAX_RECORD_BYTES for record in read(archive))


def test_a_tar_with_an_endless_name_is_given_up(tmp_path: Path) -> None:
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 1 << 32
    path = tmp_path / "x.tar"
    path.write_bytes(header.tobuf(tarfile.GNU_FORMAT) + b"a" * (3 * MAX_RECORD_BYTES))
    assert reasons(path) == [TOO_LARGE]


def test_a_tar_with_a_gigantic_member_is_given_up(tmp_path: Path) -> None:
    header = tarfile.TarInfo("zeros.bin")
    header.size = 1 << 40
    path = tmp_path / "x.tar"
    path.write_bytes(header.tobuf(tarfile.GNU_FORMAT) + bytes(4096))
    assert reasons(path) == [TOO_LARGE]


def test_links_and_devices_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE):
            link = tarfile.TarInfo("link.sgf")
            link.type, link.linkname = kind, "/etc/passwd"
            archive.addfile(link)
    assert read(path) == []
    info = zipfile.ZipInfo("link.sgf")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    assert read(tmp_path / "x.zip") == []


def test_a_pipe_or_a_dead_link_in_a_folder_is_passed_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.sgf")
    (tmp_path / "dead.sgf").symlink_to(tmp_path / "nowhere")
    (tmp_path / "real.sgf").write_bytes(b"(;)")
    assert good(tmp_path) == [b"(;)"]


def test_an_archive_inside_an_archive_is_left_out(tmp_path: Path) -> None:
    inner = tar(tmp_path / "inner.tar.gz", GAMES).read_bytes()
    members = {"inner.tar.gz": inner, "1.sgf": b"(;1)"}
    for outer in (tar(tmp_path / "x.tar", members, "w"), zipped(tmp_path / "x.zip", members)):
        assert good(outer) == [b"(;1)"]
        assert reasons(outer) == [ARCHIVE_INSIDE]


def test_names_are_printable_and_short(tmp_path: Path) -> None:
    found = read(tar(tmp_path / "x.tar", {"a\n\x1b[31m" + "b" * 5000 + ".sgf": b"(;)"}, "w"))
    assert found[0].name.isprintable() and len(found[0].name) == MAX_NAME_LENGTH
    assert clean_name("\udce4.sgf") == "?.sgf"


# --------------------------------------------------------------------------------------------- broken ones


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "tar.bz2", "zip"])
def test_a_cut_archive_gives_the_records_before_the_cut_and_one_reason(tmp_path: Path, kind: str) -> None:
    many = records(40)
    modes = {"tar": "w", "tar.gz": "w:gz", "tar.bz2": "w:bz2"}
    whole = zipped(tmp_path / "x.zip", many) if kind == "zip" else tar(tmp_path / f"x.{kind}", many, modes[kind])
    data = whole.read_bytes()
    most = 0
    for share in (0.3, 0.5, 0.7):
        whole.write_bytes(data[: int(len(data) * share)])
        assert good(whole) == list(many.values())[: len(good(whole))]
        assert reasons(whole) == [ARCHIVE_CUT]
        most = len(good(whole))
    assert most >= 24 or kind == "tar.bz2"  # bzip2 unpacks blocks of 900 kB, or nothing


def test_a_damaged_archive_gives_a_reason(tmp_path: Path) -> None:
    path = tar(tmp_path / "x.tar.gz", records(40))
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 64] = bytes(64)
    path.write_bytes(data)
    assert len(reasons(path)) == 1


@given(st.sampled_from([".tar", ".tar.gz", ".tar.bz2", ".tar.xz", ".zip"]), st.binary(max_size=1500), st.booleans())
def test_junk_gives_one_reason(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, junk: bytes, headed: bool
) -> None:
    heads = {
        ".tar": b"",
        ".tar.gz": b"\x1f\x8b\x08\0",
        ".tar.bz2": b"BZh9",
        ".tar.xz": b"\xfd7zXZ\0",
        ".zip": b"PK\3\4",
    }
    path = tmp_path_factory.mktemp("junk") / f"junk{suffix}"
    path.write_bytes(heads.get(suffix, b"") * headed + junk)
    found = read(path)
    assert all(not record.reason for record in found[:-1])
    assert not found or found[-1].reason in (ARCHIVE_CUT, ARCHIVE_UNREADABLE, TOO_LARGE, "")


def test_an_encrypted_member_is_left_out(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", {"1.sgf": b"(;1)"})
    data = bytearray(path.read_bytes())
    for signature, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + place] |= 1
    path.write_bytes(data)
    assert good(path) == []
    assert len(reasons(path)) == 1


def test_reading_goes_no_further_than_it_is_asked(tmp_path: Path) -> None:
    """Records are streamed: the first is there before the second is read."""
    path = tmp_path / "x.tar"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        info = tarfile.TarInfo("1.sgf")
        info.size = 4
        archive.addfile(info, io.BytesIO(b"(;1)"))
    path.write_bytes(buffer.getvalue()[:1024])
    stream = iter_records([path])
    assert next(stream).data == b"(;1)"
    assert next(stream).reason == ARCHIVE_CUT
