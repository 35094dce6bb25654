"""Generations against each other: the same games whoever else plays, and tables that go on."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tengen.arena import generation_table
from tengen.arena.generation_table import TableSettings, play_pairs, play_table
from tengen.arena.statistics import Score
from tengen.cli.main import app
from tengen.games import go
from tengen.games.game import open_batch
from tengen.nets.model_file import ModelCard, save_model
from tengen.nets.network import build_network
from tengen.search.generations import GenerationValues, find_generation, model_file
from tengen.search.lockstep import ValuePlay

SETTINGS = TableSettings(games=6, seed=3)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two generations that have learned nothing."""
    folder = tmp_path_factory.mktemp("generations") / "run"
    for number in (1, 2):
        for side, after in (("black", "first"), ("white", "second")):
            network = build_network("simple-go", 3, 3, seed=number, filters=(4,), hidden=8, after=after)
            recipe = {"rules": "simple-go", "limit": 100}
            about = {"encoder": "stones", "rules": "simple-go", "komi": 0.5, "recipe": recipe}
            save_model(model_file(folder, side, number), network, ModelCard.of(network, **about))
    return folder


def test_games_are_those_of_one_pair_at_a_time_played_move_by_move(run: Path) -> None:
    batch = open_batch(generation_table.run_options(run, float("nan")))
    values = {number: GenerationValues(find_generation(run, number)) for number in (1, 2)}
    players = {number: each.evaluation(batch) for number, each in values.items()}
    pairs = [(1, 2), (2, 1), (0, 1), (2, 0)]
    together = play_pairs(batch, {0: None, **players}, pairs, games=5, seed=3)
    for pair, result in zip(pairs, together):
        assert play_pairs(batch, {0: None, **players}, [pair], games=5, seed=3) == [result]
    wins, source = 0, np.random.default_rng((3, 1, 2))
    uniform = [source.random(5) for _ in range(2)]
    for number in range(5):
        state = go.State.new(3, "simple-go", 0.5)
        for draws in uniform:
            moves = sorted(state.legal_moves())
            state = state.play(moves[int(draws[number] * len(moves))])
        while not state.is_over:
            board = batch.allocate(1)
            batch.load(board, 0, state)
            found = ValuePlay(batch, [players[1 if state.to_play == 1 else 2]]).values(board, 0, 0)
            state = state.play(state.move_of(max(found, key=lambda action: (found[action], -action))))
        wins += state.winner() == 1
    assert together[0] == Score(wins, 5 - wins)


def test_a_table_that_was_stopped_plays_only_what_is_missing(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = play_table(run, tmp_path / "whole", SETTINGS)
    assert len(table.pairs) == 9 and all(result.games == 6 for result in table.pairs.values())
    lines = (tmp_path / "whole" / "crosstable-k0.5.csv").read_text().splitlines()
    assert lines[0] == ",W0,W1,W2,average" and len(lines) == 5 and lines[1].startswith("B0,")
    assert (tmp_path / "whole" / "crosstable-k0.5.png").read_bytes().startswith(b"\x89PNG")
    saved = tmp_path / "whole" / "crosstable-k0.5.json"
    found = json.loads(saved.read_text())
    kept = {**found, "pairs": [row for row in found["pairs"] if row[0] != 1]}
    saved.write_text(json.dumps(kept))
    played: list[tuple[int, int]] = []
    true_play = generation_table.play_pairs
    monkeypatch.setattr(
        generation_table,
        "play_pairs",
        lambda *a, **k: played.extend(a[2]) or true_play(*a, **k),  # type: ignore[func-returns-value]
    )
    again = play_table(run, tmp_path / "whole", SETTINGS)
    assert again.pairs == table.pairs and played == [(1, 0), (1, 1), (1, 2)]
    with pytest.raises(ValueError, match="holds a table with games 6 where you ask for 7"):
        play_table(run, tmp_path / "whole", TableSettings(games=7, seed=3))


def test_averages_are_those_of_each_side(run: Path, tmp_path: Path) -> None:
    table = play_table(run, tmp_path, SETTINGS)
    scores = np.array([[table.score(first, second) for second in (0, 1, 2)] for first in (0, 1, 2)])
    assert [table.first_average(number) for number in (0, 1, 2)] == pytest.approx(scores.mean(axis=1))
    assert [table.second_average(number) for number in (0, 1, 2)] == pytest.approx(1 - scores.mean(axis=0))


def test_the_command_line_plays_several_komi(run: Path, tmp_path: Path) -> None:
    arguments = ["--games", "2", "--komi", "0.5", "--komi", "1.5", "--out", str(tmp_path), "--workers", "1"]
    result = CliRunner().invoke(app, ["tournament", "generations", str(run), *arguments])
    assert result.exit_code == 0, result.output
    assert "komi 0.5" in result.output and "komi 1.5" in result.output and "W2" in result.output
    assert {path.name for path in tmp_path.glob("*.csv")} == {"crosstable-k0.5.csv", "crosstable-k1.5.csv"}
    wrong = CliRunner().invoke(app, ["tournament", "generations", str(tmp_path)])
    assert wrong.exit_code == 2 and "holds no generations of value networks" in wrong.output
