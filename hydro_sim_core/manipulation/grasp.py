"""Grasps: where a hand is that holds an object, and where it waits before that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.contact.poses import as_array, as_pose
from hydro_sim_core.errors import InputError
from hydro_sim_core.manipulation.checks import LARGEST, number_within

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
        element, mend = f"'{self.name}', approach", "give three numbers that are not all 0"
        try:
            approach = as_array(self.approach, (3,), _SOURCE, element)
        except InputError as error:
            problem = f"is no direction: it {error.problem}"
            raise InputError(_SOURCE, element, problem, mend) from None
        length = float(np.linalg.norm(approach))
        if not 0.0 < length < np.inf:
            raise InputError(_SOURCE, element, "is no direction", mend)
        object.__setattr__(self, "approach", approach / length)

    def hand(self, X_WO: ArrayLike, before: float = 0.0) -> Array:
        """Pose (4, 4) of the hand that holds an object, or waits at a distance.

        Args:
            X_WO: (4, 4) pose of the object.
            before: Distance from the grasp against the direction of approach, m.

        Raises:
            InputError: The pose is none, or the distance no finite number.
        """
        X_WO = as_pose(X_WO, _SOURCE, f"'{self.name}', X_WO")
        element, mend = f"'{self.name}', before", "give a finite number, m"
        before = number_within(_SOURCE, element, before, -LARGEST, LARGEST, mend)
        X_WH: Array = X_WO @ self.X_OG @ self.X_GH
        X_WH[:3, 3] -= before * (X_WH[:3, :3] @ self.approach)
        return X_WH

    def object(self, X_WH: ArrayLike) -> Array:
        """Pose (4, 4) of an object that a hand at a pose (4, 4) holds.

        Raises:
            InputError: The pose is none.
        """
        X_WH = as_pose(X_WH, _SOURCE, f"'{self.name}', X_WH")
        return np.asarray(X_WH @ np.linalg.inv(self.X_OG @ self.X_GH))
