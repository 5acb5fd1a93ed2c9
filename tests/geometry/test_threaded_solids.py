"""Compliant nuts fill what ``metric_nut`` bounds, have the field they promise, and press as the closed form says."""

import math
from dataclasses import replace

import numpy as np
import pytest
import trimesh

from hydro_sim_core import SceneBuilder, World
from hydro_sim_core.contact import compute_patch
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry import (
    MetricThread,
    compliant_nut,
    metric_bolt,
    metric_nut,
    rigid_mesh,
    tetrahedral_mesh,
    write_surface,
    write_vtk,
)
from hydro_sim_core.geometry.simplices import enclosed_volume, tetrahedron_volumes
from hydro_sim_core.geometry.threaded_solids import _two_layers
from hydro_sim_core.geometry.turned_surfaces import nut_walls

D, P, WIDTH = 16e-3, 2e-3, 24e-3
MINOR = D / 2 - 0.625 * math.sqrt(3.0) / 2.0 * P
E, DEPTH = 1e9, 0.5 * P
PLAIN, M16 = MetricThread(D, P), MetricThread(D, P, chamfer=1.2e-3)
#: Nuts of many kinds: whole, chamfered, in between two sections of the thread, fine, coarse, thin.
KINDS = [
    (PLAIN, 13e-3, WIDTH, None),
    (M16, 13e-3, WIDTH, None),
    (MetricThread(D, P, clearance=1e-4, segments=96), 12.3e-3, WIDTH, None),
    (MetricThread(8e-3, 1.25e-3, flank_rows=3), 5e-3, 13e-3, None),
    (MetricThread(0.1, 0.02), 0.03, 0.15, 0.02),
    (PLAIN, P, WIDTH, None),
]


@pytest.fixture(scope="module")
def nut():
    return compliant_nut(M16, 13e-3, WIDTH, modulus=E)


# --- the mesh


@pytest.mark.parametrize(("thread", "height", "width", "depth"), KINDS)
def test_it_fills_its_surface_once(thread, height, width, depth):
    """Volumes that are all positive add up to the enclosed one only if nothing is missing, twice or inside out."""
    made = compliant_nut(thread, height, width, modulus=E, depth=depth)
    assert tetrahedron_volumes(made.vertices, made.elements).min() > 0.0
    assert made.volume() == pytest.approx(enclosed_volume(*metric_nut(thread, height, width)), rel=1e-12)


def test_numbers_as_text_make_the_same_nut(nut):
    made = compliant_nut(MetricThread("16e-3", "2e-3", chamfer="1.2e-3"), "13e-3", "24e-3", modulus=str(E))
    np.testing.assert_array_equal(made.vertices, nut.vertices)
    np.testing.assert_array_equal(made.elements, nut.elements)


def test_no_tetrahedron_is_made_inside_out():
    wall, hexagon = nut_walls("nut", M16, 13e-3, WIDTH)
    radii = (wall.radii, wall.radii + DEPTH, hexagon[wall.columns])
    vertices = np.vstack([wall.at_radii(r) for r in radii])
    made = _two_layers(wall.triangles, np.minimum(wall.from_end, DEPTH))
    assert tetrahedron_volumes(vertices, made).min() > 1e-12


def test_the_volume_goes_to_the_closed_form():
    length = 13e-3
    square = (2 * (D / 2) ** 2 + 4 * MINOR**2 + 10 * ((D / 2) ** 2 + D / 2 * MINOR + MINOR**2) / 3.0) / 16.0
    exact = math.sqrt(3.0) / 2.0 * WIDTH**2 * length - math.pi * square * length
    off = [
        compliant_nut(replace(PLAIN, segments=n), length, WIDTH, modulus=E).volume() / exact - 1.0
        for n in (48, 96)
    ]
    assert off[0] / off[1] > 3.8
    assert abs(off[1]) < 1e-3


@pytest.mark.parametrize(("thread", "height", "width", "depth"), KINDS)
def test_its_surface_is_that_of_the_nut(thread, height, width, depth):
    """Watertight, with one hole, the same triangles on the thread, and no vertex anywhere else."""
    made = compliant_nut(thread, height, width, modulus=E, depth=depth)
    surface = metric_nut(thread, height, width)
    skin = trimesh.Trimesh(made.vertices, made.surface_triangles(), process=False)
    skin.remove_unreferenced_vertices()
    assert skin.is_watertight
    assert skin.is_winding_consistent
    assert skin.euler_number == 0
    wall, _ = nut_walls("nut", thread, height, width)
    bore = {tuple(sorted(row)) for row in wall.triangles.tolist()}
    assert bore <= {tuple(sorted(row)) for row in made.surface_triangles().tolist()}
    np.testing.assert_allclose(made.vertices[: len(wall.radii)], surface.vertices[: len(wall.radii)], atol=0)
    # All others are on the ends or on the hexagon.
    others = made.vertices[np.setdiff1d(made.surface_triangles(), np.arange(len(wall.radii)))]
    x, y, _ = others[(others[:, 2] > 1e-12) & (others[:, 2] < height - 1e-12)].T
    apothems = [x * math.cos(a) + y * math.sin(a) for a in math.pi / 6.0 + math.pi / 3.0 * np.arange(6)]
    np.testing.assert_allclose(np.max(apothems, axis=0), 0.5 * width, rtol=1e-12)


def test_an_m16_nut_has_no_slivers(nut):
    """The aspect of a tetrahedron: its volume beside that of a regular one on its longest edge."""
    corners = nut.vertices[nut.elements]
    longest = np.max(
        [np.linalg.norm(corners[:, i] - corners[:, j], axis=1) for i in range(4) for j in range(i)], axis=0
    )
    share = tetrahedron_volumes(nut.vertices, nut.elements) / (longest**3 / (6.0 * math.sqrt(2.0)))
    assert share.min() > 0.002


# --- the field


def test_the_pressure_is_zero_on_the_surface_and_positive_inside(nut):
    surface = np.unique(nut.surface_triangles())
    inside = np.setdiff1d(np.arange(len(nut.vertices)), surface)
    np.testing.assert_array_equal(nut.pressure[surface], 0.0)
    assert nut.pressure[inside].min() > 0.0
    assert nut.pressure.max() == nut.modulus == E
    assert not (nut.pressure[nut.elements] == 0.0).all(axis=1).any()


def test_it_rises_by_the_depth_across_crests_and_half_of_it_across_flanks():
    made = compliant_nut(replace(PLAIN, segments=192), 5 * P, WIDTH, modulus=E)
    on_thread = np.arange(len(made.vertices)) < len(made.vertices) / 3
    # Tetrahedra with a side on the thread, far from the ends.
    from_end = np.minimum(made.vertices[:, 2], 5 * P - made.vertices[:, 2])
    chosen = (on_thread[made.elements].sum(axis=1) == 3) & (from_end[made.elements].min(axis=1) > DEPTH)
    radii = np.where(on_thread, np.hypot(*made.vertices[:, :2].T), np.nan)[made.elements[chosen]]
    is_flank = np.nanmax(radii, axis=1) - np.nanmin(radii, axis=1) > 1e-9
    slope = np.linalg.norm(made.fields[chosen, :3], axis=1)
    np.testing.assert_allclose(slope[is_flank], 2.0 * E / DEPTH, rtol=4e-3)
    np.testing.assert_allclose(slope[~is_flank], E / DEPTH, rtol=4e-3)


@pytest.mark.parametrize("height", [13e-3, 1e-3])
def test_it_falls_to_the_ends_in_proportion(height):
    """Within the depth, or half the height of a nut that is thinner than two depths."""
    made = compliant_nut(PLAIN, height, WIDTH, modulus=E)
    inside = made.pressure > 0.0
    z = made.vertices[inside, 2]
    share = np.minimum(np.minimum(z, height - z) / min(DEPTH, height / 2), 1.0)
    np.testing.assert_allclose(made.pressure[inside], E * share, rtol=1e-12)


def test_a_margin_continues_it_outside(nut):
    wide = compliant_nut(M16, 13e-3, WIDTH, modulus=E, margin=1e-5)
    assert wide.margin == 1e-5
    np.testing.assert_array_equal(wide.elements[: len(nut.elements)], nut.elements)
    below = wide.pressure[len(nut.vertices) :]
    assert -2.1 * E / DEPTH * 1e-5 < below.min() < below.max() < 0.0


# --- contact


def pressed(segments, turns, drop, clearance=1e-4, turned=0.0):
    """The patch of a nut that stands lower on a rigid bolt than it may."""
    thread = replace(PLAIN, segments=segments)
    made = compliant_nut(thread, turns * P, WIDTH, modulus=E)
    bolt = rigid_mesh(*metric_bolt(replace(thread, clearance=clearance), (turns + 4) * P))
    X_WN = np.eye(4)
    X_WN[:2, :2] = [[math.cos(turned), -math.sin(turned)], [math.sin(turned), math.cos(turned)]]
    X_WN[2, 3] = (2.0 + turned / (2.0 * math.pi)) * P - drop
    return compute_patch(bolt, np.eye(4), made, X_WN)


def force_a_turn(drop, clearance=1e-4):
    """Closed form: flanks overlap by h along the radius, and the pressure is E h / depth, less over the nut's crest."""
    h = math.sqrt(3.0) * drop - clearance
    outer = D / 2 - clearance
    at_crest = MINOR * h**2 / 2.0 + h**3 / 3.0
    return 2.0 * math.pi * E / DEPTH * (at_crest + h * (outer**2 - (MINOR + h) ** 2) / 2.0)


@pytest.mark.parametrize("drop", [8e-5, 1.2e-4])
def test_two_turns_more_press_as_the_closed_form_says(drop):
    off = []
    for segments in (48, 96):
        longer, shorter = pressed(segments, 6, drop), pressed(segments, 4, drop)
        two_turns = longer.force_on_b - shorter.force_on_b
        off.append(two_turns[2] / (2.0 * force_a_turn(drop)) - 1.0)
        assert np.abs(two_turns[:2]).max() < 1e-3 * two_turns[2]
    assert abs(off[1]) < 0.004
    assert abs(off[1]) < 0.5 * abs(off[0])


def test_the_moment_about_the_axis_is_that_of_a_screw():
    """A screw motion changes no overlap, so without friction force and moment do no work in it."""
    longer, shorter = pressed(48, 6, 8e-5), pressed(48, 4, 8e-5)
    force = longer.force_on_b[2] - shorter.force_on_b[2]
    moment = longer.moment_on_b_at_reference[2] - shorter.moment_on_b_at_reference[2]
    assert moment == pytest.approx(-force * P / (2.0 * math.pi), rel=2e-3)


def test_between_two_columns_chords_make_it_press_otherwise_by_little():
    """Chords of 48 segments are up to 17 micrometres off the thread, whatever the turn."""
    there, between = (pressed(48, 5, 8e-5, turned=share * 2.0 * math.pi / 48) for share in (0.0, 0.5))
    back = pressed(48, 5, 8e-5, turned=2.0 * math.pi / 48)
    assert back.force_on_b[2] == pytest.approx(there.force_on_b[2], rel=1e-2)
    assert between.force_on_b[2] == pytest.approx(there.force_on_b[2], rel=0.2)


# --- files


def test_a_file_holds_it_and_a_scene_takes_it(tmp_path, nut):
    write_vtk(nut, tmp_path / "nut.vtk")
    write_surface(metric_bolt(PLAIN, 20e-3), tmp_path / "bolt.obj")
    stiffer = tetrahedral_mesh(tmp_path / "nut.vtk", modulus=3.0 * E)
    np.testing.assert_array_equal(stiffer.elements, nut.elements)
    np.testing.assert_allclose(stiffer.pressure, 3.0 * nut.pressure, rtol=1e-15)
    scene = SceneBuilder("nut")
    scene.add_static("bolt", "mesh", path=str(tmp_path / "bolt.obj"), compliance="rigid")
    body = scene.add_body("nut", 0.033, inertia=(3e-6, 3e-6, 4e-6), xyz=(0, 0, 2 * P))
    body.add_shape("mesh", path=str(tmp_path / "nut.vtk"), modulus=2.0 * E, margin=0.0)
    assert World(scene.build()).frame_pose("nut")[2, 3] == 2 * P


# --- what is refused


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"modulus": 0.0}, "compliant_nut: modulus: is 0"),
        ({"modulus": math.nan}, "compliant_nut: modulus: is nan"),
        ({"depth": -1e-3}, "compliant_nut: depth: is -0.001"),
        ({"depth": 4e-3}, "depth: of 0.004 m reaches through the wall; give less than 0.004 m"),
        ({"width": 16.5e-3}, "depth: of 0.001 m reaches through the wall; give less than 0.00025 m"),
        ({"width": 15e-3}, "compliant_nut: width: of 0.015 m is less than its thread"),
        ({"pitch": 5e-3}, "compliant_nut: pitch: of 0.005 m does not fit"),
        ({"segments": 64}, "compliant_nut: segments: are 64: none at some corner"),
        ({"segments": 40}, "compliant_nut: segments: are 40"),
        ({"height": math.inf}, "compliant_nut: height: is inf"),
        ({"clearance": 1e-3}, "compliant_nut: clearance: of 0.001 m is too large"),
        ({"margin": -1e-5}, "compliant_nut: margin: is -1e-05"),
        ({"margin": math.inf}, "compliant_nut: margin: is inf"),
    ],
)
def test_what_is_none_is_told(values, told):
    of_thread = {key: value for key, value in values.items() if key in PLAIN.__dataclass_fields__}
    sizes = {"height": 13e-3, "width": WIDTH, "modulus": E}
    sizes |= {key: value for key, value in values.items() if key not in of_thread}
    with pytest.raises(InputError) as error:
        compliant_nut(replace(PLAIN, **of_thread), **sizes)
    assert told in str(error.value)
