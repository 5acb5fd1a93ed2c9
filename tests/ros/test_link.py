"""The way of a command: in what order it acts, what a bad link does to it, what permits a step in lock-step."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from hydro_sim.hil.link import _Packet
from hydro_sim_core.errors import InputError
from support.ros.link_bench import DT, LinkBench


def test_good_link_applies_every_command_at_once_and_once():
    bench = LinkBench()
    for i in range(5):
        bench.send(i)
        bench.step()
    assert bench.applied == [(i, pytest.approx(i * DT)) for i in range(5)]
    assert (bench.report.received, bench.report.applied, bench.report.latency.count) == (5, 5, 5)
    assert [(topic, at) for topic, _, at in bench.recorded] == [
        ("/joint_commands", pytest.approx(i * DT)) for i in range(5)
    ]


def test_what_cannot_be_carried_out_goes_nowhere():
    bench = LinkBench()
    bench.send(np.nan)
    assert bench.report.received == 0
    assert bench.values == []
    assert len(bench.warnings) == 1


def test_message_that_came_another_way_travels_the_same_link_and_is_recorded():
    bench = LinkBench(link_delay=2 * DT)
    message = JointState(position=[1.0])
    bench.link.deliver("joint_commands", message)
    bench.step(2)
    assert bench.applied == []
    bench.step()
    assert bench.values == [1.0]
    assert [(topic, recorded) for topic, recorded, _ in bench.recorded] == [("/joint_commands", message)]
    with pytest.raises(InputError, match="is not finite"):
        bench.link.deliver("joint_commands", JointState(position=[float("nan")]))
    assert bench.values == [1.0]


def test_order_is_judged_by_the_stamp():
    """Late ones and exact copies are dropped and counted; another command of the same instant is news."""
    bench = LinkBench()
    for value, stamp in ((1, 0.5), (2, 0.6), (1, 0.5), (2, 0.6), (3, 0.6), (4, 0.7)):
        bench.send(value, stamp)
    assert bench.values == [1, 2, 3, 4]
    assert (bench.report.out_of_order, bench.report.duplicate) == (1, 1)


def test_controller_that_starts_anew_with_another_clock_is_heard(monkeypatch):
    """After a second of silence there is no order to keep."""
    bench = LinkBench()
    bench.send(1, stamp=1.7e9)
    bench.send(2, stamp=5.0)
    assert bench.values == [1]
    later = time.monotonic() + 1.5
    monkeypatch.setattr(time, "monotonic", lambda: later)
    bench.send(3, stamp=5.1)
    assert bench.values == [1, 3]


def test_reset_makes_old_stamps_good_again():
    bench = LinkBench()
    bench.world.time = 9.0
    bench.send(1, stamp=9.0)
    bench.epoch, bench.world.time = 1, 0.0
    bench.send(2, stamp=0.01)
    assert bench.values == [1, 2]


@pytest.mark.parametrize("wall", [False, True])
def test_commands_past_their_age_are_dropped(wall):
    """By the clock that the stamp is of; unstamped ones have no age."""
    bench = LinkBench(max_command_age=0.05)
    bench.world.time = 20.0
    now = time.time() if wall else 20.0
    bench.send(1, now - 0.2)
    bench.send(2, now - 0.01)
    bench.send(3)
    assert bench.values == [2, 3]
    assert bench.report.stale == 1
    assert 0.009 < bench.report.age.max < 0.05


def test_who_sent_a_command_that_is_dropped_hears_why():
    """Also of one that is too late, or came before."""
    bench = LinkBench(max_command_age=0.05)
    bench.world.time = 20.0
    reasons = []

    def send(value, stamp):
        message = JointState(position=[float(value)])
        act = bench._check(message)
        packet = _Packet("joint", "/arm", message, act, stamp, time.monotonic(), reasons.append)
        bench.link._send(packet)

    for value, stamp in ((1, 19.99), (1, 19.99), (2, 19.98), (3, 20.0)):
        send(value, stamp)
    bench.world.time = 21.0
    send(4, 20.5)
    assert bench.values == [1, 3]
    assert reasons == ["it came twice", "a newer one came before", "older than max_command_age"]


def test_delay_is_simulated_time():
    """Sent before the step at t, it acts before the step at t plus the delay."""
    bench = LinkBench(link_delay=0.03)
    bench.send(7)
    bench.step(6)
    assert bench.applied == [(7, pytest.approx(0.03))]


def test_jitter_is_within_its_range_and_repeats_with_its_seed():
    def arrivals(seed):
        bench = LinkBench(link_delay=0.1, link_jitter=0.1, link_seed=seed)
        sent = {}
        for i in range(200):
            sent[i] = bench.world.time
            bench.send(i)
            bench.step()
        bench.step(30)
        return {value: at - sent[value] for value, at in bench.applied}

    delays = arrivals(1)
    assert len(delays) == 200
    assert 0.1 <= min(delays.values()) < 0.12
    assert 0.18 < max(delays.values()) <= 0.2 + DT
    assert arrivals(1) == delays
    assert arrivals(2) != delays


def test_loss_takes_its_share():
    bench = LinkBench(link_loss=0.3)
    for i in range(2000):
        bench.send(i)
    assert bench.report.lost == pytest.approx(600, abs=4 * np.sqrt(2000 * 0.3 * 0.7))
    assert bench.report.lost + bench.report.applied == 2000


def test_outage_loses_everything_for_its_length():
    bench = LinkBench(link_outage_period=0.5, link_outage_length=0.2)
    for i in range(100):
        bench.send(i)
        bench.step()
    passed = [i * DT for i in bench.values]
    assert len(passed) == pytest.approx(60, abs=2)
    assert min(at % 0.5 for at in passed) == pytest.approx(0.2, abs=1.5 * DT)


@pytest.mark.parametrize(("period", "length"), [(0.1, 0.01), (0.3, 0.05), (0.07, 0.07)])
def test_every_outage_is_as_long_as_the_first(period, length):
    """Times are sums of steps: at the begin or the end of some outages they were a bit too small, or too large."""
    bench = LinkBench(link_outage_period=period, link_outage_length=length)
    for i in range(3000):
        bench.world.time = i * DT
        bench.send(i)
    every, long = round(period / DT), round(length / DT)
    assert bench.values == [i for i in range(3000) if i % every >= long]


def test_faults_change_while_it_runs():
    bench = LinkBench(link_delay=0.05)
    bench.send(1)
    bench.parameters.link_delay = 0.0
    bench.send(2)
    bench.step(8)
    assert bench.values == [2, 1]


# --- lock-step


def test_answer_permits_the_step_even_if_the_link_loses_it():
    """The controller did its part; what reaches the robot is the link's affair."""
    bench = LinkBench(mode="lock_step", lock_step_interface="joint", lock_step_steps=4, link_loss=1.0)
    bench.send(1)
    assert bench.permits == [4]
    assert bench.values == []


def test_answers_nobody_waits_for_are_dropped():
    """A second one to the same state, and one to a state that is over."""
    bench = LinkBench(mode="lock_step", lock_step_interface="joint")
    bench.send(1, stamp=0.0)
    bench.runner.waiting_for_permit = False
    bench.send(2, stamp=0.0)
    bench.runner.waiting_for_permit = True
    bench.step(10)
    bench.send(3, stamp=0.05)
    bench.send(4, stamp=0.1)
    assert bench.values == [1, 4]
    assert bench.permits == [1, 1]
    assert (bench.report.duplicate, bench.report.stale) == (1, 1)


def test_other_interfaces_permit_nothing():
    bench = LinkBench(mode="lock_step", lock_step_interface="effort")
    bench.send(1)
    assert bench.permits == []
    assert bench.values == [1]


# --- a scene that changes


def test_command_that_the_scene_cannot_carry_out_any_more_is_counted():
    """It was right when it was sent; the stepping thread goes on."""
    bench = LinkBench(link_delay=0.03)
    gone = InputError("joint command", "'joint_1'", "is no longer in the scene", "reset the simulation")

    def too_late(world):
        raise gone

    reasons = []
    bench.link.send("joint", "/arm/follow", too_late, reasons.append)
    bench.send(1)
    bench.step(6)
    assert bench.values == [1]
    assert (bench.report.received, bench.report.applied) == (2, 1)
    assert bench.rejections.counts == {"/arm/follow: is no longer in the scene": 1}
    assert "is no longer in the scene" in reasons[0]


def test_publishers_that_are_not_heard_may_come_while_they_are_listed():
    """The receiver's thread notes another one in the middle."""
    bench = LinkBench()

    def discover(topic):
        bench.refuse(f"/{len(topic) * 'x'}_more")
        return []

    bench.node.get_publishers_info_by_topic = discover
    bench.node.get_logger = lambda: None
    bench.refuse("/joint_commands")
    assert bench.link.unheard_publishers() == []
