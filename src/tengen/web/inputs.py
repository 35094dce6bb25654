"""What comes from outside, checked: fields of messages and files, specs of agents, game records, and their size.

A page draws what it is given, and a framework may take an object for more than text. So what a file says becomes a
plain text or a finite number, whatever was in it. A spec from a client may start no program, read no file and not think
without end: allowed are the kinds in `SAFE_KINDS`, with bundled models by name and limits up to `MOST`. Whatever else
somebody wants to offer (`gtp:`, `uci:`, models of their own) is named on the server's own command line, and goes by a
key. Records are read by the games' own readers, which trust nothing; as they are cheap to send, memory is bounded.
"""

import base64
import binascii
import re
from collections.abc import Iterable
from typing import Any, Final, TypeVar

import numpy as np

from tengen.agents.registry import SpecError, read_spec
from tengen.games.game import AnyGame, game_names, get_game
from tengen.games.state import AnyState
from tengen.nets.model_file import bundled_models

Value = TypeVar("Value", int, str, float, bool)

SAFE_KINDS: Final = (
    "random",
    "minimax",
    "alphabeta",
    "uct",
    "mcts",
    "policy",
    "fast-policy",
    "zero",
    "gumbel",
    "alphago",
)
MOST: Final[dict[str, float]] = {
    "playouts": 200_000, "sims": 100_000, "seconds": 30, "depth": 8, "batch": 64, "nodes": 4_000_000, "threads": 8,
}  # fmt: skip
"""The most that a spec from a client may ask of these settings."""
_NETWORKS: Final = ("policy", "fast-policy", "zero", "gumbel", "alphago")
_MODELS: Final = ("model", "value", "fast")
_WORDS: Final = {"evaluation": ("area", "influence", "material"), "backend": ("fastest", "openvino", "int8")}
_MOST_PLIES: Final = 3  # of minimax, which prunes nothing
_LONGEST_SPEC: Final = 200

NO_RECORD: Final = "this is no record of a game: give an SGF, a PGN or a JSON file that Tengen has written"

MOST_OF_STUDIES: Final = 640_000_000
"""Bytes that all studies may hold."""
MOST_OF_GAMES: Final = 320_000_000
"""Bytes that all games in memory may hold; others are in their files."""
MOST_OF_ONE: Final = 160_000_000
"""Bytes of one game or study."""
_OBJECT: Final = 1_500  # what a state takes beside its arrays


def field(message: dict[str, Any], name: str, kind: type[Value]) -> Value:
    """The value of a field, which must be there."""
    value = message.get(name)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{name} is missing or not of the right type")
    return value


def options_of(game: AnyGame, given: Any) -> Any:
    """A game's options from what a page gives: numbers and words by name."""
    if given is None:
        given = {}
    if not isinstance(given, dict) or not all(isinstance(value, str | int | float | bool) for value in given.values()):
        raise ValueError("options are numbers and words by name")
    return game.options.of({name: str(value) for name, value in given.items() if name != "limit"})


_LONGEST_TEXT: Final = 1_000
_MOST_NUMBER: Final = 2**53  # whole numbers that JavaScript knows


def as_text(value: Any) -> str:
    """What a file says, as text for people."""
    return str(value)[:_LONGEST_TEXT]


def as_number(value: Any) -> float | int | None:
    """What a file says, as a finite number; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) <= _MOST_NUMBER else None  # NaN is not


def as_setting(value: Any) -> str | int | float | bool:
    """What a file says, as a number, yes or no, or text: a date, a list or NaN is shown as text."""
    if isinstance(value, bool):
        return value
    number = as_number(value)
    return as_text(value) if number is None else number


def safe_spec(text: Any) -> str:
    """The spec itself, if a client may ask for it; else SpecError says why not."""
    if (
        not isinstance(text, str)
        or not 0 < len(text) <= _LONGEST_SPEC
        or not re.fullmatch(r"[A-Za-z0-9:,=._ -]+", text)
    ):
        raise SpecError("give an agent's spec, such as uct:playouts=1000")
    kind = text.strip().partition(":")[0]
    if kind not in SAFE_KINDS:
        raise SpecError(f"{kind[:40]!r} cannot be asked for from a page: choose from {', '.join(SAFE_KINDS)}")
    kind, settings = read_spec(text)
    for name, value in settings.items():
        _check(kind, name, value)
    return text.strip()


def _check(kind: str, name: str, value: Any) -> None:
    if name in _MODELS:
        if kind not in _NETWORKS:
            raise SpecError(f"{kind} with a model cannot be asked for from a page")
        if value not in ("", "guided") and value not in bundled_models():
            raise SpecError(f"no model is called {value[:40]!r}: choose from {', '.join(bundled_models())}")
    elif isinstance(value, str):
        if value not in _WORDS.get(name, ()):
            raise SpecError(f"{name}={value[:40]} cannot be asked for from a page")
    elif name in MOST and not isinstance(value, bool):
        most = min(MOST[name], _MOST_PLIES) if (kind, name) == ("minimax", "depth") else MOST[name]
        if not value <= most:
            raise SpecError(f"{name}={value:g} is more than a page may ask for: at most {most:g}")


def read_any(text: str) -> Any:
    """The last state of the game in a text, whatever the game; ValueError if it is none that can be read."""
    data, reasons = text.encode("utf-8", "replace"), list[str]()
    suffix = suffix_of(text)
    for name in sorted(game_names(), key=lambda name: get_game(name).suffix != suffix):
        try:
            state = get_game(name).read(data)[0]
            if suffix or state.move_number:  # any text is a PGN without tags and moves
                return state
        except ValueError as error:
            reasons.append(str(error))
    raise ValueError(reasons[0] if suffix and reasons else NO_RECORD)


def record_in(message: dict[str, Any]) -> str | bytes:
    """The record of a message: text that was pasted, or the bytes of a file in Base64."""
    if "data" not in message:
        return field(message, "record", str)
    try:
        return base64.b64decode(field(message, "data", str), validate=True)
    except binascii.Error:
        raise ValueError("data is not in Base64") from None


def suffix_of(text: str) -> str:
    """The kind of file that a text looks like; empty: none."""
    start = text.lstrip("\ufeff \t\r\n")[:60]
    if start.startswith("("):
        return ".sgf"
    if start.startswith("{"):
        return ".json"
    if re.match(r"\[\w+ \"|1\.", start):
        return ".pgn"
    return ".sgf" if re.search(r"\(\s*+;\s*+[A-Z]", text) else ""  # with a few words before it


def weight_of(states: Iterable[Any]) -> int:
    """Bytes that these states hold, each with the arrays that are its own."""
    return sum(_OBJECT + sum(map(_bytes, _parts(state))) for state in states)


def weight_of_game(state: AnyState) -> int:
    """Bytes that a state holds together with all before it; ValueError if that is too much."""
    states = [state]
    while states[-1].previous is not None:
        states.append(states[-1].previous)
    return check_weight(weight_of(states))


def check_weight(weight: int) -> int:
    """The weight of a game or study; ValueError if it is too much."""
    if weight > MOST_OF_ONE:
        raise ValueError(f"this game would take {weight // 1_000_000} MB of memory: at most {MOST_OF_ONE // 1_000_000}")
    return weight


def _parts(state: AnyState) -> Iterable[Any]:
    names = [name for kind in type(state).__mro__ for name in getattr(kind, "__slots__", ())]
    return [getattr(state, name, None) for name in names] or list(vars(state).values())


def _bytes(part: Any) -> int:
    if isinstance(part, np.ndarray):
        return part.nbytes if part.base is None else 0
    return sum(map(_bytes, part)) if isinstance(part, tuple) and hasattr(part, "_fields") else 0
