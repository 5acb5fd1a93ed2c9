"""Pressure fields of solids: against closed forms, with a core, from the user, with a margin; bad ones are refused."""

import numpy as np
import pytest
import trimesh

from hydro_sim_core import geometry as hs
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry.pressure_fields import MEDIAL_ZONE
from hydro_sim_core.geometry.splits import give_every_tetrahedron_depth
from support.geometry.fields import assert_valid_field, pressure_at, sample_surface
from support.geometry.grids import cube_grid
from support.geometry.surfaces import ball, bracket, plate, ring

MODULUS = 1e6


def shell_mesh(radii, subdivisions=3):
    """Concentric triangulated spheres, the space between them filled with prisms cut in three; no centre."""
    surface = ball(1.0, subdivisions)
    directions, triangles = np.asarray(surface.vertices), np.asarray(surface.faces)
    directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    low = np.sort(triangles, axis=1)
    count = len(directions)
    tetrahedra = []
    for layer in range(len(radii) - 1):
        a, b = low + layer * count, low + (layer + 1) * count
        for columns in ((a[:, 0], a[:, 1], a[:, 2], b[:, 2]), (a[:, 0], a[:, 1], b[:, 1], b[:, 2])):
            tetrahedra.append(np.column_stack(columns))
        tetrahedra.append(np.column_stack([a[:, 0], b[:, 0], b[:, 1], b[:, 2]]))
    return np.vstack([radius * directions for radius in radii]), np.vstack(tetrahedra)


def ball_mesh(layers, subdivisions):
    """A ball of radius one: shells and cones to the centre."""
    radii = np.linspace(1.0, 1.0 / layers, layers)
    vertices, tetrahedra = shell_mesh(radii, subdivisions)
    innermost = np.asarray(ball(1.0, subdivisions).faces) + (layers - 1) * (len(vertices) // layers)
    centre = np.full((len(innermost), 1), len(vertices))
    vertices, tetrahedra = (
        np.vstack([vertices, np.zeros((1, 3))]),
        np.vstack([tetrahedra, np.hstack([innermost, centre])]),
    )
    corners = vertices[tetrahedra]
    volumes = np.linalg.det(corners[:, 1:] - corners[:, :1])
    return vertices, np.where((volumes < 0.0)[:, None], tetrahedra[:, [0, 1, 3, 2]], tetrahedra)


def test_laplace_in_a_ball_is_the_closed_form():
    """Between the surface and the zone around the centre the solution is a + b / r."""
    errors = []
    for layers, subdivisions in ((5, 1), (10, 2)):
        vertices, tetrahedra = ball_mesh(layers, subdivisions)
        geometry = hs.pressurised(vertices, tetrahedra, modulus=MODULUS, field="laplace")
        assert_valid_field(geometry, MODULUS)
        r = np.linalg.norm(vertices, axis=1)
        edge = 1.0 - MEDIAL_ZONE
        exact = np.where(
            r < edge + 1e-9, 1.0 - r, MEDIAL_ZONE * (1.0 / np.maximum(r, edge) - 1.0) / (1.0 / edge - 1.0)
        )
        errors.append(np.abs(geometry.pressure / MODULUS - exact).max())
    assert errors[1] < 0.05
    assert errors[1] < 0.5 * errors[0]


def test_laplace_around_a_core_is_the_closed_form():
    surface = ball(1.0, 3)
    core = hs.rigid_mesh(0.4 * surface.vertices, np.asarray(surface.faces))
    solid = hs.tetrahedralise(surface.vertices, surface.faces, resolution=0.15, core=core)
    geometry = hs.pressurised(solid.vertices, solid.tetrahedra, modulus=MODULUS, field="laplace", core=core)
    r = np.linalg.norm(geometry.vertices, axis=1)
    between = (r > 0.41) & (r < 0.99)
    exact = (1.0 / r[between] - 1.0) / (1.0 / 0.4 - 1.0)
    assert between.sum() > 100
    error = np.abs(geometry.pressure[between] / MODULUS - exact)
    assert (
        error.max() < 0.05
    )  # beside the core, where the solution bends most, in elements a quarter of the gap long
    assert np.median(error) < 0.01
    # The core is rigid: inside it the pressure keeps growing, so that a body that got there is pushed out.
    inside = r < 0.39
    assert (geometry.pressure[inside] > MODULUS).all()
    slopes = np.linalg.norm(geometry.fields[:, :3], axis=1)
    assert slopes.min() > 0.0


def test_distance_with_a_core_is_one_on_it():
    surface = ball(1.0, 3)
    core = hs.rigid_mesh(0.4 * surface.vertices, np.asarray(surface.faces))
    solid = hs.tetrahedralise(surface.vertices, surface.faces, resolution=0.15, core=core)
    geometry = hs.pressurised(solid.vertices, solid.tetrahedra, modulus=MODULUS, core=core)
    r = np.linalg.norm(geometry.vertices, axis=1)
    between = (r > 0.41) & (r < 0.99)
    np.testing.assert_allclose(geometry.pressure[between] / MODULUS, (1.0 - r[between]) / 0.6, atol=0.03)


def test_laplace_between_two_planes_is_linear():
    """Far from its rim a plate has the same field from Laplace's equation as from the distance."""
    surface = plate()
    solid = hs.tetrahedralise(surface.vertices, surface.faces, resolution=0.12)
    geometry = hs.pressurised(solid.vertices, solid.tetrahedra, modulus=MODULUS, field="laplace")
    assert_valid_field(geometry, MODULUS)
    x, y, z = np.abs(geometry.vertices).T
    middle = (x < 0.4) & (y < 0.2)
    assert middle.sum() > 50
    depth = (0.015 - z[middle]) / 0.015
    assert np.abs(geometry.pressure[middle] / MODULUS - depth).max() < 0.35  # two elements thick
    assert np.median(np.abs(geometry.pressure[middle] / MODULUS - depth)) < 0.02


def test_medial_set_follows_the_local_thickness():
    """Where a body tapers, Laplace's field still reaches near E in the thin part; the distance field does not."""
    points, tetrahedra = cube_grid(12)
    taper = points * [4.0, 1.0, 1.0]
    taper[:, 0] += 2.0
    taper[:, 1:] *= 1.0 - 0.2 * taper[:, :1]  # a fifth as thick at the far end
    fields = {
        name: hs.pressurised(taper, tetrahedra, modulus=1.0, field=name).pressure
        for name in ("laplace", "distance")
    }
    thin = (taper[:, 0] > 3.0) & (taper[:, 0] < 3.5)
    assert fields["laplace"][thin].max() > 0.8  # one, but for what the body thickens within an edge
    assert fields["distance"][thin].max() < 0.5


@pytest.mark.parametrize("make", [bracket, ring], ids=["bracket", "ring"])
@pytest.mark.parametrize("field", ["distance", "laplace"])
def test_named_fields_are_valid(make, field):
    surface = make()
    geometry = hs.compliant_solid(
        surface.vertices,
        surface.faces,
        modulus=MODULUS,
        resolution=0.06 if make is ring else 0.4,
        field=field,
    )
    assert_valid_field(geometry, MODULUS)


def wave(points):
    """Zero on the faces of the unit cube about the origin."""
    return MODULUS * np.cos(np.pi * points).prod(axis=1)


def test_function_of_position():
    points, tetrahedra = cube_grid(6)
    geometry = hs.pressurised(points, tetrahedra, field=wave)
    assert_valid_field(geometry, geometry.modulus)
    np.testing.assert_allclose(geometry.pressure, wave(points), atol=1e-6)


def test_values_a_vertex():
    points, tetrahedra = cube_grid(6)
    values = np.maximum(wave(points), 0.0) ** 2
    geometry = hs.pressurised(points, tetrahedra, field=values, modulus=3e9)
    assert geometry.modulus == 3e9
    np.testing.assert_allclose(geometry.pressure, values, atol=1e-3)


def test_function_on_a_surface_that_the_mesher_moved():
    """The function is zero on the given sphere; the mesh's surface is a little inside it."""
    surface = ball(1.0, 3)
    geometry = hs.compliant_solid(
        surface.vertices,
        surface.faces,
        resolution=0.3,
        field=lambda p: MODULUS * (1.0 - np.linalg.norm(p, axis=1)),
    )
    surface = np.unique(geometry.surface_triangles())
    assert (geometry.pressure[surface] == 0.0).all()


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("linear", r"field: is 'linear'; write distance or laplace"),
        (np.ones(3), r"field: has shape \(3,\)"),
        (np.ones((343, 1)), r"field: has shape \(343, 1\)"),
        (lambda p: np.full(len(p), np.nan), r"field\[0\].*finite"),
        (lambda p: "deep", "field"),
        (lambda p: np.ones(len(p)), "on the surface.*make it zero on the surface"),
        (lambda p: -np.cos(np.pi * p).prod(axis=1), "field"),
        (lambda p: np.sin(2 * np.pi * p).prod(axis=1), "positive inside"),
        (lambda p: np.zeros(len(p)), "positive inside"),
    ],
)
def test_bad_fields(field, words):
    points, tetrahedra = cube_grid(6)
    with pytest.raises(InputError, match=words):
        hs.pressurised(points, tetrahedra, modulus=MODULUS, field=field)


def test_named_fields_need_a_modulus():
    with pytest.raises(InputError, match="modulus: is not given"):
        hs.pressurised(*cube_grid(2), field="laplace")


@pytest.mark.parametrize(
    ("core", "words"),
    [
        (lambda: hs.box(2.0, 0.1, 0.1), "core: is not inside the body"),
        (lambda: hs.box(1.0, 1.0, 1.0), "core: is not inside the body"),
        (lambda: hs.sphere(0.1, modulus=1e6), "core: is a compliant_mesh; give a rigid mesh"),
        (lambda: hs.half_space(), "core: is a rigid_half_space"),
    ],
)
def test_bad_cores(core, words):
    with pytest.raises(InputError, match=words):
        hs.pressurised(*cube_grid(6), modulus=MODULUS, core=core())


@pytest.mark.parametrize("core", [lambda: hs.sphere(0.1, modulus=1e6), lambda: hs.half_space()])
def test_core_that_is_no_rigid_mesh_is_refused_before_meshing(core):
    surface = ball()
    with pytest.raises(InputError, match=r"part\.stl: core: is a .*; give a rigid mesh"):
        hs.compliant_solid(surface.vertices, surface.faces, modulus=MODULUS, core=core(), source="part.stl")


def test_core_and_values_contradict_each_other():
    points, tetrahedra = cube_grid(6)
    with pytest.raises(InputError, match="core: is given with a field of values"):
        hs.pressurised(points, tetrahedra, field=wave, core=hs.box(0.1, 0.1, 0.1))


@pytest.mark.parametrize("make", [bracket, ring, plate], ids=["bracket", "ring", "plate"])
@pytest.mark.parametrize("field", ["distance", "laplace"])
def test_margin_is_a_skirt_and_moves_nothing(make, field):
    surface = make()
    resolution = {bracket: 0.4, ring: 0.06, plate: 0.12}[make]
    solid = hs.tetrahedralise(surface.vertices, surface.faces, resolution=resolution)
    margin = 1e-3
    bare = hs.pressurised(solid.vertices, solid.tetrahedra, modulus=MODULUS, field=field)
    grown = hs.pressurised(solid.vertices, solid.tetrahedra, modulus=MODULUS, field=field, margin=margin)
    assert_valid_field(grown, MODULUS)
    assert grown.margin == margin
    count = len(bare.elements)
    np.testing.assert_array_equal(grown.elements[:count], bare.elements)
    np.testing.assert_array_equal(grown.fields[:count], bare.fields)
    points = sample_surface(bare, np.random.default_rng(0), 100)
    np.testing.assert_allclose(pressure_at(grown, points), 0.0, atol=1e-9 * MODULUS)

    on_surface = np.unique(bare.surface_triangles())
    shift = np.linalg.norm(grown.vertices[len(bare.vertices) :] - bare.vertices[on_surface], axis=1)
    assert shift.min() > 0.5 * margin
    assert np.median(shift) < 1.5 * margin
    assert grown.volume() - bare.volume() == pytest.approx(margin * surface.area, rel=0.1)
    assert (grown.pressure[len(bare.vertices) :] < 0.0).all()


def test_margin_where_a_solid_touches_itself():
    """There is no room for a skin at the common edge; everywhere else it is there."""
    points, tetrahedra = cube_grid(2, keep=lambda i, j, k: i == j)
    vertices, tetrahedra = give_every_tetrahedron_depth(points, tetrahedra)
    bare = hs.pressurised(vertices, tetrahedra, modulus=MODULUS)
    assert bare.volume() == pytest.approx(0.5)
    grown = hs.pressurised(vertices, tetrahedra, modulus=MODULUS, margin=1e-3)
    count = len(bare.elements)
    np.testing.assert_array_equal(grown.fields[:count], bare.fields)
    points = sample_surface(bare, np.random.default_rng(0), 100)
    np.testing.assert_allclose(pressure_at(grown, points), 0.0, atol=1e-9 * MODULUS)
    on_edge = (np.abs(vertices[:, :2]) < 1e-12).all(axis=1)
    assert on_edge.sum() == 3
    on_surface = np.unique(bare.surface_triangles())
    assert len(grown.vertices) == len(bare.vertices) + len(on_surface) - 3
    # The skin thins out to nothing over the faces beside the edge, which are half of all.
    assert 0.7 < (grown.volume() - bare.volume()) / (1e-3 * 5.0) < 1.0


def crumpled():
    """A ball with deep folds, which have vertices where the normals around nearly cancel."""
    rng = np.random.default_rng(9)
    surface = ball(1.0, 2)
    directions = np.array(surface.vertices)
    waves = [rng.normal() * np.cos(directions @ rng.normal(size=3) * 3 + rng.uniform(0, 6)) for _ in range(4)]
    radii = np.clip(1.0 + 0.25 * sum(waves), 0.3, 2.0)
    return directions * radii[:, None] * [1.0, 1.0, 2.0], np.asarray(surface.faces)


@pytest.mark.heavy(3)
@pytest.mark.parametrize("margin", [1e-5, 1e-3, 1e-2])
def test_margin_on_a_crumpled_body(margin):
    vertices, faces = crumpled()
    solid = hs.tetrahedralise(vertices, faces, resolution=0.6)
    bare = hs.pressurised(solid.vertices, solid.tetrahedra, modulus=MODULUS)
    grown = hs.pressurised(solid.vertices, solid.tetrahedra, modulus=MODULUS, margin=margin)
    assert_valid_field(grown, MODULUS)
    np.testing.assert_array_equal(grown.fields[: len(bare.fields)], bare.fields)
    on_surface = len(np.unique(bare.surface_triangles()))
    with_skin = len(grown.vertices) - len(bare.vertices)
    assert with_skin >= 0.99 * on_surface
    area = trimesh.Trimesh(vertices, faces).area
    assert grown.volume() - bare.volume() == pytest.approx(margin * area, rel=0.1)


def test_margin_of_a_few_atoms_is_refused_or_valid():
    points, tetrahedra = cube_grid(2)
    thin = hs.pressurised(points, tetrahedra, modulus=MODULUS, margin=1e-10)
    assert_valid_field(thin, MODULUS)
    with pytest.raises(InputError, match="margin: of 1e-30 m folds the margin layer"):
        hs.pressurised(points, tetrahedra, modulus=MODULUS, margin=1e-30)


def test_margin_as_wide_as_the_hole_of_a_ring():
    surface = ring()
    solid = hs.tetrahedralise(surface.vertices, surface.faces, resolution=0.06)
    with pytest.raises(
        InputError, match=r"margin: of 0\.5 m folds the margin layer in many places.*another margin"
    ):
        hs.pressurised(solid.vertices, solid.tetrahedra, modulus=MODULUS, margin=0.5)
