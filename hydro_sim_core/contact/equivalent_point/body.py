"""Rigid body in contact with a plane, and the friction between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact.equivalent_point.hull import SupportHull
from hydro_sim_core.errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RigidBody:
    """A rigid body in its frame B, with the centre of mass as origin.

    Attributes:
        mass: kg.
        inertia: (3, 3) about the centre of mass in the axes of B, kg m^2.
        hull: Convex hull of the parts that can touch the plane.

    Raises:
        InputError: The mass is not positive, or the inertia is not physically possible.
    """

    mass: float
    inertia: Array
    hull: SupportHull

    def __post_init__(self) -> None:
        check_positive("RigidBody", "mass", self.mass)
        inertia = np.asarray(self.inertia, dtype=float)
        object.__setattr__(self, "inertia", inertia)
        if inertia.shape != (3, 3) or not np.all(np.isfinite(inertia)):
            raise InputError(
                "RigidBody", "inertia", f"has shape {inertia.shape}", "give (3, 3) finite numbers"
            )
        moments = np.linalg.eigvalsh(inertia)
        if not np.allclose(inertia, inertia.T, rtol=1e-9, atol=1e-9 * moments[2]) or moments[0] <= 0.0:
            raise InputError("RigidBody", "inertia", "is not symmetric positive definite", "correct it")
        if moments[2] > (1.0 + 1e-9) * (moments[0] + moments[1]):
            problem = f"has principal moments {moments.tolist()}, one above the sum of the others"
            raise InputError("RigidBody", "inertia", problem, "correct it: no body has these")


@dataclass(frozen=True)
class FrictionEllipsoid:
    """Bounds of friction: ``(p_t/e_t)^2 + (p_o/e_o)^2 + (p_r/e_r)^2 <= (mu p_n)^2``, eq. 13.

    Attributes:
        mu: Coefficient of friction; may be 0.
        e_t: Scale along x of the plane.
        e_o: Scale along y of the plane.
        e_r: Scale of the moment about the normal, m.

    Raises:
        InputError: A scale is not positive, or ``mu`` negative.
    """

    mu: float
    e_t: float = 1.0
    e_o: float = 1.0
    e_r: float = 0.1

    def __post_init__(self) -> None:
        if self.mu != 0.0:
            check_positive("FrictionEllipsoid", "mu", self.mu)
        for name in ("e_t", "e_o", "e_r"):
            check_positive("FrictionEllipsoid", name, getattr(self, name))

    @property
    def scales(self) -> Array:
        """e_t, e_o and e_r (3,)."""
        return np.array([self.e_t, self.e_o, self.e_r])


def check_positive(source: str, element: str, value: float) -> None:
    """Raise unless ``value`` is a finite number above zero."""
    if not (np.isfinite(value) and value > 0.0):
        raise InputError(source, element, f"is {value}", "give a positive finite number")
