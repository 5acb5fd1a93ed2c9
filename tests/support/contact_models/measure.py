"""Measure what docs/contact_models.md and docs/decisions/0003-point-contact.md say of time and accuracy.

Run it as ``OMP_NUM_THREADS=1 python tests/support/contact_models/measure.py``; times are CPU times of its one thread.
"""

import sys
import time
from dataclasses import astuple
from pathlib import Path

import numpy as np

from hydro_sim_core import geometry
from hydro_sim_core.compilation import Handle
from hydro_sim_core.contact import compute_patch
from hydro_sim_core.contact.equivalent_point import FrictionEllipsoid, RigidBody, SupportHull, step_on_plane
from hydro_sim_core.contact.point import point_contact
from hydro_sim_core.contact.soft_distance import (
    OrientedCloud,
    SoftContactModel,
    cloud_of_geometry,
    contact_wrench,
)
from hydro_sim_core.contact.soft_distance.cloud import SMOOTHED
from hydro_sim_core.contact.soft_distance.kernels import make_pair_memory, pair_wrench
from hydro_sim_core.contact.soft_distance.weighing import balls_of_blocks, order_in_blocks
from hydro_sim_core.experiments.planar_push.bodies import soft_pushing

sys.path.append(str(Path(__file__).parents[2]))
from support.contact_models.rigid_poses import pose

SIZE = np.array([0.3, 0.2, 0.4])
BLOCK = RigidBody(
    2.0,
    2.0 / 12.0 * np.diag(np.square(SIZE).sum() - np.square(SIZE)),
    SupportHull.from_geometry(geometry.box(*SIZE)),
)
REST = np.zeros(6)


def seconds(function, *arguments):
    start = time.thread_time()
    function(*arguments)
    return time.thread_time() - start


def time_calls(repeat):
    """Milliseconds a call, best of ``repeat``: spheres of radius 0.1 m that overlap by 2 cm, a block that slides."""
    X_WA, X_WB = pose(), pose((0.0864, -0.108, 0.1152))
    soft, ball = geometry.sphere(0.1, modulus=1e6), geometry.sphere(0.1)
    coarse, fine = (OrientedCloud.from_geometry(geometry.sphere(0.1, resolution=h)) for h in (0.05, 0.02))
    model = SoftContactModel(1e4, 0.5, 0.3, 1e-2, 1e-4, 1e-3, 1e-3)
    sliding = np.array([0.0, 0.0, 1.0, 0.5, 0.0, 0.0])
    num_faces = compute_patch(soft, X_WA, ball, X_WB).num_faces
    calls = {
        f"patch, {num_faces} faces": (compute_patch, soft, X_WA, ball, X_WB),
        "point": (point_contact, ball, X_WA, ball, X_WB),
        "equivalent point": (step_on_plane, BLOCK, pose((0, 0, 0.2)), sliding, 0.01, FrictionEllipsoid(0.4)),
    }
    for cloud in (coarse, fine):
        name = f"soft distance, {len(cloud.points)} points"
        calls[name] = (contact_wrench, cloud, X_WA, REST, cloud, X_WB, REST, model)
    return {name: 1e3 * min(seconds(*call) for _ in range(repeat)) for name, call in calls.items()}


def time_kernels(counts):
    """Microseconds of the compiled soft minimum, without and with derivatives: a ball in the side of a box."""
    X_BA = pose((-0.144, 0.0, 0.0))
    times = {}
    for count in counts:
        shapes = geometry.box(0.25, 0.2, 0.04), geometry.sphere(0.02, resolution=0.003)
        clouds = [cloud_of_geometry(shape, count) for shape in shapes]
        rows = [np.hstack([cloud.points, cloud.normals])[order_in_blocks(cloud.points)] for cloud in clouds]
        planes = [np.ascontiguousarray(some.T) for some in rows]
        balls = [balls_of_blocks(some, count) for some in planes]
        # As a World has it.
        epsilon1 = SMOOTHED**2 * max(float(cloud.areas.mean()) for cloud in clouds)
        model = np.array(astuple(SoftContactModel(5e3, 0.5, 0.3, 1e-2, epsilon1, 1e-3, 1e-3)))
        memory, pose_of_a = Handle(make_pair_memory(count)), (X_BA[:3, :3].copy(), X_BA[:3, 3].copy())
        for name, jacobian in (("wrench", np.zeros((0, 0))), ("with derivatives", np.zeros((6, 12)))):
            call = (
                *planes,
                *balls,
                np.full((2, 2), count),
                *pose_of_a,
                REST,
                model,
                memory,
                np.zeros(6),
                jacobian,
            )
            calls = max(1, 20_000 // count**2)
            best = min(seconds(_repeat, pair_wrench, call, calls) for _ in range(20 if count < 1000 else 3))
            times[f"{count} points each, {name}"] = 1e6 * best / calls
    return times


def time_steps(counts, scheme):
    """Microseconds of a step of a T on a half space with a finger beside it, by points of each."""
    times = {}
    for count in counts:
        world = soft_pushing(count, scheme, 2e-3).world
        world.step(20)
        start, steps = (world.q, world.v), max(5, 200_000 // count**2)

        def run(world=world, start=start, steps=steps):
            world.set_state(*start)
            world.step(steps)

        times[f"{count} points each, {scheme}"] = 1e6 * min(seconds(run) for _ in range(5)) / steps
    return times


def _repeat(function, arguments, times):
    for _ in range(times):
        function(*arguments)


def throw_blocks(throws):
    """Milliseconds of every step in contact of blocks that tumble for 0.4 s, and the lowest height of a corner, m."""
    times, lowest = [], 0.0
    for seed in range(throws):
        rng = np.random.default_rng(seed)
        X, V = pose(rng.uniform(-1, 1, 3), rng.uniform(-3, 3, 3)), rng.uniform(-3, 3, 6)
        X[2, 3] = 0.05 - (BLOCK.hull.vertices @ X[2, :3]).min()
        friction = FrictionEllipsoid(rng.choice([0.0, 0.1, 0.5, 1.0]))
        for _ in range(40):
            start = time.thread_time()
            step = step_on_plane(BLOCK, X, V, 0.01, friction)
            elapsed = time.thread_time() - start
            if step.p_n > 0.0:
                times.append(1e3 * elapsed)
            X, V = step.X_GB, step.V_GB
            lowest = min(lowest, (BLOCK.hull.vertices @ X[2, :3]).min() + X[2, 3])
    return np.array(times), lowest


def rock_a_cube(angle):
    """How far the point and the patch's centroid of two cubes move as one rocks from ``-angle`` to ``angle``, m."""
    soft, cube = geometry.box(0.2, 0.2, 0.2, modulus=1e6), geometry.box(0.2, 0.2, 0.2)
    tilted = [pose((0.0, 0.0, 0.198), (0.0, tilt, 0.0)) for tilt in (-angle, angle)]
    points = [point_contact(cube, pose(), cube, X).p_WC for X in tilted]
    centroids = [compute_patch(soft, pose(), cube, X).centroid for X in tilted]
    return np.linalg.norm(np.diff(points, axis=0)), np.linalg.norm(np.diff(centroids, axis=0))


if __name__ == "__main__":
    for name, milliseconds in time_calls(repeat=20).items():
        print(f"{name}: {milliseconds:.3g} ms")
    kernels = time_kernels((26, 4096))
    for name, microseconds in {
        **kernels,
        **time_steps((26, 4000), "euler"),
        **time_steps((26,), "rk4"),
    }.items():
        print(f"{name}: {microseconds:.3g} us")
    times, lowest = throw_blocks(throws=100)
    print(f"{len(times)} steps in contact, lowest corner at {lowest:.1g} m, times at 50, 95 and 100 %:")
    print(*(f"{t:.3g} ms" for t in np.percentile(times, [50, 95, 100])))
    print("rocking by 2e-6 rad moves the point by {:.2g} m, the patch by {:.2g} m".format(*rock_a_cube(1e-6)))
