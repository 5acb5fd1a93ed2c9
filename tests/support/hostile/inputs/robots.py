"""URDF files of strangers."""

from __future__ import annotations

import os
from pathlib import Path

from support.hostile.cases import add, case

GROUP = "urdf"
CHECK = ("check", "robot.urdf")


@case(GROUP, "a named pipe")
def pipe(folder: Path) -> list[str]:
    """No writer ever comes."""
    os.mkfifo(folder / "robot.urdf")
    return [*CHECK]


@case(GROUP, "a device without end")
def device(folder: Path) -> list[str]:
    """A symbolic link to zeros."""
    (folder / "robot.urdf").symlink_to("/dev/zero")
    return [*CHECK]


def _text(content: str | bytes) -> object:
    def write(folder: Path) -> list[str]:
        data = content.encode() if isinstance(content, str) else content
        (folder / "robot.urdf").write_bytes(data)
        return [*CHECK]

    return write


_TEXTS = {"empty": "", "zeros": bytes(1000), "not closed": "<robot name='r'>"}
for _name, _content in _TEXTS.items():
    add(GROUP, _name, _text(_content))  # type: ignore[arg-type]
