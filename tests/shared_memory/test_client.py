"""The client in Python: states, commands, lock-step, control words."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from hydro_sim_core.errors import InputError
from hydro_sim_core.shared_memory import controller as controllers
from hydro_sim_core.shared_memory.client import TookTooLong, connect
from hydro_sim_core.shared_memory.layout import (
    Channel,
    Header,
    Histogram,
    HistogramWords,
    JointStatus,
    Life,
    Overrun,
    Slot,
)
from hydro_sim_core.shared_memory.segment import Segment
from support.shared_memory.processes import environment
from support.shared_memory.stand_in import INERTIA, StandIn, tables

#: Of tests that know the numbers of the stand-in.
of_stand_in = pytest.mark.parametrize("running", ["stand_in"], indirect=True)


@of_stand_in
def test_states_follow_each_other(client) -> None:
    states = [state for _, state in zip(range(50), client.states(), strict=False)]
    assert [state.serial for state in states] == list(range(states[0].serial, states[0].serial + 50))
    assert all(state.time == pytest.approx(state.step * client.time_step, abs=1e-12) for state in states)
    assert states[-1].stepped
    assert states[-1].converged
    assert states[-1].positions.shape == (4,)
    assert states[-1].link_poses.shape == (2, 7)
    np.testing.assert_allclose(states[-1].link_poses[1], [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    (wrench,) = states[-1].wrenches
    assert (wrench.pair, wrench.faces, wrench.normal_force, *wrench.force) == (0, 3, 9.81, 0.0, 0.0, 9.81)
    assert states[-1].sensors["wrist"].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    with pytest.raises(ValueError, match="read-only"):
        states[-1].positions[0] = 1.0


def test_a_reader_that_is_overtaken_goes_on_with_the_newest_state(start) -> None:
    with start("--period", "0", "--slots", "4", kind="stand_in").connect() as client:
        states = client.states()
        first = next(states)
        client.wait(first.serial + 40)
        assert next(states).serial > first.serial + 30


def test_a_state_is_whole_or_none() -> None:
    """While the loop writes into the slot, and when it has gone round in the middle of a copy."""
    segment = Segment.make(f"test_torn_{os.getpid()}", tables(), slots=4)
    loop = StandIn(segment, 0.0)
    client = connect(segment.name)
    for _ in range(5):
        loop._turn()
    at = segment.memory.words[Header.AT_RING] + 5 % 4 * segment.memory.words[Header.SLOT_WORDS]
    assert client._copy(5).step == 5
    assert client._copy(1) is None
    segment.memory.words[at + Slot.SEQUENCE] = 2 * 9 + 1
    assert client._copy(5) is None
    client.close()
    segment.retire()


def test_a_command_acts_in_the_next_step_always(client) -> None:
    """The effort of step k + 1 is that of the command that answered state k, to rounding; so is what comes of it."""
    with client.controller("pd", lock_step=True) as controller:
        rows = controller.commands.rows(["shoulder", "elbow"])
        state = controller.state
        for i in range(100):
            efforts = np.array([math.sin(0.1 * i), 0.01 * i])
            controller.commands.give(rows, effort=efforts)
            before = state
            state = controller.step()
            assert state.serial == before.serial + 1
            np.testing.assert_allclose(state.efforts[rows], efforts, rtol=1e-12, atol=1e-300)
            v = before.velocities[rows] + client.time_step / INERTIA * efforts
            np.testing.assert_allclose(state.velocities[rows], v, rtol=1e-12, atol=1e-300)
            assert state.commands[controller.channel] == sent_sequence(client, controller)


def sent_sequence(client, controller) -> int:
    words = client._memory.words
    at = words[Header.AT_CHANNELS] + controller.channel * words[Header.CHANNEL_WORDS]
    return words[at + Channel.SEQUENCE]


@of_stand_in
def test_interfaces_mix_freely(client) -> None:
    with client.controller(lock_step=True) as controller:
        commands = controller.commands
        commands.give("shoulder", position=0.2, velocity=0.1, effort=1.0, kp=50.0, kd=2.0)
        commands.give("elbow", velocity=1.0)
        commands.give(("slider",), position=0.1, kp=30.0)
        state = controller.step()
        assert state.efforts[:3].tolist() == pytest.approx([50 * 0.2 + 2 * 0.1 + 1, 20 * 1.0, 30 * 0.1])
        assert state.joint_status.tolist() == [JointStatus.COMMANDED] * 3 + [0]
        commands.leave(["elbow", "slider"])
        state = controller.step()
        assert state.joint_status.tolist() == [JointStatus.COMMANDED, 0, 0, 0]


def test_a_command_ends_after_its_time_out_in_simulated_time(client) -> None:
    """Ten steps of a hundredth of a second, then it floats; no set is published meanwhile."""
    with client.controller(lock_step=True) as controller:
        controller.commands.give("shoulder", effort=1.0, timeout=0.01, floats=True)
        begin = controller.state.serial
        last = controller.step(15).serial
        efforts = [client.wait(serial).efforts[0] for serial in range(begin + 1, last + 1)]
    assert efforts == [1.0] * 10 + [0.0] * 5


def test_what_is_closed_acts_no_more_from_the_next_step_on(client) -> None:
    with client.controller("one", lock_step=True) as one:
        two = client.controller("two", lock_step=True)
        two.commands.give("shoulder", effort=0.5)
        thread = threading.Thread(target=one.step)
        thread.start()
        assert two.step().efforts[0] == 0.5
        thread.join()
        two.close()
        state = one.step()
        assert state.efforts[0] != 0.5
        assert not state.joint_status[0] & JointStatus.COMMANDED


def test_commands_act_in_the_state_that_step_returns_whatever_was_between(client) -> None:
    """Steps of a pause, a reset, a permit that outlived its limit."""
    with client.controller("arm", lock_step=True) as arm:
        for i, between in enumerate((lambda: client.step(20), client.reset, lambda: None)):
            arm.step()
            client.pause()
            between()
            if i == 2:
                with pytest.raises(TookTooLong):
                    arm.step(50, limit=0.02)
            client.resume()
            arm.commands.give("elbow", effort=0.1 * (i + 1))
            state = arm.step()
            assert state.commands[arm.channel] == sent_sequence(client, arm)
            assert state.efforts[1] == pytest.approx(0.1 * (i + 1), rel=1e-12)


def test_a_reset_forgets_commands_and_says_so(client) -> None:
    with client.controller("arm") as arm:
        arm.commands.give("shoulder", effort=0.5)
        arm.send()
        client.poll(lambda: client.newest().efforts[0] == 0.5, "the command", 10.0)
        state = client.reset()
        state = client.wait(state.serial + 3)
        assert not state.joint_status[0] & JointStatus.COMMANDED
        assert state.commands[arm.channel] == 0
        assert state.efforts[0] != 0.5


def test_a_slow_pace_may_be_taken_back(client) -> None:
    client.set_pace(1e-6)
    time.sleep(0.05)  # the loop has a deadline of that pace
    client.set_pace(1.0)
    assert client.wait(client.newest().serial + 5, limit=5.0).stepped


def test_spinning_ends_with_its_limit(client) -> None:
    client.pause()
    client.spin = 30.0
    began = time.monotonic()
    with pytest.raises(TookTooLong):
        client.wait(10**9, limit=0.1)
    assert time.monotonic() - began < 20.0


def test_a_controller_that_does_not_get_in_is_not_waited_for(monkeypatch) -> None:
    monkeypatch.setattr(controllers, "_HANDSHAKE", 0.1)
    segment = Segment.make(f"test_handshake_{os.getpid()}", tables(), slots=4)
    StandIn(segment, 0.0)
    with connect(segment.name) as client:
        with pytest.raises(TookTooLong, match="lock-step did not come"):
            client.controller(lock_step=True)
        assert not segment.memory.words[segment.memory.words[Header.AT_CHANNELS] + Channel.LOCK_STEP]
    segment.retire()


def test_several_steps_by_one_permit(client) -> None:
    with client.controller(lock_step=True) as controller:
        before = controller.state
        assert controller.step(7).serial == before.serial + 7
        assert client.newest().serial == before.serial + 7


def test_the_first_command_acts_whoever_had_the_channel_before(client) -> None:
    """At once after the one before has left, and when the owner has found it gone before any further step."""
    client.set_lock_step(True)
    for i, pause in enumerate([0.0, 0.0, 0.2, 0.0, 0.2]):
        time.sleep(pause)
        with client.controller(lock_step=True) as controller:
            assert controller.channel == 0
            controller.commands.give("shoulder", effort=0.01 * (i + 1))
            assert controller.step().efforts[0] == pytest.approx(0.01 * (i + 1), rel=1e-12)


def test_a_simulation_waits_for_its_controller_from_the_first_step_on(client) -> None:
    client.pause()
    begin = client.reset().serial
    client.set_lock_step(True)
    client.resume()
    with pytest.raises(TookTooLong, match="the simulation is in lock-step: start its controller"):
        client.wait(begin + 1, limit=0.3)
    with client.controller(lock_step=True) as controller:
        assert controller.state.serial == begin
        assert controller.step(3).serial == begin + 3
    with pytest.raises(TookTooLong, match="the simulation is in lock-step: start its controller"):
        client.wait(begin + 4, limit=0.3)
    client.set_lock_step(False)
    assert client.wait(begin + 4).stepped


def test_two_controllers_in_lock_step_are_both_waited_for(client) -> None:
    with client.controller("one", lock_step=True) as one, client.controller("two", lock_step=True) as two:
        begin = two.state.serial
        one.state = client.newest()
        with pytest.raises(TookTooLong, match=r"the simulation waits for two \(process"):
            one.step(limit=0.3)
        thread = threading.Thread(target=one.step)
        two.state = client.newest()
        thread.start()
        two.step()
        thread.join()
        assert client.newest().serial == begin + 1


def test_pause_step_reset_and_pace(client) -> None:
    client.pause()
    paused = client.step(1)
    assert client.step(3).serial == paused.serial + 3
    with pytest.raises(TookTooLong, match="the simulation is paused"):
        client.wait(client.newest().serial + 1, limit=0.3)
    assert client.status.life == Life.PAUSED
    epoch = client.newest().epoch
    state = client.reset()
    assert (state.time, state.step, state.epoch, state.stepped) == (0.0, 0, epoch + 1, False)
    client.set_pace(0.0)
    client.set_overrun(Overrun.CATCH_UP, 0.2)
    client.resume()
    assert client.wait(state.serial + 20).stepped


@of_stand_in
def test_a_step_that_fails_is_told_and_mended_by_a_reset(client) -> None:
    with client.controller(lock_step=True) as controller:
        controller.commands.give("shoulder", velocity=4.0, effort=50.0)
        controller.commands.give("elbow", effort=-50.0)
        with pytest.raises(
            TookTooLong, match=r"a step failed \(joint '.*' is too far away\): reset the simulation"
        ):
            controller.step(10_000, limit=60.0)
        assert client.status.life == Life.PARKED
        assert np.isfinite(client.newest().positions).all()
    client.reset()
    client.resume()
    assert client.wait(client.newest().serial + 3).stepped


def test_taken_channels_are_refused_by_name(client) -> None:
    taken = [client.controller(f"controller {i}") for i in range(4)]
    assert [controller.channel for controller in taken] == [0, 1, 2, 3]
    with pytest.raises(
        InputError, match=rf"channel: taken: 0 by controller 0 \(process {os.getpid()}\); 1 by"
    ):
        client.controller()
    with pytest.raises(InputError, match=r"2 by controller 2 .*; end it, or take another channel"):
        client.controller(channel=2)
    taken[2].close()
    with client.controller(channel=2) as again:
        assert again.channel == 2
    with pytest.raises(InputError, match="there is no channel 4; give 0 to 3"):
        client.controller(channel=4)
    for controller in taken:
        controller.close()


def test_a_controller_that_ends_with_an_error_pauses_what_waited_for_it(client) -> None:
    def control() -> None:
        with client.controller(lock_step=True) as controller:
            controller.step()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        control()
    last = client.newest().serial
    with pytest.raises(TookTooLong, match="the simulation is paused"):
        client.wait(last + 1, limit=1.0)
    client.resume()
    assert client.wait(last + 5).stepped


def test_a_client_may_wait_for_the_start(start) -> None:
    name = f"test_late_{os.getpid()}"
    found = []
    thread = threading.Thread(target=lambda: found.append(connect(name, wait=30.0).scene))
    thread.start()
    start(name=name)
    thread.join()
    assert found == ["stand_in"]


def test_a_larger_minor_version_is_read() -> None:
    segment = Segment.make(f"test_minor_{os.getpid()}", tables(), slots=4)
    segment.memory.words[Header.VERSION] += 3
    StandIn(segment, 0.0)._turn()
    with connect(segment.name) as client:
        assert client.newest().step == 1
    segment.retire()


def test_a_client_needs_no_compiler() -> None:
    code = (
        "import sys\nimport hydro_sim_core.shared_memory.client\n"
        "print([name for name in ('numba', 'scipy', 'rclpy', 'trimesh') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment()
    )
    assert done.stdout == "[]\n"


def test_a_set_that_is_overtaken_while_it_is_copied_is_not_taken() -> None:
    """The stand-in obeys this rule, as the loop has to."""
    segment = Segment.make(f"test_overtaken_{os.getpid()}", tables(), slots=4)
    loop = StandIn(segment, 0.0)
    client = connect(segment.name)
    controller = client.controller()
    controller.commands.give("shoulder", effort=3.0)
    controller.send()
    bank = controller._banks[(sent_sequence(client, controller) - 1) % 4][0]
    segment.memory.words[bank] += 4  # as a client does that is four sets further
    loop._turn()
    assert client.newest().efforts[0] == 0.0
    assert client.status.torn == 1
    controller.send()
    loop._turn()
    assert client.newest().efforts[0] == 3.0
    controller.close()
    client.close()
    segment.retire()


def test_latency_is_counted_from_the_commands_stamp(client) -> None:
    before = client.histogram(Histogram.LATENCY)
    with client.controller(lock_step=True) as controller:
        controller.commands.give("shoulder", effort=0.1)
        for _ in range(10):
            controller.step()
    client.reset()  # the loop has come to an end of what it tells after a step
    told = client.histogram(Histogram.LATENCY)
    assert told[HistogramWords.COUNT] - before[HistogramWords.COUNT] == 10
    assert told[HistogramWords.BINS :].sum() == told[HistogramWords.COUNT]
    added, longest = (
        told.view(float)[HistogramWords.SUM] - before.view(float)[HistogramWords.SUM],
        told.view(float)[HistogramWords.MAX],
    )
    assert 0.0 < added <= 10.0 * longest
