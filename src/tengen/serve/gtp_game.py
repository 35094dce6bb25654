"""What GTP asks of a game beyond its rules: strings, a handicap of our choice, play after the end."""

from pathlib import Path
from typing import Final

import numpy as np

from tengen.games import go
from tengen.games.go import BLACK, PASS, RESIGN, WHITE, IllegalMove, RuleSet
from tengen.games.go.coordinates import fixed_handicap, max_fixed_handicap
from tengen.serve.gtp_protocol import GtpError

_LARGEST_RECORD: Final = 16 << 20


def strings_of(state: go.State) -> list[list[int]]:
    """The points of every string (connected stones of one colour), in the order of the board."""
    flat, size = state.stones.ravel(), state.size
    seen: set[int] = set()
    strings = []
    for start in np.flatnonzero(flat).tolist():
        if start in seen:
            continue
        string, frontier = {start}, [start]
        while frontier:
            row, col = divmod(frontier.pop(), size)
            for r, c in ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)):
                point = r * size + c
                inside = 0 <= r < size and 0 <= c < size
                if inside and flat[point] == flat[start] and point not in string:
                    string.add(point)
                    frontier.append(point)
        seen |= string
        strings.append(sorted(string))
    return strings


def handicap_places(size: int, stones: int) -> list[int]:
    """Where we put handicap stones of our own choice: the fixed places, as many as there are of them.

    GTP lets an engine place fewer than it was offered. Boards too small to have fixed places take up to a
    quarter of their points, near the middle and never side by side.
    """
    most = max_fixed_handicap(size)
    if most:
        return fixed_handicap(size, min(stones, most))
    middle = (size - 1) / 2
    points = [p for p in range(size * size) if (p // size + p % size) % 2 == 0]
    points.sort(key=lambda p: (p // size - middle) ** 2 + (p % size - middle) ** 2)
    return points[: min(stones, max(2, size * size // 4))]


def resumed(state: go.State) -> go.State:
    """The position with the game going on: without its last pass if two ended it, begun anew if void."""
    if not state.is_over:
        return state
    if state.previous is not None and state.last_move in (PASS, RESIGN):
        return state.previous.with_komi(state.komi)
    flat = state.stones.ravel()
    black, white = (np.flatnonzero(flat == color).tolist() for color in (BLACK, WHITE))
    return go.State.setup(state.size, state.rules, state.komi, black, white, state.to_play, state.handicap)


def under_rules(game: list[go.State], rules: RuleSet) -> list[go.State]:
    """The same game by other rules; ValueError if they forbid one of its moves."""
    first, last = game[0], game[-1]
    try:
        komi = rules.check_komi(last.komi)
    except ValueError:
        komi = rules.komi
    black, white = first.setup_stones
    state = go.State.setup(first.size, rules, komi, black, white, first.to_play, first.handicap)
    replayed = [state]
    for number, position in enumerate(game[1:], 1):
        assert position.last_move is not None
        try:
            state = resumed(state).play(position.last_move, position.last_color)
        except IllegalMove as error:
            raise ValueError(f"the game so far breaks {rules.name} rules at move {number}: {error}") from None
        replayed.append(state)
    return replayed


def read_game(path: str, rules: RuleSet) -> list[go.State]:
    """Every position of a game record's main line, oldest first."""
    from tengen.games.go.sgf import read_sgf

    try:
        file = Path(path)
        if not file.is_file() or file.stat().st_size > _LARGEST_RECORD:  # no devices, no pipes
            raise GtpError("cannot load file: it is not there, or not a game record")
        state: go.State | None = read_sgf(file.read_bytes(), rules=rules).state
    except (OSError, ValueError) as error:
        raise GtpError(f"cannot load file: {' '.join(str(error).split())}") from None
    positions = []
    while state is not None:
        positions.append(state)
        state = state.previous
    return positions[::-1]
