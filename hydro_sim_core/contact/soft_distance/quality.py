"""What is wrong with an oriented cloud, if anything."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from hydro_sim_core.contact.soft_distance.checks import check_parameter
from hydro_sim_core.contact.soft_distance.cloud import SMOOTHED, OrientedCloud, blocks
from hydro_sim_core.contact.soft_distance.distance import soft_distance
from hydro_sim_core.contact.soft_distance.sharp_edges import SHARP_EDGE
from hydro_sim_core.errors import InputError

Floats = NDArray[np.float64]

#: Points around which bulges are looked for, neighbours towards which they are, and their heights, in spacings.
_MOST_PROBED, _NEIGHBOURS, _HEIGHTS = 500, 8, (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)


@dataclass(frozen=True)
class CloudQuality:
    """How well a cloud covers its surface; of a good one all but ``spacing`` and ``volume`` are near their ideals.

    Attributes:
        spacing: Side of a cell of mean area, m.
        crowding: Distance of the two nearest points with no sharp edge between them, in spacings; 1 on a square grid.
        unevenness: Standard deviation of the distances to the nearest such point over their mean; 0 on a grid.
        opening: Size of the sum of all areas times normals, relative to the area; 0 for a closed surface.
        volume: Volume that the planes enclose, m^3; negative if they are inside out.
        wrong_sides: Share of the points beside which the soft distance has the wrong sign, outside or inside. It is
            asked for at the root of ``epsilon1`` from the surface, and not nearer than half a spacing; inside not
            deeper than a quarter of how thick the body is there.
        bulge: How far outside the surface the soft distance is negative, as far as it is found around some hundred
            points, in spacings or roots of ``epsilon1``, whichever is more. Beside sharp edges that have no mirrored
            points it is about 0.3.
        turned: Share of the points behind whose planes there is no body: of a part that is inside out and no cavity.
    """

    spacing: float
    crowding: float
    unevenness: float
    opening: float
    volume: float
    wrong_sides: float
    bulge: float
    turned: float

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, one sentence each; empty for a good cloud."""
        told = (
            (self.crowding < 0.3, f"two points are {self.crowding:.2f} spacings apart"),
            (self.unevenness > 0.4, f"distances to nearest points vary by {self.unevenness:.0%}"),
            (self.opening > 0.02, f"the planes leave {self.opening:.1%} of the surface open"),
            (self.volume <= 0.0, "the planes are inside out"),
            (self.turned > 0.02, f"{self.turned:.1%} of the planes belong to parts that are inside out"),
            (
                self.wrong_sides > 0.02,
                f"the soft distance has the wrong sign beside {self.wrong_sides:.1%} of the points",
            ),
            (
                self.bulge > 0.2,
                f"the soft distance is negative {self.bulge:.2f} spacings outside an edge, a tip or something thin",
            ),
        )
        return tuple(sentence for is_so, sentence in told if is_so)


def cloud_quality(cloud: OrientedCloud, epsilon1: float | None = None) -> CloudQuality:
    """Measure a cloud of NumPy arrays with areas.

    Args:
        cloud: The cloud.
        epsilon1: Temperature of the soft distance, m^2. None takes the square of a spacing above and below points, with
            which neighbours overrule a plane that is turned over, and that of an eighth around them.

    Raises:
        InputError: The cloud has no areas, or is a half space; or ``epsilon1`` is not a positive number.
    """
    if cloud.areas is None or cloud.is_half_space:
        problem = "is a half space" if cloud.is_half_space else "has no areas"
        raise InputError("cloud_quality", "cloud", problem, "make it with cloud_of_mesh")
    points, normals, areas = cloud.points, cloud.normals, cloud.areas
    total, spacing = float(areas.sum()), float(np.sqrt(areas.mean()))
    nearest = _distances_to_nearest(points, normals)
    middle = points.mean(axis=0)
    hot, cold = (spacing**2, (SMOOTHED * spacing) ** 2) if epsilon1 is None else (epsilon1, epsilon1)
    check_parameter(hot, "cloud_quality", "epsilon1")
    beside = max(math.sqrt(hot), 0.5 * spacing) * normals
    is_wrong = (soft_distance(cloud, points + beside, hot) <= 0.0) | _is_wrong_inside(cloud, beside, hot)
    return CloudQuality(
        spacing,
        float(nearest.min() / spacing),
        float(nearest.std() / nearest.mean()),
        float(np.linalg.norm((areas[:, None] * normals).sum(axis=0)) / total),
        float((areas * ((points - middle) * normals).sum(axis=1)).sum() / 3.0),
        float(is_wrong.mean()),
        _bulge(cloud, spacing, max(spacing, math.sqrt(cold)), cold),
        float((_windings(points, normals, areas) < -0.25).mean()),
    )


def _distances_to_nearest(points: Floats, normals: Floats) -> Floats:
    """Distance from each point (N, 3) to the nearest one that no sharp edge divides from it, where that is among the
    eight nearest of all.
    """
    distances, others = scipy.spatial.cKDTree(points).query(points, k=min(9, len(points)))
    divided = np.einsum("ij,ikj->ik", normals, normals[others]) < math.cos(SHARP_EDGE)
    nearest = np.where(divided, np.inf, distances)[:, 1:].min(axis=1)
    is_one = np.isfinite(nearest)
    return nearest[is_one] if is_one.any() else distances[:, 1]


def _is_wrong_inside(cloud: OrientedCloud, beside: Floats, epsilon1: float) -> NDArray[np.bool_]:
    """Whether the soft distance is not negative behind each point (N,): ``beside`` (N, 3) m, less in what is thin."""
    is_wrong = soft_distance(cloud, cloud.points - beside, epsilon1) >= 0.0
    rows = np.flatnonzero(is_wrong)
    if len(rows):
        # Near the edge of a wedge, and in a plate, so deep a place is outside on the other side.
        wanted = np.sqrt(np.square(beside[rows]).sum(axis=1))
        depth = np.minimum(wanted, 0.25 * _thickness(cloud, rows))
        places = cloud.points[rows] - depth[:, None] * cloud.normals[rows]
        is_wrong[rows] = soft_distance(cloud, places, epsilon1) >= 0.0
    return is_wrong


def _thickness(cloud: OrientedCloud, rows: NDArray[np.int64]) -> Floats:
    """How far from some points, against their normals, the first cell is that faces away, m; inf if there is none."""
    assert cloud.areas is not None
    points, normals, square = cloud.points, cloud.normals, cloud.areas
    thickness = np.full(len(rows), np.inf)
    for block in blocks(len(rows), 3 * len(points)):
        start, inward = points[rows[block], None, :], -normals[rows[block], None, :]
        rate = (inward * normals).sum(axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            length = ((points - start) * normals).sum(axis=2) / rate
            off = np.square(start + length[..., None] * inward - points).sum(axis=2)
            is_hit = (rate > 0.0) & (length > 0.0) & (off < square)
        thickness[block] = np.where(is_hit, length, np.inf).min(axis=1)
    return thickness


def _bulge(cloud: OrientedCloud, spacing: float, unit: float, epsilon1: float) -> float:
    """The farthest that the soft distance is negative outside of places around points, in units, m.

    A mean over a length of ``l`` moves the surface of a ball of radius R out by ``l^2 / 2 R``, at any spacing.
    """
    count = len(cloud.points)
    rows = np.unique(np.linspace(0, count - 1, min(count, _MOST_PROBED)).round().astype(np.int64))
    places, normals = _around(cloud, rows, spacing)
    reached = 0.0
    for height in _HEIGHTS:
        is_behind = soft_distance(cloud, places + height * unit * normals, epsilon1) <= 0.0
        if not is_behind.any():
            break
        reached, places, normals = height, places[is_behind], normals[is_behind]
    return reached


def _around(cloud: OrientedCloud, rows: NDArray[np.int64], spacing: float) -> tuple[Floats, Floats]:
    """Places (P, 3) in these planes towards neighbours of their points, as far as the body goes; and normals."""
    tree, points, normals = scipy.spatial.cKDTree(cloud.points), cloud.points, cloud.normals
    neighbours = tree.query(points[rows], k=min(_NEIGHBOURS + 1, len(points)))[1][:, 1:]
    row = np.repeat(rows, neighbours.shape[1])
    way = points[neighbours.ravel()] - points[row]
    way -= (way * normals[row]).sum(axis=1)[:, None] * normals[row]
    length = np.sqrt(np.square(way).sum(axis=1))
    row, way = row[length > 1e-3 * spacing], way[length > 1e-3 * spacing]
    way *= spacing / np.sqrt(np.square(way).sum(axis=1))[:, None]
    row, places = np.tile(row, 2), np.concatenate([points[row] + share * way for share in (0.45, 0.9)])
    others = tree.query(places, k=min(_NEIGHBOURS + 1, len(points)))[1]
    above = ((places[:, None] - points[others]) * normals[others]).sum(axis=2)
    beside = points[others] - points[row][:, None]
    is_hollow = (beside * normals[row][:, None]).sum(axis=2) > 0.05 * spacing
    # Beyond a sharp edge a place is in front of the plane there, and behind the one of a wall that rises there.
    is_on_body = np.where(is_hollow, above > 0.1 * spacing, above < 0.02 * spacing).all(axis=1)
    return places[is_on_body], normals[row[is_on_body]]


def _windings(points: Floats, normals: Floats, areas: Floats) -> Floats:
    """How often all other planes (N,) wind about each point: 1/2 on a body, -1/2 on one that is inside out.

    A plane nearer than its own size counts less, as it is no point then.
    """
    total = np.zeros(len(points))
    for block in blocks(len(points), 3 * len(points)):
        apart = points[None, :, :] - points[block, None, :]
        square = np.square(apart).sum(axis=2) + areas / (2.0 * math.pi)
        total[block] = ((apart * normals).sum(axis=2) * areas / (square * np.sqrt(square))).sum(axis=1)
    return total / (4.0 * math.pi)


def check_cloud(cloud: OrientedCloud, source: str) -> None:
    """Refuse a bad cloud.

    Raises:
        InputError: It has problems; names them all.
    """
    if not cloud.is_half_space and (problems := cloud_quality(cloud).problems):
        raise InputError(source, "points", "; ".join(problems), "ask for more points, or mend the mesh")
