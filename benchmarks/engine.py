"""The measures behind `tengen bench engine`: functions that return units per second of processor time."""

import json
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from tengen.games import go
from tengen.games.go.board import allocate, new_board, new_boards
from tengen.games.go.legality import legal_policies, play_policies
from tengen.games.go.playout import playouts
from tengen.search.uct import UctParameters, UctRoot, new_scratch, new_tree, simulate

SIZES = (5, 9, 19)
_PLAYOUTS = {5: 100_000, 9: 40_000, 19: 8_000}
_SIMULATIONS = {5: 20_000, 9: 10_000, 19: 2_000}
_LOCKSTEP_GAMES = 1024

Measure = Callable[[], float]


@dataclass
class EngineRow:
    """One thing that is measured, by Tengen and by its yardsticks, in units per second."""

    what: str
    size: int
    tengen: float
    yardsticks: dict[str, float] = field(default_factory=dict)

    def ratio(self, yardstick: str) -> float:
        """How many times as fast as the yardstick."""
        return self.tengen / self.yardsticks[yardstick]


def measure_engine(rounds: int, yardsticks: Path) -> list[EngineRow]:
    """Take every measure `rounds` times in turn and keep the best of each."""
    with ExitStack() as stack:
        cpp = _compile_yardstick(yardsticks, stack)
        plan = _plan()
        best: dict[tuple[str, int, str], float] = {}
        for _ in track(range(rounds), description="measuring", transient=True):
            for key, measure in plan:
                best[key] = max(best.get(key, 0.0), measure())
            for size, moves in _run_cpp(cpp).items() if cpp else ():
                key = ("playouts", size, "C++")
                best[key] = max(best.get(key, 0.0), moves)
    return _rows(best)


def print_table(report: list[EngineRow]) -> None:
    """Show the figures on the terminal."""
    table = Table(title="Tengen engine, one core, per second of processor time")
    for column in ("measure", "board", "Tengen"):
        table.add_column(column, justify="left" if column == "measure" else "right")
    names = sorted({name for row in report for name in row.yardsticks})
    for name in names:
        table.add_column(name, justify="right")
        table.add_column("ratio", justify="right")
    for row in report:
        cells = [row.what, f"{row.size}x{row.size}", f"{row.tengen:,.0f}"]
        for name in names:
            known = name in row.yardsticks
            cells += [f"{row.yardsticks[name]:,.0f}", f"{row.ratio(name):.2f}"] if known else ["", ""]
        table.add_row(*cells)
    Console().print(table)


def write_json(report: list[EngineRow], path: Path) -> None:
    """Write the figures for machines."""
    rows = [asdict(row) | {"ratios": {name: row.ratio(name) for name in row.yardsticks}} for row in report]
    path.write_text(json.dumps({"engine": rows}, indent=2) + "\n")


def _rows(best: dict[tuple[str, int, str], float]) -> list[EngineRow]:
    rows: dict[tuple[str, int], EngineRow] = {}
    for (what, size, who), rate in best.items():
        row = rows.setdefault((what, size), EngineRow(what, size, 0.0))
        if who == "tengen":
            row.tengen = rate
        else:
            row.yardsticks[who] = rate
    return list(rows.values())


# --------------------------------------------------------------------------------------------- Tengen's


def _plan() -> list[tuple[tuple[str, int, str], Measure]]:
    plan: list[tuple[tuple[str, int, str], Measure]] = []

    def add(what: str, size: int, who: str, measure: Measure) -> None:
        measure()  # compiled and warm before anything counts
        plan.append(((what, size, who), measure))

    for size in SIZES:
        add("playouts", size, "tengen", _playouts(size))
    for size in SIZES:
        add("batch moves", size, "tengen", _lockstep(size))
    for size in SIZES:
        add("API moves", size, "tengen", _friendly(size))
        if (openspiel := _openspiel_moves(size)) is not None:
            add("API moves", size, "OpenSpiel", openspiel)
        if (sente := _sente_moves(size)) is not None:
            add("API moves", size, "sente", sente)
    for size in SIZES:
        for guided in (False, True):
            what = "UCT, guided" if guided else "UCT, light"
            add(what, size, "tengen", _simulations(size, guided))
            if (mcts := _openspiel_mcts(size)) is not None:
                add(what, size, "OpenSpiel", mcts)
    return plan


def _timed(work: Callable[[], int]) -> Measure:
    """Units per second of processor time of something that returns how many units it did."""

    def measure() -> float:
        start = time.process_time()
        done = work()
        return done / (time.process_time() - start)

    return measure


def _playouts(size: int) -> Measure:
    board, scratch, rng = new_board(size), allocate(size), np.array([2463534242], np.uint64)
    first_player, ownership = np.empty_like(board.color), np.zeros(len(board.color), np.int64)

    def work() -> int:
        playouts(board, scratch, 0, first_player, ownership, _PLAYOUTS[size], rng)
        return _PLAYOUTS[size]

    return _timed(work)


def _lockstep(size: int, plies: int = 30) -> Measure:
    """Random legal moves in many games at once: legal masks, a draw and a move for all, by kernels."""
    flags = go.State.new(size).rules.flags
    rng = np.random.default_rng(1)

    def work() -> int:
        boards = new_boards(size, _LOCKSTEP_GAMES)
        histories = np.zeros((_LOCKSTEP_GAMES, plies + 1), np.int64)
        lengths = np.ones(_LOCKSTEP_GAMES, np.int64)
        legal = np.empty((_LOCKSTEP_GAMES, size * size + 1), np.bool_)
        for _ in range(plies):
            legal_policies(boards, flags, histories, lengths, legal)
            moves = np.argmax(rng.random(legal.shape, np.float32) * legal, axis=1)
            play_policies(boards, moves, flags, histories, lengths)
        return plies * _LOCKSTEP_GAMES

    return _timed(work)


def _friendly(size: int, moves: int = 3000) -> Measure:
    """Random legal moves through `go.State`: list the legal moves, choose, play."""
    draw = random.Random(1)

    def work() -> int:
        state = go.State.new(size)
        for _ in range(moves):
            if state.is_over or state.move_number > 2 * size * size:
                state = go.State.new(size)
            state = state.play(draw.choice(state.legal_moves()))
        return moves

    return _timed(work)


def _simulations(size: int, guided: bool) -> Measure:
    state = go.State.new(size)
    dead = np.zeros(len(state.board.color), np.uint8)
    root = UctRoot(state.board, 0, 0, len(state.history), state.rules.flags, state.komi, dead, True)
    tree, scratch = new_tree(2_000_000), new_scratch(size, state.history)
    parameters, rng = UctParameters(guided=guided), np.array([88172645463325252], np.uint64)

    def work() -> int:
        tree.used[0] = 1
        tree.child_count[0] = 0
        simulate(tree, root, scratch, parameters, _SIMULATIONS[size], rng)
        return _SIMULATIONS[size]

    return _timed(work)


# ------------------------------------------------------------------------------------------- yardsticks


def _compile_yardstick(folder: Path, stack: ExitStack) -> Path | None:
    """The compiled C++ playout, or None where there is no source or no compiler."""
    source, compiler = folder / "playout.cpp", shutil.which("g++")
    if not source.is_file() or compiler is None:
        return None
    program = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "playout"
    subprocess.run(
        [compiler, "-O3", "-march=native", "-o", str(program), str(source)],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    return program


def _run_cpp(program: Path) -> dict[int, float]:
    """Playouts per second of processor time by board size, from lines such as `9 playouts/s 115000 moves/s ...`."""
    output = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    return {int(words[0]): float(words[2]) for line in output.splitlines() if (words := line.split())}


def _openspiel_moves(size: int, moves: int = 20_000) -> Measure | None:
    game = _openspiel_game(size)
    draw = random.Random(1)
    if game is None:
        return None

    def work() -> int:
        state = game.new_initial_state()
        for _ in range(moves):
            if state.is_terminal():
                state = game.new_initial_state()
            state.apply_action(draw.choice(state.legal_actions()))
        return moves

    return _timed(work)


def _openspiel_mcts(size: int) -> Measure | None:
    """OpenSpiel's own MCTS in C++ with one random rollout a simulation."""
    game = _openspiel_game(size)
    if game is None:
        return None
    import pyspiel

    simulations = {5: 4000, 9: 1000, 19: 100}[size]

    def work() -> int:
        bot = pyspiel.MCTSBot(game, pyspiel.RandomRolloutEvaluator(1, 7), 1.4, simulations, 1000, False, 7, False)
        bot.step(game.new_initial_state())
        return simulations

    return _timed(work)


def _openspiel_game(size: int) -> Any | None:
    try:
        import pyspiel
    except ImportError:
        return None
    return pyspiel.load_game(f"go(board_size={size},komi=7.5)")


def _sente_moves(size: int, moves: int = 2000) -> Measure | None:
    """sente knows 9x9, 13x13 and 19x19 only."""
    try:
        import sente
    except ImportError:
        return None
    if size not in (9, 19):
        return None
    draw = random.Random(1)

    def work() -> int:
        game = sente.Game(size)
        for played in range(moves):
            if played % (size * size) == 0:
                game = sente.Game(size)
            game.play(draw.choice(game.get_legal_moves()))
        return moves

    return _timed(work)
