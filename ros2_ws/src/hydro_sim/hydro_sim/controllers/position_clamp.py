"""Clamp of commanded positions to the limits of their joints, as the drivers of real arms have one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from hydro_sim.controllers.motion import position_limits
from hydro_sim_core.simulation import JointCommand, World

#: Called with the joint, the commanded position and the limit that replaces it, rad or m.
Told = Callable[[str, float, float], None]


class PositionClamp:
    """Moves positions beyond a limit to that limit, so that one joint does not take the command of all others away.

    A controller that holds the measured position of a joint at its stop sends such positions all the time. Values that
    are not finite are left for the World to refuse.

    Args:
        world: World with the limits.
        told: Called for every position that is moved in a message that is not refused.
    """

    def __init__(self, world: World, told: Told = lambda joint, position, limit: None) -> None:
        self._told = told
        self.world_changed(world)

    def world_changed(self, world: World) -> None:
        """Continue with the limits of another World."""
        self._limits = position_limits(world)

    def inside(self, joint: str, position: float) -> float:
        """The position, or the limit that it is beyond."""
        lower, upper = self._limits.get(joint, (-math.inf, math.inf))
        if lower <= position <= upper or not math.isfinite(position):
            return position
        return lower if position < lower else upper

    def tell(self, positions: Mapping[str, float]) -> None:
        """Tell which of the positions of a message, by joint, are moved; called once nothing of it was refused."""
        for joint, position in positions.items():
            if (limit := self.inside(joint, position)) != position:
                self._told(joint, position, limit)

    def command_inside(self, joint: str, command: JointCommand) -> JointCommand:
        """The command with its position inside; at a limit it has no speed towards the outside."""
        if command.position is None:
            return command
        position, velocity = self.inside(joint, command.position), command.velocity
        inward = position - command.position
        if velocity is not None and math.isfinite(velocity) and velocity * inward < 0.0:
            velocity = 0.0
        return command._replace(position=position, velocity=velocity)
