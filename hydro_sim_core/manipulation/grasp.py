"""Grasps: where a hand is that holds an object, and where it waits before that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.contact.poses import as_pose
from hydro_sim_core.errors import InputError

Array = NDArray[np.float64]

_SOURCE = "Grasp"


@dataclass(frozen=True, eq=False)
class Grasp:
    """A frame on an object, and the hand in that frame when it holds the object.

    Attributes:
        name: What it is called.
        X_OG: (4, 4) grasp frame in the object.
        X_GH: (4, 4) hand in the grasp frame.
        approach: (3,) direction in which the hand moves to the object, in the hand's axes.

    Raises:
        InputError: A pose is none, or the direction has no length.
    """

    name: str
    X_OG: Array
    X_GH: Array
    approach: Array

    def __post_init__(self) -> None:
        for pose in ("X_OG", "X_GH"):
            object.__setattr__(self, pose, as_pose(getattr(self, pose), _SOURCE, f"'{self.name}', {pose}"))
        approach = np.array(self.approach, dtype=float)
        length = float(np.linalg.norm(approach)) if approach.shape == (3,) else 0.0
        if not 0.0 < length < np.inf:
            element = f"'{self.name}', approach"
            raise InputError(_SOURCE, element, "is no direction", "give three numbers that are not all 0")
        object.__setattr__(self, "approach", approach / length)

    def hand(self, X_WO: ArrayLike, before: float = 0.0) -> Array:
        """Pose (4, 4) of the hand that holds an object, or waits at a distance.

        Args:
            X_WO: (4, 4) pose of the object.
            before: Distance from the grasp against the direction of approach, m.
        """
        X_WH = np.asarray(X_WO) @ self.X_OG @ self.X_GH
        X_WH[:3, 3] -= before * (X_WH[:3, :3] @ self.approach)
        return X_WH

    def object(self, X_WH: ArrayLike) -> Array:
        """Pose (4, 4) of an object that a hand at a pose (4, 4) holds."""
        return np.asarray(np.asarray(X_WH) @ np.linalg.inv(self.X_OG @ self.X_GH))
