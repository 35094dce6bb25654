"""Long-running commands killed a few times, the quickest in `make test`; `make test-faults` does it a hundred times."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .campaign import Campaign
from .commands import COMMANDS
from .inputs import Inputs
from .killing import Host

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
    Campaign(name, host, inputs, tmp_path, seed=1).run(0, most=2)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in SHORT])
def test_and_so_do_the_slower_ones(name: str, host: Host, inputs: Inputs, tmp_path: Path) -> None:
    Campaign(name, host, inputs, tmp_path, seed=1).run(0, most=2)
