"""The papers that a stranger looks for: licence, changes, how to contribute and how to cite."""

import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_wheel_takes_the_licence_that_the_project_names():
    """Apache asks that its whole text goes with every copy."""
    assert PROJECT["license"] == "Apache-2.0"
    assert "LICENSE" in PROJECT["license-files"]
    text = (ROOT / "LICENSE").read_text()
    assert "Version 2.0, January 2004" in text
    assert "9. Accepting Warranty or Additional Liability." in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_the_citation_is_of_this_version():
    """With the fields that GitHub and Zenodo need, and the name, licence and authors of the project."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "type"} <= set(citation)
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert citation["authors"] == PROJECT["authors"]


def test_the_changes_begin_with_this_version():
    headings = [line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")]
    assert headings[0].split()[1] == PROJECT["version"]


@pytest.mark.parametrize(
    "name", ["CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "REFERENCES.md"]
)
def test_the_readme_leads_to_it(name):
    assert f"]({name})" in (ROOT / "README.md").read_text()


def test_no_address_is_an_example():
    """Whoever has a question about a package reaches somebody."""
    paths = [ROOT / "pyproject.toml", ROOT / "CITATION.cff", *ROOT.glob("ros2_ws/src/*/setup.py")]
    paths += [*ROOT.glob("ros2_ws/src/*/package.xml"), *ROOT.glob("tests/workspace/*/package.xml")]
    assert len(paths) == 9
    assert [path.name for path in paths if "@example" in path.read_text()] == []
