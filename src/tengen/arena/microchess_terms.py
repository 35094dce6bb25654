"""Matches of Microchess: openings that are fair and differ from pair to pair, records in the manner of PGN."""

import threading
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tengen._files import Setting
from tengen.arena.game import GameRecord, Turn
from tengen.games.microchess import RESIGN, WHITE, GameState, to_pgn
from tengen.search.microchess_alphabeta import new_workspace, search_microchess

_FAIR = 100  # hundredths of a pawn by which one side may be ahead after an opening
_LOOK_AHEAD = 6  # plies in which it must not win more
_ATTEMPTS = 500  # at an opening that is fair and new, and as many at one that is fair


@dataclass(frozen=True)
class MicrochessTerms:
    """Microchess under a rule set, with or without the pawns' double step."""

    rules: str = "standard"
    double_step: bool = True

    players = ("White", "Black")
    opening_moves = 4
    most_opening_moves = 20
    suffix = ".pgn"

    @cached_property
    def start(self) -> GameState:
        """The start position."""
        return GameState.new(self.rules, self.double_step)

    @property
    def title(self) -> str:
        """`Microchess, standard rules, with the double step`."""
        return f"Microchess, {self.rules} rules, {'with the' if self.double_step else 'no'} double step"

    @property
    def settings(self) -> dict[str, Setting]:
        """Rules and double step."""
        return {"rules": self.rules, "double_step": self.double_step}

    def opening(self, moves: int, seed: int, pair: int) -> GameState:
        """Random moves after which neither side wins material at once; each pair has its own as long as they last."""
        return self._openings.get(self.start, moves, seed, pair)

    def write(self, record: GameRecord, first: str, second: str, event: str) -> bytes:
        """The game as PGN."""
        assert isinstance(record.state, GameState)
        tags = {"Event": event, "White": first, "Black": second, "Result": record.result}
        if record.ending in ("forfeit", "move limit"):
            tags["Termination"] = f"{record.ending}: {record.reason}".removesuffix(": ")
        dealt = record.state.move_number - sum(turn.decision.move != RESIGN for turn in record.turns)
        comments = {number: _comment(turn) for number, turn in enumerate(record.turns, dealt + 1)}
        return to_pgn(record.state, tags, comments).encode()

    @cached_property
    def _openings(self) -> "_Openings":
        return _Openings()


class _Openings:
    """The openings of a match so far. A pair's depends on those of the pairs before it, and on nothing else."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], list[GameState]] = {}
        self._fair: dict[int, bool] = {}
        self._work = new_workspace()
        self._lock = threading.Lock()

    def get(self, start: GameState, moves: int, seed: int, pair: int) -> GameState:
        """The opening of a pair, numbered from 1."""
        with self._lock:
            known = self._known.setdefault((moves, seed), [])
            while len(known) < pair:
                seen = {state.hash for state in known}
                known.append(self._find(start, moves, np.random.default_rng([seed, len(known) + 1]), seen))
            return known[pair - 1]

    def _find(self, start: GameState, moves: int, rng: np.random.Generator, seen: set[int]) -> GameState:
        if moves == 0:
            return start
        running = start
        for attempt in range(2 * _ATTEMPTS):
            state = _wander(start, moves, rng)
            if state.is_over:
                continue
            running = state
            if self._is_fair(state) and (state.hash not in seen or attempt >= _ATTEMPTS):
                return state
        return running

    def _is_fair(self, state: GameState) -> bool:
        """Whether a short search finds neither side to win more than a pawn."""
        if state.hash not in self._fair:
            value = search_microchess(state, _LOOK_AHEAD, state.legal_moves(), self._work).value
            self._fair[state.hash] = value is not None and abs(value) <= _FAIR
        return self._fair[state.hash]


def _wander(state: GameState, moves: int, rng: np.random.Generator) -> GameState:
    """Random moves, as far as the game lasts."""
    for _ in range(moves):
        if state.is_over:
            break
        state = state.play(int(rng.choice(state.legal_moves())))
    return state


def _comment(turn: Turn) -> str:
    value = turn.decision.value
    chance = "" if value is None else f"{'White' if turn.player == WHITE else 'Black'} wins {value:.1%}"
    return ", ".join(filter(None, (chance, turn.decision.note)))
