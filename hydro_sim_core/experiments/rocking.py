"""A box that rocks on its flat underside has the period of a rigid body on Winkler's foundation.

The moment that brings it back is that of the pressure within and between its few faces. Without the first a box would
rock too slowly, by a fifth. No edge is lifted off, and the continuous integrator adds no damping. Bouncing up and down
on the same foundation shows the force in the same way. The rim of the box, as deep as it sinks in, makes the difference
that is left; it falls as the modulus grows. A margin changes nothing: what lies in it presses with nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.experiments.flat_box import INERTIA, MASS, SIZE, FlatBox, tilt_of
from hydro_sim_core.experiments.report import Comparison, ExperimentReport
from hydro_sim_core.experiments.verdicts import with_verdicts
from hydro_sim_core.simulation import World

SOURCE = "a rigid body on Winkler's elastic foundation"
Array = NDArray[np.float64]
#: Moduli, Pa, and the bound on the period of rocking for each; that of bouncing is half as far off.
MODULI = {1e6: 1e-3, 1e7: 2e-4, 1e8: 2e-5}
#: Time step whose default margin the softest box has in a row of its own, s: that of a scene that names none. By the
#: rule the short steps here, a small share of the period, need none.
MARGIN_TIME_STEP = 1e-3
#: Amplitude of an edge as a share of the depth at rest, periods, and instants looked at in each.
AMPLITUDE, PERIODS, INSTANTS = 0.2, 10, 36
ACCURACY = 1e-8


def run(moduli: Sequence[float] = tuple(MODULI)) -> ExperimentReport:
    """Let the box rock, and bounce without leaving the ground.

    Args:
        moduli: Of those of ``MODULI``, Pa.
    """
    comparisons: list[Comparison] = []
    series: dict[str, list[float]] = {}
    for modulus in moduli:
        box = FlatBox(modulus)
        rocks, swing = _period_of_rocking(box), _swing(box)
        bounces = 2.0 * math.pi * math.sqrt(MASS / (box.bedding * SIZE[0] * SIZE[1]))
        lift = AMPLITUDE * box.depth
        tilts = _motion(box, rocks, tilt_of, tilt=swing)
        heights = _motion(box, bounces, _height, height=lift - box.depth)
        heights -= 0.5 * SIZE[2] - box.depth
        for name, expected, found, bound in (
            ("rocking", rocks, _period(tilts, rocks), MODULI[modulus]),
            ("bouncing", bounces, _period(heights, bounces), 0.5 * MODULI[modulus]),
        ):
            quantity = f"period of {name}, {modulus:g} Pa"
            comparisons.append(Comparison(quantity, "ms", 1e3 * expected, 1e3 * found, bound, "relative"))
            series.setdefault(f"period of {name}", []).append(1e3 * found)
        series[f"tilt, {modulus:g} Pa"] = (tilts / swing).tolist()
    comparisons.append(_with_margin(FlatBox(moduli[0]), MODULI[moduli[0]]))
    return ExperimentReport("A box rocks on its underside", SOURCE, tuple(with_verdicts(comparisons)), series)


def _period_of_rocking(box: FlatBox) -> float:
    """Period of the closed form, s."""
    return 2.0 * math.pi * math.sqrt(INERTIA[0] / box.resistance)


def _swing(box: FlatBox) -> float:
    """Tilt at the start, rad."""
    return AMPLITUDE * box.depth / (0.5 * SIZE[1])


def _with_margin(box: FlatBox, bound: float) -> Comparison:
    """Row of the box that rocks with the margin that it has in most scenes."""
    rocks, margin = _period_of_rocking(box), box.default_margin(MARGIN_TIME_STEP)
    period = _period(_motion(box, rocks, tilt_of, margin, tilt=_swing(box)), rocks)
    quantity = f"period of rocking, {box.modulus:g} Pa, margin {1e3 * margin:g} mm"
    return Comparison(quantity, "ms", 1e3 * rocks, 1e3 * period, bound, "relative")


def _height(world: World) -> float:
    return float(world.frame_pose("box")[2, 3])


def _motion(
    box: FlatBox, period: float, measure: Callable[[World], float], margin: float = 0.0, **start: float
) -> Array:
    """What is measured at every instant of ``PERIODS`` periods."""
    solver = {"integrator": "continuous", "accuracy": ACCURACY}
    world = box.world(solver, period / INSTANTS, dissipation=0.0, margin=margin, **start)
    values = [measure(world)]
    for _ in range(PERIODS * INSTANTS):
        world.step()
        values.append(measure(world))
    return np.array(values)


def _period(values: Array, expected: float) -> float:
    """Period (s) of an oscillation about zero, from the phase of its basic frequency at the beginning and the end."""
    half = len(values) // 2
    turns = np.exp(-2j * math.pi * np.arange(half) / INSTANTS)
    first, second = (turns @ values[begin : begin + half] for begin in (0, half))
    # The second half begins a whole number of expected periods later.
    early = float(np.angle(second / first)) / (2.0 * math.pi)
    return expected * (half / INSTANTS) / (half / INSTANTS + early)


def plot(report: ExperimentReport, path: Path) -> None:
    """Plot the tilt over time beside a cosine.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    with figure(path, 7.2, 3.8) as canvas:
        axes = canvas.subplots()
        phase = np.linspace(0.0, PERIODS, 20 * PERIODS + 1)
        closed = np.cos(2.0 * math.pi * phase)
        axes.plot(phase, closed, color="#b0b0b0", lw=3.0, label="rigid body on Winkler's foundation")
        tilts = {name: values for name, values in report.series.items() if name.startswith("tilt")}
        for (name, values), colour in zip(tilts.items(), ("#1f5fa8", "#c44e24", "#3b8f5a"), strict=False):
            axes.plot(np.arange(len(values)) / INSTANTS, values, ".", ms=3, color=colour, label=name)
        axes.set_xlim(PERIODS - 3, PERIODS)
        axes.set_ylim(-1.1, 1.6)
        axes.set_xlabel("time [periods of the closed form], the last three of ten")
        axes.set_ylabel("tilt / tilt at the start")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize="small", ncol=2, loc="upper left")
        axes.set_title(report.title, fontsize="medium")
