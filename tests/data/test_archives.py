"""Archives: every kind gives the same records, and none can escape, swell, hang or break the reading.

A downloaded one is good only if it can be read to its last byte and holds as many records as it should.
"""

import bz2
import gzip
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
    FILE_UNREADABLE,
    LOOSE_FILES,
    MAX_NAME_LENGTH,
    MAX_PASSED_BYTES,
    MAX_RECORD_BYTES,
    TOO_LARGE,
    BrokenArchive,
    RecordFile,
    _TooMuch,
    _Unpacked,
    clean_name,
    count_records,
    find_sources,
    iter_records,
    verify_archive,
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
    path = tmp_path / "x.tar"
    for size, reason in ((1 << 40, TOO_LARGE), ((1 << 30) + 1, TOO_LARGE), (1 << 30, ARCHIVE_CUT)):
        header.size = size
        path.write_bytes(header.tobuf(tarfile.GNU_FORMAT) + bytes(4096))
        assert reasons(path) == [reason]


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


# ------------------------------------------------------------------------------------------ to the last byte


def test_a_record_of_just_the_largest_size_is_taken(tmp_path: Path) -> None:
    members = {"1.sgf": bytes(MAX_RECORD_BYTES), "2.sgf": bytes(MAX_RECORD_BYTES + 1)}
    folder = loose(tmp_path / "x", members)
    for packed in (folder, tar(tmp_path / "x.tar", members, "w"), zipped(tmp_path / "x.zip", members)):
        assert [(len(one.data), one.reason) for one in read(packed)] == [(MAX_RECORD_BYTES, ""), (0, TOO_LARGE)]


def test_unpacking_stops_after_what_was_allowed() -> None:
    stream = _Unpacked(io.BytesIO(bytes(2 * MAX_RECORD_BYTES + 8)))  # type: ignore[arg-type]
    assert len(stream.read(MAX_RECORD_BYTES)) == MAX_RECORD_BYTES
    stream.allow(3)
    assert len(stream.read(MAX_RECORD_BYTES + 3)) == MAX_RECORD_BYTES + 3 and stream.is_whole
    with pytest.raises(_TooMuch):
        stream.read(1)
    stream.allow(MAX_PASSED_BYTES)
    with pytest.raises(_TooMuch):
        stream.allow(MAX_PASSED_BYTES + 1)


def test_the_end_of_a_tar_is_known_by_its_last_block() -> None:
    for parts, whole in (([512], True), ([511], False), ([500, 12], True), ([1000], True), ([], False)):
        stream = _Unpacked(io.BytesIO(bytes(sum(parts))))  # type: ignore[arg-type]
        for size in parts:
            stream.read(size)
        assert stream.is_whole is whole
    stream = _Unpacked(io.BytesIO(b"x" + bytes(511)))  # type: ignore[arg-type]
    assert len(stream.read(600)) == 512 and not stream.is_whole


def test_how_much_was_read_is_told_with_each_record(tmp_path: Path) -> None:
    members = {"1.sgf": b"(;1)", "2.sgf": b"(;two)", "notes.txt": b"no record"}
    (source,) = find_sources([loose(tmp_path / "x", members)])
    assert [position for _, position in source.records()] == [4, 10] and source.bytes == 10
    assert source.name == "1.sgf" and source.names == ("1.sgf", "2.sgf")
    big = {f"{number}.sgf": os.urandom(30_000) for number in range(20)}
    for archive in (tar(tmp_path / "x.tar.gz", big), zipped(tmp_path / "x.zip", big)):
        (source,) = find_sources([archive])
        positions = [position for _, position in source.records()]
        assert positions == sorted(positions) and len(set(positions)) > 3
        assert source.bytes == archive.stat().st_size >= positions[-1] > source.bytes * 0.9
        archive.write_bytes(archive.read_bytes()[: source.bytes // 2])
        *_, (record, position) = find_sources([archive])[0].records()
        assert record.reason == ARCHIVE_CUT and position > source.bytes * 0.3


def test_what_is_no_record_is_passed_over_in_every_packing(tmp_path: Path) -> None:
    members = {"notes.txt": b"no record", "1.sgf": b"(;1)", "sgf": b"no record"}
    for packed in (
        loose(tmp_path / "x", members),
        tar(tmp_path / "x.tar", members, "w"),
        zipped(tmp_path / "x.zip", members),
    ):
        assert good(packed) == [b"(;1)"] and reasons(packed) == []


def test_a_link_to_an_archive_is_no_archive(tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w") as archive:
        link = tarfile.TarInfo("inner.zip")
        link.type, link.linkname = tarfile.SYMTYPE, "other.zip"
        archive.addfile(link)
    assert read(path) == []


def test_a_name_is_cut_at_its_front() -> None:
    longest = "a" * MAX_NAME_LENGTH
    assert clean_name(longest) == longest
    assert clean_name("b" + longest) == "..." + longest[3:]
    assert clean_name("a" * 2 * MAX_NAME_LENGTH + "b" * 100) == "..." + longest[3:]


def packed_zip(path: Path, compression: int = zipfile.ZIP_DEFLATED) -> Path:
    """A zip as other programs make them: kinds of files, fields of their own, names of all the world."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in (("é/바둑.sgf", b"(;1)"), ("plain.sgf", b"(;2)"), ("notes.txt", b"no"), ("3.sgf", b"(;3)")):
            info = zipfile.ZipInfo(name)
            info.compress_type, info.external_attr = compression, 0o100644 << 16
            info.extra = b"\xfe\xca\x03\x00abc" if name == "plain.sgf" else b""
            archive.writestr(info, data)
    return path


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_zip_without_its_list_gives_the_same_records(tmp_path: Path, compression: int) -> None:
    path = packed_zip(tmp_path / "x.zip", compression)
    whole = read(path)
    assert [record.data for record in whole] == [b"(;1)", b"(;2)", b"(;3)"]
    assert whole[0].name == "x.zip/é/바둑.sgf"
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b"PK\x01\x02")])
    assert read(path)[:-1] == whole and reasons(path) == [ARCHIVE_CUT]
    path.write_bytes(data[: data.index(b"PK\x01\x02") - 1])  # within the last member
    *_, last = read(path)
    assert read(path)[:-1] == whole[:2] and "within a member" in last.detail


def test_names_of_old_zips_are_those_of_dos(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", {"A.sgf": b"(;1)"})
    data = path.read_bytes().replace(b"A.sgf", b"\x81.sgf")
    path.write_bytes(data)
    whole = read(path)
    path.write_bytes(data[: data.index(b"PK\x01\x02")])
    assert whole[0].name == read(path)[0].name == "x.zip/ü.sgf"


@pytest.mark.parametrize(
    ("place", "value"),
    [(6, 0x1), (6, 0x8), (8, 12), (18, MAX_RECORD_BYTES + 1)],
    ids=["encrypted", "of unknown length", "packed in another way", "too large"],
)
def test_a_cut_zip_ends_where_a_member_cannot_be_read(tmp_path: Path, place: int, value: int) -> None:
    path = zipped(tmp_path / "x.zip", {"1.sgf": b"(;1)", "2.sgf": b"(;2)"})
    data = bytearray(path.read_bytes())
    second = data.index(b"PK\x03\x04", 4)
    data[second + place : second + place + 4 if place == 18 else second + place + 2] = value.to_bytes(
        4 if place == 18 else 2, "little"
    )
    path.write_bytes(data[: data.index(b"PK\x01\x02")])
    *before, last = read(path)
    assert [record.data for record in before] == [b"(;1)"]
    assert last.reason == ARCHIVE_CUT and "'2.sgf' cannot be read without" in last.detail


def test_a_bomb_in_a_cut_zip_is_left_out(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", {"bomb.sgf": bytes(5 * MAX_RECORD_BYTES), "1.sgf": b"(;1)"})
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b"PK\x01\x02")])
    assert good(path) == [b"(;1)"] and reasons(path) == [TOO_LARGE, ARCHIVE_CUT]


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    folder = loose(tmp_path / "x", {"1.sgf": b"(;1)", "2.sgf": b"(;2)"})
    (source,) = find_sources([folder])
    (folder / "1.sgf").unlink()
    records = [record for record, _ in source.records()]
    assert [(one.data, one.reason) for one in records] == [(b"", FILE_UNREADABLE), (b"(;2)", "")]
    assert records[0].detail == "No such file or directory"


FORMATS = ["tar.gz", "tar.bz2", "zip"]
TRUNCATED = Path(__file__).parents[3] / "shared" / "data" / "kgs-truncated" / "KGS-2005-19-13941-.tar.gz"


def record(number: int) -> bytes:
    return b"(;GM[1]FF[4]SZ[19]C[%d];B[pd];W[dp])" % (number**7)


def pack(format: str, games: int) -> bytes:
    """An archive as the site packs it: one folder, the records in it, and a file that is no record."""
    buffer = io.BytesIO()
    members = [(f"kgs-19/2016-05-{number}.sgf", record(number)) for number in range(games)]
    members.append(("kgs-19/README", b"not a game"))
    if format == "zip":
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("kgs-19/", b"")
            for name, content in members:
                archive.writestr(name, content)
        return buffer.getvalue()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        folder = tarfile.TarInfo("kgs-19/folder.sgf")  # a folder is no record, whatever its name
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    compress = gzip.compress if format == "tar.gz" else bz2.compress
    return compress(buffer.getvalue())


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("games", [0, 1, 30])
def test_records_are_counted(format: str, games: int, tmp_path: Path) -> None:
    path = tmp_path / "archive"
    path.write_bytes(pack(format, games))
    assert count_records(path, format) == games
    verify_archive(path, format, games)
    with pytest.raises(BrokenArchive, match=f"holds {games} games where its name promises 7"):
        verify_archive(path, format, 7)


@pytest.mark.parametrize("format", FORMATS)
def test_an_archive_cut_short_anywhere_is_found_out(format: str, tmp_path: Path) -> None:
    whole, path = pack(format, 5), tmp_path / "archive"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(BrokenArchive):
            verify_archive(path, format, 5)


@pytest.mark.parametrize("format", FORMATS)
def test_damage_never_gets_out_as_another_error(format: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    whole, path = pack(format, 5), tmp_path_factory.mktemp("damage") / "archive"

    @given(st.integers(0, len(whole) - 1), st.binary(min_size=1, max_size=4))
    def damage(place: int, junk: bytes) -> None:
        path.write_bytes(whole[:place] + junk + whole[place + len(junk) :])
        try:
            verify_archive(path, format, 5)
        except BrokenArchive:
            pass

    damage()


@pytest.mark.parametrize("format", FORMATS)
def test_a_page_of_html_is_no_archive(format: str, tmp_path: Path) -> None:
    path = tmp_path / "archive"
    path.write_bytes(b"<html>Please log in to this network</html>" * 100)
    with pytest.raises(BrokenArchive):
        count_records(path, format)


def test_a_file_that_is_not_there_is_not_called_broken(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        count_records(tmp_path / "archive", "tar.gz")


@pytest.mark.skipif(not TRUNCATED.exists(), reason="needs the real truncated archive beside the repository")
def test_the_real_truncated_archive_is_found_out() -> None:
    with pytest.raises(BrokenArchive, match="cut short"):
        verify_archive(TRUNCATED, "tar.gz", 13941)
