"""Runs of pytest on a small test beside this project's own conftest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[2]


def run_pytest(folder: Path, name: str, test: str, *options: str) -> str:
    """What a run of ``test``, written to ``folder``, prints; it must pass."""
    (folder / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (folder / name).write_text(test)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-s",
        "-p",
        "no:cacheprovider",
        "-p",
        "_hypothesis_pytestplugin",
    ]
    done = subprocess.run(
        [*command, *options, str(folder)],
        cwd=folder,
        # Every other plugin takes its time to be imported.
        env=os.environ | {"PYTHONPATH": str(TESTS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout
