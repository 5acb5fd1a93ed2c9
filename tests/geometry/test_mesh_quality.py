"""The quality report: figures of known meshes, and comparison with the given surface."""

import dataclasses

import numpy as np
import pytest

from hydro_sim_core import geometry as hs
from hydro_sim_core.errors import InputError
from support.geometry.grids import cube_grid
from support.geometry.surfaces import bracket, ring

#: A regular tetrahedron with edges of length sqrt(8).
REGULAR = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])


def test_regular_tetrahedron_is_perfect():
    quality = hs.mesh_quality(hs.compliant_mesh(REGULAR, [[0, 1, 2, 3]], [0.0, 0, 0, 5.0]))
    assert quality.radius_ratio.least == pytest.approx(1.0)
    assert quality.aspect_ratio.largest == pytest.approx(1.0)
    assert quality.edge_length == hs.Spread(*[pytest.approx(np.sqrt(8.0))] * 3)
    assert quality.volume == pytest.approx(8.0 / 3.0)
    assert quality.largest_pressure == 5.0
    assert (quality.num_tetrahedra, quality.num_vertices, quality.num_surface_triangles) == (1, 4, 4)
    assert (quality.num_inner_vertices, quality.layers, quality.num_zero_gradient) == (0, 0, 0)
    assert quality.deviation is None
    assert quality.surface_volume is None


def test_corner_of_a_cube():
    vertices = [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    quality = hs.mesh_quality(hs.compliant_mesh(vertices, [[0, 1, 2, 3]], [1.0, 0, 0, 0]))
    inscribed = 1.0 / (3.0 + np.sqrt(3.0))
    assert quality.radius_ratio.median == pytest.approx(3.0 * inscribed / (np.sqrt(3.0) / 2.0))
    least_height = 1.0 / np.sqrt(3.0)
    assert quality.aspect_ratio.median == pytest.approx(np.sqrt(2.0) / least_height * np.sqrt(2.0 / 3.0))


@pytest.mark.parametrize("height", [1e-2, 1e-4, 1e-6])
def test_flat_tetrahedra_show(height):
    vertices = [[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, height]]
    quality = hs.mesh_quality(hs.compliant_mesh(vertices, [[0, 1, 2, 3]], [1.0, 0, 0, 0]))
    assert quality.radius_ratio.least < 5.0 * height
    assert quality.aspect_ratio.largest > 0.5 / height


def test_layers_and_inner_vertices_of_a_grid():
    for cells, layers in ((2, 1), (4, 2), (6, 3)):
        points, tetrahedra = cube_grid(cells)
        quality = hs.mesh_quality(hs.pressurised(points, tetrahedra, modulus=1.0))
        assert quality.layers == layers
        assert quality.num_inner_vertices == (cells - 1) ** 3


def test_zero_gradient_tetrahedra_are_counted():
    points, tetrahedra = cube_grid(3)
    depth = 0.5 - np.abs(points).max(axis=1)
    quality = hs.mesh_quality(hs.compliant_mesh(points, tetrahedra, depth))
    flat = (np.abs(depth[tetrahedra] - depth[tetrahedra][:, :1]) < 1e-12).all(axis=1)
    assert flat.sum() > 10
    assert quality.num_zero_gradient == flat.sum()


def test_comparison_with_the_given_surface():
    surface = bracket()
    solid = hs.tetrahedralise(surface.vertices, surface.faces, resolution=0.4)
    quality = hs.mesh_quality(hs.pressurised(solid.vertices, solid.tetrahedra, modulus=1e6), solid)
    assert quality.surface_volume == pytest.approx(3.0)
    assert quality.volume == pytest.approx(3.0, rel=5e-3)
    assert quality.deviation <= 2e-3 * solid.surface.extent
    assert quality.repairs == solid.repairs
    assert quality.num_zero_gradient == 0
    # The margin's skin is no part of what is compared.
    grown = hs.mesh_quality(hs.pressurised(solid.vertices, solid.tetrahedra, modulus=1e6, margin=0.05), solid)
    assert grown.deviation == quality.deviation
    assert grown.volume > quality.volume


def test_deviation_sees_a_moved_surface():
    surface = ring()
    solid = hs.tetrahedralise(surface.vertices, surface.faces, resolution=0.06)
    shift = np.array([0.01, 0.0, 0.0])
    moved = dataclasses.replace(solid, vertices=solid.vertices + shift)
    geometry = hs.pressurised(moved.vertices, moved.tetrahedra, modulus=1e6)
    assert hs.mesh_quality(geometry, moved).deviation == pytest.approx(0.01, rel=0.05)


@pytest.mark.parametrize("make", [lambda: hs.sphere(1.0, resolution=0.5), hs.half_space])
def test_rigid_geometries_have_none(make):
    with pytest.raises(InputError, match="mesh_quality: geometry: is a rigid"):
        hs.mesh_quality(make())
