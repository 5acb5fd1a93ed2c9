"""The files of proven versions: whole, within the bounds of the project, and true of NumPy 1 where they say so."""

import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
#: File: the extras that it is for.
FILES = {"constraints.txt": ("ros", "test"), "constraints-numpy1.txt": ("ros", "test-numpy1")}
#: Packages of whose private parts the engine makes use; a new major version, or of Numba any, may change those.
BOUNDED = {"numba", "trimesh", "xacro", "pytetwild", "websockets", "mcap"}


def _pinned(file: str) -> dict[str, Version]:
    requirements = [Requirement(line) for line in _lines(file)]
    assert [each.name for each in requirements] == sorted(each.name for each in requirements)
    return {each.name: Version(str(each.specifier).removeprefix("==")) for each in requirements}


def _lines(file: str) -> list[str]:
    return [line for line in (ROOT / file).read_text().splitlines() if not line.startswith("#")]


def _asked(*extras: str) -> list[Requirement]:
    """What the project asks for itself, with these extras and those that they name."""
    found = [Requirement(text) for text in PROJECT["dependencies"]]
    for extra in extras:
        for requirement in map(Requirement, PROJECT["optional-dependencies"][extra]):
            own = canonicalize_name(requirement.name) == PROJECT["name"]
            found += _asked(*requirement.extras) if own else [requirement]
    return found


@pytest.mark.parametrize("file", FILES)
def test_every_requirement_is_pinned_within_its_bounds(file):
    pinned = _pinned(file)
    for requirement in _asked(*FILES[file]):
        assert pinned[canonicalize_name(requirement.name)] in requirement.specifier, requirement


def test_beside_numpy_1_the_other_versions_are_the_proven_ones():
    proven, beside = (_pinned(file) for file in FILES)
    assert proven["numpy"] >= Version("2") > beside["numpy"]
    assert {name: version for name, version in beside.items() if proven[name] != version} == {
        "numpy": beside["numpy"]
    }
    assert not {"pin", "coal", "cmeel-boost"} & set(beside)


@pytest.mark.parametrize("file", FILES)
def test_every_version_is_there_for_every_python_or_says_for_which(file):
    """Debian's Python is 3.11.2: of a version that wants 3.11.5, pip finds none there, and searches for ever."""
    oldest = str(SpecifierSet(PROJECT["requires-python"])).partition(">=")[2] + ".0"
    for requirement in map(Requirement, _lines(file)):
        try:
            pythons = SpecifierSet(metadata(requirement.name)["Requires-Python"] or "")
        except PackageNotFoundError:
            continue  # of the other file
        applies = requirement.marker is None or requirement.marker.evaluate({"python_full_version": oldest})
        assert not applies or oldest in pythons, f"{requirement} wants Python {pythons}"


def test_private_interfaces_end_at_an_upper_bound():
    """A release that moves them does not reach users before CI has seen it."""
    bounds = {
        canonicalize_name(requirement.name): [s for s in requirement.specifier if s.operator == "<"]
        for requirement in map(Requirement, PROJECT["dependencies"])
    }
    assert {name for name, upper in bounds.items() if upper} >= BOUNDED
    assert "llvmlite" in bounds


@pytest.mark.skipif(np.__version__ < "2", reason="both need NumPy 2")
def test_with_numpy_2_no_oracle_is_left_out():
    """The tests that compare with Pinocchio skip where it is missing, which only NumPy 1 excuses."""
    assert find_spec("pinocchio")
    assert find_spec("coal")
