"""Publishing threads on stand-ins for ROS and the runner."""

from threading import Event
from types import SimpleNamespace

import pytest

from hydro_sim.parameters import Parameters
from hydro_sim.publishing import publishers, streams
from hydro_sim.publishing.publishers import ContactPublisher
from hydro_sim.publishing.thread import PublisherThread
from hydro_sim_core.messages.stream import Stream
from hydro_sim_core.messages.streams import StreamKind


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
    assert errors == ["topic_0: cannot be told: KeyError: 'left_finger'"]


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
