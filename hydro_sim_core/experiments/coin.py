"""The coin of Masterjohn 2022, section V-A: its mesh, its world, and the theory of its sliding."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq

from hydro_sim_core.description import SceneBuilder
from hydro_sim_core.geometry import Geometry, compliant_mesh, write_vtk
from hydro_sim_core.geometry.prisms import ring
from hydro_sim_core.simulation import World

Array = NDArray[np.float64]

#: Radius and thickness, m, and mass, kg.
RADIUS, THICKNESS, MASS = 1.213e-2, 1.75e-3, 5.67e-3
FRICTION, MODULUS, GRAVITY = 0.2, 1e9, 9.81
#: Margin, m, without which a flat coin would rattle; more than g dt^2 at the largest step.
MARGIN = 2e-4
#: Stiction speed, m/s: a thousandth of the lowest speed that is evaluated.
STICTION_SPEED = 1e-7
SECTORS_PER_RING = 12
#: Orientations of a coin, rad, spread evenly over its sectors for any number of sectors.
ORIENTATIONS = 2.0 * math.pi * 0.618 * np.arange(16)


def ring_mesh(rings: int) -> Geometry:
    """Coin mesh with about square cells, which get smaller with more rings."""
    return coin_mesh(SECTORS_PER_RING * rings, rings)


def coin_mesh(sectors: int, rings: int = 1) -> Geometry:
    """Coin about the z axis centred at the origin, its lower side split into sectors and rings.

    Every triangle of the surface forms a tetrahedron with the centre, where the pressure is the modulus. The pressure
    at the ground therefore grows linearly with depth, and the faces are the triangles of the lower side. The margin
    scales the mesh.
    """
    half = THICKNESS / 2.0
    lower = np.vstack(
        [[0.0, 0.0, -half], *(ring(RADIUS * k / rings, -half, sectors) for k in range(1, rings + 1))]
    )
    upper = np.vstack([[0.0, 0.0, half], ring(RADIUS, half, sectors)])
    here, after = np.arange(sectors), np.roll(np.arange(sectors), -1)
    triangles = [_triangles(0 * here, 1 + after, 1 + here)]
    for k in range(1, rings):
        inner, outer = 1 + (k - 1) * sectors, 1 + k * sectors
        triangles.append(_triangles(inner + here, outer + after, outer + here))
        triangles.append(_triangles(inner + here, inner + after, outer + after))
    edge, top = 1 + (rings - 1) * sectors, len(lower)
    triangles.append(_triangles(edge + here, edge + after, top + 1 + after))
    triangles.append(_triangles(edge + here, top + 1 + after, top + 1 + here))
    triangles.append(_triangles(top + 0 * here, top + 1 + here, top + 1 + after))
    surface = np.vstack(triangles)
    vertices = np.vstack([lower, upper, np.zeros(3)])
    tetrahedra = np.column_stack([surface, np.full(len(surface), len(vertices) - 1)])
    pressure = np.full(len(vertices), -MODULUS * MARGIN / half)
    pressure[-1] = MODULUS
    return compliant_mesh(
        (1.0 + MARGIN / half) * vertices, tetrahedra, pressure, modulus=MODULUS, margin=MARGIN
    )


def _triangles(*corners: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.column_stack(corners)


def make_world(coin: Geometry, time_step: float, at_centroids: bool = True) -> World:
    """Make a world with a free coin that lies on rigid ground.

    Args:
        coin: Mesh of the coin.
        time_step: Time step, s.
        at_centroids: Whether faces press and rub at their centroids, as in the paper and in Drake; else large ones do
            at three points.
    """
    parity = {"parity": "drake"} if at_centroids else {}
    scene = SceneBuilder(
        "sliding_disk",
        time_step=time_step,
        gravity=(0.0, 0.0, -GRAVITY),
        solver={"model": "lagged", "stiction_speed": STICTION_SPEED, **parity},
        contact={"modulus": MODULUS, "margin": MARGIN, "friction": FRICTION},
    )
    scene.add_ground()
    transverse = RADIUS**2 / 4.0 + THICKNESS**2 / 12.0
    moments = MASS * np.array([transverse, transverse, RADIUS**2 / 2.0])
    body = scene.add_body("coin", MASS, inertia=moments, xyz=(0.0, 0.0, THICKNESS / 2.0))
    # A scene takes meshes from files only; the world has read the file before the folder is removed.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "coin.vtk"
        write_vtk(coin, path)
        body.add_shape("mesh", path=str(path), compliance="compliant")
        return World(scene.build())


def stationary_ratio_of_disc() -> float:
    """Ratio e* = v / (w R) that a disc of uniform pressure keeps.

    In polar coordinates (s, a) about the centre of rotation, (0, e) in units of R, friction at every point is the unit
    vector perpendicular to the ray. Force and torque are then single integrals over a of powers of the ray's length
    within the disc.
    """

    def growth(ratio: float) -> float:
        force, torque = friction_of_disc(ratio)
        return 2.0 * ratio * torque - force

    return float(brentq(growth, 0.1, 0.95, xtol=1e-12))


def friction_of_disc(ratio: float) -> tuple[float, float]:
    """Force, over that of pure sliding, and torque, over it and the radius, of a disc whose v / (w R) is below 1."""

    def integral(integrand: Callable[[float, float], float]) -> float:
        def of_ray(angle: float) -> float:
            ray = -ratio * math.sin(angle) + math.sqrt(1.0 - (ratio * math.cos(angle)) ** 2)
            return integrand(angle, ray)

        return float(quad(of_ray, 0.0, 2.0 * math.pi, epsabs=1e-12)[0]) / math.pi

    force = integral(lambda angle, s: -math.sin(angle) * s**2 / 2.0)
    return force, integral(lambda angle, s: s**3 / 3.0 + ratio * math.sin(angle) * s**2 / 2.0)


def largest_friction_error(points: Array, areas: Array) -> float:
    """Largest error of friction that acts at points, of all ratios from 0 to 0.95.

    Force and torque count as shares of those of pure sliding and pure turning.

    Args:
        points: (P, 2) points in units of the disc's radius.
        areas: (P,) area that each stands for, in any unit.
    """
    turned = np.exp(1j * ORIENTATIONS)[:, None] * (points[:, 0] + 1j * points[:, 1])
    x, y, share = turned.real, turned.imag, areas / areas.sum()
    errors = []
    for ratio in np.linspace(0.0, 0.95, 39):
        u, w = ratio - y, x
        force, torque = (np.array([u, x * w - y * u]) / np.hypot(u, w)).mean(axis=1) @ share
        of_disc = friction_of_disc(float(ratio))
        errors.append(math.hypot(force - of_disc[0], 1.5 * (torque - of_disc[1])))
    return max(errors)


def stationary_ratio_of_faces(centroids: Array, areas: Array) -> float:
    """Ratio e* that a disc keeps if friction acts at the centroids of faces under equal pressure.

    The sums are means over orientations, because the coin turns.

    Args:
        centroids: (F, 2) centroids in units of the disc's radius.
        areas: (F,) areas in any unit.
    """
    turns = np.exp(1j * ORIENTATIONS)[:, None]
    turned = turns * (centroids[:, 0] + 1j * centroids[:, 1])
    x, y = turned.real, turned.imag

    def growth(ratio: float) -> float:
        u, w = ratio - y, x
        balance = (2.0 * ratio * (x * w - y * u) - u) / np.hypot(u, w)
        return float(areas @ balance.mean(axis=0) / areas.sum())

    return float(brentq(growth, 0.1, 2.0, xtol=1e-12))


def ratio_on_the_way(centroids: Array, areas: Array, start: float, share: float) -> float:
    """Ratio v / (w R) of a coin of faces on its way to rest, of its equations of motion in continuous time.

    Args:
        centroids: (F, 2) centroids in units of the disc's radius.
        areas: (F,) areas in any unit.
        start: Ratio at the start.
        share: Larger of v and w R at that instant, as a share of what it is at the start.
    """
    turns = np.exp(1j * ORIENTATIONS)[:, None]
    turned = turns * (centroids[:, 0] + 1j * centroids[:, 1])
    x, y = turned.real, turned.imag

    def rates(_: float, speeds: Array) -> tuple[float, float]:
        v, rim = speeds
        u, w = v - rim * y, rim * x
        sums = np.array([u, x * w - y * u]) / np.hypot(u, w)
        force, torque = sums.mean(axis=1) @ areas / areas.sum()
        return -force, -2.0 * torque

    def left(_: float, speeds: Array) -> float:
        return float(np.max(speeds) - share)

    left.terminal = True  # type: ignore[attr-defined]
    first = (min(1.0, start), min(1.0, start) / start)
    path = solve_ivp(rates, (0.0, 4.0), first, events=left, rtol=1e-8, atol=1e-10)
    v, rim = path.y[:, -1]
    return float(v / rim)


def bottom_faces(coin: Geometry) -> tuple[Array, Array]:
    """Centroids (F, 2) and areas (F,) of a coin's faces on the ground, in units of its radius."""
    corners = _bottom_triangles(coin)
    return corners.mean(axis=1), _areas(corners)


def bottom_points(coin: Geometry) -> tuple[Array, Array]:
    """The three points (3 F, 2) of each of these faces, halfway to its corners, and the area (3 F,) of each."""
    corners = _bottom_triangles(coin)
    points = 0.5 * (corners + corners.mean(axis=1, keepdims=True))
    return points.reshape(-1, 2), np.repeat(_areas(corners) / 3.0, 3)


def _bottom_triangles(coin: Geometry) -> Array:
    corners: Array = coin.vertices[coin.surface_triangles()]
    corners = corners[np.all(corners[:, :, 2] <= 0.999 * coin.vertices[:, 2].min(), axis=1), :, :2]
    return corners / np.linalg.norm(corners, axis=2).max()


def _areas(corners: Array) -> Array:
    (ax, ay), (bx, by) = (corners[:, 1] - corners[:, 0]).T, (corners[:, 2] - corners[:, 0]).T
    return np.asarray(0.5 * np.abs(ax * by - ay * bx))
