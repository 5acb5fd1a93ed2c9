"""What ``~/contact_patches`` says of a patch is the patch: decoded from the message definitions themselves."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from hydro_sim_core import contact, geometry
from hydro_sim_core.messages.contact_patches import encode_contact_patches, slip_velocities, stored_energy
from hydro_sim_core.simulation.world.contact_summary import ContactSummary

DEFINITIONS = Path(__file__).parents[2] / "ros2_ws" / "src" / "hydro_sim_msgs" / "msg"
STAMP = (12, 345_678_901)


@pytest.fixture(scope="module")
def decode():
    """Reader of ContactPatchArray that knows nothing but the .msg files."""
    store = get_typestore(Stores.ROS2_JAZZY)
    for name in ("ContactPatch", "ContactPatchArray"):
        text = (DEFINITIONS / f"{name}.msg").read_text()
        store.register(get_types_from_msg(text, f"hydro_sim_msgs/msg/{name}"))
    return lambda data: store.deserialize_cdr(data, "hydro_sim_msgs/msg/ContactPatchArray")


def _at(x, y, z):
    X = np.eye(4)
    X[:3, 3] = x, y, z
    return X


def _patch(depth, resolution=0.005, names=("ball", "ground")):
    """A compliant ball pressed ``depth`` (m) into the ground, away from the origin."""
    ball = geometry.sphere(0.05, resolution=resolution, modulus=1e5)
    patch = contact.compute_patch(ball, _at(0.3, -0.2, 0.05 - depth), geometry.half_space(), np.eye(4))
    return replace(patch, name_a=names[0], name_b=names[1], geometry_a="skin", geometry_b="floor µ")


def _rows(flat, width=3):
    return np.asarray(flat).reshape(-1, width)


@pytest.mark.parametrize("names", [("ball", "ground"), ("a", "bcd"), ("", "")])
def test_every_field_arrives(decode, names):
    """Names of any length, which shift the alignment of what follows, and every number as it was."""
    patches = (_patch(0.004, names=names), _patch(0.002, resolution=0.02, names=names[::-1]))
    message = decode(encode_contact_patches(ContactSummary(patches), {}, "map", STAMP))

    assert (message.header.stamp.sec, message.header.stamp.nanosec) == STAMP
    assert message.header.frame_id == "map"
    assert len(message.patches) == 2
    for patch, got in zip(patches, message.patches, strict=True):
        assert (got.body_a, got.body_b) == (patch.name_a, patch.name_b)
        assert (got.geometry_a, got.geometry_b) == ("skin", "floor µ")
        force, torque, point = got.wrench_on_b.force, got.wrench_on_b.torque, got.reference_point
        assert (force.x, force.y, force.z) == tuple(patch.force_on_b)
        assert (torque.x, torque.y, torque.z) == tuple(patch.moment_on_b_at_reference)
        assert (point.x, point.y, point.z) == tuple(patch.p_WR)
        assert got.area == patch.area
        assert got.peak_pressure == pytest.approx(patch.peak_pressure, rel=1e-12)
        assert got.energy == stored_energy(patch.faces)
        quality = patch.quality
        assert (got.force_error, got.face_size_ratio) == (quality.force_error, quality.face_size_ratio)
        assert got.lost_force_share == quality.lost_force_share
        assert np.array_equal(_rows(got.centroids), patch.centroids)
        assert np.array_equal(_rows(got.normals), patch.normals.astype(np.float32))
        assert np.array_equal(got.pressures, patch.pressures.astype(np.float32))
        assert np.array_equal(got.areas, patch.areas.astype(np.float32))
        ends = np.cumsum(got.vertex_counts)
        for face, polygon in enumerate(np.split(_rows(got.vertices), ends[:-1])):
            assert np.array_equal(polygon, patch.polygons[face])
        at_vertices = np.concatenate(patch.vertex_pressures)
        assert got.vertex_pressures == pytest.approx(at_vertices, rel=1e-6, abs=1e-6 * patch.peak_pressure)


def test_no_contact_is_an_empty_array(decode):
    message = decode(encode_contact_patches(ContactSummary(()), {}, "world", STAMP))
    assert len(message.patches) == 0


def test_patch_without_faces_has_no_rows(decode):
    """Bodies apart from each other, as a patch that ended within the step leaves them."""
    message = decode(encode_contact_patches(ContactSummary((_patch(-0.01),)), {}, "world", STAMP))
    (patch,) = message.patches
    assert (patch.area, patch.peak_pressure, patch.energy) == (0.0, 0.0, 0.0)
    assert len(patch.pressures) == len(patch.vertices) == len(patch.slip_velocities) == 0


def test_flags_tell_coarse_deep_and_negligible_patches(decode):
    """Each flag alone, by patches made for it, and none for a good patch."""
    coarse, fine = _patch(0.001, resolution=0.02), _patch(0.004)
    deep, tiny = replace(fine, dropped_force=1.0), _patch(1e-5)
    assert not coarse.quality.is_resolved

    def flags(*patches):
        return [
            p.flags for p in decode(encode_contact_patches(ContactSummary(patches), {}, "w", STAMP)).patches
        ]

    constants = decode(encode_contact_patches(ContactSummary((fine,)), {}, "w", STAMP)).patches[0]
    assert flags(fine) == [0]
    assert flags(coarse) == [constants.UNDER_RESOLVED]
    assert flags(deep) == [constants.DEEP]
    assert flags(fine, tiny) == [0, constants.INSIGNIFICANT]
    assert flags(replace(fine, law="rigid skin")) == [constants.BETWEEN_RIGID]
    assert flags(replace(fine, law="equivalent point")) == [constants.AT_POINT]


def test_slip_is_the_tangential_velocity_of_b_at_each_centroid(decode):
    """Against finite differences of two moving frames; nothing of it is along the normal."""
    patch = _patch(0.004)
    w_A, v_A, w_B, v_B = np.random.default_rng(3).normal(size=(4, 3))
    twists = {"ball": np.concatenate([w_A, v_A]), "ground": np.concatenate([w_B, v_B])}
    (got,) = decode(encode_contact_patches(ContactSummary((patch,)), twists, "w", STAMP)).patches
    expected = []
    for p, n in zip(patch.centroids, patch.normals, strict=True):
        difference = (v_B + np.cross(w_B, p)) - (v_A + np.cross(w_A, p))
        expected.append(difference - n * (n @ difference))
    assert _rows(got.slip_velocities) == pytest.approx(np.array(expected), abs=1e-6)


def test_a_link_that_moves_with_the_other_does_not_slip():
    twist = np.array([0.3, -1.0, 2.0, 0.1, 0.2, 0.3])
    assert not slip_velocities(_patch(0.004).faces, twist - twist).any()


@pytest.mark.parametrize(("depth", "tolerance"), [(0.002, 0.03), (0.006, 0.02)])
def test_energy_estimate_is_near_the_exact_integral(depth, tolerance):
    """The exact energy integrates the field over the overlap (Elandt 2019, section V)."""
    patch = _patch(depth, resolution=0.0025)
    assert stored_energy(patch.faces) == pytest.approx(patch.energy, rel=tolerance)


def test_energy_grows_by_the_work_of_the_force():
    """Between two depths it gains what pressing takes, by Simpson's rule over the forces."""
    energies, forces = [], []
    for depth in (0.003, 0.004, 0.005):
        patch = _patch(depth, resolution=0.0025)
        energies.append(stored_energy(patch.faces))
        forces.append(np.linalg.norm(patch.force_on_b))
    work = 0.002 / 6.0 * (forces[0] + 4.0 * forces[1] + forces[2])
    assert energies[2] - energies[0] == pytest.approx(work, rel=0.03)
