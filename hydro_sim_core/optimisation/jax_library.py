"""JAX, an optional dependency that is imported when the first gradient is wanted."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hydro_sim_core.errors import InputError


def require_jax() -> Any:
    """JAX with 64 bits.

    Raises:
        InputError: It is not installed.
    """
    try:
        jax: Any = import_module("jax")
    except ImportError:
        mend = "install it: pip install 'hydro-sim-core[diff]'"
        raise InputError("optimize", "jax", "is not installed", mend) from None
    jax.config.update("jax_enable_x64", True)
    return jax
