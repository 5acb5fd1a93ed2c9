"""The equations of motion over arrays equal those of the kernels."""

import array_api_strict
import numpy as np
import pytest

from hydro_sim_core import InputError, load_urdf
from hydro_sim_core.compilation import Handle
from hydro_sim_core.dynamics import TreeEvaluator
from hydro_sim_core.dynamics import array_form as form
from hydro_sim_core.dynamics.equations import body_accelerations_of_all
from hydro_sim_core.dynamics.kinematics import coordinate_rates, integrate_positions

URDF = """<robot name="all"><link name="base"/>
{links}
<joint name="a" type="floating"><parent link="base"/><child link="l0"/>
  <origin xyz="0.1 0 0.2" rpy="0.1 0.2 0.3"/></joint>
<joint name="b" type="revolute"><parent link="l0"/><child link="l1"/><origin xyz="0 0.3 0.2" rpy="0.5 0 1"/>
  <axis xyz="0.6 0 0.8"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint>
<joint name="c" type="prismatic"><parent link="l1"/><child link="l2"/><axis xyz="0 1 0"/>
  <limit lower="-3" upper="3" effort="9" velocity="9"/></joint>
<joint name="d" type="planar"><parent link="l0"/><child link="l3"/><axis xyz="0 0.6 0.8"/></joint>
<joint name="e" type="universal"><parent link="l3"/><child link="l4"/><origin xyz="0.2 0 0" rpy="0 1 0"/></joint>
<joint name="f" type="revolute"><parent link="l4"/><child link="l5"/><axis xyz="0 0 1"/>
  <mimic joint="b" multiplier="-0.7" offset="0.2"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint>
</robot>"""
LINK = """<link name="l{i}"><inertial><origin xyz="0.1 {y} -0.05" rpy="0.3 0 0.1"/><mass value="{m}"/>
<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001" ixz="-0.002" iyz="0.003"/></inertial></link>"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Every type of joint, one after the other, and one that mimics."""
    path = tmp_path_factory.mktemp("robot") / "all.urdf"
    links = "\n".join(LINK.format(i=i, y=0.02 * i, m=0.5 + 0.3 * i) for i in range(6))
    path.write_text(URDF.format(links=links))
    return load_urdf(path).built.model.tree


@pytest.fixture(scope="module")
def states(tree):
    rng = np.random.default_rng(7)
    nq, nv = int((tree.q_index + tree.num_q).max()), len(tree.damping)
    return [(rng.standard_normal(nq), rng.standard_normal(nv)) for _ in range(5)]


def test_mass_matrix_and_bias_forces(tree, states):
    for q, v in states:
        kernels, posed = TreeEvaluator(tree).update(q), form.posture(tree, q)
        masses = form.masses_of_tree(tree, q)
        np.testing.assert_allclose(form.mass_matrix(tree, posed, masses), kernels.mass_matrix(), atol=1e-13)
        np.testing.assert_allclose(
            form.bias_forces(tree, posed, masses, v), kernels.bias_forces(v), atol=1e-12
        )
        for body in range(len(tree.parent)):
            X_WB = kernels.body_pose(body)
            np.testing.assert_allclose(posed.R_WB[body], X_WB[:3, :3], atol=1e-14)
            np.testing.assert_allclose(posed.p_WB[body], X_WB[:3, 3], atol=1e-14)
            np.testing.assert_allclose(
                posed.jacobians[body] @ v, kernels.body_velocities(v)[body], atol=1e-13
            )


def test_body_accelerations_of_many_postures(tree, states):
    """By arrays and by the kernel for many, those of one posture after another."""
    q, v = (np.array(rows) for rows in zip(*states, strict=True))
    a, nb = np.random.default_rng(8).standard_normal(v.shape), len(tree.parent)
    evaluators = [TreeEvaluator(tree).update(one) for one in q]
    expected = np.array([one.body_accelerations(*rows) for one, *rows in zip(evaluators, v, a, strict=True)])
    posed = form.Posture(*form.body_poses(tree, q), [])
    by_arrays = form.body_accelerations(tree, posed, form.body_velocities(tree, posed.own, v), v, a)
    np.testing.assert_allclose(np.stack(by_arrays, axis=1), expected, atol=1e-12)
    R, p, V, A, S = (np.empty((len(q) * nb, *shape)) for shape in ((3, 3), (3,), (6,), (6,), (6, 6)))
    body_accelerations_of_all(Handle(tree), q, v, a, R, p, V, A, S[:nb])
    np.testing.assert_allclose(A.reshape(expected.shape), expected, atol=1e-13)


def test_many_trees_of_other_masses(tree, states):
    """In one call those of one posture after another, each with masses of its own."""
    q, v = (np.array(rows) for rows in zip(*states, strict=True))
    rng, nb = np.random.default_rng(9), len(tree.parent)
    mass, p_BCo = rng.uniform(0.1, 2.0, (len(q), nb)), rng.standard_normal((len(q), nb, 3))
    I_BCo = tree.I_BCo * rng.uniform(0.5, 2.0, (len(q), nb, 1, 1))
    p_BP = np.array([0.3, -0.1, 0.2])
    posed, masses = form.posture(tree, q), form.BodyMasses(mass, p_BCo, I_BCo)
    M, bias = form.mass_matrix(tree, posed, masses), form.bias_forces(tree, posed, masses, v)
    J = [form.point_jacobian(tree, posed, body, p_BP, q) for body in range(-1, nb)]
    for k in range(len(q)):
        kernels = TreeEvaluator(tree._replace(mass=mass[k], p_BCo=p_BCo[k], I_BCo=I_BCo[k])).update(q[k])
        np.testing.assert_allclose(M[k], kernels.mass_matrix(), atol=1e-12)
        np.testing.assert_allclose(bias[k], kernels.bias_forces(v[k]), atol=1e-11)
        for body in range(nb):
            p_WP = (kernels.body_pose(body) @ [*p_BP, 1.0])[:3]
            np.testing.assert_allclose(J[1 + body][k], kernels.point_jacobian(body, p_WP), atol=1e-13)
    assert not J[0].any()
    assert J[0].shape == J[1].shape


def test_rates_and_integration(tree, states):
    handle = Handle(tree)
    for q, v in states:
        expected = np.empty_like(q)
        coordinate_rates(handle, q, v, expected)
        np.testing.assert_allclose(form.coordinate_rates(tree, q, v), expected, atol=1e-15)
        for dt in (1e-5, 1e-3, 0.7):
            integrate_positions(handle, q, v, dt, expected)
            np.testing.assert_allclose(form.integrated(tree, q, v, dt), expected, atol=1e-14)


def test_any_array_library_will_do(tree, states):
    xp = array_api_strict
    q, v = states[0]
    posed, strict = form.posture(tree, q), form.posture(tree, xp.asarray(q))
    masses, strictly = form.masses_of_tree(tree, q), form.masses_of_tree(tree, xp.asarray(q))
    M = form.mass_matrix(tree, strict, strictly)
    np.testing.assert_allclose(np.asarray(M), form.mass_matrix(tree, posed, masses), atol=1e-13)
    bias = form.bias_forces(tree, strict, strictly, xp.asarray(v))
    np.testing.assert_allclose(np.asarray(bias), form.bias_forces(tree, posed, masses, v), atol=1e-13)
    J = form.point_jacobian(tree, strict, 2, np.array([0.1, 0.2, 0.3]), xp.asarray(q))
    expected = form.point_jacobian(tree, posed, 2, np.array([0.1, 0.2, 0.3]), q)
    np.testing.assert_allclose(np.asarray(J), expected, atol=1e-13)
    moved = form.integrated(tree, xp.asarray(q), xp.asarray(v), 0.01)
    np.testing.assert_allclose(np.asarray(moved), form.integrated(tree, q, v, 0.01), atol=1e-14)


def test_a_joint_of_a_plug_in_is_refused(tree, states):
    other = tree._replace(joint_type=np.full_like(tree.joint_type, 99))
    with pytest.raises(InputError, match="without an array form"):
        form.posture(other, states[0][0])
