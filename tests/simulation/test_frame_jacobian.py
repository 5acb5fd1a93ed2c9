"""Jacobians of links beside Pinocchio and finite differences."""

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from hydro_sim_core.description import load_robot
from hydro_sim_core.dynamics import PlacedRobot
from support.dynamics.pinocchio_oracle import PinocchioScene

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed: it needs NumPy 2")

ARM = Path(__file__).parents[2] / "urdf" / "kinova_gen3_7dof.urdf.xacro"


@pytest.fixture(scope="module")
def arm():
    world = hs.load_urdf(ARM)
    world.set_state([0.3, 0.5, -0.4, -1.6, 0.7, 0.9, -0.2], np.zeros(7))
    return world


@pytest.mark.parametrize("link", ["end_effector_link", "forearm_link", "base_link"])
def test_it_is_what_the_pose_changes_by(arm, link):
    """Central differences of the pose, in the world's axes; nothing moves the base."""
    q, step = arm.q, 1e-6
    J = arm.frame_jacobian(link)
    for i in range(7):
        ahead, behind = (
            arm.frame_poses(q + sign * step * np.eye(7)[i])[arm.frame_names.index(link)] for sign in (1, -1)
        )
        turn = Rotation.from_matrix(ahead[:3, :3] @ behind[:3, :3].T).as_rotvec() / (2 * step)
        shift = (ahead[:3, 3] - behind[:3, 3]) / (2 * step)
        assert J[:, i] == pytest.approx(np.concatenate([turn, shift]), abs=1e-8)


def test_it_is_that_of_pinocchio(arm):
    """For the same joints, in axes of the world, linear and angular rows exchanged."""
    scene = PinocchioScene([PlacedRobot(load_robot(ARM), np.eye(4))], np.zeros(3))
    model, (index, X) = scene.model, scene.links["end_effector_link"]
    frame = model.addFrame(pin.Frame("tool", index, 0, X, pin.FrameType.OP_FRAME))
    aligned = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    expected = pin.computeFrameJacobian(model, model.createData(), arm.q, frame, aligned)
    assert arm.frame_jacobian("end_effector_link") == pytest.approx(expected[[3, 4, 5, 0, 1, 2]], abs=1e-12)


def test_unknown_link_is_refused(arm):
    with pytest.raises(hs.InputError) as caught:
        arm.frame_jacobian("end_efector_link")
    assert "end_effector_link" in caught.value.mend
