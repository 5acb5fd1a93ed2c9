"""Every service and the action of simulation_interfaces, over ROS, with the real package."""

from __future__ import annotations

import math
import time

import pytest
import rclpy
from geometry_msgs.msg import Vector3
from hypothesis import given, settings
from hypothesis import strategies as st
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSDurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from support.ros.node_process import SCENE, NodeProcess
from support.ros.ros_client import RELIABLE, TIMEOUT, wait_until_answers_arrive
from support.ros.spawned_models import BALL, WHEEL
from support.simulation.linkage_gripper import gripper_urdf

REASON = "simulation_interfaces is no wheel: it comes with ROS from apt, or is built by hand"
srv = pytest.importorskip("simulation_interfaces.srv", reason=REASON)
msg = pytest.importorskip("simulation_interfaces.msg", reason=REASON)
action = pytest.importorskip("simulation_interfaces.action", reason=REASON)

from rclpy.action import ActionClient  # noqa: E402

LATCHED = QoSProfile(depth=1, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)
OK, NOT_FOUND, FAILED, UNSUPPORTED = (
    msg.Result.RESULT_OK,
    msg.Result.RESULT_NOT_FOUND,
    msg.Result.RESULT_OPERATION_FAILED,
    msg.Result.RESULT_FEATURE_UNSUPPORTED,
)
STATES = msg.SimulationState
FAR = 30.0


class StandardClient:
    """Calls services by the names of their types; requests as nested keywords, ``a__b=1`` for ``a.b = 1``."""

    def __init__(self, process: NodeProcess) -> None:
        self._process = process
        self._context = rclpy.Context()
        self._context.init(domain_id=process.domain)
        self.node = rclpy.create_node("standard_client", context=self._context)
        self.executor = SingleThreadedExecutor(context=self._context)
        self.executor.add_node(self.node)
        self._clients = {}

    def close(self):
        self.executor.shutdown()
        self.node.destroy_node()
        self._context.shutdown()

    def wait_until(self, condition, what):
        deadline = time.monotonic() + 2 * TIMEOUT
        while not condition():
            assert self._process.alive, self._process.output
            assert time.monotonic() < deadline, f"waited for {what}"
            self.executor.spin_once(timeout_sec=0.05)

    def result(self, future, what="a future"):
        self.wait_until(future.done, what)
        return future.result()

    def begin(self, name, /, **fields):
        service = getattr(srv, name)
        if name not in self._clients:
            snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
            self._clients[name] = self.node.create_client(service, f"/hydro_sim/{snake}")
            self.wait_until(self._clients[name].service_is_ready, name)
            wait_until_answers_arrive(self.node, self.executor)
        request = service.Request()
        for path, value in fields.items():
            *outer, last = path.split("__")
            target = request
            for part in outer:
                target = getattr(target, part)
            setattr(target, last, value)
        return self._clients[name].call_async(request)

    def call(self, name, /, **fields):
        return self.result(self.begin(name, **fields), name)

    def done(self, name, /, **fields):
        """The answer to a call that must be carried out."""
        answer = self.call(name, **fields)
        assert answer.result.result == OK, answer.result.error_message
        return answer

    def refused(self, name, /, **fields):
        """Code of a call that must be refused with one line."""
        answer = self.call(name, **fields)
        assert answer.result.result != OK
        assert 0 < len(answer.result.error_message) <= 500
        assert "\n" not in answer.result.error_message
        assert "internal" not in answer.result.error_message
        return answer.result.result

    def spawn(self, text=BALL, /, **fields):
        return self.done(
            "SpawnEntity",
            entity_resource__resource_string=text,
            initial_pose__pose__position__z=FAR,
            **fields,
        ).entity_name

    @property
    def entities(self):
        return self.done("GetEntities").entities

    @property
    def state(self):
        return self.done("GetSimulationState").state.state

    def set_state(self, state):
        return self.call("SetSimulationState", state__state=state).result.result


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    started = NodeProcess(
        tmp_path_factory.mktemp("node") / "log.txt", "-p", f"scene:={SCENE}", "-p", "status_line:=false"
    )
    started.wait_for_output("scene 'spatula_slip'", timeout=300)  # the first start ever compiles
    yield started
    if started.alive:
        started.stop()
    assert "Traceback" not in started.output


@pytest.fixture(scope="module")
def connection(process):
    client = StandardClient(process)
    yield client
    client.close()


@pytest.fixture
def client(connection):
    """A client of a simulation that is paused at its start."""
    if connection.state == STATES.STATE_NO_WORLD:
        connection.done("LoadWorld", world_resource__uri=str(SCENE))
    connection.set_state(STATES.STATE_PAUSED)
    connection.done("ResetSimulation")
    return connection


def test_features_are_those_that_are_served(client):
    """What is listed is served; of the services beside it, each says that it is unsupported."""
    features = client.call("GetSimulatorFeatures").features
    F = msg.SimulatorFeatures
    assert list(features.spawn_formats) == ["urdf", "xacro"]
    unlisted = {F.NAMED_POSES, F.POSE_BOUNDS, F.WORLD_RESOURCE_STRING, F.WORLD_TAGS}
    constants = vars(type(F))["_Metaclass_SimulatorFeatures__constants"]
    assert set(features.features) == set(constants.values()) - unlisted
    assert client.refused("GetNamedPoses") == UNSUPPORTED
    assert client.refused("GetNamedPoseBounds", name="a") == UNSUPPORTED
    assert client.refused("LoadWorld", world_resource__resource_string="name: a") == UNSUPPORTED
    assert client.refused("GetAvailableWorlds", filter__tags=["indoor"]) == UNSUPPORTED


def test_states(client):
    answers = srv.SetSimulationState.Response
    assert client.state == STATES.STATE_PAUSED
    assert client.set_state(STATES.STATE_PAUSED) == answers.ALREADY_IN_TARGET_STATE
    assert client.set_state(STATES.STATE_PLAYING) == OK
    assert client.state == STATES.STATE_PLAYING
    assert client.set_state(STATES.STATE_STOPPED) == OK
    assert client.state == STATES.STATE_STOPPED
    assert client.set_state(STATES.STATE_NO_WORLD) == answers.INCORRECT_TRANSITION
    assert client.set_state(99) == UNSUPPORTED


def test_steps(client):
    """Exactly as many as asked for, only while paused; huge counts are broken off by a pause."""

    def now():
        stamp = client.done("GetEntityState", entity="spatula").state.header.stamp
        return round(1e3 * (stamp.sec + 1e-9 * stamp.nanosec))

    client.done("StepSimulation")
    client.done("StepSimulation", steps=9)
    assert now() == 10
    assert client.refused("StepSimulation", steps=0) == FAILED
    endless = client.begin("StepSimulation", steps=2**64 - 1)
    client.wait_until(lambda: now() > 10, "steps")
    client.set_state(STATES.STATE_PLAYING)
    answer = client.result(endless)
    assert answer.result.result == FAILED
    assert "broken off" in answer.result.error_message
    assert client.refused("StepSimulation", steps=1) == FAILED


def test_the_action_steps_with_feedback_and_can_be_cancelled(client):
    """Feedback after each step; cancelled between two; refused while playing."""
    steps = ActionClient(
        client.node, action.SimulateSteps, "/hydro_sim/simulate_steps", feedback_sub_qos_profile=RELIABLE
    )
    client.wait_until(steps.server_is_ready, "the action")
    wait_until_answers_arrive(client.node, client.executor)

    def begin(count, feedback=None):
        note = None if feedback is None else lambda m: feedback.append(m.feedback)
        return client.result(
            steps.send_goal_async(action.SimulateSteps.Goal(steps=count), feedback_callback=note)
        )

    try:
        feedback = []
        goal = begin(20, feedback)
        # rclpy forgets whom to tell of feedback as soon as it has the result, which may overtake it.
        client.wait_until(lambda: feedback and feedback[-1].remaining_steps == 0, "the last feedback")
        result = client.result(goal.get_result_async()).result
        assert result.result.result == OK
        assert [m.completed_steps for m in feedback] == list(range(1, 21))

        goal = begin(1_000_000)
        client.result(goal.cancel_goal_async())
        answer = client.result(goal.get_result_async())
        assert answer.status == 5  # cancelled
        assert "cancelled after" in answer.result.result.error_message

        goal = begin(1_000_000)
        client.spawn()
        client.done("ResetSimulation")
        client.set_state(STATES.STATE_PLAYING)
        answer = client.result(goal.get_result_async()).result.result
        assert answer.result == FAILED
        assert client.result(begin(1).get_result_async()).result.result.result == FAILED
    finally:
        steps.destroy()


def test_spawned_entities_are_published_until_they_are_deleted(client):
    """Joint states and the description follow what comes and goes."""
    states, descriptions = [], []
    subscriptions = [
        client.node.create_subscription(JointState, "/joint_states", states.append, RELIABLE),
        client.node.create_subscription(
            String, "/robot_description", lambda m: descriptions.append(m.data), LATCHED
        ),
    ]
    client.wait_until(lambda: states and descriptions, "messages")
    before = list(states[-1].name)
    name = client.spawn(WHEEL, name="cart", entity_namespace="lab")
    assert name == "lab/cart"
    client.wait_until(lambda: list(states[-1].name) == [*before, "lab/cart/axle"], "the new joint")
    assert len(states[-1].position) == len(before) + 1
    client.wait_until(lambda: "lab/cart/rim" in descriptions[-1], "the new description")
    client.done("DeleteEntity", entity=name)
    client.wait_until(lambda: list(states[-1].name) == before, "the joint to go")
    client.wait_until(lambda: "lab/cart/rim" not in descriptions[-1], "the old description")
    for subscription in subscriptions:
        client.node.destroy_subscription(subscription)


def test_entities_and_filters(client):
    """By name, category, tag and place."""
    client.spawn(name="marble")
    assert client.entities == ["stand", "arm", "spatula", "marble"]

    def found(**filters):
        fields = {f"filters__{key}": value for key, value in filters.items()}
        answer = client.done("GetEntitiesStates", **fields)
        assert len(answer.states) == len(answer.entities)
        assert client.done("GetEntities", **fields).entities == answer.entities
        return answer.entities

    assert found(filter="^(sta|mar)") == ["stand", "marble"]
    assert found(filter="[[:alpha:]]{7}") == ["spatula"]
    category = msg.EntityCategory
    assert found(categories=[category(category=category.CATEGORY_ROBOT)]) == ["arm"]
    info = client.done("GetEntityInfo", entity="marble").info
    assert info.category.category == category.CATEGORY_OBJECT
    info.tags = ["round", "small"]
    client.done("SetEntityInfo", entity="marble", info=info)
    assert client.done("GetEntityInfo", entity="marble").info.tags == ["round", "small"]
    tags = msg.TagsFilter
    assert found(tags=tags(tags=["round", "red"])) == ["marble"]
    assert found(tags=tags(tags=["round", "red"], filter_mode=tags.FILTER_MODE_ALL)) == []

    def bounds(kind, *points):
        return msg.Bounds(type=kind, points=[Vector3(x=x, y=y, z=z) for x, y, z in points])

    up = (1.0, 1.0, FAR + 0.01), (-1.0, -1.0, FAR - 0.01)
    assert found(bounds=bounds(msg.Bounds.TYPE_BOX, *up)) == ["marble"]
    assert found(bounds=bounds(msg.Bounds.TYPE_SPHERE, (0.0, 0.0, FAR), (0.01, 0.0, 0.0))) == ["marble"]
    hull = (0.2, 0.0, FAR), (-0.2, 0.2, FAR), (-0.2, -0.2, FAR)
    assert found(bounds=bounds(msg.Bounds.TYPE_CONVEX_HULL, *hull)) == ["marble"]
    assert client.refused("GetEntities", filters__bounds=bounds(9, *up)) == UNSUPPORTED
    assert client.refused("GetEntities", filters__bounds=bounds(1, *up[:1])) == FAILED
    assert client.refused("GetEntities", filters__filter="(") == FAILED
    assert client.refused("GetEntities", filters__filter="(a+)+" * 300) == FAILED


def test_states_and_bounds_of_entities(client):
    """What is set is there; what cannot be is said."""
    client.spawn(name="marble")
    state = client.done("GetEntityState", entity="marble").state
    assert state.header.frame_id == "world"
    state.pose.position.x = 3.0
    state.twist.linear.y = 2.0
    client.done("SetEntityState", entity="marble", state=state, set_pose=True)
    got = client.done("GetEntityState", entity="marble").state
    assert (got.pose.position.x, got.twist.linear.y) == (3.0, 0.0)
    client.done("SetEntityState", entity="marble", state=state, set_twist=True)
    assert client.done("GetEntityState", entity="marble").state.twist.linear.y == 2.0
    client.done("StepSimulation", steps=100)
    got = client.done("GetEntityState", entity="marble").state
    assert got.pose.position.y == pytest.approx(0.2)
    bounds = client.done("GetEntityBounds", entity="marble").bounds
    assert bounds.type == msg.Bounds.TYPE_BOX
    assert [p.z for p in bounds.points] == pytest.approx([0.05, -0.05], abs=1e-9)
    state.twist.linear.y = 1.0
    assert client.refused("SetEntityState", entity="stand", state=state, set_twist=True) == FAILED
    state.pose.orientation.w = 0.0
    invalid = srv.SetEntityState.Response.INVALID_POSE
    assert client.refused("SetEntityState", entity="marble", state=state, set_pose=True) == invalid
    for name in ("GetEntityState", "GetEntityInfo", "GetEntityBounds", "DeleteEntity", "SetEntityInfo"):
        assert client.refused(name, entity="nobody") == NOT_FOUND


def test_codes_of_spawning(client):
    """Each of the standard's codes where it says so."""
    codes = srv.SpawnEntity.Response
    cases = {
        codes.NO_RESOURCE: {},
        codes.RESOURCE_PARSE_ERROR: {"entity_resource__resource_string": "<robot"},
        codes.UNSUPPORTED_FORMAT: {"entity_resource__uri": "file:///etc/passwd"},
        NOT_FOUND: {"entity_resource__uri": "file:///no/such.urdf"},
        codes.NAME_NOT_UNIQUE: {"entity_resource__resource_string": BALL, "name": "arm"},
        codes.NAME_INVALID: {"entity_resource__resource_string": BALL, "name": "a b"},
        codes.NAMESPACE_INVALID: {"entity_resource__resource_string": BALL, "entity_namespace": "1"},
        codes.INVALID_POSE: {
            "entity_resource__resource_string": BALL,
            "initial_pose__pose__position__x": math.nan,
        },
    }
    for code, fields in cases.items():
        assert client.refused("SpawnEntity", **fields) == code
    assert client.entities == ["stand", "arm", "spatula"]
    good = msg.SpawnEntity(name="a", allow_renaming=True)
    good.entity_resource.resource_string = BALL
    good.initial_pose.pose.position.z = FAR
    answer = client.call("SpawnEntities", spawn_requests=[good, msg.SpawnEntity(), good])
    assert answer.result.result == srv.SpawnEntities.Response.ENTITIES_SPAWN_FAILED
    assert [r.result.result for r in answer.results] == [OK, codes.NO_RESOURCE, OK]
    assert [r.entity_name for r in answer.results] == ["a", "", "a_1"]


def test_scopes_of_a_reset(client):
    client.spawn(name="marble")
    client.done("StepSimulation", steps=50)
    scopes = srv.ResetSimulation.Request
    client.done("ResetSimulation", scope=scopes.SCOPE_TIME)
    state = client.done("GetEntityState", entity="marble").state
    assert (state.header.stamp.sec, state.header.stamp.nanosec) == (0, 0)
    assert state.pose.position.z < FAR
    client.done("ResetSimulation", scope=scopes.SCOPE_STATE)
    assert client.done("GetEntityState", entity="marble").state.pose.position.z == FAR
    client.done("ResetSimulation", scope=scopes.SCOPE_SPAWNED)
    assert client.entities == ["stand", "arm", "spatula"]
    assert client.refused("ResetSimulation", scope=8) == UNSUPPORTED


def test_worlds(client):
    """Loaded by name or path, stopped; unloaded; a bad one leaves the present one."""
    available = {w.name: w.world_resource.uri for w in client.done("GetAvailableWorlds").worlds}
    client.done("LoadWorld", world_resource__uri=available["drop_box"])
    assert client.state == STATES.STATE_STOPPED
    assert client.done("GetCurrentWorld").world.name == "drop_box"
    assert client.entities == ["box", "ground"]
    assert client.refused("LoadWorld", world_resource__uri="/no/such.yaml") == NOT_FOUND
    assert client.refused("LoadWorld") == srv.LoadWorld.Response.NO_RESOURCE
    assert client.entities == ["box", "ground"]
    client.done("UnloadWorld")
    assert client.state == STATES.STATE_NO_WORLD
    assert client.refused("GetCurrentWorld") == srv.GetCurrentWorld.Response.NO_WORLD_LOADED
    assert client.refused("StepSimulation") == FAILED
    client.done("LoadWorld", world_resource__uri=str(SCENE))
    found = client.done("GetSpawnables", sources=["nowhere"])
    assert "mug" in {s.description for s in found.spawnables}
    assert "'nowhere' is no folder" in found.result.error_message


NUMBERS = st.one_of(st.floats(), st.sampled_from([0.0, 1.0, math.nan, math.inf, 1e308]))
TEXT = st.one_of(
    st.text(max_size=30).filter(lambda t: "\0" not in t), st.sampled_from(["x" * 100_000, "../..", "arm"])
)


@settings(max_examples=60, deadline=None)
@given(
    name=TEXT,
    uri=TEXT,
    text=TEXT,
    numbers=st.lists(NUMBERS, min_size=7, max_size=7),
    scope=st.integers(0, 255),
)
def test_any_request_is_answered(connection, name, uri, text, numbers, scope):
    """NaN poses, zero quaternions, huge strings, unknown names: an answer, no crash, and the same entities."""
    x, y, z, *quaternion = numbers
    pose = {"position__x": x, "position__y": y, "position__z": z}
    pose |= {f"orientation__{axis}": value for axis, value in zip("xyzw", quaternion, strict=True)}
    answer = connection.call(
        "SpawnEntity",
        name=name,
        entity_namespace=text,
        entity_resource__uri=uri,
        entity_resource__resource_string=text,
        initial_pose__header__frame_id=name,
        **{f"initial_pose__pose__{key}": value for key, value in pose.items()},
    )
    assert "internal" not in answer.result.error_message
    fields = {f"state__pose__{key}": value for key, value in pose.items()}
    for service, request in (
        ("SetEntityState", {"entity": name, "set_pose": True, **fields}),
        ("GetEntities", {"filters__filter": text}),
        ("GetEntityBounds", {"entity": text}),
        ("LoadWorld", {"world_resource__uri": uri}),
        ("ResetSimulation", {"scope": scope & 6}),
        ("GetSpawnables", {"sources": [uri, text]}),
    ):
        answer = connection.call(service, **request)
        assert "internal" not in answer.result.error_message
        assert len(answer.result.error_message) < 2000
    assert connection.entities[:3] == ["stand", "arm", "spatula"]


def test_the_gripper_of_a_spawned_robot_is_served_as_its_driver_serves_it(client):
    """By its own action, also after it was deleted and has come again; meanwhile goals are rejected."""
    control = pytest.importorskip("control_msgs.action", reason="control_msgs is built beside")
    text = gripper_urdf("robotiq_85_left_knuckle_joint")
    where = "/hand/robotiq_gripper_controller/gripper_cmd"
    actions = ActionClient(client.node, control.GripperCommand, where)
    goal = control.GripperCommand.Goal()
    goal.command.position = 0.1
    client.set_state(STATES.STATE_PLAYING)
    try:
        for _ in range(2):
            assert client.spawn(text, name="hand") == "hand"
            client.wait_until(actions.server_is_ready, where)
            handle = client.result(actions.send_goal_async(goal))
            assert handle.accepted
            result = client.result(handle.get_result_async()).result
            assert result.reached_goal
            assert result.position == pytest.approx(0.1, abs=2e-3)
            client.done("DeleteEntity", entity="hand")
            assert not client.result(actions.send_goal_async(goal)).accepted
        answer = client.call("SpawnEntity", entity_resource__uri="mug?bsae=fixed")
        assert "did you mean 'base'?" in answer.result.error_message
        assert client.spawn("", entity_resource__uri="mug?base=fixed") == "mug"
    finally:
        actions.destroy()


def test_our_own_spawn_has_fields_for_what_a_file_needs(client):
    """Its answers name the field, the value and the mend; the node goes on."""
    ours = pytest.importorskip("hydro_sim_msgs.srv", reason="hydro_sim_msgs is built beside")
    gains = pytest.importorskip("hydro_sim_msgs.msg", reason="hydro_sim_msgs is built beside").JointGains
    service = client.node.create_client(ours.Spawn, "/hydro_sim/spawn")

    def spawn(**fields):
        request = ours.Spawn.Request(urdf="kinova_gen3_7dof", name="second", **fields)
        request.pose.pose.position.x = FAR
        return client.result(service.call_async(request))

    client.wait_until(service.service_is_ready, "~/spawn")
    wait_until_answers_arrive(client.node, client.executor)
    for fields, problem in (
        ({"xacro_args": ["ros2_control"]}, "'ros2_control' is no argument: write name:=value"),
        ({"package_dirs": ["/no/such"]}, "'/no/such' is no folder"),
        ({"base": "welded"}, "'welded' is no base: use fixed, floating, kinematic"),
        ({"srdf": "/no/such.srdf"}, "no/such.srdf"),
        ({"gains": [gains(joint="joint_9", kp=1.0)]}, "no joint 'joint_9' that is driven by itself"),
        ({"gains": [gains(joint="joint_1", kp=math.nan)]}, "gains of 'joint_1'"),
        ({"gains": [gains(joint="joint_1", kd=1.0)]}, "a position actuator without kp"),
    ):
        answer = spawn(**fields)
        assert not answer.success, fields
        assert problem in answer.message
        assert "internal" not in answer.message
    answer = spawn(
        xacro_args=["ros2_control:=true"], base="fixed", gains=[gains(joint="joint_1", kp=70.0, kd=7.0)]
    )
    assert (answer.success, answer.name) == (True, "second"), answer.message
    assert "second" in client.entities
    client.node.destroy_client(service)


def test_quitting_ends_the_process(client, process):
    """The last one: nothing is left to talk to."""
    assert client.set_state(STATES.STATE_QUITTING) == OK
    assert process.wait(20) == 0
