"""Which agents a page may ask for. A spec from a client may start no program, read no file and not think without end.

Allowed are the kinds in `SAFE_KINDS`, with bundled models by name and limits up to `MOST`. Whatever else somebody wants
to offer (`gtp:`, `uci:`, models of their own) is named on the server's own command line, and goes by a key.
"""

import re
from typing import Any, Final

from tengen.agents.registry import SpecError, read_spec
from tengen.nets.bundled import bundled_models

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
_LONGEST: Final = 200


def safe_spec(text: Any) -> str:
    """The spec itself, if a client may ask for it; else SpecError says why not."""
    if not isinstance(text, str) or not 0 < len(text) <= _LONGEST or not re.fullmatch(r"[A-Za-z0-9:,=._ -]+", text):
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
