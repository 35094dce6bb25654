"""What the text properties of game records mean: ranks, results, dates, komi. Nonsense is "unknown", never an error.

| fact   | value                                                             | unknown          |
|--------|-------------------------------------------------------------------|------------------|
| rank   | 30 kyu to 1 kyu: -30 to -1; 1 to 9 dan: 1 to 9; 1 to 9 pro: 11 to 19 | 0                |
| result | winner BLACK, WHITE or EMPTY (a draw), margin in points           | EMPTY, nan       |
| year   | of the (first) date                                               | 0                |
| komi   | in points                                                         | nan              |
"""

import math
import re
from typing import Final

from tengen.games.go import BLACK, EMPTY, WHITE
from tengen.games.go.sgf import in_points

PRO: Final = 10  # added to the dan of a professional
_RANK = re.compile(r"\s*(?:p\s*(\d{1,2})|(\d{1,2})\s*(?:([k級级급])|([d段단])\w*\W*(?:(pro)\b)?|p))", re.IGNORECASE)
_RESULT = re.compile(r"\s*([BW])\w*\s*\+\s*([0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)?", re.IGNORECASE)
_DRAW = re.compile(r"\s*(?:0(?:\.0)?|draw|jigo|tie)\s*$", re.IGNORECASE)
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")


def rank_of(text: str) -> int:
    """`7d` is 7, `6d?` 6, `12k` -12, `9p` and `P9` 19, `9 dan pro` 19; anything else 0."""
    found = _RANK.match(text)
    number = int(found[1] or found[2]) if found else 0
    if found is None or number == 0:
        return 0
    if found[3]:
        return -min(number, 30)
    is_amateur = found[4] and not found[5]
    return min(number, 9) + (0 if is_amateur else PRO)


def result_of(text: str) -> tuple[int, float]:
    """The winner, and by how much if it was counted: `B+3.5`, `W+Resign`, `B+Time`, `0`, `Draw`, ..."""
    if _DRAW.match(text):
        return EMPTY, 0.0
    found = _RESULT.match(text)
    if found is None:
        return EMPTY, math.nan
    margin = float(found[2].replace(",", ".")) if found[2] else math.nan
    return BLACK if found[1] in "Bb" else WHITE, margin if margin <= 1000 else math.nan


def year_of(text: str) -> int:
    """The year of a date such as `2016-05-10` or `Published on 1 May 1933`; 0 without one."""
    found = _YEAR.search(text)
    return int(found[1]) if found else 0


def komi_of(text: str) -> float:
    """Komi in points; 3.75 and 375 are the 7.5 points that Chinese servers count as stones."""
    try:
        komi = float(text.replace(",", "."))
    except ValueError:
        return math.nan
    komi = in_points(komi)
    return komi if abs(komi) <= 1000 else math.nan


def handicap_of(text: str) -> int | None:
    """The number of handicap stones, None without one."""
    return int(text) if re.fullmatch(r"[0-9]{1,2}", text) else None
