"""Make docs/api.md from the docstrings of what `import tengen` offers: `make docs`."""

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, get_type_hints

import tengen

PAGE = Path(__file__).parent / "api.md"
SECTIONS = {
    "Games": ("go", "microchess", "tictactoe", "game_names", "get_game", "Game", "AnyState", "BatchedGame"),
    "Agents": ("load_agent", "Agent", "Decision", "load_analyst", "Analyst", "Analysis", "MoveAnalysis"),
    "Matches": ("play_game", "GameRecord", "play_match", "MatchSummary", "Score"),
    "Networks": (
        *("load_model", "Model", "ModelCard", "Evaluator", "load_evaluator", "get_encoder", "Encoder"),
        *("build_network", "calibrate", "split_positions", "agreement", "save_model", "load_fast_policy", "FastPolicy"),
    ),
    "Search": (
        *("Searcher", "SearchResult", "Trees", "SearchRule", "Puct", "PuctParameters", "Gumbel", "GumbelParameters"),
        *("LeafEvaluation", "Leaves"),
        *("NetworkEvaluation", "PlayoutEvaluation", "FastRollouts", "MixedEvaluation", "PolicyAndValue"),
    ),
    "Solving": ("Solver", "Verdict"),
    "Game records": ("build_dataset", "Dataset", "PositionLoader"),
    "Learning": (
        *("learn_zero", "ZeroConfig", "learn_supervised", "SupervisedConfig", "evaluate_policy"),
        *("learn_reinforce", "ReinforceConfig", "learn_value", "ValueConfig"),
        *("learn_alphago", "AlphaGoConfig", "learn_generations", "GenerationsConfig"),
    ),
    "Environments": ("envs",),
    "Your own": ("register", "testing", "BoardGame", "Options", "kernels", "square_symmetries", "layers"),
}
INTRODUCTION = """\
# The Python API

Made from the docstrings by `make docs`. Every example here is run by the tests.
"""


def make_page() -> str:
    """The whole page."""
    parts = [INTRODUCTION, text_of(tengen)]
    for section, names in SECTIONS.items():
        parts.append(f"## {section}")
        for name in names:
            parts += entry(f"tengen.{name}", getattr(tengen, name))
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def entry(name: str, thing: Any) -> list[str]:
    """The paragraphs about a module, a class or a function."""
    if isinstance(thing, ModuleType):
        inside = {name: getattr(thing, name) for name in thing.__all__}
        documented = {
            each: found for each, found in inside.items() if inspect.isroutine(found) or inspect.isclass(found)
        }
        full = [each for each, found in documented.items() if ">>>" in (found.__doc__ or "")]
        brief = [f"- `{call(each, documented[each])}`: {first_line(documented[each])}" for each in documented]
        parts = [f"### `{name}`", text_of(thing), "\n".join(brief)]
        return parts + [part for each in full for part in entry(f"{name}.{each}", documented[each])]
    how = call(name, thing)
    parts = [f"### `{name}`", f"```python\n{how}\n```" if how != name else "", text_of(thing)]
    if inspect.isclass(thing):
        parts.append("\n".join(f"- `{each.declaration}`: {each.meaning}" for each in fields(thing)))
        parts.append("\n".join(f"- `{call(each, found)}`: {first_line(found)}" for each, found in members(thing)))
    return parts


class Field(NamedTuple):
    """A field of a dataclass or of a named tuple."""

    declaration: str
    """Its name, type and default, as the source writes them."""
    meaning: str


def fields(kind: type) -> list[Field]:
    """The fields of a dataclass or of a named tuple, those of its bases first; what they mean is written in a string
    below them, in a comment behind them, or in their type."""
    names = [each.name for each in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else ()
    wanted = [name for name in names or getattr(kind, "_fields", ()) if not name.startswith("_")]
    found: dict[str, Field] = {}
    for base in reversed(kind.__mro__):
        if vars(base).get("__annotations__") and base.__module__.startswith("tengen"):
            found |= {name: field for name, field in _written_fields(base) if name in wanted}
    return [found[name] for name in wanted]


def _written_fields(kind: type) -> Iterator[tuple[str, Field]]:
    source = textwrap.dedent(inspect.getsource(kind))
    body, lines = ast.parse(source).body[0].body, source.splitlines()  # type: ignore[attr-defined]
    for statement, following in zip(body, [*body[1:], None]):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        name, written, meaning = statement.target.id, _unquoted(statement.annotation), ""
        below = following.value if isinstance(following, ast.Expr) else None
        behind = lines[statement.end_lineno - 1][statement.end_col_offset :].partition("#")[2]
        if isinstance(written, ast.Subscript) and ast.unparse(written.value) == "Annotated":
            about = get_type_hints(kind, include_extras=True)[name].__metadata__[0]
            written, meaning = written.slice.elts[0], getattr(about, "help", about)  # type: ignore[attr-defined]
        elif isinstance(below, ast.Constant):
            meaning = str(below.value)
        default = "" if statement.value is None else f" = {ast.unparse(statement.value)}"
        yield name, Field(f"{name}: {ast.unparse(written)}{default}", " ".join((meaning or behind).split()))


def members(kind: type) -> list[tuple[str, Any]]:
    """The public methods, properties and documented slots that a class defines itself."""
    kinds = property | classmethod | staticmethod | type(members)
    return [
        (name, found)
        for name, found in vars(kind).items()
        if not name.startswith("_")
        and (isinstance(found, kinds) or (inspect.ismemberdescriptor(found) and inspect.getdoc(found)))
    ]


def call(name: str, thing: Any) -> str:
    """How it is called, with the arguments as its source writes them."""
    function = vars(thing).get("__init__") if inspect.isclass(thing) else getattr(thing, "__func__", thing)
    try:
        source = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError):  # a property, or made by a decorator
        return name
    if not isinstance(source, ast.FunctionDef) or isinstance(source.body[-1], ast.Raise):  # not for calling
        return name
    arguments = source.args
    for hidden in (arguments.posonlyargs, arguments.args):
        if hidden and hidden[0].arg in ("self", "cls"):
            del hidden[0]
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        argument.annotation = argument.annotation and _unquoted(argument.annotation)
    returned = f" -> {ast.unparse(_unquoted(source.returns))}" if source.returns and not inspect.isclass(thing) else ""
    return f"{name}({ast.unparse(arguments)}){returned}"


def _unquoted(annotation: ast.expr) -> ast.expr:
    """A type as it reads without the quotes of what is only imported for type checkers."""
    quoted = isinstance(annotation, ast.Constant) and isinstance(annotation.value, str)
    return ast.parse(annotation.value, mode="eval").body if quoted else annotation


def first_line(thing: Any) -> str:
    """What it is, in its first sentence or so."""
    return " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())


def text_of(thing: Any) -> str:
    """Its docstring, examples as blocks of code."""
    lines, example = list[str](), False
    for line in (inspect.getdoc(thing) or "").splitlines():
        begins = line.startswith(">>>") and not example
        if begins or (example and not line):
            lines.append("```python" if begins else "```")
            example = begins
        lines.append(line)
    return "\n".join([*lines, "```"] if example else lines)


if __name__ == "__main__":
    PAGE.write_text(make_page())
