"""Models that come with Tengen, by short name: `go19` is `tengen/models/go19.safetensors`."""

from pathlib import Path

import tengen
from tengen.nets.model_file import ModelFileError

SUFFIX = ".safetensors"
_FOLDER = Path(tengen.__file__).parent / "models"


def bundled_models() -> dict[str, Path]:
    """Every model that comes with Tengen."""
    return {path.name.removesuffix(SUFFIX): path for path in sorted(_FOLDER.glob(f"*{SUFFIX}"))}


def find_model(name: str | Path) -> Path:
    """The file of a model: a bundled one by its short name, or any by its path."""
    bundled = bundled_models()
    if str(name) in bundled:
        return bundled[str(name)]
    path = Path(name).expanduser()
    if path.is_file():
        return path
    known = f"choose from {', '.join(bundled)} or give" if bundled else "give"
    raise ModelFileError(f"no model is called {str(name)[:200]!r}: {known} the path of a {SUFFIX} file")
