"""What is replayed is what was live, at any time, in any order, to the last whole chunk of a file that was cut."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from hydro_sim_core.drawing.chosen_scale import scale_of_world
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.errors import InputError
from hydro_sim_core.replay import Recording, TimeLine
from hydro_sim_core.viewer.frame import encode_frame, frame_of_snapshot
from hydro_sim_core.viewer.scene import scene_of_world

SINGLE = 1e-6  # relative, of what is recorded in single precision


def test_the_scale_is_that_of_the_scene_and_one_for_all_recordings(run, recording):
    assert recording.scale.maximum == scale_of_world(run[0]).maximum
    assert recording.scene(0).scale is recording.scale
    with Recording(run[1], PressureScale(5e3)) as given:
        assert given.scale.maximum == 5e3
        with TimeLine([given, recording]) as line:
            assert line.scale.maximum == recording.scale.maximum
            assert line.scene(0.1).scale is line.scene(0.5).scale is line.scale


@pytest.fixture
def recording(run):
    with Recording(run[1]) as opened:
        yield opened


def contact_instants(recording, snapshots):
    """Rows and snapshots at which contact was recorded and something pressed: 30 a second."""
    for row, time in enumerate(recording.instants):
        snapshot = snapshots[round(time * 1e3)]
        if abs(time * 30.0 - round(time * 30.0)) < 0.03 and snapshot.contacts:
            yield row, snapshot


def test_frames_are_those_of_the_run(run, recording):
    """Poses, joints and patches of frames from snapshots and from the recording, at every instant with both."""
    world, _, snapshots = run
    live_scene = scene_of_world(world, PressureScale())
    scene = recording.scene(0)
    rows = [live_scene.links.index(link) for link in scene.links]
    joints = [world.joint_names.index(joint.name) for joint in scene.joints]
    assert {joint.name for joint in scene.joints} == set(world.joint_names)
    compared = 0
    for row, snapshot in contact_instants(recording, snapshots):
        problems = {w.bodies: w.problem for w in reversed(snapshot.contact_summary.warnings)}
        live = frame_of_snapshot(snapshot, live_scene, problems=problems)
        frame = recording.frame(row)
        assert (frame.time, frame.step) == (pytest.approx(live.time, abs=1e-9), live.step)
        assert frame.poses == pytest.approx(live.poses[rows], abs=1e-12)
        assert np.array_equal(frame.joint_positions, live.joint_positions[joints])
        assert len(frame.patches) == len(live.patches) > 0
        for got, was in zip(frame.patches, live.patches, strict=True):
            assert (got.name_a, got.name_b, got.problem) == (was.name_a, was.name_b, was.problem)
            assert np.array_equal(got.faces.counts, was.faces.counts)
            assert np.array_equal(got.faces.vertices, was.faces.vertices)
            assert got.faces.pressures == pytest.approx(
                was.faces.pressures, rel=SINGLE, abs=SINGLE * was.max_pressure
            )
            assert np.array_equal(got.force_on_b, was.force_on_b)
            assert got.point == pytest.approx(was.point, abs=SINGLE)
            assert got.moment == pytest.approx(was.moment, abs=SINGLE)
            assert (got.area, got.max_pressure) == pytest.approx((was.area, was.max_pressure), rel=SINGLE)
        compared += 1
    assert compared >= 5


def test_the_scene_is_that_of_the_run(run, recording):
    """As many shapes in the same colours on the same links; the recording has neither grippers nor commands.

    Ellipsoids are other meshes, for URDF has none.
    """
    live, scene = scene_of_world(run[0], PressureScale()), recording.scene(0)

    def shapes(scene):
        return sorted((scene.links[visual.link], visual.rgba) for visual in scene.visuals)

    assert shapes(scene) == shapes(live)
    assert len(scene.meshes.keys() & live.meshes.keys()) >= len(live.meshes) - 1
    assert (scene.name, scene.mode, scene.takes_commands, scene.grippers) == (live.name, "replay", False, ())
    assert scene.timeline == (recording.start, recording.end) == pytest.approx((0.0, 0.3))


def test_any_order_gives_the_same_frames(recording):
    """Bytes of frames asked for to and fro, and one after the other in another opening."""
    rows = np.random.default_rng(5).permutation(len(recording.instants))
    asked = {row: encode_frame(recording.frame(row), 0) for row in rows}
    with Recording(recording.path) as again:
        for row in range(len(again.instants)):
            assert encode_frame(again.frame(row), 0) == asked[row]


def test_the_instant_shown_is_the_nearest(recording):
    instants = recording.instants
    for time in np.linspace(-0.1, 0.4, 301):
        row = recording.row(time)
        assert abs(instants[row] - time) == pytest.approx(np.abs(instants - time).min(), abs=1e-12)


@pytest.mark.parametrize("part", [0.35, 0.6, 0.9])
def test_a_cut_file_is_replayed_as_far_as_it_goes(run, recording, tmp_path, caplog, part):
    data = run[1].read_bytes()
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(data[: int(part * len(data))])
    with caplog.at_level(logging.WARNING), Recording(cut) as short:
        assert "ends early" in caplog.text
        assert 0 < len(short.instants) <= len(recording.instants)
        for row in range(len(short.instants)):
            time = round(short.instants[row] * 1e3)
            whole = recording.frame(recording.row(short.instants[row]))
            assert np.array_equal(short.frame(row).poses, whole.poses), time


def test_recordings_follow_each_other_on_a_time_line(run):
    """The second of two goes on where the first ends, at its own times and as the next epoch."""
    with TimeLine([Recording(run[1]), Recording(run[1])]) as line:
        first = line.recordings[0]
        assert (line.start, line.end) == pytest.approx((0.0, 0.6))
        assert line.scene(0.0).timeline == (line.start, line.end)
        for place, epoch, time in ((0.1, 0, 0.1), (0.45, 1, 0.15), (0.6, 1, 0.3)):
            frame = line.frame(place)
            assert frame.epoch == epoch
            assert frame.time == first.instants[first.row(time)]
            assert frame.timeline_time == pytest.approx(frame.time + 0.3 * epoch)
        with pytest.raises(
            InputError, match=r"run.mcap: time 0.7 s is outside of the recording; give 0 to 0.6"
        ):
            line.check(0.7)
        with pytest.raises(InputError, match="time nan s"):
            line.check(float("nan"))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "no such file"),
        (b"", "is no MCAP file"),
        (b"time,force\n0,1\n", "is no MCAP file"),
        (b"\x89MCAP0\r\n", "tells no poses.*holds|tells no poses.*no messages"),
    ],
)
def test_what_is_no_recording_is_refused_in_one_line(tmp_path, content, says):
    path = tmp_path / "x.mcap"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=says) as error:
        Recording(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)
