"""The static force is minus the slope of the energy, and the energy is what closed forms say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

import hydro_sim_core as hs
from support.contact.energy_slopes import energy_slope
from support.contact.poses import pose, random_direction, random_rotation

PROPERTY = settings(max_examples=25, deadline=None)
MODULUS = 1e5


def soft_sphere() -> hs.geometry.Geometry:
    return hs.geometry.sphere(0.1, resolution=0.07, modulus=MODULUS)


#: Partners of a compliant sphere and the largest depth, m, at which no face turns so far from the pressure gradient
#: that it is left out (then the force is not the slope of the energy).
PARTNERS = {
    "stiffer sphere": (hs.geometry.sphere(0.08, resolution=0.06, modulus=3 * MODULUS), 0.03),
    "ellipsoid": (hs.geometry.ellipsoid(0.08, 0.09, 0.1, resolution=0.07, modulus=2 * MODULUS), 0.02),
    "rigid sphere": (hs.geometry.sphere(0.08, resolution=0.06), 0.02),
}
HALF_SPACES = {
    "rigid half space": hs.geometry.half_space(),
    "compliant half space": hs.geometry.half_space(MODULUS, slab_thickness=0.1),
}


def energy(a, X_WA, b, X_WB) -> float:
    """Energy of both fields, J."""
    return hs.contact.compute_patch(a, X_WA, b, X_WB).energy


def check_force(a, X_WA, b, X_WB) -> None:
    """Hold the force on B to the slope of the energy."""
    patch = hs.contact.compute_patch(a, X_WA, b, X_WB)
    size = np.linalg.norm(patch.force_on_b)
    assume(size > 1.0)  # a grazing contact changes too much within a step
    assert np.linalg.norm(energy_slope(a, X_WA, b, X_WB) + patch.force_on_b) <= 1e-6 * size


@pytest.mark.parametrize("partner", PARTNERS)
@PROPERTY
@given(seed=st.integers(0, 10**6), fraction=st.floats(0.2, 1.0))
def test_force_between_meshes(partner, seed, fraction):
    a, (b, deepest) = soft_sphere(), PARTNERS[partner]
    rng = np.random.default_rng(seed)
    X_WA = pose(rng.uniform(-0.2, 0.2, 3), random_rotation(rng))
    R_WB, direction = random_rotation(rng), random_direction(rng)
    # How far each mesh reaches towards the other: their facets lie within the spheres.
    reach_a = (a.vertices @ X_WA[:3, :3].T @ direction).max()
    reach_b = -(b.vertices @ R_WB.T @ direction).min()
    X_WB = pose(X_WA[:3, 3] + (reach_a + reach_b - fraction * deepest) * direction, R_WB)
    check_force(a, X_WA, b, X_WB)
    check_force(b, X_WB, a, X_WA)


@pytest.mark.parametrize("ground", HALF_SPACES)
@PROPERTY
@given(seed=st.integers(0, 10**6), height=st.floats(-0.05, 0.08))
def test_force_on_a_half_space(ground, seed, height):
    a, b = soft_sphere(), HALF_SPACES[ground]
    rng = np.random.default_rng(seed)
    X_WB = pose(rng.uniform(-0.2, 0.2, 3), random_rotation(rng))
    X_WA = X_WB @ pose([*rng.uniform(-0.1, 0.1, 2), height], random_rotation(rng))
    check_force(a, X_WA, b, X_WB)


@pytest.mark.parametrize("offset", [0.0, 1e-9, 0.02])
def test_two_equal_boxes_in_one_place(offset):
    """Energy of a box of half lengths a < b, c: the integral of E depth / a, where two fields agree everywhere."""
    half = np.array([0.05, 0.06, 0.08])
    box = hs.geometry.box(2.0 * half, modulus=MODULUS)
    volume_below = quad(lambda depth: np.prod(2.0 * (half - depth)), 0.0, half[0])[0]
    whole = MODULUS / half[0] * volume_below
    found = energy(box, pose([0.3, 0.2, 0.1]), box, pose([0.3, 0.2, 0.1 + offset]))
    if offset < 1e-6:
        assert found == pytest.approx(whole, rel=1e-7)
    else:
        assert 0.3 * whole < found < whole
