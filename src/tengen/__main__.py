"""`python -m tengen` is the command `tengen`."""

from tengen.cli.main import main

main()
