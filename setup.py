"""What ``pyproject.toml`` cannot say: files from outside the package, and machine code for wheels of one platform.

``HYDRO_SIM_PREBUILT`` names a folder of machine code (``.ci/release`` makes it); a wheel with it is for one version of
Python and one platform.
"""

from __future__ import annotations

import os
import runpy
import shutil
from pathlib import Path
from typing import Any

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
ASSETS = runpy.run_path(str(ROOT / "hydro_sim_core" / "assets.py"))
PREBUILT = os.environ.get("HYDRO_SIM_PREBUILT")


class BuildWithAssets(build_py):
    """Copies the shipped folders, and machine code if there is any, into what is built."""

    def run(self) -> None:
        """Build the package, then add the files. An editable installation reads them where they are."""
        super().run()
        if self.editable_mode:
            return
        package = Path(self.build_lib) / "hydro_sim_core"
        for name, source in ASSETS["FOLDERS"].items():
            _copy(ROOT / source, package / ASSETS["SHARED"] / name)
        if PREBUILT:
            _copy(Path(PREBUILT), package / "compilation" / "prebuilt")


class MaybePlatformDistribution(Distribution):
    """A wheel with machine code is not for every platform."""

    def has_ext_modules(self) -> bool:
        """Whether the wheel is for one platform."""
        return bool(PREBUILT)


def _copy(source: Path, target: Path) -> None:
    ignored: Any = shutil.ignore_patterns("__pycache__", "*.pyc")
    shutil.copytree(source, target, dirs_exist_ok=True, ignore=ignored)


setup(cmdclass={"build_py": BuildWithAssets}, distclass=MaybePlatformDistribution)
