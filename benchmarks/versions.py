"""Two versions of Tengen side by side: `python -m benchmarks.versions OLD [NEW]`.

OLD and NEW are checkouts (NEW is this one if not given). A process of each takes every measure in turn, so that both
meet the same load, and the best of `--rounds` counts, per second of processor time on one core.
It shares no code with `tengen bench`, because it has to run on versions that lack it.

    git worktree add ../before v0.1.0
    python -m benchmarks.versions ../before --rounds 5
"""

import argparse
import importlib
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

SIZES = (5, 9, 19)
_GAMES = 1024
_SELF_PLAY = {5: ("go5", 3.5, 256), 9: ("alphago9", 7.0, 128)}


def main() -> None:
    """Ask for two checkouts, and print a table."""
    parser = argparse.ArgumentParser(description="Measure two versions of Tengen in turn.")
    parser.add_argument("old", type=Path, help="a checkout of the old version")
    parser.add_argument("new", type=Path, nargs="?", default=Path(__file__).parents[1], help="of the new one (this)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each measure is taken; the best counts")
    parser.add_argument("--only", default="", help="measures whose names contain this")
    given = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    versions = [_start(path, given.only) for path in (given.old, given.new)]
    names = [json.loads(process.stdout.readline()) for process in versions]
    shared = [name for name in names[0] if name in names[1]]
    print(f"{'measure':28} {'old':>12} {'new':>12} {'new / old':>10}")
    for name in shared:
        best = [0.0, 0.0]
        for _ in range(given.rounds):
            for k, process in enumerate(versions):
                process.stdin.write(name + "\n")
                process.stdin.flush()
                best[k] = max(best[k], float(process.stdout.readline()))
        print(f"{name:28} {best[0]:12,.0f} {best[1]:12,.0f} {best[1] / best[0]:10.2f}", flush=True)
    for process in versions:
        process.stdin.close()
        process.wait()


def _start(checkout: Path, only: str) -> Any:
    source = checkout / "src"
    if not (source / "tengen").is_dir():
        raise SystemExit(f"{checkout} is not a checkout of Tengen: it has no src/tengen")
    command = [sys.executable, str(Path(__file__).resolve()), "--serve", only]
    environment = os.environ | {"PYTHONPATH": str(source.resolve())}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def _serve(only: str) -> None:
    """In a process of one version: print the names of all measures, then answer each name that is asked for."""
    measures = {name: work for name, work in _measures(only) if work() >= 0}  # compiled and warm
    print(json.dumps(list(measures)), flush=True)
    for line in sys.stdin:
        start = time.process_time()
        done = measures[line.strip()]()
        print(done / (time.process_time() - start), flush=True)


def _measures(only: str) -> Iterator[tuple[str, Callable[[], int]]]:
    made: list[tuple[str, Callable[[int], Callable[[], int]], tuple[int, ...]]] = [
        ("playouts", _playouts, SIZES),
        ("batch moves", _batch_moves, SIZES),
        ("VectorEnv moves", _vector_env, SIZES),
        ("API moves", _api_moves, SIZES),
        ("UCT, light", lambda size: _uct(size, False), SIZES),
        ("UCT, guided", lambda size: _uct(size, True), SIZES),
        ("replay, oneplane", lambda size: _encode(size, "oneplane"), (19,)),
        ("replay, alphago", lambda size: _encode(size, "alphago"), (19,)),
        ("lock-step moves", _lockstep, (9,)),
        ("self-play simulations", _self_play, (5, 9)),
        ("alphago simulations", _alphago, (9,)),
    ]
    for what, make, sizes in made:
        for size in sizes:
            name = f"{what} {size}x{size}"
            if only in name:
                yield name, make(size)


def _playouts(size: int) -> Callable[[], int]:
    import numpy as np

    from tengen.games.go.board import allocate, new_board
    from tengen.games.go.playout import playouts

    board, scratch, rng = new_board(size), allocate(size), np.array([2463534242], np.uint64)
    first_player, ownership = np.empty_like(board.color), np.zeros(len(board.color), np.int64)
    count = 3_000_000 // (size * size * 3)

    def work() -> int:
        playouts(board, scratch, 0, first_player, ownership, count, rng)
        return count

    return work


def _batch_moves(size: int, plies: int = 30) -> Callable[[], int]:
    import numpy as np

    from tengen.games import go
    from tengen.games.go.board import new_boards
    from tengen.games.go.legality import legal_policies, play_policies

    flags, rng = go.State.new(size).rules.flags, np.random.default_rng(1)

    def work() -> int:
        boards, lengths = new_boards(size, _GAMES), np.ones(_GAMES, np.int64)
        histories = np.zeros((_GAMES, plies + 1), np.int64)
        legal = np.empty((_GAMES, size * size + 1), np.bool_)
        for _ in range(plies):
            legal_policies(boards, flags, histories, lengths, legal)
            moves = np.argmax(rng.random(legal.shape, np.float32) * legal, axis=1)
            play_policies(boards, moves, flags, histories, lengths)
        return plies * _GAMES

    return work


def _vector_env(size: int, steps: int = 20) -> Callable[[], int]:
    from tengen.envs.vector import VectorEnv

    env = VectorEnv("go", 256, size=size)

    def work() -> int:
        for _ in range(steps):
            env.step(env.sample())
        return steps * 256

    return work


def _api_moves(size: int, moves: int = 3000) -> Callable[[], int]:
    from tengen.games import go

    draw = random.Random(1)

    def work() -> int:
        state = go.State.new(size)
        for _ in range(moves):
            if state.is_over or state.move_number > 2 * size * size:
                state = go.State.new(size)
            state = state.play(draw.choice(state.legal_moves()))
        return moves

    return work


def _find(name: str, *modules: str) -> Any:
    """What this version has by that name, in the first of the modules that it is in."""
    for module in modules:
        with suppress(ImportError, AttributeError):
            return getattr(importlib.import_module(f"tengen.{module}"), name)
    raise SystemExit(f"this version has no {name}")


def _uct(size: int, guided: bool) -> Callable[[], int]:
    import numpy as np

    from tengen.games import go
    from tengen.search.uct import UctParameters, UctRoot, new_scratch, simulate

    new_tree = _find("new_tree", "search.uct", "search.uct_tree")

    state = go.State.new(size)
    dead = np.zeros(len(state.board.color), np.uint8)
    root = UctRoot(state.board, 0, 0, len(state.history), state.rules.flags, state.komi, dead, True)
    tree, scratch = new_tree(2_000_000), new_scratch(size, state.history)
    parameters, rng = UctParameters(guided=guided), np.array([88172645463325252], np.uint64)
    count = {5: 20_000, 9: 10_000, 19: 2_000}[size]

    def work() -> int:
        tree.used[0], tree.child_count[0] = 1, 0
        simulate(tree, root, scratch, parameters, count, rng)
        return count

    return work


def _encode(size: int, encoder: str) -> Callable[[], int]:
    """Replay random games to a random ply and encode the positions, in batches of 256."""
    import numpy as np

    from tengen.encode.go import get_go_encoder
    from tengen.games import go
    from tengen.games.go.positions import GameMoves, allocate_positions, encode_move, replay

    draw, codes, offsets = random.Random(1), [], [0]
    for _ in range(64):
        state = go.State.new(size)
        for _ in range(200):
            state = state.play(draw.choice([move for move in state.legal_moves() if move >= 0]))
        codes += [encode_move(color, move, size) for color, move in state.moves]
        offsets.append(len(codes))
    games = GameMoves(
        np.array(codes, np.uint16),
        np.array(offsets),
        np.zeros(0, np.uint16),
        np.zeros(len(offsets), np.int64),
        np.full(64, 7.5, np.float32),
        np.zeros(64, np.int8),
        np.zeros(64, np.bool_),
        np.full(64, np.nan, np.float32),
    )
    rng, encode = np.random.default_rng(1), get_go_encoder(encoder)
    positions, planes = allocate_positions(size, 256), np.zeros((256, encode.planes, size, size), np.uint8)

    def work() -> int:
        for _ in range(8):
            replay(games, rng.integers(0, 64, 256), rng.integers(0, 200, 256), positions)
            encode.encode_positions(positions, planes)
        return 8 * 256

    return work


def _lockstep(size: int, games: int = 256) -> Callable[[], int]:
    """Moves of games in lock-step whose players draw among sensible moves, without a network."""
    import numpy as np

    from tengen.games.game import get_game

    batch = get_game("go").batch(get_game("go").options.of({"size": size}))
    places = "search.lockstep", "search.policy_play"
    play, play_to_end = _find("PolicyPlay", *places)(batch, [None, None], 1), _find("play_to_end", *places)
    first = np.arange(games) % 2

    def work() -> int:
        return int(play_to_end(play, batch.allocate(games), first, 1 - first).lengths.sum())

    return work


def _self_play(size: int) -> Callable[[], int]:
    """Games of a bundled network against itself: simulations/s, network included."""
    from tengen import load_model
    from tengen.encode.game_spec import GameSpec
    from tengen.games.game import get_game
    from tengen.learn.selfplay import SelfPlaySettings, SelfPlayWorker

    name, komi, slots = _SELF_PLAY[size]
    model = load_model(name)
    spec = GameSpec(get_game("go").options.of({"size": size, "komi": komi}), model.encoder.name)
    settings = SelfPlaySettings(simulations=32, slots=slots, random_plies=size**2 // 2, temperature_plies=8)
    worker = SelfPlayWorker(spec, settings, seed=1)
    worker.use(model.evaluator)

    def work() -> int:
        before, until = worker.statistics.simulations, time.process_time() + 3.0
        while time.process_time() < until:
            worker.step()
        return int(worker.statistics.simulations - before)

    return work


def _alphago(size: int) -> Callable[[], int]:
    """The first moves of a game: positions that the network has not seen."""
    import tengen

    agent: Any = tengen.load_agent("alphago:alphago9,sims=1000,threads=1", seed=1)
    rng = random.Random(1)

    def work() -> int:
        agent.close()
        state = tengen.go.State.new(size, komi=7.0).play(rng.randrange(size**2))
        for _ in range(4):
            state = state.play(agent.choose(state).move)
        return 4000

    return work


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        _serve(sys.argv[2])
    else:
        main()
