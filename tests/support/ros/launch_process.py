"""``ros2 launch`` in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from support.ros_domains import take_domain

# Those of the checkout, which lead to the package's own.
LAUNCH_FILES = Path(__file__).parents[3] / "launch"
LAUNCH_FILE = LAUNCH_FILES / "kinova_soft_bubble.launch.py"
# The program ros2 itself is not always on the path.
LAUNCH = (
    "import sys; from ros2launch.api.api import launch_a_launch_file as run; "
    "sys.exit(run(launch_file_path=sys.argv[1], launch_file_arguments=sys.argv[2:]))"
)


class LaunchProcess:
    """``ros2 launch`` on a launch file, in a process of its own.

    Args:
        log: Where its output goes.
        arguments: Of the launch file.
        environment: Beside that of this process.
        launch_file: The launch file.
    """

    def __init__(
        self,
        log: Path,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        launch_file: Path = LAUNCH_FILE,
    ) -> None:
        self._log = log
        self.domain = take_domain()
        everything = {**os.environ, **environment, "PYTHONUNBUFFERED": "1"}
        everything |= {"ROS_DOMAIN_ID": str(self.domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        command = [sys.executable, "-c", LAUNCH, str(launch_file), *arguments]
        # A session of its own, as that of a terminal, whose Ctrl-C reaches every program.
        with log.open("w") as output:
            self.process = subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, env=everything, start_new_session=True
            )

    @property
    def output(self) -> str:
        return self._log.read_text()

    def wait_for_output(self, text: str, timeout: float = 300.0) -> None:  # the first start compiles
        deadline = time.monotonic() + timeout
        while text not in self.output:
            assert self.process.poll() is None, self.output
            assert time.monotonic() < deadline, self.output
            time.sleep(0.05)

    def wait(self, timeout: float = 300.0) -> int:
        return self.process.wait(timeout)

    def stop(self) -> int | None:
        """Interrupt as Ctrl-C does; the exit status."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
        return self.wait(20)
