"""A plate that goes where it is told, and a brick that stands on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from support.simulation.made_scenes import box, fixed, free

MU, M = 0.5, 2.0
SIZE = (0.2, 0.2, 0.1)
#: Top of the plate at z = 0.
PLATE_AT = (0.0, 0.0, -0.05)


def plate(size: tuple[float, float, float] = (4.0, 1.0, 0.1), mu: float = MU, **more: Any) -> dict[str, Any]:
    """A rigid plate without mass that goes where it is told."""
    top = box("plate", size, None, modulus=None, mu=mu)
    return fixed(top, **{"name": "plate", "base": "kinematic", "xyz": PLATE_AT, **more})


def brick(x: float = 0.0, **more: Any) -> dict[str, Any]:
    """A soft box that stands on the plate."""
    return free(box("brick", SIZE, M, mu=MU, dissipation=20.0), (x, 0, 0.5 * SIZE[2]), name="brick", **more)


def at(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> np.ndarray:
    """Pose of the plate, moved by so much."""
    X = np.eye(4)
    X[:3, 3] = np.add(PLATE_AT, (x, y, z))
    return X
