"""The long-running commands at toy size, and what must be true of their folders.

| of a command | meaning                                                                                              |
|--------------|------------------------------------------------------------------------------------------------------|
| `arguments`  | what is run, in the folder that it works in                                                          |
| `done`       | numbers that never fall, whenever it is killed: work that was finished stays finished                |
| `result`     | what the finished folder holds; it is the same after any number of kills, and checks what else it can |

Times, and what is named after them, are left out of results.
"""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import safetensors
import safetensors.numpy

from .inputs import Inputs
from .zero_account import done_zero, zero_account

Result = dict[str, Any]

_NETWORK: Final = "residual:blocks=1,filters=4,first_kernel=3,head_filters=4,value_hidden=4,value=yes"
_TIMES: Final = re.compile(r"seconds|hours")


@dataclass(frozen=True)
class Command:
    """A command that can be killed."""

    arguments: Callable[[Inputs], list[str]]
    done: Callable[[Path], tuple[int, ...]]
    result: Callable[[Path], Result]


# ---------------------------------------------------------------------------------------------------- what files hold


def _file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _files(folder: Path, pattern: str) -> Result:
    found = {str(path.relative_to(folder)): _file(path) for path in sorted(folder.glob(pattern))}
    assert found, f"no {pattern} in {folder}"
    return found


def _tensors(folder: Path, pattern: str) -> Result:
    """Digests of the arrays of files, without what is written about them."""
    found: Result = {}
    for path in sorted(folder.glob(pattern)):
        arrays = safetensors.numpy.load(path.read_bytes())
        parts = (f"{name} {array.shape}".encode() + array.tobytes() for name, array in sorted(arrays.items()))
        found[str(path.relative_to(folder))] = hashlib.sha256(b"".join(parts)).hexdigest()
    assert found, f"no {pattern} in {folder}"
    return found


def _whole_lines(path: Path) -> list[bytes]:
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return [line for line in lines if line.endswith(b"\n")]


def _metrics(folder: Path) -> list[Result]:
    lines = [json.loads(line) for line in _whole_lines(folder / "metrics.jsonl")]
    return [{name: value for name, value in line.items() if not _TIMES.search(name)} for line in lines]


def _progress(folder: Path, name: str) -> int:
    """A number from the progress of a checkpoint; 0 if there is none yet."""
    path = folder / "trainer.safetensors"
    if not path.exists():
        return 0
    with safetensors.safe_open(path, "np") as file:
        return int(json.loads(file.metadata()["progress"])[name])


def _count(folder: Path, pattern: str) -> int:
    return sum(1 for _ in folder.glob(pattern))


def _games(folder: Path, pattern: str) -> Result:
    """The games of matches, each of them once, with their records."""
    found: Result = {}
    for path in sorted(folder.glob(pattern)):
        lines = [json.loads(line) for line in _whole_lines(path)]
        games = sorted(line["game"] for line in lines)
        assert games == list(range(1, len(games) + 1)), f"{path} has the games {games}"
        for line in lines:
            line.pop("seconds")
            line.pop("check", None)
            found[f"{path.relative_to(folder)} {line['game']}"] = line
    return found | _files(folder, f"{pattern.removesuffix('results.jsonl')}games/*.sgf")


# ------------------------------------------------------------------------------------------------------- the commands


def _download(inputs: Inputs) -> list[str]:
    return ["data", "download", "--mirror", inputs.site.url, "--out", "."]


def _bytes_there(folder: Path) -> tuple[int, ...]:
    """Of archives, finished or not; the notes beside unfinished ones go with them, and what is hidden was cut off."""
    found = [path for pattern in ("*.tar.gz", "*.part") for path in folder.glob(pattern)]
    return (sum(path.stat().st_size for path in found if not path.name.startswith(".")),)


def _downloaded(folder: Path) -> Result:
    manifest = json.loads((folder / "manifest.json").read_bytes())["archives"]
    known = {entry["name"]: [entry["sha256"], entry["games"]] for entry in manifest}
    assert len(known) == len(manifest)
    return {"manifest": known, **_files(folder, "*.tar.gz")}


def _build(inputs: Inputs) -> list[str]:
    return ["data", "build", str(inputs.records), "--out", "out", "--workers", "2"]


def _built(folder: Path) -> tuple[int, ...]:
    finished = (folder / "out" / "dataset.json").exists()
    return (10_000 if finished else _count(folder, "out/building/*.arrow"),)


def _training(*more: str) -> list[str]:
    steps = "--batch 16 --positions 480 --epoch 160 --validate 64 --checkpoint 3 --no-bf16"
    return [*steps.split(), "--out", ".", *more]


def _supervised(inputs: Inputs) -> list[str]:
    network = ["--network", _NETWORK, "--encoder", "compact", "--size", "5", "--average", "0.9"]
    return ["learn", "supervised", "--data", str(inputs.dataset), *network, *_training()]


def _trained(folder: Path) -> Result:
    models = _tensors(folder, "best.safetensors") | _tensors(folder, "last.safetensors")
    return {"metrics": _metrics(folder), **models, **_tensors(folder, "trainer.safetensors")}


def _zero(inputs: Inputs) -> list[str]:
    words = "--preset go5 --size 3 --komi 0.5 --simulations 4 --slots 8 --positions 60 --batch 16 --iterations 4"
    more = "--hours 0 --workers 1 --threads 1 --backend openvino --duel-every 2 --duel-games 4 --warm-up 2"
    return ["learn", "zero", "--network", _NETWORK, *words.split(), *more.split(), "--out", "."]


def _generations(inputs: Inputs) -> list[str]:
    words = "--size 4 --komi 1.5 --limit 60 --generations 2 --network simple-go:filters=4-4,hidden=8 --attempts 1"
    games = "--first-games 300 --games 200 --match-games 4 --workers 1 --keep 2 --rate 0.003"
    return ["learn", "generations", "--preset", "simple-go", *words.split(), *games.split(), *_training()]


def _generated(folder: Path) -> Result:
    games = [path.relative_to(folder) for path in folder.glob("games/*/*")]
    assert sorted(map(str, games)) == [f"games/0{number}/0000.safetensors" for number in (1, 2)]
    return {"metrics": _metrics(folder), **_tensors(folder, "models/*.safetensors")}


def _reinforce(inputs: Inputs) -> list[str]:
    words = "--games 16 --snapshot 2 --updates 4 --measure 2 --match-games 8 --workers 1 --threads 1 --batch 64"
    return ["learn", "reinforce", "--start-from", str(inputs.policy), *words.split(), "--no-bf16", "--out", "."]


def _reinforced(folder: Path) -> Result:
    return {**_trained(folder), **_tensors(folder, "models/*.safetensors")}


def _value(inputs: Inputs) -> list[str]:
    network = "--network alphago-value:layers=2,filters=4,hidden=8 --encoder compact --games 400 --komi 0.5"
    return ["learn", "value", "--policy", str(inputs.policy), *network.split(), *_training()]


def _valued(folder: Path) -> Result:
    return {**_trained(folder), **_tensors(folder, "games/chunks/*.safetensors")}


def _alphago(inputs: Inputs) -> list[str]:
    words = "--preset go5 --size 3 --komi 0.5 --teacher random --teacher-games 60 --positions 256 --updates 1"
    more = "--update-games 8 --value-games 40 --value-passes 2 --match-games 4 --ablation-games 0 --workers 1"
    network = "residual:blocks=1,filters=4,first_kernel=3,head_filters=4,value=yes"
    return ["learn", "alphago", "--network", network, *words.split(), *more.split(), "--out", "."]


def _stages(folder: Path) -> tuple[int, ...]:
    figures = folder / "figures.json"
    stages = len(json.loads(figures.read_bytes())) if figures.exists() else 0
    parts = (_progress(folder / "policy", "step"), _progress(folder / "reinforce", "update"))
    return stages, len(_whole_lines(folder / "records" / "results.jsonl")), *parts


def _all_stages(folder: Path) -> Result:
    figures = json.loads((folder / "figures.json").read_bytes())
    models = _tensors(folder, "alphago.safetensors") | _tensors(folder, "fast.safetensors")
    return {"figures": figures, **models, **_tensors(folder, "value/best.safetensors")}


def _match(inputs: Inputs) -> list[str]:
    return ["match", "random", "random:seed=7", *"--games 60 --workers 2 --size 5 --out .".split()]


def _tournament(inputs: Inputs) -> list[str]:
    agents = ["random", "seven=random:seed=7", "eight=random:seed=8"]
    return ["tournament", *agents, *"--games 12 --workers 2 --size 5 --out .".split()]


def _standings(folder: Path) -> Result:
    agents = json.loads((folder / "tournament.json").read_bytes())["agents"]
    standings = [{name: value for name, value in agent.items() if not _TIMES.search(name)} for agent in agents]
    return {"standings": standings} | _games(folder, "matches/*/results.jsonl")


def _solve(inputs: Inputs) -> list[str]:
    limits = "--size 5 --komi 3.5 --claim black --threads 1 --leaf-nodes 300 --memory 0.01 --out .".split()
    return ["solve", "go", "--moves", "C3 C2 B2 B3 D2 C1 D1 C4 D3 D4", *limits]


def _proven(folder: Path) -> Result:
    """The verdict; the way to it depends on what the search knew when it went on, so the proof is checked."""
    from tengen.solve.certificate import Certificate
    from tengen.solve.check import check

    certificate = Certificate.load(folder / "proof.safetensors")
    check(certificate)
    statement = certificate.statement
    return {"color": statement.color, "margin": statement.margin}


def _tables(inputs: Inputs) -> list[str]:
    return ["tables", "build", "--pieces", "4", "--workers", "1", "--out", "."]


COMMANDS: Final = {
    "download": Command(_download, _bytes_there, _downloaded),
    "build": Command(_build, _built, lambda folder: _files(folder, "out/*")),
    "supervised": Command(_supervised, lambda folder: (_progress(folder, "step"),), _trained),
    "zero": Command(_zero, done_zero, zero_account),
    "generations": Command(
        _generations,
        lambda folder: (len(_whole_lines(folder / "metrics.jsonl")), _count(folder, "models/*.safetensors")),
        _generated,
    ),
    "reinforce": Command(_reinforce, lambda folder: (_progress(folder, "update"),), _reinforced),
    "value": Command(
        _value,
        lambda folder: (_progress(folder, "step"), _count(folder, "games/chunks/*.safetensors")),
        _valued,
    ),
    "alphago": Command(_alphago, _stages, _all_stages),
    "match": Command(
        _match,
        lambda folder: (len(_whole_lines(folder / "results.jsonl")),),
        lambda folder: _games(folder, "results.jsonl"),
    ),
    "tournament": Command(
        _tournament,
        lambda folder: (sum(len(_whole_lines(path)) for path in folder.glob("matches/*/results.jsonl")),),
        _standings,
    ),
    "solve": Command(
        _solve, lambda folder: (sum(len(_whole_lines(path)) for path in folder.glob("tree-*.jsonl")),), _proven
    ),
    "tables": Command(_tables, lambda folder: (_count(folder, "*.mct"),), lambda folder: _files(folder, "*.mct")),
}
