"""A patch says when force was dropped and when bodies overlap without any face."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from support.contact.poses import pose

g = hs.geometry
BALL = g.sphere(0.05, resolution=0.02, modulus=1e5)
TURN = Rotation.from_euler("xyz", [0.3, 0.5, 0.7]).as_matrix()


def patch(a, b, p_WB, R_WB=TURN):
    return hs.contact.compute_patch(a, pose(rotation=TURN), b, pose(p_WB, R_WB))


def plane_through(a, depth):
    """Contact with a rigid ground whose plane lies ``depth`` above the lowest point of a ball of radius 0.05 m."""
    return hs.contact.compute_patch(a, pose([0.0, 0.0, 0.05 - depth], TURN), g.half_space(), np.eye(4))


@pytest.mark.parametrize(("depth", "deep"), [(0.01, False), (0.03, False), (0.06, True), (0.09, True)])
def test_ball_past_a_plane_by_its_centre(depth, deep):
    found = plane_through(BALL, depth)
    assert found.quality.is_deep == deep
    assert found.quality.lost_force_share == pytest.approx(1.0 if deep else 0.0, abs=2e-3)
    assert not found.overlaps_without_faces


def test_thin_plate_inside_a_ball():
    """Its far side pushes the other way; both are parts of the surface of equal pressure.

    All of it is what the energy asks for, a sixth of the force of the near side: no step would hold a plate by that.
    """
    plate, X_WB = g.box(0.2, 0.2, 0.004), pose([0.0, 0.0, 0.02], TURN)
    whole = hs.contact.compute_patch(plate, np.eye(4), BALL, X_WB)
    slope = [hs.contact.compute_patch(plate, pose([0.0, 0.0, z]), BALL, X_WB).energy for z in (-1e-5, 1e-5)]
    assert whole.force_on_b[2] == pytest.approx((slope[1] - slope[0]) / 2e-5, rel=1e-5)
    found = hs.contact.compute_patch(plate, np.eye(4), BALL, X_WB, every_polygon=False)
    near = hs.contact.compute_patch(
        g.box(0.2, 0.2, 0.2), pose([0.0, 0.0, -0.098]), BALL, pose([0.0, 0.0, 0.02], TURN)
    )
    # Beyond 5/8 pi from the far side's normal, away from the ball's axis, faces of that side count.
    assert 0.9 < found.force_on_b[2] / near.force_on_b[2] < 1.0
    assert 0.15 < whole.force_on_b[2] / near.force_on_b[2] < 0.2
    assert near.dropped_force == 0.0
    assert found.quality.is_deep
    assert 0.3 < found.quality.lost_force_share < 0.5


INSIDE = [0.01, -0.02, 0.015]
SWALLOWERS = {
    "rigid box": g.box(0.4, 0.4, 0.4),
    "much stiffer ball": g.sphere(0.3, resolution=0.1, modulus=1e8),
}


@pytest.mark.parametrize("name", SWALLOWERS)
def test_swallowed_soft_ball(name):
    for a, b in ((SWALLOWERS[name], BALL), (BALL, SWALLOWERS[name])):
        found = patch(a, b, INSIDE)
        assert found.num_faces == 0
        assert found.overlaps_without_faces
        apart = patch(a, b, [0.36, 0.36, 0.36])  # bounding boxes overlap, the bodies do not
        assert found.quality.overlaps_without_faces
        assert apart.num_faces == 0
        assert not apart.overlaps_without_faces


@pytest.mark.parametrize("ground", [g.half_space(), g.half_space(1e7, slab_thickness=0.1)])
def test_ball_below_the_ground(ground):
    below = hs.contact.compute_patch(BALL, pose([0.0, 0.0, -0.2]), ground, np.eye(4))
    above = hs.contact.compute_patch(BALL, pose([0.0, 0.0, 0.2]), ground, np.eye(4))
    assert below.num_faces == above.num_faces == 0
    assert below.overlaps_without_faces
    assert not above.overlaps_without_faces


def test_rigid_body_in_a_soft_one_has_faces():
    found = patch(g.sphere(0.02, resolution=0.01), BALL, INSIDE)
    assert found.num_faces > 0
    assert not found.overlaps_without_faces


def test_open_surface_has_no_inside():
    box = g.box(0.4, 0.4, 0.4)
    open_box = g.rigid_mesh(box.vertices, box.elements[1:], open_surface=True)
    assert not patch(open_box, BALL, INSIDE).overlaps_without_faces


def test_second_piece_inside_is_seen():
    """Of two separate balls that make one body, either may be the one that is swallowed."""
    cube = g.box(0.4, 0.4, 0.4)
    for offset in ([1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]):
        vertices = np.vstack([BALL.vertices, BALL.vertices + offset])
        elements = np.vstack([BALL.elements, BALL.elements + len(BALL.vertices)])
        both = g.compliant_mesh(vertices, elements, np.tile(BALL.pressure, 2))
        for p_WB in ([0.01, 0.0, 0.0], [0.01 - offset[0], 0.0, 0.0]):
            found = hs.contact.compute_patch(cube, np.eye(4), both, pose(p_WB))
            assert found.overlaps_without_faces
