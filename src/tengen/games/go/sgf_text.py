"""The text of SGF files: their encoding, the properties along the main line, and whole trees. No rule of Go is asked.

| layer     | function           | what it gives                                                                  |
|-----------|--------------------|--------------------------------------------------------------------------------|
| encoding  | `decoded(data)`    | the text, and the encoding that gives the same bytes back                      |
| main line | `properties(data)` | the values along the first variation, one after the other: for many records    |
| tree      | `SgfTree(text)`    | all games and variations; a change leaves all else as it was, byte for byte    |

`sgf.py` makes records and games of it, `data/records.py` compact games, and `web/study.py` trees of positions.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

_VALUE: Final = r"\[((?:[^\\\]]++|\\.)*+)\]"
_START = re.compile(r"\(\s*+;")
_BEGIN = re.compile(rb"\(\s*+;")


# --------------------------------------------------------------------------------------- the main line
# As far as a game needs it: its properties, in order. Fast and bounded.
#
# Whatever the nesting, the main line is everything up to the first closing parenthesis that is not inside a value. So
# there is no tree, no recursion and no stack; one regular expression, without backtracking, walks over the properties
# once. Of a file with several games the first is read.

# One step along the main line: a value with the name of its property, the end of the line, junk, the end of the
# file. One of them always matches where the last step ended, so the walk is linear whatever comes.
_STEP = re.compile(rf"([\s;(]*+)(?:([A-Za-z]*+)\s*+{_VALUE}|(\))|(.)|\Z)".encode(), re.DOTALL)
_CUT = re.compile(rb"[A-Za-z]*+\s*+(?:\[(?:[^\\\]]++|\\.)*+\\?)?+\Z", re.DOTALL)
_SMALL_BYTES = bytes(range(ord("a"), ord("z") + 1))


class NotSgf(ValueError):
    """Bytes that hold no game, or whose main line cannot be read."""


class CutOff(ValueError):
    """A file that ends before its game does."""


def properties(data: bytes) -> Iterator[tuple[bytes, bytes, bool, bool]]:
    """Every value along the main line: (name of its property in capitals, raw value with its escapes, whether it is a
    further value of the property before it, whether a node begins with it); NotSgf or CutOff where it does not go on.

    In old files long names stand for short ones: AddBlack is AB.
    """
    start = _BEGIN.search(data)
    if start is None:
        raise NotSgf("no SGF in it")
    last = b""
    for found in _STEP.finditer(data, start.start()):
        before, name, value, closing, junk = found.groups()
        if value is None:
            if closing:
                return
            if not junk or _CUT.match(data, found.start(5)):
                break
            raise NotSgf(f"unexpected {chr(junk[0])!r} at byte {found.start(5)}")
        if name:
            last = name if name.isupper() else name.translate(None, _SMALL_BYTES)
        yield last, value, not name, b";" in before
    raise CutOff("it ends before the game does")


# -------------------------------------------------------------------------------------------- the tree
# Every node knows its place in the text. Reading is linear in the length of the text, and nesting has no limit. Writing
# puts pieces into the text: a comment at a node, a variation behind one (`;a;b` becomes `;a(;b)(;c)`).

# A parenthesis or semicolon, a property's name, a value, or a character that does not belong there. One of them always
# matches where the last one ended, so reading is linear.
_TOKEN = re.compile(rf"\s*+(?:([(;)])|([A-Za-z][A-Za-z0-9]*+)|{_VALUE}|(.)|\Z)", re.DOTALL)
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


# ----------------------------------------------------------------------------------- the text encoding
# UTF-8, what `CA` names, or what the bytes look like.
#
# A file must be decoded before it is parsed: in Chinese and Japanese encodings the second byte of a character may be a
# bracket or a backslash.

_FIND = re.compile(rb"(?<![A-Za-z])CA\s*\[\s*([^\]\s]{1,40})\s*\]")
_WIDER: Final = {"gb2312": "gb18030", "gbk": "gb18030", "euc_kr": "cp949", "shift_jis": "cp932", "big5": "cp950"}
"""Files use characters that only the wider encoding of the same family has."""
_PLAIN: Final = ("ascii", "utf-8", "iso8859-1", "cp1252")
_SAMPLE: Final = "(;C[\\]a])"
_LEAST: Final = 0.25  # of the characters beyond ASCII that must be everyday ones
_LONGEST: Final = 20_000  # bytes that are looked at
_EVERYDAY: Final = {
    "cp949": "이가는다을에의한국수프로단기전백흑대회제승선바둑사집패불계년월일시간장소김박정최조강윤임오서신권황안송류"
    "홍성남배유민영재현우준호진석철창훈동원상인규태경희덤반면목결본도예리그왕위명초스들고하지만은를나라것보어"
    "아있습니까했음공짜여자덕차해점귀변중앙돌따냄강타협회문화여류",
    "gb18030": "的一是不了在有人这中国棋手黑白先胜负半目子年月日赛届第冠军名段局盘贴超时认输围甲天元王战本因坊李张刘陈"
    "杨赵周吴徐孙马朱胡郭何高林罗郑梁谢宋唐许邓冯韩曹曾彭蔡潘田董袁于余叶蒋杜苏魏程吕丁沈任姚卢姜崔钟谭陆汪范金"
    "石常昊古力孔杰聂卫平昌镐上下左右大小飞关跳断接点角边星三连好死活劫争率网络对弈比分解说评论结果时间地点东"
    "西北京上海韩日级个到为以可就后前里",
    "cp950": "的一是不了在有人這中國棋手黑白先勝負半目子年月日賽屆第冠軍名段局盤貼超時認輸圍甲天元王戰本因坊李張劉陳楊"
    "趙周吳徐孫馬朱胡郭何高林羅鄭梁謝宋唐許鄧馮韓曹曾彭蔡潘田董袁於余葉蔣杜蘇魏程呂丁沈任姚盧姜崔鐘譚陸汪範金"
    "石上下左右大小飛關跳斷接點角邊星三連好死活劫爭網對弈解說評論結果間地",
    "cp932": "".join(map(chr, range(0x3041, 0x30FB)))
    + "本因坊戦名人段目勝先番碁聖天元王座十杯第期局黒白中押半込手日年月棋院対趙治勲小林光一武宮正樹加藤夫大竹英"
    "雄山下敬吾張井裕太高尾紳路",
}
_EVERYDAY_SETS: Final = {name: frozenset(text) for name, text in _EVERYDAY.items()} | {
    "euc_jp": frozenset(_EVERYDAY["cp932"])
}


def decoded(data: bytes) -> tuple[str, str]:
    """The text of a file, and the encoding that gives these very bytes back."""
    for name in _likely(data):
        try:
            text = data.decode(name)
        except UnicodeError:
            continue
        if text.encode(name) == data:
            return text, name
    return data.decode("latin-1"), "latin-1"


def as_utf8(data: bytes) -> bytes:
    """The whole file in UTF-8 if its encoding is known, else as it is."""
    if data.isascii() and (declared(data) or "ascii") in _PLAIN:
        return data
    text, name = decoded(data)
    return data if name == "latin-1" else text.removeprefix("\ufeff").encode()


def declared(data: bytes) -> str | None:
    """The encoding that a file declares, if Python knows it and plain ASCII stays itself in it."""
    found = _FIND.search(data)
    if found is None:
        return None
    try:
        name = codecs.lookup(found[1].decode("ascii")).name
        return _WIDER.get(name, name) if _SAMPLE.encode(name) == _SAMPLE.encode("ascii") else None
    except (LookupError, ValueError, TypeError, AttributeError):  # unknown, or a codec that is not for text
        return None


def detected(data: bytes) -> str | None:
    """The East Asian encoding in which most characters of a file are everyday ones, or None."""
    sample = data[:_LONGEST]
    found = list[tuple[float, str]]()
    for name, everyday in _EVERYDAY_SETS.items():
        decoder = codecs.getincrementaldecoder(name)("strict")
        try:
            text = decoder.decode(sample, final=len(sample) == len(data))
        except UnicodeError:
            continue
        foreign = [letter for letter in text if letter > "\x7f"]
        found.append((sum(letter in everyday for letter in foreign) / max(1, len(foreign)), name))
    share, name = max(found, default=(0.0, ""))
    return name if share >= _LEAST else None


def _likely(data: bytes) -> Iterator[str]:
    """Encodings to try, the likeliest first."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        yield "utf-16-le" if data.startswith(codecs.BOM_UTF16_LE) else "utf-16-be"
    known = declared(data)
    if known is not None and data.isascii():  # one that shifts between sets of characters
        yield known
    yield "utf-8"
    yield from filter(None, [known])
    yield from filter(None, [detected(data)])
