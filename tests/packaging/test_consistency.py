"""What is written twice agrees: documentation, packaging, defaults, and the commands that CI runs."""

import ast
import dataclasses
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from hydro_sim.parameters import Parameters
from hydro_sim_core.messages.streams import recorded_streams
from hydro_sim_core.messages.view import Bubble, View
from hydro_sim_core.simulation import load_scene

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(ROOT.glob("ros2_ws/src/*/package.xml"))
README = (ROOT / "README.md").read_text()
NODE_PAGE = (ROOT / "docs" / "ros_node.md").read_text()
NODE_PAGES = "\n".join(path.read_text() for path in sorted((ROOT / "docs").glob("ros_*.md")))
DOCKERFILE = (ROOT / "Dockerfile").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
NODE = ROOT / "ros2_ws" / "src" / "hydro_sim" / "hydro_sim"
#: Python packages that do not come from ROS; trimesh comes with the engine.
NOT_ROS = {"hydro_sim", "trimesh"}
#: What they are to rosdep.
ROSDEP_KEYS = {name: f"python3-{name}" for name in ("lxml", "numpy", "rich", "scipy", "yaml")}
ROSDEP_KEYS["hydro_sim_core"] = "python3-hydro-sim-core-pip"
#: Packages of programs and plugins in C++: nothing that Python could import.
PROGRAMS = {
    "joint_state_broadcaster",
    "joint_state_topic_hardware_interface",
    "joint_trajectory_controller",
    "robot_state_publisher",
    "rviz2",
    "rviz_default_plugins",
}


def test_no_file_that_a_tool_leaves_behind_is_committed():
    """What .gitignore names is nowhere in the repository."""
    command = ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    kept = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert kept.stdout == ""


@pytest.mark.parametrize("path", PACKAGES, ids=lambda path: path.parent.name)
def test_versions_and_licences_agree(path):
    """One version and one licence for the engine and every ROS package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    package = ElementTree.parse(path).getroot()
    assert package.findtext("version") == project["version"]
    assert package.findtext("license") == project["license"]
    assert package.findtext("name") == path.parent.name


def test_every_imported_package_is_a_dependency():
    """package.xml lists what the node's modules import, and nothing else."""
    source = "\n".join(path.read_text() for path in NODE.rglob("*.py"))
    imported = set(re.findall(r"^(?:from|import) (\w+)", source, re.MULTILINE))
    imported |= {name.partition(".")[0] for name in re.findall(r'_import\("([\w.]+)"\)', source)}
    imported |= stream_packages()

    imported -= sys.stdlib_module_names | NOT_ROS
    imported = {ROSDEP_KEYS.get(name, name) for name in imported}
    package = ElementTree.parse(NODE.parent / "package.xml").getroot()
    assert {element.text for element in package.findall("exec_depend")} == imported


def stream_packages():
    """Packages of the messages of all streams: the node finds them by name."""
    world = load_scene("cylinder_grasp")
    bubble = Bubble("left_finger", "left_bubble_camera")
    streams = [stream for stream, _ in recorded_streams(world, {}, View(bubbles=(bubble,)))]
    assert len(streams) > 12
    return {stream.type_name.partition("/")[0] for stream in streams}


def test_every_ros_package_that_we_name_is_forbidden_in_the_engine():
    """lint-imports looks for the packages that it is told."""
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (contract,) = (c for c in linter["contracts"] if c["name"] == "the engine knows no ROS")
    packages = [ElementTree.parse(path).getroot() for path in PACKAGES]
    ours = {package.findtext("name") for package in packages}
    needed = {
        element.text
        for package in packages
        for kind in ("depend", "exec_depend", "build_depend")
        for element in package.findall(kind)
    }
    assert {"rclpy", "builtin_interfaces", "launch", "rosidl_default_runtime"} <= needed
    needed = {name for name in needed - PROGRAMS if not name.startswith("python3-")}
    assert not (ours | needed) - set(contract["forbidden_modules"])


def test_only_kernels_go_without_annotations():
    """mypy lets pass what lacks them in files that say so: none but the kernels may."""
    files = [
        path for path in (ROOT / "hydro_sim_core").rglob("*.py") if path.read_text().startswith("# mypy:")
    ]
    assert files
    for path in files:
        tree = ast.parse(path.read_text())
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        compiled = re.compile(r"(kernel|entry|cuda\.jit)\b")
        kernels = {f for f in functions if any(compiled.match(ast.unparse(d)) for d in f.decorator_list)}
        untyped = {f for f in functions if f.returns is None and f.name != "__init__"}
        assert untyped, path
        assert untyped <= kernels, [f.name for f in untyped - kernels]


def test_parameter_file_holds_the_defaults():
    """config/node.yaml names declared parameters only, at the values that they have anyway."""
    given = yaml.safe_load((ROOT / "config" / "node.yaml").read_text())["/**"]["ros__parameters"]
    defaults = {f.name: f.default for f in dataclasses.fields(Parameters)}
    for name, value in given.items():
        assert name in defaults
        assert (tuple(value) if isinstance(value, list) else value) == defaults[name]


def test_node_page_lists_every_parameter_as_declared():
    """Name, default and meaning in the table are those of the declaration."""
    rows = dict(re.findall(r"^\| `(\w+)`(?: \*)? \| (.*? \| .*?) \|$", NODE_PAGE, re.MULTILINE))
    for spec in dataclasses.fields(Parameters):
        default = list(spec.default) if isinstance(spec.default, tuple) else spec.default
        shown = str(default).lower() if isinstance(default, bool) else str(default)
        cell = f"`{shown}`" if shown else ""
        assert rows[spec.name] == f"{cell} | {spec.metadata['description']}"
        assert (f"`{spec.name}` *" in NODE_PAGE) == spec.metadata["live"]


def test_readmes_python_example_runs(monkeypatch, capsys):
    """As told, from the root of the checkout; both fingers hold the spatula."""
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    monkeypatch.chdir(ROOT)
    exec(compile(example, "README.md", "exec"), {})
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines()} == {
        "left_finger",
        "right_finger",
    }


def test_node_pages_name_every_topic_and_service():
    """Whatever the node creates stands in a table."""
    source = "\n".join(path.read_text() for path in NODE.rglob("*.py"))
    names = set(re.findall(r'"((?:~/|/)[a-z_]+)"', source))
    names |= set(re.findall(r'create_publisher\(\s*\w+, "([a-z_]+)"', source))
    assert {
        "/clock",
        "joint_states",
        "robot_description",
        "~/pause",
        "~/joint_trajectory",
    } <= names
    missing = {name for name in names if f"`{name}`" not in NODE_PAGES}
    assert not missing


def test_commands_agree_between_readme_makefile_and_dockerfile():
    """The image is built and started by the commands that the README tells, and its make targets exist."""
    for command in (
        "rosdep install",
        "--from-paths ros2_ws/src --ignore-src --default-yes",
        "python3 -m pip install --break-system-packages",
        "colcon build",
        "source install/setup.bash",
        "ros2 launch hydro_sim_bringup kinova_soft_bubble.launch.py",
    ):
        assert command in README
        assert command in DOCKERFILE
    targets = set(re.findall(r"^(\w+):", MAKEFILE, re.MULTILINE))
    told = set(re.findall(r"make (\w+)", README)) | set(re.findall(r"^make (\w+)", _ci(), re.MULTILINE))
    assert {"demo", "test", "lint"} <= told <= targets


def test_launch_arguments_agree_with_the_readme():
    """The README's list is the launch file's."""
    package = ROOT / "ros2_ws" / "src" / "hydro_sim_bringup"
    launch = (package / "launch" / "kinova_soft_bubble.launch.py").read_text()
    declared = set(re.findall(r'^    "(\w+)": \(', launch, re.MULTILINE))
    told = re.search(r"Launch arguments: (.*?)\.", README, re.DOTALL)
    assert declared == set(re.findall(r"`(\w+)`", told.group(1)))


@pytest.fixture
def checkout(tmp_path):
    """A folder with spaces in its path, and of a checkout what make looks at."""
    folder = tmp_path / "a folder"
    for name in (
        "ros2_ws/src/hydro_sim/setup.py",
        "config/scenes/drop_box.yaml",
        "tests/workspace/adapt_wheels.py",
    ):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).touch()
    for name in ("pyproject.toml", "constraints.txt"):
        (folder / name).touch()
    (folder / "Makefile").write_text(MAKEFILE)
    return folder


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)


def make(checkout, *arguments):
    path = f"{checkout.parent / 'bin'}:/usr/bin:/bin"
    return subprocess.run(
        ["make", *arguments], cwd=checkout, env={"PATH": path}, capture_output=True, text=True
    )


def test_makefile_refuses_a_machine_without_a_fitting_python(checkout):
    """One line that says what to install, and no half-made environment."""
    for name in ("python3.12", "python3.11", "python3"):
        write_program(checkout.parent / "bin" / name, "exit 1")
    result = make(checkout, "demo", "SCENE=drop_box")
    assert result.returncode != 0
    assert "no Python 3.11 or 3.12 found" in result.stderr
    assert not (checkout / ".venv").exists()


def test_a_scene_that_is_not_there_is_told_before_anything_is_set_up(checkout):
    for name in ("python3.12", "python3.11", "python3"):
        write_program(checkout.parent / "bin" / name, "echo setting up; exit 1")
    result = make(checkout, "demo", "SCENE=typo.yaml")
    assert result.returncode != 0
    assert result.stdout == ""
    assert (
        "error: SCENE=typo.yaml: is neither a file nor a shipped scene; use one of drop_box" in result.stderr
    )


@pytest.mark.parametrize("scene", ["drop_box", "config/scenes/drop_box.yaml", "my scene.yaml", "~/a.yaml"])
def test_the_demo_starts_the_scene_that_is_asked_for(checkout, scene):
    (checkout / "my scene.yaml").touch()
    write_program(checkout / ".venv/bin/python", 'printf "%s\\n" "$@"')
    (checkout / ".venv/.demo-ready").touch()
    result = make(checkout, "demo", f"SCENE={scene}")
    assert result.returncode == 0, result.stderr
    assert f"scene:={scene}" in result.stdout.splitlines()


def test_the_workspace_is_built_in_a_folder_with_spaces_too(checkout):
    binaries = checkout / ".venv" / "bin"
    write_program(binaries / "python", "")
    write_program(binaries / "colcon", 'echo "$AMENT_PREFIX_PATH, $CMAKE_PREFIX_PATH"; printf "%s\\n" "$@"')
    for stage in ("demo", "test", "workspace"):
        (checkout / ".venv" / f".{stage}-ready").touch()
    (checkout / "install").mkdir()
    (checkout / "install" / "setup.bash").touch()
    result = make(checkout, "workspace")
    assert result.returncode == 0, result.stderr
    printed = result.stdout.splitlines()
    assert f"{checkout}/.venv, {checkout}/.venv" in printed
    assert f"-DPython3_EXECUTABLE={binaries}/python" in printed


def _ci() -> str:
    return (ROOT / ".ci" / "run").read_text()
