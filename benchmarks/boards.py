"""What each idea of the course's boards brings: random games on sets and copies, on hashes, and on the engine."""

import random
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

from tengen.course import board_of_sets, board_with_hashes
from tengen.games import go
from tengen.games.go import PASS

Played = Callable[[int, random.Random, float], float]
"""Plays on a board of this size for so many seconds of processor time; returns moves per second."""


def _course_game(make: Callable[[int], Any]) -> Played:
    def play(size: int, rng: random.Random, seconds: float) -> float:
        points = [(row, col) for row in range(size) for col in range(size)]

        def moves() -> int:
            game, count = make(size), 0
            while not game.is_over and count < 2 * size * size:
                rng.shuffle(points)
                game.play(next((point for point in points if game.is_legal(point)), None))
                count += 1
            return count

        return _rate(moves, seconds)

    return play


def _states(size: int, rng: random.Random, seconds: float) -> float:
    def moves() -> int:
        state = go.State.new(size=size, rules="aga")
        while not state.is_over and state.move_number < 2 * size * size:
            legal = [move for move in state.legal_moves() if move != PASS]
            state = state.play(rng.choice(legal) if legal else PASS)
        return state.move_number

    return _rate(moves, seconds)


def _rate(moves: Callable[[], int], seconds: float) -> float:
    began, count, spent = time.process_time(), 0, 0.0
    while not count or spent < seconds:
        count += moves()
        spent = time.process_time() - began
    return count / spent


BOARDS: dict[str, Played] = {
    "sets and deep copies": _course_game(board_of_sets.Game),
    "Zobrist hashing": _course_game(board_with_hashes.Game),
    "the engine, go.State": _states,
}


def measure_boards(sizes: tuple[int, ...], seconds: float, rounds: int) -> dict[str, list[float]]:
    """Moves per second of each board on each size, the best of some rounds, measured in turn."""
    for board in BOARDS.values():
        for size in sizes:
            board(size, random.Random(0), 0.0)  # compiles
    best = {name: [0.0] * len(sizes) for name in BOARDS}
    for number in range(rounds):
        for name, board in BOARDS.items():
            for place, size in enumerate(sizes):
                best[name][place] = max(best[name][place], board(size, random.Random(number), seconds))
    return best


def print_boards(sizes: tuple[int, ...], rates: dict[str, list[float]]) -> None:
    """A table, each board beside the first."""
    table = Table("board", *(f"{size}x{size}, moves/s" for size in sizes))
    first = next(iter(rates.values()))
    for name, row in rates.items():
        table.add_row(name, *(f"{rate:,.0f}  ({rate / base:,.0f}x)" for rate, base in zip(row, first)))
    Console().print(table)
