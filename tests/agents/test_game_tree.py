"""The minimax and alpha-beta agents: what they play, and what they must never do."""

import itertools
import threading
from collections.abc import Callable

import pytest

from tengen.agents.agent import Agent, AgentError
from tengen.agents.game_tree import AlphaBetaAgent, AlphaBetaSettings, MinimaxAgent, MinimaxSettings, chance
from tengen.agents.random import RandomAgent, RandomSettings
from tengen.games import go, microchess
from tengen.games.go import BLACK, PASS, WHITE, from_gtp
from tengen.games.go.coordinates import to_cell
from tengen.games.go.playout import is_eye

AGENTS: dict[str, Callable[[int], Agent]] = {
    "minimax": lambda seed: MinimaxAgent(MinimaxSettings(depth=2, seed=seed)),
    "alphabeta": lambda seed: AlphaBetaAgent(AlphaBetaSettings(depth=2, seed=seed)),
    "alphabeta, influence": lambda seed: AlphaBetaAgent(AlphaBetaSettings(depth=2, evaluation="influence", seed=seed)),
}
each_agent = pytest.mark.parametrize("make", AGENTS.values(), ids=AGENTS.keys())


def play_out(state: go.State, black: Agent, white: Agent, limit: int = 300) -> go.State:
    """Play until the game is over."""
    while not state.is_over and state.move_number < limit:
        agent = black if state.to_play == BLACK else white
        state = state.play(agent.choose(state).move)
    return state


def stones(text: str, size: int) -> list[int]:
    return [from_gtp(name, size) for name in text.split()]


@each_agent
@pytest.mark.parametrize("rules", ["chinese", "japanese", "simple-go"])
def test_it_beats_the_random_player(make: Callable[[int], Agent], rules: str) -> None:
    state = go.State.new(5, rules, komi=3.5)
    wins = 0
    for seed in range(4):
        color = BLACK if seed % 2 else WHITE
        players = {color: make(seed), BLACK + WHITE - color: RandomAgent(RandomSettings(seed))}
        end = play_out(state, players[BLACK], players[WHITE])
        assert end.is_over
        wins += end.winner() == color
    assert wins >= 3


@each_agent
def test_a_seed_gives_the_same_game_again(make: Callable[[int], Agent]) -> None:
    start = go.State.new(4, "chinese")
    games = [play_out(start, make(seed), make(seed + 1)).moves for seed in (5, 5)]
    assert games[0] == games[1]


@each_agent
def test_it_never_fills_an_eye_for_nothing(make: Callable[[int], Agent]) -> None:
    state, agents = go.State.new(5, "tromp-taylor"), itertools.cycle([make(1), make(2)])
    while not state.is_over and state.move_number < 100:
        move = next(agents).choose(state).move
        if move != PASS and is_eye(state.board, to_cell(move, 5), state.to_play, state.rules.flags):
            before = state.captures
            assert state.play(move).captures != before, f"filled {move}\n{state}"
        state = state.play(move)


@each_agent
def test_it_passes_at_once_when_that_wins(make: Callable[[int], Agent]) -> None:
    black, white = stones("C1 C2 C3 C4 C5 B3 A2 A4", 5), stones("D1 D2 D3 D4 D5 E3", 5)
    state = go.State.setup(5, "chinese", 0.5, black, white, WHITE).play(PASS)
    decision = make(1).choose(state)
    assert decision.move == PASS


@each_agent
def test_it_does_not_pass_while_dead_stones_still_count_as_its_own(make: Callable[[int], Agent]) -> None:
    """Black leads only while the lost stones E4 and D2 hold up White's territory: it must play on."""
    black = stones("B1 B2 B3 B4 B5 A2 A4 E4 D2", 5)
    white = stones("C1 C2 C3 C4 C5 D3 E3", 5)
    state = go.State.setup(5, "chinese", -0.5, black, white, WHITE).play(PASS)
    assert state.score() < 0 < state.score(dead=())
    assert make(1).choose(state).move != PASS


@each_agent
def test_it_takes_the_stones_that_decide_the_game(make: Callable[[int], Agent]) -> None:
    state = go.State.setup(3, "tromp-taylor", 0.5, stones("A2 B2 C2", 3), stones("A1 B1", 3), BLACK)
    decision = make(3).choose(state)
    assert decision.move in state.legal_moves()
    assert decision.value is not None and decision.value > 0.9
    assert decision.pv[0] == decision.move
    assert decision.values[decision.move] == decision.value
    assert "nodes/s" in decision.note


@each_agent
def test_forced_passes_of_simple_go_are_played(make: Callable[[int], Agent]) -> None:
    full = stones("A1 B1 A2 C1 C2 B3 C3 A3", 3)
    state = go.State.setup(3, "simple-go", 0.5, full, (), BLACK)
    assert state.legal_moves() == [PASS]
    assert make(1).choose(state).move == PASS


class Ticks:
    """A clock that moves on by a hundredth at each look."""

    def __init__(self) -> None:
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return self.looks / 100


def test_alphabeta_thinks_no_longer_than_the_shorter_limit() -> None:
    for own, given in ((None, 0.1), (600.0, 0.1), (0.1, 600.0), (0.1, None)):
        decision = AlphaBetaAgent(AlphaBetaSettings(depth=200, seconds=own, seed=1)).choose(go.State.new(9), given)
        assert decision.move >= 0


def test_alphabeta_can_be_stopped() -> None:
    agent = AlphaBetaAgent(AlphaBetaSettings(seconds=600, seed=1))
    for state in (go.State.new(9), microchess.State.new()):
        agent.check(state)
        timer = threading.Timer(0.2, agent.stop)
        timer.start()
        assert state.why_illegal(agent.choose(state).move) is None
        timer.join()


def test_minimax_answers_within_its_clock() -> None:
    clock = Ticks()
    decision = MinimaxAgent(MinimaxSettings(depth=3, seed=1), clock).choose(go.State.new(9), 2.0)
    assert clock.looks < 210
    assert decision.move >= 0
    assert "depth 1" in decision.note


def test_without_limits_alphabeta_looks_as_far_ahead_as_suits_the_game() -> None:
    agent = AlphaBetaAgent(AlphaBetaSettings(seed=1))
    assert agent.choose(go.State.new(4, "chinese")).note.startswith("depth 3")
    decision = agent.choose(microchess.State.new())
    assert decision.note.startswith("depth 6") and decision.note.endswith("pawns")


@pytest.mark.parametrize(
    "make", [MinimaxAgent(MinimaxSettings(seed=1)), AlphaBetaAgent(AlphaBetaSettings(depth=2, seed=1))]
)
def test_microchess_is_played_too(make: Agent) -> None:
    decision = make.choose(microchess.State.from_fen("k3/2Q1/1K2/4/4 w - - 0 1"))
    assert decision.note.endswith("win in 1 plies")
    assert decision.value == pytest.approx(1)


def test_an_evaluation_of_another_game_is_refused() -> None:
    agent = AlphaBetaAgent(AlphaBetaSettings(evaluation="influence"))
    agent.check(go.State.new(5))
    with pytest.raises(AgentError, match="Microchess has no evaluation influence: choose material"):
        agent.check(microchess.State.new())


def test_a_finished_game_of_go_is_answered_by_a_pass() -> None:
    state = go.State.new(5).play(PASS).play(PASS)
    assert AlphaBetaAgent(AlphaBetaSettings()).choose(state).move == PASS


def test_chances_are_chances() -> None:
    assert chance(0, 450) == 0.5
    assert 0 < chance(-2000, 450) < chance(-100, 450) < 0.5 < chance(100, 450) < chance(2000, 450) < 1
    assert chance(500, 250) > chance(500, 950)
    assert chance(300, 450) + chance(-300, 450) == pytest.approx(1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AlphaBetaSettings(depth=0), "0 plies"),
        (lambda: AlphaBetaSettings(seconds=-1), "-1 seconds"),
        (lambda: AlphaBetaSettings(seconds=float("nan")), "nan seconds"),
        (lambda: AlphaBetaSettings(evaluation="x"), "choose from"),
        (lambda: MinimaxSettings(depth=0), "0 plies"),
        (lambda: MinimaxSettings(evaluation="x"), "choose from"),
    ],
)
def test_bad_settings_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
