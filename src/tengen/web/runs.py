"""Training runs and tournaments of a folder, as a page shows them. All of it only reads, so runs may be under way.

A name from a page is looked up among those that are there: no path comes from outside.
"""

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

from tengen.arena.generation_table import run_options
from tengen.arena.results import GameResult
from tengen.games.game import get_game
from tengen.games.state import RESIGN
from tengen.learn.replay import ChunkFolder
from tengen.learn.zero_settings import ZeroConfig
from tengen.runs.folder import METRICS_FILE, read_metrics, read_settings
from tengen.search.generations import find_generation, generation_numbers
from tengen.web.inputs import as_number, as_setting, as_text
from tengen.web.study import Study, read_study, study_of

_MOST: Final = 200  # runs, and points of a curve
_DEEPEST: Final = 2
_LISTED: Final = 12  # games of self-play, rounds with duels
_MODELS: Final = "g*.safetensors"
_SIMULATIONS: Final = 64
_RANDOM: Final = "g0"  # a generation that moves at random

TOURNAMENT_FILE: Final = "tournament.json"
GENERATION_TABLES: Final = "crosstable/crosstable*.json"
"""Where `tengen tournament generations` puts the tables of a run."""
_LARGEST: Final = 50_000_000  # bytes of a file
_LARGEST_RECORD: Final = 1_000_000
_MOST_GAMES: Final = 400  # of a pair that are listed
_MOST_TABLES: Final = 20


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
    for file in (path / METRICS_FILE, path / TOURNAMENT_FILE, *path.glob(GENERATION_TABLES)):
        with suppress(OSError):
            found = max(found, file.stat().st_mtime)
    return found


def describe_run(name: str, path: Path) -> dict[str, Any]:
    """Everything that a page shows of a run or tournament; ValueError if it cannot be read."""
    view: dict[str, Any] = {"name": name, "touched": touched(path)}
    view |= {"settings": {}, "lines": 0, "series": {}, "duels": [], "games": [], "models": [], "tournament": None}
    view["tables"] = generation_tables(path)
    if (path / TOURNAMENT_FILE).is_file():
        view["tournament"] = tournament_of(path)
    if (path / METRICS_FILE).is_file():
        check_size(path / METRICS_FILE)
        lines = read_metrics(path)
        known = {key: value for key, value in read_settings(path).items() if value not in ("", None)}
        view["settings"] = {as_text(key): as_setting(value) for key, value in known.items()}
        view |= {"lines": len(lines), "series": _series(lines), "duels": _duels(lines)}
        view["models"] = [*players_of(path)]
        view["games"] = _games(path)
    return view


def players_of(path: Path) -> dict[str, str]:
    """The specs of a run's generations by name, the oldest first: of `tengen learn zero`, or of value networks."""
    found = {file.stem: f"zero:{file},sims={_SIMULATIONS}" for file in sorted((path / "models").glob(_MODELS))}
    numbers = generation_numbers(path)
    if numbers:
        found |= {_RANDOM: "random"}
    return found | {f"g{number}": f"value:{path},generation={number}" for number in numbers}


def is_generation(folder: Path, name: str, spec: str) -> bool:
    """Whether a spec is that of the generation of this name of one of today's runs."""
    return any(players_of(path).get(name) == spec for path in find_runs(folder).values())


def game_of_run(path: Path, komi: float | None) -> Any:
    """The start of the game that a run learns, at another komi if that is given."""
    if generation_numbers(path):
        options = run_options(path, math.nan if komi is None else komi)
    else:
        options = ZeroConfig.read(path).game_options()
    return get_game(options.game).new(options)


def replay(path: Path, index: int) -> Study:
    """One of the newest games of self-play, by its place in the list that `describe_run` gives."""
    for place, (moves, resigned, _) in enumerate(_newest(path)):
        if place == index:
            return _played(ZeroConfig.read(path).game_options(), moves, resigned)
    raise ValueError("this game has gone: the run has let go of it")


def _folders(path: Path) -> list[Path]:
    try:
        return [child for child in path.iterdir() if child.is_dir() and not child.name.startswith(".")]
    except OSError:
        return []


def _series(lines: Sequence[dict[str, Any]]) -> dict[str, list[list[float]]]:
    """Every number over the steps (or lines), thinned out."""
    names = dict.fromkeys(name for line in lines for name, value in line.items() if _is_number(value))
    found = {}
    for name in names:
        if name != "step":
            points = [(_step(line, n), line[name]) for n, line in enumerate(lines) if _is_number(line.get(name))]
            places = np.unique(np.linspace(0, len(points) - 1, min(len(points), _MOST)).astype(int))
            found[name] = [[points[i][0], float(f"{points[i][1]:.5g}")] for i in places]
    return {name: points for name, points in found.items() if len(points) > 1}


def _is_number(value: Any) -> bool:
    return as_number(value) is not None


def _step(line: dict[str, Any], number: int) -> float:
    step = as_number(line.get("step"))
    return number if step is None else step


def _duels(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The newest rounds in which generations met: each with (opponent, games won, drawn and lost)."""
    found = list[dict[str, Any]]()
    for line in reversed(lines):
        duels, promoted = line.get("duels"), line.get("gate_promoted")
        if not isinstance(duels, list) or not duels or len(found) == _LISTED:
            continue
        rows = [[as_number(each) or 0 for each in duel[:4]] for duel in duels if isinstance(duel, list)]
        found.append(
            {
                "generation": as_number(line.get("generation")) or 0,
                "duels": [row for row in rows if len(row) == 4],
                "elo": as_number(line.get("elo")),
                "gate_promoted": promoted if isinstance(promoted, bool) else None,
            }
        )
    return found


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


def check_size(file: Path, largest: int = _LARGEST) -> None:
    """ValueError if a file is too large to be shown."""
    if file.stat().st_size > largest:
        raise ValueError(f"{file.name} is too large to show")


def tournament_of(path: Path) -> dict[str, Any]:
    """Ratings and the score of every pair."""
    texts, numbers = ("name", "spec"), ("elo", "elo_error", "score", "wins", "losses", "draws")
    fields = _read(path / TOURNAMENT_FILE)
    try:
        agents = [
            {name: as_text(each.get(name, "")) for name in texts}
            | {name: as_number(each.get(name)) for name in numbers}
            for each in fields["agents"]
        ]
        pairs = [
            [as_text(each["a"]), as_text(each["b"]), as_number(each["score"]) or 0, _count(each)]
            for each in fields["pairs"]
        ]
    except (KeyError, TypeError, AttributeError):
        raise ValueError(f"{TOURNAMENT_FILE} is no table of a tournament") from None
    return {"agents": agents, "pairs": pairs, "games": as_number(fields.get("games"))}


def pair_games(path: Path, a: str, b: str) -> list[dict[str, Any]]:
    """The games of two agents of a tournament, the newest first: who moved first, who won, how, and how long it was."""
    folder, (first, second) = _pair(path, a, b)
    names = {"a": first, "b": second, None: ""}
    results = folder / "results.jsonl"
    if not results.is_file():
        return []
    check_size(results)
    found = list[dict[str, Any]]()
    for line in results.read_bytes().splitlines():
        try:
            game = GameResult.from_json(line)
            known = {"number": int(game.game), "first": names[game.first], "winner": names[game.winner]}
        except (ValueError, KeyError, TypeError):
            continue  # torn by a crash, or being written
        found.append(known | {"result": as_text(game.result), "moves": as_number(game.moves) or 0})
    return found[::-1][:_MOST_GAMES]


def pair_game(path: Path, a: str, b: str, number: int) -> Study:
    """One of these games."""
    folder, _ = _pair(path, a, b)
    for file in sorted((folder / "games").glob(f"{number:04d}.*")):
        check_size(file, _LARGEST_RECORD)
        return read_study(file.read_text("utf-8", "replace"))
    raise ValueError(f"there is no record of game {number}")


def generation_tables(path: Path) -> list[dict[str, Any]]:
    """The tables of a run of `tengen learn generations`: first and second generation, games won, drawn and lost."""
    found = list[dict[str, Any]]()
    for file in sorted(path.glob(GENERATION_TABLES))[:_MOST_TABLES]:
        fields = _read(file)
        try:
            settings = {name: value for name, value in fields["settings"].items() if value is not None}
            game = get_game(_learned_game(path))
            pairs = [[int(first), int(second), *map(int, rest)] for first, second, *rest in fields["pairs"]]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ValueError(f"{file.name} is no table of generations") from None
        about = {name: as_setting(settings[name]) for name in ("komi", "games", "random_moves") if name in settings}
        found.append({"name": file.stem, "players": list(game.players), "about": about, "pairs": pairs})
    return found


def _learned_game(path: Path) -> str:
    """The game that the generations of a run play: their models say it, the tables do not."""
    return find_generation(path).card.game if generation_numbers(path) else "go"


def _pair(path: Path, a: str, b: str) -> tuple[Path, tuple[str, str]]:
    """The folder of the match of two agents, and their names in its order."""
    fields = _read(path / TOURNAMENT_FILE)
    try:
        for each in fields["pairs"]:
            if {a, b} == {each["a"], each["b"]}:
                folder = (path / str(each["folder"])).resolve()
                if not folder.is_relative_to(path.resolve()):
                    break
                return folder, (each["a"], each["b"])
    except (KeyError, TypeError):
        pass
    raise ValueError("the tournament has kept no games of these two")


def _read(file: Path) -> Mapping[str, Any]:
    check_size(file)
    try:
        fields = json.loads(file.read_text("utf-8"))
    except RecursionError:
        raise ValueError(f"{file.name} is nested too deeply") from None
    if not isinstance(fields, dict):
        raise ValueError(f"{file.name} is no table")
    return fields


def _count(pair: Mapping[str, Any]) -> str:
    return as_text("-".join(as_text(as_number(pair[name])) for name in ("wins", "losses", "draws")))
