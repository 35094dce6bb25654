"""The worker of the loop: it plays with the model that a call names, and lets two of them meet."""

from pathlib import Path

from tengen.learn.zero_generations import Generations
from tengen.learn.zero_trainer import ZeroTrainer
from tengen.learn.zero_workers import ZeroWorker

from .zero_stand_ins import toy_config


def test_a_worker_plays_and_duels(tmp_path: Path) -> None:
    config = toy_config()
    generations = Generations(tmp_path, "openvino")
    for number in (0, 1):
        trainer = ZeroTrainer(toy_config(seed=number), config.game_spec())
        trainer.export(generations.path(number), None)
    worker = ZeroWorker(config.game_spec(), config.self_play(), seed=1)
    played = worker.play(str(generations.path(0)), 0, "openvino", 50, 2)
    assert played.generation == 0
    assert played.work.positions == len(played.positions.value) >= 50
    assert played.work.games == len(played.games.winner)
    again = worker.play(str(generations.path(1)), 1, "openvino", 20, 4)
    assert again.work.positions == len(again.positions.value) < 50 + len(played.positions.value)
    pairing, result = worker.duel(generations.pairing(1, 0), 6, 2, (1, 2, 3))
    assert (pairing.first, pairing.second, result.games) == (1, 0, 6)
