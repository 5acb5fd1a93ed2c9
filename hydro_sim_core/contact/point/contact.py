"""Point contact between two rigid geometries, and the penalty force on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.contact.point.convex import convex_pair
from hydro_sim_core.contact.poses import as_pose, relative_pose
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry import Geometry

Array = NDArray[np.float64]

_SOURCE = "point_contact"
#: Vertices this close to the deepest one, relative to the mesh's size, count as equally deep.
_SAME_DEPTH = 1e-9


@dataclass(frozen=True, eq=False)
class PointContact:
    """Point of deepest penetration of two rigid geometries, or of closest approach when apart.

    Attributes:
        p_WC: (3,) contact point in the world, midway between the two surfaces, m.
        normal: (3,) unit vector in the world, from A into B.
        depth: Length of the shortest translation that separates the two, m; minus the distance when they are apart.
    """

    p_WC: Array
    normal: Array
    depth: float

    def force(self, stiffness: float, dissipation: float, v_n: float) -> float:
        """Normal force of Hunt and Crossley 1975: ``k x (1 - d v_n)`` if both factors are positive, else 0.

        Args:
            stiffness: k, N/m.
            dissipation: d, s/m.
            v_n: Separation speed ``(v_B - v_A) . normal`` at the contact point, m/s.

        Returns:
            The force, N, on B along ``normal``, and on A in the opposite direction.

        Raises:
            InputError: Stiffness or dissipation is negative, or a number is not finite.
        """
        for name, value, lowest in (
            ("stiffness", stiffness, 0.0),
            ("dissipation", dissipation, 0.0),
            ("v_n", v_n, -np.inf),
        ):
            if not (np.isfinite(value) and value >= lowest):
                wanted = "a finite number" if lowest < 0.0 else "a finite number of zero or more"
                raise InputError("PointContact.force", name, f"is {value}", f"give {wanted}")
        return stiffness * max(self.depth, 0.0) * max(1.0 - dissipation * v_n, 0.0)


def point_contact(a: Geometry, X_WA: ArrayLike, b: Geometry, X_WB: ArrayLike) -> PointContact:
    """Find the point contact of two rigid geometries.

    One geometry may be a half space and the other any mesh; two meshes must both be convex and need the library
    ``coal``.

    Args:
        a: Rigid geometry A.
        X_WA: (4, 4) pose of A in the world.
        b: Rigid geometry B.
        X_WB: (4, 4) pose of B in the world.

    Raises:
        InputError: A geometry is compliant, both are half spaces, a pose is no rigid transform, or, for two
            meshes, one is not convex or ``coal`` is not installed.
    """
    for name, geometry in (("a", a), ("b", b)):
        if not geometry.is_rigid:
            raise InputError(_SOURCE, name, "has a pressure field", "use compute_patch, or a rigid geometry")
    X_WA, X_WB = as_pose(X_WA, _SOURCE, "X_WA"), as_pose(X_WB, _SOURCE, "X_WB")

    if a.is_half_space and b.is_half_space:
        raise InputError(_SOURCE, "b", "is a half space like a", "pair a half space with a mesh")
    if a.is_half_space:
        p_AC, depth = _deepest_point(b, *relative_pose(X_WB, X_WA))
        return _in_world(X_WA, p_AC, np.array([0.0, 0.0, 1.0]), depth)
    if b.is_half_space:
        p_BC, depth = _deepest_point(a, *relative_pose(X_WA, X_WB))
        return _in_world(X_WB, p_BC, np.array([0.0, 0.0, -1.0]), depth)
    return _in_world(X_WA, *convex_pair(a, b, *relative_pose(X_WB, X_WA)))


def _deepest_point(mesh: Geometry, R_HM: Array, p_HM: Array) -> tuple[Array, float]:
    """Contact point in the half space's frame H and depth of a mesh placed by ``R_HM``, ``p_HM``."""
    vertices = mesh.vertices @ R_HM.T + p_HM
    height = vertices[:, 2]
    tie = _SAME_DEPTH * np.ptp(mesh.vertices, axis=0).max()
    deepest = vertices[height <= height.min() + tie].mean(axis=0)
    return np.array([deepest[0], deepest[1], 0.5 * deepest[2]]), float(-height.min())


def _in_world(X_WF: Array, p_FC: Array, normal_F: Array, depth: float) -> PointContact:
    R_WF = X_WF[:3, :3]
    return PointContact(R_WF @ p_FC + X_WF[:3, 3], R_WF @ normal_F, depth)
