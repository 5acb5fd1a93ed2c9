"""Contact patches that no program may write are refused in one line; those that press without area are drawn."""

from __future__ import annotations

import numpy as np
import pytest
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from hydro_sim_core.errors import InputError
from hydro_sim_core.messages.contact_patches import AT_POINT, BETWEEN_RIGID, DEEP
from hydro_sim_core.recording import MessageIndex
from hydro_sim_core.recording.mcap_file import RecordingFile
from hydro_sim_core.replay import Recording

ARRAY = "hydro_sim_msgs/msg/ContactPatchArray"
TRANSFORMS = "tf2_msgs/msg/TFMessage"


@pytest.fixture(scope="module")
def recorded(run):
    """Topic, time and bytes of the last transforms and patches of a run, and a store that knows patches."""
    with MessageIndex(run[1]) as index:
        topics = {topic.type_name: topic for topic in index.topics if not topic.name.endswith("static")}
        last = {
            name: (topics[name].name, 0.3, index.read(topics[name], len(topics[name].times) - 1))
            for name in (TRANSFORMS, ARRAY)
        }
        store = get_typestore(Stores.EMPTY)
        store.register(get_types_from_msg(topics[ARRAY].definition, ARRAY))
    return last, store


@pytest.fixture
def changed(recorded, tmp_path):
    """The only frame of a file that holds one message of patches, all changed by a function."""

    def frame(change):
        last, store = recorded
        topic, time, data = last[ARRAY]
        message = store.deserialize_cdr(data, ARRAY)
        for patch in message.patches:
            change(patch)
        file = RecordingFile(tmp_path / "changed.mcap", overwrite=False)
        file.write(last[TRANSFORMS][0], TRANSFORMS, *last[TRANSFORMS][1:])
        file.write(topic, ARRAY, time, bytes(store.serialize_cdr(message, ARRAY)))
        file.close()
        with Recording(tmp_path / "changed.mcap") as recording:
            return recording.frame(0)

    return frame


def shorter(name):
    def change(patch):
        setattr(patch, name, getattr(patch, name)[:-1])

    return change


def one_entry(name, value):
    def change(patch):
        values = getattr(patch, name).copy()
        values[0] = value
        setattr(patch, name, values)

    return change


def force(value):
    def change(patch):
        patch.wrench_on_b.force.x = value

    return change


def lost_share(value):
    def change(patch):
        patch.flags, patch.lost_force_share = DEEP, value

    return change


@pytest.mark.parametrize(
    "name", ["pressures", "areas", "centroids", "vertices", "vertex_counts", "vertex_pressures"]
)
def test_arrays_that_do_not_fit_are_refused(changed, name):
    says = r"changed.mcap: topic '/hydro_sim/contact_patches': holds a patch of '\w+' and '\w+' with \d+ "
    with pytest.raises(InputError, match=says):
        changed(shorter(name))


def test_recordings_from_before_pressures_at_vertices_are_held_to_the_same(changed):
    def change(patch):
        patch.vertex_pressures = patch.vertex_pressures[:0]
        patch.pressures = patch.pressures[:-1]

    with pytest.raises(InputError, match=r"with \d+ pressures where"):
        changed(change)


@pytest.mark.parametrize(
    "change",
    [
        *(
            one_entry(name, np.nan)
            for name in ("pressures", "areas", "centroids", "vertices", "vertex_pressures")
        ),
        one_entry("areas", -1.0),
        one_entry("vertices", np.inf),
        force(np.inf),
        lost_share(np.nan),
        lambda patch: setattr(patch, "area", np.inf),
        lambda patch: setattr(patch.wrench_on_b.torque, "z", np.nan),
        lambda patch: setattr(patch.reference_point, "y", np.nan),
    ],
)
def test_numbers_that_measure_nothing_are_refused(changed, change):
    with pytest.raises(
        InputError, match=r"changed.mcap: topic '/\S+': holds a patch of .* mend the program that"
    ):
        changed(change)


def test_a_face_of_two_vertices_is_refused(changed):
    def change(patch):
        patch.vertex_counts = patch.vertex_counts.copy()
        patch.vertex_counts[0] += patch.vertex_counts[1] - 2
        patch.vertex_counts[1] = 2

    with pytest.raises(InputError, match=r"holds a patch of .* with a face of 2 vertices"):
        changed(change)


def test_faces_without_area_have_their_middle_as_the_centre(changed):
    frame = changed(lambda patch: setattr(patch, "areas", np.zeros_like(patch.areas)))
    assert frame.patches
    for patch in frame.patches:
        low, high = patch.faces.vertices.min(axis=0), patch.faces.vertices.max(axis=0)
        assert np.all((low <= patch.point) & (patch.point <= high))
        assert np.isfinite(patch.moment).all()


@pytest.mark.parametrize(
    ("flag", "law"), [(0, "pressure field"), (BETWEEN_RIGID, "rigid skin"), (AT_POINT, "equivalent point")]
)
def test_laws_of_patches_come_back(changed, flag, law):
    """From the flags, which older recordings have too, without that of rigid bodies."""

    def between_rigid(patch):
        patch.flags |= flag

    assert {patch.law for patch in changed(between_rigid).patches} == {law}


@pytest.mark.parametrize("corners", [1, 2])
def test_a_line_or_a_point_comes_back(changed, corners):
    """Its one face without area and pressure is drawn, and its centroid is the point; with no flag it is refused."""

    def at_point(patch, flag=AT_POINT):
        patch.flags = flag
        patch.area = patch.peak_pressure = 0.0
        patch.vertex_counts = np.array([corners], dtype=np.uint8)
        patch.vertices, patch.vertex_pressures = patch.vertices[: 3 * corners], np.zeros(corners, np.float32)
        patch.centroids = np.array([0.1, 0.2, 0.3])
        for name, count in (("pressures", 1), ("areas", 1), ("normals", 3), ("slip_velocities", 3)):
            setattr(patch, name, np.zeros(count, dtype=np.float32))

    for patch in changed(at_point).patches:
        assert patch.faces.counts.tolist() == [corners]
        assert (patch.area, patch.max_pressure, patch.law) == (0.0, 0.0, "equivalent point")
        assert patch.point == pytest.approx([0.1, 0.2, 0.3])
        assert np.linalg.norm(patch.force_on_b) > 0.0


def test_bodies_that_meet_within_a_step_are_drawn_without_pressure(changed):
    """Their faces at its begin have none, and their force is there."""

    def change(patch):
        patch.pressures, patch.vertex_pressures = -abs(patch.pressures), -abs(patch.vertex_pressures)

    frame = changed(change)
    assert frame.patches
    for patch in frame.patches:
        assert patch.max_pressure == 0.0
        assert np.any(patch.force_on_b)
        low, high = patch.faces.vertices.min(axis=0), patch.faces.vertices.max(axis=0)
        assert np.all((low <= patch.point) & (patch.point <= high))


def test_bodies_that_do_not_push_are_not_drawn(changed):
    def change(patch):
        patch.pressures, patch.vertex_pressures = -abs(patch.pressures), -abs(patch.vertex_pressures)
        for axis in "xyz":
            setattr(patch.wrench_on_b.force, axis, 0.0)

    assert not changed(change).patches
