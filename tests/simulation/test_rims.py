"""The rim of a soft pad, as wide as the pad is deep: what a step leaves out of it is told as that, and no more."""

from __future__ import annotations

import numpy as np
import pytest

import hydro_sim_core as hs

EDGE, MODULUS = 0.02, 2e5
#: Slope of the pressure with the depth, Pa/m.
SLOPE = MODULUS / (0.5 * EDGE)


def pressed_cube(force: float, integrator: str | None = None) -> hs.World:
    """A soft cube on a vertical guide without weight, pressed on rigid ground by a force (N) until it rests."""
    solver = {} if integrator is None else {"integrator": integrator}
    scene = hs.SceneBuilder(
        "pad", time_step=1e-3, gravity=(0, 0, 0), contact={"modulus": MODULUS}, solver=solver
    )
    scene.add_ground()
    model = scene.add_model("press", xyz=(0, 0, 0.5 * EDGE))
    model.add_link("guide")
    model.add_link("pad", mass=0.1).add_shape("box", size=3 * (EDGE,))
    model.add_joint("slide", "prismatic", "guide", "pad", axis=(0, 0, -1), lower=-1, upper=1)
    world = hs.World(scene.build())
    world.set_command({"slide": force})
    world.step(1000)
    return world


def force_of_field(depth: float) -> float:
    """Slope of the energy of the cube's field at a depth, N: that of a frustum."""
    return SLOPE * (EDGE**2 * depth - 2.0 * EDGE * depth**2 + 4.0 / 3.0 * depth**3)


@pytest.mark.parametrize("force", [3.0, 10.0])
def test_a_step_lets_the_underside_bear_and_tells_what_the_rim_would(force: float) -> None:
    """A reviewer saw such pads told to be past their medial surface, which is five times as deep."""
    world = pressed_cube(force)
    depth = float(world.joint_positions()[0])
    assert force == pytest.approx(SLOPE * depth * (EDGE - 2.0 * depth) ** 2, rel=0.01)
    (patch,) = world.contacts
    assert patch.dropped_force == 0.0
    assert not patch.quality.is_deep
    assert world.diagnostics()["deep_steps"] == 0
    # Its faces reach into the margin, and are told with the pressure at their centroids.
    assert patch.faded_force == pytest.approx(force_of_field(depth) - force, rel=0.07)
    told = [str(warning) for warning in world.contact_summary().warnings]
    if force == 3.0:
        assert told == []
        return
    (line,) = told
    assert "the rim, as wide as it is deep, bears nothing in a step, 20 % of the force" in line
    assert "solver.integrator to continuous" in line


def test_the_continuous_integrator_bears_the_rim_and_tells_of_nothing() -> None:
    world = pressed_cube(10.0, "continuous")
    assert force_of_field(float(world.joint_positions()[0])) == pytest.approx(10.0, rel=1e-3)
    assert world.diagnostics()["deep_steps"] == 0
    assert world.contact_summary().warnings == ()


def test_a_pad_that_has_nothing_but_a_rim_is_told() -> None:
    """Deeper than half its width, nothing of its underside is left to press."""
    scene = hs.SceneBuilder("pad", time_step=1e-3, contact={"modulus": MODULUS})
    scene.add_ground()
    scene.add_body("pad", mass=0.1, xyz=(0, 0, 0.02)).add_shape("box", size=(EDGE, EDGE, 0.08))
    world = hs.World(scene.build())
    world.step()
    assert np.linalg.norm(world.contacts[0].force_on_b) < 1e-3
    assert world.diagnostics()["deep_steps"] == 0
    (warning,) = world.contact_summary().warnings
    assert "rim" in warning.problem
