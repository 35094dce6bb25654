"""`tengen play`: Go or Microchess in the terminal, against a bot, a person, or between two bots to watch."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from tengen.agents.agent import Agent
    from tengen.games import go, microchess
    from tengen.games.state import AnyState
    from tengen.serve.sitting import Sitting

PLAY_EPILOG = "\n\n".join(
    f"[cyan]{command}[/cyan]  {meaning}"
    for command, meaning in (
        ("tengen play", "9x9, you are Black, against a Monte-Carlo bot"),
        ("tengen play --size 19 --handicap 4 --opponent uct:seconds=5", "four stones ahead on the big board"),
        ("tengen play --rules simple-go --color white", "5x5, no passing while a move is left"),
        ('tengen play --opponent "gtp:gnugo --mode gtp"', "against another program"),
        ("tengen play --color none --opponent uct:playouts=2000 --delay 1", "watch a bot play itself"),
        ("tengen play --load game.sgf", "go on with a saved game"),
        ("tengen play --game microchess", "chess on 4 x 5 squares, against a network that taught itself"),
    )
)


_COMPILING = "compiling the rules engine, once: about a minute"


class Game(StrEnum):
    """What can be played."""

    GO = "go"
    MICROCHESS = "microchess"


_OPPONENTS = {Game.GO: "uct:seconds=1", Game.MICROCHESS: "zero:microchess,seconds=1"}


class PlayedBy(StrEnum):
    """The colour that the person takes."""

    BLACK = "black"
    WHITE = "white"
    NONE = "none"


def play(
    game: Annotated[Game, typer.Option(case_sensitive=False, help="What to play.")] = Game.GO,
    size: Annotated[
        int | None,
        typer.Option(help="Go: board size, 2 to 25; 9 if not given, 5 for simple-go.", show_default=False),
    ] = None,
    color: Annotated[
        PlayedBy | None,
        typer.Option(
            case_sensitive=False,
            help="Your colour, the one that moves first if not given; none: watch the bot play itself.",
            show_default=False,
        ),
    ] = None,
    opponent: Annotated[
        str | None,
        typer.Option(
            help="Spec of the bot, or human: two people share the keyboard. Go: uct:seconds=1 if not given; "
            "Microchess: zero:microchess,seconds=1.",
            show_default=False,
        ),
    ] = None,
    rules: Annotated[
        str | None,
        typer.Option(
            help="Go: chinese, japanese, aga, new-zealand, tromp-taylor or simple-go; chinese if not given. "
            "Microchess: standard or ncsoft; standard if not given.",
            show_default=False,
        ),
    ] = None,
    komi: Annotated[
        float | None,
        typer.Option(
            help="Go: White's points for moving second; the rule set's if not given, 0.5 with handicap.",
            show_default=False,
        ),
    ] = None,
    handicap: Annotated[
        int, typer.Option(help="Go: stones that Black has on the board before White begins, 2 to 9.")
    ] = 0,
    double_step: Annotated[
        bool | None,
        typer.Option(
            "--double-step/--no-double-step",
            help="Microchess: may a pawn step two squares at first? It may if not given.",
            show_default=False,
        ),
    ] = None,
    load: Annotated[
        Path | None, typer.Option(help="Go on with the game in this SGF or PGN file.", show_default=False)
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(help="Keep the game in this SGF or PGN file when you leave.", show_default=False),
    ] = None,
    hint: Annotated[
        str | None,
        typer.Option(help="Spec of the bot that gives hints; as for --opponent if not given.", show_default=False),
    ] = None,
    delay: Annotated[float, typer.Option(help="Seconds between moves when you watch.", min=0, max=60)] = 0.0,
    seed: Annotated[
        int | None,
        typer.Option(help="The same seed gives the same bot, where it thinks by playouts.", show_default=False),
    ] = None,
) -> None:
    """Play Go or Microchess in the terminal.

    Type a move such as [cyan]d4[/cyan] (Microchess: [cyan]d2d4[/cyan]), or a command: [cyan]undo, hint, resign,
    save, load, new, help, quit[/cyan]. A game that you leave is kept, and you are told how to go on with it.
    """
    from rich.console import Console

    from tengen._kernel_cache import is_cold

    if save is not None and save.exists() and save != load:
        raise ValueError(f"{save} is there already: choose another name, or go on with it by --load {save}")
    if load is not None and load.suffix.lower() == ".pgn":
        game = Game.MICROCHESS
    opponent, adviser = opponent or _OPPONENTS[game], hint or _OPPONENTS[game]
    _prepare_terminal()
    console = Console()
    agents: dict[int, Agent] = {}
    try:
        with _patience(console, is_cold()):
            from tengen.agents.registry import load_agent

            state: go.GameState | microchess.GameState
            if game is Game.GO:
                _only_for(Game.MICROCHESS, double_step=double_step)
                state = _first_state(size, rules, komi, handicap, load)
            else:
                _only_for(Game.GO, size=size, komi=komi, handicap=handicap or None)
                state = _first_position(rules, double_step, load)
            for number, bot in enumerate(_bots(game, color, opponent)):
                agents[bot] = load_agent(opponent, None if seed is None else seed + number)
            _warm_up(load_agent(opponent, 0) if agents else None, state)
        sitting = _sitting(state)(
            state,
            agents,
            console=console,
            ask=input if sys.stdin.isatty() else lambda prompt: input(f"{prompt}\n"),
            adviser=lambda: load_agent(adviser, seed),
            keep_in=save or _last_game_file(game),
            delay=delay,
        )
        sitting.run()
    finally:
        for agent in agents.values():
            agent.close()


def _sitting(state: "AnyState") -> "type[Sitting[Any]]":
    from tengen.serve.microchess_terminal import MicrochessGame
    from tengen.serve.terminal import TerminalGame

    return TerminalGame if state.game == Game.GO else MicrochessGame


def _only_for(game: Game, **options: object) -> None:
    """ValueError if an option is given that only another game has."""
    for name, value in options.items():
        if value is not None:
            raise ValueError(f"--{name.replace('_', '-')} is for --game {game}: leave it out, or add that")


def _first_state(
    size: int | None, rules: str | None, komi: float | None, handicap: int, load: Path | None
) -> "go.GameState":
    from tengen.games.go import GameState

    if load is None:
        if komi is None and handicap:
            komi = 0.5
        return GameState.new(size, rules or "chinese", komi, handicap)
    if size is not None or handicap:
        raise ValueError("--size and --handicap come with the loaded game: leave them out beside --load")
    from tengen.games.go.sgf import SgfError, read_sgf

    try:
        state = read_sgf(load.read_bytes(), rules).state
    except SgfError as error:
        raise ValueError(f"{load}: {error}") from None
    return state if komi is None else state.with_komi(komi)


def _first_position(rules: str | None, double_step: bool | None, load: Path | None) -> "microchess.GameState":
    from tengen.games.microchess import GameState, from_pgn

    if load is None:
        return GameState.new(rules or "standard", double_step is not False)
    if rules is not None or double_step is not None:
        raise ValueError("--rules and --double-step come with the loaded game: leave them out beside --load")
    if load.suffix.lower() == ".sgf":
        raise ValueError(f"{load} is a game of Go: leave --game microchess out, or load a PGN file")
    try:
        return from_pgn(load.read_text(encoding="utf-8", errors="replace"))[0]
    except ValueError as error:
        raise ValueError(f"{load}: {error}") from None


def _bots(game: Game, color: PlayedBy | None, opponent: str) -> list[int]:
    """The players that bots are: 1 moves first (in Go it is Black, in Microchess White), 2 second."""
    from tengen.games.state import FIRST, SECOND

    if opponent.strip().lower() == "human":
        return []
    first = PlayedBy.BLACK if game is Game.GO else PlayedBy.WHITE
    if color is PlayedBy.NONE:
        return [FIRST, SECOND]
    return [SECOND] if color in (None, first) else [FIRST]


@contextmanager
def _patience(console: "Console", cold: bool) -> Iterator[None]:
    """Tell what the wait is for; the first use after an install compiles the kernels, which takes a while."""
    if cold and not console.is_terminal:
        console.print(_COMPILING)
    spinner = "dots" if console.encoding.startswith("utf") else "line"
    with console.status(_COMPILING if cold else "loading the rules engine", spinner=spinner):
        yield


def _warm_up(agent: "Agent | None", state: "go.GameState | microchess.GameState") -> None:
    """Use what a game uses, so that it is loaded or compiled before the first move rather than during it."""
    from tengen.agents.agent import Particular
    from tengen.agents.gtp import GtpEngine
    from tengen.games.go import GameState

    if state.is_over:  # a loaded game: there is no move to choose
        return
    played = state.play(state.legal_moves()[0])
    if isinstance(played, GameState):
        played.dead_stones(playouts=1)
    if agent is None or isinstance(agent, GtpEngine):
        return
    if isinstance(agent, Particular):
        agent.check(state)
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


def _last_game_file(game: Game) -> Path:
    """Where a game is kept that was left without saving."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return base / "tengen" / ("last-game.sgf" if game is Game.GO else "last-game.pgn")
