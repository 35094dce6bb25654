"""Game records from pages, of whatever game: read by the games' own readers, which trust nothing."""

import base64
import binascii
import re
from typing import Any, Final

from tengen.games.game import game_names, get_game
from tengen.web.fields import field

NO_RECORD: Final = "this is no record of a game: give an SGF, a PGN or a JSON file that Tengen has written"


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
