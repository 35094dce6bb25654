"""Why a move is refused, in words for the player who tried it."""

from tengen.games.microchess.actions import MOVES
from tengen.games.microchess.board import BLACK, BLACK_PIECE, FILES, KING, PAWN, RANKS, TO_PLAY, WHITE, Board
from tengen.games.microchess.moves import reaches
from tengen.games.microchess.notation import PIECE_NAMES, move_parts, square_name

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
