"""Topics of the Soft-bubble fingers: what they carry, in which frame, and which parameters are refused."""

from importlib import import_module

import numpy as np
import pytest
from rclpy.serialization import deserialize_message

from hydro_sim.parameters import Parameters
from hydro_sim.publishing.streams import check_bubbles, view_of
from hydro_sim_core.description.scene_edits import without
from hydro_sim_core.errors import InputError
from hydro_sim_core.messages.bubbles import depth_in_mm, make_camera
from hydro_sim_core.messages.streams import stream_kinds
from hydro_sim_core.simulation import World, load_scene
from hydro_sim_core.simulation.scenes import shipped_scene
from hydro_sim_core.simulation.world.snapshot import take_snapshot

BUBBLES = {
    "bubbles": ("left_finger", "right_finger"),
    "bubble_cameras": ("left_bubble_camera", "right_bubble_camera"),
}
#: rad
FIELD_OF_VIEW = 1.0


class _Topics:
    """What streams tell, decoded as another process would."""

    def __init__(self, streams, snapshot):
        self.streams = {stream.topic: stream for stream in streams}
        self._snapshot = snapshot

    def __getitem__(self, topic):
        stream = self.streams[topic]
        package, _, name = stream.type_name.partition("/msg/")
        return deserialize_message(
            stream.encode(self._snapshot), getattr(import_module(f"{package}.msg"), name)
        )


@pytest.fixture(scope="module")
def world():
    world = load_scene(shipped_scene("cylinder_grasp"))
    world.step(600)
    return world


@pytest.fixture(scope="module")
def snapshot(world):
    """A cylinder held by both fingers."""
    return take_snapshot(world, epoch=0)


@pytest.fixture
def make(world, snapshot):
    """Topics by parameters."""

    def make_topics(**parameters):
        view = view_of(Parameters(**{**BUBBLES, **parameters}))
        check_bubbles(view, world)
        return _Topics(stream_kinds()["bubbles"].streams(world, view), snapshot)

    return make_topics


def _pixels(message, dtype):
    assert message.step == message.width * np.dtype(dtype).itemsize
    return np.frombuffer(bytes(message.data), dtype=dtype).reshape(message.height, message.width)


def test_topics_are_named_and_stamped_as_those_of_the_real_sensor(make):
    """bubble_1 and bubble_2 in the order of the parameters, each image in its camera's frame, at the step's time."""
    topics = make(bubble_image_size=(64, 48))
    names = ("depth/image_rect_raw", "depth/camera_info", "contact_pressure/image_rect_raw", "force")
    assert set(topics.streams) == {f"bubble_{number}/{name}" for number in (1, 2) for name in names}
    for number, side in ((1, "left"), (2, "right")):
        for name in names[:3]:
            message = topics[f"bubble_{number}/{name}"]
            assert message.header.frame_id == f"{side}_bubble_camera"
            assert message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec == pytest.approx(0.6)
            assert (message.width, message.height) == (64, 48)


def test_camera_info_projects_the_field_of_view(make):
    """The borders of the image are half the angle to the left and to the right of its middle."""
    topics = make(bubble_image_size=(64, 48), bubble_field_of_view=FIELD_OF_VIEW)
    info = topics["bubble_1/depth/camera_info"]
    K = info.k.reshape(3, 3)
    for side, column in ((-1.0, -0.5), (1.0, 63.5)):
        assert (K @ [side * np.tan(0.5 * FIELD_OF_VIEW), 0.0, 1.0])[:2] == pytest.approx([column, 23.5])
    assert np.array_equal(info.p.reshape(3, 4)[:, :3], K)
    assert np.array_equal(info.r.reshape(3, 3), np.eye(3))
    assert info.distortion_model == "plumb_bob"
    assert list(info.d) == [0.0] * 5
    assert not info.roi.do_rectify


def test_both_encodings_of_depth_agree(make, snapshot, world):
    """Whole mm and 0, or m and NaN; the membrane is pushed in where the pressure image says so."""
    in_mm = make()["bubble_1/depth/image_rect_raw"]
    assert in_mm.encoding == "16UC1"
    topics = make(bubble_depth_encoding="32FC1")
    in_m = topics["bubble_1/depth/image_rect_raw"]
    assert in_m.encoding == "32FC1"
    mm, m = _pixels(in_mm, np.uint16), _pixels(in_m, np.float32)
    seen = np.isfinite(m)
    assert seen.any()
    assert not seen.all()
    assert mm[seen] == pytest.approx(1e3 * m[seen], abs=0.501)
    assert not mm[~seen].any()
    pressure = _pixels(topics["bubble_1/contact_pressure/image_rect_raw"], np.float32)
    rest = make_camera(view_of(Parameters(**BUBBLES)).bubbles[0], world)[0].rest_depth
    pushed = np.nan_to_num(rest - m) > 1e-6
    assert (pressure > 0.0).sum() > 1000
    assert pushed[pressure > 0.0].all()
    peak = max(patch.peak_pressure for patch in snapshot.contacts)
    assert 0.8 * peak < pressure.max() <= peak * (1.0 + 1e-6)


def test_noise_of_the_depth_is_white_and_the_same_at_every_look(make):
    """As large as it is told, in both encodings, of its own for each finger and seed; pressure has none."""
    name = "bubble_1/depth/image_rect_raw"
    clean = _pixels(make(bubble_depth_encoding="32FC1")[name], np.float32)
    noisy = {"bubble_depth_encoding": "32FC1", "bubble_depth_noise": 1e-3}
    topics = make(**noisy)
    first = _pixels(topics[name], np.float32)
    np.testing.assert_array_equal(np.isnan(first), np.isnan(clean))
    off = (first - clean)[np.isfinite(clean)]
    assert off.std() == pytest.approx(1e-3, rel=0.02)
    assert abs(off.mean()) < 5e-3 * 1e-3 * 3.0
    np.testing.assert_array_equal(_pixels(topics[name], np.float32), first)
    np.testing.assert_array_equal(_pixels(make(**noisy)[name], np.float32), first)
    other = _pixels(make(**noisy, bubble_noise_seed=1)[name], np.float32) - clean
    right, rest = (
        _pixels(make(**values)["bubble_2/depth/image_rect_raw"], np.float32)
        for values in (noisy, {"bubble_depth_encoding": "32FC1"})
    )
    for unlike in (other, right - rest):
        both = np.isfinite(unlike) & np.isfinite(clean)
        assert abs(np.corrcoef(unlike[both], (first - clean)[both])[0, 1]) < 0.05
    in_mm = _pixels(make(bubble_depth_noise=1e-3)[name], np.uint16)
    seen = np.isfinite(clean)
    assert in_mm[seen] == pytest.approx(1e3 * first[seen], abs=0.501)
    pressure = "bubble_1/contact_pressure/image_rect_raw"
    assert topics[pressure].data == make(bubble_depth_encoding="32FC1")[pressure].data


def test_depth_beyond_the_range_of_the_encoding_is_its_end():
    assert depth_in_mm(np.array([0.0123, np.nan, 1e6])).tolist() == [12, 0, 65535]


def test_force_is_the_shear_of_the_wrenches(make, snapshot):
    """Of what the cylinder does to the finger, the part along the rim's plane: half its weight, held by each finger."""
    topics = make()
    for number in (1, 2):
        message = topics[f"bubble_{number}/force"]
        assert message.layout.dim[0].size == len(message.data)
        link, frame = BUBBLES["bubbles"][number - 1], BUBBLES["bubble_cameras"][number - 1]
        force = -sum(patch.force_on_b for patch in snapshot.contacts if patch.name_a == link)
        X_WC, R_WL = snapshot.frames[frame], snapshot.frames[link][:3, :3]
        tangential = force - (force @ R_WL[:, 1]) * R_WL[:, 1]  # the cap's axis is the finger's y
        assert np.hypot(*message.data[:2]) == pytest.approx(np.linalg.norm(tangential), rel=1e-5)
        assert message.data[0] == pytest.approx(force @ X_WC[:3, 0], rel=1e-5)
        assert list(message.data[2:6]) == [0.0] * 4
        assert message.data[6] == pytest.approx(np.linalg.norm(tangential), rel=1e-5)
        assert np.linalg.norm(tangential) == pytest.approx(0.5 * 0.2 * 9.81, rel=0.02)


def test_nothing_comes_of_a_finger_that_was_deleted(make, world, snapshot):
    """Until a reset brings it back."""
    streams = make().streams.values()
    without_arm = World(without(world.scene, "arm"), world)
    gone = take_snapshot(without_arm, epoch=1)
    assert all(stream.encode(gone) is None for stream in streams)
    assert all(stream.encode(snapshot) is not None for stream in streams)
    assert not list(stream_kinds()["bubbles"].streams(without_arm, view_of(Parameters(**BUBBLES))))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"bubbles": ("left_fingr",), "bubble_cameras": ("left_bubble_camera",)},
            r"bubbles: link 'left_fingr'",
        ),
        ({"bubble_cameras": ("left_bubble_camera",)}, r"bubble_cameras: 1 cameras for 2 bubbles"),
        ({"bubble_cameras": ("left_bubble_camera", "nowhere")}, r"bubble_cameras: link 'nowhere' is not"),
        (
            {"bubble_cameras": ("left_bubble_camera", "left_bubble_camera")},
            r"does not move with 'right_finger'",
        ),
        ({"bubbles": ("gripper",), "bubble_cameras": ("gripper",)}, r"'gripper' has 0 ellipsoids"),
        ({"bubble_image_size": (320,)}, r"bubble_image_size: \(320,\) is no size"),
        ({"bubble_image_size": (0, 240)}, r"bubble_image_size: \(0, 240\) is no size"),
        ({"bubble_image_size": (320, 100_000)}, r"give width and height, each from 1 to 4096"),
        ({"bubbles": ("left_finger",), "bubble_cameras": ("left_finger",)}, r"sees nothing of the membrane"),
    ],
)
def test_bad_parameters_are_refused(make, parameters, message):
    with pytest.raises(InputError, match=message):
        make(**parameters)


def test_no_bubbles_by_default(make):
    assert not make(bubbles=("",), bubble_cameras=("",)).streams
