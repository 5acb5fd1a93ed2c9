"""The package as it is installed: all its modules load with what it depends on, and the engine is of its version."""

import importlib
import pkgutil
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree

import pytest

import hydro_sim

MODULES = sorted(module.name for module in pkgutil.walk_packages(hydro_sim.__path__, "hydro_sim."))


@pytest.mark.parametrize("name", MODULES)
def test_module_loads(name):
    importlib.import_module(name)


def test_the_engine_has_the_packages_version():
    """An engine of another version may lack what the node calls."""
    manifest = ElementTree.parse(Path(__file__).parents[1] / "package.xml")
    assert version("hydro-sim-core") == manifest.findtext("version")
