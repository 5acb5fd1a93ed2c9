"""Publishing threads on stand-ins for ROS and the runner."""

import time
from types import SimpleNamespace

from hydro_sim.parameters import Parameters
from hydro_sim.publishing.publishers import ContactPublisher


def test_work_does_not_lower_the_marker_rate():
    """Whatever a message takes below its period, the next one comes on time."""
    calls = []

    class SlowView:
        def publish(self, snapshot):
            calls.append(time.monotonic())
            time.sleep(0.012)

    node = SimpleNamespace(create_publisher=lambda *_: None)
    runner = SimpleNamespace(world=None, snapshot=lambda: SimpleNamespace(twists={}))
    publisher = ContactPublisher(node, runner, Parameters(marker_rate=50.0))
    publisher._views = [SlowView()]
    publisher.start()
    time.sleep(2.0)
    publisher.stop()
    assert 90 <= len(calls) <= 102  # 62 if the work were added to the period
