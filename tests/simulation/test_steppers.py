"""Steps of every solver: cut where they fail, as fine as accuracy asks, repeated from a file, the same physics."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.description import load_scene as read_scene
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.integrators.other_steps import solve_nothing
from hydro_sim_core.solvers.options import CONVERGED
from support.simulation.made_scenes import CONFIG, GROUND, G, box, free, make_world, sphere

CONVEX = ["lagged", "similar", "sap", "tamsi"]


def brick(xyz=(0, 0, 0.05), rpy=(0, 0, 0), time_step: float = 1e-3, **solver: object) -> World:
    """A compliant brick of 1 kg over rigid ground."""
    model = free(box("brick", (0.2, 0.15, 0.1), 1.0, modulus=1e6), xyz, rpy)
    return make_world(model, environment=[GROUND], time_step=time_step, solver=solver)


@pytest.mark.parametrize("model", CONVEX)
def test_every_solver_carries_a_brick_at_rest(model: str) -> None:
    """Its weight, and no more, once it has settled; no step fails."""
    world = brick(model=model)
    world.step(2000)
    (patch,) = world.contacts
    force = patch.force_on_b if patch.name_b == "brick" else -patch.force_on_b
    np.testing.assert_allclose(force, (0.0, 0.0, G), atol=1e-4 * G)
    assert world.diagnostics()["unconverged_steps"] == 0
    assert np.abs(world.v).max() < 1e-5


@pytest.mark.parametrize("model", ["lagged", "tamsi"])
def test_a_sliding_brick_slows_by_coulombs_law(model: str) -> None:
    """mu g within 0.1 %; SAP and similar lift what slides instead."""
    world = brick(model=model, time_step=1e-3)
    world.step(300)
    q, v = world.q, world.v.copy()
    v[3] = 1.0
    world.set_state(q, v)
    world.step(20)
    begin = world.v[3]
    world.step(80)
    slowed = (begin - world.v[3]) / 0.08
    assert slowed == pytest.approx(0.5 * G, rel=1e-3)


def test_similar_and_sap_lift_what_slides_and_lagged_does_not() -> None:
    """The known artefact of their costs, about mu times the sliding speed, and the reason for the default."""
    heights = {}
    for model in ("lagged", "tamsi", "similar", "sap"):
        world = brick(model=model, time_step=1e-3)
        world.step(300)
        before = world.q[6]
        v = world.v.copy()
        v[3] = 1.0
        world.set_state(world.q, v)
        world.step(60)
        heights[model] = world.q[6] - before
    assert abs(heights["lagged"]) < 1e-6
    assert abs(heights["tamsi"]) < 1e-6
    assert heights["similar"] > 1e-4
    assert heights["sap"] > 1e-4


@pytest.mark.parametrize("model", ["similar", "sap", "tamsi"])
def test_solvers_agree_on_a_bounce_in_short_steps(model: str) -> None:
    """A ball dropped on the ground, steps of 0.1 ms: within 0.2 mm and 20 mm/s of the lagged solver's."""
    states = []
    for chosen in ("lagged", model):
        ball = free(sphere("ball", 0.1, 1.0, modulus=1e5), (0, 0, 0.12))
        law = {"damping": "linear", "contact": {"relaxation_time": 0.01}}
        world = make_world(ball, environment=[GROUND], time_step=1e-4, solver={"model": chosen}, **law)
        world.step(1500)
        states.append((world.q[6], world.v[5]))
    (height, speed), (other_height, other_speed) = states
    assert other_height == pytest.approx(height, abs=2e-4)
    assert other_speed == pytest.approx(speed, abs=0.02)


def test_sap_takes_linear_damping_unless_told_otherwise() -> None:
    world = brick(model="sap")
    assert world.built.model.pair_relaxation[0] > 0.0
    assert world.built.model.pair_dissipation[0] == 0.0
    assert brick(model="similar").built.model.pair_dissipation[0] > 0.0
    model = free(box("brick", (0.2, 0.15, 0.1), 1.0))
    with pytest.raises(InputError, match="friction sap has no law of hunt_crossley damping"):
        make_world(model, damping="hunt_crossley", solver={"model": "sap"})


def test_sap_turns_about_a_hinge_through_the_patch() -> None:
    """No velocity moves the patch's reference point: a ball on a vertical hinge that spins on the ground goes on."""
    spun = {}
    for law in ("sap", "lagged"):
        scene = hs.SceneBuilder("spin", solver=law)
        scene.add_ground(friction=0.5)
        post = scene.add_model("post", xyz=(0.0, 0.0, 0.0499))
        post.add_link("axle")
        ball = post.add_link("ball", mass=1.0, inertia=3 * (0.001,))
        ball.add_shape("sphere", radius=0.05, modulus=1e6, friction=0.5)
        post.add_joint("turn", "continuous", "axle", "ball", axis=(0, 0, 1))
        world = hs.World(scene.build())
        world.set_joint_velocities({"turn": 3.0})
        world.step(100)
        assert world.contacts
        spun[law] = world.v[0]
    # Both slow down by the moment of friction over the patch.
    assert spun["sap"] == pytest.approx(spun["lagged"], rel=0.02)
    assert 0.0 < spun["lagged"] < 3.0


def test_a_step_that_does_not_converge_is_cut() -> None:
    """TAMSI does not converge for a stack of hard boxes in steps of 10 ms; shorter ones do, and are told of."""
    stack = [
        free(box(name, (0.2, 0.15, 0.08), 0.2, modulus=1.5e11, dissipation=50.0, hint=0.1), (0, 0, z))
        for name, z in (("lower", 0.04), ("middle", 0.12), ("upper", 0.2))
    ]
    contact = {"margin": 0.0}  # with one it converges
    world = make_world(
        *stack, environment=[GROUND], time_step=0.01, solver={"model": "tamsi"}, contact=contact
    )
    world.step(300)
    done = world.diagnostics()
    # The stack rattles, by rounding one way or another; of 30 to 50 such steps up to two are not saved by that.
    assert done["unconverged_steps"] <= 0.1 * done["cut_steps"]
    assert done["cut_steps"] > 20
    assert (world.failed_step is None) == (done["unconverged_steps"] == 0)
    assert world.step_count == 300


def test_a_step_that_cannot_be_saved_is_counted_and_kept_for_replay(tmp_path: Path) -> None:
    """One iteration is never enough: the step is taken, counted, and its beginning can be written and repeated."""
    world = brick((0, 0, 0.06), (0.5, 0.3, 0.0), time_step=0.01, max_iterations=1, relag=False)
    v = world.v.copy()
    v[3:] = 2.0, 0.0, -3.0
    world.set_state(world.q, v)
    world.step(30)
    assert world.diagnostics()["unconverged_steps"] > 0
    assert world.step_count == 30
    assert world.failed_step is not None
    kept = tmp_path / "failed.json"
    world.failed_step.write(kept)
    again = brick((0, 0, 0.06), (0.5, 0.3, 0.0), time_step=0.01, max_iterations=1, relag=False)
    again.load_state(kept)
    failed_at = again.step_count
    assert 0 <= failed_at < 30
    again.step()
    assert again.diagnostics()["unconverged_steps"] == 1
    again.step(30 - failed_at - 1)
    assert np.array_equal(again.q, world.q)
    assert np.array_equal(again.v, world.v)


@pytest.mark.parametrize("accuracy", [None, 1e-5])
def test_a_run_goes_on_from_a_file_bit_by_bit(tmp_path: Path, accuracy: float | None) -> None:
    """Drives and, under error control, the length of the next sub-step included."""
    scene = read_scene(CONFIG / "spatula_slip_welded.yaml")
    solver = scene.spec.solver.model_copy(update={"accuracy": accuracy})
    scene = replace(scene, spec=scene.spec.model_copy(update={"solver": solver}))
    first, second = World(scene), World(scene)
    first.step(40)
    path = tmp_path / "state.json"
    first.save_state().write(path)
    first.step(40)
    second.load_state(path)
    assert second.time == pytest.approx(0.04)
    second.step(40)
    assert np.array_equal(first.q, second.q)
    assert np.array_equal(first.v, second.v)


SPOILT_STATES = [
    ("v", [float("nan")] * 6, "state.v: holds NaN"),
    ("v", [float("inf")] * 6, "state.v: holds NaN or infinity"),
    ("v", ["3"] * 6, "state.v: is no array of numbers"),
    ("q", [0.0] * 7, r"state.q\[0:4\]: is no unit quaternion"),
    ("step", [1e300], "state.step: is no array of whole numbers"),
    ("step", [float("inf")], "state.step: is no array of whole numbers"),
    ("step", [-1], "state.step: is negative"),
    ("substep", [-1.0], "state.substep: is negative"),
    ("extrapolate", [2], "state.extrapolate: does not fit"),
    ("step", [2**62], "state.step: holds 4.61169e.18, which no run can reach"),
    ("substep", [2.0**31], "state.substep: holds 2.14748e.09, which no run can reach"),
    ("dt_previous", [1e300], "state.dt_previous: holds 1e.300, which no run can reach"),
    ("v_previous", [1e18] * 6, "state.v_previous: holds 1e.18, which no run can reach"),
]


def with_state(good: dict, **changes: object) -> str:
    """A saved state with other entries."""
    return json.dumps({**good, "state": {**good["state"], **changes}})


def test_a_state_of_the_same_scene_with_other_settings_is_refused(tmp_path: Path) -> None:
    """The same names and shapes, but another time step, law or body."""
    path = tmp_path / "state.json"
    world = brick()
    world.save_state().write(path)
    brick().load_state(path)
    for other in (brick(time_step=2e-3), brick(model="sap")):
        with pytest.raises(InputError, match="scene: is"):
            other.load_state(path)


def test_commands_that_took_over_from_the_script_stay_in_force(tmp_path: Path) -> None:
    """A saved run goes on with them, not with the script."""
    first, second = (hs.load_scene(CONFIG / "spatula_slip_welded.yaml") for _ in range(2))
    first.step(10)
    first.set_gripper(force=3.0)
    first.step(10)
    first.save_state().write(tmp_path / "state.json")
    first.step(30)
    second.load_state(tmp_path / "state.json")
    second.step(30)
    assert np.array_equal(first.q, second.q)
    assert np.array_equal(first.v, second.v)


def test_a_saved_state_that_does_not_fit_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    world = brick()
    world.step(3)
    path = tmp_path / "state.json"
    world.save_state().write(path)
    good = json.loads(path.read_text())
    q, v = world.q, world.v
    spoilt = [
        ("{", "is not JSON"),
        ("[" * 100_000, "is nested too deep"),
        (json.dumps([1]), "scene: is None where"),
        (json.dumps({**good, "scene": "other"}), "scene: is 'other' where"),
        (json.dumps({**good, "state": {}}), "state.q: is missing"),
        (json.dumps({**good, "drives": {**good["drives"], "kp": [1.0]}}), "drives.kp: has shape"),
        *(
            (
                json.dumps({**good, "drives": {**good["drives"], name: [-1.0] * 6}}),
                f"drives.{name}: is negative",
            )
            for name in ("kp", "kd", "limit")
        ),
        (json.dumps({**good, "released": ["nobody"]}), "released: does not list"),
        *((with_state(good, **{name: value}), problem) for name, value, problem in SPOILT_STATES),
    ]
    for text, problem in spoilt:
        path.write_text(text)
        with pytest.raises(InputError, match=problem):
            world.load_state(path)
    with pytest.raises(InputError, match="no such file"):
        world.load_state(tmp_path / "missing.json")
    assert np.array_equal(world.q, q)
    assert np.array_equal(world.v, v)
    assert world.step_count == 3


def dropped_ball(time_step: float, accuracy: float | None) -> World:
    """A ball that falls 20 mm, bounces and comes to rest."""
    ball = free(sphere("ball", 0.1, 1.0, modulus=1e5, dissipation=1.0), (0, 0, 0.12))
    solver = {} if accuracy is None else {"accuracy": accuracy}
    return make_world(ball, environment=[GROUND], time_step=time_step, solver=solver)


def test_error_control_keeps_to_its_accuracy() -> None:
    """Against steps of 2 µs: height and speed are the better the tighter the accuracy, for more sub-steps."""
    reference = dropped_ball(2e-6, None)
    reference.step(100_000)
    heights, speeds, substeps = [], [], []
    for accuracy in (1e-4, 1e-6, 1e-8):
        world = dropped_ball(0.01, accuracy)
        world.step(20)
        assert world.time == pytest.approx(reference.time)
        heights.append(abs(world.q[6] - reference.q[6]))
        speeds.append(abs(world.v[5] - reference.v[5]))
        substeps.append(world.diagnostics()["substeps"])
    assert heights[0] < 3e-3
    assert heights[1] < 0.2 * heights[0]
    # The reference itself is off by some 5e-6 m.
    assert heights[2] < 2e-5
    assert speeds[1] < 0.2 * speeds[0]
    assert speeds[2] < 1e-3
    assert substeps[0] < substeps[1] < substeps[2]


@pytest.mark.parametrize("accuracy", [1e-2, 1e-3, 1e-4, 1e-5])
def test_error_control_makes_no_energy_of_an_impact(accuracy: float) -> None:
    """A hard, dead body that lands at 1 m/s between two looks at the contacts does not bounce up faster."""
    block = free(box("block", (0.1, 0.1, 0.1), 1.0, modulus=1e8, dissipation=50.0), (0, 0, 0.0512))
    world = make_world(
        block,
        environment=[GROUND],
        time_step=0.01,
        gravity=[0, 0, 0],
        solver={"accuracy": accuracy},
    )
    world.set_state(world.q, [0, 0, 0, 0, 0, -1.0])
    world.step(10)
    assert -1e-3 < world.v[5] < 0.2
    assert world.diagnostics()["unconverged_steps"] == 0


@pytest.mark.parametrize("gap", [0.0013, 0.002, 0.0031, 0.0044, 0.01])
@pytest.mark.parametrize("modulus", [None, 1e10])
def test_error_control_gives_nothing_back_of_a_dead_impact(modulus: float | None, gap: float) -> None:
    """In whole and half sub-steps, of which one half has it all, that are otherwise nearly the same."""
    block = free(box("block", (0.1, 0.1, 0.1), 1.0, modulus=modulus, dissipation=50.0), (0, 0, 0.1 + gap))
    world = make_world(block, environment=[GROUND], time_step=0.01, solver={"accuracy": 1e-4})
    speeds = []
    for _ in range(30):
        world.step()
        speeds.append(world.v[5])
    assert min(speeds) < -0.8
    assert max(speeds) < 1e-3


@pytest.mark.parametrize("accuracy", [1e-3, 1e-4, 1e-5])
def test_error_control_gives_nothing_back_at_a_stop(accuracy: float) -> None:
    scene = hs.SceneBuilder("cart", time_step=1e-2, solver={"accuracy": accuracy}, gravity=(0, 0, 0))
    rig = scene.add_model("rig")
    rig.add_link("rail")
    rig.add_link("cart", mass=2.0, inertia=3 * (1e-3,))
    rig.add_joint("slide", "prismatic", "rail", "cart", axis=(1, 0, 0), lower=-0.1, upper=0.1, effort=1.0)
    world = hs.World(scene.build())
    world.set_state([0.0], [1.0])
    for _ in range(30):
        world.step()
        assert world.v[0] > -0.01


@pytest.mark.parametrize("base", ["fixed", "kinematic"])
def test_error_control_gives_nothing_back_to_what_slides_on_a_base(base: str) -> None:
    """A kinematic base that stands still is as a fixed one."""
    largest = 0.0
    for start in np.linspace(0.0, 0.09, 10):
        scene = hs.SceneBuilder("cart", time_step=1e-2, solver={"accuracy": 1e-4}, gravity=(0, 0, 0))
        rig = scene.add_model("rig", base=base)
        rig.add_link("rail")
        rig.add_link("cart", mass=2.0, inertia=3 * (1e-3,))
        rig.add_joint("slide", "prismatic", "rail", "cart", axis=(1, 0, 0), lower=-0.1, upper=0.1, effort=1.0)
        world = hs.World(scene.build())
        world.set_joint_positions({"slide": start / 10})
        world.set_joint_velocities({"slide": 1.0})
        for _ in range(20):
            world.step()
            largest = max(largest, -world.v[-1])
    assert largest < 0.005


@pytest.mark.parametrize(("accuracy", "bound"), [(1e-3, 2e-4), (1e-4, 6e-5)])
def test_error_control_is_as_good_under_a_body_at_rest(accuracy: float, bound: float) -> None:
    """A table that damping slows turns by (1 - exp(-2 t)) w / 2, whatever stands on its axis without friction."""
    contact = {"modulus": 1e6, "friction": 0.0}
    scene = hs.SceneBuilder("table", time_step=1e-2, solver={"accuracy": accuracy}, contact=contact)
    model = scene.add_model("table")
    model.add_link("stand")
    model.add_link("top", mass=1.0, inertia=3 * (1.0,)).add_shape("cylinder", radius=0.3, length=0.05)
    ends = {"lower": -1e3, "upper": 1e3}
    model.add_joint("turn", "revolute", "stand", "top", axis=(0, 0, 1), damping=2.0, **ends)
    scene.add_body("box", 0.2, inertia=3 * (1e-3,), xyz=(0, 0, 0.05499)).add_shape("box", size=3 * (0.06,))
    world = hs.World(scene.build())
    world.step(50)
    world.set_joint_positions({"turn": 0.0})
    world.set_state(world.q, np.eye(7)[0] * 10.0)
    world.step(100)
    assert world.joint_positions()[0] == pytest.approx(5.0 * (1.0 - np.exp(-2.0)), abs=bound)


def test_error_control_takes_long_steps_where_nothing_happens() -> None:
    world = dropped_ball(0.01, 1e-5)
    world.step(100)
    settled = world.diagnostics()["substeps"]
    world.step(50)
    assert world.diagnostics()["substeps"] - settled <= 60
    assert world.diagnostics()["unconverged_steps"] == 0


def test_error_control_gives_up_on_an_accuracy_out_of_reach() -> None:
    """Sub-steps that shrink to nothing end in one that is reported, not in a hang."""
    world = dropped_ball(0.01, 1e-3)
    world._stepper._accuracy = 0.0  # no difference at all allowed
    world.step(2)
    assert world.step_count == 2
    assert world.diagnostics()["unconverged_steps"] > 0
    assert world.failed_step is not None


def test_error_control_gives_up_soon_on_what_has_no_solution() -> None:
    """However short the sub-step: a few are tried, not a thousand, and the steps are counted and kept for replay."""
    world = dropped_ball(0.01, 1e-4)
    world._machine.solve = solve_nothing
    world._machine.scratch.solver.report[CONVERGED] = 0.0
    world.step(3)
    done = world.diagnostics()
    assert world.step_count == 3
    assert done["unconverged_steps"] == 3
    assert done["rejected_substeps"] <= 3 * 10
    assert world.failed_step is not None
