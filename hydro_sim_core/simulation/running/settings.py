"""What a runner may be told about its pace."""

from __future__ import annotations

from typing import Literal

from hydro_sim_core.errors import InputError

OverrunPolicy = Literal["skip", "catch_up"]

#: Smallest real-time factor; anything slower should be paused.
SLOWEST = 1e-3
#: Default of the largest backlog that is caught up with, s.
MAX_BACKLOG = 1.0


def check_pace(real_time_factor: float, overrun: OverrunPolicy, max_backlog: float) -> None:
    """Check what ``FixedRateRunner.set_pace`` takes.

    Raises:
        InputError: The factor is not a number or too small, the policy unknown, or the backlog not above 0.
    """
    if not isinstance(real_time_factor, int | float) or not real_time_factor >= SLOWEST:
        problem = f"{real_time_factor!r} is no factor that a run could keep"
        raise InputError("runner", "real_time_factor", problem, f"give {SLOWEST:g} or more")
    if overrun not in ("skip", "catch_up"):
        raise InputError("runner", "overrun", f"{overrun!r} is unknown", "use skip or catch_up")
    if not max_backlog > 0.0:
        raise InputError("runner", "max_backlog", f"{max_backlog!r} s is not above 0", "use skip for none")


def period_of(time_step: float, real_time_factor: float) -> int:
    """Wall-clock time from step to step, ns; 0 for as fast as possible."""
    return round(1e9 * time_step / real_time_factor)
