"""Mutants of a source file: small faults, each at one place of its syntax tree.

| operator          | example                                                     |
|-------------------|-------------------------------------------------------------|
| negate            | `if found:` becomes `if not found:`                         |
| compare           | `<` becomes `<=`, `==` becomes `!=`, `in` becomes `not in`  |
| and/or            | `and` becomes `or`, and the other way round                 |
| drop a statement  | a call, `raise`, `del`, `+=`, `self.x = ...` becomes `pass` |
| constant          | `8` becomes `9`, `True` becomes `False`                     |
| return early      | a function returns None at once                             |
"""

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_OTHERS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


@dataclass(frozen=True)
class Mutant:
    """One fault in one file."""

    file: str
    name: str
    """The same for as long as the function keeps this code: `files.py append_line: file.truncate(end) -> pass`."""
    source: str
    """The whole file with the fault."""

    def place(self, seed: int) -> bytes:
        """Where it comes in the order of a sample; a change of the sources does not mix the others up."""
        return hashlib.sha256(f"{seed} {self.name}".encode()).digest()


def mutants_of(file: str, source: str) -> Iterator[Mutant]:
    """All mutants of a file. What f-strings and annotations hold is left alone."""
    lines = source.encode().splitlines(keepends=True)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines))]
    seen: Counter[str] = Counter()
    for where, node, after in _faults(ast.parse(source), ""):
        assert isinstance(node, ast.expr | ast.stmt) and node.end_lineno is not None and node.end_col_offset is not None
        name = f"{file} {where}: {_short(node)} -> {_short(after)}"
        seen[name] += 1
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        text = ast.unparse(after) if isinstance(after, ast.stmt) else f"({ast.unparse(after)})"
        changed = source.encode()[:begin] + text.encode() + source.encode()[end:]
        yield Mutant(file, name if seen[name] == 1 else f"{name} ({seen[name]})", changed.decode())


def _faults(node: ast.AST, where: str) -> Iterator[tuple[str, ast.AST, ast.AST]]:
    """For each fault within a node: the function that it is in, what is replaced, and by what."""
    if isinstance(node, ast.JoinedStr):
        return
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        where = f"{where}.{node.name}".lstrip(".")
    yield from ((where, *fault) for fault in _faults_here(node))
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _faults(child, where)


def _faults_here(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    match node:
        case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body):
            first = next((line for line in body if not _is_text(line)), None)
            if first is not None and not isinstance(first, ast.Return | ast.Pass):
                yield first, ast.Return()
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield test, ast.UnaryOp(ast.Not(), test)
        case ast.comprehension(ifs=tests):
            yield from ((test, ast.UnaryOp(ast.Not(), test)) for test in tests)
        case ast.Compare(left, ops, comparators):
            for index, op in enumerate(ops):
                others = [*ops[:index], _OTHERS[type(op)](), *ops[index + 1 :]]
                yield node, ast.Compare(left, others, comparators)
        case ast.BoolOp(op, values):
            yield node, ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.Constant(value=bool(value)):
            yield node, ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield node, ast.Constant(value + 1)
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Raise() | ast.Delete() | ast.AugAssign():
            yield node, ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            yield node, ast.Pass()


def _is_text(line: ast.stmt) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 100 else f"{text[:97]}..."
