"""Games, generations, policy gradient, datasets and proofs by a real Ray cluster: the same as on this machine."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tengen.arena.match import Match, run_match
from tengen.data.build import build_dataset
from tengen.games import go
from tengen.games.go.rules import GoOptions
from tengen.learn.generation_games import GenerationFolder, GenerationWorker
from tengen.learn.reinforce import PolicyWorker, play_games
from tengen.learn.settings import GenerationsConfig
from tengen.nets.model_file import find_model
from tengen.solve.check import check
from tengen.solve.extract import TableStrategy, extract
from tengen.solve.go_solver import Claim, Solver
from tengen.solve.proof_tree import ProofTree, leaf_workers
from tengen.workers.calls import WorkerFactory, open_workers
from tengen.workers.local import this_machine
from tengen.workers.ray_workers import ray_cluster

from ..two_nodes import two_nodes


@pytest.fixture(scope="module")
def hosts() -> Iterator[WorkerFactory]:
    with two_nodes(__name__) as cluster:
        yield ray_cluster(cluster.address)


def test_a_match_and_the_dataset_of_its_games(hosts: WorkerFactory, tmp_path: Path) -> None:
    model = tmp_path / "own.safetensors"
    model.write_bytes(find_model("go5").read_bytes())
    match = Match(f"policy:{model},temperature=1", "random", GoOptions(5, komi=0.5), games=6)
    there = run_match(match, tmp_path / "there", worker_factory=hosts)
    here = run_match(match, tmp_path / "here", workers=1)
    assert [(game.winner, game.moves) for game in there] == [(game.winner, game.moves) for game in here]
    for game in (tmp_path / "here" / "games").iterdir():
        assert (tmp_path / "there" / "games" / game.name).exists()
    build_dataset([tmp_path / "here"], tmp_path / "data-here", workers=1)
    build_dataset([tmp_path / "here"], tmp_path / "data-there", worker_factory=hosts)
    names = [path.name for path in (tmp_path / "data-here").iterdir()]
    assert names
    for name in names:
        if name.endswith(".json"):
            summaries = [json.loads((tmp_path / f"data-{where}" / name).read_text()) for where in ("here", "there")]
            assert summaries[0]["games"] == summaries[1]["games"] == 6
        else:
            assert (tmp_path / "data-here" / name).read_bytes() == (tmp_path / "data-there" / name).read_bytes()


def test_games_of_generations_and_of_policy_gradient(hosts: WorkerFactory, tmp_path: Path) -> None:
    config = GenerationsConfig.preset_config("simple-go", {"size": 3, "komi": 0.5})
    there, here = (GenerationFolder(tmp_path / name, 300, chunk=200) for name in ("there", "here"))
    for folder, factory in ((there, hosts), (here, this_machine)):
        with open_workers(factory, 1, GenerationWorker, config, None, None) as workers:
            assert list(folder.play(1, workers))[-1] == 300
    assert np.array_equal(there.read().actions, here.read().actions)
    from tengen.encode.game_spec import GameSpec
    from tengen.nets.model_file import read_card

    model = find_model("go5")
    spec = GameSpec(GoOptions(5, komi=0.5), read_card(model).encoder)
    played = []
    for factory in (hosts, this_machine):
        with open_workers(factory, 1, PolicyWorker, spec) as workers:
            asked = {"games": 6, "number": 0, "seed": (1, 2), "backend": "openvino"}
            played.append(play_games(spec, model, model, workers=workers, **asked))
    assert np.array_equal(played[0].actions, played[1].actions)


def test_the_solver(hosts: WorkerFactory) -> None:
    state = go.State.new(5, "simple-go", komi=3.5)
    for word in "C3 C2 B2 B3 D2 C1 D1 C4 D3 D4".split():
        state = state.play(state.parse_move(word))
    solver, claim = Solver(5, state.rules, 0.01), Claim(go.BLACK, 4)
    tree = ProofTree(solver, state, claim)
    with leaf_workers(hosts, 0, solver) as workers:
        searches = list(tree.search(leaf_nodes=2_000, workers=workers))
    assert tree.verdict is True
    assert len(searches) > 10
    check(extract(TableStrategy(solver, claim), state))
