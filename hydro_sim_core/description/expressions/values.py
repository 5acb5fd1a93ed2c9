"""Values of expressions: which types there are, and how large each value may be."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping

#: Largest whole number, bits; Python writes none of more than 4300 digits.
MOST_BITS = 4096
#: Largest value, in units: an item, a number, or 8 characters. A list that holds another one twice counts it twice, for
#: that is how long its text is.
MOST_UNITS = 200_000
#: Longest text of a value, characters.
MOST_CHARACTERS = 8 * MOST_UNITS
#: Most entries of a dict or set: numbers can be chosen so that their hashes collide, which takes quadratic time.
MOST_HASHED = 2_000

_SEQUENCES = (list, tuple, set, frozenset)
#: What operators and functions take. Subclasses are accepted for lists and dicts from YAML files.
PLAIN = (type(None), bool, int, float, str, range, dict, *_SEQUENCES)


class ExpressionError(ValueError):
    """An expression asks for what there is not, or for too much."""


class Function:
    """A function that expressions may call.

    Args:
        name: Its name, for messages.
        call: The function; it checks its arguments itself.
        kind: The type that it makes, for ``isinstance`` and ``type``.
    """

    __slots__ = ("call", "kind", "name")

    def __init__(self, name: str, call: Callable[..., object], kind: type | None = None) -> None:
        self.name = name
        self.call = call
        self.kind = kind

    def __repr__(self) -> str:
        return f"<function {self.name}>"


class Namespace:
    """Names behind a dot, such as ``math.pi``."""

    __slots__ = ("_name", "_values")

    def __init__(self, name: str, values: Mapping[str, object]) -> None:
        self._name = name
        self._values = values

    def __getitem__(self, name: str) -> object:
        if name not in self._values:
            raise ExpressionError(f"'{self._name}' has no '{name}'")
        return self._values[name]

    def __repr__(self) -> str:
        return f"<names of {self._name}>"


def units_of(value: object) -> int:
    """Size of a value in units.

    Raises:
        ExpressionError: The value is too large, or no value of expressions.
    """
    waiting, total = [value], 0
    while waiting:
        one = waiting.pop()
        total += 1
        if isinstance(one, (dict, set, frozenset)) and len(one) > MOST_HASHED:
            raise ExpressionError("a dict or set becomes too large")
        if isinstance(one, str):
            total += len(one) // 8
        elif isinstance(one, int):
            total += one.bit_length() // 64
            if one.bit_length() > MOST_BITS:
                raise ExpressionError("a whole number becomes too large")
        elif isinstance(one, dict):
            waiting.extend(dict.keys(one))
            waiting.extend(dict.values(one))
        elif isinstance(one, _SEQUENCES):
            # Iterating over lists of YAML files wraps each item; their own items are as large.
            waiting.extend(list.__iter__(one) if isinstance(one, list) else one)
        elif isinstance(one, complex):
            raise ExpressionError("the result is no real number")
        if total + len(waiting) > MOST_UNITS:
            raise ExpressionError("a value becomes too large")
    return total


def check_length(characters: int) -> None:
    """Refuse to make a text of so many characters."""
    if characters > MOST_CHARACTERS:
        raise ExpressionError("a text becomes too large")


def items_of(value: object) -> Iterable[object]:
    """Items of a value to iterate over.

    Raises:
        ExpressionError: It has none, or too many.
    """
    if not isinstance(value, (str, range, dict, *_SEQUENCES)):
        raise ExpressionError(f"{type_name(value)} has no items")
    if len(value) > MOST_UNITS:
        raise ExpressionError("a list becomes too large")
    return value


def hashable_items(items: Iterable[object]) -> list[object]:
    """Items for a set, or pairs for a dict.

    Raises:
        ExpressionError: They are too many.
    """
    found = list(itertools.islice(items, MOST_HASHED + 1))
    if len(found) > MOST_HASHED:
        raise ExpressionError(f"more than {MOST_HASHED} entries in one set or dict")
    return found


def whole(value: object, most: int | None = None) -> int:
    """A whole number as an argument.

    Raises:
        ExpressionError: It is none, or its magnitude is above ``most``.
    """
    if not isinstance(value, int):
        raise ExpressionError(f"{type_name(value)} is no whole number")
    if most is not None and abs(value) > most:
        raise ExpressionError(f"{value if value.bit_length() < 64 else 'a number'} is above {most}")
    return value


def type_name(value: object) -> str:
    """Name of a value's type for messages."""
    return type(value).__name__
