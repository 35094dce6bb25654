"""`State`: a position of Go with its game behind it, for people, agents and records.

Immutable to its user: `play` returns a new state and leaves this one alone. All work is done by kernels;
batch work (playouts, self-play, encoding) calls those kernels on many boards and never comes through here.

A state is small. The keys of the positions of a game are in one array that grows, and which all states along a line
of play share; a state that branches off copies its part of it. The board is one block of memory (`block.py`). The
latest two states of a line and every 16th keep theirs. If another's is asked for, it is made again, the same to the
bit, by replaying at most 15 moves from the nearest that has one. So a game of 5,000 moves on 19x19 takes 3.7 MB with
all its states, and a move (list the legal ones, choose, play) 2.4 us on 5x5 and 5.4 us on 19x19.
"""

import weakref
from collections.abc import Callable, Iterable
from operator import index
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen.games.go import block as blocks
from tengen.games.go import board as kernels
from tengen.games.go import score
from tengen.games.go.board import BLACK, EMPTY, WHITE, Board, allocate
from tengen.games.go.coordinates import (
    PASS,
    RESIGN,
    board_svg,
    board_text,
    check_size,
    fixed_handicap,
    from_cell,
    from_gtp,
    from_policy,
    to_cell,
    to_gtp,
    to_policy,
)
from tengen.games.go.legality import LEGAL, NO_FORCED_PASS, REASONS
from tengen.games.go.rules import RuleSet, get_rules
from tengen.games.state import AnyState, other_player
from tengen.games.state import IllegalMove as IllegalMove

_KEEP_EVERY = 16  # states of a line
_LEGAL_AT = blocks.LEGAL_AT
_make, _play, _list_legal = (
    object.__new__,
    blocks.play,
    blocks.list_legal,
)  # looked up once: they are called for every move


opponent = other_player


class _Settings(NamedTuple):
    """What all states of a game have in common."""

    size: int
    rules: RuleSet
    komi: float
    handicap: int


class _Line:
    """The keys of the positions along a line of play, of which its states share the first entries.

    keys: int64[...]; ends: the number of its entries as the only key, which is taken out by who writes the next.
    """

    __slots__ = ("ends", "keys", "latest")

    def __init__(self, keys: NDArray[np.int64], ends: dict[int, bool]) -> None:
        self.keys, self.ends = keys, ends
        self.latest: Callable[[], State | None] = _nobody

    def branch(self, length: int) -> "_Line":
        """A line of its own with the first entries of this one, whose next is the caller's to write."""
        return _Line(np.concatenate((self.keys[:length], np.empty(_KEEP_EVERY, np.int64))), {})


def _nobody() -> None:
    return None


class State(AnyState):
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

    __slots__ = {
        "__weakref__": None,
        "_block": None,  # None if it was let go
        "_board": None,  # the views of the block, if they have been asked for
        "_dead": None,
        "_line": None,
        "_settings": None,
        "_turned": None,  # whether the turn was given to a player in the middle of the game
        "is_over": "Two passes in a row, a resignation, or (simple ko only) a position for the third time: no result.",
        "last_color": "Who played it; EMPTY at the start.",
        "last_move": "The move that led here; None at the start.",
        "move_number": "How many moves, passes included, have been played since the set-up.",
        "previous": "The state one move earlier; None at the start.",
        "to_play": "Whose turn it is: BLACK or WHITE.",
    }

    game: str = "go"
    previous: "State | None"
    last_move: int | None
    last_color: int
    to_play: int
    move_number: int
    is_over: bool
    _settings: "_Settings"
    _line: "_Line"
    _block: NDArray[np.int16] | None
    _board: Board | None
    _turned: bool
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
        komi = rule_set.check_komi(rule_set.komi if komi is None else komi)
        state: State = object.__new__(cls)
        state._settings = _Settings(size, rule_set, komi, handicap)
        state._block = state._set_up(black, white)
        state._board, state._dead, state._turned, state.is_over = None, None, False, False
        state.previous, state.last_move, state.last_color, state.move_number = None, None, EMPTY, 0
        state.to_play = to_play
        state._begin()
        return state

    # ------------------------------------------------------------------------------------ what is there

    @property
    def size(self) -> int:
        """Points along an edge."""
        return self._settings.size

    @property
    def rules(self) -> RuleSet:
        """How the game is played and counted."""
        return self._settings.rules

    @property
    def komi(self) -> float:
        """White's compensation in points."""
        return self._settings.komi

    @property
    def handicap(self) -> int:
        """Handicap stones that Black was given."""
        return self._settings.handicap

    @property
    def hash(self) -> int:
        """The Zobrist hash of the stones, as a signed 64-bit integer."""
        return int(self.board.info[kernels.HASH])

    @property
    def board(self) -> Board:
        """The arrays behind this state, for kernels. Read only, please."""
        board = self._board
        if board is None:
            board = self._board = blocks.board_of(self._own_block(), self.size)
        return board

    @property
    def history(self) -> NDArray[np.int64]:
        """int64[n]: keys of all positions of this game, as `legality` uses them. Read only, please."""
        return self._line.keys[: self.move_number + 1]

    @property
    def ko_point(self) -> int | None:
        """The point that a simple ko forbids the player to move, if any."""
        cell = int(self.board.info[kernels.KO])
        return from_cell(cell, self.size) if cell else None

    @property
    def captures(self) -> tuple[int, int]:
        """Stones captured so far: (by Black, by White)."""
        info = self.board.info
        return int(info[kernels.PRISONERS_OF_BLACK]), int(info[kernels.PRISONERS_OF_WHITE])

    @property
    def stones(self) -> NDArray[np.int8]:
        """int8[size, size] of EMPTY, BLACK, WHITE; row 0 is the top row. A copy."""
        return self._square(self.board.color)

    def color_at(self, point: int) -> int:
        """EMPTY, BLACK or WHITE."""
        return int(self.board.color[self._cell(point)])

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
        flat = self.states()[0].stones.ravel()
        return np.flatnonzero(flat == BLACK).tolist(), np.flatnonzero(flat == WHITE).tolist()

    # ------------------------------------------------------------------------------------------ playing

    def play(self, move: int, color: int | None = None) -> "State":
        """The state after a point, PASS or RESIGN; `color` plays out of turn, as records and GTP may."""
        if self.is_over:
            raise IllegalMove(f"the game is over ({self.result()}): no more moves")
        move = index(move)
        color = self.to_play if color is None else index(color)
        if move < 0 and (move == RESIGN or self._settings.rules.forced_play):
            if move == RESIGN:
                return self._resigned_by(color)
            if move == PASS and not self._may_pass(color):
                raise self._illegal(move, NO_FORCED_PASS)
        length = self.move_number + 1
        line = self._line
        if line.ends.pop(length, None) is None:  # one child of a state goes on with its line: only one thread gets it
            line = line.branch(length)
        block = self._block
        block = (self._own_block() if block is None else block).copy()
        found = _play(block, line.keys, move, color)
        if found:
            if found == blocks.FULL:
                line.keys = np.concatenate((line.keys, np.empty_like(line.keys)))
                found = _play(block, line.keys, move, color)
            if found > 0 or found == blocks.OUTSIDE:
                line.ends[length] = True
                raise self._illegal(move, found)
        line.ends[length + 1] = True
        state: State = _make(State)
        state._settings = self._settings
        state._line = line
        state._block = block
        state._board = None
        state._dead = None
        state._turned = False
        state.previous = self
        state.last_move = move
        state.last_color = color
        state.to_play = 3 - color
        state.move_number = length
        state.is_over = found != LEGAL or move == PASS == self.last_move
        before = self.previous
        if before is not None and before._block is not None:
            before._let_go()
        return state

    def why_illegal(self, move: int, color: int | None = None) -> str | None:
        """What is wrong with a move, or None if it is legal."""
        color = self.to_play if color is None else color
        if self.is_over:
            return f"the game is over ({self.result()})"
        if move == RESIGN:
            return None
        if move == PASS:
            return REASONS[NO_FORCED_PASS] if self.rules.forced_play and not self._may_pass(color) else None
        found = blocks.judge(self._own_block(), self._line.keys, index(move), color)
        if found == blocks.OUTSIDE:
            return f"{move} is not a point of a {self.size}x{self.size} board"
        return None if found == LEGAL else REASONS[found]

    def is_legal(self, move: int, color: int | None = None) -> bool:
        """Whether the rules allow a move."""
        return self.why_illegal(move, color) is None

    def legal_moves(self) -> list[int]:
        """Every legal point, in order, then PASS where the rules allow it; nothing once the game is over."""
        if self.is_over:
            return []
        block = self._block
        if block is None:
            block = self._own_block()
        count = block.item(0)
        if count == blocks.UNKNOWN:
            count = _list_legal(block, self._line.keys)
            block[0] = count  # now that the moves are there: another thread may be reading
        moves: list[int] = block[_LEGAL_AT : _LEGAL_AT + count].tolist()
        return moves

    def with_to_play(self, color: int) -> "State":
        """The same position with `color` to play."""
        if color == self.to_play:
            return self
        state = self._turned_to(color)
        if self.last_move is None:
            state._begin()
        return state

    def with_komi(self, komi: float) -> "State":
        """The same position with another komi."""
        state = self._copy()
        state._settings = self._settings._replace(komi=self.rules.check_komi(komi))
        return state

    # ------------------------------------------------------------------------------------------- ending

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
            stones = self.board.color * ~gone
            owner = owner * (stones == EMPTY)
            by_black, by_white = self.captures
            prisoners = by_black - by_white
            prisoners += int(np.sum(gone & (self.board.color == WHITE)))
            prisoners -= int(np.sum(gone & (self.board.color == BLACK)))
        margin = int(np.sum(owner == BLACK)) - int(np.sum(owner == WHITE)) + prisoners
        return margin - self.compensation

    def ownership(self, dead: Iterable[int] | None = None) -> NDArray[np.int8]:
        """int8[size, size]: whose each point is once the dead stones are off (EMPTY is neutral)."""
        return self._square(self._owners(self._dead_cells(dead)))

    def dead_stones(self, playouts: int = 400, seed: int = 1) -> frozenset[int]:
        """The stones that guided playouts from here mostly lose. (`search.life_and_death` reads more deeply.)"""
        ownership, rng = np.zeros(len(self.board.color), np.int64), np.array([2 * seed + 1], np.uint64)
        score.playout_owners(self.board, allocate(self.size), self.rules.flags, playouts, rng, ownership)
        return self.dead_by_ownership(ownership, playouts)

    def dead_by_ownership(self, ownership: NDArray[np.int64], playouts: int) -> frozenset[int]:
        """The stones of all strings that the opponent owns in more than two of three playouts.

        ownership: int64[P], over all playouts, +1 where a cell ended up Black's and -1 where it was White's.
        """
        dead = np.empty(len(self.board.color), np.bool_)
        score.dead_cells(self.board, ownership, playouts, dead)
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

    def __reduce__(self) -> tuple[Any, ...]:
        size, rules, komi, handicap = self._settings
        steps: list[tuple[bool, int, int | None]] = []
        state = self
        while state.previous is not None:
            steps.append((state.previous._turned, state.last_color, state.last_move))
            state = state.previous
        start = (size, rules, komi, *self.setup_stones, state.to_play, handicap)
        return _replayed, (start, steps[::-1], self.to_play if self._turned else None, self._dead)

    def __str__(self) -> str:
        return board_text(self)

    def __repr__(self) -> str:
        return f"<go.State {self.size}x{self.size} {self.rules.name}, move {self.move_number}>"

    def _repr_svg_(self) -> str:
        return board_svg(self)

    # ------------------------------------------------------------------------------------------ private

    def _facts(self) -> tuple[Any, ...]:
        position = int(self._line.keys[self.move_number])
        return self._settings, self.move_number, position, self.to_play, self._turned, self._dead

    def _start(self) -> tuple[Any, ...]:
        return self.to_play, self.setup_stones

    def _step(self) -> tuple[Any, ...]:
        return self.last_color, self.last_move

    @property
    def _resigned(self) -> int:
        return self.last_color if self.last_move == RESIGN else EMPTY

    @property
    def _is_void(self) -> bool:
        """Whether the game is over without anybody having passed or resigned it away."""
        before = self.previous
        return (
            self.is_over
            and before is not None
            and not self._resigned
            and not self.last_move == PASS == before.last_move
        )

    def _cell(self, point: int) -> int:
        if not 0 <= point < self.size * self.size:
            raise ValueError(f"{point} is not a point of a {self.size}x{self.size} board")
        return to_cell(point, self.size)

    def _illegal(self, move: int, verdict: int) -> IllegalMove:
        if verdict == blocks.OUTSIDE:
            return IllegalMove(f"{move} is not a point of a {self.size}x{self.size} board")
        return IllegalMove(f"{to_gtp(move, self.size)} is not legal: {REASONS[verdict]}")

    def _may_pass(self, color: int) -> bool:
        """Whether `color` has no other move."""
        return PASS in (self if color == self.to_play else self._turned_to(color)).legal_moves()

    def _own_block(self) -> NDArray[np.int16]:
        """The block of this state, made again by replaying if it was let go."""
        block = self._block
        if block is not None:
            return block
        moves: list[int] = []
        state: State = self
        while block is None:
            moves.append(4 * state.last_move + state.last_color)  # type: ignore[operator]
            state = state.previous  # type: ignore[assignment]
            block = state._block
        block = block.copy()
        blocks.replay(block, np.array(moves[::-1], np.int64))
        earlier, self._line.latest = self._line.latest(), weakref.ref(self)
        if earlier is not None:
            earlier._let_go()
        self._block = block
        return block

    def _let_go(self) -> None:
        """Keep the block no longer, if it can be made again."""
        if self.move_number % _KEEP_EVERY and not self._turned:
            self._block = self._board = None

    def _resigned_by(self, color: int) -> "State":
        state = self._copy()
        state.previous, state.last_move, state.last_color, state.is_over = self, RESIGN, color, True
        state._block = self._own_block()
        return state

    def _copy(self) -> "State":
        state: State = object.__new__(State)
        state._settings, state._line, state._dead = self._settings, self._line, None
        state._block, state._board, state._turned = self._block, self._board, self._turned
        state.previous, state.last_move, state.last_color = self.previous, self.last_move, self.last_color
        state.to_play, state.move_number, state.is_over = self.to_play, self.move_number, self.is_over
        return state

    def _turned_to(self, color: int) -> "State":
        """A copy in which it is the turn of `color`."""
        state = self._copy()
        state._block, state._board = self._own_block().copy(), None
        blocks.turn(state._block, color)
        state.to_play, state._turned = color, True
        return state

    def _begin(self) -> None:
        """Let the history start with this very position."""
        self._line, self._turned = _Line(np.empty(_KEEP_EVERY, np.int64), {1: True}), False
        blocks.begin(self._block, self._line.keys, self.to_play)

    def _set_up(self, black: Iterable[int], white: Iterable[int]) -> NDArray[np.int16]:
        taken: dict[int, int] = {}
        for color, points in ((BLACK, black), (WHITE, white)):
            for point in points:
                cell = self._cell(point)
                if cell in taken:
                    raise ValueError(f"set-up stone {to_gtp(point, self.size)} stands on another stone")
                taken[cell] = color
        block = blocks.new_block(self.size, self.rules.flags, taken)
        if block is None:
            raise ValueError("the set-up has stones without a liberty: take them off")
        return block

    def _dead_cells(self, dead: Iterable[int] | None) -> NDArray[np.bool_]:
        if dead is None and self._dead is not None:
            dead = self._dead
        elif dead is None:
            dead = self.dead_stones() if self.rules.removes_dead else ()
        gone = np.zeros(len(self.board.color), np.bool_)
        for point in dead:
            gone[self._cell(point)] = True
        return gone

    def _owners(self, gone: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """uint8[P] owners of all cells with the stones of `gone: bool[P]` taken off; BORDER stays."""
        owner = np.empty_like(self.board.color)
        score.owners(self.board.color * ~gone, self.size, owner)
        return owner

    def _square(self, cells: NDArray[np.uint8]) -> NDArray[np.int8]:
        stride = self.size + 1
        grid = cells[: stride * (self.size + 2)].reshape(self.size + 2, stride)
        return grid[1:-1, 1:].astype(np.int8)


def _replayed(
    start: tuple[Any, ...], steps: list[tuple[bool, int, int]], turned_to: int | None, dead: frozenset[int] | None
) -> State:
    """The state with this game, for `State.__reduce__`; steps: (whether the colour was given the turn, it, move)."""
    state = State.setup(*start)
    for turned, color, move in steps:
        state = (state._turned_to(color) if turned else state).play(move, color)
    state = state if turned_to is None else state._turned_to(turned_to)
    return state if dead is None else state.with_dead(dead)


def format_margin(margin: float) -> str:
    """`B+3.5`, `W+0.5` or `0` from Black's points minus White's."""
    if margin == 0:
        return "0"
    return f"{'B' if margin > 0 else 'W'}+{abs(margin):g}"
