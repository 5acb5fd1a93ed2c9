# mypy: allow-untyped-defs
"""Arithmetic with bit-identical results on every machine, for all values that enter a state.

Plain IEEE operations are bit-identical; libraries that choose their code by the processor are not. BLAS and LAPACK use
fused multiply-add where the processor has it, and sum in another order; the sine and cosine of the C library differ as
well. A difference in the last bit soon grows into a different motion where bodies rattle or slip. Values that are only
checked or displayed may use either.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydro_sim_core.compilation.kernels import kernel

Array = NDArray[np.float64]

#: Beyond this angle the range reduction below loses digits; the C library's functions are used there, and their last
#: bit depends on the machine.
LARGEST_ANGLE = 823549.0

# pi / 2 as a sum of parts: the first two have 33 bits, so that their products with the number of quarter turns are
# exact.
_QUARTER_TURNS = 6.36619772367581382433e-01
_PART_1 = 1.57079632673412561417e00
_PART_2 = 6.07710050630396597660e-11
_PART_3 = 2.02226624879595063154e-21
# Minimax polynomials of FDLIBM (Sun Microsystems, 1993) on |x| < pi / 4.
_S1, _S2, _S3 = -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04
_S4, _S5, _S6 = 2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10
_C1, _C2, _C3 = 4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05
_C4, _C5, _C6 = -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11

# ln 2 as a sum of parts: the first has 32 bits, so that its products with exponents are exact.
_LN_2_HIGH, _LN_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ROOT_HALF = 7.07106781186547524401e-01
# Of the series of artanh: the next term is below 2^-58 of the first.
_LAST_TERM = 21
# Components behind each of a vector, and those behind these.
_NEXT, _LAST = [1, 2, 0], [2, 0, 1]


@kernel
def sine_cosine(angle):
    """Sine and cosine of an angle (rad), within one unit in the last place."""
    if not abs(angle) <= LARGEST_ANGLE:
        if not abs(angle) < math.inf:  # Python's functions raise an exception
            return math.nan, math.nan
        return math.sin(angle), math.cos(angle)
    turns = math.floor(angle * _QUARTER_TURNS + 0.5)
    # The reduced angle, as the unevaluated sum x + y.
    left = angle - turns * _PART_1
    part = -turns * _PART_2
    x = left + part
    added = x - left
    y = (left - (x - added)) + (part - added) - turns * _PART_3
    left = x
    x = left + y
    y = (left - x) + y

    z = x * x
    w = z * z
    r = _S2 + z * (_S3 + z * _S4) + z * w * (_S5 + z * _S6)
    v = z * x
    sine = x - ((z * (0.5 * y - v * r) - y) - v * _S1)
    r = z * (_C1 + z * (_C2 + z * _C3)) + w * w * (_C4 + z * (_C5 + z * _C6))
    half = 0.5 * z
    w = 1.0 - half
    cosine = w + (((1.0 - w) - half) + (z * r - x * y))

    quadrant = int(turns) & 3
    if quadrant == 0:
        return sine, cosine
    if quadrant == 1:
        return cosine, -sine
    if quadrant == 2:
        return -sine, -cosine
    return -cosine, sine


@kernel
def logarithm(x):
    """Natural logarithm of a positive, finite number, within three units in the last place; else NaN."""
    if not 0.0 < x < math.inf:
        return math.nan
    mantissa, exponent = x, 0
    while mantissa < _ROOT_HALF:
        mantissa, exponent = 2.0 * mantissa, exponent - 1
    while mantissa > 2.0 * _ROOT_HALF:
        mantissa, exponent = 0.5 * mantissa, exponent + 1
    # ln m = 2 artanh s, and |s| < 0.172.
    s = (mantissa - 1.0) / (mantissa + 1.0)
    z, rest = s * s, 0.0
    for odd in range(_LAST_TERM, 1, -2):
        rest = z * (rest + 1.0 / odd)
    return exponent * _LN_2_HIGH + (2.0 * s + (2.0 * s * rest + exponent * _LN_2_LOW))


_sine_cosine = getattr(sine_cosine, "function", sine_cosine)  # a plain function where nothing is compiled


def sines_cosines(angles: ArrayLike) -> tuple[Array, Array]:
    """Sines and cosines of angles (rad), in Python, as ``sine_cosine`` computes them."""
    flat = [_sine_cosine(float(angle)) for angle in np.ravel(angles)]
    both = np.array(flat, dtype=np.float64).reshape(*np.shape(angles), 2)
    return both[..., 0], both[..., 1]


def product(first: ArrayLike, *others: ArrayLike) -> Array:
    """Product of matrices (..., n, m), or stacks of them; the last factor may be a vector (m,)."""
    result = np.asarray(first, dtype=np.float64)
    for other in others:
        factor = np.asarray(other, dtype=np.float64)
        columns = factor[:, None] if factor.ndim == 1 else factor
        total = result[..., :, 0, None] * columns[..., 0, None, :]
        for k in range(1, result.shape[-1]):
            total = total + result[..., :, k, None] * columns[..., k, None, :]
        result = total[..., 0] if factor.ndim == 1 else total
    return result


def cross(a: Any, b: Any) -> Any:
    """Cross products of vectors (..., 3) of NumPy or CuPy; NumPy's own takes several times as long for few rows."""
    return a[..., _NEXT] * b[..., _LAST] - a[..., _LAST] * b[..., _NEXT]


def dot(a: Array, b: Array) -> float:
    """Inner product of two vectors."""
    return float((a * b).sum())


def norm(vector: ArrayLike) -> float:
    """Euclidean length of a vector."""
    array = np.asarray(vector, dtype=np.float64)
    return math.sqrt(dot(array, array))
