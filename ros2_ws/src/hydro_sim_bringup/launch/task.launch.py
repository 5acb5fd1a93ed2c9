"""Starts the scene of a task and its controller in lock-step; ends with the controller, with its status."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from hydro_sim_bringup.task_plan import plan_task
from hydro_sim_core.tasks import tasks

BOOLEAN = ("true", "false", "True", "False")

#: name: (default, meaning, allowed values)
ARGUMENTS = {
    "task": ("pancake_flip", "Task to try.", tuple(tasks())),
    "settings": ("", "Settings of its controller: NAME=VALUE NAME=VALUE.", None),
    "values": ("", "Other values of the scene than those drawn: PATH=VALUE PATH=VALUE.", None),
    "seed": ("", "Draw start, friction and stiffness; empty: the scene as it is.", None),
    "json": ("", "File for the result.", None),
    "overwrite": ("false", "Replace that file.", BOOLEAN),
    "viewer": ("false", "Serve a web page that shows it, at the pace of the wall clock.", BOOLEAN),
}


def generate_launch_description():
    """The arguments, and both programs once their values are known."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=description, choices=choices)
        for name, (default, description, choices) in ARGUMENTS.items()
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=start)])


def start(context):
    """The node with the task's scene, and the controller; both end with the controller."""
    given = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    viewer = given["viewer"].lower() == "true"
    overwrite = given["overwrite"].lower() == "true"
    bringup = plan_task(
        given["task"], given["seed"], given["json"], given["settings"], given["values"], overwrite
    )
    pace = {"viewer": viewer, "real_time_factor": 1.0 if viewer else 0.0, "status_line": False}
    return [
        Node(
            package="hydro_sim",
            executable="hydro_sim",
            name="hydro_sim",
            parameters=[{**bringup.node, **pace}],
            output="screen",
            on_exit=ended_early,
        ),
        Node(
            package="hydro_sim",
            executable="task_controller",
            name="task_controller",
            parameters=[bringup.controller],
            output="screen",
            on_exit=end,
        ),
    ]


def ended_early(event, context):
    """The simulation has ended before the controller: whatever its status, the task is not done."""
    if context.is_shutdown:
        return []
    raise RuntimeError(f"the simulation ended with status {event.returncode} before the controller")


def end(event, context):
    """Ends everything with the controller; a failed one gives ``ros2 launch`` a status other than 0."""
    if context.is_shutdown:
        return []
    if event.returncode:
        raise RuntimeError(f"the controller ended with status {event.returncode}; its lines above say why")
    return [Shutdown(reason="the controller has ended")]
