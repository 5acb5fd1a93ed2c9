"""Loaders of YAML: safe ones, with bounds on what a file may hold, and one with the numbers of YAML 1.2."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

import yaml

#: Largest YAML file, bytes, and most values in one: the Python parser takes 2 s for so many. A scene with 5000 boxes
#: has 300 kB and 75 thousand values.
MOST_BYTES = 2**20
MOST_VALUES = 100_000
#: Most characters of a whole number; Python writes none of more than 4300 digits.
_MOST_DIGITS = 1000
#: Most keys of a mapping that are not text: numbers can be chosen so that their hashes collide, which takes long.
_MOST_OTHER_KEYS = 10_000
_TEXT_TAG = "tag:yaml.org,2002:str"


class TooLarge(yaml.YAMLError):
    """A file has more values than are read, or its aliases expand to more."""


class BoundedLoader(yaml.SafeLoader):
    """Safe loader that refuses files with too many values, aliases counted with all that they stand for."""

    def __init__(self, stream: bytes | str) -> None:
        super().__init__(stream)
        self._values = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self._values += 1
        if self._values > MOST_VALUES:
            raise TooLarge(f"it has more than {MOST_VALUES} values")
        node: yaml.Node | None = super().compose_node(parent, index)
        return node

    def get_single_node(self) -> yaml.Node | None:
        node: yaml.Node | None = super().get_single_node()
        if node is not None:
            _check_expansion(node)
        return node


class Yaml12Loader(BoundedLoader):
    """Loader with the core schema of YAML 1.2, and with merge keys (``<<``), which only YAML 1.1 has.

    PyYAML reads YAML 1.1, in which ``1e-4`` and ``on`` are not what they seem, ``010`` is 8 and ``1:30`` is 90.
    """

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {}

    def whole_number(self, node: yaml.ScalarNode) -> int:
        """Value of an integer: decimal, ``0o17`` or ``0x1f``."""
        text = str(self.construct_scalar(node))
        if len(text) > _MOST_DIGITS:
            raise TooLarge(f"a whole number of more than {_MOST_DIGITS} digits")
        return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))

    def number(self, node: yaml.ScalarNode) -> float:
        """Value of a number with a decimal point or an exponent, or of an infinity or NaN."""
        return float(str(self.construct_scalar(node)).lower().replace(".inf", "inf").replace(".nan", "nan"))


#: Tags by pattern and by the characters that such values begin with, from section 10.3.2 of YAML 1.2.2.
_SCHEMA = (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    (
        "float",
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
    ("merge", r"<<", ["<"]),
)

for _tag, _pattern, _first in _SCHEMA:
    Yaml12Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})\Z"), _first)
Yaml12Loader.add_constructor("tag:yaml.org,2002:int", Yaml12Loader.whole_number)
Yaml12Loader.add_constructor("tag:yaml.org,2002:float", Yaml12Loader.number)


def _check_expansion(root: yaml.Node) -> None:
    """Refuse aliases that expand to too many values, or to themselves."""
    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()
    waiting: list[tuple[yaml.Node, bool]] = [(root, False)]
    while waiting:
        node, is_complete = waiting.pop()
        if is_complete:
            open_nodes.discard(id(node))
            sizes[id(node)] = 1 + sum(sizes[id(child)] for child in _children(node))
            if sizes[id(node)] > MOST_VALUES:
                raise TooLarge(f"its aliases expand to more than {MOST_VALUES} values")
        elif id(node) in open_nodes:
            raise TooLarge("an alias is part of what it stands for")
        elif id(node) not in sizes:
            open_nodes.add(id(node))
            waiting.append((node, True))
            waiting.extend((child, False) for child in _children(node))


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        yield from node.value
    elif isinstance(node, yaml.MappingNode):
        if sum(key.tag != _TEXT_TAG for key, _ in node.value) > _MOST_OTHER_KEYS:
            raise TooLarge(f"a mapping has more than {_MOST_OTHER_KEYS} keys that are not text")
        for key, value in node.value:
            yield key
            yield value
