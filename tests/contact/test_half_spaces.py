"""Half spaces against everything: shallow, deep and wholly inside, whatever the shape."""

from __future__ import annotations

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.contact import FaceArrays
from hydro_sim_core.geometry import Geometry
from support.contact.all_pairs import MIN_COSINE, Contact, contact_by_all_pairs
from support.contact.pair import Pair
from support.contact.poses import pose, random_rotation
from support.contact.solids import (
    ball_surface,
    bumpy_field,
    compliant_shell,
    grid,
    layered,
    lobes,
    outer_radius,
    rigid_shell,
    together,
)

TOLERANCE = 1e-10
MODULUS, SLAB = 2e5, 0.25
SLOPE = MODULUS / SLAB
MARGIN = 2e-3
#: Poses of each pair, a third of them each shallow, deep and wholly below the surface.
POSES = 12

g = hs.geometry


def compliant_bodies() -> dict[str, Geometry]:
    """Bodies with one peak, several, a hole, a margin."""
    knob = layered(ball_surface(0.03, 0.03), [0.0, 0.5, 1.0])
    return {
        "ellipsoid": g.ellipsoid(0.05, 0.06, 0.08, resolution=0.04, modulus=1e5),
        "box with margin": g.box(0.08, 0.1, 0.12, modulus=1e5, margin=MARGIN),
        "capsule with margin": g.capsule(0.04, 0.1, resolution=0.04, modulus=3e5, margin=MARGIN),
        "lobed": layered(ball_surface(0.08, 0.07, lobes), [0.0, 0.5, 1.0]),
        "hollow": compliant_shell(ball_surface(0.08, 0.07), 0.4),
        "three": together([knob] * 3, [[0.05, 0.0, 0.0], [-0.04, 0.03, 0.0], [0.0, -0.05, 0.03]]),
        "many peaks": grid(0.12, 3, bumpy_field(0.12, 1e5, 3)),
    }


def rigid_bodies() -> dict[str, Geometry]:
    """Rigid bodies, not all convex or whole."""
    knob = g.sphere(0.03, resolution=0.03)
    return {
        "rigid box": g.box(0.08, 0.1, 0.12),
        "rigid lobed": g.rigid_mesh(*ball_surface(0.08, 0.07, lobes)),
        "rigid hollow": rigid_shell(ball_surface(0.08, 0.07), ball_surface(0.05, 0.05)),
        "rigid three": together([knob] * 3, [[0.05, 0.0, 0.0], [-0.04, 0.03, 0.0], [0.0, -0.05, 0.03]]),
    }


COMPLIANT, RIGID = compliant_bodies(), rigid_bodies()
BODIES = {**COMPLIANT, **RIGID}
GROUNDS = {
    "rigid": g.half_space(),
    "compliant": g.half_space(MODULUS, slab_thickness=SLAB),
    "compliant with margin": g.half_space(MODULUS, slab_thickness=SLAB, margin=MARGIN),
}
PAIRS = [(body, ground) for body in BODIES for ground in GROUNDS if body in COMPLIANT or ground != "rigid"]


def sunk(body: Geometry, rng: np.random.Generator, how: int) -> tuple[np.ndarray, np.ndarray]:
    """Poses of a body, turned and at some depth, and of a turned half space."""
    radius = outer_radius(body)
    depth = [rng.uniform(-0.8, 0.0), rng.uniform(0.0, 0.9), rng.uniform(1.0, 3.0)][how % 3] * radius
    X_WB = pose(rng.uniform(-0.5, 0.5, 3), random_rotation(rng))
    return X_WB @ pose([*rng.uniform(-0.2, 0.2, 2), -depth], random_rotation(rng)), X_WB


def assert_same(found: Contact, expected: Contact) -> None:
    """Two contacts agree to a fraction of the load and the area."""
    allowed = TOLERANCE * expected.load
    np.testing.assert_allclose(found.force, expected.force, rtol=0.0, atol=allowed)
    np.testing.assert_allclose(found.moment, expected.moment, rtol=0.0, atol=allowed)
    assert found.area == pytest.approx(expected.area, rel=TOLERANCE)
    assert found.num_faces == expected.num_faces


@pytest.mark.parametrize(("body", "ground"), PAIRS)
def test_contact_is_that_of_all_elements(body, ground):
    a, b = BODIES[body], GROUNDS[ground]
    pair, swapped = Pair(a, b), Pair(b, a)
    rng = np.random.default_rng(len(body))
    pressed = 0
    for how in range(POSES):
        X_WA, X_WB = sunk(a, rng, how)
        expected = contact_by_all_pairs(a, X_WA, b, X_WB)
        found = pair.contact(X_WA, X_WB)
        assert_same(found, expected)
        backward = swapped.contact(X_WB, X_WA)
        np.testing.assert_allclose(-backward.force, found.force, rtol=0.0, atol=TOLERANCE * expected.load)
        pressed += expected.load > 0.0
    assert pressed >= POSES // 3


def slab() -> Geometry:
    """A large box whose field is that of the compliant half space: the origin in the middle of its upper side."""
    block = g.box(4.0, 4.0, 2.0, modulus=1.0)
    vertices = block.vertices - [0.0, 0.0, 1.0]
    return g.compliant_mesh(vertices, block.elements, -SLOPE * vertices[:, 2])


def push(faces: FaceArrays, counted: np.ndarray | bool = True) -> np.ndarray:
    """Integral of the pressure over the faces, (3,) N, negative pressures too: elements may be cut as one likes."""
    return np.where(counted, faces.areas * faces.pressures, 0.0) @ faces.normals


@pytest.mark.parametrize("body", BODIES)
def test_compliant_half_space_is_a_large_slab(body):
    a, ground, block = BODIES[body], GROUNDS["compliant"], slab()
    on_ground, on_block = Pair(a, ground), Pair(a, block)
    rng = np.random.default_rng(len(body))
    for how in range(POSES):
        X_WA, X_WB = sunk(a, rng, how)
        expected, found = on_block.faces(X_WA, X_WB), on_ground.faces(X_WA, X_WB)
        load = expected.areas @ np.abs(expected.pressures)
        np.testing.assert_allclose(push(found), push(expected), rtol=0.0, atol=TOLERANCE * load)
        assert found.areas.sum() == pytest.approx(expected.areas.sum(), rel=TOLERANCE)


@pytest.mark.parametrize("body", COMPLIANT)
def test_rigid_half_space_is_the_top_of_a_large_block(body):
    """Triangles count only where the pressure rises towards the body; all of the half space's plane does."""
    a, block = COMPLIANT[body], g.box(4.0, 4.0, 2.0)
    on_ground, on_block = Pair(a, GROUNDS["rigid"]), Pair(a, block)
    top = pose([0.0, 0.0, -1.0])
    rng = np.random.default_rng(len(body))
    for how in range(POSES):
        X_WA, X_WB = sunk(a, rng, how)
        faces = on_ground.faces(X_WA, X_WB)
        steepness = np.linalg.norm(faces.field_gradients, axis=1)
        counted = faces.gradients[:, 0] > MIN_COSINE * steepness
        expected = on_block.faces(X_WA, X_WB @ top)
        load = expected.areas @ np.abs(expected.pressures)
        np.testing.assert_allclose(push(faces, counted), push(expected), rtol=0.0, atol=TOLERANCE * load)


@pytest.mark.parametrize("depth", [0.0, 0.03, 0.2, 5.0])
def test_swallowed_rigid_box_is_pushed_from_below(depth):
    """The side that looks up meets pressure that falls towards it, which does not count; the walls' forces cancel."""
    size = np.array([0.08, 0.1, 0.12])
    X_WA = pose([0.3, -0.2, -depth - 0.5 * size[2]])
    found = Pair(g.box(size), GROUNDS["compliant"]).contact(X_WA, pose())
    expected = SLOPE * (depth + size[2]) * size[0] * size[1]
    np.testing.assert_allclose(found.force, [0.0, 0.0, -expected], rtol=0.0, atol=1e-9 * found.load)
    walls = 2.0 * (size[0] + size[1]) * size[2]
    assert found.area == pytest.approx(size[0] * size[1] + walls, rel=1e-9)


@pytest.mark.parametrize("depth", [0.102, 0.11, 0.12])
def test_swallowed_ball_meets_the_ground_where_the_pressures_agree(depth):
    """A closed surface, of which the lower part counts: p = E (1 - r / R) and p = slope z at once."""
    ball = g.sphere(0.1, resolution=0.02, modulus=1e5)
    patch = hs.contact.compute_patch(ball, pose([0.0, 0.0, -depth]), GROUNDS["compliant"], np.eye(4))
    assert patch.num_faces > 10
    radii = np.linalg.norm(patch.centroids - np.array([0.0, 0.0, -depth]), axis=1)
    np.testing.assert_allclose(patch.pressures, -SLOPE * patch.centroids[:, 2], rtol=1e-9)
    np.testing.assert_allclose(patch.pressures, 1e5 * (1.0 - radii / 0.1), atol=3e3)


@pytest.mark.parametrize("depth", [0.126, 0.5, 5.0])
def test_ball_softer_than_the_ground_around_it(depth):
    """The ground presses more at the ball's centre, and its pressure falls off less than the ball's towards the top."""
    ball = g.sphere(0.1, resolution=0.02, modulus=1e5)
    assert SLOPE * depth > 1e5
    assert SLOPE < 1e5 / 0.1
    assert Pair(ball, GROUNDS["compliant"]).contact(pose([0.0, 0.0, -depth]), pose()).num_faces == 0


@pytest.mark.parametrize("body", COMPLIANT)
def test_body_wholly_below_a_rigid_plane(body):
    """There is nothing to press on: the field of the body does not reach the plane."""
    a = COMPLIANT[body]
    depth = 1.01 * outer_radius(a)
    assert Pair(a, GROUNDS["rigid"]).contact(pose([0.0, 0.0, -depth]), pose()).num_faces == 0


@pytest.mark.parametrize("body", BODIES)
def test_only_the_slope_of_the_ground_matters(body):
    a = BODIES[body]
    thick = g.half_space(3.0 * MODULUS, slab_thickness=3.0 * SLAB)
    rng = np.random.default_rng(1)
    X_WA, X_WB = sunk(a, rng, 1)
    assert_same(Pair(a, thick).contact(X_WA, X_WB), Pair(a, GROUNDS["compliant"]).contact(X_WA, X_WB))


@pytest.mark.parametrize("body", BODIES)
def test_margin_of_the_ground_is_a_skirt(body):
    """Above the ground but within its margin a body has faces that carry nothing; higher it has none."""
    a, ground = BODIES[body], GROUNDS["compliant with margin"]
    low = a.vertices[:, 2].min() + (a.margin if not a.is_rigid else 0.0)
    pair = Pair(a, ground)
    near = pair.faces(pose([0.0, 0.0, 0.5 * MARGIN - low]), pose())
    assert (near.pressures < 0.0).all()
    assert (len(near.areas) > 0) == (a.is_rigid or a.pressure.min() < 0.0)
    far = pair.faces(pose([0.0, 0.0, 1.01 * MARGIN - a.vertices[:, 2].min()]), pose())
    assert len(far.areas) == 0
