"""The plug-in of docs/extending.md, installed outside of the tree."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "extending.md"
FILES = dict(re.findall(r"<!-- file: plugin/(\S+) -->\n+```\w+\n(.*?)```", PAGE.read_text(), re.DOTALL))


def install(folder: Path, entry_points: dict[str, dict[str, str]]) -> None:
    """Put a package on the path as an installer would tell of it."""
    told = folder / "cones-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: cones\nVersion: 1.0\n")
    lines = []
    for group, names in entry_points.items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in names.items())]
    (told / "entry_points.txt").write_text("\n".join(lines) + "\n")


def install_page(folder: Path) -> None:
    """Write the files of the page and install what they hold."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    install(folder, tomllib.loads(FILES["pyproject.toml"])["project"]["entry-points"])


def python_path(folder: Path) -> str:
    """``PYTHONPATH`` on which the folder comes first."""
    return os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
