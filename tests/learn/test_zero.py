"""Learning from nothing at toy size: the rounds, the gate, the window; and however it is stopped, it goes on."""

import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import torch

from tengen.learn import selfplay, zero
from tengen.learn.duel import Generations
from tengen.learn.game_report import write_zero_report
from tengen.learn.replay import ChunkFolder
from tengen.learn.zero import (
    learn_zero,
)
from tengen.learn.zero_settings import ZeroConfig
from tengen.nets.evaluator import load_evaluator
from tengen.nets.model_file import read_card
from tengen.runs.folder import FolderError, read_metrics, read_settings
from tengen.runs.progress import RunProgress

from .zero_stand_ins import InlineWorkers, StandInWorker, StandInWorkers, toy_config


@pytest.fixture(autouse=True)
def _told_all(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The loop reports every step and writes every unit, not only now and then."""
    monkeypatch.setattr(zero, "_PROGRESS_SECONDS", 0.0)
    monkeypatch.setattr(selfplay, "_CHUNK_SECONDS", 0.0)
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def model_of(run: Path, generation: int) -> Path:
    return Generations(run, "").path(generation)


def run_stand_ins(config: ZeroConfig, out: Path, on_progress: Callable[[RunProgress], None] = lambda _: None) -> Any:
    return learn_zero(config, out, on_progress, hosts=StandInWorkers, report=False)


def rounds(run: Path) -> list[dict[str, Any]]:
    return [line for line in read_metrics(run) if "generation" in line]


def test_from_nothing_with_real_games(tmp_path: Path) -> None:
    config = toy_config(backend="int8", iterations=2)
    reports: list[RunProgress] = []
    last = learn_zero(config, tmp_path, reports.append, hosts=InlineWorkers)
    lines = rounds(tmp_path)
    assert last == lines[-1]
    assert [(line["iteration"], line["generation"], line["champion"]) for line in lines] == [(1, 1, 1), (2, 2, 2)]
    assert lines[0]["positions"] >= 200
    assert lines[1]["positions"] >= lines[0]["positions"] + 200
    assert lines[1]["step"] == sum(
        int(np.ceil(2.0 * new / 32)) for new in np.diff([0, *(line["positions"] for line in lines)])
    )
    assert lines[1]["int8_top1"] > 0.9
    assert 3 <= lines[0]["play_length"] <= 27
    assert [duel[0] for duel in lines[0]["duels"]] == [0]
    assert [duel[0] for duel in lines[1]["duels"]] == [1, 0]
    assert sum(lines[1]["duels"][0][1:]) == 8
    phases = list(dict.fromkeys(now.phase for now in reports))
    assert phases == ["self-play", "training", "export", "duels"]
    assert [now.line["iteration"] for now in reports if now.line] == [1, 2]
    assert reports[-1].done == 1.0
    names = {path.name for path in tmp_path.iterdir()}
    assert names >= {"config.toml", "metrics.jsonl", "trainer.safetensors", "best.safetensors", "tensorboard"}
    assert (tmp_path / "best.safetensors").read_bytes() == model_of(tmp_path, 2).read_bytes()
    assert load_evaluator(tmp_path / "best.safetensors", "int8")[1].training["generation"] == 2
    page = (tmp_path / "report.html").read_text()
    assert page.count("<svg") == 6
    assert "g2" in page


def test_from_nothing_in_chess(tmp_path: Path) -> None:
    given = {"game": "microchess", "size": 5, "rules": "ncsoft", "encoder": "microchess-lecture", "iterations": 1}
    config = toy_config(**given, network="residual:blocks=1,filters=4,first_kernel=3,value=yes", positions=400)
    learn_zero(config, tmp_path, hosts=InlineWorkers)
    (line,) = rounds(tmp_path)
    assert 400 <= line["positions"]
    assert line["play_length"] <= 80
    assert line["loss_ownership"] == line["loss_score"] == 0
    assert read_card(tmp_path / "best.safetensors").rules == "ncsoft"
    page = (tmp_path / "report.html").read_text()
    assert page.count("<figure><svg") == 6
    assert re.search(r'class="moves">([a-d][1-5][a-d][1-5][nbrq]? ?)+<', page)


class Stopped(Exception):
    """Stands for a power cut."""


def stopping(phase: str, iteration: int, share: float = 0.0) -> Callable[[RunProgress], None]:
    def on_progress(now: RunProgress) -> None:
        if (now.phase, now.number) == (phase, iteration) and now.share >= share and now.line is None:
            raise Stopped

    return on_progress


def assert_same_run(one: Path, other: Path) -> None:
    """Weights, averages, optimiser, models, chunks and metrics, to the last bit; but for times and speeds."""
    files = sorted(path.relative_to(one) for path in one.rglob("*.safetensors"))
    assert files == sorted(path.relative_to(other) for path in other.rglob("*.safetensors"))
    for file in files:
        mine, its = (safetensors.numpy.load((run / file).read_bytes()) for run in (one, other))
        assert mine.keys() == its.keys()
        for key in mine:
            np.testing.assert_array_equal(mine[key], its[key], f"{file} {key}")
    lines, others = (
        [{name: value for name, value in line.items() if "second" not in name} for line in rounds(run)]
        for run in (one, other)
    )
    assert lines == others


@pytest.mark.parametrize("overlap", [False, True])
def test_a_run_that_was_stopped_in_every_phase_ends_as_one_that_was_not(overlap: bool, tmp_path: Path) -> None:
    config = toy_config(checkpoint=0.0, average=0.9, overlap=overlap)
    straight, stopped = tmp_path / "straight", tmp_path / "stopped"
    run_stand_ins(config, straight)
    ways = [("training", 1, 0.0), ("training", 1, 0.7), ("export", 1, 0.0), ("duels", 1, 0.3), ("training", 2, 0.5)]
    for phase, iteration, share in [*ways, ("export", 2, 0.0), ("duels", 2, 0.0)]:
        with pytest.raises(Stopped):
            run_stand_ins(config, stopped, stopping(phase, iteration, share))
    run_stand_ins(config, stopped)
    if not overlap:  # beside the training, units of the next round come in whenever they come in
        assert_same_run(straight, stopped)
    assert [line["step"] for line in rounds(stopped)] == [line["step"] for line in rounds(straight)] == [13, 26]
    run_stand_ins(config, stopped, stopping("self-play", 3))  # nothing is left to do


def test_what_was_played_before_a_stop_is_kept(tmp_path: Path) -> None:
    config = toy_config()
    with pytest.raises(Stopped):
        run_stand_ins(config, tmp_path, stopping("self-play", 1, 0.5))
    before = ChunkFolder(tmp_path / "chunks").facts
    kept = {path.name: path.read_bytes() for path in (tmp_path / "chunks").iterdir()}
    assert sum(facts.positions for facts in before) == 104  # 8 of the round's 16 units of 13
    reports: list[RunProgress] = []
    run_stand_ins(config, tmp_path, reports.append)
    assert next(now for now in reports if now.phase == "self-play").share > 0.5
    assert {name: (tmp_path / "chunks" / name).read_bytes() for name in kept} == kept
    assert rounds(tmp_path)[0]["positions"] == 200
    assert [facts.first for facts in ChunkFolder(tmp_path / "chunks").facts][:9] == [*range(0, 104, 13), 104]


def test_training_goes_on_from_the_last_checkpoint_within_a_round(tmp_path: Path) -> None:
    config = toy_config(checkpoint=0.0)
    with pytest.raises(Stopped):
        run_stand_ins(config, tmp_path, stopping("training", 1, 0.5))  # the 7th of 13 steps, after the 6th's checkpoint
    shares: list[float] = []
    run_stand_ins(config, tmp_path, lambda now: shares.append(now.share) if now.phase == "training" else None)
    assert shares[0] == pytest.approx(7 / 13)


@pytest.mark.parametrize("phase", ["self-play", "training", "duels"])
def test_ctrl_c_saves_and_leaves(phase: str, tmp_path: Path) -> None:
    config = toy_config(checkpoint=1000.0)

    def interrupt(now: RunProgress) -> None:
        if (now.phase, now.number) == (phase, 2) and now.share >= 0.3 and now.line is None:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_stand_ins(config, tmp_path, interrupt)
    finally:
        signal.signal(signal.SIGINT, before)
    reports: list[RunProgress] = []
    run_stand_ins(config, tmp_path, reports.append)
    first = next(now for now in reports if now.phase == phase)
    assert first.number == 2
    assert phase == "duels" or first.share >= 0.3  # a duel is played again from its start
    assert [line["iteration"] for line in rounds(tmp_path)] == [1, 2]


@pytest.mark.parametrize(("gate", "champions"), [(0.0, [1, 2, 3]), (0.6, [1, 2, 3]), (0.8, [0, 0, 0])])
def test_the_gate_decides_who_plays_on(gate: float, champions: list[int], tmp_path: Path) -> None:
    """The stand-in's newer model scores 0.75 in every duel."""
    run_stand_ins(toy_config(gate=gate, iterations=3), tmp_path)
    lines = rounds(tmp_path)
    assert [line["champion"] for line in lines] == champions
    if gate:
        assert [line["gate_score"] for line in lines] == [0.75] * 3
        assert [line["gate_promoted"] for line in lines] == [gate < 0.75] * 3
        assert all(best in [duel[0] for duel in line["duels"]] for best, line in zip([0, *champions], lines))
    assert read_card(tmp_path / "best.safetensors").training["generation"] == champions[-1]
    assert read_card(tmp_path / "last.safetensors").training["generation"] == 3
    played = {facts.iteration: facts.generation for facts in ChunkFolder(tmp_path / "chunks").facts}
    assert list(played.values()) == [0, *champions[:2]]


@pytest.mark.parametrize(("workers", "asked", "played"), [(16, 40, 40), (3, 100, 100), (8, 5, 6), (1, 2, 2)])
def test_duels_have_the_games_that_were_asked_for(workers: int, asked: int, played: int, tmp_path: Path) -> None:
    run_stand_ins(toy_config(workers=workers, iterations=1, positions=40, duel_games=asked), tmp_path)
    (line,) = rounds(tmp_path)
    assert sum(line["duels"][0][1:]) == played


def test_with_overlap_a_round_is_played_by_the_best_of_before(tmp_path: Path) -> None:
    run_stand_ins(toy_config(overlap=True, iterations=4), tmp_path)
    played = {facts.iteration: facts.generation for facts in ChunkFolder(tmp_path / "chunks").facts}
    assert played == {1: 0, 2: 0, 3: 1, 4: 2}
    assert [line["champion"] for line in rounds(tmp_path)] == [1, 2, 3, 4]


def test_ratings_are_chained_and_past_opponents_spread(tmp_path: Path) -> None:
    run_stand_ins(toy_config(iterations=6, positions=40, duel_every=1, past=2), tmp_path)
    lines = rounds(tmp_path)
    assert [[duel[0] for duel in line["duels"]] for line in lines] == [[0], [1, 0], [2, 0], [3, 0], [4, 1], [5, 2]]
    ratings = [line["elo"] for line in lines]
    assert ratings == sorted(ratings)
    assert 100 < ratings[0] < 200  # 6 of 8, with a draw added


def test_chunks_that_the_window_has_left_are_deleted(tmp_path: Path) -> None:
    config = toy_config(iterations=4, window_first=100, window_most=500)
    run_stand_ins(config, tmp_path)
    lines = rounds(tmp_path)
    assert lines[-1]["positions"] == 832
    assert lines[-1]["window"] < 500
    facts = ChunkFolder(tmp_path / "chunks").facts
    assert facts[0].first <= 832 - lines[-1]["window"] < facts[0].end
    shutil.copytree(tmp_path, again := tmp_path.with_name("again"))
    run_stand_ins(replace(config, iterations=5), again)
    assert rounds(again)[-1]["positions"] == 1040


def test_simulations_rise_with_the_rounds() -> None:
    config = toy_config(simulations=32, first_simulations=8, ramp=4)
    assert [config.simulations_in(i) for i in range(1, 8)] == [8, 14, 20, 26, 32, 32, 32]
    assert toy_config(simulations=32).simulations_in(1) == 32


def test_simulations_asked_of_the_workers_rise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    usual = StandInWorker.play

    def play(self: StandInWorker, *arguments: Any) -> Any:
        asked.append(arguments[-1])
        return usual(self, *arguments)

    monkeypatch.setattr(StandInWorker, "play", play)
    run_stand_ins(toy_config(simulations=8, first_simulations=2, ramp=2, iterations=3, positions=16), tmp_path)
    assert list(dict.fromkeys(asked)) == [2, 5, 8]


def test_time_is_counted_over_all_calls(tmp_path: Path) -> None:
    config = toy_config(hours=1e-9, iterations=0)
    assert run_stand_ins(config, tmp_path) == {}
    with pytest.raises(Stopped):
        run_stand_ins(replace(config, hours=1.0), tmp_path, stopping("training", 3))
    used = rounds(tmp_path)[-1]["seconds"]
    assert len(rounds(tmp_path)) == 2
    last = run_stand_ins(replace(config, hours=used / 3600), tmp_path)  # all of it has been used
    assert last["iteration"] == 2


def test_a_run_whose_time_is_up_trains_on_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spent = iter([*[0.0] * 12, *[7200.0] * 10_000])
    monkeypatch.setattr(zero._Loop, "seconds", lambda loop: next(spent))
    last = run_stand_ins(toy_config(hours=1.0, iterations=0), tmp_path)
    assert last["iteration"] == 1
    assert 0 < last["positions"] < 200
    assert model_of(tmp_path, 1).exists()


def test_changes_on_the_way_are_noted_and_what_a_run_is_cannot_change(tmp_path: Path) -> None:
    config = toy_config(iterations=1)
    run_stand_ins(config, tmp_path)
    run_stand_ins(replace(config, iterations=2, rate=0.001, workers=3), tmp_path)
    (change,) = [line["settings_changed"] for line in read_metrics(tmp_path) if "settings_changed" in line]
    assert change == {"rate": [config.rate, 0.001]}
    assert rounds(tmp_path)[-1]["rate"] == pytest.approx(0.001)
    assert read_settings(tmp_path)["rate"] == 0.001
    assert "rate 0.05 &rarr; 0.001" in write_zero_report(tmp_path).read_text()
    with pytest.raises(FolderError, match=r"komi 0\.5 where you ask for 1\.5"):
        run_stand_ins(replace(config, komi=1.5), tmp_path)


def test_a_run_without_its_trainer_says_so(tmp_path: Path) -> None:
    run_stand_ins(toy_config(iterations=3), tmp_path)
    (tmp_path / "trainer.safetensors").unlink()
    with pytest.raises(FolderError, match=r"trainer\.safetensors is gone"):
        run_stand_ins(toy_config(iterations=4), tmp_path)


def test_fewer_simulations_than_a_preset_begins_with() -> None:
    assert ZeroConfig.preset_config("microchess").first_simulations == 32
    assert ZeroConfig.preset_config("microchess", {"simulations": 16}).first_simulations == 16
    with pytest.raises(ValueError, match="or 0 for no rise"):
        ZeroConfig.preset_config("microchess", {"simulations": 16, "first_simulations": 20})


@pytest.mark.parametrize("name", ZeroConfig.presets)
def test_presets_are_whole(name: str) -> None:
    from tengen.learn.zero import check_config

    config = ZeroConfig.preset_config(name)
    check_config(config)
    assert config.run_name() == name
    assert replace(config, hours=99.0, rate=0.5).run_name() == name
    assert replace(config, seed=2).run_name().startswith(f"{name}-")
    assert config.self_play().simulations == config.simulations


def test_mistakes_in_settings_are_told() -> None:
    for given, message in (
        ({"optimizer": "best"}, "no optimizer is called 'best'"),
        ({"positions": 0}, "positions is 0: give 1 or more"),
        ({"calibration": 0}, "calibration is 0: give 1 or more"),
        ({"first_simulations": 5, "simulations": 4}, "first_simulations 5 is more than simulations 4"),
        ({"gate": 1.0}, "gate is 1.0"),
        ({"window_first": 10, "window_most": 5}, "window_first 10 is more"),
        ({"search": "best"}, "no search is called 'best'"),
        ({"backend": "gpu"}, "no backend is called 'gpu'"),
    ):
        with pytest.raises(ValueError, match=message):
            toy_config(**given)
    with pytest.raises(ValueError, match="no preset is called 'go99': choose from go5"):
        ZeroConfig.preset_config("go99")


def test_settings_edited_to_nonsense_are_told(tmp_path: Path) -> None:
    run_stand_ins(toy_config(iterations=1), tmp_path)
    assert ZeroConfig.read(tmp_path, {"iterations": 3}) == toy_config(iterations=3)
    file = tmp_path / "config.toml"
    file.write_text(file.read_text().replace("hours = 0.0", 'hours = "long"'))
    with pytest.raises(FolderError, match=r"config\.toml: hours is 'long', and should be of type float"):
        ZeroConfig.read(tmp_path)


def test_a_deleted_first_generation_is_not_made_up_again(tmp_path: Path) -> None:
    run_stand_ins(toy_config(iterations=2), tmp_path)
    model_of(tmp_path, 0).unlink()
    run_stand_ins(toy_config(iterations=3, duel_every=0), tmp_path)
    assert not model_of(tmp_path, 0).exists()
    assert [line["champion"] for line in rounds(tmp_path)] == [1, 2, 3]
    assert [facts.generation for facts in ChunkFolder(tmp_path / "chunks").facts][-1] == 2


def test_settings_of_the_machine_may_change_and_what_the_run_is_may_not() -> None:
    assert ZeroConfig.of_machine() < ZeroConfig.free()
    assert not ZeroConfig.free() & {"game", "size", "rules", "komi", "encoder", "network", "optimizer", "seed"}


@pytest.mark.parametrize(("settings", "niceness"), [({}, 2), ({"niceness": 0}, 0), ({"overlap": False}, 0)])
def test_players_step_back_for_the_trainer_as_far_as_is_asked(
    settings: dict[str, Any], niceness: int, tmp_path: Path
) -> None:
    seen = []

    def hosts(count: int, make: Any, arguments: Any, nice: int) -> StandInWorkers:
        seen.append(nice)
        return StandInWorkers(count, make, arguments)

    learn_zero(toy_config(iterations=1, **{"overlap": True, **settings}), tmp_path, report=False, hosts=hosts)
    assert seen == [niceness]
