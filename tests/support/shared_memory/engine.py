"""The engine's loop with the joints of the stand-in, for the same tests: a scene without gravity and contact.

python -m support.shared_memory.engine NAME [--period SECONDS]
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import threading

import hydro_sim_core as hs
from hydro_sim_core.simulation.running.runner import FixedRateRunner
from support.shared_memory.stand_in import INERTIA, TIME_STEP


def scene() -> hs.World:
    """Two arms of one joint each, a slider, and a joint without a drive, which do not act on each other."""
    builder = hs.SceneBuilder("stand_in", time_step=TIME_STEP, gravity=(0.0, 0.0, 0.0))
    robot = builder.add_model("robot")
    robot.add_link("base")
    limits = {"lower": -2.0, "upper": 2.0, "velocity": 5.0, "effort": 50.0}
    for name, kind in (("shoulder", "revolute"), ("elbow", "revolute"), ("slider", "prismatic")):
        robot.add_link(f"{name}_link", mass=INERTIA, inertia=(INERTIA, INERTIA, INERTIA))
        robot.add_joint(name, kind, "base", f"{name}_link", axis=(0.0, 0.0, 1.0), **limits)
    robot.add_link("wheel_link", mass=1.0, inertia=(1.0, 1.0, 1.0))
    robot.add_joint("wheel", "continuous", "base", "wheel_link", axis=(0.0, 0.0, 1.0))
    builder.add_actuators(("shoulder", "elbow", "slider"), kp=100.0, kd=20.0)
    return hs.World(builder.build())


def main() -> None:
    """Run until told to end."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--period", type=float, default=TIME_STEP)
    arguments = parser.parse_args()
    factor = TIME_STEP / arguments.period if arguments.period else math.inf
    try:
        runner = FixedRateRunner(scene(), factor, shared_name=arguments.name)
    except hs.InputError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    runner.start()
    print("ready", os.getpid(), flush=True)
    stopped.wait()
    runner.close()


if __name__ == "__main__":
    main()
