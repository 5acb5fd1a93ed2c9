"""Bodies that move as they are told: they carry and push by closed forms, and nothing holds them up."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from hydro_sim_core.description.model_builder import ModelBuilder
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.integrators.steppers import FixedSteps
from support.simulation.made_scenes import GROUND, G, Robot, box, fixed, free, make_world
from support.simulation.plates import MU, SIZE, M, at, brick, plate

DT = 1e-3
STILL = {"gravity": [0.0, 0.0, 0.0]}
METHODS: dict[str, dict[str, Any]] = {
    "lagged": {},
    "similar": {"model": "similar"},
    "sap": {"model": "sap"},
    "tamsi": {"model": "tamsi"},
    "error_control": {"accuracy": 1e-5},
    "continuous": {"model": "continuous"},
}


def follow(world: hs.World, pose: Callable[[float], np.ndarray], steps: int) -> None:
    """Lead the plate along a path."""
    for _ in range(steps):
        world.move("plate", pose(world.time + world.time_step))
        world.step()


def force_on(world: hs.World, name: str) -> np.ndarray:
    """Force of all contacts on a body over the last step."""
    total = np.zeros(3)
    for patch in world.contacts:
        total += patch.force_on_b * ((patch.name_b == name) - (patch.name_a == name))
    return total


def velocity_of(world: hs.World, name: str) -> np.ndarray:
    return world.v[[world.velocity_names.index(f"{name}_base/{k}") for k in range(3, 6)]]


# --- where it is


@pytest.mark.parametrize("method", METHODS)
def test_it_is_exactly_where_it_was_told_to_be(method: str) -> None:
    """Position and orientation after each step, with a brick on it; then it stands still."""
    world = make_world(plate(), brick(), solver=METHODS[method])
    for n in range(1, 4):
        X = at(1e-4 * n**2, -2e-4 * n, 1e-4 * n)
        X[:3, :3] = Rotation.from_rotvec([1e-3 * n, -2e-3, 5e-4 * n**2]).as_matrix()
        world.move("plate", X)
        world.step()
        np.testing.assert_allclose(world.frame_pose("plate"), X, rtol=0, atol=1e-15)
    world.step(2)
    np.testing.assert_allclose(world.frame_pose("plate"), X, rtol=0, atol=1e-15)
    assert not velocity_of(world, "plate").any()


def test_it_goes_on_at_the_velocity_that_it_was_told() -> None:
    """Straight and at a constant turn, from the given pose on, in one call for many steps as in many."""
    twist = np.array([0.3, -0.2, 1.5, 0.1, 0.2, -0.3])
    worlds = [make_world(plate(), **STILL) for _ in range(2)]
    for world in worlds:
        world.move("plate", at(x=0.5), twist)
    worlds[0].step(1001)
    for _ in range(1001):
        worlds[1].step()
    X = worlds[0].frame_pose("plate")
    np.testing.assert_allclose(X[:3, 3], at(x=0.5)[:3, 3] + twist[3:], rtol=1e-12)
    np.testing.assert_allclose(X[:3, :3], Rotation.from_rotvec(twist[:3]).as_matrix(), rtol=0, atol=1e-12)
    assert (worlds[0].q == worlds[1].q).all()
    np.testing.assert_allclose(worlds[0].v, twist, rtol=1e-15)
    worlds[0].move("plate")
    worlds[0].step(10)
    np.testing.assert_allclose(worlds[0].frame_pose("plate"), X, rtol=0, atol=1e-15)


def test_it_turns_the_shorter_way_by_any_angle() -> None:
    """Half a turn and more, in one step."""
    world = make_world(plate(), **STILL)
    for rotvec in ([math.pi, 0.0, 0.0], [0.0, -3.0, 1.0], [0.0, 0.0, 1e-9], [0.0, 0.0, 0.0]):
        X = at()
        X[:3, :3] = Rotation.from_rotvec(rotvec).as_matrix()
        world.move("plate", X)
        world.step()
        np.testing.assert_allclose(world.frame_pose("plate"), X, rtol=0, atol=1e-14)


def test_nothing_holds_it_up() -> None:
    """It does not fall, passes through what is fixed, and needs no mass."""
    deep = {**GROUND, "xyz": (0.0, 0.0, -0.05)}
    world = make_world(plate(), brick(), environment=[deep])
    world.step(500)
    assert (world.frame_pose("plate") == at()).all()
    assert force_on(world, "plate")[2] == pytest.approx(-M * G, rel=1e-6)
    assert {frozenset(pair) for pair in world.contact_pairs} == {
        frozenset({"plate", "brick"}),
        frozenset({"ground", "brick"}),
    }


# --- what it carries and pushes


@pytest.mark.parametrize("method", ["lagged", "similar", "sap", "tamsi", "error_control"])
def test_a_brick_goes_with_a_plate_that_accelerates_gently(method: str) -> None:
    """a < mu g: the brick has the plate's speed but for stiction's creep, and friction is m a on average."""
    a, steps = 0.6 * MU * G, 300
    world = make_world(plate(), brick(), solver=METHODS[method])
    world.step(200)
    begin, x = world.time, world.frame_pose("brick")[0, 3]
    follow(world, lambda t: at(0.5 * a * (t - begin) ** 2), steps)
    # The plate moves at the mean speed of each step.
    speed = a * (steps - 0.5) * DT
    assert velocity_of(world, "plate")[0] == pytest.approx(speed, rel=1e-9)
    assert velocity_of(world, "brick")[0] == pytest.approx(speed, abs=CREEP[method])
    assert world.frame_pose("brick")[0, 3] - x == pytest.approx(0.5 * a * (steps * DT) ** 2, abs=3e-5)


#: Speed at which a brick slips behind: stiction's, and twice what a plate gains in a step with its sub-steps.
CREEP = {"lagged": 2e-5, "similar": 2e-5, "sap": 2e-5, "tamsi": 2e-5, "error_control": 1.2e-3}


@pytest.mark.parametrize(("method", "bound"), [("lagged", 1.2e-3), ("tamsi", 2e-3), ("error_control", 9e-4)])
def test_a_brick_slides_on_a_plate_that_is_drawn_away(method: str, bound: float) -> None:
    """a > mu g: it accelerates by mu g, once it slips."""
    a, steps = 2.0 * MU * G, 300
    world = make_world(plate(), brick(), solver=METHODS[method])
    world.step(200)
    begin = world.time
    follow(world, lambda t: at(0.5 * a * (t - begin) ** 2), steps)
    assert velocity_of(world, "brick")[0] == pytest.approx(MU * G * steps * DT, rel=bound)
    if method != "error_control":  # where the last sub-step tells the force
        assert force_on(world, "brick")[0] == pytest.approx(MU * M * G, rel=1e-5)


def test_the_continuous_model_carries_and_pushes_too() -> None:
    """Over 20 steps the mean of the normal force is m (g + a)."""
    a, begin, steps = 3.0, 0.02, 20
    world = make_world(plate(), brick(), solver=METHODS["continuous"])
    world.step(round(begin / DT))
    v = velocity_of(world, "brick")
    follow(world, lambda t: at(z=0.5 * a * (t - begin) ** 2), steps)
    gained = velocity_of(world, "brick") - v
    assert gained[2] == pytest.approx(a * (steps - 0.5) * DT, rel=0.05)


def test_a_lift_presses_by_m_times_g_plus_a() -> None:
    """Up and down, on the brick and on the lift alike."""
    for a in (3.0, -4.0):
        world = make_world(plate(), brick())
        world.step(200)
        begin = world.time
        follow(world, lambda t, a=a, begin=begin: at(z=0.5 * a * (t - begin) ** 2), 300)
        assert force_on(world, "brick")[2] == pytest.approx(M * (G + a), rel=1e-8)
        assert force_on(world, "plate")[2] == pytest.approx(-M * (G + a), rel=1e-8)


def test_a_lift_that_falls_faster_leaves_the_brick() -> None:
    """Below -g it falls freely: no force."""
    world = make_world(plate(), brick())
    world.step(200)
    begin, z = world.time, world.frame_pose("brick")[2, 3]
    follow(world, lambda t: at(z=-0.75 * G * (t - begin) ** 2), 200)
    assert not world.contacts
    assert world.frame_pose("brick")[2, 3] == pytest.approx(z - 0.5 * G * 0.2**2, abs=1.5e-3)


def test_a_wall_pushes_a_brick_at_its_own_speed() -> None:
    """Over rough ground: the push is friction's, mu m g, but for what the solver leaves, up to 1.6e-7 of it."""
    wall = plate((0.1, 1.0, 0.3), mu=0.0, xyz=(-0.16, 0.0, 0.15))
    world = make_world(wall, brick(), environment=[GROUND])
    world.step(200)
    world.move("plate", V_WB=[0, 0, 0, 0.2, 0, 0])
    world.step(1500)
    assert velocity_of(world, "brick")[0] == pytest.approx(0.2, rel=1e-8)
    assert velocity_of(world, "plate")[0] == 0.2
    assert force_on(world, "plate")[0] == pytest.approx(-MU * M * G, rel=4e-7)


# --- what hangs on it by joints


def rail(axis: tuple[float, float, float], **more: Any) -> dict[str, Any]:
    """A bead on a frictionless rail that is fixed to the base."""

    def describe(model: ModelBuilder) -> None:
        model.add_link("plate")
        model.add_link("bead", M, inertia=3 * (0.01,))
        limits = {"lower": -1e3, "upper": 1e3, "effort": 0, "velocity": 1e3}
        model.add_joint("rail", "prismatic", "plate", "bead", axis=axis, **limits)

    return fixed(Robot("rail", describe), name="plate", base="kinematic", **more)


@pytest.mark.parametrize("method", ["lagged", "tamsi", "continuous"])
def test_a_bead_stays_behind_a_rail_that_is_drawn_along(method: str) -> None:
    """Nothing pulls it: it keeps its place in the world, whatever the rail does, jerks too."""
    model = rail((1, 0, 0))
    world = make_world(model, solver=METHODS[method], **STILL)
    rng = np.random.default_rng(3)
    X = np.eye(4)
    for _ in range(50):
        X[:2, 3] += rng.uniform(-1e-2, 1e-2, 2)
        world.move("plate", X)
        world.step()
    bead = world.frame_pose("bead")[:3, 3]
    np.testing.assert_allclose(bead, [0.0, X[1, 3], 0.0], rtol=0, atol=1e-12)
    assert abs(X[0, 3]) > 0.01


@pytest.mark.parametrize(("method", "order"), [("lagged", 1), ("continuous", None)])
def test_a_bead_is_flung_out_along_a_rail_that_turns(method: str, order: int | None) -> None:
    """r'' = w^2 r: r = r0 cosh(w t); the error of steps falls with them."""
    w, t = 2.0, 0.5
    errors = []
    for dt in (2e-3, 1e-3):
        model = rail((1, 0, 0), positions={"rail": 0.3})
        world = make_world(model, solver=METHODS[method], time_step=dt, **STILL)
        world.place("plate", V_WB=[0, 0, w, 0, 0, 0])
        world.step(round(t / dt))
        errors.append(abs(world.joint_positions()[0] - 0.3 * math.cosh(w * t)))
    if order is None:
        assert max(errors) < 1e-8
    else:
        assert errors[1] < 4e-4
        assert errors[0] / errors[1] == pytest.approx(2.0**order, rel=0.05)


@pytest.mark.parametrize(
    ("solver", "bound"), [("lagged", 1.6e-5), ({"accuracy": 1e-4}, 4e-6), ({"accuracy": 1e-6}, 8e-7)]
)
def test_a_puck_on_a_table_that_turns_and_shifts_goes_straight(solver: Any, bound: float) -> None:
    """Without friction nothing holds it, whatever the table does: Coriolis, centrifugal and Euler forces cancel."""
    scene = hs.SceneBuilder(gravity=(0, 0, 0), solver=solver)
    model = scene.add_model("table", base="kinematic", positions={"x": 0.3, "y": 0.1})
    model.add_link("top")
    model.add_link("slide", mass=1e-9, inertia=3 * (1e-9,))
    model.add_link("puck", mass=1.0, inertia=3 * (1e-3,))
    model.add_joint("x", "prismatic", "top", "slide", axis=(1, 0, 0), lower=-9, upper=9)
    model.add_joint("y", "prismatic", "slide", "puck", axis=(0, 1, 0), lower=-9, upper=9)
    world = hs.World(scene.build())
    world.set_joint_velocities({"x": 0.5, "y": -0.7})
    start = world.frame_pose("puck")[:3, 3]
    for n in range(1, 401):
        t, X = n * DT, np.eye(4)
        X[:3, :3] = Rotation.from_euler("z", 10.0 * t * t).as_matrix()
        X[:2, 3] = 0.2 * t * t, 0.1 * (1.0 - math.cos(9.0 * t))
        world.move("table", X)
        world.step()
    way = world.frame_pose("puck")[:3, 3] - start
    np.testing.assert_allclose(way, np.array([0.5, -0.7, 0.0]) * world.time, rtol=0, atol=bound)


def test_a_drive_on_a_moving_base_bears_weight_and_acceleration() -> None:
    """A stiff drive along the vertical holds the bead on a lift: m (g + a), and m g from gravity compensation."""
    a = 2.0
    actuators = [{"joints": ["rail"], "kp": 1e6, "kd": 2e3, "effort_limit": 1e3}]
    model = rail((0, 0, 1), gravity_compensation=True)
    world = make_world(model, actuators=actuators)
    follow(world, lambda t: at(z=0.05 + 0.5 * a * t * t), 500)
    assert world.joint_efforts()[0] == pytest.approx(M * (G + a), rel=2e-8)
    assert world.joint_positions()[0] == pytest.approx(-M * a / 1e6, rel=1e-7)


# --- symmetries and energy


def test_a_plate_that_stands_still_is_a_fixed_one() -> None:
    """To the last bit."""
    worlds = [make_world(plate(base=base), brick(0.05)) for base in ("fixed", "kinematic")]
    for world in worlds:
        world.step(100)
    assert (worlds[0].q == worlds[1].q[7:]).all()
    assert (worlds[0].v == worlds[1].v[6:]).all()


def test_contact_is_the_same_on_a_plate_that_moves_uniformly() -> None:
    """Galilei: a brick set down on a moving plate at its speed, and slid over it."""
    drift = np.array([0.0, 0.0, 0.0, 0.7, -0.4, 0.3])
    worlds = [make_world(plate(), brick()) for _ in range(2)]
    for world, u in zip(worlds, (np.zeros(6), drift), strict=True):
        world.place("plate", V_WB=u)
        world.place("brick", V_WB=np.add(u, (0.0, 0.0, 0.0, 0.3, 0.1, 0.0)))
        world.step(300)
    still, moved = (world.frame_pose("brick") for world in worlds)
    np.testing.assert_allclose(moved[:3, 3] - still[:3, 3], 0.3 * drift[3:], rtol=0, atol=1.3e-9)
    np.testing.assert_allclose(moved[:3, :3], still[:3, :3], rtol=0, atol=1e-9)


def test_what_stands_on_one_plate_is_not_coupled_through_it() -> None:
    """Each brick is an island by itself, as on the ground, to the last bit."""
    alone = make_world(plate(), brick(-0.5))
    both = make_world(plate(), brick(-0.5), free(box("other", SIZE, 1.0), (0.6, 0, 0.05)))
    for world in (alone, both):
        # So slowly upwards that it is no impact: steps that are taken in pieces are so for all bodies.
        world.move("plate", V_WB=[0, 0, 0.1, 0.3, 0, 0.02])
        world.step(200)
        assert world.step_statistics()["fast_steps"] == 0
    assert (both.q[:14] == alone.q).all()
    islands = both._machine.scratch.problem.islands
    assert (islands.num[0], both._machine.scratch.patches.num[0]) == (2, 2)


def test_work_of_a_belt_goes_half_into_heat() -> None:
    """A brick is set down on a running belt: it gains m v^2 / 2, and the belt does twice that, v times the momentum."""
    speed, work = 0.5, 0.0
    world = make_world(plate(), brick())
    world.step(200)
    world.move("plate", V_WB=[0, 0, 0, speed, 0, 0])
    for _ in range(400):
        world.step()
        work -= force_on(world, "plate")[0] * speed * DT
    v = velocity_of(world, "brick")[0]
    assert v == pytest.approx(speed, rel=4e-6)
    assert work == pytest.approx(M * speed**2, rel=3e-6)
    assert world.energies().kinetic == pytest.approx(0.5 * M * speed**2, rel=8e-6)


def test_work_of_a_lift_is_what_the_brick_gains() -> None:
    """At constant speed upwards: weight times height."""
    world = make_world(plate(), brick())
    world.step(200)
    world.move("plate", V_WB=[0, 0, 0, 0, 0, 0.2])
    world.step(200)  # until it no longer rocks
    before, work = world.energies(), 0.0
    for _ in range(200):
        world.step()
        work -= force_on(world, "plate")[2] * 0.2 * DT
    after = world.energies()
    assert after.potential - before.potential == pytest.approx(M * G * 0.2 * 0.2, rel=1e-9)
    assert work == pytest.approx(after.total - before.total, rel=1.5e-8)


# --- copies, states and resets


def test_what_it_was_told_goes_into_copies_and_saved_states(tmp_path: Path) -> None:
    """Between the call and the step too."""
    world = make_world(plate(), brick())
    world.step(5)
    world.move("plate", at(x=1e-3), [0, 0, 0, 0.1, 0, 0])
    saved = world.save_state()
    saved.write(tmp_path / "state.json")
    worlds = [world.copy(), pickle.loads(pickle.dumps(world)), world]
    worlds += [make_world(plate(), brick()), make_world(plate(), brick())]
    worlds[3].restore_state(saved)
    worlds[4].load_state(tmp_path / "state.json")
    for other in worlds:
        other.step(20)
    assert all((other.q == world.q).all() for other in worlds)
    assert world.frame_pose("plate")[0, 3] == pytest.approx(1e-3 + 19 * DT * 0.1, rel=1e-12)


def test_a_reset_stops_it_at_its_start() -> None:
    world = make_world(plate())
    world.move("plate", at(x=0.3), [0, 0, 1.0, 0, 0, 0])
    world.step(7)
    world.reset()
    world.step(7)
    assert (world.frame_pose("plate") == at()).all()


def test_it_can_be_placed() -> None:
    """At once, without a way; a velocity is what it goes on with."""
    world = make_world(plate())
    world.place("plate", at(y=2.0), [0, 0, 0, 0, 0, 0.5])
    assert (world.frame_pose("plate") == at(y=2.0)).all()
    world.step(100)
    np.testing.assert_allclose(world.frame_pose("plate")[:3, 3], at(y=2.0, z=0.05)[:3, 3], rtol=0, atol=1e-15)
    assert not world.entities["plate"].is_static
    assert world.entities["plate"].is_kinematic


# --- what is refused


def test_only_kinematic_models_are_led() -> None:
    world = make_world(plate(), brick(), environment=[GROUND])
    for name, problem in (
        ("brick", "moves as forces"),
        ("ground", "is fixed"),
        ("plat", "did you mean|plate"),
    ):
        with pytest.raises(InputError, match=problem):
            world.move(name, at())
    with pytest.raises(InputError, match="base: kinematic"):
        world.move("ground", at())
    for values in ({"X_WB": np.ones((4, 4))}, {"V_WB": [0.0] * 5}, {"V_WB": [math.nan] * 6}, {"X_WB": "x"}):
        with pytest.raises(InputError):
            world.move("plate", **values)
    world.step(3)
    assert (world.frame_pose("plate") == at()).all()


def test_an_attached_model_is_not_led() -> None:
    with pytest.raises(InputError, match="an attached model cannot be kinematic"):
        make_world(brick(), plate(attach_to="brick"))


# --- Impacts


def test_a_pusher_is_as_heavy_as_the_world_and_a_frame_as_what_it_carries():
    """Look-ahead judges impacts by the lighter mass: kinematic links need none, others may have none of their own."""
    scene = hs.SceneBuilder(contact={"compliance": "rigid"})
    scene.add_body("box", mass=2.0, xyz=(0, 0, 0.05)).add_shape("box", size=(0.1, 0.1, 0.1))
    tip = scene.add_model("tip", base="kinematic", xyz=(-0.0601, 0, 0.05))
    tip.add_link("tip", mass=0.01, inertia=3 * (1e-6,)).add_shape("sphere", radius=0.01)
    arm = scene.add_model("arm", xyz=(0.3, 0, 0.05))
    arm.add_link("base")
    arm.add_link("frame").add_shape("sphere", radius=0.01)
    arm.add_link("load", mass=0.5, inertia=3 * (1e-3,))
    arm.add_joint("turn", "revolute", "base", "frame", axis=(0, 0, 1), lower=-1, upper=1)
    arm.add_joint("lift", "prismatic", "frame", "load", axis=(0, 0, 1), lower=-1, upper=1)
    built = hs.World(scene.build()).built
    masses = {
        frozenset(built.colliders[i].link for i in pair): mass
        for pair, mass in zip(built.model.pairs.tolist(), built.model.pair_mass.tolist(), strict=True)
    }
    assert masses == {
        frozenset(("box", "tip")): 2.0,
        frozenset(("box", "frame")): 0.5,
        frozenset(("tip", "frame")): 0.5,
    }


def test_pushing_a_rigid_box_takes_whole_steps(monkeypatch):
    """With no mass of its own every overlap of the pusher was too much: 2000 pieces a step, for half a second long."""
    pieces = []
    take = FixedSteps._take_in_pieces

    def counted(stepper, *arguments):
        pieces.append(1)
        return take(stepper, *arguments)

    monkeypatch.setattr(FixedSteps, "_take_in_pieces", counted)
    scene = hs.SceneBuilder(contact={"compliance": "rigid", "friction": 0.4}, time_step=2e-3)
    scene.add_ground()
    scene.add_body("box", mass=1.0, xyz=(0, 0, 0.05)).add_shape("box", size=(0.1, 0.1, 0.1))
    tip = scene.add_model("tip", base="kinematic", xyz=(-0.0601, 0.02, 0.02))
    tip.add_link("tip").add_shape("sphere", radius=0.01, friction=0.0)
    world = hs.World(scene.build())
    world.move("tip", V_WB=[0, 0, 0, 0.1, 0, 0])
    world.step(250)
    # As far as the tip has come, which slides along the face that turns away.
    turned = np.arctan2(*world.frame_pose("box")[:2, 0][::-1])
    assert -1.2 < turned < -0.2
    assert len(pieces) < 60
