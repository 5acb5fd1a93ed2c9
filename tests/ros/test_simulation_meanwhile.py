"""Changes of a simulation beside others, or in part: what another client does meanwhile, and what goes with it."""

from __future__ import annotations

import pytest

from hydro_sim.simulation_control.control import SimulationState
from hydro_sim.simulation_control.refusals import Reason
from hydro_sim.simulation_control.spawning import SpawnRequest
from hydro_sim_core.description.poses import pose
from hydro_sim_core.simulation.scenes import shipped_scene
from support.ros.meanwhile import do_meanwhile
from support.ros.spawned_models import BALL

FAR = pose((0, 0, 30))


def test_a_spawn_during_a_reset_of_what_was_spawned_is_not_forgotten(simulation):
    """It is not among what the reset has removed, and the next one finds it."""
    control = simulation.control
    simulation.spawn(SpawnRequest(text=BALL, name="early", X_FE=FAR))
    do_meanwhile(control, lambda: simulation.spawn(SpawnRequest(text=BALL, name="late", X_FE=FAR)))
    simulation.reset(time=False, state=False, spawned=True)
    assert simulation.names == ("box", "late", "ground")
    assert control.spawned == ["late"]
    simulation.reset(time=False, state=False, spawned=True)
    assert simulation.names == ("box", "ground")
    assert control.spawned == []


def test_a_deletion_during_a_reset_of_what_was_spawned_is_no_fault(simulation):
    """What is gone already need not be removed."""
    control = simulation.control
    for name in ("first", "second"):
        simulation.spawn(SpawnRequest(text=BALL, name=name, X_FE=FAR))
    do_meanwhile(control, lambda: simulation.delete("first"))
    simulation.reset(time=False, state=False, spawned=True)
    assert simulation.names == ("box", "ground")
    assert control.spawned == []


@pytest.mark.parametrize("way", ["delete", "reset", "reset_all", "load_world", "unload_world"])
def test_what_was_told_of_an_entity_goes_with_it(simulation, way):
    """Another one of its name came to the description of the one before; what stays keeps its own."""
    control = simulation.control
    for name in ("ball", "other"):
        simulation.spawn(SpawnRequest(text=BALL, name=name, X_FE=FAR))
    control.infos.update(box="a box", ball="a ball", other="another")
    if way == "delete":
        simulation.delete("ball")
        assert control.infos == {"box": "a box", "other": "another"}
    elif way == "reset":
        simulation.reset(time=False, state=False, spawned=True)
        assert control.infos == {"box": "a box"}
    elif way == "reset_all":
        simulation.reset_all()
        assert control.infos == {"box": "a box"}
    elif way == "load_world":
        simulation.load_world(str(shipped_scene("drop_box")))  # a box of the same name, but another one
        assert control.infos == {}
    else:
        simulation.unload_world()
        assert control.infos == {}


def test_a_world_that_is_not_unloaded_runs_on(simulation):
    """While a recording is made, say; it stood still."""
    control = simulation.control
    simulation.host.fits = False
    assert simulation.refused("unload_world")[0] is Reason.OPERATION_FAILED
    assert control.state is SimulationState.PAUSED
    simulation.set_state(SimulationState.PLAYING)
    assert simulation.refused_late("unload_world") is Reason.OPERATION_FAILED
    assert control.state is SimulationState.PLAYING
