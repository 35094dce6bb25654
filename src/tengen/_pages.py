"""Pages for people: HTML that needs no other file, made of a template, our style sheet and pictures."""

import base64
from collections.abc import Mapping
from importlib import resources
from string import Template


def render_page(package: str, template: str, pictures: Mapping[str, bytes], **parts: str) -> bytes:
    """The page of a template that lies in a package; `pictures` (PNGs) and `parts` (HTML) by their names in it."""
    page = Template((resources.files(package) / template).read_text(encoding="utf-8"))
    style = (resources.files("tengen") / "report.css").read_text(encoding="utf-8")
    encoded = {name: base64.b64encode(picture).decode() for name, picture in pictures.items()}
    return page.substitute(parts, common_style=style, **encoded).encode()
