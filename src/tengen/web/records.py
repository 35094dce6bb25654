"""Game records from pages, of whatever game: read by the games' own readers, which trust nothing."""

from typing import Any

from tengen.games.game import game_names, get_game


def read_any(text: str) -> Any:
    """The last state of the game in a text, whatever the game; ValueError if it is none that can be read."""
    if not text.strip():
        raise ValueError("this is no record of a game")
    data, reasons = text.encode("utf-8", "replace"), list[str]()
    for name in _likely_games(text):
        try:
            return get_game(name).read(data)[0]
        except ValueError as error:
            reasons.append(str(error))
    raise ValueError(reasons[0] if reasons else "this is no record of a game")


def _likely_games(text: str) -> list[str]:
    """The games that a text could be of, the likeliest first."""
    start = text.lstrip("\ufeff \t\r\n")[:1]
    suffix = ".sgf" if start == "(" else ".json" if start == "{" else ".pgn"
    return sorted(game_names(), key=lambda name: get_game(name).suffix != suffix)
