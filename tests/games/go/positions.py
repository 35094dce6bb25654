"""Game states for tests: from diagrams, and from games that hypothesis can draw and shrink."""

import numpy as np
from hypothesis import strategies as st

from tengen.games import go
from tengen.games.go import BLACK, PASS, RULES, WHITE, RuleSet, from_gtp

every_rule_set = st.sampled_from(sorted(RULES))
choices = st.lists(st.integers(0, 10**6), max_size=120)
"""The moves of a game: each number, modulo the number of legal moves, picks one."""


def state_from(
    diagram: str, rules: str | RuleSet = "chinese", to_play: int = BLACK, komi: float | None = None
) -> go.State:
    """The position that a diagram shows, top row first: X black, O white, anything else empty."""
    rows = ["".join(line.split()) for line in diagram.split("\n") if line.strip()]
    flat = "".join(rows)
    assert len(flat) == len(rows) ** 2, "a diagram has to be square"
    black, white = ([i for i, char in enumerate(flat) if char == stone] for stone in "XO")
    return go.State.setup(len(rows), rules, komi, black, white, to_play)


def play_all(state: go.State, moves: str) -> go.State:
    """Play these GTP moves in turn."""
    for name in moves.split():
        state = state.play(from_gtp(name, state.size))
    return state


def pick(state: go.State, number: int) -> int:
    """The legal move that a number stands for; a pass only rarely where there is something else."""
    moves = state.legal_moves()
    if len(moves) > 1 and moves[-1] == PASS and number % 16:
        moves = moves[:-1]
    return moves[number // 16 % len(moves)]


def states_of_game(size: int, rules: str, numbers: list[int]) -> list[go.State]:
    """All states of the game that the numbers pick, from the empty board on."""
    states = [go.State.new(size, rules)]
    for number in numbers:
        if states[-1].is_over:
            break
        states.append(states[-1].play(pick(states[-1], number)))
    return states


def random_game(size: int, rules: str | RuleSet, rng: np.random.Generator, moves: int) -> list[go.State]:
    """The states of a random game of at most this many moves."""
    states = [go.State.new(size, rules)]
    while len(states) <= moves and not states[-1].is_over:
        states.append(states[-1].play(pick(states[-1], int(rng.integers(10**6)))))
    return states


def stones_of(state: go.State, color: int) -> list[int]:
    """The points of one colour's stones."""
    assert color in (BLACK, WHITE)
    points: list[int] = np.flatnonzero(state.stones.ravel() == color).tolist()
    return points
