"""AlphaGo from game records (Silver et al. 2016): every stage in one run, from records to a player and its report.

    records      games to learn from: a dataset, or games of a teacher that is at hand
    policy       a policy network that predicts their moves                      policy/
    fast policy  a linear one for rollouts, a thousand times as fast             fast.safetensors
    reinforce    the policy network, made stronger by policy gradient            reinforce/
    match        the policy after it against the one before                      match/
    value        a value network, on one position of each of many such games     value/
    ablation     the search without one part or another, in a tournament         ablation/

A stage that is done writes its figures to figures.json; each stage resumes by itself, so `kill -9` at any moment costs
at most the unit of work under way, and the same command goes on. At the end `alphago.safetensors` is the model to play
by.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from tengen.learn.alphago_config import FREE_SETTINGS, AlphaGoConfig, preset_config
from tengen.runs.files import write_atomically
from tengen.runs.folder import FolderError, RunDirectory
from tengen.workers.calls import Hosts

FIGURES_FILE: Final = "figures.json"
MODEL_FILE: Final = "alphago.safetensors"
FAST_FILE: Final = "fast.safetensors"

Figures = dict[str, Any]
"""What a stage found, as JSON has it."""


@dataclass(frozen=True)
class AlphaGoProgress:
    """Where a run stands, for a progress bar."""

    stage: str
    number: int
    """Of the stage, from 1 on."""
    stages: int
    done: float = 0.0
    """Which share of the stage is done, 0 to 1."""
    text: str = ""
    """The figures of the moment."""
    figures: Figures | None = None
    """What the stage found, when it has just ended."""


OnProgress = Callable[[AlphaGoProgress], None]


@dataclass
class Run:
    """A run under way, as its stages see it."""

    config: AlphaGoConfig
    path: Path
    say: Callable[[float, str], None] = lambda done, text: None
    """Takes the share of the stage that is done, and the figures of the moment."""
    hosts: Hosts | None = None
    """Who plays games and reads records, if not this machine."""

    @property
    def data(self) -> Path:
        """The dataset."""
        return Path(self.config.data) if self.config.data else self.path / "dataset"

    @property
    def policy(self) -> str:
        """The policy that records taught."""
        return self.config.policy or str(self.path / "policy" / "best.safetensors")

    @property
    def fast(self) -> str:
        """The fast policy."""
        return self.config.fast or str(self.path / FAST_FILE)

    @property
    def stronger(self) -> str:
        """The policy after policy gradient; without any, the one before."""
        return str(self.path / "reinforce" / "best.safetensors") if self.config.updates else self.policy

    @property
    def model(self) -> Path:
        """What plays: a policy, and a value unless that has a network of its own."""
        return self.path / MODEL_FILE

    @property
    def value(self) -> str:
        """A value network of its own, if there is one."""
        return str(self.path / "value" / "best.safetensors") if self.config.value_network else ""


def learn_alphago(
    config: AlphaGoConfig | str,
    out: str | Path,
    on_progress: OnProgress = lambda _: None,
    *,
    hosts: Hosts | None = None,
    **settings: Any,
) -> dict[str, Figures]:
    """Go through all stages, or go on with the run in the directory `out`; returns the figures of each stage.

    `config` is a configuration or the name of a preset, of which `settings` take the place. Ctrl-C ends the run as it
    ends the stage under way, which keeps what it has. `hosts`: who plays games and reads records, if not this machine;
    networks are trained here.
    """
    from tengen.learn.alphago_report import write_alphago_report
    from tengen.learn.alphago_stages import STAGES
    from tengen.learn.distributed import find_device

    config = preset_config(config, settings) if isinstance(config, str) else replace(config, **settings)
    out = Path(out)
    find_device(config.device)
    stages = [stage for stage in STAGES if stage.applies(config)]
    directory = RunDirectory(out, asdict(config), FREE_SETTINGS, asdict(AlphaGoConfig()), kind="alphago")
    try:
        figures = read_figures(out)
        for number, stage in enumerate(stages, 1):
            if stage.name in figures:
                continue

            def say(done: float, text: str, stage: str = stage.name, number: int = number) -> None:
                on_progress(AlphaGoProgress(stage, number, len(stages), done, text))

            say(0.0, "")
            figures[stage.name] = stage.run(Run(config, out, say, hosts))
            write_atomically(out / FIGURES_FILE, (json.dumps(figures, indent=1) + "\n").encode())
            write_alphago_report(out)
            on_progress(AlphaGoProgress(stage.name, number, len(stages), 1.0, "", figures[stage.name]))
        return figures
    finally:
        directory.close()


def read_figures(run: Path) -> dict[str, Figures]:
    """The figures of the stages that are done, in order."""
    try:
        found: dict[str, Figures] = json.loads((run / FIGURES_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise FolderError(f"{run / FIGURES_FILE} is damaged ({error}): repair it, or delete it") from None
    return found


def publish(run: Run, model: Path) -> None:
    """Make a model the one to play by."""
    write_atomically(run.model, model.read_bytes())
