"""What Numba makes of local arrays; imported only when something has to be compiled."""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing import signature
from numba.extending import lower_builtin, models, register_model

from hydro_sim_core.compilation.numba_types import make_array

_ELEMENTS = {"local_floats": types.float64, "local_ints": types.int64}
_WORD = ir.IntType(64)


class LocalArrayType(types.Callable, types.Dummy):
    """Maker of local arrays, known by its name."""

    def __init__(self, name: str) -> None:
        self.element = _ELEMENTS[name]
        super().__init__(name=f"local array({name})")

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """Signature of a call; None if its lengths are no constants."""
        if kws or not args or not all(isinstance(length, types.IntegerLiteral) for length in args):
            return None
        return signature(types.Array(self.element, len(args), "C"), *args, recvr=self)

    def get_call_signatures(self) -> Any:
        """All signatures, for Numba's error messages."""
        return [signature(types.Array(self.element, 1, "C"), types.IntegerLiteral(1))], False

    def get_impl_key(self, sig: Any) -> Any:
        """Key by which Numba looks up the implementation of a call."""
        return type(self)


register_model(LocalArrayType)(models.OpaqueModel)


@lower_builtin(LocalArrayType, types.VarArg(types.Any))
def _lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    array_type = sig.return_type
    lengths = [length.literal_value for length in sig.args[1:]]
    element = context.get_data_type(array_type.dtype)
    memory = cgutils.alloca_once(builder, ir.ArrayType(element, math.prod(lengths)))
    data = builder.bitcast(memory, element.as_pointer())
    return make_array(context, builder, array_type, data, [ir.Constant(_WORD, n) for n in lengths])
