"""What the launch file for any robot tells the node: everything about it that needs no launch package."""

import ast

import pytest

from hydro_sim.parameters import Parameters
from hydro_sim_bringup.robot_plan import plan_robot
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.scenes import open_world
from support.ros.node_process import ROOT

ARM = ROOT / "urdf" / "kinova_gen3_7dof.urdf.xacro"


def parameters_of(given):
    return Parameters(
        **{name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    )


def test_the_node_takes_what_it_is_told_and_the_robot_stands():
    given = plan_robot(str(ARM), xacro_args="ros2_control:=true  command_interface:=velocity")
    for name, value in given.items():
        assert isinstance(value, list) or type(value) is type(getattr(Parameters(), name)), name
    parameters = parameters_of(given)
    assert parameters.robot_options.xacro_args == ("ros2_control:=true", "command_interface:=velocity")
    world = open_world(parameters.scene, parameters.robot_options)
    assert {drive.mode for drive in world.drives.values()} == {"velocity"}
    assert "ground" in {item.name for item in world.scene.spec.environment}


def test_words_of_what_is_ignored_are_those_of_the_error():
    parameters = parameters_of(plan_robot(str(ARM), ignore="gazebo:joint,cable"))
    assert parameters.robot_options.ignore == ("gazebo:joint", "cable")
    assert parameters_of(plan_robot(str(ARM))).robot_options.ignore == ()


def test_repairs_may_be_refused():
    assert parameters_of(plan_robot(str(ARM), repair="strict")).robot_options.repair == "strict"
    assert parameters_of(plan_robot(str(ARM))).robot_options.repair == "warn"


def test_a_file_of_a_package(tmp_path):
    (tmp_path / "arm_description" / "urdf").mkdir(parents=True)
    (tmp_path / "arm_description" / "package.xml").touch()
    file = tmp_path / "arm_description" / "urdf" / "arm.urdf"
    file.write_text("<robot name='arm'><link name='base'/></robot>")
    given = plan_robot("urdf/arm.urdf", "arm_description", package_dirs=f"{tmp_path}:")
    assert given["scene"] == str(file)
    assert given["package_dirs"] == [str(tmp_path)]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"description_file": ""}, "description_file: is not set"),
        ({"description_file": "nowhere.urdf"}, "'nowhere.urdf' is no file"),
        ({"description_file": str(ROOT / "README.md")}, "is no robot file"),
        (
            {"description_file": "a.urdf", "description_package": "no_such_package"},
            "no package 'no_such_package'",
        ),
        (
            {"description_file": str(ARM), "description_package": "x", "package_dirs": "/nowhere"},
            "no such folder",
        ),
    ],
)
def test_wrong_arguments_are_told(arguments, told):
    with pytest.raises(InputError) as error:
        plan_robot(**arguments)
    assert told in str(error.value)


@pytest.mark.parametrize("wrong", ["dof", ":=7", "arm:=gen3 dof"])
def test_an_argument_without_a_value_is_told(wrong):
    with pytest.raises(InputError, match="write NAME:=VALUE"):
        _ = parameters_of(plan_robot(str(ARM), xacro_args=wrong)).robot_options


def test_the_launch_file_has_an_argument_for_each_of_the_plan():
    """Read as text, for launch is not installed everywhere."""
    text = (ROOT / "ros2_ws/src/hydro_sim_bringup/launch/robot.launch.py").read_text()
    (arguments,) = (
        node.value
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and node.targets[0].id == "ARGUMENTS"
    )
    names = {key.value for key in arguments.keys}
    taken = set(plan_robot.__annotations__) - {"return"}
    assert names == taken | {"viewer", "name", "namespace"}
