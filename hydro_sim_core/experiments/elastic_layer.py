"""Finite-element solution of a frictionless rigid surface pressed into an elastic layer.

Linear elasticity in plane strain with Poisson's ratio 0, where stress is E times strain. The layer is bonded to a rigid
base. The surface is periodic and even in x, so that half a wave is enough, with zero sideways displacement at both
ends. In contact, the layer's upper side has the height of the surface; elsewhere its pressure is zero.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import splu

from hydro_sim_core.errors import InputError

if TYPE_CHECKING:
    import skfem

Array = NDArray[np.float64]

#: Elements get thinner towards the loaded side: their boundaries lie at 1 - (1 - i/n)^GRADING of the thickness.
GRADING = 1.5
#: Limit on iterations of the active set of touching nodes; a few are usually enough.
MAX_SETS = 100


class ElasticLayer:
    """Half a wave of a layer, with the compliance matrix of its loaded side, computed once.

    Args:
        wavelength: Wavelength of the rigid surface, m.
        thickness: Thickness of the layer, m.
        modulus: Young's modulus, Pa.
        elements: Number of elements through the thickness, and per thickness along the half wave.

    Attributes:
        x: (N,) nodes of the loaded side, m; 0 is under the crest.
        widths: (N,) length of the loaded side that belongs to each node, m.

    Raises:
        InputError: scikit-fem is not installed.
    """

    def __init__(self, wavelength: float, thickness: float, modulus: float, elements: int) -> None:
        basis, stiffness = _half_wave(wavelength, thickness, modulus, elements)
        bonded = basis.get_dofs(lambda p: p[1] == 0.0).all()
        mirrored = basis.get_dofs(lambda p: (p[0] == 0.0) | (p[0] == wavelength / 2.0)).all("u^1")
        free = np.setdiff1d(np.arange(basis.N), np.union1d(bonded, mirrored))
        loaded = basis.get_dofs(lambda p: p[1] == thickness).all("u^2")
        loaded = loaded[np.argsort(basis.doflocs[0, loaded])]
        rows = np.searchsorted(free, loaded)

        loads = np.zeros((len(free), len(loaded)))
        loads[rows, np.arange(len(loaded))] = 1.0
        self._compliance = splu(stiffness[free][:, free].tocsc()).solve(loads)[rows]
        self.x = basis.doflocs[0, loaded]
        self.widths = np.gradient(self.x)
        self.widths[[0, -1]] /= 2.0

    def press(self, depth: Array) -> Array:
        """Pressure (N,) in Pa under a rigid surface that reaches ``depth`` (N,) m below the unloaded side.

        Raises:
            ArithmeticError: The set of touching nodes does not converge.
        """
        touching = depth > 0.0
        for _ in range(MAX_SETS):
            force = np.zeros(len(depth))
            force[touching] = np.linalg.solve(self._compliance[np.ix_(touching, touching)], depth[touching])
            below = self._compliance @ force < depth
            settled = np.where(touching, force > 0.0, below)
            if np.array_equal(settled, touching):
                return force / self.widths
            touching = settled
        raise ArithmeticError(f"the touching nodes do not settle in {MAX_SETS} rounds")


def finite_elements() -> ModuleType:
    """The library scikit-fem.

    Raises:
        InputError: It is not installed.
    """
    try:
        import skfem
        import skfem.helpers
    except ImportError:
        mend = "install it: pip install 'hydro-sim-core[fem]'"
        raise InputError("finite elements", "scikit-fem", "is not installed", mend) from None
    return skfem


def _half_wave(
    wavelength: float, thickness: float, modulus: float, elements: int
) -> tuple[skfem.Basis, csr_matrix]:
    """Bilinear elements and their stiffness matrix, N/m per metre into the plane."""
    fem = finite_elements()
    columns = np.linspace(0.0, wavelength / 2.0, round(elements * wavelength / (2.0 * thickness)) + 1)
    rows = thickness * (1.0 - np.linspace(1.0, 0.0, elements + 1) ** GRADING)
    mesh = fem.MeshQuad.init_tensor(columns, rows)
    basis = fem.Basis(mesh, fem.ElementVector(fem.ElementQuad1()))
    strain = fem.helpers.sym_grad
    energy = fem.BilinearForm(lambda u, v, _: modulus * fem.helpers.ddot(strain(u), strain(v)))
    return basis, energy.assemble(basis)
