"""Time series from a recording, for plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import NDArray
from rich.console import Console

from hydro_sim_core.cli.status import bar
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.xml_source import OWN_NAMESPACE
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.errors import InputError
from hydro_sim_core.pictures.plot_footprint import grip_force
from hydro_sim_core.recording import run_files
from hydro_sim_core.replay import Recording
from hydro_sim_core.replay.recording import scale_of_recordings
from hydro_sim_core.viewer.frame import ViewPatch

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Instant:
    """Data of one instant of a recording.

    Attributes:
        time: s.
        poses: Pose (4, 4) of every link in the world.
        patches: Contact patches.
    """

    time: float
    poses: dict[str, Array]
    patches: tuple[ViewPatch, ...]


@dataclass(frozen=True)
class _Joint:
    """A joint of the recorded description; its axis has the same components in the joint's and in the child's frame."""

    name: str
    kind: str
    child: str
    axis: tuple[float, ...]


class RecordedMotion:
    """Poses, contacts and commands of a recording by the names of its bodies; a context manager.

    Args:
        path: MCAP file; those that continue it are read too.
        console: Shows the progress of reading.

    Raises:
        InputError: The file cannot be read, is damaged or holds no poses.
    """

    def __init__(self, path: Path, console: Console) -> None:
        self.path = path
        self._console = console
        with ExitStack() as stack:
            self._recordings = [stack.enter_context(Recording(part)) for part in run_files(path)]
            self._joints = _joints(self._recordings[0].messages("robot_description")[:1])
            self._targets = [
                target for recording in self._recordings for target in recording.messages("joint_targets")
            ]
            self._open = stack.pop_all()

    def __enter__(self) -> RecordedMotion:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def scale(self) -> PressureScale:
        """Colour scale of pressure, that of the run."""
        return scale_of_recordings(self._recordings)

    def instants(self) -> Iterator[Instant]:
        """Every instant, in order.

        Raises:
            InputError: The file is damaged there.
        """
        rows = [(one, row) for one in self._recordings for row in range(len(one.instants))]
        return (_instant(*row) for row in bar(rows, f"reading {self.path}", self._console))

    def instant(self, time: float) -> Instant:
        """The instant nearest to ``time`` (s).

        Raises:
            InputError: The time is outside of the recording, or the file is damaged there.
        """
        start, end = self._recordings[0].start, self._recordings[-1].end
        if not start <= time <= end:
            problem = f"time {time:g} s is outside of the recording"
            raise InputError(self.path, "", problem, f"give {start:g} to {end:g}")
        recording = [one for one in self._recordings if one.start <= time][-1]
        return _instant(recording, recording.row(time))

    # --- names

    def fingers(self) -> list[str]:
        """Links that prismatic joints move.

        Raises:
            InputError: There are no such links.
        """
        found = [joint.child for joint in self._joints if joint.kind == "prismatic"]
        if not found:
            raise InputError(self.path, "", "has no finger on a prismatic joint", "name a body with --body")
        return found

    def free_body(self) -> str:
        """Name of the only body without joints.

        Raises:
            InputError: There is no such body, or several.
        """
        found = [joint.child for joint in self._joints if joint.kind == "floating"]
        if len(found) != 1:
            which = f"has several free bodies ({', '.join(found)})" if found else "has no free body"
            raise InputError(self.path, "", which, "name a body with --body")
        return found[0]

    # --- series

    def grip_forces(self, bodies: Sequence[str]) -> tuple[Array, dict[str, Array]]:
        """Times (N,), s, and grip force (N,), N, of every body; along the joint where a prismatic joint moves the body.

        Raises:
            InputError: A body is unknown and touches nothing, or the file is damaged.
        """
        axes = {joint.child: np.array(joint.axis) for joint in self._joints if joint.kind == "prismatic"}
        times: list[float] = []
        forces: list[list[float]] = []
        known: set[str] = set()
        for instant in self.instants():
            known.update(instant.poses, *((patch.name_a, patch.name_b) for patch in instant.patches))
            along = {body: instant.poses[body][:3, :3] @ axes[body] for body in axes if body in instant.poses}
            times.append(instant.time)
            forces.append([grip_force(instant.patches, body, along.get(body)) for body in bodies])
        for body in bodies:
            self._check(body, known)
        return np.array(times), dict(zip(bodies, np.array(forces).T, strict=True))

    def commanded_forces(self, bodies: Sequence[str], time: Array) -> dict[str, Array]:
        """Commanded joint force (N,) of each body at each ``time`` (N,), N; NaN where the command is not a force.

        Bodies whose joint never gets a force command are left out.
        """
        told = np.array([stamp for stamp, _ in self._targets])
        rows = np.searchsorted(told, time, side="right") - 1
        found = {}
        for joint in self._joints:
            efforts = [_effort(message, joint.name) for _, message in self._targets]
            if joint.child in bodies and not np.all(np.isnan(efforts)):
                found[joint.child] = np.where(rows >= 0, np.abs(efforts)[rows], np.nan)
        return found

    def poses(self, body: str) -> tuple[Array, Array]:
        """Times (N,), s, and poses (N, 4, 4) of a link in the world, at the instants at which the link exists.

        Raises:
            InputError: The link never exists, or the file is damaged.
        """
        times, poses = [], []
        known: set[str] = set()
        for instant in self.instants():
            known.update(instant.poses)
            if body in instant.poses:
                times.append(instant.time)
                poses.append(instant.poses[body])
        self._check(body, known)
        return np.array(times), np.array(poses)

    def pressed_hardest(self, body: str) -> Instant:
        """The instant with the largest grip force on a body.

        Raises:
            InputError: The body never has contact force, or the file is damaged.
        """
        time, forces = self.grip_forces([body])
        if not np.any(forces[body]):
            raise InputError(self.path, f"body '{body}'", "is never pressed", "name another body with --body")
        return self.instant(float(time[np.argmax(forces[body])]))

    def _check(self, body: str, known: set[str]) -> None:
        if body not in known:
            raise InputError(
                self.path, f"body '{body}'", "is not in the recording", did_you_mean(body, known)
            )


def _instant(recording: Recording, row: int) -> Instant:
    frame = recording.frame(row)
    poses = dict(zip(recording.scene(row).links, frame.poses, strict=True))
    return Instant(frame.time, poses, frame.patches)


def _joints(descriptions: list[tuple[float, Any]]) -> tuple[_Joint, ...]:
    """Joints of a URDF that is known to be well formed, as it has been read before."""
    if not descriptions:
        return ()
    ((_, message),) = descriptions
    return tuple(_joint(element) for element in etree.fromstring(message.data.encode()).findall("joint"))


def _joint(element: Any) -> _Joint:
    axis = element.find("axis")
    numbers = (1.0, 0.0, 0.0) if axis is None else tuple(map(float, axis.get("xyz").split()))
    # Joint types that URDF does not have are written as floating joints, with their own type in ``hydro:type``.
    kind = element.get(f"{{{OWN_NAMESPACE}}}type") or element.get("type")
    return _Joint(element.get("name"), kind, element.find("child").get("link"), numbers)


def _effort(targets: Any, joint: str) -> float:
    """Effort that a JointState commands for a joint; NaN if there is none."""
    efforts = dict(zip(targets.name, targets.effort, strict=False))
    return float(efforts.get(joint, np.nan))
