"""Pairs that can be meshed finer and finer, and the forces between the shapes that the meshes stand for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.spatial import Delaunay
from scipy.spatial.transform import Rotation

from hydro_sim_core import geometry
from hydro_sim_core.contact import ContactPatch, compute_patch
from hydro_sim_core.geometry import Geometry, box, compliant_mesh, half_space
from hydro_sim_core.geometry.prisms import cones, split_prisms
from support.contact.poses import pose

# A mesh is asked for in several orientations, one after the other.
kept = lru_cache(maxsize=8)
sphere, ellipsoid = kept(geometry.sphere), kept(geometry.ellipsoid)
cylinder, capsule = kept(geometry.cylinder), kept(geometry.capsule)

Pair = tuple[Geometry, np.ndarray, Geometry, np.ndarray]

RADIUS = 0.1
MODULUS = 1e5
#: Pa/m of the compliant ground.
SLOPE = 4e5
RIGID_GROUND = half_space()
SOFT_GROUND = half_space(SLOPE * 0.25, slab_thickness=0.25)
ORIENTATIONS = Rotation.random(4, random_state=1).as_matrix()
_OTHER = Rotation.random(random_state=5).as_matrix()


@dataclass(frozen=True)
class Case:
    """Two shapes in contact.

    Attributes:
        pair: Meshes and poses of A and B for edges of a length, m, and an orientation of A, (3, 3).
        exact: Force on B, (3,) N, between the shapes themselves, for an orientation of A.
    """

    pair: Callable[[float, np.ndarray], Pair]
    exact: Callable[[np.ndarray], np.ndarray]

    def patch(self, resolution: float, rotation: np.ndarray) -> ContactPatch:
        """The patch between meshes with edges of about ``resolution`` m."""
        return compute_patch(*self.pair(resolution, rotation))

    def error(self, patch: ContactPatch, rotation: np.ndarray) -> float:
        """Relative error of a patch's force."""
        exact = self.exact(rotation)
        return float(np.linalg.norm(patch.force_on_b - exact) / np.linalg.norm(exact))


def _down(force: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda _: np.array([0.0, 0.0, -force])


def _extrapolated(pair: Callable[[float, np.ndarray], Pair]) -> Callable[[np.ndarray], np.ndarray]:
    """Force without closed form: that of two fine meshes, continued to edges of no length at second order."""

    @cache
    def exact(rotation: bytes) -> np.ndarray:
        turned = np.frombuffer(rotation).reshape(3, 3)
        coarse, fine = (compute_patch(*pair(edge, turned)).force_on_b for edge in (0.005, 0.0025))
        return (4.0 * fine - coarse) / 3.0

    return lambda rotation: exact(np.ascontiguousarray(rotation).tobytes())


# --- closed forms


def _ball_section(radius: float, height: float) -> float:
    """Pressure ``MODULUS (1 - r / radius)`` of a ball over its section at ``height`` above the centre, N."""
    disc = (radius**2 - height**2) / 2.0 - (radius**3 - height**3) / (3.0 * radius)
    return 2.0 * np.pi * MODULUS * disc


def ball_on_rigid_ground(depth: float) -> Case:
    """A compliant ball, ``depth`` m deep."""
    height = RADIUS - depth
    return Case(
        lambda edge, R: (
            sphere(RADIUS, resolution=edge, modulus=MODULUS),
            pose([0.0, 0.0, height], R),
            RIGID_GROUND,
            pose(),
        ),
        _down(_ball_section(RADIUS, height)),
    )


def rigid_ball_on_soft_ground(depth: float) -> Case:
    """A rigid ball, ``depth`` m deep."""
    return Case(
        lambda edge, R: (
            sphere(RADIUS, resolution=edge),
            pose([0.0, 0.0, RADIUS - depth], R),
            SOFT_GROUND,
            pose(),
        ),
        _down(SLOPE * np.pi * depth**2 * (3.0 * RADIUS - depth) / 3.0),
    )


def two_balls(depth: float, other_modulus: float | None) -> Case:
    """A compliant ball above a smaller one, compliant or rigid; their fields by quadrature over the radius."""
    small = 0.6 * RADIUS
    height = RADIUS + small - depth

    def pressure(radius: float) -> float:
        rim = height - np.sqrt(RADIUS**2 - radius**2)
        top = np.sqrt(small**2 - radius**2)

        def of_a(z: float) -> float:
            return MODULUS * (1.0 - np.hypot(radius, z - height) / RADIUS)

        if other_modulus is None:
            return of_a(top)
        field = other_modulus / small
        return of_a(brentq(lambda z: of_a(z) - field * (small - np.hypot(radius, z)), rim, top, xtol=1e-15))

    cut = (height**2 + small**2 - RADIUS**2) / (2.0 * height)
    reach = np.sqrt(small**2 - cut**2) * (1.0 - 1e-12)
    force = 2.0 * np.pi * quad(lambda radius: radius * pressure(radius), 0.0, reach, epsrel=1e-9)[0]
    return Case(
        lambda edge, R: (
            sphere(RADIUS, resolution=edge, modulus=MODULUS),
            pose([0.0, 0.0, height], R),
            sphere(small, resolution=0.6 * edge, modulus=other_modulus),
            pose(rotation=R @ _OTHER),
        ),
        _down(force),
    )


def ellipsoid_on_rigid_ground(depth: float) -> Case:
    """Scaled to a unit ball, the plane cuts it at another height."""
    axes = np.array([0.05, 0.08, 0.12])

    def reach(R: np.ndarray) -> float:
        return float(np.linalg.norm(axes * R[2]))

    def exact(R: np.ndarray) -> np.ndarray:
        height = 1.0 - depth / reach(R)
        return np.array([0.0, 0.0, -axes.prod() / reach(R) * _ball_section(1.0, height)])

    return Case(
        lambda edge, R: (
            ellipsoid(*axes, resolution=edge, modulus=MODULUS),
            pose([0.0, 0.0, reach(R) - depth], R),
            RIGID_GROUND,
            pose(),
        ),
        exact,
    )


def cylinder_on_end(depth: float, compliant: bool) -> Case:
    """Flat on the ground: only the rim is curved."""
    length = 2.0 * RADIUS
    slope = MODULUS / RADIUS
    soft = quad(lambda r: r * min(depth, RADIUS - r), 0.0, RADIUS, points=[RADIUS - depth])[0]
    force = 2.0 * np.pi * slope * soft if compliant else SLOPE * depth * np.pi * RADIUS**2
    return Case(
        lambda edge, R: (
            cylinder(RADIUS, length, resolution=edge, modulus=MODULUS if compliant else None),
            pose([0.0, 0.0, length / 2.0 - depth], Rotation.from_euler("z", R[0, 0]).as_matrix()),
            RIGID_GROUND if compliant else SOFT_GROUND,
            pose(),
        ),
        _down(force),
    )


def _lying(R: np.ndarray) -> np.ndarray:
    """Axis along x, rolled by an angle taken from ``R``."""
    return (Rotation.from_euler("y", np.pi / 2) * Rotation.from_euler("z", 3.0 * R[0, 0])).as_matrix()


def cylinder_on_side(depth: float) -> Case:
    """Its field is the distance from the mantle, near the ends from those."""
    length, height = 3.0 * RADIUS, RADIUS - depth

    def over_length(y: float) -> float:
        inside = RADIUS - np.hypot(y, height)
        return MODULUS / RADIUS * inside * (length - inside)

    reach = np.sqrt(RADIUS**2 - height**2)
    return Case(
        lambda edge, R: (
            cylinder(RADIUS, length, resolution=edge, modulus=MODULUS),
            pose([0.0, 0.0, height], _lying(R)),
            RIGID_GROUND,
            pose(),
        ),
        _down(quad(over_length, -reach, reach)[0]),
    )


def capsule_on_side(depth: float) -> Case:
    """Two half balls and a mantle between them."""
    length, height = 2.0 * RADIUS, RADIUS - depth
    reach = np.sqrt(RADIUS**2 - height**2)
    mantle = quad(lambda y: length * MODULUS * (1.0 - np.hypot(y, height) / RADIUS), -reach, reach)[0]
    return Case(
        lambda edge, R: (
            capsule(RADIUS, length, resolution=edge, modulus=MODULUS),
            pose([0.0, 0.0, height], _lying(R)),
            RIGID_GROUND,
            pose(),
        ),
        _down(_ball_section(RADIUS, height) + mantle),
    )


# --- no closed form, or other meshes


@kept
def lobed(edge: float) -> Geometry:
    """A non-convex solid: the ball's mesh with its radius varying by half; pressure linear along each ray."""
    ball = sphere(1.0, resolution=edge / RADIUS, modulus=1.0)
    distance = np.linalg.norm(ball.vertices, axis=1)
    x, y, z = (ball.vertices / np.maximum(distance, 0.5)[:, None]).T
    reach = RADIUS * (1.0 + 0.8 * x * y * z + 0.125 * (3.0 * z**2 - 1.0))
    pressure = MODULUS * (1.0 - np.round(distance, 9))
    return compliant_mesh(ball.vertices * reach[:, None], ball.elements, pressure)


def lobed_on_ground(depth: float) -> Case:
    """The non-convex solid, its lowest point ``depth`` m deep."""

    def pair(edge: float, R: np.ndarray) -> Pair:
        lowest = float((lobed(0.01).vertices @ R[2]).min())
        return lobed(edge), pose([0.0, 0.0, -lowest - depth], R), RIGID_GROUND, pose()

    return Case(pair, _extrapolated(pair))


def two_lobed(distance: float) -> Case:
    """Two non-convex solids."""

    def pair(edge: float, R: np.ndarray) -> Pair:
        return lobed(edge), pose([0.0, 0.0, distance], R), lobed(edge), pose(rotation=R @ _OTHER)

    return Case(pair, _extrapolated(pair))


def bubble_on_cylinder(depth: float) -> Case:
    """A flat compliant ellipsoid presses on a rigid cylinder."""
    half_height, radius = 0.025, 0.03

    def pair(edge: float, R: np.ndarray) -> Pair:
        bubble = ellipsoid(0.06, 0.04, half_height, resolution=edge / 2.0, modulus=1e4)
        tilt = Rotation.from_rotvec(0.2 * R[1]).as_matrix()
        bar = cylinder(radius, 0.2, resolution=edge / 2.0)
        return (
            bubble,
            pose([0.002, 0.003, half_height + radius - depth], tilt),
            bar,
            pose(rotation=_lying(R)),
        )

    return Case(pair, _extrapolated(pair))


@cache
def _ball_of_any_tetrahedra(edge: float) -> Geometry:
    rng = np.random.default_rng(0)
    ball = sphere(1.0, resolution=edge / RADIUS, modulus=1.0)
    surface = ball.vertices[np.unique(ball.surface_triangles())]
    h = edge / RADIUS
    below = (1.0 - 0.6 * h) * surface + 0.1 * h * rng.normal(size=surface.shape)
    inside = rng.uniform(-1.0, 1.0, (int(10.0 / h**3), 3))
    inside = inside[np.linalg.norm(inside, axis=1) < 1.0 - h]
    vertices = np.concatenate([surface, below, inside])
    distance = np.linalg.norm(vertices, axis=1)
    distance[: len(surface)] = 1.0
    elements = _turned_out(vertices, Delaunay(vertices).simplices)
    return compliant_mesh(RADIUS * vertices, elements, MODULUS * (1.0 - distance))


def _turned_out(vertices: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """The tetrahedra with positive orientation."""
    a, b, c, d = np.moveaxis(vertices[elements], 1, 0)
    flipped = np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) < 0.0
    return np.where(flipped[:, None], elements[:, [0, 2, 1, 3]], elements)


def ball_of_any_tetrahedra(depth: float) -> Case:
    """A ball meshed at random throughout, not in columns from the centre; edges of 10 mm at least."""
    return Case(
        lambda edge, R: (
            _ball_of_any_tetrahedra(max(edge, 0.01)),
            pose([0.0, 0.0, RADIUS - depth], R),
            RIGID_GROUND,
            pose(),
        ),
        _down(_ball_section(RADIUS, RADIUS - depth)),
    )


def ball_of_layers(depth: float, layers: int) -> Case:
    """A ball whose field ``MODULUS (1 - (r / RADIUS)^2)`` is linear in each of a few layers, however fine around."""

    def pair(edge: float, R: np.ndarray) -> Pair:
        ball = sphere(1.0, resolution=edge / RADIUS, modulus=1.0)
        kept, corners = np.unique(ball.surface_triangles(), return_inverse=True)
        surface, triangles = ball.vertices[kept], np.sort(corners.reshape(-1, 3), axis=1)
        radii = np.linspace(1.0, 0.0, layers + 1)[:-1]
        vertices = np.concatenate([*(r * surface for r in radii), np.zeros((1, 3))])
        # Sorted corners give neighbouring prisms the same diagonals.
        shells = [tuple((triangles + k * len(surface)).T) for k in range(layers)]
        elements = [split_prisms(outer, inner) for outer, inner in pairwise(shells)]
        elements.append(cones(np.array(len(vertices) - 1), *shells[-1]))
        inside = np.repeat(1.0 - np.append(radii, 0.0) ** 2, [len(surface)] * layers + [1])
        return (
            compliant_mesh(
                RADIUS * vertices, _turned_out(vertices, np.concatenate(elements)), MODULUS * inside
            ),
            pose([0.0, 0.0, RADIUS - depth], R),
            RIGID_GROUND,
            pose(),
        )

    reach2 = RADIUS**2 - (RADIUS - depth) ** 2
    return Case(pair, _down(np.pi * MODULUS * reach2**2 / (2.0 * RADIUS**2)))


SMOOTH = {
    "compliant ball, rigid ground, 2 mm": ball_on_rigid_ground(0.002),
    "compliant ball, rigid ground, 10 mm": ball_on_rigid_ground(0.01),
    "compliant ball, rigid ground, 40 mm": ball_on_rigid_ground(0.04),
    "rigid ball, compliant ground": rigid_ball_on_soft_ground(0.02),
    "two compliant balls": two_balls(0.02, 3e5),
    "compliant and rigid ball": two_balls(0.02, None),
    "ellipsoid, rigid ground": ellipsoid_on_rigid_ground(0.01),
    "compliant cylinder on its end": cylinder_on_end(0.01, compliant=True),
    "rigid cylinder on its end": cylinder_on_end(0.01, compliant=False),
    "cylinder on its side": cylinder_on_side(0.02),
    "capsule on its side": capsule_on_side(0.015),
    "non-convex solid, rigid ground": lobed_on_ground(0.02),
    "two non-convex solids": two_lobed(0.15),
    "bubble on rigid cylinder": bubble_on_cylinder(0.01),
    "ball of any tetrahedra": ball_of_any_tetrahedra(0.04),
}

#: Not seen by the faces: they lie along the layers, and the error is across them.
BLIND = {"ball with a field in 3 layers": ball_of_layers(0.04, 3)}


# --- shapes that their meshes are, at any resolution


def split_in_eight(geometry: Geometry) -> Geometry:
    """The same compliant solid and field with every tetrahedron cut in eight."""
    vertices, pressure, elements = geometry.vertices, geometry.pressure, geometry.elements
    ends = np.sort(elements[:, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]].reshape(-1, 2), axis=1)
    unique, middle = np.unique(ends, axis=0, return_inverse=True)
    ab, ac, ad, bc, bd, cd = (len(vertices) + middle.reshape(-1, 6)).T
    a, b, c, d = elements.T
    parts = [
        *([a, ab, ac, ad], [ab, b, bc, bd], [ac, bc, c, cd], [ad, bd, cd, d]),
        *([ab, ac, ad, cd], [ab, ac, cd, bc], [ab, bc, cd, bd], [ab, bd, cd, ad]),
    ]
    return compliant_mesh(
        np.concatenate([vertices, vertices[unique].mean(axis=1)]),
        np.concatenate([np.stack(part, axis=1) for part in parts]),
        np.concatenate([pressure, pressure[unique].mean(axis=1)]),
    )


def box_pair(partner: str, seed: int, splits: int = 0) -> Pair:
    """A box in a random pose in a ``"compliant box"``, a ``"rigid box"`` or ``"rigid ground"``."""
    rng = np.random.default_rng(seed)
    a = box(0.2, 0.24, 0.16, modulus=MODULUS)
    for _ in range(splits):
        a = split_in_eight(a)
    partners = {
        "compliant box": box(0.1, 0.3, 0.2, modulus=3e5),
        "rigid box": box(0.1, 0.3, 0.2),
        "rigid ground": RIGID_GROUND,
    }
    X_WA = pose(rng.uniform(-0.08, 0.08, 3), Rotation.random(random_state=rng).as_matrix())
    return a, X_WA, partners[partner], pose()
