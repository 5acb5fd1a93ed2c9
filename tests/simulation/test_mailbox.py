"""Commands through the mailbox: which joints follow them, from which step on, what is refused, and what ends."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.shared_memory.layout import (
    Bank,
    Channel,
    Command,
    Control,
    Header,
    Joint,
    JointState,
    JointStatus,
    Life,
    Mode,
    Scheduling,
    Slot,
    Status,
    segment_path,
)
from hydro_sim_core.simulation import FixedRateRunner
from support.simulation.runners import wait_until

_ARM = "spatula_slip"


class Client:
    """A client of one channel in this process: it writes what clients write."""

    def __init__(self, runner: FixedRateRunner, channel: int = 0) -> None:
        self.core = runner._core
        self.world = runner.world
        header = self.core.header
        first = header[Header.AT_CHANNELS] + channel * header[Header.CHANNEL_WORDS]
        self.words = self.core.words[first : first + header[Header.CHANNEL_WORDS]]
        self.runner = runner

    def publish(self, commands: dict[str, dict[Command, float]]) -> int:
        """Publish a command set; a joint that is not named is left to others."""
        header, sequence = self.core.header, int(self.words[Channel.SEQUENCE])
        first = header[Header.CHANNEL_BANKS] + sequence % header[Header.NUM_BANKS] * header[Header.BANK_WORDS]
        bank = self.words[first : first + header[Header.BANK_WORDS]]
        bank[:] = 0
        rows = bank[Bank.END :][: len(self.world.joint_names) * Command.END].reshape(-1, Command.END)
        for name, words in commands.items():
            j = self.world.joint_names.index(name)
            for word, value in words.items():
                (rows if word in (Command.MODE, Command.STAMP_NS) else rows.view(np.float64))[j, word] = value
        bank[Bank.SEQUENCE] = sequence + 1
        self.words[Channel.SEQUENCE] = sequence + 1
        return sequence + 1

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """Words and reals of the newest state."""
        header = self.core.header
        serial = self.core.head - 1
        first = header[Header.AT_RING] + serial % header[Header.NUM_SLOTS] * header[Header.SLOT_WORDS]
        slot = self.core.words[first : first + header[Header.SLOT_WORDS]].copy()
        assert slot[Slot.SEQUENCE] == 2 * serial + 2
        return slot, slot.view(np.float64)

    def joint(self, name: str) -> tuple[float, JointStatus]:
        """Effort and status of a joint in the newest state."""
        slot, reals = self.state()
        row = self.core.header[Header.SLOT_JOINTS] + self.world.joint_names.index(name) * JointState.END
        return float(reals[row + JointState.EFFORT]), JointStatus(int(slot[row + JointState.STATUS]))


@pytest.fixture
def runner() -> Iterator[FixedRateRunner]:
    made = FixedRateRunner(hs.load_scene(_ARM), math.inf, start_paused=True)
    made.start()
    yield made
    made.stop()


def _joint(runner: FixedRateRunner, mode: str) -> str:
    """A joint whose drive takes a mode."""
    return next(name for name in runner.world.actuated_joint_names if runner.world.takes(name, mode))  # type: ignore[arg-type]


def _about(effort: float) -> Any:
    """An effort that the solver gives within its tolerance."""
    return pytest.approx(effort, rel=1e-9, abs=1e-12)


def test_a_command_acts_in_the_next_step_and_the_state_says_so(runner: FixedRateRunner) -> None:
    client, name = Client(runner), _joint(runner, "effort")
    runner.step()
    for effort in (0.25, -0.5):
        sequence = client.publish({name: {Command.MODE: Mode.EFFORT, Command.EFFORT: effort}})
        assert runner.step().joint_efforts[runner.world.joint_names.index(name)] == _about(effort)
        slot, _ = client.state()
        assert slot[client.core.header[Header.SLOT_COMMANDS]] == sequence
        assert client.words[Channel.TAKEN] == sequence
        assert client.words[Channel.TAKEN_AT] == client.core.head - 1
        assert JointStatus.COMMANDED in client.joint(name)[1]


@pytest.mark.parametrize("mode", ["position", "velocity", "effort"])
def test_it_commands_what_the_world_commands(runner: FixedRateRunner, mode: str) -> None:
    """To the last bit, in the loop as well."""
    name, alone = _joint(runner, mode), hs.load_scene(_ARM)
    value = 0.03
    word = {"position": Command.POSITION, "velocity": Command.VELOCITY, "effort": Command.EFFORT}[mode]
    alone.set_command({name: value}, mode)
    Client(runner).publish({name: {Command.MODE: Mode[mode.upper()], word: value}})
    runner.resume()
    wait_until(lambda: runner.snapshot().step > 20)
    runner.pause()
    wait_until(lambda: runner._core.status[Status.LIFE] == Life.PAUSED)
    told = runner.snapshot()
    assert runner.steps_in_loop > 0
    alone.step(told.step)
    np.testing.assert_array_equal(told.q, alone.q)


def test_interfaces_mix_within_a_joint_with_gains_of_its_own(runner: FixedRateRunner) -> None:
    """Effort = kp (position - q) + kd (velocity - v) + effort, at the end of the step, as the step is implicit."""
    client, name = Client(runner), _joint(runner, "position")
    gains = {Command.KP: 3.0, Command.KD: 0.2}
    targets = {Command.POSITION: 0.05, Command.VELOCITY: 0.1, Command.EFFORT: 0.07}
    client.publish(
        {
            name: {
                Command.MODE: int(Mode.POSITION | Mode.VELOCITY | Mode.EFFORT | Mode.GAINS),
                **gains,
                **targets,
            }
        }
    )
    runner.step()
    drives, i = runner.world.machine.drives, runner.world.velocity_names.index(name)
    assert (drives.kp[i], drives.kd[i], drives.q_target[i], drives.v_target[i], drives.effort[i]) == (
        *gains.values(),
        *targets.values(),
    )


@pytest.mark.parametrize(
    "command",
    [
        {Command.MODE: Mode.POSITION, Command.POSITION: math.nan},
        {Command.MODE: Mode.EFFORT, Command.EFFORT: math.inf},
        {Command.MODE: Mode.POSITION | Mode.GAINS, Command.KP: -1.0},
        {Command.MODE: Mode.EFFORT, Command.TIMEOUT: math.nan},
        {Command.MODE: 1 << 20},
        {Command.MODE: -1},
    ],
)
def test_nonsense_is_refused_and_the_command_before_stays(runner: FixedRateRunner, command: Any) -> None:
    client, name = Client(runner), _joint(runner, "position")
    client.publish({name: {Command.MODE: Mode.EFFORT, Command.EFFORT: 0.125}})
    runner.step()
    client.publish({name: command})
    snapshot = runner.step()
    assert np.isfinite(snapshot.q).all()
    effort, status = client.joint(name)
    assert effort == _about(0.125)
    assert JointStatus.REFUSED in status
    assert client.words[Channel.REFUSED] == 1


def test_a_joint_that_cannot_be_driven_is_left_alone(runner: FixedRateRunner) -> None:
    world = runner.world
    passive = [name for name in world.joint_names if name not in world.actuated_joint_names]
    table = runner._core.words[runner._core.header[Header.AT_JOINTS] :].reshape(-1)[
        : len(world.joint_names) * Joint.END
    ]
    rows = table.reshape(-1, Joint.END)
    for j, name in enumerate(world.joint_names):
        assert bool(rows[j, Joint.INTERFACES]) == (name in world.actuated_joint_names)
        assert rows[j].tobytes()[:128].rstrip(b"\0").decode() == name
    if passive:
        client = Client(runner)
        client.publish({passive[0]: {Command.MODE: Mode.EFFORT, Command.EFFORT: 1.0}})
        runner.step()
        assert client.words[Channel.REFUSED] == 1


def test_a_position_beyond_the_limit_is_followed_up_to_it(runner: FixedRateRunner) -> None:
    client = Client(runner)
    world = runner.world
    _, upper = world.joint_limits()
    name = next(
        n
        for n in world.actuated_joint_names
        if world.takes(n, "position") and np.isfinite(upper[world.joint_names.index(n)])
    )
    client.publish({name: {Command.MODE: Mode.POSITION, Command.POSITION: 1e3}})
    runner.step()
    assert (
        world.machine.drives.q_target[world.velocity_names.index(name)]
        == upper[world.joint_names.index(name)]
    )
    assert JointStatus.CLIPPED in client.joint(name)[1]


@pytest.mark.parametrize("floats", [False, True])
def test_an_old_command_ends_in_simulated_time(runner: FixedRateRunner, floats: bool) -> None:
    """The joint holds its position, or floats."""
    client, name = Client(runner), _joint(runner, "position")
    world, i = runner.world, runner.world.velocity_names.index(name)
    mode = Mode.EFFORT | (Mode.FLOATS if floats else 0)
    client.publish(
        {name: {Command.MODE: int(mode), Command.EFFORT: 0.125, Command.TIMEOUT: 5 * world.time_step}}
    )
    runner.step(5)
    assert JointStatus.TIMED_OUT not in client.joint(name)[1]
    assert client.joint(name)[0] == _about(0.125)
    runner.step()
    assert JointStatus.TIMED_OUT in client.joint(name)[1]
    assert JointStatus.COMMANDED not in client.joint(name)[1]
    assert (world.machine.drives.kp[i] == 0.0) == floats
    assert world.machine.drives.effort[i] == 0.0
    assert (client.words[Channel.TIMEOUTS], client.words[Channel.TIMED_OUT]) == (1, 1)
    client.publish({name: {Command.MODE: Mode.EFFORT}})
    runner.step()
    assert (client.words[Channel.TIMEOUTS], client.words[Channel.TIMED_OUT]) == (1, 0)


@pytest.mark.parametrize("timeout_steps", [0, 5])
def test_a_reset_of_time_alone_ends_the_commands(runner: FixedRateRunner, timeout_steps: int) -> None:
    """The joint kept on under its command until the simulated time of before was reached again."""
    client, name = Client(runner), _joint(runner, "position")
    world, i = runner.world, runner.world.velocity_names.index(name)
    command = {
        Command.MODE: int(Mode.EFFORT),
        Command.EFFORT: 0.125,
        Command.TIMEOUT: timeout_steps * world.time_step,
    }
    runner.step(40)
    client.publish({name: command})
    runner.step(2)
    runner.reset(time=True, state=False)
    slot, _ = client.state()
    assert slot[client.core.header[Header.SLOT_COMMANDS]] == 0
    runner.step()
    assert JointStatus.TIMED_OUT in client.joint(name)[1]
    assert JointStatus.COMMANDED not in client.joint(name)[1]
    assert world.machine.drives.effort[i] == 0.0
    assert world.machine.drives.kp[i] > 0.0  # it holds its position
    client.publish({name: command})
    runner.step()
    assert client.joint(name)[0] == _about(0.125)
    runner.step(5)
    assert (JointStatus.TIMED_OUT in client.joint(name)[1]) is (timeout_steps > 0)


def test_the_last_command_set_counts_and_takes_over_what_it_names(runner: FixedRateRunner) -> None:
    first, second = Client(runner, 0), Client(runner, 2)
    names = list(runner.world.actuated_joint_names[:2])
    first.publish({name: {Command.MODE: Mode.EFFORT, Command.EFFORT: 0.1} for name in names})
    runner.step()
    second.publish({names[0]: {Command.MODE: Mode.EFFORT, Command.EFFORT: 0.2}})
    runner.step()
    rows = [runner.world.velocity_names.index(name) for name in names]
    assert runner.world.machine.drives.effort[rows].tolist() == [0.2, 0.1]


def test_a_bank_that_is_being_overwritten_is_not_read(runner: FixedRateRunner) -> None:
    """The commands before stay in force, and it is counted."""
    client, name = Client(runner), _joint(runner, "effort")
    client.publish({name: {Command.MODE: Mode.EFFORT, Command.EFFORT: 0.1}})
    runner.step()
    # A set that pretends to be of the far past: the client has gone round the banks since.
    loop = runner._core.loop
    client.publish({name: {Command.MODE: Mode.EFFORT, Command.EFFORT: 0.3}})
    runner.step()
    assert client.joint(name)[0] == _about(0.3)
    assert loop.taken[0] == 2
    assert runner._core.status[Status.TORN] == 0


# --- with a segment


@pytest.fixture
def name() -> Iterator[str]:
    made = f"mailbox{os.getpid()}"
    yield made
    Path(segment_path(made)).unlink(missing_ok=True)


def test_lock_step_waits_for_the_permit_of_every_state(name: str) -> None:
    """A controller that permits each step sees each, and its command acts in it."""
    runner = FixedRateRunner(hs.load_scene(_ARM), math.inf, start_paused=True, shared_name=name)
    client, joint = Client(runner), _joint(runner, "effort")
    client.words[Channel.LOCK_STEP] = 1
    runner.start()
    runner.resume()
    core = runner._core
    wait_until(lambda: core.status[Status.LIFE] == Life.WAITING)
    assert core.status[Status.WAITS_FOR] == 0
    for k in range(200):
        head = core.head
        effort = 0.001 * (k % 7)
        client.publish({joint: {Command.MODE: Mode.EFFORT, Command.EFFORT: effort}})
        client.words[Channel.PERMITTED] = head + 1
        core.ring()
        assert core.wait_for_state(head, 10.0) == head + 1
        assert client.joint(joint)[0] == _about(effort)
    time.sleep(0.05)
    assert core.head == head + 1  # nothing happens without a permit
    assert runner.steps_in_loop + 1 >= 0
    runner.close()
    assert not os.path.exists(segment_path(name))


def test_a_dead_client_in_lock_step_pauses_the_run(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """It told that it was there and has no lock: as after kill -9."""
    runner = FixedRateRunner(hs.load_scene(_ARM), math.inf, shared_name=name)
    client, joint = Client(runner), _joint(runner, "position")
    client.publish({joint: {Command.MODE: Mode.EFFORT, Command.EFFORT: 0.1}})
    runner.start()
    wait_until(lambda: client.words[Channel.TAKEN] == 1)
    client.words[Channel.LOCK_STEP] = 1
    client.words[Channel.CLIENT_PID] = 2**30
    wait_until(lambda: runner.paused)
    assert "client of channel 0 has died in lock-step" in caplog.text
    runner.step()
    assert JointStatus.TIMED_OUT in client.joint(joint)[1]
    assert client.words[Channel.LOCK_STEP] == 0
    runner.resume()
    wait_until(lambda: runner.snapshot().step > 10)
    runner.close()


def test_a_world_that_finds_no_room_goes_on_without_clients(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    runner = FixedRateRunner(hs.load_scene(_ARM), math.inf, start_paused=True, shared_name=name)
    runner.start()

    def refuse(*_: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    runner.exchange(hs.load_scene("drop_box"))
    assert "the shared memory is given up: shared memory: /dev/shm: has no room" in caplog.text
    assert runner.step(3).step == 3
    runner.close()


def _pin() -> None:
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])


def test_the_segment_says_how_the_thread_is_scheduled() -> None:
    runner = FixedRateRunner(hs.load_scene(_ARM), start_paused=True, thread_setup=_pin)
    runner.start()
    wait_until(lambda: bool(runner._core.status[Status.CPU] >= 0))
    assert runner._core.status[Status.SCHEDULING] & Scheduling.PINNED
    assert runner._core.status[Status.CPU] == min(os.sched_getaffinity(0))
    runner.stop()


def test_another_world_comes_with_another_segment(name: str) -> None:
    runner = FixedRateRunner(hs.load_scene(_ARM), math.inf, start_paused=True, shared_name=name)
    runner.start()
    before, status = os.stat(segment_path(name)).st_ino, runner._core.status
    head = runner._core.head
    runner.exchange(hs.load_scene("drop_box"))
    assert status[Status.LIFE] == Life.RETIRED
    assert os.stat(segment_path(name)).st_ino != before
    assert runner._core.head == head + 1  # serial numbers go on
    assert runner._core.control[Control.PAUSED] == 1
    runner.close()
