"""Policy-gradient learning: signs, gradient, balance of colours, progress, and going on after a stop."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import torch

from tengen.encode.game_spec import GameSpec
from tengen.games import go
from tengen.games.game import get_game
from tengen.games.go.rules import GoOptions
from tengen.learn.game_report import write_reinforce_report
from tengen.learn.reinforce import (
    BOTH,
    Experience,
    GameFolder,
    LearnedPositions,
    PolicyWorker,
    PositionReader,
    ReinforceTrainer,
    learn_reinforce,
    new_boards,
    play_games,
    policy_gradient_losses,
)
from tengen.learn.settings import ReinforceConfig
from tengen.nets.model_file import ModelCard, read_model, save_model
from tengen.nets.network import PolicyValueOutput, build_network
from tengen.runs.folder import read_metrics
from tengen.runs.progress import RunProgress
from tengen.workers.calls import open_workers
from tengen.workers.local import this_machine

SPEC = GameSpec(GoOptions(3, "tromp-taylor", 0.5), "compact")
SEED = (5, 7)


def save_policy(path: Path, encoder: str = "compact", seed: int = 1, value: bool = True, size: int = 3) -> Path:
    """A small network that has learned nothing."""
    spec = GameSpec(GoOptions(size, "tromp-taylor"), encoder)
    parts: dict[str, Any] = {"blocks": 1, "filters": 8, "first_kernel": 3, "head_filters": 4, "value": value}
    network = build_network("residual", spec.encoder.planes, size, seed=seed, **parts)
    save_model(path, network, ModelCard.of(network, encoder=encoder, rules="tromp-taylor"))
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save_policy(tmp_path / "start.safetensors")


def played(model: Path, opponent: Path | None, games: int = 12, spread: float = 0.0, workers: int = 1) -> Experience:
    options: dict[str, Any] = {"backend": "openvino", "komi_spread": spread}
    with open_workers(this_machine, workers, PolicyWorker, SPEC) as players:
        return play_games(SPEC, model, opponent, games=games, number=0, seed=SEED, workers=players, **options)


def test_rewards_are_those_of_who_moved_whoever_won() -> None:
    experience = Experience(
        actions=np.array([[4, 0, 9, 9], [4, 0, 9, -1], [1, 2, -1, -1]], np.int16),
        players=np.array([[1, 2, 1, 2], [1, 2, 1, 0], [1, 2, 0, 0]], np.int8),
        chances=np.ones((3, 4), np.float32),
        learner=np.array([1, 2, BOTH], np.int8),
        winner=np.array([2, 2, 0], np.int8),
        opponent=np.array(0),
    )
    assert experience.rewards[0].tolist() == [-1, 1, -1, 1]  # White has won: White's moves are rewarded
    assert experience.rewards[1, :3].tolist() == [-1, 1, -1]
    assert experience.rewards[2].tolist() == [0, 0, 0, 0]
    assert experience.learned.tolist() == [
        [True, False, True, False],
        [False, True, False, False],
        [True, True, False, False],
    ]


@pytest.mark.parametrize("workers", [1, 3])
def test_games_have_balanced_colours_and_the_winners_of_their_states(model: Path, workers: int) -> None:
    experience = played(model, save_policy(model.with_name("other.safetensors"), seed=2), 25, workers=workers)
    assert np.bincount(experience.learner).tolist() == [0, 13, 13]
    assert len(set(experience.winner.tolist())) > 1
    for i in range(26):
        state = get_game("go").new(SPEC.options)
        for action, player in zip(experience.actions[i], experience.players[i]):
            if action >= 0:
                assert player == state.to_play
                state = state.play(state.move_of(int(action)))
        score = state.score(dead=())
        assert experience.winner[i] == (1 if score > 0 else 2)
        mine = experience.learned[i]
        assert (experience.players[i][mine] == experience.learner[i]).all()


def test_positions_are_read_as_they_were_played(model: Path) -> None:
    experience = played(model, None, 8)
    assert (experience.learner == BOTH).all()
    reader = PositionReader(SPEC, experience, new_boards(SPEC, 8, 0.0, SEED))
    assert len(reader) == (experience.actions >= 0).sum()
    batch = reader.read(np.arange(len(reader))[::-1])
    states, wanted = [], []
    for i in range(8):
        state = get_game("go").new(SPEC.options)
        for action in experience.actions[i][experience.actions[i] >= 0]:
            states.append(state)
            wanted.append(int(action))
            state = state.play(state.move_of(int(action)))
    assert batch.actions[::-1].tolist() == wanted
    assert np.array_equal(batch.planes[::-1], SPEC.encoder.encode(states))
    for state, sensible in zip(states, batch.sensible[::-1]):
        assert np.flatnonzero(sensible).tolist() == considered(state)


def considered(state: go.State) -> list[int]:
    """The actions that may be drawn: sensible ones, a pass only where there are no others."""
    actions = sorted(state.action_of(move) for move in get_game("go").sensible_moves(state))
    return actions[:-1] or actions


@pytest.mark.parametrize("trust", [0.0, 0.2])
def test_the_gradient_is_that_of_a_slow_obvious_computation(model: Path, trust: float) -> None:
    """Also with a limit to an update, as long as the policy is still the one that drew the moves."""
    experience = played(model, save_policy(model.with_name("other.safetensors"), seed=2), 6)
    reader = PositionReader(SPEC, experience, new_boards(SPEC, 6, 0.0, SEED))
    batch = reader.read(np.arange(len(reader)))
    trainer = ReinforceTrainer(ReinforceConfig(str(model)), model)
    network, means = trainer.network, {1: 0.25, 2: -0.5}
    baseline = torch.tensor([means[int(player)] for player in batch.players])
    losses = policy_gradient_losses(network(torch.from_numpy(batch.planes)), batch, baseline, trust)
    (losses.policy + 0.5 * losses.value - 0.1 * losses.entropy).backward()  # type: ignore[no-untyped-call]
    found = {name: weight.grad.clone() for name, weight in network.named_parameters() if weight.grad is not None}
    network.zero_grad()
    terms, weights = [], []
    for i in range(6):
        state, length = get_game("go").new(SPEC.options), int(experience.learned[i].sum())
        for action in experience.actions[i][experience.actions[i] >= 0]:
            if state.to_play == experience.learner[i]:
                output = network(torch.from_numpy(SPEC.encoder.encode([state])))
                choices = considered(state)
                chances = torch.softmax(output.policy[0][choices], 0)
                z = 1.0 if experience.winner[i] == state.to_play else -1.0
                gained = (z - means[state.to_play]) * torch.log(chances[choices.index(int(action))])
                surprise = -(chances * torch.log(chances)).sum()
                terms.append((-gained - 0.1 * surprise, (output.value[0] - z) ** 2))
                weights.append(1 / length)
            state = state.play(state.move_of(int(action)))
    slow = sum(term for term, _ in terms) / len(terms)
    slow = slow + 0.5 * sum(w * error for w, (_, error) in zip(weights, terms)) / sum(weights)
    slow.backward()
    assert len(found) > 10
    for name, weight in network.named_parameters():
        if weight.grad is not None:
            assert torch.allclose(weight.grad, found[name], atol=1e-5, rtol=1e-3), name


def test_chances_that_have_changed_enough_are_left_alone() -> None:
    logits = torch.zeros((4, 2), requires_grad=True)
    batch = LearnedPositions(
        planes=np.zeros((4, 1, 1, 1), np.uint8),
        sensible=np.ones((4, 2), np.bool_),
        actions=np.zeros(4, np.int64),
        chances=np.array([0.3, 0.3, 0.8, 0.8], np.float32),  # half as likely now, or more likely, each 0.5
        rewards=np.array([1, -1, 1, -1], np.float32),
        players=np.ones(4, np.int8),
        lengths=np.ones(4, np.float32),
    )
    losses = policy_gradient_losses(PolicyValueOutput(logits, None), batch, torch.zeros(4), trust=0.2)
    losses.policy.backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    signs = torch.sign(logits.grad[:, 0]).tolist()
    assert signs == [0, 1, -1, 0]  # likelier already and to be likelier still: left alone; to be less likely: so it is


def test_a_step_makes_moves_of_won_games_likelier(model: Path) -> None:
    """With the sign of the reward, as Black and as White."""
    for learner, winner in ((1, 1), (1, 2), (2, 1), (2, 2)):
        actions = np.tile(np.array([4, 1, 9, 9], np.int16), (8, 1))
        players = np.tile(np.array([1, 2, 1, 2], np.int8), (8, 1))
        side, won = np.full(8, learner, np.int8), np.full(8, winner, np.int8)
        experience = Experience(actions, players, np.full((8, 4), 0.1, np.float32), side, won, np.array(0))
        settings: dict[str, Any] = {"optimizer": "sgd", "rate": 0.01, "trust": 0.0, "value_weight": 0.0, "bf16": False}
        config = ReinforceConfig(str(model), baseline="none", **settings)
        trainer = ReinforceTrainer(config, model)
        reader = PositionReader(SPEC, experience, new_boards(SPEC, 8, 0.0, SEED))
        batch = reader.read(np.arange(len(reader)))

        def likelihood() -> float:
            with torch.inference_mode():
                output = trainer.network(torch.from_numpy(batch.planes))  # noqa: B023
                rewarded = batch._replace(rewards=np.ones_like(batch.rewards))  # noqa: B023
                return -float(policy_gradient_losses(output, rewarded, torch.zeros(())).policy)

        before = likelihood()
        trainer.learn_from(experience, reader, 1)
        assert (likelihood() > before) == (learner == winner)


def run(model: Path, out: Path, on_progress: Any = lambda _: None, **given: Any) -> Any:
    toy: dict[str, Any] = {"komi": 0.5, "games": 32, "updates": 4, "measure": 2, "match_games": 20, "snapshot": 2}
    toy |= {"batch": 64, "rate": 0.003, "backend": "openvino", "workers": 1, "threads": 1, "bf16": False}
    return learn_reinforce(str(model), out, on_progress, report=False, **(toy | given))


def test_a_kill_just_before_the_first_checkpoint_costs_one_update(model: Path, tmp_path: Path) -> None:
    run(model, tmp_path, updates=1)
    (tmp_path / "trainer.safetensors").unlink()
    run(model, tmp_path, updates=2)
    assert [line["step"] for line in read_metrics(tmp_path)] == [1, 2]


def weights_of(path: Path) -> dict[str, Any]:
    return read_model(path)[0]


def test_a_policy_improves_against_its_start(model: Path, tmp_path: Path) -> None:
    best = run(model, tmp_path / "run", games=128, updates=40, measure=40, match_games=400, rate=0.01, komi=6.5)
    assert best["score_low"] > 0.6
    lines = read_metrics(tmp_path / "run")
    assert [line["step"] for line in lines] == list(range(1, 41))
    assert {line["opponent"] for line in lines} <= set(range(0, 40, 2))
    assert len({line["opponent"] for line in lines}) > 3
    assert write_reinforce_report(tmp_path / "run").read_text().count("<svg") == 6


@pytest.mark.parametrize("stop", ["playing", "learning", "match"])
def test_a_run_that_was_stopped_goes_on_as_if_nothing_had_been(model: Path, tmp_path: Path, stop: str) -> None:
    run(model, tmp_path / "whole")

    def fall(now: RunProgress) -> None:
        if now.number >= 3 and now.phase == stop:
            raise ConnectionError

    with pytest.raises(ConnectionError):
        run(model, tmp_path / "torn", fall)
    run(model, tmp_path / "torn")
    for name in ("last.safetensors", "best.safetensors", "models/000002.safetensors"):
        one, other = (weights_of(tmp_path / folder / name) for folder in ("whole", "torn"))
        assert all(np.array_equal(one[key], other[key]) for key in one), name
    timeless = [
        [
            {key: value for key, value in line.items() if "seconds" not in key}
            for line in read_metrics(tmp_path / folder)
        ]
        for folder in ("whole", "torn")
    ]
    assert timeless[0] == timeless[1]


def test_other_opponents_baselines_and_encoders(tmp_path: Path) -> None:
    model = save_policy(tmp_path / "alphago.safetensors", "alphago", value=False)
    run(model, tmp_path / "self", opponent="self", baseline="none", updates=2, backend="int8", keep=1)
    assert [path.name for path in (tmp_path / "self" / "games").iterdir()] == ["000002.safetensors"]
    run(model, tmp_path / "start", opponent="start", updates=2, snapshot=1)
    assert {line["opponent"] for line in read_metrics(tmp_path / "start")} == {0}
    with pytest.raises(ValueError, match="no value head for a baseline: take --baseline mean"):
        run(model, tmp_path / "value", baseline="value")
    with pytest.raises(ValueError, match="alphago does not show the komi"):
        run(model, tmp_path / "komi", komi_spread=2.0)
    shown = save_policy(tmp_path / "komi.safetensors", "compact-komi")
    run(shown, tmp_path / "komi", komi_spread=2.0, baseline="value", updates=1)


def test_rubbish_in_the_run_directory_is_one_clear_line(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run(model, out, updates=2)
    with pytest.raises(ValueError, match=r"holds another run, with komi 0\.5 where you ask for 3\.5"):
        run(model, out, komi=3.5)
    games = GameFolder(out / "games")
    (out / "games" / "000003.safetensors").write_bytes(b"rubbish")
    with pytest.raises(ValueError, match=r"000003.safetensors is damaged .* delete it"):
        run(model, out, updates=3)
    experience = games.read(2)
    assert experience is not None
    torn = experience._asdict() | {"winner": experience.winner[:3]}
    (out / "games" / "000003.safetensors").write_bytes(safetensors.numpy.save(torn))
    with pytest.raises(ValueError, match="its arrays do not fit each other"):
        run(model, out, updates=3)
    (out / "games" / "000003.safetensors").unlink()
    checkpoint = out / "trainer.safetensors"
    checkpoint.write_bytes(checkpoint.read_bytes()[:100])
    with pytest.raises(ValueError, match="does not fit this run or is damaged"):
        run(model, out, updates=3)
    checkpoint.unlink()
    with pytest.raises(ValueError, match=r"trainer\.safetensors is gone: put it back"):
        run(model, out, updates=3)
    assert json.loads((out / "metrics.jsonl").read_text().splitlines()[-1])["step"] == 2
