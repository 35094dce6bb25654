"""Generations of value networks at toy size: games, labels, training, and runs that go on exactly."""

import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from tengen.agents.agent import AgentError
from tengen.agents.registry import load_agent
from tengen.cli.main import app
from tengen.encode.encoder import get_encoder
from tengen.games import go
from tengen.games.symmetry import transform_array
from tengen.learn.generation_games import (
    Exploration,
    GenerationFolder,
    GenerationGames,
    GenerationPlayer,
    GenerationWorker,
)
from tengen.learn.generations import TEST_EVERY, OutcomeTrainer, PositionsAfter, learn_generations
from tengen.learn.settings import GenerationsConfig
from tengen.nets.model_file import ModelFileError, is_calibrated, read_card, read_tensors
from tengen.nets.network import PolicyValueOutput
from tengen.runs.folder import FolderError, RunDirectory, read_metrics
from tengen.runs.progress import RunProgress
from tengen.search.generations import find_generation, generation_numbers, model_file
from tengen.workers.calls import open_workers
from tengen.workers.local import this_machine

SIZE = 4


def make_config(**changes: Any) -> GenerationsConfig:
    """Two generations of tiny networks."""
    usual: dict[str, Any] = {"size": SIZE, "komi": 1.5, "limit": 150, "generations": 2}
    usual |= {"network": "simple-go:filters=8-8,hidden=16"}
    usual |= {"first_games": 300, "games": 200, "positions": 6400, "batch": 64, "epoch": 1600, "validate": 300}
    usual |= {"match_games": 20, "checkpoint": 7, "workers": 2, "bf16": False, "keep": 2, "rate": 0.003, "attempts": 1}
    return GenerationsConfig(**(usual | changes))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was never stopped."""
    folder = tmp_path_factory.mktemp("generations") / "run"
    learn_generations(make_config(), folder)
    return folder


def random_games(count: int = 120) -> GenerationGames:
    config = make_config()
    return GenerationPlayer(config).play(1, 0, count)


# ------------------------------------------------------------------------------------------- the games


def test_exploration_is_by_opening_or_by_rate_half_and_half() -> None:
    explore = Exploration.draw(np.random.default_rng(1), 20_000, 12, 1.0)
    by_opening = explore.opening > 0
    assert abs(by_opening.mean() - 0.5) < 0.01 and (explore.rate[by_opening] == 0).all()
    counts = np.bincount(explore.opening[by_opening], minlength=13)
    assert counts[0] == 0 and len(counts) == 13 and counts[1:].min() > 0.9 * counts[1:].mean()
    rates = explore.rate[~by_opening]
    assert 0 <= rates.min() and rates.max() < 1 and abs(rates.mean() - 0.5) < 0.01
    assert 0.23 < (by_opening[:, 0] & by_opening[:, 1]).mean() < 0.27  # each player draws for itself


def test_random_moves_come_up_to_move_m_or_at_the_rate() -> None:
    explore = Exploration(np.array([[3, 0]] * 4000), np.array([[0.0, 0.25]] * 4000))
    rng = np.random.default_rng(1)
    assert explore.at_random(1, 1, rng).all() and explore.at_random(3, 1, rng).all()
    assert not explore.at_random(5, 1, rng).any()
    assert abs(explore.at_random(2, 2, rng).mean() - 0.25) < 0.03


def test_a_chunk_is_the_same_whoever_plays_it_and_a_missing_one_is_played_again(tmp_path: Path) -> None:
    def play(workers: int) -> list[int]:
        with open_workers(this_machine, workers, GenerationWorker, make_config(), None, None) as players:
            return list(folder.play(1, players))

    folder = GenerationFolder(tmp_path / "01", 5000)
    assert folder.sizes == [4096, 904]
    assert play(2)[-1] == 5000
    games = folder.read()
    assert games.actions.shape[0] == len(games.results) == 5000
    (tmp_path / "01" / "0001.safetensors").unlink()
    assert not folder.is_complete()
    assert play(1) == [4096, 5000]
    again = folder.read()
    assert np.array_equal(again.actions, games.actions) and np.array_equal(again.results, games.results)
    (tmp_path / "01" / "0000.safetensors").write_bytes(b"cut off")
    with pytest.raises(FolderError, match=r"0000.safetensors is damaged .*: delete it"):
        folder.read()


# ------------------------------------------------------------------------------------------- the labels


@pytest.mark.parametrize("after", ["first", "second", "both"])
def test_positions_are_those_after_the_moves_of_the_player_with_the_winner_of_their_game(after: str) -> None:
    config = make_config(both=after == "both")
    spec, games = config.spec(), random_games()
    positions = PositionsAfter(spec, games, after, test=False)
    expected: list[tuple[bytes, int]] = []
    for number, row in enumerate(games.actions):
        if number % TEST_EVERY == 0:
            continue
        state, seen = go.State.new(SIZE, "simple-go", 1.5), []
        for action in row[row >= 0].tolist():
            mover, state = state.to_play, state.play(state.move_of(action))
            if after == "both" or mover == (1 if after == "first" else 2):
                seen.append(get_encoder(spec.encoder_name).encode([state])[0].tobytes())
        assert state.is_over
        expected += [(planes, {1: 0, 2: 1}.get(state.winner() or 0, 2)) for planes in seen]
    assert len(positions) == len(expected)
    batch = positions.read(np.arange(len(positions)))
    found = [(planes.tobytes(), int(outcome)) for planes, outcome in zip(batch.planes, batch.outcomes)]
    assert found == expected


@pytest.mark.parametrize("after", ["first", "second", "both"])
def test_a_policy_learns_the_next_move_as_far_as_it_won(after: str) -> None:
    """Playing the move leads to the next position of the game, however both are turned."""
    config = make_config(both=after == "both", policy=True)
    spec, games = config.spec(), random_games(70)
    positions = PositionsAfter(spec, games, after, test=False, start=True)
    expected: list[tuple[bytes, int, float]] = []
    for number, row in enumerate(games.actions):
        if number % TEST_EVERY == 0:
            continue
        state, actions = go.State.new(SIZE, "simple-go", 1.5), row[row >= 0].tolist()
        for action in [*actions, None]:
            if after == "both" or state.to_play == (2 if after == "first" else 1):
                planes = get_encoder(spec.encoder_name).encode([state])[0].tobytes()
                result = int(games.results[number]) * (1 if state.to_play == 1 else -1)
                expected.append((planes, *((0, 0.0) if action is None else (action, (1 + result) / 2))))
            state = state if action is None else state.play(state.move_of(action))
    batch = positions.read(np.arange(len(positions)))
    found = [(x.tobytes(), int(a), float(z)) for x, a, z in zip(batch.planes, batch.actions, batch.rewards)]
    assert found == expected
    for k in range(8):
        turned = positions.read(np.arange(40), np.full(40, k))
        for action, new in zip(batch.actions[:40].tolist(), turned.actions.tolist()):
            plane = np.zeros((SIZE, SIZE), np.uint8)
            if action < SIZE * SIZE:
                plane.flat[action] = 1
                assert transform_array(plane, k).flat[new] == 1
            else:
                assert new == action


def test_test_games_are_apart_and_symmetries_turn_the_board() -> None:
    config = make_config()
    spec, games = config.spec(), random_games()
    positions, tests = (PositionsAfter(spec, games, "first", test=test) for test in (False, True))
    assert 0 < len(tests) < len(positions) / 20
    numbers = np.arange(40)
    plain = positions.read(numbers)
    for k in range(8):
        turned = positions.read(numbers, np.full(40, k))
        assert np.array_equal(turned.planes, transform_array(plain.planes, k))
        assert np.array_equal(turned.outcomes, plain.outcomes)
    order, _ = positions.shuffled(0, len(positions), 3)
    assert sorted(order.tolist()) == list(range(len(positions)))


# ---------------------------------------------------------------------------------------------- the run


def test_a_run_makes_networks_that_beat_random_moves_and_can_be_played_in_int8(run: Path) -> None:
    assert generation_numbers(run) == [1, 2]
    lines = read_metrics(run)
    assert [line["step"] for line in lines] == [1, 2]
    assert lines[0]["evaluations"] == 0 < lines[1]["evaluations"] <= lines[1]["children"]
    for side in ("black", "white"):
        assert lines[0][f"{side}_loss"] < 0.95 * lines[0][f"{side}_constant_loss"]
    assert lines[1]["match_2_0"] > 0.6 > 0.4 > lines[1]["match_0_2"]
    for side, after in (("black", "first"), ("white", "second")):
        path = model_file(run, side, 2)
        card = read_card(path)
        assert is_calibrated(path) and card.arguments["after"] == after and card.rules == "simple-go"
        assert card.conditions == {"rules": "simple-go", "komi": (1.5, 1.5), "double_step": None}
        assert card.training["generation"] == 2 and "start_from" not in card.training["recipe"]
    assert (run / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert not (run / "training").exists()


class Stopped(Exception):
    """Stands for a power cut."""


def stopping_at(phase: str, generation: int, share: float = 0.0) -> Callable[[RunProgress], None]:
    def on_progress(now: RunProgress) -> None:
        if (now.phase, now.number) == (phase, generation) and now.share >= share and not now.line:
            raise Stopped

    return on_progress


def test_a_run_that_was_cut_off_goes_on_to_the_same_networks_bit_for_bit(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for stop in (
        stopping_at("playing", 1),
        stopping_at("learning black", 1, 0.3),
        stopping_at("learning white", 1, 0.9),
        stopping_at("playing", 2, share=1.0),
        stopping_at("learning white", 2, 0.5),
        stopping_at("match", 2),
    ):
        with pytest.raises(Stopped):
            learn_generations(make_config(workers=1), folder, stop)
    learn_generations(make_config(), folder)
    for name in ("black-01", "white-01", "black-02", "white-02"):
        one, other = (path / "models" / f"{name}.safetensors" for path in (run, folder))
        (tensors, card), (other_tensors, other_card) = read_tensors(one), read_tensors(other)
        assert card == other_card and tensors.keys() == other_tensors.keys()
        assert all(tensors[key].tobytes() == other_tensors[key].tobytes() for key in tensors)
    without = [
        [{key: value for key, value in line.items() if "seconds" not in key} for line in read_metrics(path)]
        for path in (run, folder)
    ]
    assert without[0] == without[1]


def test_a_finished_run_goes_on_with_more_generations_and_keeps_the_games_of_the_newest(
    run: Path, tmp_path: Path
) -> None:
    shutil.copytree(run, tmp_path / "run")
    config = replace(GenerationsConfig.read(tmp_path / "run"), generations=3, keep=1)
    line = learn_generations(config, tmp_path / "run")
    assert line["step"] == 3 and generation_numbers(tmp_path / "run") == [1, 2, 3]
    assert [path.name for path in (tmp_path / "run" / "games").iterdir()] == ["03"]
    assert learn_generations(config, tmp_path / "run") == line
    settings = (tmp_path / "run" / "config.toml").read_text()
    older = [text for text in settings.splitlines(keepends=True) if not text.startswith("simulations")]
    (tmp_path / "run" / "config.toml").write_text("".join(older))
    assert learn_generations(config, tmp_path / "run") == line
    with pytest.raises(FolderError, match=r"holds another run, with komi 1\.5"):
        learn_generations(replace(config, komi=2.5), tmp_path / "run")


def test_one_network_for_both_players_and_weights_that_are_kept(tmp_path: Path) -> None:
    config = make_config(both=True, keep_weights=True, match_games=0, positions=640, first_games=120, games=60)
    learn_generations(config, tmp_path / "run")
    assert generation_numbers(tmp_path / "run") == [1, 2]
    files = find_generation(tmp_path / "run")
    assert files.first == files.second == model_file(tmp_path / "run", "both", 2)
    assert read_card(files.first).encoder == "stones-player"


def test_a_policy_learns_the_moves_of_the_winner(tmp_path: Path) -> None:
    """One game again and again, which Black won: it is learned by heart, but for White's moves."""
    one = random_games(20)
    number = int(np.flatnonzero(one.results == 1)[0])
    games = GenerationGames(np.repeat(one.actions[[number]], 100, 0), np.repeat(one.results[[number]], 100), one.work)
    config = make_config(policy=True, symmetries=False)
    found = {}
    for after in ("first", "second"):
        run = RunDirectory(tmp_path / after, asdict(config))
        found[after] = OutcomeTrainer(config, run, config.spec(), games, after).train(lambda _: None)
        run.close()
    assert found["second"]["policy_accuracy"] > 0.5 and found["first"]["policy_accuracy"] == 0


def test_an_outcome_that_never_occurs_does_no_harm_however_low_its_score(tmp_path: Path) -> None:
    """Where softmax gives it a probability of 0, -y log p is NaN; the loss and its gradient stay finite."""
    config = make_config()
    run = RunDirectory(tmp_path / "run", asdict(config))
    trainer = OutcomeTrainer(config, run, config.spec(), random_games(), "second")
    scores = torch.tensor([[30.0, 0.0, -400.0], [0.0, 200.0, -400.0]], requires_grad=True)
    batch = trainer._batch(0, 2)._replace(outcomes=np.array([0, 0]))
    loss, _ = trainer.losses(PolicyValueOutput(torch.zeros(2, 17), None, outcome=scores), batch)
    loss.backward()  # type: ignore[no-untyped-call]
    run.close()
    assert loss.item() == pytest.approx(100.0) and scores.grad is not None
    assert torch.allclose(scores.grad, torch.tensor([[0.0, 0.0, 0.0], [-0.5, 0.5, 0.0]]), atol=1e-6)
    assert scores.softmax(dim=1)[0, 2].item() == 0.0


@pytest.mark.parametrize("both", [False, True])
def test_a_policy_is_learned_beside_the_value_and_guides_the_search(both: bool, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    config = make_config(policy=True, both=both, simulations=8, games=100, match_games=0)
    with pytest.raises(Stopped):
        learn_generations(config, folder, stopping_at("learning both" if both else "learning white", 2, 0.5))
    line = learn_generations(config, folder)
    assert all(0 <= line[f"{side}_policy_accuracy"] <= 1 for side in config.sides())
    state = go.State.new(SIZE, "simple-go", 1.5)
    tree = load_agent(f"mcts:{folder},playouts=30,seed=1").choose(state)
    assert len({round(prior, 4) for prior in tree.priors.values()}) > 3
    top = load_agent(f"value:{folder},top=3").choose(state)
    best = sorted(tree.priors, key=lambda move: -tree.priors[move])[:3]
    assert set(top.values) == set(best)
    deep = load_agent(f"alphabeta:{folder},top=2,depth=3").choose(state)
    assert set(deep.values) == set(best[:2]) and len(deep.pv) == 3


def test_a_run_without_a_policy_says_so(run: Path) -> None:
    with pytest.raises(AgentError, match=r"has no policy, which top=3 asks for: .*generations --policy"):
        load_agent(f"value:{run},top=3")
    with pytest.raises(ValueError, match="top=3 goes by a model's policy"):
        load_agent("alphabeta:top=3")
    with pytest.raises(ValueError, match="top=-1 is not possible"):
        load_agent(f"value:{run},top=-1")


def test_a_network_that_learned_nothing_is_trained_again_with_a_lower_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rate at which all rectifiers die gives a constant, whose player takes the first point that is free."""
    config = make_config(
        rate=3.0, optimizer="sgd", clip=0.0, generations=1, match_games=0, average=0.0, positions=3200, warm_up=0.0
    )
    line = learn_generations(replace(config, attempts=1), tmp_path / "one")
    assert line["black_loss"] > 0.98 * line["black_constant_loss"] and line["black_attempts"] == 1
    monkeypatch.setattr("tengen.learn.generations._LOWER", 0.01)
    line = learn_generations(replace(config, attempts=3), tmp_path / "more")
    assert max(line["black_attempts"], line["white_attempts"]) > 1
    assert line["black_loss"] < line["black_constant_loss"]


def test_mistakes_are_found_before_there_is_a_directory(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="generations need a network with an outcome head"):
        learn_generations(make_config(network="residual"), tmp_path / "run")
    with pytest.raises(ValueError, match="games is 0: give 1 or more"):
        make_config(games=0)
    with pytest.raises(ValueError, match=r"rate_limit is 1\.5"):
        make_config(rate_limit=1.5)
    with pytest.raises(ValueError, match="no preset is called 'nothing'"):
        GenerationsConfig.preset_config("nothing")
    assert not (tmp_path / "run").exists()


def test_the_files_of_a_generation_are_found_by_run_number_or_file(run: Path, tmp_path: Path) -> None:
    newest = find_generation(run)
    assert newest == find_generation(run, 2) == find_generation(model_file(run, "white", 2))
    assert newest.first == model_file(run, "black", 2) and newest.second == model_file(run, "white", 2)
    with pytest.raises(ModelFileError, match="holds no generation 7 of value networks: choose from 1 to 2"):
        find_generation(run, 7)
    with pytest.raises(ModelFileError, match="holds no generations of value networks"):
        find_generation(tmp_path)
    with pytest.raises(ModelFileError, match="go9 is one model: leave generation= out"):
        find_generation("go9", 3)
    with pytest.raises(ModelFileError, match="is no value network of `tengen learn generations`"):
        find_generation("go9")
    shutil.copy(model_file(run, "black", 1), tmp_path / "mine.safetensors")
    alone = find_generation(tmp_path / "mine.safetensors")
    assert alone.first == tmp_path / "mine.safetensors" and alone.second is None


def test_the_command_line(tmp_path: Path) -> None:
    arguments = "--preset simple-go --size 3 --komi 0.5 --generations 1 --first-games 120 --positions 640 --batch 64"
    arguments += (
        " --epoch 320 --validate 64 --match-games 4 --network simple-go:filters=4,hidden=8 --workers 1 --attempts 1"
    )
    folder = tmp_path / "run"
    result = CliRunner().invoke(app, ["learn", "generations", *arguments.split(), "--out", str(folder)])
    assert result.exit_code == 0, result.output
    assert "generation  1  120 games" in result.output and "curves.png" in result.output
    again = CliRunner().invoke(app, ["learn", "generations", "--out", str(folder)])
    assert again.exit_code == 0 and "Resuming" in again.output
    nothing = CliRunner().invoke(app, ["learn", "generations", "--out", str(tmp_path / "other")])
    assert nothing.exit_code == 2 and "give --preset" in nothing.output


def test_a_run_killed_after_its_last_line_is_tidied_by_the_next_call(run: Path, tmp_path: Path) -> None:
    again = shutil.copytree(run, tmp_path / "run")
    (again / "training" / "black-02").mkdir(parents=True)
    (again / "curves.png").unlink()
    learn_generations(make_config(), again)
    assert not (again / "training").exists() and (again / "curves.png").exists()
