"""Packages that are installed in a folder, and programs that are run beside them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def install(folder: Path, module: str, text: str, points: str) -> None:
    (folder / f"{module}.py").write_text(text)
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env={**os.environ, "PYTHONPATH": paths}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
