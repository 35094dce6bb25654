"""Makes the page's types, web/src/messages.ts, from the description in src/tengen/web/messages.py: `make format`."""

import ast
import inspect
import types
from pathlib import Path
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from tengen.web import messages

FILE = Path(__file__).parent / "src" / "messages.ts"
_HEAD = "// Made by web/make_messages.py from src/tengen/web/messages.py, which says what these are: do not edit.\n"
_PLAIN = {str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}


def typescript() -> str:
    """The whole file."""
    found = [each for each in vars(messages).values() if is_typeddict(each)]
    parts = [_HEAD, *map(_interface, found)]
    topics = "".join(f"  {name}: {_type(kind)};\n" for name, kind in messages.TOPICS.items())
    parts.append(f"/** News by topic. */\nexport interface Topics {{\n{topics}}}\n")
    actions = ""
    for name, (asks, gets) in messages.ACTIONS.items():
        quoted = name if name.isidentifier() else f'"{name}"'
        actions += f"  {quoted}: {{ asks: {_type(asks)}; gets: {_type(gets)} }};\n"
    parts.append(f"/** Questions, and what is answered. */\nexport interface Actions {{\n{actions}}}\n")
    return "\n".join(parts)


def _interface(kind: Any) -> str:
    definition = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(definition, ast.ClassDef)
    bases = [base.id for base in definition.bases if isinstance(base, ast.Name) and base.id != "TypedDict"]
    docs, hints = _docs(definition), get_type_hints(kind, include_extras=True)
    text = f"/** {kind.__doc__} */\n" if kind.__doc__ else ""
    if not hints:
        return f"{text}export type {kind.__name__} = Record<string, never>;\n"
    text += f"export interface {kind.__name__}{' extends ' + ', '.join(bases) if bases else ''} {{\n"
    for name in (each.target.id for each in definition.body if isinstance(each, ast.AnnAssign)):  # type: ignore[union-attr]
        hint = hints[name]
        optional = get_origin(hint) is NotRequired
        text += f"  /** {docs[name]} */\n" if name in docs else ""
        text += f"  {name}{'?' if optional else ''}: {_type(get_args(hint)[0] if optional else hint)};\n"
    return text + "}\n"


def _docs(definition: ast.ClassDef) -> dict[str, str]:
    """The docstrings of its fields."""
    found = {}
    for field, after in zip(definition.body, definition.body[1:]):
        if isinstance(field, ast.AnnAssign) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            found[field.target.id] = str(after.value.value)  # type: ignore[union-attr]
    return found


def _type(hint: Any) -> str:
    if hint in _PLAIN:
        return _PLAIN[hint]
    if is_typeddict(hint):
        return str(hint.__name__)
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " | ".join(f'"{each}"' for each in inner)
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(_type, inner)))
    if origin is tuple:
        return f"[{', '.join(map(_type, inner))}]"
    if origin is list:
        return f"({_type(inner[0])})[]" if get_origin(inner[0]) in (Union, types.UnionType) else f"{_type(inner[0])}[]"
    if origin is dict:
        key = _type(inner[0])
        return f"Record<{key}, {_type(inner[1])}>" if key == "string" else f"Partial<Record<{key}, {_type(inner[1])}>>"
    raise TypeError(f"{hint} has no type in TypeScript yet")


if __name__ == "__main__":
    FILE.write_text(typescript(), "utf-8")
