"""Springs of joints against closed forms, and links without weight."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hydro_sim_core as hs
from hydro_sim_core.errors import InputError

M = 2.0
DT = 1e-3


def sprung(
    stiffness: float,
    reference: float = 0.0,
    time_step: float = DT,
    gravity: float = 0.0,
    damping: float = 0.0,
    **scene: object,
) -> hs.World:
    """A cart on a level rail, held by a spring; gravity pulls it along the rail."""
    builder = hs.SceneBuilder("cart", time_step=time_step, gravity=(gravity, 0.0, 0.0), **scene)
    model = builder.add_model("cart")
    model.add_link("rail")
    model.add_link("cart", mass=M, inertia=(1.0, 1.0, 1.0))
    model.add_joint(
        "slide",
        "prismatic",
        "rail",
        "cart",
        lower=-1e3,
        upper=1e3,
        damping=damping,
    )
    model.add_spring("slide", stiffness, reference)
    return hs.World(builder.build())


def course(world: hs.World, start: float, steps: int) -> np.ndarray:
    world.set_state([start], [0.0])
    places = [start]
    for _ in range(steps):
        world.step()
        places.append(world.q[0])
    return np.array(places)


@given(
    per_step=st.floats(0.01, 1e3),
    start=st.floats(-2.0, 2.0),
    reference=st.floats(-1.0, 1.0),
)
@settings(max_examples=15, deadline=None)
def test_a_spring_swings_for_ever_at_any_stiffness(per_step: float, start: float, reference: float) -> None:
    """A harmonic oscillator whose phase advances by 2 asin(w dt / 2 / sqrt(1 + (w dt)^2 / 2)) a step."""
    stiffness = M * (per_step / DT) ** 2
    found = course(sprung(stiffness, reference), start, 200) - reference
    theta = 2.0 * math.asin(0.5 * per_step / math.sqrt(1.0 + 0.5 * per_step**2))
    # q(n) of the recurrence q(n + 1) = 2 cos(theta) q(n) - q(n - 1) that begins at rest.
    n, q0 = np.arange(201), start - reference
    first = q0 * (1.0 - per_step**2 / (1.0 + 0.5 * per_step**2))
    wanted = q0 * np.cos(n * theta) + (first - q0 * math.cos(theta)) / math.sin(theta) * np.sin(n * theta)
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-9 * (abs(start) + abs(reference)))
    assert np.abs(found).max() <= math.sqrt(2.0) * abs(q0) + 1e-9


def test_a_shorter_step_comes_as_much_closer_to_the_cosine() -> None:
    """Errors of the first order, from the velocity at rest that counts as that over a step, and nothing decays."""
    errors = []
    for step in (4e-3, 2e-3, 1e-3):
        places = course(sprung(M * 100.0, 0.0, step), 0.3, round(3.0 / step))
        errors.append(np.abs(places - 0.3 * np.cos(10.0 * step * np.arange(len(places)))).max())
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.05)
    assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.05)
    assert errors[2] < 0.3 * 0.6 * 10.0 * 1e-3


@pytest.mark.parametrize("integrator", ["fixed", "error_controlled", "continuous"])
def test_every_integrator_knows_springs(integrator: str) -> None:
    """A critically damped cart comes to where spring and gravity balance."""
    stiffness = 500.0
    accuracy = {} if integrator == "fixed" else {"accuracy": 1e-6}
    solver = {"integrator": integrator, **accuracy}
    world = sprung(stiffness, 0.1, gravity=3.0, damping=63.0, solver=solver)
    world.step(1200)
    assert world.q[0] == pytest.approx(0.1 + 3.0 * M / stiffness, rel=1e-5)


CHAIN = ((30.0, 0.4), (12.0, -0.3), (5.0, 0.6))


def swung_chain(time_step: float) -> np.ndarray:
    """Angles of three sprung hinges after a second of swinging in gravity."""
    builder = hs.SceneBuilder("chain", time_step=time_step)
    model = builder.add_model("chain")
    model.add_link("link0")
    for k, (stiffness, reference) in enumerate(CHAIN):
        model.add_link(f"link{k + 1}", mass=1.0, center_of_mass=(0, 0, -0.15), inertia=(8e-3, 8e-3, 1e-3))
        model.add_joint(
            f"hinge{k}",
            "continuous",
            f"link{k}",
            f"link{k + 1}",
            xyz=(0, 0, -0.3 if k else 0),
            axis=((1, 0, 0), (0, 1, 0), (0.6, 0.8, 0))[k],
        )
        model.add_spring(f"hinge{k}", stiffness, reference)
    world = hs.World(builder.build())
    world.step(round(1.0 / time_step))
    return world.q.copy()


def test_a_sprung_chain_swings_as_in_mujoco() -> None:
    """MuJoCo by Runge-Kutta with steps a tenth as long; ours come half as close with twice the step."""
    body = end = ""
    for k, (stiffness, reference) in enumerate(CHAIN):
        body += (
            f'<body pos="0 0 {-0.3 if k else 0}"><inertial mass="1" pos="0 0 -0.15" diaginertia="8e-3 8e-3 1e-3"/>'
            f'<joint type="hinge" axis="{("1 0 0", "0 1 0", "0.6 0.8 0")[k]}" stiffness="{stiffness}" '
            f'springref="{reference}"/>'
        )
        end += "</body>"
    option = '<compiler angle="radian"/><option timestep="1e-4" integrator="RK4" gravity="0 0 -9.81"/>'
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{option}<worldbody>{body}{end}</worldbody></mujoco>")
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, nstep=10_000)
    errors = [np.abs(swung_chain(step) - data.qpos).max() for step in (2e-3, 1e-3)]
    assert np.abs(data.qpos).max() > 0.1
    assert errors[1] < 0.01
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.15)


def test_a_spring_presses_with_its_force() -> None:
    """A plunger that a stiff spring pushes onto the ground comes to rest there, and bears weight and spring."""
    builder = hs.SceneBuilder("plunger")
    builder.add_ground()
    model = builder.add_model("plunger", xyz=(0, 0, 0.2))
    model.add_link("guide")
    model.add_link("foot", mass=0.5).add_shape("box", size=(0.05, 0.05, 0.02), modulus=1e6)
    model.add_joint(
        "slide",
        "prismatic",
        "guide",
        "foot",
        axis=(0, 0, 1),
        lower=-1,
        upper=1,
    )
    model.add_spring("slide", 2e4, -0.2)
    world = hs.World(builder.build())
    world.set_state([-0.18], [0.0])
    world.step(3000)
    (contact,) = world.contacts
    assert abs(world.v[0]) < 1e-6
    assert abs(contact.force_on_b[2]) == pytest.approx(0.5 * 9.81 + 2e4 * (world.q[0] + 0.2), rel=1e-6)


def test_springs_of_mimic_joints_add_up_on_their_master() -> None:
    """Finger j = -2 q + 0.3, each with its spring: at rest where the virtual work of both vanishes."""
    builder = hs.SceneBuilder("fingers", gravity=(0.0, 0.0, 0.0))
    model = builder.add_model("fingers")
    model.add_link("palm")
    own = {"a": (30.0, 0.2), "b": (7.0, -0.5)}
    for name, (stiffness, reference) in own.items():
        model.add_link(name, mass=0.1, inertia=(1e-3, 1e-3, 1e-3))
        follow = {"mimic": "a_joint", "multiplier": -2.0, "offset": 0.3} if name == "b" else {}
        model.add_joint(
            f"{name}_joint",
            "revolute",
            "palm",
            name,
            axis=(0, 0, 1),
            lower=-3,
            upper=3,
            damping=2.0,
            **follow,
        )
        model.add_spring(f"{name}_joint", stiffness, reference)
    world = hs.World(builder.build())
    world.step(5000)
    q = world.q[0]
    assert 30.0 * (0.2 - q) - 2.0 * 7.0 * (-0.5 - (-2.0 * q + 0.3)) == pytest.approx(0.0, abs=1e-9)
    (k, k2), (r, r2) = zip(*own.values(), strict=True)
    energy = 0.5 * k * (q - r) ** 2 + 0.5 * k2 * (-2.0 * q + 0.3 - r2) ** 2
    # Where the springs work against each other the least energy that they keep is no force, and is not counted.
    least = 0.5 * k * k2 * (2.0 * r + r2 - 0.3) ** 2 / (4.0 * k2 + k)
    assert world.energies().potential == pytest.approx(energy - least, abs=1e-12)


def test_a_spring_s_energy_is_potential_energy() -> None:
    world = sprung(80.0, 0.25)
    world.set_state([0.75], [0.5])
    assert world.energies().potential == pytest.approx(0.5 * 80.0 * 0.5**2, rel=1e-14)
    assert world.energies().kinetic == pytest.approx(0.25 * M * 0.5, rel=1e-14)


def test_a_spring_may_be_set_and_a_floating_joint_has_none() -> None:
    world = hs.World(sprung(1.0).scene.with_({"models.cart.joints.slide.spring_stiffness": 18.0}))
    world.set_state([0.4], [0.0])
    assert world.energies().potential == pytest.approx(9.0 * 0.16, rel=1e-14)
    model = hs.SceneBuilder("free").add_model("free")
    with pytest.raises(InputError, match="no coordinate that a spring could pull"):
        model.add_joint("air", "floating", "a", "b").add_spring("air", 1.0)
    with pytest.raises(InputError, match="there is no such joint; did you mean 'air'"):
        model.add_spring("aire", 1.0)
    with pytest.raises(InputError, match="stiffness"):
        model.add_spring("air", -1.0)
