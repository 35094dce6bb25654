"""Agents by name. A spec is a kind with its settings: `uct:playouts=10000,seed=7`, `alphabeta:depth=4`, `random`.

Agents that need a model or a program take its name first: `policy:go19,temperature=0.5`, `uci:fairy-stockfish`. A
Python file is an agent by its name alone: `strategy.py`, `class/strategy.py:Careful,memory=200`.

A kind is a frozen dataclass whose fields are its settings, so that one place holds names, types, defaults
and documentation; its `aliases` are other names of settings. The exception is `gtp:`, where all that follows is a
command line.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from tengen.agents.agent import Agent
from tengen.games.state import parse_setting

if TYPE_CHECKING:
    from tengen.agents.analysis import Analyst
    from tengen.nets.model_file import ModelCard


class SpecError(ValueError):
    """An agent spec that names no agent, or a setting that the agent does not have."""


_KINDS = {
    "random": ("random:RandomSettings", "random:RandomAgent"),
    "minimax": ("game_tree:MinimaxSettings", "game_tree:MinimaxAgent"),
    "alphabeta": ("game_tree:AlphaBetaSettings", "game_tree:alphabeta_agent"),
    "value": ("game_tree:ValueSettings", "game_tree:ValueAgent"),
    "uct": ("uct:UctSettings", "uct:UctAgent"),
    "mcts": ("uct:MctsSettings", "uct:mcts_agent"),
    "policy": ("policy:PolicySettings", "policy:PolicyAgent"),
    "fast-policy": ("policy:FastPolicySettings", "policy:FastPolicyAgent"),
    "zero": ("zero:ZeroSettings", "zero:zero_agent"),
    "gumbel": ("zero:GumbelSettings", "zero:zero_agent"),
    "alphago": ("alphago:AlphaGoSettings", "alphago:alphago_agent"),
    "exact": ("exact:ExactSettings", "exact:ExactAgent"),
    "uci": ("uci:UciSettings", "uci:UciEngine"),
    "python": ("python_file:PythonSettings", "python_file:PythonFileAgent"),
}
"""Where the settings and the agent of a kind are: imported when they are asked for, so that `uct` loads no networks."""
_LIMITS = frozenset({"seconds", "sims", "playouts", "depth"})
_LIMITS_OF = {"uci": frozenset({"movetime", "nodes", "depth"}), "alphago": frozenset({"seconds", "sims"})}
"""Settings that limit how long an agent thinks, where they are not the usual ones."""
_NETWORKS = frozenset({"policy", "zero", "gumbel", "alphago"})  # who play one game, on the board of their model
_ALL_DAY = 86_400
_PLANNED = frozenset({"gumbel"})  # who plans all simulations in advance, and so cannot simply think until time is up
_PYTHON = re.compile(r"[^,\n]+\.py(?=$|[:,])")
_FILES = ("model", "value", "fast")
"""Settings that name a model file, or a model that comes with Tengen."""
_NAMED_FIRST = ("model", "program", "file")
"""Settings whose value may be given first and without their name."""


def load_agent(spec: str, seed: int | None = None) -> Agent:
    """The agent of this spec, a kind with its settings; `seed` is used where the spec itself gives none.

    >>> import tengen
    >>> agent = tengen.load_agent("alphabeta:depth=3")
    >>> state = tengen.microchess.State.new()
    >>> state.is_legal(agent.choose(state).move)
    True
    """
    kind, text = _split(spec)
    if kind == "gtp":
        from tengen.agents.gtp import GtpEngine

        return GtpEngine(text.strip())
    _check_kind(kind)
    settings, agent = _kind(kind)
    values = _parse(kind, settings, text)
    if seed is not None and any(field.name == "seed" for field in fields(settings)):
        values.setdefault("seed", seed)
    return agent(settings(**values))


def load_analyst(spec: str, seed: int | None = None) -> "Analyst":
    """The agent of a spec, as one that analyses; ValueError if it does not search a tree.

    >>> import tengen
    >>> state = tengen.go.State.new(size=5, komi=3.5)
    >>> *_, last = tengen.load_analyst("zero:go5", seed=1).analyse(state, visits=50)
    >>> last.visits
    50
    """
    from tengen.agents.analysis import Analyst

    agent = load_agent(spec, seed)
    if not isinstance(agent, Analyst):
        agent.close()
        raise SpecError(f"{spec} searches no tree and cannot analyse: take zero, gumbel, alphago, mcts or uct")
    return agent


def read_spec(spec: str) -> tuple[str, dict[str, Any]]:
    """The kind of a spec and the settings that it gives, nothing loaded; SpecError where it cannot be read.

    >>> read_spec("alphago:alphago9,num_simulations=100")
    ('alphago', {'model': 'alphago9', 'sims': 100})
    """
    kind, text = _split(spec)
    _check_kind(kind)
    return kind, _parse(kind, _kind(kind)[0], text)


def model_card(spec: str) -> "ModelCard | None":
    """The card of the model that an agent plays by, read without loading the model; None for agents without one."""
    kind, text = _split(spec)
    if kind not in _KINDS:
        return None
    settings, _ = _kind(kind)
    if any(field.name == "generation" for field in fields(settings)):
        from tengen.search.generations import find_generation

        given = settings(**_parse(kind, settings, text))
        return find_generation(given.model, given.generation).card if given.model else None
    if kind not in _NETWORKS:
        return None
    from tengen.nets.model_file import find_model, read_card

    return read_card(find_model(settings(**_parse(kind, settings, text)).model))


def spec_files(spec: str) -> list[str]:
    """The model files of this machine that a spec names; those that come with Tengen are everywhere.

    A run directory cannot be named: ValueError. It holds far more than a model.
    """
    kind = _split(spec)[0]
    if kind not in _KINDS:
        return []
    if kind == "python":
        raise SpecError(f"{spec.strip()[:60]} runs on this machine alone: leave --cluster out")
    values = read_spec(spec)[1]
    named = [str(values[name]) for name in _FILES if values.get(name)]
    for folder in named:
        if Path(folder).expanduser().is_dir():
            raise SpecError(
                f"{folder} is a folder, and only model files are sent to other machines: name one in {spec}"
            )
    from tengen.nets.model_file import bundled_models

    return [name for name in named if name not in bundled_models()]


def with_files(spec: str, files: Mapping[str, str]) -> str:
    """The spec with other paths for the model files that it names."""
    kind, text = _split(spec)
    if kind not in _KINDS or not files:
        return spec
    parts = [part.strip().rpartition("=") for part in text.split(",")]
    return f"{kind}:{','.join(name + equals + files.get(value, value) for name, equals, value in parts)}"


def with_limit(spec: str, *, nodes: int | None = None, depth: int | None = None, timed: bool = False) -> str:
    """The spec with limits that its kind knows, unless it names a limit of its own.

    `nodes` are simulations or playouts where the agent counts those. `timed`: it thinks until `choose` says that
    time is up. A spec to play by UCI, which cannot resign, is also set not to.
    """
    kind, text = _split(spec)
    if kind not in _KINDS:
        return spec
    settings = _kind(kind)[0]
    given, known = _parse(kind, settings, text), {field.name: field.default for field in fields(settings)}
    limits = _LIMITS_OF.get(kind, _LIMITS)
    added: dict[str, float] = {}
    if not limits & given.keys():
        if nodes is not None:
            most = 1_000_000 if kind in _PLANNED else 10_000_000
            added |= {name: min(max(1, nodes), most) for name in ("sims", "playouts") if name in known}
        if depth is not None and "depth" in known and "depth" in limits:
            added["depth"] = min(max(1, depth), 64)
        if timed and not added and "seconds" in known and kind not in _PLANNED:
            added["seconds"] = _ALL_DAY
    if known.get("resign") and "resign" not in given:
        added["resign"] = 0
    words = [text.strip(), *(f"{name}={value}" for name, value in added.items())]
    return f"{kind}:{','.join(filter(None, words))}" if added else spec


def with_settings(spec: str, **settings: int) -> str:
    """The spec with those of the settings that its kind knows and that it does not give itself.

    >>> with_settings("alphago:alphago9", threads=2), with_settings("uct:playouts=10", threads=2)
    ('alphago:alphago9,threads=2', 'uct:playouts=10')
    """
    kind, text = _split(spec)
    if kind not in _KINDS:
        return spec
    given, known = _parse(kind, _kind(kind)[0], text), {field.name for field in fields(_kind(kind)[0])}
    added = [f"{name}={value}" for name, value in settings.items() if name in known - given.keys()]
    return f"{kind}:{','.join(filter(None, [text.strip(), *added]))}" if added else spec


def agent_kinds() -> dict[str, str]:
    """Every kind of agent with one line of help: what it is, and its settings with their defaults."""
    kinds = {}
    for kind in _KINDS:
        settings, _ = _kind(kind)
        known = ", ".join(_names(settings, field) + _default(field) for field in fields(settings))
        kinds[kind] = f"{(settings.__doc__ or '').strip().splitlines()[0]} Settings: {known}"
    kinds["gtp"] = "A foreign engine that speaks GTP; give its command line, e.g. gtp:gnugo --mode gtp --level 10"
    return kinds


def python_file(spec: str) -> Path | None:
    """The Python file that a spec names; None for agents that are none."""
    kind, text = _split(spec)
    if kind != "python":
        return None
    from tengen.agents.python_file import split_name

    return split_name(str(_parse(kind, _kind(kind)[0], text)["file"]))[0]


def code_digest(spec: str) -> str | None:
    """The hash of the Python file that a spec names, which changes with its code; None for agents that are none."""
    file = python_file(spec)
    if file is None:
        return None
    from tengen.agents.python_file import digest

    return digest(file)


def _split(spec: str) -> tuple[str, str]:
    """A spec as its kind and its settings; a Python file's name is a spec of the kind `python`."""
    spec = spec.strip()
    kind, _, text = spec.partition(":")
    if kind != "gtp" and _PYTHON.match(spec) and kind not in _KINDS:
        return "python", spec
    return kind, text


def _check_kind(kind: str) -> None:
    if kind not in _KINDS:
        known = ", ".join([*_KINDS, "gtp"])
        raise SpecError(f"no agent is called {kind[:40]!r}: choose from {known}; a Python file's name ends in .py")


def _kind(name: str) -> tuple[type[Any], Callable[[Any], Agent]]:
    """The settings and the agent of a kind, imported now if they were not before."""
    settings, agent = (resolve_name(f"tengen.agents.{place}") for place in _KINDS[name])
    return settings, agent


def _parse(kind: str, settings: type[Any], text: str) -> dict[str, Any]:
    """`playouts=100,seed=1` as keyword arguments for the settings class."""
    known = {field.name: field.type for field in fields(settings)}
    values: dict[str, Any] = {}
    for place, part in enumerate(filter(None, (part.strip() for part in text.split(",")))):
        name, equals, value = part.partition("=")
        if not equals and place == 0 and next(iter(known)) in _NAMED_FIRST:
            name, equals, value = next(iter(known)), "=", part  # `policy:go19` is short for `policy:model=go19`
        name = _aliases(settings).get(name.strip(), name.strip())
        if not equals or name not in known:
            raise SpecError(f"{part[:60]!r} is not a setting of {kind}: it has {', '.join(f'{n}=...' for n in known)}")
        if name in values:
            raise SpecError(f"{kind} is given {name} twice")
        try:
            values[name] = parse_setting(str(known[name]), name, value.strip())
        except ValueError as error:
            raise SpecError(f"{kind}: {' '.join(str(error).split())}") from None
    for field in fields(settings):
        if field.default is MISSING and field.name not in values:
            raise SpecError(f"{kind} needs a {field.name}: name it first, {kind}:{field.name.upper()}")
    return values


def _aliases(settings: type[Any]) -> Mapping[str, str]:
    """Other names of settings, and which these are."""
    aliases: Mapping[str, str] = getattr(settings, "aliases", {})
    return aliases


def _names(settings: type[Any], field: "Field[Any]") -> str:
    """All names of a setting: `sims|num_simulations`."""
    return "|".join([field.name, *(alias for alias, name in _aliases(settings).items() if name == field.name)])


def _default(field: "Field[Any]") -> str:
    return "" if field.default is MISSING else f"={field.default}"
