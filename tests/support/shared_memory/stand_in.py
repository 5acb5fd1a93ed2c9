"""A small loop in Python that obeys decision 31, for tests of clients: joints without gravity that do not touch.

    python -m support.shared_memory.stand_in NAME [--period SECONDS] [--slots NUMBER]

prints ``ready`` once clients can open it, and ends in order on SIGINT or SIGTERM.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import time
from typing import Any

import numpy as np

from hydro_sim_core.errors import InputError
from hydro_sim_core.shared_memory.layout import (
    BIN_WIDTH,
    NUM_BINS,
    NUM_CHANNELS,
    NUM_DROPS,
    SHORTEST,
    Bank,
    Channel,
    Command,
    Control,
    Flag,
    Header,
    Histogram,
    HistogramWords,
    JointKind,
    JointState,
    JointStatus,
    Life,
    LinkState,
    Mode,
    Overrun,
    SensorKind,
    Slot,
    Status,
    Wrench,
)
from hydro_sim_core.shared_memory.segment import Segment
from hydro_sim_core.shared_memory.tables import JointRow, LinkRow, PairRow, SensorRow, Tables

TIME_STEP = 1e-3
INERTIA = 0.5  # of every joint, kg m^2 or kg
LARGEST = 100.0  # beyond this position a step fails, rad or m
_DRIVEN = Mode.POSITION | Mode.VELOCITY | Mode.EFFORT | Mode.GAINS
_LOOKS_UP = 0.1  # s


def tables(scene: str = "stand_in") -> Tables:
    """Two arms of one joint each, a slider, and a joint without a drive."""
    limits: dict[str, Any] = {
        "lower": -2.0,
        "upper": 2.0,
        "max_velocity": 5.0,
        "max_effort": 50.0,
        "kp": 100.0,
        "kd": 20.0,
    }
    return Tables(
        scene=scene,
        time_step=TIME_STEP,
        num_q=4,
        num_v=4,
        joints=(
            JointRow("shoulder", JointKind.REVOLUTE, _DRIVEN, 0, 0, **limits),
            JointRow("elbow", JointKind.REVOLUTE, _DRIVEN, 1, 1, **limits),
            JointRow("slider", JointKind.PRISMATIC, Mode.POSITION | Mode.EFFORT | Mode.GAINS, 2, 2, **limits),
            JointRow("wheel", JointKind.REVOLUTE, Mode(0), 3, 3),
        ),
        links=(LinkRow("base"), LinkRow("hand")),
        pairs=(PairRow(-1, 1),),
        sensors=(SensorRow("wrist", SensorKind.FORCE_TORQUE, 0, 6, 1),),
    )


class StandIn:
    """The loop, with its state.

    Args:
        segment: Its shared memory.
        period: Wall-clock time of a step, s; 0 for as fast as possible.
    """

    def __init__(self, segment: Segment, period: float) -> None:
        self.segment = segment
        self.memory = segment.memory
        self.words, self.reals = segment.memory.words, segment.memory.reals
        self.tables = Tables.read(segment.memory)
        self.control, self.status = self.words[Header.AT_CONTROL], self.words[Header.AT_STATUS]
        self.words[self.control + Control.PERIOD_NS] = round(1e9 * period)
        self.words[self.control + Control.MAX_BACKLOG_NS] = 10**8
        self.words[self.status + Status.CPU] = -1
        self.words[self.status + Status.WAITS_FOR] = -1
        self.words[self.status + Status.HEARTBEAT_NS] = time.monotonic_ns()
        self.stopped = False
        self._looked = 0.0
        self._deadline = time.monotonic_ns()
        self._began_before = 0
        self._stamps: list[int] = []
        self.in_lock_step: list[int] = []
        self._is_asked_for = False
        self._dropped = 0
        self._start()
        self._publish(0, 0, 0)

    def _start(self) -> None:
        count = len(self.tables.joints)
        self.q, self.v, self.efforts = np.zeros(count), np.zeros(count), np.zeros(count)
        self.step_number, self.time = 0, 0.0
        self.commands = np.zeros((count, Command.END))
        self.modes = np.zeros(count, np.int64)
        self.channel_of = np.full(count, -1)
        self.ends = np.full(count, np.inf)
        self.joint_status = np.zeros(count, np.int64)

    def run(self) -> None:
        """Until it is stopped."""
        while not self.stopped:
            bell = self._control(Control.BELL)
            self._set(Status.HEARTBEAT_NS, time.monotonic_ns())
            if self._control(Control.RESETS_ASKED) != self._get(Status.RESETS_DONE):
                self._reset()
            self._look_for_the_dead()
            self._see_lock_step()
            self._drop_steps()
            life = self._why_not()
            self._set(Status.LIFE, life)
            if life != Life.RUNNING:
                self._began_before = 0
                self._sleep(bell)
                self._deadline = time.monotonic_ns()
                continue
            self._turn()
        self.segment.retire()

    def _why_not(self) -> Life:
        """Running, or what it waits for."""
        if self._get(Status.LIFE) == Life.PARKED and not self._resumed_after_failure():
            return Life.PARKED
        self._is_asked_for = bool(self._control(Control.PAUSED))
        if self._is_asked_for and self._control(Control.STEPS_ASKED) == self._get(Status.STEPS_TAKEN):
            return Life.PAUSED
        self._set(Status.WAITS_FOR, -1)
        for channel in self.in_lock_step:
            if self.words[self._channel(channel) + Channel.PERMITTED] <= self._get(Status.HEAD):
                self._set(Status.WAITS_FOR, channel)
                return Life.WAITING
        return Life.WAITING if self._control(Control.LOCK_STEP) and not self.in_lock_step else Life.RUNNING

    def _drop_steps(self) -> None:
        """Count steps as taken that are wanted no more."""
        dropped = self._control(Control.STEPS_DROPPED)
        taken = self._get(Status.STEPS_TAKEN)
        if dropped != self._dropped and taken < dropped:
            at = self.status + Status.DROPPED + 2 * (self._get(Status.DROPS) % NUM_DROPS)
            self.words[at], self.words[at + 1] = taken, dropped
            self._set(Status.DROPS, self._get(Status.DROPS) + 1)
            self._set(Status.STEPS_TAKEN, dropped)
            self.memory.wake(self.status + Status.STEPS_TAKEN)
        self._dropped = dropped

    def _see_lock_step(self) -> None:
        self.in_lock_step = []
        for channel in range(NUM_CHANNELS):
            at = self._channel(channel)
            wanted = self.words[at + Channel.LOCK_STEP]
            self.words[at + Channel.IN_LOCK_STEP] = wanted
            if wanted:
                self.in_lock_step.append(channel)
        self.memory.fence()

    def _resumed_after_failure(self) -> bool:
        """A failed step sets PAUSED; whoever takes that back wants to go on."""
        return not self._control(Control.PAUSED)

    def _sleep(self, bell: int) -> None:
        self._set(Status.ASLEEP, 1)
        self.memory.fence()
        self.memory.wait(self.control + Control.BELL, bell, _LOOKS_UP)
        self._set(Status.ASLEEP, 0)

    def _turn(self) -> None:
        """Take commands, step, tell, and wait for the next deadline."""
        period = self._control(Control.PERIOD_NS)
        began = time.monotonic_ns()
        self._take_commands()
        for row in np.flatnonzero(self.time > self.ends - 0.5 * TIME_STEP):
            self._time_out(int(row))
        if not self._step():
            return
        ended = time.monotonic_ns()
        self._publish(began, max(0, began - self._deadline) if period else 0, ended - began)
        self._count(began, ended, period)
        if self._is_asked_for:  # whoever pauses in the middle of a step has not asked for it
            self._set(Status.STEPS_TAKEN, self._get(Status.STEPS_TAKEN) + 1)
            self.memory.wake(self.status + Status.STEPS_TAKEN)
        if period:
            self._wait_for_deadline(period, ended)

    def _take_commands(self) -> None:
        self._stamps = []
        for channel in range(NUM_CHANNELS):
            at = self._channel(channel)
            sequence = self.words[at + Channel.SEQUENCE]
            if sequence == self.words[at + Channel.TAKEN]:
                continue
            bank = at + self.words[Header.CHANNEL_BANKS]
            bank += (sequence - 1) % self.words[Header.NUM_BANKS] * self.words[Header.BANK_WORDS]
            begin = bank + self.words[Header.BANK_COMMANDS]
            end = begin + len(self.tables.joints) * Command.END
            reals = self.memory.real_array[begin:end].reshape(-1, Command.END).copy()
            number = self.words[bank + Bank.SEQUENCE]
            self.memory.fence()
            if number != sequence or self.words[at + Channel.SEQUENCE] - sequence >= 3:
                self._set(Status.TORN, self._get(Status.TORN) + 1)
                continue
            self._take_set(channel, reals)
            self.words[at + Channel.TAKEN] = sequence
            self.words[at + Channel.TAKEN_AT] = self._get(Status.HEAD)

    def _take_set(self, channel: int, reals: np.ndarray) -> None:
        """All joints of a set at once; joints that the last set of this channel named and this one does not end."""
        at = self._channel(channel)
        for row, joint in enumerate(self.tables.joints):
            integers = reals[row].view(np.int64)
            mode = int(integers[Command.MODE])
            if not mode:
                if self.channel_of[row] == channel:
                    self._hold(row, floats=False)
                continue
            self.joint_status[row] &= ~int(JointStatus.REFUSED)
            given = np.delete(reals[row], (Command.MODE, Command.STAMP_NS))
            if mode & ~joint.interfaces & ~Mode.FLOATS or not np.isfinite(given).all():
                self.joint_status[row] |= JointStatus.REFUSED
                self.words[at + Channel.REFUSED] += 1
                continue
            self.commands[row], self.modes[row], self.channel_of[row] = reals[row], mode, channel
            timeout = reals[row, Command.TIMEOUT]
            self.ends[row] = self.time + timeout if timeout > 0.0 else math.inf
            self.joint_status[row] = JointStatus.COMMANDED
            if integers[Command.STAMP_NS]:
                self._stamps.append(int(integers[Command.STAMP_NS]))

    def _time_out(self, row: int) -> None:
        at = self._channel(int(self.channel_of[row]))
        self.words[at + Channel.TIMEOUTS] += 1
        self._hold(row, floats=bool(self.modes[row] & Mode.FLOATS))
        self.joint_status[row] |= JointStatus.TIMED_OUT

    def _hold(self, row: int, floats: bool) -> None:
        self.modes[row] = 0 if floats else int(Mode.POSITION)
        self.commands[row, Command.POSITION] = self.q[row]
        self.channel_of[row], self.ends[row] = -1, math.inf
        self.joint_status[row] = 0

    def _look_for_the_dead(self) -> None:
        """Dead clients' commands end; if the simulation waited for one, it is paused."""
        now = time.monotonic()
        if now - self._looked < 0.5 * _LOOKS_UP:
            return
        self._looked = now
        # Words first: a client locks its channel before it writes to it, so what is not locked is of a dead one.
        wanted = [self.words[self._channel(channel) + Channel.LOCK_STEP] for channel in range(NUM_CHANNELS)]
        clients = [self.segment.client_lives(channel) for channel in range(NUM_CHANNELS)]
        for channel, alive in enumerate(clients):
            if alive:
                continue
            for row in np.flatnonzero(self.channel_of == channel):
                self._time_out(int(row))
            if wanted[channel]:
                self.words[self._channel(channel) + Channel.LOCK_STEP] = 0
                self.words[self.control + Control.PAUSED] = 1

    def _step(self) -> bool:
        """One step; False if it failed."""
        modes, told = self.modes, self.commands
        gains = np.array([(joint.kp, joint.kd) for joint in self.tables.joints])
        own = (modes & Mode.GAINS) != 0
        gains[own] = told[own][:, (Command.KP, Command.KD)]
        effort = np.where(modes & Mode.EFFORT, told[:, Command.EFFORT], 0.0)
        by_position = (modes & Mode.POSITION) != 0
        damped = by_position | ((modes & Mode.VELOCITY) != 0)
        effort += np.where(by_position, gains[:, 0] * (told[:, Command.POSITION] - self.q), 0.0)
        wanted = np.where(modes & Mode.VELOCITY, told[:, Command.VELOCITY], 0.0)
        effort += np.where(damped, gains[:, 1] * (wanted - self.v), 0.0)
        most = np.array([joint.max_effort for joint in self.tables.joints])
        self.joint_status &= ~int(JointStatus.SATURATED)
        self.joint_status[np.abs(effort) > most] |= JointStatus.SATURATED
        effort = np.clip(effort, -most, most)
        v = self.v + TIME_STEP / INERTIA * effort
        q = self.q + TIME_STEP * v
        if np.abs(q).max() > LARGEST:
            self._park(f"joint '{self.tables.joints[int(np.abs(q).argmax())].name}' is too far away")
            return False
        self.q, self.v, self.efforts = q, v, effort
        self.step_number += 1
        self.time = self.step_number * TIME_STEP
        return True

    def _park(self, why: str) -> None:
        self.memory.set_text(self.status + Status.FAILURE_TEXT, 32, why)
        self.memory.fence()
        self._set(Status.FAILURES, self._get(Status.FAILURES) + 1)
        self.words[self.control + Control.PAUSED] = 1
        self._set(Status.LIFE, Life.PARKED)

    def _reset(self) -> None:
        asked = self._control(Control.RESETS_ASKED)
        self._set(Status.EPOCH, self._get(Status.EPOCH) + 1)
        self._start()
        self._publish(0, 0, 0)
        if self._get(Status.LIFE) == Life.PARKED:
            self._set(Status.LIFE, Life.PAUSED)
        self._set(Status.RESETS_DONE, asked)

    def _publish(self, began: int, late: int, took: int) -> None:
        """Write a state to the ring and wake who waits; ``began`` is 0 after a change from outside."""
        words, reals = self.words, self.reals
        serial = self._get(Status.HEAD)
        at = words[Header.AT_RING] + serial % words[Header.NUM_SLOTS] * words[Header.SLOT_WORDS]
        words[at + Slot.SEQUENCE] = 2 * serial + 1
        self.memory.fence()
        told = {
            Slot.SERIAL: serial,
            Slot.EPOCH: self._get(Status.EPOCH),
            Slot.STEP: self.step_number,
            Slot.BEGAN_NS: began,
            Slot.LATE_NS: late,
            Slot.STEP_NS: took,
            Slot.FLAGS: Flag.CONVERGED | (Flag.STEPPED if began else 0),
            Slot.PATCHES: 1,
            Slot.NUM_WRENCHES: 1,
        }
        for word, value in told.items():
            words[at + word] = int(value)
        reals[at + Slot.TIME] = self.time
        self._write_rows(at)
        self.memory.fence()
        words[at + Slot.SEQUENCE] = 2 * serial + 2
        words[self.status + Status.HEAD] = serial + 1
        self.memory.fence()
        if self._control(Control.WAITERS):
            self.memory.wake(self.status + Status.HEAD)

    def _write_rows(self, at: int) -> None:
        words, integers, reals = self.words, self.memory.integer_array, self.memory.real_array
        for channel in range(NUM_CHANNELS):
            taken = words[self._channel(channel) + Channel.TAKEN]
            words[at + words[Header.SLOT_COMMANDS] + channel] = taken
        begin = at + words[Header.SLOT_Q]
        reals[begin : begin + 4] = self.q
        begin = at + words[Header.SLOT_V]
        reals[begin : begin + 4] = self.v
        begin, end = at + words[Header.SLOT_JOINTS], at + words[Header.SLOT_JOINTS] + 4 * JointState.END
        rows = reals[begin:end].reshape(-1, JointState.END)
        rows[:, JointState.POSITION], rows[:, JointState.VELOCITY] = self.q, self.v
        rows[:, JointState.EFFORT] = self.efforts
        integers[begin:end].reshape(-1, JointState.END)[:, JointState.STATUS] = self.joint_status
        begin = at + words[Header.SLOT_LINKS] + LinkState.END
        half = 0.5 * (self.q[0] + self.q[1])
        reals[begin : begin + 7] = (self.q[2], 0.0, 1.0, math.cos(half), 0.0, 0.0, math.sin(half))
        begin = at + words[Header.SLOT_WRENCHES]
        words[begin + Wrench.PAIR], words[begin + Wrench.FACES] = 0, 3
        reals[begin + Wrench.FORCE + 2] = reals[begin + Wrench.NORMAL_FORCE] = 9.81
        begin = at + words[Header.SLOT_SENSORS]
        reals[begin : begin + 6] = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)

    def _count(self, began: int, ended: int, period: int) -> None:
        self._set(Status.STEPS, self._get(Status.STEPS) + 1)
        self._add(Histogram.STEP_TIME, ended - began)
        for stamp in self._stamps:
            self._add(Histogram.LATENCY, ended - stamp)
        if period:
            self._add(Histogram.LATENESS, max(0, began - self._deadline))
        if self._began_before:
            self._set(Status.WALL_NS, self._get(Status.WALL_NS) + began - self._began_before)
            self._add(Histogram.PERIOD, began - self._began_before)
            if period:
                self._add(Histogram.JITTER, abs(began - self._began_before - period))
        self._began_before = began

    def _add(self, which: Histogram, nanoseconds: int) -> None:
        at = self.words[Header.AT_HISTOGRAMS] + which * self.words[Header.HISTOGRAM_WORDS]
        duration = 1e-9 * nanoseconds
        index = 0
        if duration > SHORTEST:
            index = min(1 + int(math.log(duration / SHORTEST) / math.log1p(BIN_WIDTH)), NUM_BINS - 1)
        self.words[at + HistogramWords.COUNT] += 1
        self.reals[at + HistogramWords.SUM] += duration
        self.reals[at + HistogramWords.SQUARES] += duration * duration
        self.reals[at + HistogramWords.MAX] = max(self.reals[at + HistogramWords.MAX], duration)
        self.words[at + HistogramWords.BINS + index] += 1

    def _wait_for_deadline(self, period: int, ended: int) -> None:
        self._deadline += period
        late = ended - self._deadline
        if late <= 0:
            self._set(Status.OVERRUNS_IN_A_ROW, 0)
            time.sleep(max(0.0, 1e-9 * (self._deadline - time.monotonic_ns())))
            return
        row = self._get(Status.OVERRUNS_IN_A_ROW) + 1
        self._set(Status.OVERRUNS, self._get(Status.OVERRUNS) + 1)
        self._set(Status.OVERRUNS_IN_A_ROW, row)
        self._set(Status.LONGEST_OVERRUN, max(row, self._get(Status.LONGEST_OVERRUN)))
        self._set(Status.LATEST_NS, max(late, self._get(Status.LATEST_NS)))
        catches_up = self._control(Control.OVERRUN) == Overrun.CATCH_UP
        if not catches_up or late > self._control(Control.MAX_BACKLOG_NS):
            missed = late // period + 1
            self._deadline += missed * period
            self._set(Status.SKIPPED, self._get(Status.SKIPPED) + missed)
            self._set(Status.TIMES_SKIPPED, self._get(Status.TIMES_SKIPPED) + 1)

    def _channel(self, number: int) -> int:
        return self.words[Header.AT_CHANNELS] + number * self.words[Header.CHANNEL_WORDS]

    def _control(self, word: Control) -> int:
        return self.words[self.control + word]

    def _get(self, word: Status) -> int:
        return self.words[self.status + word]

    def _set(self, word: Status, value: int) -> None:
        self.words[self.status + word] = int(value)


def main() -> None:
    """Run until told to end."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--period", type=float, default=TIME_STEP)
    parser.add_argument("--slots", type=int, default=2048)
    arguments = parser.parse_args()
    try:
        segment = Segment.make(arguments.name, tables(), arguments.slots)
    except InputError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    loop = StandIn(segment, arguments.period)

    def stop(*_: object) -> None:
        loop.stopped = True

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    print("ready", os.getpid(), flush=True)
    loop.run()


if __name__ == "__main__":
    main()
