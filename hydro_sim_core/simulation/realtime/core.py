"""The memory in which the compiled loop and those who follow it meet, made for one world."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.compilation import Handle, prepare
from hydro_sim_core.errors import InputError
from hydro_sim_core.shared_memory.layout import (
    NAME_WORDS,
    NUM_BINS,
    NUM_CHANNELS,
    NUM_DROPS,
    WORD,
    Channel,
    Control,
    Header,
    Histogram,
    HistogramWords,
    Joint,
    JointKind,
    Life,
    Link,
    Pair,
    Scheduling,
    Sensor,
    Sizes,
    Status,
    header_words,
)
from hydro_sim_core.shared_memory.segment import Segment
from hydro_sim_core.simulation.integrators.other_steps import solve_nothing
from hydro_sim_core.simulation.realtime import loop as compiled
from hydro_sim_core.simulation.realtime import steps_of_pause
from hydro_sim_core.simulation.realtime.loop_data import (
    BEGAN,
    CHANNEL,
    DEADLINE,
    DROPPED,
    IN_PAUSE,
    LATE,
    LOOKED_UNTIL,
    READ,
    SERIAL,
    TAKEOVERS,
    TIMED_OUT,
    Loop,
    make_loop,
    resident,
)
from hydro_sim_core.simulation.realtime.sensor_tables import NUM_VALUES, kind_of, sensors_told
from hydro_sim_core.simulation.world import World

_BILLION = 1_000_000_000
_HALF = 2**31
#: How long contacts are kept of every state after somebody has looked, ns.
_LOOK = 3 * _BILLION
#: What goes on in the next segment, beside the counts of ``PaceRecorder``.
_KEPT = (
    Status.EPOCH,
    Status.STEPS_TAKEN,
    Status.RESETS_DONE,
    Status.HEAD,
    Status.FAILURES,
    Status.TORN,
    Status.SCHEDULING,
    Status.PRIORITY,
    Status.CPU,
    *range(Status.FAILURE_TEXT, Status.DROPPED),
)
ENTRIES = (
    compiled.run,
    compiled.tell,
    compiled.take,
    compiled.ring,
    compiled.wait_on_bell,
    compiled.wait_for_state,
    steps_of_pause.ask_for_steps,
    steps_of_pause.follow_steps,
    steps_of_pause.note_drop,
    compiled.is_short_of_permit,
    steps_of_pause.wait_for_steps,
)


class Core:
    """Words of a world that is run, its loop, and clients.

    Attributes:
        header: Words of the header.
        words: All words.
        control: ``Control`` words.
        status: ``Status`` words.
        histograms: Words of the histograms, one a row.
        loop: Data of the loop.
        segment: Shared memory that the words are in; None if they are this process's own.

    Args:
        world: The world.
        name: Name of the segment; none for memory of this process.
        before: The core whose control words, counts and serial numbers go on here; its segment is retired.
        period_ns: ``Control.PERIOD_NS`` after a core before, whose time step may be another.

    Raises:
        InputError: The segment cannot be made.
    """

    def __init__(self, world: World, name: str = "", before: Core | None = None, period_ns: int = 0) -> None:
        self._solve = world.machine.solve or solve_nothing
        takes = (type(world.loop_stepper).takes, self._solve) if world.takes_whole_steps else ()
        prepare((*ENTRIES, *takes))
        self._world = world
        self._lock = threading.Lock()  # between who closes the segment and who asks it for clients
        self.header = header_words(_sizes(world))
        size = self.header[Header.SIZE]
        self.segment = Segment(name, size) if name else None
        self.words: NDArray[np.int64] = (
            resident(size // WORD, np.int64) if self.segment is None else self.segment.words
        )
        self.loop: Loop = make_loop(self.words, self.header, world)
        self._handle: Any = Handle(self.loop)
        self.control = self._section(Header.AT_CONTROL, Control.END)
        self.status = self._section(Header.AT_STATUS, Status.END)
        rows = self._section(Header.AT_HISTOGRAMS, Histogram.END * self.header[Header.HISTOGRAM_WORDS])
        self.histograms = rows.reshape(Histogram.END, -1)[:, : HistogramWords.BINS + NUM_BINS]
        self._write_tables(world)
        self.note_read(-1)
        self.status[[Status.WAITS_FOR, Status.CPU]] = -1
        if before is not None:
            self.control[Control.PAUSED : Control.END] = before.control[Control.PAUSED :]
            self.control[Control.PERIOD_NS] = period_ns
            for word in _KEPT:
                self.status[word] = before.status[word]
            self.loop.own[[SERIAL, DROPPED]] = before.loop.own[[SERIAL, DROPPED]]
        if self.segment is not None:
            self.segment.publish(None if before is None else before.segment)
        if before is not None:
            before.close()

    def catch_up_with(self, before: Core, told: NDArray[np.int64]) -> None:
        """Take over what the core before was told since its control words were ``told``, but for the period."""
        for word in (Control.PAUSED, Control.OVERRUN, Control.MAX_BACKLOG_NS):
            if before.control[word] != told[word]:
                self.control[word] = before.control[word]
        self.control[Control.STEPS_ASKED] += before.control[Control.STEPS_ASKED] - told[Control.STEPS_ASKED]

    def _section(self, at: Header, length: int) -> NDArray[np.int64]:
        return self.words[self.header[at] : self.header[at] + length]

    def close(self) -> None:
        """Give up the segment; the words stay readable in this process."""
        self.status[Status.LIFE] = Life.RETIRED
        with self._lock:
            if self.segment is not None:
                self.segment.retire()
                self.segment = None
        self.ring()

    def refuse_closed(self) -> None:
        """Check that ``close`` has not been called.

        Raises:
            InputError: It has.
        """
        if self.status[Status.LIFE] == Life.RETIRED:
            raise InputError("start", "runner", "is closed", "make another one of its world")

    # --- the loop, in the stepping thread

    def run(
        self, deadline: float, began: float | None, most: int, in_pause: bool = False
    ) -> tuple[int, float, float | None]:
        """Take at most ``most`` steps, as ``loop.run`` does.

        Args:
            deadline: Time of the next step on the monotonic clock, s; 0 for now.
            began: When the last step began, s; None without one.
            most: Steps to take.
            in_pause: Whether to take those that are asked for, as soon as they are.

        Returns:
            Why it returned, and the next deadline and the begin of the last step, s.
        """
        machine, own = self._world.machine, self.loop.own
        own[DEADLINE], own[BEGAN] = round(deadline * _BILLION), round((began or 0.0) * _BILLION)
        own[IN_PAUSE] = in_pause
        stepper = self._world.loop_stepper
        why = compiled.run(
            machine.handle,
            self._solve,
            stepper.substeps,
            type(stepper).takes,  # uncompiled, it would be a method of the object
            stepper.other_steps,
            self._handle,
            self._world.time_step,
            most,
        )
        return why, int(own[DEADLINE]) / _BILLION, int(own[BEGAN]) / _BILLION or None

    @property
    def before(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Coordinates and velocities at the begin of the last step that the loop took, copies."""
        return self.loop.q_before.copy(), self.loop.v_before.copy()

    def tell(self, took: float, flags: int, began: float = 0.0) -> None:
        """Publish the world's state, after a step that took so long and began then, s; 0 after another change."""
        self.loop.own[BEGAN] = round(began * _BILLION)
        self.loop.own[LATE] = 0
        machine, before = self._world.machine, self._world.before_last_step
        if took and before is not None:
            self.loop.q_before[:], self.loop.v_before[:] = before
        duration = max(1, round(took * _BILLION)) if took else 0
        compiled.tell(machine.handle, self._handle, self._world.time_step, duration, flags)

    def take_commands(self) -> None:
        """Take what clients command for a step that Python takes."""
        compiled.take(self._world.machine.handle, self._handle, self._world.time)

    def park(self, why: str) -> None:
        """Tell clients that a step failed."""
        first = Status.FAILURE_TEXT
        room = (Status.DROPPED - first) * WORD
        self.status[first : Status.DROPPED] = np.frombuffer(
            why.encode()[: room - 1].ljust(room, b"\0"), dtype=np.int64
        )
        self.status[Status.FAILURES] += 1
        self.status[Status.LIFE] = Life.PARKED

    @property
    def led_joints(self) -> tuple[str, ...]:
        """Joints that clients command."""
        rows = np.flatnonzero(self.loop.joints[:, CHANNEL] >= 0)
        return tuple(self._world.joint_names[row] for row in rows)

    def take_from_clients(self, joints: Collection[str]) -> None:
        """Have clients lead these joints no more, until they command them anew."""
        for row in [self._world.joint_names.index(joint) for joint in joints]:
            self.loop.joints[row, CHANNEL] = -1
            self.loop.until[row] = np.inf

    @property
    def steps_left(self) -> int:
        """Steps that are asked for while paused, and not taken yet."""
        return self.steps_until(int(self.control[Control.STEPS_ASKED]))

    def steps_until(self, asked: int) -> int:
        """Steps left until a value of ``Control.STEPS_ASKED``; below 0 if there were more."""
        left = asked - int(self.status[Status.STEPS_TAKEN])
        return (left + _HALF) % (2 * _HALF) - _HALF  # clients add to its low half alone

    @property
    def is_to_drop_steps(self) -> bool:
        """Whether somebody has told anew that steps are wanted no more."""
        return bool(self.control[Control.STEPS_DROPPED] != self.loop.own[DROPPED])

    def take_drop(self) -> int | None:
        """The count up to which steps are wanted no more, if somebody has told it anew: counts go round."""
        if not self.is_to_drop_steps:
            return None
        dropped = int(self.control[Control.STEPS_DROPPED])
        self.loop.own[DROPPED] = dropped
        return dropped

    def drop_steps(self, dropped: int) -> None:
        """Drop the steps up to a count; those that were asked for since stay."""
        self.give_up_steps(min(self.steps_until(dropped), self.steps_left))

    def give_up_steps(self, number: int) -> None:
        """Tell clients that the next steps that were asked for, so many, will not be taken; none for 0 or less."""
        if number <= 0:
            return
        taken = int(self.status[Status.STEPS_TAKEN])
        at = Status.DROPPED + 2 * (int(self.status[Status.DROPS]) % NUM_DROPS)
        self.status[[at, at + 1]] = taken, taken + number
        steps_of_pause.note_drop(self._handle)
        self.follow_steps(number)

    def follow_steps(self, number: int) -> None:
        """Tell clients that so many of the steps that were asked for are taken, or dropped."""
        steps_of_pause.follow_steps(self._handle, int(self.status[Status.STEPS_TAKEN]) + number)

    def forget_commands(self) -> None:
        """Have clients lead no joint and no set of theirs be in force, as after a reset of the commands."""
        joints = self.loop.joints
        led = joints[:, CHANNEL] >= 0
        joints[led, TIMED_OUT] = 1
        joints[:, CHANNEL] = -1
        self.loop.own[TAKEOVERS] += np.count_nonzero(led)
        self.loop.until[:] = np.inf
        self._put_no_set_in_force()

    def go_on_with_commands(self, before: Core) -> None:
        """Have the commands of a core before go on, by joint, until they time out or somebody commands anew.

        Those who gave them have to open this core's segment first, so that they belong to none of its channels.
        """
        rows = {name: row for row, name in enumerate(before._world.joint_names)}
        for row, name in enumerate(self._world.joint_names):
            if name in rows and self.loop.interfaces[row]:
                self.loop.joints[row] = before.loop.joints[rows[name]]
                self.loop.until[row] = before.loop.until[rows[name]]
        channels = self.loop.joints[:, CHANNEL]
        channels[channels >= 0] = NUM_CHANNELS

    def end_commands(self) -> None:
        """Have joints that clients lead hold or float from the next step on, unless they are commanded anew.

        As after a time-out: the drives still follow what the clients have commanded.
        """
        self.loop.until[self.loop.joints[:, CHANNEL] >= 0] = -np.inf
        self._put_no_set_in_force()

    def _put_no_set_in_force(self) -> None:
        for channel in self._channels():
            channel[Channel.TAKEN] = 0

    # --- from any thread

    def ask_for_steps(self, number: int) -> int:
        """Ask for steps while paused; return the value of ``Control.STEPS_ASKED`` that ends with them."""
        return int(steps_of_pause.ask_for_steps(self._handle, number))

    def disown_steps(self) -> None:
        """Have no step taken any more of those that are asked for so far."""
        self.control[Control.STEPS_DROPPED] = self.control[Control.STEPS_ASKED]

    def wait_for_steps(self, asked: int, timeout: float) -> bool:
        """Wait until all steps up to a value of ``Control.STEPS_ASKED`` are taken, at most ``timeout`` s; whether."""
        deadline = time.monotonic_ns() + round(timeout * _BILLION)
        return int(steps_of_pause.wait_for_steps(self._handle, asked, deadline)) <= 0

    @property
    def head(self) -> int:
        """Number of states that were published."""
        return int(self.status[Status.HEAD])

    def ring(self) -> None:
        """Have the loop, or the stepping thread, look at the control words."""
        compiled.ring(self._handle)

    def note_scheduling(self, privileges: Scheduling, priority: int, cpu: int) -> None:
        """Tell what the stepping thread has obtained; see ``Status``."""
        self.status[[Status.SCHEDULING, Status.PRIORITY, Status.CPU]] = privileges, priority, cpu

    def beat(self) -> None:
        """Tell clients that the stepping thread lives, and has seen which of them are in lock-step."""
        self.status[Status.HEARTBEAT_NS] = time.monotonic_ns()
        channels = self._channels()
        channels[:, Channel.IN_LOCK_STEP] = channels[:, Channel.LOCK_STEP]

    def is_short_of_permit(self) -> bool:
        """Whether a client in lock-step has not permitted the next step; tells clients so."""
        return bool(compiled.is_short_of_permit(self._handle))

    def _channels(self) -> NDArray[np.int64]:
        """Words of the channels, one a row."""
        first, length = self.header[Header.AT_CHANNELS], self.header[Header.CHANNEL_WORDS]
        return self.words[first : first + NUM_CHANNELS * length].reshape(NUM_CHANNELS, length)

    @property
    def is_in_lock_step(self) -> bool:
        """Whether a client wants every step to wait for it."""
        return bool(self._channels()[:, Channel.LOCK_STEP].any())

    def bell(self) -> int:
        """How often the bell was rung."""
        return int(self.control[Control.BELL])

    def wait_on_bell(self, seen: int, timeout: float) -> None:
        """Wait while the bell is as it was ``seen``, at most ``timeout`` s."""
        self.status[Status.ASLEEP] = 1
        compiled.wait_on_bell(self._handle, seen, time.monotonic_ns() + round(timeout * _BILLION))
        self.status[Status.ASLEEP] = 0

    def wait_for_state(self, serial: int, timeout: float) -> int:
        """Wait for the state with a serial number, at most ``timeout`` s; return the number of states."""
        return int(
            compiled.wait_for_state(self._handle, serial, time.monotonic_ns() + round(timeout * _BILLION))
        )

    def note_read(self, serial: int) -> None:
        """Tell the loop the first state that is to be handed over, lest it goes too far ahead; -1 without followers."""
        self.loop.own[READ] = serial

    def look(self) -> None:
        """Have the contacts of states kept for the next seconds."""
        self.loop.own[LOOKED_UNTIL] = time.monotonic_ns() + _LOOK

    def bury_the_dead(self) -> list[int]:
        """Free the channels of clients that have died; return those that were in lock-step."""
        led: list[int] = []
        with self._lock:
            if self.segment is None:
                return led
            for c, channel in enumerate(self._channels()):
                if not channel[Channel.CLIENT_PID]:
                    continue
                # With its lock nobody else can take the channel meanwhile, whose words these would be.
                vacant = self.segment.vacant(c)
                if vacant is None:
                    continue
                if channel[Channel.LOCK_STEP]:
                    self.control[Control.PAUSED] = 1  # before the loop finds that nobody is to be waited for
                    led.append(c)
                channel[[Channel.LOCK_STEP, Channel.CLIENT_PID]] = 0
                self.loop.dead[c] = channel[Channel.SEQUENCE] + 1
                vacant.release()
        return led

    # --- tables

    def _write_tables(self, world: World) -> None:
        for word, value in self.header.items():
            self.words[word] = value
        self.words[Header.OWNER_PID] = os.getpid()
        self.words[Header.TIME_STEP :].view(np.float64)[0] = world.time_step
        _write_name(self.words[Header.SCENE_NAME :], world.name)
        joints = self._section(Header.AT_JOINTS, len(world.joint_names) * Joint.END).reshape(-1, Joint.END)
        self._write_joints(world, joints, joints.view(np.float64))
        links = self._section(Header.AT_LINKS, len(world.frame_names) * Link.END).reshape(-1, Link.END)
        for row, name in zip(links, world.frame_names, strict=True):
            _write_name(row, name)
        index = {name: i for i, name in enumerate(world.frame_names)}
        self._write_sensors(world)
        pairs = self._section(Header.AT_PAIRS, len(world.built.model.pairs) * Pair.END).reshape(-1, Pair.END)
        named = [index.get(collider.link, -1) for collider in world.built.colliders]
        for row, pair in zip(pairs, np.sort(world.built.model.pairs, axis=1).tolist(), strict=True):
            row[:] = [named[geometry] for geometry in pair]

    def _write_sensors(self, world: World) -> None:
        told, tables = sensors_told(world), self.loop.sensors
        rows = self._section(Header.AT_SENSORS, len(told) * Sensor.END).reshape(-1, Sensor.END)
        for n, (row, sensor) in enumerate(zip(rows, told, strict=True)):
            _write_name(row, sensor.name)
            row[[Sensor.KIND, Sensor.FIRST]] = tables.kind[n], tables.first[n]
            row[[Sensor.COUNT, Sensor.LINK]] = NUM_VALUES[kind_of(sensor)], tables.link[n]

    def _write_joints(self, world: World, words: NDArray[np.int64], reals: NDArray[np.float64]) -> None:
        loop = self.loop
        units = {
            name: unit
            for robot in world.scene.robots
            for one in robot.joints
            for name, unit in one.units.items()
        }
        scalar, (lower, upper) = world.built.assembly.scalar_joints, world.joint_limits()
        masters = {name: i for i, name in enumerate(world.joint_names) if name in world.velocity_names}
        for j, (name, joint) in enumerate(zip(world.joint_names, scalar, strict=True)):
            _write_name(words[j], name)
            is_angle = units.get(name) == "rad"
            words[j, Joint.KIND] = JointKind.REVOLUTE if is_angle else JointKind.PRISMATIC
            words[j, [Joint.INTERFACES, Joint.Q, Joint.V]] = (
                loop.interfaces[j],
                joint.q_index,
                joint.v_index,
            )
            words[j, Joint.MIMICS] = (
                -1 if name in masters else masters.get(world.velocity_names[joint.v_index], -1)
            )
            reals[j, [Joint.LOWER, Joint.UPPER]] = lower[j], upper[j]
            reals[j, Joint.MAX_VELOCITY] = world.joint_velocity_limits()[j]
            reals[j, [Joint.MAX_EFFORT, Joint.KP, Joint.KD]] = (
                loop.effort_limit[j],
                loop.kp[j],
                loop.kd[j],
            )


def _sizes(world: World) -> Sizes:
    return Sizes(
        num_q=len(world.q),
        num_v=len(world.v),
        joints=len(world.joint_names),
        links=len(world.frame_names),
        pairs=len(world.built.model.pairs),
        sensors=len(sensors_told(world)),
        sensor_values=sum(NUM_VALUES[kind_of(sensor)] for sensor in sensors_told(world)),
    )


def _write_name(words: NDArray[np.int64], name: str) -> None:
    """Write a name, cut to what there is room for; it ends with a zero."""
    data = name.encode()[: NAME_WORDS * WORD - 1].ljust(NAME_WORDS * WORD, b"\0")
    words[:NAME_WORDS] = np.frombuffer(data, dtype=np.int64)
