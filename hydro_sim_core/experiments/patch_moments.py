"""Force and moment of a patch are minus the slopes of the energy of contact, in random poses of twelve kinds of pairs.

The wrench of a pressure field derives from a stored energy U, the integral of the smaller pressure over the overlap
(Elandt 2019, sections V and X): force is -dU/dx and moment -dU/dθ. The energy is integrated over tetrahedra and knows
nothing of faces; its slopes are differences of four energies each, of fourth order. Bodies are turned at random, and
lie from a graze to three fifths of the way in each other.

Polygons across which a pressure falls, beyond a medial surface where bodies are deep, at edges of coarse meshes and in
hollows of others, belong to the energy like all others. ``compute_patch`` lets them press, and its wrench is the slope
to round-off in every pose. Drake's contact faces are those that are turned by at most 22.5° past upright, and so are
those of a step, and of ``compute_patch(..., every_polygon=False)``. Two kinds of poses are told apart: where these are
all there are, and where some were dropped. The first have rows of a wrench by kind, the second one row of all together
and, by kind, rows of what Drake's faces differ by. A step leaves out all faces across which a pressure falls, as
Drake's does, and those that turn upright fade before; what presses in it is the last column (decision 38).
``patch.dropped_force`` tells how much was dropped.

A force deviates by a share of the sum of the forces of all polygons, a moment about the origin of the second body by a
share of that sum at an arm of 0.1 m, about the size of the bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core import geometry
from hydro_sim_core.compilation import ConstBool1D, ConstFloat2D, Float1D, entry
from hydro_sim_core.contact import ContactPatch, compute_patch
from hydro_sim_core.contact.moments import moments_within
from hydro_sim_core.contact.pressure_field.faces import (
    GRADIENT,
    NORMAL,
    NUM_ROWS,
    SLOPE_A,
    SLOPE_B,
    face_at,
    share_of_rise,
)
from hydro_sim_core.drawing.figures import figure
from hydro_sim_core.experiments.report import Comparison, ExperimentReport
from hydro_sim_core.experiments.verdicts import with_verdicts
from hydro_sim_core.geometry import Geometry
from hydro_sim_core.rotations import matrix_of

Array = NDArray[np.float64]

SOURCE = "slopes of the energy of contact; Elandt 2019, sections V and X"
#: Pa.
MODULUS = 1e5
#: Shift, m, or turn, rad, of the differences of energy.
STEP = 1e-6
#: Arm of the force that moments are measured by, m.
ARM = 0.1
#: Poses whose polygons press with less in sum, N, change too much within the differences.
LEAST_LOAD = 1.0
#: Distances of the bodies, as shares of that at which they part.
NEAREST, FARTHEST = 0.4, 0.98
POSES, SEED = 24, 22
#: Colours of poses by whether faces are dropped.
WHOLE, DROPPED = "#1f5fa8", "#c44e24"


class Bounds(NamedTuple):
    """Bounds on how far the wrenches of a kind of pairs are from the slopes of the energy.

    Attributes:
        force: On the force where no face is dropped.
        moment: On the moment there.
        dropped_force: On the force where some are dropped; 0 where no pose has such faces.
        dropped_moment: On the moment there.
    """

    force: float
    moment: float
    dropped_force: float
    dropped_moment: float


KINDS = {
    "box on box": Bounds(8.4e-11, 7.7e-10, 0.0, 0.0),
    "sphere on box": Bounds(5.3e-11, 6.8e-10, 0.16, 0.042),
    "cylinder on box": Bounds(4.2e-11, 6.5e-10, 0.3, 0.1),
    "ellipsoid on capsule": Bounds(8.4e-11, 5e-10, 0.64, 0.15),
    "mesh on cylinder": Bounds(7.4e-11, 6.4e-10, 0.0037, 0.002),
    "mesh on mesh": Bounds(7.8e-11, 6.1e-10, 0.0, 0.0),
    "rigid box on sphere": Bounds(1e-11, 2.7e-10, 0.78, 0.15),
    "rigid cylinder on mesh": Bounds(2.5e-11, 3.5e-10, 0.71, 0.49),
    "rigid mesh on box": Bounds(2.3e-11, 4.1e-10, 0.81, 0.41),
    "box on rigid half space": Bounds(4.8e-11, 7e-10, 0.0, 0.0),
    "capsule on soft half space": Bounds(2.5e-11, 3e-10, 0.0, 0.0),
    "rigid mesh on soft half space": Bounds(1.9e-11, 2.2e-10, 0.00091, 0.00047),
}
#: Deviation from which on Drake's faces differ, as a share of the bound.
LEAST = 0.1
#: Bound on the wrench of all polygons where faces are dropped.
ALL_BOUND = 9.3e-10
#: Arguments of the quick form.
QUICK = ("box on box", "mesh on cylinder", "rigid mesh on box", "capsule on soft half space"), 5


def _hollow(modulus: float | None) -> Geometry:
    """A solid with six bumps of unlike length and hollows between them, whose triangles are coned to the middle."""
    ball = geometry.sphere(1.0, resolution=0.8)
    x, y, z = ball.vertices.T
    radius = 0.08 * (1.0 + 0.9 * (x**4 + y**4 + z**4 - 0.6) + 0.1 * x + 0.05 * y * z)
    vertices, triangles = radius[:, None] * ball.vertices, np.array(ball.elements)
    if modulus is None:
        return geometry.rigid_mesh(vertices, triangles)
    tetrahedra = np.column_stack([triangles, np.full(len(triangles), len(vertices))])
    pressure = np.append(np.zeros(len(vertices)), modulus)
    return geometry.compliant_mesh(np.vstack([vertices, np.zeros(3)]), tetrahedra, pressure, modulus=modulus)


@cache
def geometries() -> dict[str, tuple[Geometry, Geometry]]:
    """Geometries A and B of every kind, the rigid one first and a half space last."""
    box = geometry.box(0.1, 0.14, 0.12, modulus=2.0 * MODULUS)
    sphere = geometry.sphere(0.08, resolution=0.06, modulus=MODULUS)
    cylinder = geometry.cylinder(0.06, 0.14, resolution=0.05, modulus=MODULUS)
    capsule = geometry.capsule(0.05, 0.08, resolution=0.04, modulus=3.0 * MODULUS)
    ellipsoid = geometry.ellipsoid(0.05, 0.07, 0.1, resolution=0.05, modulus=MODULUS)
    mesh, rigid_mesh = _hollow(MODULUS), _hollow(None)
    rigid_box = geometry.box(0.1, 0.14, 0.12)
    rigid_cylinder = geometry.cylinder(0.06, 0.14, resolution=0.05)
    ground, soft_ground = geometry.half_space(), geometry.half_space(MODULUS, slab_thickness=0.1)
    return {
        "box on box": (box, box),
        "sphere on box": (sphere, box),
        "cylinder on box": (cylinder, box),
        "ellipsoid on capsule": (ellipsoid, capsule),
        "mesh on cylinder": (mesh, cylinder),
        "mesh on mesh": (mesh, mesh),
        "rigid box on sphere": (rigid_box, sphere),
        "rigid cylinder on mesh": (rigid_cylinder, mesh),
        "rigid mesh on box": (rigid_mesh, box),
        "box on rigid half space": (box, ground),
        "capsule on soft half space": (capsule, soft_ground),
        "rigid mesh on soft half space": (rigid_mesh, soft_ground),
    }


@dataclass(frozen=True)
class Deviation:
    """How far the wrench of a patch is from the slopes of the energy.

    Attributes:
        force: Of Drake's faces, relative to the sum of the forces of all polygons.
        moment: Of these, relative to that at ``ARM``.
        of_all: The larger of both with all polygons.
        step_force: Of the faces that press in a step, relative as the other.
        step_moment: Of these.
        dropped: Number of polygons that are no contact faces.
    """

    force: float
    moment: float
    of_all: float
    step_force: float
    step_moment: float
    dropped: float


def run(kinds: Sequence[str] = tuple(KINDS), poses: int = POSES) -> ExperimentReport:
    """Compare wrenches with slopes of the energy.

    Args:
        kinds: Of those of ``KINDS``.
        poses: Number of poses of each.
    """
    found = {name: [*islice(_deviations(*geometries()[name]), poses)] for name in kinds}
    whole, dropped = (
        {name: [d for d in every if bool(d.dropped) == is_dropped] for name, every in found.items()}
        for is_dropped in (False, True)
    )
    agreeing, differing = [], []
    for name, bounds in ((name, KINDS[name]) for name in kinds):
        for quantity in ("force", "moment"):
            if whole[name]:
                bound = getattr(bounds, quantity)
                agreeing.append(_row(f"{name}: {quantity}", whole[name], quantity, bound))
            if dropped[name]:
                bound = getattr(bounds, f"dropped_{quantity}")
                row = _row(f"{name}, faces dropped: {quantity}", dropped[name], quantity, bound)
                differing.append(replace(row, least=LEAST * bound))
    of_all = max((d.of_all for name in kinds for d in dropped[name]), default=0.0)
    name = "all pairs, faces dropped: force and moment of all polygons"
    agreeing.append(Comparison(name, "", 0.0, of_all, ALL_BOUND, "absolute"))
    return ExperimentReport(
        "Wrench of a patch and slope of its energy",
        SOURCE,
        tuple(with_verdicts([*agreeing, *differing])),
        {
            f"{what}, {name}": [getattr(deviation, attribute) for deviation in found[name]]
            for name in kinds
            for what, attribute in _COLUMNS.items()
        },
    )


#: Columns of the series of a kind, and the attributes of a ``Deviation`` in them.
_COLUMNS = {
    "force": "force",
    "moment": "moment",
    "all polygons": "of_all",
    "force in a step": "step_force",
    "moment in a step": "step_moment",
    "polygons dropped": "dropped",
}


def _row(name: str, deviations: Sequence[Deviation], quantity: str, bound: float) -> Comparison:
    """The worst of some poses, beside that of a step."""
    worst, in_step = (max(getattr(d, what) for d in deviations) for what in (quantity, f"step_{quantity}"))
    return Comparison(name, "", 0.0, worst, bound, "absolute", {"in a step": in_step})


def _deviations(a: Geometry, b: Geometry) -> Iterator[Deviation]:
    """Deviations in one random pose after another."""
    for X_WA, X_WB in random_poses(a, b):
        every = compute_patch(a, X_WA, b, X_WB)
        load = float(every.face_forces.sum())
        if load < LEAST_LOAD:
            continue
        patch = compute_patch(a, X_WA, b, X_WB, every_polygon=False)
        slopes = np.array([-_slopes(a, X_WA, b, X_WB, move) for move in (shifted, turned)])
        # Polygons without area come and go with round-off, so numbers of them are those that press.
        dropped = np.count_nonzero(every.pressing) - np.count_nonzero(patch.pressing)
        size = load * np.array([1.0, ARM])
        (force, moment), of_all, (step_force, step_moment) = (
            (np.linalg.norm(wrench - slopes, axis=1) / size).tolist()
            for wrench in (_wrench(patch), _wrench(every), _wrench_in_step(patch))
        )
        yield Deviation(force, moment, max(of_all), step_force, step_moment, float(dropped))


def _wrench(patch: ContactPatch) -> Array:
    """Force and moment (2, 3) of a patch."""
    return np.array([patch.force_on_b, patch.moment_on_b_at_reference])


def _wrench_in_step(patch: ContactPatch) -> Array:
    """Force and moment (2, 3) of a patch with the shares that its faces press with in a step."""
    shares = _shares_in_step(patch)
    forces = (shares * patch.face_forces)[:, None] * patch.normals
    moments = np.cross(patch.centroids - patch.p_WR, forces) + shares[:, None] * moments_within(patch.faces)
    return np.array([forces.sum(axis=0), moments.sum(axis=0)])


def _shares_in_step(patch: ContactPatch) -> Array:
    """Shares (n,) of the faces that press: none where a pressure falls, all from ``SURE_RISE`` on."""
    rises = patch.pressing & (patch.gradients.min(axis=1) > 0.0)
    data = np.zeros((NUM_ROWS, len(rises)))
    data[NORMAL : NORMAL + 3], data[GRADIENT : GRADIENT + 3] = patch.normals.T, patch.faces.field_gradients.T
    data[SLOPE_A], data[SLOPE_B] = patch.gradients.T
    shares = np.zeros(len(rises))
    _write_shares(data, rises, shares)
    return shares


@entry
def _write_shares(data: ConstFloat2D, rises: ConstBool1D, shares: Float1D) -> None:
    """Write the shares (n,) of those faces that rise."""
    for f in range(shares.shape[0]):
        if rises[f]:
            shares[f] = share_of_rise(face_at(data, f))


def _slopes(
    a: Geometry, X_WA: Array, b: Geometry, X_WB: Array, move: Callable[[Array, Array], Array]
) -> Array:
    """Slopes (3,) of the energy over motions of B, N or N m, by differences of the fourth order."""

    def energy(motion: Array) -> float:
        return compute_patch(a, X_WA, b, move(X_WB, motion)).energy

    return np.array(
        [
            8.0 * (energy(step) - energy(-step)) - (energy(2.0 * step) - energy(-2.0 * step))
            for step in STEP * np.eye(3)
        ]
    ) / (12.0 * STEP)


def shifted(X_WB: Array, shift: Array) -> Array:
    """The pose moved by ``shift`` (3,), m."""
    return _pose(X_WB[:3, :3], X_WB[:3, 3] + shift)


def turned(X_WB: Array, turn: Array) -> Array:
    """The pose turned about its origin by the small rotation vector ``turn`` (3,), rad, in the axes of the world."""
    return _pose(matrix_of(np.append(0.5 * turn, 1.0)) @ X_WB[:3, :3], X_WB[:3, 3])


def random_poses(a: Geometry, b: Geometry) -> Iterator[tuple[Array, Array]]:
    """Poses of A and B, from a graze to ``NEAREST``."""
    rng = np.random.default_rng(SEED)
    while True:
        X_WA = _pose(matrix_of(rng.normal(size=4)), rng.uniform(-0.2, 0.2, 3))
        R_WB, share = matrix_of(rng.normal(size=4)), rng.uniform(NEAREST, FARTHEST)
        direction = rng.normal(size=3)
        direction = -R_WB[:, 2] if b.is_half_space else direction / np.linalg.norm(direction)
        reach = (a.vertices @ X_WA[:3, :3].T @ direction).max()
        if not b.is_half_space:
            reach -= (b.vertices @ R_WB.T @ direction).min()
        yield X_WA, _pose(R_WB, X_WA[:3, 3] + share * reach * direction)


def _pose(R: Array, p: Array) -> Array:
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = R, p
    return X


def plot(report: ExperimentReport, path: Path) -> None:
    """Plot deviations over poses, by kind and by whether faces are dropped.

    Raises:
        InputError: The figure cannot be drawn or written.
    """
    kinds = [name.removeprefix("force, ") for name in report.series if name.startswith("force, ")]
    with figure(path, 8.6, 0.42 * len(kinds) + 1.5) as canvas:
        axes = canvas.subplots()
        for height, name in enumerate(reversed(kinds)):
            column = {what: np.array(report.series[f"{what}, {name}"]) for what in _COLUMNS}
            worst = np.maximum(column["force"], column["moment"])
            is_dropped = column["polygons dropped"] > 0.0
            for colour, chosen in ((WHOLE, ~is_dropped), (DROPPED, is_dropped)):
                count = int(chosen.sum())
                spread = height + 0.3 * (2.0 * np.arange(count) + 1.0 - count) / max(count, 1)
                axes.semilogx(np.sort(worst[chosen]), spread, "o", color=colour, ms=3.5, mew=0.0)
            share = f"{is_dropped.sum()} of {len(worst)}"
            axes.text(
                1.01, height, share, transform=axes.get_yaxis_transform(), va="center", fontsize="small"
            )
        axes.set_yticks(range(len(kinds)), reversed(kinds))
        axes.set_xlabel("larger deviation of force and moment from the slopes of the energy, relative")
        axes.plot([], [], "o", color=WHOLE, ms=3.5, label="no face dropped")
        axes.plot([], [], "o", color=DROPPED, ms=3.5, label="some dropped: how many of the poses →")
        axes.legend(frameon=False, fontsize="small", loc="upper center")
        axes.grid(alpha=0.3)
        axes.set_title(report.title, fontsize="medium")
