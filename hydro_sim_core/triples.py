# mypy: allow-untyped-defs
"""Products of vectors of three numbers in kernels: of tuples, or of arrays with three entries or more."""

from __future__ import annotations

from hydro_sim_core.compilation import kernel


@kernel(inline=True)
def dot(a, b):
    """Scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel(inline=True)
def cross(a, b):
    """Vector product, three numbers."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
