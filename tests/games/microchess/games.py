"""Games for the tests of Microchess: random ones, and a plain one on which the pieces are few."""

from collections.abc import Iterator

import numpy as np

from tengen.games import microchess


def random_game(rng: np.random.Generator, rules: str = "standard", double_step: bool = True) -> list[microchess.State]:
    """The states of a game of random moves, played to its end."""
    states = [microchess.State.new(rules, double_step)]
    while not states[-1].is_over:
        states.append(states[-1].play(int(rng.choice(states[-1].legal_moves()))))
    return states


def random_states(seed: int, games: int, rules: str = "standard") -> Iterator[microchess.State]:
    """All states of some random games, with and without the double step by turns."""
    rng = np.random.default_rng(seed)
    for number in range(games):
        yield from random_game(rng, rules, double_step=number % 2 == 0)


def game_from(choices: list[int], rules: str = "standard", double_step: bool = True) -> list[microchess.State]:
    """The states of a game in which each number chooses among the legal moves; for hypothesis."""
    states = [microchess.State.new(rules, double_step)]
    for number in choices:
        if states[-1].is_over:
            break
        moves = states[-1].legal_moves()
        states.append(states[-1].play(moves[number % len(moves)]))
    return states


def play_all(state: microchess.State, line: str) -> microchess.State:
    """The state after moves written in one line, as UCI or SAN."""
    for word in line.split():
        state = state.play(state.parse_move(word))
    return state
