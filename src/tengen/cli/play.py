"""`tengen play`, a game in the terminal against a bot or a person, and `tengen perft`, which counts moves."""

import io
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tengen.cli.options import (
    GAMES,
    DoubleStep,
    GameName,
    Handicap,
    Komi,
    OtherOptions,
    Rules,
    Size,
    choose_game,
    choose_options,
    given_options,
)
from tengen.cli.progress import Progress, say_if_cold

if TYPE_CHECKING:
    from tengen.agents.agent import Agent
    from tengen.games.game import AnyGame
    from tengen.games.state import AnyState

_EXAMPLES = (
    ("tengen play", "9x9, you are Black, against a Monte-Carlo bot"),
    ("tengen play --size 19 --handicap 4 --opponent uct:seconds=5", "four stones ahead on the big board"),
    ("tengen play --rules simple-go --color white", "5x5, no passing while a move is left"),
    ('tengen play --opponent "gtp:gnugo --mode gtp"', "against another program"),
    ("tengen play --color none --opponent uct:playouts=2000 --delay 1", "watch a bot play itself"),
    ("tengen play --load game.sgf", "resume a saved game"),
    ("tengen play --game microchess", "chess on 4 x 5 squares, against a network that taught itself"),
)
EPILOGS = {"play": "\n\n".join(f"[cyan]{command}[/cyan]  {meaning}" for command, meaning in _EXAMPLES)}


def play(
    game: GameName = None,
    size: Size = None,
    color: Annotated[
        str | None,
        typer.Option(
            help="Your side: black or white, or what the game calls them; the first mover's if not given. "
            "none: watch the bot play itself."
        ),
    ] = None,
    opponent: Annotated[
        str | None,
        typer.Option(
            help="Spec of the bot, or human: two people share the keyboard. Go: uct:seconds=1 if not given; "
            "Microchess: zero:microchess,seconds=1."
        ),
    ] = None,
    rules: Rules = None,
    komi: Komi = None,
    handicap: Handicap = None,
    double_step: DoubleStep = None,
    option: OtherOptions = None,
    load: Annotated[Path | None, typer.Option(help="Resume the game in this file (SGF, PGN, ...).")] = None,
    save: Annotated[Path | None, typer.Option(help="Keep the game in this file when you leave.")] = None,
    hint: Annotated[
        str | None, typer.Option(help="Spec of the bot that gives hints; as for --opponent if not given.")
    ] = None,
    delay: Annotated[float, typer.Option(help="Seconds between moves when you watch.", min=0, max=60)] = 0.0,
    seed: Annotated[
        int | None, typer.Option(help="The same seed gives the same bot, where it thinks by playouts.")
    ] = None,
) -> None:
    """Play a game in the terminal.

    Type a move such as [cyan]d4[/cyan] (Microchess: [cyan]d2d4[/cyan]), or a command: [cyan]undo, hint, chances,
    resign, save, load, new, help, quit[/cyan]. A game that you leave is kept, and you see how to resume it.
    """
    from rich.console import Console

    if save is not None and save.exists() and save != load:
        raise ValueError(f"{save} is there already: choose another name, or resume it by --load {save}")
    given = given_options(option, size=size, rules=rules, komi=komi, handicap=handicap, double_step=double_step)
    _prepare_terminal()
    console = Console()
    agents: dict[int, Agent] = {}
    try:
        with Progress(console) as progress:
            progress.update("loading the rules engine")
            from tengen.agents.registry import load_agent
            from tengen.games.game import game_of
            from tengen.serve.session import session_type

            if load is None:
                played = choose_game(game, [opponent or ""])
                state = played.new(choose_options(played, given, [opponent or played.default_agent]))
            else:
                state = read_game(load, game, given)
                played = game_of(state)
            opponent, adviser = opponent or played.default_agent, hint or played.default_agent
            for number, bot in enumerate(_bots(played, color, opponent)):
                agents[bot] = load_agent(opponent, None if seed is None else seed + number)
            _warm_up(load_agent(opponent, 0) if agents else None, state)
        session_type(played)(
            state,
            agents,
            console=console,
            ask=input if sys.stdin.isatty() else lambda prompt: input(f"{prompt}\n"),
            adviser=lambda: load_agent(adviser, seed),
            keep_in=save or _last_game_file(played),
            delay=delay,
        ).run()
    finally:
        for agent in agents.values():
            agent.close()


def read_game(file: Path, name: str | None, given: Mapping[str, Any]) -> "AnyState":
    """The last state of the game in a file, which must be the game that was named, if any was."""
    from tengen.games.game import game_of_file

    game = game_of_file(file)
    if name not in (None, game.name):
        raise ValueError(f"{file} is a game of {game.title}: leave --game {name} out, or load another file")
    fixed = [f"--{name.replace('_', '-')}" for name in given if name not in game.replaceable]
    if fixed:
        raise ValueError(f"{' and '.join(fixed)} cannot be changed in a game from a file: leave it out")
    data = file.read_bytes()
    try:
        state: AnyState = game.read(data, given)[0]
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    return state


def _bots(game: "AnyGame", color: str | None, opponent: str) -> list[int]:
    """The players that bots are."""
    from tengen.games.state import FIRST, SECOND, other_player

    sides = {name.lower(): player for player, name in zip((FIRST, SECOND), game.players)}
    side = None if color is None else color.strip().lower()
    if side not in (None, "none", *sides):
        raise ValueError(f"--color {side} is not a side of {game.title}: choose from {', '.join(sides)}, none")
    if opponent.strip().lower() == "human":
        return []
    return [FIRST, SECOND] if side == "none" else [other_player(sides.get(side or "", FIRST))]


def _warm_up(agent: "Agent | None", state: "AnyState") -> None:
    """Use what the first moves use, so that it is loaded or compiled before them; counting waits for the end."""
    from tengen.agents.gtp import GtpEngine

    if state.is_over:  # a loaded game: there is no move to choose
        return
    state.play(state.legal_moves()[0])
    if agent is None or isinstance(agent, GtpEngine):
        return
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


def _last_game_file(game: "AnyGame") -> Path:
    """Where a game is kept that was left without saving."""
    from tengen.runs.files import user_state

    return user_state() / f"last-game{game.suffix}"


# ------------------------------------------------------------------------------------------------ perft

_USUAL_DEPTH = 6
_MANY = 200_000  # sequences, after which no deeper level is counted unless it is asked for


def perft(
    game: Annotated[str, typer.Argument(help=f"The game: {GAMES}.")] = "microchess",
    depth: Annotated[
        int | None,
        typer.Option(min=1, max=9, help="Depth in moves; 6, or less where that is millions, if not given."),
    ] = None,
    size: Size = None,
    rules: Rules = None,
    double_step: DoubleStep = None,
    option: OtherOptions = None,
    fen: Annotated[
        str | None, typer.Option(help="Microchess: the position to begin with; the start if not given.")
    ] = None,
) -> None:
    """Count the sequences of legal moves for each depth, with the time (perft).

    Example: [cyan]tengen perft microchess --depth 7 --no-double-step[/cyan]
    """
    from time import perf_counter

    say_if_cold()

    from tengen.games.game import get_game

    played = get_game(game)
    options = played.options.of(given_options(option, size=size, rules=rules, double_step=double_step))
    state = played.new(options) if fen is None else played.position(fen, options)
    position = "the start position" if fen is None else fen
    typer.echo(f"{played.describe(options)}, up to {depth or _USUAL_DEPTH} moves from {position}")
    played.perft(state, 2)  # compiled before the clock runs
    for level in range(1, (depth or _USUAL_DEPTH) + 1):
        started = perf_counter()
        found = played.perft(state, level)
        typer.echo(f"{level:2d} {found:14d} {perf_counter() - started:9.3f} s")
        if depth is None and found > _MANY:
            typer.echo("the next depth has too many: give --depth to count it anyway")
            break
