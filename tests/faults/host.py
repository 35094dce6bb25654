"""A process that has imported Tengen, and forks a child for every command it is asked to run.

    request     {"arguments": ["match", ...], "folder": "...", "log": "..."}      one line of JSON
    answers     the child's process id; then, when the child has ended, its exit code

So a kill falls into the work of a command and not into its imports, which would take most of the time. A child leads a
process group of its own, with all that it starts.
"""

import json
import os
import sys
from contextlib import suppress
from typing import Any


def main() -> None:
    """Serve requests until there are no more."""
    from numba import njit  # noqa: F401
    from torch import nn  # noqa: F401

    from tengen.agents import registry  # noqa: F401
    from tengen.cli.main import main as tengen
    from tengen.data import build  # noqa: F401
    from tengen.learn import alphago, duel, generations, supervised, value, zero  # noqa: F401

    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _run(tengen, request)
        _lead_a_group(child)  # here and in the child, for either may be the first to need it
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _lead_a_group(process: int) -> None:
    """Make a process, with 0 this one, the leader of a group of its own."""
    with suppress(ProcessLookupError):  # it has ended
        os.setpgid(process, process)


def _run(tengen: Any, request: dict[str, Any]) -> None:
    """In the child: the command, as if from a shell; never returns."""
    _lead_a_group(0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(request["folder"])
    sys.argv = ["tengen", *request["arguments"]]
    code = 1
    try:
        tengen()
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
