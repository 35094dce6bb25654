"""Twice the input takes about twice the time: every reader of foreign text, over inputs that repeat one piece.

A text that is read in quadratic time doubles into four times the work; a megabyte of it would keep the page's server
busy for minutes. The processor's time is measured, not the clock's, and a few doublings show it.
"""

import gc
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from itertools import product

import pytest
from starlette.datastructures import Headers

from tengen._text import one_line
from tengen.agents.registry import read_spec
from tengen.agents.uci import _option
from tengen.data.download import parse_index, parse_years
from tengen.data.records import handicap_of, komi_of, rank_of, read_game, result_of, year_of
from tengen.games import microchess
from tengen.games.go.sgf import read_sgf, rules_of
from tengen.games.microchess.game import from_pgn
from tengen.nets.registry import parse_network
from tengen.serve.gtp_protocol import GtpError, as_integer, as_number, read_commands
from tengen.serve.kata_query import parse_query
from tengen.serve.uci import parse_go, parse_option, parse_position, read_lines
from tengen.web.guard import _cookie, _is_same, _name
from tengen.web.inputs import read_any, safe_spec
from tengen.web.study import read_study

SMALL, LARGE, LARGEST = 1 << 13, 1 << 16, 1 << 20  # bytes; the largest is what a page may send
SLACK = 0.3  # seconds of the processor
GOOD = (b"(;SZ[5];B[aa];W[bb];B[cc])", b"1. Nb3 Bb4 *", b'{"game": "tictactoe", "options": {}, "moves": ["b2"]}')
JUNK = (b"", b"\0")


@dataclass(frozen=True)
class Reader:
    read: Callable[[bytes], object]
    pieces: str
    """What is repeated, by words."""
    before: tuple[bytes, ...] = (b"",)
    """What may stand before it."""
    after: tuple[bytes, ...] = (b"",)
    """What may stand behind it."""


def text(read: Callable[[str], object]) -> Callable[[bytes], object]:
    return lambda data: read(data.decode("utf-8", "replace"))


def facts(given: str) -> None:
    for fact in (rank_of, result_of, year_of, komi_of, handicap_of, rules_of):
        fact(given)  # type: ignore[operator]


def gtp(data: bytes) -> None:
    for command in read_commands(BytesIO(data)):
        for word in (command.name, *command.arguments):
            for read in (as_integer, as_number):
                try:
                    read(word)
                except GtpError:
                    pass


def uci(data: bytes) -> None:
    for line in read_lines(BytesIO(data)):
        one_line(line)
        for read in (parse_go, parse_option, parse_position):
            try:
                read(line.split()[1:])
            except ValueError:
                pass


def query(data: bytes) -> None:
    parse_query(json.loads(data), lambda state: True)


def headers(given: str) -> None:
    _cookie(Headers({"cookie": given}), "token")
    _is_same(given, "127.0.0.1")
    _name(f"//{given}")


_SGF = "( ; ) [ ] \\ { } ;B[] ;B[aa]W[bb] ;C[x] C[x] [x] ;AB[aa:ss] AB[aa] ;AE[aa] ;PL[B] (;B[aa]) ();) CA[ CA[x] XY x"
_SGF += " ;B[aa];W[] ;B[];W[] ;B[aa]C[\\\\]"
READERS = {
    "SGF": Reader(read_sgf, _SGF, (b"", b"(;", b"(;SZ[19]", b"(;B[dd]")),
    "training games": Reader(read_game, _SGF, (b"", b"(;", b"(;SZ[19]")),
    "studies": Reader(text(read_study), _SGF, (b"", b"(;SZ[5]", b"(;B[dd](;W[pp])")),
    "any record": Reader(text(read_any), '{ } [ ] " ( ; \\ "a": {"game": 1 [Event', (b"", b"{", b"[", b"(;")),
    "PGN": Reader(
        text(from_pgn),
        '{ } [ ] ( ) " ; % \\ \\" [a [a\t" [a\t"b"] [a" {} {x} $1 1. ... x 1.x Nb3 b1a3 ?! \n% +# 1.Nb3Nb3',
        (b"", b"{", b"[", b'[a "', b'[FEN "', b"1. ", b"1."),
        JUNK,
    ),
    "FEN": Reader(text(microchess.State.from_fen), "/ k 4 1 . - \t", (b"", b"knbr/p3/4/3P/RBNK ", b"k")),
    "KGS index": Reader(
        parse_index,
        '< > <a <a\thref= <a\thref=\' <a\thref="x"> <!-- <! <!- --> '
        "<!DOCTYPE <!D[ <? </ </a & &# <script> <![CDATA[ KGS- ' \"",
        (b"", b"<", b"<a ", b"<a href='", b"<script>", b"<textarea>", b"b'", b"<!", b"<!--", b"<a href=http://"),
        JUNK,
    ),
    "years": Reader(text(parse_years), "\t 1 2016 -", (b"", b"2016", b"2016-"), JUNK),
    "facts": Reader(
        text(facts), "\t 1 9d B B+ + 0 0. , . p w x 2016 \u7d1a", (b"", b"B", b"B+", b"9", b"9d", b"p", b"0"), JUNK
    ),
    "specs": Reader(text(lambda given: (read_spec(given), safe_spec(given))), ": , = a a=1, - .", (b"", b"uct:"), JUNK),
    "networks": Reader(text(parse_network), ": , = a a=1, - .", (b"", b"residual:"), JUNK),
    "GTP": Reader(gtp, "\t # \\ a 1 1. 1e - \n play\tb\tA1\n", (b"", b"1 ", b"play ")),
    "UCI": Reader(
        uci, "\t a 1 \n go\tdepth\t name value moves fen", (b"", b"go ", b"setoption name ", b"position fen ")
    ),
    "UCI options": Reader(
        text(_option), "\t type a default min 1 var", (b"option name ", b"option name a type combo "), JUNK
    ),
    "queries": Reader(
        query, '["B","C3"], [ 1, {"a": "x",', (b'{"id":"q","moves":[', b'{"id":"q","analyzeTurns":[', b"[", b'{"id":')
    ),
    "headers": Reader(
        text(headers), '; = a=" \\ \\" \\1 a=1; " , [ ] @ : / ? # a', (b"", b"a=", b'a="', b"http://"), JUNK
    ),
}


def seconds(read: Callable[[bytes], object], data: bytes) -> float:
    gc.disable()  # else it goes through all that other tests have left in memory
    began = time.process_time()
    try:
        read(data)
    except (ValueError, RecursionError, KeyError, AttributeError, TypeError):
        pass  # refused
    finally:
        gc.enable()
    return time.process_time() - began


def check(name: str, largest: int) -> None:
    reader = READERS[name]
    for good in GOOD:  # compiles what is not yet compiled
        seconds(reader.read, good)
    for before, word, after in product(reader.before, reader.pieces.split(" "), reader.after):
        piece = word.replace("\t", " ").encode()
        what, size, last = f"{before!r}, then {piece!r} again and again, then {after!r}", SMALL, None
        while size <= largest:
            whole, half = (before + piece * (bytes_ // len(piece)) + after for bytes_ in (size, size // 2))
            now = seconds(reader.read, whole)
            if last is not None and now > 3 * last + SLACK:  # once more: it may have been disturbed
                last, now = seconds(reader.read, half), seconds(reader.read, whole)
                assert now <= 3 * last + SLACK, f"{what}: {size} bytes take {now:.2f} s, half of it {last:.2f}"
            assert now < 1 + size / 1e6, f"{what}: {size} bytes take {now:.2f} s"
            last, size = now, 2 * size


@pytest.mark.parametrize("name", READERS)
def test_twice_the_text_takes_about_twice_the_time(name: str) -> None:
    check(name, LARGE)


@pytest.mark.long
@pytest.mark.parametrize("name", READERS)
def test_up_to_the_largest_that_a_page_may_send(name: str) -> None:
    check(name, LARGEST)
