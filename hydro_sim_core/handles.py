"""Many arrays behind one pointer, for kernels that are called often.

Numba takes every array of its arguments apart on each call: 20 to 70 µs for the hundred arrays of a step. A handle does
it once. Its structs of arrays are written to memory as the compiled code holds them, and a kernel that gets the handle
reads them back by ``unpack``: a call costs 2 µs whatever is behind it.

The memory holds addresses. They stay valid because a handle keeps the arrays alive, and arrays never move.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import NativeValue, intrinsic, models, register_model, unbox

from hydro_sim_core.jit import kernel


class HandleType(types.Type):
    """Numba's type of a handle: a pointer to values of known types.

    Attributes:
        values: Type of the tuple behind it.
    """

    def __init__(self, values: types.Type) -> None:
        self.values = values
        super().__init__(name=f"Handle({values})")


@register_model(HandleType)
class _HandleModel(models.OpaqueModel):
    """A bare address."""


class Handle:
    """Values of compiled code's arguments, taken apart once.

    Args:
        *values: Arrays and named tuples of arrays. Contents may change, the arrays themselves not.
    """

    def __init__(self, *values: Any) -> None:
        self._values = values  # keeps the arrays alive
        # Where Numba looks for the type of an object that it does not know.
        self._numba_type_ = HandleType(numba.typeof(values))
        self._memory = np.zeros(_num_bytes(values), dtype=np.uint8)
        _pack(self._memory, values)
        self.address = self._memory.ctypes.data


@unbox(HandleType)
def _unbox_handle(_: HandleType, handle: Any, c: Any) -> NativeValue:
    address = c.pyapi.object_getattr_string(handle, "address")
    pointer = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    return NativeValue(pointer)


@intrinsic
def _size(_: Any, values: Any) -> Any:
    """Bytes that compiled code needs for values."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_constant(
            types.intp, context.get_abi_sizeof(context.get_value_type(signature.args[0]))
        )

    return types.intp(values), generate


@intrinsic
def _store(_: Any, memory: Any, values: Any) -> Any:
    """Write values to an array of bytes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        target = context.get_value_type(signature.args[1]).as_pointer()
        builder.store(arguments[1], builder.bitcast(array.data, target))
        return context.get_dummy_value()

    return types.void(memory, values), generate


@intrinsic
def unpack(_: Any, handle: Any) -> Any:
    """The values behind a handle, as a tuple; for kernels only."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = context.get_value_type(signature.return_type).as_pointer()
        return builder.load(builder.bitcast(arguments[0], source))

    return handle.values(handle), generate


@kernel
def _num_bytes(values):
    return _size(values)


@kernel
def _pack(memory, values):
    _store(memory, values)
