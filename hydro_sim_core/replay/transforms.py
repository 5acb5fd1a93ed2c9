"""Poses of all frames in the world at an instant, from recorded transforms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from hydro_sim_core.replay.decoding import TopicReader

Array = NDArray[np.float64]
#: Parent frame, and pose (4, 4) in it.
Transform = tuple[str, Array]

#: Number of messages read to learn which frames a topic has.
_SAMPLE = 50


class RecordedTransforms:
    """Poses of all frames: moving ones by their newest transforms, fixed ones by all transforms of ``/tf_static``.

    Args:
        moving: Readers of ``/tf`` topics.
        fixed: Readers of ``/tf_static`` topics.
    """

    def __init__(self, moving: Sequence[TopicReader], fixed: Sequence[TopicReader]) -> None:
        self._moving = [(reader, _children(reader)) for reader in moving]
        self._fixed = fixed

    def poses(self, time: int) -> dict[str, Array]:
        """Pose (4, 4) of every frame in the root of its tree, the world, at ``time`` (ns).

        Raises:
            InputError: The file is damaged there.
        """
        transforms = self._transforms(time)
        found: dict[str, Array] = {}

        def pose(frame: str, above: tuple[str, ...]) -> Array:
            if frame not in found:
                parent, X_PC = transforms.get(frame, ("", np.eye(4)))
                circular = not parent or parent in above
                found[frame] = X_PC if circular else pose(parent, (*above, frame)) @ X_PC
            return found[frame]

        for frame, (parent, _) in transforms.items():
            pose(frame, ())
            found.setdefault(parent, np.eye(4))
        return found

    def _transforms(self, time: int) -> dict[str, Transform]:
        found: dict[str, Transform] = {}
        for reader in self._fixed:
            # Static transforms hold from the start, even if the recorder received them later.
            for row in range(max(1, reader.row_at(time) + 1)):
                found.update(_transforms(reader, reader.message(row)))
        for reader, children in self._moving:
            found.update(reader.newest(time, children, partial(_transforms, reader)))
        return found


def _children(reader: TopicReader) -> frozenset[str]:
    rows = range(min(_SAMPLE, len(reader.topic.times)))
    return frozenset(child for row in rows for child, _ in _transforms(reader, reader.message(row)))


def _transforms(reader: TopicReader, message: Any) -> Iterable[tuple[str, Transform]]:
    """Frames and their transforms in a ``TFMessage``."""
    stamped = message.transforms
    moves = [entry.transform for entry in stamped]
    if not moves:
        return []
    origins = np.array([(m.translation.x, m.translation.y, m.translation.z) for m in moves])
    quaternions = np.array([(m.rotation.x, m.rotation.y, m.rotation.z, m.rotation.w) for m in moves])
    if not (np.isfinite(origins).all() and np.isfinite(quaternions).all() and quaternions.any(axis=1).all()):
        raise reader.error("holds a transform that is no pose", "mend the program that wrote it")
    X = np.tile(np.eye(4), (len(moves), 1, 1))
    X[:, :3, :3], X[:, :3, 3] = scipy.spatial.transform.Rotation.from_quat(quaternions).as_matrix(), origins
    parents = (_bare(entry.header.frame_id) for entry in stamped)
    children = (_bare(entry.child_frame_id) for entry in stamped)
    return list(zip(children, zip(parents, X, strict=True), strict=True))


def _bare(frame: str) -> str:
    """Frame id without the leading slash of ROS 1."""
    return frame.removeprefix("/")
