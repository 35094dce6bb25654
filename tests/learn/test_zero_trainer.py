"""The loss is the formula's, the Microchess lecture's coefficients are reproduced, and a trainer resumes exactly."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tengen.encode.game_spec import GameSpec
from tengen.games.go.rules import GoOptions
from tengen.learn import trainer as trainer_module
from tengen.learn import zero
from tengen.learn.optimizers import DivergedError
from tengen.learn.replay import ReplayBatch, ReplayMemory, pack
from tengen.learn.zero import ZeroTrainer, check_config
from tengen.nets.evaluator import load_evaluator
from tengen.nets.model_file import read_card
from tengen.runs.folder import FolderError

from .zero_stand_ins import NETWORK, made_up_data, toy_config

CHESS = {"game": "microchess", "size": 5, "rules": "standard", "encoder": "microchess"}


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def game() -> GameSpec:
    return GameSpec(GoOptions(3, komi=0.5), "compact")


def batch_of(game: GameSpec, count: int = 48, seed: int = 1) -> ReplayBatch:
    memory = ReplayMemory(game, count)
    memory.add(pack(made_up_data(game, count, seed)), 0)
    return memory.batch(np.arange(count))


def test_the_losses_are_those_of_the_formula(game: GameSpec) -> None:
    """A slow obvious version, position by position."""
    trainer = ZeroTrainer(toy_config(blend=0.25), game)
    batch = batch_of(game)
    trainer.network.train()
    with torch.no_grad():
        output = trainer.network(torch.from_numpy(batch.planes))
    logits, values = output.policy.double().numpy(), output.value.double().numpy()
    policy, value, ownership, score = [], [], [], []
    for i in range(len(values)):
        legal = np.flatnonzero(batch.legal[i])
        logs = logits[i, legal] - np.log(np.exp(logits[i, legal]).sum())
        if batch.policy[i].sum() > 0:
            policy.append(-(batch.policy[i, legal] * logs).sum())
        target = 0.75 * batch.value[i] + 0.25 * batch.root_value[i]
        value.append((target - values[i]) ** 2)
        if batch.counted[i]:
            ownership.append(((batch.ownership[i] - output.ownership[i].numpy()) ** 2).mean())
            score.append((batch.score[i] / 9 - float(output.score[i])) ** 2)
    found = trainer.learn_at(batch, 0.0)  # the losses before the step it takes
    np.testing.assert_allclose(
        list(found.values()), [np.mean(part) for part in (policy, value, ownership, score)], rtol=1e-4
    )
    assert len(policy) < len(value)
    assert 0 < len(ownership) < len(value)


def test_the_coefficients_of_the_microchess_lecture_and_ours_train_alike(game: GameSpec) -> None:
    """Its policy loss is a mean over the outputs; times their number, it goes with a rate as many times smaller."""
    outputs = game.batch.actions
    lecture = {"policy_weight": 1 / outputs, "value_weight": 0.02, "decay": 1e-4, "rate": 0.01}
    ours = {"policy_weight": 1.0, "value_weight": 0.02 * outputs, "decay": 1e-4 * outputs, "rate": 0.01 / outputs}
    none = {"ownership_weight": 0.0, "score_weight": 0.0, "warm_up": 0}
    one, other = (ZeroTrainer(toy_config(**weights, **none), game) for weights in (lecture, ours))
    batches = [batch_of(game, seed=seed) for seed in range(5)]
    for batch in batches:
        one.learn_at(batch, 0.0)
        other.learn_at(batch, 0.0)
    for mine, its in zip(one.network.parameters(), other.network.parameters()):
        torch.testing.assert_close(mine, its, rtol=1e-4, atol=1e-6)
    start = ZeroTrainer(toy_config(), game)
    pairs = list(zip(start.network.state_dict().values(), one.network.state_dict().values()))
    assert max(float((a - b).abs().max()) for a, b in pairs) > 1e-5

    # The lecture's own lines, on one batch.
    batch = batches[0]
    logits = torch.randn(len(batch.value), outputs)
    legal, pi = torch.from_numpy(batch.legal).float(), torch.from_numpy(batch.policy)
    masked = (1 - legal) * -100 + legal * logits
    their_loss = -(pi * torch.log_softmax(masked, dim=1)).mean()
    known = float(pi.sum()) / len(pi)  # ours is a mean over the positions that have a policy
    value = torch.zeros(len(batch.value))
    our_loss = one.parts(type(one.network(torch.from_numpy(batch.planes)))(logits, value), batch).policy
    assert float(our_loss) * known / outputs == pytest.approx(float(their_loss), rel=1e-4)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"optimizer": "adamw", "rate": 0.01, "bf16": True},
        {**CHESS, "network": "residual:blocks=1,filters=8,value=yes"},
    ],
    ids=["sgd", "adamw", "chess"],
)
def test_it_learns_by_heart(given: dict[str, object]) -> None:
    config = toy_config(**given)
    game = config.game_spec()
    trainer, batch = ZeroTrainer(config, game), batch_of(game, 32)
    first = trainer.learn_at(batch, 0.0)
    for _ in range(150):
        last = trainer.learn_at(batch, 0.0)
    entropy = trainer.measure(batch)["entropy"]
    assert last["policy"] - entropy < 0.3 * (first["policy"] - entropy)
    assert last["value"] < 0.3 * first["value"]
    assert (last["ownership"] > 0) == (config.game == "go")


def test_the_average_follows_the_weights(game: GameSpec) -> None:
    trainer = ZeroTrainer(toy_config(average=0.5), game)
    means = {name: value.clone() for name, value in trainer.network.state_dict().items()}
    for step in range(1, 6):
        trainer.learn_at(batch_of(game, seed=step), 0.0)
        weight = 1 - min(0.5, step / (step + 9))
        for name, value in trainer.network.state_dict().items():
            if value.is_floating_point():
                means[name] += weight * (value - means[name])
    for name, value in trainer.averaged.state_dict().items():
        if value.is_floating_point():
            torch.testing.assert_close(value, means[name])


def test_the_rate_rises_then_follows_the_schedule(game: GameSpec) -> None:
    trainer = ZeroTrainer(toy_config(rate=0.1, warm_up=4, schedule="linear", rate_floor=0.2), game)
    rates = []
    for done in (0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 1.5):
        trainer.learn_at(batch_of(game), done)
        rates.append(trainer.rate)
    assert rates == pytest.approx([0.025, 0.05, 0.075, 0.1, 0.06, 0.02, 0.02])


def test_it_goes_on_exactly_from_a_checkpoint(game: GameSpec, tmp_path: Path) -> None:
    config = toy_config(optimizer="adamw")
    straight = ZeroTrainer(config, game)
    for seed in range(6):
        if seed == 3:
            straight.save(tmp_path / "trainer.safetensors", {"iteration": 7})
        straight.learn_at(batch_of(game, seed=seed), 0.0)
    resumed = ZeroTrainer(config, game)
    assert resumed.load(tmp_path / "trainer.safetensors")["iteration"] == 7
    for seed in range(3, 6):
        resumed.learn_at(batch_of(game, seed=seed), 0.0)
    assert resumed.step == straight.step == 6
    for mine, its in ((straight.network, resumed.network), (straight.averaged, resumed.averaged)):
        for one, other in zip(mine.state_dict().values(), its.state_dict().values()):
            torch.testing.assert_close(one, other, rtol=0, atol=0)
    (tmp_path / "trainer.safetensors").write_bytes(b"broken")
    with pytest.raises(FolderError, match="delete it"):
        resumed.load(tmp_path / "trainer.safetensors")


def test_a_loss_that_is_no_number_is_told(game: GameSpec) -> None:
    trainer = ZeroTrainer(toy_config(rate=1e6), game)
    with pytest.raises(DivergedError, match="lower --rate"):
        for seed in range(50):
            trainer.learn_at(batch_of(game, seed=seed), 0.0)


def test_the_export_is_the_averaged_network_in_eight_bits_too(game: GameSpec, tmp_path: Path) -> None:
    trainer = ZeroTrainer(toy_config(backend="int8"), game)
    batch = batch_of(game, 64)
    for _ in range(20):
        trainer.learn_at(batch, 0.0)
    path = tmp_path / "g0001.safetensors"
    agreement = trainer.export_as(path, batch.planes, generation=1)
    assert agreement["top1"] > 0.9
    assert agreement["value"] < 0.05
    card = read_card(path)
    assert (card.game, card.size, card.encoder, card.training["generation"]) == ("go", 3, "compact", 1)
    assert card.conditions == {"rules": "chinese", "komi": (trainer.config.komi,) * 2, "double_step": None}
    with torch.inference_mode():
        expected = trainer.averaged(torch.from_numpy(batch.planes)).policy.numpy()
    found = load_evaluator(path, "openvino")[0].evaluate(batch.planes)[0]
    np.testing.assert_allclose(found, expected, atol=1e-3)
    assert load_evaluator(path, "int8")[0].evaluate(batch.planes)[0].shape == expected.shape
    assert trainer.export_as(tmp_path / "g0000.safetensors", None) == {}


def test_the_agreement_is_measured_on_positions_that_were_not_calibrated_on(
    game: GameSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, set[bytes]] = {}

    def watched(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            seen[name] = {board.tobytes() for board in arguments[-1]}
            return function(*arguments)

        return call

    for module, name in ((trainer_module, "calibrate"), (zero, "agreement")):
        monkeypatch.setattr(module, name, watched(name, getattr(module, name)))
    planes = batch_of(game, 64).planes
    trainer = ZeroTrainer(toy_config(backend="int8"), game)
    assert trainer.export_as(tmp_path / "a.safetensors", np.concatenate([planes, planes]))
    assert seen["calibrate"] and seen["agreement"] and seen["calibrate"].isdisjoint(seen["agreement"])
    assert trainer.export_as(tmp_path / "b.safetensors", planes[:1]) == {}


def test_a_network_without_a_value_or_a_policy_is_refused(game: GameSpec) -> None:
    check_config(toy_config())
    with pytest.raises(ValueError, match="no value head"):
        check_config(toy_config(network=NETWORK.replace("value=yes,", "")))
    with pytest.raises(ValueError, match="has no policy, which self-play needs"):
        check_config(toy_config(network="alphago-value:layers=2"))


def test_a_run_may_begin_with_the_weights_of_a_model(game: GameSpec, tmp_path: Path) -> None:
    first = ZeroTrainer(toy_config(seed=1), game)
    for _ in range(3):
        first.learn_at(batch_of(game), 0.0)
    first.export_as(tmp_path / "model.safetensors", None)
    config = toy_config(seed=2, start_from=str(tmp_path / "model.safetensors"))
    check_config(config)
    second = ZeroTrainer(config, game)
    planes = torch.from_numpy(batch_of(game).planes)
    for network in (second.network, second.averaged):
        with torch.no_grad():
            torch.testing.assert_close(network.eval()(planes).policy, first.averaged.eval()(planes).policy)
    second.learn_at(batch_of(game), 0.0)  # and goes on learning


def test_a_model_from_records_may_start_a_run_that_learns_more_about_positions(game: GameSpec, tmp_path: Path) -> None:
    """Records have no ownership: these heads begin fresh, and the rest of the network is the model's."""
    records = ZeroTrainer(toy_config(network=NETWORK.replace(",ownership=yes,score=yes", ""), seed=1), game)
    records.export_as(tmp_path / "model.safetensors", None)
    config = toy_config(seed=2, start_from=str(tmp_path / "model.safetensors"))
    check_config(config)
    trainer = ZeroTrainer(config, game)
    planes = torch.from_numpy(batch_of(game).planes)
    with torch.no_grad():
        ours, theirs = trainer.averaged.eval()(planes), records.averaged.eval()(planes)
    torch.testing.assert_close(ours.policy, theirs.policy)
    torch.testing.assert_close(ours.value, theirs.value)
    assert ours.ownership is not None and theirs.ownership is None
    assert trainer.learn_at(batch_of(game), 0.0)["ownership"] > 0


def test_a_model_of_another_kind_cannot_start_a_run(game: GameSpec, tmp_path: Path) -> None:
    ZeroTrainer(toy_config(), game).export_as(tmp_path / "model.safetensors", None)
    other = toy_config(network=f"{NETWORK},first_kernel=5", start_from=str(tmp_path / "model.safetensors"))
    with pytest.raises(ValueError, match="cannot start a"):
        check_config(other)
    with pytest.raises(ValueError, match="no model is called"):
        check_config(toy_config(start_from="nothing-here"))
