"""A box whose centre of mass is not in its middle tilts on its pressure field as on Winkler's foundation.

A flat box touches the ground with few faces, four of them on its underside. If each acts at its centroid, the moment of
the pressure within faces is lost, and the box tilts half as far again: in Drake, too, which ``solver.parity`` repeats.
Three points a face have the moments of the pressure exactly. What is left is the rim, which Winkler's foundation has
not: the sides of the box reach as deep into the ground as it sinks in. Half of the deviation is theirs in the energy,
and half that a step lets upright faces press with nothing. It falls with the depth, to 3e-7 at 10 GPa.

With the centre of mass beyond the middle third one edge is lifted, and only a part of the underside presses: faces end
where the pressure is zero. The narrower it is, the deeper it sinks in, and the more the rim is: 3e-6 at 60 mm. The end
of a disc is a fan of wedges as long as its radius, so that its faces are as large as the patch, whatever its edges.

These boxes have no margin; a scene that names none gives the box one, of 0.1 mm in steps of 1 ms (rows "default
margin"). It costs nothing: what lies in it presses with nothing, and faces are parted where the pressure is zero, which
with an edge lifted is across the underside. At 1 and 10 MPa tilts with and without it are the same to 2e-5.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.experiments.flat_box import FlatBox, tilt_of
from hydro_sim_core.experiments.flat_disc import FlatDisc
from hydro_sim_core.experiments.report import Comparison, ExperimentReport
from hydro_sim_core.experiments.verdicts import with_verdicts
from hydro_sim_core.simulation import World

SOURCE = (
    "Winkler's elastic foundation; Drake 1.51.1 in the same scene, with all of its contact approximations"
)
#: Moduli, Pa, and the bound on the tilt for each.
MODULI = {1e6: 4e-3, 1e7: 4e-4, 1e8: 4e-5, 1e9: 4e-6, 1e10: 4e-7}
#: Where the centre of mass is, m. Others at one modulus, the last two beyond the middle third, each with its bound over
#: that of the modulus: what presses less wide sinks in deeper.
OFF, OTHER_OFF = 0.01, {0.005: 1.0, 0.02: 1.0, 0.04: 3.8, 0.06: 19.0}
#: Where the centre of mass is in boxes with the default margin, m.
OFF_WITH_MARGIN = OFF, 0.06
#: The same of the disc.
DISC_SHARE = 1.0
#: Tilt that Drake gives at 1 MPa, rad, and bound on ours with its steps; the box still rocks by that.
DRAKES_TILT, PARITY_BOUND = 2.5193e-4, 1.9e-3
TIME_STEP, STEPS = 1e-3, 3000


def run(moduli: Sequence[float] = tuple(MODULI)) -> ExperimentReport:
    """Lay the box down and let it come to rest.

    Args:
        moduli: Of those of ``MODULI``, Pa.
    """
    tilts = [_rest(FlatBox(modulus, OFF)) for modulus in moduli]
    exact = [FlatBox(modulus, OFF).tilt for modulus in moduli]
    stiffest = moduli[-1]
    comparisons = [
        Comparison(f"tilt, {modulus:g} Pa, 10 mm off", "rad", of_winkler, tilt, MODULI[modulus], "relative")
        for modulus, tilt, of_winkler in zip(moduli, tilts, exact, strict=True)
    ]
    for off, share in OTHER_OFF.items():
        box = FlatBox(stiffest, off)
        name = f"tilt, {stiffest:g} Pa, {1e3 * off:g} mm off"
        comparisons.append(
            Comparison(name, "rad", box.tilt, _rest(box), share * MODULI[stiffest], "relative")
        )
    for off in OFF_WITH_MARGIN:
        box = FlatBox(stiffest, off)
        name = f"tilt, {stiffest:g} Pa, {1e3 * off:g} mm off, default margin"
        bound = OTHER_OFF.get(off, 1.0) * MODULI[stiffest]
        comparisons.append(Comparison(name, "rad", box.tilt, _rest(box, None), bound, "relative"))
    disc = FlatDisc(stiffest, OFF)
    name = f"tilt of a disc, {stiffest:g} Pa, 10 mm off"
    bound = DISC_SHARE * MODULI[stiffest]
    comparisons.append(
        Comparison(name, "rad", disc.tilt, _tilt_at_rest(disc.world(TIME_STEP)), bound, "relative")
    )
    drakes = _rest(FlatBox(1e6, OFF), parity="drake")
    name = "tilt, 1e+06 Pa, faces at their centroids (Drake)"
    comparisons.append(Comparison(name, "rad", DRAKES_TILT, drakes, PARITY_BOUND, "relative"))
    series = {
        "modulus": list(moduli),
        "tilt": tilts,
        "Winkler": exact,
        "deviation": [tilt / of_winkler - 1.0 for tilt, of_winkler in zip(tilts, exact, strict=True)],
        "at centroids": [drakes / FlatBox(1e6, OFF).tilt],
    }
    return ExperimentReport(
        "A box with its centre of mass off its middle", SOURCE, tuple(with_verdicts(comparisons)), series
    )


def _rest(box: FlatBox, margin: float | None = 0.0, **solver: str) -> float:
    """Tilt (rad) towards the heavy side when the box has come to rest; with the default margin for None."""
    return _tilt_at_rest(box.world(solver, TIME_STEP, friction=0.5, margin=margin))


def _tilt_at_rest(world: World) -> float:
    world.step(STEPS)
    return -tilt_of(world)


def plot(report: ExperimentReport, path: Path) -> None:
    """Plot the deviation of the tilt over the modulus, beside that of faces at their centroids.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    series = {name: np.array(column) for name, column in report.series.items()}
    with figure(path, 6.4, 4.2) as canvas:
        axes = canvas.subplots()
        axes.loglog(
            series["modulus"], np.abs(series["deviation"]), "o-", color="#1f5fa8", label="three points a face"
        )
        at_centroids = float(series["at centroids"][0]) - 1.0
        axes.axhline(at_centroids, color="#c44e24", ls="--", label="faces at their centroids, as in Drake")
        axes.set_xlabel("modulus [Pa]")
        axes.set_ylabel("deviation of the tilt from Winkler's foundation")
        axes.set_ylim(1e-7, 1.0)
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize="small", loc="center right")
        axes.set_title(report.title, fontsize="medium")
