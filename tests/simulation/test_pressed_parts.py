"""The part of a face that presses has the area, the force and the centre of the pressure that is above nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from hydro_sim_core.compilation import kernel
from hydro_sim_core.contact.pressure_field.faces import face_at
from hydro_sim_core.simulation.stepping.rims import pressed_part
from support.contact.single_faces import one_face

Array = np.ndarray


@kernel
def of_first(faces):
    """Of the first face."""
    return pressed_part(faces, 0, face_at(faces.data, 0))


def integrals_over_squares(
    corners: Array, pressure: float, gradient: Array, num: int
) -> tuple[float, float, Array]:
    """Area, force and moment of the pressure above nothing on a convex polygon (n, 2), on a grid of squares."""
    low, high = corners.min(axis=0), corners.max(axis=0)
    side = (high - low) / num
    x = np.stack(np.meshgrid(*(low[i] + side[i] * (np.arange(num) + 0.5) for i in range(2))), axis=-1)
    edges = np.roll(corners, -1, axis=0) - corners
    to = x[:, :, None] - corners
    inside = (edges[:, 0] * to[..., 1] - edges[:, 1] * to[..., 0] >= 0.0).all(axis=-1)
    pressures = np.where(inside, np.maximum(pressure + x @ gradient, 0.0), 0.0)
    square = side.prod()
    return (
        square * (pressures > 0).sum(),
        square * pressures.sum(),
        square * np.einsum("ij,ijk->k", pressures, x),
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_integrals_are_those_of_a_fine_grid(seed: int) -> None:
    random = np.random.default_rng(seed)
    angles = np.sort(random.uniform(0.0, 2.0 * np.pi, random.integers(3, 8)))
    corners = random.uniform(0.2, 2.0, 2) * np.column_stack([np.cos(angles), np.sin(angles)])
    corners -= corners.mean(axis=0)
    pressure, gradient = random.uniform(-1.0, 2.0), random.normal(size=2)
    expected = integrals_over_squares(corners, pressure, gradient, 400)
    R, offset, across = (
        Rotation.random(random_state=seed % 2**31).as_matrix(),
        random.normal(size=3),
        random.normal(),
    )
    polygon = offset + np.column_stack([corners, np.zeros(len(corners))]) @ R.T
    faces = one_face(polygon, offset, pressure, R @ [*gradient, across])
    area, force, centre = of_first(faces)
    scale = np.prod(np.ptp(corners, axis=0))
    assert area == pytest.approx(expected[0], abs=0.004 * scale)
    assert force == pytest.approx(expected[1], abs=0.004 * scale * (abs(pressure) + np.linalg.norm(gradient)))
    moment = force * (R.T @ np.array(centre))
    assert moment == pytest.approx([*expected[2], 0.0], abs=0.004 * scale)


@pytest.mark.parametrize(("pressure", "pressed"), [(-2.0, 0.0), (0.0, 0.5), (0.5, 1.0), (2.0, 1.0)])
def test_a_square_is_pressed_from_the_line_without_pressure_on(pressure: float, pressed: float) -> None:
    square = np.array([(-0.5, -0.5, 0), (0.5, -0.5, 0), (0.5, 0.5, 0), (-0.5, 0.5, 0)])
    faces = one_face(square, np.zeros(3), pressure, np.array([1.0, 0.0, 0.0]))
    area, force, centre = of_first(faces)
    assert area == pytest.approx(pressed, abs=1e-15)
    if pressed == 0.5:
        assert (force, *centre) == pytest.approx((0.125, 1.0 / 3.0, 0.0, 0.0), abs=1e-15)
    if pressed == 1.0:
        assert (force, *centre) == pytest.approx((pressure, 1.0 / (12.0 * pressure), 0.0, 0.0), abs=1e-15)
