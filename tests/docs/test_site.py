"""The site is built without a warning, holds every module, and needs nothing from elsewhere."""

import os
import pickle
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


def build(folder, pages, builder=None):
    """Build the site of some folder of pages as `make docs` does, with the given builder instead of its own."""
    (command,) = re.findall(r"^docs:.*\n\t\$\(BIN\)/(.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    program, *arguments = command.split()
    assert arguments[-2:] == ["docs", "build/docs"]
    assert arguments[:2] == ["--builder", "html"]
    built = subprocess.run(
        [
            Path(sys.executable).with_name(program),
            "--builder",
            builder or "html",
            *arguments[2:-2],
            pages,
            folder,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(str(package.parent) for package in PACKAGES)},
    )
    assert built.returncode == 0, built.stderr
    return folder


def test_every_module_is_in_the_reference(tmp_path):
    """Everything is read and its references are resolved, which takes no pages of HTML to be written."""
    site = build(tmp_path / "site", ROOT / "docs", "dummy")
    with (site / ".doctrees" / "environment.pickle").open("rb") as stored:
        described = set(pickle.load(stored).domaindata["py"]["modules"])
    for package in PACKAGES:
        modules = {
            ".".join(path.relative_to(package.parent).with_suffix("").parts)
            for path in package.rglob("*.py")
            # Beside packages there are programs, which nothing imports.
            if not path.name.startswith("_") and (path.parent / "__init__.py").exists()
        }
        assert len(modules) > 30
        assert modules <= described, modules - described


@pytest.fixture(scope="module")
def site(tmp_path_factory, full_run):
    """The site as `make docs` makes it; of a page and a module alone, but for a full run."""
    if full_run:
        return build(tmp_path_factory.mktemp("site"), ROOT / "docs")
    pages = tmp_path_factory.mktemp("pages")
    configuration = (ROOT / "docs" / "conf.py").read_text()
    (pages / "conf.py").write_text(configuration.partition("\ndef setup")[0])
    (pages / "index.md").write_text("# A page\n\nText.\n\n```{toctree}\nviewer\nmodule\n```\n")
    (pages / "viewer.md").write_text("# Another\n\nMore text.\n")
    (pages / "module.rst").write_text(
        "A module\n========\n\n.. automodule:: hydro_sim_core.errors\n   :members:\n"
    )
    return build(tmp_path_factory.mktemp("site"), pages)


def test_pages_load_nothing_from_the_network(site, full_run):
    """Links may lead out; scripts, styles, fonts and pictures come along."""
    pages = list(site.rglob("*.html"))
    assert len(pages) > (40 if full_run else 3)
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
