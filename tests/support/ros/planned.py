"""Controllers on a runner, whose commands Python samples or the compiled loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

import hydro_sim_core as hs
from hydro_sim_core.simulation import FixedRateRunner, Snapshot
from hydro_sim_core.simulation.realtime.plan import Plan
from support.ros.arms import Bench
from support.simulation.runners import wait_until

#: What is done to a bench before a step, by the step's number.
Events = Mapping[int, Callable[[Any], object]]


class Heard(NamedTuple):
    """What came of a run."""

    states: list[tuple[int, bytes, bytes, bytes]]
    by_loop: int


class Planned:
    """A bench that a runner steps, with the plans of its controllers or without."""

    def __init__(
        self, bench: Bench, events: Events = MappingProxyType({}), steps: float = math.inf, **options: Any
    ) -> None:
        self._bench, self._events, self._steps = bench, events, steps
        self.runner = FixedRateRunner(bench.world, **{"real_time_factor": math.inf, **options})

    def act(self, world: hs.World) -> None:
        self._events.get(world.step_count, lambda bench: None)(self._bench)
        for controller in self._bench.controllers:
            controller.advance(world)
        if world.step_count >= self._steps - 1:
            self.runner.pause()

    def idle(self, world: hs.World) -> float:
        due = [step for step in (*self._events, self._steps - 1) if step >= world.step_count]
        return min(due, default=math.inf) - world.step_count

    def hand_over(self, world: hs.World, plan: Plan) -> float:
        return min(one.hand_over(world, plan) for one in self._bench.controllers)

    def take_back(self, world: hs.World, plan: Plan) -> None:
        for controller in self._bench.controllers:
            controller.take_back(world, plan)

    def start(self, with_plans: bool) -> None:
        if with_plans:
            self.runner.add_command_source(self.act, self.idle, self)
        else:
            self.runner.add_command_source(self.act)
        self.runner.start()

    def run(self, with_plans: bool) -> Heard:
        heard: list[Snapshot] = []
        self.runner.add_follower(heard.append)
        self.start(with_plans)
        wait_until(lambda: self.runner.paused)
        self.runner.stop()
        assert self.runner.error is None
        states = [(one.step, one.q.tobytes(), one.v.tobytes(), one.joint_efforts.tobytes()) for one in heard]
        return Heard(states, self.runner.steps_in_loop)


def compared(make: Callable[[], Bench], events: Events, steps: int) -> tuple[Bench, Bench, Heard]:
    """Run a bench with plans and another without; assert that they did the same."""
    planned, plain = make(), make()
    heard = Planned(planned, events, steps).run(with_plans=True)
    alone = Planned(plain, events, steps).run(with_plans=False)
    assert alone.by_loop == 0
    assert len(alone.states) == steps
    different = [a[0] for a, b in zip(heard.states, alone.states, strict=True) if a != b]
    assert not different, f"from step {different[0]} on"
    np.testing.assert_array_equal(planned.world.drive_targets(), plain.world.drive_targets())
    return planned, plain, heard
