"""Links that gravity does not pull: their inertia stays, their weight goes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hydro_sim_core as hs
from hydro_sim_core.dynamics import PlacedRobot, TreeEvaluator, build_tree
from support.dynamics.random_robots import GRAVITY, random_pose, random_robot, random_state


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=10, deadline=None)
def test_only_what_has_weight_is_held_against_gravity(seed: int) -> None:
    """Forces at rest are minus the sum of J^T m g over the centres of the links that have weight, and no other."""
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, "", 6)
    heavy = replace(
        robot, links=tuple(replace(one, has_weight=bool(rng.random() < 0.5)) for one in robot.links)
    )
    placed = PlacedRobot(heavy, random_pose(rng), floating=True, base_joint_name="free")
    assembly = build_tree([placed], GRAVITY)
    plain = build_tree([replace(placed, robot=robot)], GRAVITY)
    q, _ = random_state(rng, assembly)
    evaluator = TreeEvaluator(assembly.tree).update(q)
    forces, potential = np.zeros(len(assembly.velocity_names)), 0.0
    for one in heavy.links:
        if not one.has_weight or one.inertial is None:
            continue
        i = assembly.link_names.index(one.name)
        body = int(assembly.link_body[i])
        p_WCo = (evaluator.body_pose(body) @ assembly.X_BL[i])[:3] @ np.append(one.inertial.p_LCo, 1.0)
        weight = one.inertial.mass * GRAVITY
        forces -= evaluator.point_jacobian(body, p_WCo)[3:].T @ weight
        potential -= weight @ p_WCo
    scale = np.abs(TreeEvaluator(plain.tree).update(q).gravity_forces()).max()
    np.testing.assert_allclose(evaluator.gravity_forces(), forces, rtol=0.0, atol=1e-12 * scale)
    assert evaluator.potential_energy() == pytest.approx(potential, abs=1e-12 * scale)
    np.testing.assert_array_equal(evaluator.mass_matrix(), TreeEvaluator(plain.tree).update(q).mass_matrix())


def test_a_body_that_is_partly_without_weight_flies_so(tmp_path) -> None:
    """A dumbbell with a ball that gravity does not pull: its centre falls with half of g, and it turns about it."""
    ball = (
        '<link name="{}"><inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
        "</inertial></link>"
    )
    path = tmp_path / "dumbbell.urdf"
    path.write_text(
        f'<robot name="dumbbell">{ball.format("left")}{ball.format("right")}'
        '<joint name="bar" type="fixed"><origin xyz="1 0 0"/><parent link="left"/><child link="right"/></joint>'
        '<gazebo reference="right"><turnGravityOff>true</turnGravityOff></gazebo></robot>'
    )
    world = hs.World(hs.SceneBuilder("fall", gravity=(0, 0, -10)).add_urdf(path, base="floating").build())
    energy = world.energies().total
    world.step(200)
    left, right = (world.frame_pose(name)[:3, 3] for name in ("left", "right"))
    # Weight 20 N on 4 kg, at 0.5 m from the centre; inertia about that 2 * 0.1 + 2 * 2 * 0.5^2. While it turns by less
    # than 0.1 rad, the moment stays within a percent.
    assert 0.5 * (left + right)[2] == pytest.approx(-0.5 * 5.0 * 0.2**2, rel=0.01)
    angle = np.arcsin(right[2] - left[2])
    assert angle == pytest.approx(0.5 * (20.0 * 0.5 / 1.2) * 0.2**2, rel=0.02)
    # A step's velocity is that at its end, which is half a step ahead of its place.
    ahead = -0.5 * (4.0 * 5.0**2 + 1.2 * (10.0 / 1.2) ** 2) * 0.2 * world.time_step
    assert world.energies().total - energy == pytest.approx(ahead, rel=0.02)
