"""The frame of all reports: `report.html`, which needs no other file, and the curves in it as `curves.png`."""

from pathlib import Path
from typing import Final

from tengen._pages import render_page
from tengen.runs.files import write_atomically

REPORT_FILE: Final = "report.html"
CURVES_FILE: Final = "curves.png"


def write_page(run: Path, template: str, curves: bytes, **parts: str) -> Path:
    """Write the page of a run's directory from one of our templates; `curves` is a PNG. Returns the page's path."""
    page = render_page("tengen.learn", template, {"curves": curves}, **parts)
    write_atomically(run / CURVES_FILE, curves)
    write_atomically(run / REPORT_FILE, page)
    return run / REPORT_FILE
