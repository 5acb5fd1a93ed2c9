"""``/clock`` tells every step once and in order, however late the publishing thread is and whatever happens to time."""

import time
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import pytest
from rclpy.serialization import deserialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

import hydro_sim_core as hs
from hydro_sim.parameters import Parameters
from hydro_sim.publishing import late_joiners
from hydro_sim.publishing.clock import ClockPublisher
from hydro_sim.publishing.publishers import StatePublisher
from hydro_sim.publishing.steps import MOST_WAITING
from hydro_sim_core.simulation import FixedRateRunner
from hydro_sim_core.simulation.world.snapshot import take_snapshot
from support.ros.ros_client import RELIABLE, Client

ROOT = Path(__file__).parents[2]


class _Recorder:
    """Stands in for a publisher of rclpy."""

    def __init__(self, delay=0.0):
        self.delay = delay
        self.data = []

    def publish(self, data):
        self.data.append(data)
        if self.delay and len(self.data) % 50 == 0:
            time.sleep(self.delay)

    def get_subscription_count(self):
        return 0

    @property
    def stamps(self):
        clocks = [deserialize_message(data, Clock).clock for data in self.data]
        return [(clock.sec, clock.nanosec) for clock in clocks]


@pytest.fixture(scope="module")
def world():
    return hs.load_scene(ROOT / "config" / "scenes" / "drop_box.yaml")


def test_a_slow_publisher_leaves_out_no_step(world):
    """A thread that is held up again and again, resets in a running simulation and single steps: all there, once."""
    world.reset()
    runner = FixedRateRunner(world, real_time_factor=float("inf"), start_paused=True)
    expected = [(0, 0)]
    runner.add_listener(lambda snapshot: expected.append(divmod(round(snapshot.time * 1e9), 1_000_000_000)))
    recorders = {}

    def create_publisher(_, topic, *__, **___):
        recorder = _Recorder(delay=0.03 if topic == "/clock" else 0.0)
        return recorders.setdefault(topic, recorder)

    node = SimpleNamespace(create_publisher=create_publisher, get_logger=lambda: None)
    publisher = StatePublisher(node, world, runner, Parameters())
    for part in (runner, publisher.thread):
        part.start()
    runner.step(3)
    runner.reset()
    for steps in (700, 800, 500):
        seen = len(expected)
        runner.resume()
        while len(expected) < seen + steps:
            time.sleep(0.001)
        runner.reset()
    runner.pause()
    runner.step(2)
    runner.stop()
    publisher.thread.stop()
    assert len(expected) > 2000
    assert expected.count((0, 0)) == 5  # the start and four resets
    assert recorders["/clock"].stamps == expected


@pytest.mark.parametrize("held_up", [MOST_WAITING // 2, 3 * MOST_WAITING])
def test_states_that_are_due_are_sent_or_counted(world, held_up):
    """A thread that is late by few steps sends all states of them; by many, it counts those that it leaves out."""
    world.reset()
    listeners, recorders = [], defaultdict(_Recorder)
    start = take_snapshot(world, epoch=0)
    runner = SimpleNamespace(snapshot=lambda: start, add_follower=listeners.append)
    runner.paused = runner.waiting_for_permit = False
    node = SimpleNamespace(
        create_publisher=lambda _, topic, *__, **___: recorders[topic], get_logger=lambda: None
    )
    publisher = StatePublisher(node, world, runner, Parameters(joint_state_rate=250.0))
    # The stepping thread goes on while nothing is published.
    for _ in range(held_up):
        world.step()
        listeners[0](take_snapshot(world, epoch=0))
    publisher.thread.start()
    while len(recorders["/clock"].data) < held_up + 1:
        time.sleep(0.001)
    publisher.thread.stop()
    period = round(1.0 / 250.0 / world.time_step)
    due = [step * world.time_step for step in range(0, held_up + 1, period)]
    kept = [t for t in due if t < (MOST_WAITING - 0.5) * world.time_step]
    stamps = [deserialize_message(data, JointState).header.stamp for data in recorders["joint_states"].data]
    assert [stamp.sec + 1e-9 * stamp.nanosec for stamp in stamps] == pytest.approx(kept)
    assert publisher.unsent["joint_states"] == len(due) - len(kept)
    assert (len(due) == len(kept)) == (held_up < MOST_WAITING)


def test_states_of_a_world_that_was_exchanged_are_not_sent(world):
    """They would not fit the messages of the one that took its place; its clock goes on."""
    listeners, recorders = [], defaultdict(_Recorder)
    other = hs.load_scene("mug_on_plate")
    runner = SimpleNamespace(snapshot=lambda: take_snapshot(world, epoch=0), add_follower=listeners.append)
    runner.paused = runner.waiting_for_permit = False
    node = SimpleNamespace(
        create_publisher=lambda _, topic, *__, **___: recorders[topic],
        destroy_publisher=lambda _: True,
        get_logger=lambda: None,
    )
    publisher = StatePublisher(node, world, runner, Parameters())
    runner.snapshot = lambda: take_snapshot(other, epoch=1)
    publisher.world_changed(other)
    listeners[0](take_snapshot(other, epoch=1))
    publisher.thread.start()
    while len(recorders["/clock"].data) < 2:
        time.sleep(0.001)
    publisher.thread.stop()
    (state,) = (deserialize_message(data, JointState) for data in recorders["joint_states"].data)
    assert list(state.name) == list(other.joint_names)
    assert publisher.unsent["joint_states"] == 1


def test_a_pause_is_silent_until_someone_new_listens(monkeypatch):
    """Then the present time is repeated for a while, as often as asked, and silence comes back."""
    now = [100.0]
    monkeypatch.setattr(late_joiners, "time", SimpleNamespace(monotonic=lambda: now[0]))
    recorder = _Recorder()
    matched = []

    def create_publisher(*_, event_callbacks):
        matched.append(event_callbacks.matched)
        return recorder

    def listen(came, there):
        matched[0](SimpleNamespace(total_count=came, current_count=there))

    clock = ClockPublisher(SimpleNamespace(create_publisher=create_publisher), Parameters())
    listen(came=1, there=1)
    clock.publish(1.5)
    clock.served()

    def repeats():
        before = len(recorder.data)
        clock.repeat_for_late_joiners()
        return len(recorder.data) - before

    assert repeats() == 0
    listen(came=2, there=2)
    assert repeats() == 1
    now[0] += 1.0
    assert repeats() == 1
    now[0] += 60.0
    assert repeats() == 0
    listen(came=2, there=1)
    assert repeats() == 0
    # One goes and another one comes, between two looks.
    listen(came=2, there=0)
    listen(came=3, there=1)
    assert repeats() == 1
    assert set(recorder.stamps) == {(1, 500_000_000)}


def test_a_lower_rate_keeps_its_share_of_steps():
    recorder = _Recorder()
    clock = ClockPublisher(
        SimpleNamespace(create_publisher=lambda *_, **__: recorder), Parameters(clock_rate=100.0)
    )
    for step in range(1000):
        clock.publish(step * 1e-3)
    assert len(recorder.stamps) == 100
    assert len(set(recorder.stamps)) == 100


@pytest.mark.realtime
def test_a_reliable_recorder_gets_every_step(node):
    """Over DDS, through pauses, single steps and resets."""
    client = Client(node.domain, topics=["/joint_states"])
    try:
        client.listen("/clock", Clock, RELIABLE)
        received = client.received["/clock"]
        client.wait_for_node()

        def run(steps):
            wanted = len(received) + steps
            client.wait_until(lambda: len(received) >= wanted, f"{steps} steps")

        client.pause(False)
        run(1000)
        client.call_reset()
        run(500)
        client.pause(True)
        for _ in range(3):
            assert client.step().success
        client.call_reset()
        client.pause(False)
        run(700)
        client.pause(True)
        client.next(
            "/joint_states"
        )  # the states of a pause come slowly: whatever the clock had to tell is there
    finally:
        client.close()
    steps = [round((m.clock.sec + 1e-9 * m.clock.nanosec) / 1e-3) for m in received]
    # The first that arrives may be the node's first step, or a later one: not a beginning to find.
    beginnings = [i for i, step in enumerate(steps) if step == 0 and i > 0]
    assert len(steps) >= 2200
    assert len(beginnings) == 2
    for first, last in zip([0, *beginnings], [*beginnings, len(steps)], strict=True):
        assert steps[first:last] == list(range(steps[first], steps[first] + last - first))


def test_the_clock_can_be_left_to_another_node():
    """Nothing is published, and nothing fails."""
    topics = []
    node = SimpleNamespace(create_publisher=lambda _, topic, *__: topics.append(topic))
    clock = ClockPublisher(node, Parameters(publish_clock=False))
    clock.served()
    clock.publish(0.1)
    clock.repeat_for_late_joiners()
    assert topics == []
