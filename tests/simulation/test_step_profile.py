"""The stages that ``benchmarks/step_profile.py`` repeats are those of a step, and need no memory that is not there."""

import numpy as np
import pytest

from hydro_sim_core.simulation import load_scene
from hydro_sim_core.simulation.stepping.model import make_scratch_memory
from support.benchmarks import imported


@pytest.fixture
def step_profile():
    with imported("step_profile") as program:
        yield program


@pytest.mark.long
@pytest.mark.parametrize("scene", ["ecp_desk", "drop_box"])
def test_stages_one_after_the_other_are_a_step(step_profile, scene):
    """Of a body that lies at an equivalent point, too, with memory for fewer faces than there are."""
    world = load_scene(scene)
    world.step(20 if scene == "ecp_desk" else 400)
    profiled = world.copy()
    machine = profiled._machine
    machine.scratch = make_scratch_memory(machine.model, len(machine.state.q), 1)
    machine.handle = machine._make_handle()
    found = step_profile.profile_machine(machine, profiled.time_step, 2)
    assert set(found) == set(step_profile.STAGES)
    stepped = world.copy()
    stepped.step()
    assert stepped.diagnostics()["faces"] > 0
    np.testing.assert_allclose(machine.scratch.v_next, stepped._machine.state.v, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(machine.state.q, world._machine.state.q)
