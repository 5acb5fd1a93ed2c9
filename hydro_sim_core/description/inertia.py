"""``<inertial>`` becomes a mass, a centre and an inertia that a rigid body can have."""

from __future__ import annotations

import numpy as np

from hydro_sim_core.arithmetic import product
from hydro_sim_core.description.places import Place
from hydro_sim_core.description.shapes import read_origin
from hydro_sim_core.description.spec import Array, InertialSpec
from hydro_sim_core.description.xml_source import XmlElement

#: By what part a principal moment may exceed the sum of the other two: files round to about six digits.
_TRIANGLE_ROUND_OFF = 1e-5

#: Mass (kg) and inertia (kg m^2) from which on a number is a slip: products with it would overflow.
_ABSURD = 1e12


def read_inertial(inertial: XmlElement, *, welded: bool) -> InertialSpec | None:
    """Mass, centre of mass and inertia of a link, the inertia turned into link axes.

    Args:
        inertial: The element.
        welded: A fixed joint holds the link, so it may be a frame that was written with zeros.

    Returns:
        None for such a frame.

    Raises:
        InputError: The mass is not positive, no distribution of mass has this inertia, or either is absurd.
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
    """Refuse a mass that no link has.

    Raises:
        InputError: It is not positive, or absurd.
    """
    if mass <= 0.0:
        raise place.error(
            f"mass {mass:g} kg is not above 0",
            "write a positive mass, or leave the inertia out if the link only carries a frame",
        )
    if mass >= _ABSURD:
        raise place.error(f"mass {mass:g} kg is absurd", f"write one below {_ABSURD:g} kg")


def check_inertia(inertia: Array, place: Place) -> None:
    """Refuse an inertia (3, 3), kg m^2, that no distribution of mass has.

    Raises:
        InputError: A principal moment is negative or exceeds the sum of the other two, or one is absurd.
    """
    largest = np.abs(inertia).max()
    if largest >= _ABSURD:
        raise place.error(f"inertia {largest:g} kg m^2 is absurd", f"write one below {_ABSURD:g} kg m^2")
    small, middle, large = np.linalg.eigvalsh(inertia)
    moments = f"principal moments {small:.6g}, {middle:.6g}, {large:.6g} kg m^2"
    # Zeros are those of a point mass or a thin rod.
    if small < -_TRIANGLE_ROUND_OFF * large:
        raise place.error(f"a principal moment is negative ({moments})", "correct the six numbers")
    if large > (small + middle) * (1.0 + _TRIANGLE_ROUND_OFF):
        raise place.error(
            f"the inertia violates the triangle inequality ({moments})",
            "correct the six numbers: no moment may exceed the sum of the other two",
        )
