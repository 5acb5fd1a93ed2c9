"""Sources of commands: called before steps, unless they have nothing to do or tell the compiled loop what to do."""

from __future__ import annotations

import math
from collections.abc import Callable

from hydro_sim_core.simulation.realtime.plan import Plan, Planner, clear_plan, commands_anything
from hydro_sim_core.simulation.world import World

#: Called with the world before steps; and the number of steps for which it has nothing to do, as far as is known now.
Source = Callable[[World], None]
Idle = Callable[[World], float]


def whole_steps(duration: float, world: World) -> float:
    """Number of whole steps of a world in a duration (s), not below 0; infinite for ever."""
    return duration if duration == math.inf else max(0.0, math.floor(duration / world.time_step + 1e-6))


def steps_before(duration: float, world: World) -> float:
    """Number of steps of a world that begin before a duration (s) has passed; infinite for ever."""
    return duration if duration == math.inf else max(0.0, math.ceil(duration / world.time_step - 1e-6))


class Sources:
    """The sources of a runner, in the order in which they are called."""

    def __init__(self) -> None:
        self._sources: list[tuple[Source, Idle | None]] = []
        self._planners: list[Planner] = []
        self._writes = -1

    def add(self, source: Source, idle: Idle | None, planner: Planner | None) -> None:
        """Add a source; see ``FixedRateRunner.add_command_source``."""
        self._sources.append((source, idle))
        if planner is not None:
            self._planners.append(planner)

    def act(self, world: World) -> None:
        """Call all of them before a step that Python takes."""
        for source, _ in self._sources:
            source(world)

    def note_step(self, world: World) -> None:
        """Take it that whoever has written to the drives did so before the sources, or in the step after them."""
        self._writes = world.drive_writes

    def hand_over(self, world: World, plan: Plan) -> float:
        """Have the plan say what they command from now on; return for how many steps it holds, 0 for none."""
        free = min(
            (0.0 if idle is None else idle(world) for _, idle in self._sources),
            default=math.inf,
        )
        clear_plan(plan)
        for planner in self._planners:
            free = min(free, planner.hand_over(world, plan)) if free >= 1.0 else 0.0
        # Gains and limits that somebody else has written would stay, as plans move targets alone.
        return 0.0 if commands_anything(plan) and world.drive_writes != self._writes else free

    def take_back(self, world: World, plan: Plan) -> None:
        """Have them take notice of steps that were taken by the plan."""
        if commands_anything(plan):
            world.note_drive_writes()
        for planner in self._planners:
            planner.take_back(world, plan)
        self.note_step(world)
