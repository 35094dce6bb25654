"""Lets no wheel be built without the page that `tengen web` serves; editable installs go without."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface[Any]):
    """Looks for the built page before a wheel is made."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """`version`: what kind of wheel, `standard` or `editable`."""
        page = Path(self.root) / "src" / "tengen" / "web" / "static" / "index.html"
        if version != "editable" and not page.is_file():
            raise FileNotFoundError(f"{page} is not there: run  make page  before you build a wheel")
