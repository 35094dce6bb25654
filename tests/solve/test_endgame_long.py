"""The whole set of endgame tables: every value by the rules, and mates as Fairy-Stockfish finds them."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tengen.games.microchess import variant_name, variants_path
from tengen.solve.endgame_build import build_tables
from tengen.solve.endgame_index import DRAW, UNUSED, all_materials
from tengen.solve.endgame_tables import check_tables, open_table, position_fen

pytestmark = pytest.mark.long


@pytest.fixture(scope="module", params=[True, False], ids=["double step", "single step"])
def double_step(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, double_step: bool) -> Path:
    """All tables of up to five pieces."""
    folder = tmp_path_factory.mktemp("tables")
    build_tables(folder, 5, double_step)
    return folder


def test_every_value_of_five_pieces_follows_from_those_one_move_on(folder: Path, double_step: bool) -> None:
    checked = list(check_tables(folder, 5, double_step))
    assert [one.material for one in checked] == all_materials(5)
    assert [one.fault for one in checked if one.faults] == []


def test_no_mate_comes_too_late_for_the_fifty_moves(folder: Path, double_step: bool) -> None:
    """A capture or a pawn's move behind, whoever wins by the tables wins by the rules."""
    assert max(open_table(folder, material, double_step).facts.longest for material in all_materials(5)) < 100


class FairyStockfish:
    """The engine, asked for mates."""

    def __init__(self, path: str, double_step: bool) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([path], stdin=pipe, stdout=pipe, text=True, bufsize=1)
        self._say(f"setoption name VariantPath value {variants_path()}")
        self._say(f"setoption name UCI_Variant value {variant_name(double_step)}")

    def mate(self, fen: str, depth: int) -> int | None:
        """In how many moves the side to move mates, or is mated (not positive), if a search of this depth sees one."""
        self._say("ucinewgame")
        self._say(f"position fen {fen}")
        self._say(f"go depth {depth}")
        assert self._process.stdout is not None
        found = None
        for line in self._process.stdout:
            words = line.split()
            if words[:1] == ["bestmove"]:
                return found
            if "score" in words:
                kind, number = words[words.index("score") + 1 :][:2]
                found = int(number) if kind == "mate" else None
        raise AssertionError("the engine went away")

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")

    def close(self) -> None:
        self._say("quit")
        self._process.wait(10)


@pytest.fixture
def fairy_stockfish(double_step: bool) -> Iterator[FairyStockfish]:
    path = shutil.which("fairy-stockfish", path=os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/games"]))
    if path is None:
        pytest.skip("needs Fairy-Stockfish on PATH or in /usr/games (Debian: apt install fairy-stockfish)")
    engine = FairyStockfish(path, double_step)
    yield engine
    engine.close()


def test_fairy_stockfish_finds_the_same_mates(folder: Path, double_step: bool, fairy_stockfish: FairyStockfish) -> None:
    """It proves what it claims, so no mate of its may be sooner than ours; most short ones it sees as we do."""
    rng = np.random.default_rng(5)
    equal = short = 0
    for material in all_materials(5)[1:]:
        values = open_table(folder, material, double_step).values()
        legal = np.flatnonzero(values != UNUSED)
        for index in rng.choice(legal, min(4, len(legal)), replace=False).tolist():
            fen = position_fen(material, index)
            plies = int(values[index]) - 1
            mate = fairy_stockfish.mate(fen, 16)
            if values[index] == DRAW:
                assert mate is None, fen
                continue
            ours = (plies + 1) // 2 if plies % 2 else -plies // 2
            if mate is not None:
                assert (mate > 0) == (ours > 0), fen
                assert abs(mate) >= abs(ours), fen
            if plies <= 7:
                short += 1
                equal += mate == ours
    assert short > 100
    assert equal > 0.9 * short  # at this depth it passes over some and finds longer ones
