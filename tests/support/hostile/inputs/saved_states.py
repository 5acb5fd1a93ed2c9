"""Saved states of strangers: no JSON, too much of it, other scenes, files that never end."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from support.hostile.cases import add

GROUP = "saved states"
RUN = ("run", "drop_box", "--headless", "--duration", "0.002", "--from-state", "state.json")
ESCAPE = "\x1b[31mred\x07\x9b2J\u202e"


def text(content: bytes | Callable[[], bytes]) -> Callable[[Path], Sequence[str]]:
    def write(folder: Path) -> Sequence[str]:
        (folder / "state.json").write_bytes(content if isinstance(content, bytes) else content())
        return RUN

    return write


def data(value: Any) -> bytes:
    return json.dumps(value).encode()


STATE = {"scene": "drop_box 0123456789abcdef", "released": [], "state": {}, "drives": {}, "loads": {}}
CASES: dict[str, bytes | Callable[[], bytes]] = {
    "empty": b"",
    "spaces": b" " * 10**6,
    "zeros": bytes(10**6),
    "noise": lambda: random.Random(1).randbytes(10**6),
    "another encoding": json.dumps(STATE).encode("utf-16"),
    "mark of the order of bytes": b"\xef\xbb\xbf" + data(STATE),
    "surrogate": b'{"scene": "\\ud800"}',
    "cut": data(STATE)[:40],
    "two values": data(STATE) * 2,
    "comment": b"// state\n" + data(STATE),
    "deep lists": b"[" * 10**6,
    "deep lists that end": b"[" * 10**5 + b"]" * 10**5,
    "deep maps": b'{"a":' * 10**5,
    "many lists": lambda: b"[" + b"[]," * (2**25 // 3 - 2) + b"[]]",
    "many keys": lambda: data({str(i): i for i in range(10**6)}),
    "keys twice": b'{"scene": 1, "scene": "drop_box"}',
    "long number": b"1" * 10**6,
    "long number in a field": b'{"scene": ' + b"9" * 10**5 + b"}",
    "number without end": b'{"scene": 1e999999}',
    "not a number": b'{"scene": NaN}',
    "number": b"7",
    "text": b'"state"',
    "nothing": b"null",
    "list": data([STATE]),
    "no scene": data({}),
    "another scene": data(STATE),
    "scene with controls": data({**STATE, "scene": ESCAPE}),
    "scene of a list": data({**STATE, "scene": ["drop_box"] * 10**4}),
    "scene of a map": data({**STATE, "scene": {"a": {"b": [ESCAPE]}}}),
    "scene of 1 MB": data({**STATE, "scene": "x" * 10**6}),
    "scene of lines": data({**STATE, "scene": "a\nERROR: forged\n"}),
    "pickle": b"\x80\x04\x95cos\nsystem\n(S'touch PWNED'\ntR.",
    "YAML": b"scene: !!python/object/apply:os.system ['touch PWNED']\n",
}
for name, content in CASES.items():
    add(GROUP, name, text(content))


def of_kind(kind: str) -> Callable[[Path], Sequence[str]]:
    """Something of this name that is no file, or not a small one."""

    def write(folder: Path) -> Sequence[str]:
        path = folder / "state.json"
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        elif kind == "sparse":
            with path.open("wb") as stream:
                stream.truncate(2**28)
        else:
            path.symlink_to(kind)
        return RUN

    return write


for kind in (
    "pipe",
    "folder",
    "sparse",
    "/dev/zero",
    "/dev/random",
    "/proc/self/maps",
    "nowhere",
    "state.json",
):
    add(GROUP, f"file: {kind}", of_kind(kind))
