"""Writes docs/scene_reference.md, which lists what a scene file may say: ``python docs/scene_reference.py``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hydro_sim_core.description.scene import SceneSpec
from hydro_sim_core.description.scene_sensors import SENSOR_SECTIONS, SensorSpec

PAGE = Path(__file__).with_suffix(".md")
_HEAD = """\
# Keys of a scene file

Every key that a scene file may hold, with what `hydro-sim check` holds it against. [The tutorial](tutorial.md) builds a
scene step by step; `config/scenes` has those that ship. Names of links and joints carry their model's prefix. A key
without a default must be there; where the default is "none", the text says what follows from that. The page is written
from the code by `docs/scene_reference.py`.
"""
_BOUNDS = {"exclusiveMinimum": "above", "minimum": "at least", "maximum": "at most"}

Schema = Mapping[str, Any]


def page() -> str:
    """The page in Markdown."""
    whole = SceneSpec.model_json_schema()
    sections = {"SceneSpec": whole, **whole["$defs"]}
    parts = [_HEAD]
    for name, where in _places(sections):
        parts.append(_section(sections[name], where, sections))
        if name == SensorSpec.__name__:
            parts += (_section(own, [f"sensors with type: {kind}"], sections) for kind, own in _sensors())
    return "\n".join(parts)


def _sensors() -> Iterator[tuple[str, Schema]]:
    """Every type of sensor with the keys that only it has, and those whose defaults differ from those of all."""
    common = SensorSpec.model_json_schema()["properties"]
    for kind, section in SENSOR_SECTIONS.items():
        whole = section.model_json_schema()
        own = {key: field for key, field in whole["properties"].items() if field != common.get(key)}
        del own["type"]
        yield kind, {**whole, "properties": own}


def _places(sections: Mapping[str, Schema]) -> Iterator[tuple[str, list[str]]]:
    """Names of the sections in the order in which one meets them, each with the paths that lead there."""
    found: dict[str, list[str]] = {"SceneSpec": [""]}
    waiting = ["SceneSpec"]
    while waiting:
        name = waiting.pop(0)
        for key, field in sections[name].get("properties", {}).items():
            for reference in _references(field):
                new = reference not in found
                start = found[name][0]
                found.setdefault(reference, []).append(f"{start}.{key}" if start else key)
                if new:
                    waiting.append(reference)
    yield from found.items()


def _references(field: Any) -> Iterator[str]:
    if isinstance(field, dict):
        if "$ref" in field:
            yield field["$ref"].rpartition("/")[2]
        for value in field.values():
            yield from _references(value)
    elif isinstance(field, list):
        for value in field:
            yield from _references(value)


def _section(section: Schema, where: list[str], sections: Mapping[str, Schema]) -> str:
    title = ", ".join(f"`{path}`" for path in where) if where != [""] else "The whole"
    lines = [f"## {title}", "", _text(section.get("description", "")), ""]
    if section.get("properties"):
        lines += ["| key | type | unit | default | |", "| --- | --- | --- | --- | --- |"]
        required = section.get("required", ())
        for key, field in section["properties"].items():
            default = "" if key in required else _default(field)
            # A description that is the same as that of the section which it leads to is left out of the schema.
            told = field.get("description") or sections[next(_references(field))]["description"]
            cells = (f"`{key}`", _type(field), field.get("unit", ""), default, _text(told))
            lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)


def _text(description: str) -> str:
    """In Markdown and on one line."""
    return " ".join(description.replace("``", "`").split())


def _default(field: Schema) -> str:
    value = field.get("default")
    if value is None:
        return "none"
    if "$ref" in field:
        return "its own defaults"
    return f"`{json.dumps(value)}`"


def _type(field: Schema) -> str:
    if "$ref" in field:
        return "section"
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(_type(one) for one in field["anyOf"] if one.get("type") != "null"))
    if "enum" in field or "const" in field:
        values = field.get("enum", [field.get("const")])
        return ", ".join(f"`{value}`" for value in values)
    kind = field["type"]
    if kind == "array" and "prefixItems" in field:
        return f"{len(field['prefixItems'])} × {_type(field['prefixItems'][0])}"
    if kind == "array":
        return f"list of {_type(field['items'])}" + (", not empty" if field.get("minItems") else "")
    if kind == "object":
        return f"mapping of names to {_type(field['additionalProperties'])}"
    words = {"number": "number", "integer": "whole number", "string": "text", "boolean": "`true` or `false`"}
    bounds = [f"{word} {field[name]:g}" for name, word in _BOUNDS.items() if name in field]
    return " ".join([words[kind], ", ".join(bounds)]).strip()


if __name__ == "__main__":
    PAGE.write_text(page())
