"""Random openings for the games of a match: the same for the same seed, and fair where a game asks for that."""

import threading
from functools import cached_property

import numpy as np

from tengen.games.batch import BatchedGame
from tengen.games.game import AnyGame
from tengen.games.state import AnyState
from tengen.search.alphabeta import AlphaBetaSearch

_LOOK_AHEAD = 6  # plies in which neither side may win more than the game's fair margin
_TABLE_BITS = 16  # enough for so short a search
_ATTEMPTS = 500  # at an opening that is fair and new, and as many at one that is fair


class Openings:
    """The openings of matches from one start position.

    Where a game names a `fair_margin`, neither side is ahead by more, and each pair has an opening of its own as long
    as they last: it depends on those of the pairs before it.
    """

    def __init__(self, game: AnyGame, start: AnyState) -> None:
        self._game, self._start = game, start
        self._known: dict[tuple[int, int], list[AnyState]] = {}
        self._fair: dict[int, bool] = {}
        self._lock = threading.Lock()

    def get(self, moves: int, seed: int, pair: int) -> AnyState:
        """The position after `moves` random moves for a pair of games, numbered from 1."""
        if moves == 0:
            return self._start
        if self._game.fair_margin is None:
            return self._wander(moves, np.random.default_rng([seed, pair]))
        with self._lock:
            known = self._known.setdefault((moves, seed), [])
            while len(known) < pair:
                known.append(self._find_fair(moves, np.random.default_rng([seed, len(known) + 1]), known))
            return known[pair - 1]

    def _find_fair(self, moves: int, rng: np.random.Generator, known: list[AnyState]) -> AnyState:
        seen, running = {self._key(state) for state in known}, self._start
        for attempt in range(2 * _ATTEMPTS):
            state = self._wander(moves, rng)
            if state.is_over:
                continue
            running = state
            if self._is_fair(state) and (self._key(state) not in seen or attempt >= _ATTEMPTS):
                return state
        return running

    def _wander(self, moves: int, rng: np.random.Generator) -> AnyState:
        """Random moves, as far as there are any to choose from."""
        state = self._start
        for _ in range(moves):
            choices = self._game.opening_choices(state)
            if choices:
                state = state.play(int(rng.choice(choices)))
        return state

    def _is_fair(self, state: AnyState) -> bool:
        """Whether a short search finds neither side ahead by more than the fair margin."""
        key, margin = self._key(state), self._game.fair_margin
        if key not in self._fair:
            value = self._search.run(state, _LOOK_AHEAD).value
            self._fair[key] = value is not None and margin is not None and abs(value) <= margin
        return self._fair[key]

    def _key(self, state: AnyState) -> int:
        room = self._batch.allocate(1)
        self._batch.load(room, 0, state)
        return int(self._batch.keys(room, 1)[0])

    @cached_property
    def _batch(self) -> BatchedGame:
        return self._game.batch(self._game.options_of(self._start))

    @cached_property
    def _search(self) -> AlphaBetaSearch:
        return AlphaBetaSearch(self._batch, table_bits=_TABLE_BITS)
