"""Entry point of the node: handles signals and usage errors before the imports, which take seconds."""

from __future__ import annotations

import atexit
import os
import platform
import shlex
import signal
import sys
from contextlib import suppress
from importlib.util import find_spec
from threading import Event
from typing import NoReturn

USAGE = """\
usage: ros2 run hydro_sim hydro_sim --ros-args -p scene:=SCENE [-p PARAMETER:=VALUE ...] [--params-file FILE]
       python -m hydro_sim          --ros-args -p scene:=SCENE ...

Simulates a scene as a ROS 2 node, until Ctrl-C.

  -p scene:=SCENE           scene YAML, URDF or xacro file, or a shipped scene ('hydro-sim scenes' lists them)
  -p duration:=10.0         end after so much simulated time, s
  -p real_time_factor:=0.0  as fast as possible
  -p viewer:=true           show the robot and the pressure on a web page
  -p record:=run.mcap       record to a file

'ros2 param describe /hydro_sim PARAMETER' tells the others while it runs, and so does docs/ros_node.md."""
#: Options after ``--ros-args``.
_ROS_FLAGS = ("-p", "--param", "--params-file", "-r", "--remap", "--log-level", "-e", "--enclave")


def main() -> int:
    """Run the node until a signal or the end of ``duration``; return the exit status, unless it has run."""
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    own = _own_arguments(sys.argv[1:])
    if "-h" in own or "--help" in own:
        print(USAGE)
        return 0
    if own:
        return _fail(f"arguments: '{own[0]}' is not understood; {_mend(own)}")
    try:
        from hydro_sim.node import run
    except ImportError as error:
        problem = _not_importable(error)
        if problem is None:
            raise
        return _fail(problem)
    return _end(run(sys.argv, stop))


def _end(status: int) -> NoReturn:
    """End the process, in which all that the node had is closed.

    Python would free every object one by one, for half of the time that an end takes, and then destroy what the
    middleware keeps for itself while threads may still use it.
    """
    atexit._run_exitfuncs()
    with suppress(OSError):  # nobody reads any more
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def _fail(problem: str) -> int:
    print(f"hydro_sim: error: {problem}", file=sys.stderr)
    return 1


def _own_arguments(arguments: list[str]) -> list[str]:
    """Arguments outside ``--ros-args`` … ``--``, which rclpy would ignore silently."""
    own = []
    is_ros = False
    for argument in arguments:
        if argument == "--ros-args":
            is_ros = True
        elif is_ros:
            is_ros = argument != "--"
        else:
            own.append(argument)
    return own


def _mend(own: list[str]) -> str:
    first = own[0]
    if first.startswith("-") and first not in _ROS_FLAGS:
        return "see --help"
    if not first.startswith("-"):
        own = ["-p", first if ":=" in first else f"scene:={first}"]
    return f"write: --ros-args {shlex.join(own)}"


def _not_importable(error: ImportError) -> str | None:
    """Package to install if one is missing or for another Python; None if the error is a bug of ours."""
    package = (error.name or "").partition(".")[0]
    if package in ("", "hydro_sim"):
        return None
    python = f"Python {platform.python_version()}"
    (reason, *_) = str(error).splitlines() or [""]
    problem = (
        f"{package} is not installed for {python}"
        if find_spec(package) is None
        else f"{package} cannot be imported by {python} ({reason})"
    )
    if package == "hydro_sim_core":
        return f"{problem}; install the engine of this version: pip install . at the top of hydro-sim"
    return (
        f"{problem}; source the ROS that is installed (source /opt/ros/jazzy/setup.bash) and use its Python, "
        "or get ROS as wheels: pip install 'hydro-sim-core[ros]'"
    )


if __name__ == "__main__":
    sys.exit(main())
