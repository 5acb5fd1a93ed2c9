"""A box on a box rattles if steps are too long for its contact, unless contact has a margin.

Contact without margin uses only the faces that carry pressure now. A box on one corner is pushed up there, lands on the
opposite corner a step later, and may continue like this for ever. A rod on two points tilts by dt^2 g in a step without
contact at one of its ends, for any mass, length and stiffness (figure 6 of Drake's page on the margin); lengths are
therefore given in units of dt^2 g. Without margin our rod tilts by exactly this, and comes to rest: implicit steps
leave an end in contact after they pushed it.
For boxes, the decisive number is the step times the frequency of the box on its contact, pi_1 = dt sqrt(k / m) with k =
E A / H (E the modulus, A the area, H half the shortest side). A margin adds faces that could carry pressure within the
step.

Drake's page measures the spread of the faces' depths, over faces and steps. At rest it is not zero, because the
pressure decreases towards the edges: it is 0.63 / pi_1^2, which the page interprets as boxes that still settle. Motion
is measured here by the acceleration of the upper box's corners.

A box may rattle or rest depending on its start, so several starts are tried, tilted by about dt^2 g. The page's figures
are reproduced with the model ``similar``.

Four things differ. With ``lagged`` the stiffest stacks rattle without margin in Drake 1.51.1; here they rest, since
sides that stand upright on what they sank into fade (decision 38). On the page stacks rattle from Nyquist's pi_1 = pi
on, all of them; here, from the starts tried, a quarter of those beyond does, none with pi_1 below 48. The page's stack
of 0.2 ms and 1 GPa, pi_1 = 12, rests without margin, in Drake 1.51.1 too, so that figure 7's curve of that step shows
nothing of a margin: its row stands beside boxes at rest, and all rows with a margin beside the same without. And the
narrowest margin tried, 1e-4 dt^2 g, holds a stack, where the page needs 0.01 to 0.1. The page does not give its starts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from hydro_sim_core.description import SceneBuilder
from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.experiments import mug_on_plate
from hydro_sim_core.experiments.margin_rod import Rod, first_tilt
from hydro_sim_core.experiments.report import Comparison, ExperimentReport
from hydro_sim_core.experiments.verdicts import with_verdicts
from hydro_sim_core.simulation import World

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

SOURCE = (
    "Drake's page on hydroelastic margin, figures 6 (rod: 1 δt² g), 7 and 8 (no margin: 0.1 to 0.6 beyond Nyquist); "
    "Drake 1.51.1, lagged: 0.52 without and 1.6e-7 with a margin of 0.1 mm"
)
GRAVITY, FRICTION, DISSIPATION = 9.81, 0.5, 20.0
#: Edges, m, and mass, kg, of a box of scale 1; larger ones have the same density.
SIZE, MASS = (0.2, 0.15, 0.08), 0.2

SETTLING_STEPS, MEASURED_STEPS = 200, 100
#: Height of the lifted corner, in dt^2 g, and direction of the tilt axis, rad.
STARTS = ((0.3, 0.5), (0.8, 3.9), (2.0, 5.4))
#: Starts over which the spread of irregular rattling is averaged: with a single one, rounding changes it by
#: a fifth, which would exceed the page's range on one machine in twenty.
MANY_STARTS = tuple((lift, direction) for lift in (0.3, 0.8, 2.0) for direction in (0.5, 2.2, 3.9, 5.4))

#: The page's range of spreads without margin, as its middle and half its width, dt^2 g.
AMPLITUDE, AMPLITUDE_BOUND = 0.35, 0.25
#: Of the median of those that rattle, dt^2 g, if there are several.
MEDIAN_BOUND = 0.023
SAFE_MARGIN = 1e-4
#: Bound on the spread with that margin, dt^2 g, spread above which a stack with a margin is not held, and bound on
#: that of stacks of ``lagged`` without one: one of twelve ends in a cycle of 0.002.
SAFE_SPREAD, SMALL_SPREAD, RESTING_SPREAD = 2.5e-6, 1e-2, 4.5e-4
#: Bounds on the acceleration of a box that rattles and of one that rests or still settles, g.
RATTLING, SETTLING = 0.5, 0.02
#: Bounds on the share of stacks beyond Nyquist's frequency that rattle, and on where that begins, relative.
SHARE_BOUND, ONSET_BOUND = 0.9, 20.0
#: By how much these differ from the page's at least.
LEAST_SHARE, LEAST_ONSET = 0.4, 1.0


class HeldRod(NamedTuple):
    """A variant of the page's rod, and bounds.

    Attributes:
        rod: The rod.
        tilt: Bound on its tilt in the first step without margin, dt^2 g.
        held: Bound on that with a margin of ``ROD_MARGIN`` dt^2 g, relative: an undamped end comes to rest within a
            step except for a share due to its compliance.
    """

    rod: Rod
    tilt: float
    held: float


#: Steps, masses, lengths and stiffness differ; at rest, ends are at most dt^2 g / 70 deep.
RODS = (
    HeldRod(Rod(2e-4), 4e-7, 0.03),
    HeldRod(Rod(1e-3, mass=5.0, length=1.0), 1e-6, 0.03),
    HeldRod(Rod(1e-2, length=0.5, modulus=1e8), 1.5e-6, 2e-3),
)
ROD_MARGIN = 1.0
#: Bounds on the mug on the plate: speeds (m/s or rad/s) with and without margin, and drift (m) in 3 s.
STILL_SPEED, ROCKING_SPEED, STILL_DRIFT = 1e-12, 0.1, 4.6e-13
NYQUIST = math.pi
#: Spread over faces, dt^2 g, of a box at rest, times pi_1^2: a third of its depth, because edges press less.
REST_SPREAD = 0.63

STEPS = (6.25e-4, 1.25e-3, 2.5e-3, 5e-3, 1e-2)
MODULI = (1e4, 1e5, 1e6, 1e7, 1e8, 1e9)
#: Factors on the edges.
SCALES: tuple[tuple[float, float, float], ...] = (
    (1.0, 1.0, 1.0),
    (2.0, 2.0, 2.0),
    (4.0, 4.0, 4.0),
    (2.0, 1.0, 1.0),
)
#: Margins of figure 7, dt^2 g.
MARGINS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)


class MarginCurve(NamedTuple):
    """A curve of figure 7.

    Attributes:
        enough: Margin from which it shows no rattling, dt^2 g.
        rattles: Whether the stack rattles here without margin.
        bare: Bound on the spread without margin beside the middle of the page's range, or, of a stack that rests,
            beside that of one at rest, dt^2 g.
        held: Bound on the spread with ``enough`` or more, dt^2 g.
        over: Bound on ``enough`` over the least margin tried that holds; 0 for none.
    """

    enough: float
    rattles: bool
    bare: float
    held: float
    over: float


#: Curves by step, s.
PAGE_MARGINS = {
    2e-4: MarginCurve(1e-1, rattles=False, bare=1.4e-3, held=7e-3, over=0.0),
    1e-3: MarginCurve(1e-1, rattles=True, bare=0.04, held=2.5e-4, over=1500.0),
    1e-2: MarginCurve(1e-2, rattles=True, bare=0.25, held=2.5e-6, over=0.0),
}
#: By how much the spreads of the curve that does not rattle differ from the page's at least, dt^2 g: without margin,
#: and with one, which changes nothing there. And how far its margin is from the least that holds, where they differ.
LEAST_WITHOUT, LEAST_OVER = (0.2, 1e-3), 10.0
#: Where stacks without margin are drawn.
NO_MARGIN = 1e-5
#: Arguments of the quick form.
QUICK = (2.5e-3,), (1e5, 1e9), SCALES[:1], (1e-3, 1e-1)


@dataclass(frozen=True)
class Stack:
    """Two boxes of the same size.

    Attributes:
        time_step: Time step, s.
        modulus: Modulus of both boxes, Pa.
        margin: Margin of both boxes, m.
        model: Solver model.
        free: Whether the lower box lies on rigid ground; otherwise it is fixed.
        scale: Factors on the edges.
    """

    time_step: float
    modulus: float
    margin: float = 0.0
    model: Literal["lagged", "similar"] = "similar"
    free: bool = False
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)

    @property
    def size(self) -> tuple[float, float, float]:
        """Edges of a box, m."""
        x, y, z = (factor * edge for factor, edge in zip(self.scale, SIZE, strict=True))
        return x, y, z

    @property
    def mass(self) -> float:
        """Mass of a box, kg."""
        return MASS * math.prod(self.scale)

    @property
    def unit(self) -> float:
        """Length unit dt^2 g, m."""
        return GRAVITY * self.time_step**2

    @property
    def frequency(self) -> float:
        """pi_1: the time step times the angular frequency of the box on its contact."""
        x, y, z = self.size
        return self.time_step * math.sqrt(self.modulus * x * y / (min(x, y, z) / 2.0) / self.mass)


@dataclass(frozen=True)
class Rattle:
    """Measured motion of a stack.

    Attributes:
        spread: Standard deviation of the depths of faces with pressure, over faces and steps, dt^2 g.
        acceleration: Root mean square acceleration of the upper box's corners relative to the lower box, g.
    """

    spread: float
    acceleration: float


def run(
    steps: Sequence[float] = STEPS,
    moduli: Sequence[float] = MODULI,
    scales: Sequence[tuple[float, float, float]] = SCALES,
    margins: Sequence[float] = MARGINS,
) -> ExperimentReport:
    """Let stacks of boxes come to rest or rattle.

    Args:
        steps: Time steps of the stacks without margin (figure 8), s.
        moduli: Moduli of these stacks, Pa; every step is combined with every modulus and scale.
        scales: Factors on their edges.
        margins: Margins of the stacks with margin (figure 7), dt^2 g; the page's are among them.

    Raises:
        InputError: The scene of the mug is missing.
    """
    bare = Stack(1e-2, MODULI[-1], model="lagged", free=True)
    name = f"lagged, {1e3 * bare.time_step:g} ms, {bare.modulus:g} Pa"
    rattling, safe = mean_spread(bare), measure(replace(bare, margin=SAFE_MARGIN)).spread
    # The page does not tell of this model; in Drake it rattles.
    at_rest = Comparison(f"{name}, no margin", "δt² g", 0.0, rattling, RESTING_SPREAD, "absolute")
    held = Comparison(f"{name}, {1e3 * SAFE_MARGIN:g} mm", "δt² g", 0.0, safe, SAFE_SPREAD, "absolute")
    comparisons = [at_rest, held]
    bare_comparisons, bare_series = _sweep_without_margin(
        [Stack(step, modulus, scale=scale) for scale in scales for modulus in moduli for step in steps]
    )
    margin_comparisons, margin_series = _sweep_margins(margins)
    rows = [*comparisons, *bare_comparisons, *margin_comparisons, *_compare_rods(), *_compare_mug()]
    verdicts, series = with_verdicts(rows, {at_rest.quantity}), {**bare_series, **margin_series}
    return ExperimentReport("Box on a box", SOURCE, tuple(verdicts), series)


def _sweep_without_margin(stacks: list[Stack]) -> tuple[list[Comparison], dict[str, list[float]]]:
    """Compare with figure 8; needs a stack with pi_1 above Nyquist's limit, and one below."""
    rattles = [measure(stack) for stack in stacks]
    frequency = np.array([stack.frequency for stack in stacks])
    spread = np.array([rattle.spread for rattle in rattles])
    acceleration = np.array([rattle.acceleration for rattle in rattles])
    slow, rattling = frequency < NYQUIST, acceleration > RATTLING
    median, largest, onset = (
        (float(np.median(spread[rattling])), float(spread[rattling].max()), float(frequency[rattling].min()))
        if rattling.any()
        else (math.nan,) * 3
    )
    settling, bound = float(acceleration[slow].max()), MEDIAN_BOUND if rattling.sum() > 1 else AMPLITUDE_BOUND
    comparisons = [
        Comparison("no margin, median that rattles", "δt² g", AMPLITUDE, median, bound, "absolute"),
        Comparison("no margin, most", "δt² g", AMPLITUDE, largest, AMPLITUDE_BOUND, "absolute"),
        Comparison("no margin, π₁ < π, acceleration", "g", 0.0, settling, SETTLING, "absolute"),
    ]
    # A single stack says nothing about where it begins.
    if (~slow).sum() > 1:
        comparisons += [
            Comparison(
                "no margin, π₁ > π, share that rattles",
                "",
                1.0,
                float(rattling[~slow].mean()),
                SHARE_BOUND,
                "absolute",
                least=LEAST_SHARE,
            ),
            Comparison(
                "no margin, least π₁ that rattles",
                "",
                NYQUIST,
                onset,
                ONSET_BOUND,
                "relative",
                least=LEAST_ONSET,
            ),
        ]
    return comparisons, {
        "frequency": frequency.tolist(),
        "spread": spread.tolist(),
        "acceleration": acceleration.tolist(),
        "time step": [stack.time_step for stack in stacks],
        "modulus": [stack.modulus for stack in stacks],
        "volume": [math.prod(stack.scale) for stack in stacks],
    }


def _sweep_margins(margins: Sequence[float]) -> tuple[list[Comparison], dict[str, list[float]]]:
    """Compare with figure 7: each curve without margin, and from the margin on that the page finds enough."""
    comparisons, series = [], {"margin": list(margins)}
    for step, curve in PAGE_MARGINS.items():
        stack, name = Stack(step, MODULI[-1]), f"{1e3 * step:g} ms"
        bare = measure(stack).spread
        spreads = [measure(replace(stack, margin=margin * stack.unit)).spread for margin in margins]
        series[f"spread at {name}"], series[f"spread at {name}, no margin"] = spreads, [bare]
        expected = AMPLITUDE if curve.rattles else REST_SPREAD / stack.frequency**2
        rows = [Comparison(f"{name}, no margin", "δt² g", expected, bare, curve.bare, "absolute")]
        held = [spread for margin, spread in zip(margins, spreads, strict=True) if margin >= curve.enough]
        quantity = f"{name}, margin {curve.enough:g} δt² g or more"
        control = {"no margin": bare}
        rows.append(Comparison(quantity, "δt² g", 0.0, max(held), curve.held, "absolute", control))
        if not curve.rattles:
            rows = [replace(row, least=least) for row, least in zip(rows, LEAST_WITHOUT, strict=True)]
            rows[0] = replace(rows[0], paper=AMPLITUDE)
        comparisons += rows
        if curve.over:
            least = _least_that_holds(margins, spreads)
            quantity = f"{name}, page's margin over the least tried that holds"
            over = curve.enough / least
            row = Comparison(quantity, "", 1.0, over, curve.over, "absolute", least=LEAST_OVER)
            comparisons.append(row)
    return comparisons, series


def _least_that_holds(margins: Sequence[float], spreads: Sequence[float]) -> float:
    """Least margin, dt^2 g, from which on no stack rattles; NaN without one."""
    least = math.nan
    for margin, spread in sorted(zip(margins, spreads, strict=True), reverse=True):
        if not spread <= SMALL_SPREAD:
            break
        least = margin
    return least


def _compare_rods() -> list[Comparison]:
    """Compare with figure 6 and equation 3."""
    comparisons = []
    for rod, bound, held_bound in RODS:
        name = f"rod of {rod.mass:g} kg, {rod.length:g} m, {rod.modulus:.0e} Pa, {1e3 * rod.time_step:g} ms"
        tilt, held = first_tilt(rod), first_tilt(replace(rod, margin=ROD_MARGIN * rod.unit))
        comparisons += [
            Comparison(f"{name}, tilt", "δt² g", 1.0, tilt, bound, "absolute"),
            Comparison(
                f"{name}, margin", "δt² g", rod.rest, held, held_bound, "relative", {"no margin": tilt}
            ),
        ]
    return comparisons


def _compare_mug() -> list[Comparison]:
    """Compare with figure 3."""
    still, rocking = mug_on_plate.worst(), mug_on_plate.worst(margin=0.0)
    speed, drift = {"no margin": rocking.speed}, {"no margin": rocking.drift}
    return [
        Comparison("mug on a plate, speed", "m/s", 0.0, still.speed, STILL_SPEED, "absolute", speed),
        Comparison("mug on a plate, drift in 3 s", "m", 0.0, still.drift, STILL_DRIFT, "absolute", drift),
        Comparison("mug without margin, speed", "m/s", ROCKING_SPEED, rocking.speed, 0.0, "at_least"),
    ]


def measure(stack: Stack) -> Rattle:
    """Motion of the stack after the start with the largest motion."""
    # Of stacks that all rest round-off would choose one by its acceleration.
    rattles = [_measure(stack, *start) for start in STARTS]
    return max(rattles, key=lambda rattle: (max(rattle.acceleration, SETTLING), rattle.spread))


def mean_spread(stack: Stack) -> float:
    """Spread of the depths, dt^2 g, over ``MANY_STARTS``."""
    return float(np.mean([_measure(stack, *start).spread for start in MANY_STARTS]))


def _measure(stack: Stack, lift: float, direction: float) -> Rattle:
    world = make_world(stack)
    _tilt(world, stack, lift, direction)
    world.step(SETTLING_STEPS)
    depths, heights = [], []
    for _ in range(MEASURED_STEPS):
        world.step()
        depths.append(_depths(world, stack))
        heights.append(_corner_heights(world, stack))
    spread = float(np.std(np.concatenate(depths)))
    acceleration = math.sqrt(np.mean(np.diff(heights, n=2, axis=0) ** 2))
    return Rattle(spread / stack.unit, acceleration / stack.unit)


def make_world(stack: Stack) -> World:
    """Make a world with the stack: the lower box centred at the origin, the upper one resting on it."""
    scene = SceneBuilder(
        "margin_boxes",
        time_step=stack.time_step,
        gravity=(0.0, 0.0, -GRAVITY),
        solver=stack.model,
        contact={
            "modulus": stack.modulus,
            "margin": stack.margin,
            "dissipation": DISSIPATION,
            "friction": FRICTION,
        },
    )
    height = stack.size[2]
    if stack.free:
        scene.add_body("lower", stack.mass).add_shape("box", size=stack.size)
        scene.add_ground(height=-height / 2.0)
    else:
        scene.add_static("lower", "box", size=stack.size)
    scene.add_body("upper", stack.mass, xyz=(0.0, 0.0, height)).add_shape("box", size=stack.size)
    return World(scene.build())


def _tilt(world: World, stack: Stack, lift: float, direction: float) -> None:
    """Tilt the upper box about a horizontal axis, by ``lift`` between its corners; the lowest corner touches."""
    x, y, z = stack.size
    axis = np.array([math.cos(direction), math.sin(direction), 0.0])
    angle = lift * stack.unit / (abs(axis[0]) * y + abs(axis[1]) * x)
    turn = Rotation.from_rotvec(angle * axis)
    q = world.q.copy()
    q[-7:-3] = turn.as_quat()[[3, 0, 1, 2]]
    q[-1] = z / 2.0 - turn.apply(_corners(stack))[:, 2].min()
    world.set_state(q, world.v)


def _corners(stack: Stack) -> Array:
    """Lower corners (4, 3) of a box in its own frame, m."""
    x, y, z = stack.size
    return 0.5 * np.array([[i * x, j * y, -z] for i in (-1.0, 1.0) for j in (-1.0, 1.0)])


def _depths(world: World, stack: Stack) -> Array:
    """Depths p / g of the faces with pressure between the boxes, m; upright ones, of hardly any slope, have none."""
    steep = 0.5 * stack.modulus / (min(stack.size) / 2.0)
    for patch in world.contacts:
        if {patch.name_a, patch.name_b} == {"lower", "upper"}:
            level = (patch.gradients.min(axis=1) > steep) & (patch.pressures > 0.0)
            return patch.pressures[level] * np.sum(1.0 / patch.gradients[level], axis=1)
    return np.zeros(0)


def _corner_heights(world: World, stack: Stack) -> Array:
    """Heights (4,) of the upper box's lower corners above the lower box, m."""
    X_WU = world.frame_pose("upper")
    X_WL = world.frame_pose("lower") if stack.free else np.eye(4)
    p_LC = (_corners(stack) @ X_WU[:3, :3].T + X_WU[:3, 3] - X_WL[:3, 3]) @ X_WL[:3, :3]
    return p_LC[:, 2] - stack.size[2] / 2.0


def plot(report: ExperimentReport, path: Path) -> None:
    """Plot amplitudes over margin and over frequency, like figures 7 and 8.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    with figure(path, 11.0, 4.4) as canvas:
        margins, frequencies = canvas.subplots(1, 2, width_ratios=(1, 1.2))
        _plot_margins(margins, report.series)
        _plot_frequencies(frequencies, report.series)
        for axes in (margins, frequencies):
            axes.set_ylabel("σ(|φ|) / (δt² g)")
            axes.grid(alpha=0.3)
        canvas.suptitle(f"{report.title}: how far faces move, model similar")


def _plot_margins(axes: Axes, series: dict[str, list[float]]) -> None:
    columns = [name for name in series if name.startswith("spread at") and "no margin" not in name]
    for name, colour, marker in zip(columns, ("#7a9a3c", "#c44e24", "#1f5fa8"), "^so", strict=True):
        label = name.removeprefix("spread at ")
        axes.semilogx(series["margin"], series[name], marker + "-", color=colour, lw=1.0, label=label)
        axes.plot(NO_MARGIN, series[f"{name}, no margin"], marker, color=colour, mfc="none")
    axes.text(NO_MARGIN, 0.02, "none", ha="center", fontsize="small", transform=axes.get_xaxis_transform())
    axes.set_xlabel("margin / (δt² g)")
    axes.set_ylim(bottom=0.0)
    axes.legend(frameon=False, fontsize="small", title="E = 1 GPa, δt")


def _plot_frequencies(axes: Axes, series: dict[str, list[float]]) -> None:
    frequency, spread = np.array(series["frequency"]), np.array(series["spread"])
    modulus, volume = np.array(series["modulus"]), np.array(series["volume"])
    colours = ("#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#d8b219")
    for value, colour in zip(MODULI, colours, strict=True):
        for factor, marker in ((1.0, "o"), (2.0, "D"), (8.0, "s"), (64.0, "^")):
            chosen = (modulus == value) & (volume == factor)
            if chosen.any():
                label = f"{value:.0e} Pa" if factor == volume.min() else None
                axes.semilogx(frequency[chosen], spread[chosen], marker, color=colour, ms=5, label=label)
    ends = (0.5, 1e3)
    axes.axvline(NYQUIST, color="black", ls=":", lw=1.0, label="Nyquist, π₁ = π")
    low, high = AMPLITUDE - AMPLITUDE_BOUND, AMPLITUDE + AMPLITUDE_BOUND
    axes.fill_between((NYQUIST, ends[1]), low, high, color="#c44e24", alpha=0.1, lw=0.0, label="Drake's page")
    rest = np.geomspace(*ends, 100)
    axes.semilogx(
        rest, REST_SPREAD / rest**2, "--", color="black", lw=0.8, label=f"{REST_SPREAD:g} / π₁²: at rest"
    )
    axes.set_xlim(*ends)
    axes.set_ylim(0.0, 0.9)
    axes.set_xlabel("π₁ = δt √(k / m), no margin")
    title = "size: ● 1, ◆ 2 along x, ■ 2, ▲ 4"
    axes.legend(
        frameon=False, fontsize="x-small", ncols=2, loc="upper right", title=title, title_fontsize="x-small"
    )
