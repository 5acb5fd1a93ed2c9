"""Poses from ``xyz`` and ``rpy``, as in description files."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hydro_sim_core.arithmetic import sines_cosines
from hydro_sim_core.description.spec import Array


def pose(xyz: ArrayLike = (0.0, 0.0, 0.0), rpy: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """The (4, 4) pose ``X_AB`` of frame B whose origin is at ``xyz`` (m) in A, turned by fixed-axis ``rpy``
    (rad).

    The rotation is ``Rz(yaw) Ry(pitch) Rx(roll)``, as in URDF.
    """
    X_AB = np.eye(4)
    (sr, sp, sy), (cr, cp, cy) = sines_cosines(rpy)
    X_AB[:3, :3] = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    X_AB[:3, 3] = xyz
    return X_AB
