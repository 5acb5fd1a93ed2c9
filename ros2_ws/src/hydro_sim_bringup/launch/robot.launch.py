"""Starts the simulation of any robot file: it stands, obeys topics and actions, and is seen on a page."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from hydro_sim_bringup.robot_plan import plan_robot

BOOLEAN = ("true", "false", "True", "False")

#: name: (default, meaning, allowed values)
ARGUMENTS = {
    "description_file": ("", "URDF or xacro file: a path, or relative to description_package.", None),
    "description_package": ("", "ROS package that holds it; empty for a path.", None),
    "xacro_args": ("", "Arguments of a xacro file, NAME:=VALUE with blanks between.", None),
    "package_dirs": ("", "Folders of packages beside those of ROS, with colons between.", None),
    "srdf": ("", "SRDF file whose disabled pairs of links do not touch.", None),
    "ignore": (
        "",
        "What in the file is ignored although it changes the physics, in the words of the error.",
        None,
    ),
    "repair": (
        "warn",
        "What cannot be in the file: refused, or repaired with one warning or without.",
        ("strict", "warn", "silent"),
    ),
    "ground": ("true", "Put it on a ground.", BOOLEAN),
    "viewer": ("true", "Serve a web page that shows the robot and drives it.", BOOLEAN),
    "name": ("hydro_sim", "Name of the node.", None),
    "namespace": ("", "Namespace of the node.", None),
}


def generate_launch_description():
    """The arguments, and the node once their values are known."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=description, choices=choices)
        for name, (default, description, choices) in ARGUMENTS.items()
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=start)])


def start(context):
    """The node; everything ends with it."""
    given = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    is_true = {name: given.pop(name).lower() == "true" for name in ("ground", "viewer")}
    name, namespace = given.pop("name"), given.pop("namespace")
    parameters = plan_robot(**given, ground=is_true["ground"])
    return [
        Node(
            package="hydro_sim",
            executable="hydro_sim",
            name=name,
            namespace=namespace,
            parameters=[{**parameters, "viewer": is_true["viewer"]}],
            output="screen",
            on_exit=Shutdown(reason="the simulation has ended"),
        )
    ]
