"""Equal and mirrored meshes at round offsets and quarter turns, where planes, faces and edges of two bodies coincide.

What is right there is told by the poses around: the contact of all pairs of elements in slightly perturbed poses, and
that the exact pose lies among them. Every perturbation comes with its opposite, so that both sides of a jump are seen.
"""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from hydro_sim_core.contact import FaceArrays
from hydro_sim_core.geometry import Geometry
from support.contact.all_pairs import Contact, candidates, cells, contact_by_all_pairs
from support.contact.pair import Pair, by_tree, by_walk
from support.contact.poses import pose, random_direction
from support.contact.solids import ball_surface, depth_field, grid, layered, lobes, mirrored

SIZE = 0.2
#: Relative offsets along each axis: none most often, so that bodies touch.
OFFSETS = np.array([0, 0, 0, 1 / 2, -1 / 2, 1 / 3, -1 / 3, 1, -1, 1 / 4, 2 / 3, 3 / 4, 5 / 4])
QUARTER_TURNS = [
    matrix
    for order, signs in product(permutations(range(3)), product((1.0, -1.0), repeat=3))
    if np.linalg.det(matrix := np.eye(3)[list(order)] * signs) > 0.0
]
#: rad; shifts are a tenth of it in metres, 1e-9 of the size.
PERTURBATION = 2e-9
POSES, FEWER_POSES = 400, 80
TOLERANCE = 1e-6
#: How far a sample of perturbations may fall short of the true bracket, as a fraction of its width.
SHORT = 0.25

g = hs.geometry


def compliant_bodies() -> dict[str, Geometry]:
    """Bodies 0.2 m long whose meshes have many planes of symmetry, and a lopsided one with its mirror image."""
    lopsided = layered(ball_surface(0.1, 0.15, lobes), [0.0, 0.5, 1.0])
    bodies = {
        "cubes of cubes": grid(SIZE, 2, depth_field(SIZE, 1e5)),
        "finer cubes": grid(SIZE, 3, depth_field(SIZE, 3e5)),
        "lopsided": lopsided,
        "its mirror image": mirrored(lopsided),
    }
    for margin in (0.0, 1e-3):
        options = {"modulus": 1e5, "margin": margin}
        meshed = {**options, "resolution": 0.09}
        bodies |= {
            f"cube {margin}": g.box(SIZE, SIZE, SIZE, **options),
            f"plate {margin}": g.box(SIZE, SIZE, 1.5 * SIZE, modulus=2e5, margin=margin),
            f"ball {margin}": g.sphere(0.5 * SIZE, **meshed),
            f"cylinder {margin}": g.cylinder(0.5 * SIZE, SIZE, **meshed),
            f"capsule {margin}": g.capsule(0.5 * SIZE, 0.5 * SIZE, **meshed),
        }
    return bodies


def rigid_bodies() -> dict[str, Geometry]:
    """Rigid partners of the same sizes."""
    return {
        "rigid cube": g.box(SIZE, SIZE, SIZE),
        "rigid ball": g.sphere(0.5 * SIZE, resolution=0.09),
        "rigid cylinder": g.cylinder(0.5 * SIZE, SIZE, resolution=0.09),
    }


COMPLIANT, RIGID = compliant_bodies(), rigid_bodies()
KINDS = {"compliant": (COMPLIANT, COMPLIANT), "rigid on compliant": (RIGID, COMPLIANT), "like": None}


def draw(kind: str, rng: np.random.Generator) -> tuple[Geometry, Geometry]:
    """Two bodies, the same twice if ``kind`` is ``like``, in random order."""
    if kind == "like":
        body = COMPLIANT[rng.choice(list(COMPLIANT))]
        return body, body
    first, second = KINDS[kind]
    bodies = first[rng.choice(list(first))], second[rng.choice(list(second))]
    return bodies if rng.random() < 0.5 else bodies[::-1]


def perturbed(X: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """The pose shifted into every octant, and turned about a random axis, both ways."""
    shifts = 0.1 * PERTURBATION * np.array([1.0, 0.6, 0.35]) * list(product((1.0, -1.0), repeat=3))
    turn, shift = PERTURBATION * random_direction(rng), 0.1 * PERTURBATION * random_direction(rng)
    turned = [
        pose(X[:3, 3] + sign * shift, Rotation.from_rotvec(sign * turn).as_matrix() @ X[:3, :3])
        for sign in (1.0, -1.0)
    ]
    return [*turned, *(pose(X[:3, 3] + shift, X[:3, :3]) for shift in shifts)]


def has_opposed_faces(faces: FaceArrays) -> bool:
    """Whether two faces in one place push against each other, where one field just touches the other."""
    shifts = faces.centroids[:, None] - faces.centroids[None]
    near = np.linalg.norm(shifts, axis=2) < 1e3 * PERTURBATION * SIZE
    return bool((near & (faces.normals @ faces.normals.T < -0.5)).any())


def wrench(contact: Contact) -> np.ndarray:
    """Force, N, and moment (6,), turned into a force by half the bodies' length."""
    return np.r_[contact.force, contact.moment / (0.5 * SIZE)]


def agree_over_volume(a: Geometry, X_WA: np.ndarray, b: Geometry, X_WB: np.ndarray) -> bool:
    """Whether elements that may overlap have one and the same field.

    Equal-pressure surfaces then fill a volume: perturbed bodies share it in pairs of faces that push against each
    other, whose area is not that of the exact pose.
    """
    if a.is_rigid or b.is_rigid:
        return False
    cells_a, cells_b = cells(a, X_WA[:3, :3], X_WA[:3, 3]), cells(b, X_WB[:3, :3], X_WB[:3, 3])
    i, j = candidates(cells_a, cells_b)
    difference = np.abs(cells_a.fields[i] - cells_b.fields[j]).max(axis=1)
    return bool((difference < 1e-9 * np.abs(cells_a.fields[i]).max(axis=1)).any())


@pytest.mark.parametrize("kind", KINDS)
def test_contact_is_among_those_of_perturbed_poses(kind, full_run):
    count = POSES if full_run else FEWER_POSES
    rng = np.random.default_rng(list(KINDS).index(kind))
    pairs: dict[tuple[int, int], Pair] = {}
    touching = steady = 0
    for _ in range(count):
        a, b = draw(kind, rng)
        pair = pairs.setdefault((id(a), id(b)), Pair(a, b))
        X_WA = pose(SIZE * rng.choice(OFFSETS, 3), QUARTER_TURNS[rng.integers(len(QUARTER_TURNS))])
        X_WB = pose(rotation=QUARTER_TURNS[rng.integers(len(QUARTER_TURNS))])
        around = perturbed(X_WA, rng)
        near = [pair.contact(X, X_WB) for X in around]
        found = pair.contact(X_WA, X_WB)
        unit = max(1.0, *(contact.load for contact in near))
        for search in (by_walk, by_tree):
            other = pair.contact(X_WA, X_WB, search)
            assert np.abs(wrench(found) - wrench(other)).max() <= 1e-10 * unit

        expected = contact_by_all_pairs(a, around[0], b, X_WB)
        assert np.abs(wrench(near[0]) - wrench(expected)).max() <= TOLERANCE * unit
        assert near[0].area == pytest.approx(expected.area, rel=1e-5, abs=TOLERANCE * SIZE**2)
        if agree_over_volume(a, X_WA, b, X_WB):
            continue

        wrenches = np.array([wrench(contact) for contact in near])
        width = np.ptp(wrenches, axis=0)
        slack = TOLERANCE * unit + SHORT * width
        assert (wrench(found) >= wrenches.min(axis=0) - slack).all(), (X_WA, X_WB)
        assert (wrench(found) <= wrenches.max(axis=0) + slack).all(), (X_WA, X_WB)
        touching += found.load > 1.0
        if width.max() <= TOLERANCE * unit:
            areas = [contact.area for contact in near]
            opposed = any(has_opposed_faces(pair.faces(X, X_WB)) for X in (X_WA, around[0]))
            if not opposed and np.ptp(areas) <= TOLERANCE * SIZE**2:
                assert found.area == pytest.approx(np.mean(areas), abs=10.0 * TOLERANCE * SIZE**2), (
                    X_WA,
                    X_WB,
                )
            steady += found.load > 1.0
    assert touching > count // 4
    assert steady > 0.8 * touching
