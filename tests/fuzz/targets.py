"""What is fuzzed: every reader of what comes from outside. It may refuse any bytes, but must not fail over them."""

import io
import json
import re
import socket
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tengen.agents.registry import load_agent, load_analyst, read_spec
from tengen.data.archives import iter_records
from tengen.data.download import parse_index, parse_years
from tengen.data.records import read_game
from tengen.games import microchess
from tengen.games.go.rules import GoOptions
from tengen.games.go.sgf import SgfError, read_sgf, write_sgf
from tengen.games.microchess.game import from_pgn
from tengen.nets.model_file import ModelCard, ModelFileError, read_card, read_model, save_model
from tengen.nets.network import build_network
from tengen.nets.registry import describe_network, parse_network
from tengen.serve.gtp import GtpServer
from tengen.serve.kata import KataServer
from tengen.serve.uci import UciServer
from tengen.web.app import WebConfig
from tengen.web.connection import FAILED
from tengen.web.inputs import safe_spec
from tengen.web.study import read_study

from ..web.served import Page, Served

LONGEST_REFUSAL = 2000  # characters of an error message


@dataclass(frozen=True)
class Target:
    """Something that reads bytes."""

    run: Callable[[bytes], None]
    """Whatever this raises is a fault."""
    good: Callable[[], list[bytes]]
    """Inputs that are right, to begin with."""
    tokens: tuple[bytes, ...] = ()
    """Words of the format."""


def _lines(text: str) -> tuple[bytes, ...]:
    return tuple(word.encode() for word in text.split())


# ---------------------------------------------------------------------------------------------- records


def _sgf(data: bytes) -> None:
    try:
        game = read_sgf(data)
    except SgfError as error:
        _check_refusal(error)
    else:
        again = read_sgf(write_sgf(game.state))
        assert again.state.moves == game.state.moves
    read_game(data)


def _good_sgf() -> list[bytes]:
    return [
        b"(;FF[4]GM[1]CA[UTF-8]SZ[9]KM[6.5]RU[Chinese]PB[A]PW[B]RE[B+3.5];B[ee];W[gc];B[cg];W[gg];B[];W[])",
        b"(;GM[1]SZ[19]HA[2]AB[dd][pp]PL[W]C[a \\] b];W[pd]C[x];B[dp](;W[qn];B[tt])(;W[cc]))",
        b"(;SZ[5]AB[aa:ce]AW[da:ee]AE[cc];B[cc]N[n]GB[1]TE[1])",
        "(;CA[GB2312]SZ[13]PB[柯洁];B[jj]BL[30.1]OB[5];W[dd])".encode("gb2312"),
    ]


def _pgn(data: bytes) -> None:
    try:
        from_pgn(data.decode("utf-8", "replace"))
    except ValueError as error:
        _check_refusal(error)


def _good_pgn() -> list[bytes]:
    return [
        b'[Event "x"]\n[Variant "microchess"]\n[Result "1-0"]\n\n1. Nb3 Nc3 2. Nc5 {good} Bb4 $1 3. Bc2 1-0\n',
        b'[White "a"]\n[FEN "knbr/p3/4/3P/RBNK w Dd - 0 1"]\n[SetUp "1"]\n\n1. O-O (1. Nb3 Nc3) 1... Nc3 *\n',
    ]


def _fen(data: bytes) -> None:
    try:
        state = microchess.State.from_fen(data.decode("utf-8", "replace"))
    except ValueError as error:
        _check_refusal(error)
    else:
        assert microchess.State.from_fen(state.fen()).fen() == state.fen()


def _good_fens() -> list[bytes]:
    return [b"knbr/p3/4/3P/RBNK w Dd - 0 1", b"k3/P3/4/3p/3K b - - 99 120"]


def _study(data: bytes) -> None:
    try:
        read_study(data.decode("utf-8", "replace"))
    except ValueError as error:
        _check_refusal(error)


def _good_studies() -> list[bytes]:
    return [*_good_sgf(), *_good_pgn(), b'{"game": "tictactoe", "moves": ["a1", "b2"]}']


def _archive(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        suffix = ".zip" if data[:1] == b"P" else ".tar.bz2" if data[:1] == b"B" else ".tar.gz"
        path = Path(folder) / f"archive{suffix}"
        path.write_bytes(data)
        for record in iter_records([path]):
            if not record.reason:
                read_game(record.data)


def _good_archives() -> list[bytes]:
    made = []
    records = {f"games/2001-01-0{n}-1.sgf": data for n, data in enumerate(_good_sgf(), 1)}
    for mode in ("w:gz", "w:bz2", "w"):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode=mode) as tar:  # type: ignore[call-overload]
            for name, data in records.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
        made.append(buffer.getvalue())
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in records.items():
            archive.writestr(name, data)
    return [*made, buffer.getvalue()]


def _index(data: bytes) -> None:
    try:
        parse_index(data)
        parse_years(data.decode("utf-8", "replace"))
    except ValueError as error:
        _check_refusal(error)


def _good_index() -> list[bytes]:
    row = '<tr><td>2019</td><td><a href="https://example.org/KGS-2019_04-19-1255-.tar.gz">tar.gz</a></td></tr>'
    page = f"<html><table>{row}{row.replace('tar.gz', 'zip')}</html>"
    return [page.encode(), repr(page.encode()).encode(), b"2015-2019", b"2019"]


# ---------------------------------------------------------------------------------------- conversations


def _gtp(data: bytes) -> None:
    output, some = io.BytesIO(), io.BytesIO(data[:2000])  # every count of a position takes a while
    GtpServer(load_agent("random:seed=1"), some, output, options=GoOptions(5), log=io.StringIO()).run()
    assert b"internal error" not in output.getvalue()


def _good_gtp() -> list[bytes]:
    return [
        b"boardsize 5\nkomi 3.5\nplay b C3\n3 genmove w\nundo\nfinal_score\nshowboard\nquit\n",
        b"fixed_handicap 2\ntime_settings 10 5 1\ntime_left b 3 0\nkata-analyze b 10\nname\nkata-set-rules aga\n",
        b"set_free_handicap A1 B2\nfinal_status_list dead\nlz-genmove_analyze w 5\nkgs-genmove_cleanup b\n",
    ]


def _uci(data: bytes) -> None:
    output, log = io.BytesIO(), io.StringIO()
    UciServer("random:seed=1", io.BytesIO(data), output, log=log).run()
    assert "internal error" not in output.getvalue().decode() + log.getvalue()


def _good_uci() -> list[bytes]:
    return [
        b"uci\nisready\nposition startpos moves b1a3\ngo movetime 1\nstop\nquit\n",
        b"setoption name Agent value random\nposition fen knbr/p3/4/3P/RBNK w Dd - 0 1\ngo nodes 5\nd\n",
    ]


def _analysis(data: bytes) -> None:
    output, log = io.BytesIO(), io.StringIO()
    data = re.sub(rb"(\d{3})\d+", rb"\1", data)  # who asks for a billion visits gets them
    KataServer([_analyst], io.BytesIO(data), output, visits=2, log=log).run()
    for line in output.getvalue().splitlines():
        assert "internal error" not in json.loads(line).get("error", "")


@cache
def _analyst():  # type: ignore[no-untyped-def]
    return load_analyst("mcts:playouts=2", seed=1)


def _good_queries() -> list[bytes]:
    query = {"id": "q", "moves": [["B", "C3"], ["W", "B2"]], "rules": "tromp-taylor", "komi": 3.5, "boardXSize": 5}
    query |= {"boardYSize": 5, "analyzeTurns": [0, 1, 2], "maxVisits": 2, "includeOwnership": True}
    other = {**query, "initialStones": [["B", "A1"]], "initialPlayer": "W", "includePolicy": True, "priority": 3}
    other["avoidMoves"] = [{"player": "B", "moves": ["C3", "pass"], "untilDepth": 1}]
    actions = [
        {"id": "a", "action": action, "terminateId": "q"} for action in ("terminate", "query_version", "clear_cache")
    ]
    return [json.dumps(one).encode() + b"\n" for one in (query, other)] + [json.dumps(one).encode() for one in actions]


# ------------------------------------------------------------------------------ specs, models, the page


def _spec(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for read in (read_spec, safe_spec):
        try:
            read(text)
        except ValueError as error:
            _check_refusal(error)
    try:
        name, arguments = parse_network(text)
        describe_network(name, 4, 5, **arguments)
    except ValueError as error:
        _check_refusal(error)


def _good_specs() -> list[bytes]:
    agents = "uct:playouts=100,seconds=1|zero:go5,sims=8|alphago:go9,lambda=0.5,c_u=5|gtp:gnugo --mode gtp"
    networks = "random:seed=1|value:runs/x,generation=3|residual:blocks=2,filters=8,value=yes|alphago:layers=3"
    return [spec.encode() for spec in f"{agents}|{networks}".split("|")]


def _model(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        path.write_bytes(data)
        for read in (read_card, read_model):
            try:
                read(path)
            except ModelFileError as error:
                _check_refusal(error)


def _good_models() -> list[bytes]:
    network = build_network("residual", 10, 5, seed=1, blocks=1, filters=2, head_filters=1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        save_model(path, network, ModelCard.of(network, encoder="compact"))
        return [path.read_bytes()]


class _Web:
    """A server, and pages that come one after the other: each sends a few messages, so that none is slowed down."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._served = Served(WebConfig(Path(self._folder.name)))
        self._page, self._left = Page(self._served), 60

    def run(self, data: bytes) -> None:
        if self._left == 0:
            self._page.close()
            self._page, self._left = Page(self._served), 60
        self._left -= 1
        text = data.decode("utf-8", "replace")
        assert self._page.send(text).get("error") != FAILED

    def send_raw(self, data: bytes) -> bytes:
        """Send bytes that should be HTTP, and hang up; what comes back."""
        with socket.create_connection(("127.0.0.1", self._served.port), timeout=60) as connection:
            return _send_last(connection, data)

    def send_frames(self, data: bytes) -> bytes:
        """Send bytes that should be frames of a page that the guard has let in, and hang up; what comes back."""
        origin = f"Host: 127.0.0.1:{self._served.port}\r\nOrigin: {self._served.address}\r\n".encode()
        with socket.create_connection(("127.0.0.1", self._served.port), timeout=60) as connection:
            connection.sendall(b"GET /talk HTTP/1.1\r\n" + origin + _UPGRADE + b"\r\n")
            answer = b""
            while b"\r\n\r\n" not in answer:
                answer += connection.recv(1)
            assert answer.startswith(b"HTTP/1.1 101"), answer
            return _send_last(connection, data)


_UPGRADE = (
    b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)


def _send_last(connection: socket.socket, data: bytes) -> bytes:
    """Send this and hang up; what comes back."""
    answer = b""
    try:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        while block := connection.recv(1 << 16):
            answer += block
    except ConnectionError:  # it may hang up on us
        pass
    return answer


@cache
def _web() -> _Web:
    return _Web()


def _good_messages() -> list[bytes]:
    small = {"game": "go", "options": {"size": 5}}
    asked = [
        {"do": "play.new", **small, "players": ["human", "human"]},
        {"do": "play.opponents", **small},
        {"do": "play.load", "record": "(;SZ[5];B[cc])", "players": ["human", "human"]},
        {"do": "study.new", **small},
        {"do": "study.load", "record": "(;SZ[5];B[cc];W[bb])"},
        {"do": "study.go", "id": "0123456789abcdef", "node": 0},
        {"do": "runs.open", "name": "x"},
        {"do": "hello"},
    ]
    return [json.dumps({"n": number, **one}).encode() for number, one in enumerate(asked)]


def _http(data: bytes) -> None:
    assert not _web().send_raw(data).startswith(b"HTTP/1.1 500"), "the server failed"


def _frames(data: bytes) -> None:
    answer = _web().send_frames(data)
    assert FAILED.encode() not in answer
    assert not re.search(rb"\x88[\x02-\x7d]\x03\xf3", answer), "closed with code 1011: the server failed"


def _good_frames() -> list[bytes]:
    """Masked with zeros, so that what is inside can be changed in words."""
    mask, texts = bytes(4), _good_messages()
    one = [b"\x81" + bytes([0xFE]) + len(text).to_bytes(2, "big") + mask + text for text in texts]
    parts = (
        b"\x01\x85" + mask + texts[0][:5] + b"\x80\xff" + (len(texts[0]) - 5).to_bytes(8, "big") + mask + texts[0][5:]
    )
    control = b"\x89\x84" + mask + b"ping" + b"\x8a\x80" + mask + b"\x88\x82" + mask + b"\x03\xe8"
    return [*one, parts, b"".join(one) + control, control + one[0], b"\x82\x83" + mask + b"\0\1\2" + one[0]]


def _good_requests() -> list[bytes]:
    host = b"Host: 127.0.0.1\r\n"
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAA\r\n"
    return [
        b"GET / HTTP/1.1\r\n" + host + b"\r\n",
        b"GET /assets/../index.html?x=%2e%2e%2f HTTP/1.1\r\n" + host + b"Range: bytes=0-10\r\n\r\n",
        b"GET /talk HTTP/1.1\r\n" + host + upgrade + b"\r\n\x81\x85\0\0\0\0hello",
        b"POST /talk HTTP/1.1\r\n" + host + b"Content-Length: 5\r\n\r\nhello",
    ]


def _check_refusal(error: Exception) -> None:
    """A refusal is one readable line."""
    text = str(error)
    assert text and "\n" not in text, repr(text)
    assert len(text) < LONGEST_REFUSAL, text[:200]


TARGETS = {
    "sgf": Target(
        _sgf, _good_sgf, _lines("(; ; ) SZ[ ] [tt] [] KM[ HA[ AB[ AW[ AE[ B[ W[ PL[ RE[ RU[ CA[ [aa:ss] \\ ")
    ),
    "pgn": Target(_pgn, _good_pgn, _lines('[ " ] 1. ... O-O Nb3 x + # =Q { } ( ) $1 * 1-0 1/2-1/2 FEN')),
    "fen": Target(_fen, _good_fens, _lines("/ k K q Q r R b B n N p P 1 2 3 4 5 w b D d - KQkq")),
    "study": Target(_study, _good_studies, _lines('( ) ; { } " [ ] SZ[ B[')),
    "archive": Target(_archive, _good_archives),
    "index": Target(_index, _good_index, _lines('<a href=" "> </a> <td> KGS- .zip .tar.gz -19- http:// \\x')),
    "gtp": Target(
        _gtp,
        _good_gtp,
        _lines("boardsize komi play genmove undo b w pass resign A1 Z99 loadsgf kata-search kata-raw-nn # name"),
    ),
    "uci": Target(
        _uci,
        _good_uci,
        _lines("position startpos fen moves go depth nodes wtime btime movestogo setoption name value stop a1a2q"),
    ),
    "analysis": Target(
        _analysis,
        _good_queries,
        _lines('"id" "moves" [ ] { } : , "B" "pass" null "komi" "maxVisits" 1e9 "action" "rules" "overrideSettings"'),
    ),
    "spec": Target(
        _spec,
        _good_specs,
        _lines(": = , uct zero policy residual playouts sims seconds seed yes no none inf -1 1e400 model"),
    ),
    "model": Target(
        _model, _good_models, _lines('{ } "__metadata__" "dtype" "shape" "data_offsets" F32 F64 I64 [0,4] checksum')
    ),
    "web": Target(
        lambda data: _web().run(data),
        _good_messages,
        _lines('"do" "n" "id" : , { } [ ] null 1e999 "record" "options" "players" "node" "move" "spec"'),
    ),
    "frames": Target(
        _frames,
        _good_frames,
        (*(bytes([head]) for head in (0x00, 0x01, 0x80, 0x81, 0x82, 0x88, 0x89, 0x8A, 0xC1, 0xFE, 0xFF)), bytes(4)),
    ),
    "http": Target(
        _http,
        _good_requests,
        _lines("GET HEAD PUT / ../ %2e%00 HTTP/1.0 Host: Origin: Content-Length: Transfer-Encoding: chunked Range:"),
    ),
}
"""By name."""
