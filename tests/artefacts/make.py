"""Make the artefacts of this version: `python -m tests.artefacts.make FOLDER`, in a checkout of that version.

Each is what a command has written, cut off half-way by `kill -9` where its name ends in `-cut`. All paths are relative
to one folder, in which `tests/test_old_artefacts.py` unpacks them and calls the commands again. Every artefact becomes
one `.tar.xz`; reports, pictures and TensorBoard files are left out, because nothing reads them.

A cut depends on the moment: look at the table that is printed, and run it again if a run was too fast to be cut.
"""

import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import safetensors

from ..program import COMMAND

HERE: Final = Path(__file__).parent
LEFT_OUT: Final = ("tensorboard", ".html", ".png", ".lock")
LONGEST: Final = 1200.0  # seconds that a command may take

NETWORK: Final = "residual:blocks=1,filters=4,first_kernel=3,head_filters=4,value_hidden=4,value=yes"
TRAINING: Final = "--batch 16 --positions 960 --epoch 160 --validate 64 --checkpoint 3 --no-bf16"
MATCH: Final = "match uct:playouts=40 uct:playouts=40 --workers 1 --size 5 --komi 3.5"
SUPERVISED: Final = f"--data dataset --encoder compact --size 5 --average 0.9 {TRAINING}"
ZERO: Final = (
    f"--simulations 4 --slots 8 --positions 60 --batch 16 --network {NETWORK} --hours 0 --workers 1 --threads 1 "
    "--backend openvino --duel-every 2 --duel-games 4 --warm-up 2"
)
GENERATIONS: Final = (
    "learn generations --preset simple-go --size 4 --komi 1.5 --limit 60 --network simple-go:filters=4-4,hidden=8 "
    "--attempts 1 --first-games 300 --games 200 --match-games 4 --workers 1 --keep 2 --rate 0.003 "
    "--batch 16 --positions 480 --epoch 160 --validate 64 --checkpoint 3 --no-bf16"
)
ALPHAGO: Final = (
    "learn alphago --preset go5 --size 3 --komi 0.5 --teacher random --teacher-games 60 --positions 256 --updates 1 "
    "--update-games 8 --value-games 40 --value-passes 2 --match-games 4 --ablation-games 0 --workers 1 "
    "--network residual:blocks=1,filters=4,first_kernel=3,head_filters=4,value=yes"
)
FAST: Final = "learn fast-policy --data dataset --size 5 --chunk 8 --batch 8 --validate 5"
SWEEP: Final = (
    f"learn sweep --data dataset --size 5 --encoders simple,oneplane --networks {NETWORK} --optimizers sgd "
    "--batches 16 --positions 480 --epoch 160 --validate 64 --checkpoint 3 --no-bf16"
)
POLICY: Final = "supervised/best.safetensors"
SOLVE: Final = "solve go --size 5 --komi 3.5 --claim black --threads 1 --leaf-nodes 300 --memory 0.01"


def lines(file: str, count: int) -> Callable[[Path], bool]:
    """Whether a file of the artefact has so many whole lines."""

    def found(folder: Path) -> bool:
        return sum(path.read_bytes().count(b"\n") for path in folder.glob(file)) >= count

    return found


def files(pattern: str, count: int) -> Callable[[Path], bool]:
    """Whether the artefact has so many files of a kind."""
    return lambda folder: sum(1 for _ in folder.glob(pattern)) >= count


def progress(name: str, count: int, file: str = "trainer.safetensors") -> Callable[[Path], bool]:
    """Whether a checkpoint has come so far."""

    def found(folder: Path) -> bool:
        paths = sorted(folder.glob(file))
        if not paths:
            return False
        with safetensors.safe_open(paths[-1], "np") as stored:
            return int(json.loads(stored.metadata()["progress"])[name]) >= count

    return found


@dataclass(frozen=True)
class Artefact:
    """A command, in words that contain no space; `OUT` stands for the artefact's folder."""

    command: str
    cut: Callable[[Path], bool] | None = None
    """When to kill it; None: let it end."""

    def words(self, name: str) -> list[str]:
        """The arguments of `tengen`; the moves of --moves are parted by commas in `command`."""
        words = self.command.replace("OUT", name).split()
        return [
            word.replace(",", " ") if before == "--moves" else word
            for before, word in zip(["", *words], words, strict=False)
        ]


ARTEFACTS: Final = {
    "match": Artefact(f"{MATCH} --games 60 --out OUT"),
    "match-cut": Artefact(f"{MATCH} --seed 2 --games 12 --out OUT", lines("results.jsonl", 5)),
    "dataset": Artefact("data build match --workers 1 --out OUT"),
    "supervised": Artefact(f"learn supervised --network {NETWORK} {SUPERVISED} --out OUT"),
    "supervised-cut": Artefact(f"learn supervised --network {NETWORK} {SUPERVISED} --out OUT", progress("step", 24)),
    "zero": Artefact(f"learn zero --preset tictactoe {ZERO} --iterations 4 --out OUT"),
    "zero-cut": Artefact(
        f"learn zero --preset go5 --size 3 --komi 0.5 {ZERO} --iterations 4 --out OUT", lines("metrics.jsonl", 2)
    ),
    "generations": Artefact(f"{GENERATIONS} --generations 2 --out OUT"),
    "generations-cut": Artefact(f"{GENERATIONS} --generations 2 --out OUT", files("games/02/*", 1)),
    "reinforce": Artefact(
        f"learn reinforce --start-from {POLICY} --games 16 --snapshot 2 --updates 4 --measure 2 --match-games 8 "
        "--workers 1 --threads 1 --batch 64 --no-bf16 --out OUT"
    ),
    "reinforce-cut": Artefact(
        f"learn reinforce --start-from {POLICY} --games 16 --snapshot 2 --updates 6 --measure 2 --match-games 8 "
        "--workers 1 --threads 1 --batch 64 --no-bf16 --out OUT",
        progress("update", 3),
    ),
    "value": Artefact(
        f"learn value --policy {POLICY} --network alphago-value:layers=2,filters=4,hidden=8 --encoder compact "
        f"--games 400 --komi 3.5 {TRAINING} --out OUT"
    ),
    "value-cut": Artefact(
        f"learn value --policy {POLICY} --network alphago-value:layers=2,filters=4,hidden=8 --encoder compact "
        f"--games 400 --komi 3.5 {TRAINING} --out OUT",
        progress("step", 24),
    ),
    "fast.safetensors": Artefact(f"{FAST} --out OUT"),
    "fast-cut.safetensors": Artefact(f"{FAST} --passes 40 --out OUT", lambda path: Path(f"{path}.learning").exists()),
    "sweep": Artefact(f"{SWEEP} --out OUT"),
    "sweep-cut": Artefact(f"{SWEEP} --out OUT", files("runs/*/trainer.safetensors", 2)),
    "alphago": Artefact(f"{ALPHAGO} --out OUT"),
    "alphago-cut": Artefact(f"{ALPHAGO} --out OUT", files("reinforce/trainer.safetensors", 1)),
    "tournament": Artefact(
        "tournament random seven=random:seed=7 uct:playouts=40 --games 4 --workers 1 --size 5 --out OUT"
    ),
    "tournament-cut": Artefact(
        "tournament random seven=random:seed=7 uct:playouts=40 --games 12 --workers 1 --size 5 --out OUT",
        lines("matches/*/results.jsonl", 14),
    ),
    "crosstable": Artefact("tournament generations generations --games 50 --workers 1 --out OUT"),
    "proof": Artefact("solve go --size 3 --komi 8.5 --memory 0.02 --threads 1 --out OUT"),
    "proof-cut": Artefact(f"{SOLVE} --moves C3,C2,B2,B3,D2,C1,D1,C4,D3,D4 --out OUT", lines("tree-*.jsonl", 3)),
    "tables": Artefact("tables build --pieces 3 --workers 1 --out OUT"),
    "tables-cut": Artefact("tables build --pieces 3 --workers 1 --out OUT", files("*.mct", 3)),
}


def run(name: str, root: Path) -> float:
    """Run the command of an artefact in `root`, to its end or its cut; the seconds that it took."""
    artefact, out = ARTEFACTS[name], root / name
    with open(root / f"{name}.log", "wb") as log:
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *artefact.words(name)],
            cwd=root,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        while process.poll() is None:
            if time.monotonic() - began > LONGEST:
                os.killpg(process.pid, signal.SIGKILL)
                raise SystemExit(f"{name} did not end: see {log.name}")
            if artefact.cut is not None:
                with suppress(OSError, ValueError, safetensors.SafetensorError):
                    if artefact.cut(out):
                        os.killpg(process.pid, signal.SIGKILL)
            time.sleep(0.005)
    wanted = 0 if artefact.cut is None else -signal.SIGKILL
    if process.returncode != wanted:
        raise SystemExit(f"{name} ended with {process.returncode} in place of {wanted}: see {root / name}.log")
    return time.monotonic() - began


def keep_page(root: Path) -> None:
    """A game and a study that the page keeps, played through the server."""
    from tengen.web.app import WebConfig

    from ..web.served import Page, Served

    served = Served(WebConfig(root / "web"))
    page = Page(served)
    name = page.ask("play.new", game="go", options={"size": 5, "komi": 3.5}, players=["human", "human"])["id"]
    page.ask("play.open", id=name)
    for number, move in enumerate(("C3", "D3", "C2", "D2")):
        page.wait("game", lambda view, number=number: view["id"] == name and view["number"] == number)
        page.ask("play.move", id=name, move=move, number=number)
    page.wait("game", lambda view: view["number"] == 4)
    study = page.ask("study.load", record="(;GM[1]SZ[5]KM[3.5]PB[A]PW[B];B[cc];W[cd](;B[bd])(;B[dd]))")["id"]
    page.ask("study.open", id=study)
    page.ask("study.play", id=study, node=1, move="D3")
    page.ask("study.whole", id=study, spec="zero:go5", visits=20)
    page.wait("graph", lambda graph: graph["progress"]["total"] and graph["progress"]["done"] >= 4)
    kept = root / "web" / "studies" / f"{study}.json"
    while not kept.exists() or len(json.loads(kept.read_text())["judged"]) < 4:  # it is written a moment later
        time.sleep(0.1)
    page.close()
    served.close()


def pack(name: str, root: Path, out: Path) -> int:
    """Pack an artefact; the bytes that it takes."""

    def wanted(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if entry.name.endswith(LEFT_OUT):
            return None
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        return entry

    path = out / f"{name.removesuffix('.safetensors')}.tar.xz"
    with tarfile.open(path, "w:xz", preset=9) as tar:
        for part in sorted(root.glob(f"{name}*")):
            if part.name in (name, f"{name}.learning"):
                tar.add(part, part.name, filter=wanted)
    return path.stat().st_size


def main(root: Path) -> None:
    """Make what is not in `root` yet, and pack it all into the folder of the version."""
    import tengen

    root.mkdir(parents=True, exist_ok=True)
    out = HERE / tengen.__version__
    out.mkdir(exist_ok=True)
    for name in [*ARTEFACTS, "web"]:
        done = root / f"{name}.done"
        if not done.exists():
            seconds = keep_page(root) if name == "web" else run(name, root)
            done.write_text(f"{seconds or 0:.0f} s")
        print(f"{name:<22} {done.read_text():>6} {pack(name, root, out):>9,} bytes", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
