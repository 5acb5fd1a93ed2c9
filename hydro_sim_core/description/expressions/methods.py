"""Methods of values: of text, lists and dicts, those that change nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from hydro_sim_core.description.expressions.values import (
    MOST_CHARACTERS,
    ExpressionError,
    Function,
    check_length,
    items_of,
    type_name,
    whole,
)

_TEXT = (
    "capitalize", "casefold", "count", "endswith", "find", "index", "isalnum", "isalpha",
    "isdecimal", "isdigit", "islower", "isnumeric", "isspace", "istitle", "isupper", "lower",
    "lstrip", "partition", "removeprefix", "removesuffix", "rfind", "rindex", "rpartition",
    "rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "swapcase", "title", "upper",
)  # fmt: skip
_PADDING = ["center", "ljust", "rjust", "zfill"]
_LISTS = ["copy", "count", "index"]


def _join(between: str, values: object) -> str:
    parts = list(items_of(values))
    for part in parts:
        if not isinstance(part, str):
            raise ExpressionError(f"join takes texts, not {type_name(part)}")
    texts = [str(part) for part in parts]
    check_length(sum(map(len, texts)) + len(between) * len(texts))
    return between.join(texts)


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    if not (isinstance(old, str) and isinstance(new, str)):
        raise ExpressionError("replace takes texts")
    check_length(len(text) + (text.count(old) if old else len(text) + 1) * len(new))
    return text.replace(old, new, whole(count))


def _padded(name: str) -> Callable[..., str]:
    def pad(text: str, width: int, *fill: str) -> str:
        return str(getattr(text, name)(whole(width, MOST_CHARACTERS), *fill))

    return pad


def _direct(kind: type, name: str) -> Callable[..., object]:
    unbound: Callable[..., object] = getattr(kind, name)
    return unbound


_METHODS: dict[type, dict[str, Callable[..., object]]] = {
    str: {
        **{name: _direct(str, name) for name in _TEXT},
        **{name: _padded(name) for name in _PADDING},
        "join": _join,
        "replace": _replace,
    },
    list: {name: _direct(list, name) for name in _LISTS},
    tuple: {name: _direct(tuple, name) for name in ("count", "index")},
    dict: {
        "copy": _direct(dict, "copy"),
        "get": _direct(dict, "get"),
        "items": lambda owner: list(dict.items(owner)),
        "keys": lambda owner: list(dict.keys(owner)),
        "values": lambda owner: list(dict.values(owner)),
    },
    float: {"is_integer": float.is_integer},
}


def method(owner: Any, name: str) -> Function | None:
    """A method of a value, or None if there is none of this name."""
    for kind, methods in _METHODS.items():
        if isinstance(owner, kind) and name in methods:
            return Function(name, partial(methods[name], owner))
    return None
