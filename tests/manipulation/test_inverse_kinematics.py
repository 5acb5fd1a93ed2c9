"""Joint positions for a pose: reached within limits, near what is preferred, or one clear error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import null_space

import hydro_sim_core as hs
from hydro_sim_core.dynamics import PlacedRobot
from hydro_sim_core.manipulation import inverse_kinematics
from hydro_sim_core.manipulation.arm import _rate_of_turn, off_by
from hydro_sim_core.rotations import twist_between

URDF = Path(__file__).parents[2] / "urdf"
ARMS = {
    "kinova_gen3_6dof": "end_effector_link",
    "kinova_gen3_7dof": "end_effector_link",
    "jaco_j2s6": "end_effector",
}


def arm_named(name: str) -> hs.World:
    return hs.load_urdf(URDF / f"{name}.urdf.xacro")


@pytest.fixture(scope="module")
def gen3() -> hs.World:
    world = arm_named("kinova_gen3_7dof")
    world.set_state([0.3, 0.5, -0.4, -1.6, 0.7, 0.9, -0.2], np.zeros(7))
    return world


def off(world: hs.World, frame: str, X_WF: np.ndarray, q: dict[str, float]) -> float:
    """How far a frame is off a pose at joint positions, m and rad."""
    there = world.copy()
    there.set_joint_positions(q)
    return float(np.abs(twist_between(X_WF, there.frame_pose(frame), 1.0)).max())


def random_posture(world: hs.World, rng: np.random.Generator) -> dict[str, float]:
    lower, upper = (np.clip(limits, -np.pi, np.pi) for limits in world.joint_limits())
    return dict(zip(world.joint_names, rng.uniform(lower, upper).tolist(), strict=True))


@pytest.mark.parametrize("name", ARMS)
def test_poses_of_random_postures_are_reached_within_limits(name: str) -> None:
    world, frame, rng = arm_named(name), ARMS[name], np.random.default_rng(1)
    before = world.q
    for _ in range(12):
        there = world.copy()
        there.set_joint_positions(random_posture(world, rng))
        X_WF = there.frame_pose(frame)
        q = inverse_kinematics(world, frame, X_WF)
        assert off(world, frame, X_WF, q) < 2e-7
        lower, upper = world.joint_limits()
        values = np.array([q[joint] for joint in world.joint_names])
        assert np.all((lower <= values) & (values <= upper))
        unlimited = np.isinf(upper)
        assert np.all(np.abs(values - world.joint_positions())[unlimited] <= np.pi)
    assert np.array_equal(world.q, before)


def test_pinocchio_agrees(gen3: hs.World) -> None:
    """A pose that Pinocchio finds for some positions is reached, by its own kinematics."""
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed: it needs NumPy 2")
    from support.dynamics.pinocchio_oracle import PinocchioScene

    scene = PinocchioScene([PlacedRobot(gen3.scene.robots[0], np.eye(4))], np.zeros(3))
    model, (index, X) = scene.model, scene.links["end_effector_link"]
    data, rng = scene.data, np.random.default_rng(3)

    def tool(q: np.ndarray) -> np.ndarray:
        pin.forwardKinematics(model, data, q)
        return np.asarray((data.oMi[index] * X).homogeneous)

    for _ in range(5):
        X_WF = tool(rng.uniform(-1.5, 1.5, 7))
        q = inverse_kinematics(gen3, "end_effector_link", X_WF)
        reached = tool(np.array([q[joint] for joint in gen3.joint_names]))
        assert np.abs(twist_between(X_WF, reached, 1.0)).max() < 2e-7


def test_preferred_positions_are_approached_as_far_as_the_pose_allows(gen3: hs.World) -> None:
    """What is left of the way to them is across all motions that keep the pose."""
    frame = "end_effector_link"
    X_WF = gen3.frame_pose(frame)
    preferred = dict(zip(gen3.joint_names, gen3.q + 0.3, strict=True))
    q = inverse_kinematics(gen3, frame, X_WF, preferred=preferred)
    assert off(gen3, frame, X_WF, q) < 2e-7
    there = gen3.copy()
    there.set_joint_positions(q)
    free = null_space(there.frame_jacobian(frame))
    assert free.shape == (7, 1)
    left = np.array([q[joint] - preferred[joint] for joint in gen3.joint_names])
    assert abs(float(free[:, 0] @ left)) < 1e-5
    assert np.linalg.norm(left) < 0.99 * np.linalg.norm(gen3.q - np.array(list(preferred.values())))


@pytest.mark.parametrize("wanted", [-0.8, 0.5, 1.5])
def test_a_joint_goes_on_until_the_pose_lets_it_no_further(gen3: hs.World, wanted: float) -> None:
    """It is where it shall be, or the arm cannot move it within itself."""
    frame = "end_effector_link"
    q = inverse_kinematics(gen3, frame, gen3.frame_pose(frame), preferred={"joint_3": wanted})
    there = gen3.copy()
    there.set_joint_positions(q)
    free = null_space(there.frame_jacobian(frame))[:, 0]
    assert abs(free[gen3.joint_names.index("joint_3")] * (q["joint_3"] - wanted)) < 1e-5


def test_the_same_angle_counts_of_joints_that_turn_without_end(gen3: hs.World) -> None:
    frame = "end_effector_link"
    X_WF, present = gen3.frame_pose(frame), dict(zip(gen3.joint_names, gen3.q.tolist(), strict=True))
    for turns in (1, -1, 100):
        preferred = {"joint_1": present["joint_1"] + 2.0 * np.pi * turns}
        assert inverse_kinematics(gen3, frame, X_WF, preferred=preferred) == pytest.approx(present, abs=1e-6)
    found = inverse_kinematics(gen3, frame, X_WF, preferred={"joint_1": 0.5 - 2.0 * np.pi})
    assert found["joint_1"] == pytest.approx(0.5, abs=1e-6)


def test_the_nearest_turn_is_that_of_the_positions_found() -> None:
    """From half a turn behind, the way to an angle just ahead does not lead around."""
    world = arm_named("kinova_gen3_7dof")
    world.set_state([0.3, 0.5, 3.1, -1.6, 0.7, 0.9, -0.2], np.zeros(7))
    X_WF = world.frame_pose("end_effector_link")
    found = inverse_kinematics(world, "end_effector_link", X_WF, preferred={"joint_3": -3.1})
    assert found["joint_3"] == pytest.approx(2.0 * np.pi - 3.1, abs=1e-6)


def test_lengths_have_no_turns() -> None:
    """A cart far away is where it shall be, and not a multiple of 2 pi m beside."""
    cart = hs.World(cart_on_a_plane())
    X_WF = np.eye(4)
    X_WF[:2, 3] = (8.0, -20.0)
    q = inverse_kinematics(cart, "plate", X_WF, preferred={"base/yaw": 2.0 * np.pi})
    assert q == pytest.approx({"base/x": 8.0, "base/y": -20.0, "base/yaw": 0.0}, abs=1e-6)


def cart_on_a_plane() -> hs.LoadedScene:
    scene = hs.SceneBuilder("cart", time_step=0.001)
    cart = scene.add_model("cart")
    cart.add_link("floor")
    cart.add_link("plate", mass=20.0).add_shape("box", size=(0.4, 0.3, 0.1))
    cart.add_joint("base", "planar", "floor", "plate", axis=(0, 0, 1))
    return scene.build()


def test_some_joints_alone_may_move(gen3: hs.World) -> None:
    there = gen3.copy()
    there.set_joint_positions({"joint_6": 0.1, "joint_7": 1.0})
    q = inverse_kinematics(
        gen3, "end_effector_link", there.frame_pose("end_effector_link"), joints=["joint_7", "joint_6"]
    )
    assert q == pytest.approx({"joint_7": 1.0, "joint_6": 0.1}, abs=1e-6)


def test_rate_of_turn_is_that_of_differences() -> None:
    rng, step = np.random.default_rng(0), 1e-6
    for scale in (1e-5, 0.3, 2.0, 3.0):
        turn = rng.normal(size=3)
        turn *= scale / np.linalg.norm(turn)
        for axis in np.eye(3):
            ahead, behind = (_turned(turn, sign * step * axis) for sign in (1, -1))
            assert _rate_of_turn(turn) @ axis == pytest.approx((ahead - behind) / (2 * step), abs=1e-7)


def _turned(turn: np.ndarray, further: np.ndarray) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return (Rotation.from_rotvec(further) * Rotation.from_rotvec(turn)).as_rotvec()


FAR = np.array([[1, 0, 0, 3.0], [0, 1, 0, 0], [0, 0, 1, 0.5], [0, 0, 0, 1]])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"X_WF": FAR},
            r"frame 'end_effector_link': stays \S+ m( and \S+ degrees)? off .*; give a pose that is in reach",
        ),
        ({"X_WF": np.full((4, 4), np.nan)}, "X_WF: "),
        ({"X_WF": 2.0 * np.eye(4)}, "X_WF: is not a rotation"),
        ({"frame": "end_efector_link"}, "did you mean 'end_effector_link'"),
        ({"frame": "end_efector_link"}, "inverse_kinematics: frame 'end_efector_link': is not in the scene"),
        ({"frame": None}, "inverse_kinematics: frame 'None': is not in the scene"),
        ({"frame": "base_link"}, "is moved by no joint"),
        ({"joints": "joint_1"}, "joints: is 'joint_1'; give a list of names"),
        ({"joints": ["joint_1", "joint_1"]}, "joint 'joint_1': is named twice in joints"),
        ({"joints": ["joint_9"]}, "joint 'joint_9': does not move 'end_effector_link'"),
        ({"joints": []}, "is moved by no joint"),
        ({"preferred": {"elbow": 0.0}}, r"preferred\['elbow'\]: is no joint that may move"),
        ({"preferred": {"joint_1": np.nan}}, r"preferred\['joint_1'\]: is nan; give rad or m"),
        ({"preferred": {"joint_1": "a"}}, r"preferred\['joint_1'\]: is 'a'; give rad or m"),
        ({"preferred": {"joint_1": True}}, r"preferred\['joint_1'\]: is True; give rad or m"),
        ({"preferred": "a"}, r"preferred: is 'a'; give rad or m by name of joint"),
        ({"preferred": [0.0]}, r"preferred: is \[0.0\]; give rad or m by name of joint"),
    ],
)
def test_what_cannot_be_is_one_error(gen3: hs.World, change: dict, told: str) -> None:
    arguments = {"frame": "end_effector_link", "X_WF": gen3.frame_pose("end_effector_link")} | change
    with pytest.raises(hs.InputError, match=told):
        inverse_kinematics(gen3, **arguments)


@pytest.mark.parametrize(
    ("degrees", "metres", "told"),
    [
        (2.57e-15, 0.6434, "643 mm"),
        (0.0, 3.41, "3.41 m"),
        (0.0, 0.9997, "1 m"),
        (0.0, 12345.6, "12346 m"),
        (11.4592, 0.0002, "0.2 mm and 11.5 degrees"),
        (11.4592, 1e-9, "11.5 degrees"),
        (0.0, 1e-7, "less than 0.001 mm"),
    ],
)
def test_errors_are_told_as_people_write_them(degrees: float, metres: float, told: str) -> None:
    error = np.array([0.0, np.radians(degrees), 0.0, 0.0, 0.0, -metres])
    assert off_by(error) == told


def test_a_pose_beyond_a_limit_is_out_of_reach(gen3: hs.World) -> None:
    """The pose of a posture outside the limits, with the joint that is outside alone."""
    _, upper = gen3.joint_limits()
    row = gen3.joint_names.index("joint_2")
    there = gen3.copy()
    there.set_state(there.coordinates({"joint_2": upper[row] + 0.2}, {}), there.v)
    with pytest.raises(hs.InputError, match=r"11\.5 degrees off"):
        inverse_kinematics(
            gen3, "end_effector_link", there.frame_pose("end_effector_link"), joints=["joint_2"]
        )
