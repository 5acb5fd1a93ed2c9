"""Slow and full disks, kills, resets, files that cannot be: the run goes on, and what was written is readable."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from mcap.opcode import Opcode
from mcap.reader import make_reader

from hydro_sim_core import load_scene
from hydro_sim_core.assets import shipped_scenes
from hydro_sim_core.errors import InputError
from hydro_sim_core.messages.stream import Stream
from hydro_sim_core.messages.streams import recorded_streams
from hydro_sim_core.messages.view import View
from hydro_sim_core.recording import Recorder, mcap_file, read_messages, recorder
from hydro_sim_core.recording.episodes import EpisodeFiles
from hydro_sim_core.replay import Recording
from hydro_sim_core.simulation.world.snapshot import take_snapshot
from support.recording.foreign_reader import decoded

SECOND = 10**9


def joint_times(path):
    """Times of the joint states, read from the start: that needs no index."""
    return [message.time for message in read_messages(path, ["/joint_states"])]


class Run:
    """A world that is stepped and recorded."""

    def __init__(self, world, path, **options):
        self.world = world
        self.lines = []
        self.recorder = Recorder(path, warn=self.lines.append, **options)
        self.recorder.start(take_snapshot(world, epoch=0), world)

    def step(self, steps, epoch=0):
        for _ in range(steps):
            self.world.step()
            self.recorder.record(take_snapshot(self.world, epoch), self.world)

    def wait_for_the_end(self):
        """Until the recorder has given up."""
        deadline = time.monotonic() + 30.0
        while not self.lines:
            assert time.monotonic() < deadline
            time.sleep(0.01)


class SmallDisk:
    """Room for so many bytes, the spare among them."""

    def __init__(self, monkeypatch, room):
        self.room = room
        self.spare = None
        disk = self

        class File(io.FileIO):
            def write(self, data):
                free = disk.room - self.tell() - (0 if disk.spare is None or disk.spare.closed else disk.size)
                if free <= 0:
                    raise OSError(errno.ENOSPC, "No space left on device")
                return super().write(data[:free])

        def reserve(folder):
            disk.spare = real_reserve(folder)
            return disk.spare

        real_reserve = mcap_file._reserve
        self.size = mcap_file._SPARE_SIZE
        monkeypatch.setattr(mcap_file, "FileIO", File)
        monkeypatch.setattr(mcap_file, "_reserve", reserve)


def test_a_full_disk_ends_the_recording_and_the_file_is_complete(world, tmp_path, monkeypatch):
    """With its index, to the last message that was written; one line says so."""
    SmallDisk(monkeypatch, mcap_file._SPARE_SIZE + 40_000)
    path = tmp_path / "run.mcap"
    run = Run(world, path, complete=True)
    while not run.lines:
        run.step(20)
    report = run.recorder.stop()
    (line,) = run.lines
    assert "run.mcap" in line
    assert "the disk is full" in line
    assert report.error == "the disk is full"
    with path.open("rb") as file:
        statistics = make_reader(file).get_summary().statistics
    found = decoded(path)
    assert statistics.message_count == report.messages == sum(map(len, found.values()))
    times = [t for t, _ in found["/joint_states"]]
    assert times == [10**6 * i for i in range(len(times))]
    assert path.stat().st_size > 40_000


def test_a_disk_that_fails_for_good_leaves_what_was_whole(world, tmp_path):
    """The kernel refuses to write on in the middle of a chunk: the file ends with the chunk before."""
    path = tmp_path / "run.mcap"
    run = Run(world, path, complete=True)
    while len(joint_times(path)) <= 100:
        run.step(20)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    most = path.stat().st_size + 1000
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, limits[1]))
    try:
        while not run.lines:
            run.step(20)
        run.step(20)
    finally:
        report = run.recorder.stop()
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    (line,) = run.lines
    assert report.error == "file too large"
    assert "the simulation goes on: file too large" in line
    times = joint_times(path)
    assert times == [10**6 * i for i in range(len(times))]
    assert len(times) > 100
    assert path.stat().st_size == report.size <= most


@pytest.mark.parametrize("fails_at", range(2, 13))
def test_a_chunk_that_was_written_stays(tmp_path, monkeypatch, fails_at):
    """Whichever write fails: also that of the chunk's own index, which a reader from the start does not need."""
    written = []

    class File(io.FileIO):
        def write(self, data):
            if len(written) == fails_at:
                super().write(data[: len(data) // 2])
                raise OSError(errno.EIO, "Input/output error")
            written.append(bytes(data))
            return super().write(data)

    monkeypatch.setattr(mcap_file, "FileIO", File)
    path = tmp_path / "run.mcap"
    file = mcap_file.RecordingFile(path, overwrite=False)
    try:
        for time_of in range(3):
            file.write("/rate", "std_msgs/msg/Float64", time_of, bytes(12))
            file.flush()
    except OSError:
        pass
    with contextlib.suppress(OSError):
        file.close()
    whole = sum(data[0] == Opcode.CHUNK for data in written)
    if whole:
        assert [m.time for m in read_messages(path, ["/rate"])] == [SECOND * i for i in range(whole)]
    else:
        assert path.stat().st_size == sum(map(len, written))


def test_a_slow_disk_costs_steps_of_the_recording_only(world, tmp_path, monkeypatch):
    """While nothing can be written the run goes on; what found no room is counted, and said once."""
    monkeypatch.setattr(recorder, "QUEUE_LENGTH", 50)
    stuck = threading.Event()
    write = EpisodeFiles.write_snapshot
    run = Run(world, tmp_path / "run.mcap")
    monkeypatch.setattr(
        EpisodeFiles, "write_snapshot", lambda *arguments: stuck.wait(60) and write(*arguments)
    )
    run.step(200)
    stuck.set()
    report = run.recorder.stop()
    times = joint_times(tmp_path / "run.mcap")
    assert report.lost_steps == 201 - len(times) > 0
    assert len(times) >= 51
    assert len(run.lines) == 1
    assert "steps are left out" in run.lines[0]
    assert f"too slow for {report.lost_steps} steps" in str(report)


def test_a_run_without_deadlines_waits_for_the_disk(world, tmp_path, monkeypatch):
    monkeypatch.setattr(recorder, "QUEUE_LENGTH", 5)
    run = Run(world, tmp_path / "run.mcap", complete=True)
    run.step(300)
    assert run.recorder.stop().lost_steps == 0
    assert joint_times(tmp_path / "run.mcap") == [10**6 * i for i in range(301)]
    assert not run.lines


def test_every_reset_begins_a_file(world, tmp_path):
    """Each with its own description, from its own start."""
    run = Run(world, tmp_path / "run.mcap")
    run.step(30)
    for epoch in (1, 2):
        world.reset()
        run.recorder.record(take_snapshot(world, epoch), world)
        run.step(10 * epoch, epoch)
    report = run.recorder.stop()
    assert report.paths == tuple(str(tmp_path / f"run{n}.mcap") for n in ("", "_1", "_2"))
    for name, steps in (("run", 30), ("run_1", 10), ("run_2", 20)):
        found = decoded(tmp_path / f"{name}.mcap")
        assert [t for t, _ in found["/joint_states"]] == [10**6 * i for i in range(steps + 1)]
        assert len(found["/robot_description"]) == len(found["/tf_static"]) == 1


def test_models_that_come_while_time_goes_on_are_described_in_the_same_file(world, tmp_path):
    """Another world takes over: a description and fixed frames of it, and every instant once more."""
    other = load_scene(shipped_scenes()["drop_box"])
    run = Run(world, tmp_path / "run.mcap")
    run.step(10)
    other.step(10)
    run.world = other
    run.recorder.record(take_snapshot(other, epoch=1), other)
    run.step(5, epoch=1)
    assert len(run.recorder.stop().paths) == 1
    found = decoded(tmp_path / "run.mcap")
    assert [t for t, _ in found["/clock"]] == [10**6 * i for i in (*range(11), *range(10, 16))]
    assert [t for t, _ in found["/robot_description"]] == [0, 10**7]
    names = [ElementTree.fromstring(message.data).get("name") for _, message in found["/robot_description"]]
    assert names == ["spatula_slip_welded", "drop_box"]


def test_a_recording_can_go_on_with_the_next_number(world, tmp_path):
    """What came before stays, and a file of somebody else too."""
    path = tmp_path / "run.mcap"
    Run(world, path).recorder.stop()
    second = Recorder(path, number=1)
    second.start(take_snapshot(world, 0), world)
    assert second.stop().paths == (str(tmp_path / "run_1.mcap"),)
    (tmp_path / "run_2.mcap").write_text("precious")
    with pytest.raises(InputError, match=r"run_2\.mcap: exists already"):
        Recorder(path, number=2)


def test_a_reset_replaces_no_file(world, tmp_path):
    (tmp_path / "run_1.mcap").write_text("precious")
    run = Run(world, tmp_path / "run.mcap")
    run.step(3)
    world.reset()
    run.step(10, epoch=1)
    report = run.recorder.stop()
    assert len(run.lines) == 1
    assert "run_1.mcap: exists already" in report.error
    assert (tmp_path / "run_1.mcap").read_text() == "precious"
    assert joint_times(tmp_path / "run.mcap") == [0, 10**6, 2 * 10**6, 3 * 10**6]


def test_a_mistake_in_a_message_ends_the_recording_and_is_raised(world, tmp_path):
    """Our mistake, not the disk's: the run goes on all the same, and whoever stops the recording learns of it."""
    run = Run(world, tmp_path / "run.mcap")
    run.recorder.record_command("/x", "std_msgs/msg/Float64", lambda: 1 / 0, 0.0, epoch=0)
    run.wait_for_the_end()
    run.step(10)
    with pytest.raises(ZeroDivisionError):
        run.recorder.stop()
    assert "ZeroDivisionError" in run.lines[0]


def open_files(folder):
    """How many descriptors of this process are files in a folder, or the spare room beside them."""
    targets = [Path(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")]
    return sum(str(folder) in os.readlink(path) for path in targets if path.is_symlink())


@pytest.mark.parametrize("error", [InputError("scene", "link", "is not there", "add it"), KeyError("link")])
def test_streams_that_cannot_be_made_leave_a_complete_file(world, tmp_path, monkeypatch, error):
    """Of the world that comes next: the file had no index, and stayed open."""
    run = Run(world, tmp_path / "run.mcap", complete=True)
    run.step(3)

    def fail(*_):
        raise error

    monkeypatch.setattr(recorder, "recorded_streams", fail)
    run.world = load_scene(shipped_scenes()["drop_box"])
    run.step(1)
    run.wait_for_the_end()
    if isinstance(error, InputError):
        assert "is not there" in run.recorder.stop().error
    else:
        with pytest.raises(KeyError):
            run.recorder.stop()
    assert open_files(tmp_path) == 0
    with (tmp_path / "run.mcap").open("rb") as file:
        assert make_reader(file).get_summary().statistics.message_count > 4


def test_a_stream_that_cannot_be_encoded_is_left_out_and_told_once(world, tmp_path, monkeypatch):
    """A plug-in's, for example: it ended the recording of all others. Before the first step it is refused."""

    def fail(snapshot):
        if snapshot.step >= fails_from:
            raise KeyError("finger")
        return bytes(12)

    def with_another(*arguments):
        more = [(Stream("~/broken", "std_msgs/msg/Float64", fail), 0.0)]
        return [*recorded_streams(*arguments), *more]

    monkeypatch.setattr(recorder, "recorded_streams", with_another)
    for fails_from in (1, 3):
        path = tmp_path / f"from_{fails_from}.mcap"
        world.reset()
        run = Run(world, path, complete=True)
        run.step(5)
        world.reset()
        run.step(2, epoch=1)
        report = run.recorder.stop()
        assert report.error is None
        (line,) = run.lines
        assert "/hydro_sim/broken: cannot be encoded, and is left out: KeyError: 'finger'" in line
        assert joint_times(path) == [10**6 * i for i in range(6)]
        assert joint_times(report.paths[1]) == [10**6, 2 * 10**6]
        assert len(list(read_messages(path, ["/hydro_sim/broken"]))) == fails_from
    fails_from = 0
    with pytest.raises(KeyError):
        Run(world, tmp_path / "refused.mcap")
    assert open_files(tmp_path) == 0


def test_a_kill_costs_the_last_moment_only(tmp_path):
    """SIGKILL at any time: what is in the file is whole and in order, from the first step on."""
    path = tmp_path / "run.mcap"
    program = "from hydro_sim_core.cli import main; main()"
    arguments = ["run", "spatula_slip_welded", "--headless", "--out", str(path)]
    process = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 300
        while not path.exists() or path.stat().st_size < 400_000:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    times = joint_times(path)
    assert len(times) > 100
    assert times == [10**6 * i for i in range(len(times))]
    assert len(list(read_messages(path, ["/robot_description"]))) == 1
    with Recording(path) as replayed:
        assert replayed.end > 1e-9 * times[-1] - 0.02  # s; poses are recorded 60 times a second
        rows = range(len(replayed.instants))
        touching = [row for row in rows if replayed.frame(row).patches]
    # Once the spatula is held it stays so; how many instants there are depends on when the kill comes.
    assert touching
    assert touching == list(rows[touching[0] :])


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("nowhere/run.mcap", "there is no folder"),
        ("run.bag", "ends in .mcap"),
        ("folder.mcap", "is a folder"),
        ("old.mcap", "exists already"),
    ],
)
def test_a_file_that_cannot_be_is_refused_at_once(tmp_path, name, problem):
    (tmp_path / "folder.mcap").mkdir()
    (tmp_path / "old.mcap").write_text("precious")
    with pytest.raises(InputError, match=problem) as refusal:
        Recorder(tmp_path / name)
    assert name in str(refusal.value)
    assert (tmp_path / "old.mcap").read_text() == "precious"


def test_names_that_would_share_a_topic_are_refused_before_there_is_a_file(world, tmp_path):
    object.__setattr__(world, "touching_pairs", (("a/b", "box"), ("a_b", "box")))
    started = Recorder(tmp_path / "run.mcap", view=View(wrench_topics=("all",)), complete=True)
    message = "links 'a/b' and 'a_b': would share the topic ~/wrench/a_b_on_box; rename one"
    with pytest.raises(InputError, match=message):
        started.start(take_snapshot(world, epoch=0), world)
    assert not list(tmp_path.iterdir())


def test_a_disk_without_room_refuses_at_the_start(world, tmp_path, monkeypatch):
    def no_room(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(mcap_file.os, "posix_fallocate", no_room)
    recorder = Recorder(tmp_path / "run.mcap")
    with pytest.raises(InputError, match="no space left on device"):
        recorder.start(take_snapshot(world, epoch=0), world)


def test_overwriting_is_possible_on_purpose(world, tmp_path):
    (tmp_path / "run.mcap").write_text("old" * 100_000)
    run = Run(world, tmp_path / "run.mcap", overwrite=True)
    run.step(3)
    run.recorder.stop()
    assert joint_times(tmp_path / "run.mcap") == [0, 10**6, 2 * 10**6, 3 * 10**6]
