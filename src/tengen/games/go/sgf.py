"""Game records: SGF (FF[4], Go) read and written, in layers that can be used one by one.

| layer     | function                | what it gives                                                        |
|-----------|-------------------------|----------------------------------------------------------------------|
| text      | `sgf_text.py`           | encodings, the properties along the first variation, whole trees     |
| main line | `main_line(data)`       | the same as one property map for each node, root first               |
| facts     | `read_record(data)`     | `SgfRecord`: size, komi, set-up, moves, names; asks no rule of Go    |
| game      | `read_sgf(data, rules)` | `SgfGame`: the record and its `State`, every move checked        |

Whatever is wrong with a file, what comes out is one `SgfError`, in one line, naming the move if it is one.

Choices, where files or the specification leave one open:

* Rules come from `RU` (see `rules_of`), or from the caller; missing or unknown, they are `chinese`.
* Komi comes from `KM`, or is the rule set's own. `375` and `3.75` are 7.5 points, as Chinese
  servers count, except in files of our own.
* No `SZ` is 19x19. Set-up stones (AB, AW, AE) after the first move are an error; `PL` there is ignored.
* No `PL`: whoever moves first is to play; without a move, White if only Black has stones, else Black.
* A resignation is no node, only a result: `state` is then the position in which it came.
* Two passes end a game here. Where a record goes on after them (play resumed over a dispute), those passes
  are left out of `state`; further passes at the very end are too. `SgfRecord.moves` keeps them all.
* A handicap without `KM` is played with a komi of 0.5.
* Text is UTF-8 where it can be, else in the encoding that `CA` names, else in the one of East Asia whose everyday
  characters it has, else in Latin-1 (see `decoded`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Final

from sgfmill import sgf_grammar

from tengen import __version__
from tengen._text import printable
from tengen.games.go.board import BLACK, EMPTY, WHITE
from tengen.games.go.coordinates import PASS, RESIGN, check_size, from_sgf, to_gtp, to_sgf
from tengen.games.go.rules import RuleSet, get_rules
from tengen.games.go.sgf_text import CutOff, NotSgf, as_utf8, declared, properties
from tengen.games.go.state import IllegalMove, State, opponent

PropertyMap = Mapping[str, list[bytes]]

MAX_BYTES: Final = 32_000_000
MAX_MOVES: Final = 5_000
MAX_SET_UPS: Final = 100_000
"""Points that set-ups may name, one after the other."""
DEFAULT_RULES: Final = "chinese"
HANDICAP_KOMI: Final = 0.5

_RULES_TEXT: Final = {
    "chinese": "Chinese",
    "japanese": "Japanese",
    "aga": "AGA",
    "new-zealand": "NZ",
    "tromp-taylor": "Tromp-Taylor",
    "simple-go": "simple-go",
}
_RULES_BY_TEXT: Final = {
    "chinese": "chinese", "cn": "chinese", "japanese": "japanese", "jp": "japanese", "korean": "japanese",
    "kr": "japanese", "aga": "aga", "bga": "aga", "french": "aga", "nz": "new-zealand",
    "newzealand": "new-zealand", "tromptaylor": "tromp-taylor", "tt": "tromp-taylor", "simplego": "simple-go",
}  # fmt: skip
_KOMI_IN_STONES: Final = (2.75, 3.25, 3.75)
_COLORS: Final = {"B": BLACK, "W": WHITE}
_NAMES: Final = {BLACK: "Black", WHITE: "White"}
_SETUP: Final = {"AB": BLACK, "AW": WHITE, "AE": EMPTY}


class SgfError(ValueError):
    """A file that is no readable record of a game of Go; the message says where and why."""


@dataclass(frozen=True, kw_only=True)
class SgfRecord:
    """What a record states, before any rule of Go is asked. Points and moves are flat, as in `State`."""

    size: int = 19
    komi: float | None = None
    """None when the record gives none."""
    handicap: int = 0
    rules: str | None = None
    """The name of a rule set, or None where `RU` is missing or names none that we know."""
    black: tuple[int, ...] = ()
    """Black stones set up before the first move; `white` likewise."""
    white: tuple[int, ...] = ()
    to_play: int = BLACK
    moves: tuple[tuple[int, int], ...] = ()
    """(colour, move) in the order of the record, passes included."""
    black_name: str = ""
    white_name: str = ""
    black_rank: str = ""
    white_rank: str = ""
    event: str = ""
    date: str = ""
    result: str = ""
    """`RE` as written: `B+3.5`, `W+Resign`, `Void`, ...; empty when missing."""
    comments: Mapping[int, str] = field(default_factory=dict)
    """Comments by move number; 0 is the position before the first move."""


@dataclass(frozen=True, kw_only=True)
class SgfGame(SgfRecord):
    """A record whose every move is legal, with its position after the last one."""

    state: State


def read_sgf(data: bytes, rules: str | RuleSet | None = None) -> SgfGame:
    """The game of a file's main line, by its own rules or by those given; SgfError if it is not one."""
    record = read_record(data)
    state = replay(record, rules)
    return SgfGame(state=state, **{name.name: getattr(record, name.name) for name in fields(record)})


def read_record(data: bytes) -> SgfRecord:
    """The facts of a file's main line; SgfError if it is malformed, not Go, or of a size we cannot play."""
    return _Reader(main_line(data), declared(data)).record()


def main_line(data: bytes) -> list[PropertyMap]:
    """The nodes of the first game's first variation, root first: properties with their raw values."""
    if len(data) > MAX_BYTES:
        raise SgfError(f"the file has {len(data)} bytes: at most {MAX_BYTES} are read")
    nodes: list[dict[str, list[bytes]]] = []
    try:
        for name, value, _, begins_node in properties(as_utf8(data)):
            if begins_node:
                nodes.append({})
            nodes[-1].setdefault(name.decode("ascii"), []).append(value)
    except (NotSgf, CutOff) as error:
        raise SgfError(f"not an SGF file: {error}") from None
    return list(nodes) or [{}]


def replay(record: SgfRecord, rules: str | RuleSet | None = None) -> State:
    """Play a record's moves, by `rules` or by its own; SgfError names the first that is not legal."""
    rule_set = get_rules(rules or record.rules or DEFAULT_RULES)
    komi = HANDICAP_KOMI if record.komi is None and record.handicap else record.komi
    try:
        state = State.setup(record.size, rule_set, komi, record.black, record.white, record.to_play, record.handicap)
    except ValueError as error:
        raise SgfError(f"the game cannot begin: {error}") from None
    for number, (color, move) in enumerate(record.moves, start=1):
        if state.is_over and state.last_move == PASS:
            if move == PASS:
                continue
            state = resumed(state, color)
        try:
            state = state.play(move, color)
        except IllegalMove:
            played = f"{_NAMES[color]} {to_gtp(move, record.size)}"
            raise SgfError(f"move {number} ({played}): {state.why_illegal(move, color)}") from None
    return state


def write_sgf(
    state: State,
    *,
    black_name: str = "",
    white_name: str = "",
    result: str | None = None,
    comments: Mapping[int, str] | None = None,
    event: str = "",
    application: str = f"tengen:{__version__}",
) -> bytes:
    """A record of the whole game behind `state`, in UTF-8.

    `result` is the game's own when None and it is over. A comment belongs to a move number, 0 being the
    beginning; one for a move that has no node of its own (a resignation) goes to the last node.
    """
    moves = [(color, move) for color, move in state.moves if move != RESIGN]
    root = _setup_properties(state, moves)
    texts = {"AP": application, "PB": black_name, "PW": white_name, "EV": event}
    texts["RE"] = (state.result() if state.is_over else "") if result is None else result
    root.update({name: [_raw(" ".join(text.split()))] for name, text in texts.items() if text.strip()})
    nodes = [root]
    for color, move in moves:
        nodes.append({"B" if color == BLACK else "W": [to_sgf(move, state.size).encode()]})
    for number, text in sorted((comments or {}).items()):
        if text:
            node = nodes[min(max(number, 0), len(nodes) - 1)]
            node["C"] = [b"\n".join([*node.get("C", []), _raw(text)])]
    tree = sgf_grammar.Coarse_game_tree()
    tree.sequence = nodes
    return bytes(sgf_grammar.serialise_game_tree(tree))


def rules_of(text: str) -> str | None:
    """The rule set that an `RU` means, by name, or None: `Chinese`, `NZ`, `Tromp/Taylor`, `Korean`, ..."""
    return _RULES_BY_TEXT.get(re.sub(r"[^a-z]", "", text.lower().removesuffix("rules")))


def in_points(komi: float) -> float:
    """A recorded komi in points: 375 and 650 lack their decimal point, 3.75 is counted in stones of two points."""
    if abs(komi) >= 150 and komi % 5 == 0:
        komi /= 100
    return komi * 2 if komi in _KOMI_IN_STONES else komi


# --------------------------------------------------------------------------------------------- reading


class _Reader:
    """Builds a record from the nodes of a main line."""

    def __init__(self, nodes: list[PropertyMap], charset: str | None) -> None:
        self._nodes, self._root, self._charset = nodes, nodes[0], charset
        self._size = self._read_size()
        self._set_ups = 0

    def record(self) -> SgfRecord:
        moves, comments, stones, to_play = self._walk()
        black = tuple(sorted(point for point, color in stones.items() if color == BLACK))
        white = tuple(sorted(point for point, color in stones.items() if color == WHITE))
        if to_play == EMPTY:
            to_play = moves[0][0] if moves else WHITE if black and not white else BLACK
        return SgfRecord(
            size=self._size,
            komi=self._read_komi(),
            handicap=self._read_handicap(),
            rules=rules_of(self._line("RU")),
            black=black,
            white=white,
            to_play=to_play,
            moves=tuple(moves),
            black_name=self._line("PB"),
            white_name=self._line("PW"),
            black_rank=self._line("BR"),
            white_rank=self._line("WR"),
            event=self._line("EV"),
            date=self._line("DT"),
            result=self._line("RE"),
            comments=comments,
        )

    def _walk(self) -> tuple[list[tuple[int, int]], dict[int, str], dict[int, int], int]:
        """Moves, comments, stones of the set-up by point, and who is said to be to play (or EMPTY)."""
        moves: list[tuple[int, int]] = []
        comments: dict[int, list[str]] = {}
        stones: dict[int, int] = {}
        to_play = EMPTY
        for node in self._nodes:
            if not _SETUP.keys().isdisjoint(node):
                if moves:
                    raise SgfError(f"stones are set up after move {len(moves)}: only a set-up before the first is read")
                self._set_up(node, stones)
            if "PL" in node and not moves:
                to_play = _COLORS.get(self._line("PL", node)[:1].upper(), EMPTY)
            moves.extend(self._moves(node, len(moves)))
            if len(moves) > MAX_MOVES:
                raise SgfError(f"the game has more than {MAX_MOVES} moves")
            if "C" in node:
                comment = "\n".join(self._decode(sgf_grammar.text_value(raw)) for raw in node["C"])
                comments.setdefault(len(moves), []).append(comment)
        texts = {number: "\n".join(filter(None, each)) for number, each in comments.items()}
        return moves, texts, stones, to_play

    def _moves(self, node: PropertyMap, played: int) -> Iterator[tuple[int, int]]:
        """The moves of a node: none, one, or (which nobody should write) one of each colour."""
        for name, values in node.items():
            if name in _COLORS:
                if len(values) > 1:
                    raise SgfError(f"move {played + 1} has {len(values)} points: {name} takes one")
                yield _COLORS[name], self._point(values[0], f"move {played + 1}")

    def _set_up(self, node: PropertyMap, stones: dict[int, int]) -> None:
        seen: dict[int, str] = {}
        for name, color in _SETUP.items():
            for point in self._point_list(node.get(name, [])):
                self._set_ups += 1
                if self._set_ups > MAX_SET_UPS:
                    raise SgfError(f"the game begins with more than {MAX_SET_UPS} stones set up")
                if seen.setdefault(point, name) != name:
                    raise SgfError(f"{to_gtp(point, self._size)} is set up twice, by {seen[point]} and {name}")
                stones[point] = color

    def _point_list(self, values: list[bytes]) -> Iterator[int]:
        """The points of a list such as [aa][cc:ee], where a rectangle stands for all its points."""
        if len(values) > self._size**2:
            raise SgfError(f"a set-up list has {len(values)} entries, more than the board has points")
        for value in values:
            if not value.strip():  # AB[] is seen, and means nothing
                continue
            first, colon, last = value.partition(b":")
            start = self._point(first, "a set-up stone")
            end = self._point(last, "a set-up stone") if colon else start
            if PASS in (start, end):
                raise SgfError(f"set-up stone {value[:20].decode('latin-1')!r} is not on the board")
            for row in range(start // self._size, end // self._size + 1):
                for col in range(start % self._size, end % self._size + 1):
                    yield row * self._size + col

    def _point(self, raw: bytes, what: str) -> int:
        text = raw.decode("latin-1").strip()
        try:
            return from_sgf(text, self._size)
        except ValueError as error:
            raise SgfError(f"{what}: {error}") from None

    def _read_size(self) -> int:
        if self._line("GM") not in ("", "1"):
            raise SgfError(f"the file holds another game than Go: GM[{self._line('GM')[:20]}]")
        width, colon, height = self._line("SZ").partition(":")
        if colon and width.strip() != height.strip():
            raise SgfError(f"the board is {width[:5]}x{height[:5]}: only square boards are played here")
        try:
            return check_size(int(width)) if width.strip() else 19
        except ValueError as error:
            raise SgfError(f"SZ[{width[:20]}]: {error}") from None

    def _read_komi(self) -> float | None:
        text = self._line("KM").replace(",", ".")
        if not text:
            return None
        try:
            komi = float(text)
        except ValueError:
            raise SgfError(f"komi {text[:20]!r} is not a number") from None
        return komi if self._line("AP").startswith("tengen") else in_points(komi)

    def _read_handicap(self) -> int:
        text = self._line("HA")
        if text and not (text.isascii() and text.isdigit() and len(text) < 4 and int(text) < self._size**2):
            raise SgfError(f"handicap {text[:20]!r} is not a number of stones")
        return int(text) if text else 0

    def _line(self, name: str, node: PropertyMap | None = None) -> str:
        """A property as one line of printable text, empty when missing."""
        values = (self._root if node is None else node).get(name, [])
        text = self._decode(sgf_grammar.simpletext_value(values[0])) if values else ""
        return printable(text, " ").strip()

    def _decode(self, value: bytes) -> str:
        for charset in filter(None, ("utf-8", self._charset)):
            try:
                return value.decode(charset)
            except UnicodeError:
                continue
        return value.decode("latin-1")


def resumed(state: State, color: int) -> State:
    """The state before the two passes that ended it, `color` to play and no ko forbidden: play goes on."""
    before = state.previous.previous if state.previous is not None else None
    assert before is not None
    return before.with_to_play(opponent(color)).with_to_play(color)


# --------------------------------------------------------------------------------------------- writing


def _setup_properties(state: State, moves: list[tuple[int, int]]) -> dict[str, list[bytes]]:
    """The root node: how the game began."""
    begin = state.states()[0]
    root = {
        "FF": [b"4"],
        "GM": [b"1"],
        "CA": [b"UTF-8"],
        "SZ": [str(state.size).encode()],
        "KM": [str(state.komi).removesuffix(".0").encode()],
        "RU": [_raw(_RULES_TEXT.get(state.rules.name, state.rules.name))],
    }
    if state.handicap:
        root["HA"] = [str(state.handicap).encode()]
    black, white = state.setup_stones
    for name, points in (("AB", black), ("AW", white)):
        if points:
            root[name] = _points(points, state.size)
    if black or white or begin.to_play != (moves[0][0] if moves else BLACK):
        root["PL"] = [b"B" if begin.to_play == BLACK else b"W"]
    return root


def _points(points: Iterable[int], size: int) -> list[bytes]:
    return [to_sgf(point, size).encode() for point in points]


def _raw(text: str) -> bytes:
    """Text as a property value: UTF-8, escaped."""
    return bytes(sgf_grammar.escape_text(text.encode("utf-8", "replace")))
