"""What a search for a grip force found, as data and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.optimisation.grasp import GraspResult
from hydro_sim_core.optimisation.grasp_bodies import DURATION


def as_dict(result: GraspResult) -> dict[str, Any]:
    """A result as plain data: kg, m, s, N and N^2."""
    lift = result.lift
    return {
        "mass": lift.mass,
        "friction": lift.friction,
        "height": lift.height,
        "held": result.is_held,
        "times": result.times.tolist(),
        "forces": result.forces.tolist(),
        "smooth_forces": result.smooth_forces.tolist(),
        "least_forces": lift.least_force(result.times).tolist(),
        "slip": result.slip,
        "slip_below": result.slip_below,
        "effort": result.effort,
        "least_effort": result.least_effort,
        "constant_effort": result.constant_effort,
        **result.search._asdict(),
    }


def plot(result: GraspResult, path: Path) -> None:
    """Plot the schedule beside the least force that Coulomb's friction allows, and the motion of the hand.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    times, lift = np.linspace(0.0, DURATION, 400), result.lift
    least = lift.least_force(times)
    with figure(path, 7.0, 5.4) as canvas:
        above, below = canvas.subplots(2, 1, sharex=True, height_ratios=(2.0, 1.0))
        above.fill_between(times, 0.0, least, color="#e8d9d2", label="slips, by Coulomb's law")
        above.axhline(least.max(), color="#9a9a9a", lw=1.0, ls="--", label="least constant force")
        above.plot(
            result.times, result.smooth_forces, color="#8fb3d9", lw=1.2, label="found by smooth contact"
        )
        above.plot(result.times, result.forces, ".-", color="#1f5fa8", lw=1.8, label="in the pressure field")
        above.set_ylabel("force of each finger [N]")
        above.set_ylim(0.0, 1.45 * max(least.max(), result.smooth_forces.max()))
        above.legend(frameon=False, fontsize=9, ncols=2, loc="upper right")
        excess = 100.0 * (result.effort / result.least_effort - 1.0)
        saved = 100.0 * (1.0 - result.effort / result.constant_effort)
        above.set_title(
            f"{lift.mass:g} kg, friction {lift.friction:g}: slips {1e3 * result.slip:.2f} mm; effort {excess:.0f} % "
            f"above the least, {saved:.0f} % below the constant force's",
            fontsize=9,
        )
        below.plot(times, lift.acceleration(times), color="#c44e24")
        below.set_ylabel("hand [m/s²]")
        below.set_xlabel("time [s]")
        for axes in (above, below):
            axes.grid(alpha=0.3)
