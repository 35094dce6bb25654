"""`tengen play`: a game of Go in the terminal, against a bot, a person, or between two bots to watch."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from tengen.agents.agent import Agent
    from tengen.games.go import GameState

PLAY_EPILOG = "\n\n".join(
    f"[cyan]{command}[/cyan]  {meaning}"
    for command, meaning in (
        ("tengen play", "9x9, you are Black, against a Monte-Carlo bot"),
        ("tengen play --size 19 --handicap 4 --opponent uct:seconds=5", "four stones ahead on the big board"),
        ("tengen play --rules simple-go --color white", "5x5, no passing while a move is left"),
        ('tengen play --opponent "gtp:gnugo --mode gtp"', "against another program"),
        ("tengen play --color none --opponent uct:playouts=2000 --delay 1", "watch a bot play itself"),
        ("tengen play --load game.sgf", "go on with a saved game"),
    )
)


_COMPILING = "compiling the rules engine, once: about a minute"


class PlayedBy(StrEnum):
    """The colour that the person takes."""

    BLACK = "black"
    WHITE = "white"
    NONE = "none"


def play(
    size: Annotated[
        int | None,
        typer.Option(help="Board size, 2 to 25; 9 if not given, 5 for simple-go.", show_default=False),
    ] = None,
    color: Annotated[
        PlayedBy,
        typer.Option(case_sensitive=False, help="The stones you take; none: watch the bot play itself."),
    ] = PlayedBy.BLACK,
    opponent: Annotated[
        str, typer.Option(help="Spec of the bot, or human: two people share the keyboard.")
    ] = "uct:seconds=1",
    rules: Annotated[
        str | None,
        typer.Option(
            help="chinese, japanese, aga, new-zealand, tromp-taylor or simple-go; chinese if not given.",
            show_default=False,
        ),
    ] = None,
    komi: Annotated[
        float | None,
        typer.Option(
            help="White's points for moving second; the rule set's if not given, 0.5 with handicap.",
            show_default=False,
        ),
    ] = None,
    handicap: Annotated[int, typer.Option(help="Stones that Black has on the board before White begins, 2 to 9.")] = 0,
    load: Annotated[Path | None, typer.Option(help="Go on with the game in this SGF file.", show_default=False)] = None,
    save: Annotated[
        Path | None,
        typer.Option(help="Keep the game in this SGF file when you leave.", show_default=False),
    ] = None,
    hint: Annotated[str, typer.Option(help="Spec of the bot that gives hints.")] = "uct:seconds=1",
    delay: Annotated[float, typer.Option(help="Seconds between moves when you watch.", min=0, max=60)] = 0.0,
    seed: Annotated[
        int | None,
        typer.Option(help="The same seed gives the same bot, where it thinks by playouts.", show_default=False),
    ] = None,
) -> None:
    """Play Go in the terminal.

    Type a point such as [cyan]d4[/cyan], or a command: [cyan]pass, undo, hint, score, resign, save, load,
    new, help, quit[/cyan]. A game that you leave is kept, and you are told how to go on with it.
    """
    from rich.console import Console

    from tengen._kernel_cache import is_cold

    if save is not None and save.exists() and save != load:
        raise ValueError(f"{save} is there already: choose another name, or go on with it by --load {save}")
    _prepare_terminal()
    console = Console()
    agents: dict[int, Agent] = {}
    try:
        with _patience(console, is_cold()):
            from tengen.agents.registry import load_agent
            from tengen.serve.terminal import TerminalGame

            state = _first_state(size, rules, komi, handicap, load)
            for number, bot in enumerate(_bots(color, opponent)):
                agents[bot] = load_agent(opponent, None if seed is None else seed + number)
            _warm_up(load_agent(opponent, 0) if agents else None, state)
        game = TerminalGame(
            state,
            agents,
            console=console,
            ask=input if sys.stdin.isatty() else lambda prompt: input(f"{prompt}\n"),
            adviser=lambda: load_agent(hint, seed),
            keep_in=save or _last_game_file(),
            delay=delay,
        )
        game.run()
    finally:
        for agent in agents.values():
            agent.close()


def _first_state(
    size: int | None, rules: str | None, komi: float | None, handicap: int, load: Path | None
) -> "GameState":
    from tengen.games.go import GameState

    if load is None:
        if komi is None and handicap:
            komi = 0.5
        return GameState.new(size, rules or "chinese", komi, handicap)
    if size is not None or handicap:
        raise ValueError("--size and --handicap come with the loaded game: leave them out beside --load")
    from tengen.data.sgf import SgfError, read_sgf

    try:
        state = read_sgf(load.read_bytes(), rules).state
    except SgfError as error:
        raise ValueError(f"{load}: {error}") from None
    return state if komi is None else state.with_komi(komi)


def _bots(color: PlayedBy, opponent: str) -> list[int]:
    """The colours that bots play."""
    from tengen.games.go import BLACK, WHITE

    if opponent.strip().lower() == "human":
        return []
    return {PlayedBy.BLACK: [WHITE], PlayedBy.WHITE: [BLACK], PlayedBy.NONE: [BLACK, WHITE]}[color]


@contextmanager
def _patience(console: "Console", cold: bool) -> Iterator[None]:
    """Tell what the wait is for; the first use after an install compiles the kernels, which takes a while."""
    if cold and not console.is_terminal:
        console.print(_COMPILING)
    spinner = "dots" if console.encoding.startswith("utf") else "line"
    with console.status(_COMPILING if cold else "loading the rules engine", spinner=spinner):
        yield


def _warm_up(agent: "Agent | None", state: "GameState") -> None:
    """Use what a game uses, so that it is loaded or compiled before the first move rather than during it."""
    from tengen.agents.gtp import GtpEngine

    if not state.is_over:
        state.play(state.legal_moves()[0]).dead_stones(playouts=1)
    if agent is not None and not isinstance(agent, GtpEngine):
        agent.choose(state, seconds=0.05)
        agent.close()


def _prepare_terminal() -> None:
    """Line editing at a keyboard; characters that cannot be shown or read become question marks."""
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    if sys.stdin.isatty():
        with suppress(ImportError):
            import readline  # noqa: F401  (importing it gives input() its line editing)


def _last_game_file() -> Path:
    """Where a game is kept that was left without saving."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return base / "tengen" / "last-game.sgf"
