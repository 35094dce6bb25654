"""Microchess, as the rest of Tengen sees it; and its game records."""

import re
from collections.abc import Mapping
from textwrap import wrap
from types import MappingProxyType
from typing import Any, ClassVar, Final

from tengen.games.game import Game, Outcome, Record
from tengen.games.microchess.batch import BatchedMicrochess
from tengen.games.microchess.board import BLACK, WHITE, MicrochessOptions, variant_name
from tengen.games.microchess.moves import perft
from tengen.games.microchess.notation import START_FEN
from tengen.games.microchess.state import State, opponent
from tengen.games.state import FIRST, NOBODY, RESIGN


class Microchess(Game[State, MicrochessOptions]):
    """Chess on 4 files and 5 ranks."""

    name, title, players = "microchess", "Microchess", ("White", "Black")
    options: ClassVar[type[MicrochessOptions]] = MicrochessOptions
    suffix, example_move = ".pgn", "d2d4"
    opening_moves = 4
    fair_margin = 100
    evaluations, unit, depth = ("material",), "pawns", 6
    default_agent = "zero:microchess,seconds=1"
    default_encoder = "microchess"

    def new(self, options: MicrochessOptions) -> State:
        """The start position."""
        return State.new(options.rules, options.double_step)

    def position(self, text: str, options: MicrochessOptions) -> State:
        """The position of a FEN."""
        return State.from_fen(text, options.rules, options.double_step)

    def perft(self, state: State, depth: int) -> int:
        """Sequences of legal moves, which draws do not end."""
        return perft(state.board, depth)

    def options_of(self, state: State) -> MicrochessOptions:
        """Rules and double step."""
        return MicrochessOptions(state.rules, state.double_step)

    def batch(self, options: MicrochessOptions, past: int = 0, ages: bool = False) -> BatchedMicrochess:
        """Many games at once; no encoder looks at the past."""
        return BatchedMicrochess(options)

    def describe(self, options: MicrochessOptions) -> str:
        """`Microchess, standard rules, with the double step`."""
        return f"Microchess, {options.rules} rules, {'with the' if options.double_step else 'no'} double step"

    def notation(self, state: State, move: int) -> str:
        """SAN: `Nxc3+`."""
        return state.move_name(move) if move == RESIGN else state.move_san(move)

    def outcome(self, state: State) -> Outcome:
        """By the rules; at a limit of moves it is a draw."""
        if not state.is_over:
            return Outcome(NOBODY, "1/2-1/2", "move limit")
        return super().outcome(state)

    def forfeit(self, winner: int, on_time: bool = False) -> str:
        """`1-0` or `0-1`."""
        return "1-0" if winner == FIRST else "0-1"

    def write(self, state: State, record: Record) -> bytes:
        """The game as PGN."""
        fields = {"Event": record.event, "White": record.first, "Black": record.second, "Result": record.result}
        tags = {name: text for name, text in fields.items() if text}
        if record.termination:
            tags["Termination"] = record.termination
        return to_pgn(state, tags, record.comments).encode()

    def read(self, data: bytes, given: Mapping[str, Any] = MappingProxyType({})) -> tuple[State, str]:
        """The first game of a PGN file, by its own rules."""
        state, tags = from_pgn(data.decode("utf-8", "replace"))
        result = tags.get("Result", "")
        return state, "" if result == "*" else result

    def about(self, data: bytes) -> Record:
        """Names, event and result."""
        tags = from_pgn(data.decode("utf-8", "replace"))[1]
        names = {name: tags.get(name, "").replace("?", "") for name in ("White", "Black", "Event", "Termination")}
        result = tags.get("Result", "").replace("*", "")
        return Record(names["White"], names["Black"], names["Event"], result, names["Termination"])


# ---------------------------------------------------------------------------------------------- records
# Games as text in the manner of PGN: tags in brackets, then the moves as chess players write them.
#
#     [Variant "microchessds"]
#     [Rules "standard"]
#     [White "zero:microchess"]
#     [Black "random"]
#     [Result "1-0"]
#     [Termination "checkmate"]
#
#     1. Na2 Nd4 2. Nb4 Bxb4 3. Rxa4+ Kb5 ... 1-0
#
# `Variant` says whether pawns may take two steps (`microchessds`) or not (`microchess`), `FEN` the position that the
# game began with if it is not the usual one. Comments are read over; games with side lines are refused. Of a file with
# many games the first is read.

# No pattern goes back over what it has read (possessive quantifiers), so the time is linear whatever the text.
_TAG = re.compile(r'\[\s*+(\w++)\s++"((?:[^"\\\n]++|\\.)*+)"\s*+\]')
_COMMENT = re.compile(r"\{[^}]*+(?:\}|(?P<open>\Z))|;[^\n]*+|^%[^\n]*+", re.MULTILINE)
_PART = re.compile(rf"(?P<tag>{_TAG.pattern})|(?P<comment>{_COMMENT.pattern})|[^\s{{;\[]++|\S", re.MULTILINE)
_NOT_MOVES = re.compile(r"\d+\.*|\.+|\$\d+|\?")
_OUR_TAGS = ("Variant", "Rules", "SetUp", "FEN", "Result", "Termination")
_RESULTS = {"1-0": WHITE, "0-1": BLACK, "1/2-1/2": 0}
_ENDS = (*_RESULTS, "*")  # after which another game may begin
MAX_WORDS: Final = 50_000
"""Words of a game's moves, numbers included, that are read."""


def to_pgn(state: State, tags: Mapping[str, str] | None = None, comments: Mapping[int, str] | None = None) -> str:
    """The game that led to a state, with tags of your own (White, Black, Date, ...) before those of the game.

    `comments` by number of the move that they follow, 1 for the first; 0 is before it.
    """
    lines = [_tag(name, text) for name, text in (tags or {}).items() if name not in _OUR_TAGS]
    lines += [_tag("Variant", variant_name(state.double_step)), _tag("Rules", state.rules)]
    start = state.setup
    if start.fen() != START_FEN:
        lines += [_tag("SetUp", "1"), _tag("FEN", start.fen())]
    result = (tags or {}).get("Result", "*") if state.winner() is None else state.result()
    lines.append(_tag("Result", result))
    if state.end_reason or (tags or {}).get("Termination"):
        lines.append(_tag("Termination", state.end_reason or (tags or {})["Termination"]))
    words = _words(state, comments or {})
    return "\n".join([*lines, "", *wrap(" ".join([*words, result]), 80, break_on_hyphens=False)]) + "\n"


def from_pgn(text: str) -> tuple[State, dict[str, str]]:
    """The last state of the first game in a text, and the game's tags; ValueError says what cannot be read."""
    tags, words = _first_game(text)
    state = _start(tags)
    if any("(" in word or ")" in word for word in words):
        raise ValueError("the game has side lines in round brackets, which are not read: take them out")
    for word in words:
        word = re.sub(r"^\d+\.+", "", word)
        if not word or _NOT_MOVES.fullmatch(word):
            continue
        try:
            state = state.play(state.parse_move(word))
        except ValueError as error:
            raise ValueError(f"after {state.move_number} moves: {error}") from None
    winner = _RESULTS.get(tags.get("Result", ""))
    if tags.get("Termination") == "resignation" and not state.is_over and winner == opponent(state.to_play):
        state = state.play(RESIGN)
    return state, tags


def _first_game(text: str) -> tuple[dict[str, str], list[str]]:
    """The tags of the first game and the words of its moves, which end with the result or with the next game's tags."""
    tags: dict[str, str] = {}
    words: list[str] = []
    for part in _PART.finditer(text):
        if part["tag"]:
            if words:
                break
            tags[part[2]] = re.sub(r"\\(.)", r"\1", part[3])
        elif part["open"] is not None:
            raise ValueError("a comment begins with { and does not end: add the }")
        elif part[0] in _ENDS:
            break
        elif len(words) >= MAX_WORDS:
            raise ValueError(f"the game has more than {MAX_WORDS} words: that is too long")
        elif not part["comment"]:
            words.append(part[0])
    return tags, words


def _start(tags: Mapping[str, str]) -> State:
    variant = tags.get("Variant", variant_name(True))
    steps = {variant_name(choice): choice for choice in (True, False)}
    if variant not in steps:
        raise ValueError(f"the game is of the variant {variant[:40]!r}, and only {' and '.join(steps)} are known")
    return State.from_fen(tags.get("FEN", START_FEN), tags.get("Rules", "standard"), steps[variant])


def _tag(name: str, text: str) -> str:
    if not name.isidentifier():
        raise ValueError(f"{name[:40]!r} cannot be the name of a tag: use letters and digits")
    quoted = " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"')
    return f'[{name} "{quoted}"]'


def _words(state: State, comments: Mapping[int, str]) -> list[str]:
    """The moves in SAN, with numbers and comments."""
    words = _comment(comments.get(0, ""))
    before = state.setup
    for color, move in state.moves:
        if move == RESIGN:
            break
        if color == WHITE:
            words.append(f"{before.ply // 2 + 1}.")
        elif before.previous is None or words[-1].endswith("}"):
            words.append(f"{before.ply // 2 + 1}...")
        words.append(before.move_san(move))
        before = before.play(move)
        words += _comment(comments.get(before.move_number, ""))
    return words


def _comment(text: str) -> list[str]:
    return [f"{{{' '.join(text.replace('}', ')').split())}}}"] if text.strip() else []


GAME = Microchess()
