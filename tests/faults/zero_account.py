"""The account of a run of `tengen learn zero`, whose games depend on when it was killed.

Every position lies in one chunk, chunks follow one another without a gap, every round is there once, and what a round
says of positions, games and steps is what its chunks hold. Of a long run, the oldest chunks are deleted when nothing is
learned from them any more.
"""

import math
from pathlib import Path
from typing import Any

from tengen.learn.duel import Generations
from tengen.learn.replay import ChunkFolder
from tengen.nets.model_file import read_model
from tengen.runs.folder import read_metrics, read_settings


def done_zero(folder: Path) -> tuple[int, ...]:
    """Positions on the disk, and models."""
    facts = ChunkFolder(folder / "chunks", tidy=False).facts
    return facts[-1].end if facts else 0, sum(1 for _ in folder.glob("models/*.safetensors"))


def zero_account(folder: Path, is_long: bool = False) -> dict[str, Any]:
    """Check the account of a finished run; what every run of it has in common. A long run begins with its oldest chunk,
    and the round after."""
    settings, lines = read_settings(folder), read_metrics(folder)
    rounds = int(settings["iterations"])
    assert [line["iteration"] for line in lines] == list(range(1, rounds + 1))
    chunks = ChunkFolder(folder / "chunks", tidy=False)
    end = games = step = skipped = 0
    if is_long:
        oldest = chunks.facts[0]
        end, skipped = oldest.first, oldest.iteration
        games, step = oldest.games - len(chunks.read_games(oldest).winner), lines[skipped - 1]["step"]
    contents: set[bytes] = set()
    for facts in chunks.facts:
        packed, played = chunks.read(facts), chunks.read_games(facts)
        assert facts.first == end, f"a chunk begins with position {facts.first}, and {end} is next"
        assert len(packed.value) == facts.positions <= len(played.moves)  # opening moves at random are not learned
        end, games = end + facts.positions, games + len(played.winner)
        assert facts.games == games
        contents.add(packed.planes.tobytes() + packed.policy.tobytes() + played.moves.tobytes())
    assert len(contents) == len(chunks.facts), "two chunks hold the same games"
    for line in lines[skipped:]:
        own = [facts for facts in chunks.facts if facts.iteration == line["iteration"]]
        positions = sum(facts.positions for facts in own)
        step += max(1, math.ceil(positions * float(settings["reuse"]) / int(settings["batch"])))
        assert line["positions"] == own[-1].end and line["games"] == own[-1].games
        assert line["step"] == step, f"round {line['iteration']} ends at step {line['step']}, not {step}"
    for generation in range(rounds + 1):
        read_model(Generations(folder, "").path(generation))
    return {"rounds": rounds, "newest": lines[-1]["generation"]}
