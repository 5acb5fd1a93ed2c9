"""``<inertial>`` becomes a mass, a centre and an inertia that a rigid body can have."""

from __future__ import annotations

import numpy as np

from hydro_sim_core.arithmetic import product
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
    if mass <= 0.0:
        raise mass_element.error(
            f"mass {mass:g} kg is not above 0",
            "write a positive mass, or remove <inertial> if the link only carries a frame",
        )
    if mass >= _ABSURD:
        raise mass_element.error(f"mass {mass:g} kg is absurd", f"write one below {_ABSURD:g} kg")
    R_LC = X_LC[:3, :3]
    return InertialSpec(mass, X_LC[:3, 3].copy(), product(R_LC, _read_inertia(inertial), R_LC.T))


def _read_inertia(inertial: XmlElement) -> Array:
    element = inertial.required_child("inertia")
    ixx, iyy, izz = (element.number(name) for name in ("ixx", "iyy", "izz"))
    ixy, ixz, iyz = (element.number(name, default=0.0) for name in ("ixy", "ixz", "iyz"))
    inertia = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    largest = np.abs(inertia).max()
    if largest >= _ABSURD:
        raise element.error(f"inertia {largest:g} kg m^2 is absurd", f"write one below {_ABSURD:g} kg m^2")
    small, middle, large = np.linalg.eigvalsh(inertia)
    moments = f"principal moments {small:.6g}, {middle:.6g}, {large:.6g} kg m^2"
    # Zeros are those of a point mass or a thin rod.
    if small < -_TRIANGLE_ROUND_OFF * large:
        raise element.error(f"a principal moment is negative ({moments})", "correct the six numbers")
    if large > (small + middle) * (1.0 + _TRIANGLE_ROUND_OFF):
        raise element.error(
            f"the inertia violates the triangle inequality ({moments})",
            "correct the six numbers: no moment may exceed the sum of the other two",
        )
    return inertia
