"""Images of a bubble from inside, against closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import binary_fill_holes
from scipy.spatial.transform import Rotation

from hydro_sim_core import contact, geometry
from hydro_sim_core.sensors import BubbleCamera, EllipsoidCap, PinholeCamera
from hydro_sim_core.sensors.rasterise import draw_faces

SEMI_AXES = np.array([0.04165, 0.04165, 0.0625])
CAP = 0.030
CAMERA = PinholeCamera(width=160, height=120, field_of_view=np.radians(62.0))


def _pose(rotation, position):
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = rotation, position
    return X


TILT = np.radians(35.0)


def _bubble(tilt=TILT, distance=0.072, camera=CAMERA):
    """As in the shipped gripper: the apex is on the ellipsoid's +y axis, and the camera looks at it."""
    # Columns: right, down and forward of the camera in the ellipsoid.
    sine, cosine = np.sin(tilt), np.cos(tilt)
    R_EC = np.array([[1.0, 0.0, 0.0], [0.0, -sine, cosine], [0.0, -cosine, -sine]])
    X_EC = _pose(R_EC, [0.0, SEMI_AXES[1] - distance, distance * np.tan(tilt)])
    return BubbleCamera(camera, EllipsoidCap(SEMI_AXES, np.linalg.inv(X_EC), CAP)), X_EC


def _points(bubble, depth, X_EC):
    """What every pixel sees, in the ellipsoid's frame."""
    return (bubble.camera.rays() * depth[..., None]) @ X_EC[:3, :3].T + X_EC[:3, 3]


@given(st.floats(-0.6, 0.6), st.floats(0.05, 0.075))
def test_untouched_membrane_is_the_cap(tilt, distance):
    """Every point seen is on the ellipsoid and in front of the rim; every pixel without one misses the cap."""
    bubble, X_EC = _bubble(tilt, distance)
    images = bubble.draw([], np.eye(4))
    points = _points(bubble, images.depth, X_EC)
    seen = np.isfinite(images.depth)
    assert seen.any()
    np.testing.assert_allclose(np.sum((points[seen] / SEMI_AXES) ** 2, axis=1), 1.0, rtol=0.0, atol=1e-12)
    assert points[seen][:, 1].min() >= SEMI_AXES[1] - CAP - 1e-12
    assert not images.pressure.any()
    # And the other way round: where a point of the cap, away from its rim, falls into the image, there it is seen.
    directions = np.random.default_rng(0).normal(size=(2000, 3))
    cap = SEMI_AXES * directions / np.linalg.norm(directions, axis=1)[:, None]
    x, y, z = np.linalg.inv(X_EC)[:3] @ np.column_stack([cap, np.ones(len(cap))])[cap[:, 1] > 0.014].T
    column, row = (
        np.round(c + CAMERA.focal_length * xy / z).astype(int)
        for c, xy in zip(CAMERA.center, (x, y), strict=True)
    )
    inside = (column >= 0) & (column < CAMERA.width) & (row >= 0) & (row < CAMERA.height)
    assert inside.sum() > 50
    assert seen[row[inside], column[inside]].all()


def test_depth_straight_ahead_is_the_distance_to_the_apex():
    camera = PinholeCamera(width=161, height=121, field_of_view=1.0)
    bubble, _ = _bubble(tilt=0.0, distance=0.06, camera=camera)
    assert bubble.rest_depth[60, 80] == pytest.approx(0.06, abs=1e-15)


@pytest.fixture(scope="module")
def press():
    """A flat rigid plate pressed 6 mm into the bubble, the bubble somewhere in the world."""
    rng = np.random.default_rng(5)
    X_WE = _pose(Rotation.random(random_state=5).as_matrix(), rng.normal(size=3))
    bubble, X_EC = _bubble()
    skin = geometry.ellipsoid(*SEMI_AXES, resolution=0.006, modulus=1e5)
    # The half space's outside is +z: turned against the apex, 6 mm behind it.
    plate_E = _pose(
        Rotation.from_euler("x", 90.0, degrees=True).as_matrix(), [0.0, SEMI_AXES[1] - 0.006, 0.0]
    )
    patch = contact.compute_patch(skin, X_WE, geometry.half_space(), X_WE @ plate_E)
    return bubble, X_EC, X_WE, patch


def test_plate_makes_the_membrane_flat(press):
    """Within the patch every pixel sees the plate's plane; beside it the ellipsoid, but for the mesh's facets."""
    bubble, X_EC, X_WE, patch = press
    images = bubble.draw([patch.faces], X_WE @ X_EC)
    touched = images.pressure > 0.0
    points = _points(bubble, images.depth, X_EC)
    assert touched.sum() > 500
    assert points[touched][:, 1] == pytest.approx(SEMI_AXES[1] - 0.006, abs=1e-9)
    changed = images.depth < bubble.rest_depth
    assert np.array_equal(images.depth[~changed], bubble.rest_depth[~changed], equal_nan=True)
    # The plane cuts the ellipsoid in an ellipse: pixels well inside are touched, those outside are not.
    level = np.sqrt(1.0 - (1.0 - 0.006 / SEMI_AXES[1]) ** 2)
    radius = np.hypot(points[..., 0] / SEMI_AXES[0], points[..., 2] / SEMI_AXES[2]) / level
    assert touched[radius < 0.9].all()
    assert not touched[radius > 1.0 + 1e-9].any()


def test_pressure_image_carries_the_force(press):
    """Summed over the plane that the pixels cover, it is the normal force of the patch."""
    bubble, X_EC, X_WE, patch = press
    images = bubble.draw([patch.faces], X_WE @ X_EC)
    rays = bubble.camera.rays()
    # A pixel covers z^2 / (f^2 cos) of a plane that it meets at that angle; z-depth, so the ray's length cancels.
    cosine = np.abs(rays @ X_EC[:3, :3].T)[..., 1]
    areas = np.where(images.pressure > 0.0, images.depth**2 / (bubble.camera.focal_length**2 * cosine), 0.0)
    assert (areas * images.pressure).sum() == pytest.approx(np.linalg.norm(patch.force_on_b), rel=0.01)
    assert images.pressure.max() == pytest.approx(patch.peak_pressure, rel=0.02)


def test_nearer_of_two_surfaces_is_seen(press):
    """Whatever the order in which patches are drawn."""
    bubble, X_EC, X_WE, patch = press
    skin = geometry.ellipsoid(*SEMI_AXES, resolution=0.006, modulus=1e5)
    shallow_E = _pose(
        Rotation.from_euler("x", 90.0, degrees=True).as_matrix(), [0.0, SEMI_AXES[1] - 0.003, 0.0]
    )
    shallow = contact.compute_patch(skin, X_WE, geometry.half_space(), X_WE @ shallow_E)
    deep = bubble.draw([patch.faces], X_WE @ X_EC)
    for order in ([patch.faces, shallow.faces], [shallow.faces, patch.faces]):
        both = bubble.draw(order, X_WE @ X_EC)
        touched = deep.pressure > 0.0
        assert np.array_equal(both.depth[touched], deep.depth[touched])
        assert (both.pressure > 0.0).sum() >= touched.sum()


def test_shear_is_what_lies_in_the_plane_of_the_rim(press):
    """A push along the cap's axis has none; the rest has two components, to the right and down."""
    bubble, X_EC, X_WE, patch = press
    X_WC = X_WE @ X_EC
    axis, right, down = (X_WE[:3, :3] @ e for e in ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, -1.0)))
    assert bubble.shear(-patch.force_on_b, X_WC) == pytest.approx(
        0.0, abs=1e-6 * np.linalg.norm(patch.force_on_b)
    )
    force = 5.0 * axis + 0.3 * right - 0.7 * down
    assert bubble.shear(force, X_WC) == pytest.approx([0.3, -0.7], abs=1e-12)


def test_skirt_is_not_drawn():
    """Faces with negative pressure carry no force, and the membrane is not there."""
    bubble, X_EC = _bubble()
    skin = geometry.ellipsoid(*SEMI_AXES, resolution=0.01, modulus=1e5)
    plate = _pose(Rotation.from_euler("x", 90.0, degrees=True).as_matrix(), [0.0, SEMI_AXES[1] - 0.006, 0.0])
    faces = contact.compute_patch(skin, np.eye(4), geometry.half_space(), plate).faces
    faces.pressures[:] = -1.0
    images = bubble.draw([faces], X_EC)
    assert np.array_equal(images.depth, bubble.rest_depth, equal_nan=True)


# --- faces as round-off makes them


def _draw(polygons, camera=CAMERA):
    """Depth image of polygons in the camera's frame, all of the same pressure, before nothing."""
    count = np.array([len(polygon) for polygon in polygons])
    vertices = np.zeros((len(polygons), count.max(), 3))
    for row, polygon in zip(vertices, polygons, strict=True):
        row[: len(polygon)] = polygon
    centroids = np.array([np.mean(polygon, axis=0) for polygon in polygons])
    depth = np.full((camera.height, camera.width), np.inf)
    pressure, none = np.zeros(depth.shape), np.zeros((len(polygons), 3))
    ones = np.ones(len(polygons))
    draw_faces(
        vertices, count, centroids, ones, none, camera.focal_length, np.array(camera.center), depth, pressure
    )
    return depth


def _turned(polygon, angle):
    """A polygon turned about the optical axis."""
    return polygon @ Rotation.from_rotvec([0.0, 0.0, angle]).as_matrix().T


SQUARE = np.array([[-0.01, -0.01, 0.07], [0.01, -0.01, 0.07], [0.01, 0.01, 0.07], [-0.01, 0.01, 0.07]])


@pytest.mark.parametrize("short", [0.0, 1.7e-18, 1e-16, 1e-14])
def test_a_corner_that_is_there_twice_hides_no_pixel(short):
    """Round-off would decide on which side of an edge without length pixels are, and leave faces undrawn."""
    for k in range(40):
        square = _turned(SQUARE, 0.1 * k)
        away = short * np.array([np.cos(k), np.sin(k), np.sin(2.0 * k)])
        doubled = np.insert(square, k % 4 + 1, square[k % 4] + away, axis=0)
        expected = np.isfinite(_draw([square]))
        assert expected.sum() > 1000
        np.testing.assert_array_equal(np.isfinite(_draw([doubled])), expected)


def test_pixels_on_a_shared_edge_are_seen_whatever_round_off_makes_of_it():
    """Two halves of a square part along a diagonal of pixels, round-off from each other."""
    camera = PinholeCamera(width=161, height=121, field_of_view=1.0)
    rng = np.random.default_rng(2)
    whole = np.isfinite(_draw([SQUARE], camera=camera))
    for first in (SQUARE[[0, 1, 2]], SQUARE[[1, 2, 3]]):
        second = -first * [1.0, 1.0, -1.0]
        for _ in range(20):
            halves = [half + rng.uniform(-1e-17, 1e-17, half.shape) for half in (first, second)]
            seen = np.isfinite(_draw(halves, camera=camera))
            assert seen[30:91, 60:101][whole[30:91, 60:101]].all()


def test_a_face_without_width_is_not_drawn():
    """Its normal is round-off: where pixels lie on it, it would put them anywhere."""
    camera = PinholeCamera(width=161, height=121, field_of_view=1.0)
    ends = np.array([[0.0, -0.01, 0.07], [0.0, 0.01, 0.07]])
    sliver = np.vstack([ends, ends[1] + [1e-18, 0.0, 3e-18], ends[0] + [2e-18, 0.0, -1e-18]])
    assert not np.isfinite(_draw([sliver], camera=camera)).any()


def test_a_flat_contact_is_seen_without_holes():
    """A bubble that a wide plate presses 1 cm flat: its corners leave edges without length on some faces."""
    skin = geometry.ellipsoid(*SEMI_AXES, resolution=0.006, modulus=1e5)
    X_WE = _pose(Rotation.random(random_state=5).as_matrix(), [0.1, 0.2, 0.3])
    plate_E = _pose(Rotation.from_euler("x", 90.0, degrees=True).as_matrix(), [0.0, SEMI_AXES[1], 0.0])
    patch = contact.compute_patch(skin, X_WE, geometry.box(0.2, 0.2, 0.02), X_WE @ plate_E)
    for tilt in np.linspace(-0.3, 0.6, 10):
        bubble, X_EC = _bubble(tilt)
        pressed = bubble.draw([patch.faces], X_WE @ X_EC).pressure > 0.0
        assert pressed.sum() > 500
        np.testing.assert_array_equal(pressed, binary_fill_holes(pressed))
