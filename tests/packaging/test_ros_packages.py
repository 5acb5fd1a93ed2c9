"""The ROS packages can be released one by one: each stands on its own folder, and says what else it needs."""

import ast
import re
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(path.parent for path in ROOT.glob("ros2_ws/src/*/package.xml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ENGINE = "python3-hydro-sim-core-pip"
MAINTAINER = ("hydro-sim developers", "hydro-sim-developers@users.noreply.github.com")
of_every_package = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def _manifest(folder: Path) -> ElementTree.Element:
    return ElementTree.parse(folder / "package.xml").getroot()


def _setup_arguments() -> dict:
    """What hydro_sim's setup.py calls ``setup`` with, as far as it is written out."""
    tree = ast.parse((ROOT / "ros2_ws/src/hydro_sim/setup.py").read_text())
    (call,) = (
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "setup"
    )
    return {k.arg: ast.literal_eval(k.value) for k in call.keywords if not isinstance(k.value, ast.Call)}


@of_every_package
def test_a_package_needs_nothing_outside_its_folder(folder):
    """bloom and ``colcon build`` of a copy see that folder alone: no path leads out of it, and no link."""
    for path in folder.rglob("*"):
        assert path.resolve().is_relative_to(folder.resolve()), path
    for name in ("CMakeLists.txt", "setup.py", "setup.cfg"):
        if (folder / name).exists():
            assert "../" not in (folder / name).read_text(), name


@of_every_package
def test_a_package_has_its_licence_and_its_changes(folder):
    """The whole text of the licence that it names, and a change log under the heading that bloom looks for."""
    assert _manifest(folder).find("license").get("file") == "LICENSE"
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    title = f"Changelog for package {folder.name}"
    text = (folder / "CHANGELOG.rst").read_text()
    assert text.startswith(f"{'^' * len(title)}\n{title}\n{'^' * len(title)}\n")
    version = re.escape(PROJECT["version"])
    assert re.search(rf"^(Forthcoming|{version} \(\d{{4}}-\d\d-\d\d\))\n-+\n\* ", text, re.MULTILINE)


@of_every_package
def test_a_package_is_maintained_by_whom_the_engine_is(folder):
    maintainer = _manifest(folder).find("maintainer")
    (author,) = PROJECT["authors"]
    assert (maintainer.text, maintainer.get("email")) == (author["name"], author["email"]) == MAINTAINER


def test_the_nodes_python_package_asks_for_the_engine_of_its_version():
    """pip refuses another engine, and rosdep finds the right one by the key that both manifests name."""
    arguments = _setup_arguments()
    version = PROJECT["version"]
    assert arguments["version"] == version
    assert arguments["install_requires"] == [f"{PROJECT['name']}=={version}"]
    assert (arguments["maintainer"], arguments["maintainer_email"]) == MAINTAINER
    for name in ("hydro_sim", "hydro_sim_bringup"):
        dependencies = _manifest(ROOT / "ros2_ws" / "src" / name).findall("exec_depend")
        (engine,) = (dependency for dependency in dependencies if dependency.text == ENGINE)
        assert engine.get("version_eq") == version


def test_rosdep_can_learn_the_engines_key():
    """The key leads to the engine's name as pip knows it, on the systems that ROS supports us on."""
    rules = yaml.safe_load((ROOT / "ros2_ws" / "rosdep.yaml").read_text())
    assert set(rules) == {ENGINE}
    assert rules[ENGINE] == {
        system: {"pip": {"packages": [PROJECT["name"]]}} for system in ("debian", "ubuntu")
    }


def test_bringup_says_what_its_launch_file_imports():
    """Every import of its launch files is a dependency."""
    folder = ROOT / "ros2_ws" / "src" / "hydro_sim_bringup"
    source = "\n".join(path.read_text() for path in (folder / "launch").glob("*.py"))
    imported = set(re.findall(r"^(?:from|import) (\w+)", source, re.MULTILINE)) - {folder.name}
    imported -= sys.stdlib_module_names
    assert "launch_ros" in imported
    told = {element.text for element in _manifest(folder).findall("exec_depend")}
    assert {ENGINE if name == "hydro_sim_core" else name for name in imported} <= told
