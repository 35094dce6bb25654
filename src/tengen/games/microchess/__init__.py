"""Microchess, chess on 4 files and 5 ranks. `State` is the door; kernels work on `Board` arrays.

>>> from tengen import microchess
>>> state = microchess.State.new(rules="standard", double_step=True)
>>> state = state.play(state.parse_move("Nb3"))
>>> state.to_play == microchess.BLACK
True
"""

from tengen.games.microchess.board import (
    ACTIONS,
    BLACK,
    FILES,
    RANKS,
    RULE_SETS,
    WHITE,
    Board,
    rule_flags,
    variant_name,
    variants_path,
)
from tengen.games.microchess.game import from_pgn, to_pgn
from tengen.games.microchess.notation import START_FEN, BadFen, from_uci, to_uci
from tengen.games.microchess.state import IllegalMove, State, opponent
from tengen.games.state import RESIGN

__all__ = [
    "ACTIONS",
    "BLACK",
    "FILES",
    "RANKS",
    "RESIGN",
    "RULE_SETS",
    "START_FEN",
    "WHITE",
    "BadFen",
    "Board",
    "IllegalMove",
    "State",
    "from_pgn",
    "from_uci",
    "opponent",
    "rule_flags",
    "to_pgn",
    "to_uci",
    "variant_name",
    "variants_path",
]
