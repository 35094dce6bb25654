"""Games on boards of squares, made from their kernels alone: states, batches, coordinates, planes and text.

Whoever adds such a game writes its kernels and a class derived from `BoardGame`; `docs/add-a-game.md` shows how. A move
is its action: square row * width + column, row 0 being the top, and after the last square the pass, if there is one.
"""

from abc import abstractmethod
from html import escape
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tengen.games.batch import BatchedGame, GameArrays, write_players
from tengen.games.game import Game, OptionsT
from tengen.games.state import FIRST, NOBODY, RESIGN, SECOND, AnyState, IllegalMove, Options, other_player

_FILES = "abcdefghijklmnopqrstuvwxyz"
_ONLY = np.zeros(1, np.int64)
_SQUARE = 40  # of a drawing, in pixels


class BoardGame(Game["BoardState", OptionsT]):
    """A game on a board of squares, each empty or taken by one of the players, with options of the type `OptionsT`.

    >>> import tengen
    >>> isinstance(tengen.get_game("tictactoe"), tengen.BoardGame)
    True
    """

    example_move: ClassVar[str] = "a1"
    actions_are_moves: ClassVar[bool] = True
    meanings: ClassVar[tuple[str, ...]] = ("own squares", "squares of the opponent")
    symbols: ClassVar[str] = ".XO"
    """An empty square, one of the first player and one of the second, in text."""
    can_pass: ClassVar[bool] = False
    """Whether there is one more action than squares, the pass."""

    @abstractmethod
    def shape(self, options: OptionsT) -> tuple[int, int]:
        """Rows and columns of the board, 26 columns at most."""

    @abstractmethod
    def arrays(self, options: OptionsT, count: int) -> GameArrays:
        """The NamedTuple of arrays of `count` games; `restart` is called for each of them."""

    @abstractmethod
    def cells(self, games: GameArrays) -> NDArray[np.int8]:
        """int8[B, H * W]: what is on each square of each game, 0 nothing, 1 the first player's, 2 the second's."""

    # ------------------------------------------------------------------- what follows suits most games as it is

    def action_count(self, options: OptionsT) -> int:
        """The length of a policy."""
        height, width = self.shape(options)
        return height * width + self.can_pass

    def action_name(self, options: OptionsT, action: int) -> str:
        """An action as people write it, in lower case: `b2` is in the second column from the left, the second row from
        below."""
        height, width = self.shape(options)
        row, col = divmod(action, width)
        return "pass" if row == height else f"{_FILES[col]}{height - row}"

    def text(self, state: "BoardState") -> str:
        """The position as lines of text."""
        height, width = self.shape(state.options)
        cells, edge = self.cells(state.arrays)[0].reshape(height, width), len(str(height))
        rows = [
            f"{height - row:>{edge}} {' '.join(self.symbols[cell] for cell in cells[row])}" for row in range(height)
        ]
        return "\n".join([*rows, f"{'':>{edge}} {' '.join(_FILES[:width])}"])

    def drawing(self, state: "BoardState") -> str:
        """The position as SVG: squares with the players' symbols, the last move in red."""
        height, width = self.shape(state.options)
        cells = self.cells(state.arrays)[0]
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_SQUARE * width}" height="{_SQUARE * height}"'
            f' font-family="sans-serif" font-size="{0.7 * _SQUARE:g}" text-anchor="middle">'
        ]
        for point, cell in enumerate(cells):
            row, col = divmod(point, width)
            place = f'x="{_SQUARE * col}" y="{_SQUARE * row}" width="{_SQUARE}" height="{_SQUARE}"'
            parts.append(f'<rect {place} fill="#fff" stroke="#333"/>')
            if cell:
                x, y = _SQUARE * (col + 0.5), _SQUARE * (row + 0.75)
                ink = "#c00" if point == state.last_move else "#222"
                parts.append(f'<text x="{x:g}" y="{y:g}" fill="{ink}">{escape(self.symbols[cell])}</text>')
        return "".join([*parts, "</svg>"])

    def encode(self, games: GameArrays, count: int, planes: NDArray[np.uint8]) -> None:
        """Two planes: the squares of the player to move, and those of the opponent."""
        players = np.empty((count, 1), np.int8)
        write_players(games, players[:, 0])
        cells = self.cells(games)[:count]
        planes[:, 0] = cells == players
        planes[:, 1] = cells == FIRST + SECOND - players

    def new(self, options: OptionsT) -> "BoardState":
        """The start position."""
        return BoardState(self, options, self.batch(options).allocate(1))

    def options_of(self, state: "BoardState") -> OptionsT:
        """As the state was given them."""
        return state.options  # type: ignore[no-any-return]

    def batch(self, options: OptionsT, past: int = 0, ages: bool = False) -> "BatchedBoards":
        """Many games at once; `past` and `ages` are for encoders of other games."""
        return BatchedBoards(self, options)


class BatchedBoards(BatchedGame):
    """Many games of a `BoardGame`."""

    def __init__(self, game: BoardGame[Any], options: Options) -> None:
        self.options, self._game = options, game
        self.height, self.width = game.shape(options)
        self.actions = self.branching = game.action_count(options)

    def allocate(self, count: int) -> GameArrays:
        """`count` games at the start position."""
        games = self._game.arrays(self.options, count)
        self.restart(games, np.arange(count))
        return games

    def load(self, games: GameArrays, i: int, state: "BoardState") -> None:
        """Make game i this state."""
        self.copy(state.arrays, _ONLY, games, np.array([i]))


class BoardState(AnyState):
    """A position of a `BoardGame` with its game behind it. Immutable to its user: `play` returns a new state."""

    __slots__ = (
        "_actions",
        "_legal",
        "_of",
        "_winner",
        "arrays",
        "end_reason",
        "last_move",
        "move_number",
        "options",
        "previous",
        "to_play",
    )

    previous: "BoardState | None"
    last_move: int | None
    move_number: int
    to_play: int
    end_reason: str | None
    options: Any

    def __init__(self, of: BoardGame[Any], options: Options, arrays: GameArrays) -> None:
        """`arrays`: of one game, which belongs to this state from now on."""
        self._of, self.options, self.arrays = of, options, arrays
        batch = of.batch(options)
        legal, over, values = np.zeros((1, batch.actions), np.bool_), np.zeros(1, np.bool_), np.zeros(1, np.float32)
        batch.judge(arrays, 1, legal, over, values)
        self._legal: list[int] = np.flatnonzero(legal[0]).tolist()
        self._actions = batch.actions
        self.to_play = int(batch.to_play(arrays)[0])
        self._winner: int | None = None
        if over[0]:
            other = other_player(self.to_play)
            self._winner = NOBODY if values[0] == 0 else self.to_play if values[0] > 0 else other
        self.end_reason = "rules" if over[0] else None
        self.previous = None
        self.last_move = None
        self.move_number = 0

    @property
    def game(self) -> str:
        """The game's name."""
        return self._of.name

    @property
    def is_over(self) -> bool:
        """Whether the rules, or a resignation, have ended the game."""
        return self._winner is not None

    def legal_moves(self) -> list[int]:
        """Every legal move; nothing once the game is over."""
        return [] if self.is_over else list(self._legal)

    def why_illegal(self, move: int) -> str | None:
        """What is wrong with a move, or None if it is legal."""
        if self.is_over:
            return f"the game is over ({self.result()})"
        if move == RESIGN or move in self._legal:
            return None
        return "the rules do not allow it here" if 0 <= move < self._actions else f"moves are 0 to {self._actions - 1}"

    def play(self, move: int) -> "BoardState":
        """The state after a move or RESIGN; IllegalMove says why not."""
        reason = self.why_illegal(move)
        if reason is not None:
            name = self.move_name(move) if 0 <= move < self._actions else move
            raise IllegalMove(f"{name} is not legal: {reason}")
        batch = self._of.batch(self.options)
        arrays = batch.allocate(1)
        batch.copy(self.arrays, _ONLY, arrays, _ONLY)
        if move != RESIGN:
            batch.play(arrays, np.array([move]))
        state = type(self)(self._of, self.options, arrays)
        state.previous, state.last_move, state.move_number = self, move, self.move_number + (move != RESIGN)
        if move == RESIGN:
            state._winner, state.end_reason = other_player(self.to_play), "resignation"
        return state

    def winner(self) -> int | None:
        """FIRST, SECOND, NOBODY for a draw; None while the game goes on."""
        return self._winner

    def result(self) -> str:
        """Who wins, `draw`, or `?` while the game goes on."""
        return "?" if self._winner is None else self._of.forfeit(self._winner) if self._winner else "draw"

    def _repr_svg_(self) -> str:
        return self._of.drawing(self)

    def move_name(self, move: int) -> str:
        """A move as people write it; ValueError if it is none of this game."""
        if move == RESIGN:
            return "resign"
        return self._of.action_name(self.options, self.move_of(move))

    def parse_move(self, text: str) -> int:
        """The move of a text, legal or not; ValueError if it is none."""
        names: dict[str, int] = {self.move_name(move): move for move in [*range(self._actions), RESIGN]}
        word = text.strip().lower()
        if word not in names:
            raise ValueError(f"{text[:40]!r} is not a move: write it like {self._of.example_move}")
        return names[word]

    def action_of(self, move: int) -> int:
        """A policy's index of a move: the move itself."""
        return move

    def move_of(self, action: int) -> int:
        """The move at an index of a policy: the same."""
        if not 0 <= action < self._actions:
            raise ValueError(f"{action} is not a move: moves are 0 to {self._actions - 1}")
        return action

    def __str__(self) -> str:
        return self._of.text(self)

    def __reduce__(self) -> tuple[Any, ...]:
        start, *later = self.states()
        return _replayed, (type(self), self._of, self.options, start.arrays, [state.last_move for state in later])

    def _facts(self) -> tuple[Any, ...]:
        return self.game, self.options, self.move_number, self.last_move

    def _start(self) -> list[Any]:
        return [np.asarray(array).tolist() for array in self.arrays]


def _replayed(
    kind: type[BoardState], of: BoardGame[Any], options: Options, arrays: GameArrays, moves: list[int]
) -> BoardState:
    """The state with this game, for `BoardState.__reduce__`."""
    state = kind(of, options, arrays)
    for move in moves:
        state = state.play(move)
    return state
