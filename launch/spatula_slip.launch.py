"""Starts a scene, by default the gripper that holds a spatula, and RViz where asked for and installed."""

from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction, Shutdown
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

# The same layout in the repository and in the installed package.
CONFIG = Path(__file__).parent.parent / "config"

ARGUMENTS = {
    "scene": (str(CONFIG / "scenes" / "spatula_slip.yaml"), "Scene YAML, URDF or xacro file."),
    "params_file": (str(CONFIG / "node.yaml"), "Parameters of the node."),
    "namespace": ("", "Namespace of the node and its topics."),
    "duration": ("0.0", "Simulated time to run, s; 0 runs until stopped."),
    "use_sim_time": ("true", "Whether RViz follows /clock."),
    "rviz": ("false", "Start RViz."),
    "log_level": ("info", "Log level of the node."),
}


def start_rviz(context):
    """RViz, or a line that says why not."""
    try:
        get_package_prefix("rviz2")
    except PackageNotFoundError:
        return [LogInfo(msg="rviz2 is not installed; going on without it")]
    use_sim_time = ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool)
    return [
        Node(
            package="rviz2",
            executable="rviz2",
            arguments=["-d", str(CONFIG / "rviz" / "hydro_sim.rviz")],
            parameters=[{"use_sim_time": use_sim_time}],
        )
    ]


def generate_launch_description():
    """The simulation, and RViz if asked for; both end when the simulation does."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=description)
        for name, (default, description) in ARGUMENTS.items()
    ]
    simulation = Node(
        package="hydro_sim",
        executable="hydro_sim",
        name="hydro_sim",
        namespace=LaunchConfiguration("namespace"),
        parameters=[
            LaunchConfiguration("params_file"),
            {
                "scene": ParameterValue(LaunchConfiguration("scene"), value_type=str),
                "duration": ParameterValue(LaunchConfiguration("duration"), value_type=float),
            },
        ],
        arguments=["--ros-args", "--log-level", LaunchConfiguration("log_level")],
        output="screen",
        on_exit=Shutdown(),
    )
    rviz = OpaqueFunction(function=start_rviz, condition=IfCondition(LaunchConfiguration("rviz")))
    return LaunchDescription([*declared, simulation, rviz])
