"""Force of one sphere on another as it is moved along and across it, with gradient and Hessian, beside MuJoCo.

Beker 2025, figures 1 and 5: a small sphere is moved through a large one that is fixed. The paper draws profiles and
gives no numbers; radii, stiffness and temperatures are chosen. What its text says of them is compared:

- In contact, where the depth is many times e3, the force is k times the mean depth, and its slope is -k. On a cap
  depths are spread so that the mean is e2 less than the largest.
- Without contact the force falls as exp(-gap / e3), so that gradient and Hessian are -F / e3 and F / e3^2: not zero.
  MuJoCo's are zero there.
- The profile is twice differentiable, and MuJoCo's has corners and jumps: as the distance of samples is halved, the
  largest change of the gradient between neighbours halves under smooth contact (ratio 2), and does not where there is
  a corner (ratio 1). MuJoCo's ratio stands beside it.
- "An unstable equilibrium state when two spheres are concentric". Differs at these temperatures: there is no force,
  but the equilibrium is stable, with slope -k (d / e2 + 1) / 3, d being the difference of the radii. The deepest point
  of a small sphere wholly inside is on the side away from which it moved, and is pushed out on that side: the middle
  draws it in, and it escapes only beyond the difference of the radii. Stiff contact never comes there, as the paper
  says too.

Gradients are those of the compiled kernels, compared with central differences of the force; Hessians are central
differences of the gradients.
"""

from __future__ import annotations

from dataclasses import astuple
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.compilation import Handle
from hydro_sim_core.contact.soft_distance import OrientedCloud, SoftContactModel
from hydro_sim_core.contact.soft_distance.kernels import make_pair_memory, pair_wrench
from hydro_sim_core.contact.soft_distance.weighing import balls_of_blocks, order_in_blocks
from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.experiments.report import Comparison, ExperimentReport
from hydro_sim_core.experiments.ssdf_isosurface import sphere_cloud
from hydro_sim_core.experiments.verdicts import require_mujoco, with_verdicts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

SOURCE = "the text of Beker 2025, section IV-B, in closed forms; MuJoCo"
#: Radii of the fixed and of the moved sphere, m, and their points.
FIXED, MOVED, POINTS = 0.1, 0.05, 256
MODEL = SoftContactModel(1e3, 0.0, 0.2, 0.01, 2e-5, 2e-3, 2e-3)
#: Line of figure 1: places along y, m, and the offset across it, m, so that the spheres are never concentric.
ALONG, ACROSS = np.linspace(-0.25, 0.25, 201), 1e-3
#: Grid of figure 5.
GRID, WIDTH = 20, 0.2
#: Depths and gaps at which the force is compared, m.
DEPTH, GAPS = 0.02, (0.01, 0.02)
_STEP = 1e-6
#: What differs from the paper.
STABLE = "concentric: slope (the paper's is positive)"
#: Bounds: what so many points leave of spheres, and round-off of differences.
_FORCE_BOUND, _SLOPE_BOUND, _FALL_BOUND, _FAR_SLOPE_BOUND, _FAR_BEND_BOUND = 0.018, 0.09, 0.06, 0.02, 0.05
_MIDDLE_BOUND, _MIDDLE_SLOPE_BOUND, _GRADIENT_BOUND, _RATIO_BOUND = 0.025, 0.0012, 6e-11, 3.5e-4


class Spheres:
    """The spheres under smooth contact."""

    def __init__(self) -> None:
        clouds = [_scaled(radius) for radius in (MOVED, FIXED)]
        rows = [np.hstack([c.points, c.normals])[order_in_blocks(c.points)] for c in clouds]
        self._planes = [np.ascontiguousarray(some.T) for some in rows]
        self._balls = [balls_of_blocks(some, POINTS) for some in self._planes]
        self._memory = make_pair_memory(POINTS)
        self._handle = Handle(self._memory)
        self._model = np.array(astuple(MODEL))

    def force(self, place: Array) -> tuple[Array, Array]:
        """Force (3,) on the moved sphere with its middle at a place (3,), N, and the gradient (3, 3) of it, N/m."""
        wrench, jacobian = np.zeros(6), np.zeros((6, 12))
        counts = np.full((2, 2), POINTS)
        poses = np.eye(3), np.array(place, dtype=float)
        pair_wrench(
            *self._planes,
            *self._balls,
            counts,
            *poses,
            np.zeros(6),
            self._model,
            self._handle,
            wrench,
            jacobian,
        )
        return -wrench[3:], -jacobian[3:, 3:6]

    def bend(self, place: Array) -> float:
        """Second derivative by y of the force along y, N/m^2, by central differences of the gradient."""
        at = [self.force(place + _at(k * _STEP))[1][1, 1] for k in (-2, -1, 1, 2)]
        return float((at[0] - 8.0 * at[1] + 8.0 * at[2] - at[3]) / (12.0 * _STEP))


class MuJoCoSpheres:
    """The spheres in MuJoCo, all by default: one is held in place, the other floats without gravity."""

    def __init__(self) -> None:
        # Only tests install MuJoCo.
        self._mujoco: Any = import_module("mujoco")
        self._model = self._mujoco.MjModel.from_xml_string(
            f"""<mujoco><option gravity="0 0 0"/><worldbody><geom type="sphere" size="{FIXED}"/>
<body><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
<geom type="sphere" size="{MOVED}"/></body></worldbody></mujoco>"""
        )
        self._data = self._mujoco.MjData(self._model)

    def force(self, place: Array) -> Array:
        """Force (3,) on the moved sphere at rest at a place (3,), N."""
        self._data.qpos[:3] = place
        self._mujoco.mj_forward(self._model, self._data)
        return np.array(self._data.qfrc_constraint[:3])


def _scaled(radius: float) -> OrientedCloud:
    cloud = sphere_cloud(POINTS)
    return OrientedCloud(radius * cloud.points, cloud.normals)


def run() -> ExperimentReport:
    """Move one sphere through the other.

    Raises:
        InputError: MuJoCo is not installed.
    """
    require_mujoco("scm_profile")
    spheres, other = Spheres(), MuJoCoSpheres()
    comparisons, series = _line(spheres, other)
    comparisons = [*_laws(spheres, series), *_derivatives(spheres, series), *comparisons]
    series |= _plane(spheres, other)
    comparisons = with_verdicts(comparisons)
    return ExperimentReport("Force of a sphere on a sphere", SOURCE, tuple(comparisons), series)


def _at(distance: float) -> Array:
    return np.array([0.0, distance, 0.0])


def _laws(spheres: Spheres, series: dict[str, list[float]]) -> list[Comparison]:
    """Force and slopes in and out of contact, along y."""
    touch = FIXED + MOVED
    force, gradient = (
        part[1] if part.ndim == 1 else part[1, 1] for part in spheres.force(_at(touch - DEPTH))
    )
    near, far = (float(spheres.force(_at(touch + gap))[0][1]) for gap in GAPS)
    place = _at(touch + GAPS[0])
    slope, bend = float(spheres.force(place)[1][1, 1]), spheres.bend(place)
    middle, unstable = spheres.force(np.zeros(3))
    series |= {
        "laws": [float(force), float(gradient), near, far, slope, bend],
        "middle": [float(np.linalg.norm(middle)), float(unstable[1, 1])],
    }
    e3, k = MODEL.epsilon3, MODEL.stiffness
    return [
        Comparison(
            f"force, {1e3 * DEPTH:g} mm deep",
            "N",
            k * (DEPTH - MODEL.epsilon2),
            float(force),
            _FORCE_BOUND,
            "relative",
        ),
        Comparison("its slope", "N/m", -k, float(gradient), _SLOPE_BOUND, "relative"),
        Comparison(
            "fall of the force between gaps of 10 and 20 mm",
            "",
            float(np.exp((GAPS[1] - GAPS[0]) / e3)),
            near / far,
            _FALL_BOUND,
            "relative",
        ),
        Comparison(
            "slope over force, gap of 10 mm", "1/m", -1.0 / e3, slope / near, _FAR_SLOPE_BOUND, "relative"
        ),
        Comparison(
            "Hessian over force, gap of 10 mm", "1/m^2", 1.0 / e3**2, bend / near, _FAR_BEND_BOUND, "relative"
        ),
        Comparison("concentric: force", "N", 0.0, series["middle"][0], _MIDDLE_BOUND, "absolute"),
        Comparison(
            STABLE,
            "N/m",
            -k * ((FIXED - MOVED) / MODEL.epsilon2 + 1.0) / 3.0,
            series["middle"][1],
            _MIDDLE_SLOPE_BOUND,
            "relative",
            least=1.0,
            # The paper tells its sign alone.
            paper=k * ((FIXED - MOVED) / MODEL.epsilon2 + 1.0) / 3.0,
        ),
    ]


def _derivatives(spheres: Spheres, series: dict[str, list[float]]) -> list[Comparison]:
    """The largest error of gradients against central differences, relative to the largest entry."""
    worst = 0.0
    for place in ([0.01, 0.13, 0.02], [0.09, 0.1, -0.07], [0.05, 0.0, 0.0]):
        _, gradient = spheres.force(np.array(place))
        columns = []
        for e in np.eye(3):
            at = [spheres.force(place + k * _STEP * e)[0] for k in (-2, -1, 1, 2)]
            columns.append((at[0] - 8.0 * at[1] + 8.0 * at[2] - at[3]) / (12.0 * _STEP))
        expected = np.stack(columns, axis=-1)
        worst = max(worst, float(np.abs(gradient - expected).max() / np.abs(expected).max()))
    series["error of gradients"] = [worst]
    return [Comparison("gradients less central differences", "", 0.0, worst, _GRADIENT_BOUND, "absolute")]


def _line(spheres: Spheres, other: MuJoCoSpheres) -> tuple[list[Comparison], dict[str, list[float]]]:
    """Profiles along y, and the ratio by which the largest change of the gradient falls as samples are halved."""
    places = np.column_stack([np.full(len(ALONG), ACROSS), ALONG, np.zeros(len(ALONG))])
    ours = np.array([spheres.force(place)[0][1] for place in places])
    theirs = np.array([other.force(place)[1] for place in places])
    slopes = np.array([spheres.force(place)[1][1, 1] for place in places])
    bends = np.array([spheres.bend(place) for place in places])
    ratios = []
    for force_of in (lambda y: spheres.force(_at(y))[0][1], lambda y: other.force(_at(y))[1]):
        changes = []
        for count in (400, 800):
            # Around the place where they touch.
            y = np.linspace(0.13, 0.17, count + 1)
            slope = np.diff([force_of(one) for one in y]) / np.diff(y)
            changes.append(float(np.abs(np.diff(slope)).max()))
        ratios.append(changes[0] / changes[1])
    row = Comparison(
        "halved samples: largest change of the gradient falls by",
        "",
        2.0,
        ratios[0],
        _RATIO_BOUND,
        "absolute",
        {"MuJoCo": ratios[1]},
    )
    return [row], {
        "y": ALONG.tolist(),
        "force": ours.tolist(),
        "gradient": slopes.tolist(),
        "Hessian": bends.tolist(),
        "force, MuJoCo": theirs.tolist(),
        "ratios": ratios,
    }


def _plane(spheres: Spheres, other: MuJoCoSpheres) -> dict[str, list[float]]:
    """Forces along y on a grid in the plane z = 0."""
    along = np.linspace(-WIDTH, WIDTH, GRID)
    places = [np.array([x, y, 0.0]) for y in along for x in along]
    return {
        "force on the grid": [float(spheres.force(place)[0][1]) for place in places],
        "force on the grid, MuJoCo": [float(other.force(place)[1]) for place in places],
    }


def plot(report: ExperimentReport, path: Path) -> None:
    """Plot the profiles along y and over the plane.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    series = {name: np.array(values) for name, values in report.series.items()}
    y, theirs = 1e3 * series["y"], series["force, MuJoCo"]
    with figure(path, 11.0, 6.0) as canvas:
        panels = canvas.subplots(2, 4)
        rows = (
            ("smooth contact", series["force"], series["gradient"], series["Hessian"], "#1f5fa8"),
            ("MuJoCo", theirs, *_differences(series["y"], theirs), "#c44e24"),
        )
        for axes, (name, *profiles, colour) in zip(panels, rows, strict=True):
            for panel, values, title in zip(
                axes, profiles, ("force [N]", "gradient [N/m]", "Hessian [N/m²]"), strict=False
            ):
                panel.plot(y, values, color=colour, lw=1.2)
                panel.set_title(f"{name}: {title}", fontsize=10)
                panel.set_xlabel("y [mm]")
                panel.grid(alpha=0.3)
        _planes(panels[:, 3], series)
        canvas.suptitle(f"{report.title}, along the line of motion; Beker 2025, figures 1 and 5", fontsize=11)


def _differences(y: Array, force: Array) -> tuple[Array, Array]:
    slope = np.gradient(force, y)
    return slope, np.gradient(slope, y)


def _planes(panels: NDArray[np.object_], series: dict[str, Array]) -> None:
    ways = ("smooth contact", "force on the grid"), ("MuJoCo", "force on the grid, MuJoCo")
    for panel, (name, column) in zip(panels, ways, strict=True):
        axes: Axes = panel
        values = series[column].reshape(GRID, GRID)
        most = float(np.abs(values).max())
        extent = (-1e3 * WIDTH, 1e3 * WIDTH, -1e3 * WIDTH, 1e3 * WIDTH)
        axes.imshow(values, origin="lower", extent=extent, cmap="RdBu_r", vmin=-most, vmax=most)
        axes.set_title(f"{name}: force along y", fontsize=10)
        axes.set_xlabel("x [mm]")
        axes.set_ylabel("y [mm]")
