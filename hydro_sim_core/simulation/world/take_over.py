"""Continuing from another world, with other bodies or settings."""

from __future__ import annotations

from hydro_sim_core.errors import InputError, excerpt
from hydro_sim_core.simulation.assembly.carry_over import carry_over, carry_over_motion
from hydro_sim_core.simulation.world.joint_wrenches import WorldJointWrenches

#: Difference of a time from a whole number of time steps, as a part of one, that round-off makes.
_ROUND_OFF = 1e-6


class WorldTakeOver(WorldJointWrenches):
    """Taking over what another world has."""

    def take_over(self, other: WorldTakeOver) -> None:
        """Continue from another world: at its time, and with the state of everything that both have, by name.

        All else starts at its place. Contacts of shared pairs stay, and targets of drives, with gains of this scene.
        Until the first step, sensors and joint wrenches tell of the last one of the other world, with this one's masses
        and gravity.

        Raises:
            InputError: It is no world, or its time is no whole number of time steps of this one.
        """
        steps = self._steps_at(other)
        self._start()
        carry_over(other._built, other._machine, self._built, self._machine)
        self._state.step[0] = steps
        self._drives.keep_own_gains(other._drives, self.q)
        if other._before is not None:
            self._loads_before = self._shared_loads(other._loads_before)
            self._before = carry_over_motion(other._built, other._before, self._built, (self.q, self.v))
        released = [name for name in other._script.released if name in self._script.targets]
        self._script.resume(released)

    def _steps_at(self, other: WorldTakeOver) -> int:
        """Number of time steps that the time of another world is."""
        if not isinstance(other, WorldTakeOver):
            raise InputError("take_over", excerpt(other), "is no world", "give the one to continue from")
        steps = other.time / self.time_step
        if abs(steps - round(steps)) > _ROUND_OFF:
            problem = (
                f"is at {other.time:g} s, which is no whole number of time steps of {self.time_step:g} s"
            )
            raise InputError("take_over", f"world '{other.name}'", problem, "step it to a time that is one")
        return round(steps)
