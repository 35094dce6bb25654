"""Training runs and tournaments of a folder, as a page shows them. All of it only reads, so runs may be under way.

A name from a page is looked up among those that are there: no path comes from outside.
"""

import json
import math
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

from tengen.games.game import get_game
from tengen.games.state import RESIGN
from tengen.learn.replay_chunks import ChunkFolder
from tengen.learn.run_directory import METRICS_FILE, read_metrics, read_settings
from tengen.learn.zero_config import read_config
from tengen.web.study import Study, study_of

TOURNAMENT_FILE: Final = "tournament.json"
_MOST: Final = 200  # runs, and points of a curve
_DEEPEST: Final = 2
_LISTED: Final = 12  # games of self-play, rounds with duels
_LARGEST: Final = 50_000_000  # bytes of a file
_MODELS: Final = "g*.safetensors"


def find_runs(folder: Path) -> dict[str, Path]:
    """The runs and tournaments in a folder, by name, the newest first."""
    found = list[tuple[float, Path]]()
    level = [folder]
    for _ in range(_DEEPEST):
        level = [path for parent in level for path in _folders(parent)][: 10 * _MOST]
        found += [(when, path) for path in level if (when := touched(path)) > 0]
    found.sort(key=lambda each: -each[0])
    return {path.relative_to(folder).as_posix(): path for _, path in found[:_MOST]}


def touched(path: Path) -> float:
    """When a run or tournament was last written to; 0: the folder holds none."""
    found = 0.0
    for name in (METRICS_FILE, TOURNAMENT_FILE):
        with suppress(OSError):
            found = max(found, (path / name).stat().st_mtime)
    return found


def describe_run(name: str, path: Path) -> dict[str, Any]:
    """Everything that a page shows of a run or tournament; ValueError if it cannot be read."""
    view: dict[str, Any] = {"name": name, "touched": touched(path)}
    view |= {"settings": {}, "lines": 0, "series": {}, "duels": [], "games": [], "models": [], "tournament": None}
    if (path / TOURNAMENT_FILE).is_file():
        view["tournament"] = _tournament(path / TOURNAMENT_FILE)
    if (path / METRICS_FILE).is_file():
        _check_size(path / METRICS_FILE)
        lines = read_metrics(path)
        view["settings"] = {key: value for key, value in read_settings(path).items() if value not in ("", None)}
        view |= {"lines": len(lines), "series": _series(lines), "duels": _duels(lines)}
        view["models"] = [file.stem for file in generations(path)]
        view["games"] = _games(path)
    return view


def generations(path: Path) -> list[Path]:
    """The models of a run of `tengen learn zero`, the oldest first."""
    return sorted((path / "models").glob(_MODELS))


def replay(path: Path, index: int) -> Study:
    """One of the newest games of self-play, by its place in the list that `describe_run` gives."""
    for place, (moves, resigned, _) in enumerate(_newest(path)):
        if place == index:
            return _played(read_config(path).game_options(), moves, resigned)
    raise ValueError("this game has gone: the run has let go of it")


def _folders(path: Path) -> list[Path]:
    try:
        return [child for child in path.iterdir() if child.is_dir() and not child.name.startswith(".")]
    except OSError:
        return []


def _check_size(file: Path) -> None:
    if file.stat().st_size > _LARGEST:
        raise ValueError(f"{file.name} is too large to show")


def _series(lines: Sequence[dict[str, Any]]) -> dict[str, list[list[float]]]:
    """Every number over the steps (or lines), thinned out."""
    names = dict.fromkeys(name for line in lines for name, value in line.items() if _is_number(value))
    found = {}
    for name in names:
        if name != "step":
            points = [(line.get("step", n), line[name]) for n, line in enumerate(lines) if _is_number(line.get(name))]
            places = np.unique(np.linspace(0, len(points) - 1, min(len(points), _MOST)).astype(int))
            found[name] = [[points[i][0], float(f"{points[i][1]:.5g}")] for i in places]
    return {name: points for name, points in found.items() if len(points) > 1}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _duels(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The newest rounds in which generations met."""
    met = [line for line in reversed(lines) if line.get("duels")][:_LISTED]
    return [{name: line.get(name) for name in ("generation", "duels", "elo", "gate_promoted")} for line in met]


def _newest(path: Path) -> list[tuple[list[int], bool, dict[str, Any]]]:
    """The newest games of self-play: actions, whether one resigned, and what is known of each."""
    found = list[tuple[list[int], bool, dict[str, Any]]]()
    folder = path / "chunks"
    if not folder.is_dir():
        return found
    chunks = ChunkFolder(folder, tidy=False)
    for facts in reversed(chunks.facts):
        played = chunks.read_games(facts)
        for i in range(len(played.winner) - 1, -1, -1):
            moves = played.moves[played.offsets[i] : played.offsets[i + 1]].tolist()
            known = {"generation": facts.generation, "winner": int(played.winner[i]), "length": len(moves)}
            found.append((moves, bool(played.resigned[i]), known))
            if len(found) == _LISTED:
                return found
    return found


def _games(path: Path) -> list[dict[str, Any]]:
    return [known for _, _, known in _newest(path)]


def _played(options: Any, actions: Sequence[int], resigned: bool) -> Study:
    state = get_game(options.game).new(options)
    for action in actions:
        state = state.play(state.move_of(action))
    return study_of(state.play(RESIGN) if resigned and not state.is_over else state)


def _tournament(file: Path) -> dict[str, Any]:
    """Ratings and the score of every pair."""
    _check_size(file)
    shown = ("name", "spec", "elo", "elo_error", "score", "wins", "losses", "draws")
    try:
        fields = json.loads(file.read_text("utf-8"))
        agents = [{name: each.get(name) for name in shown} for each in fields["agents"]]
        pairs = [[str(each["a"]), str(each["b"]), each["score"], _count(each)] for each in fields["pairs"]]
        return {"agents": agents, "pairs": pairs, "games": fields.get("games")}
    except (KeyError, TypeError, AttributeError):
        raise ValueError(f"{file.name} is no table of a tournament") from None


def _count(pair: dict[str, Any]) -> str:
    return f"{pair['wins']}-{pair['losses']}-{pair['draws']}"
