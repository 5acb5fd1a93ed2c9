"""Thin plates in the shipped Soft-bubble gripper feel the whole grip force and slip at the pull of Coulomb's law.

The fingers close by a force of 8 N each on plates from 10 to 0.5 mm. Pressed in, the bubbles reach farther than the
middle of a thin plate: their surfaces overlap inside it. What lies there belongs to the plate, so the fingers do not
press each other through it; a finger that did would spare the plate that part of its force. On a strip narrower than
the patches they do touch each other, beside it, and the force is shared.

References are the balance of a finger and Coulomb's law: what a finger presses on is the commanded force F in sum, and
two fingers hold 2 mu F of an object on which each presses with F, with mu the harmonic mean of both materials'.

Friction is measured by motion alone, not by the contact forces that the simulator tells: an object in the settled grip
is pulled by a slowly growing force, downwards or out of the gripper, and friction is what its mass times its
acceleration lacks to weight and pull. It is the most that is carried before the object slides at some centimetres per
second; faces creep long before, which is not slip of the whole. The pull at which it slips is the load, weight and
pull, at ten times the stiction speed; regularised friction is then half a percent short of Coulomb's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.assets import folder
from hydro_sim_core.description import SceneBuilder
from hydro_sim_core.drawing.figures import figure, pressure_colours
from hydro_sim_core.experiments.report import Comparison, ExperimentReport
from hydro_sim_core.simulation import World

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

SOURCE = "balance of a finger and Coulomb's law"
#: Commanded force of each finger, N.
FORCE = 8.0
#: Friction of the plates, and of the bubbles by their URDF.
PLATE_FRICTION, BUBBLE_FRICTION = 0.5, 1.0
FRICTION = 2.0 * PLATE_FRICTION * BUBBLE_FRICTION / (PLATE_FRICTION + BUBBLE_FRICTION)
STICTION_SPEED = 1e-4
#: Of the solver: with the default what is at rest drifts by 3e-10 of the force within it.
TOLERANCE = 1e-12
#: Mass of each object, kg, its length, m, and gravity, m/s^2.
MASS, LENGTH, GRAVITY = 0.02, 0.2, 9.81
#: Width of the patches along the fingers, m.
PATCH_WIDTH = 0.052
#: Where the bubbles' apexes meet, m.
CENTRE = (0.182, 0.0, 0.25)
#: Directions of the pull.
PULLS = {"downwards": (0.0, 0.0, -1.0), "outwards": (1.0, 0.0, 0.0)}
#: Growth of the pull, N/s, and time to settle, s.
RATE, SETTLING_TIME = 20.0, 0.5
#: Speed of an object that slips, m/s, and the one at which friction is fully developed.
SLIPPING, SLIDING = 10.0 * STICTION_SPEED, 0.05
#: Bound on forces: round-off. On friction: an object moves by a millimetre before it slides, and the patches with it,
#: most of all on the strip that is pulled out. On the load at slip onset: what regularised friction lacks at ten
#: stiction speeds.
FORCE_BOUND = 1.9e-14
MEASURED = {
    "friction": {"downwards": 4.6e-6, "outwards": 1.7e-5},
    "load at slip onset": {"downwards": 0.0072, "outwards": 0.011},
}
OF_STRIP = {
    "friction": {"downwards": 4e-6, "outwards": 7.1e-5},
    "load at slip onset": {"downwards": 0.0079, "outwards": 0.0055},
}
#: Longest pull in its expected value, after which an object that was not seen to slide has held too much.
MOST = 2.0


@dataclass(frozen=True)
class Held:
    """An object in the grip.

    Attributes:
        name: In the report.
        thickness: m.
        width: Along the fingers, m.
    """

    name: str
    thickness: float
    width: float = 0.1

    @property
    def is_narrow(self) -> bool:
        """Whether the fingers touch each other beside it."""
        return self.width < PATCH_WIDTH


CASES = (
    Held("plate of 10 mm", 0.01),
    Held("plate of 2 mm", 0.002),
    Held("plate of 1 mm", 0.001),
    Held("plate of 0.5 mm", 0.0005),
    Held("strip of 1 mm", 0.001, 0.02),
)
#: The cases of the quick form.
QUICK = CASES[3:]
#: Those of which the picture shows the patches.
SHOWN = ("plate of 0.5 mm", "strip of 1 mm")


def run(cases: Sequence[Held] = CASES) -> ExperimentReport:
    """Grip every object, compare the forces on it, and pull it until it slides.

    Args:
        cases: Objects; for the picture, those of ``SHOWN`` among them.
    """
    comparisons: list[Comparison] = []
    series: dict[str, list[float]] = {"force": [], "force between fingers": []}
    deep = 0
    for case in cases:
        world = make_world(case)
        world.step(round(SETTLING_TIME / world.time_step))
        forces = world.grip_forces_on()
        on_it = forces.pop("held")
        between = sum(forces.values())
        series["force"].append(on_it)
        series["force between fingers"].append(between)
        comparisons.append(_compare_forces(case, on_it, between))
        if case.name in SHOWN:
            series |= _patches(case, world)
        capacity = 2.0 * FRICTION * (on_it if case.is_narrow else FORCE)
        for direction in PULLS:
            pulled = world.copy()
            comparisons += _compare_pull(case, direction, capacity, pulled, series)
            deep += int(pulled.diagnostics()["deep_steps"])
    comparisons.append(Comparison("steps past a medial surface", "", 0.0, deep, 0.0, "absolute"))
    return ExperimentReport("Thin plates in a Soft-bubble gripper", SOURCE, tuple(comparisons), series)


def _compare_forces(case: Held, on_it: float, between: float) -> Comparison:
    """Compare what a finger presses on: a plate alone, or a strip and the other finger."""
    where, force = ("it and the other finger", on_it + between) if case.is_narrow else ("it", on_it)
    return Comparison(
        f"{case.name}: force of a finger on {where}", "N", FORCE, force, FORCE_BOUND, "relative"
    )


def _compare_pull(
    case: Held, direction: str, capacity: float, world: World, series: dict[str, list[float]]
) -> list[Comparison]:
    """Pull an object in the grip and compare what friction carries; add the columns of the pull."""
    load, friction, speed = pull(world, direction, capacity)
    series[f"load, {case.name}, {direction}"] = load.tolist()
    series[f"speed, {case.name}, {direction}"] = speed.tolist()
    slips, bounds = speed > SLIPPING, OF_STRIP if case.is_narrow else MEASURED
    measured = {
        "friction": float(friction.max()),
        "load at slip onset": float(load[slips.argmax()]) if slips.any() else math.nan,
    }
    for quantity, value in measured.items():
        series.setdefault(f"{quantity}, {direction}", []).append(value)
    return [
        Comparison(
            f"{case.name}, {direction}: {quantity}",
            "N",
            capacity,
            value,
            bounds[quantity][direction],
            "relative",
        )
        for quantity, value in measured.items()
    ]


def pull(world: World, direction: str, capacity: float) -> tuple[Array, Array, Array]:
    """Pull the object by a growing force until it slides.

    Args:
        world: With the object in a settled grip; it is changed.
        direction: One of ``PULLS``.
        capacity: Expected friction, N, which ends the pull of an object that holds ``MOST`` times as much.

    Returns:
        Weight and pull together, friction on the object by its motion (both N), and its speed (m/s), by step.
    """
    first = world.velocity_names.index("held_base/3")
    weight = np.array([0.0, 0.0, -MASS * GRAVITY])
    rows, before, step = [], world.v[first : first + 3], 0
    while True:
        step += 1
        applied = RATE * step * world.time_step * np.array(PULLS[direction])
        world.apply_wrench("held", (0.0, 0.0, 0.0, *applied))
        world.step()
        after = world.v[first : first + 3]
        load = float(np.linalg.norm(weight + applied))
        friction = MASS * (after - before) / world.time_step - weight - applied
        rows.append((load, float(np.linalg.norm(friction)), float(np.linalg.norm(after))))
        before = after
        if rows[-1][2] > SLIDING or load > MOST * capacity:
            return tuple(np.array(rows).T)  # type: ignore[return-value]


def make_world(case: Held) -> World:
    """Make a world with the gripper about an object, its bubbles just touching it."""
    scene = SceneBuilder(
        "thin plates",
        gravity=(0.0, 0.0, -GRAVITY),
        solver={"stiction_speed": STICTION_SPEED, "tolerance": TOLERANCE},
        damping="hunt_crossley",
    )
    # The fingers point along +x and close along y.
    scene.add_urdf(
        folder("urdf") / "wsg50_soft_bubble.urdf.xacro",
        "gripper",
        xyz=(0.0, 0.0, CENTRE[2]),
        rpy=(0.0, -math.pi / 2.0, 0.0),
        positions={
            "left_finger_joint": -0.5 * case.thickness,
            "right_finger_joint": 0.5 * case.thickness,
        },
    )
    held = scene.add_body("held", MASS, xyz=CENTRE)
    size = (case.width, case.thickness, LENGTH)
    held.add_shape("box", size=size, compliance="rigid", friction=PLATE_FRICTION)
    fingers = {"left_finger_joint": 1, "right_finger_joint": -1}
    scene.add_gripper("gripper", fingers, max_force=80.0, kp=2000.0, kd=30.0)
    scene.add_command(FORCE, gripper="gripper", mode="force")
    return World(scene.build())


def _patches(case: Held, world: World) -> dict[str, list[float]]:
    """Columns with the faces of the left finger: place in the plane of the object, mm, and pressure, kPa."""
    rows: list[Array] = []
    for patch in world.contacts:
        if "left_finger" in (patch.name_a, patch.name_b):
            places = 1e3 * (patch.centroids - CENTRE)[:, [0, 2]]
            # The rest of a patch lies in the margin.
            pressed = patch.pressures > 0.0
            rows.append(np.column_stack([places, 1e-3 * patch.pressures])[pressed])
    x, z, pressure = np.concatenate(rows).T.tolist()
    return {f"x, {case.name}": x, f"z, {case.name}": z, f"pressure, {case.name}": pressure}


def plot(report: ExperimentReport, path: Path) -> None:
    """Plot the speed of every object over its load, and the pressures of a finger on a plate and around a strip.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    with figure(path, 9.5, 3.4) as canvas:
        curves, *maps = canvas.subplots(1, 1 + len(SHOWN), width_ratios=(1.5, *len(SHOWN) * (1.0,)))
        _plot_speed(curves, report.series)
        most = max(max(report.series[f"pressure, {name}"]) for name in SHOWN)
        for axes, name in zip(maps, SHOWN, strict=True):
            dots = _plot_patch(axes, next(c for c in CASES if c.name == name), report.series, most)
        canvas.colorbar(dots, ax=maps, label="pressure of the left finger [kPa]")
        canvas.suptitle(f"{report.title}: {FORCE:g} N a finger, friction {FRICTION:.3g}")


def _plot_speed(axes: Axes, series: dict[str, list[float]]) -> None:
    share = np.linspace(0.0, 0.99999, 2000)[1:]
    creep = 1e3 * STICTION_SPEED * share / np.sqrt(1.0 - share**2)
    axes.semilogy(share, creep, color="#c44e24", label="regularised friction, at rest")
    axes.axvline(1.0, color="k", lw=0.8, label="Coulomb's law")
    axes.axhline(1e3 * SLIPPING, color="k", ls=":", lw=0.8, label="slip onset")
    forces = iter(series["force"])
    for i, case in enumerate(CASES):
        if f"load, {case.name}, downwards" not in series:
            continue
        capacity = 2.0 * FRICTION * next(forces)
        for direction, filled in zip(PULLS, (True, False), strict=True):
            load, speed = (
                np.array(series[f"{kind}, {case.name}, {direction}"]) for kind in ("load", "speed")
            )
            axes.plot(
                load / capacity,
                1e3 * speed,
                "osD^v"[i],
                ms=4.0,
                mfc="#1f5fa8" if filled else "none",
                color="#1f5fa8",
                # Each object at loads of its own, so that none hides another.
                markevery=(8 * i + 4 * filled, 40),
                label=case.name if filled else None,
            )
    axes.set_xlim(0.0, 1.06)
    axes.set_ylim(2e-3, 60.0)
    axes.set_xlabel("weight and pull, in 2 µ times the force of a finger on it")
    axes.set_ylabel("speed [mm/s]")
    axes.set_title("pulled downwards (filled) and outwards (open)", fontsize="medium")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize="x-small", loc="upper left")


def _plot_patch(axes: Axes, case: Held, series: dict[str, list[float]], most: float) -> Any:
    dots = axes.scatter(
        series[f"x, {case.name}"],
        series[f"z, {case.name}"],
        c=series[f"pressure, {case.name}"],
        cmap=pressure_colours(),
        vmin=0.0,
        vmax=most,
        s=12.0,
    )
    for side in (-0.5, 0.5):
        axes.axvline(1e3 * side * case.width, color="k", lw=0.8)
    axes.set_xlim(-54.0, 54.0)
    axes.set_ylim(-40.0, 40.0)
    axes.set_aspect("equal")
    axes.set_title(case.name, fontsize="medium")
    axes.set_xlabel("along the fingers [mm]")
    return dots
