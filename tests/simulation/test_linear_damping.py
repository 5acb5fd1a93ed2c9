"""Linear damping: f = k (-phi - (dt + tau) v_n) on a contact whose stiffness is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

import hydro_sim_core as hs
from support.simulation.made_scenes import GROUND, G, box, free, make_world

DT, MASS, DEPTH = 1e-3, 2.0, 1e-4
MODULUS, THICKNESS, SIDE = 1e5, 0.1, 0.2
STIFFNESS = MODULUS * SIDE**2 / THICKNESS
SLAB = {
    **GROUND,
    "compliance": "compliant",
    "modulus": MODULUS,
    "slab_thickness": THICKNESS,
    "friction": 0.0,
}


def pressed_box(relaxation_time: float, v_z: float) -> hs.World:
    """A rigid box ``DEPTH`` deep in a compliant slab: stiffness E A / H exactly."""
    cube = free(box("cube", (SIDE, SIDE, SIDE), MASS, modulus=None, mu=0.0), (0, 0, SIDE / 2 - DEPTH))
    slab = {**SLAB, "relaxation_time": relaxation_time}
    law = {"damping": "linear", "contact": {"relaxation_time": 0.0}}
    world = make_world(cube, environment=[slab], time_step=DT, **law)
    world.set_state(world.q, [0, 0, 0, 0, 0, v_z])
    return world


@pytest.mark.parametrize("relaxation_time", [0.0, 0.005, 0.1])
@pytest.mark.parametrize("v_z", [-0.02, 0.0, 0.01])
def test_one_step_is_the_implicit_solution(relaxation_time: float, v_z: float) -> None:
    """m (v - v0) = dt (k (depth - (dt + tau) v) - m g), which is linear in v."""
    world = pressed_box(relaxation_time, v_z)
    world.step()
    resistance = STIFFNESS * (DT + relaxation_time)
    v = (MASS * v_z + DT * (STIFFNESS * DEPTH - MASS * G)) / (MASS + DT * resistance)
    assert world.v[5] == pytest.approx(v, rel=1e-6, abs=1e-9)
    (patch,) = world.contacts
    assert np.linalg.norm(patch.force_on_b) == pytest.approx(STIFFNESS * DEPTH - resistance * v, rel=1e-6)


def test_it_never_pulls() -> None:
    """Leaving fast, the force ends at zero."""
    world = pressed_box(0.1, 1.0)
    world.step()
    assert world.v[5] == pytest.approx(1.0 - DT * G, rel=1e-9)


def test_motion_is_that_of_a_damped_oscillator() -> None:
    """m x'' + k tau x' + k x = m g about the rest depth; the error halves with the step."""
    world = pressed_box(0.01, 0.0)
    rest = MASS * G / STIFFNESS
    roots = np.roots([MASS, STIFFNESS * 0.01, STIFFNESS]).astype(complex)
    t, x0 = 0.05, DEPTH - rest
    x = (
        x0
        * ((roots[1] * np.exp(roots[0] * t) - roots[0] * np.exp(roots[1] * t)) / (roots[1] - roots[0])).real
    )
    world.step(round(t / DT))
    depth = SIDE / 2 - world.q[6]
    assert depth - rest == pytest.approx(x, abs=0.05 * abs(x0))


def speed_after_a_bounce(relaxation_time: float) -> float:
    """Share of its speed with which the box leaves: m x'' + k (x + tau x') = 0 from x = 0 until x + tau x' = 0."""
    rate, square = STIFFNESS * relaxation_time / (2.0 * MASS), STIFFNESS / MASS
    roots = -rate + np.sqrt(complex(rate**2 - square)) * np.array([1.0, -1.0])

    def motion(t: float) -> tuple[float, float]:
        """Depth and its rate."""
        waves = np.exp(roots * t) * [1.0, -1.0] / (roots[0] - roots[1])
        return float(waves.sum().real), float((roots * waves).sum().real)

    longest = 1.01 * np.pi / abs(roots[0].imag) if roots[0].imag else 20.0 * relaxation_time
    end = brentq(lambda t: motion(t)[0] + relaxation_time * motion(t)[1], 1e-6, longest)
    return -motion(end)[1]


@pytest.mark.parametrize("model", ["sap", "lagged"])
@pytest.mark.parametrize("relaxation_time", [0.0, 0.002, 0.005, 0.1])
def test_a_bounce_returns_what_the_relaxation_time_says(relaxation_time: float, model: str) -> None:
    """Whatever the dissipation, which this law does not look at. A step damps as its length would.

    The step that begins the contact is not damped by the relaxation time: nothing touches before it.
    """
    cube = free(
        box("cube", (SIDE,) * 3, MASS, modulus=None, mu=0.0, dissipation=0.0), (0, 0, SIDE / 2 + 1e-6)
    )
    slab = {**SLAB, "relaxation_time": relaxation_time}
    law = {"damping": "linear", "contact": {"relaxation_time": 0.0}}
    world = make_world(
        cube,
        environment=[slab],
        time_step=1e-5,
        gravity=[0, 0, 0],
        solver={"model": model},
        **law,
    )
    world.set_state(world.q, [0, 0, 0, 0, 0, -0.1])
    world.step(10_000 if relaxation_time < 0.1 else 100_000)
    assert not world.contacts
    assert world.v[5] / 0.1 == pytest.approx(speed_after_a_bounce(relaxation_time + 1e-5), abs=4e-4)


def test_dissipation_that_linear_damping_does_not_look_at_is_told(caplog) -> None:
    ball = free(box("cube", (SIDE,) * 3, MASS, dissipation=0.0))
    make_world(ball, solver={"model": "lagged"})
    assert not caplog.records
    make_world(ball, solver={"model": "sap"})
    (record,) = caplog.records
    assert "dissipation does nothing with linear damping, which is that of sap" in record.getMessage()
    assert "relaxation_time, which is 0.1 s" in record.getMessage()
    caplog.clear()
    make_world(ball, solver={"model": "sap"}, contact={"relaxation_time": 0.0})
    assert not caplog.records


def test_a_relaxation_time_that_hunt_crossley_damping_does_not_look_at_is_told(caplog) -> None:
    """It did nothing, and only a dissipation with linear damping was told; not where both are given."""
    ball = free(box("cube", (SIDE,) * 3, MASS), (0, 0, SIDE))
    make_world(ball, environment=[{**SLAB, "dissipation": 10.0, "relaxation_time": 0.1}])
    make_world(ball, contact={"relaxation_time": 0.1, "dissipation": 10.0})
    make_world(ball, contact={"relaxation_time": 0.1}, solver={"model": "sap"})
    assert not caplog.records
    make_world(ball, contact={"relaxation_time": 0.1})
    (record,) = caplog.records
    told = "relaxation_time does nothing with hunt_crossley damping, which is the default, and "
    assert told + "contact.defaults has one; write contact.damping: linear" in record.getMessage()
    assert "contact.defaults.dissipation, which is 50 s/m" in record.getMessage()
    caplog.clear()

    scene = hs.SceneBuilder("ball")
    scene.add_body("ball", mass=1.0).add_shape("sphere", radius=0.1, relaxation_time=0.1)
    scene.build()
    (record,) = caplog.records
    assert "relaxation_time does nothing" in record.getMessage()
