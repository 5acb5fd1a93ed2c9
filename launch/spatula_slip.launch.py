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

# What its configuration shows of one robot.
RVIZ_TOPICS = ("/robot_description", "/hydro_sim/contact_markers")

ARGUMENTS = {
    "scene": (
        str(CONFIG / "scenes" / "spatula_slip.yaml"),
        "Scene YAML, URDF or xacro file, or a shipped scene.",
    ),
    "params_file": (str(CONFIG / "node.yaml"), "Parameters of the node."),
    "namespace": ("", "Namespace of the node and its topics; /clock, /tf and /diagnostics stay shared."),
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
    namespace = LaunchConfiguration("namespace").perform(context).strip("/")
    prefix = f"/{namespace}" if namespace else ""
    use_sim_time = ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool)
    return [
        Node(
            package="rviz2",
            executable="rviz2",
            arguments=["-d", str(CONFIG / "rviz" / "hydro_sim.rviz")],
            parameters=[{"use_sim_time": use_sim_time}],
            remappings=[(topic, prefix + topic) for topic in RVIZ_TOPICS],
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
