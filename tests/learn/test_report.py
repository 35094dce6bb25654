"""The report: one page that needs nothing else, and true to the run."""

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from tengen.data.dataset import Dataset, select
from tengen.games import go
from tengen.games.go.coordinates import board_svg
from tengen.learn.report import draw_samples, write_report
from tengen.learn.settings import SupervisedConfig
from tengen.learn.supervised import learn_supervised
from tengen.runs.folder import FolderError, RunDirectory, read_metrics, read_settings

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def run(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run in a directory with an awkward name, its report written by the training itself."""
    out = tmp_path_factory.mktemp("runs") / "a <b> & c"
    config = SupervisedConfig(
        data=str(tiny), network="small:filters=4-4,dense=8", size=5, positions=640, epoch=160, validate=64, batch=16
    )
    learn_supervised(config, out)
    return out


class Page(HTMLParser):
    """What a page consists of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "data", "action")]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_stands_alone(run: Path) -> None:
    text = (run / "report.html").read_text()
    page = Page(text)
    assert len(page.links) == 1
    assert page.links[0].startswith("data:image/png;base64,iVBORw0KGgo")
    assert not {"script", "link", "iframe", "b&"} & set(page.tags)
    assert "$" not in text
    assert (run / "curves.png").read_bytes().startswith(PNG)


def test_it_shows_the_figures_and_the_positions(run: Path) -> None:
    page = Page((run / "report.html").read_text())
    best = min(read_metrics(run), key=lambda line: line["test_loss"])
    for text in ("a <b> & c", "small:filters=4-4", "moves 1-20"):
        assert text in page.text
    assert f"{best['test_top1']:.1%}top-1" in page.text
    assert f"{best['test_loss']:.3f}loss" in page.text
    assert page.tags.count("figure") == 12
    assert page.tags.count("svg") == 12
    played = [int(move) for move in re.findall(r"Move (\d+), (?:Black|White)", page.text)]
    assert played == sorted(played)
    assert played[-1] > played[0] + 5  # from all phases


def test_it_can_be_written_while_the_run_is_under_way(run: Path) -> None:
    directory = RunDirectory(run, read_settings(run))
    try:
        before = read_metrics(run)
        assert write_report(run) == run / "report.html"
        assert read_metrics(run) == before
    finally:
        directory.close()


def test_without_its_games_it_tells_so(run: Path, tmp_path: Path) -> None:
    for name in ("metrics.jsonl", "best.safetensors"):
        (tmp_path / name).write_bytes((run / name).read_bytes())
    data = read_settings(run)["data"]
    (tmp_path / "config.toml").write_text((run / "config.toml").read_text().replace(str(data), "gone"))
    assert "No positions to show: gone holds no dataset" in write_report(tmp_path).read_text()


def test_before_the_first_validation_there_is_a_report_too(tmp_path: Path) -> None:
    RunDirectory(tmp_path, {"data": "x"}).close()
    assert "Nothing has been measured yet" in write_report(tmp_path).read_text()


def test_no_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match="no directory of a run"):
        write_report(tmp_path / "nothing")


def test_samples_are_positions_of_test_games_with_the_moves_played(run: Path, tiny_dataset: Dataset) -> None:
    games = select(tiny_dataset, "test", size=5)
    samples = draw_samples(run / "best.safetensors", tiny_dataset, games, count=7)
    assert len(samples) == 7
    for sample in samples:
        assert sample.game in games.rows
        assert (sample.state.to_play, sample.played) == tiny_dataset.move_of(sample.game, sample.ply)
        assert sample.policy.sum() == pytest.approx(1, abs=1e-5)
        shares = [share for _, share in sample.guesses]
        assert shares == sorted(shares, reverse=True)
        assert shares[0] == sample.policy.max()
        assert (sample.rank == 1) == (sample.probability == sample.policy.max())
    again = draw_samples(run / "last.safetensors", tiny_dataset, games, count=7)
    assert [(s.game, s.ply) for s in again] == [(s.game, s.ply) for s in samples]


def test_overlays_are_drawn_on_the_board() -> None:
    state = go.State.new(5).play(12)
    plain = board_svg(state)
    svg = board_svg(state, heat={0: 0.25, 1: np.float32(1.0)}, labels={0: "<1>"}, ring=24)
    assert svg.count("<rect") == plain.count("<rect") + 2
    assert svg.count("<circle") == plain.count("<circle") + 1
    assert "&lt;1&gt;" in svg
    assert board_svg(state, heat={}, labels={}, ring=-1) == plain
