"""Files that a wheel carries and that stand outside the package: setuptools is told of this by ``pyproject.toml``.

A ``setup.py`` would make colcon take the whole repository for one package.

``HYDRO_SIM_PREBUILT`` names a folder of machine code that goes into the wheel too (``.ci/release`` makes it).
"""

from __future__ import annotations

import os
import runpy
import shutil
from pathlib import Path
from typing import Any

from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent


class BuildWithFiles(build_py):
    """Copies the shipped folders, and machine code if there is any, into what is built."""

    def run(self) -> None:
        """Build the package, then add the files. An editable installation reads them where they are."""
        package = Path(self.build_lib) / "hydro_sim_core"
        if not self.editable_mode:
            # An earlier build may have left what the sources no longer have.
            shutil.rmtree(package, ignore_errors=True)
        super().run()
        if self.editable_mode:
            return
        assets = runpy.run_path(str(ROOT / "hydro_sim_core" / "assets.py"))
        for name, source in assets["FOLDERS"].items():
            _copy(ROOT / source, package / assets["SHARED"] / name)
        prebuilt = os.environ.get("HYDRO_SIM_PREBUILT")
        if prebuilt:
            _copy(Path(prebuilt), package / "compilation" / "prebuilt")


def _copy(source: Path, target: Path) -> None:
    ignored: Any = shutil.ignore_patterns("__pycache__", "*.pyc", "*.png")
    shutil.copytree(source, target, dirs_exist_ok=True, ignore=ignored)
