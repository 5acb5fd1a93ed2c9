"""The launch file of a task in hydro_sim_bringup, from a checkout: ros2 launch launch/task.launch.py."""

import sys
from importlib.util import find_spec
from pathlib import Path

from launch.launch_description_sources import get_launch_description_from_python_launch_file

PACKAGE = Path(__file__).resolve().parents[1] / "ros2_ws" / "src" / "hydro_sim_bringup"


def generate_launch_description():
    """What the package's own file describes."""
    if find_spec("hydro_sim_bringup") is None:  # the workspace is not built
        sys.path.append(str(PACKAGE))
    return get_launch_description_from_python_launch_file(str(PACKAGE / "launch" / Path(__file__).name))
