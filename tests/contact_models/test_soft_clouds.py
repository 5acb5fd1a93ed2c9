"""Clouds with a wanted number of points: where points lie on boxes and spheres, and what makes a cloud bad."""

import numpy as np
import pytest

from hydro_sim_core import InputError, geometry
from hydro_sim_core.contact.soft_distance import (
    OrientedCloud,
    check_cloud,
    cloud_of_geometry,
    cloud_of_mesh,
    cloud_quality,
    soft_distance,
)

SIZE = np.array([0.2, 0.1, 0.06])
BOX = geometry.box(*SIZE)
RADIUS = 0.1
SPHERE = geometry.sphere(RADIUS, resolution=0.015)


@pytest.mark.parametrize("count", [26, 200])
def test_points_of_a_box_lie_on_its_faces_half_a_cell_from_the_edges(count):
    cloud = cloud_of_geometry(BOX, count)
    assert cloud.points.shape == (count, 3)
    share = np.abs(cloud.points) / (0.5 * SIZE)
    axis = share.argmax(axis=1)
    np.testing.assert_allclose(share.max(axis=1), 1.0, rtol=1e-12)
    outward = np.zeros_like(cloud.points)
    rows = np.arange(count)
    outward[rows, axis] = np.sign(cloud.points[rows, axis])
    np.testing.assert_allclose(cloud.normals, outward, atol=1e-12)
    # The cells of a face tile it, and none reaches round an edge.
    for k in range(3):
        for sign in (-1.0, 1.0):
            on_face = (axis == k) & (outward[:, k] == sign)
            np.testing.assert_allclose(cloud.areas[on_face].sum(), np.delete(SIZE, k).prod(), rtol=1e-12)
    to_edge = np.sort(0.5 * SIZE - np.abs(cloud.points), axis=1)[:, 1]
    side = np.sqrt(cloud.areas)
    assert to_edge.min() > 0.25 * side.mean()


@pytest.mark.parametrize(
    ("shape", "extent"), [(BOX, SIZE), (geometry.box(0.2, 0.15, 0.08), (0.2, 0.15, 0.08))]
)
@pytest.mark.parametrize("count", [96, 256, 1024])
def test_points_beside_an_edge_lie_across_from_each_other(shape, extent, count):
    """So the distance is positive all over the outside of a box, however near, and its own plane's but at the edges."""
    cloud = cloud_of_geometry(shape, count)
    spacing, half = np.sqrt(cloud.areas.mean()), 0.5 * np.array(extent)
    rng = np.random.default_rng(0)
    for axis in range(3):
        places = rng.uniform(-1.0, 1.0, (4000, 3)) * half
        height = 0.05 * spacing
        places[:, axis] = half[axis] + height
        distance = soft_distance(cloud, places, (0.125 * spacing) ** 2)
        assert distance.min() > 0.4 * height
        inside = np.delete(half - np.abs(places), axis, axis=1).min(axis=1) > 0.2 * spacing
        np.testing.assert_allclose(distance[inside], height, rtol=0.01)


@pytest.mark.parametrize("count", [96, 256])
def test_points_beside_the_rim_of_a_cylinder_are_mirrored(count):
    cloud = cloud_of_geometry(geometry.cylinder(0.05, 0.12, resolution=0.005), count)
    is_side = np.abs(cloud.normals[:, 2]) < 0.5
    spacing = np.sqrt(cloud.areas.mean())
    # Of the side those nearest the rim above, of the top those nearest it.
    beside = cloud.points[is_side & (cloud.points[:, 2] > 0.06 - 0.6 * spacing)]
    top = cloud.points[~is_side & (cloud.points[:, 2] > 0.0)]
    rim = top[np.hypot(*top[:, :2].T) > 0.05 - 0.6 * spacing]
    assert len(beside) == len(rim)
    around, across = (np.sort(np.arctan2(p[:, 1], p[:, 0])) for p in (beside, rim))
    np.testing.assert_allclose(around, across, atol=0.1 * spacing / 0.05)
    np.testing.assert_allclose(
        np.sort(0.06 - beside[:, 2]), np.sort(0.05 - np.hypot(*rim[:, :2].T)), atol=0.05 * spacing
    )


def test_a_cloud_that_is_not_mirrored_is_told():
    """Two faces of a box whose points lie half a cell from an edge, but not across from each other."""
    cloud = cloud_of_geometry(BOX, 256)
    assert cloud_quality(cloud).problems == ()
    spacing, points = np.sqrt(cloud.areas.mean()), np.array(cloud.points)
    top = cloud.normals[:, 2] > 0.5
    points[top] *= np.clip(1.0 - 0.8 * spacing / SIZE, 0.0, 1.0) ** [1, 1, 0]
    told = cloud_quality(OrientedCloud(points, cloud.normals, cloud.areas)).problems
    assert "spacings outside an edge" in " ".join(told)


@pytest.mark.parametrize("count", [40, 300])
def test_cells_of_a_sphere_are_alike_and_its_volume_is_kept(count):
    quality = cloud_quality(cloud_of_geometry(SPHERE, count))
    assert quality.problems == ()
    assert quality.unevenness < 0.12
    # The spacing of hexagonal cells is 1.07 times the side of a square of their area.
    assert 0.7 < quality.crowding < 1.08
    np.testing.assert_allclose(quality.volume, SPHERE.volume(), rtol=1.5 / count)


def test_mesh_density_is_no_matter():
    """A mesh that is fine on one half gets no more points there."""
    fine = np.random.default_rng(3).uniform(-1.0, 1.0, (3000, 3))
    fine[:, 2] = np.abs(fine[:, 2])
    coarse = np.random.default_rng(4).uniform(-1.0, 1.0, (150, 3))
    coarse[:, 2] = -np.abs(coarse[:, 2])
    directions = np.concatenate([fine, coarse])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    import scipy.spatial

    hull = scipy.spatial.ConvexHull(directions)
    triangles, corners = hull.simplices, directions[hull.simplices]
    flipped = (
        np.einsum(
            "ij,ij->i", np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), corners[:, 0]
        )
        < 0
    )
    triangles[flipped] = triangles[flipped][:, ::-1]
    cloud = cloud_of_mesh(directions, triangles, 100)
    above = (cloud.points[:, 2] > 0.0).sum()
    assert abs(above - 50) <= 4


def test_a_thin_plate_keeps_its_two_sides():
    plate = cloud_of_geometry(geometry.box(0.2, 0.2, 0.002), 100)
    np.testing.assert_allclose(np.abs(plate.normals).max(axis=1), 1.0, rtol=1e-12)
    assert "wrong sign" in " ".join(cloud_quality(plate).problems)
    with pytest.raises(InputError, match="wrong sign"):
        check_cloud(plate, "plate.stl")


def wedge(angle):
    """Vertices and triangles of a ramp 0.1 m long and wide with an edge of so many degrees."""
    top = 0.1 * np.tan(np.radians(angle))
    corners = np.array([[x, y, z] for y in (0.0, 0.1) for x, z in ((0.0, 0.0), (0.1, 0.0), (0.1, top))])
    sides = [[0, 1, 2], [3, 5, 4], [0, 3, 4], [0, 4, 1], [1, 4, 5], [1, 5, 2], [2, 5, 3], [2, 3, 0]]
    return corners, np.array(sides)


def negative_outside(cloud, vertices, triangles, height):
    """Share of 4000 places so many spacings above the faces of a convex body whose soft distance is negative."""
    rng, spacing = np.random.default_rng(1), np.sqrt(cloud.areas.mean())
    corners = vertices[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = np.linalg.norm(normals, axis=1)
    row = rng.choice(len(areas), 4000, p=areas / areas.sum())
    places = np.einsum("ki,kij->kj", rng.dirichlet(np.ones(3), 4000), corners[row])
    places += height * spacing * (normals / areas[:, None])[row]
    return (soft_distance(cloud, places, (0.125 * spacing) ** 2) < 0.0).mean()


@pytest.mark.parametrize("count", [96, 256])
@pytest.mark.parametrize("angle", [20, 30, 45, 60])
def test_a_wedge_is_no_bad_cloud(angle, count):
    """Half a spacing behind its edge is outside of it, on the other side: no wrong sign."""
    cloud = cloud_of_mesh(*wedge(angle), count)
    spacing = np.sqrt(cloud.areas.mean())
    assert negative_outside(cloud, *wedge(angle), 0.2) < 1e-3
    for epsilon1 in (None, (0.125 * spacing) ** 2):
        assert cloud_quality(cloud, epsilon1).problems == ()


def test_a_wedge_too_sharp_for_its_points_is_told():
    cloud = cloud_of_mesh(*wedge(10), 256)
    assert negative_outside(cloud, *wedge(10), 0.2) > 5e-3
    assert "outside an edge, a tip or something thin" in " ".join(cloud_quality(cloud).problems)


def test_a_plate_thinner_than_a_spacing_may_be_good():
    """5 mm, with points 9 mm apart."""
    plate = geometry.box(0.1, 0.1, 0.005)
    cloud = cloud_of_geometry(plate, 256)
    assert negative_outside(cloud, plate.vertices, plate.surface_triangles(), 0.1) < 1e-3
    assert cloud_quality(cloud, (0.125**2) * cloud.areas.mean()).problems == ()


def test_a_ball_swollen_by_heat_is_no_bad_cloud():
    """The finger of planar_push: a mean over two spacings moves its surface out by 0.3 mm, at any number of points."""
    ball, epsilon1 = geometry.sphere(0.02, resolution=0.002), 1.01e-5
    cloud = cloud_of_geometry(ball, 1024)
    places = 0.02 * cloud.points / np.linalg.norm(cloud.points, axis=1)[:, None]
    np.testing.assert_allclose(soft_distance(cloud, places, epsilon1), -epsilon1 / 0.04, atol=1e-4)
    assert cloud_quality(cloud, epsilon1).problems == ()


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (
            lambda p, n, a: (np.vstack([p, p[:1] + 1e-5]), np.vstack([n, n[:1]]), np.append(a, a[0])),
            "spacings apart",
        ),
        (lambda p, n, a: (p, -n, a), "inside out"),
        (lambda p, n, a: (p[p[:, 2] < 0.02], n[p[:, 2] < 0.02], a[p[:, 2] < 0.02]), "open"),
        (lambda p, n, a: (p, np.where(np.arange(len(p))[:, None] % 10 == 0, -n, n), a), "wrong sign"),
    ],
)
def test_a_bad_cloud_is_reported(spoil, problem):
    good = cloud_of_geometry(BOX, 200)
    assert cloud_quality(good).problems == ()
    check_cloud(good, "box")
    bad = OrientedCloud(*spoil(good.points, good.normals, good.areas))
    with pytest.raises(InputError, match=problem):
        check_cloud(bad, "box")


VERTICES, TRIANGLES = BOX.vertices, BOX.surface_triangles()


def boxes(*parts):
    """Vertices and triangles of cubes as one mesh, from sides, m, places and whether they are turned inside out."""
    cube = geometry.box(1.0, 1.0, 1.0)
    corners, faces = cube.vertices, cube.surface_triangles()
    vertices = [side * corners + np.array(place) for side, place, _ in parts]
    triangles = [
        (faces[:, ::-1] if turned else faces) + k * len(corners) for k, (*_, turned) in enumerate(parts)
    ]
    return np.concatenate(vertices), np.concatenate(triangles)


LARGE, APART = (0.1, (0.0, 0.0, 0.0), False), (0.3, 0.0, 0.0)


@pytest.mark.parametrize("count", [256, 512])
@pytest.mark.parametrize("shape", [geometry.box(1.0, 0.01, 0.01), geometry.cylinder(0.002, 0.2)])
def test_slender_bodies_have_as_many_points_as_wanted(shape, count):
    """Their long triangles were sampled by slender pieces, and cells without one were lost."""
    assert len(cloud_of_geometry(shape, count).points) == count


@pytest.mark.parametrize(
    "parts",
    [
        [LARGE, (0.05, APART, True)],
        [LARGE, (0.05, (0.0, 0.0, 0.0), True), (0.05, APART, True)],
        [LARGE, (0.05, (0.075, 0.075, 0.0), True)],  # along an edge
        [LARGE, (0.06, (0.3, 0.0, 0.0), False), (0.05, (0.35, 0.0, 0.0), True)],
    ],
)
def test_a_part_that_is_inside_out_and_no_cavity_is_refused(parts):
    with pytest.raises(InputError, match="inside out in a part"):
        cloud_of_mesh(*boxes(*parts), 128)


@pytest.mark.parametrize(
    "parts",
    [
        [LARGE, (0.05, APART, False)],
        [LARGE, (0.05, (0.0, 0.0, 0.0), True)],
        [LARGE, (0.06, (0.0, 0.0, 0.0), True), (0.03, (0.0, 0.0, 0.0), False)],
        [LARGE, (0.1, (0.102, 0.0, 0.0), False)],
        [LARGE, (0.1, (0.05, 0.02, 0.01), False), (0.02, (0.04, 0.01, 0.01), True)],
    ],
)
def test_several_parts_and_cavities_make_a_body(parts):
    cloud = cloud_of_mesh(*boxes(*parts), 128)
    assert len(cloud.points) == 128
    assert cloud_quality(cloud).turned == 0.0


def test_a_cloud_tells_which_planes_are_inside_out():
    clouds = [cloud_of_mesh(*boxes((side, place, False)), 96) for side, place, _ in (LARGE, (0.05, APART, 0))]
    points, normals, areas = (
        np.concatenate([getattr(cloud, name) for cloud in clouds]) for name in ("points", "normals", "areas")
    )
    check_cloud(OrientedCloud(points, normals, areas), "boxes")
    turned = OrientedCloud(points, np.concatenate([clouds[0].normals, -clouds[1].normals]), areas)
    assert cloud_quality(turned).turned == 0.5
    with pytest.raises(InputError, match=r"50\.0% of the planes belong to parts that are inside out"):
        check_cloud(turned, "boxes")


@pytest.mark.parametrize(
    ("make", "element", "problem"),
    [
        (lambda: cloud_of_mesh(VERTICES, TRIANGLES[1:], 50), "mesh", "open"),
        (
            lambda: cloud_of_mesh(VERTICES, np.vstack([TRIANGLES[:1, ::-1], TRIANGLES[1:]]), 50),
            "mesh",
            "oriented",
        ),
        (lambda: cloud_of_mesh(VERTICES, TRIANGLES[:, ::-1], 50), "mesh", "inside out"),
        (lambda: cloud_of_mesh(VERTICES, TRIANGLES + 3, 50), "triangles", "refers to vertex"),
        (lambda: cloud_of_mesh(VERTICES, TRIANGLES - 1, 50), "triangles", "vertex -1"),
        (lambda: cloud_of_mesh(VERTICES, TRIANGLES + 0.4, 50), "triangles", "has 0.4"),
        (lambda: cloud_of_mesh(VERTICES, TRIANGLES.ravel(), 50), "triangles", "shape"),
        (lambda: cloud_of_mesh(VERTICES[:, :2], TRIANGLES, 50), "vertices", "shape"),
        (lambda: cloud_of_mesh("abc", TRIANGLES, 50), "vertices", "'abc'"),
        (lambda: cloud_of_mesh([[1.0, 2.0], [3.0]], TRIANGLES, 50), "vertices", "[[1.0, 2.0], [3.0]]"),
        (lambda: cloud_of_mesh(VERTICES[:0], TRIANGLES[:0], 50), "mesh", "no triangles"),
        (lambda: cloud_of_geometry(BOX, 3), "count", "3"),
        (lambda: cloud_of_geometry(BOX, 5), "count", "6 regions"),
        (lambda: cloud_of_geometry(BOX, 100_000), "count", "100000"),
        (lambda: cloud_of_geometry(geometry.sphere(0.1, modulus=1e5, margin=1e-3), 50), "geometry", "margin"),
        (lambda: OrientedCloud(np.eye(3), np.eye(3)), "points", "shape"),
        (lambda: cloud_quality(OrientedCloud.half_space()), "cloud", "half space"),
        (lambda: cloud_quality(OrientedCloud(np.eye(4, 3), np.eye(4, 3)[[0, 1, 2, 0]])), "cloud", "no areas"),
    ],
)
def test_bad_input_is_named(make, element, problem):
    with pytest.raises(InputError) as error:
        make()
    assert error.value.element == element
    assert problem in error.value.problem
