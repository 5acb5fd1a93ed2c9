"""Calls of the kernels of smooth contact with clouds."""

from dataclasses import astuple

import numpy as np

from hydro_sim_core.compilation import Handle
from hydro_sim_core.contact.soft_distance.kernels import make_pair_memory, pair_wrench
from hydro_sim_core.contact.soft_distance.weighing import balls_of_blocks, order_in_blocks


def pressed(a, b, X_BA, twist, model, derive=False):
    """Wrench, its derivatives if wanted, the separation and the memory of the kernels for a pair of clouds."""
    memory = make_pair_memory(max(len(a.points), len(b.points)))
    wrench, jacobian = np.zeros(6), np.zeros((6, 12) if derive else (0, 0))
    counts = [[len(c.points), 0 if c.is_half_space else len(c.points)] for c in (a, b)]
    planes = [in_blocks(cloud) for cloud in (a, b)]
    least = pair_wrench(
        *planes,
        *(balls_of_blocks(some, some.shape[1]) for some in planes),
        np.array(counts),
        np.ascontiguousarray(X_BA[:3, :3]),
        X_BA[:3, 3].copy(),
        np.array(twist),
        np.array(astuple(model)),
        Handle(memory),
        wrench,
        jacobian,
    )
    return wrench, jacobian, least, memory


def in_blocks(cloud):
    """Planes (6, N) in the order of their blocks."""
    order = order_in_blocks(cloud.points)
    return np.ascontiguousarray(np.hstack([cloud.points, cloud.normals])[order].T)
