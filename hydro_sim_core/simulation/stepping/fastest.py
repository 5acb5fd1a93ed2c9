# mypy: allow-untyped-defs
"""The largest velocity that a step takes, so that one that runs away is told and not followed for ever."""

from __future__ import annotations

from hydro_sim_core.compilation import kernel

#: Largest velocity of a state, rad/s or m/s. What moves faster crosses a kilometre in a step of 1 ms: look-ahead would
#: take it in more pieces, the faster it gets, and no run gets there but by diverging.
FASTEST = 1e6


@kernel
def all_slow_enough(v):
    """Whether all velocities (nv,) are finite and none is beyond ``FASTEST``."""
    slow = True
    for i in range(v.shape[0]):
        slow = slow and abs(v[i]) <= FASTEST
    return slow


@kernel
def begins_slow_enough(model, state, drives):
    """Whether a step may begin: by the velocities before it, and by those that are prescribed for it.

    Reads drives: v_target; state: v; model.forest: prescribed.
    """
    slow = all_slow_enough(state.v)
    for i in model.forest.prescribed:
        slow = slow and abs(drives.v_target[i]) <= FASTEST
    return slow
