"""The files of the repository that we write."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]


def our_files(*suffixes: str) -> list[Path]:
    """Files with such names, below the root: not the viewer's libraries."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = [Path(name) for name in listed.stdout.rstrip("\0").split("\0")]
    # A deleted file may still be in the index.
    return [
        path
        for path in paths
        if path.suffix in suffixes and "vendor" not in path.parts and (ROOT / path).exists()
    ]
