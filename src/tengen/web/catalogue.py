"""What the server has to offer, as a page needs it to begin: games with their options, and kinds of agents."""

from dataclasses import fields
from typing import Any

from tengen import __version__
from tengen.games.game import Game, game_names, get_game
from tengen.games.go.coordinates import max_fixed_handicap
from tengen.games.go.rules import RULES
from tengen.games.microchess.options import RULE_SETS
from tengen.web.specs import SAFE_KINDS

_GO_SIZES = range(2, 26)
_HIDDEN = ("limit",)  # options that are for learning


def catalogue() -> dict[str, Any]:
    """All of it."""
    return {
        "version": __version__,
        "kinds": list(SAFE_KINDS),
        "games": [_describe(get_game(name)) for name in game_names()],
    }


def _describe(game: Game) -> dict[str, Any]:
    known = {
        "name": game.name,
        "title": game.title,
        "players": list(game.players),
        "territory": game.territory,
        "suffix": game.suffix,
        "options": [_option(game, option) for option in fields(game.options) if option.name not in _HIDDEN],
    }
    if game.name == "go":
        known["rules"] = [{"name": rules.name, "komi": rules.komi, "size": rules.size} for rules in RULES.values()]
        known["handicaps"] = {str(size): max_fixed_handicap(size) for size in _GO_SIZES}
    return known


def _option(game: Game, option: Any) -> dict[str, Any]:
    kind = next((word for word in ("bool", "int", "float") if word in str(option.type)), "str")
    choices = {"go": list(RULES), "microchess": list(RULE_SETS)}.get(game.name, []) if option.name == "rules" else []
    default = option.default
    return {"name": option.name, "kind": kind, "choices": choices, "default": None if default != default else default}
