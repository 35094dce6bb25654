"""Every write, sync and rename of the page's store fails in turn: python -m tests.faults.page_store FOLDER

Runs under `failing.c`, in one process for all failures. After each of them what was saved before must still be there,
the message must name the file, no part of a file may be left, and the same save must then succeed.
"""

import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tengen.games import go
from tengen.web.storage import PlayedGame, StoredGames, StoredStudies
from tengen.web.study import Study, read_study

from .failing import Plan

_GAMES = tuple(f"game-{number:011d}" for number in range(2))
_STUDIES = tuple(f"study-{number:010d}" for number in range(2))
_LINE = ("C3", "D3", "B2", "pass")

Step = tuple[str, int, Callable[[], object]]


def steps(folder: Path) -> Iterator[Step]:
    """Saves: of what, how many positions it has then, and how."""
    games, studies = StoredGames(folder), StoredStudies(folder / "studies")
    for name in _GAMES:
        state = go.State.new(size=5)
        for move in _LINE:
            state = state.play(state.parse_move(move))
            played = PlayedGame(name, state, ("human", "human"), ("", ""))
            yield name, state.move_number, lambda played=played: games.save(played)  # type: ignore[misc]
    for name in _STUDIES:
        study: Study = read_study("(;SZ[5];B[cc](;W[dd])(;W[ee]))")
        for move in _LINE[1:]:
            study.play(1, move)
            yield name, len(study.nodes), lambda study=study, name=name: studies.save(name, study)  # type: ignore[misc]


def check(folder: Path, saved: dict[str, int], begun: dict[str, int]) -> None:
    """What was saved is there, or what was about to be."""
    for name, least in saved.items():
        if name in _GAMES:
            found = StoredGames(folder).load(name).state.move_number
        else:
            found = len(StoredStudies(folder / "studies").load(name).nodes)
        assert found in (least, begun.get(name)), f"{name}: {found}, saved were {least}"
    left = [path.name for path in folder.rglob("*") if path.name.startswith(".")]
    assert not left, f"{left} are left"


def run(folder: Path, plan: Plan) -> int:
    """All steps, one of which may fail once; how often one did."""
    saved, failures = dict[str, int](), 0
    for name, size, save in steps(folder):
        try:
            save()
        except OSError as error:
            failures += 1
            check(folder, saved, {name: size})
            line = str(error)
            assert str(folder) in line and ".part" not in line, f"{plan.failed}: {line}"
            save()
        saved[name] = size
    check(folder, saved, {})
    assert set(saved) == {*_GAMES, *_STUDIES}
    return failures


def main() -> None:
    """All moments, each with both errors."""
    folder, plan = Path(sys.argv[1]), Plan(Path(os.environ["TENGEN_FAILING"]))
    plan.fail(folder, 0, 0)
    run(folder, plan)
    count, failures = plan.done, 0
    for nth in range(1, count + 1):
        for error in (errno.ENOSPC, errno.EIO):
            shutil.rmtree(folder)
            folder.mkdir()
            plan.fail(folder, nth, error)
            failures += run(folder, plan)
            assert plan.failed, nth
    print(f"{count} moments, {failures} failures")


if __name__ == "__main__":
    main()
