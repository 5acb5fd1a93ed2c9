"""A recording as scenes and frames of the viewer at any time."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.drawing.chosen_scale import PeaksByLaw, scale_of_instants
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.errors import InputError, shortened
from hydro_sim_core.recording import MessageIndex
from hydro_sim_core.recording.contents import WALL_CLOCK
from hydro_sim_core.recording.parts import CONTINUES, FULL_SCALE, RECORDING
from hydro_sim_core.replay.decoding import TopicReader
from hydro_sim_core.replay.patches import recorded_patches
from hydro_sim_core.replay.transforms import RecordedTransforms
from hydro_sim_core.viewer.frame import ViewFrame, ViewPatch
from hydro_sim_core.viewer.scene import ViewScene, scene_of_urdf

logger = logging.getLogger(__name__)
Array = NDArray[np.float64]

_NS = 1e-9
#: Number of instants whose contacts choose the colour scale.
_SCALE_INSTANTS = 60
#: Most topics that may tell the same part of the picture: one of every robot.
_MOST_TOPICS = 200


@dataclass(frozen=True, eq=False)
class ReplayedTopic:
    """A topic of a recording.

    Attributes:
        name: Absolute name.
        type_name: Message type, such as ``tf2_msgs/msg/TFMessage``.
        count: Number of messages.
        shows: Part of the picture that comes from it; empty for none.
    """

    name: str
    type_name: str
    count: int
    shows: str


class Recording:
    """A recording, by ``hydro-sim`` or another program, as a time line of frames. Usable as a context manager.

    Poses come from ``/tf`` and ``/tf_static``, shapes from ``robot_description``, joints from ``joint_states``, contact
    from ``ContactPatchArray``, in any namespace; of several descriptions, from the first. Only poses are required;
    anything else that is missing is not drawn. Grip forces are not recorded.

    Args:
        path: MCAP file.
        scale: Colours of pressure; by default those of the run, as far as the file tells them.
        package_dirs: ROS packages with meshes, or folders of such packages.

    Attributes:
        path: MCAP file.
        instants: (N,) times at which poses or contact were recorded, s, increasing; one frame each.
        gaps: First and last time of what is missing between them because the file is damaged, s.
        topics: Topics of the file.

    Raises:
        InputError: The file cannot be read, is damaged or has no poses.
    """

    def __init__(
        self, path: Path, scale: PressureScale | None = None, package_dirs: Sequence[str | Path] = ()
    ) -> None:
        self.path = path
        self._given_scale = scale
        self._package_dirs = package_dirs
        self._index = MessageIndex(path)
        try:
            self._open_topics()
        except InputError:
            self.close()
            raise

    def _open_topics(self) -> None:
        shown: dict[int, str] = {}

        def readers(shows: str, type_name: str, ending: str = "") -> list[TopicReader]:
            topics = [
                topic
                for topic in self._index.topics
                if topic.type_name == type_name and topic.name.endswith(ending)
            ]
            if len(topics) > _MOST_TOPICS:
                problem = f"shows {shows} on {len(topics)} topics"
                raise InputError(self.path, "", problem, f"record {_MOST_TOPICS} at most")
            shown.update((id(topic), shows) for topic in topics)
            return [TopicReader(self._index, topic) for topic in topics]

        transforms = "tf2_msgs/msg/TFMessage"
        moving = readers("poses", transforms, "/tf")
        fixed = readers("poses", transforms, "/tf_static")
        self._descriptions = readers("shapes", "std_msgs/msg/String", "/robot_description")
        self._joints = readers("joints", "sensor_msgs/msg/JointState", "/joint_states")
        self._contacts = readers("contact", "hydro_sim_msgs/msg/ContactPatchArray")
        for reader in self._descriptions[1:]:
            del shown[id(reader.topic)]
        if not any(len(reader.topic.times) for reader in (*moving, *fixed)):
            holds = shortened(", ".join(topic.name for topic in self._index.topics)) or "no messages"
            problem = f"tells no poses: there is no /tf or /tf_static among its topics ({holds})"
            raise InputError(self.path, "", problem, "record /tf as well")
        self._transforms = RecordedTransforms(moving, fixed)
        self._times = np.unique(_all_times([*moving, *self._contacts] if moving else fixed))
        self._zero = int(self._times[0]) if self._times[0] * _NS > WALL_CLOCK else 0
        self.instants: Array = np.asarray((self._times - self._zero) * _NS, dtype=np.float64)
        self.gaps = tuple(self._gaps())
        self.topics = tuple(
            ReplayedTopic(topic.name, topic.type_name, len(topic.times), shown.get(id(topic), ""))
            for topic in self._index.topics
        )
        self._scene_of = lru_cache(maxsize=4)(self._make_scene)

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._index.close()

    def continues(self, other: Recording) -> bool:
        """Whether the time of this file goes on where that of another file has ended."""
        about, before = self._index.about, other._index.about
        return (
            bool(about.get(CONTINUES))
            and about[CONTINUES] == other.path.name
            and about.get(RECORDING) == before.get(RECORDING)
            and self.start >= other.end
        )

    @property
    def start(self) -> float:
        """First instant, s."""
        return float(self.instants[0])

    @property
    def end(self) -> float:
        """Last instant, s."""
        return float(self.instants[-1])

    @cached_property
    def scale(self) -> PressureScale:
        """Colour scale of pressure, as from ``scale_of_recordings``."""
        return scale_of_recordings([self])

    @property
    def known_scale(self) -> PressureScale | None:
        """The given colour scale, else the one that the file tells; None if there is none."""
        if self._given_scale is not None:
            return self._given_scale
        with suppress(KeyError, ValueError, InputError):
            return PressureScale(float(self._index.about[FULL_SCALE]))
        return None

    def peaks(self, row: int) -> PeaksByLaw:
        """Largest pressure of every pair in contact at an instant, Pa; nothing where the file is damaged."""
        of_law: dict[str, dict[str, float]] = {}
        with suppress(InputError):  # told when that instant is shown
            for patch in self._patches(int(self._times[row]), {}):
                of_law.setdefault(patch.law, {})[f"{patch.name_a} on {patch.name_b}"] = patch.max_pressure
        return of_law

    def _gaps(self) -> Iterator[tuple[float, float]]:
        for gap in self._index.gaps:
            begin = self._times[0] if gap.begin is None else gap.begin
            end = self._times[-1] if gap.end is None else gap.end
            if begin < end:
                yield (int(begin) - self._zero) * _NS, (int(end) - self._zero) * _NS

    def row(self, time: float) -> int:
        """Index in ``instants`` of the instant nearest to ``time`` (s)."""
        after = int(np.clip(np.searchsorted(self.instants, time), 1, max(1, len(self.instants) - 1)))
        if len(self.instants) == 1:
            return 0
        return after if self.instants[after] - time < time - self.instants[after - 1] else after - 1

    def messages(self, name: str) -> list[tuple[float, Any]]:
        """Time, s, and content of every message on the topics of a name in any namespace.

        Raises:
            InputError: They cannot be read.
        """
        topics = (topic for topic in self._index.topics if topic.name.rpartition("/")[2] == name)
        return [
            ((time - self._zero) * _NS, reader.message(row))
            for reader in (TopicReader(self._index, topic) for topic in topics)
            for row, time in enumerate(reader.topic.times.tolist())
        ]

    def scene(self, row: int) -> ViewScene:
        """The scene at an instant; the same object until a model is added or removed.

        Raises:
            InputError: Its description cannot be read.
        """
        return self._scene_of(self._description_row(int(self._times[row])))

    def frame(self, row: int) -> ViewFrame:
        """The frame at an instant, from the newest message of every topic not after it.

        Raises:
            InputError: The file is damaged there.
        """
        time, scene = int(self._times[row]), self.scene(row)
        poses, world = self._transforms.poses(time), np.eye(4)
        seconds = float(self.instants[row])
        return ViewFrame(
            time=seconds,
            step=round(seconds / scene.time_step),
            epoch=0,
            poses=np.array([poses.get(link, world) for link in scene.links]),
            joint_positions=self._joint_positions(time, scene),
            patches=self._patches(time, poses),
            timeline_time=seconds,
        )

    def _description_row(self, time: int) -> int:
        """Row of the description in effect at ``time`` (ns); -1 if the file has none."""
        if not self._descriptions:
            return -1
        return max(0, self._descriptions[0].row_at(time))

    def _make_scene(self, row: int) -> ViewScene:
        """The scene of a description, with the links that have poses and the joints that have positions."""
        about = self._index.about
        time_line = (self.start, self.end)
        if row < 0:
            lost = bool(self._index.gaps)
            why = (
                "its robot_description is lost with what is damaged"
                if lost
                else "it holds no robot_description"
            )
            whose = f"; they are those of {about['source']}" if "source" in about else ""
            logger.warning("%s: no shapes are drawn, for %s%s", self.path, why, whose)
            frames = tuple(self._transforms.poses(int(self._times[0])))
            return ViewScene(self.path.stem, frames, (), {}, self.scale, mode="replay", timeline=time_line)
        time = int(self._descriptions[0].topic.times[row])
        scene = scene_of_urdf(
            self._descriptions[0].message(row).data,
            self.scale,
            source=f"{self.path}: robot_description",
            package_dirs=self._package_dirs,
            name=about.get("scene"),
            timeline=time_line,
            time_step=_positive(about.get("time_step"), 1e-3),
        )
        placed = self._transforms.poses(max(time, int(self._times[0])))
        visuals = tuple(visual for visual in scene.visuals if scene.links[visual.link] in placed)
        if len(visuals) < len(scene.visuals):
            links = {scene.links[visual.link] for visual in scene.visuals} - placed.keys()
            logger.warning(
                "%s: not drawn, for there is no transform: %s", self.path, ", ".join(sorted(links))
            )
        told = self._joint_states(time).keys()
        return replace(scene, visuals=visuals, joints=tuple(j for j in scene.joints if j.name in told))

    def _joint_states(self, time: int) -> dict[str, float]:
        """Position of every joint: the newest not after ``time`` (ns), else the first."""
        found: dict[str, float] = {}
        for reader in self._joints:
            first = int(reader.topic.times[0])
            names = frozenset(reader.message(0).name)
            found.update(reader.newest(max(time, first), names, _positions))
        return found

    def _joint_positions(self, time: int, scene: ViewScene) -> Array:
        found = self._joint_states(time) if scene.joints else {}
        return np.array([found.get(joint.name, 0.0) for joint in scene.joints])

    def _patches(self, time: int, poses: dict[str, Array]) -> tuple[ViewPatch, ...]:
        patches: list[ViewPatch] = []
        for reader in self._contacts:
            if (message := reader.at(time)) is not None:
                X_WF = poses.get(message.header.frame_id, np.eye(4))
                patches += recorded_patches(reader, message, X_WF)
        return tuple(patches)


def scale_of_recordings(recordings: Sequence[Recording]) -> PressureScale:
    """One colour scale for recordings that are shown together: the widest of their own.

    Recordings that tell none, as those of other programs, are looked at as one, at instants spread over all of them: a
    run has the same colours in however many files it lies.
    """
    scales = [recording.known_scale for recording in recordings]
    known = [scale for scale in scales if scale is not None]
    rows = [
        (recording, row)
        for recording, scale in zip(recordings, scales, strict=True)
        if scale is None
        for row in range(len(recording.instants))
    ]
    if rows:
        spread = np.unique(np.linspace(0, len(rows) - 1, _SCALE_INSTANTS).astype(int))
        known.append(
            scale_of_instants([recording.peaks(row) for recording, row in (rows[i] for i in spread)])
        )
    return max(known, key=lambda scale: scale.maximum)


def _all_times(readers: Sequence[TopicReader]) -> NDArray[np.int64]:
    return np.concatenate([reader.topic.times for reader in readers])


def _positions(message: Any) -> Iterable[tuple[str, float]]:
    pairs = zip(message.name, message.position, strict=False)  # the standard lets positions be left out
    return [(name, float(position)) for name, position in pairs if math.isfinite(position)]


def _positive(text: str | None, otherwise: float) -> float:
    try:
        value = float(text or "")
    except ValueError:
        return otherwise
    return value if 0.0 < value < math.inf else otherwise
