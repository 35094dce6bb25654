"""Korean: every message that the server sends to pages has a translation."""

import ast
import json
import re
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ERRORS = {"ValueError", "SpecError", "Busy"}
NOT_FOR_PAGES = {"app.py", "guard.py", "server.py", "connection.py"}


def patterns() -> list[re.Pattern[str]]:
    text = (ROOT / "web/src/server_words.ts").read_text("utf-8")
    return [re.compile(one.replace("\\/", "/")) for one in re.findall(r"^  \[/(.+)/, \"", text, re.MULTILINE)]


def sample(message: ast.expr) -> str | None:
    """A message with a 7 in each of its gaps; None where the message is a name."""
    if isinstance(message, ast.Constant) and isinstance(message.value, str):
        return message.value
    if isinstance(message, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "7" for part in message.values)  # type: ignore[misc]
    return None


def messages() -> list[str]:
    found = list[str]()
    for file in sorted([*(ROOT / "src/tengen/web").glob("*.py"), ROOT / "src/tengen/search/life_and_death.py"]):
        if file.name in NOT_FOR_PAGES:
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            call = node.exc if isinstance(node, ast.Raise) else None
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ERRORS and call.args:
                text = sample(call.args[0])
                if text is not None:
                    found.append(text)
    return sorted({*found})


@pytest.mark.parametrize("message", messages())
def test_every_message_has_a_translation(message: str) -> None:
    assert any(pattern.search(message) for pattern in patterns()), message


def test_descriptions_and_results_are_translated() -> None:
    known = patterns()
    for text in (
        "9x9, chinese rules, komi 7.5", "19x19, japanese rules, komi 0.5, 2 handicap stones",
        "Microchess, standard rules, no double step", "B+R", "W+3.5", "Void", "0", "1-0",
        "Black 41, White 40 + 7.5 komi; no dead stones.",
    ):  # fmt: skip
        assert any(pattern.search(text) for pattern in known), text


def korean(text: str) -> str:
    """As the page translates it, part by part."""
    source = (ROOT / "web/src/server_words.ts").read_text("utf-8")
    for pattern, words in re.findall(r"^  \[/(.+)/, \"(.*)\"\],$", source, re.MULTILINE):
        if found := re.search(pattern.replace("\\/", "/"), text):
            for place, part in enumerate(found.groups(""), 1):
                words = words.replace(f"${place}", part if re.fullmatch(r"[-\d.]*", part) else korean(part))
            return words
    return text


def charted() -> list[str]:
    """The numbers of runs of every kind that the page draws."""
    groups = re.findall(r"^  \[\"\w+\", /(.+)/\],$", (ROOT / "web/src/learn.tsx").read_text("utf-8"), re.MULTILINE)
    assert len(groups) > 3
    names = set[str]()
    for file in (ROOT / "tests/artefacts").glob("*/*.tar.xz"):
        with tarfile.open(file) as archive:
            for member in archive.getmembers():
                if member.name.endswith("metrics.jsonl"):
                    content = archive.extractfile(member)
                    assert content is not None
                    lines = [
                        json.loads(line) for line in content.read().splitlines(keepends=True) if line.endswith(b"\n")
                    ]
                    names |= {key for line in lines for key, value in line.items() if isinstance(value, int | float)}
    return sorted(name for name in names if any(re.search(group, name) for group in groups))


@pytest.mark.parametrize("name", charted())
def test_every_number_that_is_drawn_has_a_name(name: str) -> None:
    shown = korean(name.replace("_", " "))
    assert not re.search(r"[a-z]", shown.replace("Elo", "")), shown
