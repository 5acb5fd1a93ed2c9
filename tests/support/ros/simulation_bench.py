"""Control of a simulation on a real runner, in this process and without messages."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from hydro_sim.simulation_control.control import SimulationControl
from hydro_sim.simulation_control.refusals import Refused
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import FixedRateRunner, load_scene
from hydro_sim_core.simulation.scenes import shipped_scene


class Host:
    """A runner with what the node does around it left out."""

    def __init__(self, world):
        self.fits = True
        self._use(world)

    def _use(self, world):
        self.runner = FixedRateRunner(world, math.inf, start_paused=True)
        self.runner.start()

    def exchange_world(self, world, *, carry_over):
        settle = (lambda old, new: new.take_over(old)) if carry_over else None
        self.runner.exchange(world, settle, anew=not carry_over)

    def replace_world(self, world):
        if not self.fits:
            raise InputError("parameters", "command_joints", "cannot be commanded", "leave it out")
        self.runner.stop()
        self._use(world)


class Simulation:
    """A control whose coroutines are run to their end at once."""

    def __init__(self, scene: str | Path = "drop_box") -> None:
        async def wait(future):
            return future.result(600.0)

        self.quitted = False
        world = load_scene(scene if isinstance(scene, Path) else shipped_scene(scene))
        world.step()  # the first step ever compiles
        world.reset()
        self.host = Host(world)
        self.wait = wait
        self.control = SimulationControl(self.host, wait, self._quit, "map")

    def _quit(self):
        self.quitted = True

    def __getattr__(self, operation):
        def run(*args, **kwargs):
            coroutine = getattr(self.control, operation)(*args, **kwargs)
            try:
                coroutine.send(None)
            except StopIteration as end:
                return end.value
            raise AssertionError("it waits for something that nobody does")

        return run

    def refused(self, operation, *args, **kwargs):
        """Reason and message of an operation that must leave everything as it is."""
        before = (
            self.control.world,
            self.control.state,
            self.control.snapshot.q.tolist(),
            list(self.control.spawned),
        )
        with pytest.raises(Refused) as refusal:
            getattr(self.control, operation)(*args, **kwargs).send(None)
        after = (
            self.control.world,
            self.control.state,
            self.control.snapshot.q.tolist(),
            list(self.control.spawned),
        )
        assert after == before
        message = str(refusal.value)
        assert message
        assert len(message) <= 500
        assert "\n" not in message
        assert "Traceback" not in message
        return refusal.value.reason, message

    def refused_late(self, operation, *args):
        """Reason of an operation that is refused while the simulation runs."""
        world = self.control.world
        with pytest.raises(Refused) as refusal:
            getattr(self.control, operation)(*args).send(None)
        assert self.control.world is world
        return refusal.value.reason

    @property
    def names(self):
        return self.control.world.entities.names
