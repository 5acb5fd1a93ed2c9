"""Wrenches are continuous as faces come, go and change their number of corners (Elandt 2019, section X-C)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from hydro_sim_core.contact import ContactPatch
from hydro_sim_core.geometry import Geometry
from support.contact.poses import pose, random_rotation
from support.contact.solids import ball_surface, layered, lobes

MODULUS = 1e5
SOFT_SPHERE = hs.geometry.sphere(0.08, resolution=0.06, modulus=MODULUS, margin=1e-3)
SOFT_CYLINDER = hs.geometry.cylinder(0.06, 0.14, resolution=0.05, modulus=MODULUS)
SOFT_LOBED = layered(ball_surface(0.08, 0.06, lobes), (0.0, 0.6, 1.0), MODULUS)
FINE_LOBED = layered(ball_surface(0.08, 0.03, lobes), (0.0, 0.6, 1.0), MODULUS)
RIGID_SPHERE = hs.geometry.sphere(0.07, resolution=0.05)
RIGID_GROUND = hs.geometry.half_space()
SOFT_GROUND = hs.geometry.half_space(MODULUS, slab_thickness=0.1)

#: Pairs and the origin of B in A's frame, m, around which it moves. No face is left out along these paths.
PAIRS = {
    "two spheres with margin": (SOFT_SPHERE, SOFT_SPHERE, (0.01, 0.02, 0.135)),
    "lobed solid and cylinder": (SOFT_LOBED, SOFT_CYLINDER, (0.02, 0.01, 0.13)),
    "two lobed solids": (SOFT_LOBED, SOFT_LOBED, (0.02, 0.01, 0.13)),
    "rigid and compliant sphere": (RIGID_SPHERE, SOFT_SPHERE, (0.01, 0.02, 0.125)),
    "lobed solid on a rigid plane": (FINE_LOBED, RIGID_GROUND, (0.02, 0.01, -0.06)),
    "lobed solid on a compliant half space": (SOFT_LOBED, SOFT_GROUND, (0.02, 0.01, -0.06)),
}
#: Length on which a moment is made a force, m.
ARM = 0.1
#: Share of the way to which a change of the faces is narrowed down.
NARROW = 1e-13

Path = Callable[[float], ContactPatch]


def patch_along(a: Geometry, b: Geometry, middle: tuple[float, ...], every_polygon: bool = True) -> Path:
    """The patch in triangles after a share of the way: some 10 mm with a turn of about 0.1 rad."""
    rng = np.random.default_rng(11)
    X_WA = pose((0.0, 0.0, 0.0), random_rotation(rng))
    R_0 = np.eye(3) if b.is_half_space else random_rotation(rng)
    shift, turn = 0.006 * rng.normal(size=3), 0.08 * rng.normal(size=3)

    def patch(share: float) -> ContactPatch:
        turned = Rotation.from_rotvec((share - 0.5) * turn).as_matrix() @ R_0
        X_WB = pose(middle + (share - 0.5) * shift, turned)
        return hs.contact.compute_patch(a, X_WA, b, X_WB, "triangle", every_polygon=every_polygon)

    return patch


def wrench(patch: ContactPatch) -> np.ndarray:
    """Force on B and its moment about the world's origin over ``ARM``, (6,) N."""
    return np.r_[patch.force_on_b, patch.moment_on_b((0.0, 0.0, 0.0)) / ARM]


def largest_step(path: Path, count: int) -> float:
    """Largest change of the wrench over steps of equal length, N."""
    wrenches = [wrench(path(share)) for share in np.linspace(0.0, 1.0, count + 1)]
    return float(np.linalg.norm(np.diff(wrenches, axis=0), axis=1).max())


def jumps_where_faces_change(path: Path, count: int) -> list[float]:
    """Jumps of the wrench, as a share of it, where the number of triangles changes."""
    shares = np.linspace(0.0, 1.0, count + 1)
    numbers = [path(share).num_faces for share in shares]
    jumps = []
    for i in np.flatnonzero(np.diff(numbers)):
        low, high = shares[i], shares[i + 1]
        while high - low > NARROW:
            middle = 0.5 * (low + high)
            if path(middle).num_faces == numbers[i]:
                low = middle
            else:
                high = middle
        before, after = wrench(path(low)), wrench(path(high))
        jumps.append(float(np.linalg.norm(after - before) / np.linalg.norm(before)))
    return jumps


@pytest.mark.heavy(3)
@pytest.mark.parametrize("name", PAIRS)
def test_changes_of_the_wrench_shrink_with_the_steps_of_a_sweep(name):
    path = patch_along(*PAIRS[name])
    assert largest_step(path, 80) / largest_step(path, 160) == pytest.approx(2.0, abs=0.1)


@pytest.mark.heavy(3)
@pytest.mark.parametrize("name", PAIRS)
def test_the_wrench_does_not_jump_where_faces_change(name):
    jumps = jumps_where_faces_change(patch_along(*PAIRS[name]), 12)
    assert len(jumps) >= 6
    assert max(jumps) <= 1e-12


def test_faces_left_out_as_drake_does_are_the_exception():
    """They are left out whole: where a face turns past the largest angle its force is gone at once."""
    where = RIGID_SPHERE, SOFT_SPHERE, (0.01, 0.02, 0.08)
    assert max(jumps_where_faces_change(patch_along(*where, every_polygon=False), 12)) >= 1e-6
    assert max(jumps_where_faces_change(patch_along(*where), 12)) <= 1e-12
