"""Swings one joint of a running simulation, in lock-step: no step is taken before its command is there.

python swing.py [SIMULATION [JOINT [STEPS [SPIN]]]]

SPIN, s, is how long it waits busily for each state, where a processor is free.
"""

import math
import sys

from hydro_sim_core.errors import InputError
from hydro_sim_core.shared_memory.client import connect

AMPLITUDE, FREQUENCY = 0.3, 0.5  # rad, Hz
KP, KD = 60.0, 12.0  # N m/rad, N m s/rad


def swing(name: str = "hydro_sim", joint: str = "", steps: int = 2000, spin: float = 0.0) -> float:
    """Swing a joint, the first one by default, and return the position that it ends at."""
    with connect(name) as simulation, simulation.controller("swing", lock_step=True) as arm:
        simulation.spin = spin
        row = arm.commands.rows(joint or simulation.joints[0].name)[0]
        state = arm.state
        begin = state.time
        for _ in range(steps):
            phase = 2.0 * math.pi * FREQUENCY * (state.time - begin)
            wanted = AMPLITUDE * math.sin(phase)
            effort = KP * (wanted - state.positions[row]) - KD * state.velocities[row]
            arm.commands.give(simulation.joints[row].name, effort=effort)
            state = arm.step()
        return float(state.positions[row])


if __name__ == "__main__":
    arguments = sys.argv[1:]
    try:
        print(repr(swing(*arguments[:2], *map(int, arguments[2:3]), *map(float, arguments[3:4]))))
    except InputError as error:
        sys.exit(str(error))
