"""The law of contact faces: impulses are slopes of a convex cost, and patches are sums of faces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hydro_sim_core.compilation import kernel
from hydro_sim_core.solvers import ContactProblem, make_problem
from hydro_sim_core.solvers.face_laws import FRICTION_SOFTNESS, LAGGED, lagged_law, normal_law
from hydro_sim_core.solvers.face_state import FaceState, PatchState
from hydro_sim_core.solvers.patch_terms import (
    NUM_SUMS,
    change_of_friction_bounds,
    evaluate_patch,
    patch_slope,
    sum_normal_impulses,
    update_patch_friction_bounds,
)
from hydro_sim_core.solvers.problem import FRICTION, LANES, NUM_FACE_ROWS, SLIP
from support.solvers.made_problems import (
    DT,
    Faces,
    cross_matrix,
    load_faces,
    normal_cost,
    patch_cost,
    patch_impulse,
    random_faces,
    set_inverse_mass,
)

SEEDS = st.integers(0, 2**32 - 1)
SUMS = np.zeros(NUM_SUMS * LANES)


@kernel
def evaluate_lagged(problem, V, sums, impulse, hessian):
    evaluate_patch(problem, LAGGED, 0, V, sums, impulse, hessian)


@kernel
def lagged_slope(problem, V, dV, sums):
    return patch_slope(problem, LAGGED, 0, V, dV, sums)


@kernel
def set_lagged_friction(problem, V):
    update_patch_friction_bounds(problem, LAGGED, 0, V, 1e-4, FRICTION_SOFTNESS)


@kernel
def change_of_lagged_friction(problem, V, sums):
    return change_of_friction_bounds(problem, LAGGED, 0, V, sums)


@kernel
def sum_lagged_normal_impulses(problem, V, impulse):
    sum_normal_impulses(problem, LAGGED, 0, V, impulse)


def evaluate(problem: ContactProblem, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Impulse (6,) and Hessian (6, 6) of the problem's only patch."""
    impulse, hessian = np.zeros(6), np.zeros((6, 6))
    evaluate_lagged(problem, V, SUMS, impulse, hessian)
    return impulse, hessian


def one_patch(faces: Faces, dissipation: float, lanes: int = LANES) -> ContactProblem:
    """A problem that holds one patch."""
    problem = make_problem(1, 1, 1, LANES * faces.num)
    problem.dt[0] = DT
    problem.dissipation[0] = dissipation
    load_faces(problem, [faces], [lanes])
    return problem


def random_twist(rng: np.random.Generator) -> np.ndarray:
    """Relative twists from creep to impact."""
    return rng.normal(size=6) * 10.0 ** rng.uniform(-5.0, 0.0)


force = st.floats(-10.0, 1000.0)
stiffness = st.floats(0.1, 1e4)
dissipation = st.sampled_from([0.0, 1.0, 50.0])


@given(v=st.floats(-2.0, 2.0), elastic=force, stiffness_dt=stiffness, d=dissipation)
@settings(max_examples=200, deadline=None)
def test_normal_impulse_is_the_slope_of_a_convex_cost(
    v: float, elastic: float, stiffness_dt: float, d: float
) -> None:
    """-d cost / d v_n is the impulse; and it never rises with v_n, so the cost is convex."""
    step = 1e-6
    cost = [normal_cost(elastic, stiffness_dt, d, v + s * step) for s in (-1, 1)]
    normal, fall = normal_law(v, elastic, stiffness_dt, d, DT)
    # The impulse changes by at most this much over the difference, corner or not; below it, rounding of the cost.
    change = (
        2.0 * step * DT * (stiffness_dt * (1.0 + d * abs(v)) + d * (abs(elastic) + stiffness_dt * abs(v)))
    )
    noise = 2e-15 * max(cost) / step
    assert (cost[0] - cost[1]) / (2.0 * step) == pytest.approx(normal, abs=change + noise)
    assert normal >= 0.0
    assert fall >= 0.0


@given(v=st.floats(-2.0, 2.0), elastic=force, stiffness_dt=stiffness, d=dissipation)
@settings(max_examples=200, deadline=None)
def test_normal_impulse_falls_as_stated(v: float, elastic: float, stiffness_dt: float, d: float) -> None:
    """The second value is minus the derivative of the first, away from the two corners."""
    corners = [elastic / stiffness_dt] + ([1.0 / d] if d else [])
    step = 1e-6
    if min(abs(v - corner) for corner in corners) < 2.0 * step:
        return
    low, high = (normal_law(v + s * step, elastic, stiffness_dt, d, DT)[0] for s in (-1, 1))
    fall = normal_law(v, elastic, stiffness_dt, d, DT)[1]
    assert (low - high) / (2.0 * step) == pytest.approx(fall, rel=1e-6, abs=1e-9 * max(low, high) / step)


def test_law_against_hand_values() -> None:
    """10 N pressed by 0.01 m/s at 200 N s/m and d = 5 s/m, sliding at 3 mm/s with a slip speed of 4 mm/s."""
    face = FaceState(
        *(0.0, 0.0, 0.0),
        *(0.0, 0.0, 1.0),
        *(3e-3, 0.0, -0.01),
        -0.01,
        3e-3,
        0.0,
        0.0,
        9e-6,
        10.0,
        200.0,
        friction=0.02,
        slip=4e-3,
        inverse_mass=1.0,
    )
    found = lagged_law(face, PatchState(dissipation=5.0, mu=0.5, dt=0.001))
    assert found.normal == pytest.approx(0.001 * 12.0 * 1.05, rel=1e-15)
    assert found.H_nn == pytest.approx(0.001 * (200.0 * 1.05 + 5.0 * 12.0), rel=1e-15)
    assert found.H_tt * 3e-3 == pytest.approx(0.02 * 0.6, rel=1e-15)
    assert found.H_slip == pytest.approx(found.H_tt / 25e-6, rel=1e-15)
    assert found.H_nt == 0.0


@given(seed=SEEDS, num=st.integers(1, 40), d=dissipation)
@settings(max_examples=60, deadline=None)
def test_patch_equals_the_sum_of_its_faces(seed: int, num: int, d: float) -> None:
    """Patch reduction: impulse and Hessian equal J^T f and J^T K J of every face, K by the definition."""
    rng = np.random.default_rng(seed)
    faces, V = random_faces(rng, num), random_twist(rng)
    impulse, hessian = evaluate(one_patch(faces, d), V)
    expected = np.zeros((6, 6))
    size = 0.0
    for i in range(num):
        J = np.hstack([-cross_matrix(faces.x[i]), np.eye(3)])
        v, n = J @ V, faces.n[i]
        v_t = v - (n @ v) * n
        _, fall = normal_law(n @ v, faces.elastic[i], faces.stiffness_dt[i], d, DT)
        soft = np.sqrt(v_t @ v_t + faces.slip[i] ** 2)
        tangential = np.eye(3) - np.outer(n, n) - np.outer(v_t, v_t) / soft**2
        K = fall * np.outer(n, n) + faces.friction[i] / soft * tangential
        expected += J.T @ K @ J
        size += np.linalg.norm(K)
    reference = patch_impulse(faces, V, d)
    np.testing.assert_allclose(impulse, reference, rtol=0.0, atol=1e-12 * (1e-9 + np.abs(reference).max()))
    np.testing.assert_allclose(hessian, expected, rtol=0.0, atol=1e-12 * size)


@given(seed=SEEDS, num=st.integers(1, 20), d=dissipation)
@settings(max_examples=60, deadline=None)
def test_patch_hessian_is_symmetric_and_positive_semidefinite(seed: int, num: int, d: float) -> None:
    """Hence the cost is convex."""
    rng = np.random.default_rng(seed)
    _, hessian = evaluate(one_patch(random_faces(rng, num), d), random_twist(rng))
    assert np.array_equal(hessian, hessian.T)
    eigenvalues = np.linalg.eigvalsh(hessian)
    assert eigenvalues[0] >= -1e-13 * eigenvalues[-1]


@given(seed=SEEDS)
@settings(max_examples=60, deadline=None)
def test_patch_impulse_and_hessian_are_derivatives_of_the_cost(seed: int) -> None:
    """Central differences of the cost give the impulse, those of the impulse the Hessian, in all six directions."""
    rng = np.random.default_rng(seed)
    faces = random_faces(rng, 7)
    # Slip speeds well above the step of the differences, and no face near the corner of its normal law.
    faces.slip[:] = 1e-2
    V = random_twist(rng)
    v_n = np.array([n @ (V[3:] + np.cross(V[:3], x)) for x, n in zip(faces.x, faces.n, strict=True)])
    faces.elastic += np.where(
        np.abs(faces.elastic - faces.stiffness_dt * v_n) < 1e-4 * faces.stiffness_dt, 1.0, 0.0
    )
    problem = one_patch(faces, 0.0)
    impulse, hessian = evaluate(problem, V)
    step = 1e-6
    for k in range(6):
        e = step * np.eye(6)[k]
        slope = (patch_cost(faces, V + e, 0.0) - patch_cost(faces, V - e, 0.0)) / (2.0 * step)
        scale = patch_cost(faces, V, 0.0) / step
        assert slope == pytest.approx(-impulse[k], abs=1e-7 * np.abs(impulse).max() + 1e-14 * scale)
        column = (evaluate(problem, V + e)[0] - evaluate(problem, V - e)[0]) / (2.0 * step)
        np.testing.assert_allclose(-column, hessian[:, k], atol=1e-6 * np.abs(hessian).max())


@given(seed=SEEDS, d=dissipation)
@settings(max_examples=40, deadline=None)
def test_slope_is_the_power_along_a_direction(seed: int, d: float) -> None:
    """The line search's cheap slope equals impulse times direction."""
    rng = np.random.default_rng(seed)
    faces, V, dV = random_faces(rng, 21), random_twist(rng), random_twist(rng)
    problem = one_patch(faces, d)
    impulse, _ = evaluate(problem, V)
    slope = lagged_slope(problem, V, dV, SUMS)
    assert slope == pytest.approx(impulse @ dV, abs=1e-12 * np.linalg.norm(impulse) * np.linalg.norm(dV))


@given(seed=SEEDS, num=st.integers(1, 40), lanes=st.integers(1, LANES))
@settings(max_examples=40, deadline=None)
def test_padding_carries_nothing(seed: int, num: int, lanes: int) -> None:
    """However many lanes of a block are left empty, the patch is the same to summation order."""
    rng = np.random.default_rng(seed)
    faces, V = random_faces(rng, num), random_twist(rng)
    full, padded = evaluate(one_patch(faces, 5.0), V), evaluate(one_patch(faces, 5.0, lanes), V)
    for a, b in zip(full, padded, strict=True):
        np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-13 * np.abs(a).max())


@given(seed=SEEDS, d=dissipation, mu=st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=40, deadline=None)
def test_lagged_friction_is_mu_times_the_normal_impulse(seed: int, d: float, mu: float) -> None:
    """Face by face; the report is the change of the bounds and their sum."""
    rng = np.random.default_rng(seed)
    faces, V = random_faces(rng, 19), random_twist(rng)
    problem = one_patch(faces, d)
    problem.friction[0] = mu
    set_inverse_mass(problem, 0, 2.0)
    before = faces.friction.copy()
    change, total = change_of_lagged_friction(problem, V, SUMS)
    set_lagged_friction(problem, V)
    v_n = [n @ (V[3:] + np.cross(V[:3], x)) for x, n in zip(faces.x, faces.n, strict=True)]
    bounds = mu * np.array(
        [
            normal_law(v, f, k, d, DT)[0]
            for v, f, k in zip(v_n, faces.elastic, faces.stiffness_dt, strict=True)
        ]
    )
    blocks = problem.blocks[: problem.end_block[0]].reshape(-1, NUM_FACE_ROWS, LANES)
    np.testing.assert_allclose(blocks[:, FRICTION].ravel()[:19], bounds, rtol=1e-12, atol=1e-18)
    np.testing.assert_allclose(blocks[:, SLIP].ravel()[:19], np.maximum(1e-4, 2e-3 * bounds), rtol=1e-12)
    assert not blocks[:, FRICTION].ravel()[19:].any()
    assert change == pytest.approx(np.abs(bounds - before).sum(), rel=1e-9)
    assert total == pytest.approx(bounds.sum(), rel=1e-9, abs=1e-18)
    assert change_of_lagged_friction(problem, V, SUMS) == pytest.approx((0.0, total))


def test_normal_impulse_leaves_out_friction() -> None:
    """Without friction the linear part of the patch's impulse is the normal impulse."""
    rng = np.random.default_rng(3)
    faces, V = random_faces(rng, 33), random_twist(rng)
    problem, normal = one_patch(faces, 5.0), np.zeros(3)
    sum_lagged_normal_impulses(problem, V, normal)
    faces.friction[:] = 0.0
    np.testing.assert_allclose(normal, patch_impulse(faces, V, 5.0)[3:], rtol=1e-12)
