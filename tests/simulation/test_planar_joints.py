"""Planar joints take commands along x, y and yaw: closed forms of bodies that are driven in a plane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.description.model_builder import ModelBuilder
from hydro_sim_core.description.scene_edits import without
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.errors import InputError
from hydro_sim_core.viewer.scene import scene_of_world
from support.simulation.made_scenes import G, Robot, fixed, make_world, slider

M, I_ZZ = 2.0, 0.3
STILL = {"gravity": [0.0, 0.0, 0.0]}
NAMES = ("base/x", "base/y", "base/yaw")
GAINS = {"base/x": (200.0, 8.0), "base/y": (50.0, 40.0), "base/yaw": (30.0, 1.0)}
MASSES = {"base/x": M, "base/y": M, "base/yaw": I_ZZ}


def base(
    centre: tuple[float, float] = (0.0, 0.0),
    axis: tuple[float, float, float] = (0, 0, 1),
    tip: str | None = None,
    **limits: Any,
) -> Robot:
    """A plate in a plane; ``centre`` is that of its mass, I_ZZ the moment about it.

    ``tip`` names a joint that turns a light link on the plate.
    """

    def describe(model: ModelBuilder) -> None:
        model.add_link("floor")
        model.add_link("plate", M, center_of_mass=(*centre, 0), inertia=3 * (I_ZZ,))
        model.add_joint("base", "planar", "floor", "plate", axis=axis, **limits)
        if tip is not None:
            model.add_link("tip", 1e-3, inertia=3 * (1e-5,))
            model.add_joint(tip, "continuous", "plate", "tip", axis=(0, 0, 1))

    return Robot("cart", describe)


def drives(**changes: Any) -> list[dict[str, Any]]:
    """An actuator for each coordinate."""
    return [{"joints": [name], "kp": kp, "kd": kd, **changes} for name, (kp, kd) in GAINS.items()]


def rotation(angle: float) -> np.ndarray:
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


# --- names


def test_its_coordinates_are_listed_wherever_joints_are() -> None:
    world = make_world(fixed(base()))
    assert world.joint_names == world.velocity_names == world.actuated_joint_names == NAMES
    world.set_joint_positions({"base/y": 0.5, "base/yaw": 1.2})
    world.set_joint_velocities({"base/x": -0.3})
    assert world.joint_positions().tolist() == world.q.tolist() == [0.0, 0.5, 1.2]
    assert world.joint_velocities().tolist() == world.v.tolist() == [-0.3, 0.0, 0.0]


def test_x_and_y_are_axes_of_the_plane_that_do_not_turn_along() -> None:
    """As in MoveIt's planar joint: first moved to (x, y), then turned by yaw."""
    world = make_world(fixed(base()), **STILL)
    world.set_joint_positions(dict(zip(NAMES, (0.3, -0.7, 1.1), strict=True)))
    world.set_joint_velocities({"base/x": 0.25})
    world.step(1000)
    pose = world.frame_pose("plate")
    np.testing.assert_allclose(pose[:3, 3], [0.55, -0.7, 0.0], atol=1e-12)
    np.testing.assert_allclose(pose[:2, :2], rotation(1.1), atol=1e-15)


def test_start_positions_are_of_coordinates() -> None:
    start = {"base/y": -2.0, "base/yaw": 40.0}
    world = make_world(fixed(base(), positions=start), actuators=drives(), **STILL)
    assert world.q.tolist() == [0.0, -2.0, 40.0]
    world.step(10)
    assert world.q.tolist() == [0.0, -2.0, 40.0]  # held


# --- drives


@pytest.mark.parametrize(("name", "bound"), [("base/x", 4e-3), ("base/y", 2e-4), ("base/yaw", 4e-3)])
def test_each_coordinate_follows_the_second_order_response(name: str, bound: float) -> None:
    """m x'' + kd x' + kp x = kp x_d, all three told at once; the error halves with the step."""
    t, (kp, kd) = 0.4, GAINS[name]
    a, b = np.roots([MASSES[name], kd, kp]).astype(complex)
    exact = 1.0 + ((b * np.exp(a * t) - a * np.exp(b * t)) / (a - b)).real
    errors = []
    for dt in (2e-3, 1e-3, 5e-4):
        world = make_world(fixed(base()), actuators=drives(), time_step=dt, **STILL)
        world.set_command(dict.fromkeys(NAMES, 1.0), "position")
        world.step(round(t / dt))
        errors.append(abs(world.joint_positions()[NAMES.index(name)] - exact))
    assert errors[2] < bound
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize(("model", "share", "error"), [("lagged", 1.0, 4e-7), ("continuous", 0.0, 1e-13)])
def test_a_torque_turns_a_free_plate_about_its_centre_of_mass(model: str, share: float, error: float) -> None:
    """The couple moves no centre of mass: yaw = tau t^2 / (2 I), and the origin circles the centre.

    Steps sum up to t (t + dt) for t^2.
    """
    centre, tau, t = np.array([0.2, 0.1]), 1.5, 0.5
    world = make_world(fixed(base(tuple(centre))), solver={"model": model}, **STILL)
    world.set_command({"base/yaw": tau})
    world.step(round(t / world.time_step))
    x, y, yaw = world.joint_positions()
    assert yaw == pytest.approx(0.5 * tau * t * (t + share * world.time_step) / I_ZZ, rel=1e-12)
    np.testing.assert_allclose([x, y], centre - rotation(yaw) @ centre, atol=error)
    # The mean over the stages of a continuous step is rounded.
    assert world.joint_efforts().tolist() == [0.0, 0.0, pytest.approx(tau, rel=1e-15)]


def test_a_force_on_a_plate_that_swings_does_its_work() -> None:
    """Along x it moves the centre of mass as if all were there; its work f x is the kinetic energy."""
    centre, force, t, dt = np.array([0.0, 0.3]), 4.0, 1.0, 2.5e-4
    world = make_world(fixed(base(tuple(centre))), time_step=dt, **STILL)
    world.set_command({"base/x": force})
    world.step(round(t / dt))
    x, y, yaw = world.q
    moved = np.array([x, y]) + rotation(yaw) @ centre - centre
    np.testing.assert_allclose(moved, [0.5 * force / M * t * (t + dt), 0.0], atol=4e-8)
    assert abs(yaw) > 0.5  # it does swing
    assert world.energies().kinetic == pytest.approx(force * x, rel=1.2e-4)


def test_its_limits_hold_along_each_coordinate() -> None:
    """Effort and speed."""
    world = make_world(fixed(base(effort=3, velocity=0.5)), **STILL)
    world.set_command(dict.fromkeys(NAMES, 100.0))
    world.step()
    assert world.joint_efforts().tolist() == [3.0, 3.0, 3.0]
    np.testing.assert_allclose(world.v, 3.0 * world.time_step / np.array([M, M, I_ZZ]), rtol=1e-12)
    world.step(1000)
    np.testing.assert_allclose(world.v, 0.5, rtol=1e-4)


def test_effort_limit_and_velocity_mode_of_an_actuator() -> None:
    """m v' = min(limit, kd (v_d - v)): full effort at first, then within kd of what is wanted."""
    actuators = [{"joints": ["base/yaw"], "mode": "velocity", "kd": 50.0, "effort_limit": 0.6}]
    world = make_world(fixed(base()), actuators=actuators, **STILL)
    world.set_command({"base/yaw": 1.0}, "velocity")
    world.step(100)
    assert world.v[2] == pytest.approx(0.6 * 0.1 / I_ZZ, rel=1e-12)
    world.step(900)
    assert world.v[2] == pytest.approx(1.0, rel=1e-7)  # what the solver's tolerance leaves


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0.6, 0, 0.8)])
def test_gravity_compensation_bears_a_plate_in_a_steep_plane(axis: tuple[float, float, float]) -> None:
    """The efforts are those of the weight: its part in the plane, and its moment about the plate's origin."""
    model = fixed(base((0.2, 0.0), axis), gravity_compensation=True)
    world = make_world(model)
    world.step(100)
    np.testing.assert_allclose(world.q, 0.0, atol=1e-12)
    forces = world.joint_efforts()
    normal = np.array(axis, dtype=float)
    p = np.array([0.2, 0.0, 0.0])
    assert np.hypot(forces[0], forces[1]) == pytest.approx(M * G * np.hypot(normal[0], normal[1]), rel=1e-12)
    assert forces[2] == pytest.approx(-normal @ np.cross(p, [0.0, 0.0, -M * G]), abs=1e-12)


def test_scripted_command_moves_a_base_that_carries_an_arm() -> None:
    """The base follows a sine with the lag of its drive, whatever the joint on it does."""
    sine = {"amplitude": 0.1, "period": 2.0}
    world = make_world(
        fixed(base(tip="elbow")),
        actuators=[{"joints": ["base/x", "base/yaw"], "kp": 1e6, "kd": 1e3}],
        commands=[{"joint": "base/x", "signal": {"sine": sine}}],
        **STILL,
    )
    assert world.joint_names == (*NAMES, "elbow")
    world.step(500)
    assert world.frame_pose("tip")[0, 3] == pytest.approx(0.1, rel=1e-3)


# --- what is refused


@pytest.mark.parametrize(
    ("sections", "where"),
    [
        ({"actuators": [{"joints": ["base"], "kp": 1.0}]}, "actuators, joints"),
        ({"model": {"positions": {"base": 1.0}}}, "model 'cart_0', positions.base"),
    ],
)
def test_the_joint_itself_is_no_coordinate(sections: dict[str, Any], where: str) -> None:
    model = fixed(base(), **sections.get("model", {}))
    with pytest.raises(InputError) as caught:
        make_world(model, actuators=sections.get("actuators", ()))
    assert caught.value.element == where
    assert caught.value.mend == "name its coordinates base/x, base/y, base/yaw"


def test_unknown_names_lead_to_the_coordinates() -> None:
    world = make_world(fixed(base()))
    for name in ("base", "base/theta"):
        with pytest.raises(InputError, match=r"base/(x|y|yaw)"):
            world.set_command({name: 1.0})
    misspelt = [{"joints": ["base/yam"], "kp": 1.0}]
    with pytest.raises(InputError, match="base/yaw"):
        make_world(fixed(base()), actuators=misspelt)


def test_a_coordinate_and_a_joint_of_one_name_are_refused() -> None:
    """Nobody could tell which of the two is commanded."""
    for models in ((base(), slider(joint="base/x")), (base(tip="base/x"),)):
        with pytest.raises(InputError, match="base/x"):
            make_world(*map(fixed, models))


def test_a_page_shows_lengths_and_an_angle_without_ends() -> None:
    """Sliders like those of other joints; they take commands where there are gains."""
    gains = [{"joints": ["base/x", "base/yaw"], "kp": 10.0}]
    world = make_world(fixed(base()), actuators=gains)
    x, y, yaw = scene_of_world(world, PressureScale(20e3)).joints
    assert (x.name, y.name, yaw.name) == NAMES
    assert (x.type, y.type, yaw.type) == ("prismatic", "prismatic", "continuous")
    assert (x.unit, y.unit, yaw.unit) == ("m", "m", "rad")
    assert (x.commandable, y.commandable, yaw.commandable) == (True, False, True)
    assert {end for joint in (x, y, yaw) for end in (joint.lower, joint.upper)} == {None}


def test_a_scene_loses_the_drives_of_a_base_that_is_deleted() -> None:
    """As those of other joints: what is left can be run."""
    script = [{"joint": "base/x", "signal": {"constant": 0.1}}]
    models = [fixed(base(), name="cart"), fixed(slider(), name="other")]
    world = make_world(*models, actuators=drives(), commands=script)
    left = without(world.scene, "cart")
    assert (left.spec.actuators, left.spec.commands) == ((), ())
    assert hs.World(left).actuated_joint_names == ("rail_joint",)
