"""Game records from pages, of whatever game: read by the games' own readers, which trust nothing."""

import re
from typing import Any, Final

from tengen.games.game import game_names, get_game

NO_RECORD: Final = "this is no record of a game: give an SGF, a PGN or a JSON file that Tengen has written"


def read_any(text: str) -> Any:
    """The last state of the game in a text, whatever the game; ValueError if it is none that can be read."""
    data, reasons = text.encode("utf-8", "replace"), list[str]()
    suffix = _suffix(text)
    for name in sorted(game_names(), key=lambda name: get_game(name).suffix != suffix):
        try:
            return get_game(name).read(data)[0]
        except ValueError as error:
            reasons.append(str(error))
    raise ValueError(reasons[0] if suffix and reasons else NO_RECORD)


def _suffix(text: str) -> str:
    """The kind of file that a text looks like; empty: none."""
    start = text.lstrip("\ufeff \t\r\n")[:60]
    if start.startswith("("):
        return ".sgf"
    if start.startswith("{"):
        return ".json"
    return ".pgn" if re.match(r"\[\w+ \"|1\.", start) else ""
