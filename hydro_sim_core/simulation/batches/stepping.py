# mypy: allow-untyped-defs
"""What each thread does that steps one of many worlds: the very step of a single world."""

from __future__ import annotations

from typing import NamedTuple

from hydro_sim_core.compilation import Float1D, Int1D, kernel
from hydro_sim_core.compilation.side_by_side import SideBySide
from hydro_sim_core.compilation.teams import Team
from hydro_sim_core.dynamics.tree import KinematicTree
from hydro_sim_core.simulation.stepping.model import Drives, Loads, MachineData, Model, State
from hydro_sim_core.simulation.stepping.step import DONE, advance


class Order(NamedTuple):
    """What a world is to do, and how far it came.

    Attributes:
        until: (1,) number of the step after which it is done.
        status: (1,) result of ``step.advance``.
    """

    until: Int1D
    status: Int1D


class Begin(NamedTuple):
    """Where the last step of a world began, by which sensors tell what moved and pushed in it.

    Attributes:
        q: (nq,) coordinates.
        v: (nv,) velocities.
    """

    q: Float1D
    v: Float1D


class WorldData(NamedTuple):
    """A world: its machine, its order, and where its last step began."""

    machine: MachineData
    order: Order
    begin: Begin


#: Of these structs every world has its own row, where a user finds it.
ROW_STRUCTS = (State, Drives, Loads, Order, Begin, Team)
#: Constants of the model that may differ from world to world.
VARIED: dict[str, tuple[type, str]] = {
    "mass": (KinematicTree, "mass"),
    "centre_of_mass": (KinematicTree, "p_BCo"),
    "inertia": (KinematicTree, "I_BCo"),
    "joint_damping": (KinematicTree, "damping"),
    "joint_friction": (KinematicTree, "friction"),
    "friction": (Model, "pair_friction"),
    "dissipation": (Model, "pair_dissipation"),
}
MEMORY = SideBySide(frozenset(ROW_STRUCTS), frozenset(VARIED.values()))


@kernel
def advance_world(world, solve, dt):
    """Advance a world until its order is done, or a step cannot be taken, which leaves it at the step's begin.

    Reads world.order: status, until; world.machine.state: q, step, v.
    Writes world.begin: q, v; world.order: status.
    """
    state, order, begin = world.machine.state, world.order, world.begin
    while order.status[0] == DONE and state.step[0] < order.until[0]:
        for i in range(begin.q.shape[0]):
            begin.q[i] = state.q[i]
        for i in range(begin.v.shape[0]):
            begin.v[i] = state.v[i]
        order.status[0] = advance(world.machine, solve, dt, 1, False, False)
