"""Where `judge_games` was in earlier versions: it is `tengen.solve.endgame_tables.evaluate_games`."""

from importlib import import_module
from typing import Any

_NAMES = {"judge_games": "evaluate_games", "JudgedMove": "EvaluatedMove", "mistakes": "mistakes"}


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("tengen.solve.endgame_tables"), _NAMES[name])
