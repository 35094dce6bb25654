"""Arrays that kernels use without counting references to them."""

from typing import Any

from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array


def _borrow(typingctx: Any, arrays: Any) -> Any:
    """The same arrays, alone or in tuples, for the body of a kernel that got them as arguments.

    Numba counts references: passing a game's dozen arrays to a function, or taking a row of each, is as many atomic
    additions, which takes longer than most of what rules do with them. Borrowed arrays are not counted. Whoever called
    the kernel keeps them alive, so borrow arguments, nothing that the kernel made, and do not return them.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _uncounted(context, builder, arrays, arguments[0])

    return arrays(arrays), codegen


def _uncounted(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.BaseTuple):
        kinds: Any = kind
        parts = [_uncounted(context, builder, kinds[k], builder.extract_value(value, k)) for k in range(len(kinds))]
        return context.make_tuple(builder, kind, parts)
    if isinstance(kind, types.Array):
        array: Any = make_array(kind)(context, builder, value)  # type: ignore[no-untyped-call]
        array.meminfo = array.meminfo.type(None)
        array.parent = array.parent.type(None)
        return array._getvalue()
    return value


borrow: Any = intrinsic(_borrow)
