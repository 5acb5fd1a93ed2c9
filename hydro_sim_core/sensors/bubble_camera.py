"""Images of a camera inside a Soft-bubble finger: depth of the membrane and pressure on it.

Without contact, the membrane is the cap of the ellipsoid that models the bubble. In contact, it lies on the contact
surface, where the pressures of the two bodies are equal. Pressure-field contact models neither the stretching and
bulging of the membrane around the contact nor the air behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact import FaceArrays
from hydro_sim_core.sensors.rasterise import draw_faces

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PinholeCamera:
    """A camera without distortion and with square pixels; its frame has z forward, x to the right and y down.

    Attributes:
        width: Image width, pixels.
        height: Image height, pixels.
        field_of_view: Horizontal angle from the left to the right border of the image, rad.
    """

    width: int
    height: int
    field_of_view: float

    @property
    def focal_length(self) -> float:
        """Focal length, pixels."""
        return 0.5 * self.width / np.tan(0.5 * self.field_of_view)

    @property
    def center(self) -> Array:
        """Principal point: column and row; the centre of the first pixel is (0, 0)."""
        return np.array([0.5 * (self.width - 1), 0.5 * (self.height - 1)])

    def rays(self) -> Array:
        """Direction of every pixel, with z = 1: (height, width, 3)."""
        column, row = np.meshgrid(np.arange(self.width), np.arange(self.height))
        u, v = self.center
        ones = np.ones_like(column, dtype=float)
        return np.stack([(column - u) / self.focal_length, (row - v) / self.focal_length, ones], axis=2)


@dataclass(frozen=True, eq=False)
class EllipsoidCap:
    """The part of an ellipsoid within ``height`` of its apex, which is the end of one of its axes.

    Attributes:
        semi_axes: (3,) m.
        X_CE: (4, 4) pose of the ellipsoid in the camera; its apex is on the axis that is nearest to the view.
        height: Distance from the rim's plane to the apex, m.
    """

    semi_axes: Array
    X_CE: Array
    height: float

    @cached_property
    def axis(self) -> Array:
        """Unit vector (3,) from the centre to the apex, in the ellipsoid's frame."""
        view_E = self.X_CE[2, :3]
        axis = np.zeros(3)
        nearest = int(np.argmax(np.abs(view_E)))
        axis[nearest] = 1.0 if view_E[nearest] > 0.0 else -1.0
        return axis

    @cached_property
    def rim_axes(self) -> Array:
        """(3, 3) axes of the rim's plane in the camera, as columns: the camera's x axis projected on it, the one
        perpendicular to that towards the camera's y axis, and the normal towards the apex."""
        axis = self.X_CE[:3, :3] @ self.axis
        right = np.array([1.0, 0.0, 0.0]) - axis[0] * axis
        right /= np.linalg.norm(right)
        return np.column_stack([right, np.cross(axis, right), axis])

    def depth(self, camera: PinholeCamera) -> Array:
        """Distance (height, width) of the cap along z, m; NaN where a pixel does not see it."""
        R_EC = self.X_CE[:3, :3].T
        origin = -(R_EC @ self.X_CE[:3, 3]) / self.semi_axes
        rays_E = camera.rays() @ R_EC.T
        rays = rays_E / self.semi_axes
        # |origin + z ray| = 1 in coordinates in which the ellipsoid is the unit sphere; seen from inside, the far point
        # counts.
        a, b = np.sum(rays * rays, axis=2), rays @ origin
        discriminant = b * b - a * (origin @ origin - 1.0)
        with np.errstate(invalid="ignore"):
            z = (np.sqrt(discriminant) - b) / a
        point_E = z[..., None] * rays_E + origin * self.semi_axes
        apex = np.abs(self.axis) @ self.semi_axes
        with np.errstate(invalid="ignore"):
            on_cap = (z > 0.0) & (point_E @ self.axis >= apex - self.height)
        return np.where(on_cap, z, np.nan)


@dataclass(frozen=True, eq=False)
class BubbleImages:
    """Depth and pressure image of one instant.

    Attributes:
        depth: (height, width) distance of the membrane along z, m; NaN where there is none.
        pressure: (height, width) contact pressure, Pa; 0 without contact.
    """

    depth: Array
    pressure: Array


class BubbleCamera:
    """Draws the membrane of one bubble.

    Args:
        camera: The camera.
        cap: The membrane without contact.
    """

    def __init__(self, camera: PinholeCamera, cap: EllipsoidCap) -> None:
        self.camera = camera
        self.cap = cap
        self.rest_depth = cap.depth(camera)

    def draw(self, patches: Sequence[FaceArrays], X_WC: Array) -> BubbleImages:
        """Draw the membrane under the contact patches of the bubble.

        Args:
            patches: Faces in the world frame.
            X_WC: (4, 4) pose of the camera.
        """
        depth, pressure = self.rest_depth.copy(), np.zeros_like(self.rest_depth)
        R_WC, p_WC = X_WC[:3, :3], X_WC[:3, 3]
        for faces in patches:
            draw_faces(
                (faces.vertices - p_WC) @ R_WC,
                faces.num_vertices,
                (faces.centroids - p_WC) @ R_WC,
                faces.pressures,
                faces.field_gradients @ R_WC,
                self.camera.focal_length,
                self.camera.center,
                depth,
                pressure,
            )
        return BubbleImages(depth, pressure)

    def shear(self, force_W: Array, X_WC: Array) -> Array:
        """Components (2,) of a force in the plane of the rim, in the force's unit.

        The first is along the camera's x axis projected on that plane, the second perpendicular to it, towards the
        camera's y axis. A force along the axis of the cap has zero shear even if the camera is tilted.

        Args:
            force_W: (3,) in the world.
            X_WC: (4, 4) pose of the camera.
        """
        return np.asarray(self.cap.rim_axes[:, :2].T @ (X_WC[:3, :3].T @ force_W))
