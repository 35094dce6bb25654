"""Results of matches that the page, the cards and docs/models.md quote are those of docs/lab/figures.toml."""

import re
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

from tengen.nets.model_file import read_card

ROOT: Final = Path(__file__).parent.parent
LAB: Final = ROOT / "docs" / "lab"
MATCHES: Final[list[dict[str, Any]]] = tomllib.loads((LAB / "figures.toml").read_text())["match"]
MODELS: Final = sorted((ROOT / "src" / "tengen" / "models").glob("*.safetensors"))
SHARE: Final = re.compile(r"\b(\d+(?:\.\d+)?)% of (\d{2,3})\b(?!,\d)")
WON: Final = re.compile(r"\b(\d+) of (\d{2,3})(?: games\b| against\b)")
COUNTS: Final = re.compile(r"\b(\d+) won, (\d+) lost, (\d+) drawn\b")


def score_of(match: dict[str, Any]) -> tuple[float, int]:
    """The share in percent, as precise as it is quoted, and the number of games."""
    if "share" in match:
        return float(match["share"].rstrip("%")), match["games"]
    games = match["won"] + match["drawn"] + match["lost"]
    return round(100 * (match["won"] + match["drawn"] / 2) / games, 1), games


def quoted(text: str) -> list[tuple[str, tuple[float, int]]]:
    """Every result of a match in a text, as it is written and as share and games."""
    found = [(m[0], (float(m[1]), int(m[2]))) for m in SHARE.finditer(text)]
    found += [(m[0], (round(100 * int(m[1]) / int(m[2]), 1), int(m[2]))) for m in WON.finditer(text)]
    for m in COUNTS.finditer(text):
        won, lost, drawn = int(m[1]), int(m[2]), int(m[3])
        found.append((m[0], (round(100 * (won + drawn / 2) / (won + lost + drawn), 1), won + lost + drawn)))
    return found


def sources() -> dict[str, str]:
    """The texts that quote results, by name."""
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in (ROOT / "docs" / "models.md",)}
    page = ROOT / "src" / "tengen" / "web" / "opponents.py"
    texts[str(page.relative_to(ROOT))] = page.read_text()
    return texts | {f"the card of {path.stem}": str(read_card(path).training.get("strength", "")) for path in MODELS}


def fits(said: tuple[float, int], known: tuple[float, int]) -> bool:
    return said[1] == known[1] and abs(said[0] - known[0]) < 0.051


@pytest.mark.parametrize("match", MATCHES, ids=lambda match: " - ".join(match["players"]))
def test_a_result_is_in_its_lab_page_word_for_word(match: dict[str, Any]) -> None:
    page = " ".join((LAB / match["page"]).read_text().split())
    assert match["quote"] in page, f"docs/lab/{match['page']} does not say {match['quote']!r}"
    share, games = score_of(match)
    numbers = {float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*(?:\.\d+)?", match["quote"])}
    assert (
        numbers >= {float(match[key]) for key in ("won", "drawn", "lost") if match.get(key)}
        or {share, games} <= numbers
    )


@pytest.mark.parametrize("name", sources())
def test_every_result_that_is_quoted_is_in_the_table(name: str) -> None:
    known = [score_of(match) for match in MATCHES]
    unknown = [text for text, said in quoted(sources()[name]) if not any(fits(said, one) for one in known)]
    assert not unknown, f"{name} quotes {', '.join(unknown)}, and docs/lab/figures.toml has no such match"


def test_every_row_of_the_table_is_quoted() -> None:
    said = [score for text in sources().values() for _, score in quoted(text)]
    unused = [match["players"] for match in MATCHES if not any(fits(score, score_of(match)) for score in said)]
    assert not unused, f"nothing quotes {unused}: remove them from docs/lab/figures.toml"


def test_results_are_found_in_the_ways_they_are_written() -> None:
    assert quoted("91.7% of 30 games, 60.0% of 200 (53% to 67%)") == [
        ("91.7% of 30", (91.7, 30)),
        ("60.0% of 200", (60, 200)),
    ]
    assert quoted("14 of 20 games; 100 of 100 against") == [
        ("14 of 20 games", (70, 20)),
        ("100 of 100 against", (100, 100)),
    ]
    assert quoted("98 won, 1 lost, 1 drawn")[0][1] == (98.5, 100)
    assert not quoted("96.4% of 3,083 positions, at least 3 of 4 games, 2 of 2 games of 250 moves")
