"""Frames: the content of the view at one instant, and its binary message."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.contact import ContactPatch
from hydro_sim_core.contact.laws import LAWS, PRESSURE_FIELD
from hydro_sim_core.drawing.patch_surface import PatchFaces, drawn_faces
from hydro_sim_core.rotations import quaternions_of
from hydro_sim_core.simulation import Snapshot
from hydro_sim_core.simulation.world.pulls import Pull
from hydro_sim_core.viewer.scene import ViewScene

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ViewPatch:
    """A contact patch and the wrench on its second body, in the world frame.

    Attributes:
        name_a: First body.
        name_b: Second body.
        faces: Polygons that transmit force.
        force_on_b: (3,) force on the second body, N.
        moment: (3,) moment on the second body about ``point``, N m.
        point: (3,) centre of pressure, m.
        area: Area of the faces, m^2; 0 if they touch along a line or at a point.
        max_pressure: Largest pressure at a corner, Pa; 0 without area.
        problem: Why the force should not be trusted; None if it can.
        law: Contact law, one of ``contact.laws``.
    """

    name_a: str
    name_b: str
    faces: PatchFaces
    force_on_b: Array
    moment: Array
    point: Array
    area: float
    max_pressure: float
    problem: str | None = None
    law: str = PRESSURE_FIELD


@dataclass(frozen=True, eq=False)
class ViewPull:
    """A spring that pulls a link, in the world frame.

    Attributes:
        link: Name of the link.
        point: (3,) point of the link that it is fastened to, m.
        target: (3,) its other end, m.
        force: (3,) force on the link, N.
    """

    link: str
    point: Array
    target: Array
    force: Array


@dataclass(frozen=True)
class Pace:
    """Statistics of how well a run keeps its rate.

    Attributes:
        rtf: Recent real-time factor: simulated seconds per wall-clock second.
        jitter_p99: 99th percentile of the deviation of a period from the nominal one, s.
        step_p99: 99th percentile of the duration of a step, s.
        late_steps: Steps that ended after their deadline.
    """

    rtf: float
    jitter_p99: float
    step_p99: float
    late_steps: int


@dataclass(frozen=True, eq=False)
class ViewFrame:
    """Content of the view at one instant.

    Attributes:
        time: Simulated time, s.
        step: Steps since the last reset.
        epoch: As in ``Snapshot``.
        poses: (L, 4, 4) poses of ``ViewScene.links`` in the world.
        joint_positions: (J,) positions of ``ViewScene.joints``, rad or m.
        grip_forces: Grip force of each gripper, N.
        patches: Contact patches.
        pulls: Springs that pull links.
        paused: Whether the simulation is paused.
        speed: Real-time factor asked for; None for as fast as possible.
        pace: How well the rate is kept; None if not measured.
        timeline_time: Place on the time line of a recording, s.
    """

    time: float
    step: int
    epoch: int
    poses: Array
    joint_positions: Array
    grip_forces: Mapping[str, float] = field(default_factory=dict)
    patches: tuple[ViewPatch, ...] = ()
    pulls: tuple[ViewPull, ...] = ()
    paused: bool = False
    speed: float | None = 1.0
    pace: Pace | None = None
    timeline_time: float | None = None


def view_patch(patch: ContactPatch, problem: str | None = None) -> ViewPatch | None:
    """The patch to draw; None if no face transmits force."""
    faces = drawn_faces(patch)
    if not len(faces.counts):
        return None
    point = patch.centroid
    return ViewPatch(
        name_a=patch.name_a,
        name_b=patch.name_b,
        faces=faces,
        force_on_b=patch.force_on_b,
        moment=patch.moment_on_b(point),
        point=point,
        area=patch.area,
        max_pressure=max(float(faces.pressures.max()), 0.0),
        problem=problem,
        law=patch.law,
    )


def largest_pressure(patches: Iterable[ViewPatch]) -> float:
    """The largest pressure to tell, Pa: of rigid skins only where nothing compliant touches; 0 without contact."""
    of_law: dict[str, float] = {}
    for patch in patches:
        of_law[patch.law] = max(of_law.get(patch.law, 0.0), patch.max_pressure)
    return next((of_law[law] for law in LAWS if law in of_law), 0.0)


def frame_of_snapshot(
    snapshot: Snapshot,
    scene: ViewScene,
    *,
    paused: bool = False,
    speed: float | None = 1.0,
    pace: Pace | None = None,
    problems: Mapping[str, str] | None = None,
) -> ViewFrame:
    """Make the frame of a snapshot; its world must be that of ``scene``.

    Args:
        snapshot: State after a step.
        scene: Scene with the order of links and joints.
        paused: As in ``ViewFrame``.
        speed: As in ``ViewFrame``.
        pace: As in ``ViewFrame``.
        problems: Reasons not to trust contacts, by ``a on b``.
    """
    problems = problems or {}
    frames, world = snapshot.frames, np.eye(4)
    drawn = (view_patch(p, problems.get(f"{p.name_a} on {p.name_b}")) for p in snapshot.contacts)
    return ViewFrame(
        time=snapshot.time,
        step=snapshot.step,
        epoch=snapshot.epoch,
        poses=np.array([frames.get(name, world) for name in scene.links]),
        joint_positions=snapshot.joint_positions,
        grip_forces=snapshot.grip_forces,
        patches=tuple(patch for patch in drawn if patch is not None),
        pulls=tuple(_view_pull(pull, snapshot) for pull in snapshot.pulls),
        paused=paused,
        speed=speed,
        pace=pace,
    )


def _view_pull(pull: Pull, snapshot: Snapshot) -> ViewPull:
    X_WL = snapshot.frames[pull.link]
    force = pull.force(X_WL, snapshot.twists[pull.link])
    return ViewPull(pull.link, pull.point_in_world(X_WL), np.array(pull.target), force)


def encode_frame(frame: ViewFrame, seq: int) -> bytes:
    """The binary message of a frame: header length, header, poses, vertices, pressures, vertex counts.

    ``docs/viewer.md`` has the layout. Numbers are little-endian, 32-bit floats.

    Args:
        frame: The frame.
        seq: Number of the frame.

    Raises:
        ValueError: A number is not finite as a 32-bit float, so that a browser could not draw it.
    """
    _check_finite(frame)
    header = json.dumps(_header(frame, seq), separators=(",", ":"), allow_nan=False).encode()
    header = header.ljust(4 * math.ceil(len(header) / 4))
    faces = [patch.faces for patch in frame.patches]
    parts: list[bytes] = [struct.pack("<I", len(header)), header, _pose_bytes(frame.poses)]
    parts += [part.vertices.astype("<f4").tobytes() for part in faces]
    parts += [part.pressures.astype("<f4").tobytes() for part in faces]
    parts += [part.counts.astype(np.uint8).tobytes() for part in faces]
    return b"".join(parts)


def _check_finite(frame: ViewFrame) -> None:
    for what, numbers in _numbers(frame):
        with np.errstate(over="ignore"):
            finite = np.isfinite(np.asarray(numbers, dtype=np.float32))
        if not finite.all():
            raise ValueError(f"{what} not finite")


def _numbers(frame: ViewFrame) -> Iterator[tuple[str, ArrayLike]]:
    """All numbers of a frame, with names for error messages."""
    yield "its time is", [t for t in (frame.time, frame.timeline_time, frame.speed) if t is not None]
    yield "the pose of a link is", frame.poses
    yield "the position of a joint is", frame.joint_positions
    yield "the force of a gripper is", list(frame.grip_forces.values())
    if frame.pace is not None:
        yield "its pace is", [frame.pace.rtf, frame.pace.jitter_p99, frame.pace.step_p99]
    for patch in frame.patches:
        of_patch = f"of the contact {patch.name_a} on {patch.name_b}"
        yield f"a vertex {of_patch} is", patch.faces.vertices
        yield f"a pressure {of_patch} is", np.append(patch.faces.pressures, patch.max_pressure)
        yield (
            f"the wrench or the area {of_patch} is",
            [*patch.force_on_b, *patch.moment, *patch.point, patch.area],
        )
    for pull in frame.pulls:
        yield f"the pull of {pull.link} is", np.concatenate([pull.point, pull.target, pull.force])


def _pose_bytes(poses: Array) -> bytes:
    """Position and quaternion (x, y, z, w) of every link, as 32-bit floats."""
    if not len(poses):
        return b""
    quaternions = quaternions_of(poses[:, :3, :3])
    return np.hstack([poses[:, :3, 3], quaternions]).astype("<f4").tobytes()


def _header(frame: ViewFrame, seq: int) -> dict[str, Any]:
    return {
        "seq": seq,
        "time": frame.time,
        "step": frame.step,
        "epoch": frame.epoch,
        "paused": frame.paused,
        "speed": frame.speed,
        "joints": frame.joint_positions.tolist(),
        "grip_forces": dict(frame.grip_forces),
        "patches": [_patch_header(patch) for patch in frame.patches],
        "pulls": [_pull_header(pull) for pull in frame.pulls],
        "pace": None if frame.pace is None else asdict(frame.pace),
        "timeline_time": frame.timeline_time,
    }


def _patch_header(patch: ViewPatch) -> dict[str, Any]:
    return {
        "a": patch.name_a,
        "b": patch.name_b,
        "faces": len(patch.faces.counts),
        "vertices": len(patch.faces.vertices),
        "force": patch.force_on_b.tolist(),
        "moment": patch.moment.tolist(),
        "point": patch.point.tolist(),
        "area": patch.area,
        "max_pressure": patch.max_pressure,
        "problem": patch.problem,
        "law": patch.law,
    }


def _pull_header(pull: ViewPull) -> dict[str, Any]:
    return {
        "link": pull.link,
        "point": pull.point.tolist(),
        "target": pull.target.tolist(),
        "force": pull.force.tolist(),
    }
