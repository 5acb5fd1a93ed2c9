"""The launch file in the real launch and launch_ros, which the wheels lack: these tests then skip."""

import re
import signal
from itertools import product
from pathlib import Path

import pytest
import yaml

pytest.importorskip(
    "launch_ros", reason="launch and launch_ros are not installed; ROS from apt has them, the wheels do not"
)
pytest.importorskip("ros2launch", reason="ros2launch is not installed")

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch.actions import DeclareLaunchArgument
from launch.launch_description_sources import get_launch_description_from_python_launch_file

from hydro_sim_bringup.plan import ARMS, GRIPPERS, plan_bringup
from support.ros.launch_process import LAUNCH_FILE, LaunchProcess

ROOT = Path(__file__).parents[2]
#: Programs by their packages; plugins have none.
PROGRAMS = {
    "hydro_sim": ["hydro_sim", "wait_for_simulation"],
    "robot_state_publisher": ["robot_state_publisher"],
    "rviz2": ["rviz2"],
    "controller_manager": ["ros2_control_node", "spawner"],
    "joint_state_broadcaster": [],
    "joint_trajectory_controller": [],
    "joint_state_topic_hardware_interface": [],
}
#: Stands in for every program: keeps its command line and parameters. The simulation ends when all have done so;
#: those that something follows end before, with status 1 if they are named by FAILS. The first of the name KILLED
#: kills itself when as many are there as follow the name.
STAND_IN = """#!/bin/bash
kept=$(mktemp -d "$RECORDS/.XXXXXX")
printf '%s\\n' "$@" > "$kept/command"
while (($#)); do
    [[ $1 == --params-file ]] && cat "$2" >> "$kept/parameters" && echo --- >> "$kept/parameters"
    shift
done
mv -T "$kept" "$RECORDS/${0##*/}.$$"
[[ ${0##*/} == "$FAILS" ]] && exit 1
trap 'exit 0' INT
read -r victim needed <<< "$KILLED"
[[ ${0##*/} == "$victim" ]] && mkdir "$RECORDS.killed" 2> /dev/null && while sleep 0.05; do
    (($(ls "$RECORDS" | wc -l) >= needed)) && kill -KILL $$
done
[[ ${0##*/} == wait_for_simulation || ${0##*/} == spawner ]] && exit 0
for _ in {1..1200}; do
    (($(ls "$RECORDS" | wc -l) >= EXPECTED)) && exit 0
    sleep 0.05
done
exit 1
"""


@pytest.fixture
def start_launch(tmp_path):
    """Start the launch file with these arguments; it is interrupted at the end."""
    started = []

    def start(*arguments, **environment):
        started.append(LaunchProcess(tmp_path / f"log{len(started)}.txt", arguments, environment))
        return started[-1]

    yield start
    for launch in started:
        launch.stop()


class Started:
    """A program that was started.

    Attributes:
        name: Of the program.
        command: Its arguments.
        parameters: Those of all its parameter files, later ones over earlier ones.
    """

    def __init__(self, record):
        self.name = record.stem
        self.command = (record / "command").read_text().splitlines()
        self.parameters = {}
        file = record / "parameters"
        # launch_ros writes lists with Python's tag for tuples, which rcl passes over.
        text = file.read_text() if file.exists() else ""
        for document in yaml.load_all(text, yaml.FullLoader):
            for values in (document or {}).values():
                self.parameters.update(values["ros__parameters"])

    def following(self, flag):
        """The words after each ``flag``."""
        pairs = zip(self.command, self.command[1:], strict=False)
        return [word for before, word in pairs if before == flag]


@pytest.fixture
def stand_ins(tmp_path):
    """The environment in which only these packages are installed, and their programs are stand-ins.

    ``expected`` is the number of programs after which the simulation ends.
    """

    def install(packages, expected):
        prefix, records = tmp_path / "prefix", tmp_path / "records"
        records.mkdir()
        for package in packages:
            marker = prefix / "share" / "ament_index" / "resource_index" / "packages" / package
            marker.parent.mkdir(parents=True, exist_ok=True)
            marker.touch()
            for name in PROGRAMS[package]:
                program = prefix / "lib" / package / name
                program.parent.mkdir(parents=True, exist_ok=True)
                program.write_text(STAND_IN)
                program.chmod(0o755)
        environment = {"AMENT_PREFIX_PATH": str(prefix), "RECORDS": str(records), "EXPECTED": str(expected)}
        return environment | {"FAILS": "", "KILLED": ""}

    return install


@pytest.fixture
def run_stand_ins(stand_ins, start_launch):
    """Launch with only these packages installed; the programs by name, and what is said."""

    def run(packages, expected, *arguments, **variables):
        environment = stand_ins(packages, expected) | variables
        launch = start_launch(*arguments, **environment)
        assert launch.wait() == 0, launch.output
        started = [Started(record) for record in sorted(Path(environment["RECORDS"]).iterdir())]
        assert len(started) == expected
        said = re.findall(r"\[launch.user\]: (.*)", launch.output)
        return {name: [s for s in started if s.name == name] for name in {s.name for s in started}}, said

    return run


def test_arguments_are_declared_with_a_meaning():
    """Those that the issue of a bringup package expects, each described, each with a default."""
    declared = {
        entity.name: entity
        for entity in get_launch_description_from_python_launch_file(str(LAUNCH_FILE)).entities
        if isinstance(entity, DeclareLaunchArgument)
    }
    assert {
        *("scene", "namespace", "use_sim_time", "params_file", "description_file", "arm", "gripper", "rviz"),
        *("controllers", "headless", "log_level", "duration", "viewer"),
    } <= set(declared)
    for argument in declared.values():
        assert argument.description
        assert argument.default_value is not None


@pytest.mark.parametrize(("arm", "gripper"), list(product(ARMS, GRIPPERS)))
def test_every_robot_starts_with_everything(run_stand_ins, arm, gripper):
    """All packages installed: each program gets the scene, description and controllers of that robot."""
    spawners = 2 if gripper == "soft_bubble" else 1
    arguments = (f"arm:={arm}", f"gripper:={gripper}", "controllers:=ros2_control", "rviz:=true")
    programs, said = run_stand_ins(PROGRAMS, 5 + spawners, *arguments)
    assert said == []

    expected = plan_bringup(arm=arm, gripper=gripper, controllers="ros2_control")
    (node,) = programs["hydro_sim"]
    assert node.parameters["scene"] == expected.scene
    assert node.parameters["external_models"] == ("arm",)
    assert node.parameters["builtin_controllers"] is False
    assert node.parameters["reset_time"] is False
    assert node.parameters["lock_step_period"] == 0.004
    assert "mode" not in node.parameters
    (publisher,) = programs["robot_state_publisher"]
    assert publisher.parameters["robot_description"] == expected.description
    (manager,) = programs["ros2_control_node"]
    files = manager.following("--params-file")
    assert files[:-1] == [str(path) for path in expected.controllers_files]
    spawned = {tuple(s.command[: s.command.index("--switch-timeout")]) for s in programs["spawner"]}
    assert ("joint_state_broadcaster", "joint_trajectory_controller") in spawned
    assert (("gripper_controller", "--inactive") in spawned) == (gripper == "soft_bubble")
    (rviz,) = programs["rviz2"]
    assert not any("/tf" in rule for rule in node.following("-r"))
    assert node.parameters["publish_clock"] is True
    assert [Path(path).name for path in rviz.following("-d")] == ["scene.rviz"]
    for follower in (publisher, manager, rviz):
        assert follower.parameters["use_sim_time"] is True


@pytest.mark.parametrize("program", ["wait_for_simulation", "spawner"])
def test_a_controller_that_cannot_be_started_ends_the_launch(start_launch, stand_ins, program):
    """A robot that nobody leads would look well."""
    environment = stand_ins(PROGRAMS, 99)
    launch = start_launch("controllers:=ros2_control", **(environment | {"FAILS": program}))
    assert launch.wait() == 1, launch.output
    what = {"spawner": "the spawner of joint_state_broadcaster, joint_trajectory_controller"}
    assert (
        f"{what.get(program, 'the wait for the simulation')} ended with status 1; its lines above say why"
        in launch.output
    )


_CONTROL = {"ros2_control_node": 2, "wait_for_simulation": 2, "spawner": 4}


@pytest.mark.parametrize(
    ("victim", "again", "told"),
    [
        (
            "hydro_sim",
            {"hydro_sim": 2, **_CONTROL},
            ["the simulation was ended by signal 9; starting another"],
        ),
        ("ros2_control_node", _CONTROL, ["the controller manager was ended by signal 9; starting another"]),
        ("robot_state_publisher", {"robot_state_publisher": 2}, []),
    ],
)
def test_respawn_starts_with_what_was_killed_what_cannot_go_on(run_stand_ins, victim, again, told):
    """A manager would sleep until the clock of another simulation is where its own was; a new one needs controllers."""
    once = {name: 1 for package in PROGRAMS.values() for name in package if name != "rviz2"} | {"spawner": 2}
    expected = once | again
    arguments = ("controllers:=ros2_control", "headless:=true", "respawn:=true")
    killed = f"{victim} {sum(once.values())}"
    programs, said = run_stand_ins(PROGRAMS, sum(expected.values()), *arguments, KILLED=killed)
    assert {name: len(same) for name, same in programs.items()} == expected
    assert said == told


def test_interrupt_between_two_lives_ends_everything(start_launch, stand_ins):
    """Nothing is started any more."""
    environment = stand_ins(PROGRAMS, 99) | {"KILLED": "hydro_sim 6"}
    launch = start_launch("controllers:=ros2_control", "headless:=true", "respawn:=true", **environment)
    launch.wait_for_output("starting another")
    assert launch.stop() == 0, launch.output
    assert len(list(Path(environment["RECORDS"]).glob("hydro_sim.*"))) == 1
    assert "Traceback" not in launch.output


@pytest.mark.parametrize(
    ("respawn", "cause", "status"),
    [
        ("true", {}, 0),
        ("true", {"FAILS": "hydro_sim"}, 1),
        ("false", {"KILLED": "hydro_sim 1"}, 1),
    ],
)
def test_other_ends_of_the_simulation_end_the_launch(start_launch, stand_ins, respawn, cause, status):
    """One that has finished needs no other, one that failed by itself would do so again, and nobody asked for one."""
    environment = stand_ins(PROGRAMS, 1) | cause
    launch = start_launch("scene:=drop_box", f"respawn:={respawn}", **environment)
    assert launch.wait() == status, launch.output
    assert len(list(Path(environment["RECORDS"]).iterdir())) == 1


def test_lock_step_waits_period_by_period(run_stand_ins):
    """For the controller manager's commands, at the rate of its file."""
    programs, _ = run_stand_ins(PROGRAMS, 6, "controllers:=ros2_control", "lock_step:=true", "headless:=true")
    (node,) = programs["hydro_sim"]
    parameters = {name: node.parameters[name] for name in ("mode", "lock_step_interface", "lock_step_period")}
    assert parameters == {"mode": "lock_step", "lock_step_interface": "joint", "lock_step_period": 0.004}


def test_without_optional_packages_the_node_does_it_all(run_stand_ins):
    """Each absence is said once; nothing else changes."""
    programs, said = run_stand_ins(["hydro_sim"], 1, "controllers:=ros2_control", "rviz:=true")
    (node,) = programs["hydro_sim"]
    assert node.parameters["builtin_controllers"] is True
    assert "external_models" not in node.parameters
    assert len(said) == 3
    for package in set(PROGRAMS) - {"hydro_sim", "rviz2"}:
        assert package in said[0]
    assert "robot_state_publisher is not installed" in said[1]
    assert "rviz2 is not installed" in said[2]


def test_publisher_starts_without_ros2_control(run_stand_ins):
    """By default it describes the arm, and the node's own controllers stay."""
    programs, said = run_stand_ins(["hydro_sim", "robot_state_publisher"], 2)
    assert said == []
    (node,), (publisher,) = programs["hydro_sim"], programs["robot_state_publisher"]
    assert node.parameters["external_models"] == ("arm",)
    assert node.parameters["builtin_controllers"] is True
    assert "ros2_control" not in publisher.parameters["robot_description"]


def test_a_scene_of_ones_own_needs_no_publisher(run_stand_ins):
    """The node describes and transforms what only it knows."""
    programs, said = run_stand_ins(PROGRAMS, 1, "scene:=drop_box")
    assert said == []
    (node,) = programs["hydro_sim"]
    assert node.parameters["scene"] == str(ROOT / "config" / "scenes" / "drop_box.yaml")
    assert "external_models" not in node.parameters


def test_headless_starts_neither_viewer_nor_status_line(run_stand_ins):
    """Whatever rviz says."""
    programs, said = run_stand_ins(PROGRAMS, 2, "headless:=true", "rviz:=true")
    assert set(programs) == {"hydro_sim", "robot_state_publisher"}
    assert programs["hydro_sim"][0].parameters["status_line"] is False
    assert said == ["headless: RViz is not started"]


def test_namespace_log_level_and_time_reach_every_program(run_stand_ins):
    """Topics that RViz shows are written into its configuration."""
    arguments = (
        "namespace:=robot1",
        "log_level:=debug",
        "use_sim_time:=false",
        "duration:=2.5",
        "publish_clock:=false",
    )
    programs, _ = run_stand_ins(PROGRAMS, 7, *arguments, "controllers:=ros2_control", "rviz:=true")
    for program in (program for same in programs.values() for program in same):
        assert "__ns:=/robot1" in program.command
        assert {"/tf:=tf", "/tf_static:=tf_static"} <= set(program.following("-r"))
        assert program.following("--log-level") == ["debug"]
        if program.name not in ("hydro_sim", "spawner", "wait_for_simulation"):
            assert program.parameters["use_sim_time"] is False
    assert programs["hydro_sim"][0].parameters["duration"] == 2.5
    assert programs["hydro_sim"][0].parameters["publish_clock"] is False


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("arm:=ur5", "'auto', 'gen3_7dof', 'gen3_6dof', 'jaco2'"),
        ("rviz:=maybe", "'true', 'false'"),
        ("log_level:=loud", "'debug', 'info', 'warn', 'error', 'fatal'"),
        ("duration:=long", "duration: 'long' is no number"),
        ("lock_step:=true", "lock_step: is with a controller manager; add controllers:=ros2_control"),
        ("params_file:=nowhere.yaml", "params_file: no file 'nowhere.yaml'"),
        ("controllers_file:=x.yaml", "controllers_file: nothing reads it; add controllers:=ros2_control"),
    ],
)
def test_a_bad_value_is_one_line_that_names_the_mend(start_launch, argument, expected):
    """Nothing starts, status 1."""
    launch = start_launch(argument)
    assert launch.wait() == 1
    (line,) = [line for line in launch.output.splitlines() if "Caught exception" in line]
    assert expected in line
    assert "process started" not in launch.output
    assert "Traceback" not in launch.output


# --- with the real node

try:
    get_package_prefix("hydro_sim")
    _INSTALLED = True
except PackageNotFoundError:
    _INSTALLED = False
with_node = pytest.mark.skipif(not _INSTALLED, reason="the workspace is not built or not sourced")


@with_node
def test_simulation_runs_for_its_duration(start_launch):
    """It ends by itself, everything with it, with status 0 and no status line."""
    launch = start_launch("scene:=drop_box", "headless:=true", "duration:=0.2")
    assert launch.wait() == 0, launch.output
    assert "process has finished cleanly" in launch.output
    assert "real-time factor" not in launch.output


@with_node
def test_interrupt_ends_everything_cleanly(start_launch):
    """Ctrl-C: status 0, no traceback."""
    launch = start_launch("arm:=jaco2", "gripper:=none", "headless:=true")
    launch.wait_for_output("scene 'jaco2'")
    launch.process.send_signal(signal.SIGINT)
    assert launch.wait(20) == 0, launch.output
    assert "process has finished cleanly" in launch.output
    assert "Traceback" not in launch.output


@with_node
def test_failed_simulation_fails_the_launch(start_launch):
    """A script that starts it can tell."""
    launch = start_launch("scene:=nowhere", "headless:=true")
    assert launch.wait() == 1, launch.output
    assert "nowhere: scene: is neither a file nor a shipped scene" in launch.output
    assert "the simulation ended with status 1" in launch.output
