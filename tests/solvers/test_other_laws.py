"""The laws of SAP and of similar contact: slopes of convex costs, projections on the friction cone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hydro_sim_core.solvers.face_laws import (
    FRICTION_SOFTNESS,
    NEAR_RIGID,
    SAP,
    SIMILAR,
    FaceLaw,
    lagged_law,
    sap_law,
    similar_law,
)
from hydro_sim_core.solvers.face_state import FaceState, PatchState
from support.solvers.made_problems import DT, normal_cost

NORMAL = np.array([0.0, 0.0, 1.0])
velocity = st.tuples(*(st.floats(-0.1, 0.1) for _ in range(3))).map(np.array)
force = st.floats(-10.0, 1000.0)
stiffness = st.floats(0.1, 1e4)
friction = st.sampled_from([0.0, 0.2, 0.5, 1.0])
inverse_mass = st.floats(0.01, 10.0)
dissipation = st.sampled_from([0.0, 10.0])


def face_at(v: np.ndarray, elastic: float, stiffness_dt: float, w: float = 1.0) -> FaceState:
    """A face whose normal is z, at a velocity; w is the inverse mass that it feels, 1/kg."""
    v_t2 = v[0] * v[0] + v[1] * v[1]
    return FaceState(
        *(0.0, 0.0, 0.0),
        *NORMAL,
        *v,
        v[2],
        v[0],
        v[1],
        0.0,
        v_t2,
        elastic,
        stiffness_dt,
        friction=0.0,
        slip=1e-3,
        inverse_mass=w,
    )


def impulse_and_hessian(
    law: FaceLaw, v: np.ndarray, elastic: float, stiffness_dt: float, d: float, mu: float, w: float
) -> tuple[np.ndarray, np.ndarray]:
    """Impulse (3,) of one face whose normal is z, and minus its derivative (3, 3)."""
    response = law.respond(face_at(v, elastic, stiffness_dt, w), PatchState(d, mu, DT))
    K = np.zeros((3, 3))
    K[np.triu_indices(3)] = response[3:]
    return np.array(response[:3]), K + np.triu(K, 1).T


@pytest.mark.parametrize("law", [SIMILAR, SAP], ids=["similar", "sap"])
@given(v=velocity, elastic=force, stiffness_dt=stiffness, d=dissipation, mu=friction, w=inverse_mass)
@settings(max_examples=200, deadline=None)
def test_the_hessian_is_minus_the_derivative_of_the_impulse(law, v, elastic, stiffness_dt, d, mu, w):
    """By central differences, unless the Hessian itself changes over them: then a corner of the law is near."""
    step = 1e-8
    impulse, K = impulse_and_hessian(law, v, elastic, stiffness_dt, d, mu, w)
    scale = np.abs(K).max() + 1e-15 * np.abs(impulse).max() / step
    columns = []
    for e in np.eye(3):
        ends = [
            impulse_and_hessian(law, v + sign * step * e, elastic, stiffness_dt, d, mu, w) for sign in (-1, 1)
        ]
        if max(np.abs(end[1] - K).max() for end in ends) > 1e-3 * scale:
            return
        columns.append((ends[0][0] - ends[1][0]) / (2.0 * step))
    np.testing.assert_allclose(np.array(columns).T, K, rtol=0.0, atol=1e-3 * scale + 1e-12)


@pytest.mark.parametrize("law", [SIMILAR, SAP], ids=["similar", "sap"])
@given(v=velocity, elastic=force, stiffness_dt=stiffness, d=dissipation, mu=friction, w=inverse_mass)
@settings(max_examples=200, deadline=None)
def test_the_hessian_is_positive_semidefinite(law, v, elastic, stiffness_dt, d, mu, w):
    _, K = impulse_and_hessian(law, v, elastic, stiffness_dt, d, mu, w)
    eigenvalues = np.linalg.eigvalsh(K)
    assert eigenvalues[0] >= -1e-12 * max(eigenvalues[-1], 1e-12)


@given(v=velocity, elastic=force, stiffness_dt=stiffness, d=dissipation, mu=friction)
@settings(max_examples=200, deadline=None)
def test_the_similar_impulse_is_the_slope_of_its_cost(v, elastic, stiffness_dt, d, mu):
    """Cost: that of normal contact at z = v_n - mu (sqrt(|v_t|^2 + slip^2) - slip)."""
    slip, step = 1e-3, 1e-6

    def cost(v: np.ndarray) -> float:
        z = v[2] - mu * (np.sqrt(v[0] ** 2 + v[1] ** 2 + slip**2) - slip)
        return normal_cost(elastic, stiffness_dt, d, z)

    impulse, _ = impulse_and_hessian(SIMILAR, v, elastic, stiffness_dt, d, mu, 1.0)
    speed = np.abs(v).sum() + step
    # The impulse changes by at most this much over the difference, corner or not; below it, rounding of the cost.
    steepest = DT * (stiffness_dt * (1.0 + 2.0 * d * speed) + d * (abs(elastic) + stiffness_dt * speed))
    steepest = (1.0 + mu) ** 2 * steepest + mu * np.abs(impulse).max() / slip
    noise = 2e-15 * max(cost(v + step * e) for e in (*np.eye(3), *-np.eye(3))) / step
    for e, component in zip(np.eye(3), impulse, strict=True):
        slope = (cost(v + step * e) - cost(v - step * e)) / (2.0 * step)
        assert slope == pytest.approx(-component, abs=2.0 * step * steepest + noise)


@given(v=velocity, elastic=force, stiffness_dt=stiffness, mu=friction, w=inverse_mass)
@settings(max_examples=200, deadline=None)
def test_the_impulse_of_sap_is_the_projection_on_the_cone(v, elastic, stiffness_dt, mu, w):
    """No impulse within Coulomb's cone is nearer to y = R^-1 (v_hat - v) in the norm of R.

    That is so if and only if what is missing is across the impulse and no impulse of the cone is along it (Moreau).
    """
    R_n = max(NEAR_RIGID**2 * w / (4.0 * np.pi**2), 1.0 / (DT * stiffness_dt))
    R = np.array([FRICTION_SOFTNESS * w, FRICTION_SOFTNESS * w, R_n])
    y = (np.array([0.0, 0.0, elastic / stiffness_dt]) - v) / R
    impulse, _ = impulse_and_hessian(SAP, v, elastic, stiffness_dt, 0.0, mu, w)
    size = np.linalg.norm(y) + 1e-12
    assert np.hypot(impulse[0], impulse[1]) <= mu * impulse[2] + 1e-9 * size
    missing = R * (y - impulse) / (R.max() * size)
    assert abs(missing @ impulse) <= 1e-9 * size
    assert mu * np.hypot(missing[0], missing[1]) + missing[2] <= 1e-9


def test_sticking_sliding_and_parting_by_hand():
    """k dt = 100 N s/m, w = 1/kg: R_t = 1e-3, R_n = 1/(dt 100) = 10; at mu = 0.5 the cone's slope matters."""
    press = 20.0
    patch = PatchState(dissipation=0.0, mu=0.5, dt=DT)
    found = sap_law(face_at(np.zeros(3), press, 100.0), patch)
    assert found.normal == pytest.approx(DT * press, rel=1e-14)
    assert found[1:] == (pytest.approx(0.1), pytest.approx(1000.0), 0.0, 0.0)
    # Sliding at 0.1 m/s: y_n = 0.02, y_t = 100, mu_hat = 0.5 * 1e-3 / 10 = 5e-5.
    found = sap_law(face_at(np.array([0.1, 0.0, 0.0]), press, 100.0), patch)
    assert found.normal == pytest.approx((0.02 + 5e-5 * 100.0) / (1.0 + 0.5 * 5e-5), rel=1e-12)
    assert found.H_tt * 0.1 == pytest.approx(0.5 * found.normal, rel=1e-12)
    # Parting faster than it slides apart.
    assert sap_law(face_at(np.array([0.0, 0.0, 1.0]), press, 100.0), patch).normal == 0.0


def test_without_friction_all_laws_are_one():
    face, patch = face_at(np.array([0.01, 0.0, -0.01]), 10.0, 200.0), PatchState(0.0, 0.0, DT)
    for law in (lagged_law, similar_law, sap_law):
        found = law(face, patch)
        assert found.normal == pytest.approx(DT * 12.0, rel=1e-14)
        assert found.H_nn == pytest.approx(DT * 200.0, rel=1e-14)
        assert found[2:] == (0.0, 0.0, 0.0)
