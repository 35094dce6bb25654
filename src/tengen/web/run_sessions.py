"""Learn: the runs of a folder, watched while they go on, their games replayed, their generations let play."""

import asyncio
from pathlib import Path
from typing import Any, Final

from tengen.web.connection import Action, Connection, Message
from tengen.web.inputs import field
from tengen.web.play_sessions import PlaySessions
from tengen.web.runs import describe_run, find_runs, game_of_run, pair_game, pair_games, players_of, replay, touched
from tengen.web.study_sessions import StudySessions
from tengen.web.thinking import Thinking

_EVERY: Final = 2.0  # seconds between two looks at a run


class RunSessions:
    """Reads the runs in a folder and never writes to them."""

    def __init__(self, folder: Path, studies: StudySessions, play: PlaySessions, thinking: Thinking) -> None:
        self._folder, self._studies, self._play, self._thinking = folder, studies, play, thinking

    def actions(self) -> dict[str, Action]:
        """What pages may ask for."""
        return {
            "runs.list": self._list,
            "runs.open": self._open,
            "runs.leave": self._leave,
            "runs.replay": self._replay,
            "runs.duel": self._duel,
            "runs.pair": self._pair,
            "runs.game": self._game,
        }

    async def _list(self, page: Connection, message: Message) -> Any:
        found = await asyncio.to_thread(find_runs, self._folder)
        return {
            "folder": str(self._folder),
            "runs": [{"name": name, "touched": touched(found[name])} for name in found],
        }

    async def _open(self, page: Connection, message: Message) -> Any:
        name, path = await self._path(message)
        self._stop(page)
        page.forget("run")
        view = await asyncio.to_thread(describe_run, name, path)
        page.tell("run", view)
        if "runs left" not in page.parts:
            page.parts["runs left"] = True
            page.on_leaving(lambda: self._stop(page))
        page.parts["run"] = asyncio.create_task(_watch(page, name, path, view["touched"]))
        return {}

    async def _leave(self, page: Connection, message: Message) -> Any:
        self._stop(page)
        return {}

    async def _replay(self, page: Connection, message: Message) -> Any:
        _, path = await self._path(message)
        index = field(message, "index", int)
        return await self._studies.begin(page, await self._thinking.run(page, lambda: replay(path, index)))

    async def _duel(self, page: Connection, message: Message) -> Any:
        """Let two generations of a run play a game on the board."""
        _, path = await self._path(message)
        players = await asyncio.to_thread(players_of, path)
        names = field(message, "first", str), field(message, "second", str)
        if not all(name in players for name in names):
            raise ValueError("the run has no such generation")
        komi = None if message.get("komi") is None else field(message, "komi", float)
        state = await asyncio.to_thread(game_of_run, path, komi)
        return await self._play.begin_between(page, state, names, (players[names[0]], players[names[1]]))

    async def _pair(self, page: Connection, message: Message) -> Any:
        """The games of two agents of a tournament."""
        _, path = await self._path(message)
        return await asyncio.to_thread(pair_games, path, field(message, "first", str), field(message, "second", str))

    async def _game(self, page: Connection, message: Message) -> Any:
        """Open one of these games as a study."""
        _, path = await self._path(message)
        names, number = (field(message, "first", str), field(message, "second", str)), field(message, "number", int)
        return await self._studies.begin(page, await self._thinking.run(page, lambda: pair_game(path, *names, number)))

    async def _path(self, message: Message) -> tuple[str, Path]:
        name = field(message, "name", str)
        found = await asyncio.to_thread(find_runs, self._folder)
        if name not in found:
            raise ValueError(f"no run is called {name[:80]!r} in {self._folder}")
        return name, found[name]

    @staticmethod
    def _stop(page: Connection) -> None:
        task = page.parts.pop("run", None)
        if task is not None:
            task.cancel()


async def _watch(page: Connection, name: str, path: Path, known: float) -> None:
    """Tell a page what is new of a run since `known`, as long as it looks."""
    while True:
        await asyncio.sleep(_EVERY)
        if touched(path) != known:
            try:
                view = await asyncio.to_thread(describe_run, name, path)
            except (ValueError, OSError):
                continue  # it is being written to: look again
            known = view["touched"]
            page.tell("run", view)
