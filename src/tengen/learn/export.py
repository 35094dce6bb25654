"""Publishing a model: from a run, or from a file, to one file with 16-bit weights, int8 ranges and a complete card.

    tengen models export runs/go9 go9 --opponent uct:playouts=200

What the card gains in `training`: `rules`, `komi` and `double_step` as `ModelCard.conditions` reads them, `games` that
the run had played, `int8` (agreement with the exact network on positions it was not calibrated on), `smoke` (the
result of a short match) and `strength` (a line of yours).
"""

import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tengen.agents.agent import Agent
from tengen.agents.registry import load_agent
from tengen.agents.training_conditions import suited_options
from tengen.arena.match import Match, first_of, play_match_game
from tengen.data.dataset import Dataset, select
from tengen.encode.go import get_go_encoder
from tengen.games.game import get_game
from tengen.games.state import FIRST, NOBODY, SECOND
from tengen.learn.loader import PositionLoader
from tengen.learn.replay import ChunkFolder
from tengen.nets.evaluator import load_evaluator
from tengen.nets.model_file import (
    SUFFIX,
    ModelCard,
    ModelFileError,
    Tensors,
    calibration_tensors,
    find_model,
    is_calibrated,
    read_model,
    read_tensors,
    write_tensors,
)
from tengen.nets.openvino_evaluator import agreement, calibrate, split_positions
from tengen.nets.registry import network_kinds
from tengen.runs.files import make_folder
from tengen.runs.folder import METRICS_FILE, read_metrics

Report = Callable[[str, float], None]
"""Called with what is being done and the share of it that is done."""

BEST_FILE: Final = f"best{SUFFIX}"
SIMULATIONS: Final = 32
"""For a move of a model with a value, in the smoke match."""
_POSITIONS: Final = 2048  # half of them to calibrate on, half to measure agreement on
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def export_model(
    source: str | Path,
    name: str,
    folder: Path,
    *,
    opponent: str = "random",
    games: int = 6,
    strength: str = "",
    data: Path | None = None,
    force: bool = False,
    report: Report = lambda what, share: None,
) -> tuple[Path, ModelCard]:
    """Write `folder`/`name`.safetensors; returns its path and its card.

    `source` is the directory of a run, the path of a model, or the name of a bundled one. The smoke match has `games`
    games against `opponent`, each playing first in half of them. `data` is a dataset of game records to calibrate a
    model on that is not calibrated yet. An existing file is only replaced by `force`.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name[:40]!r} is no name for a model: use letters, digits, dots, - and _")
    target = folder / f"{name}{SUFFIX}"
    if target.exists() and not force:
        raise ValueError(f"{target} is there already: choose another name, or replace it by --force")
    run = Path(source).expanduser()
    path = _best_of(run) if run.is_dir() else find_model(source)
    report("reading", 0.0)
    tensors, card = read_tensors(path)
    training = dict(card.training) | _facts_of(card, run) | ({"strength": strength} if strength else {})
    if card.network in network_kinds() and not is_calibrated(path):
        report("calibrating", 0.0)
        ranges, agreed = _calibrated(path, _positions(run, card) if data is None else _record_positions(data, card))
        tensors |= ranges
        training |= agreed
    card = replace(card, training=training)
    with tempfile.TemporaryDirectory() as aside:
        draft = Path(aside, target.name)
        write_tensors(draft, tensors, card, half=True)
        if games and player_of(card):
            training["smoke"] = smoke_match(draft, opponent, games, report)
    make_folder(folder)
    write_tensors(target, tensors, card, half=True)
    return target, card


def smoke_match(model: Path, opponent: str, games: int, report: Report = lambda what, share: None) -> dict[str, Any]:
    """Play some games with a model in the conditions that it learned; how it went, as JSON can say it."""
    card = read_tensors(model)[1]
    spec = player_of(card)
    match = Match(spec, opponent, get_game(card.game).options.of(suited_options(card)), games)
    counts = {"wins": 0, "draws": 0, "losses": 0}

    def load(wanted: str, seed: int) -> Agent:
        kind, _, settings = wanted.partition(":")
        return load_agent(f"{kind}:model={model},{settings}" if wanted == spec else wanted, seed)

    for number in range(1, games + 1):
        report(f"playing {opponent}", (number - 1) / games)
        record = play_match_game(match, number, load)
        if record.ending == "forfeit":
            raise ValueError(f"the smoke match ended in a forfeit: {record.reason}")
        ours = FIRST if first_of(match, number) == "a" else SECOND
        counts["draws" if record.winner == NOBODY else "wins" if record.winner == ours else "losses"] += 1
    return {"agent": spec, "opponent": opponent, "games": games, **counts}


def player_of(card: ModelCard) -> str:
    """The spec, without the model, of the agent that plays a model fast: a search if its value has been trained; none
    for a model that has no policy."""
    if card.network not in network_kinds():
        return card.network
    if not card.architecture().policy:
        return ""
    trained = "generation" in card.training or "value_loss" in card.training.get("validation", {})
    searches = card.architecture().value and trained
    return f"zero:sims={SIMULATIONS}" if searches else "policy"


def _best_of(run: Path) -> Path:
    path = run / BEST_FILE
    if not path.is_file():
        raise ModelFileError(f"{run} holds no {BEST_FILE}: give the directory of a run that has completed a round")
    return path


def _facts_of(card: ModelCard, run: Path) -> dict[str, Any]:
    """What the card has in its recipe, as fields of its own, and what only the run has."""
    facts: dict[str, Any] = {name: value for name, value in card.conditions.items() if value is not None}
    if "komi" in facts:
        low, high = facts["komi"]
        facts["komi"] = low if low == high else [low, high]
    generation = card.training.get("generation")
    if (run / METRICS_FILE).is_file() and generation is not None:
        line: dict[str, Any] = next(
            (line for line in reversed(read_metrics(run)) if line.get("generation") == generation), {}
        )
        agreed = {key.removeprefix("int8_"): value for key, value in line.items() if key.startswith("int8_")}
        found = {"games": line.get("games"), "int8": agreed}
        facts |= {name: value for name, value in found.items() if value}
    return facts


def _calibrated(path: Path, planes: NDArray[np.uint8] | None) -> tuple[Tensors, dict[str, Any]]:
    """The ranges of a model by these positions, as tensors of a file, and how well int8 then agrees; nothing, if there
    are no positions."""
    if planes is None:
        return {}, {}
    weights, card = read_model(path)
    known, unseen = split_positions(planes)
    tensors = calibration_tensors(calibrate(card.architecture(), weights, known))
    with tempfile.TemporaryDirectory() as aside:
        draft = Path(aside, path.name)
        write_tensors(draft, weights | tensors, card, half=True)
        exact, rounded = (load_evaluator(draft, backend)[0] for backend in ("openvino", "int8"))
        agreed = {"int8": agreement(exact, rounded, unseen)} if len(unseen) else {}
    return tensors, agreed


def _positions(run: Path, card: ModelCard) -> NDArray[np.uint8] | None:
    """Planes uint8[n, C, H, W] of positions drawn from the newest chunks of a run; None if it has none."""
    architecture = card.architecture()
    shape = (architecture.planes, architecture.size, architecture.width)
    chunks = ChunkFolder(run / "chunks", tidy=False)
    if not chunks.facts:
        return None
    newest = [chunks.read(facts).planes for facts in chunks.since(chunks.facts[-1].end - 4 * _POSITIONS)]
    packed = np.concatenate(newest)
    chosen = np.random.default_rng(1).permutation(len(packed))[:_POSITIONS]
    bits = int(np.prod(shape))
    if packed.shape[1] != (bits + 7) // 8:
        raise ModelFileError(f"{run} holds positions of another encoder than {card.encoder}: it is not the model's run")
    return np.unpackbits(packed[chosen], axis=1, count=bits).reshape(-1, *shape)


def _record_positions(data: Path, card: ModelCard) -> NDArray[np.uint8]:
    """Planes uint8[n, C, H, W] of positions drawn from the training games of a dataset."""
    if card.game != "go":
        raise ValueError(f"{data} holds games of Go, and the model plays {card.game}: leave --data out")
    games = select(Dataset.open(data), "train", size=card.size, seed=1)
    loader = PositionLoader(games, get_go_encoder(card.encoder), batch=256, seed=1, symmetries=False)
    return loader.batch_at(0, min(_POSITIONS, loader.positions)).planes
