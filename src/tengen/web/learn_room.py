"""Learn: the runs of a folder, watched while they go on, their games replayed, their generations let play."""

import asyncio
from pathlib import Path
from typing import Any, Final

from tengen.games.game import get_game
from tengen.learn.zero_config import read_config
from tengen.web.connection import Action, Connection, Message
from tengen.web.fields import field
from tengen.web.play_room import PlayRoom
from tengen.web.runs import describe_run, find_runs, generations, replay, touched
from tengen.web.study_room import StudyRoom

_EVERY: Final = 2.0  # seconds between two looks at a run
_SIMULATIONS: Final = 64


class LearnRoom:
    """Reads the runs in a folder and never writes to them."""

    def __init__(self, folder: Path, studies: StudyRoom, play: PlayRoom) -> None:
        self._folder, self._studies, self._play = folder, studies, play

    def actions(self) -> dict[str, Action]:
        """What pages may ask for."""
        return {
            "runs.list": self._list,
            "runs.open": self._open,
            "runs.leave": self._leave,
            "runs.replay": self._replay,
            "runs.duel": self._duel,
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
        if "runs left" not in page.rooms:
            page.rooms["runs left"] = True
            page.on_leaving(lambda: self._stop(page))
        page.rooms["run"] = asyncio.create_task(_watch(page, name, path, view["touched"]))
        return {}

    async def _leave(self, page: Connection, message: Message) -> Any:
        self._stop(page)
        return {}

    async def _replay(self, page: Connection, message: Message) -> Any:
        _, path = await self._path(message)
        index = field(message, "index", int)
        return self._studies.begin(await asyncio.to_thread(replay, path, index))

    async def _duel(self, page: Connection, message: Message) -> Any:
        """Let two generations of a run play a game on the board."""
        _, path = await self._path(message)
        models = {file.stem: file for file in await asyncio.to_thread(generations, path)}
        first, second = field(message, "first", str), field(message, "second", str)
        if first not in models or second not in models:
            raise ValueError("the run has no such generation")
        options = read_config(path).game_options()
        specs = f"zero:{models[first]},sims={_SIMULATIONS}", f"zero:{models[second]},sims={_SIMULATIONS}"
        return await self._play.begin_between(get_game(options.game).new(options), (first, second), specs)

    async def _path(self, message: Message) -> tuple[str, Path]:
        name = field(message, "name", str)
        found = await asyncio.to_thread(find_runs, self._folder)
        if name not in found:
            raise ValueError(f"no run is called {name[:80]!r} in {self._folder}")
        return name, found[name]

    @staticmethod
    def _stop(page: Connection) -> None:
        task = page.rooms.pop("run", None)
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
