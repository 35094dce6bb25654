"""Who looks at what: pages look at one thing of a room at a time, until they go."""

from collections.abc import Callable
from typing import Generic, TypeVar

from tengen.web.connection import Connection, Message


class Watched:
    """Something that pages look at: a game, a study, a match."""

    def __init__(self) -> None:
        self.pages: set[Connection] = set()

    def tell(self, topic: str, news: Message) -> None:
        """Tell all pages."""
        for page in self.pages:
            page.tell(topic, news)


Thing = TypeVar("Thing", bound=Watched)


class Audience(Generic[Thing]):
    """The pages of a room."""

    def __init__(self, room: str, left: Callable[[Thing], object] = lambda thing: None) -> None:
        """`left` is called with a thing when the last page has left it."""
        self._room, self._left = room, left

    def join(self, page: Connection, thing: Thing) -> None:
        """Let a page look at a thing, and at no other of this room."""
        if page.rooms.get(self._room) is thing:
            return
        self.leave(page)
        if f"{self._room} left" not in page.rooms:
            page.rooms[f"{self._room} left"] = True
            page.on_leaving(lambda: self.leave(page))
        page.rooms[self._room] = thing
        thing.pages.add(page)

    def leave(self, page: Connection) -> None:
        """Let a page look at nothing of this room."""
        thing: Thing | None = page.rooms.pop(self._room, None)
        if thing is not None:
            thing.pages.discard(page)
            if not thing.pages:
                self._left(thing)
