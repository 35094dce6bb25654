"""The command `tengen` as a program of its own, for tests that stop it."""

from typing import Final

COMMAND: Final = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from tengen.cli.main import main; main()"
)
"""For `python -c`. SIGINT may come to us ignored, from a shell's background job; the command must see it."""
