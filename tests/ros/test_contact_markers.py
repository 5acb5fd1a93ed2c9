"""Contact in RViz: markers that are updated in place and end once, a legend, words where faces are too coarse."""

from dataclasses import replace

import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from visualization_msgs.msg import Marker, MarkerArray

from hydro_sim_core import contact, geometry
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.messages.contact_markers import ContactMarkers

STAMP = (1, 500)


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
    markers = ContactMarkers(PressureScale(20e3), "world", (0.0, 0.0, 0.5))
    return lambda *patches: deserialize_message(markers.encode(patches, STAMP), MarkerArray).markers


def _of_type(markers, kind):
    return [marker for marker in markers if marker.type == kind and marker.ns != "legend"]


def test_point_count_stays_while_the_patch_changes(encode):
    """A growing patch reallocates by doubling; a shrinking one keeps its count."""
    counts = [
        len(_of_type(encode(_patch(depth)), Marker.TRIANGLE_LIST)[0].points) for depth in (8e-3, 4e-3, 1e-3)
    ]
    assert len(set(counts)) == 1


def test_ended_contact_is_deleted_once(encode):
    """The array after the end deletes faces, edges and words; the next one is silent about them."""
    encode(_patch(0.004))
    after = encode(_patch(-0.01))
    assert sorted((m.type, m.action) for m in after if m.ns != "legend") == [
        (Marker.LINE_LIST, Marker.DELETE),
        (Marker.TEXT_VIEW_FACING, Marker.DELETE),
        (Marker.TRIANGLE_LIST, Marker.DELETE),
    ]
    assert [m for m in encode() if m.ns != "legend"] == []


def test_legend_names_unit_and_full_scale(encode):
    """Title and end values, whether or not anything touches."""
    labels = {marker.text for marker in encode() if marker.type == Marker.TEXT_VIEW_FACING}
    assert labels == {"contact pressure, 20 kPa full scale", "0", "10", "20"}


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
    """They stay while nobody looks, go when the patch has become fine, and their marker is deleted once.

    Time that goes back is a reset: everything is looked at anew.
    """
    markers = ContactMarkers(PressureScale(20e3), "world", (0.0, 0.0, 0.5))
    coarse, fine = _patch(0.001), _patch(0.004, resolution=0.005)

    def words(patch, tenths):
        encoded = markers.encode([patch], (tenths // 10, tenths % 10 * 100_000_000))
        found = deserialize_message(encoded, MarkerArray).markers
        return [(m.action, bool(m.text)) for m in found if m.ns.startswith("quality/")]

    assert words(coarse, 1000) == [(Marker.ADD, True)]
    assert words(fine, 1005) == [(Marker.ADD, True)]
    assert words(fine, 1011) == [(Marker.DELETE, False)]
    assert words(fine, 1012) == []
    assert words(coarse, 1013) == []
    assert words(coarse, 0) == [(Marker.ADD, True)]
