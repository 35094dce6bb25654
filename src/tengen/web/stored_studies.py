"""Studies on disk, each in a file of its own, so that they survive a restart as games do.

A file holds the record that the study began with, and what was added to it: moves, the results of analysis, and the
position that was shown last.
"""

import base64
import json
from dataclasses import astuple
from pathlib import Path
from typing import Any, Final

from tengen._files import write_atomically
from tengen.web.stored_games import is_id
from tengen.web.study import Judgement, Source, Study, read_study

MOST_STUDIES: Final = 1_000
"""The studies that are kept; the oldest goes when another comes."""
_FORMAT: Final = 1
_LISTED: Final = ("id", "title", "about", "names", "result", "positions")


class StoredStudies:
    """A folder of studies."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, name: str, study: Study) -> None:
        """Write a study whole, or not at all."""
        self._folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self._path(name), json.dumps(as_json(name, study), ensure_ascii=False).encode())

    def load(self, name: str) -> Study:
        """The study of this name; ValueError if there is none."""
        try:
            return from_json(json.loads(self._path(name).read_text("utf-8")))
        except (OSError, KeyError, TypeError, IndexError, ValueError, RecursionError):
            raise ValueError("this study has gone: load its record again") from None

    def remove(self, name: str) -> None:
        """Forget a study."""
        self._path(name).unlink(missing_ok=True)

    def newest(self, most: int) -> list[dict[str, Any]]:
        """What is shown of the newest studies in a list, the newest first."""
        found = list[dict[str, Any]]()
        for path in self._files()[:most]:
            try:
                fields = json.loads(path.read_text("utf-8"))
                found.append({name: fields[name] for name in _LISTED} | {"touched": path.stat().st_mtime})
            except (OSError, ValueError, KeyError, TypeError, RecursionError):
                continue
        return found

    def drop_oldest(self) -> None:
        """Keep the newest only."""
        for path in self._files()[MOST_STUDIES:]:
            path.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        found = list[tuple[float, Path]]()
        for path in self._folder.glob("*.json"):
            try:
                found.append((path.stat().st_mtime, path))
            except OSError:
                continue
        return [path for _, path in sorted(found, reverse=True)]

    def _path(self, name: str) -> Path:
        if not is_id(name):
            raise ValueError("there is no such study here")
        return self._folder / f"{name}.json"


def as_json(name: str, study: Study) -> dict[str, Any]:
    """What a file holds."""
    source = study.source
    assert source is not None
    judged = {str(number): astuple(node.judgement) for number, node in enumerate(study.nodes) if node.judgement}
    return {
        "format": _FORMAT,
        "id": name,
        "title": study.game.title,
        "about": study.game.describe(study.game.options_of(study.nodes[0].state)),
        "names": list(study.names),
        "result": study.result,
        "positions": len(study.nodes),
        "record": base64.b64encode(source.text.encode("utf-8", "surrogatepass")).decode(),
        "encoding": source.encoding,
        "game": source.game,
        "added": [[node.parent, node.move] for node in study.nodes[study.read :]],
        "judged": judged,
        "at": study.at,
    }


def from_json(fields: dict[str, Any]) -> Study:
    """The study of a file; KeyError, TypeError or ValueError if it is none."""
    text = base64.b64decode(fields["record"]).decode("utf-8", "surrogatepass")
    study = read_study(Source(text, str(fields["encoding"]), int(fields["game"])))
    study.names = str(fields["names"][0]), str(fields["names"][1])
    study.result = str(fields["result"])
    for parent, move in fields["added"]:
        study.play(int(parent), str(move))
    for number, (visits, chance, score, best, line) in fields["judged"].items():
        points = None if score is None else float(score)
        study.node(int(number)).judgement = Judgement(
            int(visits), float(chance), points, str(best), tuple(map(str, line))
        )
    study.at = int(fields["at"])
    study.node(study.at)
    return study
