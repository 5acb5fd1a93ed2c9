"""Frames at the centres of contacts, in which their wrenches are given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact import ContactPatch
from hydro_sim_core.description.names import topic_token
from hydro_sim_core.errors import InputError
from hydro_sim_core.messages.contact_arrows import wrench_at_centre
from hydro_sim_core.simulation import Snapshot, World

Array = NDArray[np.float64]
Pair = tuple[str, str]
_AT_WORLD = np.eye(4)


def framed_pairs(world: World) -> dict[Pair, str]:
    """Frame of each pair of bodies that the scene names in ``report.wrenches``; others, which may be many, have none.

    Raises:
        InputError: A frame would have the name of a link or a sensor.
    """
    if world.scene.spec.report.wrenches == "all":
        return {}
    frames = {(a, b): f"{topic_token(a)}_on_{topic_token(b)}" for a, b in world.contact_pairs}
    taken = {*world.frame_names, *(sensor.name for sensor in world.scene.sensors)}
    for name in frames.values():
        if name in taken:
            problem = "is a link or a sensor, and would be the frame of a contact"
            raise InputError(
                "scene", f"'{name}'", problem, "rename it, or leave the pair out of report.wrenches"
            )
    return frames


class ContactFrames:
    """Follows the centres of pressure of the pairs of ``framed_pairs``, for one reader.

    A frame has the axes of the pair's second body, B. While the two do not touch it stays where it last was in B, at
    first at B's origin, for listeners would wait for a frame that comes and goes.

    Args:
        world: World with the names.
    """

    def __init__(self, world: World) -> None:
        self._frames = framed_pairs(world)
        self._known = frozenset(world.frame_names)
        self._centres = {pair: np.zeros(3) for pair in self._frames}  # in B's frame

    @property
    def links(self) -> list[tuple[str, str]]:
        """(parent, child) of each frame."""
        return [(b if b in self._known else "world", name) for (_, b), name in self._frames.items()]

    def poses(self, snapshot: Snapshot) -> dict[str, Array]:
        """Pose (4, 4) of every frame in the world."""
        poses = {}
        for pair, name in self._frames.items():
            X_WB = snapshot.frames.get(pair[1], _AT_WORLD)
            patches = pressed_patches(snapshot.contacts, pair)
            if patches:
                centre, _, _ = wrench_at_centre(patches)
                self._centres[pair] = X_WB[:3, :3].T @ (centre - X_WB[:3, 3])
            poses[name] = X_WB.copy()
            poses[name][:3, 3] += X_WB[:3, :3] @ self._centres[pair]
        return poses


def pressed_patches(contacts: Sequence[ContactPatch], pair: Pair) -> list[ContactPatch]:
    """Patches of a pair of bodies that transmit force."""
    return [patch for patch in contacts if (patch.name_a, patch.name_b) == pair and np.any(patch.pressing)]


def contact_wrench(snapshot: Snapshot, pair: Pair) -> Array:
    """Force (N), then moment (N m) about the centre of pressure, that A applies to B along B's axes: (6,)."""
    patches = pressed_patches(snapshot.contacts, pair)
    if not patches:
        return np.zeros(6)
    _, force, moment = wrench_at_centre(patches)
    R_WB = snapshot.frames.get(pair[1], _AT_WORLD)[:3, :3]
    return np.concatenate([R_WB.T @ force, R_WB.T @ moment])
