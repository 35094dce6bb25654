"""The options of matches, for every command that plays some: declared here once."""

from typing import Annotated

import typer

OpeningMoves = Annotated[
    int | None,
    typer.Option(
        help="Random moves that each pair of games begins with; 2 in Go and 4 in Microchess if not given.",
        show_default=False,
    ),
]
MaxMoves = Annotated[
    int | None,
    typer.Option(
        help="End a game after so many moves. Go: it is scored; 4 x size x size, at least 200, if not given. "
        "Microchess: it is a draw; 400 if not given.",
        show_default=False,
    ),
]
Seconds = Annotated[
    float | None,
    typer.Option(help="Ask all agents to think no longer per move; no clock if not given.", show_default=False),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        "-w",
        help="Games under way at once; one per CPU if not given, with --cluster one per core of it.",
        show_default=False,
    ),
]
