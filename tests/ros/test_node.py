"""A second process uses the node as any ROS 2 program would, on the shipped scene."""

import math

import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from visualization_msgs.msg import Marker, MarkerArray

from hydro_sim_core.description import load_robot
from support.ros.ros_client import MARKERS, Client, stamp_of

ARM = [f"joint_{i}" for i in range(1, 8)]
JOINTS = [*ARM, "left_finger_joint", "right_finger_joint"]
FINGERS = ["left_finger", "right_finger"]


@pytest.fixture
def home(client):
    """Positions of the arm at the start."""
    return [client.joint(name) for name in ARM]


# --- what comes out


@pytest.mark.realtime
def test_joint_states_name_every_joint_and_keep_their_rate(client):
    """Names, lengths and the default 250 a second of simulated time."""
    client.wait_for_time(1.0)
    states = client.received["/joint_states"]
    for state in states:
        assert list(state.name) == JOINTS
        assert len(state.position) == len(state.velocity) == len(state.effort) == len(JOINTS)
        assert np.all(np.isfinite([*state.position, *state.velocity, *state.effort]))
    stamps = np.array([stamp_of(state) for state in states])
    assert np.all(np.diff(stamps) > 0.0)
    assert np.median(np.diff(stamps)) == pytest.approx(0.004, abs=1e-9)


def test_clock_follows_every_step(client):
    """At the default rate the clock never goes back, and mostly advances by one step."""
    client.wait_for_time(0.5)
    client.received["/clock"].clear()
    client.wait_for_time(1.0)
    times = np.array([stamp_of(message) for message in client.received["/clock"]])
    steps = np.diff(times)
    assert np.all(steps > 0.0)
    assert steps.min() == pytest.approx(0.001, abs=1e-9)


def test_wrenches_are_what_the_grip_and_the_weight_ask_for(client):
    """Held still, the spatula is squeezed by the scripted 6.5 N and carried against gravity."""
    client.wait_for_time(1.2)
    left, right = (client.force(finger) for finger in FINGERS)
    weight = 0.068 * 9.81
    assert np.linalg.norm(left + right) == pytest.approx(weight, rel=0.03)
    for force in (left, right):
        assert math.hypot(force[0], 0.0) == pytest.approx(6.5, rel=0.03)
    frame = client.received["/hydro_sim/wrench/left_finger_on_spatula"][-1].header.frame_id
    assert frame == "spatula"


def test_markers_obey_the_rules_of_rviz(client):
    """Two filled and edged patches, arrows and a legend, with constant point counts and nothing that RViz refuses."""
    client.wait_for_time(1.0)
    counts = {}
    with client.markers():
        arrays = [client.next(MARKERS) for _ in range(5)]
    for array in arrays:
        names = [(marker.ns, marker.id) for marker in array.markers]
        assert len(set(names)) == len(names)
        for marker in array.markers:
            assert marker.header.frame_id == "world"
            if marker.action == Marker.DELETE:  # of a moment that has become too small for an arrow
                assert marker.ns.startswith("moment/")
                continue
            assert marker.action == Marker.ADD
            points = np.array([(p.x, p.y, p.z) for p in marker.points])
            assert np.all(np.isfinite(points))
            if marker.type == Marker.TRIANGLE_LIST:
                assert len(points) > 0
                assert len(points) % 3 == 0
                assert len(marker.colors) == len(points)
                assert {marker.color.a, *(colour.a for colour in marker.colors)} == {1.0}
            elif marker.type == Marker.LINE_LIST:
                assert len(points) > 0
                assert len(points) % 2 == 0
                assert marker.scale.x > 0.0
            elif marker.type == Marker.ARROW:
                assert len(points) == 2
                assert min(marker.scale.x, marker.scale.y, marker.scale.z) > 0.0
                assert marker.scale.z < np.linalg.norm(points[1] - points[0])
            elif marker.type == Marker.TEXT_VIEW_FACING:
                assert marker.text
                # RViz makes spaces as wide as those of letters a metre high unless told.
                assert 0.0 < marker.scale.x < marker.scale.z
            assert counts.setdefault((marker.ns, marker.id), len(points)) == len(points)
    patches = {ns for ns, _ in counts if ns.startswith("faces/")}
    assert patches == {f"faces/{finger} on spatula" for finger in FINGERS}
    forces = [marker.text for marker in array.markers if marker.ns.startswith("force/") and marker.text]
    assert len(forces) == 2
    assert all(force.endswith(" N") for force in forces)
    assert {marker.type for marker in array.markers if marker.ns == "legend"} == {
        Marker.TRIANGLE_LIST,
        Marker.LINE_LIST,
    }


def test_robot_description_is_the_scene(client, tmp_path):
    """A late subscriber gets a URDF with every joint, its limits, and every link."""
    client.wait_until(lambda: client.received["/robot_description"], "/robot_description")
    path = tmp_path / "scene.urdf"
    path.write_text(client.received["/robot_description"][-1].data)
    scene = load_robot(path)
    joints = {joint.name: joint for joint in scene.joints}
    assert {
        name for name, joint in joints.items() if joint.type in ("revolute", "continuous", "prismatic")
    } == set(JOINTS)
    assert joints["joint_2"].limits.lower == pytest.approx(-2.24, abs=0.02)
    assert joints["spatula_base"].type == "floating"


def test_diagnostics_tell_time_solver_and_commands(client):
    """Real-time factor, step times and overruns; what the solver did; how many commands were refused."""
    timing = client.diagnostics("timing")
    assert float(timing["real-time factor since start"]) > 0.0
    assert 0.0 < float(timing["step time p50 [ms]"]) <= float(timing["step time p99 [ms]"])
    assert int(timing["overruns"]) >= 0
    assert client.diagnostics("solver")["converged"] == "True"
    assert int(client.diagnostics("commands")["refused since start"]) >= 0


def test_a_trajectory_leaves_the_steps_to_the_compiled_loop(client, home):
    """Python takes its first step, and those in which progress is told."""

    def counts():
        timing = client.diagnostics("timing")
        return int(timing["steps"]), int(timing["steps in the compiled loop"])

    client.send_trajectory(ARM, [(20.0, [home[0] + 1.0, *home[1:]], [0.0] * 7)])
    client.wait_until(lambda: client.joint("joint_1") > home[0] + 1e-3, "the arm to move")
    before, after = counts(), counts()
    assert client.joint("joint_1") < home[0] + 0.9
    steps, in_loop = np.subtract(after, before)
    assert in_loop > 0.9 * steps > 0


def test_diagnostics_say_that_the_contacts_of_the_shipped_scene_are_resolved(client):
    client.wait_until(lambda: client.diagnostics("contact")["patches"] == "2", "both fingers to touch")
    contact = client.status("contact")
    assert contact.level == b"\x00"
    assert contact.message == "resolved"
    values = {pair.key: pair.value for pair in contact.values}
    assert values["worst patch"] in ("left_finger on spatula", "right_finger on spatula")
    assert values["under-resolved patches"] == "0"
    assert float(values["gripper on spatula [N]"]) > 1.0
    assert 2.0 < float(values["estimated force error of the worst patch [%]"]) < 10.0


# --- what goes in


@pytest.mark.parametrize("topic", ["/hydro_sim/position_commands", "/forward_position_controller/commands"])
def test_position_command_moves_the_arm(client, home, topic):
    """The arm goes where it is told and stays there."""
    target = [home[0] + 0.1, *home[1:]]
    client.send_array(topic, target)
    client.wait_until(lambda: abs(client.joint("joint_1") - target[0]) < 2e-3, "joint_1 at its target")
    client.wait_for_time(client.time + 0.5)
    assert [client.joint(name) for name in ARM] == pytest.approx(target, abs=0.01)


def test_velocity_command_turns_a_joint(client, home):
    """A velocity command goes on until the next command."""
    client.send_array("/forward_velocity_controller/commands", [0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    client.wait_until(lambda: client.joint("joint_1") > home[0] + 0.1, "joint_1 turning")
    state = client.next("/joint_states")
    assert state.velocity[0] == pytest.approx(0.2, rel=0.05)


def test_effort_command_pushes_a_joint(client, home):
    """An effort on one joint shows in its state and moves it; the others are left to their weightless arm."""
    client.send_array("/forward_effort_controller/commands", [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    client.wait_until(lambda: client.joint("joint_1") > home[0] + 0.02, "joint_1 pushed")
    assert client.received["/joint_states"][-1].effort[0] == pytest.approx(1.0)


def test_trajectory_of_some_joints_is_followed_in_simulated_time(client, home):
    """Linear from point to point, at the asked times, while the joints that it does not name hold."""
    # Time for a busy machine to deliver it: what arrives after its start begins late.
    start = client.time + 1.0
    goal = [home[4] + 0.2, home[6] - 0.2]
    middle = [home[4] + 0.2, home[6]]
    client.send_trajectory(["joint_5", "joint_7"], [(0.5, middle), (1.0, goal)], stamp=start)
    client.wait_for_time(start + 1.4)

    states = [s for s in client.received["/joint_states"] if start < stamp_of(s) < start + 1.0]
    times = np.array([stamp_of(state) for state in states]) - start
    fifth, seventh = (np.array([s.position[JOINTS.index(j)] for s in states]) for j in ("joint_5", "joint_7"))
    assert fifth == pytest.approx(np.interp(times, [0.0, 0.5], [home[4], goal[0]]), abs=0.05)
    assert seventh == pytest.approx(np.interp(times, [0.5, 1.0], [home[6], goal[1]]), abs=0.05)
    assert client.joint("joint_5") == pytest.approx(goal[0], abs=2e-3)
    assert client.joint("joint_7") == pytest.approx(goal[1], abs=2e-3)
    assert client.joint("joint_2") == pytest.approx(home[1], abs=5e-3)


def test_gripper_force_command_sets_the_grip(client):
    """The contact force follows the command and no longer the scene's script."""
    for wanted in (12.0, 5.0):
        client.send_number("/gripper/force_command", wanted)
        client.wait_until(
            lambda wanted=wanted: all(
                abs(client.force(finger)[0]) == pytest.approx(wanted, rel=0.03) for finger in FINGERS
            ),
            f"a grip of {wanted} N",
        )
    client.wait_for_time(2.0)  # the script would relax at 1.5 s
    assert abs(client.force("left_finger")[0]) == pytest.approx(5.0, rel=0.03)


def test_opening_the_gripper_ends_the_contact(client):
    """Wrenches go to zero and RViz is told to delete the patches."""
    client.wait_for_time(0.3)
    with client.markers(raw=True) as arrays:
        client.next(MARKERS)
        client.send_number("/gripper/position_command", 0.08)
        for finger in FINGERS:
            client.wait_until(lambda finger=finger: not client.force(finger).any(), f"the {finger} off")
        faces, deleted = {f"faces/{finger} on spatula" for finger in FINGERS}, set()

        def are_deleted() -> bool:  # some arrive while the forces are waited for, others still tell of before
            while arrays:
                array = deserialize_message(arrays.pop(), MarkerArray)
                deleted.update(m.ns for m in array.markers if m.action == Marker.DELETE)
            return faces <= deleted

        client.wait_until(are_deleted, "deleted faces")


# --- services and parameters


def test_pause_step_reset(client):
    """Time stands while paused, goes by single steps, and starts again at zero."""
    assert not client.step().success, "stepping is for a paused simulation"
    client.wait_for_time(0.3)
    assert client.pause(True).success
    paused_at = float(client.step().message.split()[1])
    assert float(client.step().message.split()[1]) == pytest.approx(paused_at + 0.001, abs=1e-9)
    assert client.set_parameter("step_count", 50).successful
    assert float(client.step().message.split()[1]) == pytest.approx(paused_at + 0.051, abs=1e-9)
    assert client.set_parameter("step_count", 1).successful
    client.wait_until(
        lambda: abs(stamp_of(client.received["/clock"][-1]) - paused_at - 0.051) < 1e-9, "the clock"
    )

    assert client.pause(False).success
    client.wait_for_time(paused_at + 0.2)
    before = client.joint("joint_1")
    client.reset()
    assert client.time < paused_at
    assert client.joint("joint_1") == pytest.approx(before, abs=1e-2)


def test_long_run_of_steps_holds_up_nobody(client):
    """While a million steps are taken, everything else is served; a pause breaks them off."""
    client.pause(True)
    assert client.set_parameter("step_count", 1_000_000).successful
    answer = client.begin_step()
    begun = client.time
    client.wait_for_time(begun + 0.1)
    client.next("/diagnostics")
    assert client.set_parameter("step_count", 3).successful
    assert not answer.done()
    assert client.pause(True).success
    client.wait_until(answer.done, "the answer of step")
    assert not answer.result().success
    taken = int(answer.result().message.split()[3])
    assert answer.result().message == f"broken off after {taken} of 1000000 steps"
    assert 100 <= taken < 1_000_000
    # The next call takes its own steps, no more.
    paused_at = float(client.step().message.split()[1])
    assert float(client.step().message.split()[1]) == pytest.approx(paused_at + 0.003, abs=1e-9)
    assert client.set_parameter("step_count", 1).successful


def test_paused_node_tells_its_state_to_who_joins_late(client, node):
    """Clock and joint states, with the stamp of that instant."""
    client.wait_for_time(0.2)
    client.pause(True)
    late = Client(node.domain)
    try:
        late.wait_for_node()
        late.next("/clock")
        late.next("/joint_states")
        late.next("/joint_states")
        assert len({stamp_of(message) for message in late.received["/joint_states"]}) == 1
        assert stamp_of(late.received["/clock"][-1]) == late.time
    finally:
        late.close()


@pytest.mark.realtime
def test_rates_are_set_within_their_range(client, node):
    """A rate changes at run time; one out of range is refused and leaves it alone."""
    assert not client.set_parameter("joint_state_rate", 0.5).successful
    assert not client.set_parameter("joint_state_rate", math.nan).successful
    assert not client.set_parameter("scene", "other.yaml").successful
    assert client.set_parameter("joint_state_rate", 500.0).successful
    # One that hears nothing else keeps up with 500 Hz on a busy machine too.
    listener = Client(node.domain, topics=["/joint_states"])
    try:
        start = stamp_of(listener.next("/joint_states"))
        listener.wait_for_time(start + 0.5)
        stamps = [stamp_of(state) for state in listener.received["/joint_states"]]
        assert np.median(np.diff(stamps)) == pytest.approx(0.002, abs=1e-9)
    finally:
        listener.close()
        assert client.set_parameter("joint_state_rate", 250.0).successful
