"""Bad commands and states: one InputError each, and the world goes on as if nothing had been said."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs
from support.simulation.made_scenes import CONFIG, Robot, fixed, free, make_world, slider, snake

NAN, INF = float("nan"), float("inf")
Call = Callable[[hs.World], Any]


@pytest.fixture(scope="module")
def arm_scene() -> hs.World:
    """The shipped scene with arm and gripper."""
    return hs.load_scene(CONFIG / "spatula_slip.yaml")


BAD_COMMANDS: dict[str, tuple[Call, str, str]] = {
    "gains of an unknown joint": (lambda w: w.takes("joint_11", "position"), "joint_11", "cannot be driven"),
    "reach of an unknown joint": (lambda w: w.drive_reach("joint_11"), "joint_11", "cannot be driven"),
    "NaN": (lambda w: w.set_command({"joint_1": NAN}, "position"), "joint_1", "not finite"),
    "infinity": (lambda w: w.set_command([INF] * 9, "effort"), "joint_1", "not finite"),
    "string": (lambda w: w.set_command({"joint_2": "fast"}, "effort"), "joint_2", "not a number"),
    "string that reads as a number": (
        lambda w: w.set_command({"joint_2": "1"}, "effort"),
        "joint_2",
        "not a number",
    ),
    "string instead of a list": (lambda w: w.set_command("1" * 9, "effort"), "effort", "not a list"),
    "None as a value": (lambda w: w.set_command({"joint_2": None}), "joint_2", "not a number"),
    "list as a value": (lambda w: w.set_command({"joint_2": [1.0]}), "joint_2", "not a number"),
    "array as a value": (lambda w: w.set_command(np.ones((9, 1))), "joint_1", "not a number"),
    "None": (lambda w: w.set_command(None), "effort", "not a list"),
    "number instead of a list": (lambda w: w.set_command(1.0), "effort", "not a list"),
    "too few": (lambda w: w.set_command([0.0] * 3, "effort"), "effort", "3 values for 9"),
    "too many": (lambda w: w.set_command([0.0] * 2, "effort", ["joint_1"]), "effort", "2 values for 1"),
    "none at all": (lambda w: w.set_command([], "effort"), "effort", "0 values"),
    "joints as a number": (lambda w: w.set_command([0.0], "effort", 7), "joints", "not a list"),
    "joints as a string": (lambda w: w.set_command([0.0] * 7, "effort", "joint_1"), "joints", "not a list"),
    "joints named twice over": (
        lambda w: w.set_command({"joint_1": 0.0}, "effort", ["joint_1"]),
        "joints",
        "already",
    ),
    "integer beyond floats": (lambda w: w.set_command({"joint_1": 10**400}), "joint_1", "not finite"),
    "joint twice": (lambda w: w.set_command([0.0] * 2, "effort", ["joint_1"] * 2), "effort", "twice"),
    "unknown joint": (lambda w: w.set_command({"joint_9": 0.0}, "effort"), "joint_9", "did you mean 'joint_"),
    "joint that is no string": (
        lambda w: w.set_command([0.0], "effort", [["a"]]),
        "['a']",
        "cannot be driven",
    ),
    "floating base": (lambda w: w.set_command({"spatula_base": 0.0}), "spatula_base", "cannot be driven"),
    "unknown mode": (lambda w: w.set_command({"joint_1": 0.0}, "torque"), "torque", "unknown"),
    "mode of no type": (lambda w: w.set_command({"joint_1": 0.0}, None), "mode", "unknown"),
    "above the limit": (
        lambda w: w.set_command({"joint_2": 2.3}, "position"),
        "joint_2",
        "outside its limits",
    ),
    "below the limit": (
        lambda w: w.set_command({"joint_2": -2.3}, "position"),
        "joint_2",
        "outside its limits",
    ),
    "grip too hard": (lambda w: w.set_gripper(force=80.5), "gripper", "out of range"),
    "grip backwards": (lambda w: w.set_gripper(force=-1.0), "gripper", "out of range"),
    "grip NaN": (lambda w: w.set_gripper(force=NAN), "gripper", "not finite"),
    "grip string": (lambda w: w.set_gripper(force="1000"), "gripper", "not a number"),
    "gap too wide": (lambda w: w.set_gripper(position=0.2), "finger_joint", "outside its limits"),
    "gap negative": (lambda w: w.set_gripper(position=-0.03), "finger_joint", "outside its limits"),
    "gap infinite": (lambda w: w.set_gripper(position=INF), "gripper", "not finite"),
    "force and gap": (lambda w: w.set_gripper(force=1.0, position=0.01), "gripper", "needs one of"),
    "neither": (lambda w: w.set_gripper(), "gripper", "needs one of"),
    "unknown gripper": (lambda w: w.set_gripper("hand", force=1.0), "hand", "not in the scene"),
    "steps back": (lambda w: w.step(-1), "n", "too small"),
    "half a step": (lambda w: w.step(1.5), "n", "whole number"),
    "steps in words": (lambda w: w.step("two"), "n", "whole number"),
    "NaN state": (lambda w: w.set_state(w.q * NAN, w.v), "q", "NaN"),
    "infinite velocity": (lambda w: w.set_state(w.q, w.v + INF), "v", "NaN or infinity"),
    "short state": (lambda w: w.set_state(w.q[:-1], w.v), "q", "shape"),
    "state in rows": (lambda w: w.set_state(w.q[None], w.v), "q", "shape"),
    "state in words": (lambda w: w.set_state(["a"] * 16, w.v), "q", "not an array of numbers"),
    "ragged state": (lambda w: w.set_state([[1.0], [1.0, 2.0]], w.v), "q", "not an array of numbers"),
    "zero quaternion": (lambda w: w.set_state(w.q * 0.0, w.v), "q[9:13]", "zero quaternion"),
    "acceleration": (lambda w: w.inverse_dynamics([1.0]), "a", "shape"),
    "unknown frame": (lambda w: w.frame_pose("griper"), "griper", "did you mean 'gripper'"),
    "frames at too few coordinates": (lambda w: w.frame_poses([0.0]), "q", "shape"),
    "frames at NaN": (lambda w: w.frame_poses(w.q * NAN), "q", "NaN"),
    "twists at too few velocities": (lambda w: w.frame_twists(w.q, [0.0]), "v", "shape"),
    "frames in words": (lambda w: w.frame_poses(["a"] * 16), "q", "not an array of numbers"),
    "no frame": (lambda w: w.frame_pose(None), "None", "not in the scene"),
    "grip force of nobody": (lambda w: w.grip_force("hand"), "hand", "not in the scene"),
}


@pytest.mark.parametrize("case", BAD_COMMANDS)
def test_bad_call_is_refused_and_changes_nothing(arm_scene: hs.World, case: str) -> None:
    """One line that names the element and says what to do; the next steps are those of an undisturbed world."""
    world = arm_scene
    world.reset()
    world.step(20)
    undisturbed = world.q
    world.reset()
    world.step(10)
    call, element, text = BAD_COMMANDS[case]
    before = world.q, world.v, world.time
    with pytest.raises(hs.InputError) as caught:
        call(world)
    message = str(caught.value)
    assert element in caught.value.element
    assert text in message
    assert caught.value.mend
    assert "\n" not in message
    for a, b in zip(before, (world.q, world.v, world.time), strict=True):
        np.testing.assert_array_equal(a, b)
    world.step(10)
    np.testing.assert_array_equal(world.q, undisturbed)


@pytest.mark.parametrize(
    "case", [name for name, (call, _, _) in BAD_COMMANDS.items() if "set_command" in call.__code__.co_names]
)
def test_check_command_raises_the_same(arm_scene: hs.World, case: str) -> None:
    """So that a node can check in its own thread."""

    class Checker:
        set_command = staticmethod(arm_scene.check_command)

    with pytest.raises(hs.InputError, match=r".+"):
        BAD_COMMANDS[case][0](Checker())  # type: ignore[arg-type]


def test_one_bad_value_rejects_the_whole_command(arm_scene: hs.World) -> None:
    """Half a command is worse than none."""
    arm_scene.reset()
    arm_scene.step(10)
    undisturbed = arm_scene.q
    arm_scene.reset()
    with pytest.raises(hs.InputError):
        arm_scene.set_command({"joint_1": 30.0, "joint_2": NAN}, "effort")
    arm_scene.step(10)
    np.testing.assert_array_equal(arm_scene.q, undisturbed)


def test_modes_without_gains_are_refused() -> None:
    """A joint without actuator takes efforts only; the mend names the section to write."""
    world = make_world(fixed(slider()))
    for mode in ("position", "velocity"):
        with pytest.raises(hs.InputError, match=rf"no gain for {mode}.*actuators"):
            world.set_command([0.0], mode)
    world.set_command([0.0], "effort")


def test_gripper_must_be_named_or_exist() -> None:
    """A scene without gripper says how to add one."""
    with pytest.raises(hs.InputError, match=r"is not named; add one under 'grippers'"):
        make_world(fixed(slider())).set_gripper(force=1.0)


def test_taking_over_a_finger_ends_the_grippers_script() -> None:
    """A command to a finger joint is a command: the next edge of the square wave must not undo it."""
    world = hs.load_scene(CONFIG / "spatula_slip_welded.yaml")
    world.step(1400)
    world.set_command({"left_finger_joint": 5.0, "right_finger_joint": -5.0}, "effort")
    world.step(600)
    np.testing.assert_array_equal(world.joint_efforts(), [5.0, -5.0])


# --- scenes that the loader accepts but the world cannot run


@pytest.mark.parametrize(
    ("signal", "value"),
    [
        ({"constant": 90.0}, "90"),
        ({"square": {"low": 1.0, "high": 200.0, "period": 1.0}}, "200"),
        ({"sine": {"offset": 5.0, "amplitude": 6.0, "period": 1.0}}, "-1"),
    ],
)
def test_script_out_of_range_is_refused_at_the_start(signal: dict, value: str) -> None:
    """Not minutes later, in the middle of a run."""
    finger = slider(joint="finger", lower=-0.05, upper=0.05)
    hand = {"name": "hand", "joints": {"finger": 1}, "max_force": 80.0, "kp": 1.0, "kd": 1.0}
    with pytest.raises(hs.InputError, match=rf"hand.*{value}"):
        make_world(fixed(finger), grippers=[hand], commands=[{"gripper": "hand", "signal": signal}])


def test_script_beyond_a_joints_limits_is_refused_at_the_start() -> None:
    """A sine that leaves the limits only after a while."""
    cart = slider(lower=-0.5, upper=0.5)
    actuators = [{"joints": ["rail_joint"], "kp": 10.0, "kd": 1.0}]
    sine = {"amplitude": 0.6, "period": 10.0}
    commands = [{"joint": "rail_joint", "signal": {"sine": sine}}]
    with pytest.raises(hs.InputError, match=r"rail_joint.*0\.6 is outside its limits"):
        make_world(fixed(cart), actuators=actuators, commands=commands)


def test_moving_link_without_mass_is_refused() -> None:
    """Its acceleration has no bound."""
    with pytest.raises(hs.InputError, match=r"link 'cart'.*moves no inertia"):
        make_world(fixed(slider(mass=None)))


def test_massless_floating_base_is_refused() -> None:
    """The same for a body that floats."""
    with pytest.raises(hs.InputError, match=r"link 'ghost'.*inertial"):
        make_world(free(Robot("ghost", lambda model: model.add_link("ghost"))))


# --- steps that cannot be completed


@pytest.mark.parametrize("effort", [1e200, 1e300, 1.7e308])
def test_absurd_effort_never_reaches_the_state(effort: float) -> None:
    """Either a step has a finite result or it raises and the state stays the last good one."""
    world = make_world(free(snake()))
    world.step(5)
    world.set_command([effort], "effort")
    error = None
    for _ in range(50):
        q, v, time = world.q, world.v, world.time
        assert np.isfinite(q).all()
        assert np.isfinite(v).all()
        try:
            world.step()
        except FloatingPointError as raised:
            error = raised
            break
    assert re.search(r"made.*step \d+", str(error))
    np.testing.assert_array_equal(world.q, q)
    np.testing.assert_array_equal(world.v, v)
    assert world.time == time
    for pose in world.frame_poses():
        assert np.isfinite(pose).all()


@pytest.mark.parametrize(("place", "speed"), [(1e200, 0.0), (1e300, 0.0), (0.0, 1e200), (0.0, 1e308)])
def test_absurd_state_raises_instead_of_standing_still(place: float, speed: float) -> None:
    """Finite numbers that overflow in the mass matrix or the bias."""
    world = make_world(free(snake()))
    q, v = world.q.copy(), world.v.copy()
    q[4:7] = place
    v[:] = speed
    world.set_state(q, v)
    with pytest.raises(FloatingPointError):
        world.step(3)
    np.testing.assert_array_equal(world.q, q)


def test_world_goes_on_after_a_failed_step() -> None:
    """Once the cause is gone the run continues as if nothing had happened."""
    failed, undisturbed = (make_world(free(snake())) for _ in range(2))
    failed.set_command([1e308], "effort")
    with pytest.raises(FloatingPointError):
        failed.step(10)
    failed.set_command([0.5], "effort")
    failed.set_state(undisturbed.q, undisturbed.v)
    undisturbed.set_command([0.5], "effort")
    for world in (failed, undisturbed):
        world.step(100)
    np.testing.assert_array_equal(failed.q, undisturbed.q)


def test_a_shipped_scene_is_loaded_by_its_name_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the command line and the node do; a misspelt one is told with what was meant."""
    monkeypatch.chdir(tmp_path)
    assert hs.load_scene("drop_box").name == "drop_box"
    with pytest.raises(
        hs.InputError, match=r"drop_bix: .* neither a file nor a shipped scene; did you mean 'drop_box'"
    ):
        hs.load_scene("drop_bix")


def test_xml_in_place_of_a_path_is_told_to_be_that() -> None:
    """Other simulators take text there."""
    with pytest.raises(hs.InputError) as caught:
        hs.load_urdf('<?xml version="1.0"?>\n<robot name="arm"><link name="base"/></robot>' * 100)
    assert "is XML text and no path; write it to a .urdf file" in str(caught.value)
    assert len(str(caught.value)) < 300
