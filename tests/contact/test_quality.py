"""The quality of a patch: its estimated error against the true one, and what faces alone cannot tell."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hydro_sim_core.contact import ContactPatch, FaceArrays, compute_patch
from hydro_sim_core.contact.pressure_field.polygon import MAX_VERTICES
from hydro_sim_core.contact.quality import CREASE_COSINE, DEEP_SHARE, patch_quality
from hydro_sim_core.geometry import rigid_mesh, sphere
from support.contact.poses import pose, random_rotation
from support.contact.resolution_cases import (
    MODULUS,
    ORIENTATIONS,
    RADIUS,
    RIGID_GROUND,
    SMOOTH,
    ball_on_rigid_ground,
    box_pair,
    two_balls,
)

PROPERTY = settings(max_examples=50, deadline=None)


def made_faces(polygons, pressures, field_gradients, normals=None, slopes=(np.inf, 1.0)) -> FaceArrays:
    """Faces from their corners, m, pressures at the centroids and gradients; normals along z unless given."""
    count = len(polygons)
    vertices = np.zeros((count, MAX_VERTICES, 3))
    centroids, areas = np.zeros((count, 3)), np.zeros(count)
    for i, polygon in enumerate(polygons):
        vertices[i, : len(polygon)] = polygon
        fans = np.array([[polygon[0], polygon[k], polygon[k + 1]] for k in range(1, len(polygon) - 1)])
        parts = 0.5 * np.linalg.norm(np.cross(fans[:, 1] - fans[:, 0], fans[:, 2] - fans[:, 0]), axis=1)
        areas[i], centroids[i] = parts.sum(), parts @ fans.mean(axis=1) / parts.sum()
    return FaceArrays(
        centroids=centroids,
        normals=np.tile([0.0, 0.0, 1.0], (count, 1)) if normals is None else np.array(normals),
        areas=areas,
        pressures=np.array(pressures, dtype=float),
        gradients=np.tile(slopes, (count, 1)),
        field_gradients=np.array(field_gradients, dtype=float),
        vertices=vertices,
        num_vertices=np.array([len(polygon) for polygon in polygons], dtype=np.int64),
    )


def strips(count: int, width: float = 2.0, curvature: float = 1.0) -> tuple[FaceArrays, float]:
    """A plane cuts a field ``10 - c x^2 / 2 - 100 z``, linear between ``count + 1`` lines: faces, and what it lacks."""
    x = np.linspace(-width / 2.0, width / 2.0, count + 1)
    p = 10.0 - curvature * x**2 / 2.0
    polygons = [[[a, 0.0, 0.0], [b, 0.0, 0.0], [b, 3.0, 0.0], [a, 3.0, 0.0]] for a, b in pairwise(x)]
    gradients = [[slope, 0.0, -100.0] for slope in np.diff(p) / np.diff(x)]
    faces = made_faces(polygons, (p[1:] + p[:-1]) / 2.0, gradients, slopes=(100.0, np.inf))
    true = 3.0 * (10.0 * width - curvature * width**3 / 24.0)
    return faces, 1.0 - float(faces.areas @ faces.pressures) / true


@cache
def ball_patch(resolution: float, **options) -> ContactPatch:
    ball = sphere(RADIUS, resolution=resolution, modulus=MODULUS, **options)
    return compute_patch(ball, pose([0.1, 0.2, 0.09], ORIENTATIONS[0]), RIGID_GROUND, pose())


# --- the estimate beside the true error


@pytest.mark.heavy(4)
@pytest.mark.parametrize("name", SMOOTH)
def test_estimate_is_near_the_true_error_of_smooth_shapes(name):
    """From four faces to thousands, and while the true error falls from 100 % to below 1 %."""
    case, compared = SMOOTH[name], 0
    for resolution in (0.15, 0.08, 0.04, 0.02, 0.01):
        for rotation in ORIENTATIONS[:2]:
            patch = case.patch(resolution, rotation)
            if patch.num_faces:
                compared += 1
                error = case.error(patch, rotation)
                assert 0.28 * error < patch.quality.force_error < 3.0 * error
    assert compared >= 5


def test_coarse_patches_are_told_from_fine_ones():
    """A ball 10 mm deep: 48 % off with edges of 40 mm, 4 % with 10 mm."""
    assert not ball_patch(0.04).quality.is_resolved
    assert ball_patch(0.01).quality.is_resolved


@pytest.mark.heavy(3)
@pytest.mark.parametrize("splits", [0, 1, 2])
@pytest.mark.parametrize("partner", ["compliant box", "rigid box", "rigid ground"])
def test_boxes_are_exact_in_any_mesh(partner, splits):
    sizes = []
    for seed in range(6):
        patch = compute_patch(*box_pair(partner, seed, splits))
        sizes.append(patch.num_faces)
        assert patch.quality.force_error <= 1e-9
        assert patch.quality.is_resolved
    assert max(sizes) > 20


@pytest.mark.parametrize("meshes", [(0.005, 0.04), (0.04, 0.005)])
@pytest.mark.parametrize("other_modulus", [1e3, 1e8, None])
def test_coarse_body_on_a_fine_one(other_modulus, meshes):
    """Many faces do not make a patch good if one of the bodies is coarse, whichever is the softer."""
    case = two_balls(0.03, other_modulus)
    rotation = ORIENTATIONS[1]
    a, X_WA, _, X_WB = case.pair(meshes[0], rotation)
    patch = compute_patch(a, X_WA, case.pair(meshes[1], rotation)[2], X_WB)
    error = case.error(patch, rotation)
    assert patch.num_faces > 400
    assert error > 0.05
    assert error / 3.0 < patch.quality.force_error < 3.0 * error


def test_estimate_falls_with_the_square_of_the_edges():
    errors = [ball_patch(resolution).quality.force_error for resolution in (0.02, 0.01, 0.005)]
    np.testing.assert_allclose(np.array(errors[:-1]) / errors[1:], 4.0, rtol=0.2)


@pytest.mark.parametrize("count", [4, 9, 32])
def test_strips_of_a_parabola(count):
    """Long strips are the worst kind of cell for the common factor: 2.7 times their error."""
    faces, error = strips(count)
    inner = (count - 1) / count  # nothing beyond the outer strips tells of their outer halves
    assert patch_quality(faces).force_error == pytest.approx(2.7 * inner * error, rel=2e-2)


def test_margin_hardly_changes_the_estimate():
    """Its skirt carries nothing, is not counted, and takes no part of the error."""
    plain, skirted = ball_patch(0.01), ball_patch(0.01, margin=1e-3)
    assert (skirted.pressures < 0.0).any()
    assert skirted.quality.num_faces == np.count_nonzero(skirted.pressures > 0.0) < skirted.num_faces
    assert skirted.quality.force_error == pytest.approx(plain.quality.force_error, rel=0.15)


# --- what must not matter


@pytest.mark.parametrize("other_modulus", [3e5, None])
def test_same_for_both_representations_and_either_order(other_modulus):
    a, X_WA, b, X_WB = two_balls(0.02, other_modulus).pair(0.03, ORIENTATIONS[0])
    error = compute_patch(a, X_WA, b, X_WB).quality.force_error
    assert error > 0.1
    triangles = compute_patch(a, X_WA, b, X_WB, representation="triangle")
    assert triangles.quality.force_error == pytest.approx(error, rel=1e-9)
    assert compute_patch(b, X_WB, a, X_WA).quality.force_error == pytest.approx(error, rel=1e-9)


@PROPERTY
@given(st.integers(0, 10**6), st.floats(-3.0, 3.0))
def test_same_anywhere_and_in_any_units(seed, exponent):
    """Neither a common motion nor other units of length and force change it."""
    rng = np.random.default_rng(seed)
    faces = ball_patch(0.03).faces
    X_VW = pose(rng.uniform(-5.0, 5.0, 3), random_rotation(rng))
    R, p, metre, newton = X_VW[:3, :3], X_VW[:3, 3], 10.0**exponent, 10.0 ** rng.uniform(-6.0, 6.0)
    there = FaceArrays(
        centroids=metre * (faces.centroids @ R.T + p),
        normals=faces.normals @ R.T,
        areas=metre**2 * faces.areas,
        pressures=newton / metre**2 * faces.pressures,
        gradients=newton / metre**3 * faces.gradients,
        field_gradients=newton / metre**3 * faces.field_gradients @ R.T,
        vertices=metre * (faces.vertices @ R.T + p),
        num_vertices=faces.num_vertices,
    )
    here, moved = patch_quality(faces), patch_quality(there)
    assert moved.force_error == pytest.approx(here.force_error, rel=1e-6)
    assert moved.face_size_ratio == pytest.approx(here.face_size_ratio, rel=1e-6)
    assert moved.num_faces == here.num_faces


# --- patches that tell little


def test_no_faces():
    patch = ball_on_rigid_ground(-0.01).patch(0.02, ORIENTATIONS[0])
    quality = patch.quality
    assert (quality.num_faces, quality.face_size_ratio, quality.force_error) == (0, 0.0, 0.0)
    assert quality.is_resolved
    assert not quality.is_deep


def test_skirt_alone_has_no_force_to_be_wrong():
    """A ball within its margin of the ground: faces, but none that presses."""
    ball = sphere(RADIUS, resolution=0.01, modulus=MODULUS, margin=2e-3)
    quality = compute_patch(ball, pose([0.0, 0.0, RADIUS + 1e-3]), RIGID_GROUND, pose()).quality
    assert (quality.num_faces, quality.face_size_ratio, quality.force_error) == (0, 0.0, 0.0)


def test_single_face_tells_nothing():
    """One triangle pressed flat into compliant ground: its force is right, but nothing shows that."""
    triangle = rigid_mesh(
        np.array([[0.0, 0.0, 0.0], [0.0, 0.1, 0.0], [0.1, 0.0, 0.0]]),
        np.array([[0, 1, 2]]),
        open_surface=True,
    )
    ground = SMOOTH["rigid ball, compliant ground"].pair(0.1, np.eye(3))[2]
    patch = compute_patch(triangle, pose([0.0, 0.0, -0.01]), ground, pose())
    assert patch.quality.num_faces == 1
    assert patch.quality.face_size_ratio == 1.0
    assert patch.quality.force_error == 1.0
    assert not patch.quality.is_resolved


def test_spike_of_a_single_face_tells_nothing():
    """Two sides of the same polygon on each other are no edge between faces."""
    polygon = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 1.0, 0.0]]
    assert patch_quality(made_faces([polygon], [1.0], [[0.0, 0.0, 1.0]])).force_error == 1.0


def test_size_ratio_of_faces_and_of_slivers():
    """``1 / sqrt(n)`` for equal faces; else the mean weighted by area, which a sliver hardly changes."""
    assert patch_quality(strips(16)[0]).face_size_ratio == pytest.approx(0.25, rel=1e-9)
    x = [0.0, 1.0, 2.0, 4.0, 4.0001]
    polygons = [[[a, 0.0, 0.0], [b, 0.0, 0.0], [b, 1.0, 0.0], [a, 1.0, 0.0]] for a, b in pairwise(x)]
    quality = patch_quality(made_faces(polygons, [1.0] * 4, [[0.0, 0.0, 1.0]] * 4))
    assert quality.face_size_ratio == pytest.approx(np.sqrt(6.0) / 4.0, rel=1e-4)


def roof(degrees, pressures=(1.0, 1.0)) -> tuple[FaceArrays, float]:
    """Two faces of 1 m^2 that turn by an angle, pressed into a half space of 1 Pa/m: faces, and the missing force.

    They share an edge of 1 m, half a metre from both centroids; the normals differ by twice the sine of half the angle.
    """
    half = math.radians(degrees) / 2.0
    c, s = math.cos(half), math.sin(half)
    left = [[-c, 0.0, s], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-c, 1.0, s]]
    right = [[0.0, 0.0, 0.0], [c, 0.0, s], [c, 1.0, s], [0.0, 1.0, 0.0]]
    normals = [[-s, 0.0, -c], [s, 0.0, -c]]
    faces = made_faces([left, right], pressures, [[0.0, 0.0, -1.0]] * 2, normals=normals)
    return faces, 0.9 * 0.25 * 2.0 * s


@pytest.mark.parametrize(("degrees", "counts"), [(20.0, True), (70.5, True), (90.0, False), (120.0, False)])
def test_sharp_turns_are_edges_of_the_body(degrees, counts):
    """A roof pressed into a compliant half space; below ``CREASE_COSINE`` it may stand for something round."""
    assert (math.cos(math.radians(degrees)) > CREASE_COSINE) is counts
    faces, missing = roof(degrees)
    expected = missing / (missing + 2.0) if counts else 0.0
    assert patch_quality(faces).force_error == pytest.approx(expected, rel=1e-12)


def test_skirt_takes_half_of_what_is_missing_at_its_edge():
    """The half that belongs to a face without force is no error of the force."""
    faces, missing = roof(20.0, pressures=(1.0, -1.0))
    quality = patch_quality(faces)
    assert quality.num_faces == 1
    assert quality.force_error == pytest.approx(0.5 * missing / (0.5 * missing + 1.0), rel=1e-12)


@PROPERTY
@given(st.integers(0, 10**6), st.integers(1, 12), st.booleans())
def test_any_faces_give_an_error_between_nothing_and_everything(seed, count, rigid):
    """Faces that fit nothing, too: scattered triangles with slivers, skirts, steep and flat fields."""
    rng = np.random.default_rng(seed)
    corners = rng.normal(size=(count, 3, 3)) * 10.0 ** rng.uniform(-6.0, 2.0)
    corners[rng.random(count) < 0.2, 1] = corners[0, 0]
    polygons = [
        triangle for triangle in corners if np.linalg.norm(np.cross(*np.diff(triangle, axis=0))) > 0.0
    ]
    if not polygons:
        return
    n = len(polygons)
    normals = rng.normal(size=(n, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    gradients = rng.normal(size=(n, 3)) * 10.0 ** rng.uniform(-3.0, 9.0, (n, 1))
    slopes = (np.inf, 1.0) if rigid else (10.0 ** rng.uniform(0.0, 9.0), 10.0 ** rng.uniform(0.0, 9.0))
    faces = made_faces(polygons, rng.normal(size=n) * 1e4, gradients, normals, slopes)
    quality = patch_quality(faces, dropped_force=float(rng.uniform(0.0, 1.0)))
    assert 0.0 <= quality.force_error <= 1.0
    assert 0.0 <= quality.face_size_ratio <= 1.0
    assert 0.0 <= quality.lost_force_share <= 1.0


# --- what the search for faces adds


def test_dropped_force_makes_a_patch_deep():
    faces = ball_patch(0.02).faces
    force = float(faces.areas @ faces.pressures)
    quality = patch_quality(faces, dropped_force=3.0 * force)
    assert quality.lost_force_share == pytest.approx(0.75, rel=1e-12)
    assert quality.is_deep
    little = DEEP_SHARE / (1.0 - DEEP_SHARE) * force
    assert not patch_quality(faces, dropped_force=0.99 * little).is_deep
    assert patch_quality(faces, dropped_force=1.01 * little).is_deep
    assert patch_quality(faces).lost_force_share == 0.0


def test_overlap_without_faces_is_all_error():
    faces = ball_on_rigid_ground(-0.01).patch(0.02, ORIENTATIONS[0]).faces
    quality = patch_quality(faces, overlaps_without_faces=True)
    assert quality.overlaps_without_faces
    assert quality.force_error == 1.0
    assert not quality.is_resolved
    everything_dropped = patch_quality(faces, dropped_force=2.0, overlaps_without_faces=True)
    assert everything_dropped.lost_force_share == 1.0
    assert everything_dropped.is_deep


@pytest.mark.parametrize("count", [1, 2, 5])
def test_squares_of_a_grid_keep_their_share_of_the_second_moment(count):
    """Of n by n squares each has 1 / n^4 of the second moment of all about its own centre."""
    corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]) / count
    steps = np.arange(count) / count
    polygons = [np.add(corners, [x, y, 0.0]) for x in steps for y in steps]
    faces = made_faces(polygons, np.ones(count**2), np.tile([0.0, 0.0, -1.0], (count**2, 1)))
    assert patch_quality(faces).moment_error == pytest.approx(1.0 / count**2, rel=1e-12)


@pytest.mark.parametrize("count", [4, 30])
def test_strips_side_by_side_hold_nothing_of_a_tilt_along_them(count: int) -> None:
    """However many there are; as a share of the moments of both directions it was 6 % of a patch 4 : 1."""
    strips = [
        np.array([(x, 0, 0), (x + 1.0 / count, 0, 0), (x + 1.0 / count, 0.25, 0), (x, 0.25, 0)])
        for x in np.arange(count) / count
    ]
    faces = made_faces(strips, np.ones(count), np.zeros((count, 3)))
    assert patch_quality(faces).moment_error == pytest.approx(1.0, rel=1e-12)


def test_faces_without_pressure_have_no_moment_to_be_wrong():
    square = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    faces = made_faces([square, np.add(square, [2.0, 0.0, 0.0])], [1.0, -1.0], np.zeros((2, 3)))
    assert patch_quality(faces).moment_error == pytest.approx(1.0)
    assert patch_quality(made_faces([square], [-1.0], np.zeros((1, 3)))).moment_error == 0.0


def test_of_a_static_patch_the_moment_is_exact():
    """It is what a world tells of fine meshes, whose faces act at their centroids in a step."""
    patch = ball_patch(0.02)
    assert patch.quality.moment_error == 0.0
    at_centroids = patch_quality(patch.faces).moment_error
    assert replace(patch, apart=0.0).quality.moment_error == at_centroids > 0.0
    assert replace(patch, apart=0.5).quality.moment_error == pytest.approx(0.75 * at_centroids, rel=1e-15)
