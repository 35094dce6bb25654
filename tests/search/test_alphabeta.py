"""Alpha-beta against minimax, with and without its table, against solved boards, and within its limits."""

import threading
from functools import cache

import numpy as np
import pytest

from tengen.games import go, microchess
from tengen.games.game import game_of, get_game
from tengen.games.go import BLACK, PASS, from_gtp
from tengen.games.kernels import WIN
from tengen.games.state import RESIGN, AnyState, Options
from tengen.search.alphabeta import MAX_DEPTH, AlphaBetaSearch
from tengen.search.minimax import Budget, Evaluation, GameTreeResult, minimax


@cache
def searches(options: Options, evaluation: int, table: bool) -> tuple[AlphaBetaSearch, Evaluation]:
    """A search, and the evaluation that it uses."""
    batch = get_game(options.game).batch(options)
    batch.use_evaluation(evaluation)
    return AlphaBetaSearch(batch, table, table_bits=16), Evaluation(batch)


def search(
    state: AnyState, depth: int = MAX_DEPTH, evaluation: int = 0, table: bool = True, nodes: int | None = None
) -> GameTreeResult:
    return searches(game_of(state).options_of(state), evaluation, table)[0].run(state, depth, nodes=nodes)


def evaluate(state: AnyState, evaluation: int = 0) -> int:
    return searches(game_of(state).options_of(state), evaluation, True)[1](state)


def random_position(size: int, rules: str, seed: int) -> go.State:
    """A position some random moves into a game that is not over yet."""
    rng = np.random.default_rng(seed)
    state = go.State.new(size, rules, komi=0.5)
    for _ in range(int(rng.integers(0, 2 * size * size))):
        following = state.play(int(rng.choice(state.legal_moves())))
        if following.is_over:
            break
        state = following
    return state


def minimax_value(state: go.State, depth: int, evaluation: int = 0) -> int:
    """The minimax value as the player to move sees it."""
    return (1 if state.to_play == BLACK else -1) * minimax(state, depth, lambda leaf: evaluate(leaf, evaluation))


@pytest.mark.parametrize("table", [True, False], ids=["table", "no table"])
@pytest.mark.parametrize("rules", ["japanese", "tromp-taylor", "aga", "simple-go"])
@pytest.mark.parametrize(("size", "depth", "positions"), [(3, 3, 12), (4, 3, 4), (5, 2, 4), (5, 1, 6)])
def test_the_value_is_minimaxs(size: int, depth: int, positions: int, rules: str, table: bool) -> None:
    for seed in range(positions):
        state = random_position(size, rules, seed)
        found = search(state, depth, table=table)
        assert found.value == minimax_value(state, depth), f"seed {seed}\n{state}"


def test_the_value_is_minimaxs_by_influence_too() -> None:
    for seed in range(4):
        state = random_position(4, "chinese", seed)
        found = search(state, 3, evaluation=1)
        assert found.value == minimax_value(state, 3, 1)


@pytest.mark.parametrize("rules", ["japanese", "chinese", "new-zealand"])
def test_the_table_changes_nothing_but_the_work(rules: str) -> None:
    saved = 0
    for seed in range(6):
        state = random_position(4, rules, seed)
        with_table = search(state, 5)
        without = search(state, 5, table=False)
        assert with_table.value == without.value, f"seed {seed}\n{state}"
        saved += without.nodes - with_table.nodes
    assert saved > 0


def test_pruning_is_worth_it() -> None:
    state, budget = go.State.new(4, "chinese"), Budget()
    minimax(state, 3, evaluate, budget)
    assert search(state, 3).nodes < budget.nodes / 3


def test_every_value_at_the_root_is_exact() -> None:
    state = random_position(4, "chinese", 3)
    for move, value in search(state, 3).values.items():
        assert value == -minimax_value(state.play(move), 2)


def test_the_line_leads_to_the_value() -> None:
    """Without a table the line is whole: at its end stands the value that was promised."""
    for seed in range(10):
        start = state = random_position(4, "japanese", seed)
        found = search(start, 4, table=False)
        assert found.move == found.pv[0]
        for move in found.pv:
            state = state.play(move)
        end = evaluate(state)
        assert found.value == (end if state.to_play == start.to_play else -end)


def test_2x2_is_solved_black_wins_by_one_point() -> None:
    found = search(go.State.new(2, "tromp-taylor", komi=0))
    assert found.solved
    assert found.value == 100


@pytest.mark.long
def test_2x2_is_solved_beyond_doubt_without_a_table() -> None:
    found = search(go.State.new(2, "tromp-taylor", komi=0), table=False)
    assert found.solved
    assert found.value == 100


def test_3x3_belongs_to_black_whole_after_the_centre() -> None:
    state = go.State.new(3, "tromp-taylor", komi=0).play(from_gtp("B2", 3))
    for depth in (12, 13, 14):
        assert search(state, depth).value == -900


@pytest.mark.parametrize("reply", ["A3", "B3"])
def test_3x3_no_reply_lives_against_the_centre(reply: str) -> None:
    state = go.State.new(3, "tromp-taylor", komi=0).play(from_gtp("B2", 3)).play(from_gtp(reply, 3))
    found = search(state, 12, table=False)
    assert found.value == 900


@pytest.mark.parametrize("komi", [8.5, 9.5])
def test_3x3_komi_moves_the_result(komi: float) -> None:
    state = go.State.new(3, "tromp-taylor", komi=komi).play(from_gtp("B2", 3))
    assert search(state, 12).value == 100 * (komi - 9)


def test_a_game_that_brings_nothing_but_its_rules_is_solved_too() -> None:
    game = get_game("tictactoe")
    state = game.new(game.options())
    found = search(state)
    assert (found.value, found.solved) == (0, True)
    for move in (0, 3, 1, 4):  # one more in the first row wins
        state = state.play(move)
    found = search(state)
    assert (found.move, found.value, found.solved) == (2, WIN - 1, True)


def test_time_stops_the_search_with_the_last_depth_it_saw() -> None:
    state = go.State.new(9, "chinese")
    game = game_of(state)
    found = AlphaBetaSearch(game.batch(game.options_of(state))).run(state, seconds=0.2)
    assert found.depth < MAX_DEPTH
    assert state.is_legal(found.move)


def test_another_thread_may_stop_it() -> None:
    state = microchess.State.new()
    running = AlphaBetaSearch(game_of(state).batch(game_of(state).options_of(state)))
    timer = threading.Timer(0.2, running.stop)
    timer.start()
    found = running.run(state)
    timer.join()
    assert 1 <= found.depth < MAX_DEPTH


def test_a_node_limit_is_never_exceeded() -> None:
    for limit in (0, 1, 50, 777):
        found = search(go.State.new(5, "simple-go"), nodes=limit)
        assert found.nodes == limit
        assert found.move != PASS


def test_without_time_for_a_single_node_there_is_still_a_sensible_move() -> None:
    found = search(go.State.new(9, "chinese"), nodes=0)
    assert (found.move, found.value, found.depth) == (from_gtp("E5", 9), None, 0)


def test_an_unfinished_depth_never_worsens_the_move() -> None:
    """The best move of the last depth comes first, so what is cut short can only improve on it."""
    state = random_position(5, "chinese", 11)
    full = search(state, 2)
    cut = search(state, 3, nodes=full.nodes + 1)
    assert (cut.move, cut.value, cut.depth) == (full.move, full.value, 2)


def test_dead_stones_come_off_when_a_game_is_counted() -> None:
    """After White's pass, Black's pass wins with its two lost stones alive, and loses without them."""
    black = [from_gtp(name, 5) for name in "B1 B2 B3 B4 B5 A2 A4 E4 D2".split()]
    white = [from_gtp(name, 5) for name in "C1 C2 C3 C4 C5 D3 E3".split()]
    state = go.State.setup(5, "chinese", 0.5, black, white, BLACK + 1).play(PASS)
    game = game_of(state)
    by_pass = AlphaBetaSearch(game.batch(game.options_of(state)))
    assert by_pass.run(state, 1, [PASS]).value == 100 * state.score(dead=())
    dead = frozenset(from_gtp(name, 5) for name in ("E4", "D2"))
    assert by_pass.run(state, 1, [PASS], dead=dead).value == 100 * state.score(dead=dead)


def test_a_finished_game_has_no_move_to_find() -> None:
    state = go.State.new(5, "chinese").play(PASS).play(PASS)
    assert search(state, 3) == GameTreeResult(RESIGN, None)


def test_depth_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        search(go.State.new(5), 0)


# ------------------------------------------------------------------------------- quiescence: Microchess


PIECES = {1: 100, 2: 300, 3: 300, 4: 500, 5: 900, 6: 0}


def material(state: microchess.State) -> int:
    balance = sum(PIECES[p] if p <= 6 else -PIECES[p - 6] for p in state.squares.tolist() if p)
    return balance if state.to_play == microchess.WHITE else -balance


def slow_value(state: microchess.State, depth: int, ply: int = 0, plies_left: int = 6) -> int:
    """The same rules of evaluation without any pruning; `plies_left` bounds the captures in the oracle's positions."""
    if state.is_over:
        winner = state.winner()
        return 0 if not winner else WIN - ply if winner == state.to_play else ply - WIN
    quiet = depth <= 0 and not state.in_check
    best = material(state) if quiet else -2 * WIN
    if quiet and plies_left == 0:
        raise OverflowError
    for move in state.legal_moves():
        target, promotion = move // 20 % 20, move // 400
        if quiet and not promotion and state.piece_at(target) == 0:
            continue
        best = max(best, -slow_value(state.play(move), depth - 1, ply + 1, plies_left - (depth <= 0)))
    return best


@pytest.mark.parametrize("rules", ["standard", "ncsoft"])
def test_captures_are_played_out_as_by_a_search_without_pruning(rules: str) -> None:
    rng, compared = np.random.default_rng(5), 0
    for _ in range(60):
        state = microchess.State.new(rules)
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
            found = search(state, depth)
            if not found.solved:
                assert found.value == expected, (state.fen(), depth)
                compared += 1
            else:
                assert found.value is not None and (found.value == expected or abs(found.value) > WIN - 100)
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
def test_positions_of_microchess_with_a_known_answer(fen: str, move: str | None, value: int | None) -> None:
    state = microchess.State.from_fen(fen)
    found = search(state, 4)
    assert state.why_illegal(found.move) is None
    if move is not None:
        assert state.move_name(found.move) == move
    if value is not None:
        assert found.value == value
        assert state.play(found.move).end_reason == "checkmate"
        assert found.solved


def test_a_line_of_microchess_is_legal_and_begins_with_the_move() -> None:
    state = microchess.State.new()
    found = search(state, 5)
    assert found.pv[0] == found.move
    assert len(found.pv) >= 2
    for move in found.pv:
        state = state.play(move)
