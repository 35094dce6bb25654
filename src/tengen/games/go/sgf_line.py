"""The grammar of SGF, as far as a game needs it: the properties along the main line, in order. Fast and bounded.

Whatever the nesting, the main line is everything up to the first closing parenthesis that is not inside a value. So
there is no tree, no recursion and no stack; one regular expression, without backtracking, walks over the properties
once. Of a file with several games the first is read.
"""

import re
from collections.abc import Iterator

_START = re.compile(rb"\(\s*+;")
# One step along the main line: a value with the name of its property, the end of the line, junk, the end of the
# file. One of them always matches where the last step ended, so the walk is linear whatever comes.
_STEP = re.compile(rb"([\s;(]*+)(?:([A-Za-z]*+)\s*+\[((?:[^\\\]]++|\\.)*+)\]|(\))|(.)|\Z)", re.DOTALL)
_CUT = re.compile(rb"[A-Za-z]*+\s*+(?:\[(?:[^\\\]]++|\\.)*+\\?)?+\Z", re.DOTALL)
_SMALL_LETTERS = bytes(range(ord("a"), ord("z") + 1))


class NotSgf(ValueError):
    """Bytes that hold no game, or whose main line cannot be read."""


class CutOff(ValueError):
    """A file that ends before its game does."""


def properties(data: bytes) -> Iterator[tuple[bytes, bytes, bool, bool]]:
    """Every value along the main line: (name of its property in capitals, raw value with its escapes, whether it is a
    further value of the property before it, whether a node begins with it); NotSgf or CutOff where it does not go on.

    In old files long names stand for short ones: AddBlack is AB.
    """
    start = _START.search(data)
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
            last = name if name.isupper() else name.translate(None, _SMALL_LETTERS)
        yield last, value, not name, b";" in before
    raise CutOff("it ends before the game does")
