"""The AlphaGo player: its settings, its networks and rollouts, its threads, and what it tells about a position."""

import threading
from pathlib import Path
from typing import Any

import pytest

from tengen.agents.agent import AgentError, Decision
from tengen.agents.alphago import AlphaGoSettings, alphago_agent
from tengen.agents.network_search import NetworkSearchAgent, checked_threads
from tengen.agents.registry import SpecError, agent_kinds, load_agent, with_limit
from tengen.games import go, microchess
from tengen.games.game import get_game
from tengen.games.go import BLACK, PASS, RESIGN, WHITE
from tengen.nets.evaluator import load_model
from tengen.nets.model_file import ModelCard, ModelFileError, save_model
from tengen.nets.network import build_network

from ..games.go.positions import state_from

START = go.State.new(5, "chinese", 3.5)


def new_model(path: Path, network: str, encoder: str = "compact", planes: int = 10, size: int = 5, **made: Any) -> str:
    """A network that has learned nothing."""
    built = build_network(network, planes, size, seed=1, **made)
    save_model(path, built, ModelCard.of(built, encoder=encoder))
    return str(path)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Models of 5x5 Go: both heads, the policy of AlphaGo with 48 planes, its value with 49, and others."""
    folder = tmp_path_factory.mktemp("models")
    small = {"layers": 3, "filters": 8}
    return {
        "both": new_model(folder / "both.safetensors", "residual", blocks=1, filters=8, value=True),
        "policy": new_model(folder / "policy.safetensors", "alphago", "alphago", 48, **small),
        "value": new_model(folder / "value.safetensors", "alphago-value", "alphago49", 49, hidden=8, **small),
        "large": new_model(folder / "large.safetensors", "residual", size=7, blocks=1, filters=8, value=True),
    }


def agent_of(model: str, **settings: Any) -> NetworkSearchAgent:
    return alphago_agent(AlphaGoSettings(model, **({"seed": 1, "threads": 1, "backend": "openvino"} | settings)))


def simulations_of(decision: Decision) -> int:
    """How many there were, by the note."""
    return int(decision.note.split(" simulations")[0])


# ---------------------------------------------------------------------------------------------- playing


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"lambda_value": 0.0},
        {"lambda_value": 1.0},
        {"lambda_value": 0.25, "prior": False, "fpu": 0.2},
        {"n_thr": 3, "depth": 2},
        {"fast": "guided"},
        {"fast": "fast19", "rollout_limit": 5},
    ],
    ids=lambda settings: ",".join(settings) or "usual",
)
def test_plays_whole_legal_games(models: dict[str, str], settings: dict[str, Any], threads: int) -> None:
    state, settings = START, {"sims": 40, "resign": 0.0, "threads": threads, "batch": 4} | settings
    players = {BLACK: agent_of(models["both"], **settings), WHITE: agent_of(models["both"], **settings | {"seed": 2})}
    while not state.is_over and state.move_number < 160:
        decision = players[state.to_play].choose(state)
        assert decision.move in state.legal_moves()
        state = state.play(decision.move)
    assert state.is_over
    assert players[BLACK].choose(state).move == PASS


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_rollouts_by_a_network_with_an_encoder_of_its_own(models: dict[str, str], weight: float) -> None:
    agent = agent_of(
        models["both"], fast=models["policy"], lambda_value=weight, sims=30, batch=4, threads=2, resign=0.0
    )
    assert agent.choose(START.play(12)).move in START.play(12).legal_moves()


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_two_networks_with_encoders_of_their_own(models: dict[str, str], weight: float) -> None:
    agent = agent_of(models["policy"], value=models["value"], lambda_value=weight, sims=60, n_thr=2, resign=0.0)
    state = START.play(12).play(7)
    first = agent.choose(state)
    assert simulations_of(first) == 60 and first.move in state.legal_moves()
    assert simulations_of(agent.choose(state.play(first.move))) >= 60
    alone = agent_of(models["value"], prior=False, sims=30)
    assert alone.choose(START).move in START.legal_moves()


@pytest.mark.parametrize(
    "state", [microchess.State.new(), microchess.State.new().play(microchess.State.new().legal_moves()[0])]
)
def test_other_games_are_played_out_by_their_own_playouts(state: microchess.State) -> None:
    agent = load_agent("alphago:microchess,sims=100,threads=2", seed=1)
    decision = agent.choose(state)
    assert decision.move in state.legal_moves() and simulations_of(decision) == 100
    with pytest.raises(AgentError, match="plays Microchess, and this is a game of Tic-tac-toe"):
        agent.choose(get_game("tictactoe").start())


def test_the_seed_repeats_a_game_with_one_thread(models: dict[str, str]) -> None:
    def moves(seed: int) -> list[int]:
        agent, state = agent_of(models["both"], sims=64, seed=seed), START
        while state.move_number < 6:
            state = state.play(agent.choose(state).move)
        return [move for _, move in state.moves]

    assert moves(1) == moves(1)
    assert len({tuple(moves(seed)) for seed in range(1, 5)}) > 1


@pytest.mark.parametrize("threads", [1, 2])
def test_the_tree_is_kept_from_move_to_move(models: dict[str, str], threads: int) -> None:
    agent = agent_of(models["both"], sims=200, threads=threads, resign=0.0)
    first = agent.choose(START)
    below = first.visits[first.move] - 1
    second = agent.choose(START.play(first.move))
    assert second.nodes == below + 200


def test_a_lost_game_of_go_is_resigned_and_others_are_played_on(models: dict[str, str]) -> None:
    lost = state_from(". X . X .\n X X X X X\n . X . X .\n X X X X X\n . X . X .", "chinese", WHITE, 3.5)
    assert agent_of(models["both"], sims=200, lambda_value=1.0).choose(lost).move == RESIGN
    assert agent_of(models["both"], sims=200, lambda_value=1.0, resign=0.0).choose(lost).move != RESIGN


# ---------------------------------------------------------------------------------------------- threads


@pytest.mark.parametrize("threads", [1, 2])
def test_stop_ends_a_search_in_another_thread(models: dict[str, str], threads: int) -> None:
    agent, found = agent_of(models["both"], seconds=10_000, threads=threads, nodes=100_000), list[Decision]()
    thread = threading.Thread(target=lambda: found.append(agent.choose(START)))
    thread.start()
    while thread.is_alive():
        agent.stop()
        thread.join(0.01)
    assert found[0].move in START.legal_moves()


def test_time_limits_the_search_of_threads(models: dict[str, str]) -> None:
    """A clock of our own: it jumps at each look."""
    now = iter(x / 2 for x in range(10_000))
    settings = AlphaGoSettings(models["both"], seconds=5.0, threads=2, backend="openvino")
    agent = alphago_agent(settings, lambda: next(now))
    assert agent.choose(START).move in START.legal_moves()
    assert next(now) <= 6.0


def test_ctrl_c_ends_all_threads_and_the_agent_plays_on(
    models: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = agent_of(models["both"], sims=400, threads=3)
    agent.check(START)
    looks = iter(range(10))

    def interrupted() -> float:
        if next(looks) == 5:
            raise KeyboardInterrupt
        return 0.0

    with monkeypatch.context() as patch:
        patch.setattr(agent, "_clock", interrupted)
        with pytest.raises(KeyboardInterrupt):
            agent.choose(START)
    assert not [thread for thread in threading.enumerate() if thread.name == "search"]
    decision = agent.choose(START)
    assert decision.move in START.legal_moves() and simulations_of(decision) == 400


def test_zero_searches_with_threads_too() -> None:
    agent = load_agent("zero:go5,sims=300,threads=3")
    assert simulations_of(agent.choose(START)) == 300
    assert START.move_name(agent.choose(START).move) == "C3"
    with pytest.raises(ValueError, match="zero:threads=65 is not possible"):
        load_agent("zero:go5,threads=65")


def test_no_number_of_threads_is_all_cores_up_to_eight(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, threads in ((1, 1), (2, 2), (8, 8), (64, 8)):
        monkeypatch.setattr("os.sched_getaffinity", lambda _, cores=cores: set(range(cores)), raising=False)
        assert checked_threads("alphago", 0) == threads
    monkeypatch.delattr("os.sched_getaffinity")
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    assert checked_threads("alphago", 0) == 4
    assert checked_threads("alphago", 12) == 12


# ------------------------------------------------------------------------------------------- explaining


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_an_explanation_covers_every_legal_move(models: dict[str, str], weight: float) -> None:
    agent = agent_of(models["both"], sims=300, lambda_value=weight, resign=0.0)
    state = START.play(12).play(7)
    found = agent.explain(state)
    legal = set(state.legal_moves())
    assert set(found.prior) == set(found.visits) == set(found.value_of_move) == legal
    assert sum(found.prior.values()) == pytest.approx(1, abs=1e-4) and sum(found.visits.values()) == 300
    seen = {move for move, visits in found.visits.items() if visits}
    assert set(found.q_value) == (seen if weight < 1 else set())
    assert set(found.q_rollout) == (seen if weight > 0 else set())
    for move, q in found.decision.values.items():
        value, rollout = found.q_value.get(move, 0.0), found.q_rollout.get(move, 0.0)
        assert (1 - weight) * value + weight * rollout == pytest.approx(q, abs=1e-4)
    assert found.pv == found.decision.pv and found.pv[0] == found.decision.move
    assert found.visits[found.decision.move] == max(found.visits.values())


def test_the_value_of_a_move_is_the_network_s_word_on_the_position_after_it() -> None:
    agent = load_agent("zero:go5,sims=50")
    state = START.play(12)
    found = agent.explain(state)  # type: ignore[attr-defined]
    _, values = load_model("go5").predict([state.play(7)])
    assert values is not None
    assert found.value_of_move[7] == pytest.approx((1 - float(values[0])) / 2, abs=0.02)
    assert found.q_value and not found.q_rollout


def test_what_ends_the_game_is_worth_its_result(models: dict[str, str]) -> None:
    owned = state_from(". X . X .\n X X X X X\n . X . X .\n X X X X X\n . X . X .", "tromp-taylor", WHITE, 3.5)
    found = agent_of(models["both"], sims=20).explain(owned.play(PASS))
    assert found.value_of_move[PASS] == 1.0
    assert agent_of(models["both"]).explain(owned.play(PASS).play(PASS)).visits == {}


def test_playouts_alone_explain_themselves() -> None:
    found = load_agent("mcts:playouts=200", seed=1).explain(START)  # type: ignore[attr-defined]
    assert found.q_rollout and not found.q_value and not found.value_of_move


# --------------------------------------------------------------------------------------------- settings


def test_settings_have_other_names_too(models: dict[str, str]) -> None:
    agent = load_agent(f"alphago:{models['both']},num_simulations=30,lambda=0.25,prior=no,backend=openvino")
    assert agent.name == f"alphago:{models['both']},sims=30,lambda=0.25,prior=no"
    assert simulations_of(agent.choose(START)) == 30
    shown = agent_kinds()["alphago"]
    assert "sims|num_simulations=None" in shown and "lambda_value|lambda=0.5" in shown
    with pytest.raises(SpecError, match="alphago is given sims twice"):
        load_agent("alphago:sims=3,num_simulations=4")


@pytest.mark.parametrize(
    ("limits", "limited"),
    [
        ({"nodes": 500}, "alphago:go5,sims=500,resign=0"),
        ({"depth": 3, "timed": True}, "alphago:go5,seconds=86400,resign=0"),
    ],
)
def test_limits_of_a_protocol_are_understood(limits: dict[str, Any], limited: str) -> None:
    assert with_limit("alphago:go5", **limits) == limited
    assert with_limit("alphago:go5,num_simulations=7,resign=0.1", **limits) == (
        "alphago:go5,num_simulations=7,resign=0.1"
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lambda_value": 1.5}, "alphago:lambda=1.5 is not possible: give 0"),
        ({"c_u": -1.0}, "alphago:c_u=-1.0 is not possible: give 0 or more"),
        ({"n_thr": 0}, "alphago:n_thr=0 is not possible: give 1 or more"),
        ({"depth": -1}, "alphago:depth=-1 is not possible: give up to 256"),
        ({"threads": -1}, "alphago:threads=-1 is not possible: give 1 to 64"),
        ({"fpu": 9.0}, "alphago:fpu=9.0 is not possible"),
        ({"rollout_limit": -3}, "alphago:rollout_limit=-3 is not possible: give 1 to 10000 moves, or 0"),
        ({"sims": 0}, "alphago:sims=0 is not possible"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AlphaGoSettings(**settings)


def test_models_that_lack_something_are_refused(models: dict[str, str]) -> None:
    with pytest.raises(AgentError, match=r"has no value head: name a model that has one by value=MODEL"):
        agent_of(models["policy"])
    with pytest.raises(AgentError, match=r"is a value network and proposes no moves"):
        agent_of(models["value"])
    with pytest.raises(AgentError, match=r"give two models of one game and size"):
        agent_of(models["policy"], value=models["large"])
    with pytest.raises(AgentError, match=r"fast=fast9 plays go of size 9, and microchess microchess of size 5"):
        agent_of("microchess", fast="fast9")
    with pytest.raises(AgentError, match=r"rollout_limit=9 is for rollouts by a policy"):
        agent_of("microchess", rollout_limit=9)
    with pytest.raises(
        AgentError, match=r"plays go of size 7, and .* go of size 5: give a policy of one game and size"
    ):
        agent_of(models["both"], fast=models["large"])
    with pytest.raises(AgentError, match=r"fast=.* is a value network and proposes no moves"):
        agent_of(models["both"], fast=models["value"])
    with pytest.raises(ModelFileError, match=r"no model is called 'fast5'"):
        agent_of(models["both"], fast="fast5")
    assert agent_of(models["policy"], lambda_value=1.0, sims=20).choose(START).move in START.legal_moves()
    with pytest.raises(AgentError, match="plays on 5x5 only, and this board is 9x9"):
        agent_of(models["both"]).choose(go.State.new(9))
