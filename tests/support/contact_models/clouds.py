"""Oriented clouds whose soft distance is known in closed form."""

import numpy as np

from hydro_sim_core.contact.soft_distance import OrientedCloud


def sphere_cloud(radius, count):
    """Points spread evenly over a sphere along a Fibonacci spiral."""
    k = np.arange(count) + 0.5
    z = 1.0 - 2.0 * k / count
    angle = np.pi * (1.0 + 5.0**0.5) * k
    ring = np.sqrt(1.0 - z * z)
    normals = np.column_stack([ring * np.cos(angle), ring * np.sin(angle), z])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return OrientedCloud(radius * normals, normals)


def plane_cloud(width, count, *, upwards=True):
    """A square grid of ``count`` by ``count`` points in the plane z = 0."""
    x = np.linspace(-0.5 * width, 0.5 * width, count)
    points = np.stack([*np.meshgrid(x, x), np.zeros((count, count))], axis=-1).reshape(-1, 3)
    return OrientedCloud(points, np.tile([0.0, 0.0, 1.0 if upwards else -1.0], (count * count, 1)))
