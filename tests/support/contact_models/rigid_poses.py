"""Poses and twists, drawn by hypothesis or built by hand."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.transform import Rotation


def pose(translation=(0.0, 0.0, 0.0), rotation_vector=(0.0, 0.0, 0.0)):
    X = np.eye(4)
    X[:3, :3] = Rotation.from_rotvec(rotation_vector).as_matrix()
    X[:3, 3] = translation
    return X


def vectors(size, bound):
    return hnp.arrays(float, size, elements=st.floats(-bound, bound, allow_subnormal=False))


def poses(bound=1.0):
    """Any rotation, and translations of up to ``bound`` along each axis, m."""
    return st.builds(pose, vectors(3, bound), vectors(3, 3.0))


def twist_seen_at(V, p):
    """The twist of the same body at a point displaced by ``p`` from where ``V`` is given."""
    return np.concatenate([V[:3], V[3:] + np.cross(V[:3], p)])


def wrench_about(W, p):
    """The wrench ``W`` about a point displaced by ``p``."""
    return np.concatenate([W[:3] - np.cross(p, W[3:]), W[3:]])
