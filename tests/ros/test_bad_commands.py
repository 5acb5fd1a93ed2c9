"""Every bad message is refused and counted, logged once a kind, and changes nothing."""

import math

import numpy as np
import pytest

ARM = [f"joint_{i}" for i in range(1, 8)]
POSITIONS = "/hydro_sim/position_commands"
ZEROS = [0.0] * 7


def _array(topic, values):
    return lambda client: client.send_array(topic, values)


def _trajectory(joints, points, stamp=0.0):
    return lambda client: client.send_trajectory(joints, points, stamp)


def _number(topic, value):
    return lambda client: client.send_number(topic, value)


BAD = {
    "NaN": _array(POSITIONS, [math.nan, *ZEROS[1:]]),
    "infinity": _array("/forward_effort_controller/commands", [math.inf, *ZEROS[1:]]),
    "too short": _array(POSITIONS, ZEROS[1:]),
    "too long": _array("/forward_velocity_controller/commands", [*ZEROS, 0.0]),
    "empty": _array(POSITIONS, []),
    "unknown joint": _trajectory(["elbow"], [(1.0, [0.0])]),
    "joint twice": _trajectory(["joint_1", "joint_1"], [(1.0, [0.0, 0.0])]),
    "no joints": _trajectory([], [(1.0, [])]),
    "no points": _trajectory(["joint_1"], []),
    "times that fall": _trajectory(["joint_1"], [(1.0, [0.1]), (0.5, [0.2])]),
    "times that stand": _trajectory(["joint_1"], [(1.0, [0.1]), (1.0, [0.2])]),
    "missing value": _trajectory(["joint_1", "joint_3"], [(1.0, [0.1])]),
    "NaN in a trajectory": _trajectory(["joint_1"], [(1.0, [math.nan])]),
    "trajectory outside the limits": _trajectory(["joint_2"], [(1.0, [9.0])]),
    "trajectory that swings out of the limits": _trajectory(
        ["joint_2"], [(1.0, [2.2], [100.0]), (2.0, [0.5], [0.0])]
    ),
    "trajectory that overflows": _trajectory(
        ["joint_2"], [(1.0, [0.0], [1e300], [1e308]), (2.0, [0.5], [0.0], [0.0])]
    ),
    "point out of reach from here": _trajectory(
        ["joint_2"], [(1.0, [2.2], [100.0]), (1.001, [2.2001], [0.0])]
    ),
    "trajectory of the past": _trajectory(["joint_1"], [(1e-6, [0.1])], stamp=1e-6),
    "negative force": _number("/gripper/force_command", -1.0),
    "force beyond the gripper's": _number("/gripper/force_command", 1e6),
    "NaN force": _number("/gripper/force_command", math.nan),
    "opening beyond the fingers' travel": _number("/gripper/position_command", 5.0),
}


def test_bad_messages_are_refused_and_change_nothing(client, node):
    """Each is counted, the arm stays where it was, everything stays finite, and the node lives."""
    client.wait_for_time(0.1)
    refused = client.refused()
    before = [client.joint(name) for name in ARM]
    for count, send in enumerate(BAD.values(), 1):
        send(client)
        # The node's count is published once a second, which is too slow to wait for each.
        client.next("/joint_states")
        if count % 6 == 0 or count == len(BAD):
            sent = list(BAD)[:count]
            client.wait_until(
                lambda count=count: client.refused() == refused + count, f"the refusal of one of {sent}"
            )
            assert [client.joint(name) for name in ARM] == pytest.approx(before, abs=5e-3)
    for state in client.received["/joint_states"]:
        assert np.all(np.isfinite([*state.position, *state.velocity, *state.effort]))
    assert node.alive


def test_each_kind_is_logged_once(client, node):
    """The same mistake twice is counted twice and logged once, with what is wrong and what to do."""
    refused = client.refused()
    for value in (-2.0, -3.0):
        client.send_number("/gripper/force_command", value)
    client.wait_until(lambda: client.refused() == refused + 2, "both refusals")
    warnings = [line for line in node.output.splitlines() if "gripper/force_command: rejected" in line]
    negative = [line for line in warnings if "is out of range" in line]
    assert len(negative) == 1
    assert "stay within 0 to" in negative[0]


def test_positions_beyond_the_limits_are_moved_to_them_and_counted(client, node):
    """As drivers of real arms do; nothing is refused, and the others obey."""
    client.wait_for_time(0.1)
    before = client.diagnostics("commands")
    client.send_array(POSITIONS, [0.0, 0.5, 3.1, 9.0, 0.0, 1.3, 0.1])

    def moved():
        return int(client.diagnostics("commands")["positions moved to their limits since start"])

    count = int(before["positions moved to their limits since start"]) + 1
    client.wait_until(lambda: moved() == count, "the count")
    assert client.refused() == int(before["refused since start"])
    client.wait_until(lambda: abs(client.joint("joint_7") - 0.1) < 0.01, "another joint")
    assert "~/position_commands: joint 'joint_4': 9 is outside its limits; moved to 2.57" in node.output
