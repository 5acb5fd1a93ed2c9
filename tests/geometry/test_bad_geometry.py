"""Bad arrays and numbers: one ``InputError`` that names the element, never a traceback or a NaN."""

import numpy as np
import pytest

from hydro_sim_core import geometry as hs
from hydro_sim_core.errors import InputError

CORNERS = [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, -1]]
PRESSURE = [1.0, 0, 0, 0, 0, 0]
TETRAHEDRON = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]


@pytest.mark.parametrize(
    ("vertices", "tetrahedra", "pressure", "words"),
    [
        (np.eye(2), [[0, 1, 2, 3]], PRESSURE, "vertices: has shape"),
        ("mesh", [[0, 1, 2, 3]], PRESSURE, "vertices"),
        ([*CORNERS[:5], [np.nan, 0, 0]], [[0, 1, 2, 3]], PRESSURE, r"vertices\[5\].*finite"),
        (CORNERS, np.empty((0, 4), dtype=int), PRESSURE, "tetrahedra: has shape"),
        (CORNERS, [[0, 1, 2]], PRESSURE, "tetrahedra: has shape"),
        (CORNERS, [[0.0, 1.0, 2.0, 3.0]], PRESSURE, "integer"),
        (CORNERS, [[0, 1, 2, 6]], PRESSURE, "indices 0 to 5"),
        (CORNERS, [[0, 1, 2, -1]], PRESSURE, "indices 0 to 5"),
        (CORNERS, [[0, 1, 2, 2]], PRESSURE, "repeats a vertex"),
        ([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], [[0, 1, 2, 3]], [1.0, 0, 0, 0], "no volume"),
        (CORNERS, [[0, 1, 2, 3]], [1.0, 0, 0], "pressure: has shape"),
        (CORNERS, [[0, 1, 2, 3]], [1.0, 0, 0, 0, 0, np.inf], r"pressure\[5\]"),
        (CORNERS, [[0, 1, 2, 3]], np.zeros(6), "positive pressure inside"),
        (CORNERS, [[0, 1, 2, 3], [0, 1, 2, 4]], PRESSURE, "overlap"),
        (CORNERS, [[0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 2, 5]], PRESSURE, "overlap"),
        (CORNERS, [[0, 1, 2, 3], [0, 1, 2, 3]], PRESSURE, "overlap"),
    ],
)
def test_bad_compliant_mesh(vertices, tetrahedra, pressure, words):
    with pytest.raises(InputError, match=words):
        hs.compliant_mesh(vertices, tetrahedra, pressure)


@pytest.mark.parametrize(
    "options", [{"modulus": 0.0}, {"modulus": np.nan}, {"margin": -1.0}, {"margin": np.inf}]
)
def test_bad_parameters_of_a_compliant_mesh(options):
    with pytest.raises(InputError, match=next(iter(options))):
        hs.compliant_mesh(CORNERS, [[0, 1, 2, 3]], PRESSURE, **options)


@pytest.mark.parametrize(
    ("triangles", "words"),
    [
        (TETRAHEDRON[:3], "is open"),
        ([*TETRAHEDRON[:3], [1, 3, 2]], "opposite ways"),
        ([row[::-1] for row in TETRAHEDRON], "inside out"),
        ([*TETRAHEDRON, [0, 1, 4]], "more than two"),
        ([*TETRAHEDRON[:3], [1, 2, 9]], "indices 0 to 5"),
        ([*TETRAHEDRON, [0, 3, 5]], "has no area"),
    ],
)
def test_bad_rigid_mesh(triangles, words):
    with pytest.raises(InputError, match=words):
        hs.rigid_mesh(CORNERS, triangles)


def test_open_edge_is_named():
    with pytest.raises(InputError, match=r"edge \(\d, \d\): from \[.*\] to \[.*\] is open.*\(3 such edges\)"):
        hs.rigid_mesh(CORNERS, TETRAHEDRON[:3])


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, "wide", None, 1e-200])
@pytest.mark.parametrize(
    "make",
    [
        lambda x: hs.sphere(x),
        lambda x: hs.ellipsoid(1.0, x, 1.0),
        lambda x: hs.ellipsoid([1.0, 1.0, x]),
        lambda x: hs.box(x, 1.0, 1.0),
        lambda x: hs.cylinder(x, 1.0),
        lambda x: hs.cylinder(1.0, x),
        lambda x: hs.capsule(x, 1.0),
        lambda x: hs.capsule(1.0, x, resolution=-1.0),
        lambda x: hs.sphere(1.0, resolution=x),
        lambda x: hs.ellipsoid(1.0, 2.0, 3.0, resolution=x),
        lambda x: hs.cylinder(1.0, 1.0, resolution=x),
        lambda x: hs.capsule(1.0, 1.0, resolution=x),
        lambda x: hs.half_space(modulus=1.0, slab_thickness=-1.0 if x == 1e-200 else x),
    ],
)
def test_bad_length(make, bad):
    with pytest.raises(InputError):
        make(bad)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize(
    "make",
    [
        lambda x: hs.sphere(1.0, modulus=x),
        lambda x: hs.box(1.0, 1.0, 1.0, modulus=x),
        lambda x: hs.cylinder(1.0, 1.0, modulus=x),
        lambda x: hs.capsule(1.0, 1.0, modulus=x),
        lambda x: hs.half_space(modulus=x),
        lambda x: hs.convex_mesh(CORNERS, modulus=x),
        lambda x: hs.box(1.0, 1.0, 1.0, modulus=1.0, margin=-1.0 if x == 0.0 else x),
        lambda x: hs.box(1.0, 1.0, 1.0, resolution=x),
    ],
)
def test_bad_modulus_margin_or_resolution(make, bad):
    with pytest.raises(InputError):
        make(bad)


@pytest.mark.parametrize("size", [(), (1.0,), (1.0, 1.0), (1.0, 1.0, 1.0, 1.0), ([1.0, 2.0],)])
def test_wrong_number_of_lengths(size):
    for make in (hs.box, hs.ellipsoid):
        with pytest.raises(InputError, match="three lengths"):
            make(*size)


@pytest.mark.parametrize("points", [CORNERS[:3], [[0.0, 0, 0]] * 9, np.c_[np.eye(3), np.ones(3)]])
def test_points_without_a_hull(points):
    with pytest.raises(InputError):
        hs.convex_mesh(points)
