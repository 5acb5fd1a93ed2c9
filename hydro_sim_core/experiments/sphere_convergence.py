"""The force of a faceted sphere on a half space converges to that of a sphere at second order in the edge length.

Two pairs have a closed form. A compliant sphere of radius R and modulus E has the pressure E (1 - r / R) at distance r
from its centre; a rigid plane at distance h from it cuts a disc, over which that integrates to F = 2 pi E ((R^2 - h^2)
/ 2 - (R^3 - h^3) / (3 R)). A compliant half space whose pressure rises by s per metre presses on a rigid sphere of
depth d = R - h like a liquid: s times the volume of the cap, F = s pi d^2 (3 R - d) / 3.

A mesh of edges up to e has its vertices on the sphere and contains one of radius R' = sqrt(R^2 - e^2 / 3), as long as
no triangle is obtuse. Its pressure lies between theirs everywhere, so its force lies between F(R') and F(R).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from hydro_sim_core.contact import compute_patch
from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.experiments.report import Comparison, ExperimentReport
from hydro_sim_core.geometry import Geometry, half_space, sphere
from hydro_sim_core.geometry.simplices import longest_edges

SOURCE = "the pressure integrated over a true sphere; bounds: the sphere that the mesh contains, second order"
RADIUS = 0.1
#: Height of the centre above the plane, m.
HEIGHT = 0.06
MODULUS = 1e5
SLAB_THICKNESS = 0.25
#: Edge lengths, m: each mesh splits the triangles of the one before in four.
RESOLUTIONS = (0.04, 0.02, 0.01, 0.005, 0.0025)
#: Number of orientations of a mesh: the error depends on the orientation, the mean over several much less.
ORIENTATIONS = Rotation.random(8, random_state=np.random.default_rng(7)).as_matrix()
#: Bounds on the fitted exponent; the coarsest mesh still shows terms of higher order.
ORDER_BOUNDS = {"compliant sphere, rigid plane": 0.05, "rigid sphere, compliant half space": 0.025}


@dataclass(frozen=True)
class Pair:
    """A sphere on a half space.

    Attributes:
        name: Name of the pair.
        modulus: Modulus of the sphere, Pa; None for a rigid one.
        ground: The half space.
        force: Closed form: force, N, of a sphere of the given radius, m.
    """

    name: str
    modulus: float | None
    ground: Geometry
    force: Callable[[float], float]


def _force_of_compliant_sphere(radius: float) -> float:
    section = (radius**2 - HEIGHT**2) / 2.0 - (radius**3 - HEIGHT**3) / (3.0 * radius)
    return 2.0 * math.pi * MODULUS * section


def _force_on_rigid_sphere(radius: float) -> float:
    depth = radius - HEIGHT
    return MODULUS / SLAB_THICKNESS * math.pi * depth**2 * (3.0 * radius - depth) / 3.0


PAIRS = (
    Pair("compliant sphere, rigid plane", MODULUS, half_space(), _force_of_compliant_sphere),
    Pair(
        "rigid sphere, compliant half space",
        None,
        half_space(MODULUS, slab_thickness=SLAB_THICKNESS),
        _force_on_rigid_sphere,
    ),
)


def run(resolutions: Sequence[float] = RESOLUTIONS) -> ExperimentReport:
    """Press spheres of several meshes on the half spaces and fit the order of their error.

    Args:
        resolutions: Edge lengths, m, from coarse to fine; at least two that differ by a factor of two or more.
    """
    comparisons: list[Comparison] = []
    series: dict[str, list[float]] = {}
    for pair in PAIRS:
        exact = pair.force(RADIUS)
        balls = [sphere(RADIUS, resolution=resolution, modulus=pair.modulus) for resolution in resolutions]
        edges = [_longest_edge(ball) for ball in balls]
        forces = [_mean_force(ball, pair.ground) for ball in balls]
        errors = [abs(force / exact - 1.0) for force in forces]
        order = float(np.polyfit(np.log(edges), np.log(errors), 1)[0])
        comparisons.append(
            Comparison(f"order, {pair.name}", "", 2.0, order, ORDER_BOUNDS[pair.name], "absolute")
        )
        bounds = [1.0 - pair.force(math.sqrt(RADIUS**2 - edge**2 / 3.0)) / exact for edge in edges]
        comparisons += [
            Comparison(f"force, edges of {1e3 * edge:.1f} mm", "N", exact, force, bound, "relative")
            for edge, force, bound in zip(edges, forces, bounds, strict=True)
        ]
        series |= {"edge": edges, f"error, {pair.name}": errors, f"bound, {pair.name}": bounds}
    return ExperimentReport("Sphere on a half space", SOURCE, tuple(comparisons), series)


def _longest_edge(ball: Geometry) -> float:
    return float(longest_edges(ball.vertices, ball.surface_triangles()).max())


def _mean_force(ball: Geometry, ground: Geometry) -> float:
    X_WS = np.eye(4)
    X_WS[2, 3] = HEIGHT
    forces = []
    for rotation in ORIENTATIONS:
        X_WS[:3, :3] = rotation
        forces.append(-compute_patch(ball, X_WS, ground, np.eye(4)).force_on_b[2])
    return float(np.mean(forces))


def plot(report: ExperimentReport, path: Path) -> None:
    """Plot the error over the edge length, with its bound and the fitted order.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    edges = 1e3 * np.array(report.series["edge"])
    orders = [comparison.measured for comparison in report.comparisons if comparison.unit == ""]
    with figure(path, 6.4, 4.6) as canvas:
        axes = canvas.subplots()
        for pair, order, colour, marker in zip(PAIRS, orders, ("#1f5fa8", "#c44e24"), "os", strict=True):
            errors = np.array(report.series[f"error, {pair.name}"])
            bounds = report.series[f"bound, {pair.name}"]
            fit = np.exp(np.log(errors).mean()) * (edges / np.exp(np.log(edges).mean())) ** order
            axes.loglog(edges, errors, marker, color=colour, label=pair.name)
            axes.loglog(edges, fit, color=colour, lw=1.0, label=f"fitted order {order:.3f}")
            axes.loglog(edges, bounds, ":", color=colour, lw=1.2, label="bound")
        axes.set_xticks(edges, [f"{edge:.1f}" for edge in edges])
        axes.minorticks_off()
        axes.set_xlabel("longest edge of the mesh [mm]")
        axes.set_ylabel("relative error of the force")
        axes.set_title(f"{report.title}: R = {1e3 * RADIUS:g} mm, {1e3 * (RADIUS - HEIGHT):g} mm deep")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize="small")
