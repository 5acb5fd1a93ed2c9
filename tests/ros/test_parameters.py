"""Parameters at run time: taken where that is safe, refused with the reason where it is not."""

import math

import pytest
import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter

from hydro_sim.parameter_rules import declare_parameters
from hydro_sim_core.errors import InputError
from support.ros_domains import take_domain


class Settings:
    """Parameters on a node, and what was told of them."""

    def __init__(self, node):
        self.configured = False
        self.told = []
        self.values = declare_parameters(node, lambda: self.configured, self.told.append)
        self._node = node

    def set(self, **values):
        """Set several at once; None if they were taken, else the reason."""
        wanted = [Parameter(name, value=value) for name, value in values.items()]
        result = self._node.set_parameters_atomically(wanted)
        return None if result.successful else result.reason

    def stored(self, name):
        """What ``ros2 param get`` shows."""
        return self._node.get_parameter(name).value


@pytest.fixture
def settings():
    context = rclpy.Context()
    context.init(domain_id=take_domain())
    node = Node("settings", context=context, automatically_declare_parameters_from_overrides=True)
    yield Settings(node)
    node.destroy_node()
    context.shutdown()


@pytest.mark.parametrize(
    "name", ["use_sim_times", "start_type_description_services", "qos_override", "qos_overridesx.depth"]
)
def test_a_name_that_only_begins_as_one_of_ros_is_no_parameter(name):
    """It was swallowed; those of ROS itself pass."""
    context = rclpy.Context()
    context.init(domain_id=take_domain())
    given = {name: 1, "qos_overrides./clock.publisher.depth": 1}

    def declare():
        overrides = [Parameter(name, value=value) for name, value in given.items()]
        node = Node(
            "settings",
            context=context,
            parameter_overrides=overrides,
            automatically_declare_parameters_from_overrides=True,
        )
        try:
            Settings(node)
        finally:
            node.destroy_node()

    with pytest.raises(InputError, match=f"{name}: no such parameter"):
        declare()
    del given[name]
    declare()
    context.shutdown()


def test_live_ones_change_while_it_runs(settings):
    settings.configured = True
    assert settings.set(real_time_factor=0.5, overrun="skip", link_delay=0.02) is None
    assert (settings.values.pace, settings.values.overrun, settings.values.link_delay) == (0.5, "skip", 0.02)
    assert settings.told == [{"real_time_factor", "overrun", "link_delay"}]
    assert settings.set(real_time_factor=0.0) is None
    assert settings.values.pace == math.inf


@pytest.mark.parametrize("name", ["scene", "mode", "realtime_priority", "world_frame", "link_seed"])
def test_others_change_only_while_nothing_is_configured(settings, name):
    value = {"scene": "drop_box", "mode": "lock_step", "world_frame": "map"}.get(name, 1)
    assert settings.set(**{name: value}) is None
    assert getattr(settings.values, name) == value
    settings.configured = True
    other = "free_running" if name == "mode" else type(value)()
    reason = settings.set(**{name: other})
    assert reason.startswith(f"{name}: is read when the node is configured; deactivate and clean up")
    assert getattr(settings.values, name) == value
    assert settings.set(**{name: value}) is None, "what it is already changes nothing"


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"overrun": "hurry"}, "overrun: 'hurry' is unknown; use skip or catch_up"),
        ({"real_time_factor": 1e-9}, "real_time_factor: 1e-09 is out of range"),
        ({"link_outage_length": 2.0, "link_outage_period": 1.0}, "link_outage_length: 2 s is longer"),
        ({"realtime_cpus": [4096]}, "realtime_cpus: 4096 cannot be used by this process"),
        ({"world_frame": " "}, "world_frame: is empty"),
        ({"link_loss": 1.5}, "link_loss"),
        ({"link_delay": math.nan}, "link_delay"),
        ({"link_delay": "slow"}, "Wrong parameter type"),
    ],
)
def test_nonsense_is_refused_and_changes_nothing(settings, values, reason):
    before = vars(settings.values).copy()
    assert reason in settings.set(**values)
    assert vars(settings.values) == before
    assert settings.told == []


def test_whole_numbers_pass_for_floats(settings):
    """As ``ros2 param set /hydro_sim real_time_factor 2`` sends them; what is stored and told is a float."""
    assert settings.set(real_time_factor=2, legend_position=[1, 0, 0]) is None
    assert repr(settings.values.real_time_factor) == repr(settings.stored("real_time_factor")) == "2.0"
    assert settings.values.legend_position == (1.0, 0.0, 0.0)
    assert "real_time_factor" in settings.set(real_time_factor=2000)
    assert "Wrong parameter type" in settings.set(step_count=2.0)


def test_the_publisher_of_the_clock_does_not_follow_it(settings):
    reason = settings.set(use_sim_time=True)
    assert reason.startswith(
        "use_sim_time: true is for those who follow /clock, and this node publishes it; leave"
    )
    assert settings.stored("use_sim_time") is False
    assert settings.set(publish_clock=False) is None
    assert settings.set(use_sim_time=True) is None
    assert settings.set(publish_clock=True).startswith("use_sim_time: true is for those")
    assert settings.values.publish_clock is False
    assert settings.set(use_sim_time=False, publish_clock=True) is None


def test_one_bad_value_holds_up_all_that_come_with_it(settings):
    assert settings.set(link_delay=0.5, overrun="hurry") is not None
    assert settings.values.link_delay == 0.0
