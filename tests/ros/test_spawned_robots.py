"""A spawned robot stands, moves and grips as one that is loaded at the start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hydro_sim.simulation_control.refusals import Reason, Refused
from hydro_sim.simulation_control.spawning import SpawnRequest, queried
from hydro_sim_core.description.poses import pose
from hydro_sim_core.description.scene_drives import ActuatorSpec
from hydro_sim_core.simulation.loading import load_urdf
from support.ros.simulation_bench import Simulation
from support.simulation.linkage_gripper import gripper_urdf

KNUCKLE = "robotiq_85_left_knuckle_joint"
FAR = pose((3, 0, 3))


@pytest.fixture(scope="module")
def shared() -> Simulation:
    return Simulation()


@pytest.fixture
def simulation(shared: Simulation) -> Any:
    yield shared
    for name in list(shared.control.spawned):
        shared.delete(name)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package of a hand whose effort and first link are arguments."""
    folder = tmp_path_factory.mktemp("packages")
    package = folder / "hand_description"
    package.mkdir()
    (package / "package.xml").write_text("<package><name>hand_description</name></package>")
    text = gripper_urdf(KNUCKLE, 50.0).replace('effort="50.0"', 'effort="$(arg effort)"')
    text = text.replace(
        'xmlns:drake="http://drake.mit.edu">',
        'xmlns:drake="http://drake.mit.edu" '
        'xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="effort" default="50"/>',
    )
    (package / "hand.urdf.xacro").write_text(text)
    (package / "hand.urdf").write_text(gripper_urdf(KNUCKLE))
    (package / "rooted.urdf").write_text(
        gripper_urdf(KNUCKLE)
        .replace('"world"', '"foot"')
        .replace(
            '<link name="foot"/>',
            '<link name="foot"><inertial><mass value="2"/><inertia ixx="0.01" iyy="0.01" izz="0.01" '
            'ixy="0" ixz="0" iyz="0"/></inertial></link>',
        )
    )
    (package / "hand.srdf").write_text(
        '<robot name="hand"><group name="g"><joint name="knuckle"/></group></robot>'
    )
    return folder


def hand(packages: Path, **fields: Any) -> SpawnRequest:
    given = {"uri": "package://hand_description/hand.urdf.xacro", "xacro_args": ("effort:=30",)}
    return SpawnRequest(**{**given, "package_dirs": (str(packages),), "X_FE": FAR, **fields})


def test_it_has_the_drives_and_the_gripper_of_a_file_that_is_loaded_alone(
    simulation: Simulation, packages: Path
) -> None:
    name, message = simulation.spawn(hand(packages))
    assert (name, message) == ("hand", "")
    world = simulation.control.world
    file = packages / "hand_description" / "hand.urdf.xacro"
    alone = load_urdf(file, xacro_args={"effort": "30"}, drives="all")
    for joint, drive in alone.drives.items():
        spawned = world.drives[f"hand/{joint}"]
        assert spawned.mode == drive.mode
        assert spawned[1:] == pytest.approx(drive[1:], rel=1e-9)
    (gripper,) = world.scene.grippers
    assert (gripper.name, gripper.joints) == ("hand/robotiq_gripper", {f"hand/{KNUCKLE}": 1})
    assert gripper.max_force == 30.0
    simulation.step(200)
    assert world.joint_positions() == pytest.approx([0.0] * len(world.joint_names), abs=1e-9)
    simulation.delete("hand")
    assert simulation.control.world.scene.grippers == ()


def test_gains_of_the_request_hold_and_leave_the_gripper_one(simulation: Simulation, packages: Path) -> None:
    gains = ActuatorSpec(joints=(KNUCKLE,), kp=7.0, kd=0.5, effort_limit=4.0)
    simulation.spawn(hand(packages, gains=(gains,)))
    world = simulation.control.world
    assert world.drives[f"hand/{KNUCKLE}"] == ("position", 7.0, 0.5, 4.0)
    assert world.scene.grippers[0].max_force == 4.0


def test_its_base_is_what_the_request_says(simulation: Simulation, packages: Path) -> None:
    """An arm that floats although it has drives is told of."""
    rooted = "package://hand_description/rooted.urdf"
    _, message = simulation.spawn(hand(packages, uri=rooted, xacro_args=()))
    assert "it floats, for its root link 'foot' is not called world; base fixed welds it down" in message
    assert simulation.control.world.scene.spec.models[-1].base == "floating"
    for base in ("fixed", "kinematic"):
        request = hand(packages, uri=rooted, xacro_args=(), base=base, allow_renaming=True)
        _, message = simulation.spawn(request)
        assert "floats" not in message
        assert simulation.control.world.scene.spec.models[-1].base == base


def test_what_it_says_to_other_programs_is_ignored_in_the_words_of_the_answer(simulation: Simulation) -> None:
    text = gripper_urdf(KNUCKLE).replace("</robot>", "<gazebo><static>true</static></gazebo></robot>")
    _, problem = simulation.refused("spawn", SpawnRequest(text=text, X_FE=FAR))
    assert "gazebo:static" in problem
    name, _ = simulation.spawn(SpawnRequest(text=text, X_FE=FAR, ignore=("gazebo:static",)))
    assert name in simulation.control.world.entities.names


def test_the_query_of_a_uri_says_what_the_standard_has_no_field_for(packages: Path) -> None:
    uri = f"package://hand_description/hand.urdf.xacro?xacro_arg=effort:=30&xacro_arg=a:=b%20c&package_dir={packages}"
    assert queried(f"{uri}&base=fixed&srdf=/a.srdf&ignore=gazebo:static&ignore=drake:cable") == {
        "uri": "package://hand_description/hand.urdf.xacro",
        "xacro_args": ("effort:=30", "a:=b c"),
        "package_dirs": (str(packages),),
        "srdf": "/a.srdf",
        "base": "fixed",
        "ignore": ("gazebo:static", "drake:cable"),
    }
    assert queried("mug")["uri"] == "mug"
    with pytest.raises(Refused, match=r"'xacro_args' in the query .* did you mean 'xacro_arg'\?"):
        queried("mug?xacro_args=a:=b")


BAD = {
    "argument": (
        {"xacro_args": ("effort",)},
        Reason.RESOURCE_PARSE_ERROR,
        "'effort' is no argument: write name:=value",
    ),
    "arguments of a URDF": (
        {"uri": "package://hand_description/hand.urdf"},
        *(Reason.RESOURCE_PARSE_ERROR, "hand.urdf is no xacro file, and takes no arguments"),
    ),
    "unknown argument": ({"xacro_args": ("efort:=3",)}, Reason.RESOURCE_PARSE_ERROR, "efort"),
    "folder": ({"package_dirs": ("/no/such",)}, Reason.MISSING_ASSETS, "'/no/such' is no folder"),
    "relative folder": ({"package_dirs": ("tests",)}, Reason.MISSING_ASSETS, "give absolute paths"),
    "package": ({"uri": "package://hand_descriptoin/hand.urdf"}, Reason.OPERATION_FAILED, "hand_descriptoin"),
    "base": (
        {"base": "welded"},
        Reason.OPERATION_FAILED,
        "'welded' is no base: use fixed, floating, kinematic",
    ),
    "gains": (
        {"gains": (ActuatorSpec(joints=("knuckle",), kp=1.0),)},
        *(
            Reason.RESOURCE_PARSE_ERROR,
            f"no joint 'knuckle' that is driven by itself; use one of 'lift', '{KNUCKLE}'",
        ),
    ),
    "gains of a mimic joint": (
        {"gains": (ActuatorSpec(joints=("left_tip_joint",), kp=1.0),)},
        *(Reason.RESOURCE_PARSE_ERROR, "no joint 'left_tip_joint' that is driven by itself"),
    ),
    "SRDF": (
        {"srdf": "package://hand_description/hand.srdf"},
        *(Reason.RESOURCE_PARSE_ERROR, "robot 'hand' has no joint 'knuckle'"),
    ),
    "SRDF for a text": (
        {"uri": "", "text": gripper_urdf(), "xacro_args": ("effort:=30",)},
        *(
            Reason.OPERATION_FAILED,
            "as text takes neither xacro arguments nor an SRDF: give the uri of a file",
        ),
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_request_that_cannot_be_carried_out_changes_nothing(
    simulation: Simulation, packages: Path, case: str
) -> None:
    fields, reason, problem = BAD[case]
    found, message = simulation.refused("spawn", hand(packages, **fields))
    assert problem in message
    assert found is reason
    simulation.step(1)
