# mypy: allow-untyped-defs
"""White noise of sensors that depends on seed, sensor and step alone, however often and by whom it is read."""

from __future__ import annotations

import math

from hydro_sim_core.arithmetic import logarithm, sine_cosine
from hydro_sim_core.compilation import Float1D, entry, kernel

_MASK, _SPAN, _TURN = 0xFFFFFFFF, 4294967296.0, 6.283185307179586


@entry
def standard_normals(seed: int, sensor: int, step: int, out: Float1D) -> None:
    """Independent normal numbers of mean 0 and variance 1 (method of Box and Muller).

    Args:
        seed: Any number.
        sensor: Number that tells sensors apart.
        step: Number of the step.
        out: (n,) the numbers.
    """
    key = _mixed(_mixed(_mixed(seed & _MASK) ^ (sensor & _MASK)) ^ (step & _MASK))
    key = _mixed(key ^ ((seed >> 32) & _MASK) ^ ((step >> 32) & _MASK))
    for i in range(out.shape[0]):
        radius = math.sqrt(-2.0 * logarithm((_mixed(key ^ _mixed(2 * i + 1)) + 0.5) / _SPAN))
        _, cosine = sine_cosine(_TURN * (_mixed(key ^ _mixed(2 * i + 2)) + 0.5) / _SPAN)
        out[i] = radius * cosine


@kernel
def _mixed(x):
    """A 32-bit number with the bits of another one mixed; factors are such that no product exceeds 63 bits."""
    x = (x + 0x1E3779B9) & _MASK
    for _ in range(3):
        x = ((x ^ (x >> 16)) * 0x45D9F3B) & _MASK
    return x ^ (x >> 16)
