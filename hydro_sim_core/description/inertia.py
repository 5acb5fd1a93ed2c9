"""Reader of ``<inertial>``, with checks that mass and inertia are physically possible, and the nearest that are."""

from __future__ import annotations

from functools import partial

import numpy as np

from hydro_sim_core.arithmetic import product
from hydro_sim_core.description.limits import RANGES, check_value
from hydro_sim_core.description.places import Place
from hydro_sim_core.description.shapes import read_origin
from hydro_sim_core.description.spec import Array, InertialSpec
from hydro_sim_core.description.xml_source import XmlElement
from hydro_sim_core.errors import InputError

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
        The mass properties; None for such a massless frame, and for a repaired link that has no mass, or next to none.

    Raises:
        InputError: A value is implausibly large; or, without repairs, the mass is not positive, or no mass
            distribution has this inertia.
    """
    X_LC = read_origin(inertial)
    mass_element = inertial.required_child("mass")
    mass = mass_element.number("value")
    if welded and mass == 0.0 and not _read_inertia(inertial).any():
        return None
    try:
        check_mass(mass, mass_element)
        check_value("mass", mass, mass_element)
    except InputError as error:
        if mass >= RANGES["mass"].least:
            raise
        mass_element.mend(error, "took it for a frame without mass", inertial.remove)
        for tag in ("origin", "inertia"):
            for unused in inertial.children(tag):
                unused.ignore()
        return None
    R_LC = X_LC[:3, :3]
    return InertialSpec(mass, X_LC[:3, 3].copy(), product(R_LC, _read_inertia(inertial), R_LC.T))


def _read_inertia(inertial: XmlElement) -> Array:
    element = inertial.required_child("inertia")
    ixx, iyy, izz = (element.number(name) for name in ("ixx", "iyy", "izz"))
    ixy, ixz, iyz = (element.number(name, default=0.0) for name in ("ixy", "ixz", "iyz"))
    inertia = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    try:
        check_inertia(inertia, element)
    except InputError as error:
        if np.abs(inertia).max() >= _ABSURD:
            raise
        inertia = nearest_inertia(inertia)
        moments = ", ".join(f"{moment:.6g}" for moment in np.linalg.eigvalsh(inertia))
        element.mend(
            error,
            f"took the nearest possible one, of {moments} kg m^2",
            partial(_write_inertia, element, inertia),
        )
    return inertia


def _write_inertia(element: XmlElement, inertia: Array) -> None:
    element.write(
        **{f"i{'xyz'[i]}{'xyz'[j]}": repr(float(inertia[i, j])) for i in range(3) for j in range(i, 3)}
    )


def nearest_inertia(inertia: Array) -> Array:
    """The inertia (3, 3) of a body that is nearest to a symmetric matrix in the Frobenius norm.

    Inertias are the matrices none of whose eigenvalues exceeds the sum of the other two. The nearest one has the same
    principal axes, so that the nearest point of a cone of three edges remains to be found, for moments in order: on its
    face, else on the edge of a rod, which has one moment of zero.
    """
    (a, b, c), axes = np.linalg.eigh(inertia)
    excess = (c - a - b) / 3.0
    if excess > 0.0:
        a, b, c = a + excess, b + excess, c - excess
        if a < 0.0:
            a, b = 0.0, max(0.0, 0.5 * (b + c))
            c = b
    nearest = product(axes * np.array([a, b, c]), axes.T)
    return np.asarray(0.5 * (nearest + nearest.T))


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
