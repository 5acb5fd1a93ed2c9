"""Plots show what they are given: places, pressures, angles; checked in numbers and in the pixels of the PNG."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.image import imread
from scipy.spatial.transform import Rotation

from hydro_sim_core import InputError, contact, geometry
from hydro_sim_core.drawing.patch_surface import PatchFaces
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.pictures.plot_footprint import footprint, grip_force
from hydro_sim_core.pictures.plot_rotation import angles_about, main_axis
from hydro_sim_core.pictures.plots import plot_grip_force, plot_pitch, plot_pressure_map

BALL = geometry.sphere(0.05, resolution=0.02, modulus=1e5)
LENGTH, WIDTH = 0.04, 0.02
#: Colours of lines.
LEFT, RIGHT, IDLE, COMMANDED = (0x1F, 0x5F, 0xA8), (0xD1, 0x79, 0x2C), (0x2A, 0x2A, 0x2A), (0xB9, 0xB9, 0xB9)


@dataclass(frozen=True)
class Pressed:
    """A contact as a recording gives it."""

    name_a: str
    name_b: str
    force_on_b: np.ndarray
    faces: PatchFaces


def rectangle(pressures, X_WB, force=3.0):
    """A pad whose rectangle in its x-y plane, LENGTH along x, bears ``pressures`` at its corners."""
    x, y = np.array([0.0, LENGTH, LENGTH, 0.0]), np.array([0.0, 0.0, WIDTH, WIDTH])
    corners = np.stack([x, y, np.full(4, 0.01)], axis=1) @ X_WB[:3, :3].T + X_WB[:3, 3]
    faces = PatchFaces(corners, np.asarray(pressures, dtype=float), np.array([4]))
    return Pressed("pad", "mug", force * X_WB[:3, 2], faces)


def pose(rotation_vector=(0.0, 0.0, 0.0), position=(0.0, 0.0, 0.0)):
    X = np.eye(4)
    X[:3, :3] = Rotation.from_rotvec(rotation_vector).as_matrix()
    X[:3, 3] = position
    return X


vectors = st.tuples(*[st.floats(-3.0, 3.0)] * 3)


@given(turn=vectors, position=vectors)
def test_footprint_is_seen_from_the_body(turn, position):
    """A triangular distribution of pressure acts at two thirds of its length, wherever the pad is in the world."""
    X_WB = pose(turn, position)
    found = footprint([rectangle([0.0, 9e3, 9e3, 0.0], X_WB)], "pad", X_WB)
    assert found.axes == ("x", "y")
    assert found.centre == pytest.approx([2.0 / 3.0 * LENGTH, 0.5 * WIDTH], abs=1e-9)
    assert found.points == pytest.approx(
        np.array([[0, 0], [LENGTH, 0], [LENGTH, WIDTH], [0, WIDTH]]), abs=1e-12
    )
    assert found.area == pytest.approx(LENGTH * WIDTH, rel=1e-9)
    assert found.force == pytest.approx(3.0, rel=1e-9)
    assert found.tilt == pytest.approx(0.0, abs=1e-6)


def test_footprint_of_a_ball_on_the_ground():
    """Its force and area are the patch's, its centre lies under the ball's."""
    X_WB = pose(position=(0.3, -0.2, 0.046))
    patch = contact.compute_patch(BALL, X_WB, geometry.half_space(), np.eye(4))
    named = Pressed("ball", "ground", patch.force_on_b, patch.faces)
    found = footprint([named], "ball", X_WB)
    assert (found.axes, found.partners) == (("x", "y"), ("ground",))
    assert found.force == pytest.approx(np.linalg.norm(patch.force_on_b), rel=1e-9)
    assert found.area == pytest.approx(patch.area, rel=1e-9)
    assert found.centre == pytest.approx([0.0, 0.0], abs=1e-4)


def test_forces_from_both_sides_add_up():
    """What is squeezed is pressed twice, though the forces cancel."""
    push = rectangle([5e3] * 4, np.eye(4))
    back = Pressed("finger", "pad", push.force_on_b, push.faces)
    assert footprint([push, back], "pad", np.eye(4)).force == pytest.approx(6.0)


@given(turn=vectors, friction=st.floats(-5.0, 5.0))
def test_grip_does_not_count_what_friction_carries(turn, friction):
    """The force across the faces, wherever they look; along another direction its component there."""
    X_WB = pose(turn)
    pad = rectangle([5e3, 6e3, 6e3, 5e3], X_WB)
    held = Pressed("pad", "mug", pad.force_on_b + friction * X_WB[:3, 0], pad.faces)
    assert grip_force([held], "pad") == pytest.approx(3.0, rel=1e-9)
    assert grip_force([held], "pad", X_WB[:3, 0]) == pytest.approx(abs(friction), abs=1e-9)
    assert grip_force([held], "hand") == 0.0


@given(slope=st.floats(0.05, 0.7))
def test_tilt_is_the_angle_between_faces_and_picture(slope):
    found = footprint([rectangle([5e3] * 4, np.eye(4))], "pad", pose((slope, 0.0, 0.0)))
    assert found.tilt == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize(
    ("contacts", "line"),
    [
        ([rectangle([5e3] * 4, np.eye(4))], r"body 'pod': is in no contact; did you mean 'pad'\?"),
        ([], r"body 'pod': is in no contact; choose an instant with contact"),
    ],
)
def test_body_that_nothing_touches_is_refused(contacts, line):
    with pytest.raises(InputError, match=line):
        footprint(contacts, "pod", np.eye(4))


def share_of(path, colour):
    """Share of a picture's pixels that have a colour, to 2 of 255 levels."""
    image = imread(path)[..., :3]
    return np.mean(np.all(np.abs(image - colour[:3]) < 2.5 / 255.0, axis=-1))


def test_map_has_the_colour_of_the_pressure(tmp_path):
    """An even pressure fills the picture with its colour on the scale, and another scale with another."""
    path = tmp_path / "map.png"
    for scale in (PressureScale(), PressureScale(40e3)):
        plot_pressure_map([rectangle([8.05e3] * 4, np.eye(4))], "pad", np.eye(4), path, scale)
        (colour,) = scale.colours(np.array([8.05e3]))
        assert share_of(path, colour) > 0.2
    assert share_of(path, PressureScale().colours(np.array([8.05e3]))[0]) < 0.01


@pytest.mark.parametrize(
    ("peak", "full_scale", "told", "unit"),
    [
        (64.8, 100.0, "64.8 Pa", "Pa"),
        (47.2e3, 100.0, "47200 Pa", "Pa"),
        (8050.0, 20e3, "8.05 kPa", "kPa"),
        (65.0, 20e3, "0.065 kPa", "kPa"),
        (2.5e6, 5e6, "2.5 MPa", "MPa"),
    ],
)
def test_map_tells_pressures_in_one_unit(tmp_path, monkeypatch, peak, full_scale, told, unit):
    """Above it and beside the bar."""
    titles, labels = [], []
    monkeypatch.setattr(Axes, "set_title", lambda _, text: titles.append(text))
    monkeypatch.setattr(Colorbar, "set_label", lambda _, text: labels.append(text))
    contact = rectangle([peak] * 4, np.eye(4))
    plot_pressure_map([contact], "pad", np.eye(4), tmp_path / "map.png", PressureScale(full_scale))
    assert labels[-1:] == [f"pressure [{unit}]"]
    assert f", peak {told}" in titles[0].splitlines()[1]


@pytest.mark.parametrize("name", ["map.pdf", "map"])
def test_a_plot_is_written_to_a_png_alone(tmp_path, name):
    """A PNG was written to a file of any name."""
    path, times, poses = tmp_path / name, [0.0, 1.0], np.array([np.eye(4), pose((0.5, 0.0, 0.0))])
    contacts = [rectangle([8.05e3] * 4, np.eye(4))]
    for plot in (
        lambda: plot_pressure_map(contacts, "pad", np.eye(4), path),
        lambda: plot_grip_force(times, {"pad": times}, path),
        lambda: plot_pitch(times, poses, path),
    ):
        with pytest.raises(
            InputError, match=r"has a name of no format that is written here; end it in \.png"
        ):
            plot()
    assert not list(tmp_path.iterdir())


def test_a_footprint_wants_a_pose():
    with pytest.raises(InputError, match=r"pressure map: X_WB: has shape \(3, 3\); give \(4, 4\) finite"):
        footprint([rectangle([8.05e3] * 4, np.eye(4))], "pad", np.eye(3))


def test_map_grows_lighter_with_the_pressure(tmp_path):
    """Along a rising pressure the pixels go through the colours of the scale in their order."""
    path = tmp_path / "map.png"
    plot_pressure_map([rectangle([0.0, 20e3, 20e3, 0.0], np.eye(4))], "pad", np.eye(4), path)
    image = imread(path)[..., :3]
    row = image[int(0.4 * len(image))]
    distances = np.linalg.norm(row[:, None] - PressureScale().table() / 255.0, axis=2)
    seen = distances.argmin(axis=1)[distances.min(axis=1) < 0.02]
    seen = seen[: np.argmax(seen) + 1]  # what is right of it is the bar
    assert len(seen) > 300
    assert np.all(np.diff(seen) >= 0)
    assert np.ptp(seen) > 240


@given(axis=vectors.filter(lambda a: np.linalg.norm(a) > 0.1), turns=st.floats(0.1, 3.0))
def test_angle_of_a_turn_about_an_axis(axis, turns):
    """Whole turns count, and the axis is found from the poses alone."""
    direction = np.array(axis) / np.linalg.norm(axis)
    angles = 2.0 * np.pi * turns * np.linspace(0.0, 1.0, 40) ** 2
    X_WB = np.array([pose(direction * angle) @ pose((0.4, 1.0, -0.3)) for angle in angles])
    assert main_axis(X_WB) == pytest.approx(direction, abs=1e-6)
    assert angles_about(axis, X_WB) == pytest.approx(angles, abs=1e-6)


def test_nodding_is_no_turn():
    X_WB = np.array([pose((0.0, angle, 0.0)) for angle in np.linspace(0.0, 1.0, 20)])
    assert angles_about((0.0, 0.0, 2.0), X_WB) == pytest.approx(np.zeros(20), abs=1e-12)


@pytest.mark.parametrize("axis", [(0.0, 0.0, 0.0), (0.0, 1.0), (0.0, float("nan"), 1.0)])
def test_axis_without_direction_is_refused(axis):
    with pytest.raises(InputError, match="is no direction"):
        angles_about(axis, np.array([np.eye(4)] * 2))


def test_body_that_does_not_turn_is_refused_without_an_axis(tmp_path):
    still = np.array([np.eye(4)] * 3)
    with pytest.raises(InputError, match="does not turn; name an axis"):
        plot_pitch([0.0, 1.0, 2.0], still, tmp_path / "pitch.png")
    plot_pitch([0.0, 1.0, 2.0], still, tmp_path / "pitch.png", axis=(0.0, 1.0, 0.0))


def curve(path, colour):
    """Height of a line of a colour above the bottom of the picture by column: (columns, pixels)."""
    image = imread(path)[..., :3]
    is_line = np.all(np.abs(image - np.array(colour) / 255.0) < 0.02, axis=-1)
    rows, columns = np.nonzero(is_line[: int(0.85 * len(image))])  # the legend is below
    found = np.unique(columns)
    return found, np.array([len(image) - rows[columns == column].mean() for column in found])


def test_pitch_rises_as_the_body_turns(tmp_path):
    """A steady turn is a straight line in the picture."""
    path, time = tmp_path / "pitch.png", np.linspace(0.0, 1.0, 50)
    plot_pitch(time, np.array([pose((0.0, t, 0.0)) for t in time]), path, body="mug")
    columns, heights = curve(path, LEFT)
    assert len(columns) > 500
    assert np.corrcoef(columns, heights)[0, 1] > 0.9999
    assert heights[-1] > heights[0]


def test_grip_forces_stand_in_proportion(tmp_path):
    """A force of half the size has a line half as high above that of none; the command lies on the force it equals."""
    path, time = tmp_path / "grip.png", np.linspace(0.0, 1.0, 50)
    forces = {"left": np.full(50, 6.0), "right": np.full(50, 3.0), "idle": np.zeros(50)}
    plot_grip_force(time, forces, path, commanded={"commanded": np.full(50, 4.5)})
    heights = [np.median(curve(path, colour)[1]) for colour in (LEFT, RIGHT, IDLE, COMMANDED)]
    left, right, _, command = np.array(heights) - heights[2]
    assert right == pytest.approx(0.5 * left, abs=2.0)
    assert command == pytest.approx(0.75 * left, abs=2.0)
    assert left > 100.0


@pytest.mark.parametrize(
    ("place", "told"), [("missing/x.png", "there is no folder .*; make it first"), (".", "end it in .png")]
)
def test_file_that_cannot_be_written_is_refused(tmp_path, place, told):
    with pytest.raises(InputError, match=told):
        plot_grip_force([0.0, 1.0], {"left": [1.0, 2.0]}, tmp_path / place)
