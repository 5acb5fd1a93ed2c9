"""What a recording holds, as readers see it that are not ours, beside the world that was recorded."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from rosbags.interfaces import MessageDefinitionFormat, QosDurability
from rosbags.rosbag2.storage_mcap import McapReader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from scipy.spatial.transform import Rotation

from hydro_sim_core.description import load_robot
from hydro_sim_core.recording import read_messages
from hydro_sim_core.recording.message_types import message_types
from support.recording.foreign_reader import decoded

STEPS = 100


def stamp(message):
    return message.header.stamp.sec * 10**9 + message.header.stamp.nanosec


def test_every_step_is_there_to_the_last_bit(record, world, tmp_path):
    """Positions, velocities and efforts are those of the snapshots; time is simulated, in the header too."""
    report, handed = record(STEPS)
    states = decoded(tmp_path / "run.mcap")["/joint_states"]
    assert [time for time, _ in states] == [10**6 * i for i in range(STEPS + 1)]
    for (time, state), snapshot in zip(states, handed, strict=True):
        assert stamp(state) == time
        assert state.name == list(world.joint_names)
        assert state.position == snapshot.joint_positions.tolist()
        assert state.velocity == snapshot.joint_velocities.tolist()
        assert state.effort == snapshot.joint_efforts.tolist()
    assert report.error is None
    assert report.lost_steps == report.lost_commands == 0
    assert report.size == (tmp_path / "run.mcap").stat().st_size


def test_rates_are_kept_in_simulated_time(record, tmp_path):
    rates = {"clock": 500.0, "joint_states": 100.0, "wrenches": 50.0, "transforms": 20.0, "contacts": 25.0}
    report, _ = record(STEPS, rates=rates)
    found = decoded(tmp_path / "run.mcap")
    assert [time for time, _ in found["/clock"]] == [2 * 10**6 * i for i in range(51)]
    assert len(found["/joint_states"]) == 11
    assert len(found["/hydro_sim/wrench/left_finger_on_spatula"]) == 6
    assert len(found["/tf"]) == 3
    assert len(found["/hydro_sim/contact_patches"]) == len(found["/hydro_sim/contact_markers"]) == 3
    assert report.messages == sum(len(messages) for messages in found.values())


def test_wrenches_are_those_of_the_patches(record, world, tmp_path):
    """Turned back into the world and moved to the origin, they are the sum over the pair's patches."""
    _, handed = record(STEPS)
    for finger in ("left_finger", "right_finger"):
        time, message = decoded(tmp_path / "run.mcap")[f"/hydro_sim/wrench/{finger}_on_spatula"][-1]
        snapshot = handed[time // 10**6]
        assert message.header.frame_id == "spatula"
        R_WB, p_WB = snapshot.frames["spatula"][:3, :3], snapshot.frames["spatula"][:3, 3]
        f, t = message.wrench.force, message.wrench.torque
        force = R_WB @ (f.x, f.y, f.z)
        moment = R_WB @ (t.x, t.y, t.z) + np.cross(p_WB, force)
        patches = [patch for patch in snapshot.contacts if patch.name_a == finger]
        assert np.linalg.norm(force) > 1.0
        assert force == pytest.approx(sum(patch.force_on_b for patch in patches), abs=1e-12)
        assert moment == pytest.approx(sum(patch.moment_on_b(np.zeros(3)) for patch in patches), abs=1e-12)


def test_patches_are_there_face_by_face(record, tmp_path):
    """Places, areas and pressures of all faces, and the wrench, by the definition in the file."""
    _, handed = record(STEPS)
    time, message = decoded(tmp_path / "run.mcap")["/hydro_sim/contact_patches"][-1]
    assert stamp(message) == time
    patches = handed[time // 10**6].contacts
    assert len(message.patches) == len(patches) > 1
    for recorded, patch in zip(message.patches, patches, strict=True):
        assert (recorded.body_a, recorded.body_b) == (patch.name_a, patch.name_b)
        assert np.reshape(recorded.centroids, (-1, 3)) == pytest.approx(patch.centroids, abs=0.0)
        assert recorded.pressures == pytest.approx(patch.pressures.astype(np.float32), abs=0.0)
        assert recorded.areas == pytest.approx(patch.areas.astype(np.float32), abs=0.0)
        corners = np.concatenate(patch.vertex_pressures)
        assert recorded.vertex_pressures == pytest.approx(corners, rel=1e-6, abs=1e-6 * patch.peak_pressure)
        f = recorded.wrench_on_b.force
        assert (f.x, f.y, f.z) == tuple(patch.force_on_b)


def test_markers_show_the_faces_that_press(record, tmp_path):
    """Three corners a triangle, as many colours, inside the faces' bounds."""
    _, handed = record(STEPS)
    time, message = decoded(tmp_path / "run.mcap")["/hydro_sim/contact_markers"][-1]
    faces = [marker for marker in message.markers if marker.ns.startswith("faces/")]
    pairs = {f"faces/{patch.name_a} on {patch.name_b}": patch for patch in handed[time // 10**6].contacts}
    assert {marker.ns for marker in faces} == set(pairs)
    for marker in faces:
        corners = np.array([(point.x, point.y, point.z) for point in marker.points])
        pressing = pairs[marker.ns].pressures > 0.0
        vertices = np.concatenate(
            [p for p, keep in zip(pairs[marker.ns].polygons, pressing, strict=True) if keep]
        )
        assert len(corners) == len(marker.colors) % 3 + len(marker.colors) > 0
        # Drawn a little out of the stiffer body.
        assert corners.min(axis=0) == pytest.approx(vertices.min(axis=0), abs=5e-4)
        assert corners.max(axis=0) == pytest.approx(vertices.max(axis=0), abs=5e-4)


def test_transforms_lead_from_the_world_to_every_link(record, tmp_path):
    """Composed along the tree they are the poses of the links."""
    _, handed = record(STEPS)
    found = decoded(tmp_path / "run.mcap")
    time, moving = found["/tf"][-1]
    parents = {}
    for message in (found["/tf_static"][0][1], moving):
        for entry in message.transforms:
            X_PC = np.eye(4)
            r, p = entry.transform.rotation, entry.transform.translation
            X_PC[:3, :3] = Rotation.from_quat([r.x, r.y, r.z, r.w]).as_matrix()
            X_PC[:3, 3] = p.x, p.y, p.z
            parents[entry.child_frame_id] = entry.header.frame_id, X_PC

    def pose(frame):
        if frame == "world":
            return np.eye(4)
        parent, X_PC = parents[frame]
        return pose(parent) @ X_PC

    frames = handed[time // 10**6].frames
    assert set(parents) == {*frames, "left_finger_on_spatula", "right_finger_on_spatula"}
    for name, X_WL in frames.items():
        assert pose(name) == pytest.approx(X_WL, abs=1e-12)


def test_pulls_are_recorded_when_they_change(record, world, tmp_path):
    """As the node takes them, so that what was pulled in one run can be pulled in another."""

    def pull(step):
        if step in (3, 5):
            world.pull("spatula", (0.01, 0, 0), (0.4, 0, 0.1 * step), 50.0, 2.0)
        elif step == 8:
            world.let_go("spatula")

    record(12, drives=True, before=pull)
    told = decoded(tmp_path / "run.mcap")["/hydro_sim/pull"]
    assert [time for time, _ in told] == [3 * 10**6, 5 * 10**6, 8 * 10**6]
    assert [message.layout.dim[0].label for _, message in told] == ["spatula"] * 3
    assert [list(message.data) for _, message in told] == [
        pytest.approx([0.01, 0, 0, 0.4, 0, 0.1 * step, 50.0, 2.0]) if step else [] for step in (3, 5, 0)
    ]


def test_targets_of_the_drives_are_recorded_when_they_change(record, world, tmp_path):
    """The script's grip force is there from the step before which it was applied, and nothing between changes."""
    record(1600, drives=True)
    targets = decoded(tmp_path / "run.mcap")["/hydro_sim/joint_targets"]
    finger = targets[0][1].name.index(world.gripper_joint_names[0])
    forces = [(time, abs(message.effort[finger])) for time, message in targets]
    (signal,) = (command.signal for command in world.scene.spec.commands if command.gripper)
    changes = [i for i in range(1600) if i == 0 or signal.at(1e-3 * i) != signal.at(1e-3 * (i - 1))]
    assert len(changes) > 1
    assert forces[-len(changes) :] == [(10**6 * i, pytest.approx(signal.at(1e-3 * i))) for i in changes]


def test_the_description_loads_again(record, world, tmp_path):
    record(1)
    ((_, message),) = decoded(tmp_path / "run.mcap")["/robot_description"]
    (tmp_path / "scene.urdf").write_text(message.data)
    robot = load_robot(tmp_path / "scene.urdf")
    assert {link.name for link in robot.links} >= set(world.frame_names)


def test_a_run_recorded_twice_gives_the_same_messages(record, world, tmp_path):
    paths = tmp_path / "a.mcap", tmp_path / "b.mcap"
    for path in paths:
        world.reset()
        record(STEPS, path)
    first, second = (list(read_messages(path)) for path in paths)
    assert first == second
    assert len(first) > 2 * STEPS


def test_rosbags_reads_topics_types_hashes_and_durability(record, tmp_path):
    """The library's own reader of files, its definitions made from the file alone; a hash is checked by it."""
    record(STEPS)
    reader = McapReader(tmp_path / "run.mcap")
    reader.open()
    store = get_typestore(Stores.EMPTY)
    for connection in reader.connections:
        assert connection.msgdef.format == MessageDefinitionFormat.MSG
        store.register(get_types_from_msg(connection.msgdef.data, connection.msgtype))
        assert store.hash_rihs01(connection.msgtype) == message_types().type_hash(connection.msgtype)
        latched = connection.topic in ("/robot_description", "/tf_static")
        durability = QosDurability.TRANSIENT_LOCAL if latched else QosDurability.VOLATILE
        assert [qos.durability for qos in connection.ext.offered_qos_profiles] == [durability]
    states = [c for c in reader.connections if c.topic == "/joint_states"]
    times = []
    for connection, time, data in reader.messages(states, None, None):
        assert stamp(store.deserialize_cdr(data, connection.msgtype)) == time
        times.append(time)
    assert times == [10**6 * i for i in range(STEPS + 1)]
    reader.close()


def examples() -> list[str]:
    page = (Path(__file__).parents[2] / "docs" / "recording.md").read_text()
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


def test_the_example_of_a_reader_runs(record, tmp_path, monkeypatch, capsys):
    """A line for every joint state."""
    _, handed = record(5)
    monkeypatch.chdir(tmp_path)
    exec(compile(examples()[0], "recording.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"{1e-9 * 10**6 * i} {handed[i].joint_positions.tolist()}" for i in range(6)]


def test_the_example_of_a_program_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(examples()[1], "recording.md", "exec"), {})
    assert capsys.readouterr().out.startswith("grasp.mcap: ")
    assert len(decoded(tmp_path / "grasp.mcap")["/joint_states"]) == 201
