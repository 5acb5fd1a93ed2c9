"""What is encoded is what a page decodes."""

import json
import struct
from dataclasses import replace
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from hydro_sim_core.drawing.patch_surface import PatchFaces
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.simulation.world.snapshot import take_snapshot
from hydro_sim_core.viewer.frame import Pace, ViewFrame, ViewPatch, encode_frame, frame_of_snapshot
from hydro_sim_core.viewer.scene import scene_of_world

SCENES = Path(__file__).parents[2] / "config" / "scenes"
numbers = st.floats(-1e6, 1e6, width=32)
names = st.text(max_size=20)


def vectors(shape):
    return arrays(np.float64, shape, elements=numbers)


@st.composite
def patches(draw):
    counts = np.array(draw(st.lists(st.integers(3, 8), max_size=6)), dtype=np.int64)
    total = int(counts.sum())
    faces = PatchFaces(draw(vectors((total, 3))), draw(vectors(total)), counts)
    a, b, problem = draw(names), draw(names), draw(st.none() | names)
    wrench = [draw(vectors(3)) for _ in range(3)]
    return ViewPatch(a, b, faces, *wrench, draw(numbers), draw(numbers), problem)


@st.composite
def frames(draw):
    count = draw(st.integers(0, 4))
    poses = np.tile(np.eye(4), (count, 1, 1))
    for pose in poses:
        pose[:3, :3] = Rotation.from_rotvec(
            draw(arrays(np.float64, 3, elements=st.floats(-3, 3)))
        ).as_matrix()
        pose[:3, 3] = draw(vectors(3))
    return ViewFrame(
        time=draw(numbers),
        step=draw(st.integers(0, 2**40)),
        epoch=draw(st.integers(0, 9)),
        poses=poses,
        joint_positions=draw(vectors(draw(st.integers(0, 3)))),
        grip_forces=draw(st.dictionaries(names, numbers, max_size=2)),
        patches=tuple(draw(st.lists(patches(), max_size=3))),
        paused=draw(st.booleans()),
        speed=draw(st.none() | numbers),
        pace=draw(st.none() | st.builds(Pace, numbers, numbers, numbers, st.integers(0, 99))),
        timeline_time=draw(st.none() | numbers),
    )


def decode(data):
    """Header, poses (L, 7), vertices (V, 3), pressures (V,) and counts (F,), as ``docs/viewer.md`` lays them out."""
    (length,) = struct.unpack_from("<I", data)
    assert length % 4 == 0
    header = json.loads(data[4 : 4 + length])
    num_vertices = sum(patch["vertices"] for patch in header["patches"])
    num_faces = sum(patch["faces"] for patch in header["patches"])
    body = data[4 + length :]
    num_floats = (len(body) - num_faces) // 4
    assert len(body) == 4 * num_floats + num_faces
    floats = np.frombuffer(body, "<f4", num_floats)
    poses, vertices, pressures = np.split(floats, [num_floats - 4 * num_vertices, num_floats - num_vertices])
    return (
        header,
        poses.reshape(-1, 7),
        vertices.reshape(-1, 3),
        pressures,
        np.frombuffer(body[4 * num_floats :], "u1"),
    )


@settings(max_examples=60)
@given(frame=frames(), seq=st.integers(0, 2**50))
def test_every_frame_survives_the_wire(frame, seq):
    header, poses, vertices, pressures, counts = decode(encode_frame(frame, seq))

    assert header["seq"] == seq
    for name in ("time", "step", "epoch", "paused", "speed", "timeline_time"):
        assert header[name] == getattr(frame, name)
    assert header["joints"] == frame.joint_positions.tolist()
    assert header["grip_forces"] == frame.grip_forces
    assert header["pace"] == (frame.pace and vars(frame.pace))

    assert poses[:, :3] == pytest.approx(frame.poses[:, :3, 3], rel=1e-6)
    if len(poses):
        turned = Rotation.from_quat(poses[:, 3:]).as_matrix()
        assert turned == pytest.approx(frame.poses[:, :3, :3], abs=1e-5)

    faces = [patch.faces for patch in frame.patches]
    assert len(header["patches"]) == len(faces)
    assert counts.tolist() == [int(n) for part in faces for n in part.counts]
    assert pressures.tolist() == [p for part in faces for p in part.pressures]
    assert vertices.tolist() == [v.tolist() for part in faces for v in part.vertices]
    for told, patch in zip(header["patches"], frame.patches, strict=True):
        assert (told["a"], told["b"], told["problem"]) == (patch.name_a, patch.name_b, patch.problem)
        assert (told["area"], told["max_pressure"]) == (patch.area, patch.max_pressure)
        for key, vector in (("force", patch.force_on_b), ("moment", patch.moment), ("point", patch.point)):
            assert told[key] == vector.tolist()


def test_a_frame_shows_the_state_of_its_world():
    """Poses, positions, grip and wrenches are those that the world itself reports."""
    world = hs.load_scene(SCENES / "spatula_slip.yaml")
    scene = scene_of_world(world, PressureScale(20e3))
    world.step(50)
    frame = frame_of_snapshot(
        take_snapshot(world, epoch=3), scene, problems={"left_finger on spatula": "bad"}
    )

    assert (frame.time, frame.step, frame.epoch) == (world.time, 50, 3)
    assert frame.joint_positions.tolist() == world.joint_positions().tolist()
    assert frame.grip_forces == {"gripper": world.grip_force()}
    for name, pose in zip(scene.links, frame.poses, strict=True):
        assert pose.tolist() == (np.eye(4) if name == "world" else world.frame_pose(name)).tolist()

    contacts = {(patch.name_a, patch.name_b): patch for patch in world.contacts}
    assert {(patch.name_a, patch.name_b) for patch in frame.patches} == set(contacts)
    for patch in frame.patches:
        contact = contacts[patch.name_a, patch.name_b]
        assert patch.force_on_b.tolist() == contact.force_on_b.tolist()
        assert patch.moment == pytest.approx(contact.moment_on_b(patch.point))
        assert patch.max_pressure == pytest.approx(contact.peak_pressure)
        assert patch.area == contact.area
        assert patch.problem == ("bad" if patch.name_a == "left_finger" else None)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e39])
def test_no_number_that_is_not_finite_reaches_a_page(value):
    """NaN is no JSON: a browser would refuse the whole frame. Infinite is also what 32 bits cannot hold."""
    for change, named in change_of_each_number(value):
        with pytest.raises(ValueError, match=f"{named}.* not finite"):
            encode_frame(replace(full_frame(), **change), 0)


def full_frame():
    """A frame with one of everything."""
    faces = PatchFaces(np.zeros((3, 3)), np.zeros(3), np.array([3]))
    patch = ViewPatch("plate", "ball", faces, np.zeros(3), np.zeros(3), np.zeros(3), 1.0, 2.0)
    return ViewFrame(
        1.0, 1, 0, np.eye(4)[None], np.zeros(1), {"gripper": 1.0}, (patch,), pace=Pace(1.0, 0.0, 0.0, 0)
    )


def change_of_each_number(value):
    """What to replace in the full frame, and what the error should name."""
    frame = full_frame()
    (patch,) = frame.patches
    three = np.array([0.0, value, 0.0])
    turned, moved = frame.poses.copy(), frame.poses.copy()
    turned[0, 1, 1] = moved[0, 1, 3] = value
    faces = patch.faces
    patches = [
        ({"faces": replace(faces, vertices=np.full((3, 3), value))}, "vertex of the contact plate on ball"),
        ({"faces": replace(faces, pressures=three)}, "pressure of the contact plate on ball"),
        ({"max_pressure": value}, "pressure"),
        ({"force_on_b": three}, "wrench"),
        ({"moment": three}, "wrench"),
        ({"point": three}, "wrench"),
        ({"area": value}, "area"),
    ]
    return [
        ({"time": value}, "time"),
        ({"timeline_time": value}, "time"),
        ({"poses": turned}, "pose"),
        ({"poses": moved}, "pose"),
        ({"joint_positions": np.array([value])}, "joint"),
        ({"grip_forces": {"gripper": value}}, "gripper"),
        ({"pace": Pace(value, 0.0, 0.0, 0)}, "pace"),
        *(({"patches": (replace(patch, **change),)}, named) for change, named in patches),
    ]
