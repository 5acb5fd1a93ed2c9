"""Recorder of a running world: the stepping thread only queues data, another thread writes it."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

from hydro_sim_core.errors import InputError
from hydro_sim_core.messages.pulls import PULL, encode_pulls
from hydro_sim_core.messages.state import joint_state_template, split_time
from hydro_sim_core.messages.stream import Stream
from hydro_sim_core.messages.streams import JOINT_STATE, recorded_streams
from hydro_sim_core.messages.view import View
from hydro_sim_core.recording.episodes import NO_LIMITS, EpisodeFiles, FileLimits, check_new_recording
from hydro_sim_core.recording.mcap_file import reason
from hydro_sim_core.recording.parts import FULL_SCALE
from hydro_sim_core.simulation import Snapshot, World
from hydro_sim_core.simulation.world.pulls import Pull

logger = logging.getLogger(__name__)

#: Largest number of steps in the queue: one second at 1 kHz.
QUEUE_LENGTH = 1000
#: Largest queue at which commands are still accepted; higher, because a lost command changes a replay.
COMMAND_QUEUE_LENGTH = 20_000
#: Wall-clock time between two flushes, s: the most that a kill can lose.
_FLUSH_PERIOD = 0.5
#: Period at which a run without deadlines checks whether the disk has caught up, s.
_WAIT = 1e-3


@dataclass(frozen=True)
class RecordingReport:
    """Statistics of a recording.

    Attributes:
        paths: Files: one from the start, one after every reset and at every limit.
        messages: Number of messages in them.
        size: Size of all files, bytes.
        lost_steps: Steps not recorded because the disk was too slow.
        lost_commands: Commands not recorded for the same reason.
        error: Why the recording ended early; None if it did not.
    """

    paths: tuple[str, ...]
    messages: int
    size: int
    lost_steps: int
    lost_commands: int
    error: str | None

    def __str__(self) -> str:
        first, *others = self.paths
        names = f"{first} to {Path(others[-1]).name}" if len(others) > 2 else ", ".join(self.paths)
        text = f"{names}: {self.messages} messages, {self.size / 1e6:.2f} MB"
        if self.lost_steps or self.lost_commands:
            text += f"; the disk was too slow for {self.lost_steps} steps and {self.lost_commands} commands"
        return f"{text}; ended early: {self.error}" if self.error else text


@dataclass(frozen=True)
class _Command:
    topic: str
    type_name: str
    serialize: Callable[[], bytes]
    time: float
    epoch: int
    stands: bool = False


def below_node(topic: str) -> str:
    """Absolute name of a topic of the node ``/hydro_sim``."""
    if topic.startswith("~/"):
        return f"/hydro_sim/{topic[2:]}"
    return topic if topic.startswith("/") else f"/{topic}"


class Recorder:
    """Writes snapshots and commands into an MCAP file, and into a new one after every reset and at every limit.

    ``record`` and ``record_command`` only append to a queue. When it is full, data is dropped and counted, or waits if
    ``complete`` is set. A disk error ends the recording, never the run.

    Args:
        path: The first file; later ones are ``NAME_1.mcap`` and so on beside it.
        rates: Messages per second of simulated time by the name of a kind of stream, 0 for every step; others keep
            theirs.
        view: How the world is shown; replays have its colours of pressure. Without it they choose them from what they
            find.
        absolute_name: Turns names such as ``~/wrench/a_on_b`` into absolute ones.
        overwrite: Replace files that exist.
        drives: Whether to record, whenever they change, the targets of drives on ``~/joint_targets`` and the springs
            that pull links on ``~/pull``.
        complete: Whether the stepping thread waits for the disk, for runs without deadlines.
        warn: Called with a line of text when something goes wrong.
        number: Number of the first file: how many files of this name an earlier recorder has written.
        limits: Limits of each file.

    Raises:
        InputError: The file cannot be written.
    """

    def __init__(
        self,
        path: Path,
        rates: Mapping[str, float] = MappingProxyType({}),
        view: View | None = None,
        absolute_name: Callable[[str], str] = below_node,
        overwrite: bool = False,
        drives: bool = False,
        complete: bool = False,
        warn: Callable[[str], None] = logger.error,
        number: int = 0,
        limits: FileLimits = NO_LIMITS,
    ) -> None:
        check_new_recording(path, number, overwrite, limits)
        self._path = path
        self._number = number
        self._overwrite = overwrite
        self._limits = limits
        self._drives = drives
        self._drive_writes = 0
        self._pulls: tuple[Pull, ...] = ()
        self._complete = complete
        self._warn = warn
        self._absolute_name = absolute_name
        self._rates = rates
        self._view = view or View()
        self._about = {} if view is None else {FULL_SCALE: repr(view.scale.maximum)}
        self._queue: queue.SimpleQueue[tuple[Snapshot, World] | _Command | None] = queue.SimpleQueue()
        self._handed: tuple[int, int] | None = None
        self._lost_steps = 0
        self._lost_commands = 0
        self._error: str | None = None
        self._crash: BaseException | None = None
        self._has_begun = False

    def start(self, snapshot: Snapshot, world: World) -> None:
        """Create the file and start the thread; arguments as for ``record``.

        The first state is written here, so that one-time costs are paid before the first step.

        Raises:
            InputError: The file cannot be created, two pairs of bodies would share a topic, or a stream of a package
                cannot be encoded; one that fails later is left out.
        """
        self._make_streams(world)  # raises before a file is made or replaced
        self._files = EpisodeFiles(
            self._path,
            self._make_streams,
            self._leave_out,
            self._overwrite,
            self._number,
            self._limits,
            self._about,
        )
        self._handed = (snapshot.epoch, snapshot.step)
        try:
            self._files.write_snapshot(snapshot, world)
            self._files.flush()
        except BaseException as error:
            self._close()
            if isinstance(error, OSError):
                mend = "give a file on a disk with room"
                raise InputError(self._path, "", reason(error), mend) from None
            raise
        self._has_begun = True
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()

    def _make_streams(self, world: World) -> list[tuple[Stream, float | None]]:
        return [
            (replace(stream, topic=self._absolute_name(stream.topic)), rate)
            for stream, rate in recorded_streams(world, self._rates, self._view)
        ]

    def _leave_out(self, topic: str, error: Exception) -> None:
        """Tell of a topic that cannot be encoded any more; before the first step that is refused."""
        if not self._has_begun:
            raise error
        known = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        self._warn(f"{self._path}: {topic}: cannot be encoded, and is left out: {known}{error}")

    def record(self, snapshot: Snapshot, world: World) -> None:
        """Queue the state after a step; called by the stepping thread.

        Args:
            snapshot: The state; a repetition of the last one is ignored.
            world: World of the state, with its scene and names.
        """
        step = (snapshot.epoch, snapshot.step)
        if step == self._handed or self._error is not None:
            return
        self._handed = step
        if self._drives:
            self._record_drives(snapshot, world)
            self._record_pulls(snapshot, world)
        if self._has_room(QUEUE_LENGTH):
            self._queue.put((snapshot, world))
            return
        if self._lost_steps == 0:
            self._warn(f"{self._path}: writing is too slow for this recording; steps are left out")
        self._lost_steps += 1

    def _record_drives(self, snapshot: Snapshot, world: World) -> None:
        if world.drive_writes == self._drive_writes:
            return
        self._drive_writes = world.drive_writes
        targets = world.drive_targets()
        began = max(0.0, snapshot.time - world.time_step)
        template = joint_state_template(world.actuated_joint_names)
        encode = partial(template.fill, split_time(began), targets)
        self.record_command("~/joint_targets", JOINT_STATE, encode, began, snapshot.epoch, stands=True)

    def _record_pulls(self, snapshot: Snapshot, world: World) -> None:
        if snapshot.pulls == self._pulls:
            return
        released = {pull.link for pull in self._pulls} - {pull.link for pull in snapshot.pulls}
        self._pulls = snapshot.pulls
        encode = partial(encode_pulls, snapshot.pulls, sorted(released))
        began = max(0.0, snapshot.time - world.time_step)
        self.record_command("~/pull", PULL, encode, began, snapshot.epoch, stands=True)

    def record_command(
        self,
        topic: str,
        type_name: str,
        serialize: Callable[[], bytes],
        time: float,
        epoch: int,
        stands: bool = False,
    ) -> None:
        """Queue a command that takes effect in the next step; called by the stepping thread.

        Args:
            topic: Name of the topic: absolute, relative, or ``~/…`` below the node's name.
            type_name: Message type, such as ``std_msgs/msg/Float64``.
            serialize: Returns the serialised message; called by the recorder's thread.
            time: Simulated time, s.
            epoch: As in ``Snapshot``.
            stands: Whether it tells a state that holds until the next one, to be repeated where a file continues.
        """
        if self._error is not None:
            return
        if self._has_room(COMMAND_QUEUE_LENGTH):
            name = self._absolute_name(topic)
            self._queue.put(_Command(name, type_name, serialize, time, epoch, stands))
            return
        if self._lost_commands == 0:
            self._warn(f"{self._path}: writing is too slow for this recording; commands are left out")
        self._lost_commands += 1

    def _has_room(self, length: int) -> bool:
        while self._complete and self._queue.qsize() >= length and self._thread.is_alive():
            time.sleep(_WAIT)
        return self._queue.qsize() < length

    def stop(self) -> RecordingReport:
        """Write everything in the queue and complete the file."""
        self._queue.put(None)
        self._thread.join()
        if self._crash is not None:
            raise self._crash
        return RecordingReport(
            paths=tuple(map(str, self._files.paths)),
            messages=self._files.messages,
            size=self._files.size,
            lost_steps=self._lost_steps,
            lost_commands=self._lost_commands,
            error=self._error,
        )

    # --- the recorder's thread

    def _run(self) -> None:
        try:
            while not self._files.full and self._write_for(_FLUSH_PERIOD):
                self._files.flush()
            self._files.close()
            if self._files.full:
                self._fail("the disk is full")
        except OSError as error:
            self._fail(reason(error))
        except InputError as error:
            self._fail(str(error))
        except BaseException as error:
            self._fail(f"{type(error).__name__}: {error}")
            self._crash = error  # a bug of ours, for ``stop`` to raise
        finally:
            self._close()

    def _close(self) -> None:
        """Complete the file as far as the disk allows, whatever has ended the recording."""
        with suppress(OSError):
            self._files.close()

    def _write_for(self, period: float) -> bool:
        """Write what arrives within ``period`` (s) or until the disk is full; False at the end of the recording."""
        until = time.monotonic() + period
        while not self._files.full and (left := until - time.monotonic()) > 0.0:
            try:
                entry = self._queue.get(timeout=left)
            except queue.Empty:
                break
            if entry is None:
                return False
            if isinstance(entry, _Command):
                self._files.write_command(
                    entry.topic, entry.type_name, entry.serialize(), entry.time, entry.epoch, entry.stands
                )
            else:
                self._files.write_snapshot(*entry)
        return True

    def _fail(self, problem: str) -> None:
        self._error = problem
        self._queue = queue.SimpleQueue()  # data in the queue is no longer needed
        self._warn(f"{self._path}: the recording ends, the simulation goes on: {problem}")
