"""Poses as description files write them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from hydro_sim_core.description.spec import Array


def pose(xyz: ArrayLike = (0.0, 0.0, 0.0), rpy: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """The (4, 4) pose ``X_AB`` of frame B whose origin is at ``xyz`` (m) in A, turned by fixed-axis ``rpy``
    (rad).

    The rotation is ``Rz(yaw) Ry(pitch) Rx(roll)``, as in URDF.
    """
    X_AB = np.eye(4)
    X_AB[:3, :3] = Rotation.from_euler("xyz", rpy).as_matrix()
    X_AB[:3, 3] = xyz
    return X_AB
