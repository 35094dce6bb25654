"""Whether messages are as `tengen.web.messages` describes them: every page of the tests checks all that it hears."""

import types
from collections.abc import Iterator
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

_PLAIN = {str: str, bool: bool, int: int, float: (int, float), type(None): type(None)}


def faults(value: Any, kind: Any, where: str = "") -> Iterator[str]:
    """What is not as described; nothing if all is."""
    origin, inner = get_origin(kind), get_args(kind)
    if is_typeddict(kind):
        yield from _faults_of_fields(value, kind, where)
    elif origin in (Union, types.UnionType):
        if all([*faults(value, each)] for each in inner):
            yield f"{where}: {value!r} is no {kind}"
    elif origin is Literal:
        if value not in inner:
            yield f"{where}: {value!r} is none of {inner}"
    elif origin in (list, tuple) and isinstance(value, list):
        if origin is tuple and len(value) != len(inner):
            yield f"{where}: {value!r} has {len(value)} parts and not {len(inner)}"
            return
        for place, each in enumerate(value):
            yield from faults(each, inner[place] if origin is tuple else inner[0], f"{where}[{place}]")
    elif origin is dict and isinstance(value, dict):
        for key, each in value.items():
            yield from faults(key, inner[0], f"{where} key")
            yield from faults(each, inner[1], f"{where}.{key}")
    elif kind not in _PLAIN or not isinstance(value, _PLAIN[kind]) or (isinstance(value, bool) and kind is not bool):  # type: ignore[arg-type]
        yield f"{where}: {value!r} is no {kind}"


def _faults_of_fields(value: Any, kind: Any, where: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where}: {value!r} is no {kind.__name__}"
        return
    hints = get_type_hints(kind, include_extras=True)
    for name, hint in hints.items():
        optional = get_origin(hint) is NotRequired
        if name in value:
            yield from faults(value[name], get_args(hint)[0] if optional else hint, f"{where}.{name}")
        elif not optional:
            yield f"{where}: {kind.__name__} has no {name}"
    for name in value.keys() - hints.keys():
        if kind.__name__ not in _WITH_MORE:
            yield f"{where}: {name} of {kind.__name__} is not described"


_WITH_MORE = {"MatchSummary", "MatchScore"}  # those of `tengen match --json`, of which pages show a part
