"""Alpha-beta for Microchess against a slow minimax that plays everything out, and on positions with a known answer."""

import threading

import numpy as np
import pytest

from tengen.games.microchess import WHITE, GameState
from tengen.search.microchess_alphabeta import WIN, new_workspace, search_microchess

VALUES = {1: 100, 2: 300, 3: 300, 4: 500, 5: 900, 6: 0}
WORK = new_workspace()


def material(state: GameState) -> int:
    balance = sum(VALUES[p] if p <= 6 else -VALUES[p - 6] for p in state.squares.tolist() if p)
    return balance if state.to_play == WHITE else -balance


def slow_value(state: GameState, depth: int, ply: int = 0, plies_left: int = 6) -> int:
    """The same rules of evaluation without any pruning; `plies_left` bounds the captures in the oracle's positions."""
    if state.is_over:
        winner = state.winner()
        return 0 if not winner else WIN - ply if winner == state.to_play else ply - WIN
    quiet = depth <= 0 and not state.in_check
    best = material(state) if quiet else -WIN - 1
    if quiet and plies_left == 0:
        raise OverflowError
    for move in state.legal_moves():
        target, promotion = move // 20 % 20, move // 400
        if quiet and not promotion and state.piece_at(target) == 0:
            continue
        best = max(best, -slow_value(state.play(move), depth - 1, ply + 1, plies_left - (depth <= 0)))
    return best


@pytest.mark.parametrize("rules", ["standard", "ncsoft"])
def test_the_value_is_that_of_a_search_without_pruning(rules: str) -> None:
    rng, compared = np.random.default_rng(5), 0
    for _ in range(60):
        state = GameState.new(rules)
        for _ in range(int(rng.integers(4, 60))):
            if not state.is_over:
                state = state.play(int(rng.choice(state.legal_moves())))
        if state.is_over or len(state.legal_moves()) > 14:
            continue
        for depth in (1, 2):
            try:
                expected = slow_value(state, depth)
            except OverflowError:
                continue
            result = search_microchess(state, depth, state.legal_moves(), WORK)
            if not result.solved:
                assert result.value == expected, (state.fen(), depth)
                compared += 1
            else:
                assert result.value is not None and abs(result.value) > WIN - 100
    assert compared > 20


@pytest.mark.parametrize(
    ("fen", "move", "value"),
    [
        ("k3/2Q1/1K2/4/4 w - - 0 1", None, WIN - 1),  # mate in one
        ("k3/4/1K2/4/2Q1 w - - 0 1", None, WIN - 1),
        ("k3/4/4/2q1/3K w - - 0 1", None, None),  # whatever is played, nothing breaks
        ("3k/P3/4/4/3K w - - 0 1", "a4a5q", None),  # a pawn becomes a queen
    ],
)
def test_positions_with_a_known_answer(fen: str, move: str | None, value: int | None) -> None:
    state = GameState.from_fen(fen)
    result = search_microchess(state, 4, state.legal_moves(), WORK)
    assert state.why_illegal(result.move) is None
    if move is not None:
        assert state.move_name(result.move) == move
    if value is not None:
        assert result.value == value
        assert state.play(result.move).end_reason == "checkmate"
        assert result.solved


def test_the_line_is_legal_and_begins_with_the_move() -> None:
    state = GameState.new()
    result = search_microchess(state, 5, state.legal_moves(), WORK)
    assert result.pv[0] == result.move
    assert len(result.pv) >= 5
    for move in result.pv:
        state = state.play(move)


def test_a_search_told_to_stop_comes_back_with_the_last_depth_it_saw() -> None:
    work, state = new_workspace(), GameState.new()
    timer = threading.Timer(0.2, lambda: work.stop.__setitem__(0, 1))
    timer.start()
    result = search_microchess(state, 40, state.legal_moves(), work)
    timer.join()
    assert 1 <= result.depth < 40
    work.stop[0] = 1
    assert search_microchess(state, 40, state.legal_moves(), work).depth >= 1  # the first thousand nodes are free
