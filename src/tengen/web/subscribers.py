"""Which pages follow what: of each part of the server a page follows one thing at a time, until it leaves."""

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


class Subscribers(Generic[Thing]):
    """The pages that follow the games, studies or matches of one part of the server."""

    def __init__(self, part: str, left: Callable[[Thing], object] = lambda thing: None) -> None:
        """`left` is called with a thing when the last page has left it."""
        self._part, self._left = part, left

    def join(self, page: Connection, thing: Thing) -> None:
        """Let a page follow a thing, and no other of this part."""
        if page.parts.get(self._part) is thing:
            return
        self.leave(page)
        if f"{self._part} left" not in page.parts:
            page.parts[f"{self._part} left"] = True
            page.on_leaving(lambda: self.leave(page))
        page.parts[self._part] = thing
        thing.pages.add(page)

    def leave(self, page: Connection) -> None:
        """Let a page follow nothing of this part."""
        thing: Thing | None = page.parts.pop(self._part, None)
        if thing is not None:
            thing.pages.discard(page)
            if not thing.pages:
                self._left(thing)
