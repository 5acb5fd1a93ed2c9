"""Base of the controllers whose messages hold the commands of joints themselves."""

from __future__ import annotations

from hydro_sim.controllers.arbiter import Arbiter, Controller
from hydro_sim.controllers.position_clamp import PositionClamp
from hydro_sim.controllers.speed_servo import SpeedServo
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.realtime.plan import Plan


class DirectController(Controller):
    """Passes commands on to the drives: positions within the limits, and velocities through a servo.

    Args:
        world: World that checks commands.
        arbiter: Arbiter of the joints.
        clamp: Clamp of positions.
    """

    def __init__(self, world: World, arbiter: Arbiter, clamp: PositionClamp | None = None) -> None:
        self._world = world
        self._arbiter = arbiter
        self._clamp = clamp or PositionClamp(world)
        self._servo = SpeedServo(world)

    # --- called in the stepping thread

    def hand_over(self, world: World, plan: Plan) -> float:
        """See ``Controller``."""
        return self._servo.hand_over(world, plan)

    def take_back(self, world: World, plan: Plan) -> None:
        """See ``Controller``."""
        self._servo.take_back(plan)

    def advance(self, world: World) -> None:
        """See ``Controller``."""
        self._servo.advance(world)

    def lost(self, joints: frozenset[str], to: str | None) -> None:
        """See ``Controller``."""
        self._servo.drop(joints)

    def forget(self) -> None:
        """See ``Controller``."""
        self._servo.forget()

    def world_changed(self, world: World) -> None:
        """See ``Controller``."""
        self._world = world
        self._clamp.world_changed(world)
        self._servo.world_changed(world)
