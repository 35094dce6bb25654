"""Games for the tests of encoders: nearly sensible ones, quite random ones, and real ones."""

import itertools
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tengen.games import go
from tengen.games.go import BLACK, PASS, WHITE
from tengen.games.go.board import NO_CELL
from tengen.games.go.coordinates import from_cell, to_cell
from tengen.games.go.playout import CANDIDATES, guided_move
from tengen.games.go.positions import GameMoves, encode_move
from tengen.games.go.sgf import SgfError, read_sgf

from ..games.go.positions import random_game

RECORDS = sorted((Path(__file__).parents[3] / "shared" / "data" / "kgs").glob("*.tar.gz"))
"""Archives of real games, on machines that have them."""


def guided_game(size: int, seed: int, handicap: int = 0) -> list[go.State]:
    """The states of a game of guided playouts: full of ataris, kos and ladders."""
    states = [go.State.new(size, "tromp-taylor", handicap=handicap)]
    found, random = np.empty(CANDIDATES, np.int64), 2 * seed + 1
    last = before = NO_CELL
    while not states[-1].is_over and len(states) < 2 * size * size:
        state = states[-1]
        cell, random = guided_move(state.board, state.to_play, last, before, 0, found, np.uint64(random))
        move = PASS if cell == NO_CELL else from_cell(cell, size)
        move = move if state.is_legal(move) else PASS  # superko
        states.append(state.play(move))
        before, last = last, to_cell(move, size) if move != PASS else NO_CELL
    return states


def mixed_states(size: int, count: int, seed: int) -> list[go.State]:
    """`count` states: of guided games with and without handicap, of random games, and of stones strewn about."""
    rng = np.random.default_rng(seed)
    states: list[go.State] = []
    for number in itertools.count():
        if len(states) >= count:
            return states[:count]
        games = [guided_game(size, seed + number), random_game(size, "chinese", rng, 2 * size * size)]
        if size >= 7:
            games.append(guided_game(size, seed + number, handicap=2 + number % 3))
        for game in games:
            states += [game[i] for i in rng.integers(len(game), size=max(1, count // 20))]
        states.append(strewn(size, rng))
    raise AssertionError


def strewn(size: int, rng: np.random.Generator) -> go.State:
    """A state without a past: stones on a third of the points, all with liberties."""
    state = go.State.setup(size, "chinese")
    for point in rng.choice(size * size, size * size // 3, replace=False):
        color = int(rng.integers(BLACK, WHITE + 1))
        if state.is_legal(int(point), color):
            state = state.play(int(point), color)
    flat = state.stones.ravel()
    black, white = np.flatnonzero(flat == BLACK).tolist(), np.flatnonzero(flat == WHITE).tolist()
    return go.State.setup(size, "chinese", None, black, white, int(rng.integers(BLACK, WHITE + 1)))


def real_states(count: int) -> Iterator[go.State]:
    """Positions of real games, one a game."""
    rng = np.random.default_rng(count)
    with tarfile.open(RECORDS[len(RECORDS) // 2]) as archive:
        for member in itertools.islice(filter(tarfile.TarInfo.isfile, archive), count):
            file = archive.extractfile(member)
            assert file is not None
            try:
                state = read_sgf(file.read()).state
            except SgfError:
                continue
            for _ in range(int(rng.integers(len(state.moves) + 1))):
                assert state.previous is not None
                state = state.previous
            yield state


def as_records(games: list[go.State]) -> GameMoves:
    """Finished games in the flat form of datasets."""
    moves: list[int] = []
    setup: list[int] = []
    offsets, setup_offsets = [0], [0]
    for state in games:
        moves += [encode_move(color, move, state.size) for color, move in state.moves]
        for color, points in zip((BLACK, WHITE), state.setup_stones):
            setup += [encode_move(color, point, state.size) for point in points]
        offsets.append(len(moves))
        setup_offsets.append(len(setup))
    codes = np.array(moves, np.uint16), np.array(offsets), np.array(setup, np.uint16), np.array(setup_offsets)
    komi = np.array([state.compensation for state in games], np.float32)
    return GameMoves(
        *codes, komi, np.zeros(len(games), np.int8), np.zeros(len(games), bool), np.full_like(komi, np.nan)
    )
