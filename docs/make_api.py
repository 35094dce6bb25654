"""Make docs/api.md from the docstrings of what `import tengen` offers: `make docs`."""

import ast
import inspect
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import tengen

PAGE = Path(__file__).parent / "api.md"
SECTIONS = {
    "Games": ("go", "microchess", "tictactoe", "game_names", "get_game", "Game", "AnyState", "BatchedGame"),
    "Agents": ("load_agent", "Agent", "Decision", "load_analyst", "Analyst", "Analysis", "MoveAnalysis"),
    "Matches": ("play_game", "GameRecord", "play_match"),
    "Networks": ("load_model", "Model", "Evaluator", "get_encoder", "Encoder", "load_fast_policy"),
    "Search": (
        *("Searcher", "SearchResult", "Trees", "SearchRule", "Puct", "Gumbel", "LeafEvaluation", "Leaves"),
        *("NetworkEvaluation", "PlayoutEvaluation", "FastRollouts", "MixedEvaluation", "PolicyAndValue"),
    ),
    "Learning": ("learn_zero", "learn_supervised", "learn_reinforce", "learn_value"),
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
        parts.append("\n".join(f"- `{call(each, found)}`: {first_line(found)}" for each, found in members(thing)))
    return parts


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
