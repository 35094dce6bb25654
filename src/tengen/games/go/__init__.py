"""Go: rules, positions, scoring and tactics. `State` is the door; kernels work on `Board` arrays.

>>> from tengen import go
>>> state = go.State.new(size=9, rules="chinese")
>>> state = state.play(go.from_gtp("E5", 9))
>>> state.to_play == go.WHITE
True
"""

from tengen.games.go.board import BLACK, EMPTY, WHITE, Board
from tengen.games.go.coordinates import PASS, RESIGN, from_gtp, to_gtp
from tengen.games.go.rules import RULES, RuleSet, get_rules
from tengen.games.go.state import IllegalMove, State, format_margin, opponent

__all__ = [
    "BLACK",
    "EMPTY",
    "PASS",
    "RESIGN",
    "RULES",
    "WHITE",
    "Board",
    "IllegalMove",
    "RuleSet",
    "State",
    "format_margin",
    "from_gtp",
    "get_rules",
    "opponent",
    "to_gtp",
]
