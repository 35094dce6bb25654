"""A position as the page draws it, in plain JSON. Moves go by the names that the game itself gives them.

| key        | what it is                                                                                       |
|------------|--------------------------------------------------------------------------------------------------|
| `board`    | how to draw it: `go` (points), `chess` (pieces), `squares` (marks), `text` (whatever it prints)   |
| `cells`    | one character for each point or square, row by row from the top                                   |
| `moves`    | the legal moves; in Go, where nearly all are legal, `banned` has the empty points that are not    |
| `toPlay`   | 1 or 2; `players` has their names; `mover` is who made the last move, 0 at the start              |
"""

from typing import Any

import numpy as np

from tengen.agents.agent import Decision
from tengen.games import go
from tengen.games.board_game import BoardGame, BoardState
from tengen.games.game import game_of
from tengen.games.go import PASS
from tengen.games.go.coordinates import to_gtp
from tengen.games.microchess import State as Microchess
from tengen.games.state import FIRST, RESIGN, AnyState
from tengen.search.life_and_death import is_open

View = dict[str, Any]
_PIECES = ".PNBRQKpnbrqk"
_FILES = 4


def view_of(state: AnyState) -> View:
    """Everything that a page needs to draw a state and to let its user move."""
    game = game_of(state)
    view: View = {
        "game": game.name,
        "players": list(game.players),
        "toPlay": state.to_play,
        "number": state.move_number,
        "last": _last_name(state),
        "mover": mover_of(state),
        "over": state.is_over,
        "winner": state.winner() if state.is_over else None,
        "result": state.result() if state.is_over else "",
        "reason": state.end_reason or "",
    }
    if isinstance(state, go.State):
        return view | _go(state)
    if isinstance(state, Microchess):
        return view | _chess(state)
    view["moves"] = [state.move_name(move) for move in state.legal_moves()]
    if isinstance(state, BoardState) and isinstance(game, BoardGame):
        rows, cols = game.shape(state.options)
        cells = game.cells(state.arrays)[0]
        return view | {"board": "squares", "rows": rows, "cols": cols, "cells": _digits(cells), "symbols": game.symbols}
    return view | {"board": "text", "rows": 0, "cols": 0, "cells": "", "text": str(state)}


def moves_of(state: AnyState) -> list[str]:
    """The moves that led to a state, oldest first, as the game's records write them."""
    names = list[str]()
    while state.previous is not None and state.last_move is not None:
        names.append(game_of(state).notation(state.previous, state.last_move))
        state = state.previous
    return names[::-1]


def numbers_by_name(state: AnyState, numbers: Any, digits: int = 4) -> dict[str, float]:
    """Numbers of moves under the names of the moves, rounded for the way to the page."""
    return {state.move_name(move): round(float(number), digits) for move, number in numbers.items()}


def mover_of(state: AnyState) -> int:
    """Who made the last move; 0 at the start."""
    if state.previous is None:
        return 0
    return int(getattr(state, "last_color", 0) or state.previous.to_play)


def _last_name(state: AnyState) -> str:
    before, move = state.previous, state.last_move
    return "" if before is None or move is None else before.move_name(move)


def _digits(cells: Any) -> str:
    return "".join(str(int(cell)) for cell in np.asarray(cells).ravel())


def _go(state: go.State) -> View:
    stones = state.stones
    allowed = set(state.legal_moves())
    empty = np.flatnonzero(stones.ravel() == go.EMPTY).tolist() if not state.is_over else []
    return {
        "board": "go",
        "rows": state.size,
        "cols": state.size,
        "cells": _digits(stones),
        "banned": [to_gtp(point, state.size) for point in empty if point not in allowed],
        "canPass": PASS in allowed,
        "open": is_open(state),
        "captures": list(state.captures),
        "komi": state.komi,
        "handicap": state.handicap,
        "rules": state.rules.name,
    }


def _chess(state: Microchess) -> View:
    squares = state.squares.reshape(-1, _FILES)[::-1]
    last = state.last_move
    return {
        "board": "chess",
        "rows": len(squares),
        "cols": _FILES,
        "cells": "".join(_PIECES[int(piece)] for piece in squares.ravel()),
        "moves": [state.move_name(move) for move in state.legal_moves()],
        "check": state.in_check,
        "san": state.previous.move_san(last) if state.previous is not None and last not in (None, RESIGN) else "",
        "rules": state.rules,
    }


def view_of_thought(decision: Decision | None, player: int) -> View:
    """What the player who moved last thought: the chance of the first player to win, and a note."""
    if decision is None:
        return {"note": "", "chance": None}
    chance = decision.value if decision.value is None or player == FIRST else 1 - decision.value
    return {"note": decision.note, "chance": None if chance is None else round(chance, 3)}
