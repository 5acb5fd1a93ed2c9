"""Recordings that go on in the next file at a limit: each file is whole, and together they are the run."""

from __future__ import annotations

import shutil
from contextlib import closing

import numpy as np
import pytest
from mcap.reader import make_reader

from hydro_sim_core.errors import InputError
from hydro_sim_core.recording import FileLimits, Recorder, recording_files, run_files
from hydro_sim_core.recording.contents import RecordingContents
from hydro_sim_core.replay import Recording, TimeLine
from hydro_sim_core.simulation.world.snapshot import take_snapshot
from support.recording.foreign_reader import decoded
from support.recording.number_file import record_numbers

STEPS = 250


def about(path):
    with closing(RecordingContents(path)) as contents:
        return contents.read_about()


@pytest.fixture
def parts(record):
    """Files of a run of 0.25 s with at most 0.1 s in each."""
    report, _ = record(STEPS, limits=FileLimits(duration=0.1), drives=True)
    return report


def test_a_limit_of_time_parts_the_files_at_it(parts, tmp_path):
    names = ["run.mcap", "run_1.mcap", "run_2.mcap"]
    assert parts.paths == tuple(str(tmp_path / name) for name in names)
    times = [[time for time, _ in decoded(tmp_path / name)["/joint_states"]] for name in names]
    assert times == [[10**6 * i for i in range(*span)] for span in ((0, 100), (100, 200), (200, 251))]
    assert parts.messages == sum(len(rows) for name in names for rows in decoded(tmp_path / name).values())
    abouts = [about(tmp_path / name) for name in names]
    assert [entry["number"] for entry in abouts] == ["0", "1", "2"]
    assert [entry["continues"] for entry in abouts] == ["", "run.mcap", "run_1.mcap"]
    assert len({entry["recording"] for entry in abouts}) == 1


def test_a_limit_of_size_bounds_every_file(record, tmp_path):
    """To what it holds when a chunk is written, which is at most half a second late."""
    limits = FileLimits(size=100_000)
    report, _ = record(1500, limits=limits)
    sizes = [
        path.stat().st_size for path in map(tmp_path.joinpath, (p.rpartition("/")[2] for p in report.paths))
    ]
    assert len(sizes) > 1
    assert all(size > 100_000 for size in sizes[:-1])
    assert sum(sizes) == report.size


def test_every_part_is_whole(parts, tmp_path):
    """It has its description, fixed frames, state and targets, by our reader and by others."""
    for name in ("run_1.mcap", "run_2.mcap"):
        found = decoded(tmp_path / name)
        first = found["/clock"][0][0]
        for topic in (
            "/robot_description",
            "/tf_static",
            "/tf",
            "/joint_states",
            "/hydro_sim/contact_patches",
        ):
            assert found[topic][0][0] == first, topic
        assert found["/hydro_sim/joint_targets"][0][0] == first
        with (tmp_path / name).open("rb") as file:
            assert make_reader(file).get_summary().statistics.message_count == sum(map(len, found.values()))
        with Recording(tmp_path / name) as recording:
            assert recording.scene(0).visuals
            assert recording.frame(0).patches


def test_targets_that_stand_are_the_last_ones(parts, tmp_path):
    before = decoded(tmp_path / "run.mcap")["/hydro_sim/joint_targets"][-1][1]
    after = decoded(tmp_path / "run_1.mcap")["/hydro_sim/joint_targets"][0][1]
    np.testing.assert_array_equal(after.effort, before.effort)


@pytest.mark.parametrize("fate", ["missing", "empty"])
def test_the_first_file_and_the_folder_stand_for_all(parts, tmp_path, caplog, fate):
    files = tuple(tmp_path / name for name in ("run.mcap", "run_1.mcap", "run_2.mcap"))
    for named in (files[0], tmp_path):
        assert recording_files(named) == run_files(named) == files
    assert recording_files(files[1]) == (files[1],)
    assert not caplog.records
    files[1].unlink()
    if fate == "empty":
        files[1].touch()
    assert recording_files(files[0]) == (files[0], files[2])
    assert "run_1.mcap missing or unreadable; the rest is used" in caplog.text


def test_a_file_of_another_recording_does_not_continue_this_one(parts, record, tmp_path, world):
    world.reset()
    other = tmp_path / "other"
    other.mkdir()
    record(STEPS, path=other / "run.mcap", limits=FileLimits(duration=0.1))
    shutil.copy(other / "run_1.mcap", tmp_path / "run_1.mcap")
    assert recording_files(tmp_path / "run.mcap") == (tmp_path / "run.mcap",)
    with pytest.raises(
        InputError, match=r"holds 2 recordings: run\.mcap, run_1\.mcap; give one of these files"
    ):
        recording_files(tmp_path)


def test_files_of_other_programs_stand_for_themselves(tmp_path):
    record_numbers(tmp_path / "run.mcap", lambda i: "/topic")
    record_numbers(tmp_path / "run_1.mcap", lambda i: "/topic")
    assert recording_files(tmp_path / "run.mcap") == (tmp_path / "run.mcap",)
    with pytest.raises(InputError, match="holds 2 recordings"):
        recording_files(tmp_path)
    (tmp_path / "run_1.mcap").unlink()
    assert recording_files(tmp_path) == (tmp_path / "run.mcap",)
    with pytest.raises(InputError, match=r"holds no recording; give a folder with \.mcap files"):
        recording_files(tmp_path.parent)


def test_parts_are_one_run_on_the_time_line(parts, tmp_path):
    """Times go on over the limits, without a new episode."""
    with TimeLine([Recording(path) for path in recording_files(tmp_path)]) as line:
        assert line.places.tolist() == [0.0, 0.1, 0.2]
        assert (line.start, line.end) == (0.0, pytest.approx(0.25, abs=0.02))
        for place in (0.05, 0.1, 0.15, 0.2, 0.24):
            frame = line.frame(place)
            assert frame.time == pytest.approx(place, abs=0.02)
            assert frame.timeline_time == frame.time
            assert frame.epoch == 0


def test_a_reset_begins_another_run_of_the_recording(world, tmp_path):
    recorder = Recorder(tmp_path / "run.mcap", complete=True, limits=FileLimits(duration=0.1))
    recorder.start(take_snapshot(world, 0), world)
    for epoch in (0, 1):
        if epoch:
            world.reset()
            recorder.record(take_snapshot(world, epoch), world)
        for _ in range(150):
            world.step()
            recorder.record(take_snapshot(world, epoch), world)
    assert len(recorder.stop().paths) == 4
    files = [tmp_path / f"run{end}.mcap" for end in ("", "_1", "_2", "_3")]
    assert recording_files(tmp_path) == tuple(files)
    assert recording_files(files[0]) == tuple(files[:2])
    assert run_files(files[2]) == tuple(files[2:])
    with pytest.raises(InputError, match=r"several runs, which begin with run\.mcap, run_2\.mcap; give one"):
        run_files(tmp_path)
    with TimeLine([Recording(path) for path in files]) as line:
        assert [line.frame(place + 0.01).epoch for place in line.places] == [0, 0, 1, 1]


def test_a_file_that_is_in_the_way_is_refused_at_once(tmp_path):
    """And not when the first file is full, hours later."""
    (tmp_path / "run_7.mcap").write_text("precious")
    (tmp_path / "runs_7.mcap").touch()
    with pytest.raises(InputError, match=r"run_7\.mcap: exists already, and may be needed for the next part"):
        Recorder(tmp_path / "run.mcap", limits=FileLimits(duration=1.0))
    Recorder(tmp_path / "run.mcap", limits=FileLimits(duration=1.0), number=8)
    Recorder(tmp_path / "run.mcap", limits=FileLimits(duration=1.0), overwrite=True)
    Recorder(tmp_path / "run.mcap")


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        ({"size": 10.0}, "size: 10 bytes are too few for a file; give 0.1 MB or more"),
        ({"duration": 0.01}, r"duration: 0.01 s are too short for a file; give 0.1 s or more"),
        ({"duration": float("nan")}, "nan s are too short"),
    ],
)
def test_a_limit_for_less_than_a_file_is_refused(limits, problem):
    with pytest.raises(InputError, match=problem):
        FileLimits(**limits)
