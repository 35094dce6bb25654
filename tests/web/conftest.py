"""One server and one browser for all tests of the page."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tengen.web.app import STATIC, WebConfig

from ..conftest import IN_CI
from .chromium import Chromium, find_chromium
from .served import Page, Served


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with an opponent of its own."""
    config = WebConfig(tmp_path_factory.mktemp("games"), opponents={"Own": "random"})
    server = Served(config)
    yield server
    server.close()


@pytest.fixture
def page(served: Served) -> Iterator[Page]:
    """A page without a browser."""
    page = Page(served)
    yield page
    page.close()


@pytest.fixture
def chromium(browser: Chromium) -> Iterator[Chromium]:
    """The browser. Nothing of what a test does may make the page report an error."""
    browser.send("Page.navigate", url="about:blank")  # the last test's page may miss its server
    browser.wait("location.href === 'about:blank'")
    browser.complaints.clear()
    yield browser
    assert [one for one in browser.complaints if "nothing-here" not in one and "favicon" not in one] == []


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A real browser; without one the test is skipped, but in CI it fails."""
    program = find_chromium()
    missing = ""
    if program is None:
        missing = "needs Chromium (Debian: apt install chromium)"
    elif not (STATIC / "index.html").is_file():
        missing = "needs the built page: make page"
    if missing or program is None:
        if IN_CI:
            pytest.fail(missing)
        pytest.skip(missing)
    profile: Path = tmp_path_factory.mktemp("chromium")
    browser = Chromium(program, profile)
    yield browser
    browser.close()
