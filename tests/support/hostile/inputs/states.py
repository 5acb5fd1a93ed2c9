"""Saved states and reports of strangers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from support.hostile.cases import Writer, add

GROUP = "states of a run"
RUN = ("run", "drop_box", "--headless", "--duration", "0.002", "--from-state", "state.json")


@cache
def _state() -> str:
    """A state of the shipped scene, as text."""
    import tempfile

    from hydro_sim_core import load_scene

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.json"
        load_scene("drop_box").save_state().write(path)
        return path.read_text()


def _changed(change: Callable[[Any], object]) -> Writer:
    def write(folder: Path) -> list[str]:
        data = json.loads(_state())
        change(data)
        (folder / "state.json").write_text(json.dumps(data))
        return [*RUN]

    return write


def _text(content: bytes, command: tuple[str, ...]) -> Writer:
    def write(folder: Path) -> list[str]:
        (folder / "state.json").write_bytes(content)
        return [*command]

    return write


def _node(make: Callable[[Path], object], command: tuple[str, ...]) -> Writer:
    def write(folder: Path) -> list[str]:
        make(folder / "state.json")
        return [*command]

    return write


TEXTS = {
    "empty": b"",
    "null": b"null",
    "a number": b"1e400",
    "a list": b"[]",
    "an object": b"{}",
    "not JSON": b"{]",
    "not UTF-8": b'{"a": "\xff\xfe"}',
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "deep lists": b"[" * 1_000_000,
    "deep objects": b'{"a":' * 1_000_000,
    "many lists": b"[" + b"[]," * 3_000_000 + b"[]]",
    "a long number": b"1" * 1_000_000,
    "a long text": b'"' + b"a" * 10_000_000 + b'"',
    "too large": b" " * (17 * 2**20),
    "a repeated key": b'{"scene": "a", "scene": 1}',
    "control characters": b'{"scene": "\\u001b[31m\\u0007"}',
    "null characters": bytes(100),
}
FILES: dict[str, Callable[[Path], object]] = {
    "a named pipe": os.mkfifo,
    "zeros without end": lambda path: path.symlink_to("/dev/zero"),
    "a folder": Path.mkdir,
    "a link to itself": lambda path: path.symlink_to(path.name),
    "absent": lambda path: None,
}
for _group, _command in ((GROUP, RUN), ("reports", ("hil-report", "state.json"))):
    for _name, _content in TEXTS.items():
        add(_group, _name, _text(_content, _command))
    for _name, _make in FILES.items():
        add(_group, _name, _node(_make, _command))

_VALUES = [None, "a", [], {}, True, -1, 0.5, 2**31, 2**62, 2**70, 1e18, 1e300, [1e300], [[1.0]]]
_FIELDS = [
    "step",
    "substep",
    "dt_previous",
    "extrapolate",
    "q",
    "v",
    "v_previous",
    "push",
    "overlaps",
]  # of the state
for _field in _FIELDS:
    for _value in _VALUES:

        def _put(data: Any, field: str = _field, value: Any = _value) -> None:
            old = data["state"][field]
            fits = isinstance(old, list) and isinstance(value, int | float) and not isinstance(value, bool)
            nested = bool(old) and isinstance(old[0], list)
            data["state"][field] = (
                [[value] * 3] * len(old) if fits and nested else [value] * len(old) if fits else value
            )

        add("values in states", f"{_field}: {_value}", _changed(_put))
for _part in ("scene", "released", "state", "drives", "loads"):
    add(GROUP, f"without {_part}", _changed(lambda data, part=_part: data.pop(part)))
    add(GROUP, f"a number for {_part}", _changed(lambda data, part=_part: data.update({part: 1})))
