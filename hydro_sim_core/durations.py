"""How many time steps a run takes."""

from __future__ import annotations

from hydro_sim_core.errors import InputError


def steps_of_run(duration: float, time_step: float, source: str, element: str = "") -> int:
    """Number of steps of a run.

    Args:
        duration: Simulated time, s.
        time_step: s.
        source: What gave the duration, for error messages.
        element: Where it stands there.

    Raises:
        InputError: The duration is nearer to no step than to one.
    """
    steps = round(duration / time_step)
    if steps < 1:
        problem = f"{duration:g} s are less than one step"
        raise InputError(source, element, problem, f"give at least {time_step:g}")
    return steps
