"""Topics of the Soft-bubble fingers: what they carry, in which frame, and which parameters are refused."""

from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message

from hydro_sim.parameters import Parameters
from hydro_sim.publishing.bubbles import bubble_views, depth_in_mm
from hydro_sim_core.description.scene_edits import without
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import World, load_scene
from hydro_sim_core.simulation.scenes import shipped_scene
from hydro_sim_core.simulation.snapshot import take_snapshot

BUBBLES = {
    "bubbles": ("left_finger", "right_finger"),
    "bubble_cameras": ("left_bubble_camera", "right_bubble_camera"),
}
#: rad
FIELD_OF_VIEW = 1.0


class _Topic:
    """Stands in for a publisher; keeps what another process would decode."""

    def __init__(self):
        self.messages = []

    def get_subscription_count(self):
        return 1

    def publish(self, message):
        self.messages.append(deserialize_message(serialize_message(message), type(message)))


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
def make(world):
    """Views by parameters, and their topics by name."""

    def make_views(**parameters):
        topics = defaultdict(_Topic)
        node = SimpleNamespace(create_publisher=lambda _, topic, *__: topics[topic])
        return bubble_views(node, world, Parameters(**{**BUBBLES, **parameters})), topics

    return make_views


def _pixels(message, dtype):
    assert message.step == message.width * np.dtype(dtype).itemsize
    return np.frombuffer(bytes(message.data), dtype=dtype).reshape(message.height, message.width)


def test_topics_are_named_and_stamped_as_those_of_the_real_sensor(make, snapshot):
    """bubble_1 and bubble_2 in the order of the parameters, each image in its camera's frame, at the step's time."""
    views, topics = make(bubble_image_size=(64, 48))
    for view in views:
        view.publish(snapshot)
    names = ("depth/image_rect_raw", "depth/camera_info", "contact_pressure/image_rect_raw", "force")
    assert set(topics) == {f"bubble_{number}/{name}" for number in (1, 2) for name in names}
    for number, side in ((1, "left"), (2, "right")):
        for name in names[:3]:
            (message,) = topics[f"bubble_{number}/{name}"].messages
            assert message.header.frame_id == f"{side}_bubble_camera"
            assert message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec == pytest.approx(0.6)
            assert (message.width, message.height) == (64, 48)


def test_camera_info_projects_the_field_of_view(make, snapshot):
    """The borders of the image are half the angle to the left and to the right of its middle."""
    (view, _), topics = make(bubble_image_size=(64, 48), bubble_field_of_view=FIELD_OF_VIEW)
    view.publish(snapshot)
    (info,) = topics["bubble_1/depth/camera_info"].messages
    K = info.k.reshape(3, 3)
    for side, column in ((-1.0, -0.5), (1.0, 63.5)):
        assert (K @ [side * np.tan(0.5 * FIELD_OF_VIEW), 0.0, 1.0])[:2] == pytest.approx([column, 23.5])
    assert np.array_equal(info.p.reshape(3, 4)[:, :3], K)
    assert not any(info.d)


def test_both_encodings_of_depth_agree(make, snapshot):
    """Whole mm and 0, or m and NaN; the membrane is pushed in where the pressure image says so."""
    (view, _), topics = make()
    view.publish(snapshot)
    (in_mm,) = topics["bubble_1/depth/image_rect_raw"].messages
    assert in_mm.encoding == "16UC1"
    (view, _), topics = make(bubble_depth_encoding="32FC1")
    view.publish(snapshot)
    (in_m,) = topics["bubble_1/depth/image_rect_raw"].messages
    assert in_m.encoding == "32FC1"
    mm, m = _pixels(in_mm, np.uint16), _pixels(in_m, np.float32)
    seen = np.isfinite(m)
    assert seen.any()
    assert not seen.all()
    assert mm[seen] == pytest.approx(1e3 * m[seen], abs=0.501)
    assert not mm[~seen].any()
    pressure = _pixels(topics["bubble_1/contact_pressure/image_rect_raw"].messages[0], np.float32)
    rest = view._camera.rest_depth
    pushed = np.nan_to_num(rest - m) > 1e-6
    assert (pressure > 0.0).sum() > 1000
    assert pushed[pressure > 0.0].all()
    peak = max(patch.peak_pressure for patch in snapshot.contacts)
    assert 0.8 * peak < pressure.max() <= peak * (1.0 + 1e-6)


def test_depth_beyond_the_range_of_the_encoding_is_its_end():
    assert depth_in_mm(np.array([0.0123, np.nan, 1e6])).tolist() == [12, 0, 65535]


def test_force_is_the_shear_of_the_wrenches(make, snapshot):
    """Of what the cylinder does to the finger, the part along the rim's plane: half its weight, held by each finger."""
    views, topics = make()
    for number, view in enumerate(views, start=1):
        view.publish(snapshot)
        (message,) = topics[f"bubble_{number}/force"].messages
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
    views, topics = make()
    scene = without(world.scene, "arm")
    gone = take_snapshot(World(scene, world), epoch=1)
    for view in views:
        view.publish(gone)
    assert not any(topic.messages for topic in topics.values())
    for view in views:
        view.publish(snapshot)
    assert all(topic.messages for topic in topics.values())


def test_nothing_is_drawn_for_nobody(make, snapshot, monkeypatch):
    (view, _), topics = make()
    monkeypatch.setattr(_Topic, "get_subscription_count", lambda _: 0)
    view.publish(snapshot)
    assert not any(topic.messages for topic in topics.values())


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
    assert make(bubbles=("",), bubble_cameras=("",)) == ([], {})
