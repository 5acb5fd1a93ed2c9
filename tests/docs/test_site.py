"""The site is built without a warning, holds every module, and needs nothing from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = [ROOT / "hydro_sim_core", ROOT / "ros2_ws" / "src" / "hydro_sim" / "hydro_sim"]


#: Types of arrays have other names in NumPy 1.
pytestmark = pytest.mark.skipif(int(np.__version__[0]) < 2, reason="the site is built beside NumPy 2")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site as `make docs` makes it."""
    (command,) = re.findall(r"^docs:.*\n\t\$\(BIN\)/(.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    folder = tmp_path_factory.mktemp("site")
    arguments = command.split()
    assert arguments[-1] == "build/docs"
    built = subprocess.run(
        [Path(sys.executable).with_name(arguments[0]), *arguments[1:-1], folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(str(package.parent) for package in PACKAGES)},
    )
    assert built.returncode == 0, built.stderr
    return folder


def test_every_module_is_in_the_reference(site):
    pages = "\n".join(page.read_text() for page in (site / "api").rglob("*.html"))
    described = set(re.findall(r'id="module-([\w.]+)"', pages))
    for package in PACKAGES:
        modules = {
            ".".join(path.relative_to(package.parent).with_suffix("").parts)
            for path in package.rglob("*.py")
            # Beside packages there are programs, which nothing imports.
            if not path.name.startswith("_") and (path.parent / "__init__.py").exists()
        }
        assert len(modules) > 30
        assert modules <= described, modules - described


def test_pages_load_nothing_from_the_network(site):
    """Links may lead out; scripts, styles, fonts and pictures come along."""
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        text = page.read_text()
        loaded = re.findall(r'<(?:script|img|iframe|source)[^>]* src="([^"]+)"', text)
        loaded += re.findall(r'<link[^>]* rel="(?:stylesheet|preload|icon)"[^>]* href="([^"]+)"', text)
        assert loaded
        for address in loaded:
            assert "//" not in address, f"{page.name} loads {address}"
            assert (page.parent / address.partition("?")[0]).is_file(), f"{page.name} lacks {address}"
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//|@import", style.read_text()), style.name
