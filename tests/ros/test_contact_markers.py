"""Contact in RViz: markers that are updated in place and end once, arrows, a legend, words on coarse patches."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from visualization_msgs.msg import Marker, MarkerArray

from hydro_sim_core import contact, geometry
from hydro_sim_core.drawing.focus import Focus
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.drawing.stroke_font import text_strokes, text_width
from hydro_sim_core.messages.contact_arrows import ContactArrows
from hydro_sim_core.messages.contact_markers import ContactMarkers
from hydro_sim_core.messages.pressure_legend import legend, legend_words

STAMP = (1, 500)
FOCUS = Focus(np.zeros(3), np.full(3, 0.1))


def _pose(z):
    X = np.eye(4)
    X[2, 3] = z
    return X


def _patch(depth, resolution=0.02):
    """A compliant sphere pressed ``depth`` (m) into the ground."""
    sphere = geometry.sphere(0.05, resolution=resolution, modulus=1e5)
    ground = geometry.half_space()
    return contact.compute_patch(sphere, _pose(0.05 - depth), ground, _pose(0.0))


@pytest.fixture
def encode():
    markers = ContactMarkers(PressureScale(20e3), "world", FOCUS)
    return lambda *patches: deserialize_message(markers.encode(patches, STAMP), MarkerArray).markers


def _of_type(markers, kind):
    return [marker for marker in markers if marker.type == kind and marker.ns != "legend"]


def test_point_count_stays_while_the_patch_changes(encode):
    """A growing patch reallocates by doubling; a shrinking one keeps its count."""
    counts = [
        len(_of_type(encode(_patch(depth)), Marker.TRIANGLE_LIST)[0].points) for depth in (8e-3, 4e-3, 1e-3)
    ]
    assert len(set(counts)) == 1


DELETIONS = 300  # ten seconds at the default rate


@pytest.fixture
def shown_by():
    """Keys and actions of the markers but for the legend, of arrays one after the other."""
    markers = ContactMarkers(PressureScale(20e3), "world", FOCUS, legend_position=(0.0, 0.0, 0.0))

    def encode(*patches):
        found = deserialize_message(markers.encode(patches, STAMP), MarkerArray).markers
        return {(m.ns, m.id, m.type): m.action for m in found if m.ns != "legend"}

    return encode


def test_ended_contact_is_deleted_for_ten_seconds(shown_by):
    """Arrays after the end delete all that was shown, as a slow reader misses many; then they are silent about it."""
    shown, apart = shown_by(_patch(0.004)), _patch(-0.01)
    assert {ns.partition("/")[0] for ns, _, _ in shown} == {"faces", "edges", "quality", "force"}
    assert shown_by(apart) == dict.fromkeys(shown, Marker.DELETE)
    later = [shown_by(apart) for _ in range(DELETIONS)]
    assert later == [later[0]] * (DELETIONS - 1) + [{}]


def test_a_contact_that_begins_again_is_not_deleted(shown_by):
    """Deletions end when the marker is shown again, and start anew when it ends."""
    patch = _patch(0.004)
    shown = shown_by(patch)
    shown_by()
    assert shown_by(patch) == dict.fromkeys(shown, Marker.ADD)
    after = [shown_by() for _ in range(DELETIONS + 1)]
    assert after == [dict.fromkeys(shown, Marker.DELETE)] * DELETIONS + [{}]


def test_legend_names_unit_and_full_scale():
    """Title, ends and middle, on a plate that holds all letters."""
    words = legend_words(PressureScale(20e3))
    assert [text for text, _, _ in words] == ["contact pressure, kPa", "0", "10", "20"]
    plate, ink = legend(PressureScale(20e3), (1.0, 2.0, 3.0), 0.5)
    assert np.isfinite(ink.points).all()
    assert (ink.points.min(axis=0) > plate.points.min(axis=0)).tolist() == [True, False, True]
    assert (ink.points.max(axis=0) < plate.points.max(axis=0)).tolist() == [True, False, True]
    assert plate.position == ink.position == (1.0, 2.0, 3.0)


def test_legend_can_be_read_against_any_background_and_from_behind():
    """Dark letters on a light plate, in front of it on both sides, and behind it from the other end."""
    scale = PressureScale(20e3)
    plate, ink = legend(scale, (0.0, 0.0, 0.0), 1.0)
    assert max(ink.rgba[:3]) < 0.1
    assert plate.colours[:6].min() > 0.9
    front, back = np.split(ink.points, 2)
    assert (front[:, 1] < plate.points[:, 1].min()).all()
    assert (back[:, 1] > plate.points[:, 1].max()).all()
    assert np.allclose(back * (-1.0, -1.0, 1.0) + (1.0, 0.0, 0.0), front)
    bar = plate.points[6:, 0].reshape(2, -1)
    assert bar[0, 0] < 0.1
    assert bar[1, 0] > 0.9
    assert np.allclose(plate.colours[6], scale.colours(np.array([0.0]))[0], atol=0.05)


@pytest.mark.parametrize("maximum", [0.02, 1.0, 20e3, 12345.6, 2.5e9, 1e12])
def test_legend_has_letters_for_every_scale(maximum):
    for text, x, _ in legend_words(PressureScale(maximum)):
        assert len(text_strokes(text))
        assert x + 0.041 * text_width(text) < 1.0


def test_legend_stands_beside_what_is_handled_unless_told(encode):
    elsewhere = ContactMarkers(PressureScale(20e3), "world", FOCUS, (7.0, 8.0, 9.0))
    told = deserialize_message(elsewhere.encode([], STAMP), MarkerArray).markers
    assert {(m.pose.position.x, m.pose.position.y, m.pose.position.z) for m in told} == {(7.0, 8.0, 9.0)}
    for marker in encode():
        corner = np.array([getattr(marker.pose.position, axis) for axis in "xyz"])
        assert 0.0 < FOCUS.distances(corner[None])[0] < 2.0 * FOCUS.size


def _arrow(markers, pair="ball on ground"):
    (arrow,) = [m for m in markers if m.ns == f"force/{pair}" and m.type == Marker.ARROW]
    return np.array([[point.x, point.y, point.z] for point in arrow.points])


def test_arrow_of_the_force_ends_at_the_centre_of_pressure(encode):
    """It points along the force on B, and says its size; the longest stands for the next of 1, 2, 5, 10 … N."""
    patch = replace(_patch(0.004), name_a="ball", name_b="ground")
    markers = encode(patch)
    tail, tip = _arrow(markers)
    assert np.allclose(tip, patch.centroid, atol=1e-12)
    length = 0.6 * FOCUS.size
    size = np.linalg.norm(patch.force_on_b)
    assert 2.0 < size < 5.0
    assert np.allclose(tip - tail, patch.force_on_b * length / 5.0)
    (words,) = [m for m in markers if m.ns == "force/ball on ground" and m.type == Marker.TEXT_VIEW_FACING]
    assert words.text == f"{size:.2g} N"


def test_one_scale_of_arrows_grows_and_never_shrinks(encode):
    """A small force is drawn as small as it was beside the largest so far."""
    small, large = (replace(_patch(d), name_a="ball", name_b="ground") for d in (0.004, 0.008))
    assert 10.0 < np.linalg.norm(large.force_on_b) < 20.0
    before, between, after = (np.diff(_arrow(encode(patch)), axis=0) for patch in (small, large, small))
    assert np.allclose(after, before * 5.0 / 20.0)
    assert np.allclose(between, large.force_on_b * 0.6 * FOCUS.size / 20.0)


def test_moment_is_that_about_the_centre_of_pressure(encode):
    """None of a ball pressed straight down; a twist is an arrow from the centre."""
    patch = replace(_patch(0.004), name_a="ball", name_b="ground")
    assert not [m for m in encode(patch) if m.ns.startswith("moment/")]
    turned = patch.moment_on_b_at_reference + np.array([0.0, 0.0, 0.01])
    twisted = replace(patch, moment_on_b_at_reference=turned)
    (arrow,) = [m for m in encode(twisted) if m.ns == "moment/ball on ground"]
    ends = np.array([[point.x, point.y, point.z] for point in arrow.points])
    assert np.allclose(ends[0], patch.centroid)
    # As long as the force that has this moment at a tenth of the longest arrow.
    assert np.allclose(ends[1] - ends[0], [0.0, 0.0, 0.01 / 0.1 / 5.0], atol=1e-3)


def test_faces_lie_a_little_out_of_the_stiffer_body(encode):
    """Out of a rigid ground upwards, so that the drawn ground does not hide them; of two rigid bodies, out of B."""
    patch = _patch(0.004)
    ball = geometry.sphere(0.05, resolution=0.02, modulus=None)
    soft = geometry.half_space(modulus=1e5, slab_thickness=0.1)
    sunk = contact.compute_patch(ball, _pose(0.046), soft, _pose(0.0))
    faces = patch.faces
    rigid = replace(patch, face_source=replace(faces, gradients=np.full_like(faces.gradients, np.inf)))
    for one, sign in ((patch, -1.0), (sunk, 1.0), (rigid, -1.0)):
        drawn = _of_type(encode(one), Marker.TRIANGLE_LIST)[0].points[0]
        drawn = np.array([drawn.x, drawn.y, drawn.z])
        vertices = np.concatenate(
            [v[:n] for v, n in zip(one.faces.vertices, one.faces.num_vertices, strict=True)]
        )
        shifts = drawn - vertices
        nearest = shifts[np.argmin(np.linalg.norm(shifts, axis=1))]
        normal = one.normals[0]
        assert np.isclose(np.linalg.norm(nearest), 0.001 * FOCUS.size, rtol=0.05)
        assert sign * (nearest @ normal) > 0.0


def test_coarse_patch_says_so(encode):
    """Edges turn red, and a text that RViz can show (a height, opaque, not empty) floats above the patch."""
    coarse, fine = replace(_patch(0.001), name_a="ball", name_b="ground"), _patch(0.004, resolution=0.005)
    assert not coarse.quality.is_resolved
    assert fine.quality.is_resolved
    markers = encode(coarse)
    (text,) = [m for m in markers if m.ns == "quality/ball on ground"]
    assert (text.type, text.action) == (Marker.TEXT_VIEW_FACING, Marker.ADD)
    assert text.text == f"4 faces, force at this depth off by about {100 * coarse.quality.force_error:.0f} %"
    assert text.scale.z > 0.0
    assert text.color.a == 1.0
    assert text.pose.position.z > coarse.faces.vertices[..., 2].max()
    (edges,) = _of_type(markers, Marker.LINE_LIST)
    assert edges.color.r > 0.9


def test_fine_patch_has_dark_edges_and_no_words(encode):
    markers = encode(_patch(0.004, resolution=0.005))
    assert not [m for m in markers if m.ns.startswith("quality/")]
    (edges,) = _of_type(markers, Marker.LINE_LIST)
    assert edges.color.r < 0.1


def test_words_follow_the_quality_once_a_second():
    """They stay while nobody looks, and go when the patch has become fine.

    Time that goes back is a reset: everything is looked at anew.
    """
    markers = ContactMarkers(PressureScale(20e3), "world", FOCUS)
    coarse, fine = _patch(0.001), _patch(0.004, resolution=0.005)

    def words(patch, tenths):
        encoded = markers.encode([patch], (tenths // 10, tenths % 10 * 100_000_000))
        found = deserialize_message(encoded, MarkerArray).markers
        return [(m.action, bool(m.text)) for m in found if m.ns.startswith("quality/")]

    assert words(coarse, 1000) == [(Marker.ADD, True)]
    assert words(fine, 1005) == [(Marker.ADD, True)]
    assert words(fine, 1011) == [(Marker.DELETE, False)]
    assert words(coarse, 1012) == [(Marker.DELETE, False)]
    assert words(coarse, 0) == [(Marker.ADD, True)]


def test_arrows_are_seen_again_after_an_impact():
    """The scale grows at once, and falls when forces have been far smaller for a while."""
    arrows = ContactArrows(0.2)

    def length_of(force):
        patch = SimpleNamespace(
            face_forces=np.array([force]),
            centroids=np.zeros((1, 3)),
            force_on_b=np.array([0.0, 0.0, force]),
            moment_on_b=lambda centre: np.zeros(3),
        )
        found = [m for m in arrows.markers([("a on b", [patch])]) if m.type == Marker.ARROW]
        return float(np.linalg.norm(found[0].points[1] - found[0].points[0])) if found else 0.0

    assert length_of(10.0) == pytest.approx(0.2)
    assert length_of(2000.0) == pytest.approx(0.2)
    lengths = [length_of(10.0) for _ in range(70)]
    assert lengths[0] == 0.0
    assert lengths[-1] == pytest.approx(0.2)


@pytest.mark.parametrize("corners", [1, 2, 4])
def test_an_equivalent_point_is_a_ball_with_an_outline(encode, corners):
    """Also of a patch without area, whose faces and arrows do not break."""
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]) * 0.1
    faces = _patch(0.004).faces
    area = 0.01 if corners > 2 else 0.0
    faces = replace(
        faces,
        centroids=np.full((1, 3), 0.02),
        normals=np.array([[0.0, 0.0, 1.0]]),
        areas=np.array([area]),
        pressures=np.array([1e3 if area else 0.0]),
        gradients=np.full((1, 2), np.inf),
        field_gradients=np.zeros((1, 3)),
        vertices=np.resize(square, (1, faces.vertices.shape[1], 3)),
        num_vertices=np.array([corners]),
    )
    force = np.array([0.0, 0.0, 10.0])
    patch = replace(
        _patch(0.004),
        face_source=faces,
        law="equivalent point",
        p_WR=np.zeros(3),
        force_on_b=force,
        normal_force_on_b=force,
        moment_on_b_at_reference=np.cross(np.full(3, 0.02), force),
        dropped_force=0.0,
    )
    markers = {
        marker.ns.partition("/")[0]: marker
        for marker in encode(patch)
        if marker.ns != "legend" and not marker.text
    }
    assert markers.keys() == {"faces", "edges", "outlines", "points", "force"}
    points = {name: np.array([[p.x, p.y, p.z] for p in one.points]) for name, one in markers.items()}
    assert markers["points"].type == Marker.SPHERE_LIST
    assert points["points"] == pytest.approx(0.02)
    assert points["force"][1] == pytest.approx(np.full(3, 0.02))
    sides = points["outlines"].reshape(-1, 2, 3)
    assert np.count_nonzero(np.linalg.norm(sides[:, 1] - sides[:, 0], axis=1)) == {1: 0, 2: 1, 4: 4}[corners]
    assert all(np.isfinite(each).all() for each in points.values())
