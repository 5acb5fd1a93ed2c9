"""Publishing threads on stand-ins for ROS and the runner."""

import time
from collections import defaultdict
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest
from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Imu

import hydro_sim_core as hs
from hydro_sim.parameters import Parameters
from hydro_sim.publishing import publishers, streams
from hydro_sim.publishing.publishers import ContactPublisher
from hydro_sim.publishing.streams import StreamPublishers, scale_of, view_of
from hydro_sim.publishing.thread import PublisherThread
from hydro_sim_core.drawing.chosen_scale import scale_of_world
from hydro_sim_core.messages.stream import Stream
from hydro_sim_core.messages.streams import StreamKind
from hydro_sim_core.messages.view import View
from hydro_sim_core.simulation import FixedRateRunner
from hydro_sim_core.simulation.world.snapshot import take_snapshot

SCENES = Path(__file__).parents[2] / "config" / "scenes"
TEXT = "std_msgs/msg/String"


def contact_publisher(monkeypatch, *encoders):
    """A publisher of one stream for each of ``encoders``, at 50 Hz, and what it logs."""
    kind = StreamKind(
        "made_up",
        lambda world, view: [
            Stream(f"topic_{i}", "std_msgs/msg/String", encode) for i, encode in enumerate(encoders)
        ],
        rate=0.0,
        parameter="marker_rate",
        clock="real",
    )
    for module in (publishers, streams):
        monkeypatch.setattr(module, "stream_kinds", lambda: {"made_up": kind})
    errors = []
    topic = SimpleNamespace(get_subscription_count=lambda: 1, publish=lambda message: None)
    node = SimpleNamespace(
        get_logger=lambda: SimpleNamespace(error=errors.append), create_publisher=lambda *_: topic
    )
    snapshot = SimpleNamespace(twists=None, energies=None)
    runner = SimpleNamespace(world=None, snapshot=lambda: snapshot)
    return ContactPublisher(node, runner, Parameters(marker_rate=50.0)), errors


def test_the_colour_scale_is_chosen_unless_it_is_told():
    world = hs.load_scene(SCENES / "mug_on_plate.yaml")
    chosen = scale_of(Parameters(), world)
    assert chosen.maximum == scale_of_world(world).maximum < 5e3
    assert view_of(Parameters(), chosen).scale is chosen
    assert scale_of(Parameters(pressure_full_scale=7.0), world).maximum == 7e3


class MadeUpTime:
    """Passes only where it is waited or worked away; as the event, it ends the loop after so many waits."""

    def __init__(self, rounds):
        self.now = 100.0
        self.rounds = rounds

    def monotonic(self):
        return self.now

    def wait(self, duration):
        self.now += duration
        self.rounds -= 1
        return self.rounds < 0


def starts(monkeypatch, durations):
    """When messages that take so long are begun, s after the first, at a period of 20 ms."""
    clock = MadeUpTime(len(durations))
    monkeypatch.setattr(publishers, "time", clock)
    calls = []

    def encode_slowly(snapshot):
        calls.append(clock.now - 100.0)
        clock.now += durations[len(calls) - 1]

    publisher, _ = contact_publisher(monkeypatch, encode_slowly)
    publisher._run(clock)
    return calls


def test_work_does_not_lower_the_marker_rate(monkeypatch):
    """Whatever a message takes below its period, the next one comes on time."""
    begun = starts(monkeypatch, [0.012, 0.0, 0.0199, 0.005, 0.012])
    assert begun == pytest.approx([0.0, 0.02, 0.04, 0.06, 0.08])


def test_missed_deadlines_of_markers_are_dropped(monkeypatch):
    """Of five, one is made up for at once."""
    begun = starts(monkeypatch, [0.11, 0.0, 0.0, 0.0])
    assert begun == pytest.approx([0.0, 0.11, 0.11, 0.13])


def test_a_stream_that_fails_holds_up_no_other(monkeypatch):
    """It is told of once."""
    published, rounds = Event(), []

    def fail(snapshot):
        raise KeyError("left_finger")

    def encode(snapshot):
        rounds.append(snapshot)
        if len(rounds) == 3:
            published.set()

    publisher, errors = contact_publisher(monkeypatch, fail, encode)
    publisher.thread.start()
    assert published.wait(20.0)
    publisher.thread.stop()
    assert errors == [
        "topic_0: cannot be encoded: topic 'topic_0': encode: does not work (KeyError: 'left_finger'); mend the "
        "package that adds it"
    ]


def test_a_thread_that_ends_by_itself_is_told_of():
    errors, ended = [], Event()

    def log(text):
        errors.append(text)
        ended.set()

    def loop(stop):
        raise ValueError("no such joint")

    thread = PublisherThread("state-publisher", loop, SimpleNamespace(error=log))
    thread.start()
    assert ended.wait(20.0)
    thread.stop()
    assert errors == ["state-publisher has ended: ValueError: no such joint"]
    assert isinstance(thread.error, ValueError)


# --- rates


@pytest.fixture
def falling():
    """A ball that nothing holds, with two IMUs."""
    scene = hs.SceneBuilder(time_step=1e-3)
    scene.add_body("ball", 1.0).add_shape("sphere", radius=0.1)
    scene.add_sensor("slow", "imu", "ball", rate=100).add_sensor("fast", "imu", "ball")
    return hs.World(scene.build())


class Topics:
    """Stands in for a node; remembers what is published by topic."""

    def __init__(self):
        self.messages, self.errors = defaultdict(list), []

    def create_publisher(self, _, topic, *__, **___):
        return SimpleNamespace(get_subscription_count=lambda: 1, publish=self.messages[topic].append)

    def get_logger(self):
        return SimpleNamespace(error=self.errors.append)


def test_sensors_are_published_at_their_own_rates(falling):
    node = Topics()
    published = StreamPublishers(node, View(), {"sensors"})
    published.describe(falling)
    published.publish(take_snapshot(falling, 0))
    for _ in range(50):
        falling.step()
        published.publish(take_snapshot(falling, 0))
    slow, fast = (
        [deserialize_message(data, Imu) for data in node.messages[f"{name}/data"]]
        for name in ("slow", "fast")
    )
    assert [message.header.stamp.nanosec for message in slow] == [10**7 * i for i in range(6)]
    assert [message.header.stamp.nanosec for message in fast] == [10**6 * i for i in range(51)]
    assert {message.header.frame_id for message in slow} == {"slow"}
    assert slow[0].linear_acceleration.z == pytest.approx(9.81)
    assert slow[-1].linear_acceleration.z == pytest.approx(0.0, abs=1e-9)


def test_a_wrench_topic_is_there_for_those_who_ask_for_it():
    """A scene that names no pairs has none by default; the force is that of the step, in the ground's frame."""
    world = hs.load_scene(SCENES / "drop_box.yaml")
    world.step(1000)
    for asked, topics in (("", []), ("box_on_ground", ["~/wrench/box_on_ground"])):
        node = Topics()
        published = StreamPublishers(node, view_of(Parameters(wrench_topics=(asked,))), {"wrenches"})
        published.describe(world)
        published.publish(take_snapshot(world, 0))
        assert list(node.messages) == topics
    message = deserialize_message(node.messages["~/wrench/box_on_ground"][0], WrenchStamped)
    assert message.header.frame_id == "world"
    (patch,) = world.contacts
    assert message.wrench.force.z == patch.force_on_b[2] < -1.0


def test_a_wrist_publishes_what_it_transmits():
    """As a force_torque_sensor_broadcaster of its name: NAME/wrench, in the sensor's frame."""
    scene = hs.SceneBuilder(time_step=1e-3)
    model = scene.add_model("rig")
    model.add_link("hand")
    model.add_link("weight", mass=2.0, center_of_mass=(0.1, 0, 0), inertia=(0.01, 0.01, 0.01))
    model.add_joint("flange", "fixed", "hand", "weight")
    scene.add_sensor("fts_broadcaster", "force_torque", "weight", xyz=(0.05, 0, 0))
    world = hs.World(scene.build())
    world.step()
    node = Topics()
    published = StreamPublishers(node, View(), {"sensors"})
    published.describe(world)
    published.publish(take_snapshot(world, 0))
    message = deserialize_message(node.messages["fts_broadcaster/wrench"][0], WrenchStamped)
    assert message.header.frame_id == "fts_broadcaster"
    assert message.wrench.force.z == pytest.approx(-2.0 * 9.81)
    assert message.wrench.torque.y == pytest.approx(0.05 * 2.0 * 9.81)


def test_a_kind_by_real_time_needs_a_parameter():
    with pytest.raises(
        hs.InputError, match="'told': goes by real time, whose rate no recording has; name the"
    ):
        StreamKind("told", lambda world, view: [], rate=10.0, clock="real")


def test_kinds_without_a_parameter_go_at_the_rate_of_recordings(falling, monkeypatch):
    """As a plug-in's may be; one that fails is told of, and the others go on."""

    def fail(snapshot):
        raise KeyError("ball")

    kinds = {
        name: StreamKind(
            name, lambda world, view, name=name, encode=encode: [Stream(name, TEXT, encode)], rate=10.0
        )
        for name, encode in {"told": lambda snapshot: b"told", "failing": fail}.items()
    }
    for module in (publishers, streams):
        monkeypatch.setattr(module, "stream_kinds", lambda: kinds)
    node = Topics()
    runner = FixedRateRunner(falling, real_time_factor=float("inf"), start_paused=True)
    publisher = publishers.StatePublisher(node, falling, runner, Parameters())
    for part in (runner, publisher.thread):
        part.start()
    for expected in (1, 2, 3):
        until = time.monotonic() + 20.0
        while len(node.messages["told"]) < expected and time.monotonic() < until:
            time.sleep(1e-3)
        assert node.messages["told"] == [b"told"] * expected
        runner.step(100)
    runner.stop()
    publisher.thread.stop()
    assert publisher.thread.error is None
    assert node.errors == [
        "failing: cannot be encoded: topic 'failing': encode: does not work (KeyError: 'ball'); mend the package that "
        "adds it"
    ]
