"""Recording by the node, and replay of what it was told: the same motion to the last bit."""

from __future__ import annotations

import resource
from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from hydro_sim.controllers.pull import let_go_message, pull_message
from hydro_sim.parameters import Parameters
from hydro_sim.recording.replay import Replay, check_replay
from hydro_sim.rejections import Rejections
from hydro_sim_core.errors import InputError
from hydro_sim_core.recording import read_messages
from hydro_sim_core.recording.mcap_file import RecordingFile
from support.ros.node_process import SCENE
from support.ros.ros_client import Client

JOINTS = [f"joint_{i}" for i in range(1, 8)]
COMMANDS = {
    "/hydro_sim/position_commands": Float64MultiArray,
    "/joint_trajectory_controller/joint_trajectory": JointTrajectory,
    "/gripper/force_command": Float64,
    "/hydro_sim/pull": Float64MultiArray,
}


def parameters(*values):
    arguments = ["--params-file", "config/node.yaml", "-p", f"scene:={SCENE}"]
    return arguments + [part for value in values for part in ("-p", value)]


def messages(path, *topics):
    return [(m.topic, m.time, m.data) for m in read_messages(path, topics)]


def commands(path):
    """Topic, time in ns and content; the bytes of two equal messages may differ where nothing stands."""
    found = messages(path, *COMMANDS)
    return [(topic, time, deserialize_message(data, COMMANDS[topic])) for topic, time, data in found]


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A run in which a client moves the arm, in every way, and squeezes: the file."""
    from support.ros.node_process import NodeProcess

    folder = tmp_path_factory.mktemp("recording")
    path = folder / "run.mcap"
    node = NodeProcess(
        folder / "log.txt",
        *parameters(
            "start_paused:=true",
            "real_time_factor:=0.25",  # the client looks at every step
            "joint_state_rate:=1000.0",
            f"record:={path}",
        ),
    )
    client = Client(node.domain)
    try:
        client.wait_for_node()
        client.next("/joint_states")
        start = [client.joint(name) for name in JOINTS]
        for topic, message_type in COMMANDS.items():
            client.connect(topic, message_type)
        client.send_number("/gripper/force_command", 9.0)
        client.pause(False)
        client.wait_for_time(0.2)
        client.send_array("/hydro_sim/position_commands", [q + 0.02 for q in start])
        client.wait_for_time(0.5)
        client.send(
            "/hydro_sim/pull", pull_message("spherical_wrist_1_link", (0.0, 0.0, 0.0), (0.6, 0.2, 0.5))
        )
        client.wait_for_time(0.6)
        client.send("/hydro_sim/pull", let_go_message("spherical_wrist_1_link"))
        client.send_trajectory(JOINTS, [(0.5, start, [0.0] * 7), (0.8, [q - 0.05 for q in start], [0.0] * 7)])
        client.wait_for_time(0.8)
        client.send_number("/gripper/force_command", 4.0)
        client.wait_until(
            lambda: abs(client.joint("joint_1") - start[0] + 0.05) < 0.01, "the end of the motion"
        )
    finally:
        client.close()
        assert node.stop() == 0
    assert f"recorded {path}: " in node.output
    return path


def test_every_step_and_command_is_recorded(recording):
    """Commands with the simulated time of a step; joint states of all steps, before and after they acted."""
    states = messages(recording, "/joint_states")
    assert [time for _, time, _ in states] == [10**6 * i for i in range(len(states))]
    topics, times, (force, array, pull, let_go, trajectory, last) = zip(*commands(recording), strict=True)
    assert topics == tuple(list(COMMANDS)[i] for i in (2, 0, 3, 3, 1, 2))
    assert all(time % 10**6 == 0 for time in times)
    assert times[0] < times[1]
    assert 0.2e9 <= times[1] < times[2] < times[3] <= times[4] < times[5] < states[-1][1]
    assert (len(pull.data), len(let_go.data)) == (6, 0)
    assert (force.data, last.data) == (9.0, 4.0)
    first = deserialize_message(states[0][2], JointState)
    assert array.data.tolist() == pytest.approx(np.array(first.position[:7]) + 0.02, abs=1e-12)
    assert trajectory.joint_names == JOINTS


def test_a_replay_repeats_the_motion_to_the_last_bit(recording, start_node, tmp_path):
    """No client: positions, velocities and efforts of every step, and the commands, are those recorded."""
    path = tmp_path / "again.mcap"
    states = messages(recording, "/joint_states")
    duration = 1e-9 * states[-1][1]
    node = start_node(
        *parameters(
            f"duration:={duration}",
            "real_time_factor:=0.0",
            "joint_state_rate:=1000.0",
            f"replay:={recording}",
            f"record:={path}",
        )
    )
    assert node.wait(120) == 0, node.output
    assert messages(path, "/joint_states") == states
    assert commands(path) == commands(recording)
    assert node.output.count("replaying 6 commands") == 1
    assert node.output.count("the replay is over") == 1


def test_joint_states_can_be_followed(recording, start_node, tmp_path):
    """A recording of wall-clock times, with positions only: the arm follows it from its first message on."""
    robot, path = tmp_path / "robot.mcap", tmp_path / "run.mcap"
    file = RecordingFile(robot, overwrite=False)
    first = deserialize_message(messages(recording, "/joint_states")[0][2], JointState)
    for i in range(40):
        positions = [q + 0.002 * i for q in first.position[:7]]
        state = JointState(name=[*JOINTS, "stranger"], position=[*positions, 1.0])
        file.write("/joint_states", "sensor_msgs/msg/JointState", 1.7e9 + 0.02 * i, serialize_message(state))
    file.close()
    node = start_node(
        *parameters(
            "duration:=1.0",
            "real_time_factor:=0.0",
            f"replay:={robot}",
            "replay_joint_states:=true",
            f"record:={path}",
        )
    )
    assert node.wait(120) == 0, node.output
    final = deserialize_message(messages(path, "/joint_states")[-1][2], JointState)
    moved = np.array(final.position[:7]) - np.array(first.position[:7])
    assert moved == pytest.approx(0.002 * 39, abs=0.02)


def test_a_full_disk_ends_the_recording_not_the_run(start_node, tmp_path):
    """The kernel refuses to let the file grow: one error, time goes on, the report comes, the file is readable."""
    path = tmp_path / "run.mcap"
    node = start_node(*parameters(f"record:={path}"))
    client = Client(node.domain)
    try:
        client.wait_for_node()
        client.wait_until(lambda: len(messages(path, "/joint_states")) > 50, "a flush")
        most = path.stat().st_size + 1000
        resource.prlimit(node.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
        node.wait_for_output("the simulation goes on", timeout=30)
        client.wait_for_time(client.time + 0.5)
    finally:
        client.close()
    assert node.stop() == 0
    assert node.output.count("[ERROR]") == 1, node.output
    assert "file too large" in node.output
    times = [time for _, time, _ in messages(path, "/joint_states")]
    assert len(times) > 50
    assert times == sorted(set(times))
    assert path.stat().st_size <= most


@pytest.fixture
def load():
    """Take steps with a recording in two epochs, the second ``later`` by so much (s): what was obeyed, and refused."""

    def run(path, steps=5, later=0.0, **values):
        obeyed, warnings = [], []
        logger = SimpleNamespace(info=lambda line: None, warning=warnings.append)
        node = SimpleNamespace(get_logger=lambda: logger, resolve_topic_name=lambda name: f"/{name}")
        world = SimpleNamespace(time=0.0, time_step=0.1)
        sources = []
        runner = SimpleNamespace(
            add_command_source=lambda source, idle: sources.append(source),
            snapshot=lambda: SimpleNamespace(epoch=world.epoch),
        )

        def obey(topic, message, world):
            if not np.isfinite(message.data):
                raise InputError("command", "force", f"{message.data} is not finite", "give a finite number")
            obeyed.append((round(world.time, 3), message.data))

        link = SimpleNamespace(topics={"/force": Float64}, obey=obey)
        replay = Replay(node, runner, Rejections(logger))
        replay.load(Parameters(replay=str(path), **values), link, JOINTS)
        for world.epoch in (0, 1):
            for i in range(steps):
                world.time = 0.1 * i + later * world.epoch
                sources[0](world)
        return obeyed, warnings

    return run


@pytest.fixture
def write(tmp_path):
    """Write a recording of (topic, type, time, bytes)."""

    def run(*entries):
        file = RecordingFile(tmp_path / "run.mcap", overwrite=False)
        for topic, type_name, time, data in entries:
            file.write(topic, type_name, time, data)
        file.close()
        return tmp_path / "run.mcap"

    return run


def force(time, value):
    return "/force", "std_msgs/msg/Float64", time, serialize_message(Float64(data=value))


def test_commands_come_at_their_steps_and_again_after_a_reset(write, load):
    """Before the step at their time; in the order of time, whatever that of the file."""
    path = write(force(0.3, 3.0), force(0.1, 1.0), force(0.1, 2.0), force(0.26, 2.5))
    obeyed, _ = load(path)
    assert obeyed == 2 * [(0.1, 1.0), (0.1, 2.0), (0.3, 2.5), (0.3, 3.0)]


def test_a_change_of_the_world_repeats_no_command(write, load):
    """An epoch begins, but time goes on: what was obeyed is not obeyed again."""
    obeyed, _ = load(write(force(0.1, 1.0), force(0.6, 2.0)), later=0.5)
    assert obeyed == [(0.1, 1.0), (0.6, 2.0)]


def test_wall_clock_times_count_from_the_first_command(write, load):
    obeyed, _ = load(write(force(1.7e9, 1.0), force(1.7e9 + 0.2, 2.0)))
    assert obeyed[:2] == [(0.0, 1.0), (0.2, 2.0)]


def test_a_bad_command_in_a_recording_is_refused_like_any_other(write, load):
    obeyed, warnings = load(write(force(0.0, 1.0), force(0.1, float("nan")), force(0.2, 2.0)))
    assert [value for _, value in obeyed[:2]] == [1.0, 2.0]
    assert len(warnings) == 1
    assert "/force: rejected: force: nan is not finite" in warnings[0]


def test_another_recording_is_refused_in_one_line(write, load, tmp_path):
    """No commands, other types, bytes that are no such message."""
    other = ("/camera", "std_msgs/msg/String", 0.0, b"\x00\x01\x00\x00\x01\x00\x00\x00\x00")
    with pytest.raises(InputError, match=r"run.mcap: holds no commands .* record one of /force"):
        load(write(other))
    (tmp_path / "run.mcap").unlink()
    with pytest.raises(
        InputError, match=r"/force: holds std_msgs/msg/String .* give one with std_msgs/msg/Float64"
    ):
        load(write(("/force", *other[1:])))
    (tmp_path / "run.mcap").unlink()
    with pytest.raises(InputError, match="/force: a message cannot be read"):
        load(write(("/force", "std_msgs/msg/Float64", 0.0, b"\x00\x01\x00\x00")))


@pytest.mark.parametrize(
    ("content", "mode", "problem"),
    [
        (None, "free_running", "no such file"),
        (b"SQLite format 3\x00" * 99, "free_running", "no MCAP file"),
        (b"\x89MCAP0\r\n" + b"\xff" * 999, "free_running", "is damaged"),
        (b"\x89MCAP0\r\n", "lock_step", "use mode free_running"),
    ],
)
def test_what_cannot_be_replayed_is_refused_before_compiling(tmp_path, content, mode, problem):
    path = tmp_path / "run.mcap"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=problem):
        check_replay(Parameters(replay=str(path), mode=mode))
