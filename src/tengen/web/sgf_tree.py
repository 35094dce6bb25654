"""SGF as a tree in which every node knows its place in the text, so that a change leaves all else as it was.

Reading is linear in the length of the text, and nesting has no limit. Writing puts pieces into the text: a comment at a
node, a variation behind one (`;a;b` becomes `;a(;b)(;c)`).
"""

import re
from dataclasses import dataclass, field
from typing import Final

_START = re.compile(r"\(\s*+;")
# A parenthesis or semicolon, a property's name, a value, or a character that does not belong there. One of them always
# matches where the last one ended, so reading is linear.
_TOKEN = re.compile(r"\s*+(?:([(;)])|([A-Za-z][A-Za-z0-9]*+)|\[((?:[^\\\]]++|\\.)*+)\]|(.)|\Z)", re.DOTALL)
_SMALL_LETTERS: Final = str.maketrans("", "", "abcdefghijklmnopqrstuvwxyz")
_ESCAPED = re.compile(r"\\(\r\n|\n\r|.)", re.DOTALL)


@dataclass
class Variation:
    """What is between two parentheses."""

    end: int = 0
    """Where its closing parenthesis is."""
    last: int = -1
    """Its last node."""


@dataclass
class SgfNode:
    """A node, with the values of its properties as they are written."""

    parent: int
    variation: Variation
    start: int
    """Where its semicolon is."""
    end: int = 0
    """Behind its last value."""
    values: dict[str, list[str]] = field(default_factory=dict)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Where the first value of each property is, without its brackets."""
    children: list[int] = field(default_factory=list)

    def text(self, name: str) -> str:
        """The first value of a property as people read it; empty if there is none."""
        return unescaped(self.values[name][0]) if name in self.values else ""


class SgfTree:
    """All games of a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.nodes: list[SgfNode] = []
        self.roots: list[int] = []
        self.is_cut_off = False
        start = _START.search(text)
        if start is not None:
            self._read(start.start())

    def _read(self, start: int) -> None:
        opened: list[tuple[Variation, int]] = []  # variations, and the node that each goes on from
        here, name = -1, ""
        for found in _TOKEN.finditer(self.text, start):
            mark, word, value, junk = found.groups()
            if junk == "[":  # it is never closed: the rest of the text is its value
                break
            if mark == "(":
                opened.append((Variation(), here))
                name = ""
            elif mark == ")":
                if opened:
                    variation, here = opened.pop()
                    variation.end = found.start(1)
                name = ""
            elif mark == ";" and opened:
                here = self._add(here, opened[-1][0], found.start(1), outermost=len(opened) == 1)
                name = ""
            elif word is not None:
                name = word if word.isupper() else word.translate(_SMALL_LETTERS) or word.upper()
            elif value is not None and opened and name and opened[-1][0].last >= 0:
                node = self.nodes[here]
                node.values.setdefault(name, []).append(value)
                node.places.setdefault(name, (found.start(3), found.end(3)))
                node.end = found.end()
        self.is_cut_off = bool(opened)
        for variation, _ in opened:
            variation.end = len(self.text)

    def _add(self, parent: int, variation: Variation, start: int, outermost: bool) -> int:
        number = len(self.nodes)
        if variation.last < 0 and outermost:
            parent = -1
        self.nodes.append(SgfNode(parent, variation, start, start + 1))
        variation.last = number
        (self.roots if parent < 0 else self.nodes[parent].children).append(number)
        return number

    def with_changes(self, values: dict[int, dict[str, str]], words: dict[int, str], additions: dict[int, str]) -> str:
        """The text with properties of nodes set to values, with words added to the comments of nodes, and behind nodes
        new variations, each in parentheses. Values and words are escaped here."""
        pieces: list[tuple[int, int, int, int, str]] = []  # from, to, order at one place (two numbers), the new text
        for number, changed in values.items():
            node = self.nodes[number]
            for name, value in changed.items():
                if name in node.places:
                    pieces.append((*node.places[name], 0, 0, escaped(value)))
                else:
                    pieces.append((node.end, node.end, 0, 0, f"{name}[{escaped(value)}]"))
        for number, text in words.items():
            node = self.nodes[number]
            if "C" in node.places:
                start, end = node.places["C"]
                pieces.append((end, end, 0, 0, "\n" * (end > start) + escaped(text)))
            else:
                pieces.append((node.end, node.end, 0, 1, f"C[{escaped(text)}]"))
        for number, text in additions.items():
            node = self.nodes[number]
            following = [child for child in node.children if self.nodes[child].variation is node.variation]
            end = node.variation.end
            for child in following:  # what comes next becomes a variation as well
                before = self.nodes[child].start
                pieces.append((before, before, 1, 0, "("))
                text = ")" + text
            pieces.append((end, end, 2, -number, text))  # inner ones, whose nodes come later, are closed first
        parts, at = list[str](), 0
        for start, stop, _, _, text in sorted(pieces, key=lambda piece: piece[:4]):
            parts += [self.text[at:start], text]
            at = stop
        return "".join([*parts, self.text[at:]])


def escaped(text: str) -> str:
    """A text as a value is written."""
    return text.replace("\\", "\\\\").replace("]", "\\]")


def unescaped(value: str) -> str:
    """The text of a value: escapes are resolved, and a line break that is escaped is none."""
    return _ESCAPED.sub(lambda found: "" if found[1][0] in "\r\n" else found[1], value)
