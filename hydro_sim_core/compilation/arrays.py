"""Memory layout of data for compiled code: annotations of arrays, and the C layout of structs of arrays.

Structs are named tuples of arrays, numbers and further structs. The annotations of the fields determine the layout, so
that it belongs to the class, and kernels can be compiled before there is an instance.

    class Cloud(NamedTuple):
        points: Float2D
        neighbors: Int2D
        radius: float

In memory an array is its address followed by its lengths, a nested struct is an address, and a number is its value;
each of these takes 8 bytes. Arrays are contiguous in C order. An array annotated ``ConstFloat1D`` may be read-only, and
a kernel that writes to it does not compile; all other arrays must be writeable.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

_DTYPES = {name: np.dtype(name) for name in ("float64", "int64", "bool")}


@dataclass(frozen=True)
class ArrayLayout:
    """An array with a fixed element type and number of dimensions.

    Attributes:
        dtype: Name of NumPy's type: ``float64``, ``int64`` or ``bool``.
        ndim: Number of dimensions.
        const: Whether kernels only read it.
    """

    dtype: str
    ndim: int
    const: bool = False

    def __str__(self) -> str:
        return f"{'const ' if self.const else ''}{self.dtype}[{','.join(':' * self.ndim)}]"

    def check(self, array: Any, name: str) -> None:
        """Refuse an array of another layout.

        Raises:
            TypeError: The array has another layout; the message contains ``name``.
        """
        if (
            type(array) is np.ndarray
            and array.dtype is _DTYPES[self.dtype]
            and array.ndim == self.ndim
            and array.flags.carray
        ):
            return
        if not isinstance(array, np.ndarray):
            raise TypeError(f"{name} is a {type(array).__name__}; it must be an array {self}")
        if array.dtype != _DTYPES[self.dtype] or array.ndim != self.ndim:
            raise TypeError(f"{name} is an array {array.dtype}, {array.shape}; it must be {self}")
        if not (array.flags.c_contiguous and array.flags.aligned):
            raise TypeError(
                f"{name} is not contiguous in C order and aligned; pass np.ascontiguousarray of it"
            )
        if not (array.flags.writeable or self.const):
            raise TypeError(f"{name} is read-only, and a kernel may write to it; pass a copy")


@dataclass(frozen=True)
class NumberLayout:
    """A number: ``float``, ``int`` or ``bool``."""

    kind: type

    def __str__(self) -> str:
        return self.kind.__name__

    def number(self, given: Any, name: str) -> float | int | bool:
        """Convert a number to this kind.

        Raises:
            TypeError: The value is not a number of this kind, or too large; the message contains ``name``.
        """
        if self.kind is float and isinstance(given, Real):
            return float(given)
        if self.kind is bool and isinstance(given, bool | np.bool_):
            return bool(given)
        if self.kind is int and isinstance(given, int | Integral):
            whole = operator.index(given)
            if -(2**63) <= whole < 2**63:
                return whole
            raise TypeError(f"{name} is {whole}, which has more than 64 bits")
        raise TypeError(f"{name} is a {type(given).__name__}, {given!r}; it must be a number, {self}")


@dataclass(frozen=True)
class EntryLayout:
    """The address of an entry point's machine code, chosen by the caller.

    Attributes:
        like: Full name of an entry point (``package.module.function``) with the same signature.
    """

    like: str

    def __str__(self) -> str:
        return f"like {self.like}"


@dataclass(frozen=True)
class StructLayout:
    """A named tuple passed by its address.

    Attributes:
        struct: The class.
        fields: Name and layout of every field.
        offsets: Offset of each field, bytes.
    """

    struct: type
    fields: tuple[tuple[str, Layout], ...]
    offsets: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.struct.__name__}({', '.join(f'{name}: {layout}' for name, layout in self.fields)})"


Layout = ArrayLayout | NumberLayout | EntryLayout | StructLayout

Float1D = Annotated[NDArray[np.float64], ArrayLayout("float64", 1)]
Float2D = Annotated[NDArray[np.float64], ArrayLayout("float64", 2)]
Float3D = Annotated[NDArray[np.float64], ArrayLayout("float64", 3)]
Int1D = Annotated[NDArray[np.int64], ArrayLayout("int64", 1)]
Int2D = Annotated[NDArray[np.int64], ArrayLayout("int64", 2)]
Int3D = Annotated[NDArray[np.int64], ArrayLayout("int64", 3)]
Bool1D = Annotated[NDArray[np.bool_], ArrayLayout("bool", 1)]
Bool2D = Annotated[NDArray[np.bool_], ArrayLayout("bool", 2)]
ConstFloat1D = Annotated[NDArray[np.float64], ArrayLayout("float64", 1, const=True)]
ConstFloat2D = Annotated[NDArray[np.float64], ArrayLayout("float64", 2, const=True)]
ConstFloat3D = Annotated[NDArray[np.float64], ArrayLayout("float64", 3, const=True)]
ConstInt1D = Annotated[NDArray[np.int64], ArrayLayout("int64", 1, const=True)]
ConstInt2D = Annotated[NDArray[np.int64], ArrayLayout("int64", 2, const=True)]
ConstBool1D = Annotated[NDArray[np.bool_], ArrayLayout("bool", 1, const=True)]

_WORD = 8
_layouts: dict[type, StructLayout] = {}


def is_struct(struct: Any) -> bool:
    """Whether a class is a named tuple."""
    return isinstance(struct, type) and issubclass(struct, tuple) and hasattr(struct, "_fields")


def layout_of(annotation: Any) -> Layout:
    """Layout of an annotation.

    Raises:
        TypeError: The annotation has no memory layout.
    """
    if annotation in (float, int, bool):
        return NumberLayout(annotation)
    if get_origin(annotation) is Annotated:
        for extra in get_args(annotation)[1:]:
            if isinstance(extra, ArrayLayout | EntryLayout):
                return extra
    if is_struct(annotation):
        return struct_layout(annotation)
    raise TypeError(
        f"{annotation} says nothing about memory; use Float1D, Int2D, float or a named tuple of such"
    )


def struct_layout(struct: type) -> StructLayout:
    """Layout of a named tuple; the same object for every call with the same class.

    Raises:
        TypeError: The annotation of a field has no memory layout.
    """
    if struct not in _layouts:
        _layouts[struct] = _make_struct_layout(struct)
    return _layouts[struct]


def _make_struct_layout(struct: Any) -> StructLayout:
    hints = get_type_hints(struct, include_extras=True)
    fields, offsets, end = [], [], 0
    for name in struct._fields:
        try:
            layout = layout_of(hints[name])
        except TypeError as error:
            raise TypeError(f"{struct.__name__}.{name}: {error}") from None
        fields.append((name, layout))
        offsets.append(end)
        end += _WORD * (1 + layout.ndim if isinstance(layout, ArrayLayout) else 1)
    return StructLayout(struct, tuple(fields), tuple(offsets))
