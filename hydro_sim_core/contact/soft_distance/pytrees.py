"""Classes of arrays and parameters as pytrees of JAX, so that its transformations take them as arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

#: Names of traced and of fixed attributes of the classes that JAX does not know yet.
_waiting: dict[type, tuple[tuple[str, ...], tuple[str, ...]]] = {}


class _ByIdentity:
    """What is fixed and has no hash, as arrays of NumPy have none: equal to itself alone."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def pytree(traced: tuple[str, ...], fixed: tuple[str, ...] = ()) -> Callable[[type[T]], type[T]]:
    """A decorator of classes that ``register_pytrees`` tells JAX of.

    Args:
        traced: Names of attributes with arrays, numbers, and instances of such classes.
        fixed: Names of the other attributes, for other values of which JAX compiles again.
    """

    def note(kind: type[T]) -> type[T]:
        _waiting[kind] = traced, fixed
        return kind

    return note


def register_pytrees() -> None:
    """Tell JAX of all such classes that it does not know yet; nothing if it is not imported."""
    if not _waiting or "jax" not in sys.modules:
        return
    from jax import tree_util

    while _waiting:
        kind, names = _waiting.popitem()
        tree_util.register_pytree_node(kind, *_ways(kind, *names))


def _ways(kind: type, traced: tuple[str, ...], fixed: tuple[str, ...]) -> tuple[Any, Any]:
    """Functions that take an instance apart and make one.

    JAX makes instances with tracers and placeholders as attributes: without ``__init__`` and its checks.
    """

    def flatten(one: Any) -> tuple[list[Any], tuple[Any, ...]]:
        return [getattr(one, name) for name in traced], tuple(_hashable(getattr(one, name)) for name in fixed)

    def unflatten(values: tuple[Any, ...], children: Any) -> Any:
        made: Any = object.__new__(kind)
        plain = (value.value if isinstance(value, _ByIdentity) else value for value in values)
        for names, parts in ((traced, children), (fixed, plain)):
            for name, part in zip(names, parts, strict=True):
                object.__setattr__(made, name, part)
        return made

    return flatten, unflatten


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return _ByIdentity(value)
    return value
