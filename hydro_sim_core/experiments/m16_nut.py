"""An M16 nut is screwed onto a bolt: it advances by its pitch a turn, against the friction of a screw.

The nut is compliant, of tetrahedra in layers behind its thread (``geometry.compliant_nut``), and free in all six
directions; the bolt is rigid and stands upright. A driver presses the nut down and turns it by a spring and a damper,
which follow an even turn. Contact of the threads is all that keeps the nut upright, in the middle and on its helix.

References are the pitch, and a screw with friction: under the load F a nut that is turned onto a thread with flanks at
30 degrees takes the moment F r (mu cos l - t / N) / (1 / N + mu sin l), where t = tan l = P / (2 pi r),
N^2 = 4 / 3 + t^2, and r is the radius where flanks touch, 7.4 mm in the mean. How far the nut is in the bolt is not
asked of the simulator: it is the overlap of the true threads, without chords, at the poses of the nut. Chords of 48
segments a turn are up to 17 micrometres off the thread, along the radius, so that a stiff nut rises and falls 48 times
a turn. They are farthest off at the largest radius: threads that touched at the crest of the bolt alone, at 7.9 mm,
would take 9 % more than flanks that touch evenly. The moment is between the two, in steps of 0.25 ms as in those of
1 ms.

It is not real time: steps of 1 ms with 1500 to 5500 faces took 6 to 15 ms of a busy processor, and 1.3 to 1.9 ms of a
free one. The task of the same name is, with steps of 8 ms and fewer turns in mesh.
"""

from __future__ import annotations

import math
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.description import SceneBuilder
from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.experiments.report import Comparison, ExperimentReport
from hydro_sim_core.geometry import MetricThread, compliant_nut, metric_bolt, write_surface, write_vtk
from hydro_sim_core.geometry.thread_fit import ThreadFit
from hydro_sim_core.simulation import World

Array = NDArray[np.float64]

SOURCE = "pitch of the thread; a screw with friction, with the basic profile of ISO 68-1"
#: Thread (ISO 261), sizes of nut and bolt, the gap between the threads along the radius, and their chamfers, m.
DIAMETER, PITCH, HEIGHT, WIDTH, LENGTH = 16e-3, 2e-3, 13e-3, 24e-3, 30e-3
CLEARANCE, CHAMFER = 1e-4, 1.2e-3
FIT = ThreadFit(DIAMETER, PITCH, LENGTH, HEIGHT, CLEARANCE, CHAMFER)
#: Radii between which flanks touch: crest of the nut, and of the bolt, m; the mean over the area between.
MINOR, CREST = FIT.minor, FIT.crest
MEAN_RADIUS = 2.0 / 3.0 * (CREST**3 - MINOR**3) / (CREST**2 - MINOR**2)
#: Pressure at the depth of the middle layer, Pa; friction of both; density of the nut, kg/m^3.
MODULUS, FRICTION, DENSITY = 1e8, 0.15, 7850.0
#: Load of the driver, N, its speed, rad/s, and its spring and damper, N m/rad and N m s/rad.
LOAD, SPIN, SPRING, DAMPER = 20.0, 2.0 * math.pi, 0.25, 2e-3
GRAVITY = 9.81
#: Height of the nut at the start, three turns on the bolt, before its flanks are let down onto those of the bolt, m;
#: turns that are not measured, and those that are.
START, SETTLING, TURNS = LENGTH - 3.0 * PITCH, 0.25, 3
#: Steps between two looks.
EVERY = 10
#: Bounds: on the advance in a turn and on the overlap, as shares of the pitch, and on the
#: moment with flanks that touch evenly, and that touch at the crest of the bolt.
ADVANCE_BOUND, OVERLAP_BOUND, MOMENT_BOUND, CREST_BOUND = 0.0014, 0.0025, 0.06, 0.06
#: The last one where a turn alone is measured.
SHORT_CREST_BOUND = 0.07


def run(turns: int = TURNS) -> ExperimentReport:
    """Screw the nut on.

    Args:
        turns: Turns that are measured.
    """
    table = screw(make_world(), turns)
    turned = table["turns"]
    marks = np.interp(SETTLING + np.arange(turns + 1), turned, table["descent"])
    measured = turned >= SETTLING
    overlap = 1e3 * max(table["overlap"][measured])
    moment, load = float(table["moment"][measured].mean()), float(table["load"][0])
    comparisons = [
        Comparison(f"advance in turn {i + 1}", "mm", 1e3 * PITCH, 1e3 * float(a), ADVANCE_BOUND, "relative")
        for i, a in enumerate(np.diff(marks))
    ]
    comparisons += [
        Comparison("overlap of the true threads", "mm", 1e3 * OVERLAP_BOUND * PITCH, overlap, 0.0, "at_most"),
        Comparison("moment", "N m", screw_moment(load), moment, MOMENT_BOUND, "relative"),
        Comparison(
            "moment, as flanks touch at the crest",
            "N m",
            screw_moment(load, CREST),
            moment,
            CREST_BOUND if turns > 1 else SHORT_CREST_BOUND,
            "relative",
        ),
    ]
    series = {name: column.tolist() for name, column in table.items()}
    return ExperimentReport("An M16 nut on its bolt", SOURCE, tuple(comparisons), series)


def make_world(modulus: float = MODULUS, segments: int = 48) -> World:
    """Make the world with the nut three turns on the bolt, on whose axis z is.

    Args:
        modulus: Pressure at the depth of the nut's middle layer, Pa.
        segments: Segments of both threads a turn.
    """
    thread = MetricThread(DIAMETER, PITCH, chamfer=CHAMFER, segments=segments)
    nut = compliant_nut(thread, HEIGHT, WIDTH, modulus=modulus)
    bolt = metric_bolt(replace(thread, clearance=CLEARANCE), LENGTH)
    # Slow to import.
    import trimesh

    solid = trimesh.Trimesh(nut.vertices, nut.surface_triangles(), process=False)
    solid.density = DENSITY
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_vtk(nut, folder / "nut.vtk")
        write_surface(bolt, folder / "bolt.obj")
        scene = SceneBuilder("m16 nut", gravity=(0.0, 0.0, -GRAVITY))
        scene.add_static("bolt", "mesh", path=str(folder / "bolt.obj"), compliance="rigid", friction=FRICTION)
        inertial = (solid.mass, None, solid.center_mass, solid.moment_inertia)
        body = scene.add_body("nut", *inertial, xyz=(0.0, 0.0, START - CLEARANCE / math.sqrt(3.0)))
        body.add_shape("mesh", path=str(folder / "nut.vtk"), modulus=modulus, margin=0.0, friction=FRICTION)
        return World(scene.build())


def screw(world: World, turns: int) -> dict[str, Array]:
    """Turn the nut down and look at it now and then.

    Returns:
        Columns by look: turns, way down from the start and distance from the axis (m), tilt (rad), moment (N m) and
        load (N) of the driver and weight, overlap of the true threads (m), faces, and processor time a step (s).
    """
    rows: list[tuple[float, ...]] = []
    angle, before, step = 0.0, 0.0, 0
    weight = GRAVITY * world.mass_matrix()[5, 5]
    begin = time.thread_time()
    while not rows or rows[-1][0] < turns + SETTLING:
        X_WN = world.frame_pose("nut")
        heading = -math.atan2(X_WN[1, 0], X_WN[0, 0])
        angle += (heading - before + math.pi) % (2.0 * math.pi) - math.pi
        before = heading
        moment = SPRING * (SPIN * world.time - angle) + DAMPER * (SPIN + float(world.v[2]))
        world.apply_wrench("nut", (0.0, 0.0, -moment, 0.0, 0.0, -LOAD))
        world.step()
        step += 1
        if step % EVERY == 0:
            spent = (time.thread_time() - begin) / EVERY
            rows.append(
                (
                    angle / (2.0 * math.pi),
                    START - X_WN[2, 3],
                    math.hypot(X_WN[0, 3], X_WN[1, 3]),
                    math.acos(min(X_WN[2, 2], 1.0)),
                    moment,
                    LOAD + weight,
                    FIT.overlap(X_WN),
                    float(world.diagnostics()["faces"]),
                    spent,
                )
            )
            begin = time.thread_time()
    names = (
        "turns",
        "descent",
        "off the axis",
        "tilt",
        "moment",
        "load",
        "overlap",
        "faces",
        "time of a step",
    )
    return dict(zip(names, np.array(rows).T, strict=True))


def screw_moment(load: float, radius: float = MEAN_RADIUS) -> float:
    """Moment (N m) that turns the nut onto the bolt under a load (N), whose flanks touch at a radius (m)."""
    rise = PITCH / (2.0 * math.pi * radius)
    lead, normal = math.atan(rise), math.sqrt(4.0 / 3.0 + rise**2)
    turning = FRICTION * math.cos(lead) - rise / normal
    return load * radius * turning / (1.0 / normal + FRICTION * math.sin(lead))


def plot(report: ExperimentReport, path: Path) -> None:
    """Plot how the nut descends, how far it is off its helix and in the bolt, and what turns it.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    series = {name: np.array(column) for name, column in report.series.items()}
    turns = series["turns"]
    with figure(path, 9.5, 3.2) as canvas:
        descent, off, moment = canvas.subplots(1, 3)
        descent.plot(turns, 1e3 * (series["descent"] - series["descent"][0]), color="#1f5fa8", label="nut")
        descent.plot(turns, 1e3 * PITCH * (turns - turns[0]), "k--", lw=0.8, label="2 mm a turn")
        descent.set_ylabel("way down [mm]")
        helix = PITCH * turns - series["descent"]
        off.plot(
            turns,
            1e6 * (helix - helix[turns >= SETTLING].mean()),
            color="#1f5fa8",
            lw=0.8,
            label="off its helix",
        )
        off.plot(turns, 1e6 * series["overlap"], color="#c44e24", lw=0.8, label="overlap of the threads")
        off.set_ylim(-6.0, 10.0)
        off.axhline(1e6 * OVERLAP_BOUND * PITCH, color="k", lw=0.8, ls=":", label="0.25 % of the pitch")
        off.set_ylabel("[µm]")
        moment.plot(turns, 1e3 * series["moment"], color="#1f5fa8", lw=0.8, label="driver")
        for radius, label in ((MEAN_RADIUS, "flanks touch evenly"), (CREST, "flanks touch at the crest")):
            expected = 1e3 * screw_moment(series["load"][0], radius)
            moment.axhline(
                expected, color="k", lw=0.8, ls="--" if radius == MEAN_RADIUS else ":", label=label
            )
        moment.set_ylim(0.0, None)
        moment.set_ylabel("moment [N mm]")
        for axes in (descent, off, moment):
            axes.set_xlabel("turns")
            axes.grid(alpha=0.3)
            axes.legend(frameon=False, fontsize="x-small")
        canvas.suptitle(f"{report.title}, pressed by {LOAD:g} N")
