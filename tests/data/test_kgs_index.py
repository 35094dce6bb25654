"""The index page is read in every age of its layout, and a sample takes only the archives that it needs."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tengen.data.kgs_index import Archive, choose_archives, parse_index, parse_years

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
