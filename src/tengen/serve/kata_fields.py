"""What an analysis is called in KataGo's outputs, by GTP and as JSON: the numbers of a move and of the position.

Numbers are those of the player to move; `sign` -1 turns them to the opponent's. Tengen searches by the chance to win
alone, so that utility is that chance from -1 to 1; the spread of the score is that of points owned independently.
"""

from typing import Any

import numpy as np

from tengen.agents.analysis import Analysis, MoveAnalysis
from tengen.agents.territory import Ownership

Fields = dict[str, Any]


def move_fields(analysis: Analysis, move: MoveAnalysis, sign: int = 1) -> Fields:
    """The numbers of a move, in KataGo's order; where a move's score is unknown, the position's."""
    score = analysis.score if move.score is None else move.score
    ownership = analysis.ownership if move.ownership is None else move.ownership
    return {
        "visits": move.visits,
        "utility": sign * (2 * move.chance - 1),
        "winrate": turned(move.chance, sign),
        **_score_fields(score, ownership, sign),
        "prior": move.prior,
        "lcb": turned(move.bound, sign),
        "utilityLcb": sign * (2 * move.bound - 1),
        "weight": float(move.visits),
        "order": move.order,
    }


def root_fields(analysis: Analysis, sign: int = 1) -> Fields:
    """The numbers of the position."""
    return {
        "visits": analysis.visits,
        "utility": sign * (2 * analysis.chance - 1),
        "winrate": turned(analysis.chance, sign),
        **_score_fields(analysis.score, analysis.ownership, sign),
        "weight": float(analysis.visits),
    }


def turned(chance: float, sign: int) -> float:
    """A chance to win as the player to move sees it, or his opponent."""
    return chance if sign > 0 else 1 - chance


def _score_fields(score: float | None, ownership: Ownership | None, sign: int) -> Fields:
    lead = 0.0 if score is None else sign * score
    spread = 0.0 if ownership is None else float(np.sqrt(np.maximum(0.0, 1 - ownership.astype(np.float64) ** 2).sum()))
    return {"scoreMean": lead, "scoreStdev": spread, "scoreLead": lead, "scoreSelfplay": lead}
