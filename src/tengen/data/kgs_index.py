"""The index page of the KGS record site: which archives of strong players' games there are.

The page is one long HTML table, newest period first, with three rows a period: one for each archive format. All that
counts stands in the links, whose file names follow a pattern:

    https://dl.u-go.net/gamerecords/KGS-2016_05-19-1011-.tar.gz
                                        period  size games  format

so the parser looks at links only, and the table may be laid out, or left unclosed, as the site likes.
"""

import ast
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import unescape
from urllib.parse import urljoin, urlsplit

INDEX_URL = "https://u-go.net/gamerecords/"

FORMATS = ("tar.gz", "tar.bz2", "zip")
"""The archive formats of the site, best first: tar.gz unpacks fastest, zip is twice as large."""

_FILE_NAME = re.compile(
    r"(?P<name>KGS[0-9A-Za-z]*-(?P<period>\d{4}(?:_\d{2})?)-\d{1,2}-(?P<games>\d{1,9})-)"
    r"\.(?P<format>tar\.gz|tar\.bz2|zip)",
    re.ASCII,
)
# Not `html.parser`, which takes quadratic time over unclosed tags. A comment ends at the end of the page at the latest,
# and a value at the first quote of its kind, so nothing is read twice.
_LINK = re.compile(
    r"""<!--(?:[^-]++|-(?!->))*+|(?<![\w-])href\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'<>]++))""", re.IGNORECASE
)


@dataclass(frozen=True)
class Archive:
    """One archive of the index, in one to three formats."""

    name: str
    """The file name without its format: `KGS-2016_05-19-1011-`."""
    period: str
    """A year, `2015`, or a month, `2016-05`. Periods sort by time as text."""
    games: int
    """How many games are inside, by the file name."""
    urls: Mapping[str, str]
    """Where each format is, the best format first."""

    @property
    def year(self) -> int:
        return int(self.period[:4])

    def file_name(self, format: str) -> str:
        """The name under which the archive is served and stored."""
        return f"{self.name}.{format}"


def parse_index(page: bytes | str, url: str = INDEX_URL) -> list[Archive]:
    """Read an index page: its archives in the order of the page, each once, with all their formats.

    `url` is the page's own address, to which relative links refer. Links to anything else are ignored, so a page
    without archives gives an empty list. A page that some tool saved as the repr of a Python bytes object
    (`b'\\n<html>...'`) is read like any other.
    """
    found: dict[str, tuple[re.Match[str], dict[str, str]]] = {}
    for link in _links(_as_text(page)):
        try:
            address = urljoin(url, link.strip())
            parts = urlsplit(address)
        except ValueError:  # not an address at all: "http://["
            continue
        match = _FILE_NAME.fullmatch(parts.path.rpartition("/")[2])
        if match is not None and parts.scheme in ("http", "https"):
            _, urls = found.setdefault(match["name"], (match, {}))
            urls.setdefault(match["format"], address)
    return [
        Archive(
            name, match["period"].replace("_", "-"), int(match["games"]), {f: urls[f] for f in FORMATS if f in urls}
        )
        for name, (match, urls) in found.items()
    ]


def choose_archives(
    archives: Iterable[Archive], games: int | None = None, years: tuple[int, int] | None = None
) -> list[Archive]:
    """The archives that a sample needs: the newest ones that together hold `games` games, all if None.

    `years` is the first and the last year to take from.
    """
    newest_first = sorted(archives, key=lambda archive: archive.period, reverse=True)
    if games is not None and games < 1:
        raise ValueError(f"cannot fetch {games} games: ask for 1 or more")
    if years is not None:
        inside = [archive for archive in newest_first if years[0] <= archive.year <= years[1]]
        if newest_first and not inside:
            span = f"{newest_first[-1].year} to {newest_first[0].year}"
            raise ValueError(f"the index has no archive of {years[0]} to {years[1]}: it goes from {span}")
        newest_first = inside
    chosen: list[Archive] = []
    held = 0
    for archive in newest_first:
        if games is not None and held >= games:
            break
        chosen.append(archive)
        held += archive.games
    return chosen


def parse_years(text: str) -> tuple[int, int]:
    """The first and last year of `2016` or `2016-2018`; `2016-` and `-2018` leave one end open."""
    match = re.fullmatch(r"\s*+(\d{4})?\s*+(-)?\s*+(\d{4})?\s*+", text, re.ASCII)
    if match is None or not (match[1] or match[3]) or (match[1] and match[3] and not match[2]):
        raise ValueError(f"not a range of years: {text[:60]!r}; write 2016, 2016-2018, 2016- or -2018")
    first = int(match[1] or 1)
    last = int(match[3] or (9999 if match[2] else first))
    if last < first:
        raise ValueError(f"the years {text!r} run backwards; write {last}-{first}")
    return first, last


def _as_text(page: bytes | str) -> str:
    text = page.decode("utf-8", errors="replace") if isinstance(page, bytes) else page
    text = text.removeprefix("\ufeff").strip()
    if text[:2] in ("b'", 'b"'):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Python's remarks about escapes that it does not know
                saved = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return text  # cut short, perhaps: most links can be read even so
        return saved.decode("utf-8", errors="replace") if isinstance(saved, bytes) else text
    return text


def _links(text: str) -> list[str]:
    return [unescape(found[found.lastindex]) for found in _LINK.finditer(text) if found.lastindex]
