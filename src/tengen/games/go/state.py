"""`State`: a position of Go with its game behind it, for people, agents and records.

Immutable to its user: `play` returns a new state and leaves this one alone. All work is done by kernels;
batch work (playouts, self-play, encoding) calls those kernels on many boards and never comes through here.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tengen.games.go import board as kernels
from tengen.games.go import legality, score
from tengen.games.go.board import BLACK, EMPTY, WHITE, Board, allocate, new_board
from tengen.games.go.coordinates import (
    PASS,
    RESIGN,
    check_size,
    fixed_handicap,
    from_cell,
    from_gtp,
    from_policy,
    to_cell,
    to_gtp,
    to_policy,
)
from tengen.games.go.draw import board_svg, board_text
from tengen.games.go.legality import LEGAL, NO_FORCED_PASS, REASONS
from tengen.games.go.rules import RuleSet, get_rules


class IllegalMove(ValueError):
    """A move that the rules do not allow; the message says why."""


def opponent(color: int) -> int:
    """The other colour."""
    return BLACK + WHITE - color


class State:
    """A Go position: the stones, who is to play, and all that the rules remember of the game.

    >>> import tengen
    >>> state = tengen.go.State.new(size=5, komi=0.5)
    >>> for vertex in ("C3", "C2", "pass"):
    ...     state = state.play(state.parse_move(vertex))
    >>> print(state)
       A B C D E
     5 . . . . . 5
     4 . . . . . 4
     3 . . X . . 3
     2 . . O . . 2
     1 . . . . . 1
       A B C D E
    Captured by Black 0, by White 0. Last move: pass. White (O) to play.
    """

    __slots__ = (
        "_board",
        "_dead",
        "_history",
        "_resigned",
        "handicap",
        "komi",
        "last_color",
        "last_move",
        "previous",
        "rules",
        "size",
    )

    game: str = "go"
    size: int
    rules: RuleSet
    komi: float
    handicap: int
    previous: "State | None"
    last_move: int | None
    last_color: int
    _board: Board
    _history: NDArray[np.int64]
    _resigned: int
    _dead: frozenset[int] | None

    def __init__(self) -> None:
        raise TypeError("make a game with go.State.new(...) or go.State.setup(...)")

    @classmethod
    def new(
        cls,
        size: int | None = None,
        rules: str | RuleSet = "chinese",
        komi: float | None = None,
        handicap: int = 0,
    ) -> "State":
        """An empty board, or one with 2 to 9 handicap stones on the fixed places and White to play."""
        rule_set = get_rules(rules)
        size = check_size(rule_set.size if size is None else size)
        black = fixed_handicap(size, handicap) if handicap else []
        return cls.setup(size, rule_set, komi, black, (), WHITE if handicap else BLACK, handicap)

    @classmethod
    def setup(
        cls,
        size: int | None = None,
        rules: str | RuleSet = "chinese",
        komi: float | None = None,
        black: Iterable[int] = (),
        white: Iterable[int] = (),
        to_play: int = BLACK,
        handicap: int = 0,
    ) -> "State":
        """A position with these stones; ValueError if a point is taken twice or a string has no liberty."""
        rule_set = get_rules(rules)
        size = check_size(rule_set.size if size is None else size)
        state = object.__new__(cls)
        state.size, state.rules, state.handicap = size, rule_set, handicap
        state.komi = rule_set.check_komi(rule_set.komi if komi is None else komi)
        state.previous, state.last_move, state.last_color, state._resigned = None, None, EMPTY, EMPTY
        state._dead = None
        state._board = new_board(size)
        state._set_up(((BLACK, black), (WHITE, white)))
        return state._turned_to(to_play)

    # ------------------------------------------------------------------------------------ what is there

    @property
    def to_play(self) -> int:
        """Whose turn it is: BLACK or WHITE."""
        return int(self._board.info[kernels.TO_PLAY])

    @property
    def move_number(self) -> int:
        """How many moves, passes included, have been played since the set-up."""
        return int(self._board.info[kernels.MOVES])

    @property
    def hash(self) -> int:
        """The Zobrist hash of the stones, as a signed 64-bit integer."""
        return int(self._board.info[kernels.HASH])

    @property
    def board(self) -> Board:
        """The arrays behind this state, for kernels. Read only, please."""
        return self._board

    @property
    def history(self) -> NDArray[np.int64]:
        """int64[n]: keys of all positions of this game, as `legality` uses them. Read only, please."""
        return self._history

    @property
    def ko_point(self) -> int | None:
        """The point that a simple ko forbids the player to move, if any."""
        cell = int(self._board.info[kernels.KO])
        return from_cell(cell, self.size) if cell else None

    @property
    def captures(self) -> tuple[int, int]:
        """Stones captured so far: (by Black, by White)."""
        info = self._board.info
        return int(info[kernels.PRISONERS_OF_BLACK]), int(info[kernels.PRISONERS_OF_WHITE])

    @property
    def stones(self) -> NDArray[np.int8]:
        """int8[size, size] of EMPTY, BLACK, WHITE; row 0 is the top row. A copy."""
        return self._square(self._board.color)

    def color_at(self, point: int) -> int:
        """EMPTY, BLACK or WHITE."""
        return int(self._board.color[self._cell(point)])

    @property
    def moves(self) -> list[tuple[int, int]]:
        """(colour, move) of every move since the set-up, oldest first."""
        played: list[tuple[int, int]] = []
        state: State | None = self
        while state is not None and state.last_move is not None:
            played.append((state.last_color, state.last_move))
            state = state.previous
        return played[::-1]

    @property
    def setup_stones(self) -> tuple[list[int], list[int]]:
        """The points of (Black's, White's) stones that the game began with."""
        state = self
        while state.previous is not None:
            state = state.previous
        flat = state.stones.ravel()
        return np.flatnonzero(flat == BLACK).tolist(), np.flatnonzero(flat == WHITE).tolist()

    # ------------------------------------------------------------------------------------------ playing

    def play(self, move: int, color: int | None = None) -> "State":
        """The state after a point, PASS or RESIGN; `color` plays out of turn, as records and GTP may."""
        color = self.to_play if color is None else color
        if self.is_over:
            raise IllegalMove(f"the game is over ({self.result()}): no more moves")
        if move == RESIGN:
            state = self._successor(move, color, self._board, self._history)
            state._resigned = color
            return state
        cell = self._cell_of_move(move)
        if move == PASS and self.rules.forced_play and not self._may_pass(color):
            raise self._illegal(move, NO_FORCED_PASS)
        board, history = allocate(self.size), np.empty(len(self._history) + 1, np.int64)
        flags = self.rules.flags
        found = legality.play_checked(self._board, board, cell, color, flags, self._history, history)
        if found != LEGAL:
            raise self._illegal(move, found)
        return self._successor(move, color, board, history)

    def why_illegal(self, move: int, color: int | None = None) -> str | None:
        """What is wrong with a move, or None if it is legal."""
        color = self.to_play if color is None else color
        if self.is_over:
            return f"the game is over ({self.result()})"
        if move == RESIGN:
            return None
        if move == PASS:
            return REASONS[NO_FORCED_PASS] if self.rules.forced_play and not self._may_pass(color) else None
        if not 0 <= move < self.size * self.size:
            return f"{move} is not a point of a {self.size}x{self.size} board"
        flags = self.rules.flags
        found = legality.verdict(self._board, to_cell(move, self.size), color, flags, self._history)
        return None if found == LEGAL else REASONS[found]

    def is_legal(self, move: int, color: int | None = None) -> bool:
        """Whether the rules allow a move."""
        return self.why_illegal(move, color) is None

    def legal_moves(self) -> list[int]:
        """Every legal point, in order, then PASS where the rules allow it; nothing once the game is over."""
        if self.is_over:
            return []
        points: list[int] = self._legal_points(self.to_play).nonzero()[0].tolist()
        if not points or not self.rules.forced_play:
            points.append(PASS)
        return points

    def with_to_play(self, color: int) -> "State":
        """The same position with `color` to play."""
        if color == self.to_play:
            return self
        state = self._copy()
        board = allocate(self.size)
        kernels.copy_board(self._board, board)
        board.info[kernels.KO] = 0
        state._board = board
        return state._turned_to(color) if self.last_move is None else state._with_turn(color)

    def with_komi(self, komi: float) -> "State":
        """The same position with another komi."""
        state = self._copy()
        state.komi = self.rules.check_komi(komi)
        return state

    # ------------------------------------------------------------------------------------------- ending

    @property
    def is_over(self) -> bool:
        """Two passes in a row, a resignation, or (simple ko only) a position for the third time: no result."""
        return bool(self._board.info[kernels.PASSES] >= 2) or self._resigned != EMPTY or self._is_void

    @property
    def end_reason(self) -> str | None:
        """`score`, `resignation` or `repetition`; None while the game goes on."""
        if not self.is_over:
            return None
        return "resignation" if self._resigned else "repetition" if self._is_void else "score"

    def winner(self) -> int | None:
        """BLACK, WHITE, EMPTY for a draw or a void game; None while the game goes on."""
        if not self.is_over:
            return None
        if self._resigned:
            return opponent(self._resigned)
        if self._is_void:
            return EMPTY
        margin = self.score()
        return BLACK if margin > 0 else WHITE if margin < 0 else EMPTY

    def result(self) -> str:
        """How the game ended, as SGF writes it: `B+3.5`, `W+R`, `0` (draw), `Void`; `?` while it goes on."""
        if not self.is_over:
            return "?"
        if self._resigned:
            return "W+R" if self._resigned == BLACK else "B+R"
        return "Void" if self._is_void else format_margin(self.score())

    @property
    def compensation(self) -> float:
        """What White is given in points: the komi, and the handicap bonus where the rules know one."""
        return self.komi + self.rules.bonus(self.handicap)

    def score(self, dead: Iterable[int] | None = None) -> float:
        """Black's points minus White's, with komi, and White's handicap bonus where the rules know one.

        `dead`: the stones to take off first. When None: those of `with_dead`, or else, if the rules take any
        off, those that playouts find.
        """
        gone = self._dead_cells(dead)
        owner, prisoners = self._owners(gone), 0
        if self.rules.scoring == "territory":
            stones = self._board.color * ~gone
            owner = owner * (stones == EMPTY)
            by_black, by_white = self.captures
            prisoners = by_black - by_white
            prisoners += int(np.sum(gone & (self._board.color == WHITE)))
            prisoners -= int(np.sum(gone & (self._board.color == BLACK)))
        margin = int(np.sum(owner == BLACK)) - int(np.sum(owner == WHITE)) + prisoners
        return margin - self.compensation

    def ownership(self, dead: Iterable[int] | None = None) -> NDArray[np.int8]:
        """int8[size, size]: whose each point is once the dead stones are off (EMPTY is neutral)."""
        return self._square(self._owners(self._dead_cells(dead)))

    def dead_stones(self, playouts: int = 400, seed: int = 1) -> frozenset[int]:
        """The stones that guided playouts from here mostly lose. (`search.status` reads more deeply.)"""
        ownership, rng = np.zeros(len(self._board.color), np.int64), np.array([2 * seed + 1], np.uint64)
        score.playout_owners(self._board, allocate(self.size), self.rules.flags, playouts, rng, ownership)
        return self.dead_by_ownership(ownership, playouts)

    def dead_by_ownership(self, ownership: NDArray[np.int64], playouts: int) -> frozenset[int]:
        """The stones of all strings that the opponent owns in more than two of three playouts.

        ownership: int64[P], over all playouts, +1 where a cell ended up Black's and -1 where it was White's.
        """
        dead = np.empty(len(self._board.color), np.bool_)
        score.dead_cells(self._board, ownership, playouts, dead)
        return frozenset(from_cell(int(cell), self.size) for cell in np.flatnonzero(dead))

    def with_dead(self, dead: Iterable[int]) -> "State":
        """The same position with the dead stones agreed on: `score`, `winner` and `result` go by them."""
        state = self._copy()
        state._dead = frozenset(dead)
        return state

    def move_name(self, move: int) -> str:
        """A move as people write it: `D4`, `pass`, `resign`; ValueError if the board has no such point."""
        if not RESIGN <= move < self.size * self.size:
            raise ValueError(f"{move} is not a point of a {self.size}x{self.size} board")
        return to_gtp(move, self.size)

    def parse_move(self, text: str) -> int:
        """The point, `pass` or `resign` that a person names; ValueError if the board has no such point."""
        return from_gtp(text, self.size)

    def action_of(self, move: int) -> int:
        """Where a policy of size * size + 1 entries has a move: points in order, then PASS."""
        return to_policy(move, self.size)

    def move_of(self, action: int) -> int:
        """The move at an index of a policy."""
        return from_policy(action, self.size)

    def __str__(self) -> str:
        return board_text(self)

    def __repr__(self) -> str:
        return f"<go.State {self.size}x{self.size} {self.rules.name}, move {self.move_number}>"

    def _repr_svg_(self) -> str:
        return board_svg(self)

    # ------------------------------------------------------------------------------------------ private

    @property
    def _is_void(self) -> bool:
        if self.rules.ko != "simple" or len(self._history) < 2 * legality.VOID_REPETITIONS:
            return False
        if self._board.info[kernels.PASSES] >= 2:  # both agreed to end the game: it is counted
            return False
        return bool(legality.occurrences(self._history[-1], self._history) >= legality.VOID_REPETITIONS)

    def _cell(self, point: int) -> int:
        if not 0 <= point < self.size * self.size:
            raise ValueError(f"{point} is not a point of a {self.size}x{self.size} board")
        return to_cell(point, self.size)

    def _cell_of_move(self, move: int) -> int:
        if move == PASS:
            return kernels.NO_CELL
        if not 0 <= move < self.size * self.size:
            raise IllegalMove(f"{move} is not a point of a {self.size}x{self.size} board")
        return to_cell(move, self.size)

    def _illegal(self, move: int, verdict: int) -> IllegalMove:
        return IllegalMove(f"{to_gtp(move, self.size)} is not legal: {REASONS[verdict]}")

    def _legal_points(self, color: int) -> NDArray[np.bool_]:
        legal = np.empty(self.size * self.size, np.bool_)
        legality.legal_points(self._board, color, self.rules.flags, self._history, legal)
        return legal

    def _may_pass(self, color: int) -> bool:
        return not self._legal_points(color).any()

    def _successor(self, move: int, color: int, board: Board, history: NDArray[np.int64]) -> "State":
        state = self._copy()
        state._board, state._history = board, history
        state.previous, state.last_move, state.last_color = self, move, color
        return state

    def _copy(self) -> "State":
        state: State = object.__new__(State)
        state.size, state.rules, state.komi, state.handicap = self.size, self.rules, self.komi, self.handicap
        state.previous, state.last_move, state.last_color = self.previous, self.last_move, self.last_color
        state._board, state._history, state._resigned = self._board, self._history, self._resigned
        state._dead = None
        return state

    def _with_turn(self, color: int) -> "State":
        self._board.info[kernels.TO_PLAY] = color
        return self

    def _turned_to(self, color: int) -> "State":
        """Set who begins; the history then starts with this very position."""
        self._with_turn(color)
        key = legality.position_key(self.hash, color, self.rules.flags)
        self._history = np.array([key], np.int64)
        return self

    def _set_up(self, stones: Iterable[tuple[int, Iterable[int]]]) -> None:
        cells = self._board.color.copy()
        for color, points in stones:
            for point in points:
                cell = self._cell(point)
                if cells[cell] != EMPTY:
                    raise ValueError(f"set-up stone {to_gtp(point, self.size)} stands on another stone")
                cells[cell] = color
        if not kernels.set_stones(self._board, cells):
            raise ValueError("the set-up has stones without a liberty: take them off")

    def _dead_cells(self, dead: Iterable[int] | None) -> NDArray[np.bool_]:
        if dead is None and self._dead is not None:
            dead = self._dead
        elif dead is None:
            dead = self.dead_stones() if self.rules.removes_dead else ()
        gone = np.zeros(len(self._board.color), np.bool_)
        for point in dead:
            gone[self._cell(point)] = True
        return gone

    def _owners(self, gone: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """uint8[P] owners of all cells with the stones of `gone: bool[P]` taken off; BORDER stays."""
        owner = np.empty_like(self._board.color)
        score.owners(self._board.color * ~gone, self.size, owner)
        return owner

    def _square(self, cells: NDArray[np.uint8]) -> NDArray[np.int8]:
        stride = self.size + 1
        grid = cells[: stride * (self.size + 2)].reshape(self.size + 2, stride)
        return grid[1:-1, 1:].astype(np.int8)


def format_margin(margin: float) -> str:
    """`B+3.5`, `W+0.5` or `0` from Black's points minus White's."""
    if margin == 0:
        return "0"
    return f"{'B' if margin > 0 else 'W'}+{abs(margin):g}"
