"""The frame of all reports: `report.html`, which needs no other file, and the curves in it as `curves.png`."""

import base64
from importlib import resources
from pathlib import Path
from string import Template
from typing import Final

from tengen._files import write_atomically

REPORT_FILE: Final = "report.html"
CURVES_FILE: Final = "curves.png"


def write_page(run: Path, template: str, curves: bytes, **parts: str) -> Path:
    """Write the page of a run's directory from one of our templates; `curves` is a PNG. Returns the page's path."""
    folder = resources.files("tengen.learn")
    page = Template((folder / template).read_text(encoding="utf-8")).substitute(
        parts,
        common_style=(folder / "report.css").read_text(encoding="utf-8"),
        curves=base64.b64encode(curves).decode(),
    )
    write_atomically(run / CURVES_FILE, curves)
    write_atomically(run / REPORT_FILE, page.encode())
    return run / REPORT_FILE
