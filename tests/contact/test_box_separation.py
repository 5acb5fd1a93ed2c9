"""Boxes of two trees are apart along A's axes exactly when their corners are; what lies beside a slab is not walked."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from hydro_sim_core.contact.pressure_field.boxes import apart_along_axes_of_a, turn_box
from hydro_sim_core.experiments.geometry_bench.ours import OurPair, _descend_shells
from hydro_sim_core.experiments.geometry_bench.shapes import lobed_solid
from hydro_sim_core.geometry import box

CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))


@given(seed=st.integers(0, 2**32 - 1))
def test_boxes_are_apart_along_an_axis_of_a_when_their_corners_are(seed):
    rng = np.random.default_rng(seed)
    box_a, box_b = (np.r_[rng.normal(size=3), 10.0 ** rng.uniform(-2, 0.5, 3)] for _ in range(2))
    R_BA, p_BA = Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3)
    turned = np.zeros(6)
    turn_box.function(box_a, R_BA, p_BA, 0.0, turned)
    corners_of_b_in_a = (box_b[:3] + CORNERS * box_b[3:] - p_BA) @ R_BA
    gaps = np.maximum(
        corners_of_b_in_a.min(axis=0) - (box_a[:3] + box_a[3:]),
        (box_a[:3] - box_a[3:]) - corners_of_b_in_a.max(axis=0),
    )
    slack = float(rng.uniform(0.0, 0.2))
    assert apart_along_axes_of_a.function(box_a, turned, box_b, R_BA, slack) == bool(gaps.max() > slack)


def test_a_turned_body_above_a_large_slab_meets_none_of_its_elements():
    slab, solid = box((0.4, 0.4, 0.05), modulus=1e5), lobed_solid(0.05, 4, 4, 1e5)
    X_WS = np.eye(4)
    X_WS[:3, :3] = Rotation.from_euler("xyz", [0.5, 0.6, 0.7]).as_matrix()
    lowest = (solid.vertices @ X_WS[:3, :3].T)[:, 2].min()
    for gap, meets in ((0.01, False), (-0.002, True)):
        X_WS[2, 3] = 0.025 - lowest + gap
        X_SW = np.linalg.inv(X_WS)
        assert (OurPair(slab, solid, X_SW).run(_descend_shells, X_SW[None]) > 0) == meets
