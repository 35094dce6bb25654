"""Where the endgame tables were in earlier versions: they are in `tengen.solve.endgame_tables`."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    return getattr(import_module("tengen.solve.endgame_tables"), name)
