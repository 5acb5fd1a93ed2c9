"""A program that steps a world by itself records it as the command line does."""

from __future__ import annotations

from pathlib import Path

import pytest

from hydro_sim_core.errors import InputError
from hydro_sim_core.recording import WorldRecording, read_messages
from support.recording.foreign_reader import decoded


def steps_in(path):
    return [message.time for message in read_messages(Path(path), ["/clock"])]


def test_every_state_that_is_taken_is_there(world, tmp_path):
    path = tmp_path / "own.mcap"
    with WorldRecording(world, str(path)) as recording:
        for step in range(20):
            world.set_gripper(force=5.0 + step)
            world.step()
            recording.take()
            recording.take()  # the same state again adds nothing
    assert recording.report.paths == (str(path),)
    assert len(steps_in(path)) == 21
    assert recording.report.lost_steps == 0


def test_a_reset_begins_a_new_file(world, tmp_path):
    with WorldRecording(world, tmp_path / "own.mcap") as recording:
        for _ in range(3):
            world.step()
            recording.take()
        world.reset()
        recording.take()
        world.step()
        recording.take()
    assert [len(steps_in(path)) for path in recording.report.paths] == [4, 2]


def test_an_error_of_the_program_leaves_a_whole_file(world, tmp_path):
    path = tmp_path / "own.mcap"

    def fail() -> None:
        with WorldRecording(world, path) as recording:
            world.step()
            recording.take()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert len(steps_in(path)) == 2


def test_wrong_uses_are_told(world, tmp_path):
    recording = WorldRecording(world, tmp_path / "own.mcap")
    with pytest.raises(InputError, match="take: is called outside of the recording; call it within `with`"):
        recording.take()
    with pytest.raises(InputError, match="report: is not there before the end"):
        print(recording.report)
    with pytest.raises(InputError, match=r"3: is no path"):
        WorldRecording(world, 3)
    (tmp_path / "there.mcap").touch()
    with pytest.raises(InputError, match=r"there\.mcap"):
        WorldRecording(world, tmp_path / "there.mcap")


def test_the_state_is_told_to_the_last_bit(world, tmp_path):
    path = tmp_path / "own.mcap"
    with WorldRecording(world, path) as recording:
        world.step(30)
        recording.take()
    states = decoded(path)["/joint_states"]
    assert [time for time, _ in states] == [0, 30 * 10**6]
    assert states[-1][1].position == world.joint_positions().tolist()
