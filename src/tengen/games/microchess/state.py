"""`State`: a position of Microchess with its game behind it, for people, agents and records.

Immutable to its user: `play` returns a new state and leaves this one alone. All work is done by kernels; batch work
(self-play, search, encoding) calls those kernels on many boards and never comes through here.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.games.microchess import board as kernels
from tengen.games.microchess.board import (
    ACTIONS,
    BLACK,
    BLACK_PIECE,
    DOUBLE_STEP,
    FILES,
    KING,
    MOVES,
    NCSOFT,
    PAWN,
    RANKS,
    SQUARES,
    TO_PLAY,
    WHITE,
    Board,
    action_of_move,
    allocate,
    move_of_action,
    new_board,
    rule_flags,
)
from tengen.games.microchess.moves import (
    BALANCE,
    END_REASONS,
    MAX_MOVES,
    RUNNING,
    earlier_occurrences,
    ending,
    legal_moves,
    reaches,
    winner,
)
from tengen.games.microchess.notation import (
    PIECE_NAMES,
    board_from_fen,
    board_svg,
    board_text,
    board_to_fen,
    from_san,
    from_uci,
    move_parts,
    square_name,
    to_san,
    to_uci,
)
from tengen.games.state import RESIGN, AnyState, other_player
from tengen.games.state import IllegalMove as IllegalMove

opponent = other_player


class State(AnyState):
    """A position: the pieces, whose turn it is, and all that the rules remember of the game.

    >>> import tengen
    >>> state = tengen.microchess.State.new()
    >>> state = state.play(state.parse_move("Nb3"))
    >>> print(state)
       a b c d
     5 k n b r 5
     4 p . . . 4
     3 .(N). . 3
     2 . . . P 2
     1 R B . K 1
       a b c d
    Last move: c1b3 (Nb3+). Black to play, in check.
    >>> [state.move_name(move) for move in state.legal_moves()]
    ['a5b4']
    """

    __slots__ = (
        "_board",
        "_moves",
        "_reason",
        "_resigned",
        "_winner",
        "in_check",
        "last_move",
        "move_number",
        "previous",
    )

    game: str = "microchess"
    previous: "State | None"
    last_move: int | None
    in_check: bool
    """Whether the king of the player to move is attacked."""
    move_number: int
    """How many moves of either side have been played since the set-up."""
    _board: Board
    _moves: tuple[int, ...]
    _reason: int
    _winner: int
    _resigned: int

    def __init__(self) -> None:
        raise TypeError("make a game with microchess.State.new(...) or microchess.State.from_fen(...)")

    @classmethod
    def new(cls, rules: str = "standard", double_step: bool = True) -> "State":
        """The start position under `standard` or `ncsoft` rules."""
        return cls._of(new_board(rule_flags(rules, double_step)))

    @classmethod
    def from_fen(cls, text: str, rules: str = "standard", double_step: bool = True) -> "State":
        """The position of a FEN text; ValueError says what is wrong with it."""
        return cls._of(board_from_fen(text, rule_flags(rules, double_step)))

    # ------------------------------------------------------------------------------------ what is there

    @property
    def to_play(self) -> int:
        """Whose turn it is: WHITE or BLACK."""
        return int(self._board.info[kernels.TO_PLAY])

    @property
    def rules(self) -> str:
        """`standard` or `ncsoft`."""
        return "ncsoft" if self._board.info[kernels.RULES] & NCSOFT else "standard"

    @property
    def double_step(self) -> bool:
        """Whether a pawn may begin with two steps."""
        return bool(self._board.info[kernels.RULES] & DOUBLE_STEP)

    @property
    def ply(self) -> int:
        """How many moves of either side the game has had, by the count that a FEN may begin with."""
        return int(self._board.info[kernels.PLY])

    @property
    def halfmove(self) -> int:
        """How many moves of either side there were since a capture or a pawn's move."""
        return int(self._board.info[kernels.HALFMOVE])

    @property
    def castling(self) -> int:
        """Rights to castle: 1 for White's, 2 for Black's, 3 for both."""
        return int(self._board.info[kernels.CASTLING])

    @property
    def hash(self) -> int:
        """The Zobrist hash of the position, turn and castling rights included, as a signed 64-bit integer."""
        return int(self._board.info[kernels.HASH])

    @property
    def occurrences(self) -> int:
        """How often this position has stood on the board, now included."""
        return 1 + int(earlier_occurrences(self._board))

    @property
    def board(self) -> Board:
        """The arrays behind this state, for kernels. Read only, please."""
        return self._board

    @property
    def squares(self) -> NDArray[np.int8]:
        """int8[20]: what stands on each square, a1 first: 0 nothing, 1 to 6 White's PNBRQK, 7 to 12 Black's. A copy."""
        return self._board.squares.copy()

    def piece_at(self, square: int) -> int:
        """What stands on a square, as in `squares`."""
        if not 0 <= square < SQUARES:
            raise ValueError(f"{square} is not a square: give 0 (a1) to 19 (d5)")
        return int(self._board.squares[square])

    def material(self) -> tuple[int, int]:
        """(White's, Black's) material, counted P1 N3 B3 R5 Q10 K4."""
        values = BALANCE[self._board.squares]
        return int(values[values > 0].sum()), -int(values[values < 0].sum())

    @property
    def moves(self) -> list[tuple[int, int]]:
        """(colour, move) of every move since the set-up, oldest first."""
        played: list[tuple[int, int]] = []
        state = self
        while state.previous is not None and state.last_move is not None:
            played.append((state.previous.to_play, state.last_move))
            state = state.previous
        return played[::-1]

    @property
    def setup(self) -> "State":
        """The position that the game began with."""
        return self.states()[0]

    def fen(self) -> str:
        """The position as FEN."""
        return board_to_fen(self._board.squares, self.to_play, self.castling, self.halfmove, self.ply)

    # ------------------------------------------------------------------------------------------ playing

    def legal_moves(self) -> list[int]:
        """Every legal move, in order; nothing once the game is over."""
        return [] if self.is_over else list(self._moves)

    def play(self, move: int) -> "State":
        """The state after a move or RESIGN; IllegalMove says why not."""
        if self.is_over:
            raise IllegalMove(f"the game is over ({self.result()}): no more moves")
        if move == RESIGN:
            state = self._of(self._board)
            state.previous, state.last_move, state.move_number = self, move, self.move_number
            state._resigned = self.to_play
            return state
        reason = self.why_illegal(move)
        if reason is not None:
            raise IllegalMove(f"{to_uci(move) if 0 <= move < MOVES else move} is not legal: {reason}")
        board = allocate()
        kernels.copy_board(self._board, board)
        kernels.play_move(board, move)
        state = self._of(board)
        state.previous, state.last_move, state.move_number = self, move, self.move_number + 1
        return state

    def why_illegal(self, move: int) -> str | None:
        """What is wrong with a move, or None if it is legal."""
        if self.is_over:
            return f"the game is over ({self.result()})"
        if move == RESIGN or move in self._moves:
            return None
        return reason_against(self._board, move, self.in_check)

    def move_name(self, move: int) -> str:
        """A move the UCI way: `c1b3`, `d4d5q`, `resign`; ValueError if it is no move of this game."""
        if move != RESIGN and not 0 <= move < MOVES:
            raise ValueError(f"{move} is not a move: give from + 20 * to + 400 * promotion")
        return to_uci(move)

    def move_san(self, move: int) -> str:
        """A legal move as chess players write it: `Nb3`, `Rxa4+`, `d5=Q#`, `O-O-O`."""
        return to_san(self, move)

    def parse_move(self, text: str) -> int:
        """The move of a text, `resign`, the UCI way or as chess players write it; ValueError if no legal move fits."""
        if text.strip().lower() == "resign":
            return RESIGN
        try:
            return from_uci(text)
        except ValueError:
            return from_san(self, text)

    # ------------------------------------------------------------------------------------------- ending

    @property
    def is_over(self) -> bool:
        """Whether the game has ended, by the rules or by a resignation."""
        return self._reason != RUNNING or self._resigned != 0

    @property
    def end_reason(self) -> str | None:
        """`checkmate`, `stalemate`, `insufficient material`, `threefold repetition`, `fifty moves`, `80 plies` or
        `resignation`; None while the game goes on."""
        if self._resigned:
            return "resignation"
        return END_REASONS[self._reason] or None

    def winner(self) -> int | None:
        """WHITE, BLACK, 0 for a draw; None while the game goes on."""
        if self._resigned:
            return opponent(self._resigned)
        return None if self._reason == RUNNING else self._winner

    def result(self) -> str:
        """`1-0`, `0-1` or `1/2-1/2`; `?` while the game goes on."""
        winner = self.winner()
        return "?" if winner is None else ("1/2-1/2", "1-0", "0-1")[winner]

    # ------------------------------------------------------------------------------------------ actions

    def action_of(self, move: int) -> int:
        """A policy's index of a legal move; `board.py` has the numbering."""
        return int(action_of_move(move, self.to_play))

    def move_of(self, action: int) -> int:
        """The move at an index of a policy, legal or not."""
        if not 0 <= action < ACTIONS:
            raise ValueError(f"{action} is not an action: give 0 to {ACTIONS - 1}")
        return int(move_of_action(self._board, action))

    def __reduce__(self) -> tuple[Any, ...]:
        return _replayed, (self.setup._start(), [move for _, move in self.moves])

    def __str__(self) -> str:
        return board_text(self)

    def __repr__(self) -> str:
        return f"<microchess.State {self.fen()}>"

    def _repr_svg_(self) -> str:
        return board_svg(self)

    # ------------------------------------------------------------------------------------------ private

    def _facts(self) -> tuple[Any, ...]:
        return self.move_number, self.hash, self.rules, self.double_step

    def _start(self) -> tuple[str, str, bool]:
        return self.fen(), self.rules, self.double_step

    @classmethod
    def _of(cls, board: Board) -> "State":
        state = object.__new__(cls)
        found = np.empty(MAX_MOVES, np.int16)
        count, in_check, reason, won = _examine(board, found)
        state._board, state.in_check, state._reason, state._winner = board, bool(in_check), int(reason), int(won)
        state._moves = tuple(np.sort(found[:count]).tolist())
        state.previous, state.last_move, state.move_number, state._resigned = None, None, 0, 0
        return state


def _replayed(start: tuple[str, str, bool], moves: list[int]) -> State:
    """The state with this game, for `State.__reduce__`."""
    state = State.from_fen(*start)
    for move in moves:
        state = state.play(move)
    return state


@kernel
def _examine(board, moves):  # type: ignore[no-untyped-def]
    """Of one game: (number of moves written to moves: int16[MAX_MOVES], in check, why it is over, who has won)."""
    count, in_check = legal_moves(board, moves)
    reason = ending(board, count, in_check)
    return count, in_check, reason, winner(board, reason) if reason != RUNNING else 0


# ------------------------------------------------------------------------------- why a move is refused

_COLORS = {WHITE: "White", BLACK: "Black"}


def reason_against(board: Board, move: int, in_check: bool) -> str:
    """What is wrong with a move that is not legal in a running game."""
    if not 0 <= move < MOVES:
        return f"{move} is not a number of a move: give from + 20 * to + 400 * promotion"
    source, target, promotion = move_parts(move)
    color = int(board.info[TO_PLAY])
    piece, taken = int(board.squares[source]), int(board.squares[target])
    if not piece:
        return f"there is nothing on {square_name(source)}"
    if _color(piece) != color:
        return f"the piece on {square_name(source)} is {_COLORS[3 - color]}'s, and {_COLORS[color]} is to move"
    if taken and _color(taken) == color:
        return f"a piece of {_COLORS[color]}'s stands on {square_name(target)}"
    kind = (piece - 1) % BLACK_PIECE + 1
    if kind == KING and (source, target) == ((3, 1) if color == WHITE else (16, 18)):
        return "castling needs a king and a rook that never moved, nothing between them, and no check on the king's way"
    if not reaches(board, source, target):
        return f"the {PIECE_NAMES[kind]} on {square_name(source)} does not go to {square_name(target)}"
    promotes = kind == PAWN and target // FILES in (0, RANKS - 1)
    if promotes and not promotion:
        return "a pawn that reaches the last rank is promoted: add n, b, r or q"
    if promotion and not promotes:
        return "only a pawn that reaches the last rank is promoted"
    return "that leaves the king in check" if in_check else "that puts the player's own king in check"


def _color(piece: int) -> int:
    return BLACK if piece > BLACK_PIECE else WHITE
