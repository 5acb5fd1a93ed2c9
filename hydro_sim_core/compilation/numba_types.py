"""Numba types of structs passed by address and of entry points; imported only when something has to be compiled.

A field of a struct is read from memory where it is used: arguments of the compiled function are addresses instead of
all fields of all structs. Fields never change while a kernel runs; the loads are marked invariant, so that LLVM need
not repeat them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing import signature
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_builtin,
    lower_getattr_generic,
    models,
    register_model,
    unbox,
)

from hydro_sim_core.compilation.arrays import ArrayLayout, EntryLayout, Layout, NumberLayout, StructLayout
from hydro_sim_core.compilation.c_calls import BYTE_POINTER, WORD, c_function_type, c_types
from hydro_sim_core.compilation.kernels import entry_named
from hydro_sim_core.compilation.side_by_side import LANES, SHARED, SideBySide

if TYPE_CHECKING:
    from hydro_sim_core.compilation.kernels import Entry

_NUMBERS = {float: types.float64, int: types.int64, bool: types.boolean}
_ELEMENTS = {"float64": types.float64, "int64": types.int64, "bool": types.boolean}


class StructRef(types.Type):
    """Address of a struct.

    Attributes:
        layout: Layout of the struct.
        memory: Where its fields lie, for many worlds side by side; None for a single world.
    """

    def __init__(self, layout: StructLayout, memory: SideBySide | None = None) -> None:
        self.layout, self.memory = layout, memory
        super().__init__(name=f"{layout.struct.__module__}.{layout.struct.__qualname__}")

    @property
    def key(self) -> Any:
        """Key of equality with other types; the name is not enough, as a class may be defined again."""
        return self.layout, self.memory

    @property
    def mangling_args(self) -> tuple[str, tuple[Any, ...]]:
        return self.name, ()


class EntryType(types.Callable, types.Dummy):
    """An entry point, known by its symbol when the caller is compiled."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        super().__init__(name=f"{type(self).__name__}({entry.symbol})")

    @property
    def key(self) -> Any:
        """Key of equality with other types; the symbol is not enough, as an entry point may be defined again."""
        return self.entry

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """Signature of a call with arguments of these types; None if they do not fit."""
        wanted = signature_of(self.entry)
        if kws or len(args) != len(wanted.args):
            return None
        if not all(_fits(context, *types_) for types_ in zip(args, wanted.args, strict=True)):
            return None
        # The receiver is passed to the code generator of the call, which needs to know the callee.
        return wanted.replace(recvr=self)

    def get_call_signatures(self) -> Any:
        """All signatures, for Numba's error messages."""
        return [signature_of(self.entry)], False

    def get_impl_key(self, sig: Any) -> Any:
        """Key by which Numba looks up the implementation of a call."""
        return type(self)


class EntryPointer(EntryType):
    """An entry point whose address is a field of a struct."""


for _opaque in (StructRef, EntryType, EntryPointer):
    register_model(_opaque)(models.OpaqueModel)


def numba_type(layout: Layout) -> Any:
    """Type of a value of this layout in a kernel."""
    match layout:
        case ArrayLayout():
            return types.Array(_ELEMENTS[layout.dtype], layout.ndim, "C", readonly=layout.const)
        case NumberLayout():
            return _NUMBERS[layout.kind]
        case EntryLayout():
            return EntryPointer(entry_named(layout.like))
        case StructLayout():
            return StructRef(layout)


def signature_of(entry: Entry) -> Any:
    """Numba's signature of an entry point."""
    result = types.void if entry.result is None else numba_type(entry.result)
    return signature(result, *(numba_type(layout) for _, layout in entry.parameters))


def _fits(context: Any, given: Any, wanted: Any) -> bool:
    if isinstance(wanted, types.Array):
        return isinstance(given, types.Array) and (given == wanted or given.copy(readonly=True) == wanted)
    return given == wanted or context.can_convert(given, wanted) is not None


# --- Fields of structs -----------------------------------------------------------------------------------------------


@infer_getattr
class _StructFields(AttributeTemplate):
    key = StructRef

    def generic_resolve(self, struct: StructRef, name: str) -> Any:  # type: ignore[override]
        """Type of a field, or None."""
        layouts = dict(struct.layout.fields)
        return _field_type(struct, name, layouts[name]) if name in layouts else None


def _field_type(struct: StructRef, name: str, layout: Layout) -> Any:
    if struct.memory is None:
        return numba_type(layout)
    match layout:
        case StructLayout():
            return StructRef(layout, struct.memory)
        case ArrayLayout() if struct.memory.place(struct.layout, name) == LANES:
            return types.Array(_ELEMENTS[layout.dtype], layout.ndim, "A", readonly=layout.const)
    return numba_type(layout)


@lower_getattr_generic(StructRef)
def _read_field(context: Any, builder: Any, struct: StructRef, address: Any, name: str) -> Any:
    index = [field for field, _ in struct.layout.fields].index(name)
    layout, offset = struct.layout.fields[index][1], struct.layout.offsets[index]

    def word(number: int, llvm_type: Any) -> Any:
        place = builder.gep(address, [ir.Constant(WORD, offset + 8 * number)])
        value = builder.load(builder.bitcast(place, llvm_type.as_pointer()))
        value.set_metadata("invariant.load", builder.module.add_metadata([]))
        return value

    match layout:
        case ArrayLayout():
            array_type = _field_type(struct, name, layout)
            data_type = context.get_data_type(array_type.dtype).as_pointer()
            lengths = [word(1 + i, WORD) for i in range(layout.ndim)]
            if struct.memory is None:
                return make_array(context, builder, array_type, word(0, data_type), lengths)
            place = struct.memory.place(struct.layout, name)
            data, stride = _data_of_world(context, builder, array_type, place, word(0, WORD), lengths)
            return make_array(context, builder, array_type, builder.bitcast(data, data_type), lengths, stride)
        case NumberLayout(kind) if kind is float:
            return word(0, ir.DoubleType())
        case NumberLayout(kind) if kind is bool:
            return builder.trunc(word(0, WORD), ir.IntType(1))
        case NumberLayout():
            return word(0, WORD)
    return word(0, BYTE_POINTER)


def _data_of_world(
    context: Any, builder: Any, array_type: Any, place: str, word: Any, lengths: list[Any]
) -> tuple[Any, Any]:
    """Pointer to the first element of an array of the thread's world; the stride of its elements, None if it has none.

    ``word`` is that of the field, see ``side_by_side``.
    """

    def asked(name: str, result: Any, *arguments: Any) -> Any:
        function_type = ir.FunctionType(result, [argument.type for argument in arguments])
        return builder.call(cgutils.get_or_insert_function(builder.module, function_type, name), arguments)

    if place == LANES:
        lane = asked("hydro_lane", BYTE_POINTER)
        return builder.gep(lane, [word]), asked("hydro_stride", WORD)
    data = asked("hydro_address", BYTE_POINTER, word)
    if place == SHARED:
        return data, None
    size = ir.Constant(WORD, context.get_abi_sizeof(context.get_data_type(array_type.dtype)))
    for length in lengths:
        size = builder.mul(size, length)
    return builder.gep(data, [builder.mul(size, asked("hydro_world", WORD))]), None


def make_array(
    context: Any, builder: Any, array_type: Any, data: Any, lengths: list[Any], stride: Any = None
) -> Any:
    """Numba's value of an array at an address, in C order; contiguous without a stride of its elements (bytes)."""
    array = context.make_array(array_type)(context, builder)
    item_size = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
    stride = ir.Constant(WORD, item_size) if stride is None else stride
    strides: list[Any] = []
    for length in reversed(lengths):
        strides.insert(0, stride)
        stride = builder.mul(stride, length)
    num_items = ir.Constant(WORD, 1)
    for length in lengths:
        num_items = builder.mul(num_items, length)
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    array.parent = cgutils.get_null_value(array.parent.type)
    array.data = data
    array.itemsize = ir.Constant(WORD, item_size)
    array.nitems = num_items
    array.shape = cgutils.pack_array(builder, lengths, ty=WORD)
    array.strides = cgutils.pack_array(builder, strides, ty=WORD)
    return impl_ret_borrowed(context, builder, array_type, array._getvalue())


# --- Calls of entry points -------------------------------------------------------------------------------------------


def _to_c(context: Any, builder: Any, layout: Layout, value: Any) -> list[Any]:
    match layout:
        case ArrayLayout():
            array = context.make_array(numba_type(layout))(context, builder, value)
            data = builder.bitcast(array.data, BYTE_POINTER)
            return [data, *cgutils.unpack_tuple(builder, array.shape, layout.ndim)]
        case NumberLayout(kind) if kind is bool:
            return [builder.zext(value, ir.IntType(8))]
    return [value]


def from_c(context: Any, builder: Any, layout: Layout, values: list[Any]) -> Any:
    """Numba's value of a C argument; removes the consumed items from ``values``."""
    first = values.pop(0)
    match layout:
        case ArrayLayout():
            array_type = numba_type(layout)
            data = builder.bitcast(first, context.get_data_type(array_type.dtype).as_pointer())
            return make_array(context, builder, array_type, data, [values.pop(0) for _ in range(layout.ndim)])
        case NumberLayout(kind) if kind is bool:
            return builder.trunc(first, ir.IntType(1))
    return first


def _call(context: Any, builder: Any, entry: Entry, function: Any, args: Any) -> Any:
    values = [
        c_value
        for (_, layout), value in zip(entry.parameters, args, strict=True)
        for c_value in _to_c(context, builder, layout, value)
    ]
    place = None
    if entry.result is not None:
        place = cgutils.alloca_once(builder, c_types(entry.result)[0])
        values.append(builder.bitcast(place, BYTE_POINTER))
    status = builder.call(function, values)
    with cgutils.if_unlikely(builder, cgutils.is_not_null(builder, status)):
        context.call_conv.return_user_exc(builder, IndexError, (f"{entry.symbol} went wrong",))
    if place is None or entry.result is None:
        return context.get_dummy_value()
    return from_c(context, builder, entry.result, [builder.load(place)])


@lower_builtin(EntryType, types.VarArg(types.Any))
def _call_symbol(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    entry = sig.args[0].entry
    function = cgutils.get_or_insert_function(builder.module, c_function_type(entry), entry.symbol)
    return _call(context, builder, entry, function, args[1:])


@lower_builtin(EntryPointer, types.VarArg(types.Any))
def _call_pointer(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    entry = sig.args[0].entry
    function = builder.bitcast(args[0], c_function_type(entry).as_pointer())
    return _call(context, builder, entry, function, args[1:])


# --- Calls from Python, for kernels that are compiled separately
# ----------------------------------------------------------


@unbox(StructRef)
def _unbox_handle(_: StructRef, handle: Any, c: Any) -> NativeValue:
    address = c.pyapi.object_getattr_string(handle, "address")
    pointer = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    return NativeValue(pointer)
