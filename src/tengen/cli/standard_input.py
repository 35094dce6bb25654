"""Standard input for a thread that reads it while another works."""

import io
import sys
from typing import BinaryIO


def standard_input() -> BinaryIO:
    """A stream of its own: Python cannot shut down cleanly while a thread waits in `sys.stdin` itself."""
    try:
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except io.UnsupportedOperation:  # not a file: a test's
        return sys.stdin.buffer
