"""Cross tables of a folder: tournaments with the games of each pair, and generations of value networks.

All of it only reads. A name or number from a page is looked up among those that are there.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tengen.arena.results import GameResult
from tengen.games.game import get_game
from tengen.nets.generations import find_generation, generation_numbers
from tengen.web.fields import as_number, as_setting, as_text
from tengen.web.study import Study, read_study

TOURNAMENT_FILE: Final = "tournament.json"
GENERATION_TABLES: Final = "crosstable/crosstable*.json"
"""Where `tengen tournament generations` puts the tables of a run."""
_LARGEST: Final = 50_000_000  # bytes of a file
_LARGEST_RECORD: Final = 1_000_000
_MOST_GAMES: Final = 400  # of a pair that are listed
_MOST_TABLES: Final = 20


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
