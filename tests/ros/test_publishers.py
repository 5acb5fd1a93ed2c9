"""Publishing threads on stand-ins for ROS and the runner."""

import time
from threading import Event
from types import SimpleNamespace

import pytest

from hydro_sim.parameters import Parameters
from hydro_sim.publishing.publishers import ContactPublisher
from hydro_sim.publishing.thread import PublisherThread


def contact_publisher(*views):
    """A publisher of these views, and what is logged as an error."""
    errors = []
    logger = SimpleNamespace(error=errors.append)
    node = SimpleNamespace(create_publisher=lambda *_: None, get_logger=lambda: logger)
    runner = SimpleNamespace(world=None, snapshot=lambda: SimpleNamespace(twists={}))
    publisher = ContactPublisher(node, runner, Parameters(marker_rate=50.0))
    publisher._views = list(views)
    return publisher, errors


@pytest.mark.realtime
def test_work_does_not_lower_the_marker_rate():
    """Whatever a message takes below its period, the next one comes on time."""
    calls = []

    class SlowView:
        def publish(self, snapshot):
            calls.append(time.monotonic())
            time.sleep(0.012)

    publisher, _ = contact_publisher(SlowView())
    publisher.thread.start()
    time.sleep(2.0)
    publisher.thread.stop()
    assert 90 <= len(calls) <= 102  # 62 if the work were added to the period


def test_a_view_that_fails_holds_up_no_other():
    """It is told of once."""
    published = Event()

    class BrokenView:
        def publish(self, snapshot):
            raise KeyError("left_finger")

    class LaterView:
        rounds = 0

        def publish(self, snapshot):
            self.rounds += 1
            if self.rounds == 3:
                published.set()

    publisher, errors = contact_publisher(BrokenView(), LaterView())
    publisher.thread.start()
    assert published.wait(20.0)
    publisher.thread.stop()
    assert errors == ["BrokenView failed: KeyError: 'left_finger'"]


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
