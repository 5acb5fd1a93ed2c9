"""What a step loses because a face presses at points, and not with what is left of its pressure at the step's end.

A box of 2.4 kg, of 1 to 100 MPa, lands, rocks and is lifted on rigid ground, in a plane, in steps of 1 ms without
dissipation and friction. Its faces press at three points, those in the margin and those with pressure of both signs at
one. At each point pressure ends at zero; the exact integral ends it along a line within the face. That integral is
known for a flat underside, as a function of the velocities after the step. Two comparisons:

- the impulse of every step, from the change of momentum, beside the exact one for the same velocities. Steps that are
  taken in pieces are left out: their velocities are not those at which the impulse was found;
- the motion beside one of steps with the exact integral.

Without a margin faces are missing, too, where the box comes down within a step. And the rim of a box bears nothing in a
step: what is missing at rest, the depth over the size of the box.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from measure import output_argument, write
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from hydro_sim_core.experiments.flat_box import GRAVITY, INERTIA, MASS, SIZE, FlatBox, tilt_of
from hydro_sim_core.simulation import World

Array = NDArray[np.float64]
MODULI, TIME_STEP, STEPS = (1e6, 1e7, 1e8), 1e-3, 300
LENGTH, WIDTH, HEIGHT = SIZE
INERTIAS = np.array([MASS, INERTIA[0]])


class Start(NamedTuple):
    """How a motion begins.

    Attributes:
        height: Of the underside's middle above where it rests, m.
        tilt: Tilt, rad.
        speed: Upwards, m/s.
        rate: Of the tilt, rad/s.
    """

    height: float
    tilt: float
    speed: float
    rate: float


STARTS = {
    "set down flat": Start(1e-4, 0.0, -0.05, 0.0),
    "lands tilted by 1 mrad": Start(2e-4, 1e-3, -0.05, 0.0),
    "lands tilted by 20 mrad": Start(2e-3, 2e-2, -0.05, 0.0),
    "rocks": Start(0.0, 0.0, 0.0, 0.05),
    "rocks, edges lifted": Start(0.0, 0.0, 0.0, 0.3),
    "lifted off while it turns": Start(0.0, 0.0, 0.02, 0.2),
}


def exact_impulse(bedding: float, z: float, tilt: float, speed: float, rate: float) -> Array:
    """Impulse (N s) and its moment about the centre of mass (N m s) of a step that ends with these velocities.

    Positions and velocities are of the centre of mass, and of the tilt about the long axis. The pressure at a place y
    across the underside is linear: that at the beginning of the step, less what parts the bodies within it. Where it is
    below zero nothing presses.
    """
    sine, cosine = math.sin(tilt), math.cos(tilt)
    # Heights of the underside above the ground and their rates: those of y = 0 and slopes over y.
    low, slope = z - 0.5 * HEIGHT * cosine, sine
    rises, turns = speed + 0.5 * HEIGHT * sine * rate, cosine * rate
    p, s = -bedding * (low + TIME_STEP * rises), -bedding * (slope + TIME_STEP * turns)
    first, last = -0.5 * WIDTH, 0.5 * WIDTH
    if s > 0.0:
        first = min(max(first, -p / s), last)
    elif s < 0.0:
        last = max(min(last, -p / s), first)
    elif p < 0.0:
        last = first
    powers = [(last**n - first**n) / n for n in (1, 2, 3)]
    force, first_moment = p * powers[0] + s * powers[1], p * powers[1] + s * powers[2]
    lever = 0.5 * HEIGHT * sine
    return TIME_STEP * LENGTH * np.array([force, cosine * first_moment + lever * force])


def exact_motion(box: FlatBox, q: Array, v: Array) -> tuple[Array, Array]:
    """Positions and velocities (STEPS + 1, 2) of steps with the exact integral."""
    path = [(q, v)]
    for _ in range(STEPS):
        free, after = v - [GRAVITY * TIME_STEP, 0.0], v
        for _ in range(50):
            residual = INERTIAS * (after - free) - exact_impulse(box.bedding, *q, *after)
            if np.abs(residual).max() < 1e-13:
                break
            after = after - np.linalg.solve(np.diag(INERTIAS) - _slope(box, q, after), residual)
        q, v = q + TIME_STEP * after, after
        path.append((q, v))
    return np.array([q for q, _ in path]), np.array([v for _, v in path])


def _slope(box: FlatBox, q: Array, v: Array) -> Array:
    """Slope (2, 2) of the exact impulse over the velocities."""
    ahead, behind = (
        np.array([exact_impulse(box.bedding, *q, *(v + d)) for d in step * np.eye(2)])
        for step in (1e-7, -1e-7)
    )
    return np.asarray((ahead - behind).T / 2e-7)


def motion(box: FlatBox, start: Start, margin: float | None) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Positions and velocities (STEPS + 1, 2) of a world, and whether each step (STEPS,) was taken whole."""
    # Its tilt moves the middle of the underside, not the centre of mass.
    height = start.height - box.depth + 0.5 * HEIGHT * (math.cos(start.tilt) - 1.0)
    world = box.world({}, TIME_STEP, height=height, tilt=start.tilt, dissipation=0.0, margin=margin)
    v = world.v.copy()
    v[0], v[5] = start.rate, start.speed
    world.set_state(world.q, v)
    states, in_pieces = [_state(world)], [0]
    for _ in range(STEPS):
        world.step()
        states.append(_state(world))
        counts = world.diagnostics()
        in_pieces.append(sum(int(counts.get(name, 0)) for name in ("fast_steps", "cut_steps")))
    path = np.array(states)
    return path[:, :2], path[:, 2:], np.diff(in_pieces) == 0


def _state(world: World) -> tuple[float, ...]:
    return float(world.frame_pose("box")[2, 3]), tilt_of(world), float(world.v[5]), float(world.v[0])


def row(name: str, box: FlatBox, margin: float | None) -> dict[str, Any]:
    """What the steps of a motion lose, as shares of the largest force, and of that at half of the box's width."""
    q, v, whole = motion(box, STARTS[name], margin)
    given = INERTIAS * np.diff(v, axis=0) + [MASS * GRAVITY * TIME_STEP, 0.0]
    pairs = zip(q[:-1], v[1:], strict=True)
    exact = np.array([exact_impulse(box.bedding, *before, *after) for before, after in pairs])
    size = exact[whole, 0].max() * np.array([1.0, 0.5 * WIDTH])
    missing = ((exact - given) / size)[whole]
    exact_q, _ = exact_motion(box, q[0], v[0])
    apart = np.abs(q - exact_q).max(axis=0) * [1.0, 0.5 * WIDTH]
    return {
        "motion": name,
        "modulus": box.modulus,
        "margin": box.default_margin(TIME_STEP) if margin is None else margin,
        "in_pieces": int(np.count_nonzero(~whole)),
        "missing_force": float(missing[:, 0].max()),
        "excess_force": float(-missing[:, 0].min()),
        "moment": float(np.abs(missing[:, 1]).max()),
        "missing_in_all": float(missing[:, 0].sum() * size[0] / exact[whole, 0].sum()),
        "apart": float(apart.max()),
        "depth": box.depth,
    }


def main() -> None:
    """Measure, print a table and write the numbers."""
    out = output_argument(__doc__.splitlines()[0], "partial_faces")
    rows = [
        row(name, FlatBox(modulus), margin) for modulus in MODULI for name in STARTS for margin in (0.0, None)
    ]
    title = (
        "exact impulse of a step less that given, over the largest of the motion; edges off the exact motion"
    )
    table = Table(title=title)
    headings = ("motion", "Pa", "margin, mm", "in pieces", "missing", "excess", "moment", "in all", "off, um")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "motion" else "right")
    for r in rows:
        shares = (f"{r[key]:.1e}" for key in ("missing_force", "excess_force", "moment", "missing_in_all"))
        counts = f"{r['modulus']:g}", f"{1e3 * r['margin']:g}", str(r["in_pieces"])
        table.add_row(r["motion"], *counts, *shares, f"{1e6 * r['apart']:.2g}")
    Console(width=130).print(table)
    write(out, {"time_step": TIME_STEP, "steps": STEPS, "rows": rows})


if __name__ == "__main__":
    main()
