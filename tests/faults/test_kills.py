"""Long-running commands killed a few times, the quickest in `make test`; `make test-faults` does it a hundred times."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .campaign import Campaign
from .commands import COMMANDS
from .inputs import Inputs
from .killing import Host

_MOST_RUNS = 10
SHORT = ("download", "match", "supervised", "tables")


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with Host() as started:
        yield started


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return Inputs(tmp_path_factory.mktemp("inputs"))


@pytest.mark.parametrize("name", SHORT)
def test_a_killed_command_goes_on_and_loses_nothing(name: str, host: Host, inputs: Inputs, tmp_path: Path) -> None:
    _kill(Campaign(name, host, inputs, tmp_path, seed=1))


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in SHORT])
def test_and_so_do_the_slower_ones(name: str, host: Host, inputs: Inputs, tmp_path: Path) -> None:
    _kill(Campaign(name, host, inputs, tmp_path, seed=1))


def _kill(campaign: Campaign) -> None:
    """Until a kill has fallen: a run may also come to its end before the moment that was drawn."""
    assert any(campaign.run(number, most=2) for number in range(_MOST_RUNS)), "no kill has fallen"


def test_what_a_kill_cut_off_is_not_counted_as_downloaded(tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz.part").write_bytes(b"12345")
    (tmp_path / f".manifest.json.{'0' * 32}.part").write_bytes(b"half of it")
    assert COMMANDS["download"].done(tmp_path) == (5,)
