"""What searches say of a position while they search: limits, snapshots, the kept tree, scores and ownership."""

import math
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tengen.agents.agent import Agent
from tengen.agents.analysis import Analysis, Analyst, OwnershipEstimator, PlayoutOwnership, Watcher
from tengen.agents.registry import load_agent
from tengen.games import go, microchess
from tengen.games.game import get_game
from tengen.games.go import PASS
from tengen.games.go.sgf import read_sgf
from tengen.games.state import AnyState
from tengen.serve.review import review

SPECS = ["zero:go5", "gumbel:go5", "alphago:go5,threads=1", "alphago:go5,threads=2", "mcts", "uct"]


def analyst(spec: str) -> Analyst:
    agent = load_agent(spec, seed=1)
    assert isinstance(agent, Analyst)
    return agent


def last_of(snapshots: Iterator[Analysis]) -> Analysis:
    *_, last = snapshots
    return last


def check(analysis: Analysis, state: AnyState) -> None:
    """What holds for every analysis of a game that goes on."""
    assert 0 <= analysis.chance <= 1
    assert [each.order for each in analysis.moves] == list(range(len(analysis.moves)))
    legal = set(state.legal_moves())
    assert {each.move for each in analysis.moves} <= legal
    assert sum(each.prior for each in analysis.moves) == pytest.approx(1, abs=1e-3)
    for each in analysis.moves:
        assert 0 <= each.bound <= each.chance <= 1
        assert each.pv[0] == each.move
        assert len(each.pv) == len(each.pv_visits)
        assert each.pv_visits[0] == each.visits
        assert list(each.pv_visits) == sorted(each.pv_visits, reverse=True)
        here = state
        for move in each.pv:
            here = here.play(move)


@pytest.mark.parametrize("spec", SPECS)
def test_every_tree_search_analyses_go(spec: str) -> None:
    state = go.State.new(5, komi=3.5)
    analysis = last_of(analyst(spec).analyse(state, visits=200))
    check(analysis, state)
    assert analysis.final
    assert analysis.visits == 200
    assert sum(each.visits for each in analysis.moves) in (199, 200), "the position's own evaluation is a visit of zero"
    assert analysis.ownership is not None
    assert analysis.ownership.shape == (25,)
    assert analysis.ownership.dtype == np.float32
    assert np.abs(analysis.ownership).max() <= 1
    assert analysis.score == pytest.approx(float(analysis.ownership.sum()) - 3.5, abs=1e-3)


@pytest.mark.parametrize("spec", ["zero:microchess", "gumbel:microchess", "mcts", "uct"])
def test_games_without_territory_have_no_score(spec: str) -> None:
    state = microchess.State.new()
    analysis = last_of(analyst(spec).analyse(state, visits=100))
    check(analysis, state)
    assert (analysis.visits, analysis.score, analysis.ownership) == (100, None, None)
    assert {each.move for each in analysis.moves} == set(state.legal_moves())


def test_only_agents_that_search_a_tree_are_analysts() -> None:
    others: list[Agent] = [load_agent(spec) for spec in ("random", "alphabeta:depth=2", "policy:go19")]
    assert not any(isinstance(agent, Analyst) for agent in others)


@pytest.mark.parametrize("spec", SPECS)
def test_snapshots_come_by_the_clock_and_grow(spec: str) -> None:
    """A clock of our own, on which every look takes a second."""
    agent, now = analyst(spec), [0.0]

    def clock() -> float:
        now[0] += 1.0
        return now[0]

    agent._clock = clock  # type: ignore[attr-defined]
    snapshots = [*agent.analyse(go.State.new(5, komi=3.5), visits=3000, interval=2.0)]
    visits = [each.visits for each in snapshots]
    assert len(visits) > 3
    assert visits == sorted(visits)
    assert [each.final for each in snapshots] == [False] * (len(snapshots) - 1) + [True]
    begun = now[0]
    timed = last_of(agent.analyse(go.State.new(5, komi=0.5), seconds=20.0, interval=1e9))
    assert timed.final
    assert now[0] - begun < 40


@pytest.mark.parametrize("spec", SPECS)
def test_an_endless_analysis_is_stopped_from_another_thread(spec: str) -> None:
    agent, state = analyst(spec), go.State.new(5, komi=3.5)
    snapshots = agent.analyse(state, seconds=math.inf, interval=0.0)
    next(snapshots)
    threading.Thread(target=agent.stop).start()
    *_, last = snapshots
    assert last.final
    assert agent.analyse(state, visits=1), "stopping does not stop the next one"
    assert not isinstance(next(agent.analyse(state, seconds=math.inf, interval=0.0)), type(None))


@pytest.mark.parametrize("spec", SPECS)
def test_without_limits_the_agents_own_hold(spec: str) -> None:
    limit = {"mcts": "playouts=40", "uct": "playouts=40"}.get(spec, "sims=40")
    agent = analyst(f"{spec}{',' if ':' in spec else ':'}{limit}")
    assert last_of(agent.analyse(go.State.new(5, komi=3.5))).visits == 40


@pytest.mark.parametrize("spec", SPECS)
def test_the_tree_is_kept_along_a_game_and_for_choose(spec: str) -> None:
    agent, state = analyst(spec), go.State.new(5, komi=3.5)
    first = last_of(agent.analyse(state, visits=300))
    best = first.moves[0]
    state = state.play(best.move)
    snapshot = next(agent.analyse(state, visits=1))
    assert snapshot.visits == best.visits, "nothing was searched anew"
    again = next(agent.analyse(state, visits=1))
    assert again.visits == best.visits
    decision = agent.choose(state)  # type: ignore[attr-defined]
    assert decision.move in state.legal_moves()


def test_more_visits_go_on_with_the_same_tree() -> None:
    agent, state = analyst("zero:go5"), go.State.new(5, komi=3.5)
    few = last_of(agent.analyse(state, visits=100))
    tree = agent._searcher  # type: ignore[attr-defined]
    assert last_of(agent.analyse(state, visits=1500)).visits == 1500
    assert agent._searcher is tree, "the room was there"  # type: ignore[attr-defined]
    assert few.visits == 100


def test_choosing_is_the_same_after_an_analysis_made_room() -> None:
    state = go.State.new(5, komi=3.5)
    plain, other = load_agent("zero:go5,sims=40", seed=1), load_agent("zero:go5,sims=40", seed=1)
    last_of(other.analyse(state.play(12), visits=600))  # type: ignore[attr-defined]
    assert plain.choose(state).visits == other.choose(state).visits


@pytest.mark.parametrize("spec", ["zero:go5", "mcts", "uct"])
def test_a_finished_game_is_what_it_is(spec: str) -> None:
    state = go.State.new(5, komi=3.5).play(12).play(PASS).play(PASS)
    (analysis,) = analyst(spec).analyse(state, visits=100)
    assert analysis.final
    assert analysis.moves == ()
    assert analysis.chance == float(state.winner() == state.to_play) == 0.0


def test_a_solved_position_ends_the_search() -> None:
    game = get_game("tictactoe")
    state = game.new(game.options())
    for move in (0, 3, 1, 4):
        state = state.play(move)
    analysis = last_of(analyst("mcts").analyse(state, seconds=math.inf))
    assert analysis.moves[0].move == 2
    assert analysis.moves[0].chance == analysis.chance == 1.0


@pytest.mark.parametrize("spec", ["zero:alphago9", "zero:go9", "uct", "mcts"])
def test_ownership_and_score_are_those_of_the_player_to_move(spec: str) -> None:
    """A board divided in halves by two walls, so that White leads by the komi."""
    rows = ["...X.O..."] * 9
    black = [r * 9 + c for r, row in enumerate(rows) for c, mark in enumerate(row) if mark == "X"]
    white = [r * 9 + c for r, row in enumerate(rows) for c, mark in enumerate(row) if mark == "O"]
    scores = []
    for to_play in (go.BLACK, go.WHITE):
        state = go.State.setup(9, "chinese", 7.0, black, white, to_play)
        analysis = last_of(analyst(spec).analyse(state, visits=1000 if spec == "uct" else 60))
        assert analysis.score is not None and analysis.ownership is not None
        owners = analysis.ownership.reshape(9, 9) * (1 if to_play == go.BLACK else -1)
        assert owners[:, :3].mean() > 0.4
        assert owners[:, 6:].mean() < -0.4
        scores.append(analysis.score)
        if spec == "zero:alphago9":
            assert analysis.moves[0].score is not None
            assert analysis.moves[0].score == pytest.approx(analysis.score, abs=4)
    assert -13 < scores[0] < 1, "Black's points"
    assert -1 < scores[1] < 13, "White's"


@pytest.mark.parametrize(
    ("spec", "visits", "least"),
    [
        ("alphago:alphago9,threads=1", 40, -0.25),
        ("zero:go9-selfplay", 40, -0.25),
        ("zero:go9", 40, -0.25),
        ("uct", 1000, -0.75),  # playouts are noisier: the standard error of this mean is 0.4
    ],
)
def test_scores_do_not_favour_whose_turn_it_is(spec: str, visits: int, least: float) -> None:
    """By a score that did, or did the opposite, every move of good players would cost points, or win some.

    The games are ours: `python benchmarks/point_losses.py --make 2 --player alphago:alphago9,sims=200,temperature=0.3`.
    """
    losses = []
    for record in sorted((Path(__file__).parent / "games").glob("*.sgf")):
        *_, found = review(analyst(spec), read_sgf(record.read_bytes()).state, visits)
        losses += found.point_losses()
    assert len(losses) > 80
    assert least < float(np.mean(losses)) < 1.25


def test_a_move_without_reply_is_compared_with_the_best_move() -> None:
    """A source that gives every player to move 10 points too many: it must not show in any score."""

    class Optimist:
        knows_moves = True

        def of(self, states: Sequence[go.State]) -> NDArray[np.float32]:
            return np.full((len(states), 25), 0.4, np.float32)

    root, moves = OwnershipEstimator(Optimist(), go.State.new(5, komi=0)).estimate([(12, 7, 8), (7, 12), (6,)])
    assert root.score == pytest.approx(0, abs=1e-4)
    assert {move: round(each.score, 4) + 0.0 for move, each in moves.items()} == {12: 0, 7: 0, 6: 0}


def test_a_counted_game_has_its_score() -> None:
    state = go.State.new(5, komi=3.5).play(12).play(PASS).play(PASS)
    analysis = last_of(analyst("zero:go5").analyse(state))
    assert (analysis.score, analysis.final) == (-21.5, True)
    assert analysis.ownership is not None and analysis.ownership.tolist() == [-1.0] * 25, "White is to move"


def test_an_agent_asked_something_else_ends_its_analysis() -> None:
    agent, state = analyst("zero:go5"), go.State.new(5, komi=3.5)
    snapshots = agent.analyse(state, seconds=math.inf, interval=0.0)
    next(snapshots)
    agent.choose(state.play(12))  # type: ignore[attr-defined]
    assert list(snapshots) == []


@pytest.mark.parametrize("spec", SPECS)
def test_who_watches_a_choice_sees_the_search_and_changes_nothing(spec: str) -> None:
    limit = {"mcts": "playouts=600", "uct": "playouts=600"}.get(spec, "sims=600")
    full, state = f"{spec}{',' if ':' in spec else ':'}{limit}", go.State.new(5, komi=3.5)
    seen: list[Analysis] = []
    decision = analyst(full).choose(state, None, Watcher(seen.append, 0.0))
    assert [each.final for each in seen] == [False] * (len(seen) - 1) + [True]
    assert len(seen) > 1
    check(seen[-1], state)
    assert seen[-1].moves[0].move == decision.move
    if "threads=2" not in spec:
        assert analyst(full).choose(state).visits == decision.visits


@pytest.mark.parametrize("spec", ["zero:go5", "uct"])
def test_a_choice_without_search_is_shown_too(spec: str) -> None:
    state = go.State.new(5, komi=-3.5).play(12).play(PASS)
    seen: list[Analysis] = []
    decision = analyst(spec).choose(state, None, Watcher(seen.append))
    assert decision.move == PASS
    assert [each.move for each in seen[-1].moves] == [PASS]
    assert seen[-1].final


def test_scores_by_playouts_scatter_little_on_a_large_board() -> None:
    openings = [go.State.new(size=19).play(go.from_gtp(word, 19)) for word in "C4 D3 Q3 R4 C16 D17 Q17 R16".split()]
    scores = PlayoutOwnership().of(openings).sum(axis=1)  # the same position, turned and mirrored
    assert np.std(scores) < 6  # 8.5 by 24 playouts, 4.0 by 240
