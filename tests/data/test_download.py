"""Downloads from a server on 127.0.0.1 that cuts, fails, stalls and lies: every archive arrives once, whole.

The index page is read in every age of its layout, and a sample takes only the archives that it needs.
"""

import bz2
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from tengen.cli.main import app
from tengen.data.download import (
    Archive,
    ArchiveSite,
    FolderInUse,
    Manifest,
    choose_archives,
    download_kgs,
    parse_index,
    parse_years,
    read_manifest,
)
from tengen.data.fetch import DownloadError, PartFile, Patience, Unreachable, Watcher, fetch_file, fetch_page

from ..program import COMMAND
from .record_site import MIDDLE, NEWEST, OLDEST, Handler, Site, archive, cut, fail, hold, instead

REAL = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Site() as site:
        thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield site
        site.release.set()
        site.shutdown()
        thread.join()


class Diary(Watcher):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.reasons: list[str] = []
        self.complaints: list[str] = []

    def waiting(self, name: str, reason: str, seconds: float) -> None:
        self.reasons.append(reason)

    def damaged(self, name: str, reason: str) -> None:
        self.complaints.append(f"{name} {reason}")


def fetch(site: Site, folder: Path, games: int | None = None, diary: Diary | None = None) -> list[str]:
    """Download from the site without ever waiting; the names of the archives that are there then."""
    diary = diary or Diary()
    patience = Patience(attempts=4, sleep=diary.waits.append, chance=lambda: 0.0)
    result = download_kgs(folder, games, source=ArchiveSite.at(mirror=site.url), patience=patience, watcher=diary)
    for path in result.paths:
        assert path.read_bytes() == site.files[path.name]
    assert not list(folder.glob("*.part*"))
    assert set(read_manifest(folder)) >= {path.name for path in result.paths}
    return [path.name for path in result.paths]


def test_all_archives_arrive_newest_first_and_once(site: Site, tmp_path: Path) -> None:
    assert fetch(site, tmp_path) == [NEWEST, MIDDLE, OLDEST]
    assert fetch(site, tmp_path) == [NEWEST, MIDDLE, OLDEST]
    assert site.archives_asked_for() == [(NEWEST, None), (MIDDLE, None), (OLDEST, None)]


def test_only_the_archives_that_the_sample_needs_are_fetched(site: Site, tmp_path: Path) -> None:
    assert fetch(site, tmp_path, games=12) == [NEWEST]
    assert fetch(site, tmp_path, games=13) == [NEWEST, MIDDLE]
    assert site.archives_asked_for() == [(NEWEST, None), (MIDDLE, None)]


def test_the_manifest_tells_what_is_there(site: Site, tmp_path: Path) -> None:
    fetch(site, tmp_path, games=1)
    (entry,) = json.loads((tmp_path / "manifest.json").read_text())["archives"]
    assert (entry["name"], entry["bytes"], entry["games"]) == (NEWEST, len(site.files[NEWEST]), 12)
    assert re.fullmatch("[0-9a-f]{64}", entry["sha256"])


@pytest.mark.parametrize("etag", ['"v1"', 'W/"weak"', None])
def test_a_cut_connection_is_resumed_where_it_broke(site: Site, tmp_path: Path, etag: str | None) -> None:
    site.etag, size = etag, len(site.files[NEWEST])
    cuts = [1, 1000, 1001, size - 1]
    site.mishaps[NEWEST] = [cut(0), *map(cut, cuts)]
    fetch(site, tmp_path, games=1)
    assert site.archives_asked_for() == [(NEWEST, None), (NEWEST, None), *((NEWEST, f"bytes={at}-") for at in cuts)]
    assert site.sent[NEWEST] == size


def test_cuts_that_get_farther_do_not_use_up_patience(site: Site, tmp_path: Path) -> None:
    site.mishaps[NEWEST] = [cut(at) for at in range(100, 2000, 100)]
    diary = Diary()
    fetch(site, tmp_path, games=1, diary=diary)
    assert diary.waits == [0.5] * 19


def test_a_server_that_ignores_ranges_sends_it_all_again(site: Site, tmp_path: Path) -> None:
    site.knows_ranges = False
    site.mishaps[NEWEST] = [cut(3000), cut(1000), cut(2000)]
    fetch(site, tmp_path, games=1)
    assert len(site.archives_asked_for()) == 4


def test_a_server_that_always_cuts_at_the_same_place_is_given_up(site: Site, tmp_path: Path) -> None:
    site.knows_ranges = False
    site.mishaps[NEWEST] = [cut(3000)] * 99
    with pytest.raises(Unreachable, match="gave up after 4 attempts"):
        fetch(site, tmp_path, games=1)


def test_a_file_that_changed_meanwhile_is_fetched_from_its_beginning(site: Site, tmp_path: Path) -> None:
    def change(handler: Handler, content: bytes) -> None:
        handler.serve(bytes(len(content)), 3000)  # the beginning of some other file
        site.etag = '"v2"'

    site.mishaps[NEWEST] = [change]
    fetch(site, tmp_path, games=1)


@pytest.mark.parametrize("etag", [None, '"v1"'])
def test_a_part_longer_than_the_file_is_thrown_away(site: Site, tmp_path: Path, etag: str | None) -> None:
    site.etag = etag
    (tmp_path / f"{NEWEST}.part").write_bytes(bytes(1 << 17))
    (tmp_path / f"{NEWEST}.part.json").write_text(json.dumps({"total": 1 << 18, "etag": etag, "modified": None}))
    fetch(site, tmp_path, games=1)


@pytest.mark.parametrize("version", [None, "", "[]", '{"total": "1"}', '{"total": [], "etag": 3, "modified": {}}'])
def test_a_part_of_unknown_origin_is_not_trusted(site: Site, tmp_path: Path, version: str | None) -> None:
    (tmp_path / f"{NEWEST}.part").write_bytes(b"something else")
    if version is not None:
        (tmp_path / f"{NEWEST}.part.json").write_text(version)
    fetch(site, tmp_path, games=1)
    assert site.archives_asked_for() == [(NEWEST, None)]


def test_passing_errors_are_tried_again_with_longer_waits(site: Site, tmp_path: Path) -> None:
    site.mishaps = {"": [fail(503, Retry_After="7")], NEWEST: [fail(500), fail(502), fail(429)]}
    diary = Diary()
    fetch(site, tmp_path, games=1, diary=diary)
    assert diary.waits == [7.0, 0.5, 1.0, 2.0]
    assert diary.reasons[1] == "500 Internal Server Error"


def test_waits_double_up_to_a_limit_and_vary_by_chance() -> None:
    always, never = Patience(longest_delay=6, chance=lambda: 0.0), Patience(longest_delay=6, chance=lambda: 1.0)
    assert [always.delay(failures) for failures in (1, 2, 3, 4, 5, 500)] == [0.5, 1, 2, 4, 6, 6]
    assert [never.delay(failures) for failures in (1, 2, 3, 4, 5, 500)] == [0.25, 0.5, 1, 2, 3, 3]


def test_a_missing_archive_does_not_keep_the_others_away(site: Site, tmp_path: Path) -> None:
    del site.files[MIDDLE]
    with pytest.raises(DownloadError, match=rf"^1 of 3 archives .*{MIDDLE}: 404 Not Found"):
        fetch(site, tmp_path)
    assert set(read_manifest(tmp_path)) == {NEWEST, OLDEST}
    assert site.archives_asked_for() == [(NEWEST, None), (MIDDLE, None), (OLDEST, None)]


def test_a_missing_format_is_replaced_by_another(site: Site, tmp_path: Path) -> None:
    site.files[""] = site.page(NEWEST.replace("tar.gz", "tar.bz2"), NEWEST)
    site.files[NEWEST.replace("tar.gz", "tar.bz2")] = b"not asked for"
    assert fetch(site, tmp_path) == [NEWEST]
    plain = gzip.decompress(site.files.pop(NEWEST))
    site.files[NEWEST.replace("tar.gz", "tar.bz2")] = bz2.compress(plain)
    assert fetch(site, tmp_path / "other") == [NEWEST.replace("tar.gz", "tar.bz2")]


def test_an_archive_that_arrives_truncated_is_fetched_again(site: Site, tmp_path: Path) -> None:
    site.mishaps[NEWEST] = [instead(site.files[NEWEST][:-1000])]
    diary = Diary()
    fetch(site, tmp_path, games=1, diary=diary)
    assert diary.complaints == [f"{NEWEST} is cut short: not a whole tar.gz file"]
    assert site.archives_asked_for() == [(NEWEST, None)] * 2


def test_an_archive_with_the_wrong_count_is_refused(site: Site, tmp_path: Path) -> None:
    site.files[NEWEST] = archive(11)
    with pytest.raises(DownloadError, match="holds 11 games where its name promises 12"):
        fetch(site, tmp_path, games=1)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("remembered", [True, False])
def test_a_damaged_archive_in_the_folder_is_fetched_again(site: Site, tmp_path: Path, remembered: bool) -> None:
    if remembered:
        fetch(site, tmp_path, games=1)
    (tmp_path / NEWEST).write_bytes(site.files[NEWEST][:-1000])
    assert fetch(site, tmp_path, games=1) == [NEWEST]


@pytest.mark.parametrize("manifest", [None, "", "{", "[]", '{"archives": [{"name": 1}]}'])
def test_good_archives_are_believed_after_a_look_when_the_manifest_is_lost(
    site: Site, tmp_path: Path, manifest: str | None
) -> None:
    (tmp_path / NEWEST).write_bytes(site.files[NEWEST])
    if manifest is not None:
        (tmp_path / "manifest.json").write_text(manifest)
    assert fetch(site, tmp_path, games=1) == [NEWEST]
    assert site.archives_asked_for() == []


def test_a_remembered_archive_is_not_read_again(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch(site, tmp_path)
    monkeypatch.setattr("tengen.data.download.verify_archive", None)
    monkeypatch.setattr("tengen.data.download.sha256_of", None)
    fetch(site, tmp_path)


def test_a_touched_archive_is_known_by_its_checksum(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch(site, tmp_path, games=1)
    os.utime(tmp_path / NEWEST, ns=(1, 1))
    monkeypatch.setattr("tengen.data.download.verify_archive", None)
    fetch(site, tmp_path, games=1)
    (tmp_path / NEWEST).write_bytes(bytes(len(site.files[NEWEST])))
    with closing(Manifest(tmp_path)) as manifest:
        assert manifest.trusted(tmp_path / NEWEST) is None


def test_a_page_without_archives_is_told(site: Site, tmp_path: Path) -> None:
    site.files[""] = b"<html>We have moved</html>"
    with pytest.raises(DownloadError, match="no archives on this page"):
        fetch(site, tmp_path)


def test_two_downloads_do_not_share_a_folder(site: Site, tmp_path: Path) -> None:
    with closing(Manifest(tmp_path)), pytest.raises(FolderInUse, match="another process"):
        fetch(site, tmp_path)


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", range(1, 7))
def test_killed_at_any_rename_nothing_is_fetched_twice(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int, after: bool
) -> None:
    """Each archive renames three files into place: its version, itself, and the manifest."""
    rename, calls = os.replace, Counter[str]()

    def replace(source: Path, target: Path) -> None:
        calls["replace"] += 1
        if calls["replace"] == step and not after:
            raise Killed
        rename(source, target)
        if calls["replace"] == step:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace)
        with pytest.raises(Killed):
            fetch(site, tmp_path, games=32)
    fetch(site, tmp_path, games=32)
    # The versions are written when headers have come and no byte of the body has been read.
    fetched_twice = {1: NEWEST, 4: MIDDLE}.get(step)
    expected = {name: len(site.files[name]) for name in (NEWEST, MIDDLE) if name != fetched_twice}
    assert {name: site.sent[name] for name in expected} == expected


def command(site: Site, folder: Path, *more: str) -> list[str]:
    return [sys.executable, "-c", COMMAND, "data", "download", "--mirror", site.url, "--out", str(folder), *more]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_a_stopped_command_goes_on_and_fetches_nothing_twice(site: Site, tmp_path: Path, how: signal.Signals) -> None:
    site.mishaps[MIDDLE] = [cut(4000), hold]  # when the rest is asked for, 4000 bytes are on disk
    with subprocess.Popen(command(site, tmp_path), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert site.held.wait(timeout=120)
        process.send_signal(how)
        told = process.stderr.read()
    assert (tmp_path / f"{MIDDLE}.part").stat().st_size == 4000
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert told.endswith("Run the same command to resume.\n")
        assert "Traceback" not in told
    site.release.set()
    result = subprocess.run(command(site, tmp_path), capture_output=True, text=True, check=True)
    assert result.stdout == f"62 games in 3 archives in {tmp_path}, 2 of them fetched now\n"
    assert site.archives_asked_for() == [
        (NEWEST, None), (MIDDLE, None), (MIDDLE, "bytes=4000-"), (MIDDLE, "bytes=4000-"), (OLDEST, None)
    ]  # fmt: skip
    assert {name: site.sent[name] for name in (NEWEST, MIDDLE, OLDEST)} == {
        name: len(site.files[name]) for name in (NEWEST, MIDDLE, OLDEST)
    }


runner = CliRunner()


def test_the_command_tells_what_it_did(site: Site, tmp_path: Path) -> None:
    options = ["--source", "kgs", "--mirror", site.url, "--out", str(tmp_path / "a")]
    result = runner.invoke(app, ["data", "download", *options, "--games", "100", "--years", "2016"])
    assert result.exit_code == 0
    assert result.stdout == f"32 games in 2 archives in {tmp_path / 'a'}, 2 of them fetched now\n"
    assert "There are only 32 games where you asked for 100." in result.stderr


def test_a_dry_run_fetches_no_archive(site: Site) -> None:
    result = runner.invoke(app, ["data", "download", "--mirror", site.url, "--games", "13", "--dry-run"])
    assert result.stdout.splitlines()[0] == f"2016-02       12 games  {site.url}/{NEWEST}"
    assert result.stdout.splitlines()[-1] == "2 archives, 32 games"
    assert site.archives_asked_for() == []


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--mirror", "{site}/nowhere"], "tengen: {site}/nowhere/: 404 Not Found"),
        (["--mirror", "somewhere"], "tengen: the mirror 'somewhere' is not an address"),
        (["--mirror", "{site}", "--years", "last"], "tengen: not a range of years: 'last'"),
        (["--index-url", "nothing.html"], "tengen: nothing.html: No such file or directory"),
        (["--index-url", "http://127.0.0.1:1/", "--attempts", "1"], "tengen: http://127.0.0.1:1/: "),
        (["--index-url", "http://[/", "--attempts", "1"], "tengen: http://[/: "),
        (["--index-url", "gopher://x/", "--attempts", "1"], "tengen: gopher://x/: "),
    ],
)
def test_mistakes_are_told_in_one_line(site: Site, tmp_path: Path, options: list[str], line: str) -> None:
    filled = [option.format(site=site.url) for option in options]
    result = runner.invoke(app, ["data", "download", "--out", str(tmp_path / "out"), *filled])
    assert result.exit_code == 2
    assert result.stderr.startswith(line.format(site=site.url))
    assert result.stderr.count("\n") == 1


def test_silence_counts_as_failure(tmp_path: Path) -> None:
    def silent(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("", request=request)

    waits: list[float] = []
    patience = Patience(attempts=3, sleep=waits.append, chance=lambda: 0.0)
    with httpx.Client(transport=httpx.MockTransport(silent)) as client:
        with pytest.raises(Unreachable, match="no answer in time; gave up after 3 attempts"):
            fetch_page(client, "http://127.0.0.1/", patience, Watcher())
        with pytest.raises(Unreachable, match="no answer in time"):
            fetch_file(client, "http://127.0.0.1/x", PartFile(tmp_path / "x"), patience, Watcher())
    assert waits == [0.5, 1.0] * 2


@pytest.mark.skipif(not (REAL / "kgs").is_dir(), reason="needs the real archives beside the repository")
@pytest.mark.parametrize("page", ["kgs_index-2019.html", "kgs_index-as-dlgo-saves-it.html"])
def test_real_archives_by_way_of_a_real_index(site: Site, tmp_path: Path, page: str) -> None:
    site.files[""] = (REAL / "kgs-index" / page).read_bytes()
    site.files |= {path.name: path.read_bytes() for path in (REAL / "kgs").glob("KGS-2017_1*")}
    result = download_kgs(tmp_path, 3000, (2017, 2017), source=ArchiveSite.at(mirror=site.url))
    assert (result.games, result.fetched) == (3784, 3)
    wanted = [archive for archive in parse_index(site.files[""]) if archive.period in ("2017-12", "2017-11", "2017-10")]
    assert [path.name for path in result.paths] == [archive.file_name("tar.gz") for archive in wanted]


@pytest.mark.skipif(not (REAL / "kgs-truncated").is_dir(), reason="needs the real archives beside the repository")
def test_the_real_truncated_archive_is_refused(site: Site, tmp_path: Path) -> None:
    name = "KGS-2005-19-13941-.tar.gz"
    site.files |= {"": site.page(name), name: (REAL / "kgs-truncated" / name).read_bytes()}
    with pytest.raises(DownloadError, match=f"{name}: is cut short"):
        fetch(site, tmp_path)
    assert len(site.archives_asked_for()) == 2


SAVED = Path(__file__).parents[3] / "shared" / "data" / "kgs-index"

# As the site writes it: a table that is never closed, three rows a period, other links around, links in comments.
PAGE = """

<!DOCTYPE html>
<html lang="en"><head><link rel="shortcut icon" href="https://dl.example/favicon.ico" /><title>u-go.net</title>
<!--[if lt IE 9]><a href="https://dl.example/gamerecords/KGS-1999-19-1-.zip">no</a><![endif]-->
<link href='//fonts.example/css?family=Simonetta' rel='stylesheet'></head>
<body><a href="/"><img src="https://dl.example/logo.jpg"></a> <a href="//db.example/">db</a> <a>nowhere</a>
<a href="http://[">broken</a> <a href="http://www.example.net/links/gamerecords/">Don't count on me</a>
<table class="table">
  <tr bgcolor="EEEEEE"><td></td><td>May 2016</td><td>1011</td>
    <td>.zip</td><td>0.9 MB</td><td><a href="https://dl.example/gamerecords/KGS-2016_05-19-1011-.zip">Download</a></td>
  </tr>
  <tr><td></td><td></td><td></td>
    <td>.tar.gz</td><td><a href="https://dl.example/gamerecords/KGS-2016_05-19-1011-.tar.gz">Download</a></td></tr>
  <tr><td>.tar.bz2<td><a href="https://dl.example/gamerecords/KGS-2016_05-19-1011-.tar.bz2">Download</a>
  <tr><td>2015<td>8133<td><A HREF='https://dl.example/gamerecords/KGS-2015-19-8133-.tar.gz'>Download</A>
  <tr><td>2014<td>7<td><a href=KGS-2014-19-7-.zip?from=index>Download</a>
              </div>
</body></html>
"""

ARCHIVES = [
    Archive(
        "KGS-2016_05-19-1011-",
        "2016-05",
        1011,
        {
            "tar.gz": "https://dl.example/gamerecords/KGS-2016_05-19-1011-.tar.gz",
            "tar.bz2": "https://dl.example/gamerecords/KGS-2016_05-19-1011-.tar.bz2",
            "zip": "https://dl.example/gamerecords/KGS-2016_05-19-1011-.zip",
        },
    ),
    Archive("KGS-2015-19-8133-", "2015", 8133, {"tar.gz": "https://dl.example/gamerecords/KGS-2015-19-8133-.tar.gz"}),
    Archive("KGS-2014-19-7-", "2014", 7, {"zip": "https://u-go.example/records/KGS-2014-19-7-.zip?from=index"}),
]


def archives(*periods_and_games: tuple[str, int]) -> list[Archive]:
    return [Archive(f"KGS-{period}-19-{games}-", period, games, {}) for period, games in periods_and_games]


@pytest.mark.parametrize(
    "page",
    [PAGE, PAGE.encode(), "\ufeff" + PAGE, repr(PAGE.encode()), repr(PAGE.encode()).encode(), PAGE + PAGE],
    ids=["text", "bytes", "byte order mark", "bytes repr", "bytes repr in bytes", "every link twice"],
)
def test_a_page_gives_each_archive_once_with_all_its_formats(page: bytes | str) -> None:
    assert parse_index(page, "https://u-go.example/records/") == ARCHIVES


def test_the_best_format_comes_first() -> None:
    assert list(parse_index(PAGE)[0].urls) == ["tar.gz", "tar.bz2", "zip"]


def test_a_bytes_repr_that_is_cut_short_still_gives_its_links() -> None:
    saved = repr(PAGE.encode())
    assert [archive.games for archive in parse_index(saved[: saved.index("8133-")])] == [1011]


@pytest.mark.parametrize(
    "link",
    [
        "https://dl.example/KGS-2016_05-19-1011-.tar.xz",
        "https://dl.example/KGS-2016_05-19-many-.zip",
        "https://dl.example/KGS-2016_05-19-.zip",
        "https://dl.example/KGS-2016_05-19-5-.zip/..",
        "https://dl.example/x?KGS-2016_05-19-5-.zip",
        "https://dl.example/KGS-..%2F..-19-5-.zip",
        "file:///KGS-2016_05-19-5-.zip",
        "javascript:KGS-2016_05-19-5-.zip",
        "",
    ],
)
def test_links_to_anything_else_are_ignored(link: str) -> None:
    assert parse_index(f'<a href="{link}">x</a>') == []


@given(st.one_of(st.text(), st.binary(), st.text("<!ab/'\"=>-[]? \\nKGS").map(lambda text: "b'" + text)))
def test_no_page_is_too_odd_to_be_read(page: bytes | str) -> None:
    assert parse_index(page) == []


@pytest.mark.skipif(not SAVED.is_dir(), reason="needs the saved index pages beside the repository")
@pytest.mark.parametrize(
    ("file", "count", "games", "newest"),
    [
        ("kgs_index-2018-12.html", 50, 220_617, "2018-11"),
        ("kgs_index-2019.html", 55, 228_849, "2019-04"),
        ("kgs_index-2023.html", 55, 228_849, "2019-04"),
        ("kgs_index-as-dlgo-saves-it.html", 55, 228_849, "2019-04"),
    ],
)
def test_the_real_pages_of_all_ages(file: str, count: int, games: int, newest: str) -> None:
    found = parse_index((SAVED / file).read_bytes())
    assert (len(found), sum(archive.games for archive in found)) == (count, games)
    assert (found[0].period, found[-1].period) == (newest, "2001")
    assert {tuple(archive.urls) for archive in found} == {("tar.gz", "tar.bz2", "zip")}


@pytest.mark.parametrize(
    ("games", "years", "expected"),
    [
        (None, None, ["2016-10", "2016-02", "2016-01", "2015"]),
        (1, None, ["2016-10"]),
        (10, None, ["2016-10"]),
        (11, None, ["2016-10", "2016-02"]),
        (10_000, None, ["2016-10", "2016-02", "2016-01", "2015"]),
        (None, (2015, 2015), ["2015"]),
        (21, (2000, 2016), ["2016-10", "2016-02", "2016-01"]),
    ],
)
def test_a_sample_takes_the_newest_archives_that_hold_it(
    games: int | None, years: tuple[int, int] | None, expected: list[str]
) -> None:
    there = archives(("2015", 5), ("2016-01", 10), ("2016-10", 10), ("2016-02", 10))
    assert [archive.period for archive in choose_archives(there, games, years)] == expected


def test_years_that_the_index_has_not_are_refused() -> None:
    with pytest.raises(ValueError, match="no archive of 1990 to 1999: it goes from 2001 to 2015"):
        choose_archives(archives(("2015", 5), ("2001", 5)), years=(1990, 1999))


def test_no_games_is_no_sample() -> None:
    with pytest.raises(ValueError, match="ask for 1 or more"):
        choose_archives([], games=0)


@pytest.mark.parametrize(
    ("text", "years"),
    [("2016", (2016, 2016)), ("2016-2018", (2016, 2018)), (" 2016 - ", (2016, 9999)), ("-2018", (1, 2018))],
)
def test_years_are_written_as_people_do(text: str, years: tuple[int, int]) -> None:
    assert parse_years(text) == years


@pytest.mark.parametrize("text", ["", "-", "16", "2016 2018", "2016-18", "2018-2016", "2016,2018"])
def test_odd_years_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write"):
        parse_years(text)
