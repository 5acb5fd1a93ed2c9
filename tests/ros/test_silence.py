"""What is said of a controller manager that sleeps by the clock of a simulation before this one."""

from types import SimpleNamespace

import pytest
import rclpy
from sensor_msgs.msg import JointState

from hydro_sim.hil import silence
from hydro_sim.hil.silence import SilenceWatch
from hydro_sim.parameters import Parameters

SAID = "/joint_commands: /sleeper has commanded nothing for 10 s"


@pytest.fixture
def watch(monkeypatch):
    """Look once a second for half a minute, with these circumstances; what is logged."""
    now, log, timers = [100.0], [], []
    monkeypatch.setattr(silence.time, "monotonic", lambda: now[0])

    def look(publishers=1, received=0, pace=1.0, builtin_controllers=False):
        endpoint = SimpleNamespace(node_namespace="/", node_name="sleeper")
        node = SimpleNamespace(
            resolve_topic_name=lambda topic: f"/{topic}",
            count_publishers=lambda topic: publishers,
            get_publishers_info_by_topic=lambda topic: [endpoint] * publishers,
            get_logger=lambda: SimpleNamespace(warning=log.append),
            create_timer=lambda period, callback, clock: timers.append(callback),
        )
        runner = SimpleNamespace(snapshot=lambda: SimpleNamespace(time=pace * now[0]))
        link = SimpleNamespace(reports=lambda: {"joint": SimpleNamespace(received=received)})
        SilenceWatch(node, runner, link, Parameters(builtin_controllers=builtin_controllers))
        for _ in range(30):
            now[0] += 1.0
            timers[0]()
        return log

    return look


def test_a_publisher_that_never_commands_is_told_once(watch):
    """With its name, and what to do."""
    (line,) = watch()
    assert line.startswith(SAID)
    assert "start it anew" in line


@pytest.mark.parametrize(
    "usual", [{"publishers": 0}, {"received": 1}, {"pace": 0.0}, {"builtin_controllers": True}]
)
def test_usual_silences_are_not_told(watch, usual):
    """Nobody is there, somebody has commanded, time stands still, nobody is expected."""
    assert watch(**usual) == []


def test_the_node_tells_of_a_sleeper_beside_it(start_node):
    """As a manager is that was there before."""
    node = start_node("-p", "scene:=drop_box", "-p", "builtin_controllers:=false")
    node.wait_for_output("scene 'drop_box'", timeout=300)
    context = rclpy.Context()
    context.init(domain_id=node.domain)
    sleeper = rclpy.create_node("sleeper", context=context)
    try:
        sleeper.create_publisher(JointState, "joint_commands", 1)
        node.wait_for_output(SAID, timeout=60)
    finally:
        sleeper.destroy_node()
        context.shutdown()
