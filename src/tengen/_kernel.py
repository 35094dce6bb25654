"""`@kernel`: how Tengen compiles functions over arrays, and `stack_array`, the memory that these may ask for.

A kernel works on arrays that its caller keeps alive: it counts no references to them. Numba counts by default, with two
atomic additions for each array that is passed on, taken out of a tuple or sliced, and a Go board is seven arrays. Its
optimiser removes most of these pairs on some processors and few on others: on an Intel Xeon with AVX-512 they took
four fifths of the time of a playout (docs/decisions/0014-no-reference-counts.md has the figures).

The rules that follow from it:

* a kernel makes no arrays: NumPy's `empty` and the like do not compile in it. Its caller passes the room that it needs,
  or it takes a `stack_array`;
* a kernel returns numbers, not arrays. What returns views of its arguments, such as one board of many, is a `@view`:
  kernels get the views uncounted, and Python calls the function as it is written;
* `@kernel(allocates=True)` is for the few that must make large arrays. They are counted as Numba does by default, so
  they may not call a `@view`.

`tests/test_kernel.py` checks all of this in the machine code of every kernel.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from numba import njit, types
from numba.core import cgutils
from numba.core.typing.npydecl import parse_dtype
from numba.extending import intrinsic, register_jitable
from numba.np.arrayobj import make_array, populate_array

INLINED: Any = {"_nrt": False, "forceinline": True}
"""Options of Numba for what `numba.extending.overload` makes: as `@kernel(inline=True)`."""


def kernel(
    function: Callable[..., Any] | None = None,
    *,
    inline: bool = False,
    allocates: bool = False,
    fastmath: bool | set[str] = False,
) -> Any:
    """Compile a function over arrays when it is first called, and keep the machine code on disk.

    inline: copy it into the kernels that call it, which pays for small functions that take whole boards.
    allocates: let it make arrays, at the price of counting references.
    fastmath: the liberties that LLVM may take with floats, as Numba names them.
    """
    options: Any = {"_nrt": allocates, "forceinline": inline, "fastmath": fastmath}

    def decorate(function: Callable[..., Any]) -> Any:
        compiled = njit(cache=True, nogil=True, **options)(function)
        compiled.get_call_template = partial(_call_with_variables, compiled)
        return compiled

    return decorate if function is None else decorate(function)


def _call_with_variables(compiled: Any, arguments: Any, keywords: Any) -> Any:
    """The types of a call, a constant being of the type of a variable: Numba would compile the callee anew for each."""
    unliteral: Any = types.unliteral
    keywords = {name: unliteral(kind) for name, kind in keywords.items()}
    return type(compiled).get_call_template(compiled, [unliteral(kind) for kind in arguments], keywords)


def view(function: Callable[..., Any]) -> Any:
    """Let kernels call a function that returns views of its arguments, or that Python wants without the price of a
    kernel; in Python it stays what it is."""
    return register_jitable(**INLINED)(function)


@kernel(inline=True)
def copy_into(source, target):  # type: ignore[no-untyped-def]
    """target[:] = source for flat arrays of one length that share no memory: the slices would not compile, because
    Numba makes room for a copy in case they do."""
    for i in range(source.shape[0]):
        target[i] = source[i]


def _stack_memory(length: Any, dtype: Any, zeros: bool) -> Any:
    kind: Any = types.Array(parse_dtype(dtype), 1, "C")  # type: ignore[no-untyped-call, call-overload]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        entry = context.get_data_type(kind.dtype)
        size = context.get_constant(types.intp, context.get_abi_sizeof(entry))
        count = context.cast(builder, arguments[0], length, types.intp)
        data = builder.alloca(entry, size=count)
        data.align = 16
        if zeros:
            cgutils.memset(builder, data, builder.mul(count, size), 0)  # type: ignore[no-untyped-call]
        array: Any = make_array(kind)(context, builder)  # type: ignore[no-untyped-call]
        populate_array(array, data, [count], [size], size, None)  # type: ignore[no-untyped-call]
        return array._getvalue()

    return kind(length, dtype), generate


def _stack_array(typing_context: Any, length: Any, dtype: Any) -> Any:
    """An array of `length` entries, not set to anything, that lives until the kernel which asked for it returns.

    For boards and lists of moves: it is memory of the stack, so a few kilobytes at most, and never inside a loop.
    """
    return _stack_memory(length, dtype, zeros=False)


def _stack_zeros(typing_context: Any, length: Any, dtype: Any) -> Any:
    """As `stack_array`, filled with zeros."""
    return _stack_memory(length, dtype, zeros=True)


stack_array: Any = intrinsic(_stack_array)
stack_zeros: Any = intrinsic(_stack_zeros)
