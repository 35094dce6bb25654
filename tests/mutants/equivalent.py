"""Mutants that change nothing that anybody could see, and why."""

from typing import Final

EQUIVALENT: Final[dict[str, str]] = {}
