"""Compliant bodies that pass above each other without touching feel nothing of each other's margins."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs

SHAPES = {"cylinder": {"radius": 0.05, "length": 0.1}, "box": {"size": (0.1, 0.1, 0.1)}}


@pytest.mark.parametrize("floor", ["compliant", "rigid"])
@pytest.mark.parametrize("time_step", [1e-3, 5e-3, 1e-2])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_body_that_flies_over_an_edge_keeps_its_velocity(shape: str, time_step: float, floor: str) -> None:
    """Margins of two edges crossed at a slant and pressed: it tumbled, with half its energy (a reviewer's find)."""
    built = hs.SceneBuilder("fly by", time_step=time_step, gravity=(0.0, 0.0, 0.0))
    built.add_static("floor", "box", size=(0.2, 0.5, 0.1), xyz=(0.0, 0.0, -0.05), compliance=floor)
    body = built.add_body("body", 0.5, xyz=(-0.2, 0.013, 0.05 + 5e-5), rpy=(0.0, 0.0, 0.3))
    body.add_shape(shape, **SHAPES[shape], modulus=1e6)
    world = hs.World(built.build())
    X_WB, velocity = world.frame_pose("body"), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    world.place("body", X_WB, velocity)
    world.step(round(0.4 / time_step))
    np.testing.assert_array_equal(world.v, velocity)
    np.testing.assert_allclose(
        world.frame_pose("body")[:3, :3], Rotation.from_rotvec([0, 0, 0.3]).as_matrix(), atol=1e-12
    )
