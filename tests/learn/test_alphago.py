"""From records to an AlphaGo: the stages in their order, each resumed, and one report."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tengen.agents.registry import load_agent
from tengen.games.go.sgf import write_sgf
from tengen.games.go.state import State
from tengen.learn.alphago import (
    AlphaGoConfig,
    ablation,
    learn_alphago,
    read_figures,
)
from tengen.learn.game_report import write_alphago_report
from tengen.runs.folder import FolderError
from tengen.runs.progress import RunProgress

TINY: dict[str, Any] = {
    "size": 3,
    "komi": 0.5,
    "teacher": "random",
    "teacher_games": 120,
    "network": "residual:blocks=1,filters=8,first_kernel=3,head_filters=4,value=yes",
    "positions": 512,
    "updates": 1,
    "update_games": 8,
    "value_games": 60,
    "value_passes": 2.0,
    "match_games": 2,
    "ablation_games": 0,
    "workers": 1,
}


def test_all_stages_make_a_player_and_a_report(tmp_path: Path) -> None:
    seen: list[RunProgress] = []
    figures = learn_alphago("go5", tmp_path, seen.append, **TINY)
    stages = ["records", "policy", "fast policy", "reinforce", "match", "value"]
    assert list(figures) == stages == [now.phase for now in seen if now.line is not None]
    assert [now.number for now in seen if now.line is not None] == list(range(1, 7))
    assert figures["match"]["games"] == 2
    assert 0 < figures["value"]["error of network"] < 4
    state = State.new(size=3, komi=0.5)
    agent = load_agent(f"alphago:{tmp_path}/alphago.safetensors,fast={tmp_path}/fast.safetensors,sims=8,threads=1")
    assert state.is_legal(agent.choose(state).move)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for word in ("Reinforce", "Fast policy", "Sample games", "teacher", "data:image/png"):
        assert word in page


def test_damaged_figures_are_named(tmp_path: Path) -> None:
    (tmp_path / "figures.json").write_bytes(b'{"records": ')
    with pytest.raises(FolderError, match=r"figures.json is damaged .*: repair it, or delete it"):
        read_figures(tmp_path)


def test_a_run_goes_on_after_the_last_stage_that_was_done(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop_at_reinforce(now: RunProgress) -> None:
        if now.phase == "reinforce":
            raise Stop

    with pytest.raises(Stop):
        learn_alphago("go5", tmp_path, stop_at_reinforce, **TINY)
    assert list(read_figures(tmp_path)) == ["records", "policy", "fast policy"]
    learned = (tmp_path / "policy" / "best.safetensors").stat().st_mtime_ns
    seen: list[RunProgress] = []
    figures = learn_alphago(AlphaGoConfig.read(tmp_path), tmp_path, seen.append)
    assert seen[0].phase == "reinforce"
    assert list(figures) == ["records", "policy", "fast policy", "reinforce", "match", "value"]
    assert (tmp_path / "policy" / "best.safetensors").stat().st_mtime_ns == learned
    assert json.loads((tmp_path / "figures.json").read_text()) == figures


def test_what_is_there_already_need_not_be_learned(tmp_path: Path) -> None:
    first = tmp_path / "first"
    learn_alphago("go5", first, **TINY)
    given = {"policy": str(first / "policy" / "best.safetensors"), "fast": str(first / "fast.safetensors")}
    own = {"value_network": "alphago-value:layers=3,filters=4,hidden=8", "updates": 0}
    figures = learn_alphago("go5", tmp_path / "second", **TINY | given | own | {"data": str(first / "dataset")})
    assert list(figures) == ["value"]
    value = tmp_path / "second" / "value" / "best.safetensors"
    agent = load_agent(f"alphago:{tmp_path}/second/alphago.safetensors,value={value},sims=8,threads=1")
    assert agent.choose(State.new(size=3, komi=0.5)).value is not None


def test_the_players_of_the_ablation_differ_in_one_thing_each() -> None:
    players = ablation("go9", 0.1)
    assert len(players) == len(set(players.values())) == 9
    assert {name for name, spec in players.items() if "prior=no" in spec} == {
        "value and rollouts, no prior",
        "value, no prior",
        "rollouts, no prior",
    }
    assert all("seconds=0.1" in spec for name, spec in players.items() if name != "policy")
    for spec in players.values():
        load_agent(spec).close()
    assert "zero" not in ablation("go9", 0.1, value="v.safetensors")


@pytest.mark.parametrize("preset", AlphaGoConfig.presets)
def test_presets_are_sound(preset: str) -> None:
    assert AlphaGoConfig.preset_config(preset).preset == preset


def test_settings_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="positions is 0: give 1 or more"):
        AlphaGoConfig(positions=0)
    with pytest.raises(ValueError, match="size is 20: give 2 to 19"):
        AlphaGoConfig(size=20)
    with pytest.raises(ValueError, match="no preset is called 'go6': choose from go5, go9, go19"):
        AlphaGoConfig.preset_config("go6")
    (tmp_path / "config.toml").write_text('network = "small"\n')
    with pytest.raises(FolderError, match="is of a run of the kind unknown, not alphago"):
        AlphaGoConfig.read(tmp_path)
    assert asdict(AlphaGoConfig())["rate"] == 0.1


@pytest.mark.parametrize(
    ("fast", "interval", "ratings", "sentences"),
    [
        (0.502, [0.55, 0.7], ("+120 ± 30", "+20 ± 40"), ("better than", "It is stronger", "full is the strongest")),
        (0.3, [0.3, 0.45], ("+20 ± 162", "+0 ± 0"), ("worse than", "It is weaker", "full has the highest rating, but")),
        (0.413, [0.4, 0.6], ("-5 ± 9", "-9 ± 9"), ("as well as", "Neither is shown to be stronger", "not shown to")),
    ],
)
def test_the_sentences_of_the_report_follow_its_figures(
    fast: float, interval: list[float], ratings: tuple[str, str], sentences: tuple[str, ...], tmp_path: Path
) -> None:
    figures = {
        "policy": {"top1": 0.413},
        "fast policy": {"top1": fast},
        "match": {"games": 200, "score": sum(interval) / 2, "interval": interval},
        "ablation": {"ratings": dict(zip(("full", "policy"), ratings, strict=True))},
    }
    (tmp_path / "config.toml").write_text("komi = 3.5\nteacher_games = 1\n")
    (tmp_path / "figures.json").write_text(json.dumps(figures))
    page = write_alphago_report(tmp_path).read_text(encoding="utf-8")
    for sentence in sentences:
        assert sentence in page
    assert f"full: {ratings[0]}" in page


def test_the_report_shows_the_longest_games(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("komi = 3.5\nteacher_games = 1\n")
    (tmp_path / "match" / "games").mkdir(parents=True)
    for number in range(8):
        state = State.new(5)
        for move in range(number):
            state = state.play(move)
        (tmp_path / "match" / "games" / f"{number}.sgf").write_bytes(write_sgf(state))
    page = write_alphago_report(tmp_path).read_text(encoding="utf-8")
    assert [count for count in range(9) if f"after {count} moves" in page] == [5, 6, 7]
