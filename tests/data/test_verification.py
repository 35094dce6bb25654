"""An archive is good only if it can be read to its last byte and holds as many records as it should."""

import bz2
import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tengen.data.download import BrokenArchive, count_records, verify_archive

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
