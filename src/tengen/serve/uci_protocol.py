"""The letters of UCI: lines into words, words into requests, decisions into `info` lines.

Nothing here knows chess. Whatever arrives, be it binary junk, numbers of a hundred thousand digits or a line
without end, becomes a request or is left out.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Final

LONGEST_LINE: Final = 1 << 20
_INTEGER = re.compile(r"[+-]?[0-9]{1,15}")
_NUMBERS: Final = (
    "wtime", "btime", "winc", "binc", "movestogo", "depth", "nodes", "mate", "movetime", "perft",
)  # fmt: skip
_MOVES_LEFT: Final = 25  # that a game is expected to last for each player, when the program does not say
_SHORTEST: Final = 0.001


@dataclass(frozen=True)
class GoCommand:
    """What a `go` command asks for; times in milliseconds."""

    moves: tuple[str, ...] = ()
    """The only moves to choose from; empty: all."""
    endless: bool = False
    """Think until `stop`: `infinite` or `ponder`."""
    movetime: int | None = None
    nodes: int | None = None
    depth: int | None = None
    time: tuple[int | None, int | None] = (None, None)
    """What is left on the clocks of White and Black."""
    increment: tuple[int, int] = (0, 0)
    moves_to_go: int | None = None

    @property
    def timed(self) -> bool:
        """Whether time is what ends the thinking."""
        return self.endless or self.movetime is not None or self.time != (None, None)

    def seconds(self, color: int, overhead: int) -> float | None:
        """How long White (0) or Black (1) may think, less the `overhead` of talking; None without a limit."""
        budgets: list[float] = []
        if self.movetime is not None:
            budgets.append(self.movetime - overhead)
        left = self.time[color]
        if left is not None:
            share = left / max(1, self.moves_to_go or _MOVES_LEFT) + 0.8 * self.increment[color]
            budgets.append(min(share, left - 2 * overhead))
        return None if self.endless or not budgets else max(_SHORTEST, min(budgets) / 1000)


def read_lines(stream: BinaryIO) -> Iterator[str]:
    """Every line until the stream ends, in single blanks; a line that is too long is left out."""
    while raw := stream.readline(LONGEST_LINE):
        if len(raw) == LONGEST_LINE and not raw.endswith(b"\n"):
            while raw and not raw.endswith(b"\n"):
                raw = stream.readline(LONGEST_LINE)
            continue
        line = " ".join(raw.decode("utf-8", "replace").split())
        if line:
            yield line


def parse_go(words: Sequence[str]) -> GoCommand:
    """The request behind the words of a `go` command; what cannot be understood is left out."""
    numbers: dict[str, int] = {}
    moves: list[str] = []
    endless, key = False, ""
    for word in words:
        if word in ("infinite", "ponder"):
            endless, key = True, ""
        elif word == "searchmoves" or word in _NUMBERS:
            key = word
        elif key == "searchmoves":
            moves.append(word)
        elif key and _INTEGER.fullmatch(word):
            numbers[key], key = max(0, int(word)), ""
    depth = numbers.get("depth", numbers.get("mate"))
    return GoCommand(
        moves=tuple(moves),
        endless=endless,
        movetime=numbers.get("movetime"),
        nodes=numbers.get("nodes"),
        depth=depth,
        time=(numbers.get("wtime"), numbers.get("btime")),
        increment=(numbers.get("winc", 0), numbers.get("binc", 0)),
        moves_to_go=numbers.get("movestogo"),
    )


def parse_option(words: Sequence[str]) -> tuple[str, str]:
    """Name, in small letters, and value of `setoption name NAME value VALUE`; either may be several words."""
    words = list(words[1:]) if words[:1] == ["name"] else list(words)
    place = words.index("value") if "value" in words else len(words)
    return " ".join(words[:place]).lower(), " ".join(words[place + 1 :])


def parse_position(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """The FEN of a `position` command, None for `startpos`, and the moves behind it; ValueError if it is neither."""
    words = list(words)
    place = words.index("moves") if "moves" in words else len(words)
    where, moves = words[:place], words[place + 1 :]
    if where == ["startpos"]:
        return None, moves
    if where[:1] == ["fen"] and len(where) > 1:
        return " ".join([*where[1:], *["w", "-", "-", "0", "1"][len(where) - 2 :]]), moves
    raise ValueError("a position is `startpos` or `fen FEN`, and there may be `moves` behind it")


def printable(text: str, longest: int = 200) -> str:
    """One line that harms nobody."""
    line = " ".join(text.split())[:longest]
    return "".join(letter if letter.isprintable() else "?" for letter in line)
