"""The server: which paths there are, and how its parts hang together.

| path      | what it gives                                       |
|-----------|-----------------------------------------------------|
| `/`       | the page                                            |
| `/assets` | what the page is made of                            |
| `/talk`   | the websocket that everything else goes through     |
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket

from tengen import __version__
from tengen.agents.registry import read_spec
from tengen.games import go
from tengen.games.game import AnyGame, game_names, get_game
from tengen.games.go import PASS
from tengen.games.go.board import MAX_SIZE, MIN_SIZE
from tengen.games.go.coordinates import max_fixed_handicap
from tengen.games.go.rules import RULES, GoOptions
from tengen.games.microchess.board import RULE_SETS
from tengen.games.state import RESIGN
from tengen.search.life_and_death import group_at
from tengen.web.connection import Action, Connection, Message
from tengen.web.explain_sessions import ExplainSessions
from tengen.web.guard import Guard
from tengen.web.inputs import SAFE_KINDS, weight_of_game
from tengen.web.match_sessions import MatchSessions
from tengen.web.messages import Catalogue, GameInfo, GoInfo, OptionInfo
from tengen.web.opponents import HUMAN
from tengen.web.play_sessions import PlaySessions
from tengen.web.positions import view_of
from tengen.web.run_sessions import RunSessions
from tengen.web.storage import PlayedGame, StoredGames, StoredStudies, count_of, is_to_be_counted, new_id
from tengen.web.study import study_of
from tengen.web.study_sessions import StudySessions
from tengen.web.thinking import AgentPool, Thinking

STATIC = Path(__file__).parent / "static"
_MOST_PAGES = 500

_SIZES = (5, 7, 9, 13, 19)  # that pages offer by a button
_KOMI = {5: 3.5}  # where networks have learned another than that of the rules
_HIDDEN = ("limit",)  # options that are for learning


@dataclass(frozen=True)
class WebConfig:
    """How the server runs."""

    state: Path
    """The folder that games are kept in."""
    token: str = ""
    """What everybody must know; empty: nothing."""
    cookie: str = ""
    """What a page that has shown the token is known by; empty: the token."""
    public: str = ""
    """The address that people see, where a proxy stands before the server."""
    local: bool = True
    """Whether the server listens on loopback alone."""
    opponents: Mapping[str, str] = field(default_factory=dict)
    """The server's own opponents: specs by name. They may be of any kind."""
    runs: Path = Path("runs")
    """The folder whose training runs are shown; nothing in it is ever written."""
    threads: int | None = None
    """Threads to think with, and as many for moves of games; None: one for each core."""


def check_built(static: Path = STATIC) -> None:
    """ValueError if the page has not been built."""
    if not (static / "index.html").is_file():
        raise ValueError(f"the page has not been built in {static}: run  make web  in a clone of Tengen")


def make_app(config: WebConfig) -> Guard:
    """The whole server, as an ASGI application."""
    thinking, agents = Thinking(config.threads), AgentPool()
    moves, warm = Thinking(config.threads, "moves"), asyncio.Event()
    actions = {
        name: action if name == "hello" else _once(warm, action)
        for name, action in actions_of(config, thinking, moves, agents).items()
    }
    pages = set[Connection]()

    async def talk(socket: WebSocket) -> None:
        if len(pages) >= _MOST_PAGES:
            await socket.close(1013)
            return
        page = Connection(socket, actions)
        pages.add(page)
        try:
            await page.serve()
        except asyncio.CancelledError:  # the server is ending in the middle of an answer
            pass
        finally:
            pages.discard(page)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        threading.Thread(target=_warm_up_and_tell, args=(loop, warm), daemon=True).start()
        yield
        thinking.close()
        moves.close()
        await asyncio.to_thread(agents.close)

    routes: list[Any] = [Route("/", _index), WebSocketRoute("/talk", talk)]
    if (STATIC / "assets").is_dir():
        routes.append(Mount("/assets", _Assets(directory=STATIC / "assets")))
    smaller = Middleware(GZipMiddleware, minimum_size=1_000)
    app = Starlette(routes=routes, middleware=[smaller], lifespan=lifespan)
    return Guard(app, config.token, config.local, config.cookie, config.public)


def actions_of(config: WebConfig, thinking: Thinking, moves: Thinking, agents: AgentPool) -> dict[str, Action]:
    """What pages may ask for, in all parts of the server; `messages.py` describes it."""
    stored = StoredGames(config.state)
    play = PlaySessions(stored, thinking, moves, agents, config.opponents, config.runs)
    studies = StudySessions(stored, StoredStudies(config.state / "studies"), thinking, agents)
    return {
        "hello": _hello,
        **play.actions(),
        **studies.actions(),
        **ExplainSessions(studies, thinking, agents).actions(),
        **RunSessions(config.runs, studies, play, thinking).actions(),
        **MatchSessions(studies, thinking, agents, config.opponents).actions(),
    }


class _Assets(StaticFiles):
    """Files whose names change with what is in them: a browser need not ask for them again."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        """A file, to be kept for a year."""
        response = super().file_response(*args, **kwargs)
        response.headers["cache-control"] = "public, max-age=31536000, immutable"
        return response


async def _index(request: Request) -> Response:
    if not (STATIC / "index.html").is_file():
        return PlainTextResponse("the page has not been built: run  make web  in a clone of Tengen", 503)
    return FileResponse(STATIC / "index.html", headers={"cache-control": "no-cache"})


async def _hello(page: Connection, message: Message) -> Any:
    return await asyncio.to_thread(catalogue)


def _once(warm: asyncio.Event, action: Action) -> Action:
    """The same action, which waits until the server is warm."""

    async def act(page: Connection, message: Message) -> Any:
        await warm.wait()
        return await action(page, message)

    return act


def _warm_up_and_tell(loop: asyncio.AbstractEventLoop, warm: asyncio.Event) -> None:
    try:
        _warm_up()
    finally:
        with suppress(RuntimeError):  # the server has ended meanwhile
            loop.call_soon_threadsafe(warm.set)


def _warm_up() -> None:
    """Load all that the event loop needs, so that it never compiles: nobody would be answered meanwhile."""
    for name in game_names():
        game = get_game(name)
        state: Any = game.new(game.options())
        moves = [move for move in state.legal_moves() if move >= 0][:1]
        if name == "go":
            view_of(game.new(game.options.of({"size": "9", "handicap": "2"})))
            state.is_legal(moves[0])
            moves += [PASS, PASS]
        for move in moves:
            view_of(state)
            state = state.play(move)
        played = PlayedGame(new_id(), state, (HUMAN, HUMAN), ("", ""))
        if isinstance(state, go.State) and is_to_be_counted(played):
            group_at(state, moves[0])
            played.dead = frozenset()
            played.state = state.with_dead(played.dead)
            count_of(played)
        weight_of_game(state)
        study_of(state).write()
        view_of(state.states()[-2].play(RESIGN))
    for kind in SAFE_KINDS:
        read_spec(kind)


def catalogue() -> Catalogue:
    """The games that can be played here, with their options and what is usual."""
    return {
        "version": __version__,
        "kinds": list(SAFE_KINDS),
        "games": [_describe(get_game(name)) for name in game_names()],
    }


def _describe(game: AnyGame) -> GameInfo:
    known: GameInfo = {
        "name": game.name,
        "title": game.title,
        "players": game.players,
        "territory": game.territory,
        "suffix": game.suffix,
        "options": [_option(game, option) for option in fields(game.options) if option.name not in _HIDDEN],
    }
    if game.name == "go":
        known["rules"] = [{"name": rules.name, "komi": rules.komi, "size": rules.size} for rules in RULES.values()]
        known["go"] = _usual_go()
    return known


def _usual_go() -> GoInfo:
    return {
        "sizes": list(_SIZES),
        "size": GoOptions().size,
        "smallest": MIN_SIZE,
        "largest": MAX_SIZE,
        "komi": {str(size): komi for size, komi in _KOMI.items()},
        "handicapKomi": GoOptions(handicap=2).komi,
        "handicaps": {str(size): max_fixed_handicap(size) for size in range(MIN_SIZE, MAX_SIZE + 1)},
    }


def _option(game: AnyGame, option: Any) -> OptionInfo:
    kind: Any = next((word for word in ("bool", "int", "float") if word in str(option.type)), "str")
    choices = {"go": list(RULES), "microchess": list(RULE_SETS)}.get(game.name, []) if option.name == "rules" else []
    default = option.default
    return {"name": option.name, "kind": kind, "choices": choices, "default": None if default != default else default}
