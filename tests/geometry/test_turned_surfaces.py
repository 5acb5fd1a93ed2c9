"""Turned parts and threads are closed, have the volume and pitch of the closed forms, and fit each other."""

import math

import numpy as np
import pytest
import trimesh

from hydro_sim_core import geometry
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry import (
    MetricThread,
    load_surface,
    metric_bolt,
    metric_nut,
    revolve,
    segments_for,
    write_surface,
)
from hydro_sim_core.geometry.distance import distance_to_surface, winding_numbers
from hydro_sim_core.geometry.turned_surfaces import _meeting_sides

D, P = 16e-3, 2e-3
CYLINDER = [(0.0, 0.0), (0.004, 0.0), (0.004, 0.03), (0.0, 0.03)]
RING = [(0.004, 0.01), (0.004, 0.0), (0.02, 0.0), (0.02, 0.01)]


def solid(surface):
    return trimesh.Trimesh(*surface, process=False)


def mean_square_of_thread(gap=0.0):
    """Mean over a pitch of the squared radius (ISO 68-1): pi times that is the area of every section."""
    major = 0.5 * D + gap
    minor = major - 0.625 * math.sqrt(3.0) / 2.0 * P
    return (2 * major**2 + 4 * minor**2 + 10 * (major**2 + major * minor + minor**2) / 3.0) / 16.0


# --- turned parts


@pytest.mark.parametrize("segments", [3, 24, 97])
def test_a_turned_cylinder_is_a_prism_of_that_many_sides(segments):
    made = solid(revolve(CYLINDER, segments))
    assert made.is_watertight
    assert made.is_winding_consistent
    area = 0.5 * segments * 0.004**2 * math.sin(2.0 * math.pi / segments)
    assert made.volume == pytest.approx(area * 0.03, rel=1e-12)


def test_a_bore_whose_chords_lie_around_it_lets_a_pin_through():
    pin, ring = (
        revolve([(0, -0.01), (0.004, -0.01), (0.004, 0.02), (0, 0.02)], 96),
        revolve(RING, 41, around=True),
    )
    made = solid(ring)
    assert made.is_watertight
    assert made.euler_number == 0  # a hole
    area = 41 * math.tan(math.pi / 41) * (0.02**2 - 0.004**2)
    assert made.volume == pytest.approx(area * 0.01, rel=1e-12)
    assert np.abs(winding_numbers(pin.vertices[pin.vertices[:, 0] < 0.0039], *ring)).max() < 1e-6
    within = revolve(RING, 41)
    between = np.array([[0.004 * math.cos(math.pi / 41), 0.004 * math.sin(math.pi / 41), 0.005]])
    assert winding_numbers(between, *within)[0] == pytest.approx(1.0)


def test_a_cone_has_a_third_of_its_cylinder():
    made = solid(revolve([(0.0, 0.0), (1.0, 0.0), (0.0, 2.0)], 64))
    assert made.is_watertight
    assert made.volume == pytest.approx(32 * math.sin(2.0 * math.pi / 64) * 2.0 / 3.0, rel=1e-12)


def test_chords_are_within_the_sagitta_and_one_less_is_not():
    number = segments_for(0.004, 1e-6)
    off = [0.004 * (1.0 - math.cos(math.pi / n)) for n in (number, number - 1)]
    assert off[0] <= 1e-6 < off[1]


def test_a_tiny_sagitta_is_met_too_or_told():
    number = segments_for(1e-3, 1e-12)
    off = [1e-3 * 2.0 * math.sin(0.5 * math.pi / n) ** 2 for n in (number, number - 1)]
    assert off[0] <= 1e-12 < off[1]
    with pytest.raises(
        InputError, match=r"segments_for: sagitta: of 1e-30 m takes 7e\+13 segments, the limit is"
    ):
        segments_for(1e-3, 1e-30)


CROSSING = [(1, 0), (3, 0), (1.5, 2), (2.5, 2), (1, 1)]


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-100])
@pytest.mark.parametrize(
    "profile",
    [
        CROSSING,
        [(1, 0), (2, 0), (3, 0), (2, 0), (2, 1), (1, 1)],  # a spike
        [(1, 0), (4, 0), (3, 1), (4, 2), (1, 2), (3, 1)],  # two corners at one place
        [(1, 0), (3, 0), (3, 2), (2, 0), (1, 2)],  # a corner on a side
        [(1, 0), (3, 0), (3, 1), (1, 1), (1, 2)],  # back along the side that closes it
    ],
)
def test_profiles_that_meet_themselves_are_told(profile, size):
    with pytest.raises(InputError, match=r"^revolve: profile: crosses or touches itself: \["):
        revolve(size * np.array(profile, dtype=float), 16)


@pytest.mark.parametrize("size", [1.0, 1e-100])
@pytest.mark.parametrize(
    "profile",
    [
        CYLINDER,
        RING,
        [(0, 0), (2, 0), (0.5, 1.5), (2, 1), (0, 2)],  # a groove with sharp edges
        [(1, 0), (2, 0), (3, 0), (3, 1), (2, 1), (1, 1)],  # points along straight sides
    ],
)
def test_profiles_that_do_not_are_not(profile, size):
    points = size * np.array(profile, dtype=float)
    assert _meeting_sides(points, np.roll(points, -1, axis=0)) is None


# --- threads


@pytest.mark.parametrize("flank_rows", [1, 3])
def test_the_volume_of_a_thread_goes_to_the_closed_form(flank_rows):
    length, gap = 13e-3, 1e-4
    off = []
    for segments in (48, 96, 192):
        thread = MetricThread(D, P, gap, segments=segments, flank_rows=flank_rows)
        bolt, nut = solid(metric_bolt(thread, length)), solid(metric_nut(thread, length, 24e-3))
        for made, holes in ((bolt, 0), (nut, 1)):
            assert made.is_watertight
            assert made.is_winding_consistent
            assert made.euler_number == 2 - 2 * holes
        bore = math.pi * mean_square_of_thread(gap) * length
        exact = [
            math.pi * mean_square_of_thread(-gap) * length,
            math.sqrt(3.0) / 2.0 * 24e-3**2 * length - bore,
        ]
        off.append([bolt.volume / exact[0] - 1.0, nut.volume / exact[1] - 1.0])
    falls = np.abs(np.array(off[:-1]) / np.array(off[1:]))
    assert np.all(falls > 3.8), off
    assert np.abs(off[-1]).max() < 2e-4


@pytest.mark.parametrize("segments", [48, 80])
def test_a_turn_lifts_the_thread_by_its_pitch(segments):
    """Turned by a segment and raised by that share of the pitch, inner vertices lie on vertices: right-handed."""
    vertices = metric_bolt(MetricThread(D, P, segments=segments), 6 * P).vertices
    inside = vertices[(vertices[:, 2] > P) & (vertices[:, 2] < 5 * P)]
    angle = 2.0 * math.pi / segments
    R = np.array([[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0], [0, 0, 1.0]])
    moved = inside @ R.T + [0.0, 0.0, P / segments]
    off = np.linalg.norm(vertices[None, :, :] - moved[:, None, :], axis=2).min(axis=1)
    assert off.max() < 1e-12
    crests = np.sort(vertices[(np.abs(vertices[:, 1]) < 1e-9) & (vertices[:, 0] > D / 2 - 1e-9), 2])
    np.testing.assert_allclose(np.diff(crests[::2])[1:-1], P, atol=1e-12)


def test_a_bolt_fits_a_nut_with_the_clearance():
    """The gap across the flanks is half of that to the axis, as they stand 60 degrees to it."""
    gap = 1e-4
    nut, bolt = metric_nut(MetricThread(D, P), 3 * P, 24e-3), metric_bolt(MetricThread(D, P, gap), 3 * P)
    inner = bolt.vertices[(bolt.vertices[:, 2] > 1e-4) & (bolt.vertices[:, 2] < 3 * P - 1e-4)]
    assert np.abs(winding_numbers(inner, *nut)).max() < 1e-6
    assert distance_to_surface(inner, *nut).min() == pytest.approx(gap / 2, rel=0.01)


def test_chamfers_narrow_a_bolt_and_widen_a_nut_at_their_ends():
    thread = MetricThread(D, P, chamfer=1.2e-3)
    bolt, nut = metric_bolt(thread, 5 * P), metric_nut(thread, 5 * P, 24e-3)
    for surface in (bolt, nut):
        assert solid(surface).is_watertight
    minor = D / 2 - 0.625 * math.sqrt(3.0) / 2.0 * P
    at_end = np.abs(bolt.vertices[:, 2]) < 1e-9
    assert np.hypot(*bolt.vertices[at_end, :2].T).max() == pytest.approx(D / 2 - 1.2e-3)
    bore = (np.abs(nut.vertices[:, 2]) < 1e-9) & (np.hypot(*nut.vertices[:, :2].T) < 11e-3)
    assert np.hypot(*nut.vertices[bore, :2].T).min() == pytest.approx(minor + 1.2e-3)


def profiles(surface):
    """Heights and radii of the thread in every half plane of 48, m."""
    radii = np.hypot(*surface.vertices[:, :2].T)
    columns = np.round(np.arctan2(*surface.vertices[:, 1::-1].T) * 48 / (2.0 * math.pi)).astype(int) % 48
    for column in range(48):
        mine = (columns == column) & (radii > 6e-3) & (radii < 9e-3)
        order = np.lexsort((radii[mine], surface.vertices[mine, 2]))
        yield surface.vertices[mine, 2][order], radii[mine][order]


@pytest.mark.parametrize("flank_rows", [1, 2, 8])
@pytest.mark.parametrize("part", ["bolt", "nut"])
def test_chamfers_leave_out_as_much_beside_their_cones_as_is_told(part, flank_rows):
    """A chord across a corner is off it by up to a quarter of the difference of slopes in its width."""
    length, z = 8e-3, np.linspace(0.0, 8e-3, 4001)
    is_bolt, gap = part == "bolt", 1e-4 if part == "bolt" else 0.0
    rim = D / 2 if is_bolt else D / 2 - 0.625 * math.sqrt(0.75) * P
    cone = rim + (np.minimum(z, length - z) - 1.2e-3) * (1.0 if is_bolt else -1.0)
    made = [
        metric_bolt(thread, length) if is_bolt else metric_nut(thread, length, 24e-3)
        for thread in (MetricThread(D, P, gap), MetricThread(D, P, gap, 1.2e-3, flank_rows=flank_rows))
    ]
    missing = []
    for plain, chamfered in zip(*map(profiles, made), strict=True):
        thread, left = np.interp(z, *plain), np.interp(z, *chamfered)
        missing.append(np.minimum(thread, cone) - left if is_bolt else left - np.maximum(thread, cone))
    on_flanks = (1.0 + math.sqrt(3.0)) / 4.0 * (5.0 * P / 16.0) / flank_rows
    told = max(on_flanks, P / 32.0 if is_bolt else P / 16.0)
    assert 0.97 * told < np.max(missing) <= told
    assert np.min(missing) > -1e-9


def test_numbers_of_any_kind_make_the_same_thread():
    """As text, as a command line has them, and as NumPy's."""
    plain = MetricThread(D, P, 1e-4, 1.2e-3, segments=48, flank_rows=2)
    text = MetricThread("16e-3", "2e-3", "1e-4", "1.2e-3", segments=48, flank_rows=np.int64(2))
    numpy = MetricThread(*np.array([D, P, 1e-4, 1.2e-3]), segments=np.int32(48), flank_rows=np.uint8(2))
    for thread in (text, numpy):
        for made, asked in (
            (metric_bolt(thread, "13e-3"), metric_bolt(plain, 13e-3)),
            (metric_nut(thread, "13e-3", "24e-3"), metric_nut(plain, 13e-3, 24e-3)),
        ):
            np.testing.assert_array_equal(made.vertices, asked.vertices)
            np.testing.assert_array_equal(made.triangles, asked.triangles)


def test_a_file_holds_what_was_written(tmp_path):
    nut = metric_nut(MetricThread(D, P, chamfer=1.2e-3), 6.5 * P, 24e-3)
    write_surface(nut, tmp_path / "nut.obj")
    vertices, triangles = load_surface(tmp_path / "nut.obj", 1.0)
    np.testing.assert_allclose(vertices, nut.vertices, atol=1e-9)
    np.testing.assert_array_equal(triangles, nut.triangles)
    assert geometry.rigid_mesh(vertices, triangles).is_rigid


# --- what is refused


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: revolve([(0, 0), (1, 0)]), "revolve: profile: has 2 points"),
        (lambda: revolve([(0, 0), (-1, 0), (0, 1)]), "profile: has a radius below 0"),
        (lambda: revolve([(0, 0), (0, 1), (1, 0)]), "touches the axis elsewhere than at both ends"),
        (lambda: revolve(CYLINDER[::-1]), "profile: has its material on the right"),
        (lambda: revolve([(1, 0), (1, 0), (2, 1)]), "has two equal points one after the other"),
        (lambda: revolve([(1, math.nan), (1, 0), (2, 1)]), "revolve: profile"),
        (lambda: revolve(CYLINDER, 2), "segments: are 2; give a whole number from 3 to 100000"),
        (lambda: revolve(CYLINDER, 8.5), "segments: are 8.5"),
        (lambda: revolve(CYLINDER, 32.0), "segments: are 32.0; give a whole number from 3 to 100000"),
        (
            lambda: revolve(CYLINDER[:2] + [(4e-3, 1e-4 * i) for i in range(1, 200)] + CYLINDER[2:], 100_000),
            "revolve: resolution: 2.51327e-07 m would make 4.1e+07 elements, the limit is 1e+07; give fewer segments",
        ),
        (
            lambda: metric_bolt(MetricThread(D, P, segments=40), 0.02),
            "which the edges of a thread do not divide",
        ),
        (
            lambda: metric_nut(MetricThread(D, P, segments=64), 0.02, 24e-3),
            "segments: are 64: none at some corner",
        ),
        (lambda: metric_nut(MetricThread(D, P), 0.02, 15e-3), "width: of 0.015 m is less than its thread"),
        (
            lambda: metric_nut(MetricThread(D, P, chamfer=1.2e-3), 0.002, 24e-3),
            "height: of 0.002 m is all chamfer: both ends take 0.0024 m; give a larger one, or a smaller chamfer",
        ),
        (lambda: metric_bolt(MetricThread(D, 5e-3), 0.02), "pitch: of 0.005 m does not fit"),
        (lambda: metric_bolt(MetricThread(D, P, clearance=1e-3), 0.02), "clearance: of 0.001 m is too large"),
        (lambda: metric_bolt(MetricThread(D, P, clearance=-1e-5), 0.02), "clearance: is -1e-05"),
        (lambda: metric_bolt(MetricThread(D, P), math.inf), "length: is inf"),
        (lambda: metric_bolt(MetricThread(D, 1e-9), 0.02), "elements"),
        (
            lambda: metric_bolt(MetricThread(D, P, flank_rows=0), 0.02),
            "metric_bolt: flank_rows: are 0; give a whole number from 1 to 100",
        ),
        (lambda: metric_nut(MetricThread(D, P, flank_rows=True), 0.02, 24e-3), "flank_rows: are True"),
        (lambda: metric_bolt(MetricThread(D, P, flank_rows="2"), 0.02), "metric_bolt: flank_rows: are '2'"),
        (lambda: metric_bolt(MetricThread("M16", P), 0.02), "diameter: 'M16' is not a number"),
        (lambda: metric_bolt("M16", 0.02), "metric_bolt: thread: is 'M16'; give a MetricThread"),
        (lambda: metric_nut(None, 0.02, 24e-3), "metric_nut: thread: is None; give a MetricThread"),
        (lambda: write_surface(revolve(CYLINDER), "pin.xyz"), "has the format '.xyz'; use .obj"),
        (
            lambda: write_surface(geometry.rigid_mesh(*revolve(CYLINDER)), "pin.obj"),
            "pin.obj: a Geometry is no Surface; give what revolve",
        ),
        (lambda: write_surface(tuple(revolve(CYLINDER)), "pin.obj"), "a tuple is no Surface"),
        (lambda: write_surface(revolve(CYLINDER), "/nowhere/pin.obj"), "cannot be written"),
        (lambda: segments_for(0.0, 1e-6), "radius: is 0"),
    ],
)
def test_what_is_none_is_told(make, told):
    with pytest.raises(InputError) as error:
        make()
    assert told in str(error.value)
