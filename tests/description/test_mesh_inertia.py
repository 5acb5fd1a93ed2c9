"""Mass properties of links that have a mesh and no inertia of their own."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from hydro_sim_core.description.mass_properties import mass_properties
from hydro_sim_core.description.places import CallSite
from hydro_sim_core.description.spec import ShapeSpec
from hydro_sim_core.errors import InputError

SIZE = np.array([0.1, 0.2, 0.4])


def properties(path, **options):
    return mass_properties([(ShapeSpec("mesh", path=path, **options), np.eye(4))], CallSite("a.py:1", "link"))


def is_that_of_the_box(found, factor=1.0):
    volume, centre, inertia = found
    size = factor * SIZE
    assert volume == pytest.approx(size.prod(), rel=1e-6)
    np.testing.assert_allclose(centre, 0.0, atol=1e-9)
    np.testing.assert_allclose(np.diag(inertia), (np.square(size).sum() - np.square(size)) / 12.0, rtol=1e-6)


@pytest.mark.parametrize("suffix", [".stl", ".obj", ".ply", ".dae", ".glb"])
def test_a_box_of_every_format(tmp_path, suffix):
    trimesh.creation.box(SIZE).export(tmp_path / f"box{suffix}")
    is_that_of_the_box(properties(tmp_path / f"box{suffix}"))
    is_that_of_the_box(properties(tmp_path / f"box{suffix}", scale=(-2.0, 2.0, 2.0)), 2.0)


def test_the_unit_of_a_dae_file_is_applied(tmp_path):
    """As it is to the shape: inertia was a million times too large, and volume a thousand million times."""
    path = tmp_path / "box.dae"
    trimesh.creation.box(1000.0 * SIZE).export(path)
    path.write_text(path.read_text().replace("<up_axis>", '<unit name="millimeter" meter="0.001"/><up_axis>'))
    is_that_of_the_box(properties(path))


def test_a_device_is_refused_and_not_read(tmp_path):
    (tmp_path / "a.stl").symlink_to("/dev/zero")
    with pytest.raises(InputError, match=r"a\.stl gives no inertia \(is a device\); give mass and inertia"):
        properties(tmp_path / "a.stl")
