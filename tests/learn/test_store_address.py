"""Where the processes of a group meet: on one address of this machine, not on all."""

import sys
from pathlib import Path

import pytest

from tengen.learn.supervised import open_store


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_the_store_listens_on_its_own_address_alone() -> None:
    store = open_store("127.0.0.1")
    store.set("a", "1")
    tables = [Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6")]
    listening = [line.split() for table in tables for line in table.splitlines()]
    places = [each[1].split(":") for each in listening if each[3] == "0A"]
    assert [host for host, port in places if int(port, 16) == store.port] == ["0100007F"]
