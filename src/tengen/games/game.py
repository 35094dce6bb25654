"""`Game`: everything that the rest of Tengen asks about a game, in one object; and the registry of all games.

Agents, matches, learning, the terminal and the command line know games by these objects alone. Most methods have a
default that suits any game, so that a new one is short: `docs/add-a-game.md` shows how.

>>> from tengen.games.game import get_game
>>> game = get_game("go")
>>> state = game.new(game.options.of({"size": 5, "komi": 3.5}))
>>> game.describe(game.options_of(state))
'5x5, chinese rules, komi 3.5'
"""

import importlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Literal, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from tengen import _plugins
from tengen.games.batch import BatchedGame, GameArrays
from tengen.games.state import NOBODY, RESIGN, AnyState, Options

if TYPE_CHECKING:
    from tengen.games.go.game import Go
    from tengen.games.microchess.game import Microchess
    from tengen.games.tictactoe.game import TicTacToe

StateT = TypeVar("StateT", bound=AnyState)
OptionsT = TypeVar("OptionsT", bound=Options)

_MODULES: Final = {
    "go": "tengen.games.go.game",
    "microchess": "tengen.games.microchess.game",
    "tictactoe": "tengen.games.tictactoe.game",
}
"""Where each game's object is, under the name GAME. A new game adds a line."""


@dataclass(frozen=True)
class Outcome:
    """How a game ended."""

    winner: int
    """FIRST, SECOND, or NOBODY for a draw or a game without a result."""
    result: str
    """As the game's records write it."""
    ending: str
    """What ended it: `score`, `resignation`, `checkmate`, `move limit`, ..."""


@dataclass(frozen=True)
class Record:
    """What a file says about a game beside its moves."""

    first: str = ""
    """Names of who moved first and second."""
    second: str = ""
    event: str = ""
    result: str = ""
    """When empty: the game's own, if it is over."""
    termination: str = ""
    """How it ended, where the moves do not show it: `forfeit: illegal move`."""
    comments: Mapping[int, str] = ()  # type: ignore[assignment]
    """By number of the move that they follow; 0 is the start."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "comments", dict(self.comments))


class Game(ABC, Generic[StateT, OptionsT]):
    """A game, as the rest of Tengen sees it: `get_game` gives it by its name. States and options have types of its own.

    >>> import tengen
    >>> for name in ("go", "microchess"):
    ...     state = tengen.get_game(name).start()
    ...     print(name, len(state.legal_moves()))
    go 82
    microchess 12
    """

    name: ClassVar[str]
    """As options, specs and model files write it."""
    title: ClassVar[str]
    """For people."""
    players: ClassVar[tuple[str, str]]
    """What who moves first and who moves second are called."""
    options: ClassVar[type[Options]] = Options
    suffix: ClassVar[str] = ".json"
    """How the names of its game files end."""
    example_move: ClassVar[str]
    """A move as people type it."""
    replaceable: ClassVar[tuple[str, ...]] = ()
    """Options that may take the place of those that a game file gives."""
    territory: ClassVar[bool] = False
    """Whether there are points to own, dead stones to take off, and passes that end the game."""
    actions_are_moves: ClassVar[bool] = False
    """Whether an action stands for the same move in every position."""
    opening_moves: ClassVar[int] = 2
    """Random moves that a game of a match begins with."""
    fair_margin: ClassVar[int | None] = None
    """By how much, in the unit of its `evaluate` kernel, such an opening may favour a side; None: openings are not
    looked at."""
    evaluations: ClassVar[tuple[str, ...]] = ("",)
    """The names of what its `evaluate` kernel can do, the usual one first."""
    unit: ClassVar[str] = "points"
    """What a hundred of an evaluation are called."""
    depth: ClassVar[int] = 3
    """Plies that alpha-beta looks ahead when nobody names a depth or a time."""
    default_agent: ClassVar[str] = "mcts:playouts=2000"
    """Spec of the opponent when nobody names one."""
    default_encoder: ClassVar[str] = ""
    """Name of the encoder when nobody names one; a game that has only its own need not give it."""
    meanings: ClassVar[tuple[str, ...]] = ()
    """What each plane of the game's own encoder shows; empty: the game has its encoders in `encode/`."""

    @abstractmethod
    def new(self, options: OptionsT) -> StateT:
        """The friendly state that a game with these options begins with."""

    def start(self, **options: Any) -> StateT:
        """The same with the options by name, defaults elsewhere: `start(size=9)`."""
        return self.new(self._options_from(options))

    @abstractmethod
    def batch(self, options: OptionsT, past: int = 0, ages: bool = False) -> BatchedGame:
        """Many such games at once; `past`: how many earlier positions an encoder wants to see; `ages`: whether it wants
        to see for how long stones have been standing."""

    def check_search(self, options: OptionsT) -> None:
        """ValueError if what networks and playouts say would be wrong by these options."""

    def position(self, text: str, options: OptionsT) -> StateT:
        """The state that a text describes, such as a FEN; ValueError where the game has no such notation."""
        raise ValueError(f"{self.title} has no notation of positions: begin with the start position")

    def perft(self, state: StateT, depth: int) -> int:
        """How many sequences of `depth` legal moves there are from a state."""
        from tengen.games.batch import perft

        return perft(self.batch(self.options_of(state)), state, depth)

    def options_of(self, state: StateT) -> OptionsT:
        """The options of the game that a state belongs to, with room to play on."""
        return self._options_from({})

    def describe(self, options: OptionsT) -> str:
        """The options in one line for people."""
        settings = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in options.settings().items())
        return f"{self.title}, {settings}" if settings else self.title

    def encode(self, games: GameArrays, count: int, planes: NDArray[np.uint8]) -> None:
        """The game's own encoder: write the first `count` games to planes: uint8[n, len(meanings), H * W]."""
        raise NotImplementedError(f"{self.name} has its encoders in tengen.encode")

    def symmetries(self, options: OptionsT) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The symmetries of board and policy, int64[K, H * W] and int64[K, A], as tables to gather with: under symmetry
        k, planes become planes[..., points[k]] and policies policy[..., actions[k]]. Number 0 changes nothing."""
        batch = self.batch(options)
        return np.arange(batch.height * batch.width)[None], np.arange(batch.actions)[None]

    def max_moves(self, options: OptionsT) -> int:
        """A length that games of sensible players do not reach."""
        return 400

    def most_opening_moves(self, options: OptionsT) -> int:
        """With more random moves there may be no game left to play."""
        return 20

    def opening_choices(self, state: StateT) -> list[int]:
        """The moves that random openings are made of."""
        return state.legal_moves()

    def sensible_moves(self, state: StateT) -> list[int]:
        """Legal moves without those that nobody wants; never empty while the game goes on."""
        return state.legal_moves()

    def notation(self, state: StateT, move: int) -> str:
        """A move in a state as the game's records write it, which may be other than how people type it."""
        return state.move_name(move)

    def with_dead(self, state: StateT, dead: Iterable[int]) -> StateT:
        """The same position with the dead stones agreed on, in games that have territory."""
        raise ValueError(f"{self.title} has no stones that are taken off at the end")

    def outcome(self, state: StateT) -> Outcome:
        """How a game ended: by its rules, or at a limit of moves (a draw then, unless the game can be counted)."""
        if not state.is_over:
            return Outcome(NOBODY, "draw", "move limit")
        return Outcome(state.winner() or NOBODY, state.result(), state.end_reason or "rules")

    def forfeit(self, winner: int, on_time: bool = False) -> str:
        """The result of a game that the other player lost without regard to the board, by an error or on time."""
        return f"{self.players[winner - 1]} wins"

    def picture(self, state: StateT, numbers: Mapping[int, str] | None = None) -> str:
        """The position as SVG; `numbers`: labels of moves, where the game can show them."""
        own: Callable[[], str] | None = getattr(state, "_repr_svg_", None)
        return own() if own is not None else text_picture(str(state))

    def write(self, state: StateT, record: Record) -> bytes:
        """The game that led to a state, as its file."""
        moves = list[str]()
        for here in state.states():
            if here.previous is not None and here.last_move not in (None, RESIGN):
                moves.append(here.previous.move_name(here.last_move))
        fields = {name: getattr(record, name) for name in ("first", "second", "event", "termination")}
        fields = {
            "game": self.name,
            "options": self.options_of(state).settings(),
            **{name: text for name, text in fields.items() if text},
            "result": record.result or state.result(),
            "moves": moves,
            "comments": {str(number): text for number, text in sorted(record.comments.items()) if text},
        }
        return (json.dumps(fields, indent=1, ensure_ascii=False) + "\n").encode()

    def read(self, data: bytes, given: Mapping[str, Any] = MappingProxyType({})) -> tuple[StateT, str]:
        """The last state of the game in a file, and the result that the file gives; ValueError says what is wrong.

        `given`: options to replace the file's own, of those that are `replaceable`.
        """
        try:
            fields = json.loads(data.decode("utf-8"))
            if fields["game"] != self.name:
                raise ValueError(f"the file holds a game of {str(fields['game'])[:40]}, not of {self.name}")
            state = self.start(**fields["options"])
            for name in fields["moves"]:
                state = state.play(state.parse_move(str(name)))
            return state, str(fields.get("result", ""))
        except (KeyError, TypeError, AttributeError, RecursionError, json.JSONDecodeError, UnicodeDecodeError):
            raise ValueError(f"this is not a record of a game of {self.title}") from None

    def about(self, data: bytes) -> Record:
        """What a file that can be read says about its game beside the moves; games of JSON say it by names."""
        fields = json.loads(data.decode("utf-8"))
        first, second, event = (str(fields.get(name, "")) for name in ("first", "second", "event"))
        return Record(first, second, event, termination=str(fields.get("termination", "")))

    def _options_from(self, given: Mapping[str, Any]) -> OptionsT:
        """The options with these values, as the type that the game's methods take."""
        options: Any = self.options.of(given)  # `options` is of the class, which cannot know the type of its instances
        return options  # type: ignore[no-any-return]


AnyGame: TypeAlias = Game[AnyState, Options]
"""A game whose name is known only when the program runs."""


def text_picture(text: str) -> str:
    """Lines of text as SVG."""
    lines = text.splitlines()
    width, height = 9 * max(map(len, lines), default=1) + 16, 18 * len(lines) + 12
    rows = "".join(f'<tspan x="8" dy="18">{escape(line) or " "}</tspan>' for line in lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
        f'<text xml:space="preserve" font-family="monospace" font-size="15">{rows}</text></svg>'
    )


_LOADED: dict[str, AnyGame] = {}


def game_names() -> tuple[str, ...]:
    """The names of all games.

    >>> import tengen
    >>> "go" in tengen.game_names()
    True
    """
    return tuple(dict.fromkeys([*_MODULES, *_plugins.names("game")]))


@overload
def get_game(name: Literal["go"]) -> "Go": ...
@overload
def get_game(name: Literal["microchess"]) -> "Microchess": ...
@overload
def get_game(name: Literal["tictactoe"]) -> "TicTacToe": ...
@overload
def get_game(name: str) -> AnyGame: ...


def get_game(name: str) -> Game[Any, Any]:
    """The game of this name; ValueError if there is none.

    >>> import tengen
    >>> game = tengen.get_game("microchess")
    >>> game.players
    ('White', 'Black')
    >>> game.describe(game.options.of({"double_step": False}))
    'Microchess, standard rules, no double step'
    """
    if name not in _LOADED:
        _LOADED[name] = importlib.import_module(_MODULES[name]).GAME if name in _MODULES else _own_game(name)
    return _LOADED[name]


def _own_game(name: str) -> AnyGame:
    """The game that a plugin has registered by this name."""
    found = _plugins.find("game", name)
    if found is None:
        raise ValueError(f"no game is called {name[:40]!r}: choose from {', '.join(game_names())}")
    made = found() if isinstance(found, type) else found
    if not isinstance(made, Game) or made.name != name:
        raise _plugins.PluginError(f"the game {name} is no tengen.Game with this name: {made!r:.80}")
    return made


def game_of(state: StateT) -> Game[StateT, Options]:
    """The game that a state belongs to."""
    game: Any = get_game(state.game)
    return game  # type: ignore[no-any-return]


def game_of_file(path: Path) -> AnyGame:
    """The game that a file holds: by the ending of its name, else the first one that can read it."""
    games = [get_game(name) for name in game_names()]
    named = [game for game in games if game.suffix == path.suffix.lower()]
    if len(named) == 1:
        return named[0]
    data = path.read_bytes()
    for game in named or games:
        with suppress(ValueError):
            game.read(data)
            return game
    raise ValueError(f"{path} is not a record of a game: its name should end in {', '.join(g.suffix for g in games)}")


def open_batch(options: Options, past: int = 0, ages: bool = False) -> BatchedGame:
    """Many games with these options at once, to learn from or to search with networks and playouts."""
    game = get_game(options.game)
    game.check_search(options)
    return game.batch(options, past, ages)
