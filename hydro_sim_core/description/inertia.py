"""Reader of ``<inertial>``, with checks that mass and inertia are physically possible."""

from __future__ import annotations

import numpy as np

from hydro_sim_core.arithmetic import product
from hydro_sim_core.description.places import Place
from hydro_sim_core.description.shapes import read_origin
from hydro_sim_core.description.spec import Array, InertialSpec
from hydro_sim_core.description.xml_source import XmlElement

#: Relative amount by which a principal moment may exceed the sum of the other two: files have about six digits.
_TRIANGLE_ROUND_OFF = 1e-5

#: Mass (kg) and inertia (kg m^2) above which a number is taken for an error: products with it would overflow.
_ABSURD = 1e12


def read_inertial(inertial: XmlElement, *, welded: bool) -> InertialSpec | None:
    """Mass, centre of mass and inertia of a link, the inertia in link axes.

    Args:
        inertial: The element.
        welded: Whether a fixed joint holds the link, which may then be a massless frame with zeros in this element.

    Returns:
        The mass properties; None for such a massless frame.

    Raises:
        InputError: The mass is not positive, no mass distribution has this inertia, or a value is implausibly large.
    """
    X_LC = read_origin(inertial)
    mass_element = inertial.required_child("mass")
    mass = mass_element.number("value")
    if welded and mass == 0.0 and not _read_inertia(inertial).any():
        return None
    check_mass(mass, mass_element)
    R_LC = X_LC[:3, :3]
    return InertialSpec(mass, X_LC[:3, 3].copy(), product(R_LC, _read_inertia(inertial), R_LC.T))


def _read_inertia(inertial: XmlElement) -> Array:
    element = inertial.required_child("inertia")
    ixx, iyy, izz = (element.number(name) for name in ("ixx", "iyy", "izz"))
    ixy, ixz, iyz = (element.number(name, default=0.0) for name in ("ixy", "ixz", "iyz"))
    inertia = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    check_inertia(inertia, element)
    return inertia


def check_mass(mass: float, place: Place) -> None:
    """Check the mass of a link.

    Raises:
        InputError: The mass is not positive, or implausibly large.
    """
    if mass <= 0.0:
        raise place.error(
            f"mass {mass:g} kg is not above 0",
            "write a positive mass, or leave the inertia out if the link only carries a frame",
        )
    if mass >= _ABSURD:
        raise place.error(f"mass {mass:g} kg is absurd", f"write one below {_ABSURD:g} kg")


def check_inertia(inertia: Array, place: Place) -> None:
    """Check that a mass distribution with this inertia (3, 3), kg m^2, exists.

    Raises:
        InputError: A principal moment is negative, exceeds the sum of the other two, or is implausibly large.
    """
    largest = np.abs(inertia).max()
    if largest >= _ABSURD:
        raise place.error(f"inertia {largest:g} kg m^2 is absurd", f"write one below {_ABSURD:g} kg m^2")
    small, middle, large = np.linalg.eigvalsh(inertia)
    moments = f"principal moments {small:.6g}, {middle:.6g}, {large:.6g} kg m^2"
    # Zero moments are allowed: those of a point mass or a thin rod.
    if small < -_TRIANGLE_ROUND_OFF * large:
        raise place.error(f"a principal moment is negative ({moments})", "correct the six numbers")
    if large > (small + middle) * (1.0 + _TRIANGLE_ROUND_OFF):
        raise place.error(
            f"the inertia violates the triangle inequality ({moments})",
            "correct the six numbers: no moment may exceed the sum of the other two",
        )
