"""`tengen._kernel`: kernels count no references, and what they may use in place of arrays of their own."""

import ast
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit
from numba.core.errors import NumbaError
from tests.compiled_kernels import ALLOCATING, compiled_kernels, counting_kernels, kernel_folder

import tengen
from tengen._kernel import copy_into, kernel, stack_array, stack_zeros, view
from tengen.games.go.board import board_at, new_boards

SOURCES = sorted(Path(tengen.__file__).parent.rglob("*.py"))


def total(rows, count):  # type: ignore[no-untyped-def]
    """Takes views out of a tuple of arrays, which is what costs counts."""
    found = 0
    for i in range(count):
        row, other = rows[0][i], rows[1]
        for k in range(row.shape[0]):
            found += row[k] * other[k]
    return found


@view
def rows_of(pairs, i):  # type: ignore[no-untyped-def]
    return pairs[0][i], pairs[1][i]


@kernel
def product_of_rows(pairs, i):  # type: ignore[no-untyped-def]
    first, second = rows_of(pairs, i)
    found = 0
    for k in range(first.shape[0]):
        found += first[k] * second[k]
    return found


@kernel
def reversed_into(source, target):  # type: ignore[no-untyped-def]
    room, counts = stack_array(source.shape[0], np.int16), stack_zeros(3, np.int64)
    for i in range(source.shape[0]):
        room[source.shape[0] - 1 - i] = source[i]
        counts[1] += 1
    copy_into(room, target)
    return counts[0], counts[1]


@kernel
def times(number, factor):  # type: ignore[no-untyped-def]
    return number * factor


@kernel
def some_products(number):  # type: ignore[no-untyped-def]
    return times(1, number), times(number, 3), times(factor=number, number=5), times(7, factor=2)


def llvm(function: Any) -> str:
    """The LLVM code of all that a dispatcher was compiled to."""
    return "".join(compiled.library.get_llvm_str() for compiled in function.overloads.values())


def test_a_kernel_counts_no_references_where_plain_numba_does() -> None:
    rows = np.arange(12).reshape(3, 4), np.arange(4)
    options: Any = {"_nrt": False}
    counted, uncounted = njit(total), njit(**options)(total)
    assert counted(rows, 3) == uncounted(rows, 3) == 114
    assert "NRT_" in llvm(counted)
    assert "NRT_" not in llvm(uncounted)


def test_every_kernel_on_disk_counts_no_references() -> None:
    agent = tengen.load_agent("uct:playouts=10")
    state = tengen.go.State.new(5)
    state.play(agent.choose(state).move)
    folder = kernel_folder()
    assert {"uct.simulate", "board.place", "block.play"} <= compiled_kernels(folder).keys()
    assert counting_kernels(folder) <= ALLOCATING


def test_the_check_finds_kernels_that_count(tmp_path: Path) -> None:
    (tmp_path / "board.place-220.py311.1.nbc").write_bytes(b"...")
    (tmp_path / "board.place-220.py311.2.nbc").write_bytes(b"..NRT_incref..")
    (tmp_path / "score.area-88.py311.1.nbc").write_bytes(b"...")
    assert counting_kernels(tmp_path) == {"board.place"}


def test_kernels_that_allocate_are_those_that_are_named() -> None:
    found = set()
    for path in SOURCES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and any(
                "allocates=True" in ast.unparse(d) for d in node.decorator_list
            ):
                found.add(f"{path.stem}.{node.name}")
    assert found == ALLOCATING


def test_numba_is_told_to_compile_in_one_place_only() -> None:
    speakers = [path.name for path in SOURCES if re.search(r"\bnjit\(|@njit|import.*\bnjit\b", path.read_text())]
    assert speakers == ["_kernel.py"]


def test_a_kernel_cannot_make_an_array() -> None:
    @kernel
    def careless(count):  # type: ignore[no-untyped-def]
        return np.zeros(count, np.int64)[0]

    with pytest.raises(NumbaError, match="Only accept returning of array"):
        careless(3)


def test_constants_do_not_compile_a_kernel_anew() -> None:
    assert some_products(4) == (4, 12, 20, 14)
    assert len(times.signatures) == 1


def test_stack_arrays() -> None:
    target = np.zeros(700, np.int16)
    assert reversed_into(np.arange(700, dtype=np.int16), target) == (0, 700)
    assert target.tolist() == list(range(700))[::-1]


def test_a_view_is_a_view_in_python_and_in_kernels() -> None:
    pairs = np.arange(12).reshape(3, 4), np.ones((3, 4), np.int8)
    first, second = rows_of(pairs, 1)
    assert product_of_rows(pairs, 1) == first @ second == 22
    boards = new_boards(5, 3)
    board_at(boards, 1).color[9] = 2
    assert boards.color[1, 9] == 2
    assert boards.color[0, 9] != 2
