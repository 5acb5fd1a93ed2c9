"""What several topics tell of the same instant, put together to a measurement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray
from sensor_msgs.msg import Image, MultiDOFJointState

from hydro_sim_core.errors import InputError
from hydro_sim_core.messages.state import stamped_time, wrench_topics
from hydro_sim_core.messages.view import Bubble, View
from hydro_sim_core.messages.wrench_pairs import pairs_with_topics
from hydro_sim_core.simulation import World
from hydro_sim_core.tasks.robot import Measurement, Pair

Array = NDArray[np.float64]
#: (seconds, nanoseconds).
Stamp = tuple[int, int]

#: Instants that are kept while no more is told of them.
_MOST = 10_000

JOINTS, FLOATING = "joint_states", "multi_dof_joint_states"


class Instants:
    """Collects the messages of an instant until all are there.

    Links are where the model has them at the measured positions of joints and poses of floating ones: the numbers of
    the messages are those of the simulation, so that the poses are equal to the last bit. Of welded models no message
    tells; they stand where the model has them.

    Args:
        model: World of the scene that is simulated.
        simulator: Name of the node that publishes.
        bubbles: Soft-bubble fingers whose depth images the task needs, in the order in which the node has them.

    Attributes:
        wrenches: Topic of the wrench of every pair.
        images: Topic of the depth image of every such finger.
        needed: All topics that tell of an instant.
    """

    def __init__(self, model: World, simulator: str, bubbles: Sequence[Bubble] = ()) -> None:
        self._model = model
        self.wrenches: dict[Pair, str] = {
            pair: topic.replace("~", simulator, 1)
            for pair, topic in wrench_topics(pairs_with_topics(model, View())).items()
        }
        self.images = {
            bubble.link: f"bubble_{number}/depth/image_rect_raw"
            for number, bubble in enumerate(bubbles, start=1)
        }
        self.needed = {JOINTS, *self.wrenches.values(), *self.images.values()} | (
            {FLOATING} if model.floating_coordinates else set()
        )
        self._told: dict[Stamp, dict[str, Any]] = defaultdict(dict)

    @property
    def has_floating(self) -> bool:
        """Whether there is anything whose pose no joint position tells."""
        return FLOATING in self.needed

    def take(self, topic: str, message: Any) -> Measurement | None:
        """Add a message; the measurement of its instant once that is complete, again with every repeated message.

        Args:
            topic: As subscribed to.
            message: A JointState, MultiDOFJointState, WrenchStamped or Image.

        Raises:
            InputError: The messages are of another scene.
        """
        if topic == JOINTS:
            _check(self._model.joint_names, message.name, "joint")
        elif topic == FLOATING:
            _check(tuple(self._model.floating_coordinates), message.joint_names, "floating joint")
        stamp = message.header.stamp.sec, message.header.stamp.nanosec
        self._told[stamp][topic] = message
        if len(self._told) > _MOST:
            del self._told[min(self._told)]
        if self.needed - self._told[stamp].keys():
            return None
        for older in [other for other in self._told if other < stamp]:
            del self._told[older]
        return self._measurement(stamp)

    def missing(self, stamp: Stamp) -> list[str]:
        """Topics that have told nothing of any instant from a stamp on."""
        told = {topic for at, topics in self._told.items() if at >= stamp for topic in topics}
        return sorted(self.needed - told)

    def _measurement(self, stamp: Stamp) -> Measurement:
        told = self._told[stamp]
        joints = told[JOINTS]
        positions = dict(zip(joints.name, joints.position, strict=True))
        floating = _floating(told[FLOATING]) if self.has_floating else {}
        frames = self._model.frame_poses(self._model.coordinates(positions, floating))
        return Measurement(
            stamped_time(stamp),
            positions,
            {pair: _numbers(told[topic]) for pair, topic in self.wrenches.items()},
            dict(zip(self._model.frame_names, frames, strict=True)),
            {link: depth_of(told[topic]) for link, topic in self.images.items()},
        )


def _floating(message: MultiDOFJointState) -> dict[str, Array]:
    """Quaternion (w, x, y, z) and position, m, by joint."""
    found = {}
    for name, transform in zip(message.joint_names, message.transforms, strict=True):
        r, p = transform.rotation, transform.translation
        found[name] = np.array([r.w, r.x, r.y, r.z, p.x, p.y, p.z])
    return found


def _numbers(message: WrenchStamped) -> Array:
    f, t = message.wrench.force, message.wrench.torque
    return np.array([f.x, f.y, f.z, t.x, t.y, t.z])


def depth_of(message: Image) -> NDArray[np.float32]:
    """Pixels (height, width) of a depth image, m.

    Raises:
        InputError: They are whole millimetres, which are too coarse.
    """
    if message.encoding != "32FC1":
        problem, mend = f"are {message.encoding}", "start the simulation with bubble_depth_encoding 32FC1"
        raise InputError("task", "images of the bubbles", problem, mend)
    pixels = np.frombuffer(bytes(message.data), dtype="<f4")
    return pixels.reshape(message.height, message.width)


def _check(names: tuple[str, ...], told: Sequence[str], what: str) -> None:
    lacking = [name for name in names if name not in told]
    if lacking:
        problem = f"has no {what} {', '.join(repr(name) for name in lacking)}"
        raise InputError("task", "the scene that is simulated", problem, "simulate the scene of the task")
